package boundary

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
)

// Observation is the bounded, redacted answer for the model. Only Invoke makes one that is not zero.
type Observation struct {
	result   []byte
	delivery []byte
}

// JSON is the compact object that the client receives: the agent_result, and the STOP_REQUIRED advice when the run should end.
func (o Observation) JSON() json.RawMessage { return o.delivery }

// Result is the agent_result as stored: what citations are checked against.
func (o Observation) Result() json.RawMessage { return o.result }

// IsZero tells an observation that Invoke did not make.
func (o Observation) IsZero() bool { return len(o.result) == 0 }

// Digest is the SHA-256 of the stored observation, in hex.
func (o Observation) Digest() string {
	sum := sha256.Sum256(o.result)
	return hex.EncodeToString(sum[:])
}

// StopAdvice tells a model that the run brings nothing new, and what was already searched.
type StopAdvice struct {
	Code          fault.Code `json:"code"`
	CheckedScopes []string   `json:"checked_scopes,omitempty"`
}

// maxAdvice bounds the advice in bytes, so that it cannot push an observation past what clients accept: 1 KiB is two lines a scope.
const maxAdvice = 1024

func newAdvice(scopes []string) *StopAdvice {
	a := &StopAdvice{Code: fault.StopRequired}
	room := maxAdvice
	for i, s := range scopes {
		if i == canonical.MaxScopes {
			break
		}
		if s = cutRunes(s, 256); room-len(s) < 0 {
			break
		}
		room -= len(s)
		a.CheckedScopes = append(a.CheckedScopes, s)
	}
	return a
}

// Refusal is the only error that Invoke returns: a stable code, its fixed sentence, a hint that names nothing but the caller's own words or the published
// allowlist. It has no cause.
type Refusal struct {
	Code    fault.Code
	Hint    string
	CallID  string
	Control *StopAdvice
}

// Error is the code and its sentence.
func (r *Refusal) Error() string { return string(r.Code) + ": " + fault.Sentence(r.Code) }

// JSON is the error object of the wire contract.
func (r *Refusal) JSON() json.RawMessage {
	type body struct {
		Code    fault.Code `json:"code"`
		Message string     `json:"message"`
		Hint    string     `json:"hint,omitzero"`
	}
	b, err := strictjson.Encode(struct {
		Error   body        `json:"error"`
		CallID  string      `json:"tool_call_id,omitzero"`
		Control *StopAdvice `json:"control,omitzero"`
	}{body{r.Code, fault.Sentence(r.Code), r.Hint}, r.CallID, r.Control})
	if err != nil { // the struct holds strings only
		return json.RawMessage(`{"error":{"code":"INTERNAL","message":"The call failed inside the gateway."}}`)
	}
	return b
}

// CallFacts is the part of a control view that the call itself knows. It is stored with the run as JSON.
type CallFacts struct {
	HostCallID       string `json:"host_call_id,omitzero"`
	StepID           string `json:"step_id,omitzero"`
	ReturnedCount    int    `json:"returned_count"`
	Relevance        string `json:"relevance_level,omitzero"`
	Truncated        bool   `json:"truncated"`
	RequestBytes     int64  `json:"request_bytes"`
	RawBytes         int64  `json:"raw_bytes"`
	ObservationBytes int64  `json:"observation_bytes"`
	LatencyMicros    int64  `json:"latency_us"`
}

// ControlView is what the harness learns of a call and the model never sees. It is pushed to a Controller; MarshalJSON fails on purpose: the harness has its own
// wire type.
type ControlView struct {
	Principal        string
	Run              string
	Call             string
	Tool             string
	InvocationStatus canonical.State
	EvidenceStatus   string
	Code             fault.Code
	ScopeID          string
	Scope            string
	DuplicateOf      string
	Gain             canonical.Gain
	Streak           int
	NoGain           canonical.NoGain
	StopRequired     bool
	BudgetLeft       canonical.Limits
	CallFacts
}

// MarshalJSON refuses: a control view has no public encoding, so that none can slip into a result.
func (ControlView) MarshalJSON() ([]byte, error) {
	return nil, errors.New("boundary: a ControlView has no JSON form")
}

// AuditRecord is one attempt: metadata only. There is no field for content, SQL, queries or error text.
type AuditRecord struct {
	Time             time.Time       `json:"time"`
	Principal        string          `json:"principal"`
	Run              string          `json:"run_id,omitzero"`
	Call             string          `json:"tool_call_id,omitzero"`
	HostCallID       string          `json:"host_call_id,omitzero"`
	StepID           string          `json:"step_id,omitzero"`
	Tool             string          `json:"tool,omitzero"`
	InvocationStatus canonical.State `json:"invocation_status,omitzero"` // "" for a call refused before it had a record
	EvidenceStatus   string          `json:"evidence_status,omitzero"`
	Code             fault.Code      `json:"error_code,omitzero"`
	ScopeID          string          `json:"scope_id,omitzero"`
	Truncated        bool            `json:"truncated"`
	ReturnedCount    int             `json:"returned_count"`
	RequestBytes     int64           `json:"request_bytes"`
	RawBytes         int64           `json:"raw_bytes"`
	ObservationBytes int64           `json:"observation_bytes"`
	LatencyMicros    int64           `json:"latency_us"`
}

// Auditor takes audit records. It must not block and cannot fail a call.
type Auditor interface{ Audit(AuditRecord) }

// Controller takes control views, in the process. It must not block.
type Controller interface{ Observe(ControlView) }

func cutRunes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
