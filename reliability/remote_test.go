package reliability

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// remote is a backend over HTTP that answers well, except to the question of a cell.
type remote struct {
	srv    *httptest.Server
	other  *httptest.Server // where a redirect points: nobody may come here
	secret string           // what an error page quotes

	mu      sync.Mutex
	mode    string
	asked   int
	strayed int
	started chan struct{} // closed when the cell's question has come
	left    chan struct{} // closed when its client has gone
	leave   sync.Once
}

func newRemote(t testing.TB, secret string) *remote {
	t.Helper()
	r := &remote{secret: secret, started: make(chan struct{}), left: make(chan struct{})}
	r.other = httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		r.mu.Lock()
		r.strayed++
		r.mu.Unlock()
	}))
	r.srv = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(func() {
		r.srv.CloseClientConnections()
		r.srv.Close()
		r.other.Close()
	})
	return r
}

func (r *remote) misbehave(mode string) {
	r.mu.Lock()
	r.mode = mode
	r.mu.Unlock()
}

func (r *remote) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

const goesOn = "and so on "

// kind is how one kind of backend speaks.
type kind struct {
	topic   string // of the logs; "": runbooks
	prefix  string // of its paths
	healthy func(req *http.Request, form url.Values, body []byte) string
	begins  string // of an answer, up to the middle of a text
	failed  string // an error where a 200 was promised, up to its text
	fails   string // and from there on
	partial string // nothing found, and the answer itself says that it is not whole; "": there is no such form
}

const declinedLine = "payment declined: password=not-real-hunter2"

// kinds answer in the documented forms, as those do that the adapters' own tests ask: one event at the beginning of whatever range is asked for.
var kinds = []kind{
	{prefix: "/retrieval", begins: `{"records":[{"content":"`, failed: `{"error_code":5,"error_msg":"`, fails: `"}`,
		healthy: func(*http.Request, url.Values, []byte) string {
			return `{"records":[{"content":"The payment gateway answers 502 when its pool is exhausted. password=not-real-hunter2","score":0.9,"title":"Payment gateway answers 502","metadata":{"path":"pay.md"}}]}`
		}},
	{topic: "remote", prefix: "/select/", begins: `{"_msg":"`, failed: `{"error":"`, fails: `"}`,
		healthy: func(req *http.Request, form url.Values, _ []byte) string {
			if strings.HasSuffix(req.URL.Path, "/field_names") {
				return `{"values":[{"value":"_msg","hits":1},{"value":"service","hits":1}]}`
			}
			_, rest, _ := strings.Cut(form.Get("query"), "_time:[")
			from, _, _ := strings.Cut(rest, ",")
			return `{"_msg":"` + declinedLine + `","_time":"` + from + `","service":"checkout"}` + "\n"
		}},
	{topic: "remote-loki", prefix: "/loki/api/v1/query_range", failed: `{"status":"error","errorType":"internal","error":"`, fails: `"}`,
		begins: `{"status":"success","data":{"resultType":"streams","result":[{"stream":{"service":"checkout"},"values":[["1767261600000000000","`,
		healthy: func(_ *http.Request, form url.Values, _ []byte) string {
			line := declinedLine
			if strings.Contains(form.Get("query"), "| line_format ") { // it writes the labels in front
				line = `map[service:checkout]\n` + line
			}
			return `{"status":"success","data":{"resultType":"streams","result":[{"stream":{"service":"checkout"},"values":[["` + form.Get("start") + `","` + line +
				`",{}]]}],"encodingFlags":["categorize-labels"],"stats":{"summary":{"totalLinesProcessed":17}}}}`
		},
		partial: `{"status":"success","data":{"resultType":"streams","result":[]},"warnings":["max lookback reached"]}`},
	{topic: "remote-elasticsearch", prefix: "/logs-shop-", failed: `{"error":{"root_cause":[],"type":"search_phase_execution_exception","reason":"`, fails: `"},"status":500}`,
		begins: `{"took":3,"timed_out":false,"_shards":{"total":1,"successful":1,"skipped":0,"failed":0},"hits":{"total":{"value":1,"relation":"eq"},"hits":[{"_source":{"message":"`,
		healthy: func(req *http.Request, _ url.Values, body []byte) string {
			if !strings.HasSuffix(req.URL.Path, "/_search") {
				return `{"logs-shop-000001":{"aliases":{},"mappings":{"properties":{"@timestamp":{"type":"date"},"message":{"type":"text"},"service":{"type":"keyword"}}},"settings":{"index.number_of_shards":"1"}}}`
			}
			_, rest, _ := bytes.Cut(body, []byte(`"gte":`))
			from, _, _ := bytes.Cut(rest, []byte(","))
			ms, _ := strconv.ParseInt(string(from), 10, 64) // what is no range is seen as an event outside of it
			return `{"took":3,"timed_out":false,"_shards":{"total":1,"successful":1,"skipped":0,"failed":0},"hits":{"total":{"value":1,"relation":"eq"},"max_score":null,"hits":[{"_index":"logs-shop-000001","_id":"x","_score":null,"_source":{"@timestamp":"` +
				time.UnixMilli(ms).UTC().Format(time.RFC3339) + `","message":"` + declinedLine + `","service":"checkout"},"sort":[` + strconv.FormatInt(ms, 10) + `]}]}}`
		},
		partial: `{"took":3,"timed_out":true,"_shards":{"total":2,"successful":1,"skipped":0,"failed":1},"hits":{"total":{"value":0,"relation":"eq"},"max_score":null,"hits":[]}}`},
}

