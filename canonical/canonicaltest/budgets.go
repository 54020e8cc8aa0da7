package canonicaltest

import (
	"bytes"
	"fmt"
	"sync/atomic"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

func budgetCalls(s *suite) {
	spec := *s.spec()
	spec.Limits.Calls = 7
	if _, err := s.openRun("r", spec, canonical.Ceilings{}); err != nil {
		s.Fatal(err)
	}
	args := make([]canonical.OpenArgs, 64)
	for i := range args {
		args[i] = s.args("r", fmt.Sprintf("c%d", i))
	}
	var won atomic.Int64
	parallel(len(args), func(i int) {
		g, err := s.d.Open(s.ctx(), args[i])
		switch fault.CodeOf(err) {
		case "":
			won.Add(1)
			if _, err := s.d.Close(s.ctx(), s.ready(args[i], g)); err != nil {
				s.Errorf("Close = %v", err)
			}
		case fault.BudgetExhausted:
		default:
			s.Errorf("Open = %v (%v)", err, cause(err))
		}
	})
	want := canonical.Limits{Calls: 7, RequestBytes: 49, RawBytes: 21, ObservationBytes: 21}
	if u := s.info("r").Used; won.Load() != 7 || u != want {
		s.Errorf("%d calls won, used = %+v, want 7 and %+v", won.Load(), u, want)
	}
}

func budgetBytes(s *suite) {
	spec := *s.spec()
	spec.Limits = canonical.Limits{Calls: 100, RequestBytes: 100, RawBytes: 10, ObservationBytes: 10}
	if _, err := s.openRun("r", spec, canonical.Ceilings{}); err != nil {
		s.Fatal(err)
	}
	a := s.args("r", "much")
	a.RequestBytes = 101
	s.refused(a, fault.BudgetExhausted)
	a.RequestBytes = 50
	g := s.open(a)
	if g.Left != (canonical.Limits{Calls: 99, RequestBytes: 50, RawBytes: 10, ObservationBytes: 10}) {
		s.Errorf("left = %+v", g.Left)
	}
	b, f := s.args("r", "b"), s.args("r", "f")
	gb, gf := s.open(b), s.open(f)
	// Six of ten raw bytes, then seven that the run cannot pay.
	c := s.ready(a, g)
	c.Raw = []byte("123456")
	s.close(c)
	over := s.ready(b, gb)
	over.Raw, over.Items = []byte("1234567"), []canonical.Item{{Key: "new"}}
	out := s.close(over)
	if out.State != canonical.StateError || out.Code != string(fault.BudgetExhausted) || out.Gain != canonical.Uncounted || out.Left.RawBytes != 4 || out.Left.ObservationBytes != 7 {
		s.Errorf("Closed = %+v, want ERROR BUDGET_EXHAUSTED and nothing charged", out)
	}
	if diff := cmp.Diff(out, s.close(over)); diff != "" {
		s.Errorf("the same CLOSE again:\n%s", diff)
	}
	if r := s.load("r", "b"); r.State != canonical.StateError || r.Evidence != "ERROR" || r.Code != "BUDGET_EXHAUSTED" || len(r.Raw)+len(r.Observation) != 0 {
		s.Errorf("record = %s %s %s with %d bytes", r.State, r.Evidence, r.Code, len(r.Raw))
	}
	s.close(s.failed(f, gf))
	big := s.args("r", "big")
	gbig := s.open(big)
	huge := s.ready(big, gbig)
	huge.Raw = bytes.Repeat([]byte("x"), 64<<10)
	if out := s.close(huge); out.Code != string(fault.BudgetExhausted) {
		s.Errorf("64 KiB of 4 bytes left = %+v", out)
	}
	last, last2 := s.args("r", "last"), s.args("r", "last2")
	gl, gl2 := s.open(last), s.open(last2)
	l := s.ready(last, gl)
	l.Raw, l.Observation = []byte("1234"), []byte("123")
	if out := s.close(l); out.State != canonical.StateReady || out.Left.RawBytes != 0 {
		s.Errorf("exactly the rest = %+v, want READY", out)
	}
	if out := s.close(s.ready(last2, gl2)); out.Code != string(fault.BudgetExhausted) {
		s.Errorf("nothing left = %+v", out)
	}
	s.refused(s.args("r", "none"), fault.BudgetExhausted)
	if u := s.info("r").Used; u != (canonical.Limits{Calls: 6, RequestBytes: 50 + 5*7, RawBytes: 10, ObservationBytes: 6}) {
		s.Errorf("used = %+v", u)
	}
	obs := *s.spec()
	obs.Limits.ObservationBytes = 3
	if _, err := s.openRun("o", obs, canonical.Ceilings{}); err != nil {
		s.Fatal(err)
	}
	if out := s.call("o", "1", func(c *canonical.CloseArgs) { c.Observation = []byte("1234") }); out.Code != string(fault.BudgetExhausted) {
		s.Errorf("4 of 3 observation bytes = %+v", out)
	}
	s.call("o", "2", nil)
	s.refused(s.args("o", "3"), fault.BudgetExhausted)
}

func refusedLeavesNothing(s *suite) {
	a := s.args("r", "c")
	a.RequestBytes = limits().RequestBytes + 1
	s.refused(a, fault.BudgetExhausted)
	s.gone("r", "c")
	if l, err := s.d.Runs(s.ctx(), owner, 10); len(l) != 0 || err != nil {
		s.Errorf("Runs = %v, %v, want none", l, err)
	}
	b := s.args("", "c")
	b.Slot, b.MintRun, b.RequestBytes = "s", "run_abcdefghijklmnop", a.RequestBytes
	s.refused(b, fault.BudgetExhausted)
	ok := s.args("", "c")
	ok.Slot, ok.MintRun = "s", "run_bbbbbbbbbbbbbbbb"
	if g := s.open(ok); g.Run != ok.MintRun {
		s.Errorf("run = %s, the refused call left its slot behind", g.Run)
	}
	s.open(s.args("r", "c")) // and its id is free
}

func ceilingRuns(s *suite) {
	c := canonical.Ceilings{OpenRuns: 3}
	open := func(run, call string) canonical.OpenArgs {
		a := s.args(run, call)
		a.Ceilings, a.Implicit.TTL = c, s.units(6)
		return a
	}
	s.open(open("r1", "c"))
	s.open(open("r2", "c"))
	if _, err := s.openRun("r3", *s.spec(), c); err != nil {
		s.Fatal(err)
	}
	s.refused(open("r4", "c"), fault.BudgetExhausted)
	_, err := s.openRun("r4", *s.spec(), c)
	s.code(err, fault.BudgetExhausted)
	s.open(open("r1", "d"))
	other := open("r4", "c")
	other.Principal = "somebody else"
	s.open(other)
	if err := s.d.CloseRun(s.ctx(), s.runKey("r3")); err != nil {
		s.Fatal(err)
	}
	s.open(open("r4", "c"))
	s.refused(open("r5", "c"), fault.BudgetExhausted)
	s.wait(7)
	s.open(open("r5", "c"))
	s.open(open("r1", "e")) // anew
	s.open(open("r6", "c"))
	s.refused(open("r7", "c"), fault.BudgetExhausted)
}

func ceilingRate(s *suite) {
	// The window is a fixed minute of the store's clock: the calls below fall into one, or into two when it turns meanwhile.
	c := canonical.Ceilings{CallsPerMinute: 5}
	granted, refused := 0, 0
	for i := range 16 {
		a := s.args("r", fmt.Sprintf("c%d", i))
		a.Ceilings = c
		switch _, err := s.d.Open(s.ctx(), a); fault.CodeOf(err) {
		case "":
			granted++
		case fault.Overloaded:
			refused++
		default:
			s.Fatalf("Open = %v (%v)", err, cause(err))
		}
	}
	if granted != 5 && granted != 10 || granted+refused != 16 {
		s.Errorf("%d granted, %d refused of 16, want 5 a minute", granted, refused)
	}
	if u := s.info("r").Used; u.Calls != int64(granted) {
		s.Errorf("used = %+v, refused calls were charged", u)
	}
	other := s.args("r", "c")
	other.Principal, other.Ceilings = "somebody else", c
	s.open(other)
}

func ceilingLive(s *suite) {
	c := canonical.Ceilings{LiveBytes: 100}
	call := func(id string, raw int) {
		s.Helper()
		a := s.args("r", id)
		a.Ceilings, a.TTL, a.Request = c, s.units(6), []byte("1234567890")
		g := s.open(a)
		k := s.ready(a, g)
		k.Raw, k.Observation = bytes.Repeat([]byte("x"), raw), []byte("12345")
		s.close(k)
	}
	failing := s.args("r", "failing")
	failing.Request = bytes.Repeat([]byte("x"), 500)
	s.close(s.failed(failing, s.open(failing))) // an ERROR weighs nothing
	call("c1", 35)                              // 50
	call("c2", 34)                              // 99
	call("c3", 1)                               // 115: the ceiling is checked before, overshoot is one call
	a := s.args("other", "c4")
	a.Ceilings = c
	s.refused(a, fault.BudgetExhausted)
	other := s.args("r", "c4")
	other.Principal, other.Ceilings = "somebody else", c
	s.open(other)
	s.wait(7)
	s.open(a)
}
