package harness

import (
	"encoding/json"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
)

// CallView is the wire form of one call's control view: what the harness API and the command line print. What a call has not got is left out: a call under way has
// no evidence status, gain or completion, an ERROR no gain that counts.
type CallView struct {
	RunID            string          `json:"run_id"`
	ToolCallID       string          `json:"tool_call_id"`
	HostCallID       string          `json:"host_call_id,omitzero"`
	StepID           string          `json:"step_id,omitzero"`
	Tool             string          `json:"tool"`
	InvocationStatus canonical.State `json:"invocation_status"`
	EvidenceStatus   string          `json:"evidence_status,omitzero"`
	ErrorCode        string          `json:"error_code,omitzero"`
	Scope            string          `json:"scope,omitzero"`
	ScopeID          string          `json:"scope_id,omitzero"`
	DuplicateOf      string          `json:"duplicate_of,omitzero"`
	ReturnedCount    int             `json:"returned_count"`
	RelevanceLevel   string          `json:"relevance_level,omitzero"`
	Truncated        bool            `json:"truncated"`
	Bytes            CallBytes       `json:"bytes"`
	LatencyMS        float64         `json:"latency_ms"`
	Gain             canonical.Gain  `json:"gain,omitzero"`
	Assessed         bool            `json:"assessed,omitzero"`
	// NoGainStreak and StopRequired are the run's when the call was closed; NoGainLimit is the run's rule.
	NoGainStreak int  `json:"no_gain_streak"`
	NoGainLimit  int  `json:"no_gain_limit"`
	StopRequired bool `json:"stop_required"`
	// BudgetLeft is what the run has left when the view is made: at the close of the call for a view that the boundary pushes, at the request for one that is read from
	// the store. nil: the store could not be asked.
	BudgetLeft  *canonical.Limits `json:"budget_left,omitzero"`
	StartedAt   *time.Time        `json:"started_at,omitzero"`
	CompletedAt *time.Time        `json:"completed_at,omitzero"`
}

// CallBytes are the sizes of a call. Raw and observation are charged when it ends READY.
type CallBytes struct {
	Request     int64 `json:"request"`
	Raw         int64 `json:"raw"`
	Observation int64 `json:"observation"`
}

// WireView is the wire form of a control view that the boundary has pushed.
func WireView(v boundary.ControlView) CallView {
	w := CallView{RunID: v.Run, ToolCallID: v.Call, Tool: v.Tool, InvocationStatus: v.InvocationStatus, EvidenceStatus: v.EvidenceStatus, ErrorCode: string(v.Code),
		Scope: v.Scope, ScopeID: v.ScopeID, DuplicateOf: v.DuplicateOf, Gain: v.Gain, NoGainStreak: v.Streak, NoGainLimit: v.NoGain.Limit, StopRequired: v.StopRequired}
	if v.InvocationStatus != canonical.StateProjecting { // a record that could not be closed: nothing is known of the run
		left := v.BudgetLeft
		w.BudgetLeft = &left
	}
	w.facts(v.CallFacts)
	return w
}

// storedView is the wire form of a call as the store keeps it.
func storedView(run canonical.RunInfo, c canonical.CallInfo) CallView {
	left := budgetLeft(run)
	w := CallView{RunID: run.Run, ToolCallID: c.Call, Tool: c.Tool, InvocationStatus: c.State, EvidenceStatus: c.Evidence, ErrorCode: c.Code, Scope: c.Scope, ScopeID: c.ScopeID,
		DuplicateOf: c.DuplicateOf, Gain: c.Gain, Assessed: c.Assessed, NoGainStreak: c.Streak, NoGainLimit: run.NoGain.Limit, StopRequired: c.Stop, BudgetLeft: &left}
	var f boundary.CallFacts
	if json.Unmarshal(c.Control, &f) == nil {
		w.facts(f)
	}
	if !c.StartedAt.IsZero() {
		t := c.StartedAt.UTC()
		w.StartedAt = &t
	}
	if !c.CompletedAt.IsZero() {
		t := c.CompletedAt.UTC()
		w.CompletedAt = &t
	}
	return w
}

