package reliability

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for something that must happen: a loaded machine takes long, and a wait that ends is cheap.
const patience = 60 * time.Second

// eventually polls until ok says yes.
func eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
		if time.Now().After(end) {
			tb.Fatalf("not in %v: %s", patience, what)
		}
	}
}

// within fails the test when a channel is not closed in time.
func within(tb testing.TB, what string, c <-chan struct{}) {
	tb.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		tb.Fatalf("not in %v: %s", patience, what)
	}
}

// gateway is one process of the built binary under `http`.
type gateway struct {
	w       *world
	name    string
	file    string // configuration
	mcp     string // base URL of the MCP listener
	harness string // base URL of the harness listener
	audit   string // audit file; "" when audit goes to MySQL
	cmd     *exec.Cmd
	log     *logText
	done    chan struct{}
	killed  bool   // ended without a chance to say anything
	over    bool   // ended in order
	base    gauges // of the idle process
}

// logText collects a JSON log.
type logText struct {
	mu    sync.Mutex
	text  bytes.Buffer
	lines []map[string]any
}

func (l *logText) read(r io.Reader) {
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 4<<20)
	for sc.Scan() {
		var m map[string]any
		_ = json.Unmarshal(sc.Bytes(), &m) // a line that is no JSON is kept as text only
		l.mu.Lock()
		l.text.Write(sc.Bytes())
		l.text.WriteByte('\n')
		l.lines = append(l.lines, m)
		l.mu.Unlock()
	}
}

func (l *logText) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.text.Bytes())
}

// attr finds an attribute of the last line with a message.
func (l *logText) attr(msg, key string) (any, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.lines) - 1; i >= 0; i-- {
		if l.lines[i]["msg"] == msg {
			v, ok := l.lines[i][key]
			return v, ok
		}
	}
	return nil, false
}

// start starts a gateway of the world and waits until it serves. env are KEY=value pairs for the process.
func (w *world) start(name, program string, env ...string) *gateway {
	w.t.Helper()
	g := &gateway{w: w, name: name, log: &logText{}}
	g.file, g.audit = w.writeConfig(name)
	g.launch(program, env...)
	w.mu.Lock()
	w.gateways = append(w.gateways, g)
	first := len(w.gateways) == 1
	w.mu.Unlock()
	if first {
		w.register(w.o.registered...)
	}
	return g
}

func (g *gateway) launch(program string, env ...string) {
	t := g.w.t
	t.Helper()
	g.cmd = exec.Command(program, "http", "--config", g.file)
	g.cmd.Env = append(append(os.Environ(), "UNRELATED_SECRET="+g.w.shop.text["environment"], "AGENT_TOKEN="+g.w.shop.text["agent token"]), env...)
	g.cmd.Dir = g.w.dir
	stderr, err := g.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := &bytes.Buffer{}
	g.cmd.Stdout = out
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	g.done = done
	cmd := g.cmd
	go func() {
		g.log.read(stderr)
		_ = cmd.Wait()
		g.w.sink("standard output of "+g.name, out.Bytes())
		close(done)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
	})
	address := func(msg string) string {
		var a string
		eventually(t, g.name+" logs "+strconv.Quote(msg), func() bool {
			select {
			case <-done:
				t.Fatalf("%s ended: %s", g.name, g.log.bytes())
			default:
			}
			v, ok := g.log.attr(msg, "address")
			a, _ = v.(string)
			return ok
		})
		return "http://" + a
	}
	g.mcp = address("serving over HTTP") + "/mcp"
	g.harness = address("serving the harness API")
}

// stop ends the gateway in order and checks that it does so by itself.
func (g *gateway) stop() {
	g.w.t.Helper()
	select {
	case <-g.done:
		if !g.killed && !g.over {
			g.w.t.Errorf("%s ended by itself: %v\n%s", g.name, g.cmd.ProcessState, g.log.bytes())
		}
		return
	default:
	}
	_ = g.cmd.Process.Signal(syscall.SIGTERM)
	within(g.w.t, "end of "+g.name, g.done)
	if code := g.cmd.ProcessState.ExitCode(); code != 0 {
		g.w.t.Errorf("%s: exit %d on SIGTERM\n%s", g.name, code, g.log.bytes())
	}
}

// kill ends the gateway as kill -9 does.
func (g *gateway) kill() {
	g.killed = true
	_ = g.cmd.Process.Kill()
	<-g.done
}

// diedBySignal waits for the end of a gateway that ends itself.
func (g *gateway) diedBySignal() {
	g.w.t.Helper()
	g.killed = true
	within(g.w.t, g.name+" reaches its crash point", g.done)
	if ws, ok := g.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGKILL {
		g.w.t.Errorf("%s: %v, want an end by SIGKILL", g.name, g.cmd.ProcessState)
	}
}

