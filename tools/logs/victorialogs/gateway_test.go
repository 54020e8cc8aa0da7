package victorialogs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/memstore"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/victorialogs"
)

// now is the clock of all calls; the events lie in the hours before it.
var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

const morning = `"from":"2026-01-01T10:00:00Z","to":"2026-01-01T11:00:00Z"`

// secret is planted in events and must never be seen.
const secret = "Qx7Kd2" + "Vw9Zp4Ft"

// answer is an observation as a caller reads it.
type answer struct {
	Evidence  string `json:"evidence_status"`
	Truncated bool   `json:"truncated"`
	Scope     struct {
		Covered *struct{ From, To string } `json:"covered"`
	} `json:"scope"`
	Patterns []logs.PatternView `json:"patterns"`
	Events   []logs.EventView   `json:"events"`
	text     string
	code     fault.Code
	hint     string
}

func (a answer) total() (n int64) {
	for _, p := range a.Patterns {
		n += p.Count
	}
	return n
}

// gateway calls the tool through a real boundary.
type gateway struct {
	b *boundary.Boundary
	n int
}

type salted struct{ *canonical.Ledger }

func (l salted) Open(ctx context.Context, a canonical.OpenArgs) (*canonical.Pending, canonical.Grant, error) {
	a.Salt = canonical.Salt{7}
	return l.Ledger.Open(ctx, a)
}

func source(t testing.TB, o victorialogs.Options) *victorialogs.Source {
	t.Helper()
	s, err := victorialogs.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// newTool serves each source as a topic.
func newTool(t testing.TB, o logs.Options, topics map[string]logs.Source) *logs.Tool {
	t.Helper()
	red, err := redact.New(redact.Options{Classes: redact.All})
	if err != nil {
		t.Fatal(err)
	}
	for name, src := range topics {
		o.Topics = append(o.Topics, logs.Topic{Name: name, Description: name + " service", Source: src, Redactor: red})
	}
	tool, err := logs.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func newGateway(t testing.TB, topics map[string]logs.Source) *gateway {
	t.Helper()
	clock := func() time.Time { return now }
	b, err := boundary.New(boundary.Options{Ledger: salted{canonical.NewLedger(memstore.New(clock), clock)}, Clock: clock}, boundary.Bind(newTool(t, logs.Options{}, topics)))
	if err != nil {
		t.Fatal(err)
	}
	return &gateway{b: b}
}

func (g *gateway) call(t testing.TB, args string) answer {
	t.Helper()
	g.n++
	run := boundary.Run{Principal: "p", ID: "r", Spec: &canonical.RunSpec{TTL: time.Hour,
		Limits: canonical.Limits{Calls: 1 << 20, RequestBytes: 1 << 30, RawBytes: 1 << 40, ObservationBytes: 1 << 30}, NoGain: canonical.NoGain{Limit: 1000, Window: 1000}}}
	o, err := g.b.Invoke(t.Context(), run, boundary.Envelope{CallID: fmt.Sprint("c", g.n), Tool: "query_logs", Args: json.RawMessage(args)})
	if err != nil {
		ref, ok := errors.AsType[*boundary.Refusal](err)
		if !ok {
			t.Fatalf("Invoke: %T", err)
		}
		return answer{code: ref.Code, hint: ref.Hint}
	}
	a := answer{text: string(o.Result())}
	if err := json.Unmarshal(o.Result(), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// query calls for a topic, with a query that needs no escaping in JSON beyond what Marshal does.
func (g *gateway) query(t testing.TB, topic, query, more string) answer {
	t.Helper()
	q, err := json.Marshal(query)
	if err != nil {
		t.Fatal(err)
	}
	return g.call(t, fmt.Sprintf(`{"topics":[%q],"query":%s,%s}`, topic, q, more))
}
