package rag

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/memstore"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// panicking is a backend that a hostile answer brings down.
type panicking struct{}

func (panicking) Search(context.Context, Query, func(int) error) (Answer, error) {
	panic("CANARY-in-a-panic")
}

// A panic of a searcher is on a goroutine of its own, past the boundary's net: it must end the call and not the process.
func TestAPanicOfASearcherEndsTheCallAlone(t *testing.T) {
	ledger := canonical.NewLedger(memstore.New(time.Now), nil)
	b, err := boundary.New(boundary.Options{Ledger: ledger}, boundary.Bind(tool(t, Collection{Name: "c", Searcher: panicking{}})))
	if err != nil {
		t.Fatal(err)
	}
	run := boundary.Run{Principal: "p", ID: "r1", Spec: &canonical.RunSpec{TTL: time.Hour, NoGain: canonical.NoGain{Limit: 8, Window: 10},
		Limits: canonical.Limits{Calls: 10, RequestBytes: 1e6, RawBytes: 1e6, ObservationBytes: 1e6}}}
	_, err = b.Invoke(t.Context(), run, boundary.Envelope{CallID: "c1", Tool: "query_rag", Args: json.RawMessage(`{"query":"disk"}`)})
	ref, ok := err.(*boundary.Refusal)
	if !ok || ref.Code != fault.Internal || strings.Contains(string(ref.JSON()), "CANARY") {
		t.Errorf("%v", err)
	}
	k, err := canonical.NewKey("p", "r1", "c1")
	if err != nil {
		t.Fatal(err)
	}
	if inv, err := ledger.Load(t.Context(), k); err != nil {
		t.Error(err)
	} else if _, failed := inv.(canonical.Failed); !failed {
		t.Errorf("the record is %T", inv)
	}
}
