package canonical

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// Ledger is the typed face of a Driver: it hands out Pending for an opened call and turns a stored record into exactly one of Projecting, Ready, Failed. It is the
// only maker of Ready.
type Ledger struct {
	d     Driver
	clock func() time.Time
}

// NewLedger wraps a driver. clock is the gateway's own clock (nil: time.Now): a record past its deadline by that clock too is not given out.
func NewLedger(d Driver, clock func() time.Time) *Ledger {
	if clock == nil {
		clock = time.Now
	}
	return &Ledger{d: d, clock: clock}
}

// Driver gives the store for run administration (harness, command line).
func (l *Ledger) Driver() Driver { return l.d }

// skew is how far past a record's deadline the gateway's clock may be before a record that the store still returns is treated as gone: clocks of one data
// centre differ by less.
const skew = time.Second

// Invocation is Projecting, Ready or Failed. Switch on the concrete type with a rejecting default: the interface can be embedded, the types cannot be made.
type Invocation interface {
	Key() Key
	Record() Record
	invocation()
}

type base struct {
	key Key
	rec Record
}

func (b base) Key() Key       { return b.key }
func (b base) Record() Record { return b.rec }
func (base) invocation()      {}

// Projecting is a call under way, or one whose process died.
type Projecting struct{ base }

// Ready is a finished call with content. The zero value carries no content and no key.
type Ready struct {
	base
	ev Evidence
}

// Evidence is what the record holds.
func (r Ready) Evidence() Evidence { return r.ev }

// Valid is false for a Ready that the ledger did not make.
func (r Ready) Valid() bool {
	return !r.key.IsZero() && r.rec.State == StateReady && len(r.rec.Observation) > 0
}

// Failed is a finished call without content.
type Failed struct{ base }

// Code is the stable error code.
func (f Failed) Code() fault.Code { return fault.Code(f.rec.Code) }

var errShape = errors.New("record does not have the shape of its state")

// ErrNotFound: no such record for this principal: never there, expired, or somebody else's. The three cannot be told apart.
var ErrNotFound = errors.New("no such record")

func (l *Ledger) typed(principal string, rec Record, found bool, err error) (Invocation, error) {
	if err != nil {
		return nil, err
	}
	if !found || l.clock().After(rec.ExpiresAt.Add(skew)) {
		return nil, ErrNotFound
	}
	k, err := NewKey(principal, rec.Run, rec.Call)
	if err != nil {
		return nil, fault.New(fault.StoreError, "canonical.Load", errShape)
	}
	b := base{k, rec}
	switch {
	case rec.State == StateProjecting && rec.Evidence == "" && len(rec.Observation) == 0:
		return Projecting{b}, nil
	case rec.State == StateReady && rec.Evidence == Found.String() && len(rec.Observation) > 0 && len(rec.Raw) > 0:
		return Ready{b, Found}, nil
	case rec.State == StateReady && rec.Evidence == None.String() && len(rec.Observation) > 0 && len(rec.Raw) > 0:
		return Ready{b, None}, nil
	case rec.State == StateError && rec.Evidence == "ERROR" && rec.Code != "" && len(rec.Observation) == 0 && len(rec.Raw) == 0:
		return Failed{b}, nil
	}
	return nil, fault.New(fault.StoreError, "canonical.Load", errShape)
}

// Load reads one record: ErrNotFound, STORE_ERROR, or the invocation.
func (l *Ledger) Load(ctx context.Context, k Key) (Invocation, error) {
	if k.IsZero() {
		return nil, ErrNotFound
	}
	rec, found, err := l.d.Load(ctx, k)
	return l.typed(k.principal, rec, found, err)
}

// FindCall reads the record of a minted call id of the principal, whatever its run.
func (l *Ledger) FindCall(ctx context.Context, principal, call string) (Invocation, error) {
	if !Minted(call) {
		return nil, ErrNotFound
	}
	rec, found, err := l.d.FindCall(ctx, principal, call)
	return l.typed(principal, rec, found, err)
}

