package client

import (
	"encoding/json"
	"time"
)

// Budget is what a run may spend, has spent or has left.
type Budget struct {
	Calls            int64 `json:"calls,omitzero"`
	RequestBytes     int64 `json:"request_bytes,omitzero"`
	RawBytes         int64 `json:"raw_bytes,omitzero"`
	ObservationBytes int64 `json:"observation_bytes,omitzero"`
}

// NoGain is the rule that stops a run: Limit calls without gain within the last Window.
type NoGain struct {
	Limit  int `json:"limit,omitzero"`
	Window int `json:"window,omitzero"`
}

// OpenRun says how a run is opened. Whatever is left at its zero value takes the gateway's default.
type OpenRun struct {
	RunID string `json:"run_id,omitzero"` // "": the gateway mints one
	// Tools are what the run may use. nil: every tool; empty: none.
	Tools []string `json:"tools,omitzero"`
	// TTLSeconds is the life of the run; it never moves.
	TTLSeconds int64  `json:"ttl_seconds,omitzero"`
	Limits     Budget `json:"limits,omitzero"`
	NoGain     NoGain `json:"no_gain,omitzero"`
}

// Mode tells how a run came to be: "registered" ones were opened here, "implicit" ones on their first call.
type Mode string

// The modes.
const (
	Registered Mode = "registered"
	Implicit   Mode = "implicit"
)

// Run is a run as it stands.
type Run struct {
	RunID         string    `json:"run_id"`
	Mode          Mode      `json:"mode"`
	Active        bool      `json:"active"`
	OpenedAt      time.Time `json:"opened_at"`
	ExpiresAt     time.Time `json:"expires_at"`
	Tools         []string  `json:"tools,omitzero"` // nil: every tool; empty: none
	Limits        Budget    `json:"limits"`
	Used          Budget    `json:"used"`
	BudgetLeft    Budget    `json:"budget_left"`
	NoGain        NoGain    `json:"no_gain"`
	NoGainStreak  int       `json:"no_gain_streak"`
	StopRequired  bool      `json:"stop_required"`
	CheckedScopes []string  `json:"checked_scopes"` // newest first
}

// Runs is a list of runs, newest first.
type Runs struct {
	Runs      []Run `json:"runs"`
	Truncated bool  `json:"truncated"` // there are more than were asked for
}

// Status is how far a call came: PROJECTING while it is under way (and for good when its process died), READY, ERROR.
type Status string

// The statuses.
const (
	Projecting Status = "PROJECTING"
	Ready      Status = "READY"
	Failed     Status = "ERROR"
)

// Gain is what a call brought its run.
type Gain string

// The outcomes. Neutral: a scope found empty for the first time. Uncounted: an ERROR. Only GainYes and GainNo can be assessed.
const (
	GainYes     Gain = "GAIN"
	GainNo      Gain = "NO_GAIN"
	GainNeutral Gain = "NEUTRAL"
	Uncounted   Gain = "NONE"
)

// Call is the control view of one call. It is not for the model.
type Call struct {
	RunID            string     `json:"run_id"`
	ToolCallID       string     `json:"tool_call_id"`
	HostCallID       string     `json:"host_call_id,omitzero"`
	StepID           string     `json:"step_id,omitzero"`
	Tool             string     `json:"tool"`
	InvocationStatus Status     `json:"invocation_status"`
	EvidenceStatus   string     `json:"evidence_status,omitzero"` // EVIDENCE_FOUND, NO_EVIDENCE, ERROR; "" under way
	ErrorCode        string     `json:"error_code,omitzero"`
	Scope            string     `json:"scope,omitzero"`
	ScopeID          string     `json:"scope_id,omitzero"`
	DuplicateOf      string     `json:"duplicate_of,omitzero"` // first call of the run with this scope
	ReturnedCount    int        `json:"returned_count"`
	RelevanceLevel   string     `json:"relevance_level,omitzero"`
	Truncated        bool       `json:"truncated"`
	Bytes            CallBytes  `json:"bytes"`
	LatencyMS        float64    `json:"latency_ms"`
	Gain             Gain       `json:"gain,omitzero"`
	Assessed         bool       `json:"assessed,omitzero"`
	NoGainStreak     int        `json:"no_gain_streak"` // of the run when the call was closed
	NoGainLimit      int        `json:"no_gain_limit"`
	StopRequired     bool       `json:"stop_required"`        // of the run when the call was closed
	BudgetLeft       *Budget    `json:"budget_left,omitzero"` // of the run at the time of the answer
	StartedAt        *time.Time `json:"started_at,omitzero"`
	CompletedAt      *time.Time `json:"completed_at,omitzero"`
}

