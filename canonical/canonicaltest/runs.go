package canonicaltest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

func closeAfterRun(s *suite) {
	a := s.args("r", "c")
	a.Implicit.TTL = s.units(2)
	g := s.open(a)
	s.wait(3)
	if _, found, err := s.d.Run(s.ctx(), s.runKey("r")); found || err != nil {
		s.Errorf("Run after its deadline = %v, %v", found, err)
	}
	s.code(s.d.CloseRun(s.ctx(), s.runKey("r")), fault.RunNotActive)
	if out := s.close(s.ready(a, g)); out.State != canonical.StateReady {
		s.Errorf("Closed = %+v", out)
	}
	if r := s.load("r", "c"); r.State != canonical.StateReady {
		s.Errorf("state = %s", r.State)
	}
}

func generations(s *suite) {
	a := s.args("r", "old")
	a.Implicit.TTL = s.units(2)
	g := s.open(a)
	s.wait(3)
	b := s.args("r", "new")
	gb := s.open(b)
	if gb.Left.Calls != limits().Calls-1 {
		s.Errorf("left = %+v, the new generation pays for the old", gb.Left)
	}
	big := s.ready(a, g)
	big.Raw = bytes.Repeat([]byte("x"), 20<<10)
	s.close(big)
	s.close(s.ready(b, gb))
	if u := s.info("r").Used; u.Calls != 1 || u.RawBytes != 3 {
		s.Errorf("used = %+v, want the new generation's only", u)
	}
	calls, err := s.d.Calls(s.ctx(), s.runKey("r"), 0, 10)
	if err != nil || len(calls) != 1 || calls[0].Call != "new" {
		s.Errorf("Calls = %v, %v, want the new generation's", calls, err)
	}
	if r := s.load("r", "old"); r.State != canonical.StateReady || r.Salt != a.Salt {
		s.Errorf("old record = %s", r.State)
	}
}

func slots(s *suite) {
	mint := func(n int) string { return fmt.Sprintf("run_%016s", strings.Repeat(string(rune('a'+n)), 16)) }
	next := 0
	slot := func(name, call string) canonical.Grant {
		s.Helper()
		a := s.args("", call)
		a.Slot, a.MintRun = name, mint(next)
		a.Implicit.TTL = s.units(6)
		next++
		return s.open(a)
	}
	g := slot("one", "c1")
	if g.Run != mint(0) {
		s.Errorf("first run = %s, want %s", g.Run, mint(0))
	}
	if g2 := slot("one", "c2"); g2.Run != g.Run || g2.Salt != g.Salt {
		s.Errorf("second call went to run %s, want %s", g2.Run, g.Run)
	}
	if o := slot("two", "c1"); o.Run == g.Run {
		s.Error("two slots share a run")
	}
	b := s.args(g.Run, "c3") // the slot's run can be named
	if gb := s.open(b); gb.Run != g.Run || gb.Salt != g.Salt {
		s.Errorf("explicit run = %s", gb.Run)
	}
	if err := s.d.CloseRun(s.ctx(), s.runKey(g.Run)); err != nil {
		s.Fatal(err)
	}
	h := slot("one", "c1")
	if h.Run != mint(3) || h.Salt == g.Salt {
		s.Errorf("after CloseRun the slot points to %s, want the new %s", h.Run, mint(3))
	}
	s.wait(7)
	if l := slot("one", "c1"); l.Run != mint(4) {
		s.Errorf("after the deadline the slot points to %s, want %s", l.Run, mint(4))
	}
	// 32 first calls of one slot at once: one run.
	args := make([]canonical.OpenArgs, 32)
	for i := range args {
		args[i] = s.args("", fmt.Sprintf("p%d", i))
		args[i].Slot, args[i].MintRun = "racing", fmt.Sprintf("run_racing%010d", 0)[:10]+strings.Repeat("a", 8)+string(rune('a'+i/16))+string(rune('a'+i%16))
	}
	var mu sync.Mutex
	runs := map[string]bool{}
	parallel(len(args), func(i int) {
		g, err := s.d.Open(s.ctx(), args[i])
		if err != nil {
			s.Errorf("Open = %v (%v)", err, cause(err))
		}
		mu.Lock()
		runs[g.Run] = true
		mu.Unlock()
	})
	if len(runs) != 1 {
		s.Errorf("%d runs for one slot, want 1", len(runs))
	}
	c := s.args("", "x")
	c.Slot, c.MintRun, c.Implicit = "three", mint(9), nil
	s.refused(c, fault.RunNotActive)
}

