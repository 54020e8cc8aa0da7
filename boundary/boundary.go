package boundary

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// Limits bound one call. Zero fields take the default of docs/design.md section 9.
type Limits struct {
	Timeout        time.Duration // of the backend
	MaxRequest     int           // bytes of the arguments
	MaxRaw         int64         // bytes of the raw answer as stored
	MaxRecord      int64         // request + raw + observation
	MaxObservation int           // bytes of the agent_result
	RecordTTL      time.Duration // life of a record from OPEN
}

func (l Limits) withDefaults() Limits {
	def := func(v *int64, d int64) {
		if *v <= 0 {
			*v = d
		}
	}
	if l.Timeout <= 0 {
		l.Timeout = 30 * time.Second
	}
	if l.MaxRequest <= 0 {
		l.MaxRequest = 16 << 10
	}
	if l.MaxObservation <= 0 {
		l.MaxObservation = 16 << 10
	}
	if l.RecordTTL <= 0 {
		l.RecordTTL = 3 * time.Hour
	}
	def(&l.MaxRaw, 4<<20)
	def(&l.MaxRecord, 8<<20)
	return l
}

const (
	// openTimeout and closeTimeout bound OPEN and CLOSE. A healthy store answers in under a millisecond; a client should learn of a dead one within seconds. CLOSE gets
	// longer: a driver may wait a second for one attempt and make it twice, and by then an answer is at stake.
	openTimeout  = 2 * time.Second
	closeTimeout = 3 * time.Second
)

// Ledger opens canonical records; *canonical.Ledger is one.
type Ledger interface {
	Open(ctx context.Context, a canonical.OpenArgs) (*canonical.Pending, canonical.Grant, error)
}

// Options are the parts of a Boundary. Ledger is required; a nil Auditor, Controller or Tracer drops what it would be told; a nil Logger discards.
type Options struct {
	Ledger     Ledger
	Auditor    Auditor
	Controller Controller
	Tracer     Tracer
	Limits     Limits
	Logger     *slog.Logger
	Clock      func() time.Time
}

// Boundary is the one entrance to the tools bound to it. It is immutable and safe for concurrent use.
type Boundary struct {
	o        Options
	tools    map[string]bound
	names    []string
	refusals *refusalLimiter
	panics   atomic.Int64
}

type bound struct {
	t    erased
	spec Spec
}

var toolName = regexp.MustCompile(`^[a-z0-9_]{1,40}$`)

// New binds the tools. It refuses a tool that is not declared read-only, a name that is malformed or used twice, and a spec without schemas or projector version.
func New(o Options, tools ...BoundTool) (*Boundary, error) {
	if o.Ledger == nil {
		return nil, errors.New("boundary: no ledger")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	o.Limits = o.Limits.withDefaults()
	b := &Boundary{o: o, tools: make(map[string]bound, len(tools)), refusals: newRefusalLimiter()}
	for _, t := range tools {
		if t.t == nil {
			return nil, errors.New("boundary: a zero BoundTool")
		}
		s := t.Spec()
		switch {
		case !toolName.MatchString(s.Name):
			return nil, fmt.Errorf("boundary: tool name %q is not [a-z0-9_]{1,40}", s.Name)
		case !s.ReadOnly:
			return nil, fault.New(fault.ToolNotReadOnly, "boundary.New", fmt.Errorf("tool %q is not declared read-only", s.Name))
		case len(s.InputSchema) == 0 || len(s.OutputSchema) == 0 || s.Projector == "" || s.Describe == nil:
			return nil, fmt.Errorf("boundary: tool %q lacks a schema, a description or a projector version", s.Name)
		}
		if _, dup := b.tools[s.Name]; dup {
			return nil, fmt.Errorf("boundary: tool %q is bound twice", s.Name)
		}
		b.tools[s.Name] = bound{t.t, s}
		b.names = append(b.names, s.Name)
	}
	slices.Sort(b.names)
	return b, nil
}

// Specs lists the tools that a caller with these grants may use, by name.
func (b *Boundary) Specs(g Grants) []Spec {
	out := make([]Spec, 0, len(b.names))
	for _, n := range g.Filter(Tools, b.names) {
		out = append(out, b.tools[n].spec)
	}
	return out
}

// Panics counts the panics that the boundary has caught.
func (b *Boundary) Panics() int64 { return b.panics.Load() }

// Invoke makes one call, in the order of docs/design.md section 3. The error, when there is one, is always a *Refusal; then no observation exists. Cancelling ctx
// ends the backend's work; closing the record and audit go on without it, within a bound of their own.
func (b *Boundary) Invoke(ctx context.Context, run Run, e Envelope) (Observation, error) {
	c := &call{b: b, run: run, env: e, began: b.o.Clock()}
	obs, err := c.attempt(c.follow(ctx))
	if err == nil {
		return obs, nil
	}
	code, _, hint := fault.Public(err)
	r := &Refusal{Code: code, Hint: hint, CallID: c.publicCallID(), Control: c.advice}
	return Observation{}, r
}

var base32id = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// mint makes an id of 80 random bits behind prefix: 2^40 calls of one principal collide with a chance of one in a million million.
func mint(prefix string) string {
	var b [10]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	var id [32]byte
	return string(base32id.AppendEncode(append(id[:0], prefix...), b[:]))
}

// MintRunID makes a run id that was never used.
func MintRunID() string { return mint(canonical.MintedRunPrefix) }

// metadataID keeps a host's own id only if it is one: anything else would carry content into audit.
func metadataID(s string) string {
	if len(s) > 128 || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return s
}
