package clients

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/memstore"
	"github.com/seed-069badc9/mcp-gateway/evidence"
	"github.com/seed-069badc9/mcp-gateway/harness"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/internal/mcpserver"
)

// fixture is a tool that the conformance suite asks for, or one that the gateway must not have. It exists in this test only: no build of the gateway has it, and it too goes through the boundary.
type fixture struct {
	name   string
	schema string
	text   string // what it answers with; "" fails
}

type fixtureRequest struct{}

type fixtureText struct {
	Text string `json:"text"`
}

func (f fixture) Spec() boundary.Spec {
	return boundary.Spec{Name: f.name, ReadOnly: true, Projector: "1", Describe: func(boundary.Grants) string { return "A tool of the conformance suite." },
		InputSchema: json.RawMessage(f.schema), OutputSchema: json.RawMessage(`{"type":"object"}`)}
}

func (f fixture) Parse(args json.RawMessage, _ boundary.ParseContext) (r fixtureRequest, err error) {
	return r, boundary.StrictArgs("fixture.Parse", args, &r)
}

func (f fixture) Scope(fixtureRequest) boundary.Scope {
	return boundary.Scope{Normal: f.name, Text: f.name}
}

func (f fixture) Execute(_ context.Context, p *boundary.Permit, _ fixtureRequest, _ canonical.Salt) (fixtureText, error) {
	if f.text == "" {
		return fixtureText{}, fault.New(fault.BackendError, "fixture.Execute", errors.New("it always fails"))
	}
	return fixtureText{f.text}, p.Take(len(f.text))
}

func (f fixture) Project(_ fixtureRequest, raw fixtureText, _ boundary.View) (boundary.Projection[fixtureText], error) {
	return boundary.Projection[fixtureText]{Observation: raw, Evidence: canonical.Found, Count: 1}, nil
}

// richSchema has what JSON Schema 2020-12 adds, as the scenario wants it. The gateway's own schemas avoid all of it, because clients stumble over it.
const richSchema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`

const fixtureAnswer = "This is a simple text response for testing."

// noSchemas has no datasource.
type noSchemas struct{}

func (noSchemas) Datasources(boundary.Grants) []string { return nil }
func (noSchemas) Schema(context.Context, string, boundary.Grants) (json.RawMessage, error) {
	return nil, errors.New("no datasource")
}

// serveFixture serves the fixture tools through boundary and MCP server, until the test ends.
func serveFixture(t *testing.T) (url string) {
	t.Helper()
	store := memstore.New(time.Now)
	ledger := canonical.NewLedger(store, nil)
	runs := harness.New(store, harness.DefaultPolicy())
	const none = `{"type":"object","properties":{},"additionalProperties":false}`
	b, err := boundary.New(boundary.Options{Ledger: ledger, Controller: runs}, boundary.Bind(fixture{"test_simple_text", none, fixtureAnswer}),
		boundary.Bind(fixture{"test_error_handling", none, ""}), boundary.Bind(fixture{"json_schema_2020_12_tool", richSchema, fixtureAnswer}),
		boundary.Bind(fixture{"unportable_schema", `{"type":"object","properties":{"a":{"type":"object","properties":{"b":true}}}}`, fixtureAnswer}))
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := mcpserver.New(mcpserver.Options{Core: b, Resolver: runs, Verifier: evidence.New(ledger), Schemas: noSchemas{},
		HTTP: mcpserver.HTTPOptions{Listen: l.Addr().String(), Auth: mcpserver.Everyone{Caller: mcpserver.Caller{Principal: "suite", Role: mcpserver.RoleAgent}}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := s.Serve(ctx, l, nil); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	t.Cleanup(func() {
		stop()
		serving.Wait()
	})
	return "http://" + l.Addr().String() + "/mcp"
}

// What the suite can only test on tools of its own holds behind the same boundary and MCP server.
func TestConformanceOfFixtures(t *testing.T) {
	t.Parallel()
	node := node(t)
	url := serveFixture(t)
	for _, revision := range revisions {
		for scenario, wants := range map[string]string{"tools-call-simple-text": fixtureAnswer, "tools-call-error": "BACKEND_ERROR", "json-schema-2020-12": ""} {
			t.Run(scenario+" "+revision, func(t *testing.T) {
				t.Parallel()
				checks, r := conform(t, node, url, "--scenario", scenario, "--spec-version", revision)
				if r.code != 0 {
					t.Errorf("the suite ends with %d\n%s%s", r.code, r.stdout, r.stderr)
				}
				passes(t, scenario, checks[scenario])
				for _, c := range checks[scenario] {
					if c.ID == scenario && !strings.Contains(string(c.Details), wants) { // the suite itself is content with any text
						t.Errorf("%s: the answer %s lacks %q", scenario, c.Details, wants)
					}
				}
			})
		}
	}
}
