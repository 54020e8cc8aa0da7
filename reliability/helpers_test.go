package reliability

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/user"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
)

// local is who calls over standard input.
func local(tb testing.TB) string {
	tb.Helper()
	u, err := user.Current()
	if err != nil {
		tb.Fatal(err)
	}
	return "local:" + u.Username
}

// register opens runs through the harness.
func (w *world) register(runs ...string) {
	w.t.Helper()
	for _, run := range runs {
		w.registerWith(map[string]any{"run_id": run})
	}
}

func (w *world) registerWith(body map[string]any) {
	w.t.Helper()
	if status, data := w.gateways[0].api("POST", "/runs", body); status != 201 {
		w.t.Fatalf("open run %v: HTTP %d %s", body["run_id"], status, data)
	}
}

// moveLogs takes the logs away; the function it returns puts them back.
func (w *world) moveLogs() (back func()) {
	w.t.Helper()
	away := w.logs + ".away"
	if err := os.Rename(w.logs, away); err != nil {
		w.t.Fatal(err)
	}
	return func() {
		if err := os.Rename(away, w.logs); err != nil {
			w.t.Error(err)
		}
	}
}

// awaitAuditRetry waits until the audit writer has given a write up and comes again on a new connection.
func (w *world) awaitAuditRetry() {
	w.t.Helper()
	taken := func() int {
		w.audit.mu.Lock()
		defer w.audit.mu.Unlock()
		return w.audit.taken
	}
	before := taken()
	eventually(w.t, "the audit writer tries again", func() bool { return taken() > before })
}

// ended notes that a gateway was ended by the test in order, and checks how.
func (g *gateway) ended() {
	g.w.t.Helper()
	within(g.w.t, "end of "+g.name, g.done)
	g.over = true
	if code := g.cmd.ProcessState.ExitCode(); code != 0 {
		g.w.t.Errorf("%s: exit %d\n%s", g.name, code, g.log.bytes())
	}
}

// standardInput makes the cell's call over standard input, ends the input while the call is held, and takes the answer. stuck leaves the call held until then.
func (p *play) standardInput(r *rule, stuck bool) {
	t := p.t
	t.Helper()
	const run = stdioRun
	g := &gateway{w: p.world, name: "stdio", log: &logText{}}
	g.file, g.audit = p.writeConfig(g.name)
	g.cmd = exec.Command(binary(t, plainBinary), "stdio", "--config", g.file)
	g.cmd.Env = append(os.Environ(), "AGENT_TOKEN="+p.shop.text["agent token"])
	in, err := g.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := g.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	g.done = done
	lines := make(chan []byte, 16)
	go func() {
		logged := make(chan struct{})
		go func() { defer close(logged); g.log.read(stderr) }()
		sc := bufio.NewScanner(out)
		sc.Buffer(nil, 1<<20)
		for sc.Scan() {
			p.sink("standard output of stdio", sc.Bytes())
			lines <- bytes.Clone(sc.Bytes())
		}
		close(lines)
		<-logged
		_ = g.cmd.Wait() // ended looks at the state
		close(done)
	}()
	t.Cleanup(func() { _ = g.cmd.Process.Kill(); <-done })
	p.mu.Lock()
	p.gateways = append(p.gateways, g)
	p.mu.Unlock()

	args, err := json.Marshal(orders(cellCall))
	if err != nil {
		t.Fatal(err)
	}
	p.at = &attempt{g: g, run: run, id: cellCall, tool: "query_mysql", args: len(args), epoch: p.now(), code: "no answer"}
	p.mu.Lock()
	p.attempts = append(p.attempts, p.at)
	p.mu.Unlock()
	msg, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": map[string]any{"name": "query_mysql", "arguments": json.RawMessage(args),
		"_meta": map[string]any{"dev.mcp-gateway/run-id": run, "dev.mcp-gateway/tool-call-id": cellCall}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.Write(append(msg, '\n')); err != nil {
		t.Fatal(err)
	}
	within(t, "the call reaches the backend", r.met)
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if !stuck {
		r.release()
	}
	for line := range lines {
		var reply struct {
			ID     int `json:"id"`
			Result struct {
				Content []struct {
					Text string `json:"text"`
				} `json:"content"`
				IsError bool `json:"isError"`
			} `json:"result"`
		}
		if json.Unmarshal(line, &reply) == nil && reply.ID == 7 && len(reply.Result.Content) == 1 {
			p.take(p.at, []byte(reply.Result.Content[0].Text), reply.Result.IsError)
		}
	}
	g.ended()
	r.release()
}

// panicking is a tool that panics in one phase, with a canary in what it says.
type panicking struct {
	phase string
	text  string
}

type pebble struct {
	Word string `json:"word"`
}

func (p panicking) in(phase string) {
	if p.phase == phase {
		panic("lost in " + phase + ": password=" + p.text)
	}
}

func (p panicking) Spec() boundary.Spec {
	return boundary.Spec{Name: "query_pebbles", ReadOnly: true, Projector: "1", Describe: func(boundary.Grants) string { return "" },
		InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: json.RawMessage(`{"type":"object"}`)}
}

func (p panicking) Parse(args json.RawMessage, _ boundary.ParseContext) (v pebble, err error) {
	p.in("preflight")
	return v, boundary.StrictArgs("pebbles", args, &v)
}

func (p panicking) Scope(v pebble) boundary.Scope {
	return boundary.Scope{Normal: v.Word, Text: v.Word}
}

