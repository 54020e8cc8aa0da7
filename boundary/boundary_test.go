package boundary_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/boundary/boundarytest"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

func TestTheSuiteHoldsForASmallTool(t *testing.T) {
	many := make([]string, 3000)
	for i := range many {
		many[i] = fmt.Sprintf("many line %d", i)
	}
	boundarytest.Run(t, boundarytest.Subject{
		Tool:  boundary.Bind(suiteTool{newLines(append(many, "one error", "one warning")...)}),
		Found: `{"word":"error"}`, Empty: `{"word":"zebra"}`, Cut: `{"word":"many"}`,
		Endless: func(*testing.T) (boundary.BoundTool, string) {
			l := newLines()
			l.execute = func(_ context.Context, p *boundary.Permit) error {
				for {
					if err := p.Take(1000); err != nil {
						return err
					}
				}
			}
			return boundary.Bind(suiteTool{l}), `{"word":"x"}`
		},
		Stuck: func(*testing.T) (boundary.BoundTool, string, <-chan struct{}) {
			started := make(chan struct{}, 1)
			l := newLines()
			l.execute = func(ctx context.Context, _ *boundary.Permit) error {
				started <- struct{}{}
				<-ctx.Done()
				return ctx.Err()
			}
			return boundary.Bind(suiteTool{l}), `{"word":"x"}`, started
		},
	})
}

// suiteTool gives the small tool the full output schema that the suite asks for.
type suiteTool struct{ *lines }

func (s suiteTool) Spec() boundary.Spec {
	sp := s.lines.Spec()
	sp.OutputSchema = json.RawMessage(`{"type":"object","properties":{"tool_call_id":{"type":"string"},"run_id":{"type":"string"},"evidence_status":{"type":"string"},
"truncated":{"type":"boolean"},"scope":{"type":"object","properties":{"word":{"type":"string"}},"additionalProperties":false},"lines":{"type":"array","items":{"type":"string"}}},
"required":["tool_call_id","run_id","evidence_status","truncated","scope","lines"],"additionalProperties":false}`)
	return sp
}

func TestNewRefusesToolsThatCannotBeTrusted(t *testing.T) {
	writer := newLines()
	writer.readOnly = false
	odd := newLines()
	odd.name = "Query Lines"
	versionless := newLines()
	versionless.version = ""
	for name, tools := range map[string][]boundary.BoundTool{
		"not read-only":   {boundary.Bind(writer)},
		"malformed name":  {boundary.Bind(odd)},
		"no version":      {boundary.Bind(versionless)},
		"name used twice": {boundary.Bind(newLines()), boundary.Bind(newLines())},
		"zero tool":       {{}},
	} {
		if _, err := boundary.New(boundary.Options{Ledger: canonical.NewLedger(nil, nil)}, tools...); err == nil {
			t.Errorf("%s: New accepted it", name)
		}
	}
	if _, err := boundary.New(boundary.Options{}); err == nil {
		t.Error("New accepted a missing ledger")
	}
}

