package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/evidence"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// An observation can only be made by a Boundary, so the core of these tests is a real one around a tool of the test; see core_test.go. What the transport hands
// over is recorded here.

// seen is one call as the core got it.
type seen struct {
	run boundary.Run
	env boundary.Envelope
}

// fakeCore refuses every call with a code, or does what hook says.
type fakeCore struct {
	mu    sync.Mutex
	calls []seen
	hook  func(ctx context.Context, e boundary.Envelope) (boundary.Observation, error)
	specs []boundary.Spec
}

func (c *fakeCore) Invoke(ctx context.Context, run boundary.Run, e boundary.Envelope) (boundary.Observation, error) {
	c.mu.Lock()
	c.calls = append(c.calls, seen{run, e})
	c.mu.Unlock()
	if c.hook != nil {
		return c.hook(ctx, e)
	}
	return boundary.Observation{}, &boundary.Refusal{Code: fault.ToolNotAuthorized, CallID: "tc_fake"}
}

func (c *fakeCore) Specs(g boundary.Grants) []boundary.Spec {
	var out []boundary.Spec
	for _, s := range c.specs {
		if g.Allows(boundary.Tools, s.Name) {
			out = append(out, s)
		}
	}
	return out
}

func (c *fakeCore) seen() []seen {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]seen(nil), c.calls...)
}

// fakeRuns resolves a run the way a harness would, and remembers the identities.
type fakeRuns struct {
	mu  sync.Mutex
	ids []boundary.Identity
}

func (f *fakeRuns) Resolve(id boundary.Identity) boundary.Run {
	f.mu.Lock()
	f.ids = append(f.ids, id)
	f.mu.Unlock()
	run := boundary.Run{Principal: id.Principal, Grants: id.Grants, Slot: "slot:" + id.Conversation}
	for _, r := range []string{id.Binding, id.Header, id.Meta} {
		if r != "" {
			run.ID, run.Slot = r, ""
			break
		}
	}
	return run
}

func (f *fakeRuns) Current(_, explicit string) string {
	if explicit != "" {
		return explicit
	}
	return "only-run"
}

func (f *fakeRuns) last(t *testing.T) boundary.Identity {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.ids) == 0 {
		t.Fatal("nothing was resolved")
	}
	return f.ids[len(f.ids)-1]
}

// fakeVerifier supports calls named c1 and remembers what it was asked.
type fakeVerifier struct {
	mu      sync.Mutex
	callers []evidence.Caller
	uris    []string
	panics  bool
}

func (f *fakeVerifier) VerifyURI(_ context.Context, c evidence.Caller, uri string) evidence.Verdict {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.callers, f.uris = append(f.callers, c), append(f.uris, uri)
	if f.panics {
		panic("secret text")
	}
	v := evidence.Verdict{Outcome: evidence.Rejected, Reason: evidence.InvalidCitation, Checked: evidence.Existence}
	if rest, ok := strings.CutPrefix(uri, "evidence://"); ok && strings.HasSuffix(rest, "/c1") {
		v.Outcome, v.Reason, v.ToolCallID = evidence.Supported, evidence.OK, "c1"
	}
	return v
}

func (f *fakeVerifier) last(t *testing.T) (evidence.Caller, string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.uris) == 0 {
		t.Fatal("nothing was verified")
	}
	return f.callers[len(f.callers)-1], f.uris[len(f.uris)-1]
}

type fakeSchemas struct{}

func (fakeSchemas) Datasources(g boundary.Grants) []string {
	return g.Filter(boundary.Datasources, []string{"shop", "stock"})
}

func (s fakeSchemas) Schema(_ context.Context, name string, g boundary.Grants) (json.RawMessage, error) {
	for _, d := range s.Datasources(g) {
		if d == name {
			return json.RawMessage(`{"datasource":"` + name + `"}`), nil
		}
	}
	return nil, errors.New("dsn root:" + "pw@tcp(db) refused")
}

func fakeSpec(name string) boundary.Spec {
	return boundary.Spec{
		Name: name, Title: "Title of " + name, ReadOnly: true,
		Describe: func(g boundary.Grants) string {
			return "topics: " + strings.Join(g.Filter(boundary.Topics, []string{"checkout", "stock"}), ", ")
		},
		InputSchema:  json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},"additionalProperties":false}`),
		OutputSchema: json.RawMessage(`{"type":"object","properties":{"tool_call_id":{"type":"string"}},"additionalProperties":false}`),
	}
}

// rig is a server on fakes.
type rig struct {
	*Server
	core     *fakeCore
	runs     *fakeRuns
	verifier *fakeVerifier
}

func newRig(t testing.TB, change ...func(*Options)) *rig {
	t.Helper()
	r := &rig{core: &fakeCore{specs: []boundary.Spec{fakeSpec("query_logs"), fakeSpec("query_rag")}}, runs: &fakeRuns{}, verifier: &fakeVerifier{}}
	o := Options{Version: "1.2.3", Core: r.core, Resolver: r.runs, Verifier: r.verifier, Schemas: fakeSchemas{}}
	o.HTTP.Auth = Everyone{Caller{Principal: "local:test"}}
	for _, f := range change {
		f(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	r.Server = s
	return r
}
