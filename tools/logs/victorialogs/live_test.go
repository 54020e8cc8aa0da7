package victorialogs_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/boundary/boundarytest"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/internal/servertest"
	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/internal/logtest"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/victorialogs"
)

// event is one line as an agent sends it.
func event(m map[string]any) string {
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(b) + "\n"
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

// shop is the log of a small shop in which one payment fails.
func shop() string {
	var b strings.Builder
	b.WriteString(event(map[string]any{"time": "2026-01-01T09:30:00Z", "service": "shop", "level": "INFO", "msg": "started"}))
	for i := range 20 {
		b.WriteString(event(map[string]any{"time": logtest.At(i/4, i%4*15), "service": "shop", "level": "INFO", "pod": "shop-7d4b9c6f5-x2x4z", "msg": fmt.Sprintf("order %d accepted", 4000+i)}))
	}
	b.WriteString(event(map[string]any{"time": logtest.At(3, 7), "service": "shop", "level": "ERROR", "pod": "shop-7d4b9c6f5-x2x4z", "msg": "card declined password=" + logtest.Secret, "status": 502}))
	b.WriteString(event(map[string]any{"time": logtest.At(30, 0), "service": "shop", "level": "INFO", "msg": "still alive"}))
	return b.String()
}

// endless answers every search with events that never end.
func endless(t *testing.T) (boundary.BoundTool, string) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		line := event(map[string]any{"_time": logtest.At(1, 0), "_msg": "again and again"})
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat(line, 200)); err != nil {
				return
			}
		}
	}))
	t.Cleanup(srv.Close)
	src := source(t, victorialogs.Options{URL: srv.URL, MaxBytes: 2 << 20})
	return boundary.Bind(logtest.Tool(t, map[string]logs.Source{"shop": src})), `{"topics":["shop"],` + logtest.Morning + `}`
}

// stuck accepts a request and never answers.
func stuck(t *testing.T) (boundary.BoundTool, string, <-chan struct{}) {
	started := make(chan struct{}, 16)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		started <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(srv.Close)
	return boundary.Bind(logtest.Tool(t, map[string]logs.Source{"shop": source(t, victorialogs.Options{URL: srv.URL})})), `{"topics":["shop"],` + logtest.Morning + `}`, started
}

func TestContract(t *testing.T) {
	srv := servertest.StartVictoriaLogs(t)
	srv.Ingest(t, shop(), "service")
	var many strings.Builder
	for i := range 3000 {
		many.WriteString(event(map[string]any{"time": logtest.At(i/60, i%60), "service": "bulk", "level": "INFO", "msg": fmt.Sprintf("order %d accepted in %dms", i, i%90)}))
	}
	srv.Ingest(t, many.String(), "service")
	boundarytest.Run(t, boundarytest.Subject{
		Tool: boundary.Bind(logtest.Tool(t, map[string]logs.Source{
			"shop": source(t, victorialogs.Options{URL: srv.URL(), Filter: `{service="shop"}`}),
			"bulk": source(t, victorialogs.Options{URL: srv.URL(), Filter: "service:=bulk # fixed"}),
		})),
		Found:      `{"topics":["shop"],"query":"declined","from":"2026-01-01T10:00:00Z","to":"2026-01-01T10:06:00Z"}`,
		Empty:      `{"topics":["shop"],"query":"zebra","from":"2026-01-01T10:00:00Z","to":"2026-01-01T10:06:00Z"}`,
		Cut:        `{"topics":["bulk"],` + logtest.Morning + `}`,
		Secret:     logtest.Secret,
		Restricted: boundary.Topics,
		Name:       "shop",
		Now:        logtest.Now,
		Endless:    endless,
		Stuck:      stuck,
	})
}