// A call is refused before anything was touched: no record, no charge, one audit row, no backend.
func TestPreflightRefusesBeforeAnyWork(t *testing.T) {
	touched := false
	l := newLines("a")
	l.execute = func(context.Context, *boundary.Permit) error { touched = true; return nil }
	w := newWorld(t, boundary.Limits{MaxRequest: 64}, nil, boundary.Bind(l))
	noTools := boundary.NewGrants(map[boundary.Kind][]string{boundary.Tools: {}})
	good := envelope("c1", "a")
	with := func(e boundary.Envelope, f func(*boundary.Envelope)) boundary.Envelope { f(&e); return e }
	for _, c := range []struct {
		name string
		run  boundary.Run
		env  boundary.Envelope
		want fault.Code
	}{
		{"run claimed beside another one", inRun("r1"), with(good, func(e *boundary.Envelope) { e.RunID = "r2" }), fault.RunMismatch},
		{"sources of the run differ", boundary.Run{Principal: "alice", Refusal: fault.New(fault.RunMismatch, "test", nil)}, good, fault.RunMismatch},
		{"run id outside the grammar", inRun("../x"), good, fault.InvalidRequest},
		{"reserved run id", inRun("current"), good, fault.InvalidRequest},
		{"no principal", boundary.Run{ID: "r1", Spec: spec()}, good, fault.Internal},
		{"call id outside the grammar", inRun("r1"), envelope("a b", "a"), fault.InvalidToolCallID},
		{"call id that looks minted", inRun("r1"), envelope("tc_aaaaaaaaaaaaaaaa", "a"), fault.InvalidToolCallID},
		{"call id of 129 bytes", inRun("r1"), envelope(strings.Repeat("a", 129), "a"), fault.InvalidToolCallID},
		{"unknown tool", inRun("r1"), with(good, func(e *boundary.Envelope) { e.Tool = "drop_tables" }), fault.ToolNotAuthorized},
		{"tool not granted", boundary.Run{Principal: "alice", ID: "r1", Grants: noTools, Spec: spec()}, good, fault.ToolNotAuthorized},
		{"arguments too large", inRun("r1"), envelope("c1", strings.Repeat("a", 65)), fault.RequestTooLarge},
		{"unknown argument", inRun("r1"), with(good, func(e *boundary.Envelope) { e.Args = json.RawMessage(`{"word":"a","x":1}`) }), fault.InvalidRequest},
		{"argument in other letter case", inRun("r1"), with(good, func(e *boundary.Envelope) { e.Args = json.RawMessage(`{"Word":"a"}`) }), fault.InvalidRequest},
		{"parser panics", inRun("r1"), envelope("c1", "panic"), fault.Internal},
	} {
		_, err := w.Invoke(t.Context(), c.run, c.env)
		if got := codeOf(t, err); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if err != nil && strings.Contains(err.Error()+string(err.(*boundary.Refusal).JSON()), "SECRET-IN-PANIC") {
			t.Errorf("%s: the panic's text leaks", c.name)
		}
	}
	if touched {
		t.Error("a refused call reached the backend")
	}
	if len(w.rows) != 14 || len(w.views) != 0 {
		t.Errorf("%d audit rows and %d control views, want 14 and 0", len(w.rows), len(w.views))
	}
	if infos, err := w.store.Runs(t.Context(), "alice", 10); err != nil || len(infos) != 0 {
		t.Errorf("runs after refused calls: %v %v", infos, err)
	}
	if w.Panics() != 1 {
		t.Errorf("Panics() = %d, want 1", w.Panics())
	}
}

func TestADuplicateIsNeverExecutedAgain(t *testing.T) {
	n := 0
	l := newLines("a")
	l.execute = func(context.Context, *boundary.Permit) error { n++; return nil }
	w := newWorld(t, boundary.Limits{}, nil, boundary.Bind(l))
	if _, err := w.Invoke(t.Context(), inRun("r1"), envelope("c1", "a")); err != nil {
		t.Fatal(err)
	}
	_, err := w.Invoke(t.Context(), inRun("r1"), envelope("c1", "b"))
	if got := codeOf(t, err); got != fault.DuplicateToolCallID || n != 1 {
		t.Errorf("second call: %s after %d executions, want DUPLICATE_TOOL_CALL_ID after 1", got, n)
	}
	if _, err := w.Invoke(t.Context(), inRun("r2"), envelope("c1", "a")); err != nil {
		t.Errorf("the same id in another run: %v", err)
	}
	info, _, _ := w.store.Run(t.Context(), key(t, "r1"))
	if info.Used.Calls != 1 {
		t.Errorf("charged %d calls, want 1", info.Used.Calls)
	}
}

