package redisstore

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/internal/seal"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// info reads a run's row.
func (s *Store) info(v any, principal string) (canonical.RunInfo, error) {
	row, ok := v.([]any)
	if !ok {
		return canonical.RunInfo{}, errReply
	}
	r := &reply{row: row}
	i := canonical.RunInfo{Principal: principal, Run: r.str(), Mode: canonical.Mode(r.str()), Active: r.flag(), Stopped: r.flag(), OpenedAt: r.stamp(), ExpiresAt: r.stamp(), Limits: r.limits(), Used: r.limits(),
		NoGain: canonical.NoGain{Limit: int(r.num()), Window: int(r.num())}, Streak: int(r.num())}
	switch tools := r.str(); tools {
	case "":
	case "\n", "\n\n":
		i.Tools = []string{}
	default:
		i.Tools = strings.Split(strings.Trim(tools, "\n"), "\n")
	}
	i.Scopes = s.scopes(r, principal, i.Run)
	return i, r.err()
}

// admin runs one change of a run.
func (s *Store) admin(ctx context.Context, op string, script *redis.Script, principal string, args ...any) ([]any, error) {
	var row []any
	if err := s.do(ctx, op, func(ctx context.Context, c redis.UniversalClient) (err error) {
		row, err = run(ctx, c, script, prefix(principal), args...)
		return err
	}); err != nil {
		return nil, err
	}
	r := &reply{row: row}
	status := r.str()
	if err := r.err(); err != nil {
		return nil, fault.New(fault.StoreError, op, err)
	}
	return row, refusal(op, status)
}

// OpenRun registers a run.
func (s *Store) OpenRun(ctx context.Context, k canonical.RunKey, spec canonical.RunSpec, mode canonical.Mode, salt canonical.Salt, c canonical.Ceilings) (canonical.RunInfo, error) {
	const op = "redisstore.OpenRun"
	args := append([]any{"open", k.Run(), string(mode), salt[:]}, runArgs(spec)...)
	row, err := s.admin(ctx, op, beginScript, k.Principal(), append(args, c.OpenRuns, flag(canonical.MintedRun(k.Run())), canonical.RunGrace.Milliseconds())...)
	if fault.CodeOf(err) == fault.InvalidRequest {
		return canonical.RunInfo{}, fault.New(fault.InvalidRequest, op, nil).WithHint("the run id is already in use")
	}
	if err != nil {
		return canonical.RunInfo{}, err
	}
	info, err := s.info(row[len(row)-1], k.Principal())
	if err != nil {
		return canonical.RunInfo{}, fault.New(fault.StoreError, op, err)
	}
	return info, nil
}

// CloseRun makes a run inactive.
func (s *Store) CloseRun(ctx context.Context, k canonical.RunKey) error {
	_, err := s.admin(ctx, "redisstore.CloseRun", adminScript, k.Principal(), "close", k.Run())
	return err
}

// Resume forgets the NO_GAIN history of a run.
func (s *Store) Resume(ctx context.Context, k canonical.RunKey) error {
	_, err := s.admin(ctx, "redisstore.Resume", adminScript, k.Principal(), "resume", k.Run())
	return err
}

// Assess overrides the gain of a call.
func (s *Store) Assess(ctx context.Context, k canonical.Key, gain bool) error {
	outcome := canonical.GainNo
	if gain {
		outcome = canonical.GainYes
	}
	const op = "redisstore.Assess"
	_, err := s.admin(ctx, op, adminScript, k.Principal(), "assess", k.Run(), k.Call(), string(outcome))
	if fault.CodeOf(err) == fault.InvalidRequest {
		return fault.New(fault.InvalidRequest, op, nil).WithHint("no such call, or it is not finished yet")
	}
	return err
}

