package harness_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/seed-069badc9/mcp-gateway/harness"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// document is docs/openapi.yaml: its schemas are JSON Schema 2020-12, as OpenAPI 3.1 has it.
type document struct {
	root     map[string]any
	compiler *jsonschema.Compiler
	mu       sync.Mutex
	seen     map[string]bool // "METHOD path status"
}

func openDocument(t *testing.T) *document {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("..", "docs", "openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := yaml.YAMLToJSON(src)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	d := &document{root: v.(map[string]any), compiler: jsonschema.NewCompiler(), seen: map[string]bool{}}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource("openapi.json", v); err != nil {
		t.Fatal(err)
	}
	return d
}

func escape(token string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(token) }

// at walks the document along a JSON pointer, references included, and gives the value with the pointer that it really stands at.
func (d *document) at(pointer string) (any, string) {
	var v any = d.root
	where := ""
	for _, tok := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, ""
		}
		if v, ok = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(tok)]; !ok {
			return nil, ""
		}
		where += "/" + tok
		if m, ok := v.(map[string]any); ok {
			if ref, ok := m["$ref"].(string); ok {
				v, where = d.at(strings.TrimPrefix(ref, "#"))
			}
		}
	}
	return v, where
}

func (d *document) schema(t *testing.T, pointer string) *jsonschema.Schema {
	t.Helper()
	_, where := d.at(pointer)
	if where == "" {
		t.Fatalf("docs/openapi.yaml has no %s", pointer)
	}
	s, err := d.compiler.Compile("openapi.json#" + where)
	if err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	return s
}

// operations lists "METHOD path".
func (d *document) operations() (out []string) {
	for p, item := range d.root["paths"].(map[string]any) {
		for m := range item.(map[string]any) {
			if m != "parameters" {
				out = append(out, strings.ToUpper(m)+" "+p)
			}
		}
	}
	return out
}

func (d *document) operation(method, template string) string {
	return "/paths/" + escape(template) + "/" + strings.ToLower(method)
}

// template finds the path of the document that a request's path belongs to.
func (d *document) template(path string) string {
	path, _, _ = strings.Cut(path, "?")
	got := strings.Split(path, "/")
	for p := range d.root["paths"].(map[string]any) {
		want := strings.Split(p, "/")
		if len(want) == len(got) && !slices.ContainsFunc(want, func(s string) bool {
			i := slices.Index(want, s)
			return !strings.HasPrefix(s, "{") && got[i] != s
		}) {
			return p
		}
	}
	return ""
}

// validate holds JSON against a schema of the document.
func validate(s *jsonschema.Schema, data []byte) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

// check holds an answer against what the document says of its operation, status by status.
func (d *document) check(t *testing.T, method, path string, a answer) {
	t.Helper()
	tmpl := d.template(path)
	op := d.operation(method, tmpl)
	at := op + "/responses/" + strconv.Itoa(a.status)
	v, where := d.at(at)
	if where == "" {
		t.Errorf("%s %s answered %d, which the document does not list: %s", method, path, a.status, a.body)
		return
	}
	d.mu.Lock()
	d.seen[method+" "+tmpl+" "+strconv.Itoa(a.status)] = true
	d.mu.Unlock()
	r := v.(map[string]any)
	for name, h := range asMap(r["headers"]) {
		want := asMap(asMap(h)["schema"])["const"]
		if got := a.header.Get(name); got != want && (got != "" || a.code() != fault.BudgetExhausted) {
			t.Errorf("%s %s %d: %s is %q, documented %v", method, path, a.status, name, got, want)
		}
	}
	media := asMap(r["content"])
	if len(media) == 0 {
		if len(a.body) > 0 {
			t.Errorf("%s %s %d has a body, documented without: %s", method, path, a.status, a.body)
		}
		return
	}
	kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	if media[kind] == nil {
		t.Errorf("%s %s %d is %q, documented %v", method, path, a.status, kind, slices.Collect(maps.Keys(media)))
		return
	}
	s := d.schema(t, where+"/content/"+escape(kind)+"/schema")
	body := a.body
	if kind != "application/json" {
		body, _ = json.Marshal(string(a.body))
	}
	if err := validate(s, body); err != nil {
		t.Errorf("%s %s %d: %s\n%v", method, path, a.status, a.body, err)
	}
}

func asMap(v any) map[string]any { m, _ := v.(map[string]any); return m }

