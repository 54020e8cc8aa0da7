// Package evidence answers one question: is this sentence backed by a READY record of that run? A citation is accepted only after the record was read again from
// the canonical store; a store that cannot be reached rejects. Verdicts say which rule decided and carry no content of the record. The package never imports
// boundary: the examined does not help the examiner.
package evidence

import (
	"context"
	"encoding/json"
	"time"

	"github.com/seed-069badc9/mcp-gateway/canonical"
)

// Outcome is the verdict proper.
type Outcome string

// The outcomes. SCOPED_NEGATIVE backs only "nothing was found within this scope".
const (
	Supported      Outcome = "SUPPORTED"
	ScopedNegative Outcome = "SCOPED_NEGATIVE"
	Rejected       Outcome = "REJECTED"
)

// Reason says which rule decided; the first that applies, in this order.
type Reason string

// The reasons of the wire contract.
const (
	OK                Reason = "OK"
	InvalidCitation   Reason = "INVALID_CITATION"
	StoreUnavailable  Reason = "STORE_UNAVAILABLE"
	NotFound          Reason = "NOT_FOUND" // also: foreign run, expired, never existed
	NotReady          Reason = "NOT_READY"
	InvocationError   Reason = "INVOCATION_ERROR"
	DigestMismatch    Reason = "DIGEST_MISMATCH"
	PolarityMismatch  Reason = "POLARITY_MISMATCH"
	ItemNotFound      Reason = "ITEM_NOT_FOUND"
	ValueMismatch     Reason = "VALUE_MISMATCH"
	QuoteNotFound     Reason = "QUOTE_NOT_FOUND"
	ReplayMismatch    Reason = "REPLAY_MISMATCH"
	ReplayUnavailable Reason = "REPLAY_UNAVAILABLE"
)

// Checked is how deep a check went.
type Checked string

// The depths.
const (
	Existence Checked = "EXISTENCE"
	Item      Checked = "ITEM"
	Content   Checked = "CONTENT"
	Replay    Checked = "REPLAY"
)

// Verdict is the answer to one citation. The zero value is no verdict: its Outcome is empty and Backed is false.
type Verdict struct {
	Outcome          Outcome         `json:"verdict"`
	Reason           Reason          `json:"reason"`
	Checked          Checked         `json:"checked"`
	RunID            string          `json:"run_id"`
	ToolCallID       string          `json:"tool_call_id"`
	Tool             string          `json:"tool,omitzero"`
	InvocationStatus canonical.State `json:"invocation_status,omitzero"`
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

// Caller is who asks. Run is the run that "current" stands for, "" when there is none.
type Caller struct {
	Principal string
	Run       string
}

// Reader reads canonical records; *canonical.Ledger is one. It returns canonical.ErrNotFound for what is not there or not the principal's.
type Reader interface {
	Load(ctx context.Context, k canonical.Key) (canonical.Invocation, error)
	FindCall(ctx context.Context, principal, call string) (canonical.Invocation, error)
}

// Replayer projects a stored record again. It returns canonical.ErrOtherProjector when the record was made by another projector version.
type Replayer interface {
	Replay(rec canonical.Record) (observation []byte, err error)
}

var _ Reader = (*canonical.Ledger)(nil)
