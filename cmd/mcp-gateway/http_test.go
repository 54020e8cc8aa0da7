package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-069badc9/mcp-gateway/internal/servertest"
)

// served is an `http` command under test.
type served struct {
	url  string
	dir  string
	file string
	log  *logLines
	end  func() int
}

// logLines collects a JSON log and lets a test wait for a message.
type logLines struct {
	mu    sync.Mutex
	lines []map[string]any
	all   strings.Builder
	grown chan struct{}
}

func (l *logLines) read(r io.Reader) {
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		var m map[string]any
		_ = json.Unmarshal(sc.Bytes(), &m)
		l.mu.Lock()
		l.all.WriteString(sc.Text() + "\n")
		l.lines = append(l.lines, m)
		l.mu.Unlock()
		select {
		case l.grown <- struct{}{}:
		default:
		}
	}
}

func (l *logLines) text() string { l.mu.Lock(); defer l.mu.Unlock(); return l.all.String() }

// await returns the n-th log line with the message.
func (l *logLines) await(t *testing.T, msg string, n int) map[string]any {
	t.Helper()
	end := time.After(30 * time.Second)
	for {
		seen := 0
		l.mu.Lock()
		for _, m := range l.lines {
			if m["msg"] == msg {
				if seen++; seen == n {
					l.mu.Unlock()
					return m
				}
			}
		}
		l.mu.Unlock()
		select {
		case <-l.grown:
		case <-end:
			t.Fatalf("no log line %q; the log is\n%s", msg, l.text())
		}
	}
}

const lateLog = `{"time":"2026-01-01T10:05:07Z","level":"ERROR","msg":"payment declined: gateway answered 502 password=canary-9321"}
{"time":"2026-01-01T10:05:08Z","level":"INFO","msg":"order 7 accepted"}
`

// baseConfig is a configuration with a topic and a collection; more replaces the default store.
func baseConfig(t *testing.T, more string) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, "c.yaml")
	for name, text := range map[string]string{"a.log": lateLog, "docs/payments.md": "# Payment gateway answers 502\n\nFail over with `payctl failover`.\n",
		"c.yaml": "http: {listen: \"127.0.0.1:0\"}\nlog: {format: json}\n" + more + topicConfig("checkout")} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, file
}

func topicConfig(topic string) string {
	return "logs: {topics: {" + topic + ": {description: the service, files: {paths: [a.log], timezone: UTC}}}}\nrag: {index_dir: idx, collections: {runbooks: {description: runbooks, folder: {path: docs}}}}\n"
}

func serve(t *testing.T, more string) *served {
	t.Helper()
	dir, file := baseConfig(t, more)
	pr, pw := io.Pipe()
	s := &served{dir: dir, file: file, log: &logLines{grown: make(chan struct{}, 1)}}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	code := 0
	wg.Go(func() {
		code = run(ctx, []string{"http", "--config", file}, strings.NewReader(""), io.Discard, pw)
		pw.Close()
	})
	wg.Go(func() { s.log.read(pr) })
	var once sync.Once
	s.end = func() int {
		once.Do(func() { cancel(); wg.Wait() })
		return code
	}
	t.Cleanup(func() { s.end() })
	s.url = "http://" + s.log.await(t, "serving over HTTP", 1)["address"].(string) + "/mcp"
	return s
}

type bearer struct{ token, run string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	if b.run != "" {
		r.Header.Set("Mcp-Gateway-Run", b.run)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// dial connects an independent client.
func (s *served) dial(t *testing.T, b bearer) *mcp.ClientSession {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	cs, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: s.url, HTTPClient: &http.Client{Transport: b}, DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cs.Close() })
	return cs
}

func call(t *testing.T, cs *mcp.ClientSession, tool string, args map[string]any, meta mcp.Meta) (map[string]any, bool) {
	t.Helper()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args, Meta: meta})
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal([]byte(res.Content[0].(*mcp.TextContent).Text), &v); err != nil {
		t.Fatal(err)
	}
	return v, res.IsError
}

func declined() map[string]any {
	return map[string]any{"topics": []string{"checkout"}, "query": "declined", "from": "2026-01-01T10:00:00Z", "to": "2026-01-01T10:06:00Z"}
}

const twoTokens = "auth: {tokens: [{name: a, token: tok-a-not-real}, {name: b, token: tok-b-not-real, topics: []}]}\n"

