// Package logtest drives query_logs through a real boundary for the tests of the log backends: a Gateway over sources, whose answers are read as a caller reads them,
// and a Sink that keeps what a source hands over.
package logtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/memstore"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/tools/logs"
)

// Now is the clock of all calls.
var Now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Morning is the range of most calls, an hour before noon, as members of the arguments.
const Morning = `"from":"2026-01-01T10:00:00Z","to":"2026-01-01T11:00:00Z"`

// Secret is a value to plant in events; no answer may show it.
const Secret = "Qx7Kd2" + "Vw9Zp4Ft"

// At is a time within the range of Morning.
func At(minute, second int) string { return fmt.Sprintf("2026-01-01T10:%02d:%02dZ", minute, second) }

// Answer is an observation as a caller reads it, or the code and the hint of a refusal.
type Answer struct {
	Evidence  string `json:"evidence_status"`
	Truncated bool   `json:"truncated"`
	Scope     struct {
		Covered *struct{ From, To string } `json:"covered"`
	} `json:"scope"`
	Patterns []logs.PatternView `json:"patterns"`
	Events   []logs.EventView   `json:"events"`
	Text     string             `json:"-"`
	Code     fault.Code         `json:"-"`
	Hint     string             `json:"-"`
}

// Total is how many events matched.
func (a Answer) Total() (n int64) {
	for _, p := range a.Patterns {
		n += p.Count
	}
	return n
}

// Shown is what an answer shows of the logs: all but the scope, which echoes the caller's own words.
func (a Answer) Shown() string {
	_, shown, _ := strings.Cut(a.Text, `"patterns"`)
	return shown
}

// Tool serves each source as a topic.
func Tool(tb testing.TB, topics map[string]logs.Source) *logs.Tool {
	tb.Helper()
	red, err := redact.New(redact.Options{Classes: redact.All})
	if err != nil {
		tb.Fatal(err)
	}
	var o logs.Options
	for name, src := range topics {
		o.Topics = append(o.Topics, logs.Topic{Name: name, Description: name + " service", Source: src, Redactor: red})
	}
	tool, err := logs.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	return tool
}

// Gateway is a boundary with query_logs.
type Gateway struct {
	b *boundary.Boundary
	n int
}

// salted masks alike in all runs, so that answers can be compared.
type salted struct{ *canonical.Ledger }

// Open opens a call with a fixed salt.
func (l salted) Open(ctx context.Context, a canonical.OpenArgs) (*canonical.Pending, canonical.Grant, error) {
	a.Salt = canonical.Salt{7}
	return l.Ledger.Open(ctx, a)
}

// New makes a gateway over sources.
func New(tb testing.TB, topics map[string]logs.Source) *Gateway {
	tb.Helper()
	clock := func() time.Time { return Now }
	b, err := boundary.New(boundary.Options{Ledger: salted{canonical.NewLedger(memstore.New(clock), clock)}, Clock: clock}, boundary.Bind(Tool(tb, topics)))
	if err != nil {
		tb.Fatal(err)
	}
	return &Gateway{b: b}
}

// Query asks one topic. more are further members of the arguments.
func (g *Gateway) Query(tb testing.TB, topic, query, more string) Answer {
	tb.Helper()
	q, err := json.Marshal(query)
	if err != nil {
		tb.Fatal(err)
	}
	g.n++
	run := boundary.Run{Principal: "p", ID: "r", Spec: &canonical.RunSpec{TTL: time.Hour,
		Limits: canonical.Limits{Calls: 1 << 20, RequestBytes: 1 << 30, RawBytes: 1 << 40, ObservationBytes: 1 << 30}, NoGain: canonical.NoGain{Limit: 1000, Window: 1000}}}
	o, err := g.b.Invoke(tb.Context(), run, boundary.Envelope{CallID: fmt.Sprint("c", g.n), Tool: "query_logs", Args: json.RawMessage(fmt.Sprintf(`{"topics":[%q],"query":%s,%s}`, topic, q, more))})
	if err != nil {
		ref, ok := errors.AsType[*boundary.Refusal](err)
		if !ok {
			tb.Fatalf("Invoke: %T", err)
		}
		return Answer{Code: ref.Code, Hint: ref.Hint}
	}
	a := Answer{Text: string(o.Result())}
	if err := json.Unmarshal(o.Result(), &a); err != nil {
		tb.Fatal(err)
	}
	return a
}

// Sink keeps the texts of events.
type Sink struct{ Texts []string }

// Lane is the sink itself.
func (s *Sink) Lane() logs.Lane { return s }

// Found tells whether there were events.
func (s *Sink) Found() bool { return len(s.Texts) > 0 }

// Close does nothing.
func (s *Sink) Close() {}

// Emit keeps an event.
func (s *Sink) Emit(e logs.Event) error {
	s.Texts = append(s.Texts, string(e.Text))
	return nil
}

// Hostile are texts that mean something in a query language, in its strings, in its regular expressions or in an address.
var Hostile = []string{
	`"`, `\`, `\\`, `\"`, `") or (*`, `") or * #`, "`", "'", "line\nend", "tab\tx", `{service="shop"}`, `"} or {app="other"`, `*`, `.*`, `(`, `)`, `[a-z]+`, `| delete _msg`, `| stats count()`,
	`" |= "x`, `" | line_format "x`, "{{ .pod }}", "{{", `!(`, `~`, `:`, `$`, `^`, `\Q`, `\E`, `(?i:x)`, `or *`, `AND`, `_time:5y`, `#`, "\x00", "%22", "&query=*", "é\u2028z", `\x22 or *`,
	`\u0022`, `*:*`, `message:*`, `field:[1 TO 2]`, `a~2`, `"}},{"match_all":{}},{"x":{"y":"`, `?`, `+a -b && || !c ^2`, `/x/`, `<script>`,
}
