package steps

import (
	"slices"
	"strconv"
	"time"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// MaxFacts bounds what a run remembers: a run of 200 calls with 100 items each fits. Beyond it new items count as gain without being remembered.
const MaxFacts = 20000

// maxRegains is how often an item that was already shown may count again for a new detail.
const maxRegains = 3

// Counted is one call in the window of those that count.
type Counted struct {
	Call string
	Gain canonical.Gain
}

// Scope is one checked scope.
type Scope struct{ ID, Text string }

// Run is the state of one run: plain data, so that a driver can keep it in any form.
type Run struct {
	ID      string
	Gen     int64 // tells two runs of one id apart; grows
	Mode    canonical.Mode
	Closed  bool
	Opened  int64 // ms
	Expires int64 // ms; never moves
	Salt    canonical.Salt
	Limits  canonical.Limits
	Used    canonical.Limits
	NoGain  canonical.NoGain
	Tools   []string // nil: every tool
	Window  []Counted
	Scopes  []Scope // newest first
}

// newRun makes the state of a run opened now. old is the generation that it replaces, or nil.
func newRun(id string, mode canonical.Mode, spec canonical.RunSpec, salt canonical.Salt, now int64, old *Run) *Run {
	r := &Run{ID: id, Gen: now, Mode: mode, Opened: now, Expires: now + spec.TTL.Milliseconds(), Salt: salt, Limits: spec.Limits, NoGain: spec.NoGain, Tools: slices.Clone(spec.Tools)}
	if old != nil && old.Gen >= r.Gen {
		r.Gen = old.Gen + 1
	}
	return r
}

// ActiveAt tells whether the run may take calls.
func (r *Run) ActiveAt(now int64) bool { return !r.Closed && now < r.Expires }

// Streak counts the NO_GAIN calls within the window.
func (r *Run) Streak() int {
	n := 0
	for _, c := range r.Window {
		if c.Gain == canonical.GainNo {
			n++
		}
	}
	return n
}

// Stopped tells whether the run has brought nothing new for too long.
func (r *Run) Stopped() bool { return r.NoGain.Limit > 0 && r.Streak() >= r.NoGain.Limit }

// CheckedScopes are the scopes in words, newest first.
func (r *Run) CheckedScopes() []string {
	var out []string
	for _, s := range r.Scopes {
		out = append(out, s.Text)
	}
	return out
}

func (r *Run) allows(tool string) bool { return r.Tools == nil || slices.Contains(r.Tools, tool) }

func (r *Run) left() canonical.Limits {
	return canonical.Limits{Calls: r.Limits.Calls - r.Used.Calls, RequestBytes: r.Limits.RequestBytes - r.Used.RequestBytes,
		RawBytes: r.Limits.RawBytes - r.Used.RawBytes, ObservationBytes: r.Limits.ObservationBytes - r.Used.ObservationBytes}
}

// pays tells whether the run can take one more call with that request.
func (r *Run) pays(request int64) bool {
	l := r.left()
	return l.Calls >= 1 && l.RequestBytes >= request && l.RawBytes > 0 && l.ObservationBytes > 0
}

// Info is the run as the driver reports it.
func (r *Run) Info(principal string, now int64) canonical.RunInfo {
	return canonical.RunInfo{Principal: principal, Run: r.ID, Mode: r.Mode, Active: r.ActiveAt(now), Stopped: r.Stopped(), OpenedAt: At(r.Opened), ExpiresAt: At(r.Expires),
		Limits: r.Limits, Used: r.Used, NoGain: r.NoGain, Streak: r.Streak(), Tools: slices.Clone(r.Tools), Scopes: r.CheckedScopes()}
}

// At is the time of a stamp in milliseconds.
func At(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// finish decides one closing call for the run: what it pays, what it gained, whose duplicate it is.
func (r *Run) finish(a canonical.CloseArgs, f Facts) canonical.Closed {
	out := canonical.Closed{State: canonical.StateError, Code: a.Code, Gain: canonical.Uncounted}
	if a.ScopeID != "" {
		out.DuplicateOf, _ = f.Get("s:" + a.ScopeID)
	}
	raw, obs := int64(len(a.Raw)), int64(len(a.Observation))
	switch l := r.left(); {
	case !a.Ready:
	case l.RawBytes < raw || l.ObservationBytes < obs:
		out.Code = string(fault.BudgetExhausted)
	default:
		out.State, out.Code = canonical.StateReady, ""
		r.Used.RawBytes += raw
		r.Used.ObservationBytes += obs
		out.Gain = gain(a, f)
		r.Window = append(r.Window, Counted{a.Key.Call(), out.Gain})
		if over := len(r.Window) - r.NoGain.Window; over > 0 {
			r.Window = slices.Clone(r.Window[over:])
		}
		r.checked(a, out.DuplicateOf == "", f)
	}
	out.Streak, out.NoGain, out.Stop, out.Left = r.Streak(), r.NoGain, r.Stopped(), r.left()
	return out
}

// checked remembers the scope of a READY call.
func (r *Run) checked(a canonical.CloseArgs, first bool, f Facts) {
	if a.ScopeID == "" {
		return
	}
	if first {
		remember(f, "s:"+a.ScopeID, a.Key.Call())
	}
	rest := slices.DeleteFunc(slices.Clone(r.Scopes), func(s Scope) bool { return s.ID == a.ScopeID })
	r.Scopes = slices.Insert(rest, 0, Scope{a.ScopeID, a.Scope})
	if len(r.Scopes) > canonical.MaxScopes {
		r.Scopes = r.Scopes[:canonical.MaxScopes]
	}
}

// gain is the objective outcome of a READY call. Within one call a key is decided once: its further details are remembered with it.
func gain(a canonical.CloseArgs, f Facts) canonical.Gain {
	if a.Evidence == canonical.None {
		if a.ScopeID == "" {
			return canonical.GainNeutral
		}
		if _, empty := f.Get("n:" + a.ScopeID); empty {
			return canonical.GainNo
		}
		remember(f, "n:"+a.ScopeID, "")
		return canonical.GainNeutral
	}
	counted := make(map[string]bool, len(a.Items)) // keys that gained in this call
	for _, it := range a.Items {
		key, detail := "i:"+it.Key, "d:"+it.Key+":"+it.Detail
		times, shown := f.Get(key)
		if !shown && !counted[it.Key] {
			counted[it.Key] = true
			remember(f, key, "0")
			if it.Detail != "" {
				remember(f, detail, "")
			}
			continue
		}
		if it.Detail == "" {
			continue
		}
		if _, known := f.Get(detail); known {
			continue
		}
		if !counted[it.Key] {
			n, _ := strconv.Atoi(times)
			if n >= maxRegains {
				continue
			}
			counted[it.Key] = true
			remember(f, key, strconv.Itoa(n+1))
		}
		remember(f, detail, "")
	}
	if len(counted) > 0 {
		return canonical.GainYes
	}
	return canonical.GainNo
}

// remember keeps a new member only while there is room; a known one takes its new value.
func remember(f Facts, member, value string) {
	if _, known := f.Get(member); known || f.Len() < MaxFacts {
		f.Put(member, value)
	}
}
