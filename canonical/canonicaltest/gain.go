package canonicaltest

import (
	"fmt"
	"slices"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

const (
	yes     = canonical.GainYes
	no      = canonical.GainNo
	neutral = canonical.GainNeutral
	none    = canonical.Uncounted
)

// found closes with these items: "key" or "key/detail".
func found(items ...canonical.Item) func(*canonical.CloseArgs) {
	return func(c *canonical.CloseArgs) { c.Items = items }
}

func empty(scope string) func(*canonical.CloseArgs) {
	return func(c *canonical.CloseArgs) {
		c.Evidence, c.ScopeID, c.Scope = canonical.None, scope, "scope "+scope
	}
}

func erring(scope string) func(*canonical.CloseArgs) {
	return func(c *canonical.CloseArgs) {
		*c = canonical.CloseArgs{Key: c.Key, Nonce: c.Nonce, Code: string(fault.BackendTimeout), ScopeID: scope}
	}
}

func item(key, detail string) canonical.Item { return canonical.Item{Key: key, Detail: detail} }

type gainCase struct {
	close func(*canonical.CloseArgs)
	want  canonical.Gain
}

func (s *suite) gains(run string, cases ...gainCase) {
	s.Helper()
	for i, c := range cases {
		id := fmt.Sprintf("g%d", i)
		if out := s.call(run, id, c.close); out.Gain != c.want {
			s.Errorf("call %d: gain = %s, want %s", i, out.Gain, c.want)
		}
	}
	calls, err := s.d.Calls(s.ctx(), s.runKey(run), 0, len(cases))
	if err != nil || len(calls) != len(cases) {
		s.Fatalf("Calls = %d, %v", len(calls), err)
	}
	for i, c := range cases {
		if calls[i].Gain != c.want {
			s.Errorf("call %d: listed gain = %s, want %s", i, calls[i].Gain, c.want)
		}
	}
}

func gainItems(s *suite) {
	s.gains("r",
		gainCase{found(item("a", ""), item("b", "")), yes},
		gainCase{found(item("a", "")), no},
		gainCase{found(item("b", ""), item("a", "")), no},
		gainCase{found(item("b", ""), item("c", "")), yes},
		gainCase{found(item("c", ""), item("c", "")), no},
		gainCase{found(), no},
	)
	s.gains("another", gainCase{found(item("a", "")), yes}) // runs do not know each other's items
}

func gainDetails(s *suite) {
	s.gains("r",
		gainCase{found(item("a", "1"), item("a", "2")), yes},
		gainCase{found(item("a", "2")), no},                                   // shown beside the first
		gainCase{found(item("a", "3"), item("a", "4"), item("a", "5")), yes},  // once, although three are new
		gainCase{found(item("a", "5"), item("a", "")), no},                    //
		gainCase{found(item("a", "6")), yes},                                  // twice
		gainCase{found(item("a", "6"), item("b", "")), yes},                   // for b only
		gainCase{found(item("a", "7")), yes},                                  // three times
		gainCase{found(item("a", "8")), no},                                   // no more
		gainCase{found(item("b", "1")), yes},                                  // another key has its own count
		gainCase{found(item("b", "\x00\xff"), item("b", "\x00\xff")), yes},    // details are bytes
		gainCase{found(item("b", "\x00\xff")), no},                            //
		gainCase{found(item("a", "9"), item("a", "10"), item("b", "2")), yes}, // b's third
		gainCase{found(item("b", "3"), item("a", "11")), no},
	)
}

func gainEmpty(s *suite) {
	s.gains("r",
		gainCase{empty("s1"), neutral},
		gainCase{empty("s2"), neutral},
		gainCase{empty("s1"), no},
		gainCase{erring("s3"), none},
		gainCase{empty("s3"), neutral}, // an ERROR says nothing about its scope
		gainCase{empty("s3"), no},
		gainCase{func(c *canonical.CloseArgs) { c.ScopeID, c.Items = "s4", []canonical.Item{item("a", "")} }, yes},
		gainCase{empty("s4"), neutral}, // found before, empty for the first time
		gainCase{empty(""), neutral},
		gainCase{empty(""), neutral},
	)
}

func duplicates(s *suite) {
	at := func(scope string) func(*canonical.CloseArgs) {
		return func(c *canonical.CloseArgs) { c.ScopeID = scope }
	}
	for _, c := range []struct {
		id    string
		close func(*canonical.CloseArgs)
		want  string
	}{{"e1", erring("s"), ""}, {"c1", at("s"), ""}, {"c2", at("s"), "c1"}, {"c3", empty("s"), "c1"}, {"e2", erring("s"), "c1"}, {"c4", at("t"), ""}, {"c5", at(""), ""}, {"c6", at(""), ""}, {"c7", empty("t"), "c4"}} {
		if out := s.call("r", c.id, c.close); out.DuplicateOf != c.want {
			s.Errorf("%s: DuplicateOf = %q, want %q", c.id, out.DuplicateOf, c.want)
		}
	}
	calls, err := s.d.Calls(s.ctx(), s.runKey("r"), 0, 10)
	if err != nil || len(calls) != 9 || calls[2].DuplicateOf != "c1" || calls[8].DuplicateOf != "c4" {
		s.Errorf("Calls = %v, %v", calls, err)
	}
}

// rule is an implicit run that stops after limit of window.
func (s *suite) rule(run string, limit, window int) {
	s.Helper()
	spec := *s.spec()
	spec.NoGain = canonical.NoGain{Limit: limit, Window: window}
	if _, err := s.openRun(run, spec, canonical.Ceilings{}); err != nil {
		s.Fatal(err)
	}
}

func window(s *suite) {
	s.rule("r", 100, 4)
	fresh := 0
	for i, c := range []struct {
		kind string
		want int
	}{{"no", 1}, {"no", 2}, {"error", 2}, {"yes", 2}, {"neutral", 2}, {"yes", 1}, {"error", 1}, {"yes", 0}, {"no", 1}, {"no", 2}, {"no", 3}, {"no", 4}, {"no", 4}, {"yes", 3}} {
		fresh++
		close := map[string]func(*canonical.CloseArgs){"no": found(), "error": erring("x"), "yes": found(item(fmt.Sprint(fresh), "")), "neutral": empty(fmt.Sprint(fresh))}[c.kind]
		out := s.call("r", fmt.Sprintf("c%d", i), close)
		if info := s.info("r"); out.Streak != c.want || info.Streak != c.want || out.Stop || info.Stopped {
			s.Errorf("step %d (%s): streak = %d and %d, want %d", i, c.kind, out.Streak, info.Streak, c.want)
		}
	}
	calls, err := s.d.Calls(s.ctx(), s.runKey("r"), 10, 1)
	if err != nil || len(calls) != 1 || calls[0].Streak != 3 {
		s.Errorf("listed = %v, %v, want streak 3", calls, err)
	}
}

func stopResume(s *suite) {
	s.rule("r", 2, 3)
	s.call("r", "e1", empty("s1"))
	if out := s.call("r", "e2", empty("s1")); out.Streak != 1 || out.Stop {
		s.Errorf("Closed = %+v, want streak 1", out)
	}
	inflight := s.args("r", "inflight")
	g := s.open(inflight)
	if out := s.call("r", "e3", empty("s1")); out.Streak != 2 || !out.Stop {
		s.Errorf("Closed = %+v, want stop", out)
	}
	if i := s.info("r"); !i.Stopped || i.Streak != 2 {
		s.Errorf("info = %+v, want stopped", i)
	}
	refused := s.refused(s.args("r", "c"), fault.StopRequired)
	if !slices.Equal(refused.Scopes, []string{"scope s1"}) || refused.Run != "r" {
		s.Errorf("refused Grant = %+v, want the checked scope", refused)
	}
	s.gone("r", "c")
	s.refused(s.args("r", "e1"), fault.DuplicateToolCallID) // decided before the stop
	s.close(s.failed(inflight, g))                          // calls in flight still end
	if used := s.info("r").Used.Calls; used != 4 {
		s.Errorf("calls = %d, the refused one was charged", used)
	}
	if err := s.d.Resume(s.ctx(), s.runKey("r")); err != nil {
		s.Fatal(err)
	}
	if i := s.info("r"); i.Stopped || i.Streak != 0 {
		s.Errorf("info after Resume = %+v", i)
	}
	if out := s.call("r", "c", empty("s1")); out.Gain != no || out.Streak != 1 {
		s.Errorf("Closed = %+v, Resume forgets the streak, not what was seen", out)
	}
	s.call("r", "c2", empty("s1"))
	s.refused(s.args("r", "c3"), fault.StopRequired)
	if err := s.d.Assess(s.ctx(), s.key("r", "c2"), true); err != nil {
		s.Fatal(err)
	}
	s.open(s.args("r", "c3"))
	s.code(s.d.Resume(s.ctx(), s.runKey("unknown")), fault.RunNotActive)

	// In an implicit run the stop is advice.
	for i := range 4 {
		a := s.args("implicit", fmt.Sprintf("c%d", i))
		a.Implicit.NoGain = canonical.NoGain{Limit: 2, Window: 3}
		g := s.open(a)
		if want := i >= 2; g.StopAdvised != want || (len(g.Scopes) > 0) != want || g.Streak != min(i, 3) {
			s.Errorf("call %d: Grant = %+v, want advice %v", i, g, want)
		}
		c := s.ready(a, g)
		c.ScopeID, c.Scope = fmt.Sprintf("i%d", i), fmt.Sprintf("implicit %d", i)
		s.close(c)
		again := s.open(a)
		if again.StopAdvised != g.StopAdvised || !slices.Equal(again.Scopes, g.Scopes) {
			s.Errorf("call %d again: Grant = %+v, want %+v", i, again, g)
		}
	}
}

func assessWindow(s *suite) {
	s.rule("r", 100, 3)
	s.call("r", "a", found())
	s.call("r", "b", found(item("i", "")))
	s.call("r", "e", erring(""))
	open := s.args("r", "open")
	s.open(open)
	assess := func(call string, gain bool, streak int) {
		s.Helper()
		if err := s.d.Assess(s.ctx(), s.key("r", call), gain); err != nil {
			s.Fatalf("Assess(%s) = %v", call, err)
		}
		if got := s.info("r").Streak; got != streak {
			s.Errorf("streak after Assess(%s, %v) = %d, want %d", call, gain, got, streak)
		}
	}
	assess("a", true, 0)
	assess("a", false, 1)
	assess("b", false, 2)
	assess("e", false, 2) // an ERROR does not enter the window
	s.call("r", "c", found())
	s.call("r", "d", found(item("j", ""))) // a leaves the window
	assess("a", true, 2)
	calls, err := s.d.Calls(s.ctx(), s.runKey("r"), 0, 10)
	if err != nil {
		s.Fatal(err)
	}
	want := map[string]canonical.Gain{"a": yes, "b": no, "e": no, "c": no, "d": yes, "open": ""}
	for _, c := range calls {
		if assessed := slices.Contains([]string{"a", "b", "e"}, c.Call); c.Gain != want[c.Call] || c.Assessed != assessed {
			s.Errorf("%s: gain = %q, assessed %v, want %q, %v", c.Call, c.Gain, c.Assessed, want[c.Call], assessed)
		}
	}
	for _, id := range []string{"open", "unknown"} {
		s.code(s.d.Assess(s.ctx(), s.key("r", id), true), fault.InvalidRequest)
	}
	s.code(s.d.Assess(s.ctx(), s.key("unknown", "a"), true), fault.InvalidRequest)
}

func scopes(s *suite) {
	at := func(id, text string) func(*canonical.CloseArgs) {
		return func(c *canonical.CloseArgs) { c.ScopeID, c.Scope = id, text }
	}
	s.call("r", "1", at("s1", "one"))
	s.call("r", "2", at("s2", "two \x00\xff 中文"))
	s.call("r", "3", erring("s3"))
	s.call("r", "4", empty("s4"))
	s.call("r", "5", at("s1", "one again"))
	s.call("r", "6", at("", "nameless"))
	want := []string{"one again", "scope s4", "two \x00\xff 中文"}
	if got := s.info("r").Scopes; !slices.Equal(got, want) {
		s.Errorf("scopes = %q, want %q", got, want)
	}
	for i := range 12 {
		s.call("r", fmt.Sprintf("n%d", i), at(fmt.Sprintf("n%d", i), fmt.Sprintf("scope %d", i)))
	}
	got := s.info("r").Scopes
	if len(got) != canonical.MaxScopes || got[0] != "scope 11" || got[7] != "scope 4" {
		s.Errorf("scopes = %q, want the newest %d", got, canonical.MaxScopes)
	}
}

func boundedFacts(s *suite) {
	items := func(call int) []canonical.Item {
		out := make([]canonical.Item, canonical.MaxItems)
		for i := range out {
			out[i] = item(fmt.Sprintf("%08x%08x", call, i), "d")
		}
		return out
	}
	// 512 items with a detail each are 1024 members: the twentieth call does not fit any more.
	for i := range 21 {
		if out := s.call("r", fmt.Sprintf("c%d", i), found(items(i)...)); out.Gain != yes {
			s.Fatalf("call %d: gain = %s, want GAIN", i, out.Gain)
		}
	}
	if out := s.call("r", "first", found(items(0)...)); out.Gain != no {
		s.Errorf("remembered items = %s, want NO_GAIN", out.Gain)
	}
	if out := s.call("r", "last", found(items(20)...)); out.Gain != yes {
		s.Errorf("items beyond the bound = %s, want GAIN", out.Gain)
	}
	if out := s.call("r", "known", found(item(fmt.Sprintf("%08x%08x", 0, 0), "other"))); out.Gain != yes {
		s.Errorf("a new detail of a known item = %s, want GAIN", out.Gain)
	}
}