func mintedRunOnce(s *suite) {
	const id = "run_abcdefghijklmnop"
	a := s.args(id, "c")
	s.refused(a, fault.RunNotActive) // unknown, and its form says that only a slot may open it
	b := s.args("", "c")
	b.Slot, b.MintRun, b.Implicit.TTL = "s", id, s.units(2)
	s.open(b)
	s.wait(3)
	s.refused(s.args(id, "d"), fault.RunNotActive)
	again := s.args("", "e")
	again.Slot, again.MintRun = "t", id
	s.refused(again, fault.RunNotActive)
	_, err := s.openRun(id, *s.spec(), canonical.Ceilings{})
	s.code(err, fault.InvalidRequest)
}

func registered(s *suite) {
	a := s.args("r", "c")
	a.Implicit = nil
	s.refused(a, fault.RunNotActive)
	spec := *s.spec()
	spec.TTL = s.units(4)
	info, err := s.register("r", spec, salt(9), canonical.Ceilings{})
	if err != nil {
		s.Fatal(err)
	}
	want := canonical.RunInfo{Principal: owner, Run: "r", Mode: canonical.Registered, Active: true, OpenedAt: info.OpenedAt, ExpiresAt: info.OpenedAt.Add(spec.TTL), Limits: spec.Limits, NoGain: spec.NoGain}
	if diff := cmp.Diff(want, info); diff != "" {
		s.Errorf("OpenRun (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(info, s.info("r")); diff != "" {
		s.Errorf("Run differs from OpenRun:\n%s", diff)
	}
	_, err = s.openRun("r", spec, canonical.Ceilings{})
	s.code(err, fault.InvalidRequest)
	if g := s.open(a); g.Mode != canonical.Registered || g.Salt != salt(9) {
		s.Errorf("Grant = %+v, want the registered run's", g)
	}
	s.open(s.args("implicit", "c"))
	if i := s.info("implicit"); i.Mode != canonical.Implicit || !i.Active || i.Used.Calls != 1 {
		s.Errorf("implicit run = %+v", i)
	}
	_, err = s.openRun("implicit", spec, canonical.Ceilings{})
	s.code(err, fault.InvalidRequest)
	s.wait(5)
	s.refused(s.args("r", "d"), fault.RunNotActive) // a registered run does not come back by itself
	if _, err := s.openRun("r", spec, canonical.Ceilings{}); err != nil {
		s.Errorf("OpenRun of an expired id = %v", err)
	}
	d := s.args("r", "d")
	d.Implicit = nil
	if g := s.open(d); g.Left.Calls != spec.Limits.Calls-1 {
		s.Errorf("left = %+v, want a fresh budget", g.Left)
	}
}

func tools(s *suite) {
	for i, c := range []struct {
		tools []string
		ok    bool
	}{{nil, true}, {[]string{}, false}, {[]string{"query_rag", "query_logs"}, true}, {[]string{"query_log"}, false}, {[]string{"query_logs2", "xquery_logs"}, false}} {
		run := fmt.Sprintf("r%d", i)
		spec := *s.spec()
		spec.Tools = c.tools
		info, err := s.openRun(run, spec, canonical.Ceilings{})
		if err != nil || !slices.Equal(info.Tools, c.tools) || (info.Tools == nil) != (c.tools == nil) {
			s.Errorf("OpenRun(%v) = %v, %v", c.tools, info.Tools, err)
		}
		if got := s.info(run).Tools; !slices.Equal(got, c.tools) || (got == nil) != (c.tools == nil) {
			s.Errorf("Run.Tools = %#v, want %#v", got, c.tools)
		}
		if a := s.args(run, "c"); c.ok {
			s.open(a)
		} else {
			s.refused(a, fault.ToolNotAuthorized)
		}
	}
	a := s.args("implicit", "c")
	a.Implicit.Tools = []string{"query_mysql"}
	s.refused(a, fault.ToolNotAuthorized)
	if _, found, _ := s.d.Run(s.ctx(), s.runKey("implicit")); found {
		s.Error("a refused call opened the run")
	}
}

func closeRun(s *suite) {
	a := s.args("r", "c")
	g := s.open(a)
	s.call("r", "done", nil)
	for range 2 {
		if err := s.d.CloseRun(s.ctx(), s.runKey("r")); err != nil {
			s.Fatalf("CloseRun = %v", err)
		}
	}
	s.code(s.d.CloseRun(s.ctx(), s.runKey("unknown")), fault.RunNotActive)
	if i := s.info("r"); i.Active || i.Used.Calls != 2 {
		s.Errorf("info = %+v, want inactive with two calls", i)
	}
	s.refused(s.args("r", "d"), fault.RunNotActive)
	s.refused(a, fault.RunNotActive)
	s.close(s.ready(a, g)) // in flight
	for _, id := range []string{"c", "done"} {
		if r := s.load("r", id); r.State != canonical.StateReady {
			s.Errorf("record %s = %s", id, r.State)
		}
	}
	if l, err := s.d.Calls(s.ctx(), s.runKey("r"), 0, 10); err != nil || len(l) != 2 {
		s.Errorf("Calls = %d, %v, want 2", len(l), err)
	}
	if _, err := s.openRun("r", *s.spec(), canonical.Ceilings{}); err != nil {
		s.Errorf("OpenRun of a closed id = %v", err)
	}
	s.refused(s.args("r", "c"), fault.DuplicateToolCallID) // its record lives
	s.open(s.args("r", "new"))
}

func racingRuns(s *suite) {
	var won atomic.Int64
	parallel(32, func(i int) {
		switch _, err := s.openRun("r", *s.spec(), canonical.Ceilings{}); fault.CodeOf(err) {
		case "":
			won.Add(1)
		case fault.InvalidRequest:
		default:
			s.Errorf("OpenRun = %v", err)
		}
	})
	if won.Load() != 1 {
		s.Errorf("%d won, want 1", won.Load())
	}
}

// registeredAgain: a harness whose answer was lost asks again, with the salt that it had made for the run.
func registeredAgain(s *suite) {
	const minted = "run_abcdefghijklmnop"
	for _, run := range []string{"r", minted} {
		first, err := s.register(run, *s.spec(), salt(7), canonical.Ceilings{OpenRuns: 2})
		if err != nil {
			s.Fatal(err)
		}
		again, err := s.register(run, *s.spec(), salt(7), canonical.Ceilings{OpenRuns: 1})
		if diff := cmp.Diff(first, again); err != nil || diff != "" {
			s.Errorf("%s, the same again: %v\n%s", run, err, diff)
		}
		_, err = s.register(run, *s.spec(), salt(8), canonical.Ceilings{})
		s.code(err, fault.InvalidRequest)
	}
	// What an implicit run is called is not taken over by a salt, and a run that was closed does not come back as it was.
	a := s.args("implicit", "c")
	s.open(a)
	_, err := s.register("implicit", *s.spec(), a.Salt, canonical.Ceilings{})
	s.code(err, fault.InvalidRequest)
	s.call("r", "done", nil)
	if err := s.d.CloseRun(s.ctx(), s.runKey("r")); err != nil {
		s.Fatal(err)
	}
	if info, err := s.register("r", *s.spec(), salt(7), canonical.Ceilings{}); err != nil || info.Used.Calls != 0 || !info.Active {
		s.Errorf("after its end: %+v, %v", info, err)
	}
}

func listRuns(s *suite) {
	if l, err := s.d.Runs(s.ctx(), owner, 10); len(l) != 0 || err != nil {
		s.Errorf("Runs of nothing = %v, %v", l, err)
	}
	for i := range 5 {
		a := s.args(fmt.Sprintf("r%d", i), "c")
		if i == 4 {
			a.Implicit.TTL = s.units(4)
		}
		s.open(a)
		s.wait(0.1)
	}
	names := func(max int) (out []string) {
		l, err := s.d.Runs(s.ctx(), owner, max)
		if err != nil {
			s.Fatal(err)
		}
		for _, i := range l {
			if diff := cmp.Diff(s.info(i.Run), i); diff != "" {
				s.Errorf("Runs differs from Run:\n%s", diff)
			}
			out = append(out, i.Run)
		}
		return out
	}
	if diff := cmp.Diff([]string{"r4", "r3", "r2", "r1", "r0"}, names(10)); diff != "" {
		s.Error(diff)
	}
	if diff := cmp.Diff([]string{"r4", "r3"}, names(2)); diff != "" {
		s.Error(diff)
	}
	if err := s.d.CloseRun(s.ctx(), s.runKey("r3")); err != nil {
		s.Fatal(err)
	}
	s.wait(5)
	if diff := cmp.Diff([]string{"r3", "r2", "r1", "r0"}, names(10)); diff != "" {
		s.Errorf("after the first deadline: %s", diff)
	}
}

func listCalls(s *suite) {
	var all []string
	for i := range 7 {
		id := fmt.Sprintf("c%d", 9-i)
		all = append(all, id)
		a := s.args("r", id)
		g := s.open(a)
		if i%2 == 0 {
			s.close(s.failed(a, g))
		}
	}
	for _, c := range []struct{ offset, max, from, to int }{{0, 100, 0, 7}, {0, 3, 0, 3}, {2, 3, 2, 5}, {6, 3, 6, 7}, {7, 3, 7, 7}, {50, 3, 7, 7}, {0, 0, 0, 0}, {-1, 3, 0, 0}} {
		l, err := s.d.Calls(s.ctx(), s.runKey("r"), c.offset, c.max)
		if err != nil {
			s.Fatal(err)
		}
		var got []string
		for i, info := range l {
			got = append(got, info.Call)
			want := canonical.StateProjecting
			if (c.offset+i)%2 == 0 {
				want = canonical.StateError
			}
			if info.State != want || info.Tool != "query_logs" || info.StartedAt.IsZero() || info.CompletedAt.IsZero() != (want == canonical.StateProjecting) {
				s.Errorf("Calls = %+v, want %s", info, want)
			}
		}
		if want := all[c.from:c.to]; !slices.Equal(got, want) {
			s.Errorf("Calls(%d, %d) = %v, want %v", c.offset, c.max, got, want)
		}
	}
	if l, err := s.d.Calls(s.ctx(), s.runKey("unknown"), 0, 10); len(l) != 0 || err != nil {
		s.Errorf("Calls of an unknown run = %v, %v", l, err)
	}
}

// oneCall holds Call to what Run and Calls say: call for call, in every state, for a run that is closed, started anew, expired, unknown or another's.
func oneCall(s *suite) {
	same := func(run string, ids ...string) {
		s.Helper()
		list, err := s.d.Calls(s.ctx(), s.runKey(run), 0, 100)
		if err != nil || len(list) != len(ids) {
			s.Fatalf("Calls = %v, %v, want %v", list, err, ids)
		}
		for i, id := range ids {
			info, got, found, err := s.d.Call(s.ctx(), s.key(run, id))
			if !found || err != nil {
				s.Errorf("Call(%s) = %v, %v", id, found, err)
				continue
			}
			if diff := cmp.Diff(list[i], got); diff != "" {
				s.Errorf("Call(%s) differs from Calls:\n%s", id, diff)
			}
			if diff := cmp.Diff(s.info(run), info); diff != "" {
				s.Errorf("Call(%s) differs from Run:\n%s", id, diff)
			}
		}
	}
	absent := func(principal, run, id string, active bool) {
		s.Helper()
		k, err := canonical.NewKey(principal, run, id)
		if err != nil {
			s.Fatal(err)
		}
		info, got, found, err := s.d.Call(s.ctx(), k)
		if found || err != nil || got.Call != "" || (info.Run != "") != active {
			s.Errorf("Call(%s, %s, %s) = %+v, %+v, %v, %v", principal, run, id, info, got, found, err)
		}
	}
	a := s.args("r", "open")
	a.Implicit.TTL = s.units(4)
	s.open(a)
	absent(owner, "r", "ope", true)
	absent(owner, "r", "done", true)
	b := s.args("r", "done")
	c := s.ready(b, s.open(b))
	c.Scope, c.ScopeID, c.Control = "orders of today", "scope-1", []byte(`{"returned_count":3}`)
	s.close(c)
	d := s.args("r", "again")
	c = s.ready(d, s.open(d))
	c.Scope, c.ScopeID = "orders of today", "scope-1"
	s.close(c)
	e := s.args("r", "failed")
	s.close(s.failed(e, s.open(e)))
	same("r", "open", "done", "again", "failed")
	if err := s.d.Assess(s.ctx(), s.key("r", "again"), true); err != nil {
		s.Fatal(err)
	}
	if _, got, _, _ := s.d.Call(s.ctx(), s.key("r", "again")); !got.Assessed || got.Gain != canonical.GainYes || got.DuplicateOf != "done" {
		s.Errorf("after the assessment: %+v", got)
	}
	if err := s.d.CloseRun(s.ctx(), s.runKey("r")); err != nil {
		s.Fatal(err)
	}
	same("r", "open", "done", "again", "failed")
	absent("somebody else", "r", "done", false)
	absent(owner, "unknown", "done", false)
	s.wait(5)
	absent(owner, "r", "done", false)
	s.open(s.args("r", "new"))
	same("r", "new")
	absent(owner, "r", "done", true)
}