func key(t testing.TB, run string) canonical.RunKey {
	t.Helper()
	k, err := canonical.NewRunKey("alice", run)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Whatever ends an opened call, its record is final, its answer is withheld and one audit row says how.
func TestEveryEndOfAnOpenedCall(t *testing.T) {
	secret := errors.New("dial db.internal: SECRET-CAUSE")
	for _, c := range []struct {
		name   string
		tool   func(*lines)
		limits boundary.Limits
		want   fault.Code
	}{
		{"backend error", func(l *lines) {
			l.execute = func(context.Context, *boundary.Permit) error { return fault.New(fault.BackendError, "x", secret) }
		}, boundary.Limits{}, fault.BackendError},
		{"unknown error", func(l *lines) { l.execute = func(context.Context, *boundary.Permit) error { return secret } }, boundary.Limits{}, fault.Internal},
		{"panic while executing", func(l *lines) { l.execute = func(context.Context, *boundary.Permit) error { panic(secret) } }, boundary.Limits{}, fault.Internal},
		{"panic while projecting", func(l *lines) { l.project = func() { panic(secret) } }, boundary.Limits{}, fault.Internal},
		{"observation over its bound", func(l *lines) { l.fat = 1 }, boundary.Limits{}, fault.ProjectionError},
		{"raw over its limit", func(l *lines) {}, boundary.Limits{MaxRaw: 5}, fault.RawTooLarge},
		{"record over its limit", func(l *lines) {}, boundary.Limits{MaxRecord: 40}, fault.RecordTooLarge},
		{"refused permit that the tool swallowed", func(l *lines) {
			l.execute = func(_ context.Context, p *boundary.Permit) error { _ = p.Take(1 << 30); return nil }
		}, boundary.Limits{}, fault.RawTooLarge},
		{"deadline", func(l *lines) {
			l.execute = func(ctx context.Context, _ *boundary.Permit) error { <-ctx.Done(); return secret }
		}, boundary.Limits{Timeout: time.Millisecond}, fault.BackendTimeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLines("an apple")
			c.tool(l)
			w := newWorld(t, c.limits, nil, boundary.Bind(l))
			obs, err := w.Invoke(t.Context(), inRun("r1"), envelope("c1", "apple"))
			if got := codeOf(t, err); got != c.want || !obs.IsZero() {
				t.Fatalf("%s (observation %v), want %s and none", got, !obs.IsZero(), c.want)
			}
			f, ok := w.record(t, "r1", "c1").(canonical.Failed)
			if !ok || f.Code() != c.want {
				t.Errorf("record is %T %v, want Failed %s", w.record(t, "r1", "c1"), f, c.want)
			}
			if len(w.rows) != 1 || w.rows[0].Code != c.want || w.rows[0].InvocationStatus != canonical.StateError || w.rows[0].EvidenceStatus != "ERROR" {
				t.Errorf("audit: %+v", w.rows)
			}
			b, _ := json.Marshal(w.rows)
			if all := string(b) + fmt.Sprintf("%+v", w.views) + string(err.(*boundary.Refusal).JSON()); strings.Contains(all, "SECRET") {
				t.Errorf("the cause leaks: %s", all)
			}
			if next, err := w.Invoke(t.Context(), inRun("r1"), envelope("c2", "nothing like it")); c.limits == (boundary.Limits{}) && c.name != "observation over its bound" &&
				!strings.Contains(c.name, "execut") && !strings.Contains(c.name, "project") && !strings.Contains(c.name, "error") && !strings.Contains(c.name, "permit") && (err != nil || next.IsZero()) {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

func TestCancelEndsTheCallAndStillClosesTheRecord(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := newLines("a")
	l.execute = func(ctx context.Context, _ *boundary.Permit) error { cancel(); <-ctx.Done(); return ctx.Err() }
	w := newWorld(t, boundary.Limits{}, nil, boundary.Bind(l))
	_, err := w.Invoke(ctx, inRun("r1"), envelope("c1", "a"))
	if got := codeOf(t, err); got != fault.Cancelled {
		t.Errorf("%s, want CANCELLED", got)
	}
	if f, ok := w.record(t, "r1", "c1").(canonical.Failed); !ok || f.Code() != fault.Cancelled {
		t.Errorf("record %T, want Failed CANCELLED", f)
	}
}

func TestACancelAfterTheAnswerCameDoesNotLoseIt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := newLines("a")
	l.project = cancel
	w := newWorld(t, boundary.Limits{}, nil, boundary.Bind(l))
	if _, err := w.Invoke(ctx, inRun("r1"), envelope("c1", "a")); err != nil {
		t.Fatal(err)
	}
	if _, ok := w.record(t, "r1", "c1").(canonical.Ready); !ok {
		t.Error("the record is not READY")
	}
}

func TestMintedIdsAreWellFormedAndCitable(t *testing.T) {
	w := newWorld(t, boundary.Limits{}, nil, boundary.Bind(newLines("a")))
	run := boundary.Run{Principal: "alice", Slot: "default", MintRun: boundary.MintRunID(), Spec: spec()}
	obs, err := w.Invoke(t.Context(), run, envelope("", "a"))
	if err != nil {
		t.Fatal(err)
	}
	var h struct {
		Call string `json:"tool_call_id"`
		Run  string `json:"run_id"`
	}
	if err := json.Unmarshal(obs.JSON(), &h); err != nil || !canonical.Minted(h.Call) || h.Run != run.MintRun {
		t.Fatalf("%s %v", obs.JSON(), err)
	}
	inv, err := w.ledger.FindCall(t.Context(), "alice", h.Call)
	if err != nil || inv.Key().Run() != h.Run {
		t.Errorf("FindCall: %v %v", inv, err)
	}
	if _, err := w.ledger.FindCall(t.Context(), "mallory", h.Call); !errors.Is(err, canonical.ErrNotFound) {
		t.Errorf("another principal finds the call: %v", err)
	}
}

func TestBudgetsEndARun(t *testing.T) {
	run := inRun("r1")
	run.Spec.Limits.Calls = 2
	w := newWorld(t, boundary.Limits{}, nil, boundary.Bind(newLines("a")))
	var codes []fault.Code
	for i := range 3 {
		_, err := w.Invoke(t.Context(), run, envelope(fmt.Sprint("c", i), fmt.Sprint(i)))
		codes = append(codes, codeOf(t, err))
	}
	if want := []fault.Code{"", "", fault.BudgetExhausted}; !slices.Equal(codes, want) {
		t.Errorf("codes %q, want %q", codes, want)
	}
	raw := inRun("r2")
	raw.Spec.Limits.RawBytes = 3
	w = newWorld(t, boundary.Limits{}, nil, boundary.Bind(newLines("apples and pears")))
	_, err := w.Invoke(t.Context(), raw, envelope("c1", "apple"))
	if got := codeOf(t, err); got != fault.BudgetExhausted {
		t.Errorf("raw budget: %s, want BUDGET_EXHAUSTED", got)
	}
	if f, ok := w.record(t, "r2", "c1").(canonical.Failed); !ok || f.Code() != fault.BudgetExhausted {
		t.Errorf("raw budget: record %T", f)
	}
}

// An implicit run that brings nothing new is advised to stop inside the answer; the advice is no part of what is stored.
func TestStopAdviceIsDeliveredButNotStored(t *testing.T) {
	w := newWorld(t, boundary.Limits{}, nil, boundary.Bind(newLines("a")))
	var last boundary.Observation
	for i := range 4 {
		obs, err := w.Invoke(t.Context(), inRun("r1"), envelope(fmt.Sprint("c", i), "a"))
		if err != nil {
			t.Fatal(err)
		}
		last = obs
	}
	var d struct {
		Control *boundary.StopAdvice `json:"control"`
	}
	if err := json.Unmarshal(last.JSON(), &d); err != nil || d.Control == nil || d.Control.Code != fault.StopRequired || len(d.Control.CheckedScopes) != 1 {
		t.Errorf("delivered %s", last.JSON())
	}
	if rec := w.record(t, "r1", "c3").Record(); strings.Contains(string(rec.Observation), "control") || string(rec.Observation) != string(last.Result()) {
		t.Errorf("stored %s", rec.Observation)
	}
}

// brokenLedger refuses from the given step on.
type brokenLedger struct {
	*canonical.Ledger
	d *failingDriver
}

type failingDriver struct {
	canonical.Driver
	failReady, failError bool
}

func (f *failingDriver) Close(ctx context.Context, a canonical.CloseArgs) (canonical.Closed, error) {
	if a.Ready && f.failReady || !a.Ready && f.failError {
		return canonical.Closed{}, fault.New(fault.StoreError, "test", errors.New("store is gone"))
	}
	return f.Driver.Close(ctx, a)
}

func TestAnAnswerWhoseRecordCannotBeClosedIsWithheld(t *testing.T) {
	for _, errorToo := range []bool{false, true} {
		w := newWorld(t, boundary.Limits{}, func(l *canonical.Ledger) boundary.Ledger {
			d := &failingDriver{Driver: l.Driver(), failReady: true, failError: errorToo}
			return brokenLedger{canonical.NewLedger(d, nil), d}
		}, boundary.Bind(newLines("a")))
		obs, err := w.Invoke(t.Context(), inRun("r1"), envelope("c1", "a"))
		if got := codeOf(t, err); got != fault.StoreError || !obs.IsZero() {
			t.Errorf("%s, observation %v, want STORE_ERROR and none", got, !obs.IsZero())
		}
		if _, ready := w.record(t, "r1", "c1").(canonical.Ready); ready {
			t.Error("the record is READY")
		}
		if len(w.rows) != 1 || w.rows[0].Code != fault.StoreError {
			t.Errorf("audit %+v", w.rows)
		}
	}
}

func TestRefusedCallsAreRateLimitedByPrincipal(t *testing.T) {
	w := newWorld(t, boundary.Limits{}, nil, boundary.Bind(newLines("a")))
	bad := boundary.Envelope{Tool: "nope"}
	var last fault.Code
	for range 700 {
		_, err := w.Invoke(t.Context(), inRun("r1"), bad)
		last = codeOf(t, err)
	}
	if last != fault.Overloaded {
		t.Errorf("after 700 refused calls: %s, want OVERLOADED", last)
	}
	other := inRun("r1")
	other.Principal = "bob"
	if _, err := w.Invoke(t.Context(), other, envelope("c1", "a")); err != nil {
		t.Errorf("another principal: %v", err)
	}
}

func TestControlViewHasNoJSONForm(t *testing.T) {
	if b, err := json.Marshal(map[string]any{"v": boundary.ControlView{Principal: "p"}}); err == nil {
		t.Errorf("a ControlView was encoded: %s", b)
	}
}

func TestTheZeroPermitLetsNoByteThrough(t *testing.T) {
	var p boundary.Permit
	if err := p.Take(1); fault.CodeOf(err) != fault.Internal {
		t.Errorf("Take on a zero Permit: %v", err)
	}
	if n, err := p.Reader(strings.NewReader("abc")).Read(make([]byte, 3)); n != 0 || err == nil {
		t.Errorf("Reader of a zero Permit gave %d bytes, %v", n, err)
	}
	if err := (*boundary.Permit)(nil).Take(0); err == nil {
		t.Error("a nil Permit let a read through")
	}
}

func TestTheMeteredReaderReadsAtMostOneByteTooMany(t *testing.T) {
	for _, size := range []int{9, 10, 11, 1000} {
		src := &countingReader{r: strings.NewReader(strings.Repeat("x", size))}
		l := newLines()
		var read int
		l.execute = func(_ context.Context, p *boundary.Permit) error {
			r := p.Reader(src)
			buf := make([]byte, 64)
			for {
				n, err := r.Read(buf)
				read += n
				if errors.Is(err, errEOF) {
					return nil
				}
				if err != nil {
					return err
				}
			}
		}
		w := newWorld(t, boundary.Limits{MaxRaw: 12}, nil, boundary.Bind(l))
		_, err := w.Invoke(t.Context(), inRun("r1"), envelope("c1", "x"))
		// {"lines":[]} is what is stored: 12 bytes.
		if got := codeOf(t, err); (size > 12) != (got == fault.RawTooLarge) {
			t.Errorf("%d bytes: %s", size, got)
		}
		if src.n > 13 {
			t.Errorf("%d bytes: the source was asked for %d", size, src.n)
		}
	}
}
