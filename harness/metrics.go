package harness

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/seed-069badc9/mcp-gateway/boundary"
)

// Metrics counts calls for /metrics. It is a boundary.Auditor: it sees what audit sees and nothing else. Labels are tool names and codes of the closed list; no
// principal, run, id or scope ever becomes a label.
type Metrics struct {
	reg     *prometheus.Registry
	calls   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
	bytes   *prometheus.CounterVec
}

var _ boundary.Auditor = (*Metrics)(nil)

// NewMetrics makes the collectors. panics and drops are read when the page is asked for; nil leaves one out.
func NewMetrics(panics, drops func() float64) *Metrics {
	m := &Metrics{
		reg: prometheus.NewRegistry(),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mcp_gateway_calls_total",
			Help: "Attempted calls by tool, outcome (EVIDENCE_FOUND, NO_EVIDENCE, ERROR, REFUSED) and error code."}, []string{"tool", "outcome", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "mcp_gateway_call_seconds", Help: "Duration of calls that had a record.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}}, []string{"tool"}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mcp_gateway_bytes_total", Help: "Bytes by tool and surface: request, raw (stays behind), observation (shown)."},
			[]string{"tool", "surface"}),
	}
	m.reg.MustRegister(m.calls, m.seconds, m.bytes, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for name, f := range map[string]func() float64{"mcp_gateway_panics_total": panics, "mcp_gateway_audit_rows_dropped_total": drops} {
		if f != nil {
			m.reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: "See the name."}, f))
		}
	}
	return m
}

// Audit counts one attempt.
func (m *Metrics) Audit(r boundary.AuditRecord) {
	outcome := r.EvidenceStatus
	if r.InvocationStatus == "" {
		outcome = "REFUSED"
	}
	m.calls.WithLabelValues(r.Tool, outcome, string(r.Code)).Inc()
	if r.InvocationStatus == "" {
		return
	}
	m.seconds.WithLabelValues(r.Tool).Observe(float64(r.LatencyMicros) / 1e6)
	for surface, n := range map[string]int64{"request": r.RequestBytes, "raw": r.RawBytes, "observation": r.ObservationBytes} {
		m.bytes.WithLabelValues(r.Tool, surface).Add(float64(n))
	}
}

// Handler serves the page.
func (m *Metrics) Handler() http.Handler { return promhttp.HandlerFor(m.reg, promhttp.HandlerOpts{}) }
