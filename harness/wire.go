package harness

import (
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
)

// CallView is the wire form of one call's control view: what the harness API and the command line print.
type CallView struct {
	RunID            string            `json:"run_id"`
	ToolCallID       string            `json:"tool_call_id"`
	HostCallID       string            `json:"host_call_id,omitzero"`
	StepID           string            `json:"step_id,omitzero"`
	Tool             string            `json:"tool"`
	InvocationStatus canonical.State   `json:"invocation_status"`
	EvidenceStatus   string            `json:"evidence_status,omitzero"`
	ErrorCode        string            `json:"error_code,omitzero"`
	Scope            string            `json:"scope,omitzero"`
	ScopeID          string            `json:"scope_id,omitzero"`
	DuplicateOf      string            `json:"duplicate_of,omitzero"`
	ReturnedCount    int               `json:"returned_count"`
	RelevanceLevel   string            `json:"relevance_level,omitzero"`
	Truncated        bool              `json:"truncated"`
	Bytes            CallBytes         `json:"bytes"`
	LatencyMS        float64           `json:"latency_ms"`
	Gain             canonical.Gain    `json:"gain,omitzero"`
	Assessed         bool              `json:"assessed,omitzero"`
	NoGainStreak     int               `json:"no_gain_streak"`
	NoGainLimit      int               `json:"no_gain_limit,omitzero"`
	BudgetLeft       *canonical.Limits `json:"budget_left,omitzero"`
	StopRequired     bool              `json:"stop_required"`
	StartedAt        *time.Time        `json:"started_at,omitzero"`
	CompletedAt      *time.Time        `json:"completed_at,omitzero"`
}

// CallBytes are the sizes that a call is charged for.
type CallBytes struct {
	Request     int64 `json:"request"`
	Raw         int64 `json:"raw"`
	Observation int64 `json:"observation"`
}

// WireView is the wire form of a control view that the boundary has pushed.
func WireView(v boundary.ControlView) CallView {
	left := v.BudgetLeft
	w := CallView{RunID: v.Run, ToolCallID: v.Call, Tool: v.Tool, InvocationStatus: v.InvocationStatus, EvidenceStatus: v.EvidenceStatus, ErrorCode: string(v.Code),
		Scope: v.Scope, ScopeID: v.ScopeID, DuplicateOf: v.DuplicateOf, Gain: v.Gain, NoGainStreak: v.Streak, NoGainLimit: v.NoGain.Limit, BudgetLeft: &left,
		StopRequired: v.StopRequired}
	w.facts(v.CallFacts)
	return w
}

func (w *CallView) facts(f boundary.CallFacts) {
	w.HostCallID, w.StepID, w.ReturnedCount, w.RelevanceLevel, w.Truncated = f.HostCallID, f.StepID, f.ReturnedCount, f.Relevance, f.Truncated
	w.Bytes = CallBytes{f.RequestBytes, f.RawBytes, f.ObservationBytes}
	w.LatencyMS = float64(f.LatencyMicros) / 1000
}
