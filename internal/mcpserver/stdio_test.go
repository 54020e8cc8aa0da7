package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

var stdioCaller = Caller{Principal: "local:test", Process: "p1", Binding: "inc-1"}

// session serves a whole input at once and gives the answers by id. Every line of the output must be a JSON-RPC message.
func session(t testing.TB, r *rig, input string) (lines []answer, byID map[string]answer) {
	t.Helper()
	var out bytes.Buffer
	if err := r.ServeStdio(t.Context(), strings.NewReader(input), &out, stdioCaller); err != nil {
		t.Fatalf("ServeStdio = %v, want nil at the end of the input", err)
	}
	byID = map[string]answer{}
	for line := range strings.Lines(out.String()) {
		var a answer
		if err := json.Unmarshal([]byte(line), &a); err != nil || !strings.HasPrefix(line, `{"jsonrpc":"2.0"`) {
			t.Fatalf("stdout holds %q: %v", line, err)
		}
		lines = append(lines, a)
		byID[string(a.ID)] = a
	}
	return lines, byID
}

func TestStdioAnswersEverythingBeforeItEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, onBoundary(t, &echo{name: "query_logs"}))
	var in strings.Builder
	in.WriteString(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\r\n\n  \n")
	in.WriteString(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	for i := range 100 {
		in.WriteString(callWith(fmt.Sprint(i), fmt.Sprintf("query %d", i)) + "\n")
	}
	in.WriteString(callWith(`"last"`, "no newline at the end"))
	lines, byID := session(t, r, in.String())
	if len(lines) != 102 || string(lines[0].ID) != `"init"` {
		t.Fatalf("%d answers, the first to %s, want 102 and init", len(lines), lines[0].ID)
	}
	for i := range 100 {
		if a := byID[fmt.Sprint(i)]; len(a.Result.Content) != 1 || !strings.Contains(a.Result.Content[0].Text, fmt.Sprintf(`"query %d"`, i)) {
			t.Errorf("answer %d = %+v", i, a)
		}
	}
	if a := byID[`"last"`]; a.Result.IsError || len(a.Result.Content) != 1 {
		t.Errorf("the last line's answer = %+v", a)
	}
}

func TestStdioSurvivesBadLines(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { o.MaxMessage = 100 << 10 })
	long := func(n int) string {
		return `{"jsonrpc":"2.0","id":"long","method":"ping","params":{"x":"` + strings.Repeat("a", n) + `"}}`
	}
	in := strings.Join([]string{
		"hello", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query_logs","Name":"query_mysql"}}`, `[]`, "\xff\xfe", long(200 << 10), `{"jsonrpc":"2.0","id":2,"method":"ping"}`,
		long(3 << 20), `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `{"jsonrpc":"2.0","id":18446744073709551617,"method":"tools/call","params":{"name":"drop"}}`,
		`{"jsonrpc":"2.0","method":"notifications/unknown","params":[]}`, `{"jsonrpc":"2.0","id":5,"result":{}}`, long(200 << 10),
	}, "\n")
	lines, byID := session(t, r, in)
	codes := map[int]int{}
	for _, a := range lines {
		if a.Error != nil {
			codes[a.Error.Code]++
			if string(a.ID) != "null" {
				t.Errorf("an error for id %s: %+v", a.ID, a.Error)
			}
		}
	}
	if codes[mcp.PARSE_ERROR] != 2 || codes[mcp.INVALID_REQUEST] != 5 || len(lines) != 10 {
		t.Errorf("%d answers, error codes %v, want 10 with 2 of -32700 and 5 of -32600", len(lines), codes)
	}
	for _, id := range []string{"2", "9007199254740993", "18446744073709551617"} {
		if _, ok := byID[id]; !ok {
			t.Errorf("no answer to %s", id)
		}
	}
	if calls := r.core.seen(); len(calls) != 1 || calls[0].env.Tool != "drop" {
		t.Errorf("calls = %+v, want the one of the unknown tool", calls)
	}
	if id := r.runs.last(t); id.Process != "p1" || id.Binding != "inc-1" || id.Header != "" {
		t.Errorf("identity = %+v", id)
	}
}

func TestALineAtTheLimitIsRead(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{100, 64 << 10, 64<<10 + 1, 200_000} {
		for _, end := range []string{"\n", "\r\n", ""} {
			in := strings.Repeat("a", limit) + end
			if line, err := newLineReader(strings.NewReader(in), limit).next(); err != nil || len(line) != limit {
				t.Errorf("limit %d, end %q: %d bytes, %v", limit, end, len(line), err)
			}
			l := newLineReader(strings.NewReader("a"+in+"\nnext"), limit)
			if _, err := l.next(); !errors.Is(err, errLineTooLong) {
				t.Errorf("limit %d and one over it: %v", limit, err)
			}
			for range 2 { // perhaps an empty line in between
				if line, err := l.next(); err != nil || string(line) == "next" {
					if err != nil {
						t.Errorf("the line after a long one: %v", err)
					}
					break
				}
			}
		}
	}
}

// pipes is a running stdio session.
type pipes struct {
	in   *io.PipeWriter
	out  *bufio.Scanner
	done chan error
}

func start(ctx context.Context, r *rig) *pipes {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &pipes{in: inW, out: bufio.NewScanner(outR), done: make(chan error, 1)}
	p.out.Buffer(nil, 4<<20)
	go func() {
		p.done <- r.ServeStdio(ctx, inR, outW, stdioCaller)
		_ = outW.Close()
	}()
	return p
}

func (p *pipes) send(t testing.TB, line string) {
	t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func (p *pipes) read(t testing.TB) string {
	t.Helper()
	if !p.out.Scan() {
		t.Fatalf("no answer: %v", p.out.Err())
	}
	return p.out.Text()
}

func TestStdioEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end     func(in io.Closer, cancel func())
		release time.Duration // 0: the tool never answers by itself
		want    string
		took    time.Duration
	}{
		"EOF waits for the call":               {func(in io.Closer, _ func()) { _ = in.Close() }, 9 * time.Second, `\"text\":\"x\"`, 9 * time.Second},
		"EOF and then the grace":               {func(in io.Closer, _ func()) { _ = in.Close() }, 0, `CANCELLED`, 10 * time.Second},
		"SIGTERM waits a second":               {func(_ io.Closer, cancel func()) { cancel() }, 500 * time.Millisecond, `\"text\":\"x\"`, 500 * time.Millisecond},
		"SIGTERM and then the call is stopped": {func(_ io.Closer, cancel func()) { cancel() }, 0, `CANCELLED`, time.Second},
		"EOF and SIGTERM a little later":       {func(in io.Closer, cancel func()) { _ = in.Close(); time.AfterFunc(2*time.Second, cancel) }, 0, `CANCELLED`, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &echo{name: "query_logs", started: make(chan string, 1), release: make(chan struct{})}
				r := newRig(t, onBoundary(t, e), func(o *Options) { o.Grace = 10 * time.Second })
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				p := start(ctx, r)
				p.send(t, callWith("1", "x"))
				<-e.started
				began := time.Now()
				c.end(p.in, cancel)
				if c.release > 0 {
					time.AfterFunc(c.release, func() { close(e.release) })
				}
				if got := p.read(t); !strings.Contains(got, c.want) || !strings.Contains(got, `"id":1,`) {
					t.Errorf("answer = %s, want %s", got, c.want)
				}
				if err := <-p.done; err != nil {
					t.Errorf("ServeStdio = %v, want nil", err)
				}
				if took := time.Since(began); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
				_ = p.in.Close() // the reader of a pipe that nobody closes is left behind on purpose
			})
		})
	}
}

func TestStdioEndsAlthoughACallDoesNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := newRig(t, func(o *Options) { o.Grace = time.Second })
		r.core.hook = func(context.Context, boundary.Envelope) (boundary.Observation, error) {
			<-release // heeds nothing
			return boundary.Observation{}, &boundary.Refusal{Code: fault.Internal}
		}
		var out bytes.Buffer
		began := time.Now()
		if err := r.ServeStdio(t.Context(), strings.NewReader(callWith("1", "x")), &out, stdioCaller); err != nil {
			t.Errorf("ServeStdio = %v", err)
		}
		if took := time.Since(began); took != time.Second+cancelGrace {
			t.Errorf("took %v, want the grace and %v", took, cancelGrace)
		}
		close(release)
		synctest.Wait()
	})
}

func TestStdioCancellation(t *testing.T) {
	t.Parallel()
	e := &echo{name: "query_logs", started: make(chan string, 8), release: make(chan struct{})}
	r := newRig(t, onBoundary(t, e))
	p := start(t.Context(), r)
	p.send(t, callWith("1", "stays"))
	p.send(t, callWith(`"\u0061"`, "goes"))
	<-e.started
	<-e.started
	p.send(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"unknown"}}`)
	p.send(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a","reason":"changed my mind"}}`)
	// The id is free again once the call has ended; until then it is refused. The cancelled call is not answered.
	p.send(t, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if got := p.read(t); !strings.Contains(got, `"id":2,"result":{}`) {
		t.Fatalf("answer = %s, want that of ping alone", got)
	}
	p.send(t, callWith("1", "twin"))
	if got := p.read(t); !strings.Contains(got, `"id":1,"error"`) || !strings.Contains(got, "still being served") {
		t.Errorf("a second request of a running id: %s", got)
	}
	close(e.release)
	if got := p.read(t); !strings.Contains(got, `"id":1,"result"`) || !strings.Contains(got, "stays") {
		t.Errorf("answer = %s, want that of the other call", got)
	}
	_ = p.in.Close()
	if p.out.Scan() {
		t.Errorf("the cancelled call was answered: %s", p.out.Text())
	}
	if err := <-p.done; err != nil {
		t.Error(err)
	}
}