func TestTheDocumentListsWhatIsServedAndNothingElse(t *testing.T) {
	t.Parallel()
	d := openDocument(t)
	w := newWorld(t, registered(), nil, func(o *harness.APIOptions) { o.Metrics = http.NotFoundHandler() })
	served, written := w.api.Endpoints(), d.operations()
	slices.Sort(served)
	slices.Sort(written)
	if !slices.Equal(served, written) {
		t.Errorf("served:\n%s\ndocumented:\n%s", strings.Join(served, "\n"), strings.Join(written, "\n"))
	}
	ids := map[any]bool{}
	for _, op := range written {
		method, path, _ := strings.Cut(op, " ")
		v, _ := d.at(d.operation(method, path))
		o := v.(map[string]any)
		if id := o["operationId"]; id == nil || ids[id] || o["summary"] == nil {
			t.Errorf("%s: operationId %v is missing or used twice, or there is no summary", op, id)
		} else {
			ids[id] = true
		}
		_, open := o["security"]
		if public := !strings.HasPrefix(path, "/v1/"); open != public {
			t.Errorf("%s: a token is needed: %v", op, !open)
		}
		params, _ := d.at("/paths/" + escape(path) + "/parameters")
		var names []string
		list, _ := params.([]any)
		for _, p := range list {
			v, _ := d.at(strings.TrimPrefix(asMap(p)["$ref"].(string), "#"))
			names = append(names, "{"+asMap(v)["name"].(string)+"}")
		}
		for seg := range strings.SplitSeq(path, "/") {
			if strings.HasPrefix(seg, "{") && !slices.Contains(names, seg) {
				t.Errorf("%s: parameter %s is not described", op, seg)
			}
		}
	}
	for name := range asMap(asMap(d.root["components"])["schemas"]) {
		d.schema(t, "/components/schemas/"+name)
	}
	codes, _ := d.at("/components/schemas/Error/properties/error/properties/code/enum")
	for _, c := range codes.([]any) {
		if !fault.Known(fault.Code(c.(string))) {
			t.Errorf("code %v is not on the closed list", c)
		}
	}
}

