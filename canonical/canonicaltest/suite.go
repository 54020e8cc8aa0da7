// Package canonicaltest is the one conformance suite for every canonical.Driver. It holds what the contract promises: a deadline that never moves, one winner,
// ids that stay used, exact budgets, ceilings, gain and stop, and nothing for a foreign principal. A driver passes when Run passes; Agree compares it step by
// step with another driver on random sequences, Model compares it with a small model of the promises.
package canonicaltest

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// Harness is what a driver brings to the suite.
type Harness struct {
	// New makes an empty store for one test and cleans it up.
	New func(t *testing.T) canonical.Driver
	// Wait lets that much of the store's time pass.
	Wait func(d time.Duration)
	// Unit is the smallest time that the store can keep apart reliably: lives in the suite are 2 to 20 of it. A minute with a fake clock, some
	// 100 ms otherwise; a few of them must fit into canonical.RunGrace.
	Unit time.Duration
	// In runs one test: synctest.Test for a fake clock; nil for the real one.
	In func(t *testing.T, f func(*testing.T))
	// Check looks at the store itself at the end of a test, nil for nothing.
	Check func(t *testing.T, d canonical.Driver)
}

// Run runs the whole suite.
func Run(t *testing.T, h Harness) {
	for _, c := range []struct {
		name string
		f    func(*suite)
	}{
		{"every field survives the round trip", everyField},
		{"content of any size and bytes survives", anyContent},
		{"the store keeps its own copy", ownCopy},
		{"the deadline is set once and never moves", deadline},
		{"an expired record stays gone", expiredStaysGone},
		{"a final state is final", finalIsFinal},
		{"open and close are idempotent by nonce", idempotent},
		{"a foreign nonce closes nothing", foreignNonce},
		{"racing opens of one id have one winner", racingOpens},
		{"racing closes have one winner", racingCloses},
		{"ids stay used until the run ends", idsRemembered},
		{"an id is refused while its record exists, although its run is gone", idOfLivingRecord},
		{"a minted id is found by the principal", findCall},
		{"a foreign principal sees nothing", foreignPrincipal},
		{"a call opened before the run's deadline can still be closed", closeAfterRun},
		{"two generations of a run do not mix", generations},
		{"slots", slots},
		{"a minted run id is never used again", mintedRunOnce},
		{"registered and implicit runs", registered},
		{"tools of a run", tools},
		{"closing a run", closeRun},
		{"racing registrations have one winner", racingRuns},
		{"a registration that is sent again is recognised", registeredAgain},
		{"budgets are exact under parallel calls", budgetCalls},
		{"budgets of bytes", budgetBytes},
		{"a refused call leaves nothing", refusedLeavesNothing},
		{"ceiling of open runs", ceilingRuns},
		{"ceiling of calls a minute", ceilingRate},
		{"ceiling of live bytes", ceilingLive},
		{"gain of items", gainItems},
		{"gain of details", gainDetails},
		{"gain of empty scopes", gainEmpty},
		{"duplicates name the first answered call", duplicates},
		{"the window slides and errors do not count", window},
		{"stop, resume and assess", stopResume},
		{"an assessment counts while the call is in the window", assessWindow},
		{"checked scopes are newest first, distinct and bounded", scopes},
		{"what a run remembers is bounded", boundedFacts},
		{"lists of runs", listRuns},
		{"lists of calls", listCalls},
		{"one call without the others", oneCall},
		{"a cancelled context is a store error", cancelled},
	} {
		t.Run(c.name, func(t *testing.T) {
			if h.In == nil {
				t.Parallel()
				body(t, h, c.f)
				return
			}
			h.In(t, func(t *testing.T) { body(t, h, c.f) })
		})
	}
}

func body(t *testing.T, h Harness, f func(*suite)) {
	d := h.New(t)
	f(&suite{T: t, h: h, d: d})
	if h.Check != nil {
		h.Check(t, d)
	}
}

// suite is one test under way.
type suite struct {
	*testing.T
	h Harness
	d canonical.Driver
	n int
}

// owner is the principal of most tests: not a name that could be a key as it is.
const owner = "local:alice@example.com:{x}"

func limits() canonical.Limits {
	return canonical.Limits{Calls: 100000, RequestBytes: 1 << 30, RawBytes: 1 << 30, ObservationBytes: 1 << 30}
}

func (s *suite) ctx() context.Context { return s.Context() }

func (s *suite) spec() *canonical.RunSpec {
	return &canonical.RunSpec{Limits: limits(), NoGain: canonical.NoGain{Limit: 8, Window: 10}, TTL: 1000 * s.h.Unit}
}