// forms are terms of every kind and how many events of many() they find.
func forms() (lines string, want map[string]int64) {
	var b strings.Builder
	add := func(minute int, m map[string]any) {
		m["time"], m["service"] = logtest.At(minute, 0), "forms"
		b.WriteString(event(m))
	}
	add(0, map[string]any{"msg": "first"})
	add(1, map[string]any{"msg": "Payment TIMED out after 30s", "level": "warn", "status": 502, "kubernetes": map[string]any{"labels": map[string]any{"app": "pay"}}})
	add(2, map[string]any{"msg": `{"level":"error","msg":"na\u0069ve inner line","code":17}`, "pod": "forms-7d4b9c6f5-x2x4z"})
	add(3, map[string]any{"msg": "java.lang.IllegalStateException: broken\n\tat com.example.Cart.pay(Cart.java:12)\nCaused by: java.io.IOException: root cause here", "level": "ERROR"})
	add(4, map[string]any{"msg": `quote " backslash \ brace } { backtick ` + "`" + ` apostrophe ' pipe | star * hash # paren )`, "level": "info"})
	add(5, map[string]any{"msg": "level=debug msg=\"a logfmt line\" took=5ms", "pod": "p1"})
	add(6, map[string]any{"msg": "2026-01-01 10:06:00,000 ERROR [main] com.example.Pay - text layout", "pod": "p2"})
	add(7, map[string]any{"msg": "错误 支付失败 Größe ÄRGER", "level": "ERROR"})
	add(59, map[string]any{"msg": "\x1b[31mre\x1b[0md alert"})
	return b.String(), map[string]int64{
		"":                         9,
		"payment":                  1,
		"timed out":                1, // two terms
		`"timed out"`:              1,
		"timedout":                 0,
		"imed":                     1, // inside a word
		"-payment":                 8,
		"/TIMED\\s+out/":           1,
		"/timed/":                  0,
		"/(?i)timed|root cause/":   2,
		"status=502":               1,
		"STATUS=502":               1,
		"status=50":                0,
		"50":                       1,
		"status":                   1, // the name of a field
		"labels.app=pay":           1,
		"naïve":                    0,
		"naive":                    1, // written with an escape inside the message
		"inner":                    1,
		"code=17":                  1,
		`"root cause"`:             1,
		"Cart.java:12":             1,
		`"backslash \\ brace } {"`: 1,
		`"quote \" backslash"`:     1,
		"`":                        1,
		"pod=p1":                   1,
		"took=5ms":                 1,
		"level=error":              4,
		"-level=error":             5,
		"支付失败":                     1,
		"größe":                    1,
		"ärger":                    1,
		"red":                      1,
		"service=forms":            9,
	}
}

func TestEveryFormOfTermFindsWhatItShould(t *testing.T) {
	t.Parallel()
	srv := servertest.StartVictoriaLogs(t)
	lines, want := forms()
	srv.Ingest(t, lines+shop(), "service")
	g := logtest.New(t, map[string]logs.Source{"forms": source(t, victorialogs.Options{URL: srv.URL(), Filter: "service:=forms"})})
	for query, n := range want {
		a := g.Query(t, "forms", query, logtest.Morning)
		if a.Code != "" || a.Total() != n || (n == 0) != (a.Evidence == "NO_EVIDENCE") {
			t.Errorf("%s: %d events %s, want %d (%s %s)", query, a.Total(), a.Evidence, n, a.Code, a.Hint)
		}
	}
	for level, n := range map[string]int64{"TRACE": 7, "INFO": 6, "WARN": 5, "ERROR": 4, "FATAL": 0} {
		if a := g.Query(t, "forms", "", `"level":"`+level+`",`+logtest.Morning); a.Code != "" || a.Total() != n {
			t.Errorf("level %s: %d events, want %d (%s %s)", level, a.Total(), n, a.Code, a.Hint)
		}
	}
	for _, e := range g.Query(t, "forms", "root", logtest.Morning).Events {
		if e.Level != "ERROR" || e.Service != "forms" || !strings.Contains(e.Stack, "Caused by: java.io.IOException: root cause here") {
			t.Errorf("%+v", e)
		}
	}
}

// Every text is looked for as it is, in the letter case given or in any, and finds the event that holds it and no other service's.
func TestLiteralsAreQuotedIntoTheQuery(t *testing.T) {
	t.Parallel()
	srv := servertest.StartVictoriaLogs(t)
	var b strings.Builder
	for i, h := range logtest.Hostile {
		b.WriteString(event(map[string]any{"time": logtest.At(1, i%60), "service": "forms", "n": fmt.Sprint("event-", i), "msg": "<" + h + ">"}))
	}
	b.WriteString(event(map[string]any{"time": logtest.At(2, 0), "service": "forms", "msg": "plain words"}))
	srv.Ingest(t, b.String()+shop(), "service")
	src := source(t, victorialogs.Options{URL: srv.URL(), Filter: "service:=forms"})
	from := logtest.Now.Add(-2 * time.Hour)
	for i, h := range logtest.Hostile {
		for _, fold := range []bool{false, true} {
			text := "<" + h + ">"
			if fold {
				text = strings.ToLower(text)
			}
			var s logtest.Sink
			if _, err := src.Search(t.Context(), logs.Query{From: from, To: from.Add(time.Hour), Now: logtest.Now, Need: []logs.Literal{{Text: text, Fold: fold}}, MaxScan: 1 << 30}, &s); err != nil {
				t.Errorf("%q: %v", text, err)
				continue
			}
			if !slices.ContainsFunc(s.Texts, func(e string) bool { return strings.Contains(e, fmt.Sprintf(`"event-%d"`, i)) }) {
				t.Errorf("%q: its own event is not among %q", text, s.Texts)
			}
			for _, e := range s.Texts {
				if strings.Contains(e, "accepted") || strings.Contains(e, "plain words") {
					t.Errorf("%q reaches %s", text, e)
				}
			}
		}
	}
}

