package harness_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/memstore"
	"github.com/seed-069badc9/mcp-gateway/evidence"
	"github.com/seed-069badc9/mcp-gateway/harness"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// lookup is a small real tool: it shows the lines of a text that hold a word.
type lookup struct{ lines []string }

type lookupRequest struct {
	Word string `json:"word"`
}
type lookupRaw struct {
	Lines []string `json:"lines"`
}
type lookupItem struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}
type lookupObservation struct {
	Scope lookupRequest `json:"scope"`
	Items []lookupItem  `json:"items"`
}

func (lookup) Spec() boundary.Spec {
	return boundary.Spec{Name: "query_lines", Title: "Lines", ReadOnly: true, Projector: "lines-1", Describe: func(boundary.Grants) string { return "Lines that hold a word." },
		InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: json.RawMessage(`{"type":"object"}`)}
}

func (lookup) Parse(args json.RawMessage, _ boundary.ParseContext) (r lookupRequest, err error) {
	return r, boundary.StrictArgs("lookup.Parse", args, &r)
}

func (lookup) Scope(r lookupRequest) boundary.Scope {
	word := strings.ToLower(strings.TrimSpace(r.Word))
	return boundary.Scope{Normal: word, Text: "lines with " + word}
}

func (l lookup) Execute(_ context.Context, p *boundary.Permit, r lookupRequest, _ canonical.Salt) (raw lookupRaw, err error) {
	if r.Word == "broken" {
		return raw, fault.New(fault.BackendError, "lookup.Execute", errors.New("no backend"))
	}
	for _, line := range l.lines {
		if strings.Contains(line, strings.ToLower(strings.TrimSpace(r.Word))) {
			raw.Lines = append(raw.Lines, line)
			err = errors.Join(err, p.Take(len(line)))
		}
	}
	return raw, err
}

func (lookup) Project(r lookupRequest, raw lookupRaw, _ boundary.View) (boundary.Projection[lookupObservation], error) {
	p := boundary.Projection[lookupObservation]{Observation: lookupObservation{r, []lookupItem{}}, Evidence: canonical.Evidence(len(raw.Lines) > 0), Count: len(raw.Lines),
		Relevance: "HIGH"}
	for i, l := range raw.Lines {
		p.Observation.Items = append(p.Observation.Items, lookupItem{"e" + string(rune('1'+i)), l})
		p.Items = append(p.Items, canonical.Item{Key: l})
	}
	return p, nil
}

// Tokens of the tests.
const (
	opsToken = "ops-token-" + "not-real"
	allToken = "all-token-" + "not-real"
)

func tokens() []harness.APIToken {
	return []harness.APIToken{harness.NewAPIToken("ops", opsToken, []string{"alice"}), harness.NewAPIToken("all", allToken, nil)}
}

// world is a boundary with its harness over one store.
type world struct {
	*boundary.Boundary
	store *switched
	runs  *harness.Runs
	api   *harness.API
	mu    sync.Mutex
	views []harness.CallView
	clock time.Time // of the boundary; zero: the real one
}

func (w *world) now() time.Time {
	if w.clock.IsZero() {
		return time.Now()
	}
	return w.clock
}

func (w *world) Observe(v boundary.ControlView) {
	w.runs.Observe(v)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.views = append(w.views, harness.WireView(v))
}

// newWorld lets change adjust what the API and the boundary are made of.
func newWorld(t testing.TB, p harness.Policy, auditor boundary.Auditor, change func(*harness.APIOptions), tools ...boundary.BoundTool) *world {
	t.Helper()
	w := &world{store: &switched{Driver: memstore.New(nil)}}
	w.runs = harness.New(w.store, p)
	ledger := canonical.NewLedger(w.store, nil)
	if len(tools) == 0 {
		tools = []boundary.BoundTool{boundary.Bind(lookup{[]string{"gateway answered 502", "gateway is back", "disk is full"}})}
	}
	var err error
	w.Boundary, err = boundary.New(boundary.Options{Ledger: ledger, Controller: w, Auditor: auditor, Clock: w.now}, tools...)
	if err != nil {
		t.Fatal(err)
	}
	o := harness.APIOptions{Driver: w.store, Guard: evidence.New(ledger), Replayer: w.Boundary, Policy: p, Tokens: tokens()}
	if change != nil {
		change(&o)
	}
	if w.api, err = harness.NewAPI(o); err != nil {
		t.Fatal(err)
	}
	return w
}

// ask makes one call of alice as a client that names its run in the header would.
func (w *world) ask(t testing.TB, run, call, tool, args string) (boundary.Observation, fault.Code) {
	t.Helper()
	r := w.runs.Resolve(boundary.Identity{Principal: "alice", Header: run})
	obs, err := w.Invoke(t.Context(), r, boundary.Envelope{CallID: call, Tool: tool, Args: json.RawMessage(args), StepID: "s1", HostCallID: "toolu_1"})
	if err == nil {
		return obs, ""
	}
	ref, ok := errors.AsType[*boundary.Refusal](err)
	if !ok {
		t.Fatalf("%T from Invoke", err)
	}
	return obs, ref.Code
}