func (p panicking) Execute(_ context.Context, _ *boundary.Permit, v pebble, _ canonical.Salt) (pebble, error) {
	p.in("execute")
	return v, nil
}

func (p panicking) Project(_, raw pebble, _ boundary.View) (boundary.Projection[pebble], error) {
	p.in("project")
	return boundary.Projection[pebble]{Observation: raw, Evidence: canonical.Found, Count: 1}, nil
}

// auditSink keeps rows as bytes.
type auditSink struct{ w *world }

func (a auditSink) Audit(r boundary.AuditRecord) {
	b, err := json.Marshal(r)
	if err != nil {
		a.w.t.Error(err)
	}
	a.w.sink("audit in the process", b)
}

// logSink is a log's writer.
type logSink struct{ w *world }

func (l logSink) Write(b []byte) (int, error) {
	l.w.sink("log of the process", b)
	return len(b), nil
}

// panicCells call a panicking tool behind a boundary in this process, over the cell's store: no configuration makes the binary panic.
func panicCells() []cell {
	run := func(phase string) func(p *play) {
		return func(p *play) {
			tool := panicking{phase, p.shop.text["panic"]}
			b, err := boundary.New(boundary.Options{Ledger: canonical.NewLedger(p.direct, nil), Auditor: auditSink{p.world}, Limits: boundary.Limits{RecordTTL: 5 * time.Minute}, Logger: slog.New(slog.NewJSONHandler(logSink{p.world}, nil))}, boundary.Bind(tool))
			if err != nil {
				p.t.Fatal(err)
			}
			args := []byte(`{"word":"x"}`)
			p.at = &attempt{run: cellRun, id: cellCall, tool: "query_pebbles", args: len(args), epoch: p.now(), answered: true}
			p.attempts = append(p.attempts, p.at)
			limits := canonical.Limits{Calls: 10, RequestBytes: 1 << 20, RawBytes: 1 << 20, ObservationBytes: 1 << 20}
			_, err = b.Invoke(p.t.Context(), boundary.Run{Principal: principal, ID: cellRun, Spec: &canonical.RunSpec{TTL: time.Minute, Limits: limits, NoGain: canonical.NoGain{Limit: 5, Window: 5}}},
				boundary.Envelope{CallID: cellCall, Tool: "query_pebbles", Args: args})
			ref, ok := errors.AsType[*boundary.Refusal](err)
			if !ok {
				p.t.Fatalf("Invoke = %v, want a refusal", err)
			}
			p.sink("refusals in the process", append(ref.JSON(), ref.Error()...))
			p.at.code = string(ref.Code)
			if b.Panics() != 1 {
				p.t.Errorf("%d panics were counted", b.Panics())
			}
		}
	}
	internal := []string{"INTERNAL"}
	return []cell{
		{stage: "preflight", fault: "panic", quick: true, answer: internal, record: gone, verdict: unknown, play: run("preflight")},
		{stage: "execute", fault: "panic", quick: true, answer: internal, record: []string{"ERROR INTERNAL"}, verdict: failed, play: run("execute")},
		{stage: "project", fault: "panic", quick: true, answer: internal, record: []string{"ERROR INTERNAL"}, verdict: failed, play: run("project")},
	}
}

// root is a session of the database's root.
func (s *shop) root(tb testing.TB) *sql.Conn {
	tb.Helper()
	cfg := mysql.NewConfig()
	cfg.Net, cfg.Addr, cfg.User = "unix", s.db.Socket, "root"
	cfg.Logger = &mysql.NopLogger{} // the server is killed under it on purpose
	c, err := mysql.NewConnector(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	db := sql.OpenDB(c)
	conn, err := db.Conn(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { conn.Close(); db.Close() })
	return conn
}

// block keeps every reader of the table blocked waiting until the function it returns is called.
func (w *world) block() (release func()) {
	w.t.Helper()
	conn := w.shop.root(w.t)
	if _, err := conn.ExecContext(w.t.Context(), "LOCK TABLES shop.blocked WRITE"); err != nil {
		w.t.Fatal(err)
	}
	return func() {
		if _, err := conn.ExecContext(context.Background(), "UNLOCK TABLES"); err != nil {
			w.t.Error(err)
		}
	}
}

// running counts the statements of the gateways that the database is working on.
func (w *world) running() int {
	out := w.shop.db.SQL(w.t, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = '"+w.user+"' AND COMMAND <> 'Sleep'")
	return atoi(w.t, out)
}

func atoi(tb testing.TB, s string) int {
	tb.Helper()
	var n int
	if _, err := fmt.Sscan(strings.TrimSpace(s), &n); err != nil {
		tb.Fatalf("%q: %v", s, err)
	}
	return n
}

// fill makes the store refuse writes for want of memory; the function it returns makes it take them again. Real bytes would not do: what buffers give back leaves
// room for something small.
func (w *world) fill() (free func()) {
	w.t.Helper()
	ctx := context.Background()
	set := func(bytes string) {
		if err := w.admin.ConfigSet(ctx, "maxmemory", bytes).Err(); err != nil {
			w.t.Fatal(err)
		}
	}
	set("1")
	if err := w.admin.Set(ctx, "fill", "x", time.Minute).Err(); !redis.IsOOMError(err) {
		w.t.Fatalf("a full store says %v", err)
	}
	return func() { set("0") }
}