// An independent client over HTTP: calls, cites, verifies; another principal can do nothing with the citation and does not see what it may not read.
func TestAnIndependentClientOverHTTP(t *testing.T) {
	s := serve(t, "canonical: {store: memory}\n"+twoTokens)
	a, b := s.dial(t, bearer{token: "tok-a-not-real"}), s.dial(t, bearer{token: "tok-b-not-real"})
	obs, isErr := call(t, a, "query_logs", declined(), mcp.Meta{"dev.mcp-gateway/run-id": "r1", "dev.mcp-gateway/tool-call-id": "c1"})
	if isErr || obs["evidence_status"] != "EVIDENCE_FOUND" || obs["tool_call_id"] != "c1" || obs["run_id"] != "r1" || strings.Contains(fmt.Sprint(obs), "canary") {
		t.Fatalf("%v", obs)
	}
	read := func(cs *mcp.ClientSession, uri string) map[string]any {
		res, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		if err := json.Unmarshal([]byte(res.Contents[0].Text), &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	if v := read(a, "evidence://r1/c1?item=e1&quote=gateway%20answered%20502"); v["verdict"] != "SUPPORTED" {
		t.Errorf("own citation: %v", v)
	}
	if v := read(b, "evidence://r1/c1"); v["reason"] != "NOT_FOUND" {
		t.Errorf("foreign citation: %v", v)
	}
	if obs, isErr := call(t, b, "query_logs", declined(), nil); !isErr || obs["error"].(map[string]any)["code"] != "INVALID_REQUEST" {
		t.Errorf("a topic that is not granted: %v", obs)
	}
	tools, err := b.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		if strings.Contains(tool.Description, "checkout") {
			t.Errorf("the description of %s names a topic that the caller may not read", tool.Name)
		}
	}
	if code := s.end(); code != 0 {
		t.Errorf("exit %d on the end of the context, want 0", code)
	}
	if strings.Contains(s.log.text(), "canary") || strings.Contains(s.log.text(), "declined") || strings.Contains(s.log.text(), "tok-a") {
		t.Errorf("the log holds content:\n%s", s.log.text())
	}
}

// Allowlists and tokens change with the file; a broken file changes nothing and is said.
func TestReload(t *testing.T) {
	s := serve(t, "canonical: {store: memory}\n"+twoTokens)
	a := s.dial(t, bearer{token: "tok-a-not-real"})
	if _, isErr := call(t, a, "query_logs", declined(), nil); isErr {
		t.Fatal("the first call was refused")
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(s.file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const head = "http: {listen: \"127.0.0.1:0\"}\nlog: {format: json}\ncanonical: {store: memory}\n"
	write(head + twoTokens + "logs: {topics: {checkout: {description: d, file: {}}}}\n")
	s.log.await(t, "the changed configuration is broken; the last good one stays in force", 1)
	if _, isErr := call(t, a, "query_logs", declined(), nil); isErr {
		t.Error("a broken file changed what is served")
	}
	write(head + "auth: {tokens: [{name: a, token: tok-a-new-not-real}]}\n" + topicConfig("payments"))
	s.log.await(t, "configuration reloaded", 1)
	fresh := s.dial(t, bearer{token: "tok-a-new-not-real"})
	if obs, isErr := call(t, fresh, "query_logs", declined(), nil); !isErr {
		t.Errorf("a topic that is gone still answers: %v", obs)
	}
	args := declined()
	args["topics"] = []string{"payments"}
	if obs, isErr := call(t, fresh, "query_logs", args, nil); isErr {
		t.Errorf("the new topic: %v", obs)
	}
	if _, err := a.CallTool(t.Context(), &mcp.CallToolParams{Name: "query_logs", Arguments: declined()}); err == nil {
		t.Error("a token that is gone is still accepted")
	}
}

// What keeps `http` from starting is one sentence that says what to do.
func TestHTTPDoesNotStart(t *testing.T) {
	busy := serve(t, "canonical: {store: memory}\n")
	addr := strings.TrimSuffix(strings.TrimPrefix(busy.url, "http://"), "/mcp")
	evicting := servertest.StartRedis(t, "--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru")
	for name, c := range map[string]struct{ more, says string }{
		"port in use":     {"", addr + " is in use by another process"},
		"no Redis":        {"canonical: {store: \"redis://127.0.0.1:1/0\"}\n", "canonical.store: "},
		"evicting Redis":  {"canonical: {store: \"" + evicting.URL() + "\"}\n", "noeviction"},
		"no certificate":  {"", "http.tls"},
		"unusable folder": {"canonical: {store: \"file:/proc/nowhere/canonical.db\"}\n", "canonical.store: "},
	} {
		t.Run(name, func(t *testing.T) {
			dir, file := baseConfig(t, c.more)
			listen := "127.0.0.1:0"
			if name == "port in use" {
				listen = addr
			}
			http := "http: {listen: \"" + listen + "\"}\n"
			if name == "no certificate" {
				http = "http: {listen: \"127.0.0.1:0\", tls: {cert_file: none.pem, key_file: none.key}}\n"
			}
			if !strings.Contains(c.more, "canonical") {
				http += "canonical: {store: memory}\n"
			}
			if err := os.WriteFile(file, []byte(http+c.more+topicConfig("checkout")), 0o600); err != nil {
				t.Fatal(err)
			}
			var errs strings.Builder
			code := run(t.Context(), []string{"http", "--config", file}, strings.NewReader(""), io.Discard, &errs)
			if code == 0 || !strings.Contains(errs.String(), c.says) || strings.Contains(errs.String(), dir+"/docs") {
				t.Errorf("exit %d, %q, want a message with %q", code, errs.String(), c.says)
			}
		})
	}
}
