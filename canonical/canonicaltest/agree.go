package canonicaltest

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// Pair is two empty stores that must give the same answers.
type Pair struct {
	Want, Got canonical.Driver
	// Advance moves the clock that both share; nil when they have none: then lives are long and times are not compared.
	Advance func(d time.Duration)
	Done    func()
}

// Agree runs random sequences of steps on two drivers and compares every answer: grants, refusals, gain, streaks, scopes, lists, records.
func Agree(t *testing.T, open func() Pair) {
	rapid.Check(t, func(rt *rapid.T) {
		p := open()
		defer p.Done()
		a := &agree{Pair: p, T: rt, t: t}
		a.opts = gocmp.Options{}
		if p.Advance == nil {
			a.opts = append(a.opts, gocmp.Comparer(func(x, y time.Time) bool { return x.IsZero() == y.IsZero() }))
		}
		steps := map[string]func(*rapid.T){"open": a.open, "open a slot": a.slot, "close": a.close, "close again": a.close, "load": a.load, "register": a.register, "end": a.end, "assess": a.assess, "resume": a.resume, "lists": a.lists}
		if p.Advance != nil {
			steps["tick"] = func(rt *rapid.T) {
				p.Advance(time.Duration(rapid.IntRange(1, 40_000).Draw(rt, "ms")) * time.Millisecond)
			}
		}
		rt.Repeat(steps)
		a.lists(rt)
	})
}

type agree struct {
	Pair
	*rapid.T
	t    *testing.T
	opts gocmp.Options
	sent []canonical.OpenArgs
	runs []string // run of each sent OPEN, "" when refused
	n    int
}

func (a *agree) one(label string, from ...string) string {
	return rapid.SampledFrom(from).Draw(a.T, label)
}