// A caller's words stay words, whatever they say in the query language: the other service's events are never reached and the query stays a valid one.
func TestHostileTermsReachNothingElse(t *testing.T) {
	t.Parallel()
	srv := servertest.StartVictoriaLogs(t)
	lines, _ := forms()
	srv.Ingest(t, lines+shop(), "service")
	g := logtest.New(t, map[string]logs.Source{"forms": source(t, victorialogs.Options{URL: srv.URL(), Filter: "service:=forms"})})
	if a := g.Query(t, "forms", "accepted", logtest.Morning); a.Evidence != "NO_EVIDENCE" {
		t.Fatalf("the filter does not bound the topic: %s", a.Text)
	}
	for _, q := range []string{
		`"x" or *`, `x" or * or "y`, `\"x\\" or *`, `x\") or service:shop | limit 5 #`, `")or(*`, `*`, `"* or service:shop"`, `a|delete _msg`, "`or`", `'x' or *`, `_time:5y`, `service:shop`,
		`"_time:5y or service:=shop"`, `{service="shop"}`, `"{service=\"shop\"}"`, `"x | stats count()"`, `/x" or *:~".*/`, `/x` + "`" + ` or */`, `/\Qaccepted\E|)|(accepted/`, `/(?i)order \d+ accepted/`, `"a\\" or *:~\"order"`,
		"\"tab\tor *\"", `options(global_filter="x")`, `"in(_time:5y service:shop | fields _msg)"`, `x:in(*)`, `accepted=1`, `"[x:y]=order"`, `order=*`, `"%26query=*"`, `"&query=*&extra=1"`,
	} {
		a := g.Query(t, "forms", q, logtest.Morning)
		if a.Code != "" && a.Code != fault.InvalidRequest {
			t.Errorf("%s: %s (%s)", q, a.Code, a.Hint)
		}
		if strings.Contains(a.Shown(), "accepted") || strings.Contains(a.Shown(), "declined") {
			t.Errorf("%s reaches another service: %s", q, a.Text)
		}
	}
}

func TestSmallAnswersStillCoverTheRange(t *testing.T) {
	t.Parallel()
	srv := servertest.StartVictoriaLogs(t)
	var b strings.Builder
	b.WriteString(event(map[string]any{"time": "2026-01-01T09:00:00Z", "service": "many", "msg": "before"}))
	for i := range 500 { // 250 instants of two events, then one instant of 40
		b.WriteString(event(map[string]any{"time": logtest.At(i/2/10, i/2%10), "service": "many", "level": "INFO", "n": i, "msg": fmt.Sprintf("tick %c", 'a'+i%2)}))
	}
	for i := range 40 {
		b.WriteString(event(map[string]any{"time": logtest.At(40, 0), "service": "many", "level": "ERROR", "n": i, "msg": "burst of one instant"}))
	}
	srv.Ingest(t, b.String(), "service")
	for _, c := range []struct {
		limit, most int
		part        bool
	}{{7, 7, true}, {7, 39, true}, {7, 40, false}, {39, 39, true}, {40, 40, false}, {539, 539, false}, {540, 540, false}, {1000, 0, false}} {
		src := source(t, victorialogs.Options{URL: srv.URL(), Filter: "service:=many"})
		src.SetLimits(c.limit, c.most)
		g := logtest.New(t, map[string]logs.Source{"many": src})
		a, burst := g.Query(t, "many", "", logtest.Morning), int64(40)
		if c.part {
			burst = int64(max(c.limit, c.most) + 1)
		}
		if a.Code != "" || a.Total() != 500+burst {
			t.Errorf("limit %d, most %d: %d events, want %d (%s %s)", c.limit, c.most, a.Total(), 500+burst, a.Code, a.Hint)
		}
		if a := g.Query(t, "many", "zebra", logtest.Morning); a.Evidence != "NO_EVIDENCE" {
			t.Errorf("limit %d: nothing of a filtered search is %s (%s)", c.limit, a.Evidence, a.Code)
		}
		want := fault.Code("")
		if c.part { // what the server held back might have matched
			want = fault.BackendIncomplete
		}
		if a := g.Query(t, "many", "-tick -burst", logtest.Morning); a.Code != want {
			t.Errorf("limit %d, most %d: nothing found is %q %s, want %q", c.limit, c.most, a.Code, a.Evidence, want)
		}
	}
}

