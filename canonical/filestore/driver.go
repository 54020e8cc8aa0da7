package filestore

import (
	"context"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/internal/steps"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// Open is OPEN.
func (s *Store) Open(ctx context.Context, a canonical.OpenArgs) (g canonical.Grant, err error) {
	const op = "filestore.Open"
	ctx, cancel := bounded(ctx)
	defer cancel()
	if err := s.due(ctx); err != nil {
		return canonical.Grant{}, fault.New(fault.StoreError, op, err)
	}
	if err := s.full(op); err != nil {
		return canonical.Grant{}, err
	}
	err = s.step(ctx, a.Principal, op, false, func(t *tx) (err error) {
		g, err = steps.Open(t, a)
		return err
	})
	if code := fault.CodeOf(err); err != nil && code != fault.StopRequired {
		return canonical.Grant{}, err
	}
	return g, err
}

// Close is CLOSE.
func (s *Store) Close(ctx context.Context, a canonical.CloseArgs) (c canonical.Closed, err error) {
	const op = "filestore.Close"
	if a.Ready {
		if err := s.full(op); err != nil {
			return canonical.Closed{}, err
		}
	}
	if err = s.step(ctx, a.Key.Principal(), op, false, func(t *tx) (err error) {
		c, err = steps.Close(t, a)
		return err
	}); err != nil {
		return canonical.Closed{}, err
	}
	return c, nil
}

// Load reads one record.
func (s *Store) Load(ctx context.Context, k canonical.Key) (rec canonical.Record, found bool, err error) {
	if err = s.step(ctx, k.Principal(), "filestore.Load", true, func(t *tx) error {
		rec, found = t.load(k.Run(), k.Call())
		return nil
	}); err != nil {
		return canonical.Record{}, false, err
	}
	return rec, found, nil
}

// FindCall reads the record of a minted call id.
func (s *Store) FindCall(ctx context.Context, principal, call string) (rec canonical.Record, found bool, err error) {
	if err = s.step(ctx, principal, "filestore.FindCall", true, func(t *tx) error {
		if run := t.Minted(call); run != "" {
			rec, found = t.load(run, call)
		}
		return nil
	}); err != nil {
		return canonical.Record{}, false, err
	}
	return rec, found, nil
}

// OpenRun registers a run.
func (s *Store) OpenRun(ctx context.Context, k canonical.RunKey, spec canonical.RunSpec, mode canonical.Mode, salt canonical.Salt, c canonical.Ceilings) (info canonical.RunInfo, err error) {
	const op = "filestore.OpenRun"
	if err := s.full(op); err != nil {
		return canonical.RunInfo{}, err
	}
	if err = s.step(ctx, k.Principal(), op, false, func(t *tx) (err error) {
		info, err = steps.OpenRun(t, k, spec, mode, salt, c)
		return err
	}); err != nil {
		return canonical.RunInfo{}, err
	}
	return info, nil
}

// CloseRun makes a run inactive.
func (s *Store) CloseRun(ctx context.Context, k canonical.RunKey) error {
	return s.step(ctx, k.Principal(), "filestore.CloseRun", false, func(t *tx) error { return steps.CloseRun(t, k) })
}

// Run reads a run.
func (s *Store) Run(ctx context.Context, k canonical.RunKey) (info canonical.RunInfo, found bool, err error) {
	if err = s.step(ctx, k.Principal(), "filestore.Run", true, func(t *tx) error {
		info, found = steps.ReadRun(t, k)
		return nil
	}); err != nil {
		return canonical.RunInfo{}, false, err
	}
	return info, found, nil
}

// Runs lists the principal's runs.
func (s *Store) Runs(ctx context.Context, principal string, max int) (out []canonical.RunInfo, err error) {
	if err = s.step(ctx, principal, "filestore.Runs", true, func(t *tx) error {
		for _, r := range t.Runs(max) {
			out = append(out, r.Info(principal, t.now))
		}
		return nil
	}); err != nil {
		return nil, err
	}
	return out, nil
}

// Calls lists the calls of a run.
func (s *Store) Calls(ctx context.Context, k canonical.RunKey, offset, max int) (out []canonical.CallInfo, err error) {
	if err = s.step(ctx, k.Principal(), "filestore.Calls", true, func(t *tx) error {
		out = steps.ReadCalls(t, k, offset, max)
		return nil
	}); err != nil {
		return nil, err
	}
	return out, nil
}

// Call reads one call of a run.
func (s *Store) Call(ctx context.Context, k canonical.Key) (info canonical.RunInfo, call canonical.CallInfo, found bool, err error) {
	if err = s.step(ctx, k.Principal(), "filestore.Call", true, func(t *tx) error {
		info, call, found = steps.ReadCall(t, k)
		return nil
	}); err != nil {
		return canonical.RunInfo{}, canonical.CallInfo{}, false, err
	}
	return info, call, found, nil
}

// Assess overrides the gain of a call.
func (s *Store) Assess(ctx context.Context, k canonical.Key, gain bool) error {
	return s.step(ctx, k.Principal(), "filestore.Assess", false, func(t *tx) error { return steps.Assess(t, k, gain) })
}

// Resume forgets the NO_GAIN history of a run.
func (s *Store) Resume(ctx context.Context, k canonical.RunKey) error {
	return s.step(ctx, k.Principal(), "filestore.Resume", false, func(t *tx) error { return steps.Resume(t, k) })
}
