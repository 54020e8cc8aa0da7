package tracing

import (
	"bytes"
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/seed-069badc9/mcp-gateway/boundary"
)

// sink is a collector.
type sink struct {
	mu    sync.Mutex
	spans map[string]*otlp.Span
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		body = z
	}
	b, _ := io.ReadAll(body)
	var req collector.ExportTraceServiceRequest
	if r.URL.Path != "/v1/traces" || proto.Unmarshal(b, &req) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rs := range req.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, sp := range ss.Spans {
				s.spans[sp.Name] = sp
			}
		}
	}
}

// The SDK reads its own variables from the process, so these tests run one after the other.
func TestACallIsOneTraceThatContinuesTheCallers(t *testing.T) {
	s := &sink{spans: map[string]*otlp.Span{}}
	srv := httptest.NewServer(s)
	defer srv.Close()
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": srv.URL}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL)
	tr, err := New(t.Context(), func(k string) string { return env[k] }, "v0", slog.New(slog.DiscardHandler))
	if err != nil || tr == nil {
		t.Fatal(tr, err)
	}
	const parent = "4bf92f3577b34da6a3ce929d0e0e4736"
	ctx, c := tr.Trace(Join(t.Context(), "00-"+parent+"-00f067aa0ba902b7-01"), time.Now())
	_ = ctx
	c.Stage("open")()
	c.End(boundary.AuditRecord{Tool: "query_logs", Call: "c1", Run: "r1", Code: "BACKEND_ERROR", RawBytes: 7})
	if err := tr.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	root, stage := s.spans["tools/call query_logs"], s.spans["open"]
	if root == nil || stage == nil {
		t.Fatalf("the collector has %v", s.spans)
	}
	if got := hexOf(root.TraceId); got != parent || hexOf(root.ParentSpanId) != "00f067aa0ba902b7" {
		t.Errorf("trace %s does not continue %s", got, parent)
	}
	if !bytes.Equal(stage.ParentSpanId, root.SpanId) || root.Kind != otlp.Span_SPAN_KIND_SERVER || root.Status.GetMessage() != "BACKEND_ERROR" {
		t.Errorf("root %v, stage %v", root, stage)
	}
	has := map[string]string{}
	for _, a := range root.Attributes {
		has[a.Key] = a.Value.String()
	}
	for _, k := range []string{"mcp.method.name", "gen_ai.tool.name", "gen_ai.tool.call.id", "mcp_gateway.run_id", "error.type", "mcp_gateway.raw_bytes"} {
		if has[k] == "" {
			t.Errorf("no %s in %v", k, has)
		}
	}
}

func hexOf(b []byte) string {
	const digits = "0123456789abcdef"
	var out strings.Builder
	for _, c := range b {
		out.WriteByte(digits[c>>4])
		out.WriteByte(digits[c&15])
	}
	return out.String()
}

func TestATraceparentThatIsNoneBeginsANewTrace(t *testing.T) {
	for _, p := range []string{"", "?", "00-zz", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", strings.Repeat("0", 1<<16)} {
		if ctx := Join(t.Context(), p); ctx != t.Context() {
			t.Errorf("%.20q joined a trace", p)
		}
	}
}

func TestTheEnvironmentDecides(t *testing.T) {
	t.Parallel()
	const ep = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for _, c := range []struct {
		env  map[string]string
		on   bool
		says string
	}{
		{env: nil},
		{env: map[string]string{ep: "http://192.0.2.1:4318"}, on: true},
		{env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://192.0.2.1:4318/v1/traces"}, on: true},
		{env: map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, on: true},
		{env: map[string]string{ep: "x", "OTEL_SDK_DISABLED": "TRUE"}},
		{env: map[string]string{ep: "x", "OTEL_TRACES_EXPORTER": "none"}},
		{env: map[string]string{"OTEL_TRACES_EXPORTER": "console"}, says: "otlp or none"},
		{env: map[string]string{ep: "x", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, says: "http/protobuf"},
		{env: map[string]string{ep: "x", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"}, on: true},
	} {
		on, err := wanted(func(k string) string { return c.env[k] })
		if on != c.on || (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v, %v", c.env, on, err)
		}
	}
}

func TestADeadCollectorIsSaidOnceAMinuteAndNotByName(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	q := &quiet{log: slog.New(slog.NewTextHandler(&out, nil))}
	for range 5 {
		q.Handle(io.ErrUnexpectedEOF)
	}
	if n := strings.Count(out.String(), "\n"); n != 1 || strings.Contains(out.String(), "EOF") {
		t.Errorf("%d lines: %s", n, out.String())
	}
}