// One life of a run, every operation with every answer that the document lists for it.
func TestEveryAnswerIsAsDocumented(t *testing.T) {
	t.Parallel()
	d := openDocument(t)
	metrics := harness.NewMetrics(func() float64 { return 0 }, func() float64 { return 0 })
	p := registered()
	p.Ceilings.OpenRuns = 3
	w := newWorld(t, p, metrics, func(o *harness.APIOptions) { o.Metrics = metrics.Handler() })
	do := func(token, method, path, body string, want int) answer {
		t.Helper()
		a := w.do(t, token, method, path, body)
		d.check(t, method, path, a)
		if a.status != want {
			t.Fatalf("%s %s: %d %s, want %d", method, path, a.status, a.body, want)
		}
		return a
	}
	const runs = "/v1/principals/alice/runs"
	const run = runs + "/inc-1"

	do(opsToken, "POST", runs, `{"run_id":"inc-1","tools":["query_lines","query_lines"],"ttl_seconds":600,"limits":{"calls":20},"no_gain":{"window":5}}`, 201)
	do(opsToken, "POST", runs, "", 201)
	do(opsToken, "POST", runs, `{"run_id":"inc-2","tools":[]}`, 201)
	do(opsToken, "POST", runs, `{"run_id":"inc-3"}`, 429)
	do(opsToken, "DELETE", runs+"/inc-2", "", 204)
	do(opsToken, "DELETE", runs+"/inc-2", "", 204)
	do(opsToken, "GET", runs+"?limit=2", "", 200)
	do(opsToken, "GET", runs, "", 200)
	do(opsToken, "GET", run+"/progress", "", 200)
	for i, word := range []string{"gateway", "gateway", "zebra", "broken", "disk"} {
		w.lines(t, "inc-1", fmt.Sprint("c", i), word)
	}
	w.store.set(nil)
	for _, path := range []string{run, run + "/calls", run + "/calls?offset=1&limit=2", run + "/calls?offset=9", run + "/calls/c0", run + "/calls/c2", run + "/calls/c3", run + "/progress",
		"/healthz", "/readyz", "/metrics"} {
		do(opsToken, "GET", path, "", 200)
	}
	do(opsToken, "POST", run+"/calls/c1/assessment", `{"gain":"NO_GAIN"}`, 200)
	do(opsToken, "POST", run+"/resume", "", 200)
	for _, body := range []string{
		`{"citations":["evidence://current/c0","evidence://inc-1/c0?item=e1&quote=gateway%20answered%20502","evidence://current/c2?stance=absent","evidence://current/c3","evidence://current/none","x"]}`,
		`{"citations":[]}`, `{"citations":["evidence://current/c0"],"replay":true}`,
		`{"draft":"\"gateway answered 502\" [ev:c0#e1]. \"said by nobody\" [ev:c4]. Nothing of zebras [ev:c2#absent].\n\nAnd \"somebody said so\".","replay":true}`, `{"draft":""}`,
	} {
		do(opsToken, "POST", run+"/verify", body, 200)
	}

	// What each operation refuses, and how each fails.
	bad := map[string]string{"POST " + runs: `{"limits":[]}`, "GET " + runs: "?limit=0", "GET " + run + "/calls": "?limit=1001"}
	type op struct{ method, path, body string }
	ops := []op{{"POST", runs, `{"run_id":"inc-9"}`}, {"GET", runs, ""}, {"GET", run, ""}, {"DELETE", run, ""}, {"POST", run + "/resume", ""}, {"GET", run + "/calls", ""}, {"GET", run + "/calls/c0", ""},
		{"POST", run + "/calls/c0/assessment", `{"gain":"GAIN"}`}, {"POST", run + "/verify", `{"citations":["evidence://inc-1/c0"]}`}, {"GET", run + "/progress", ""}}
	huge := `{"draft":"` + strings.Repeat("x", 5<<20) + `"}`
	for _, o := range ops {
		do("", o.method, o.path, o.body, 401)
		foreign := strings.Replace(o.path, "alice", "bob", 1)
		do(opsToken, o.method, foreign, o.body, 403)
		if strings.Contains(o.path, "inc-1") {
			do(opsToken, o.method, strings.Replace(o.path, "inc-1", "in%20c", 1), o.body, 400)
			if !strings.HasSuffix(o.path, "/verify") {
				do(opsToken, o.method, strings.Replace(o.path, "inc-1", "inc-none", 1), o.body, 404)
			}
		} else if b := bad[o.method+" "+o.path]; o.method == "POST" {
			do(opsToken, o.method, o.path, b, 400)
		} else {
			do(opsToken, o.method, o.path+b, "", 400)
		}
		if o.body != "" {
			do(opsToken, o.method, o.path, huge, 413)
		}
		w.store.set(func(context.Context) error { panic("content " + "in a panic") })
		do(opsToken, o.method, o.path, o.body, 500)
		w.store.set(down)
		if strings.HasSuffix(o.path, "/verify") {
			do(opsToken, o.method, o.path, o.body, 200) // the verdict says it
		} else {
			do(opsToken, o.method, o.path, o.body, 503)
		}
		w.store.set(nil)
	}
	do(opsToken, "GET", run+"/calls/none", "", 404)
	do(opsToken, "GET", run+"/calls/a%20b", "", 400)
	do(opsToken, "POST", run+"/calls/none/assessment", `{"gain":"GAIN"}`, 404)

	leave := fill(t, w)
	for _, o := range ops {
		do(allToken, o.method, o.path, o.body, 429)
	}
	leave()
	for _, page := range []string{"/healthz", "/readyz", "/metrics"} {
		req := request(t, "", "GET", page, "")
		req.Host = "evil.example"
		a := w.send(req)
		d.check(t, "GET", page, a)
	}
	unready := newWorld(t, p, nil, nil)
	unready.store.set(down)
	d.check(t, "GET", "/readyz", unready.do(t, "", "GET", "/readyz", ""))
	unready.api.Drain()
	d.check(t, "GET", "/readyz", unready.do(t, "", "GET", "/readyz", ""))

	for _, op := range d.operations() {
		method, path, _ := strings.Cut(op, " ")
		responses, _ := d.at(d.operation(method, path) + "/responses")
		for status := range asMap(responses) {
			if !d.seen[op+" "+status] && op+" "+status != "GET /metrics 503" { // promhttp's own bound
				t.Errorf("%s: nothing was seen to answer %s", op, status)
			}
		}
	}
}

// fill takes every place of the gate with requests that wait in the store, until the function it returns is called.
func fill(t *testing.T, w *world) (leave func()) {
	t.Helper()
	in, out := make(chan struct{}), make(chan struct{})
	w.store.set(func(context.Context) error { in <- struct{}{}; <-out; return nil })
	var wg sync.WaitGroup
	for i := range harness.MaxInFlight {
		token := opsToken
		if i >= harness.MaxPerToken {
			token = allToken
		}
		req := request(t, token, "GET", "/v1/principals/alice/runs", "")
		wg.Go(func() {
			if a := w.send(req); a.status != http.StatusOK {
				t.Errorf("a request that got a place: %d %s", a.status, a.body)
			}
		})
	}
	awaited(t, in, harness.MaxInFlight)
	w.store.set(nil)
	return func() { close(out); wg.Wait() }
}
