package harness_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/harness"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/sqlguard"
	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/files"
	"github.com/seed-069badc9/mcp-gateway/tools/mysql"
)

// noon is the clock of these tests. Ranges lie on a grid of 2^k ms, and two questions that a border of it happens to part would be two; which events are shown as
// samples follows the range, and a new one may count as gain: a fixed time makes both the same on every run.
var noon = time.UnixMilli(1_767_268_800_000>>18<<18 + 100_000).UTC()

// shopLog writes a log of one topic, an event every ten seconds for the last half hour.
func shopLog(t testing.TB) boundary.BoundTool {
	t.Helper()
	var b strings.Builder
	begin := noon.Add(-30 * time.Minute).Truncate(time.Second)
	for i := range 180 {
		at := begin.Add(time.Duration(i) * 10 * time.Second).Format(time.RFC3339)
		if i%3 == 0 {
			fmt.Fprintf(&b, "%s ERROR payment gateway answered 502 for order %d\n", at, 1000+i)
		} else {
			fmt.Fprintf(&b, "%s INFO order %d paid\n", at, 1000+i)
		}
	}
	path := filepath.Join(t.TempDir(), "shop.log")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, noon, noon); err != nil {
		t.Fatal(err)
	}
	src, err := files.New(files.Options{Paths: []string{path}, Timezone: "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	r, err := redact.New(redact.Options{Classes: redact.Classes{Secrets: true}})
	if err != nil {
		t.Fatal(err)
	}
	var topics []logs.Topic
	for _, n := range []string{"shop", "stock"} {
		topics = append(topics, logs.Topic{Name: n, Source: src, Redactor: r})
	}
	tool, err := logs.New(logs.Options{Topics: topics})
	if err != nil {
		t.Fatal(err)
	}
	return boundary.Bind(tool)
}

// orders is an executor over one table that answers every statement with the same rows, or with none.
type orders struct{ rows [][]string }

func (o orders) Run(_ context.Context, p *boundary.Permit, plan sqlguard.Plan) (mysql.Raw, error) {
	var raw mysql.Raw
	for _, out := range plan.Outputs() {
		raw.Columns = append(raw.Columns, mysql.Column{Name: out.Name, Type: "varchar", Form: mysql.Text})
	}
	for _, r := range o.rows {
		row := make([]mysql.Cell, 0, len(raw.Columns))
		for i := range raw.Columns {
			row = append(row, mysql.Cell{Text: r[i%len(r)]})
		}
		raw.Rows = append(raw.Rows, row)
	}
	return raw, p.Take(len(o.rows))
}

func (orders) Catalogue(context.Context, []mysql.TableName) ([]mysql.TableInfo, error) {
	return nil, nil
}

func shopDB(t testing.TB, rows [][]string) boundary.BoundTool {
	t.Helper()
	g, err := sqlguard.New(sqlguard.PolicySpec{DefaultSchema: "shop", Schemas: map[string]map[string]sqlguard.TableSpec{"shop": {
		"orders": {Columns: []string{"id", "status", "customer_id"}}, "customers": {Columns: []string{"id", "name"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	tool, err := mysql.New(mysql.Options{Datasources: []mysql.Datasource{{Name: "shop", Guard: g, Executor: orders{rows}}}})
	if err != nil {
		t.Fatal(err)
	}
	return boundary.Bind(tool)
}

// with gives arguments with one text.
func with(member, text, rest string) string {
	b, _ := json.Marshal(text)
	return `{"` + member + `":` + string(b) + rest + `}`
}

// One question asked in ever new words brings nothing new, however it is spelled. A second passes between two calls.
func TestNearIdenticalCallsCannotEvadeTheStreak(t *testing.T) {
	t.Parallel()
	base := noon
	logText := func(q string) string { return with("query", q, `,"topics":["shop"],"from":"-1h"`) }
	sql := func(q string) string { return with("sql", q, `,"datasource":"shop"`) }
	window := func(query, layout string, zone int, from, to time.Duration) string {
		in := time.FixedZone("", zone*3600)
		return fmt.Sprintf(`{"topics":["shop"],"query":%q,"from":%q,"to":%q}`, query, base.In(in).Add(from).Format(layout), base.In(in).Add(to).Format(layout))
	}
	const milli = "2006-01-02T15:04:05.000Z07:00"
	for name, c := range map[string]struct {
		tool  boundary.BoundTool
		calls []string
	}{
		"log text found": {shopLog(t), []string{logText("answered 502"), logText("ANSWERED 502"), logText("  answered   502 "), logText("502 answered"), logText(`"answered" 502`)}},
		"log topics": {shopLog(t), []string{`{"topics":["shop","stock"],"query":"502"}`, `{"topics":["stock","shop"],"query":"502"}`, `{"topics":["shop","stock","shop"],"query":"502","level":"error"}`,
			`{"topics":["shop","stock"],"query":"502","level":"ERROR"}`}},
		"log levels": {shopLog(t), []string{`{"topics":["shop"],"query":"502"}`, `{"topics":["shop"],"query":"502","level":"error"}`, `{"topics":["shop"],"query":"502","level":"err"}`,
			`{"topics":["shop"],"query":"502","level":"warn"}`}},
		"overlapping windows of a log": {shopLog(t), []string{window("502", milli, 0, -time.Hour, 0), window("502", milli, 0, -time.Hour, -time.Minute), window("502", milli, 0, -59*time.Minute, 0),
			window("502", milli, 0, -50*time.Minute, -time.Minute), window("502", milli, 0, -45*time.Minute, 0), window("502", milli, 0, -40*time.Minute, -2*time.Minute), window("502", milli, 0, -35*time.Minute, 0)}},
		"log text not found":                   {shopLog(t), []string{logText("zebra"), logText("ZEBRA"), logText(" zebra "), logText(`"zebra"`), logText("zebra zebra")}},
		"log terms in another order not found": {shopLog(t), []string{logText("zebra -paid order"), logText("order  zebra -PAID"), logText("-paid ORDER zebra")}},
		"a window of a log in several spellings, not found": {shopLog(t), []string{window("zebra", time.RFC3339, 0, -20*time.Minute, -5*time.Minute), window("Zebra", time.RFC3339, 1, -20*time.Minute, -5*time.Minute),
			window("zebra", milli, -8, -20*time.Minute, -5*time.Minute)}},
		"shifted windows of a log, not found": {shopLog(t), []string{window("zebra", milli, 0, -20*time.Minute, -5*time.Minute), window("zebra", milli, 0, -20*time.Minute+time.Second, -5*time.Minute+time.Second),
			window("zebra", milli, 0, -20*time.Minute-time.Second, -5*time.Minute+2*time.Second)}},
		"log defaults spelled out, found": {shopLog(t), []string{`{"topics":["shop"],"query":"502"}`, `{"topics":["shop"],"query":"502","from":"-1h"}`, `{"topics":["shop"],"query":"502","from":"-60m","to":"now"}`,
			`{"topics":["shop"],"query":"502","limit":20}`, `{"topics":["shop"],"query":"502","limit":10}`, `{"topics":["shop"],"query":"502 -zebra"}`, `{"topics":["shop"],"query":"/50[2]/"}`}},
		"log defaults spelled out, not found": {shopLog(t), []string{`{"topics":["shop"],"query":"zebra"}`, `{"topics":["shop"],"query":"zebra","from":"-1h"}`, `{"topics":["shop"],"query":"zebra","from":"-60m","to":"now"}`,
			`{"topics":["shop"],"query":"zebra","from":"-3600s"}`, `{"topics":["shop"],"query":"zebra","limit":20}`, `{"topics":["shop"],"query":"zebra","limit":21}`}},
		"SQL found, asked around corners": {shopDB(t, [][]string{{"1", "FAILED"}}), []string{sql("SELECT id, status FROM orders"), sql("SELECT id, status FROM orders ORDER BY id DESC LIMIT 7"), sql("SELECT DISTINCT id, status FROM orders WHERE 1 = 1"),
			sql("SELECT x.id, x.status FROM (SELECT id, status FROM orders) x"), sql("WITH y AS (SELECT id, status FROM orders) SELECT id, status FROM y"), sql("SELECT id, status FROM orders UNION SELECT id, status FROM orders"),
			sql("SELECT id AS a, status AS b FROM orders"), sql("SELECT id AS c, status AS d FROM orders"), sql("SELECT status, id FROM orders")}},
		"SQL found": {shopDB(t, [][]string{{"1", "FAILED"}}), []string{sql("SELECT id, status FROM orders WHERE status = 'FAILED' AND customer_id = 7"),
			sql("select  id,\n status from shop.orders where status='FAILED' and customer_id=7;"), sql("SELECT id, status FROM orders WHERE customer_id = 7 AND status = 'FAILED'"),
			sql("SELECT id, status FROM `orders` WHERE customer_id = 7 AND status = 'FAILED' LIMIT 50"), sql("SELECT o.id, o.status FROM orders o WHERE o.status IN ('FAILED')")}},
		"SQL not found": {shopDB(t, nil), []string{sql("SELECT id, status FROM orders WHERE status = 'FAILED' AND customer_id = 7"),
			sql("select ID,Status   from shop.orders where status = 'FAILED' and customer_id = 7 -- again"), sql("SELECT id, status FROM `orders` WHERE (status = 'FAILED') AND (customer_id = 7) LIMIT 1000"),
			sql("SELECT id, status FROM orders WHERE customer_id = 7 AND status = 'FAILED'"), sql("SELECT o.id, o.status FROM orders AS o WHERE 7 = o.customer_id AND 'FAILED' = o.status")}},
		"SQL lists not found": {shopDB(t, nil), []string{sql("SELECT id FROM orders WHERE status IN ('A', 'B') OR customer_id > 5"), sql("SELECT id FROM orders WHERE customer_id > 5 OR status IN ('B', 'A')"),
			sql("SELECT id FROM orders WHERE 5 < customer_id OR status IN ('B', 'A', 'B')")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := registered()
			p.Defaults.NoGain = canonical.NoGain{Limit: len(c.calls) - 1, Window: len(c.calls)}
			w := newWorld(t, p, nil, nil, c.tool)
			open(t, w, `{"run_id":"inc-1"}`)
			tool := c.tool.Spec().Name
			for i, args := range c.calls {
				w.clock = base.Add(time.Duration(i) * time.Second)
				if _, code := w.ask(t, "inc-1", fmt.Sprint("c", i), tool, args); code != "" {
					t.Fatalf("%s: %s", args, code)
				}
				if v := w.views[len(w.views)-1]; v.NoGainStreak != i {
					t.Errorf("%s: %s, a streak of %d after %d calls that mean the same (%s)", args, v.Gain, v.NoGainStreak, i+1, v.Scope)
				}
			}
			if _, code := w.ask(t, "inc-1", "last", tool, c.calls[0]); code != fault.StopRequired {
				t.Errorf("one more call: %q", code)
			}
		})
	}
}

// Questions that differ are not taken for one: narrowing down, looking elsewhere and asking for what is new gain or are neutral.
func TestHonestQuestionsAreNotStopped(t *testing.T) {
	t.Parallel()
	base := noon
	for name, c := range map[string]struct {
		tool  boundary.BoundTool
		calls []string
	}{
		"windows side by side": {shopLog(t), []string{`{"topics":["shop"],"query":"zebra","from":"-28m","to":"-23m"}`, `{"topics":["shop"],"query":"zebra","from":"-23m","to":"-18m"}`,
			`{"topics":["shop"],"query":"zebra","from":"-18m","to":"-13m"}`, `{"topics":["shop"],"query":"zebra","from":"-13m","to":"-8m"}`}},
		"other words": {shopLog(t), []string{`{"topics":["shop"],"query":"zebra"}`, `{"topics":["shop"],"query":"okapi"}`, `{"topics":["shop"],"query":"zebra okapi"}`, `{"topics":["shop"],"query":"-paid -answered"}`}},
		"other values": {shopDB(t, nil), []string{with("sql", "SELECT id FROM orders WHERE customer_id = 1", `,"datasource":"shop"`), with("sql", "SELECT id FROM orders WHERE customer_id = 2", `,"datasource":"shop"`),
			with("sql", "SELECT status FROM orders WHERE customer_id = 1", `,"datasource":"shop"`), with("sql", "SELECT id FROM customers WHERE id = 1", `,"datasource":"shop"`),
			with("sql", "SELECT id FROM orders WHERE customer_id = 1 AND status = 'A'", `,"datasource":"shop"`), with("sql", "SELECT id FROM orders WHERE customer_id = 1 OR status = 'A'", `,"datasource":"shop"`),
			with("sql", "SELECT id FROM orders WHERE status = 'a'", `,"datasource":"shop"`), with("sql", "SELECT id FROM orders WHERE status = 'A'", `,"datasource":"shop"`)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, registered(), nil, nil, c.tool)
			w.clock = base
			open(t, w, `{"run_id":"inc-1"}`)
			for i, args := range c.calls {
				if _, code := w.ask(t, "inc-1", fmt.Sprint("c", i), c.tool.Spec().Name, args); code != "" {
					t.Fatalf("%s: %s", args, code)
				}
				if v := w.views[len(w.views)-1]; v.NoGainStreak != 0 || v.DuplicateOf != "" {
					t.Errorf("%s: %s, duplicate of %q (%s)", args, v.Gain, v.DuplicateOf, v.Scope)
				}
			}
		})
	}
}

func open(t testing.TB, w *world, body string) {
	t.Helper()
	if a := w.do(t, opsToken, "POST", "/v1/principals/alice/runs", body); a.status != 201 {
		t.Fatalf("%d %s", a.status, a.body)
	}
}

// A stopped run says what was searched: in words, newest first, each once, bounded. Resumed, it goes on from there.
func TestTheCheckedScopesAreWorthReading(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registered(), nil, nil)
	open(t, w, `{"run_id":"inc-1","no_gain":{"limit":2,"window":2}}`)
	long := strings.Repeat("ünï", 200)
	for i := range 12 {
		if code := w.lines(t, "inc-1", fmt.Sprint("c", i), fmt.Sprint("word", i)); code != "" {
			t.Fatal(code)
		}
	}
	for i, word := range []string{long, "word3", "Word3", "WORD3 "} {
		if code := w.lines(t, "inc-1", fmt.Sprint("d", i), word); i < 3 && code != "" {
			t.Fatalf("%.10s: %s", word, code)
		}
	}
	r := w.runs.Resolve(boundary.Identity{Principal: "alice", Header: "inc-1"})
	_, err := w.Invoke(t.Context(), r, boundary.Envelope{CallID: "e0", Tool: "query_lines", Args: json.RawMessage(`{"word":"other"}`)})
	ref, ok := errors.AsType[*boundary.Refusal](err)
	if !ok || ref.Code != fault.StopRequired || ref.Control == nil {
		t.Fatalf("%v", err)
	}
	var p harness.ProgressSnapshot
	w.do(t, opsToken, "GET", "/v1/principals/alice/runs/inc-1/progress", "").read(t, &p)
	if !p.StopRequired || p.NoGainStreak != 2 || p.NoGainLimit != 2 || len(p.CheckedScopes) != canonical.MaxScopes || p.CheckedScopes[0] != "lines with word3" {
		t.Errorf("progress %+v", p)
	}
	if d := cmp.Diff(p.CheckedScopes[2:7], []string{"lines with word11", "lines with word10", "lines with word9", "lines with word8", "lines with word7"}); d != "" {
		t.Error(d)
	}
	for i, s := range p.CheckedScopes {
		if len(s) > 256 || !utf8.ValidString(s) {
			t.Errorf("scope %d: %d bytes", i, len(s))
		}
	}
	told := ref.Control.CheckedScopes
	if len(told) < 4 || cmp.Diff(told, p.CheckedScopes[:len(told)]) != "" || len(ref.JSON()) > 2<<10 {
		t.Errorf("the model is told %q in %d bytes", told, len(ref.JSON()))
	}
	if a := w.do(t, opsToken, "POST", "/v1/principals/alice/runs/inc-1/resume", ""); a.status != 200 {
		t.Fatal(string(a.body))
	}
	if code := w.lines(t, "inc-1", "f0", "gateway"); code != "" {
		t.Errorf("after resume: %s", code)
	}
	if code := w.lines(t, "inc-1", "f1", "word5"); code != "" || w.views[len(w.views)-1].Gain != canonical.GainNo {
		t.Errorf("a scope that was empty before resume: %q %+v", code, w.views[len(w.views)-1])
	}
}

// The rule looks at the last calls only: what gained nothing long ago does not stop a run that gets on.
func TestTheWindowSlides(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registered(), nil, nil)
	open(t, w, `{"run_id":"inc-1"}`) // 2 of 3
	w.lines(t, "inc-1", "first", "disk")
	for i := range 20 {
		word := fmt.Sprint("new", i) // neutral
		if i%3 == 0 {
			word = "disk" // no gain
		}
		if code := w.lines(t, "inc-1", fmt.Sprint("c", i), word); code != "" {
			t.Fatalf("call %d: %s", i, code)
		}
	}
	for i, want := range []fault.Code{"", fault.StopRequired} {
		if code := w.lines(t, "inc-1", fmt.Sprint("d", i), "disk"); code != want {
			t.Errorf("repetition %d: %q", i, code)
		}
	}
}

// In an implicit run the model is told inside the answer, and goes on.
func TestAnImplicitRunIsAdvised(t *testing.T) {
	t.Parallel()
	p := registered()
	p.Mode = canonical.Implicit
	w := newWorld(t, p, nil, nil)
	for i := range 4 {
		obs, code := w.ask(t, "inc-1", fmt.Sprint("c", i), "query_lines", `{"word":"disk"}`)
		if advised := strings.Contains(string(obs.JSON()), `"control":{"code":"STOP_REQUIRED","checked_scopes":["lines with disk"]}`); code != "" || advised != (i == 3) || strings.Contains(string(obs.Result()), "control") {
			t.Errorf("call %d: %q %s", i, code, obs.JSON())
		}
	}
}

// Ever new run ids do not multiply what a principal may hold and do.
func TestFreshRunsCannotEvadeTheCeilings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ceilings canonical.Ceilings
		want     fault.Code
	}{
		"open runs":      {canonical.Ceilings{OpenRuns: 5}, fault.BudgetExhausted},
		"calls a minute": {canonical.Ceilings{CallsPerMinute: 5}, fault.Overloaded},
		"live bytes":     {canonical.Ceilings{LiveBytes: 900}, fault.BudgetExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // the minute is the store's
				p := harness.DefaultPolicy()
				p.Ceilings = c.ceilings
				w := newWorld(t, p, nil, nil)
				refused := 0
				for i := range 40 {
					id := boundary.Identity{Principal: "alice"}
					switch i % 4 { // every way to name a run
					case 0:
						id.Header = fmt.Sprint("run-", i)
					case 1:
						id.Meta = fmt.Sprint("run-", i)
					case 2:
						id.Conversation = fmt.Sprint("threadId:", i)
					default:
						id.Process = fmt.Sprint("process-", i)
					}
					_, err := w.Invoke(t.Context(), w.runs.Resolve(id), boundary.Envelope{Tool: "query_lines", Args: json.RawMessage(`{"word":"gateway"}`)})
					switch ref, _ := errors.AsType[*boundary.Refusal](err); {
					case err == nil && refused > 0:
						t.Errorf("call %d got through after a refusal", i)
					case err != nil && ref.Code != c.want:
						t.Errorf("call %d: %v, want %s", i, err, c.want)
					case err != nil:
						refused++
					}
				}
				if refused < 30 || refused == 40 {
					t.Errorf("%d of 40 calls refused", refused)
				}
				other := w.runs.Resolve(boundary.Identity{Principal: "bob", Header: "run-1"})
				if _, err := w.Invoke(t.Context(), other, boundary.Envelope{Tool: "query_lines", Args: json.RawMessage(`{"word":"gateway"}`)}); err != nil {
					t.Errorf("another principal pays for it: %v", err)
				}
			})
		})
	}
	p := registered()
	p.Ceilings.OpenRuns = 2
	w := newWorld(t, p, nil, nil)
	for i, want := range []int{201, 201, 429} {
		if a := w.do(t, opsToken, "POST", "/v1/principals/alice/runs", fmt.Sprintf(`{"run_id":"r%d"}`, i)); a.status != want {
			t.Errorf("run %d: %d %s", i, a.status, a.body)
		}
	}
	if a := w.do(t, opsToken, "DELETE", "/v1/principals/alice/runs/r0", ""); a.status != 204 {
		t.Errorf("%d %s", a.status, a.body)
	}
	open(t, w, `{"run_id":"r9"}`)
}
