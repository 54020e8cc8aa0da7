package canonicaltest

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// Model runs random sequences of steps on a driver with an injected clock and compares every answer with a small model of the promises: one grant per id, one
// final state, charges that add up, a deadline that nothing moves, nothing alive past it. done cleans up one store.
func Model(t *testing.T, open func(clock func() time.Time) (d canonical.Driver, done func())) {
	rapid.Check(t, func(rt *rapid.T) {
		now := time.UnixMilli(1_700_000_000_000)
		d, done := open(func() time.Time { return now })
		defer done()
		m := &model{t: rt, ctx: t, d: d, now: func() int64 { return now.UnixMilli() }, runs: map[string]*modelRun{}, records: map[string]*modelRecord{}}
		rt.Repeat(map[string]func(*rapid.T){
			"open":  m.open,
			"close": m.close,
			"load":  m.load,
			"end":   m.end,
			"tick": func(rt *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 4000).Draw(rt, "ms")) * time.Millisecond)
			},
			"": m.check,
		})
	})
}

// The model's lives: records and runs expire at different times, and sequences pass both.
const (
	modelRecordTTL = 7 * time.Second
	modelRunTTL    = 10 * time.Second
	modelCalls     = 6
	modelRaw       = 20
)

type modelRun struct {
	expires, calls, raw int64
	closed              bool
	ids                 map[string]string // nonce
}

type modelRecord struct {
	run     *modelRun
	nonce   string
	expires int64
	state   canonical.State
	target  string
}

type model struct {
	t       *rapid.T
	ctx     *testing.T
	d       canonical.Driver
	now     func() int64
	runs    map[string]*modelRun
	records map[string]*modelRecord
	sent    []canonical.OpenArgs
}

func (m *model) run() string { return rapid.SampledFrom([]string{"r1", "r2"}).Draw(m.t, "run") }

func (m *model) key(run, call string) canonical.Key {
	k, err := canonical.NewKey("p", run, call)
	if err != nil {
		m.t.Fatal(err)
	}
	return k
}

func (m *model) want(err error, code fault.Code, what string) {
	if got := fault.CodeOf(err); got != code {
		m.t.Fatalf("%s = %v (%v), want %q", what, err, cause(err), code)
	}
}

// alive is the record while its deadline has not passed.
func (m *model) alive(id string) *modelRecord {
	if r := m.records[id]; r != nil && m.now() < r.expires {
		return r
	}
	return nil
}

func (m *model) open(rt *rapid.T) {
	m.t = rt
	a := canonical.OpenArgs{Principal: "p", Run: m.run(), Call: fmt.Sprintf("c%d", rapid.IntRange(0, 5).Draw(rt, "call")), Nonce: fmt.Sprintf("n%d", len(m.sent)), Tool: "t", TTL: modelRecordTTL, RequestBytes: 1,
		Implicit: &canonical.RunSpec{Limits: canonical.Limits{Calls: modelCalls, RequestBytes: 1000, RawBytes: modelRaw, ObservationBytes: 1000}, NoGain: canonical.NoGain{Limit: 8, Window: 10}, TTL: modelRunTTL}}
	if len(m.sent) > 0 && rapid.Bool().Draw(rt, "again") {
		a = rapid.SampledFrom(m.sent).Draw(rt, "sent")
	}
	m.sent = append(m.sent, a)
	g, err := m.d.Open(m.ctx.Context(), a)
	run, what := m.runs[a.Run], "Open "+a.Run+"/"+a.Call+" "+a.Nonce
	fresh := run == nil || m.now() >= run.expires
	if !fresh {
		if run.closed {
			m.want(err, fault.RunNotActive, what)
			return
		}
		if nonce, used := run.ids[a.Call]; used {
			if nonce == a.Nonce {
				m.want(err, "", what)
				return
			}
			m.want(err, fault.DuplicateToolCallID, what)
			return
		}
	}
	if m.alive(a.Run+"/"+a.Call) != nil {
		m.want(err, fault.DuplicateToolCallID, what)
		return
	}
	if fresh {
		run = &modelRun{expires: m.now() + modelRunTTL.Milliseconds(), ids: map[string]string{}}
	}
	if run.calls >= modelCalls || run.raw >= modelRaw {
		m.want(err, fault.BudgetExhausted, what)
		return
	}
	m.want(err, "", what)
	run.calls++
	run.ids[a.Call] = a.Nonce
	m.runs[a.Run] = run
	m.records[a.Run+"/"+a.Call] = &modelRecord{run: run, nonce: a.Nonce, expires: m.now() + modelRecordTTL.Milliseconds(), state: canonical.StateProjecting}
	if got := g.ExpiresAt.UnixMilli(); got != m.now()+modelRecordTTL.Milliseconds() || g.Left.Calls != modelCalls-run.calls || g.Left.RawBytes != modelRaw-run.raw {
		rt.Fatalf("%s: deadline %d, left %+v", what, got, g.Left)
	}
}

