package reliability

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/redisstore"
	"github.com/seed-069badc9/mcp-gateway/internal/servertest"
)

// principal is whose token all agents of the tests use.
const principal = "a"

// options of a world.
type options struct {
	redisPassword string
	remote        bool // a collection over HTTP
	sealed        bool // records are encrypted in the store
	auditMySQL    bool // audit goes to a database instead of files
	auditDB       *servertest.MariaDB
	registered    []string // mode registered, with these runs open
	shortLived    bool     // records end before the test does
	long          bool     // so many calls that their answers are not kept, and searched on the way
	pool          int      // connections that calls in parallel may have left in the pools
	tune          func(cfg map[string]any)
}

// world is what one test works in: a Redis of its own behind a proxy, the shop's database behind another one, and gateways over both. It remembers every attempt and
// everything that the gateways wrote, for the invariants at its end.
type world struct {
	t       testing.TB
	o       options
	shop    *shop
	dir     string
	logs    string
	docs    string
	redis   *servertest.Redis
	audit   *proxy // before the audit database
	store   *proxy // before Redis
	db      *proxy // before the shop's database
	auditDB *servertest.MariaDB
	user    string // of the shop's database
	direct  *redisstore.Store
	admin   *redis.Client
	client  *http.Client
	scan    *scanner
	remote  *remote // nil unless asked for

	mu       sync.Mutex
	gateways []*gateway
	attempts []*attempt
	sinks    map[string][]byte
	epoch    int // how often the store was emptied
}

// attempt is one tools/call that was sent.
type attempt struct {
	g         *gateway
	run, id   string
	tool      string
	args      int // bytes
	epoch     int // of the store when it was sent
	answered  bool
	text      []byte // what the model got
	sum       [sha256.Size]byte
	code      string // EVIDENCE_FOUND, NO_EVIDENCE, an error code, "HTTP n", or "no answer"
	refused   bool   // turned away before it was a call
	took      time.Duration
	uncertain bool // may not have reached the gateway
}

func newWorld(t testing.TB, s *shop, o options) *world {
	t.Helper()
	w := &world{t: t, o: o, shop: s, dir: t.TempDir(), auditDB: o.auditDB, sinks: map[string][]byte{},
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}}
	if w.auditDB == nil {
		w.auditDB = s.db
	}
	w.logs, w.docs = s.writeFiles(t, w.dir)
	w.scan = newScanner(t, s.canaries)
	var args []string
	if o.redisPassword != "" {
		args = append(args, "--requirepass", o.redisPassword)
	}
	w.redis = servertest.StartRedis(t, args...)
	w.store, w.db, w.audit = newProxy(t, w.redis.Addr()), newProxy(t, s.db.Addr()), newProxy(t, w.auditDB.Addr())
	w.user = s.account(t)
	if o.remote {
		w.remote = newRemote(t, s.text["error page"])
	}
	key := ""
	if o.sealed {
		key = s.sealKey()
	}
	direct, err := redisstore.New(redisstore.Options{URL: w.url(w.redis.Addr()), EncryptionKey: key})
	if err != nil {
		t.Fatal(err)
	}
	w.direct = direct
	w.admin = redis.NewClient(&redis.Options{Addr: w.redis.Addr(), Password: o.redisPassword, MaxRetries: -1})
	t.Cleanup(func() { direct.Shutdown(); w.admin.Close() })
	return w
}

func (w *world) url(addr string) string {
	if w.o.redisPassword != "" {
		return "redis://:" + w.o.redisPassword + "@" + addr + "/0"
	}
	return "redis://" + addr + "/0"
}

func (w *world) storeURL() string { return w.url(w.store.addr()) }

// sinkPage is how much of a sink a long test keeps before it is searched and forgotten.
const sinkPage = 4 << 20

// sink keeps bytes that left the gateway, for the search for canaries.
func (w *world) sink(name string, b []byte) {
	w.mu.Lock()
	w.sinks[name] = append(append(w.sinks[name], b...), '\n')
	var page []byte
	if w.o.long && len(w.sinks[name]) > sinkPage {
		page, w.sinks[name] = w.sinks[name], nil
	}
	w.mu.Unlock()
	if page != nil {
		w.search(name, page)
	}
}

// search looks for canaries in what a sink got.
func (w *world) search(name string, data []byte) {
	for _, f := range w.scan.find(data) {
		if name == "index" && strings.HasPrefix(f, "doc file name") {
			continue // the index finds a changed file again by its path
		}
		w.broken(i6, "%s: %s", name, f)
	}
}

