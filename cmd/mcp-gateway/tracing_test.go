package main

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// What a collector receives of a call is its shape. The query, the log's lines and the secret in one of them are not in it.
func TestTracesHoldNoContent(t *testing.T) {
	t.Parallel()
	var (
		mu   sync.Mutex
		sent bytes.Buffer
	)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_, _ = io.Copy(&sent, r.Body)
	}))
	defer collector.Close()
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query_logs","arguments":{"topics":["checkout"],"query":"declined","from":"2026-01-01T10:00:00Z","to":"2026-01-01T11:00:00Z"},` +
		`"_meta":{"traceparent":"00-` + trace + `-00f067aa0ba902b7-01","tracestate":"vendor=canary-state"}}}` + "\n"
	out := stdioWith(t, call, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL)
	if !strings.Contains(out, "EVIDENCE_FOUND") {
		t.Fatalf("the call answered %s", out)
	}
	mu.Lock()
	defer mu.Unlock()
	id, err := hex.DecodeString(trace)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{string(id), "tools/call query_logs", "open", "execute", "project", "close", "EVIDENCE_FOUND"} {
		if !strings.Contains(sent.String(), want) {
			t.Errorf("the collector did not receive %q", want)
		}
	}
	for _, content := range []string{"canary", "declined", "502", "checkout"} {
		if strings.Contains(sent.String(), content) {
			t.Errorf("the collector received %q", content)
		}
	}
}

// A collector that is not there costs neither the call nor the end of the process.
func TestADeadCollectorHarmsNoCall(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query_rag","arguments":{"query":"payment gateway 502"}}}` + "\n"
	if out := stdioWith(t, call, "OTEL_EXPORTER_OTLP_ENDPOINT="+gone.URL); !strings.Contains(out, "EVIDENCE_FOUND") {
		t.Errorf("the call answered %s", out)
	}
}

// stdioWith runs the stdio command in a process of its own, because the OpenTelemetry SDK reads the process's environment.
func stdioWith(t *testing.T, input string, env ...string) string {
	t.Helper()
	dir, file := baseConfig(t, "canonical: {store: memory}\n")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "mcp-gateway")
	if err := os.Symlink(exe, binary); err != nil { // the test binary is the command under that name
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), binary, "stdio", "--config", file)
	cmd.Stdin, cmd.Env = strings.NewReader(input), append(os.Environ(), env...)
	var diagnostics bytes.Buffer
	cmd.Stderr = &diagnostics
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, diagnostics.String())
	}
	if strings.Contains(diagnostics.String(), "127.0.0.1") {
		t.Errorf("the log names the collector: %s", diagnostics.String())
	}
	return string(out)
}
