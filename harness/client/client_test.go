package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/memstore"
	"github.com/seed-069badc9/mcp-gateway/evidence"
	"github.com/seed-069badc9/mcp-gateway/harness"
	"github.com/seed-069badc9/mcp-gateway/harness/client"
	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/files"
)

const token = "ops-token-" + "not-real"

// gateway is a harness API over a log of four lines.
type gateway struct {
	*boundary.Boundary
	runs *harness.Runs
	api  *harness.API
}

func newGateway(t *testing.T) *gateway {
	t.Helper()
	var log strings.Builder
	for i, text := range []string{"ERROR gateway answered 502", "INFO gateway is back", "ERROR disk is full", "INFO disk was cleaned"} {
		fmt.Fprintf(&log, "%s %s\n", time.Now().UTC().Add(time.Duration(i-10)*time.Second).Format(time.RFC3339), text)
	}
	path := filepath.Join(t.TempDir(), "shop.log")
	if err := os.WriteFile(path, []byte(log.String()), 0o600); err != nil {
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
	tool, err := logs.New(logs.Options{Topics: []logs.Topic{{Name: "shop", Source: src, Redactor: r}}})
	if err != nil {
		t.Fatal(err)
	}
	store := memstore.New(nil)
	ledger := canonical.NewLedger(store, nil)
	p := harness.DefaultPolicy()
	p.Mode, p.Ceilings.OpenRuns = canonical.Registered, 3
	g := &gateway{runs: harness.New(store, p)}
	if g.Boundary, err = boundary.New(boundary.Options{Ledger: ledger, Controller: g.runs}, boundary.Bind(tool)); err != nil {
		t.Fatal(err)
	}
	g.api, err = harness.NewAPI(harness.APIOptions{Driver: store, Guard: evidence.New(ledger), Replayer: g.Boundary, Policy: p, Metrics: harness.NewMetrics(nil, nil).Handler(),
		Tokens: []harness.APIToken{harness.NewAPIToken("ops", token, []string{"alice", "..", "https://issuer.example.com|u 1/2"})}})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func (g *gateway) ask(t *testing.T, run, call, query string) {
	t.Helper()
	args, _ := json.Marshal(map[string]any{"topics": []string{"shop"}, "query": query})
	r := g.runs.Resolve(boundary.Identity{Principal: "alice", Header: run})
	if _, err := g.Invoke(t.Context(), r, boundary.Envelope{CallID: call, Tool: "query_logs", Args: args, StepID: "s1"}); err != nil {
		t.Fatal(err)
	}
}

// tap is a transport that keeps what came back.
type tap struct {
	next http.RoundTripper
	mu   sync.Mutex
	seen []string // "METHOD path"
	auth []string
	body []byte
}

func (p *tap) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := p.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, errors.Join(err, res.Body.Close())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen, p.auth, p.body = append(p.seen, r.Method+" "+r.URL.EscapedPath()), append(p.auth, r.Header.Get("Authorization")), body
	old := res.Body
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, old.Close()
}

// withoutZeros drops numbers that are 0, which a budget leaves out.
func withoutZeros(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for k, e := range x {
			if e == 0.0 {
				delete(x, k)
				continue
			}
			x[k] = withoutZeros(e)
		}
	case []any:
		for i := range x {
			x[i] = withoutZeros(x[i])
		}
	}
	return v
}

