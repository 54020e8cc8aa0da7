package canonical

import (
	"context"
	"time"
)

// Driver is what a store implements: atomic steps on bytes. Every method is atomic against every other over all processes that share the store; the state
// machine itself is stated here once and held by canonicaltest. Refusals are *fault.Error with the codes named below; any failure of the store itself
// (unreachable, timeout, out of memory, wrong credentials) is STORE_ERROR with the cause inside. Time is the store's own clock.
//
// After a lost reply Open and Close may be sent again with the same Nonce: the driver recognises its own write and answers as it did the first time, without
// charging twice.
type Driver interface {
	// Open does, in this order, all or nothing:
	//  1 find the run: Args.Run, or the run that Args.Slot points to (else Args.MintRun becomes it). Unknown and Args.Implicit != nil: open it (ceiling open runs:
	//    BUDGET_EXHAUSTED); an implicit run that expired counts as unknown, unless its id was minted: those are never used again. Unknown otherwise, expired, closed:
	//    RUN_NOT_ACTIVE. A run whose Tools exclude Args.Tool: TOOL_NOT_AUTHORIZED.
	//  2 the call id: known in the run, or its record still exists: with the same nonce the first grant again, else DUPLICATE_TOOL_CALL_ID (charges nothing).
	//  3 stop: a registered run with Streak ≥ NoGain.Limit: STOP_REQUIRED (Grant.Scopes is filled beside the error).
	//  4 ceilings: calls a minute OVERLOADED; live bytes BUDGET_EXHAUSTED.
	//  5 charge one call and Args.RequestBytes: BUDGET_EXHAUSTED when either exceeds its limit. A run with no raw or observation bytes left: BUDGET_EXHAUSTED.
	//  6 insert the record PROJECTING with deadline now+Args.TTL, remember the id in the run; a minted id is indexed by principal.
	Open(ctx context.Context, a OpenArgs) (Grant, error)

	// Close moves PROJECTING to READY or ERROR exactly once, keeps the remaining life, never recreates a missing record, charges raw and observation bytes for
	// READY, and keeps the control data. Answers:
	//  - no such record, or it has expired, or its run is gone: STORE_ERROR;
	//  - already final with the same nonce and the same target: the first result again; otherwise STORE_ERROR;
	//  - READY that the run cannot pay (raw or observation): the record becomes ERROR with BUDGET_EXHAUSTED, the result says so, err is nil.
	// ERROR must succeed even when the store is out of memory.
	Close(ctx context.Context, a CloseArgs) (Closed, error)

	// Load reads one record. A record that does not exist, has expired or belongs to another principal is found == false with a nil error. Never lengthens life.
	Load(ctx context.Context, k Key) (rec Record, found bool, err error)

	// FindCall resolves a minted call id of the principal to its run, and reads the record like Load, in one round trip.
	FindCall(ctx context.Context, principal, call string) (rec Record, found bool, err error)

	// OpenRun registers a run. An id that is active, or a minted one that was used before, is INVALID_REQUEST; a closed or expired id starts anew. Ceilings as in
	// Open. The salt is made for the run: an active run of that mode with the same salt is this very one, opened by a call whose reply was lost, and is answered as it is.
	OpenRun(ctx context.Context, k RunKey, spec RunSpec, mode Mode, salt Salt, c Ceilings) (RunInfo, error)
	// CloseRun makes the run inactive. Records stay until their own deadline. Closing twice is fine. Unknown: RUN_NOT_ACTIVE.
	CloseRun(ctx context.Context, k RunKey) error
	// Run reads a run; expired or unknown: found == false.
	Run(ctx context.Context, k RunKey) (info RunInfo, found bool, err error)
	// Runs lists the principal's runs that have not expired, newest first, at most max.
	Runs(ctx context.Context, principal string, max int) ([]RunInfo, error)
	// Calls lists the control data of the run's calls in order of opening, at most max from the offset. Of an expired or unknown run: none.
	Calls(ctx context.Context, k RunKey, offset, max int) ([]CallInfo, error)
	// Call reads one call of a run as Calls lists it, and the run at the same moment, in one round trip. found is about the call; of an expired or unknown run info is
	// zero.
	Call(ctx context.Context, k Key) (info RunInfo, call CallInfo, found bool, err error)
	// Assess overrides the gain of one closed call, in the window too while it is there. A call that is unknown or not closed yet: INVALID_REQUEST.
	Assess(ctx context.Context, k Key, gain bool) error
	// Resume forgets the NO_GAIN history of the run, so that a stopped run may go on. Unknown: RUN_NOT_ACTIVE.
	Resume(ctx context.Context, k RunKey) error

	// Ping verifies that the store is reachable and fit for evidence (eviction policy, script rights). Used at start-up and for readiness.
	Ping(ctx context.Context) error
	// Closer: Shutdown releases connections and files. It purges what has expired where the driver holds files.
	Shutdown() error
}

