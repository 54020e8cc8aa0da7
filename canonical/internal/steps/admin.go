package steps

import (
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// OpenRun is the step that registers a run: see canonical.Driver.
func OpenRun(tx Tx, k canonical.RunKey, spec canonical.RunSpec, mode canonical.Mode, salt canonical.Salt, c canonical.Ceilings) (canonical.RunInfo, error) {
	const op = "canonical.OpenRun"
	now := tx.Now()
	old, known := tx.Run(k.Run())
	if known && old.ActiveAt(now) && old.Mode == mode && old.Salt == salt { // sent again after a lost reply: the salt was made for this run
		return old.Info(k.Principal(), now), nil
	}
	if known && (old.ActiveAt(now) || canonical.MintedRun(k.Run())) {
		return canonical.RunInfo{}, fault.New(fault.InvalidRequest, op, nil).WithHint("the run id is already in use")
	}
	if c.OpenRuns > 0 && tx.ActiveRuns() >= c.OpenRuns {
		return canonical.RunInfo{}, fault.New(fault.BudgetExhausted, op, ErrCeiling)
	}
	r := newRun(k.Run(), mode, spec, salt, now, old)
	tx.AddRun(r)
	return r.Info(k.Principal(), now), nil
}

// unexpired is the run while its deadline has not passed.
func unexpired(tx Tx, run string) (*Run, bool) {
	r, ok := tx.Run(run)
	return r, ok && tx.Now() < r.Expires
}

// CloseRun makes a run inactive.
func CloseRun(tx Tx, k canonical.RunKey) error {
	r, ok := unexpired(tx, k.Run())
	if !ok {
		return fault.New(fault.RunNotActive, "canonical.CloseRun", ErrInactive)
	}
	if !r.Closed {
		r.Closed = true
		tx.SaveRun(r)
	}
	return nil
}

// ReadRun reads a run.
func ReadRun(tx Tx, k canonical.RunKey) (canonical.RunInfo, bool) {
	r, ok := unexpired(tx, k.Run())
	if !ok {
		return canonical.RunInfo{}, false
	}
	return r.Info(k.Principal(), tx.Now()), true
}

// ReadCalls lists the control data of a run's calls.
func ReadCalls(tx Tx, k canonical.RunKey, offset, max int) []canonical.CallInfo {
	r, ok := unexpired(tx, k.Run())
	if !ok || offset < 0 || max <= 0 {
		return nil
	}
	var out []canonical.CallInfo
	for _, c := range tx.Calls(r, offset, max) {
		out = append(out, c.Info)
	}
	return out
}

// ReadCall reads the control data of one call, and its run.
func ReadCall(tx Tx, k canonical.Key) (canonical.RunInfo, canonical.CallInfo, bool) {
	r, ok := unexpired(tx, k.Run())
	if !ok {
		return canonical.RunInfo{}, canonical.CallInfo{}, false
	}
	c, ok := tx.Call(r, k.Call())
	if !ok {
		return r.Info(k.Principal(), tx.Now()), canonical.CallInfo{}, false
	}
	return r.Info(k.Principal(), tx.Now()), c.Info, true
}

// Assess overrides the gain of one closed call.
func Assess(tx Tx, k canonical.Key, gain bool) error {
	unknown := fault.New(fault.InvalidRequest, "canonical.Assess", nil).WithHint("no such call, or it is not finished yet")
	r, ok := unexpired(tx, k.Run())
	if !ok {
		return unknown
	}
	c, ok := tx.Call(r, k.Call())
	if !ok || c.Info.State == canonical.StateProjecting {
		return unknown
	}
	c.Info.Gain, c.Info.Assessed = canonical.GainNo, true
	if gain {
		c.Info.Gain = canonical.GainYes
	}
	for i := range r.Window {
		if r.Window[i].Call == k.Call() {
			r.Window[i].Gain = c.Info.Gain
		}
	}
	tx.SaveRun(r)
	tx.SaveCall(r, c)
	return nil
}

// Resume forgets the NO_GAIN history.
func Resume(tx Tx, k canonical.RunKey) error {
	r, ok := unexpired(tx, k.Run())
	if !ok {
		return fault.New(fault.RunNotActive, "canonical.Resume", ErrInactive)
	}
	r.Window = nil
	tx.SaveRun(r)
	return nil
}
