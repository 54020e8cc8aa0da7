package loki_test

import (
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
	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/internal/logtest"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/loki"
)

const selector = `{app="shop"}`

var ten = logtest.Now.Add(-2 * time.Hour)

// at is a time in the range, in seconds from its start.
func at(seconds float64) time.Time { return ten.Add(time.Duration(seconds * float64(time.Second))) }

func source(t testing.TB, o loki.Options) *loki.Source {
	t.Helper()
	if o.Selector == "" {
		o.Selector = selector
	}
	s, err := loki.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func gateway(t testing.TB, o loki.Options) *logtest.Gateway {
	return logtest.New(t, map[string]logs.Source{"shop": source(t, o)})
}

var pod = map[string]string{"app": "shop", "pod": "shop-7d4b9c6f5-x2x4z", "namespace": "prod"}

// shop is the log of a small shop in which one payment fails.
func shop() []entry {
	out := []entry{{at: at(-1800), labels: pod, line: "level=info msg=started"}}
	for i := range 20 {
		out = append(out, entry{at: at(float64(i * 15)), labels: pod, line: fmt.Sprintf(`{"level":"info","msg":"order %d accepted"}`, 4000+i), meta: map[string]string{"detected_level": "info"}})
	}
	return append(out,
		entry{at: at(187), labels: pod, line: `{"level":"error","msg":"card declined password=` + logtest.Secret + `","status":502}`, meta: map[string]string{"trace_id": "4bf92f3577b34da6a3ce929d0e0e4736"}},
		entry{at: at(1800), labels: pod, line: "level=info msg=\"still alive\""})
}

func endless(t *testing.T) (boundary.BoundTool, string) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"status":"success","data":{"resultType":"streams","result":[{"stream":{"app":"shop"},"values":[`)
		line := fmt.Sprintf(`["%d","again and again"],`, at(60).UnixNano())
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat(line, 200)); err != nil {
				return
			}
		}
	}))
	t.Cleanup(srv.Close)
	return boundary.Bind(logtest.Tool(t, map[string]logs.Source{"shop": source(t, loki.Options{URL: srv.URL, MaxBytes: 2 << 20})})), `{"topics":["shop"],` + logtest.Morning + `}`
}

func stuck(t *testing.T) (boundary.BoundTool, string, <-chan struct{}) {
	started := make(chan struct{}, 16)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		started <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(srv.Close)
	return boundary.Bind(logtest.Tool(t, map[string]logs.Source{"shop": source(t, loki.Options{URL: srv.URL})})), `{"topics":["shop"],` + logtest.Morning + `}`, started
}

func TestContract(t *testing.T) {
	many := newFake(t)
	for i := range 3000 {
		many.entries = append(many.entries, entry{at: at(float64(i)), labels: pod, line: fmt.Sprintf("level=info msg=\"order %d accepted in %dms\"", i, i%90)})
	}
	boundarytest.Run(t, boundarytest.Subject{
		Tool: boundary.Bind(logtest.Tool(t, map[string]logs.Source{
			"shop": source(t, loki.Options{URL: newFake(t, shop()...).URL}),
			"many": source(t, loki.Options{URL: many.URL}),
		})),
		Found:      `{"topics":["shop"],"query":"declined","from":"2026-01-01T10:00:00Z","to":"2026-01-01T10:06:00Z"}`,
		Empty:      `{"topics":["shop"],"query":"zebra","from":"2026-01-01T10:00:00Z","to":"2026-01-01T10:06:00Z"}`,
		Cut:        `{"topics":["many"],` + logtest.Morning + `}`,
		Secret:     logtest.Secret,
		Restricted: boundary.Topics,
		Name:       "shop",
		Now:        logtest.Now,
		Endless:    endless,
		Stuck:      stuck,
	})
}

func TestTermsAreFoundInLinesLabelsAndMetadata(t *testing.T) {
	t.Parallel()
	f := newFake(t, append(shop(),
		entry{at: at(400), labels: pod, line: `{"level":"error","msg":"na\u0069ve"}`},
		entry{at: at(401), labels: map[string]string{"app": "shop", "container": "worker", "__stream_shard__": "1"}, line: "2026-01-01 10:06:41,000 WARN [w-1] com.example.Work - queue full\n\tat com.example.Work.run(Work.java:7)"},
		entry{at: at(402), labels: pod, line: "\x1b[31mre\x1b[0md alert"},
	)...)
	g := gateway(t, loki.Options{URL: f.URL})
	for query, want := range map[string]int64{
		"": 25, "declined": 1, "DECLINED": 1, "-declined": 24, "/ord.r 40\\d\\d/": 20, "4007": 1, "status=502": 1, "status": 1, "trace_id=4bf92f3577b34da6a3ce929d0e0e4736": 1, "4bf92f3577b34da6a3ce929d0e0e4736": 1,
		"container=worker": 1, "worker": 1, "naive": 1, "namespace=prod": 24, "app=shop": 25, "zebra": 0, "level=error": 2, "stream_shard": 0, "red": 1, "Work.java:7": 1, `"still alive"`: 1, "detected_level": 20,
	} {
		a := g.Query(t, "shop", query, logtest.Morning)
		if a.Code != "" || a.Total() != want || (want == 0) != (a.Evidence == "NO_EVIDENCE") {
			t.Errorf("%s: %d events %s, want %d (%s %s)", query, a.Total(), a.Evidence, want, a.Code, a.Hint)
		}
	}
	if a := g.Query(t, "shop", "", `"level":"WARN",`+logtest.Morning); a.Total() != 3 {
		t.Errorf("level: %d events, want 3", a.Total())
	}
	a := g.Query(t, "shop", "declined", logtest.Morning)
	if len(a.Events) != 1 || a.Events[0].Service != "shop" || a.Events[0].Level != "ERROR" || strings.Contains(a.Text, "x2x4z") || !strings.Contains(a.Text, "4bf92f3577b34da6a3ce929d0e0e4736") {
		t.Errorf("%s", a.Text)
	}
}

func TestLiteralsAreQuotedIntoTheQuery(t *testing.T) {
	t.Parallel()
	f := newFake(t, shop()...)
	for i, h := range logtest.Hostile {
		f.entries = append(f.entries, entry{at: at(600 + float64(i)), labels: pod, line: fmt.Sprintf("event-%d <%s>", i, h)})
		f.entries = append(f.entries, entry{at: at(700 + float64(i)), labels: pod, line: fmt.Sprintf("event-%d beside", i), meta: map[string]string{"note": "<" + h + ">"}})
	}
	src := source(t, loki.Options{URL: f.URL})
	for i, h := range logtest.Hostile {
		for _, fold := range []bool{false, true} {
			text := "<" + h + ">"
			if fold {
				text = strings.ToLower(text)
			}
			var s logtest.Sink
			if _, err := src.Search(t.Context(), logs.Query{From: ten, To: ten.Add(time.Hour), Now: logtest.Now, Need: []logs.Literal{{Text: text, Fold: fold}}, MaxScan: 1 << 30}, &s); err != nil {
				t.Errorf("%q: %v", text, err)
				continue
			}
			for _, own := range []string{fmt.Sprintf("event-%d <%s>", i, h), fmt.Sprintf("event-%d beside", i)} {
				if !slices.Contains(s.Texts, own) {
					t.Errorf("%q: %q is not among %q", text, own, s.Texts)
				}
			}
			if slices.ContainsFunc(s.Texts, func(e string) bool { return strings.Contains(e, "accepted") }) {
				t.Errorf("%q filters nothing: %s", text, f.last())
			}
		}
	}
	if f.posts != 0 {
		t.Errorf("%d short queries were posted", f.posts)
	}
	long := []logs.Literal{}
	for i := range 8 {
		long = append(long, logs.Literal{Text: strings.Repeat("äöü", 100) + fmt.Sprint(i)})
	}
	var s logtest.Sink
	if _, err := src.Search(t.Context(), logs.Query{From: ten, To: ten.Add(time.Hour), Now: logtest.Now, Need: long, MaxScan: 1 << 30}, &s); err != nil || f.posts == 0 {
		t.Errorf("a long query: %v, %d posts", err, f.posts)
	}
}

// A caller's words stay words in every form that the tool takes.
func TestHostileTermsKeepTheQueryWellFormed(t *testing.T) {
	t.Parallel()
	g := gateway(t, loki.Options{URL: newFake(t, shop()...).URL})
	for _, h := range logtest.Hostile {
		for _, q := range []string{"-" + h, "field=" + h, "/acc(epted)" + h + "/", `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(h) + `zebra"`} {
			a := g.Query(t, "shop", q, logtest.Morning)
			if a.Code != "" && a.Code != fault.InvalidRequest {
				t.Errorf("%q: %s (%s)", q, a.Code, a.Hint)
			}
			if strings.HasSuffix(q, `zebra"`) && a.Code == "" && a.Total() != 0 {
				t.Errorf("%q finds %d", q, a.Total())
			}
		}
	}
}

func TestMaskedAndExcludedTermsAreNotSent(t *testing.T) {
	t.Parallel()
	f := newFake(t, shop()...)
	g := gateway(t, loki.Options{URL: f.URL, Tenant: "shop-team", Header: map[string]string{"Authorization": "Bearer k"}})
	for _, q := range []string{"-excluded", "password=" + logtest.Secret, "192.0.2.17", "<ip:k3f9qa>", "-/regular/", "someone@example.com"} {
		if a := g.Query(t, "shop", q, logtest.Morning); a.Code != "" {
			t.Errorf("%s: %s %s", q, a.Code, a.Hint)
		}
	}
	for i, v := range f.asked {
		if v.Get("query") != selector {
			t.Errorf("asked %s", v.Get("query"))
		}
		if h := f.heads[i]; h.Get("X-Scope-Orgid") != "shop-team" || h.Get("Authorization") != "Bearer k" {
			t.Errorf("headers %v", h)
		}
	}
}

func TestSmallAnswersStillCoverTheRange(t *testing.T) {
	t.Parallel()
	for _, most := range []int{5, 39, 41, 5000} {
		f := newFake(t, entry{at: at(-60), labels: pod, line: "before"})
		f.most = most
		for i := range 60 {
			f.entries = append(f.entries, entry{at: at(float64(i)), labels: pod, line: fmt.Sprint("tick ", i)}, entry{at: at(float64(i) + 0.5), labels: map[string]string{"app": "shop", "pod": "other"}, line: fmt.Sprint("tock ", i)})
		}
		for i := range 40 {
			f.entries = append(f.entries, entry{at: at(1000), labels: pod, line: fmt.Sprint("burst ", i)})
		}
		f.length = 10 * time.Minute
		g := gateway(t, loki.Options{URL: f.URL})
		a := g.Query(t, "shop", "", logtest.Morning)
		if want := int64(120 + min(40, most)); a.Code != "" || a.Total() != want {
			t.Errorf("at most %d: %d events, want %d (%s %s)", most, a.Total(), want, a.Code, a.Hint)
		}
		want := fault.Code("")
		if most <= 40 { // one instant holds more than the server gives
			want = fault.BackendIncomplete
		}
		if a := g.Query(t, "shop", "-tick -tock -burst -before", logtest.Morning); a.Code != want {
			t.Errorf("at most %d: nothing found is %q %s, want %q", most, a.Code, a.Evidence, want)
		}
	}
}

// max_query_lookback narrows a range without a word: what lies before is not covered.
func TestANarrowedLookBackIsNotTakenToBeSearched(t *testing.T) {
	t.Parallel()
	f := newFake(t, shop()...)
	f.since = at(160)
	g := gateway(t, loki.Options{URL: f.URL})
	if a := g.Query(t, "shop", "zebra", logtest.Morning); a.Evidence != "NO_EVIDENCE" || a.Scope.Covered == nil || !strings.HasPrefix(a.Scope.Covered.From, "2026-01-01T10:02:45") {
		t.Errorf("%s %s", a.Code, a.Text)
	}
	if a := g.Query(t, "shop", "order", logtest.Morning); a.Total() != 9 || a.Scope.Covered == nil {
		t.Errorf("%s %s", a.Code, a.Text)
	}
	f.since = at(7200)
	if a := g.Query(t, "shop", "order", logtest.Morning); a.Code != fault.BackendIncomplete {
		t.Errorf("%s %s", a.Code, a.Text)
	}
}

func TestOnlyAWholeSuccessCounts(t *testing.T) {
	t.Parallel()
	const head = `{"status":"success","data":{"resultType":"streams","result":`
	good := fmt.Sprintf(`[{"stream":{"app":"shop"},"values":[["%d","card declined"]]}]`, at(1).UnixNano())
	write := func(status int, body string) func(http.ResponseWriter) bool {
		return func(w http.ResponseWriter) bool {
			w.WriteHeader(status)
			io.WriteString(w, body)
			return true
		}
	}
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   fault.Code
	}{
		{"no such stream and no matching line", 200, head + `[]}}`, fault.BackendIncomplete},
		{"null list", 200, head + `null}}`, fault.BackendIncomplete},
		{"status error", 200, `{"status":"error","errorType":"internal","error":"password of the server"}`, fault.BackendError},
		{"no status", 200, strings.Replace(head, `"status":"success",`, "", 1) + good + `}}`, fault.BackendError},
		{"another result", 200, `{"status":"success","data":{"resultType":"matrix","result":[]}}`, fault.BackendError},
		{"no result", 200, `{"status":"success","data":{"resultType":"streams"}}`, fault.BackendError},
		{"half an answer", 200, head + good[:40], fault.BackendIncomplete},
		{"two answers", 200, head + good + `}}` + head + good + `}}`, fault.BackendError},
		{"HTML", 200, "<html>login password</html>", fault.BackendError},
		{"values of another shape", 200, head + `[{"stream":{},"values":[[1,"x"]]}]}}`, fault.BackendError},
		{"no labels", 200, head + `[{"values":[["1","x"]]}]}}`, fault.BackendError},
		{"outside of the range", 200, head + `[{"stream":{},"values":[["1","x"]]}]}}`, fault.BackendError},
		{"parse error", 400, "parse error at line 1: password of the server", fault.BackendError},
		{"no tenant", 401, "no org id", fault.BackendError},
		{"busy", 429, "too many outstanding requests", fault.BackendBusy},
		{"gateway timeout", 504, "context deadline exceeded", fault.BackendTimeout},
		{"refuses one event", 400, "max entries limit per query exceeded, limit > max_entries_limit_per_query (1 > 0)", fault.BackendError},
		{"refuses a second", 400, "the query time range exceeds the limit (query length: 1s, limit: 1ms)", fault.BackendError},
	} {
		f := newFake(t)
		f.answer = write(c.status, c.body)
		a := gateway(t, loki.Options{URL: f.URL}).Query(t, "shop", "", logtest.Morning)
		if a.Code != c.want {
			t.Errorf("%s: %q %s, want %q", c.name, a.Code, a.Text, c.want)
		}
		if strings.Contains(a.Hint+a.Text, "password") {
			t.Errorf("%s: the server's words came out: %s %s", c.name, a.Hint, a.Text)
		}
	}
}

func TestAWarningMakesAnAnswerPartial(t *testing.T) {
	t.Parallel()
	f := newFake(t, shop()...)
	f.warnings = []string{"some ingesters did not answer"}
	g := gateway(t, loki.Options{URL: f.URL})
	if a := g.Query(t, "shop", "declined", logtest.Morning); a.Evidence != "EVIDENCE_FOUND" || !a.Truncated {
		t.Errorf("found: %s %s", a.Code, a.Text)
	}
	if a := g.Query(t, "shop", "zebra", logtest.Morning); a.Code != fault.BackendIncomplete {
		t.Errorf("nothing found: %s %s", a.Code, a.Text)
	}
}

func TestOlderServersAreUnderstood(t *testing.T) {
	t.Parallel()
	f := newFake(t, shop()...)
	f.noTemplate, f.flat = true, true
	a := gateway(t, loki.Options{URL: f.URL}).Query(t, "shop", "declined", logtest.Morning)
	if a.Code != "" || a.Total() != 1 || !strings.Contains(a.Text, "trace_id=4bf92f3577b34da6a3ce929d0e0e4736") {
		t.Errorf("%s %s", a.Code, a.Text)
	}
}

// A server whose template gives something else is asked without a filter.
func TestLinesThatAreNotUnderstoodAreAskedForPlain(t *testing.T) {
	t.Parallel()
	f := newFake(t, shop()...)
	f.wraps = "map[x:y] "
	a := gateway(t, loki.Options{URL: f.URL}).Query(t, "shop", "declined", logtest.Morning)
	if a.Code != "" || a.Total() != 1 || f.last() == "" {
		t.Errorf("%s %s", a.Code, a.Text)
	}
}

// Values before their labels, metadata as pairs: read all the same.
func TestTheOrderOfMembersDoesNotMatter(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.answer = func(w http.ResponseWriter) bool {
		fmt.Fprintf(w, `{"data":{"result":[{"values":[["%d","card declined",{"trace":"t-1","parsed":{"code":"17"}}]],"stream":{"app":"shop"}}],"resultType":"streams"},"status":"success"}`, at(1).UnixNano())
		return true
	}
	src := source(t, loki.Options{URL: f.URL})
	var s logtest.Sink
	_, err := src.Search(t.Context(), logs.Query{From: ten, To: ten.Add(time.Hour), Now: logtest.Now, MaxScan: 1 << 30}, &s)
	if fault.CodeOf(err) != fault.BackendError || len(s.Texts) != 1 || s.Texts[0] != "card declined" { // the probe around the range gets an event outside of it
		t.Errorf("%q, %v", s.Texts, err)
	}
}

func TestLabelsAreMaskedLikeFields(t *testing.T) {
	t.Parallel()
	f := newFake(t,
		entry{at: at(-60), labels: pod, line: "before"},
		entry{at: at(1), labels: map[string]string{"app": "shop", "host": "shop-db-01", "api_key": logtest.Secret, "password=" + logtest.Secret: "x"}, line: "level=info msg=\"peer closed\"", meta: map[string]string{"client_ip": "192.0.2.17", "token": logtest.Secret}})
	g := gateway(t, loki.Options{URL: f.URL})
	a := g.Query(t, "shop", "", logtest.Morning)
	for _, hidden := range []string{"shop-db-01", logtest.Secret[:6], "192.0.2.17"} {
		if strings.Contains(a.Text, hidden) {
			t.Errorf("%q is shown: %s", hidden, a.Text)
		}
	}
	for query, want := range map[string]int64{logtest.Secret: 0, "-" + logtest.Secret: 1, "api_key=" + logtest.Secret: 0, "password=" + logtest.Secret: 0, "/" + logtest.Secret[:4] + "/": 0, "192.0.2.17": 1, "shop-db-01": 1, "shop-db": 0} {
		if a := g.Query(t, "shop", query, logtest.Morning); a.Code != "" || a.Total() != want {
			t.Errorf("%s: %d events, want %d (%s)", query, a.Total(), want, a.Code)
		}
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, o := range []loki.Options{{Selector: selector}, {URL: "http://example.com"}, {URL: "http://example.com", Selector: "app"}, {URL: "http://example.com", Selector: "{}"}, {URL: "http://example.com", Selector: selector, Tenant: "a\nb"}} {
		if _, err := loki.New(o); err == nil {
			t.Errorf("New(%+v) accepted", o)
		}
	}
	if err := source(t, loki.Options{URL: newFake(t).URL}).Check(t.Context()); err != nil {
		t.Errorf("Check = %v", err)
	}
	if err := source(t, loki.Options{URL: newFake(t).URL, Selector: `{app="other"}`}).Check(t.Context()); fault.CodeOf(err) != fault.BackendError {
		t.Errorf("Check of a refused selector = %v", err)
	}
}