// same compares the answers of one step.
func (a *agree) same(what string, want, got any, wantErr, gotErr error) {
	if fault.CodeOf(wantErr) != fault.CodeOf(gotErr) {
		a.Fatalf("%s: error = %v (%v), want %v (%v)", what, gotErr, cause(gotErr), wantErr, cause(wantErr))
	}
	if diff := gocmp.Diff(want, got, a.opts); diff != "" {
		a.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func (a *agree) spec() canonical.RunSpec {
	return canonical.RunSpec{Limits: canonical.Limits{Calls: 25, RequestBytes: 300, RawBytes: 200_000, ObservationBytes: 400}, NoGain: canonical.NoGain{Limit: 2, Window: 4}, TTL: a.life(2 * time.Minute)}
}

// life is short where time can be moved.
func (a *agree) life(d time.Duration) time.Duration {
	if a.Advance == nil {
		return time.Hour
	}
	return d
}

func (a *agree) args() canonical.OpenArgs {
	a.n++
	spec := a.spec()
	args := canonical.OpenArgs{Principal: a.one("principal", "p", "q"), Call: fmt.Sprintf("c%d", rapid.IntRange(0, 14).Draw(a.T, "call")), Nonce: fmt.Sprintf("n%d", a.n), Tool: a.one("tool", "t1", "t2", "t3"), Request: []byte("request"),
		Projector: "1", TTL: a.life(90 * time.Second), RequestBytes: int64(rapid.IntRange(1, 30).Draw(a.T, "bytes")), Implicit: &spec, Salt: salt(byte(a.n)), Ceilings: canonical.Ceilings{OpenRuns: 3, LiveBytes: 150_000}}
	if rapid.IntRange(0, 3).Draw(a.T, "minted") == 0 {
		args.Call, args.Minted = "tc_aaaaaaaaaaaaaaa"+a.one("id", "a", "b", "c"), true
	}
	if rapid.IntRange(0, 5).Draw(a.T, "registered mode") == 0 {
		args.Implicit = nil
	}
	if rapid.IntRange(0, 5).Draw(a.T, "tools") == 0 && args.Implicit != nil {
		args.Implicit.Tools = []string{"t1", "t2"}
	}
	return args
}

func (a *agree) send(args canonical.OpenArgs) {
	if len(a.sent) > 0 && rapid.IntRange(0, 5).Draw(a.T, "again") == 0 {
		args = rapid.SampledFrom(a.sent).Draw(a.T, "sent")
	}
	want, wantErr := a.Want.Open(a.t.Context(), args)
	got, gotErr := a.Got.Open(a.t.Context(), args)
	a.same("Open", want, got, wantErr, gotErr)
	run := want.Run
	if wantErr != nil {
		run = args.Run
	}
	a.sent, a.runs = append(a.sent, args), append(a.runs, run)
}

func (a *agree) open(rt *rapid.T) {
	a.T = rt
	args := a.args()
	args.Run = a.one("run", "r1", "r2", "r3", "reg1", "reg2", "run_aaaaaaaaaaaaaaaa")
	a.send(args)
}

func (a *agree) slot(rt *rapid.T) {
	a.T = rt
	args := a.args()
	args.Slot, args.MintRun = a.one("slot", "s1", "s2 \x00"), "run_aaaaaaaaaaaaaa"+string(rune('a'+a.n/24%24))+string(rune('a'+a.n%24))
	a.send(args)
}

// sample is a sent OPEN whose run is known.
func (a *agree) sample() (canonical.OpenArgs, string) {
	if len(a.sent) == 0 {
		a.Skip("nothing sent")
	}
	i := rapid.IntRange(0, len(a.sent)-1).Draw(a.T, "sent")
	if a.runs[i] == "" {
		a.Skip("refused")
	}
	return a.sent[i], a.runs[i]
}

func (a *agree) key(principal, run, call string) canonical.Key {
	k, err := canonical.NewKey(principal, run, call)
	if err != nil {
		a.Fatal(err)
	}
	return k
}

func (a *agree) close(rt *rapid.T) {
	a.T = rt
	args, run := a.sample()
	c := canonical.CloseArgs{Key: a.key(args.Principal, run, args.Call), Nonce: args.Nonce, ScopeID: a.one("scope", "", "x", "y", "z", "v", "w"), Control: []byte("{}")}
	c.Scope = "scope " + c.ScopeID
	if rapid.IntRange(0, 4).Draw(rt, "error") == 0 {
		c.Code = a.one("code", "BACKEND_ERROR", "CANCELLED")
	} else {
		c.Ready, c.Evidence = true, canonical.Evidence(rapid.IntRange(0, 2).Draw(rt, "found") > 0)
		c.Raw = slices.Repeat([]byte{byte(a.n)}, rapid.SampledFrom([]int{1, 100, 20_000, 50_000}).Draw(rt, "raw"))
		c.Observation, c.Truncated = slices.Repeat([]byte("o"), rapid.IntRange(1, 30).Draw(rt, "observation")), rapid.Bool().Draw(rt, "truncated")
		c.ExpiresAt = time.Now().Add(time.Minute)
		if c.Evidence {
			for range rapid.IntRange(0, 4).Draw(rt, "items") {
				c.Items = append(c.Items, canonical.Item{Key: a.one("key", "i", "j", "k", "l"), Detail: a.one("detail", "", "1", "2", "3", "4", "5", "6", "7", "8")})
			}
		}
	}
	want, wantErr := a.Want.Close(a.t.Context(), c)
	got, gotErr := a.Got.Close(a.t.Context(), c)
	a.same("Close", want, got, wantErr, gotErr)
}

type loaded struct {
	Record canonical.Record
	Found  bool
}

func (a *agree) load(rt *rapid.T) {
	a.T = rt
	args, run := a.sample()
	var want, got loaded
	var wantErr, gotErr error
	k := a.key(args.Principal, run, args.Call)
	want.Record, want.Found, wantErr = a.Want.Load(a.t.Context(), k)
	got.Record, got.Found, gotErr = a.Got.Load(a.t.Context(), k)
	a.same("Load", want, got, wantErr, gotErr)
	want.Record, want.Found, wantErr = a.Want.FindCall(a.t.Context(), args.Principal, args.Call)
	got.Record, got.Found, gotErr = a.Got.FindCall(a.t.Context(), args.Principal, args.Call)
	a.same("FindCall", want, got, wantErr, gotErr)
}

func (a *agree) register(rt *rapid.T) {
	a.T = rt
	a.n++
	spec := a.spec()
	if rapid.Bool().Draw(rt, "tools") {
		spec.Tools = []string{"t1", "t3"}
	}
	k := a.key(a.one("principal", "p", "q"), a.one("run", "reg1", "reg2", "r1", "run_aaaaaaaaaaaaaaaa"), "x").RunKey()
	c := canonical.Ceilings{OpenRuns: 3}
	want, wantErr := a.Want.OpenRun(a.t.Context(), k, spec, canonical.Registered, salt(byte(a.n)), c)
	got, gotErr := a.Got.OpenRun(a.t.Context(), k, spec, canonical.Registered, salt(byte(a.n)), c)
	a.same("OpenRun", want, got, wantErr, gotErr)
}

func (a *agree) end(rt *rapid.T) {
	a.T = rt
	args, run := a.sample()
	k := a.key(args.Principal, run, "x").RunKey()
	a.same("CloseRun", nil, nil, a.Want.CloseRun(a.t.Context(), k), a.Got.CloseRun(a.t.Context(), k))
}

func (a *agree) assess(rt *rapid.T) {
	a.T = rt
	args, run := a.sample()
	k, gain := a.key(args.Principal, run, args.Call), rapid.Bool().Draw(rt, "gain")
	a.same("Assess", nil, nil, a.Want.Assess(a.t.Context(), k, gain), a.Got.Assess(a.t.Context(), k, gain))
}

func (a *agree) resume(rt *rapid.T) {
	a.T = rt
	args, run := a.sample()
	k := a.key(args.Principal, run, "x").RunKey()
	a.same("Resume", nil, nil, a.Want.Resume(a.t.Context(), k), a.Got.Resume(a.t.Context(), k))
}

// lists compares all that can be read without content.
func (a *agree) lists(rt *rapid.T) {
	a.T = rt
	for _, principal := range []string{"p", "q"} {
		want, wantErr := a.Want.Runs(a.t.Context(), principal, 100)
		got, gotErr := a.Got.Runs(a.t.Context(), principal, 100)
		byID := func(x, y canonical.RunInfo) int { return cmp.Compare(x.Run, y.Run) } // without a shared clock two runs may open in one millisecond
		slices.SortFunc(want, byID)
		slices.SortFunc(got, byID)
		a.same("Runs", want, got, wantErr, gotErr)
		for _, r := range want {
			k := a.key(principal, r.Run, "x").RunKey()
			wantCalls, wantErr := a.Want.Calls(a.t.Context(), k, 0, 100)
			gotCalls, gotErr := a.Got.Calls(a.t.Context(), k, 0, 100)
			a.same("Calls "+r.Run, wantCalls, gotCalls, wantErr, gotErr)
			ck := a.key(principal, r.Run, "c0")
			wantRun, wantCall, wantFound, wantErr := a.Want.Call(a.t.Context(), ck)
			gotRun, gotCall, gotFound, gotErr := a.Got.Call(a.t.Context(), ck)
			a.same("Call "+r.Run, []any{wantRun, wantCall, wantFound}, []any{gotRun, gotCall, gotFound}, wantErr, gotErr)
		}
	}
}