// writeConfig writes the configuration of one gateway.
func (w *world) writeConfig(name string) (file, audit string) {
	w.t.Helper()
	c := w.shop.text
	secrets := []string{"secrets", "infrastructure", "persons", "sql"}
	cfg := map[string]any{
		"http":      map[string]any{"listen": "127.0.0.1:0"},
		"harness":   map[string]any{"listen": "127.0.0.1:0"},
		"auth":      map[string]any{"tokens": []any{map[string]any{"name": principal, "token": "${AGENT_TOKEN}"}, map[string]any{"name": "other", "token": "other-not-real", "topics": []string{}}, map[string]any{"name": "ops", "token": c["harness token"], "role": "harness"}}},
		"runs":      map[string]any{"ttl": "10m", "limits": map[string]any{"calls": 1000000, "request_bytes": "1GiB", "raw_bytes": "1GiB", "observation_bytes": "1GiB"}, "no_gain": map[string]any{"limit": 100, "window": 100}, "principal": map[string]any{"calls_per_minute": 1000000, "live_bytes": "4GiB", "open_runs": 100000}},
		"call":      map[string]any{"timeout": "3s", "max_raw": "1MiB", "max_record": "2MiB"},
		"canonical": map[string]any{"store": w.storeURL(), "ttl": "5m", "replicas": 3},
		"rag":       map[string]any{"index_dir": filepath.Join(w.dir, "index"), "collections": map[string]any{"runbooks": map[string]any{"description": "runbooks", "folder": map[string]any{"path": w.docs}, "mask": []string{"secrets", "infrastructure", "persons"}}}},
		"logs": map[string]any{"topics": map[string]any{"checkout": map[string]any{"description": "the checkout service", "files": map[string]any{"paths": []string{filepath.Join(w.logs, "checkout.log")}, "timezone": "UTC"}, "mask": secrets},
			"legacy": map[string]any{"description": "the old service", "files": map[string]any{"paths": []string{filepath.Join(w.logs, "legacy.log")}, "timezone": "UTC"}, "mask": secrets}}},
		"mysql": map[string]any{"datasources": map[string]any{"shop": map[string]any{"description": "orders and customers", "dsn": w.user + ":" + c["datasource password"] + "@tcp(" + w.db.addr() + ")/shop", "max_rows": 200, "timeout": "2s", "schemas": tables()}}},
		"log":   map[string]any{"level": "debug", "format": "json"},
	}
	if w.o.auditMySQL {
		cfg["audit"] = map[string]any{"mysql": "aw:" + c["audit password"] + "@tcp(" + w.audit.addr() + ")/audit"}
	} else {
		audit = filepath.Join(w.dir, "audit-"+name+".jsonl")
		cfg["audit"] = map[string]any{"file": audit}
	}
	if w.remote != nil {
		cfg["rag"].(map[string]any)["collections"].(map[string]any)["remote"] = map[string]any{"description": "over HTTP", "mask": secrets[:3],
			"dify": map[string]any{"url": w.remote.srv.URL, "knowledge_id": "kb", "api_key": c["remote key"]}}
		key := map[string]string{"Authorization": "Bearer " + c["remote key"]}
		for topic, backend := range map[string]map[string]any{"remote": {"victorialogs": map[string]any{"url": w.remote.srv.URL, "headers": key}},
			"remote-loki":          {"loki": map[string]any{"url": w.remote.srv.URL, "selector": `{service="checkout"}`, "headers": key}},
			"remote-elasticsearch": {"elasticsearch": map[string]any{"url": w.remote.srv.URL, "index": "logs-shop-*", "headers": key}}} {
			backend["description"], backend["mask"] = "over HTTP", secrets
			cfg["logs"].(map[string]any)["topics"].(map[string]any)[topic] = backend
		}
	}
	if w.o.registered != nil {
		cfg["runs"].(map[string]any)["mode"] = "registered"
	}
	if w.o.tune != nil {
		w.o.tune(cfg)
	}
	b, err := json.Marshal(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	file = filepath.Join(w.dir, name+".yaml")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return file, audit
}

// gauges are what a process holds.
type gauges struct {
	goroutines, files, memory float64
}

var errMetric = errors.New("metric missing")

// gauges reads them from the metrics page.
func (g *gateway) gauges() (gauges, error) {
	_, body, err := g.w.http("GET", g.harness+"/metrics", "", nil)
	if err != nil {
		return gauges{}, err
	}
	var out gauges
	for name, to := range map[string]*float64{"go_goroutines": &out.goroutines, "process_open_fds": &out.files, "process_resident_memory_bytes": &out.memory} {
		_, rest, ok := strings.Cut("\n"+string(body), "\n"+name+" ")
		if !ok {
			return gauges{}, errMetric
		}
		line, _, _ := strings.Cut(rest, "\n")
		if *to, err = strconv.ParseFloat(strings.TrimSpace(line), 64); err != nil {
			return gauges{}, err
		}
	}
	return out, nil
}

// drops is how many audit rows the gateway says that it lost, after its end.
func (g *gateway) drops() int {
	n, _ := g.log.attr("audit rows dropped", "total")
	f, _ := n.(float64)
	return int(f)
}