// Pending is a call that OPEN let through. It must be closed once: Ready or Fail.
type Pending struct {
	l       *Ledger
	key     Key
	nonce   string
	expires time.Time
}

// Key names the call.
func (p *Pending) Key() Key { return p.key }

// Open runs OPEN. On STOP_REQUIRED the grant carries the checked scopes beside the error.
func (l *Ledger) Open(ctx context.Context, a OpenArgs) (*Pending, Grant, error) {
	if a.Nonce == "" || a.TTL <= 0 || (a.Run == "") == (a.Slot == "") {
		return nil, Grant{}, fault.New(fault.Internal, "canonical.Open", errors.New("incomplete OpenArgs"))
	}
	// A driver builds keys from the ids: nothing outside the grammar may reach it.
	for _, run := range []string{a.Run, a.MintRun} {
		if run == "" {
			continue
		}
		if _, err := NewKey(a.Principal, run, a.Call); err != nil {
			return nil, Grant{}, err
		}
	}
	g, err := l.d.Open(ctx, a)
	if err != nil {
		return nil, g, err
	}
	k, err := NewKey(a.Principal, g.Run, a.Call)
	if err != nil {
		return nil, g, fault.New(fault.StoreError, "canonical.Open", errShape)
	}
	return &Pending{l: l, key: k, nonce: a.Nonce, expires: g.ExpiresAt}, g, nil
}

// Result is what a finished call brings for its record.
type Result struct {
	Raw         []byte
	Observation []byte
	Evidence    Evidence
	Truncated   bool
	ScopeID     string
	Scope       string
	Items       []Item
	Control     []byte
}

// Ready closes the call with content. Closed.State may still be ERROR (BUDGET_EXHAUSTED).
func (p *Pending) Ready(ctx context.Context, r Result) (Closed, error) {
	if len(r.Raw) == 0 || len(r.Observation) == 0 {
		return Closed{}, fault.New(fault.Internal, "canonical.Ready", errShape)
	}
	return p.close(ctx, CloseArgs{Ready: true, Evidence: r.Evidence, Raw: r.Raw, Observation: r.Observation, Truncated: r.Truncated,
		ScopeID: r.ScopeID, Scope: r.Scope, Items: items(r), Control: r.Control})
}

// Fail closes the call without content. Only the code is kept: error text never enters the store.
func (p *Pending) Fail(ctx context.Context, code fault.Code, scopeID, scope string, control []byte) (Closed, error) {
	if !fault.Known(code) {
		code = fault.Internal
	}
	return p.close(ctx, CloseArgs{Code: string(code), ScopeID: scopeID, Scope: scope, Control: control})
}

func (p *Pending) close(ctx context.Context, a CloseArgs) (Closed, error) {
	a.Key, a.Nonce, a.ExpiresAt = p.key, p.nonce, p.expires
	a.ScopeID, a.Scope = short(a.ScopeID), cut(a.Scope)
	return p.l.d.Close(ctx, a)
}

// items are what a driver remembers: bounded in number and in length.
func items(r Result) []Item {
	if r.Evidence == None {
		return nil
	}
	out := make([]Item, 0, min(len(r.Items), MaxItems))
	for _, it := range r.Items[:cap(out)] {
		out = append(out, Item{Key: short(it.Key), Detail: short(it.Detail)})
	}
	return out
}

// maxMember bounds what a run remembers of one item or scope: the hex form of a SHA-256. Anything longer is replaced by that digest.
const maxMember = 2 * sha256.Size

func short(s string) string {
	if len(s) <= maxMember {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// maxScope bounds the scope in words: eight of them must fit into a refusal.
const maxScope = 256

func cut(s string) string {
	if len(s) <= maxScope {
		return s
	}
	n := maxScope
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// ErrOtherProjector: the record was projected by another version of its tool, so a replay would compare two different rules.
var ErrOtherProjector = errors.New("record made by another projector version")
