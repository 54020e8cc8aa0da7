package boundary_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/memstore"
	"github.com/seed-069badc9/mcp-gateway/evidence"
	"github.com/seed-069badc9/mcp-gateway/harness"
)

// weather is a whole tool: a typed request, a raw answer, an observation.
type weather struct{}

type weatherRequest struct {
	City string `json:"city"`
}
type weatherRaw struct {
	Station string  `json:"station"` // stays behind
	Celsius float64 `json:"celsius"`
}
type weatherItem struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}
type weatherObservation struct {
	Scope weatherRequest `json:"scope"`
	Items []weatherItem  `json:"items"`
}

func (weather) Spec() boundary.Spec {
	return boundary.Spec{Name: "query_weather", Title: "Weather", ReadOnly: true, Projector: "weather-1", Describe: func(boundary.Grants) string { return "Temperature of a city now." },
		InputSchema:  json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`),
		OutputSchema: json.RawMessage(`{"type":"object"}`)}
}

func (weather) Parse(args json.RawMessage, _ boundary.ParseContext) (r weatherRequest, err error) {
	return r, boundary.StrictArgs("weather.Parse", args, &r)
}

func (weather) Scope(r weatherRequest) boundary.Scope {
	return boundary.Scope{Normal: r.City, Text: r.City}
}

func (weather) Execute(_ context.Context, p *boundary.Permit, r weatherRequest, _ canonical.Salt) (weatherRaw, error) {
	raw := weatherRaw{Station: "roof of 192.0.2.7", Celsius: 21.5}
	return raw, p.Take(len(raw.Station))
}

func (weather) Project(r weatherRequest, raw weatherRaw, _ boundary.View) (boundary.Projection[weatherObservation], error) {
	item := weatherItem{"e1", fmt.Sprintf("%.1f degrees in %s", raw.Celsius, r.City)}
	return boundary.Projection[weatherObservation]{Observation: weatherObservation{r, []weatherItem{item}}, Evidence: canonical.Found, Count: 1}, nil
}

// A harness in the same process wires boundary, store, runs and evidence without MCP. A tool of its own is one package.
func Example() {
	ctx, tool, args := context.Background(), weather{}, json.RawMessage(`{"city":"Berlin"}`)

	store := memstore.New(time.Now)
	ledger := canonical.NewLedger(store, nil)
	runs := harness.New(store, harness.DefaultPolicy())
	b, err := boundary.New(boundary.Options{Ledger: ledger, Controller: runs}, boundary.Bind(tool))
	if err != nil {
		panic(err)
	}
	run := runs.Resolve(boundary.Identity{Principal: "oncall", Binding: "inc-42"})
	obs, err := b.Invoke(ctx, run, boundary.Envelope{CallID: "call-1", Tool: "query_weather", Args: args})
	if err != nil {
		panic(err)
	}
	fmt.Println(string(obs.JSON()))
	verdict := evidence.New(ledger).VerifyURI(ctx, evidence.Caller{Principal: "oncall"}, "evidence://inc-42/call-1?item=e1&quote=21.5%20degrees")
	fmt.Println(verdict.Outcome)
	verdict = evidence.New(ledger).VerifyURI(ctx, evidence.Caller{Principal: "oncall"}, "evidence://inc-42/call-1?item=e1&quote=192.0.2.7")
	fmt.Println(verdict.Outcome, verdict.Reason)
	// Output:
	// {"tool_call_id":"call-1","run_id":"inc-42","evidence_status":"EVIDENCE_FOUND","truncated":false,"scope":{"city":"Berlin"},"items":[{"id":"e1","text":"21.5 degrees in Berlin"}]}
	// SUPPORTED
	// REJECTED QUOTE_NOT_FOUND
}
