package harness_test

import (
	"fmt"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/harness"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

func page(m *harness.Metrics) string {
	rec := httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	return rec.Body.String()
}

func TestCallsAreCounted(t *testing.T) {
	t.Parallel()
	m := harness.NewMetrics(func() float64 { return 7 }, nil)
	w := newWorld(t, registered(), m, nil)
	open(t, w, `{"run_id":"inc-1","no_gain":{"limit":2,"window":5}}`)
	for i, word := range []string{"gateway", "gateway", "zebra", "broken", "gateway", "gateway"} {
		w.lines(t, "inc-1", fmt.Sprint("c", i), word)
	}
	w.lines(t, "inc-none", "c9", "gateway")
	got := page(m)
	for _, want := range []string{
		`mcp_gateway_calls_total{code="",outcome="EVIDENCE_FOUND",tool="query_lines"} 3`,
		`mcp_gateway_calls_total{code="",outcome="NO_EVIDENCE",tool="query_lines"} 1`,
		`mcp_gateway_calls_total{code="BACKEND_ERROR",outcome="ERROR",tool="query_lines"} 1`,
		`mcp_gateway_calls_total{code="STOP_REQUIRED",outcome="REFUSED",tool="query_lines"} 1`,
		`mcp_gateway_calls_total{code="RUN_NOT_ACTIVE",outcome="REFUSED",tool="query_lines"} 1`,
		`mcp_gateway_call_seconds_count{tool="query_lines"} 5`, `mcp_gateway_panics_total 7`,
		`mcp_gateway_bytes_total{surface="request",tool="query_lines"} `, `mcp_gateway_bytes_total{surface="raw",tool="query_lines"} `,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %s", want)
		}
	}
	if strings.Contains(got, "audit_rows_dropped") {
		t.Error("a counter that nobody feeds is shown")
	}
	if t.Failed() {
		t.Log(regexp.MustCompile(`(?m)^(?:#|go_|process_).*\n`).ReplaceAllString(got, ""))
	}
}

var labelled = regexp.MustCompile(`(?m)^mcp_gateway_\w+\{([^}]*)\}`)

// Whatever callers and records hold, labels are tools, codes and outcomes: no claim of a caller becomes one, and their number is bounded.
func TestNoClaimBecomesALabel(t *testing.T) {
	t.Parallel()
	m := harness.NewMetrics(nil, nil)
	w := newWorld(t, harness.DefaultPolicy(), m, nil)
	const canary = "cnry-" + "label"
	for i, tool := range []string{canary, "query_lines\"} 1\nmcp_gateway_fake{x=\"" + canary, "", "query_lines", strings.Repeat("x", 1<<16)} {
		w.ask(t, "run-"+canary, fmt.Sprint(canary, i), tool, `{"word":"`+canary+`"}`)
		w.ask(t, "not a run "+canary, "", tool, `{"`+canary+`":1}`)
	}
	// Behind the boundary too: rows that no boundary writes.
	for i := range 1000 {
		m.Audit(boundary.AuditRecord{Principal: canary, Run: canary, Call: canary, Tool: fmt.Sprintf("tool_%d", i), InvocationStatus: canonical.StateReady, EvidenceStatus: canary, RawBytes: -5})
		m.Audit(boundary.AuditRecord{Tool: fmt.Sprint("Ünknown ", canary, i), Code: fault.Code(fmt.Sprint("CODE_", i)), ScopeID: canary, StepID: canary, HostCallID: canary})
	}
	got := page(m)
	if strings.Contains(got, canary) || strings.Contains(got, "mcp_gateway_fake") {
		t.Error("a claim is on the page")
	}
	series := labelled.FindAllStringSubmatch(got, -1)
	values := map[string]map[string]bool{}
	for _, s := range series {
		for pair := range strings.SplitSeq(s[1], ",") {
			k, v, _ := strings.Cut(pair, "=")
			if values[k] == nil {
				values[k] = map[string]bool{}
			}
			values[k][strings.Trim(v, `"`)] = true
		}
	}
	if len(values["tool"]) > 66 || !values["tool"]["other"] || !values["tool"]["query_lines"] {
		t.Errorf("%d tools", len(values["tool"]))
	}
	for code := range values["code"] {
		if code != "" && !fault.Known(fault.Code(code)) {
			t.Errorf("code %q", code)
		}
	}
	for outcome := range values["outcome"] {
		if !slices.Contains([]string{"EVIDENCE_FOUND", "NO_EVIDENCE", "ERROR", "REFUSED"}, outcome) {
			t.Errorf("outcome %q", outcome)
		}
	}
	for k := range values {
		if !slices.Contains([]string{"tool", "code", "outcome", "surface", "le"}, k) {
			t.Errorf("label %q", k)
		}
	}
}

func TestMetricsMayBeReadWhileCallsAreCounted(t *testing.T) {
	t.Parallel()
	m := harness.NewMetrics(nil, nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 200 {
				m.Audit(boundary.AuditRecord{Tool: fmt.Sprintf("tool_%d", i), InvocationStatus: canonical.StateReady, EvidenceStatus: "NO_EVIDENCE"})
			}
		})
	}
	for range 5 {
		page(m)
	}
	wg.Wait()
	if got := page(m); strings.Count(got, "} 200\n") < 8 {
		t.Error("calls were lost")
	}
}