// args is an OPEN of an implicit run that lives long.
func (s *suite) args(run, call string) canonical.OpenArgs {
	s.n++
	return canonical.OpenArgs{Principal: owner, Run: run, Call: call, Nonce: fmt.Sprintf("nonce-%s-%d", call, s.n), Tool: "query_logs", Request: []byte(`{"q":1}`), Projector: "logs/1",
		TTL: 1000 * s.h.Unit, RequestBytes: 7, Implicit: s.spec(), Salt: salt(byte(s.n))}
}

func salt(b byte) (out canonical.Salt) {
	for i := range out {
		out[i] = b + byte(i)
	}
	return out
}

func (s *suite) open(a canonical.OpenArgs) canonical.Grant {
	s.Helper()
	g, err := s.d.Open(s.ctx(), a)
	if err != nil {
		s.Fatalf("Open(%s/%s) = %v (%v)", a.Run, a.Call, err, cause(err))
	}
	return g
}

func (s *suite) key(run, call string) canonical.Key {
	s.Helper()
	k, err := canonical.NewKey(owner, run, call)
	if err != nil {
		s.Fatal(err)
	}
	return k
}

func (s *suite) runKey(run string) canonical.RunKey { return s.key(run, "x").RunKey() }

// ready is a CLOSE to READY with evidence.
func (s *suite) ready(a canonical.OpenArgs, g canonical.Grant) canonical.CloseArgs {
	return canonical.CloseArgs{Key: s.key(g.Run, a.Call), Nonce: a.Nonce, Ready: true, Evidence: canonical.Found, Raw: []byte("raw"), Observation: []byte("obs"), ExpiresAt: g.ExpiresAt}
}

func (s *suite) failed(a canonical.OpenArgs, g canonical.Grant) canonical.CloseArgs {
	return canonical.CloseArgs{Key: s.key(g.Run, a.Call), Nonce: a.Nonce, Code: string(fault.BackendError), ExpiresAt: g.ExpiresAt}
}

func (s *suite) close(a canonical.CloseArgs) canonical.Closed {
	s.Helper()
	c, err := s.d.Close(s.ctx(), a)
	if err != nil {
		s.Fatalf("Close(%s) = %v (%v)", a.Key.Call(), err, cause(err))
	}
	return c
}

// call opens and closes one call; change may alter its CLOSE.
func (s *suite) call(run, call string, change func(*canonical.CloseArgs)) canonical.Closed {
	s.Helper()
	a := s.args(run, call)
	c := s.ready(a, s.open(a))
	if change != nil {
		change(&c)
	}
	return s.close(c)
}

func (s *suite) refused(a canonical.OpenArgs, want fault.Code) canonical.Grant {
	s.Helper()
	g, err := s.d.Open(s.ctx(), a)
	s.code(err, want)
	return g
}

func (s *suite) code(err error, want fault.Code) {
	s.Helper()
	if got := fault.CodeOf(err); got != want {
		s.Fatalf("error = %v (%v), want code %q", err, cause(err), want)
	}
}

func cause(err error) error {
	if u, ok := err.(interface{ Unwrap() error }); ok {
		return u.Unwrap()
	}
	return nil
}

func (s *suite) load(run, call string) canonical.Record {
	s.Helper()
	rec, found, err := s.d.Load(s.ctx(), s.key(run, call))
	if err != nil || !found {
		s.Fatalf("Load(%s/%s) = %v, %v, want the record", run, call, found, err)
	}
	return rec
}

func (s *suite) gone(run, call string) {
	s.Helper()
	if rec, found, err := s.d.Load(s.ctx(), s.key(run, call)); found || err != nil {
		s.Fatalf("Load(%s/%s) = %s, %v, %v, want nothing", run, call, rec.State, found, err)
	}
}

func (s *suite) info(run string) canonical.RunInfo {
	s.Helper()
	info, found, err := s.d.Run(s.ctx(), s.runKey(run))
	if err != nil || !found {
		s.Fatalf("Run(%s) = %v, %v, want the run", run, found, err)
	}
	return info
}

func (s *suite) openRun(run string, spec canonical.RunSpec, c canonical.Ceilings) (canonical.RunInfo, error) {
	var own canonical.Salt
	rand.Read(own[:])
	return s.register(run, spec, own, c)
}

func (s *suite) register(run string, spec canonical.RunSpec, salt canonical.Salt, c canonical.Ceilings) (canonical.RunInfo, error) {
	return s.d.OpenRun(s.ctx(), s.runKey(run), spec, canonical.Registered, salt, c)
}

// wait lets n units pass.
func (s *suite) wait(n float64) { s.h.Wait(time.Duration(n * float64(s.h.Unit))) }

func (s *suite) units(n float64) time.Duration { return time.Duration(n * float64(s.h.Unit)) }

// parallel runs f n times at once.
func parallel(n int, f func(i int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}
