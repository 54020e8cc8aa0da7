package steps

import (
	"errors"
	"strconv"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// The causes of refusals that carry STORE_ERROR: an operator reads them, a client never does.
var (
	ErrGone     = errors.New("the record or its run is not there any more")
	ErrNotMine  = errors.New("the record was opened by another call")
	ErrFinal    = errors.New("the record is already closed in another way")
	ErrUnpaid   = errors.New("the budget does not allow it")
	ErrCeiling  = errors.New("a ceiling of the principal is reached")
	ErrInactive = errors.New("no such run is active")
)

// Buckets divide a record's life: live bytes are summed per bucket, so that nothing needs to be swept. 32 of them overstate a life by at most 3 %.
const Buckets = 32

// BucketEnd is the end of the expiry bucket that a record with that deadline falls into.
func BucketEnd(started, expires int64) int64 {
	width := max(1, (expires-started)/Buckets)
	return (expires + width - 1) / width * width
}

const minute = 60_000

// Target names how a CLOSE closes, so that its repetition is recognised.
func Target(a canonical.CloseArgs) string {
	if !a.Ready {
		return "ERROR " + a.Code
	}
	return "READY " + a.Evidence.String() + " " + strconv.Itoa(len(a.Raw)) + " " + strconv.Itoa(len(a.Observation))
}

// find gives the run of the call: one that is active, or a fresh one that is not stored yet.
func find(tx Tx, a canonical.OpenArgs) (r *Run, fresh bool, err error) {
	const op = "canonical.Open"
	now, id := tx.Now(), a.Run
	inactive := fault.New(fault.RunNotActive, op, ErrInactive)
	var old *Run
	if a.Slot != "" {
		if id = tx.Slot(a.Slot); id != "" {
			if r, ok := tx.Run(id); ok && r.ActiveAt(now) {
				return r, false, nil
			}
		}
		id = a.MintRun
		if _, used := tx.Run(id); used || id == "" {
			return nil, false, inactive
		}
	} else {
		known := false
		if old, known = tx.Run(id); known {
			if old.ActiveAt(now) {
				return old, false, nil
			}
			if now < old.Expires || old.Mode == canonical.Registered {
				return nil, false, inactive
			}
		}
		if canonical.MintedRun(id) {
			return nil, false, inactive
		}
	}
	if a.Implicit == nil {
		return nil, false, inactive
	}
	if a.Ceilings.OpenRuns > 0 && tx.ActiveRuns() >= a.Ceilings.OpenRuns {
		return nil, false, fault.New(fault.BudgetExhausted, op, ErrCeiling)
	}
	return newRun(id, canonical.Implicit, *a.Implicit, a.Salt, now, old), true, nil
}

// Open is the step OPEN: see canonical.Driver.
func Open(tx Tx, a canonical.OpenArgs) (canonical.Grant, error) {
	const op = "canonical.Open"
	r, fresh, err := find(tx, a)
	if err != nil {
		return canonical.Grant{}, err
	}
	if !r.allows(a.Tool) {
		return canonical.Grant{}, fault.New(fault.ToolNotAuthorized, op, nil)
	}
	duplicate := fault.New(fault.DuplicateToolCallID, op, nil)
	if !fresh {
		if c, used := tx.Call(r, a.Call); used {
			if c.Nonce == a.Nonce {
				return c.Grant, nil
			}
			return canonical.Grant{}, duplicate
		}
	}
	if _, lives := tx.Record(r.ID, a.Call); lives || a.Minted && tx.Minted(a.Call) != "" {
		return canonical.Grant{}, duplicate
	}
	g := canonical.Grant{Run: r.ID, Salt: r.Salt, NoGain: r.NoGain, Streak: r.Streak(), Mode: r.Mode}
	if r.Stopped() {
		g.StopAdvised, g.Scopes = r.Mode == canonical.Implicit, r.CheckedScopes()
		if r.Mode == canonical.Registered {
			return g, fault.New(fault.StopRequired, op, nil)
		}
	}
	now := tx.Now()
	if c := a.Ceilings.CallsPerMinute; c > 0 && tx.Rate(now/minute) >= c {
		return canonical.Grant{}, fault.New(fault.Overloaded, op, ErrCeiling)
	}
	if c := a.Ceilings.LiveBytes; c > 0 && tx.Live() >= c {
		return canonical.Grant{}, fault.New(fault.BudgetExhausted, op, ErrCeiling)
	}
	if !r.pays(a.RequestBytes) {
		return canonical.Grant{}, fault.New(fault.BudgetExhausted, op, ErrUnpaid)
	}

	// Every check is done: from here on only writes.
	r.Used.Calls++
	r.Used.RequestBytes += a.RequestBytes
	expires := now + max(1, a.TTL.Milliseconds())
	g.Left, g.StartedAt, g.ExpiresAt = r.left(), At(now), At(expires)
	if fresh {
		tx.AddRun(r)
		if a.Slot != "" {
			tx.SetSlot(a.Slot, r.ID, r.Expires)
		}
	} else {
		tx.SaveRun(r)
	}
	tx.AddCall(r, &Call{Nonce: a.Nonce, Grant: g, Info: canonical.CallInfo{Call: a.Call, Tool: a.Tool, State: canonical.StateProjecting, StartedAt: g.StartedAt}})
	tx.AddRecord(&Record{Gen: r.Gen, Nonce: a.Nonce, RequestLen: int64(len(a.Request)), Record: canonical.Record{Run: r.ID, Call: a.Call, Tool: a.Tool, State: canonical.StateProjecting, Request: a.Request,
		Salt: r.Salt, Projector: a.Projector, StartedAt: g.StartedAt, ExpiresAt: g.ExpiresAt}})
	if a.Minted {
		tx.SetMinted(a.Call, r.ID, expires)
	}
	tx.AddRate(now / minute)
	return g, nil
}

// Close is the step CLOSE: see canonical.Driver.
func Close(tx Tx, a canonical.CloseArgs) (canonical.Closed, error) {
	refuse := func(cause error) (canonical.Closed, error) {
		return canonical.Closed{}, fault.New(fault.StoreError, "canonical.Close", cause)
	}
	rec, ok := tx.Record(a.Key.Run(), a.Key.Call())
	if !ok {
		return refuse(ErrGone)
	}
	if rec.Nonce != a.Nonce {
		return refuse(ErrNotMine)
	}
	target := Target(a)
	if rec.State != canonical.StateProjecting {
		if rec.Target == target {
			return rec.Closed, nil
		}
		return refuse(ErrFinal)
	}
	r, ok := tx.RunOf(rec.Run, rec.Gen)
	if !ok {
		return refuse(ErrGone)
	}
	c, ok := tx.Call(r, rec.Call)
	if !ok {
		return refuse(ErrGone)
	}

	out := r.finish(a, tx.Facts(r))
	now := tx.Now()
	out.CompletedAt, out.ExpiresAt = At(now), rec.ExpiresAt
	rec.State, rec.Code, rec.CompletedAt, rec.Evidence = out.State, out.Code, out.CompletedAt, "ERROR"
	if out.State == canonical.StateReady {
		rec.Evidence, rec.Raw, rec.Observation, rec.Truncated = a.Evidence.String(), a.Raw, a.Observation, a.Truncated
		tx.AddLive(BucketEnd(rec.StartedAt.UnixMilli(), rec.ExpiresAt.UnixMilli()), int64(len(a.Raw)+len(a.Observation))+rec.RequestLen)
	}
	rec.Target, rec.Closed = target, out
	c.Info.State, c.Info.Evidence, c.Info.Code, c.Info.CompletedAt = rec.State, rec.Evidence, rec.Code, rec.CompletedAt
	c.Info.ScopeID, c.Info.Scope, c.Info.DuplicateOf, c.Info.Control = a.ScopeID, a.Scope, out.DuplicateOf, a.Control
	c.Info.Gain, c.Info.Streak, c.Info.Stop = out.Gain, out.Streak, out.Stop
	tx.SaveRun(r)
	tx.SaveCall(r, c)
	tx.Finish(rec)
	return out, nil
}
