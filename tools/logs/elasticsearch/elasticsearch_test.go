package elasticsearch_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/boundary/boundarytest"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/elasticsearch"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/internal/logtest"
)

var ten = logtest.Now.Add(-2 * time.Hour)

// doc is a document at a time in the range, in seconds from its start.
func doc(seconds float64, m map[string]any) string {
	if m["@timestamp"] == nil {
		m["@timestamp"] = ten.Add(time.Duration(seconds * float64(time.Second))).Format(time.RFC3339Nano)
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func source(t testing.TB, o elasticsearch.Options) *elasticsearch.Source {
	t.Helper()
	if o.Index == "" {
		o.Index = "logs-shop-*"
	}
	s, err := elasticsearch.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func gateway(t testing.TB, o elasticsearch.Options) *logtest.Gateway {
	return logtest.New(t, map[string]logs.Source{"shop": source(t, o)})
}

type kv = map[string]any

// shop is the log of a small shop in which one payment fails.
func shop() []string {
	out := []string{doc(-1800, kv{"message": "started", "log": kv{"level": "info"}})}
	for i := range 20 {
		out = append(out, doc(float64(i*15), kv{"message": fmt.Sprintf("order %d accepted", 4000+i), "log": kv{"level": "INFO"}, "kubernetes": kv{"pod": "shop-7d4b9c6f5-x2x4z"}, "service": kv{"name": "shop"}}))
	}
	return append(out,
		doc(187, kv{"message": "card declined password=" + logtest.Secret, "log": kv{"level": "error"}, "service": kv{"name": "shop"}, "status": 502}),
		doc(1800, kv{"message": "still alive", "log": kv{"level": "info"}}))
}

func endless(t *testing.T) (boundary.BoundTool, string) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, `{"timed_out":false,"_shards":{"total":1,"failed":0},"hits":{"hits":[`)
		line := fmt.Sprintf(`{"_source":{"message":"again and again"},"sort":[%d]},`, ten.UnixMilli())
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat(line, 200)); err != nil {
				return
			}
		}
	}))
	t.Cleanup(srv.Close)
	return boundary.Bind(logtest.Tool(t, map[string]logs.Source{"shop": source(t, elasticsearch.Options{URL: srv.URL, MaxBytes: 2 << 20})})), `{"topics":["shop"],` + logtest.Morning + `}`
}

func stuck(t *testing.T) (boundary.BoundTool, string, <-chan struct{}) {
	started := make(chan struct{}, 16)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		started <- struct{}{}
		<-r.Context().Done()
	}))
	t.Cleanup(srv.Close)
	return boundary.Bind(logtest.Tool(t, map[string]logs.Source{"shop": source(t, elasticsearch.Options{URL: srv.URL})})), `{"topics":["shop"],` + logtest.Morning + `}`, started
}

