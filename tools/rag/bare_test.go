package rag

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/memstore"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// A folder that was empty, or not the one that was meant, made "the runbooks say nothing of it" a fact to be cited.
func TestACollectionThatHoldsNothingProvesNothing(t *testing.T) {
	t.Parallel()
	bare := Collection{Name: "bare", Searcher: fixed{ans: Answer{Bare: true}}}
	none := Collection{Name: "none", Searcher: fixed{}}
	full := Collection{Name: "full", Searcher: fixed{ans: Answer{Hits: []Hit{hit("a", 0.9, "alpha")}}}}
	for name, c := range map[string]struct {
		collections []Collection
		says        string // "": the call is READY
	}{
		"alone":                         {[]Collection{bare}, "collection bare holds no document"},
		"beside one that finds nothing": {[]Collection{bare, none}, "collection bare holds no document"},
		"beside one that finds":         {[]Collection{bare, full}, ""},
		"nothing found where there is":  {[]Collection{none}, ""},
	} {
		b, err := boundary.New(boundary.Options{Ledger: canonical.NewLedger(memstore.New(time.Now), nil)}, boundary.Bind(tool(t, c.collections...)))
		if err != nil {
			t.Fatal(err)
		}
		run := boundary.Run{Principal: "p", ID: "r1", Spec: &canonical.RunSpec{TTL: time.Hour, NoGain: canonical.NoGain{Limit: 8, Window: 10},
			Limits: canonical.Limits{Calls: 10, RequestBytes: 1e6, RawBytes: 1e6, ObservationBytes: 1e6}}}
		_, err = b.Invoke(t.Context(), run, boundary.Envelope{CallID: "c1", Tool: "query_rag", Args: json.RawMessage(`{"query":"disk"}`)})
		ref, refused := err.(*boundary.Refusal)
		if refused != (c.says != "") || refused && (ref.Code != fault.BackendIncomplete || !strings.Contains(ref.Hint, c.says)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