func (r *remote) serve(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(io.LimitReader(req.Body, 1<<20))
	form, _ := url.ParseQuery(string(body)) // what is no form has no range
	if len(body) == 0 {
		form = req.URL.Query()
	}
	var k kind
	for _, k = range kinds {
		if strings.HasPrefix(req.URL.Path, k.prefix) {
			break
		}
	}
	mode := ""
	r.mu.Lock()
	if err == nil && (k.topic != "" && r.mode != "" || bytes.Contains(body, []byte(cellCall))) {
		r.asked++
		if mode = r.mode; r.asked == 1 {
			close(r.started)
		}
	}
	r.mu.Unlock()
	healthy := k.healthy(req, form, body)
	w.Header().Set("Content-Type", "application/json")
	switch mode {
	case "error":
		http.Error(w, "database said: password="+r.secret, http.StatusInternalServerError)
	case "busy":
		http.Error(w, "later: password="+r.secret, http.StatusServiceUnavailable)
	case "hangs up":
		panic(http.ErrAbortHandler)
	case "silent":
		<-req.Context().Done()
	case "endless":
		_, _ = io.WriteString(w, k.begins)
		for line := []byte(strings.Repeat(goesOn, 400)); err == nil; {
			_, err = w.Write(line)
		}
	case "endless, packed":
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, k.begins)
		for line := []byte(strings.Repeat(goesOn, 4000)); err == nil; {
			_, err = z.Write(line)
		}
	case "dripping":
		text := k.begins + strings.Repeat(goesOn, 1000) // a value that is not at its end when the call is
		for i := 0; req.Context().Err() == nil; i++ {
			_, _ = w.Write([]byte{text[i%len(text)]})
			_ = http.NewResponseController(w).Flush() // a client that has gone shows in the context
			select {
			case <-req.Context().Done():
			case <-time.After(20 * time.Millisecond): // the fault itself
			}
		}
		r.leave.Do(func() { close(r.left) })
	case "cut":
		w.Header().Set("Content-Length", "100000")
		_, _ = io.WriteString(w, healthy[:60])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case "malformed":
		_, _ = io.WriteString(w, k.begins+`password=`+r.secret+`",]}`)
	case "error inside a 200":
		_, _ = io.WriteString(w, k.failed+`password=`+r.secret+k.fails)
	case "nothing in the part that answers":
		_, _ = io.WriteString(w, k.partial)
	case "redirect":
		http.Redirect(w, req, r.other.URL+"/retrieval", http.StatusTemporaryRedirect)
	default:
		_, _ = io.WriteString(w, healthy)
	}
}

