package redisstore

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/internal/steps"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// inline is up to where a raw travels inside the script: Redis copies script arguments on its only thread, and over 16 KiB a key of its own is faster (64 KiB:
// 160 µs instead of 268).
const inline = 16 << 10

var errRaw = errors.New("redisstore: the raw beside the record is not the one that was sent")

// refusal turns a script's status into the error of the contract; nil for OK.
func refusal(op, status string) error {
	switch status {
	case "OK":
		return nil
	case "gone":
		return fault.New(fault.StoreError, op, steps.ErrGone)
	case "mine":
		return fault.New(fault.StoreError, op, steps.ErrNotMine)
	case "final":
		return fault.New(fault.StoreError, op, steps.ErrFinal)
	case "raw":
		return fault.New(fault.StoreError, op, errRaw)
	}
	if c := fault.Code(status); fault.Known(c) {
		return fault.New(c, op, nil)
	}
	return fault.New(fault.StoreError, op, errReply)
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return ""
}

// runArgs are the arguments of newrun in common.lua. Tools are lines: "" stands for every tool, "\n" for none.
func runArgs(spec canonical.RunSpec) []any {
	tools := ""
	if spec.Tools != nil {
		tools = "\n" + strings.Join(spec.Tools, "\n") + "\n"
	}
	l := spec.Limits
	return []any{l.Calls, l.RequestBytes, l.RawBytes, l.ObservationBytes, spec.NoGain.Limit, spec.NoGain.Window, spec.TTL.Milliseconds(), tools}
}

// Open is OPEN.
func (s *Store) Open(ctx context.Context, a canonical.OpenArgs) (canonical.Grant, error) {
	const op = "redisstore.Open"
	var spec canonical.RunSpec
	if a.Implicit != nil {
		spec = *a.Implicit
	}
	slot := ""
	if a.Slot != "" {
		slot = hex.EncodeToString(digest(a.Slot))
	}
	request, err := s.pack.store(nil, s.ring, a.Request, a.Principal, a.Call, "request")
	if err != nil {
		return canonical.Grant{}, fault.New(fault.StoreError, op, err)
	}
	args := []any{a.Run, slot, a.MintRun, a.Call, flag(a.Minted), a.Nonce, a.Tool, request, len(a.Request), a.Projector, a.TTL.Milliseconds(), a.RequestBytes,
		flag(a.Implicit != nil), flag(canonical.MintedRun(a.Run)), a.Salt[:]}
	args = append(args, runArgs(spec)...)
	args = append(args, a.Ceilings.OpenRuns, a.Ceilings.CallsPerMinute, a.Ceilings.LiveBytes, canonical.RunGrace.Milliseconds())
	var row []any
	if err := s.do(ctx, op, func(ctx context.Context, c redis.UniversalClient) (err error) {
		row, err = run(ctx, c, openScript, prefix(a.Principal), args...)
		return err
	}); err != nil {
		return canonical.Grant{}, err
	}
	r := &reply{row: row}
	status := r.str()
	if r.err() != nil || status != "OK" && status != string(fault.StopRequired) {
		return canonical.Grant{}, refusal(op, status)
	}
	g := canonical.Grant{Run: r.str()}
	copy(g.Salt[:], r.str())
	g.StartedAt, g.ExpiresAt, g.Left = r.stamp(), r.stamp(), r.limits()
	g.NoGain, g.Streak, g.Mode = canonical.NoGain{Limit: int(r.num()), Window: int(r.num())}, int(r.num()), canonical.Mode(r.str())
	g.StopAdvised = r.flag()
	g.Scopes = s.scopes(r, a.Principal, g.Run)
	if err := r.err(); err != nil {
		return canonical.Grant{}, fault.New(fault.StoreError, op, err)
	}
	if status != "OK" {
		// A refused call has no life and no charge.
		g.StartedAt, g.ExpiresAt, g.Left = time.Time{}, time.Time{}, canonical.Limits{}
	}
	return g, refusal(op, status)
}

func (r *reply) limits() canonical.Limits {
	return canonical.Limits{Calls: r.num(), RequestBytes: r.num(), RawBytes: r.num(), ObservationBytes: r.num()}
}

// scopes reads the rest of a row. One that no configured key opens is left out: a scope is help, not evidence.
func (s *Store) scopes(r *reply, principal, run string) (out []string) {
	for r.more() {
		if text, err := s.pack.load(s.ring, r.str(), principal, run, "scope"); err == nil {
			out = append(out, string(text))
		}
	}
	return out
}

