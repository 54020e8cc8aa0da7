package reliability

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
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

// What the kinds of backend answer when nothing is wrong, and how an answer without end begins and goes on.
const (
	logBegins = `{"_msg":"`
	logNames  = `{"values":[{"value":"_msg","hits":1},{"value":"service","hits":1}]}`
	ragBegins = `{"records":[{"content":"`
	goesOn    = "and so on "
)

// logLine is one event at the beginning of the range that a form asks for.
func logLine(form string) string {
	v, _ := url.ParseQuery(form) // what is no form has no range
	_, rest, _ := strings.Cut(v.Get("query"), "_time:[")
	from, _, _ := strings.Cut(rest, ",")
	return `{"_msg":"payment declined: password=not-real-hunter2","_time":"` + from + `","service":"checkout"}` + "\n"
}

const remoteAnswer = `{"records":[{"content":"The payment gateway answers 502 when its pool is exhausted. password=not-real-hunter2","score":0.9,"title":"Payment gateway answers 502","metadata":{"path":"pay.md"}}]}`

func (r *remote) serve(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(io.LimitReader(req.Body, 1<<20))
	mode := ""
	logs := strings.HasPrefix(req.URL.Path, "/select/")
	r.mu.Lock()
	if err == nil && (logs && r.mode != "" || bytes.Contains(body, []byte(cellCall))) {
		r.asked++
		if mode = r.mode; r.asked == 1 {
			close(r.started)
		}
	}
	r.mu.Unlock()
	healthy, begins := remoteAnswer, ragBegins
	if logs {
		healthy, begins = logLine(string(body)), logBegins
	}
	if strings.HasSuffix(req.URL.Path, "/field_names") {
		healthy = logNames
	}
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
		_, _ = io.WriteString(w, begins)
		for line := []byte(strings.Repeat(goesOn, 400)); err == nil; {
			_, err = w.Write(line)
		}
	case "endless, packed":
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, begins)
		for line := []byte(strings.Repeat(goesOn, 4000)); err == nil; {
			_, err = z.Write(line)
		}
	case "dripping":
		text := begins + strings.Repeat(goesOn, 1000) // a value that is not at its end when the call is
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
		_, _ = io.WriteString(w, `{"records":[{"content":"password=`+r.secret+`",]}`)
	case "error inside a 200":
		_, _ = io.WriteString(w, `{"error_code":5,"error_msg":"password=`+r.secret+`"}`)
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

func remoteLogs() arguments {
	a := declined()
	a["topics"] = []string{"remote"}
	return a
}

// remoteCells ask a collection behind the contract of external retrievers and a topic on a VictoriaLogs, both played by this process.
func remoteCells() []cell {
	return append(remoteKind("HTTP backend, runbooks", "query_rag", remoteRunbook(cellCall), 1, "RAW_TOO_LARGE", "BACKEND_INCOMPLETE"),
		remoteKind("HTTP backend, logs", "query_logs", remoteLogs(), uncounted, "RAW_TOO_LARGE BACKEND_TIMEOUT", "BACKEND_ERROR")...)
}

// remoteKind plays the faults on one kind of backend. endless are the codes for an answer without end, of which the first bound that is met decides, malformed that
// for an answer of another form.
func remoteKind(stage, tool string, question arguments, asked int, endless, malformed string) []cell {
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