// What is asked of a remote collection and of a remote topic.
func remoteRunbook(mark string) arguments {
	return arguments{"collection": "remote", "query": "payment gateway answers 502 " + mark}
}

func remoteLogs(topic string) arguments {
	a := declined()
	a["topics"] = []string{topic}
	return a
}

// remoteCells ask a collection behind the contract of external retrievers and topics on a VictoriaLogs, a Loki and an Elasticsearch, all played by this process.
func remoteCells() []cell {
	const long = "RAW_TOO_LARGE BACKEND_TIMEOUT" // log servers are asked for less once, which takes time
	// All log servers share the client that bounds their answers: of the others the quick cells are those where its reading meets their own.
	brief := []string{"endless", "dripping", "cut", "nothing in the part that answers"}
	var all []cell
	for i, part := range [][]cell{
		remoteKind("HTTP backend, runbooks", "query_rag", remoteRunbook(cellCall), kinds[0], 1, "RAW_TOO_LARGE", "BACKEND_INCOMPLETE"),
		remoteKind("HTTP backend, logs", "query_logs", remoteLogs(kinds[1].topic), kinds[1], uncounted, long, "BACKEND_ERROR"),
		remoteKind("Loki", "query_logs", remoteLogs(kinds[2].topic), kinds[2], uncounted, long, "BACKEND_ERROR"),
		remoteKind("Elasticsearch", "query_logs", remoteLogs(kinds[3].topic), kinds[3], uncounted, long, "BACKEND_ERROR"),
	} {
		for j := range part {
			part[j].quick = part[j].quick && (i < 2 || slices.Contains(brief, part[j].fault))
		}
		all = append(all, part...)
	}
	return all
}

// remoteKind plays the faults on one kind of backend. endless are the codes for an answer without end, of which the first bound that is met decides, malformed that
// for an answer of another form.
func remoteKind(stage, tool string, question arguments, k kind, asked int, endless, malformed string) []cell {
	part := func(fault, codes string, quick bool, note string) cell {
		var records []string
		for code := range strings.FieldsSeq(codes) {
			records = append(records, "ERROR "+code)
		}
		return cell{stage: stage, fault: fault, quick: quick, o: options{remote: true}, answer: strings.Fields(codes), record: records, verdict: failed, backend: asked, note: note,
			play: func(p *play) {
				p.remote.misbehave(fault)
				p.once(tool, question)
				p.remote.misbehave("")
			}}
	}
	cells := []cell{
		part("error", "BACKEND_ERROR", true, "no word of its page passes"),
		part("busy", "BACKEND_BUSY", false, ""),
		part("hangs up", "BACKEND_ERROR", false, ""),
		part("silent", "BACKEND_TIMEOUT", true, ""),
		part("endless", endless, true, "stopped while it streams"),
		part("endless, packed", endless, true, "counted as unpacked"),
		part("dripping", "BACKEND_TIMEOUT", true, "the time limit is that of the whole answer"),
		part("cut", "BACKEND_INCOMPLETE", true, "never a part of an answer"),
		part("malformed", malformed, false, ""),
		part("error inside a 200", "BACKEND_ERROR", false, "not an empty answer"),
		part("redirect", "BACKEND_ERROR", true, "not followed: the key stays here"),
	}
	if k.partial != "" {
		cells = append(cells, part("nothing in the part that answers", "BACKEND_INCOMPLETE", true, "not no evidence"))
	}
	return append(cells, cell{stage: stage, fault: "client disconnects while it drips", quick: true, o: options{remote: true}, answer: noAnswer, record: []string{"ERROR CANCELLED"}, verdict: failed, backend: asked,
		note: "the request to the backend ends too", play: func(p *play) {
			p.remote.misbehave("dripping")
			p.begin(p.g, tool, question)
			within(p.t, "the backend is asked", p.remote.started)
			p.cancel()
			p.end()
			within(p.t, "the backend loses its client", p.remote.left)
			p.remote.misbehave("")
		}})
}