func TestOnlyWhatTheServerKeepsIsCovered(t *testing.T) {
	t.Parallel()
	srv := servertest.StartVictoriaLogs(t)
	srv.Ingest(t, event(map[string]any{"time": logtest.At(20, 0), "service": "new", "msg": "first"})+event(map[string]any{"time": logtest.At(50, 0), "service": "new", "msg": "last"})+shop(), "service")
	g := logtest.New(t, map[string]logs.Source{
		"new":  source(t, victorialogs.Options{URL: srv.URL(), Filter: "service:=new"}),
		"none": source(t, victorialogs.Options{URL: srv.URL(), Filter: "service:=none"}),
	})
	if a := g.Query(t, "new", "zebra", logtest.Morning); a.Evidence != "NO_EVIDENCE" || a.Scope.Covered == nil || !strings.HasPrefix(a.Scope.Covered.From, "2026-01-01T10:20:00") || !strings.HasPrefix(a.Scope.Covered.To, "2026-01-01T11:00:00") {
		t.Errorf("a log that began later: %s %s", a.Code, a.Text)
	}
	if a := g.Query(t, "new", "zebra", `"from":"2026-01-01T10:30:00Z","to":"2026-01-01T11:30:00Z"`); a.Evidence != "NO_EVIDENCE" || a.Scope.Covered != nil {
		t.Errorf("a log that began before: %s %s", a.Code, a.Text)
	}
	for topic, span := range map[string]string{"new": `"from":"2026-01-01T08:00:00Z","to":"2026-01-01T10:00:00Z"`, "none": logtest.Morning} {
		if a := g.Query(t, topic, "zebra", span); a.Code != fault.BackendIncomplete {
			t.Errorf("%s: nothing kept is %s %s", topic, a.Code, a.Text)
		}
	}
	if a := g.Query(t, "new", "", `"from":"2025-12-30T00:00:00Z","to":"2025-12-31T00:00:00Z"`); a.Code != fault.BackendIncomplete {
		t.Errorf("before all of it: %s %s", a.Code, a.Text)
	}
}

func TestTenantsAreKeptApart(t *testing.T) {
	t.Parallel()
	srv := servertest.StartVictoriaLogs(t)
	srv.Ingest(t, shop(), "service")
	g := logtest.New(t, map[string]logs.Source{
		"own":   source(t, victorialogs.Options{URL: srv.URL(), Tenant: "0:0"}),
		"other": source(t, victorialogs.Options{URL: srv.URL(), Tenant: "7"}),
	})
	if a := g.Query(t, "own", "declined", logtest.Morning); a.Total() != 1 {
		t.Errorf("own tenant: %s %s", a.Code, a.Text)
	}
	if a := g.Query(t, "other", "declined", logtest.Morning); a.Code != fault.BackendIncomplete {
		t.Errorf("other tenant: %s %s", a.Code, a.Text)
	}
}

func TestAServerWithANarrowRangeIsAskedInPieces(t *testing.T) {
	t.Parallel()
	srv := servertest.StartVictoriaLogs(t, "-search.maxQueryTimeRange=10m")
	srv.Ingest(t, shop(), "service")
	g := logtest.New(t, map[string]logs.Source{"shop": source(t, victorialogs.Options{URL: srv.URL()})})
	if a := g.Query(t, "shop", "accepted", logtest.Morning); a.Code != "" || a.Total() != 20 {
		t.Errorf("%d events, want 20 (%s %s)", a.Total(), a.Code, a.Hint)
	}
}

func TestCheckAsksTheServer(t *testing.T) {
	t.Parallel()
	srv := servertest.StartVictoriaLogs(t)
	if err := source(t, victorialogs.Options{URL: srv.URL(), Filter: "service:=shop"}).Check(t.Context()); err != nil {
		t.Errorf("Check = %v", err)
	}
	if err := source(t, victorialogs.Options{URL: srv.URL(), Filter: "service:("}).Check(t.Context()); fault.CodeOf(err) != fault.BackendError {
		t.Errorf("a broken filter: Check = %v", err)
	}
	if err := source(t, victorialogs.Options{URL: srv.URL() + "/nowhere"}).Check(t.Context()); fault.CodeOf(err) != fault.BackendError {
		t.Errorf("a wrong path: Check = %v", err)
	}
}
