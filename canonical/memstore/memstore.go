// Package memstore keeps records and runs in the memory of one process: for tests and the demo. It promises what every driver promises (canonicaltest) and
// forgets everything when the process ends. What has expired is really dropped, at the next step at the latest; the whole store is bounded.
package memstore

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/internal/steps"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// capacity bounds all that the store holds: twice the default ceiling of one principal's live bytes. A full store refuses OPEN and READY, never ERROR.
const capacity = 1 << 30

var errFull = errors.New("the memory store is full")

// Store is a canonical.Driver in memory.
type Store struct {
	clock func() time.Time

	mu     sync.Mutex
	all    map[string]*principal
	queue  expiries
	weight int64 // bytes held, roughly
	bound  int64 // capacity
}

var _ canonical.Driver = (*Store)(nil)

// New makes an empty store. clock is its time (nil: time.Now).
func New(clock func() time.Time) *Store {
	if clock == nil {
		clock = time.Now
	}
	return &Store{clock: clock, all: map[string]*principal{}, bound: capacity}
}

// step runs f in one transaction over the principal's data, after dropping what has expired.
func (s *Store) step(ctx context.Context, owner, op string, f func(*tx)) error {
	if err := ctx.Err(); err != nil {
		return fault.New(fault.StoreError, op, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock().UnixMilli()
	s.purge(now)
	p := s.all[owner]
	if p == nil {
		p = newPrincipal()
	}
	t := &tx{s: s, p: p, owner: owner, now: now}
	f(t)
	if t.wrote {
		s.all[owner] = p
	}
	return nil
}

// Open is OPEN.
func (s *Store) Open(ctx context.Context, a canonical.OpenArgs) (g canonical.Grant, err error) {
	const op = "memstore.Open"
	a.Request = bytes.Clone(a.Request)
	if e := s.step(ctx, a.Principal, op, func(t *tx) {
		if s.weight+int64(len(a.Request)) > s.bound {
			err = fault.New(fault.StoreError, op, errFull)
			return
		}
		g, err = steps.Open(t, a)
	}); e != nil {
		return canonical.Grant{}, e
	}
	return g, err
}

// Close is CLOSE.
func (s *Store) Close(ctx context.Context, a canonical.CloseArgs) (c canonical.Closed, err error) {
	const op = "memstore.Close"
	a.Raw, a.Observation, a.Control = bytes.Clone(a.Raw), bytes.Clone(a.Observation), bytes.Clone(a.Control)
	if e := s.step(ctx, a.Key.Principal(), op, func(t *tx) {
		if a.Ready && s.weight+int64(len(a.Raw)+len(a.Observation)) > s.bound {
			err = fault.New(fault.StoreError, op, errFull)
			return
		}
		c, err = steps.Close(t, a)
	}); e != nil {
		return canonical.Closed{}, e
	}
	return c, err
}

func (t *tx) load(run, call string) (canonical.Record, bool) {
	r, ok := t.Record(run, call)
	if !ok {
		return canonical.Record{}, false
	}
	rec := r.Record
	rec.Request, rec.Raw, rec.Observation = bytes.Clone(rec.Request), bytes.Clone(rec.Raw), bytes.Clone(rec.Observation)
	return rec, true
}

// Load reads one record.
func (s *Store) Load(ctx context.Context, k canonical.Key) (rec canonical.Record, found bool, err error) {
	err = s.step(ctx, k.Principal(), "memstore.Load", func(t *tx) { rec, found = t.load(k.Run(), k.Call()) })
	return rec, found, err
}

// FindCall reads the record of a minted call id.
func (s *Store) FindCall(ctx context.Context, owner, call string) (rec canonical.Record, found bool, err error) {
	err = s.step(ctx, owner, "memstore.FindCall", func(t *tx) {
		if run := t.Minted(call); run != "" {
			rec, found = t.load(run, call)
		}
	})
	return rec, found, err
}

// OpenRun registers a run.
func (s *Store) OpenRun(ctx context.Context, k canonical.RunKey, spec canonical.RunSpec, mode canonical.Mode, salt canonical.Salt, c canonical.Ceilings) (info canonical.RunInfo, err error) {
	const op = "memstore.OpenRun"
	if e := s.step(ctx, k.Principal(), op, func(t *tx) {
		if s.weight > s.bound {
			err = fault.New(fault.StoreError, op, errFull)
			return
		}
		info, err = steps.OpenRun(t, k, spec, mode, salt, c)
	}); e != nil {
		return canonical.RunInfo{}, e
	}
	return info, err
}

// CloseRun makes a run inactive.
func (s *Store) CloseRun(ctx context.Context, k canonical.RunKey) (err error) {
	if e := s.step(ctx, k.Principal(), "memstore.CloseRun", func(t *tx) { err = steps.CloseRun(t, k) }); e != nil {
		return e
	}
	return err
}

// Run reads a run.
func (s *Store) Run(ctx context.Context, k canonical.RunKey) (info canonical.RunInfo, found bool, err error) {
	err = s.step(ctx, k.Principal(), "memstore.Run", func(t *tx) { info, found = steps.ReadRun(t, k) })
	return info, found, err
}

// Runs lists the principal's runs.
func (s *Store) Runs(ctx context.Context, owner string, max int) (out []canonical.RunInfo, err error) {
	err = s.step(ctx, owner, "memstore.Runs", func(t *tx) {
		for _, r := range t.Runs(max) {
			out = append(out, r.Info(owner, t.now))
		}
	})
	return out, err
}

// Calls lists the calls of a run.
func (s *Store) Calls(ctx context.Context, k canonical.RunKey, offset, max int) (out []canonical.CallInfo, err error) {
	err = s.step(ctx, k.Principal(), "memstore.Calls", func(t *tx) {
		out = steps.ReadCalls(t, k, offset, max)
		for i := range out {
			out[i].Control = bytes.Clone(out[i].Control)
		}
	})
	return out, err
}

// Call reads one call of a run.
func (s *Store) Call(ctx context.Context, k canonical.Key) (info canonical.RunInfo, call canonical.CallInfo, found bool, err error) {
	err = s.step(ctx, k.Principal(), "memstore.Call", func(t *tx) {
		info, call, found = steps.ReadCall(t, k)
		call.Control = bytes.Clone(call.Control)
	})
	return info, call, found, err
}

// Assess overrides the gain of a call.
func (s *Store) Assess(ctx context.Context, k canonical.Key, gain bool) (err error) {
	if e := s.step(ctx, k.Principal(), "memstore.Assess", func(t *tx) { err = steps.Assess(t, k, gain) }); e != nil {
		return e
	}
	return err
}

// Resume forgets the NO_GAIN history of a run.
func (s *Store) Resume(ctx context.Context, k canonical.RunKey) (err error) {
	if e := s.step(ctx, k.Principal(), "memstore.Resume", func(t *tx) { err = steps.Resume(t, k) }); e != nil {
		return e
	}
	return err
}

// Ping is always fine: there is nothing to reach.
func (s *Store) Ping(context.Context) error { return nil }

// Shutdown drops everything.
func (s *Store) Shutdown() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all, s.queue, s.weight = map[string]*principal{}, nil, 0
	return nil
}