// Run reads a run.
func (s *Store) Run(ctx context.Context, k canonical.RunKey) (info canonical.RunInfo, found bool, err error) {
	err = s.do(ctx, "redisstore.Run", func(ctx context.Context, c redis.UniversalClient) error {
		row, err := run(ctx, c, readScript, prefix(k.Principal()), "run", k.Run())
		if err != nil || row == nil {
			return err
		}
		found = true
		info, err = s.info(row, k.Principal())
		return err
	})
	if err != nil {
		return canonical.RunInfo{}, false, err
	}
	return info, found, nil
}

// Runs lists the principal's runs.
func (s *Store) Runs(ctx context.Context, principal string, max int) (out []canonical.RunInfo, err error) {
	err = s.do(ctx, "redisstore.Runs", func(ctx context.Context, c redis.UniversalClient) error {
		rows, err := run(ctx, c, readScript, prefix(principal), "runs", max)
		if err != nil {
			return err
		}
		out = nil
		for _, row := range rows {
			info, err := s.info(row, principal)
			if err != nil {
				return err
			}
			out = append(out, info)
		}
		return nil
	})
	return out, err
}

// Calls lists the calls of a run.
func (s *Store) Calls(ctx context.Context, k canonical.RunKey, offset, max int) (out []canonical.CallInfo, err error) {
	if offset < 0 || max <= 0 {
		return nil, nil
	}
	err = s.do(ctx, "redisstore.Calls", func(ctx context.Context, c redis.UniversalClient) error {
		rows, err := run(ctx, c, readScript, prefix(k.Principal()), "calls", k.Run(), offset, max)
		if err != nil {
			return err
		}
		out = nil
		for _, row := range rows {
			info, err := s.callInfo(row, k)
			if err != nil {
				return err
			}
			out = append(out, info)
		}
		return nil
	})
	return out, err
}

// Call reads one call of a run.
func (s *Store) Call(ctx context.Context, k canonical.Key) (info canonical.RunInfo, call canonical.CallInfo, found bool, err error) {
	err = s.do(ctx, "redisstore.Call", func(ctx context.Context, c redis.UniversalClient) error {
		rows, err := run(ctx, c, readScript, prefix(k.Principal()), "call", k.Run(), k.Call())
		if err != nil || len(rows) == 0 {
			return err
		}
		if info, err = s.info(rows[0], k.Principal()); err != nil || len(rows) == 1 {
			return err
		}
		found = true
		call, err = s.callInfo(rows[1], k.RunKey())
		return err
	})
	if err != nil {
		return canonical.RunInfo{}, canonical.CallInfo{}, false, err
	}
	return info, call, found, nil
}

func (s *Store) callInfo(v any, k canonical.RunKey) (canonical.CallInfo, error) {
	row, ok := v.([]any)
	if !ok {
		return canonical.CallInfo{}, errReply
	}
	r := &reply{row: row}
	i := canonical.CallInfo{Call: r.str(), Tool: r.str(), StartedAt: r.stamp(), State: canonical.StateProjecting}
	if !r.more() {
		return i, r.err()
	}
	i.State, i.Evidence, i.Code, i.ScopeID = state(r.str()), r.str(), r.str(), r.str()
	scope := r.str()
	i.DuplicateOf, i.Gain, i.Assessed, i.Streak, i.Stop = r.str(), canonical.Gain(r.str()), r.flag(), int(r.num()), r.flag()
	control := r.str()
	i.CompletedAt = r.stamp()
	if err := r.err(); err != nil {
		return i, err
	}
	text, err := s.help(scope, k.Principal(), k.Run(), "scope")
	if err != nil {
		return i, err
	}
	i.Scope = string(text)
	i.Control, err = s.help(control, k.Principal(), k.Run(), i.Call, "control")
	return i, err
}

// help reads what describes a call and is no evidence. A run may outlive the records that an old key was kept for: what no configured key opens is left out.
func (s *Store) help(stored string, place ...string) ([]byte, error) {
	v, err := s.pack.load(s.ring, stored, place...)
	if errors.Is(err, seal.ErrNoKey) {
		return nil, nil
	}
	return v, err
}