// emptied notes that the store has lost all it held.
func (w *world) emptied() {
	w.mu.Lock()
	w.epoch++
	w.mu.Unlock()
}

func (w *world) now() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.epoch
}

// http sends a request and keeps everything that comes back.
func (w *world) http(method, url, token string, body []byte) (int, []byte, error) {
	return w.httpContext(w.t.Context(), method, url, token, body)
}

func (w *world) httpContext(ctx context.Context, method, url, token string, body []byte) (int, []byte, error) {
	res, data, err := w.exchange(ctx, method, url, token, body)
	if err != nil {
		return 0, nil, err
	}
	w.keep(res, data)
	return res.StatusCode, data, nil
}

// keep adds an answer to the sinks.
func (w *world) keep(res *http.Response, data []byte) {
	var head bytes.Buffer
	_ = res.Header.Write(&head) // into memory
	w.sink("answers over HTTP", append(head.Bytes(), data...))
}

// exchange sends a request and reads the answer.
func (w *world) exchange(ctx context.Context, method, url, token string, body []byte) (*http.Response, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
	}
	res, err := w.client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return res, data, err
}

// rpc sends a JSON-RPC request as the agent and returns the result.
func (g *gateway) rpc(method string, params any) (json.RawMessage, error) {
	return g.rpcContext(g.w.t.Context(), method, params)
}

