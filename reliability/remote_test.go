package reliability

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
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

const remoteAnswer = `{"records":[{"content":"The payment gateway answers 502 when its pool is exhausted. password=not-real-hunter2","score":0.9,"title":"Payment gateway answers 502","metadata":{"path":"pay.md"}}]}`

func (r *remote) serve(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(io.LimitReader(req.Body, 1<<20))
	mode := ""
	if err == nil && bytes.Contains(body, []byte(cellCall)) {
		r.mu.Lock()
		r.asked++
		if mode = r.mode; r.asked == 1 {
			close(r.started)
		}
		r.mu.Unlock()
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
		_, _ = io.WriteString(w, `{"records":[{"content":"`)
		for line := bytes.Repeat([]byte("and so on "), 400); err == nil; {
			_, err = w.Write(line)
		}
	case "endless, packed":
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, `{"records":[{"content":"`)
		for line := bytes.Repeat([]byte("and so on "), 4000); err == nil; {
			_, err = z.Write(line)
		}
	case "dripping":
		for i := 0; req.Context().Err() == nil; i++ {
			_, _ = w.Write([]byte{remoteAnswer[i%20]})
			_ = http.NewResponseController(w).Flush() // a client that has gone shows in the context
			select {
			case <-req.Context().Done():
			case <-time.After(20 * time.Millisecond): // the fault itself
			}
		}
		close(r.left)
	case "cut":
		w.Header().Set("Content-Length", "100000")
		_, _ = io.WriteString(w, remoteAnswer[:60])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case "malformed":
		_, _ = io.WriteString(w, `{"records":[{"content":"password=`+r.secret+`",]}`)
	case "error inside a 200":
		_, _ = io.WriteString(w, `{"error_code":5,"error_msg":"password=`+r.secret+`"}`)
	case "redirect":
		http.Redirect(w, req, r.other.URL+"/retrieval", http.StatusTemporaryRedirect)
	default:
		_, _ = io.WriteString(w, remoteAnswer)
	}
}

// remoteCells ask a remote collection. A log backend over HTTP reads its answers in the same way.
func remoteCells() []cell {
	const stage = "HTTP backend"
	question := arguments{"collection": "remote", "query": "payment gateway answers 502 " + cellCall}
	part := func(fault, code string, quick bool, note string) cell {
		return cell{stage: stage, fault: fault, quick: quick, o: options{remote: true}, answer: []string{code}, record: []string{"ERROR " + code}, verdict: failed, backend: 1, note: note,
			play: func(p *play) {
				p.remote.misbehave(fault)
				p.once("query_rag", question)
			}}
	}
	cells := []cell{
		part("error", "BACKEND_ERROR", true, "no word of its page passes"),
		part("busy", "BACKEND_BUSY", false, ""),
		part("hangs up", "BACKEND_ERROR", false, ""),
		part("silent", "BACKEND_TIMEOUT", true, ""),
		part("endless", "RAW_TOO_LARGE", true, "stopped while it streams"),
		part("endless, packed", "RAW_TOO_LARGE", true, "counted as unpacked"),
		part("dripping", "BACKEND_TIMEOUT", true, "the time limit is that of the whole answer"),
		part("cut", "BACKEND_INCOMPLETE", true, "never a part of an answer"),
		part("malformed", "BACKEND_INCOMPLETE", false, ""),
		part("error inside a 200", "BACKEND_ERROR", false, "not an empty answer"),
		part("redirect", "BACKEND_ERROR", true, "not followed: the key stays here"),
	}
	return append(cells, cell{stage: stage, fault: "client disconnects while it drips", quick: true, o: options{remote: true}, answer: noAnswer, record: []string{"ERROR CANCELLED"}, verdict: failed, backend: 1,
		note: "the request to the backend ends too", play: func(p *play) {
			p.remote.misbehave("dripping")
			p.begin(p.g, "query_rag", question)
			within(p.t, "the backend is asked", p.remote.started)
			p.cancel()
			p.end()
			within(p.t, "the backend loses its client", p.remote.left)
		}})
}