func TestContract(t *testing.T) {
	many := newFake(t)
	for i := range 1500 {
		many.docs = append(many.docs, doc(float64(i), kv{"message": fmt.Sprintf("order %d accepted in %dms", i, i%90), "log": kv{"level": "info"}}))
	}
	boundarytest.Run(t, boundarytest.Subject{
		Tool: boundary.Bind(logtest.Tool(t, map[string]logs.Source{
			"shop": source(t, elasticsearch.Options{URL: newFake(t, shop()...).URL, LevelField: "log.level"}),
			"many": source(t, elasticsearch.Options{URL: many.URL}),
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

// forms are documents of every kind, and terms with how many of them they find.
func forms() ([]string, map[string]int64) {
	return []string{
			doc(-60, kv{"message": "before"}),
			doc(0, kv{"message": "Payment TIMED out", "log": kv{"level": "warn"}, "status": 502, "took": 1.5, "ok": true}),
			doc(1, kv{"message": `{"level":"error","msg":"na\u0069ve inner"}`, "kubernetes": kv{"pod": "p1"}}),
			doc(2, kv{"message": `{"level":"error","msg":"plain inner line","code":17}`, "kubernetes": kv{"pod": "p1"}}),
			doc(3, kv{"message": "broken", "log.level": "ERROR", "error": kv{"stack_trace": "java.lang.IllegalStateException: x\n\tat com.example.Cart.pay(Cart.java:12)\nCaused by: java.io.IOException: root cause"}}),
			doc(4, kv{"message": "level=debug msg=\"a logfmt line\" took=5ms", "service": kv{"name": "a service whose name is too long to be indexed"}}),
			doc(5, kv{"message": "2026-01-01 10:06:00,000 ERROR [main] com.example.Pay - text layout"}),
			doc(6, kv{"message": []string{"one", "two"}, "host": "2001:db8::face"}),
			doc(7, kv{"message": "支付失败 Größe"}),
			doc(8, kv{"message": "\x1b[31mre\x1b[0md alert"}),
		}, map[string]int64{
			"": 9, "payment": 1, "aymen": 1, `"timed out"`: 1, "-payment": 8, "/TIMED out/": 1, "/timed/": 0, "status=502": 1, "502": 1, "status": 1, "pod": 2, "took": 2, "naive": 0, "inner": 2, "code=17": 1,
			`"root cause"`: 1, "cart.java": 1, "indexed": 1, "logfmt": 1, "layout": 1, "支付失败": 1, "größe": 1, "true": 1, "two": 1, "zebra": 0, "level=error": 3, "alert": 1, "message": 6, "/(inner|layout)/": 3, "face": 0,
			"service.name=\"a service whose name is too long to be indexed\"": 1,
		}
}

func TestEveryFormOfTermFindsWhatItShould(t *testing.T) {
	t.Parallel()
	docs, want := forms()
	for name, set := range map[string]func(*fake){
		"filters from the mapping":   func(*fake) {},
		"mapping not shown":          func(f *fake) { f.noMapping = true },
		"filters refused":            func(f *fake) { f.noFilter = true },
		"another analyzer":           func(f *fake) { f.settings = `{"index.analysis.analyzer.default.type":"english"}` },
		"a field without an index":   func(f *fake) { f.mapping = strings.Replace(f.mapping, `"ignore_above":20`, `"index":false`, 1) },
		"an object without an index": func(f *fake) { f.mapping = strings.Replace(f.mapping, `"service":{`, `"service":{"enabled":false,`, 1) },
		"members that are ignored":   func(f *fake) { f.mapping = strings.Replace(f.mapping, `{`, `{"dynamic":"false",`, 1) },
		"documents on several lines": func(f *fake) {
			for i := range f.docs {
				f.docs[i] = strings.ReplaceAll(f.docs[i], `":{"`, "\":{\n  \"")
			}
		},
	} {
		f := newFake(t, append([]string(nil), docs...)...)
		set(f)
		g := gateway(t, elasticsearch.Options{URL: f.URL, LevelField: "log.level"})
		for query, n := range want {
			a := g.Query(t, "shop", query, logtest.Morning)
			if a.Code != "" || a.Total() != n || (n == 0) != (a.Evidence == "NO_EVIDENCE") {
				t.Errorf("%s: %s: %d events %s, want %d (%s %s)\n%s", name, query, a.Total(), a.Evidence, n, a.Code, a.Hint, f.sent())
			}
		}
		for level, n := range map[string]int64{"DEBUG": 5, "WARN": 4, "ERROR": 3} {
			if a := g.Query(t, "shop", "", `"level":"`+level+`",`+logtest.Morning); a.Code != "" || a.Total() != n {
				t.Errorf("%s: level %s: %d events, want %d (%s)", name, level, a.Total(), n, a.Code)
			}
		}
		a := g.Query(t, "shop", "broken", logtest.Morning)
		if len(a.Events) != 1 || a.Events[0].Level != "ERROR" || !strings.Contains(a.Events[0].Stack, "Caused by: java.io.IOException: root cause") {
			t.Errorf("%s: %+v", name, a.Events)
		}
		if sent := f.sent(); (sent != "") != strings.Contains("filters from the mapping filters refused documents on several lines", name) {
			t.Errorf("%s: sent %s", name, sent)
		}
	}
}

// Of a caller's words only letters and digits are sent, as values; the query stays the one that the adapter means, whatever they say in query_string or in JSON.
func TestHostileTermsStayValues(t *testing.T) {
	t.Parallel()
	f := newFake(t, shop()...)
	src := source(t, elasticsearch.Options{URL: f.URL})
	for _, h := range logtest.Hostile {
		text := "needlesinhaystacks" + h + "\"" // longer than any field's name: names are looked at too
		var s logtest.Sink
		if _, err := src.Search(t.Context(), logs.Query{From: ten, To: ten.Add(time.Hour), Now: logtest.Now, Need: []logs.Literal{{Text: text}, {Text: strings.ToLower(text), Fold: true}}, MaxScan: 1 << 30}, &s); err != nil || len(s.Texts) > 0 {
			t.Errorf("%q: %v, found %q", text, err, s.Texts)
		}
		var body struct {
			Query struct {
				Bool struct {
					Filter []struct {
						Bool struct {
							Should []map[string]map[string]json.RawMessage `json:"should"`
						} `json:"bool"`
					} `json:"filter"`
				} `json:"bool"`
			} `json:"query"`
		}
		if err := json.Unmarshal([]byte(f.sent()), &body); err != nil || len(body.Query.Bool.Filter) != 2 {
			t.Fatalf("%q: sent %s, %v", text, f.sent(), err)
		}
		for _, clause := range body.Query.Bool.Filter[1].Bool.Should {
			for field, raw := range clause["wildcard"] {
				var w struct {
					Value string `json:"value"`
				}
				if err := json.Unmarshal(raw, &w); err != nil || strings.Trim(w.Value[1:len(w.Value)-1], "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
					t.Errorf("%q: %s is sent %s", text, field, raw)
				}
			}
		}
	}
	g := gateway(t, elasticsearch.Options{URL: f.URL})
	for _, h := range logtest.Hostile {
		for _, q := range []string{"-" + h, "zebra" + h, `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(h) + `zebra"`} {
			if a := g.Query(t, "shop", q, logtest.Morning); a.Code != "" && a.Code != fault.InvalidRequest || strings.Contains(q, "zebra") && a.Total() > 0 {
				t.Errorf("%q: %s (%s), %d events", q, a.Code, a.Hint, a.Total())
			}
		}
	}
}

func TestMaskedAndExcludedTermsAreNotSent(t *testing.T) {
	t.Parallel()
	f := newFake(t, shop()...)
	g := gateway(t, elasticsearch.Options{URL: f.URL, Header: map[string]string{"Authorization": "ApiKey k"}})
	for _, q := range []string{"-excluded", "password=" + logtest.Secret, "192.0.2.17", "<ip:k3f9qa>", "-/regular/", "someone@example.com"} {
		if a := g.Query(t, "shop", q, logtest.Morning); a.Code != "" {
			t.Errorf("%s: %s %s", q, a.Code, a.Hint)
		}
	}
	if f.sent() != "" {
		t.Errorf("sent %s", f.sent())
	}
	for i, target := range f.targets {
		if want := "POST /logs-shop-%2A/_search?allow_no_indices=false&allow_partial_search_results=false&ignore_unavailable=false"; target != want && target != strings.ReplaceAll(want, "%2A", "*") || f.heads[i].Get("Authorization") != "ApiKey k" {
			t.Errorf("asked %s", target)
		}
	}
}

func TestSmallAnswersStillCoverTheRange(t *testing.T) {
	t.Parallel()
	var docs []string
	docs = append(docs, doc(-60, kv{"message": "before"}))
	for i := range 50 { // two in one millisecond, with finer times in the documents
		docs = append(docs, doc(float64(i), kv{"message": fmt.Sprint("tick ", i)}), doc(float64(i)+0.0004, kv{"message": fmt.Sprint("tock ", i)}))
	}
	for i := range 40 {
		docs = append(docs, doc(1000, kv{"message": fmt.Sprint("burst ", i)}))
	}
	for _, c := range []struct {
		limit, most, window int
		part                bool
	}{{7, 7, 10_000, true}, {7, 40, 10_000, false}, {1000, 1000, 30, true}, {1000, 1000, 41, false}, {4999, 9999, 10_000, false}} {
		f := newFake(t, docs...)
		f.window = c.window
		src := source(t, elasticsearch.Options{URL: f.URL})
		src.SetLimits(c.limit, c.most)
		g := logtest.New(t, map[string]logs.Source{"shop": src})
		want, code := int64(140), fault.Code("")
		if c.part {
			want, code = 100+int64(min(c.most+1, c.window)), fault.BackendIncomplete
		}
		if a := g.Query(t, "shop", "", logtest.Morning); a.Code != "" || a.Total() != want {
			t.Errorf("%+v: %d events, want %d (%s %s)", c, a.Total(), want, a.Code, a.Hint)
		}
		if a := g.Query(t, "shop", "-tick -tock -burst", logtest.Morning); a.Code != code {
			t.Errorf("%+v: nothing found is %q %s, want %q", c, a.Code, a.Evidence, code)
		}
	}
}

func TestAPartOfAnAnswerIsNotTheAnswer(t *testing.T) {
	t.Parallel()
	for name, patch := range map[string]func(a map[string]any){
		"timed out":        func(a map[string]any) { a["timed_out"] = true },
		"ended early":      func(a map[string]any) { a["terminated_early"] = true },
		"failed shard":     func(a map[string]any) { a["_shards"] = kv{"total": 2, "successful": 1, "failed": 1} },
		"no shard":         func(a map[string]any) { a["_shards"] = kv{"total": 0, "successful": 0, "failed": 0} },
		"cluster skipped":  func(a map[string]any) { a["_clusters"] = kv{"total": 2, "successful": 1, "skipped": 1} },
		"cluster partial":  func(a map[string]any) { a["_clusters"] = kv{"total": 2, "successful": 1, "partial": 1} },
		"counts more":      func(a map[string]any) { a["hits"].(map[string]any)["total"] = kv{"value": 50, "relation": "eq"} },
		"counts at least":  func(a map[string]any) { a["hits"].(map[string]any)["total"] = kv{"value": 0, "relation": "gte"} },
		"counts as number": func(a map[string]any) { a["hits"].(map[string]any)["total"] = 50 },
	} {
		f := newFake(t, shop()...)
		f.patch = patch
		g := gateway(t, elasticsearch.Options{URL: f.URL})
		if a := g.Query(t, "shop", "declined", logtest.Morning); a.Evidence != "EVIDENCE_FOUND" || !a.Truncated {
			t.Errorf("%s: found: %s %s", name, a.Code, a.Text)
		}
		if a := g.Query(t, "shop", "zebra", logtest.Morning); a.Code != fault.BackendIncomplete {
			t.Errorf("%s: nothing found: %s %s", name, a.Code, a.Text)
		}
	}
}

func TestOnlyAWholeAnswerCounts(t *testing.T) {
	t.Parallel()
	head := `{"took":1,"timed_out":false,"_shards":{"total":1,"failed":0},"hits":{"total":{"value":1,"relation":"eq"},"hits":[`
	good := fmt.Sprintf(`{"_source":{"message":"card declined"},"sort":[%d]}`, ten.UnixMilli())
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   fault.Code
	}{
		{"nothing and no document around", 200, head[:len(head)-len(`"hits":[`)] + `"hits":[]}}`, fault.BackendIncomplete},
		{"half an answer", 200, head + good, fault.BackendIncomplete},
		{"no shards", 200, `{"timed_out":false,"hits":{"hits":[]}}`, fault.BackendError},
		{"no timed_out", 200, `{"_shards":{"total":1,"failed":0},"hits":{"hits":[]}}`, fault.BackendError},
		{"no hits", 200, `{"timed_out":false,"_shards":{"total":1,"failed":0}}`, fault.BackendError},
		{"error in a 200", 200, `{"error":{"reason":"password of the server"}}`, fault.BackendError},
		{"no source", 200, head + `{"sort":[1]}]}}`, fault.BackendError},
		{"no sort", 200, head + `{"_source":{}}]}}`, fault.BackendError},
		{"outside of the range", 200, head + `{"_source":{},"sort":[1]}]}}`, fault.BackendError},
		{"HTML", 200, "<html>", fault.BackendError},
		{"no such index", 404, `{"error":{"type":"index_not_found_exception"},"status":404}`, fault.BackendError},
		{"no rights", 403, `{"error":{"reason":"password of the server"},"status":403}`, fault.BackendError},
		{"bad request", 400, `{"error":{"reason":"password of the server"},"status":400}`, fault.BackendError},
		{"rejected", 429, `{"error":{"type":"es_rejected_execution_exception"},"status":429}`, fault.BackendBusy},
		{"partial shards failure", 503, `{"error":{"type":"search_phase_execution_exception"},"status":503}`, fault.BackendBusy},
		{"gateway timeout", 504, ``, fault.BackendTimeout},
		{"redirect", 302, ``, fault.BackendError},
	} {
		f := newFake(t)
		f.answer = func(w http.ResponseWriter) bool {
			w.WriteHeader(c.status)
			io.WriteString(w, c.body)
			return true
		}
		a := gateway(t, elasticsearch.Options{URL: f.URL}).Query(t, "shop", "", logtest.Morning)
		if a.Code != c.want {
			t.Errorf("%s: %q %s, want %q", c.name, a.Code, a.Text, c.want)
		}
		if strings.Contains(a.Hint+a.Text, "password") {
			t.Errorf("%s: the server's words came out: %s %s", c.name, a.Hint, a.Text)
		}
	}
}

func TestConfiguredFieldsAreUsed(t *testing.T) {
	t.Parallel()
	f := newFake(t,
		doc(-60, kv{"when": "2026-01-01T09:59:00Z", "@timestamp": "x", "words": "before", "rank": "INFO"}),
		doc(0, kv{"when": "2026-01-01T10:00:01.0005Z", "@timestamp": "x", "words": "card declined", "rank": "ERROR", "level": "info"}),
		doc(0, kv{"when": "2026-01-01T10:00:02Z", "@timestamp": "x", "words": "order accepted", "rank": "info", "level": "error"}))
	f.timeField, f.mapping = "when", `{"properties":{"when":{"type":"date"},"@timestamp":{"type":"keyword"},"words":{"type":"text"},"rank":{"type":"keyword"},"level":{"type":"keyword"}}}`
	g := gateway(t, elasticsearch.Options{URL: f.URL, TimeField: "when", MessageField: "words", LevelField: "rank"})
	a := g.Query(t, "shop", "declined", `"level":"ERROR",`+logtest.Morning)
	if len(a.Events) != 1 || a.Events[0].Level != "ERROR" || !strings.HasPrefix(a.Events[0].Message, "card declined") || !strings.HasPrefix(a.Events[0].Time, "2026-01-01T10:00:01") {
		t.Errorf("%s %s", a.Code, a.Text)
	}
	if a := g.Query(t, "shop", "", `"level":"ERROR",`+logtest.Morning); a.Total() != 1 {
		t.Errorf("level: %d events, want 1", a.Total())
	}
}

func TestFieldsAreMaskedUnderTheirNames(t *testing.T) {
	t.Parallel()
	g := gateway(t, elasticsearch.Options{URL: newFake(t,
		doc(-60, kv{"message": "before"}),
		doc(1, kv{"message": "level=info msg=\"peer closed\"", "host": "192.0.2.17", "kubernetes": kv{"pod": "shop-7d4b9c6f5-x2x4z"}, "auth": kv{"api_key": logtest.Secret}, "password=" + logtest.Secret: "x"}),
		doc(2, kv{"message": "peer closed", "host": "192.0.2.17", "kubernetes": kv{"pod": "shop-7d4b9c6f5-x2x4z"}, "auth": kv{"api_key": logtest.Secret}, "password=" + logtest.Secret: "x"})).URL})
	a := g.Query(t, "shop", "", logtest.Morning)
	for _, hidden := range []string{"x2x4z", logtest.Secret[:6], "192.0.2.17"} {
		if strings.Contains(a.Text, hidden) {
			t.Errorf("%q is shown: %s", hidden, a.Text)
		}
	}
	for query, want := range map[string]int64{logtest.Secret: 0, "-" + logtest.Secret: 2, "api_key=" + logtest.Secret: 0, "/" + logtest.Secret[:4] + "/": 0, "192.0.2.17": 2, "auth": 2} {
		if a := g.Query(t, "shop", query, logtest.Morning); a.Code != "" || a.Total() != want {
			t.Errorf("%s: %d events, want %d (%s)", query, a.Total(), want, a.Code)
		}
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, o := range []elasticsearch.Options{{Index: "logs"}, {URL: "http://example.com"}, {URL: "http://example.com", Index: "a/b"}, {URL: "http://example.com", Index: "_search"}, {URL: "http://example.com", Index: ".."},
		{URL: "http://u:p@example.com", Index: "logs"}} {
		if _, err := elasticsearch.New(o); err == nil {
			t.Errorf("New(%+v) accepted", o)
		}
	}
	if err := source(t, elasticsearch.Options{URL: newFake(t).URL}).Check(t.Context()); err != nil {
		t.Errorf("Check = %v", err)
	}
	if err := source(t, elasticsearch.Options{URL: newFake(t).URL, Index: "other"}).Check(t.Context()); fault.CodeOf(err) != fault.BackendError {
		t.Errorf("Check of an unknown index = %v", err)
	}
}
