package harness_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/harness"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// The view that is pushed when a call ends and the one read from the store say the same.
func TestPushedAndStoredViewsAgree(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registered(), nil, nil)
	open(t, w, `{"run_id":"inc-1"}`)
	for i, word := range []string{"gateway", "Gateway", "zebra", "broken"} {
		w.lines(t, "inc-1", fmt.Sprint("c", i), word)
		var stored harness.CallView
		w.do(t, opsToken, "GET", fmt.Sprintf("/v1/principals/alice/runs/inc-1/calls/c%d", i), "").read(t, &stored)
		pushed := w.views[i]
		if d := cmp.Diff(pushed, stored, cmpopts.IgnoreFields(harness.CallView{}, "StartedAt", "CompletedAt")); d != "" {
			t.Errorf("%s (-pushed +stored):\n%s", word, d)
		}
		if stored.StartedAt == nil || stored.CompletedAt == nil || stored.CompletedAt.Before(*stored.StartedAt) {
			t.Errorf("%s: from %v to %v", word, stored.StartedAt, stored.CompletedAt)
		}
	}
	var list struct{ Calls []harness.CallView }
	w.do(t, opsToken, "GET", "/v1/principals/alice/runs/inc-1/calls", "").read(t, &list)
	if len(list.Calls) != 4 {
		t.Fatalf("%d calls", len(list.Calls))
	}
	got := list.Calls[1]
	want := harness.CallView{RunID: "inc-1", ToolCallID: "c1", HostCallID: "toolu_1", StepID: "s1", Tool: "query_lines", InvocationStatus: canonical.StateReady, EvidenceStatus: "EVIDENCE_FOUND",
		Scope: "lines with gateway", ScopeID: list.Calls[0].ScopeID, DuplicateOf: "c0", ReturnedCount: 2, RelevanceLevel: "HIGH", Gain: canonical.GainNo, NoGainStreak: 1, NoGainLimit: 2,
		Bytes: harness.CallBytes{Request: int64(len(`{"word":"Gateway"}`)), Raw: got.Bytes.Raw, Observation: got.Bytes.Observation}}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(harness.CallView{}, "StartedAt", "CompletedAt", "LatencyMS", "BudgetLeft")); d != "" || got.Bytes.Raw == 0 || got.Bytes.Observation == 0 {
		t.Error(d)
	}
	if e := list.Calls[3]; e.ErrorCode != "BACKEND_ERROR" || e.EvidenceStatus != "ERROR" || e.Gain != canonical.Uncounted || e.NoGainStreak != 1 {
		t.Errorf("an ERROR: %+v", e)
	}
}

// What is left is what was given less what the calls cost, and so is what each view says.
func TestTheBudgetAddsUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, harness.DefaultPolicy(), nil, nil)
	open(t, w, `{"run_id":"inc-1","limits":{"calls":40,"observation_bytes":100000},"no_gain":{"limit":100,"window":100}}`)
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() { w.lines(t, "inc-1", fmt.Sprint("c", i), []string{"gateway", "zebra", "broken", "disk"}[i%4]) })
	}
	wg.Wait()
	var list struct {
		Calls []harness.CallView
		Next  int `json:"next_offset"`
	}
	seen := map[string]bool{}
	var sum canonical.Limits
	for offset := 0; ; {
		list.Next, list.Calls = 0, nil
		w.do(t, opsToken, "GET", fmt.Sprintf("/v1/principals/alice/runs/inc-1/calls?limit=7&offset=%d", offset), "").read(t, &list)
		for _, c := range list.Calls {
			seen[c.ToolCallID] = true
			sum.Calls++
			sum.RequestBytes += c.Bytes.Request
			if c.InvocationStatus == canonical.StateReady {
				sum.RawBytes += c.Bytes.Raw
				sum.ObservationBytes += c.Bytes.Observation
			}
		}
		if list.Next == 0 {
			break
		}
		offset = list.Next
	}
	var run harness.RunView
	w.do(t, opsToken, "GET", "/v1/principals/alice/runs/inc-1", "").read(t, &run)
	if d := cmp.Diff(sum, run.Used); d != "" || len(seen) != 32 {
		t.Errorf("%d calls (-sum of the calls +used):\n%s", len(seen), d)
	}
	want := canonical.Limits{Calls: 40 - sum.Calls, RequestBytes: run.Limits.RequestBytes - sum.RequestBytes, RawBytes: run.Limits.RawBytes - sum.RawBytes, ObservationBytes: 100000 - sum.ObservationBytes}
	var p harness.ProgressSnapshot
	w.do(t, opsToken, "GET", "/v1/principals/alice/runs/inc-1/progress", "").read(t, &p)
	if cmp.Diff(want, run.BudgetLeft) != "" || cmp.Diff(want, p.BudgetLeft) != "" || cmp.Diff(want, *list.Calls[0].BudgetLeft) != "" {
		t.Errorf("left: want %+v, run %+v, progress %+v, view %+v", want, run.BudgetLeft, p.BudgetLeft, *list.Calls[0].BudgetLeft)
	}
	if d := cmp.Diff(p.Tools["query_lines"], harness.ToolProgress{Calls: 32, EvidenceFound: 16, NoEvidence: 8, Errors: 8, Duplicates: p.Tools["query_lines"].Duplicates, NoGain: p.Tools["query_lines"].NoGain}); d != "" {
		t.Error(d)
	}
	if n := p.Tools["query_lines"]; n.NoGain < 1 || n.Duplicates < 1 {
		t.Errorf("%+v", n)
	}
}