// Close is CLOSE.
func (s *Store) Close(ctx context.Context, a canonical.CloseArgs) (canonical.Closed, error) {
	const op = "redisstore.Close"
	owner, id, call := a.Key.Principal(), a.Key.Run(), a.Key.Call()
	place, tag := "", digest(a.Nonce)
	var raw, obs, scope, control []byte
	var inlined any = ""
	script, code := errorScript, a.Code
	fail := func(err error) (canonical.Closed, error) {
		return canonical.Closed{}, fault.New(fault.StoreError, op, err)
	}
	var err error
	if scope, err = s.pack.store(nil, s.ring, []byte(a.Scope), owner, id, "scope"); err != nil {
		return fail(err)
	}
	if control, err = s.pack.store(nil, s.ring, a.Control, owner, id, call, "control"); err != nil {
		return fail(err)
	}
	if a.Ready {
		script, code = readyScript, ""
		if raw, err = s.pack.store(tag, s.ring, a.Raw, owner, id, call, "raw"); err != nil {
			return fail(err)
		}
		if obs, err = s.pack.store(nil, s.ring, a.Observation, observation(owner, id, call, a.Evidence.String(), a.Truncated)...); err != nil {
			return fail(err)
		}
		place, inlined = "i", raw[len(tag):]
		if len(raw) > inline && !a.ExpiresAt.IsZero() {
			place, inlined = "k", len(raw)
		}
	}
	args := []any{id, call, a.Nonce, steps.Target(a), code, a.Evidence.String(), len(a.Raw), len(a.Observation), place, inlined, tag, obs, flag(a.Truncated), a.ScopeID, scope, control,
		steps.Buckets, steps.MaxFacts, canonical.RunGrace.Milliseconds()}
	for _, it := range a.Items {
		args = append(args, it.Key, it.Detail)
	}
	var row []any
	if err := s.do(ctx, op, func(ctx context.Context, c redis.UniversalClient) (err error) {
		if place == "k" {
			row, err = runBeside(ctx, c, script, prefix(owner), rawKey(a.Key), raw, a.ExpiresAt, args...)
		} else {
			row, err = run(ctx, c, script, prefix(owner), args...)
		}
		return err
	}); err != nil {
		return canonical.Closed{}, err
	}
	r := &reply{row: row}
	if status := r.str(); r.err() != nil || status != "OK" {
		return canonical.Closed{}, refusal(op, status)
	}
	out := canonical.Closed{State: state(r.str()), Code: r.str(), CompletedAt: r.stamp(), ExpiresAt: r.stamp(), Gain: canonical.Gain(r.str()), Streak: int(r.num()),
		NoGain: canonical.NoGain{Limit: int(r.num()), Window: int(r.num())}, DuplicateOf: r.str(), Stop: r.flag(), Left: r.limits()}
	if err := r.err(); err != nil {
		return fail(err)
	}
	return out, nil
}

// state reads the one letter that a record keeps.
func state(letter string) canonical.State {
	switch letter {
	case "P":
		return canonical.StateProjecting
	case "R":
		return canonical.StateReady
	}
	return canonical.StateError
}

// fields are what Load reads of a record, in the order of record.
var fields = [...]string{"s", "e", "c", "t", "q", "o", "r", "w", "u", "k", "p", "a", "z", "x"}

// record reads a row of fields and then the raw beside it. A record that is not there gives found == false.
func (s *Store) record(row []any, owner, run, call string) (rec canonical.Record, found bool, err error) {
	if len(row) != len(fields)+1 {
		return rec, false, errReply
	}
	if row[0] == nil {
		return rec, false, nil
	}
	r := &reply{row: row}
	rec = canonical.Record{Run: run, Call: call, State: state(r.str()), Evidence: r.opt(), Code: r.opt(), Tool: r.str()}
	request, obs, raw := r.str(), r.opt(), r.opt()
	kept := r.opt()
	rec.Truncated = r.opt() == "1"
	copy(rec.Salt[:], r.str())
	rec.Projector, rec.StartedAt = r.str(), r.stamp()
	if completed := r.opt(); completed != "" {
		rec.CompletedAt = (&reply{row: []any{completed}}).stamp()
	}
	rec.ExpiresAt = r.stamp()
	beside := r.opt()
	if err := r.err(); err != nil {
		return rec, false, err
	}
	if kept == "k" {
		if len(beside) < 16 {
			// Both keys have one deadline: between two commands of one round trip it may pass.
			if time.Until(rec.ExpiresAt) < time.Second {
				return rec, false, nil
			}
			return rec, false, errRaw
		}
		raw = beside[16:]
	}
	for _, v := range []struct {
		to     *[]byte
		stored string
		place  []string
	}{{&rec.Request, request, []string{owner, call, "request"}}, {&rec.Raw, raw, []string{owner, run, call, "raw"}}, {&rec.Observation, obs, observation(owner, run, call, rec.Evidence, rec.Truncated)}} {
		if *v.to, err = s.pack.load(s.ring, v.stored, v.place...); err != nil {
			return rec, false, err
		}
	}
	return rec, true, nil
}

// observation is the place of one: what it found and whether it is all are sealed with it, so that neither can be changed beside it.
func observation(owner, run, call, evidence string, truncated bool) []string {
	return []string{owner, run, call, "observation", evidence, flag(truncated)}
}

// Load reads one record.
func (s *Store) Load(ctx context.Context, k canonical.Key) (rec canonical.Record, found bool, err error) {
	const op = "redisstore.Load"
	err = s.do(ctx, op, func(ctx context.Context, c redis.UniversalClient) error {
		p := c.Pipeline()
		hash := p.HMGet(ctx, recordKey(k), fields[:]...)
		beside := p.Get(ctx, rawKey(k))
		if _, err := p.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		row := append(hash.Val(), any(nil))
		if v, err := beside.Result(); err == nil {
			row[len(row)-1] = v
		}
		rec, found, err = s.record(row, k.Principal(), k.Run(), k.Call())
		return err
	})
	return rec, found, err
}

// FindCall reads the record of a minted call id.
func (s *Store) FindCall(ctx context.Context, owner, call string) (rec canonical.Record, found bool, err error) {
	const op = "redisstore.FindCall"
	args := []any{call}
	for _, f := range fields {
		args = append(args, f)
	}
	err = s.do(ctx, op, func(ctx context.Context, c redis.UniversalClient) error {
		out, err := run(ctx, c, findScript, prefix(owner), args...)
		if err != nil || out == nil {
			return err
		}
		if len(out) != 2 {
			return errReply
		}
		id, ok := out[0].(string)
		row, okRow := out[1].([]any)
		if !ok || !okRow {
			return errReply
		}
		// A nil at the end of a Lua table ends it.
		for len(row) < len(fields)+1 {
			row = append(row, nil)
		}
		rec, found, err = s.record(row, owner, id, call)
		return err
	})
	return rec, found, err
}