// Every operation of the document, over TLS, and not a member of an answer is lost on the way.
func TestEveryOperationAgainstTheAPI(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	srv := httptest.NewTLSServer(g.api)
	defer srv.Close()
	wire := &tap{next: srv.Client().Transport}
	c, err := client.New(client.Options{URL: srv.URL + "/", Token: token, HTTP: &http.Client{Transport: wire}})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	same := func(v any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var want, got any
		if err := errors.Join(json.Unmarshal(wire.body, &want), json.Unmarshal(again, &got)); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(withoutZeros(want), withoutZeros(got)); d != "" {
			t.Errorf("%s (-sent +understood):\n%s", wire.seen[len(wire.seen)-1], d)
		}
	}
	run, err := c.OpenRun(ctx, "alice", client.OpenRun{RunID: "inc-1", Tools: []string{"query_logs"}, TTLSeconds: 600, Limits: client.Budget{Calls: 9}, NoGain: client.NoGain{Limit: 2, Window: 4}})
	same(run, err)
	if run.Limits.Calls != 9 || run.NoGain.Window != 4 || run.ExpiresAt.Sub(run.OpenedAt) != 10*time.Minute || !run.Active || run.Mode != client.Registered || !slices.Equal(run.Tools, []string{"query_logs"}) {
		t.Errorf("%+v", run)
	}
	none, err := c.OpenRun(ctx, "alice", client.OpenRun{Tools: []string{}})
	same(none, err)
	if none.Tools == nil || none.RunID == "" {
		t.Errorf("a run for no tool: %+v", none)
	}
	for i, q := range []string{"gateway", "GATEWAY", "zebra", "gateway"} {
		g.ask(t, "inc-1", fmt.Sprint("c", i), q)
	}
	p, err := c.Progress(ctx, "alice", "inc-1")
	same(p, err)
	if !p.StopRequired || p.Tools["query_logs"].Calls != 4 || p.BudgetLeft.Calls != 5 {
		t.Errorf("%+v", p)
	}
	v, err := c.Assess(ctx, "alice", "inc-1", "c1", client.GainYes)
	same(v, err)
	if !v.Assessed || v.Gain != client.GainYes || v.InvocationStatus != client.Ready {
		t.Errorf("%+v", v)
	}
	v, err = c.Call(ctx, "alice", "inc-1", "c2")
	same(v, err)
	if v.EvidenceStatus != "NO_EVIDENCE" || v.Gain != client.GainNeutral || v.StepID != "s1" || v.StartedAt == nil || v.BudgetLeft == nil {
		t.Errorf("%+v", v)
	}
	page, err := c.Page(ctx, "alice", "inc-1", 1, 2)
	same(page, err)
	if len(page.Calls) != 2 || page.Next != 3 {
		t.Errorf("%+v", page)
	}
	var ids []string
	for v, err := range c.Calls(ctx, "alice", "inc-1") {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, v.ToolCallID)
	}
	if !slices.Equal(ids, []string{"c0", "c1", "c2", "c3"}) {
		t.Errorf("calls %v", ids)
	}
	run, err = c.Resume(ctx, "alice", "inc-1")
	same(run, err)
	if run.StopRequired {
		t.Errorf("%+v", run)
	}
	run, err = c.Run(ctx, "alice", "inc-1")
	same(run, err)
	verdicts, err := c.VerifyCitations(ctx, "alice", "inc-1", []string{"evidence://current/c0?quote=gateway%20answered%20502", "evidence://current/c2?stance=absent", "nonsense"}, true)
	same(map[string]any{"verdicts": verdicts}, err)
	if verdicts[0].Outcome != client.Supported || verdicts[1].Outcome != client.ScopedNegative || !verdicts[1].Backed() || verdicts[2].Reason != "INVALID_CITATION" || verdicts[2].Backed() {
		t.Errorf("%+v", verdicts)
	}
	if none, err := c.VerifyCitations(ctx, "alice", "inc-1", nil, false); err != nil || len(none) != 0 {
		t.Errorf("no citations: %v %v", none, err)
	}
	d, err := c.VerifyDraft(ctx, "alice", "inc-1", "\"gateway answered 502\" [ev:c0].\n\nSomebody said \"it was the network\".", false)
	same(d, err)
	if !d.OK || len(d.Citations) != 1 || len(d.Uncited) != 1 {
		t.Errorf("%+v", d)
	}
	list, err := c.Runs(ctx, "alice", 1)
	same(list, err)
	if len(list.Runs) != 1 || !list.Truncated {
		t.Errorf("%+v", list)
	}
	for range 2 {
		if err := c.CloseRun(ctx, "alice", "inc-1"); err != nil {
			t.Error(err)
		}
	}
	for _, principal := range []string{"https://issuer.example.com|u 1/2", ".."} {
		if _, err := c.OpenRun(ctx, principal, client.OpenRun{RunID: "inc-1"}); err != nil {
			t.Errorf("%s: %v", principal, err)
		}
		if err := c.CloseRun(ctx, principal, "inc-1"); err != nil {
			t.Errorf("%s: %v", principal, err)
		}
	}
	if err := errors.Join(c.Health(ctx), c.Ready(ctx)); err != nil {
		t.Error(err)
	}
	if m, err := c.Metrics(ctx); err != nil || !bytes.Contains(m, []byte("mcp_gateway_calls_total")) && !bytes.Contains(m, []byte("go_goroutines")) {
		t.Errorf("%v", err)
	}
	for i, s := range wire.seen {
		if page := !strings.Contains(s, " /v1/"); page == (wire.auth[i] != "") {
			t.Errorf("%s: Authorization %q", s, wire.auth[i])
		}
	}
	reached(t, wire.seen)
}