// A call that is under way is seen; what it has not got is left out. One whose record could not be closed says nothing of the budget.
func TestACallUnderWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registered(), nil, nil)
	open(t, w, `{"run_id":"inc-1"}`)
	_, _, err := canonical.NewLedger(w.store, nil).Open(t.Context(), canonical.OpenArgs{Principal: "alice", Run: "inc-1", Call: "c0", Nonce: "n", Tool: "query_lines", Request: []byte("{}"), Projector: "1",
		TTL: time.Hour, RequestBytes: 2})
	if err != nil {
		t.Fatal(err)
	}
	a := w.do(t, opsToken, "GET", "/v1/principals/alice/runs/inc-1/calls/c0", "")
	if !strings.Contains(string(a.body), `"invocation_status":"PROJECTING"`) || strings.Contains(string(a.body), "evidence_status") || strings.Contains(string(a.body), "completed_at") || strings.Contains(string(a.body), `"gain"`) {
		t.Errorf("%s", a.body)
	}
	if a := w.do(t, opsToken, "POST", "/v1/principals/alice/runs/inc-1/calls/c0/assessment", `{"gain":"GAIN"}`); a.status != 400 || !strings.Contains(string(a.body), "not finished") {
		t.Errorf("assessed: %d %s", a.status, a.body)
	}
	var p harness.ProgressSnapshot
	w.do(t, opsToken, "GET", "/v1/principals/alice/runs/inc-1/progress", "").read(t, &p)
	if p.Tools["query_lines"] != (harness.ToolProgress{Calls: 1, Projecting: 1}) {
		t.Errorf("progress %+v", p.Tools)
	}
	v := harness.WireView(boundary.ControlView{Run: "r", Call: "c", InvocationStatus: canonical.StateProjecting, EvidenceStatus: "ERROR", Code: fault.StoreError})
	if b, err := json.Marshal(v); err != nil || strings.Contains(string(b), "budget_left") {
		t.Errorf("%s %v", b, err)
	}
}

// An assessment takes the place of the objective outcome, and decides whether the run has to stop.
func TestAnAssessmentOverrules(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registered(), nil, nil)
	open(t, w, `{"run_id":"inc-1"}`)
	assess := func(call, gain string) {
		t.Helper()
		if a := w.do(t, opsToken, "POST", "/v1/principals/alice/runs/inc-1/calls/"+call+"/assessment", `{"gain":"`+gain+`"}`); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	streak := func(want int) {
		t.Helper()
		var run harness.RunView
		w.do(t, opsToken, "GET", "/v1/principals/alice/runs/inc-1", "").read(t, &run)
		if run.NoGainStreak != want || run.StopRequired != (want >= 2) {
			t.Errorf("streak %d, stop %v, want %d", run.NoGainStreak, run.StopRequired, want)
		}
	}
	for i, word := range []string{"gateway", "disk", "broken"} {
		w.lines(t, "inc-1", fmt.Sprint("c", i), word)
	}
	streak(0)
	assess("c0", "NO_GAIN")
	assess("c1", "NO_GAIN")
	streak(2)
	if code := w.lines(t, "inc-1", "d0", "back"); code != fault.StopRequired {
		t.Errorf("two calls assessed as useless: %q", code)
	}
	assess("c1", "GAIN")
	streak(1)
	assess("c2", "NO_GAIN") // an ERROR is in no window
	streak(1)
	if code := w.lines(t, "inc-1", "d1", "back"); code != "" {
		t.Errorf("one call assessed as useful: %q", code)
	}
}

