package mcpserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

func callWith(id, query string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"query_logs","arguments":{"query":"` + query + `"}}}`
}

func TestOneCallTooManyIsOverloaded(t *testing.T) {
	t.Parallel()
	e := &echo{name: "query_logs", started: make(chan string, 8), release: make(chan struct{})}
	r := newRig(t, onBoundary(t, e), func(o *Options) { o.MaxConcurrent = 2 })
	h := r.Handler()
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if w := post(t, h, callWith("1", "x")); w.Code != 200 {
				t.Errorf("a call within the limit: %d %s", w.Code, w.Body)
			}
		})
		<-e.started
	}
	w := post(t, h, callWith(`"mine"`, "x"))
	a := read(t, w)
	if w.Code != 503 || w.Header().Get("Retry-After") == "" || a.Error == nil || !strings.Contains(a.Error.Message, string(fault.Overloaded)) || string(a.ID) != `"mine"` {
		t.Errorf("%d %s, want 503, Retry-After and OVERLOADED", w.Code, w.Body)
	}
	if len(e.started) != 0 {
		t.Error("the refused call ran")
	}
	close(e.release)
	wg.Wait()
	if w := post(t, h, callWith("1", "x")); w.Code != 200 {
		t.Errorf("after the others: %d", w.Code)
	}
}

func TestOnePrincipalCannotTakeEveryPlace(t *testing.T) {
	t.Parallel()
	a, _ := NewToken("a", "tok-a")
	b, _ := NewToken("b", "tok-b")
	e := &echo{name: "query_logs", started: make(chan string, 8), release: make(chan struct{})}
	r := newRig(t, onBoundary(t, e), func(o *Options) {
		o.MaxConcurrent, o.HTTP.MaxPerPrincipal, o.HTTP.Auth = 4, 3, NewTokens(a, b)
	})
	h := r.Handler()
	var wg sync.WaitGroup
	full := func(token string) {
		t.Helper()
		if w := post(t, h, callWith("1", "x"), "Authorization", "Bearer "+token); w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "OVERLOADED") {
			t.Errorf("%s: %d %s, want 503", token, w.Code, w.Body)
		}
	}
	for i, token := range []string{"tok-a", "tok-a", "tok-a", "tok-b"} {
		if i == 3 {
			full("tok-a") // a fourth place is free, but not for this one
		}
		wg.Go(func() {
			if w := post(t, h, callWith("1", "x"), "Authorization", "Bearer "+token); w.Code != 200 {
				t.Errorf("a call within the limit: %d %s", w.Code, w.Body)
			}
		})
		<-e.started
	}
	full("tok-b") // no place is free
	close(e.release)
	wg.Wait()
	for _, s := range []*slots{r.calls, r.bodies} {
		if s.taken != 0 || len(s.by) != 0 {
			t.Errorf("still counted: %d, %v", s.taken, s.by)
		}
	}
}

func TestNobodyCancelsAnothersCall(t *testing.T) {
	t.Parallel()
	e := &echo{name: "query_logs", started: make(chan string, 8), release: make(chan struct{})}
	r := newRig(t, onBoundary(t, e))
	srv := httptest.NewServer(r.Handler())
	defer srv.Close()
	send := func(ctx context.Context, body string) (string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL+"/mcp", strings.NewReader(body))
		if err != nil {
			return "", err
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		return string(b), err
	}
	victim := make(chan string, 1)
	go func() {
		out, err := send(context.Background(), callWith("1", "victim"))
		if err != nil {
			out = err.Error()
		}
		victim <- out
	}()
	<-e.started
	if out, err := send(t.Context(), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`); err != nil || out != "" {
		t.Errorf("cancellation: %q, %v", out, err)
	}
	// Another client uses the same id and goes away.
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := send(ctx, callWith("1", "other"))
		gone <- err
	}()
	<-e.started
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("the client that left got %v", err)
	}
	select {
	case out := <-victim:
		t.Fatalf("the victim's call ended: %s", out)
	default:
	}
	close(e.release)
	if out := <-victim; !strings.Contains(out, `\"text\":\"victim\"`) {
		t.Errorf("the victim's answer = %s", out)
	}
}

func TestAClientThatLeavesEndsItsCall(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	started := make(chan struct{})
	r := newRig(t)
	r.core.hook = func(ctx context.Context, _ boundary.Envelope) (boundary.Observation, error) {
		close(started)
		<-ctx.Done()
		ended <- ctx.Err()
		return boundary.Observation{}, &boundary.Refusal{Code: fault.Cancelled}
	}
	srv := httptest.NewServer(r.Handler())
	defer srv.Close()
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-started
		leave()
	}()
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL+"/mcp", strings.NewReader(testCall))
	req.Header.Set("Content-Type", "application/json")
	if res, err := http.DefaultClient.Do(req); err == nil {
		res.Body.Close()
		t.Error("a call that never ends was answered")
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call's context ended with %v", err)
	}
}

func TestALargeBodyCostsNoMemory(t *testing.T) {
	r := newRig(t)
	srv := httptest.NewServer(r.Handler())
	defer srv.Close()
	var before, after runtime.MemStats
	for name, length := range map[string]int64{"declared": 64 << 20, "chunked": -1} {
		runtime.GC()
		runtime.ReadMemStats(&before)
		req, _ := http.NewRequest(http.MethodPost, srv.URL+"/mcp", io.LimitReader(endless{}, 64<<20))
		req.ContentLength = length
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err == nil { // the server may also close the connection while the client still sends
			if res.StatusCode != 413 {
				t.Errorf("%s: status %d, want 413", name, res.StatusCode)
			}
			res.Body.Close()
		}
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 { // the growing buffer of 1 MiB, and the client's own
			t.Errorf("%s: %d bytes were allocated", name, grown)
		}
	}
}

