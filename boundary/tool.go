// Package boundary is the one way from a model to a backend. Invoke checks a call, opens its canonical record, lets the tool read through a metered Permit,
// projects the raw answer into a bounded, redacted observation, closes the record and only then hands the observation out. Raw answers, control views and error
// causes never leave through Invoke's results. A tool is written against Tool, made opaque by Bind and can be called in no other way.
package boundary

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
)

// Spec is what a tool publishes.
type Spec struct {
	Name  string // [a-z0-9_]{1,40}
	Title string
	// Describe is the description for a caller with these grants, at most 2 KiB: clients cut longer ones. It must not name what the grants exclude.
	Describe func(Grants) string
	// InputSchema and OutputSchema are hand-written JSON Schemas, additionalProperties false throughout.
	InputSchema  json.RawMessage
	OutputSchema json.RawMessage
	ReadOnly     bool
	// Projector is the projector's version: it changes whenever the same request, raw and salt could give another observation.
	Projector string
}

// ParseContext is what strict parsing may know besides the arguments.
type ParseContext struct {
	Now    time.Time // resolves relative times; the resolved ones go into the request
	Grants Grants    // an unknown name and a forbidden one are the same INVALID_REQUEST
}

// Scope describes what a request really searches.
type Scope struct {
	// Normal is the normalised request: equal for requests that mean the same (letter case of keywords, white space, order without meaning, defaults filled in). Its hash
	// is the scope identity.
	Normal string
	// Text tells a person or a model what was searched, redacted, at most 256 bytes.
	Text string
}

// View is what a projection may depend on besides request and raw answer.
type View struct {
	Salt canonical.Salt
	// MaxBytes bounds the JSON encoding of the projected observation.
	MaxBytes int
}

// Projection is a projected answer.
type Projection[Obs any] struct {
	// Observation is encoded as a JSON object; its members follow tool_call_id, run_id, evidence_status and truncated, which the boundary writes.
	Observation Obs
	Evidence    canonical.Evidence
	Truncated   bool // true if and only if something of the raw answer is missing
	Count       int  // returned_count of the control view
	Relevance   string
	Items       []canonical.Item // what the model is shown, for gain
}

// Tool is one read-only tool. Req and Raw must survive a round trip through JSON unchanged: they are stored, and replay projects what was stored.
type Tool[Req, Raw, Obs any] interface {
	Spec() Spec
	// Parse reads the arguments strictly: an unknown, repeated or ill-typed argument is INVALID_REQUEST with a hint. It does no I/O. The request it returns holds
	// everything that projection depends on.
	Parse(args json.RawMessage, c ParseContext) (Req, error)
	// Scope describes a parsed request.
	Scope(req Req) Scope
	// Execute is the only I/O. It reads through the permit, honours ctx, and returns an error rather than an incomplete answer that looks complete. It must return soon
	// after ctx ends.
	Execute(ctx context.Context, p *Permit, req Req, salt canonical.Salt) (Raw, error)
	// Project is pure: no clock, no I/O, no randomness, no configuration that is not in the request. Same input, same bytes.
	Project(req Req, raw Raw, v View) (Projection[Obs], error)
}

// BoundTool is a tool with its types hidden. The zero value is refused by New.
type BoundTool struct{ t erased }

// Spec is the tool's published part.
func (b BoundTool) Spec() Spec {
	if b.t == nil {
		return Spec{}
	}
	return b.t.spec()
}

// Bind makes a tool callable by a Boundary and by nothing else.
func Bind[Req, Raw, Obs any](t Tool[Req, Raw, Obs]) BoundTool {
	return BoundTool{binding[Req, Raw, Obs]{t}}
}

// erased, request and answer are the phases of a call without their types.
type erased interface {
	spec() Spec
	parse(json.RawMessage, ParseContext) (request, error)
	restore(req, raw []byte) (answer, error)
}

type request interface {
	encode() ([]byte, error)
	scope() Scope
	execute(context.Context, *Permit, canonical.Salt) (answer, error)
}

type answer interface {
	encode() ([]byte, error)
	project(View) (projected, error)
}

// projected is a projection with its observation encoded.
type projected struct {
	body      []byte
	evidence  canonical.Evidence
	truncated bool
	count     int
	relevance string
	items     []canonical.Item
}

type binding[Req, Raw, Obs any] struct{ t Tool[Req, Raw, Obs] }

type boundRequest[Req, Raw, Obs any] struct {
	t   Tool[Req, Raw, Obs]
	req Req
}

type boundAnswer[Req, Raw, Obs any] struct {
	t   Tool[Req, Raw, Obs]
	req Req
	raw Raw
}

func (b binding[Req, Raw, Obs]) spec() Spec { return b.t.Spec() }

func (b binding[Req, Raw, Obs]) parse(args json.RawMessage, c ParseContext) (request, error) {
	req, err := b.t.Parse(args, c)
	if err != nil {
		return nil, err
	}
	return &boundRequest[Req, Raw, Obs]{b.t, req}, nil
}

func (b binding[Req, Raw, Obs]) restore(reqJSON, rawJSON []byte) (answer, error) {
	a := &boundAnswer[Req, Raw, Obs]{t: b.t}
	if err := json.Unmarshal(reqJSON, &a.req); err != nil {
		return nil, fmt.Errorf("stored request: %w", err)
	}
	if err := json.Unmarshal(rawJSON, &a.raw); err != nil {
		return nil, fmt.Errorf("stored raw: %w", err)
	}
	return a, nil
}

func (r *boundRequest[Req, Raw, Obs]) encode() ([]byte, error) { return strictjson.Encode(&r.req) }
func (r *boundRequest[Req, Raw, Obs]) scope() Scope            { return r.t.Scope(r.req) }

func (r *boundRequest[Req, Raw, Obs]) execute(ctx context.Context, p *Permit, salt canonical.Salt) (answer, error) {
	raw, err := r.t.Execute(ctx, p, r.req, salt)
	if err != nil {
		return nil, err
	}
	return &boundAnswer[Req, Raw, Obs]{r.t, r.req, raw}, nil
}

func (a *boundAnswer[Req, Raw, Obs]) encode() ([]byte, error) { return strictjson.Encode(&a.raw) }

var errNotObject = errors.New("not a JSON object")

func (a *boundAnswer[Req, Raw, Obs]) project(v View) (projected, error) {
	p, err := a.t.Project(a.req, a.raw, v)
	if err != nil {
		return projected{}, err
	}
	body, err := strictjson.Encode(&p.Observation)
	if err != nil {
		return projected{}, err
	}
	if len(body) < 2 || body[0] != '{' || body[len(body)-1] != '}' {
		return projected{}, errNotObject
	}
	if len(body) > v.MaxBytes {
		return projected{}, fmt.Errorf("observation of %d bytes is over its bound of %d", len(body), v.MaxBytes)
	}
	return projected{body, p.Evidence, p.Truncated, p.Count, p.Relevance, p.Items}, nil
}

// StrictArgs decodes a tool's arguments into v: exact member names, no unknown or repeated ones, right types. Errors are INVALID_REQUEST with a hint that names
// the argument. Empty arguments count as {}.
func StrictArgs(op string, args json.RawMessage, v any) error {
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	if trimmed := bytes.TrimLeft(args, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return fault.New(fault.InvalidRequest, op, errNotObject).WithHint("arguments must be one JSON object")
	}
	if err := strictjson.Decode(args, v); err != nil {
		return fault.New(fault.InvalidRequest, op, err).WithHint(err.Error())
	}
	return nil
}