// Which tools a run may use: absent is every one, an empty list none. What is read back says which.
func TestToolsOfARun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registered(), nil, nil)
	for body, c := range map[string]struct {
		code fault.Code
		want []string
	}{
		`{"run_id":"a"}`:                                         {"", nil},
		`{"run_id":"b","tools":[]}`:                              {fault.ToolNotAuthorized, []string{}},
		`{"run_id":"c","tools":["query_rag"]}`:                   {fault.ToolNotAuthorized, []string{"query_rag"}},
		`{"run_id":"d","tools":["query_rag","query_lines"]}`:     {"", []string{"query_lines", "query_rag"}},
		`{"run_id":"e","tools":["query_lines","query_lines"]}`:   {"", []string{"query_lines"}},
		`{"run_id":"f","tools":["a_tool_that_is_yet_to_be"]}`:    {fault.ToolNotAuthorized, []string{"a_tool_that_is_yet_to_be"}},
		`{"run_id":"g","tools":["query_lines"],"limits":{}}`:     {"", []string{"query_lines"}},
		`{"run_id":"h","tools":["query_lines"],"no_gain":{}}`:    {"", []string{"query_lines"}},
		`{"run_id":"i","limits":{"request_bytes":5}}`:            {fault.BudgetExhausted, nil},
		`{"run_id":"j","limits":{"observation_bytes":10}}`:       {fault.BudgetExhausted, nil},
		`{"run_id":"k","limits":{"raw_bytes":10},"tools":["x"]}`: {fault.ToolNotAuthorized, []string{"x"}},
	} {
		open(t, w, body)
		id := body[11:12]
		if code := w.lines(t, id, "c0", "gateway"); code != c.code {
			t.Errorf("%s: %q, want %q", body, code, c.code)
		}
		var run harness.RunView
		a := w.do(t, opsToken, "GET", "/v1/principals/alice/runs/"+id, "")
		a.read(t, &run)
		if d := cmp.Diff(c.want, run.Tools); d != "" || (c.want == nil) == strings.Contains(string(a.body), `"tools"`) {
			t.Errorf("%s reads as %s\n%s", body, a.body, d)
		}
	}
}

func TestARunEndsWithItsTime(t *testing.T) {
	t.Parallel()
	p := harness.DefaultPolicy()
	w := newWorld(t, p, nil, nil)
	began := time.Now()
	var run harness.RunView
	a := w.do(t, opsToken, "POST", "/v1/principals/alice/runs", `{"run_id":"inc-1","ttl_seconds":1}`)
	a.read(t, &run)
	if life := run.ExpiresAt.Sub(run.OpenedAt); life != time.Second || run.OpenedAt.Before(began.Truncate(time.Millisecond)) {
		t.Errorf("life %s from %s", life, run.OpenedAt)
	}
	a = w.do(t, opsToken, "POST", "/v1/principals/alice/runs", `{"run_id":"inc-2"}`)
	a.read(t, &run)
	if life := run.ExpiresAt.Sub(run.OpenedAt); life != p.Defaults.TTL || cmp.Diff(run.Limits, p.Defaults.Limits) != "" || run.NoGain != p.Defaults.NoGain {
		t.Errorf("defaults: %+v", run)
	}
}

// A long list of runs is cut, and says so.
func TestLongListsSayThatTheyAreCut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, harness.DefaultPolicy(), nil, nil)
	for i := range 5 {
		open(t, w, fmt.Sprintf(`{"run_id":"r%d"}`, i))
	}
	var list struct {
		Runs      []harness.RunView
		Truncated bool
	}
	for limit, cut := range map[int]bool{2: true, 4: true, 5: false, 6: false} {
		w.do(t, opsToken, "GET", fmt.Sprintf("/v1/principals/alice/runs?limit=%d", limit), "").read(t, &list)
		if len(list.Runs) != min(limit, 5) || list.Truncated != cut {
			t.Errorf("limit %d: %d runs, truncated %v", limit, len(list.Runs), list.Truncated)
		}
	}
}

