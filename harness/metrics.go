package harness

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// Metrics counts calls for /metrics. It is a boundary.Auditor: it sees what audit sees and nothing else. Labels are tool names and codes of the closed list; no
// principal, run, id or scope ever becomes a label, and whatever a caller claims cannot add one.
type Metrics struct {
	reg     *prometheus.Registry
	calls   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	bytes   *prometheus.CounterVec

	mu    sync.Mutex
	tools map[string]struct{}
}

var _ boundary.Auditor = (*Metrics)(nil)

// NewMetrics makes the collectors. panics and drops are read when the page is asked for; nil leaves one out.
func NewMetrics(panics, drops func() float64) *Metrics {
	m := &Metrics{
		reg:   prometheus.NewRegistry(),
		tools: map[string]struct{}{},
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mcp_gateway_calls_total",
			Help: "Attempted calls by tool, outcome (EVIDENCE_FOUND, NO_EVIDENCE, ERROR, REFUSED) and error code."}, []string{"tool", "outcome", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "mcp_gateway_call_seconds", Help: "Duration of calls that had a record.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}}, []string{"tool"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mcp_gateway_bytes_total", Help: "Bytes by tool and surface: request, raw (stays behind), observation (shown)."},
			[]string{"tool", "surface"}),
	}
	m.reg.MustRegister(m.calls, m.seconds, m.bytes, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, c := range []struct {
		name, help string
		read       func() float64
	}{
		{"mcp_gateway_panics_total", "Panics caught inside calls; each ended one call as INTERNAL.", panics},
		{"mcp_gateway_audit_rows_dropped_total", "Audit rows that the sink could not take in time.", drops},
	} {
		if c.read != nil {
			m.reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: c.name, Help: c.help}, c.read))
		}
	}
	return m
}

// maxToolLabels bounds the label's values: a gateway has a handful of tools, also after many reloads.
const maxToolLabels = 64

// tool gives the label of a tool: "" for a call refused before its tool was known, "other" for what no tool can be called.
func (m *Metrics) tool(name string) string {
	if name == "" {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.tools[name]; known {
		return name
	}
	if len(m.tools) >= maxToolLabels || !toolName.MatchString(name) {
		return "other"
	}
	m.tools[name] = struct{}{}
	return name
}

// outcome gives the label of how an attempt ended.
func outcome(r boundary.AuditRecord) string {
	switch {
	case r.InvocationStatus == "":
		return "REFUSED"
	case r.EvidenceStatus == canonical.Found.String() || r.EvidenceStatus == canonical.None.String():
		return r.EvidenceStatus
	}
	return "ERROR"
}

// Audit counts one attempt.
func (m *Metrics) Audit(r boundary.AuditRecord) {
	tool, code := m.tool(r.Tool), r.Code
	if code != "" && !fault.Known(code) {
		code = fault.Internal
	}
	m.calls.WithLabelValues(tool, outcome(r), string(code)).Inc()
	if r.InvocationStatus == "" {
		return
	}
	m.seconds.WithLabelValues(tool).Observe((time.Duration(r.LatencyMicros) * time.Microsecond).Seconds())
	for surface, n := range map[string]int64{"request": r.RequestBytes, "raw": r.RawBytes, "observation": r.ObservationBytes} {
		m.bytes.WithLabelValues(tool, surface).Add(float64(max(0, n)))
	}
}

// Handler serves the page. Anyone may ask, so a few requests at a time have to do.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.reg, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
}