func TestStdioQueueIsBounded(t *testing.T) {
	t.Parallel()
	e := &echo{name: "query_logs", started: make(chan string, 1000), release: make(chan struct{})}
	r := newRig(t, onBoundary(t, e))
	p := start(t.Context(), r)
	for i := range stdioWorkers {
		p.send(t, callWith(fmt.Sprint(i), "x"))
		<-e.started
	}
	for i := range stdioQueue + 1 {
		p.send(t, callWith(fmt.Sprint(1000+i), "x"))
	}
	if got := p.read(t); !strings.Contains(got, `\"code\":\"OVERLOADED\"`) || !strings.Contains(got, `"isError":true`) || !strings.Contains(got, fmt.Sprintf(`"id":%d,`, 1000+stdioQueue)) {
		t.Errorf("one call too many: %s", got)
	}
	close(e.release)
	for range stdioWorkers + stdioQueue {
		if got := p.read(t); !strings.Contains(got, `\"text\":\"x\"`) {
			t.Fatalf("answer = %s", got)
		}
	}
	_ = p.in.Close()
	if err := <-p.done; err != nil {
		t.Error(err)
	}
}

func TestABrokenOutputEndsTheSession(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- r.ServeStdio(t.Context(), inR, outW, stdioCaller) }()
	_ = outR.Close()
	_, _ = io.WriteString(inW, `{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n")
	if err := <-done; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("ServeStdio = %v, want the output's error", err)
	}
	_ = inW.Close()
}

// A client that has stopped reading slows its own calls down and keeps nobody: not SIGTERM, not the end of the input.
func TestAClientThatDoesNotReadDoesNotKeepTheProcess(t *testing.T) {
	pings := strings.Repeat(`{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n", 3*outQueue)
	for name, c := range map[string]struct {
		in   string
		term bool
		took time.Duration
	}{
		"SIGTERM while an answer of the dispatcher waits": {pings, true, flushGrace},
		"SIGTERM while calls wait to answer":              {manyCalls(3 * outQueue), true, termGrace + flushGrace},
		"the end of the input":                            {manyCalls(3 * outQueue), false, 2 * 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, onBoundary(t, &echo{name: "query_logs"}), func(o *Options) { o.Grace = 10 * time.Second })
				outR, outW := io.Pipe()
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				done := make(chan error, 1)
				go func() { done <- r.ServeStdio(ctx, strings.NewReader(c.in), outW, stdioCaller) }()
				synctest.Wait()
				began := time.Now()
				if c.term {
					cancel()
				}
				if err := <-done; err != nil {
					t.Errorf("ServeStdio = %v, want nil", err)
				}
				if took := time.Since(began); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
				_ = outR.Close() // the write that nobody reads is left behind on purpose
			})
		})
	}
}

func manyCalls(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(callWith(fmt.Sprint(i), "x") + "\n")
	}
	return b.String()
}

func TestStdioServesModernRequestsWithoutInitialize(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, byID := session(t, r, strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modernMeta + `}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + modernMeta + `}}`,
		`{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"evidence://current/c1",` + modernMeta + `}}`,
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"x",` + modernMeta + `}}`,
		`{"jsonrpc":"2.0","id":5,"method":"initialize","params":{` + modernMeta + `}}`,
	}, "\n"))
	for _, id := range []string{"1", "2", "3", "4"} {
		if a := byID[id]; a.Error != nil || a.Result.ResultType != "complete" {
			t.Errorf("answer %s = %+v", id, a)
		}
	}
	if a := byID["5"]; a.Error == nil || a.Error.Code != mcp.METHOD_NOT_FOUND {
		t.Errorf("initialize of the modern protocol = %+v", a)
	}
	if caller, _ := r.verifier.last(t); caller.Run != "inc-1" {
		t.Errorf("current is %q, want the process's run", caller.Run)
	}
}

func TestTwoStdioServersInOneProcess(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"one", "two"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, onBoundary(t, &echo{name: "query_logs"}))
			for range 20 {
				_, byID := session(t, r, callWith("1", name))
				if a := byID["1"]; !strings.Contains(a.Result.Content[0].Text, name) {
					t.Fatalf("answer = %+v", a)
				}
			}
		})
	}
}
