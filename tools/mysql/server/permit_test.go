package server

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/memstore"
)

// lender is a tool that does nothing but hand out the permit of its call: only a Boundary makes one.
type lender struct{ got *boundary.Permit }

type nothing struct{}

func (*lender) Spec() boundary.Spec {
	return boundary.Spec{Name: "lend", Describe: func(boundary.Grants) string { return "" }, InputSchema: json.RawMessage(`{}`), OutputSchema: json.RawMessage(`{}`), ReadOnly: true, Projector: "1"}
}
func (*lender) Parse(json.RawMessage, boundary.ParseContext) (nothing, error) { return nothing{}, nil }
func (*lender) Scope(nothing) boundary.Scope                                  { return boundary.Scope{Normal: "x", Text: "x"} }
func (l *lender) Execute(_ context.Context, p *boundary.Permit, _ nothing, _ canonical.Salt) (nothing, error) {
	l.got = p
	return nothing{}, nil
}
func (*lender) Project(nothing, nothing, boundary.View) (boundary.Projection[nothing], error) {
	return boundary.Projection[nothing]{}, nil
}

// permit gives a permit of n bytes.
func permit(t testing.TB, n int64) *boundary.Permit {
	t.Helper()
	l := &lender{}
	b, err := boundary.New(boundary.Options{Ledger: canonical.NewLedger(memstore.New(time.Now), time.Now), Limits: boundary.Limits{MaxRaw: n, MaxRecord: 1 << 40}}, boundary.Bind(l))
	if err != nil {
		t.Fatal(err)
	}
	// The raw answer "{}" of two bytes may be over n: the permit is what is wanted, not the observation.
	_, _ = b.Invoke(context.Background(), boundary.Run{Principal: "local:test", ID: "inc-1", Spec: runSpec()}, boundary.Envelope{Tool: "lend"})
	if l.got == nil {
		t.Fatal("no permit")
	}
	return l.got
}

func runSpec() *canonical.RunSpec {
	return &canonical.RunSpec{Limits: canonical.Limits{Calls: 1e6, RequestBytes: 1 << 30, RawBytes: 1 << 40, ObservationBytes: 1 << 40}, NoGain: canonical.NoGain{Limit: 1000, Window: 1000}, TTL: time.Hour}
}