func (m *model) close(rt *rapid.T) {
	m.t = rt
	if len(m.sent) == 0 {
		rt.Skip("nothing to close")
	}
	a := rapid.SampledFrom(m.sent).Draw(rt, "sent")
	c := canonical.CloseArgs{Key: m.key(a.Run, a.Call), Nonce: a.Nonce, Ready: rapid.Bool().Draw(rt, "ready"), Code: "BACKEND_ERROR"}
	target := "ERROR"
	if c.Ready {
		n := rapid.IntRange(1, 8).Draw(rt, "raw")
		c.Code, c.Raw, c.Observation = "", make([]byte, n), []byte("o")
		target = fmt.Sprint("READY ", n)
	}
	out, err := m.d.Close(m.ctx.Context(), c)
	rec, what := m.alive(a.Run+"/"+a.Call), "Close "+a.Run+"/"+a.Call+" "+a.Nonce+" to "+target
	switch {
	case rec == nil || rec.nonce != a.Nonce || rec.state != canonical.StateProjecting && rec.target != target:
		m.want(err, fault.StoreError, what)
		return
	case rec.state != canonical.StateProjecting:
		m.want(err, "", what)
	default:
		m.want(err, "", what)
		rec.state, rec.target = canonical.StateError, target
		if n := int64(len(c.Raw)); c.Ready && rec.run.raw+n <= modelRaw {
			rec.state = canonical.StateReady
			rec.run.raw += n
		}
	}
	if out.State != rec.state {
		rt.Fatalf("%s = %s, want %s", what, out.State, rec.state)
	}
}

func (m *model) load(rt *rapid.T) {
	m.t = rt
	id, call := m.run(), fmt.Sprintf("c%d", rapid.IntRange(0, 5).Draw(rt, "call"))
	got, found, err := m.d.Load(m.ctx.Context(), m.key(id, call))
	rec := m.alive(id + "/" + call)
	if err != nil || found != (rec != nil) || found && (got.State != rec.state || got.ExpiresAt.UnixMilli() != rec.expires) {
		rt.Fatalf("Load %s/%s = %s until %v, %v, %v, want %+v", id, call, got.State, got.ExpiresAt, found, err, rec)
	}
}

func (m *model) end(rt *rapid.T) {
	m.t = rt
	id := m.run()
	err := m.d.CloseRun(m.ctx.Context(), m.key(id, "x").RunKey())
	run := m.runs[id]
	if run == nil || m.now() >= run.expires {
		m.want(err, fault.RunNotActive, "CloseRun "+id)
		return
	}
	m.want(err, "", "CloseRun "+id)
	run.closed = true
}

// check compares what the store says of its runs with the model.
func (m *model) check(rt *rapid.T) {
	for id, run := range m.runs {
		info, found, err := m.d.Run(m.ctx.Context(), m.key(id, "x").RunKey())
		if err != nil || found != (m.now() < run.expires) {
			rt.Fatalf("Run %s = %v, %v", id, found, err)
		}
		if found && (info.Used.Calls != run.calls || info.Used.RawBytes != run.raw || info.Active == run.closed || info.ExpiresAt.UnixMilli() != run.expires) {
			rt.Fatalf("Run %s = %+v, want %+v", id, info, run)
		}
	}
}
