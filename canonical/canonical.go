// Package canonical keeps the short-lived record of every tool call: what was asked, what the backend really answered, what the model was shown. It owns the
// state machine PROJECTING → READY | ERROR once, for all drivers. A record's deadline is set when it is opened and never moves: reading, closing or verifying
// cannot lengthen it, and an expired record stays gone. READY without content and ERROR with evidence cannot be written down in Go.
//
// The same store holds the runs: who owns them, their budgets, the ids used in them, what the model has already been shown. One call costs two round trips:
// Open and Close; a verification costs one: Load.
package canonical

import (
	"errors"
	"regexp"
	"strings"
	"time"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// Limits of the identifiers on the wire.
const (
	// MintedCallPrefix starts every tool call id that the gateway mints: "tc_" and 16 base32 characters. Minted ids are unique within a principal.
	MintedCallPrefix = "tc_"
	// MintedRunPrefix starts every run id that the gateway mints: "run_" and 16 base32 characters.
	MintedRunPrefix = "run_"
	// CurrentRun is the reserved run name that stands for the caller's own run in an evidence URI.
	CurrentRun = "current"
)

var idGrammar = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// ValidID tells whether s may name a run or a call: [A-Za-z0-9][A-Za-z0-9._-]{0,127}, except "current".
func ValidID(s string) bool { return idGrammar.MatchString(s) && s != CurrentRun }

// Minted tells whether call looks like an id minted by the gateway.
func Minted(call string) bool { return minted(call, MintedCallPrefix) }

// MintedRun tells whether run looks like an id minted by the gateway. Such a run opens through its slot only, once.
func MintedRun(run string) bool { return minted(run, MintedRunPrefix) }

func minted(id, prefix string) bool {
	rest, ok := strings.CutPrefix(id, prefix)
	return ok && len(rest) == 16 && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// RunKey names one run of one principal. Only NewRunKey makes one that is not zero.
type RunKey struct{ principal, run string }

// Key names one call of one run of one principal. Only NewKey makes one that is not zero.
type Key struct{ principal, run, call string }

var errGrammar = errors.New("id outside the grammar")

// NewRunKey checks the run id (INVALID_REQUEST). The principal may be any non-empty string: drivers hash it.
func NewRunKey(principal, run string) (RunKey, error) {
	if principal == "" || !ValidID(run) {
		return RunKey{}, fault.New(fault.InvalidRequest, "canonical.NewRunKey", errGrammar).WithHint("a run id matches [A-Za-z0-9][A-Za-z0-9._-]{0,127} and is not \"current\"")
	}
	return RunKey{principal, run}, nil
}

// NewKey checks run id (INVALID_REQUEST) and call id (INVALID_TOOL_CALL_ID).
func NewKey(principal, run, call string) (Key, error) {
	if _, err := NewRunKey(principal, run); err != nil {
		return Key{}, err
	}
	if !ValidID(call) {
		return Key{}, fault.New(fault.InvalidToolCallID, "canonical.NewKey", errGrammar).WithHint("a tool call id matches [A-Za-z0-9][A-Za-z0-9._-]{0,127}")
	}
	return Key{principal, run, call}, nil
}

// Principal is the owner.
func (k RunKey) Principal() string { return k.principal }

// Run is the run id.
func (k RunKey) Run() string { return k.run }

// IsZero tells a key that nobody checked.
func (k RunKey) IsZero() bool { return k.run == "" }

// Call gives the key of a call in this run.
func (k RunKey) Call(call string) (Key, error) { return NewKey(k.principal, k.run, call) }

// Principal is the owner.
func (k Key) Principal() string { return k.principal }

// Run is the run id.
func (k Key) Run() string { return k.run }

// Call is the tool call id.
func (k Key) Call() string { return k.call }

// RunKey is the key of the call's run.
func (k Key) RunKey() RunKey { return RunKey{k.principal, k.run} }

// IsZero tells a key that nobody checked.
func (k Key) IsZero() bool { return k.call == "" }

// State is the invocation status on the wire and in the store.
type State string

// The invocation states. READY and ERROR are final.
const (
	StateProjecting State = "PROJECTING"
	StateReady      State = "READY"
	StateError      State = "ERROR"
)

// Evidence is what a READY record holds: Found or None. There is no third value, so ERROR+EVIDENCE_FOUND cannot be written down.
type Evidence bool

// The two values of Evidence.
const (
	Found Evidence = true
	None  Evidence = false
)

// String is the evidence status on the wire.
func (e Evidence) String() string {
	if e {
		return "EVIDENCE_FOUND"
	}
	return "NO_EVIDENCE"
}

// Limits are the budgets of a run. Every field must be positive.
type Limits struct {
	Calls            int64 `json:"calls"`
	RequestBytes     int64 `json:"request_bytes"`
	RawBytes         int64 `json:"raw_bytes"`
	ObservationBytes int64 `json:"observation_bytes"`
}

// NoGain is the rule that stops a run: Limit calls without gain within the last Window calls that count.
type NoGain struct {
	Limit  int `json:"limit"`
	Window int `json:"window"`
}

// Ceilings bound what one principal may hold and do over all its runs. Zero means no ceiling.
type Ceilings struct {
	OpenRuns       int64
	CallsPerMinute int64
	LiveBytes      int64
}

// RunGrace is how long the data of a run outlives its deadline, so that a call opened in the run's last moment can still be closed. It must exceed the longest
// call: call.timeout is 30 s unless changed, this is thirty times that. The run itself is not active any more.
const RunGrace = 15 * time.Minute

// Salt keys the run's masks: 32 random bytes, made when the run is opened, kept in the run and in every record.
type Salt [32]byte

// RunSpec says how a run is opened.
type RunSpec struct {
	Limits Limits
	NoGain NoGain
	TTL    time.Duration
	Tools  []string // nil: every tool; empty: none
}

// RunInfo is what the store knows of one run.
type RunInfo struct {
	Principal string    `json:"-"`
	Run       string    `json:"run_id"`
	Mode      Mode      `json:"mode"`
	Active    bool      `json:"active"`
	Stopped   bool      `json:"stop_required"`
	OpenedAt  time.Time `json:"opened_at"`
	ExpiresAt time.Time `json:"expires_at"`
	Limits    Limits    `json:"limits"`
	Used      Limits    `json:"used"`
	NoGain    NoGain    `json:"no_gain"`
	Streak    int       `json:"no_gain_streak"` // NO_GAIN calls within the window
	Tools     []string  `json:"tools,omitempty"`
	Scopes    []string  `json:"checked_scopes,omitempty"` // newest first, at most MaxScopes
}

// MaxScopes is how many checked scopes a run remembers for STOP_REQUIRED and progress. Eight fit into a refusal without flooding the model.
const MaxScopes = 8

// Mode tells how a run came to be.
type Mode string

// Implicit runs open on their first call; registered ones only through the harness.
const (
	Implicit   Mode = "implicit"
	Registered Mode = "registered"
)