func (g *gateway) rpcContext(ctx context.Context, method string, params any) (json.RawMessage, error) {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	status, data, err := g.w.httpContext(ctx, "POST", g.mcp, g.w.shop.text["agent token"], body)
	if err != nil {
		return nil, err
	}
	var reply struct {
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(data, &reply); err != nil || status != http.StatusOK || reply.Result == nil {
		return nil, fmt.Errorf("HTTP %d", status)
	}
	return reply.Result, nil
}

// arguments of a call.
type arguments map[string]any

func orders(mark string) arguments {
	return arguments{"datasource": "shop", "sql": "SELECT id, status, total FROM orders WHERE status <> '" + mark + "' ORDER BY id"}
}

func from(table, mark string) arguments {
	return arguments{"datasource": "shop", "sql": "SELECT * FROM " + table + " WHERE '" + mark + "' <> 'x' ORDER BY id"}
}

func declined() arguments {
	return arguments{"topics": []string{"checkout", "legacy"}, "query": "payment", "from": "2026-01-01T10:00:00Z", "to": "2026-01-01T11:00:00Z"}
}

func runbook() arguments { return arguments{"query": "payment gateway answers 502"} }

// ask makes one call and returns how it ended.
func (g *gateway) ask(run, id, tool string, a arguments) *attempt {
	return g.askContext(g.w.t.Context(), run, id, tool, a)
}

func (g *gateway) askContext(ctx context.Context, run, id, tool string, a arguments) *attempt {
	w := g.w
	args, err := json.Marshal(a)
	if err != nil {
		w.t.Error(err)
	}
	at := &attempt{g: g, run: run, id: id, tool: tool, args: len(args), code: "no answer"}
	w.mu.Lock()
	at.epoch = w.epoch
	w.attempts = append(w.attempts, at)
	w.mu.Unlock()
	meta := map[string]any{"dev.mcp-gateway/run-id": run, "dev.mcp-gateway/tool-call-id": id, "dev.mcp-gateway/step-id": "step-1"}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": tool, "arguments": json.RawMessage(args), "_meta": meta}})
	if err != nil {
		w.t.Error(err)
	}
	began := time.Now()
	res, data, err := w.exchange(ctx, "POST", g.mcp, w.shop.text["agent token"], body)
	at.took = time.Since(began)
	if err != nil {
		return at
	}
	w.keep(res, data)
	at.answered = true
	var reply struct {
		Result struct {
			Content []struct {
				Text string `json:"text"`
			} `json:"content"`
			Structured json.RawMessage `json:"structuredContent"`
			IsError    bool            `json:"isError"`
		} `json:"result"`
	}
	if err := json.Unmarshal(data, &reply); err != nil || res.StatusCode != http.StatusOK || len(reply.Result.Content) != 1 {
		at.code, at.refused = fmt.Sprint("HTTP ", res.StatusCode), true
		return at
	}
	w.take(at, []byte(reply.Result.Content[0].Text), reply.Result.IsError)
	return at
}

// take notes what the model was given. An observation must have its READY record at that very moment, if the store can be asked.
func (w *world) take(at *attempt, text []byte, isError bool) {
	if at.answered, at.sum = true, sha256.Sum256(text); !w.o.long {
		at.text = text
	}
	var o struct {
		Evidence string `json:"evidence_status"`
		Call     string `json:"tool_call_id"`
		Run      string `json:"run_id"`
		Error    struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	if err := json.Unmarshal(text, &o); err != nil {
		w.t.Errorf("%s: %v in %q", at.id, err, text)
		return
	}
	if at.code = o.Evidence; isError {
		at.code = o.Error.Code
		return
	}
	if o.Call != at.id || o.Run != at.run {
		w.t.Errorf("the answer to %s/%s names %s/%s", at.run, at.id, o.Run, o.Call)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	rec, found, err := w.direct.Load(ctx, w.key(at.run, at.id))
	if err != nil || at.epoch != w.now() {
		return // it is looked at again at the end
	}
	if !found || rec.State != canonical.StateReady || !bytes.Equal(rec.Observation, text) {
		w.t.Errorf("%s: an observation was delivered while its record was %q (found %v)", at.id, rec.State, found)
	}
}

// stdioRun is the run of calls over standard input: its owner is the local user.
const stdioRun = "stdio"

func (w *world) owner(run string) string {
	if run == stdioRun {
		return local(w.t)
	}
	return principal
}

func (w *world) key(run, id string) canonical.Key {
	k, err := canonical.NewKey(w.owner(run), run, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return k
}

// verdict asks a gateway about a citation, as a model does.
func (g *gateway) verdict(run, id string) (outcome, reason string) {
	res, err := g.rpc("resources/read", map[string]any{"uri": "evidence://" + run + "/" + id})
	var out struct {
		Contents []struct {
			Text string `json:"text"`
		} `json:"contents"`
	}
	var v struct {
		Verdict string `json:"verdict"`
		Reason  string `json:"reason"`
	}
	if err == nil {
		err = json.Unmarshal(res, &out)
	}
	if err == nil && len(out.Contents) == 1 {
		err = json.Unmarshal([]byte(out.Contents[0].Text), &v)
	}
	if err != nil {
		g.w.t.Errorf("verify %s/%s: %v", run, id, err)
	}
	return v.Verdict, v.Reason
}

// api asks the harness listener.
func (g *gateway) api(method, path string, body any) (int, []byte) {
	return g.apiOf(principal, method, path, body)
}

func (g *gateway) apiOf(owner, method, path string, body any) (int, []byte) {
	var b []byte
	if body != nil {
		var err error
		if b, err = json.Marshal(body); err != nil {
			g.w.t.Fatal(err)
		}
	}
	status, data, err := g.w.http(method, g.harness+"/v1/principals/"+url.PathEscape(owner)+path, g.w.shop.text["harness token"], b)
	if err != nil {
		g.w.t.Errorf("harness %s %s: %v", method, path, err)
	}
	return status, data
}

// warm makes one call of each tool, so that connections, scripts and indexes are there, and notes what the idle process holds.
func (g *gateway) warm() {
	g.w.t.Helper()
	for _, c := range []struct {
		tool string
		args arguments
	}{{"query_logs", declined()}, {"query_rag", runbook()}, {"query_mysql", orders("warm")}} {
		g.must("warm", "warm-"+g.name+"-"+c.tool+"-"+rand.Text()[:8], c.tool, c.args)
	}
	g.base = g.idle()
}

// idle waits until nothing is in flight and reads the gauges.
func (g *gateway) idle() gauges {
	g.w.t.Helper()
	var last gauges
	same := 0
	eventually(g.w.t, g.name+" comes to rest", func() bool {
		now, err := g.gauges()
		if err != nil {
			g.w.t.Fatal(err)
		}
		if now.goroutines != last.goroutines || now.files != last.files {
			same = 0
		}
		same++
		last = now
		return same == 5
	})
	return last
}

// must makes a call that has to find something.
func (g *gateway) must(run, id, tool string, a arguments) *attempt {
	g.w.t.Helper()
	at := g.ask(run, id, tool, a)
	if at.code != "EVIDENCE_FOUND" {
		g.w.t.Fatalf("%s on %s: %s %s\n%s", tool, g.name, at.code, at.text, g.log.bytes())
	}
	return at
}