// OpenArgs is one OPEN. Exactly one of Run and Slot is set.
type OpenArgs struct {
	Principal string
	Run       string // explicit run id
	Slot      string // implicit run: the hashed conversation key, process nonce, or "default"
	MintRun   string // run id that Slot points to from now on, when it points to none that is active
	Call      string
	Minted    bool // Call was minted by the gateway
	Nonce     string
	Tool      string
	Request   []byte // the typed request as JSON
	Projector string // projector version
	TTL       time.Duration
	// RequestBytes is what the call charges as request: the bytes the client sent.
	RequestBytes int64
	Implicit     *RunSpec // how to open an unknown run; nil in registered mode
	Salt         Salt     // becomes the run's salt if Open opens the run
	Ceilings     Ceilings
}

// Grant is the outcome of OPEN.
type Grant struct {
	Run         string
	Salt        Salt
	StartedAt   time.Time
	ExpiresAt   time.Time // of the record
	Left        Limits    // after this call's charge
	NoGain      NoGain
	Streak      int
	Mode        Mode
	StopAdvised bool     // implicit run, Streak ≥ NoGain.Limit
	Scopes      []string // checked scopes, newest first; filled when StopAdvised or STOP_REQUIRED
}

// Item is something shown to the model, for gain. Key identifies it within the run (16 hex characters); Detail, when set, may make an item that was already
// shown count again, at most three times a run. One call counts once for a key, however many details of it it shows.
type Item struct {
	Key    string
	Detail string
}

// CloseArgs is one CLOSE.
type CloseArgs struct {
	Key         Key
	Nonce       string
	Ready       bool
	Code        string // the error code, when !Ready
	Evidence    Evidence
	Raw         []byte // READY only
	Observation []byte // READY only: agent_result
	Truncated   bool
	// ExpiresAt is the Grant's: content that a driver keeps beside the record gets the record's own deadline in the same round trip. Zero is allowed.
	ExpiresAt time.Time
	ScopeID   string // identity of the request's scope; "" when the call was refused before it had one
	Scope     string // the scope in words, at most 256 bytes
	Items     []Item // READY with evidence only, at most MaxItems
	Control   []byte // the control view's static part, JSON, opaque to the driver
}

// MaxItems bounds the gain items of one call: an observation of 32 KiB holds fewer.
const MaxItems = 512

// Gain is the objective outcome of a call for its run.
type Gain string

// The outcomes. Neutral: a new empty scope. Uncounted: an ERROR.
const (
	GainYes     Gain = "GAIN"
	GainNo      Gain = "NO_GAIN"
	GainNeutral Gain = "NEUTRAL"
	Uncounted   Gain = "NONE"
)

// Closed is the outcome of CLOSE.
type Closed struct {
	State       State
	Code        string // set for ERROR
	CompletedAt time.Time
	ExpiresAt   time.Time
	Gain        Gain
	Streak      int
	NoGain      NoGain
	DuplicateOf string // first call of the run with the same ScopeID
	Stop        bool   // Streak ≥ NoGain.Limit after this call
	Left        Limits
}

// Record is one canonical invocation as stored.
type Record struct {
	Run         string
	Call        string
	Tool        string
	State       State
	Evidence    string // EVIDENCE_FOUND, NO_EVIDENCE or ERROR; "" while PROJECTING
	Code        string
	Request     []byte
	Raw         []byte
	Observation []byte
	Truncated   bool
	Salt        Salt
	Projector   string
	StartedAt   time.Time
	CompletedAt time.Time
	ExpiresAt   time.Time
}

// CallInfo is one call of a run without content.
type CallInfo struct {
	Call        string
	Tool        string
	State       State // PROJECTING until closed
	Evidence    string
	Code        string
	ScopeID     string
	Scope       string
	DuplicateOf string
	Gain        Gain
	Assessed    bool
	Streak      int
	Stop        bool
	Control     []byte
	StartedAt   time.Time
	CompletedAt time.Time
}