var parameter = regexp.MustCompile(`\\\{\w+\\\}`)

// reached holds what was requested against the operations of the document.
func reached(t *testing.T, seen []string) {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("..", "..", "docs", "openapi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]any `yaml:"paths"`
	}
	if err := yaml.Unmarshal(src, &doc); err != nil {
		t.Fatal(err)
	}
	n := 0
	for p, item := range doc.Paths {
		for method := range item {
			if method == "parameters" {
				continue
			}
			n++
			re := regexp.MustCompile("^" + strings.ToUpper(method) + " " + parameter.ReplaceAllString(regexp.QuoteMeta(p), "[^/]+") + "$")
			if !slices.ContainsFunc(seen, re.MatchString) {
				t.Errorf("no method of the client makes %s %s", method, p)
			}
		}
	}
	if n < 13 {
		t.Errorf("%d operations in the document", n)
	}
}

// The client's types say what the server's say.
func TestTypesMatchTheServers(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]any{{client.Run{}, harness.RunView{}}, {client.Call{}, harness.CallView{}}, {client.Progress{}, harness.ProgressSnapshot{}}, {client.Verdict{}, evidence.Verdict{}},
		{client.Draft{}, evidence.Draft{}}} {
		if d := cmp.Diff(shape(reflect.TypeOf(pair[1])), shape(reflect.TypeOf(pair[0]))); d != "" {
			t.Errorf("%T (-server +client):\n%s", pair[0], d)
		}
	}
	for _, c := range []client.Code{client.RunNotActive, client.InvalidRequest, client.InvalidToolCallID, client.ToolNotAuthorized, client.RequestTooLarge, client.BudgetExhausted, client.Overloaded,
		client.StoreError, client.Internal} {
		src, err := os.ReadFile(filepath.Join("..", "..", "docs", "openapi.yaml"))
		if err != nil || !bytes.Contains(src, []byte(c)) {
			t.Errorf("code %s is not in the document (%v)", c, err)
		}
	}
}

// shape lists the members of a type with their kinds, at every depth.
func shape(t reflect.Type) map[string]any {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	out := map[string]any{}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() {
		out["kind"] = t.Kind().String()
		return out
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		out[name] = map[string]any{"kind": f.Type.Kind().String(), "of": shape(f.Type)}
	}
	return out
}