// lines makes one call of query_lines.
func (w *world) lines(t testing.TB, run, call, word string) fault.Code {
	t.Helper()
	args, _ := json.Marshal(lookupRequest{word})
	_, code := w.ask(t, run, call, "query_lines", string(args))
	return code
}

// request makes a request to the API; token "" sends none.
func request(t testing.TB, token, method, path, body string) *http.Request {
	t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req := httptest.NewRequestWithContext(t.Context(), method, path, r)
	req.Host = "127.0.0.1:8485"
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return req
}

// answer is what the API said.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) code() fault.Code {
	var e struct {
		Error struct {
			Code fault.Code `json:"code"`
		} `json:"error"`
	}
	_ = json.Unmarshal(a.body, &e)
	return e.Error.Code
}

// read decodes a body into v.
func (a answer) read(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal(a.body, v); err != nil {
		t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
}

func (w *world) send(req *http.Request) answer {
	rec := httptest.NewRecorder()
	w.api.ServeHTTP(rec, req)
	return answer{rec.Code, rec.Header(), rec.Body.Bytes()}
}

func (w *world) do(t testing.TB, token, method, path, body string) answer {
	t.Helper()
	return w.send(request(t, token, method, path, body))
}

// registered is a policy that stops after two calls without gain of three.
func registered() harness.Policy {
	p := harness.DefaultPolicy()
	p.Mode = canonical.Registered
	p.Defaults.NoGain = canonical.NoGain{Limit: 2, Window: 3}
	return p
}

// switched is a driver whose steps can be made to fail, to panic or to wait.
type switched struct {
	canonical.Driver
	mu sync.Mutex
	on func(ctx context.Context) error
}

func (s *switched) set(f func(ctx context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = f
}

func (s *switched) step(ctx context.Context) error {
	s.mu.Lock()
	f := s.on
	s.mu.Unlock()
	if f == nil {
		return nil
	}
	return f(ctx)
}

func (s *switched) OpenRun(ctx context.Context, k canonical.RunKey, spec canonical.RunSpec, m canonical.Mode, salt canonical.Salt, c canonical.Ceilings) (canonical.RunInfo, error) {
	if err := s.step(ctx); err != nil {
		return canonical.RunInfo{}, err
	}
	return s.Driver.OpenRun(ctx, k, spec, m, salt, c)
}

func (s *switched) CloseRun(ctx context.Context, k canonical.RunKey) error {
	if err := s.step(ctx); err != nil {
		return err
	}
	return s.Driver.CloseRun(ctx, k)
}

func (s *switched) Run(ctx context.Context, k canonical.RunKey) (canonical.RunInfo, bool, error) {
	if err := s.step(ctx); err != nil {
		return canonical.RunInfo{}, false, err
	}
	return s.Driver.Run(ctx, k)
}

func (s *switched) Runs(ctx context.Context, principal string, n int) ([]canonical.RunInfo, error) {
	if err := s.step(ctx); err != nil {
		return nil, err
	}
	return s.Driver.Runs(ctx, principal, n)
}

func (s *switched) Calls(ctx context.Context, k canonical.RunKey, offset, n int) ([]canonical.CallInfo, error) {
	if err := s.step(ctx); err != nil {
		return nil, err
	}
	return s.Driver.Calls(ctx, k, offset, n)
}

func (s *switched) Call(ctx context.Context, k canonical.Key) (canonical.RunInfo, canonical.CallInfo, bool, error) {
	if err := s.step(ctx); err != nil {
		return canonical.RunInfo{}, canonical.CallInfo{}, false, err
	}
	return s.Driver.Call(ctx, k)
}

func (s *switched) Resume(ctx context.Context, k canonical.RunKey) error {
	if err := s.step(ctx); err != nil {
		return err
	}
	return s.Driver.Resume(ctx, k)
}

func (s *switched) Load(ctx context.Context, k canonical.Key) (canonical.Record, bool, error) {
	if err := s.step(ctx); err != nil {
		return canonical.Record{}, false, err
	}
	return s.Driver.Load(ctx, k)
}

func (s *switched) Ping(ctx context.Context) error {
	if err := s.step(ctx); err != nil {
		return err
	}
	return s.Driver.Ping(ctx)
}

var errDown = fault.New(fault.StoreError, "switched", errors.New("store-password-"+"in-a-cause"))

func down(context.Context) error { return errDown }

// awaited waits for n signals, and gives up when the test does.
func awaited(t testing.TB, c <-chan struct{}, n int) {
	t.Helper()
	for range n {
		select {
		case <-c:
		case <-time.After(20 * time.Second):
			t.Fatal("nothing happened in 20 s")
		}
	}
}