func (w *CallView) facts(f boundary.CallFacts) {
	w.HostCallID, w.StepID, w.ReturnedCount, w.RelevanceLevel, w.Truncated = f.HostCallID, f.StepID, f.ReturnedCount, f.Relevance, f.Truncated
	w.Bytes = CallBytes{f.RequestBytes, f.RawBytes, f.ObservationBytes}
	w.LatencyMS = float64(f.LatencyMicros) / 1000
}

// RunView is the wire form of a run.
type RunView struct {
	RunID         string           `json:"run_id"`
	Mode          canonical.Mode   `json:"mode"`
	Active        bool             `json:"active"`
	OpenedAt      time.Time        `json:"opened_at"`
	ExpiresAt     time.Time        `json:"expires_at"`
	Tools         []string         `json:"tools,omitzero"` // nil: every tool; empty: none
	Limits        canonical.Limits `json:"limits"`
	Used          canonical.Limits `json:"used"`
	BudgetLeft    canonical.Limits `json:"budget_left"`
	NoGain        canonical.NoGain `json:"no_gain"`
	NoGainStreak  int              `json:"no_gain_streak"`
	StopRequired  bool             `json:"stop_required"`
	CheckedScopes []string         `json:"checked_scopes"` // newest first, at most canonical.MaxScopes
}

func runView(i canonical.RunInfo) RunView {
	return RunView{RunID: i.Run, Mode: i.Mode, Active: i.Active, OpenedAt: i.OpenedAt.UTC(), ExpiresAt: i.ExpiresAt.UTC(), Tools: i.Tools, Limits: i.Limits, Used: i.Used,
		BudgetLeft: budgetLeft(i), NoGain: i.NoGain, NoGainStreak: i.Streak, StopRequired: i.Stopped, CheckedScopes: append([]string{}, i.Scopes...)}
}

func budgetLeft(i canonical.RunInfo) canonical.Limits {
	return canonical.Limits{Calls: i.Limits.Calls - i.Used.Calls, RequestBytes: i.Limits.RequestBytes - i.Used.RequestBytes, RawBytes: i.Limits.RawBytes - i.Used.RawBytes,
		ObservationBytes: i.Limits.ObservationBytes - i.Used.ObservationBytes}
}

// ProgressSnapshot is where a run stands.
type ProgressSnapshot struct {
	Run           RunView                 `json:"run"`
	Tools         map[string]ToolProgress `json:"tools"`
	CheckedScopes []string                `json:"checked_scopes"` // newest first
	NoGainStreak  int                     `json:"no_gain_streak"`
	NoGainLimit   int                     `json:"no_gain_limit"`
	StopRequired  bool                    `json:"stop_required"`
	BudgetLeft    canonical.Limits        `json:"budget_left"`
}

// ToolProgress counts a tool's calls by how they ended.
type ToolProgress struct {
	Calls         int `json:"calls"`
	EvidenceFound int `json:"evidence_found"`
	NoEvidence    int `json:"no_evidence"`
	Errors        int `json:"errors"`
	Projecting    int `json:"projecting"` // under way, or given up by a process that died
	Duplicates    int `json:"duplicates"` // same scope as an earlier call
	NoGain        int `json:"no_gain"`
}

func (t *ToolProgress) add(c canonical.CallInfo) {
	t.Calls++
	switch {
	case c.State == canonical.StateProjecting:
		t.Projecting++
	case c.State == canonical.StateError:
		t.Errors++
	case c.Evidence == canonical.Found.String():
		t.EvidenceFound++
	default:
		t.NoEvidence++
	}
	if c.DuplicateOf != "" {
		t.Duplicates++
	}
	if c.Gain == canonical.GainNo {
		t.NoGain++
	}
}