func TestRefusalsAreTyped(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	srv := httptest.NewServer(g.api)
	defer srv.Close()
	c, err := client.New(client.Options{URL: srv.URL, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := client.New(client.Options{URL: srv.URL, Token: "x"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	var last error
	for i := range 4 {
		_, last = c.OpenRun(ctx, "alice", client.OpenRun{RunID: fmt.Sprint("r", i)})
	}
	walk := func() error {
		for _, err := range c.Calls(ctx, "alice", "none") {
			return err
		}
		return nil
	}
	_, unknown := c.Run(ctx, "alice", "none")
	_, empty := c.Run(ctx, "alice", "")
	_, foreign := c.Run(ctx, "bob", "r0")
	_, stranger := wrong.Run(ctx, "alice", "r0")
	_, twice := c.OpenRun(ctx, "alice", client.OpenRun{RunID: "r0"})
	_, malformed := c.Call(ctx, "alice", "r0", "a b")
	_, gain := c.Assess(ctx, "alice", "r0", "c0", client.GainNeutral)
	_, long := c.VerifyDraft(ctx, "alice", "r0", strings.Repeat("x", 1<<20+1), false)
	_, page := c.Page(ctx, "alice", "r0", -1, 0)
	for name, e := range map[string]struct {
		err    error
		status int
		code   client.Code
		hint   string
	}{
		"unknown run":         {unknown, 404, client.RunNotActive, "no such run"},
		"no run at all":       {empty, 404, client.InvalidRequest, "no such path"},
		"walk of an unknown":  {walk(), 404, client.RunNotActive, "no such run"},
		"foreign principal":   {foreign, 403, client.ToolNotAuthorized, "may not administer"},
		"wrong token":         {stranger, 401, client.ToolNotAuthorized, "bearer token"},
		"id in use":           {twice, 400, client.InvalidRequest, "in use"},
		"malformed call":      {malformed, 400, client.InvalidToolCallID, "matches"},
		"no such assessment":  {gain, 400, client.InvalidRequest, "GAIN or NO_GAIN"},
		"draft too long":      {long, 413, client.RequestTooLarge, "1 MiB"},
		"too many open runs":  {last, 429, client.BudgetExhausted, ""},
		"offset out of range": {page, 400, client.InvalidRequest, "offset"},
	} {
		got, ok := errors.AsType[*client.Error](e.err)
		if !ok || got.Status != e.status || client.CodeOf(e.err) != e.code || !strings.Contains(got.Hint, e.hint) || got.Message == "" || !strings.HasPrefix(got.Error(), string(e.code)+": ") {
			t.Errorf("%s: %#v", name, e.err)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]client.Options{
		"no URL":             {Token: token},
		"no scheme":          {URL: "127.0.0.1:8485", Token: token},
		"another scheme":     {URL: "ftp://127.0.0.1", Token: token},
		"userinfo":           {URL: "https://a:b@gw.example.com", Token: token},
		"query":              {URL: "https://gw.example.com?x=1", Token: token},
		"fragment":           {URL: "https://gw.example.com#x", Token: token},
		"no token":           {URL: "https://gw.example.com"},
		"a token of two":     {URL: "https://gw.example.com", Token: "a\r\nX: y"},
		"plain to another":   {URL: "http://gw.example.com", Token: token},
		"plain to a number":  {URL: "http://192.0.2.7:8485", Token: token},
		"a look-alike":       {URL: "http://localhost.example.com", Token: token},
		"a negative maximum": {URL: "https://gw.example.com", Token: token, MaxResponse: -1},
	} {
		if _, err := client.New(o); err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, o := range []client.Options{{URL: "http://localhost:1", Token: token}, {URL: "http://[::1]:1/prefix/", Token: token}, {URL: "http://127.8.0.1", Token: token},
		{URL: "https://gw.example.com/harness", Token: token}, {URL: "http://gw.example.com", Token: token, AllowPlaintext: true}} {
		if _, err := client.New(o); err != nil {
			t.Errorf("%s: %v", o.URL, err)
		}
	}
}

func TestTheTokenIsPrintedByNoVerb(t *testing.T) {
	t.Parallel()
	c, err := client.New(client.Options{URL: "https://gw.example.com", Token: token})
	if err != nil {
		t.Fatal(err)
	}
	encoded, _ := json.Marshal(map[string]any{"client": c})
	for _, s := range []string{fmt.Sprintf("%v %+v %#v", c, c, c), fmt.Sprintf("%v %+v %#v", *c, *c, *c), string(encoded)} {
		if strings.Contains(s, token) {
			t.Errorf("%s", s)
		}
	}
}