// CallBytes are the sizes of a call.
type CallBytes struct {
	Request     int64 `json:"request"`
	Raw         int64 `json:"raw"`
	Observation int64 `json:"observation"`
}

// Page is a page of control views, in order of opening.
type Page struct {
	Calls []Call `json:"calls"`
	Next  int    `json:"next_offset,omitzero"` // where the next page begins; 0: this was the last
}

// Progress is where a run stands.
type Progress struct {
	Run           Run                     `json:"run"`
	Tools         map[string]ToolProgress `json:"tools"`
	CheckedScopes []string                `json:"checked_scopes"` // newest first
	NoGainStreak  int                     `json:"no_gain_streak"`
	NoGainLimit   int                     `json:"no_gain_limit"`
	StopRequired  bool                    `json:"stop_required"`
	BudgetLeft    Budget                  `json:"budget_left"`
}

// ToolProgress counts a tool's calls by how they ended.
type ToolProgress struct {
	Calls         int `json:"calls"`
	EvidenceFound int `json:"evidence_found"`
	NoEvidence    int `json:"no_evidence"`
	Errors        int `json:"errors"`
	Projecting    int `json:"projecting"`
	Duplicates    int `json:"duplicates"`
	NoGain        int `json:"no_gain"`
}

// Outcome is the verdict proper.
type Outcome string

// The outcomes. ScopedNegative backs only "nothing was found within this scope".
const (
	Supported      Outcome = "SUPPORTED"
	ScopedNegative Outcome = "SCOPED_NEGATIVE"
	Rejected       Outcome = "REJECTED"
)

// Verdict is the answer to one citation.
type Verdict struct {
	Outcome          Outcome         `json:"verdict"`
	Reason           string          `json:"reason"`
	Checked          string          `json:"checked"` // EXISTENCE, ITEM, CONTENT or REPLAY
	RunID            string          `json:"run_id"`
	ToolCallID       string          `json:"tool_call_id"`
	Tool             string          `json:"tool,omitzero"`
	InvocationStatus Status          `json:"invocation_status,omitzero"`
	EvidenceStatus   string          `json:"evidence_status,omitzero"`
	Item             string          `json:"item,omitzero"`
	QuoteMatch       string          `json:"quote_match,omitzero"` // EXACT or NORMALIZED
	Scope            json.RawMessage `json:"scope,omitzero"`
	Truncated        *bool           `json:"truncated,omitzero"`
	ObservationSHA   string          `json:"observation_sha256,omitzero"`
	CompletedAt      *time.Time      `json:"completed_at,omitzero"`
	ExpiresAt        *time.Time      `json:"expires_at,omitzero"`
}

// Backed is true for SUPPORTED and SCOPED_NEGATIVE.
func (v Verdict) Backed() bool { return v.Outcome == Supported || v.Outcome == ScopedNegative }

// Draft is what a check of a report found.
type Draft struct {
	Citations []DraftCitation `json:"citations"`
	Uncited   []Passage       `json:"uncited"`      // quoted passages that no citation stands beside
	OK        bool            `json:"citations_ok"` // the report cites at least once and every citation is backed
}

// DraftCitation is one citation of a report; one beside two quotes is listed once for each.
type DraftCitation struct {
	Line     int     `json:"line"`
	Citation string  `json:"citation"`
	Quote    string  `json:"quote,omitzero"`
	Hidden   bool    `json:"hidden,omitzero"` // stands where a reader does not see it
	Verdict  Verdict `json:"result"`
}

// Passage is a quoted passage of a report.
type Passage struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}
