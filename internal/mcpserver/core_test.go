package mcpserver

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/memstore"
)

// echo is a tool that answers with its query, or waits until it is released.
type echo struct {
	name    string
	started chan string   // gets the query of each call that runs, when set
	release chan struct{} // a call waits for it or for the end of its context, when set
}

type echoReq struct {
	Query string `json:"query"`
}

type echoRaw struct {
	Text string `json:"text"`
}

type echoObs struct {
	Text string `json:"text"`
}

func (e *echo) Spec() boundary.Spec {
	s := fakeSpec(e.name)
	s.Projector = "1"
	s.OutputSchema = json.RawMessage(`{"type":"object","properties":{"tool_call_id":{"type":"string"},"run_id":{"type":"string"},"evidence_status":{"type":"string"},` +
		`"truncated":{"type":"boolean"},"text":{"type":"string"},"control":{"type":"object"}},"required":["tool_call_id"],"additionalProperties":false}`)
	return s
}

func (e *echo) Parse(args json.RawMessage, _ boundary.ParseContext) (echoReq, error) {
	var r echoReq
	return r, boundary.StrictArgs("echo.Parse", args, &r)
}

func (e *echo) Scope(r echoReq) boundary.Scope { return boundary.Scope{Normal: r.Query, Text: "echo"} }

func (e *echo) Execute(ctx context.Context, p *boundary.Permit, r echoReq, _ canonical.Salt) (echoRaw, error) {
	if e.started != nil {
		e.started <- r.Query
	}
	if e.release != nil {
		select {
		case <-e.release:
		case <-ctx.Done():
			return echoRaw{}, ctx.Err()
		}
	}
	if err := p.Take(len(r.Query)); err != nil {
		return echoRaw{}, err
	}
	return echoRaw{Text: r.Query}, nil
}

func (e *echo) Project(_ echoReq, raw echoRaw, _ boundary.View) (boundary.Projection[echoObs], error) {
	return boundary.Projection[echoObs]{Observation: echoObs(raw), Evidence: canonical.Evidence(raw.Text != ""), Count: 1, Items: []canonical.Item{{Key: raw.Text}}}, nil
}

// newBoundary is a real boundary over a memory store around the tools given.
func newBoundary(t testing.TB, tools ...*echo) *boundary.Boundary {
	t.Helper()
	bound := make([]boundary.BoundTool, len(tools))
	for i, e := range tools {
		bound[i] = boundary.Bind(e)
	}
	b, err := boundary.New(boundary.Options{Ledger: canonical.NewLedger(memstore.New(time.Now), nil)}, bound...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// realRuns resolves to runs that the store opens on their first call.
type realRuns struct{ fakeRuns }

func (r *realRuns) Resolve(id boundary.Identity) boundary.Run {
	run := r.fakeRuns.Resolve(id)
	run.MintRun = boundary.MintRunID()
	if run.Slot != "" {
		run.Slot = "default"
	}
	run.Spec = &canonical.RunSpec{TTL: time.Hour, Limits: canonical.Limits{Calls: 1 << 20, RequestBytes: 1 << 30, RawBytes: 1 << 30, ObservationBytes: 1 << 30},
		NoGain: canonical.NoGain{Limit: 8, Window: 10}}
	return run
}

// onBoundary puts a real boundary around the tools into the rig.
func onBoundary(t testing.TB, tools ...*echo) func(*Options) {
	return func(o *Options) { o.Core, o.Resolver = newBoundary(t, tools...), &realRuns{} }
}