// Verification neither needs the run nor believes a store that is gone.
func TestVerificationOutlivesTheRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registered(), nil, nil)
	open(t, w, `{"run_id":"inc-1"}`)
	w.lines(t, "inc-1", "c0", "gateway")
	w.do(t, opsToken, "DELETE", "/v1/principals/alice/runs/inc-1", "")
	ask := func(path, body string) string {
		t.Helper()
		a := w.do(t, opsToken, "POST", "/v1/principals/alice/runs/"+path+"/verify", body)
		if a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		return string(a.body)
	}
	const draft = `{"draft":"\"gateway answered 502\" [ev:c0#e1]","replay":true}`
	if got := ask("inc-1", draft); !strings.Contains(got, `"citations_ok":true`) || !strings.Contains(got, `"checked":"REPLAY"`) {
		t.Errorf("a closed run: %s", got)
	}
	if got := ask("inc-2", draft); !strings.Contains(got, `"citations_ok":false`) || !strings.Contains(got, "NOT_FOUND") {
		t.Errorf("another run: %s", got)
	}
	w.store.set(func(context.Context) error { return errDown })
	if got := ask("inc-1", draft); !strings.Contains(got, `"citations_ok":false`) || !strings.Contains(got, "STORE_UNAVAILABLE") {
		t.Errorf("a store that is gone: %s", got)
	}
	blind := newWorld(t, registered(), nil, func(o *harness.APIOptions) { o.Replayer = nil })
	if a := blind.do(t, opsToken, "POST", "/v1/principals/alice/runs/inc-1/verify", draft); a.status != 400 || !strings.Contains(string(a.body), "replay is not available") {
		t.Errorf("without a replayer: %d %s", a.status, a.body)
	}
}

// The bounds of a request to verify.
func TestVerificationIsBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registered(), nil, nil)
	for name, c := range map[string]struct {
		body string
		want int
	}{
		"200 citations":    {`{"citations":["` + strings.Repeat(`x","`, 199) + `x"]}`, 200},
		"201 citations":    {`{"citations":["` + strings.Repeat(`x","`, 200) + `x"]}`, 413},
		"a draft of 1 MB":  {`{"draft":"` + strings.Repeat("x", 1<<20) + `"}`, 200},
		"a draft with NUL": {`{"draft":"a\u0000b"}`, 400},
		"a draft over it":  {`{"draft":"` + strings.Repeat("x", 1<<20+1) + `"}`, 413},
		"2,001 citations":  {`{"draft":"` + strings.Repeat("[ev:c0]. ", 2001) + `"}`, 413},
		"both":             {`{"draft":"x","citations":["x"]}`, 400},
		"neither":          {`{"replay":true}`, 400},
		"escaped text":     {`{"draft":"` + strings.Repeat(`\u6570`, 1<<20/3) + `"}`, 200},
	} {
		if a := w.do(t, opsToken, "POST", "/v1/principals/alice/runs/inc-1/verify", c.body); a.status != c.want {
			t.Errorf("%s: %d %.300s", name, a.status, a.body)
		}
	}
}

// One call is read by itself: the store is asked once, however many calls the run has, and says the same as in the list of all.
func TestOneCallIsReadByItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t, harness.DefaultPolicy(), nil, nil)
	for i := range 30 {
		w.lines(t, "inc-1", fmt.Sprint("c", i), fmt.Sprint("word", i))
	}
	const calls = "/v1/principals/alice/runs/inc-1/calls"
	var all struct {
		Calls []harness.CallView `json:"calls"`
	}
	w.do(t, opsToken, "GET", calls, "").read(t, &all)
	var asked atomic.Int64
	w.store.set(func(context.Context) error { asked.Add(1); return nil })
	for i, want := range all.Calls {
		var got harness.CallView
		w.do(t, opsToken, "GET", calls+"/"+want.ToolCallID, "").read(t, &got)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-in the list +by itself):\n%s", want.ToolCallID, d)
		}
		if n := asked.Load(); n != int64(i+1) {
			t.Fatalf("%d questions to the store for %d calls", n, i+1)
		}
	}
	for path, hint := range map[string]string{calls + "/none": "the run has no such call", "/v1/principals/alice/runs/none/calls/c1": "no such run"} {
		if a := w.do(t, opsToken, "GET", path, ""); a.status != 404 || !strings.Contains(string(a.body), hint) {
			t.Errorf("%s: %d %s, want 404 with %q", path, a.status, a.body, hint)
		}
	}
}
