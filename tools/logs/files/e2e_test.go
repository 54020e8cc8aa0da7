package files_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/memstore"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/files"
)

// now is the clock of all calls; the files lie in the hours before it.
var now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// answer is an observation as a caller reads it.
type answer struct {
	Evidence  string `json:"evidence_status"`
	Truncated bool   `json:"truncated"`
	Scope     struct {
		Topics  []string `json:"topics"`
		From    string   `json:"from"`
		To      string   `json:"to"`
		Query   string   `json:"query"`
		Covered *struct {
			From string `json:"from"`
			To   string `json:"to"`
		} `json:"covered"`
	} `json:"scope"`
	Patterns        []logs.PatternView `json:"patterns"`
	PatternsOmitted int                `json:"patterns_omitted"`
	Events          []logs.EventView   `json:"events"`
	Note            string             `json:"note"`
	text            string
	code            fault.Code
	hint            string
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

// newTool serves each folder or file pattern as a topic.
func newTool(t testing.TB, o logs.Options, topics map[string]string) *logs.Tool {
	t.Helper()
	red, err := redact.New(redact.Options{Classes: redact.All})
	if err != nil {
		t.Fatal(err)
	}
	for name, pattern := range topics {
		src, err := files.New(files.Options{Paths: []string{pattern}, Timezone: "UTC"})
		if err != nil {
			t.Fatal(err)
		}
		o.Topics = append(o.Topics, logs.Topic{Name: name, Description: name + " service", Source: src, Redactor: red, AppPackages: []string{"com.example"}})
	}
	tool, err := logs.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func newGateway(t testing.TB, o logs.Options, topics map[string]string) *gateway {
	t.Helper()
	clock := func() time.Time { return now }
	b, err := boundary.New(boundary.Options{Limits: boundary.Limits{Timeout: 5 * time.Minute}, Ledger: salted{canonical.NewLedger(memstore.New(clock), clock)}, Clock: clock}, boundary.Bind(newTool(t, o, topics)))
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

func write(t testing.TB, dir, name, content string) string {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

const morning = `"from":"2026-01-01T10:00:00Z","to":"2026-01-01T11:00:00Z"`

// secret is a visibly fake value that no answer may hold.
const secret = "Zx77-" + "CANARY-0815"

func shopLog() string {
	var b strings.Builder
	for i := range 400 {
		if i == 307 {
			fmt.Fprintf(&b, `{"time":"2026-01-01T10:05:07Z","level":"ERROR","service":"checkout","msg":"payment declined: gateway answered 502 password=%s host=pay-7f9c6d5b8-x2x9z","status":502}`+"\n", secret)
		}
		fmt.Fprintf(&b, `{"time":"2026-01-01T10:%02d:%02dZ","level":"INFO","service":"checkout","msg":"order %d accepted in %dms from 10.1.2.%d"}`+"\n", i/60, i%60, i, i%90, i%250)
	}
	return b.String()
}

func TestAMatchIsShownWithoutItsSecret(t *testing.T) {
	t.Parallel()
	g := newGateway(t, logs.Options{}, map[string]string{"checkout": write(t, t.TempDir(), "checkout.log", shopLog())})
	a := g.call(t, `{"topics":["checkout"],"query":"declined",`+morning+`}`)
	if a.Evidence != "EVIDENCE_FOUND" || a.Truncated || len(a.Events) != 1 || len(a.Patterns) != 1 {
		t.Fatalf("got %s %s", a.code, a.text)
	}
	e := a.Events[0]
	if !strings.Contains(e.Message, "gateway answered 502") || !strings.Contains(e.Message, "status=502") || e.Level != "ERROR" || e.Service != "checkout" || e.Time != "2026-01-01T10:05:07Z" {
		t.Errorf("event %+v", e)
	}
	if strings.Contains(a.text, "CANARY") || strings.Contains(a.text, "pay-7f9c6d5b8") {
		t.Errorf("leak: %s", a.text)
	}
	if a := g.call(t, `{"topics":["checkout"],"query":"zebra_not_there",`+morning+`}`); a.Evidence != "NO_EVIDENCE" || a.Truncated || a.Patterns == nil || a.Events == nil {
		t.Errorf("no match: %s %s", a.code, a.text)
	}
}

func TestNothingIsSaidOfARangeThatNoFileCovers(t *testing.T) {
	t.Parallel()
	g := newGateway(t, logs.Options{}, map[string]string{"checkout": write(t, t.TempDir(), "checkout.log", shopLog())})
	a := g.call(t, `{"topics":["checkout"]}`)
	if a.code != fault.BackendIncomplete || !strings.Contains(a.hint, "2026-01-01T10:00:00Z") {
		t.Errorf("got %s (%s) %s", a.code, a.hint, a.text)
	}
	a = g.call(t, `{"topics":["checkout"],"query":"zebra","from":"2026-01-01T09:00:00Z","to":"2026-01-01T10:03:00Z"}`)
	if a.Evidence != "NO_EVIDENCE" || a.Scope.Covered == nil || a.Scope.Covered.From != "2026-01-01T10:00:00Z" || a.Scope.Covered.To != "2026-01-01T10:03:00Z" {
		t.Errorf("half covered: %s %s", a.code, a.text)
	}
}

// needles are the formats in which a rare line must be found.
var needles = map[string]func(ts time.Time, level, msg string) string{
	"json": func(ts time.Time, level, msg string) string {
		return fmt.Sprintf(`{"ts":%q,"level":%q,"msg":%q}`, ts.Format("2006-01-02T15:04:05.000Z"), level, msg)
	},
	"logfmt": func(ts time.Time, level, msg string) string {
		return fmt.Sprintf(`ts=%s level=%s msg=%q`, ts.Format("2006-01-02T15:04:05.000Z"), strings.ToLower(level), msg)
	},
	"text": func(ts time.Time, level, msg string) string {
		return fmt.Sprintf(`%s %s [main] app.Core - %s`, ts.Format("2006-01-02T15:04:05.000Z"), level, msg)
	},
	"docker": func(ts time.Time, level, msg string) string {
		return fmt.Sprintf(`{"log":"%s [%s] %s\n","stream":"stdout","time":%q}`, ts.Format("15:04:05"), level, msg, ts.Format(time.RFC3339Nano))
	},
	"python": func(ts time.Time, level, msg string) string {
		return fmt.Sprintf(`%s - shop.cart - %s - %s`, ts.Format("2006-01-02 15:04:05,000"), strings.Replace(level, "FATAL", "CRITICAL", 1), msg)
	},
	"syslog": func(ts time.Time, level, msg string) string {
		return fmt.Sprintf(`<%d>1 %s web01 cart 77 - - %s`, map[string]int{"INFO": 14, "ERROR": 11, "FATAL": 10}[level], ts.Format(time.RFC3339Nano), msg)
	},
	"cri": func(ts time.Time, level, msg string) string {
		return fmt.Sprintf(`%s stdout F level=%s msg=%q`, ts.Format("2006-01-02T15:04:05.000000000Z"), level, msg)
	},
}

func TestOneFatalLineAmongManyIsAlwaysShown(t *testing.T) {
	t.Parallel()
	lines := 30_000
	if os.Getenv("CI") != "" {
		lines = 60_000
	}
	rnd := rand.New(rand.NewSource(5))
	for name, format := range needles {
		t.Run(name, func(t *testing.T) {
			pos := rnd.Intn(lines)
			var b strings.Builder
			for i := range lines {
				level, msg := "INFO", fmt.Sprintf("served /item/%d in %dms", i, i%97)
				if i%11 == 0 {
					level, msg = "ERROR", fmt.Sprintf("retry %d of job %d failed with code %d", i%7, i, 500+i%3)
				}
				if i == pos {
					level, msg = "FATAL", "ledger checksum mismatch in segment alpha"
				}
				b.WriteString(format(time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC).Add(time.Duration(i)*100*time.Millisecond), level, msg) + "\n")
			}
			g := newGateway(t, logs.Options{}, map[string]string{"app": write(t, t.TempDir(), "app.log", b.String())})
			for _, args := range []string{`"level":"ERROR",`, ``} {
				a := g.call(t, `{"topics":["app"],`+args+`"from":"2026-01-01T10:00:00Z","to":"2026-01-01T20:00:00Z"}`)
				found := false
				for _, e := range a.Events {
					found = found || strings.Contains(e.Message, "ledger checksum mismatch") && e.Level == "FATAL"
				}
				if !found || !a.Truncated || len(a.text) > 16<<10 {
					t.Errorf("%s: found %v truncated %v %d bytes %s", args, found, a.Truncated, len(a.text), a.code)
				}
				var sum int64
				for _, p := range a.Patterns {
					sum += p.Count
				}
				if want := int64(lines); args == "" && sum != want {
					t.Errorf("patterns count %d events, want %d", sum, want)
				}
			}
		})
	}
}