func TestABodyDeclaredTooLargeIsNotRead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	req := httptest.NewRequest(http.MethodPost, "/mcp", io.NopCloser(panickingReader{}))
	req.Host, req.ContentLength = "localhost", DefaultMaxMessage+1
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, req)
	if w.Code != 413 || w.Header().Get("Connection") != "close" {
		t.Errorf("%d %s, want 413", w.Code, w.Body)
	}
}

type panickingReader struct{}

func (panickingReader) Read([]byte) (int, error) { panic("the body was read") }

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'a'
	}
	return len(b), nil
}

// pipeListener hands out in-memory connections, so that timeouts can be tested on a fake clock.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8484} }

func (l *pipeListener) dial() net.Conn {
	client, server := net.Pipe()
	l.conns <- server
	return client
}

const head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

func TestSlowClientsAreCutOff(t *testing.T) {
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for name, c := range map[string]struct {
		send    string
		trickle string
		after   time.Duration
	}{
		"slow head":         {"POST /mcp HT", "T", readHeaderTimeout},
		"slow body":         {head + "Content-Length: 100\r\n\r\n{", " ", readTimeout},
		"silence":           {"", "", readHeaderTimeout},
		"idle after a call": {head + fmt.Sprintf("Content-Length: %d\r\n\r\n", len(ping)) + ping, "", idleTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				l := newPipeListener()
				ctx, stop := context.WithCancel(context.Background())
				served := make(chan error, 1)
				go func() { served <- r.Serve(ctx, l, nil) }()
				conn := l.dial()
				began := time.Now()
				closed := make(chan time.Duration)
				go func() {
					_, _ = io.Copy(io.Discard, conn) // ends when the server closes
					closed <- time.Since(began)
				}()
				_, _ = io.WriteString(conn, c.send)
				tick := time.NewTicker(time.Second)
				defer tick.Stop()
				var took time.Duration
				for took == 0 {
					select {
					case took = <-closed:
					case <-tick.C:
						if c.trickle != "" {
							go func() { _, _ = io.WriteString(conn, c.trickle) }()
						}
						if time.Since(began) > time.Hour {
							t.Fatal("the connection is still open after an hour")
						}
					}
				}
				if took < c.after || took > c.after+time.Second {
					t.Errorf("closed after %v, want %v", took, c.after)
				}
				_ = conn.Close()
				stop()
				if err := <-served; err != nil {
					t.Errorf("Serve = %v", err)
				}
			})
		})
	}
}

func TestAHugeHeadIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	srv := httptest.NewUnstartedServer(r.Handler())
	srv.Config = NewHTTPServer(r.Handler(), 0)
	srv.Start()
	defer srv.Close()
	req, _ := http.NewRequest(http.MethodPost, srv.URL+"/mcp", strings.NewReader(testCall))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Fill", strings.Repeat("x", 64<<10))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusRequestHeaderFieldsTooLarge || len(r.core.seen()) != 0 {
		t.Errorf("status %d, want 431", res.StatusCode)
	}
}

// exchangeOn sends one request over an in-memory connection and reads the answer.
func exchangeOn(conn net.Conn, body string) (*http.Response, string, error) {
	req, err := http.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	if err := req.Write(conn); err != nil {
		return nil, "", err
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res, string(b), err
}

func TestDrain(t *testing.T) {
	for name, c := range map[string]struct {
		release time.Duration // after the end was asked for; 0: never
		want    string
		took    time.Duration
	}{
		"a call in flight is answered":     {3 * time.Second, `\"text\":\"x\"`, 4 * time.Second},
		"after the grace it is cancelled":  {0, `CANCELLED`, 12 * time.Second},
		"a call just within the grace too": {9 * time.Second, `\"text\":\"x\"`, 11 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &echo{name: "query_logs", started: make(chan string, 1), release: make(chan struct{})}
				r := newRig(t, onBoundary(t, e), func(o *Options) { o.Grace = 10 * time.Second })
				l := newPipeListener()
				ctx, stop := context.WithCancel(context.Background())
				served := make(chan error, 1)
				go func() { served <- r.Serve(ctx, l, nil) }()
				conn := l.dial()
				answer := make(chan string, 1)
				go func() {
					_, body, err := exchangeOn(conn, callWith("1", "x"))
					if err != nil {
						body = err.Error()
					}
					answer <- body
				}()
				<-e.started
				began := time.Now()
				stop()
				if c.release > 0 {
					time.AfterFunc(c.release, func() { close(e.release) })
				}
				if got := <-answer; !strings.Contains(got, c.want) {
					t.Errorf("answer = %s, want %s", got, c.want)
				}
				if err := <-served; err != nil {
					t.Errorf("Serve = %v, want nil", err)
				}
				if took := time.Since(began); took > c.took {
					t.Errorf("took %v, want at most %v", took, c.took)
				}
				_ = conn.Close()
			})
		})
	}
}

func TestWhileDrainingNewCallsAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.draining.Store(true)
	w := post(t, r.Handler(), testCall)
	if w.Code != 503 || w.Header().Get("Retry-After") == "" || len(r.core.seen()) != 0 || !json.Valid(w.Body.Bytes()) {
		t.Errorf("%d %s, want 503", w.Code, w.Body)
	}
}
