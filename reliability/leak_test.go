package reliability

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestNothingLeaks plants a canary in every place where content can come in, makes the gateway speak in every way it can, and looks for the canaries in everything
// that it wrote: answers with their headers, standard output and error, audit as file and as table, the store outside of a record's own request and raw answer,
// the search index, metrics, the harness's views, refusals. With encryption at rest the whole store is searched.
func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	t.Run("plain store, audit in a file", func(t *testing.T) { leaks(t, s, false) })
	t.Run("sealed store, audit in a database", func(t *testing.T) { leaks(t, s, true) })
}

// sealKey is a key whose configured form is a canary.
func (s *shop) sealKey() string {
	b := []byte(s.text["encryption key"] + strings.Repeat("k", 32))[:32]
	return base64.StdEncoding.EncodeToString(b)
}

func leaks(t *testing.T, s *shop, sealed bool) {
	c := s.text
	w := newWorld(t, s, options{redisPassword: c["store password"], sealed: sealed, auditMySQL: sealed, tune: func(cfg map[string]any) {
		sources := cfg["mysql"].(map[string]any)["datasources"].(map[string]any)
		sources["denied"] = map[string]any{"description": "a wrong password", "dsn": "nobody:" + c["datasource password"] + "@tcp(" + s.db.Addr() + ")/shop", "schemas": tables()}
		sources["absent"] = map[string]any{"description": "no server", "dsn": "nobody:" + c["datasource password"] + "@tcp(127.0.0.1:1)/shop", "schemas": tables()}
		if sealed {
			cfg["canonical"].(map[string]any)["encryption_key"] = s.sealKey()
		}
	}})
	g := w.start("one", binary(t, plainBinary))
	g.warm()
	w.speak(g)
	w.speakAmiss(g)
	// A canary that never came in proves nothing: what the tools read must lie in the records.
	w.mustHaveComeIn()
	w.commandLine(g)
	if sealed {
		w.searchWholeStore()
	}
	w.check()
}

// speak makes every tool answer, and reads everything that can be read.
func (w *world) speak(g *gateway) {
	w.t.Helper()
	n := 0
	ask := func(tool string, a arguments) {
		n++
		g.ask("leak", fmt.Sprintf("speak-%d", n), tool, a)
	}
	logs := func(more arguments) arguments {
		a := declined()
		for k, v := range more {
			a[k] = v
		}
		return a
	}
	for _, q := range []string{"", "declined", "/declined.*/", "\"payment declined\"", "level=ERROR", "-accepted", "token", "password", "authorization", "card", "host"} {
		ask("query_logs", logs(arguments{"query": q}))
	}
	ask("query_logs", logs(arguments{"level": "error", "limit": 3}))
	ask("query_logs", arguments{"topics": []string{"checkout"}, "around": "2026-01-01T10:00:05Z", "window": "1m"})
	for _, q := range []string{"payment gateway answers 502", "restart", "password of the console", "api_key", "who to ask by e-mail", "失败"} {
		ask("query_rag", arguments{"query": q, "top_k": 5})
	}
	for _, q := range []string{"SELECT * FROM orders", "SELECT * FROM customers", "SELECT note, COUNT(*) FROM orders GROUP BY note", "SELECT LOWER(status), UPPER(settings) FROM orders, customers",
		"SELECT TO_BASE64(note) FROM orders", "SELECT CONCAT_WS(':', id, note) FROM orders", "SHOW TABLES", "DESCRIBE customers", "EXPLAIN SELECT id FROM customers WHERE id = 1",
		"SELECT GROUP_CONCAT(note) FROM orders", "SELECT CONCAT('x', note) FROM orders"} {
		ask("query_mysql", arguments{"datasource": "shop", "sql": q})
	}
	for _, m := range []struct {
		method string
		params map[string]any
	}{{"tools/list", nil}, {"resources/list", nil}, {"resources/templates/list", nil}, {"prompts/list", nil}, {"prompts/get", map[string]any{"name": "diagnose"}},
		{"resources/read", map[string]any{"uri": "schema://shop"}}, {"resources/read", map[string]any{"uri": "evidence://help"}}} {
		if m.params == nil {
			m.params = map[string]any{}
		}
		_, _ = g.rpc(m.method, m.params) // whatever it answers is searched
	}
}

// speakAmiss asks for what is refused or fails, with canaries in the asking where a client's own words might be repeated beyond its own answer.
func (w *world) speakAmiss(g *gateway) {
	w.t.Helper()
	c := w.shop.text
	secret := "password=" + c["request"]
	n := 0
	ask := func(tool string, a arguments) *attempt {
		n++
		return g.ask("leak", fmt.Sprintf("amiss-%d", n), tool, a)
	}
	logs := declined()
	logs["query"] = secret
	ask("query_logs", logs)
	ask("query_rag", arguments{"query": "payment gateway " + secret})
	ask("query_mysql", arguments{"datasource": "shop", "sql": "SELECT id FROM orders WHERE note = 'api_key=" + c["request"] + "'"})
	for _, q := range []string{"SELECT v FROM vault", "SELECT password_hash FROM customers", "SELECT id FROM customers WHERE email LIKE 'q%'", "SELECT id FROM broken WHERE v > 0", "SELECT 1 FROM", "DROP TABLE orders",
		"SELECT id + '" + "abc" + "' FROM orders", "SELECT (SELECT id FROM orders) FROM orders"} {
		ask("query_mysql", arguments{"datasource": "shop", "sql": q})
	}
	for _, d := range []string{"denied", "absent"} {
		if at := ask("query_mysql", arguments{"datasource": d, "sql": "SELECT id FROM orders"}); at.code != "BACKEND_ERROR" {
			w.t.Errorf("datasource %s: %s", d, at.code)
		}
	}
	ask("query_mysql", from("huge", "x"))
	ask("query_logs", arguments{"topics": []string{"nothing"}})
	ask("query_nothing", arguments{})
	for _, quote := range []string{"password=" + c["log message"], c["masked column"] + "@example.com"} {
		w.quote(g, "evidence://leak/speak-2?item=e1&quote="+url.QueryEscape(quote))
	}
	endpoint := g.mcp
	for _, r := range []struct{ token, body string }{
		{c["agent token"][:len(c["agent token"])-1], `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`},
		{c["harness token"], `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`},
		{c["agent token"], `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query_logs","Name":"query_mysql","` + secret + `":1}}`},
		{c["agent token"], `{"` + secret},
	} {
		if _, _, err := w.http("POST", endpoint, r.token, []byte(r.body)); err != nil {
			w.t.Error(err)
		}
	}
	for path, token := range map[string]string{"/v1/principals/a/runs": c["agent token"], "/v1/principals/a/runs/" + c["request"]: c["harness token"] + "x", "/v1/nothing": ""} {
		if _, _, err := w.http("GET", g.harness+path, token, nil); err != nil {
			w.t.Error(err)
		}
	}
}

// quote asks for a citation whose own words are a canary. The answer repeats the URI that was asked for, as the protocol demands; the verdict in it must not.
func (w *world) quote(g *gateway, uri string) {
	w.t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": map[string]any{"uri": uri}})
	if err != nil {
		w.t.Fatal(err)
	}
	_, data, err := w.exchange(w.t.Context(), "POST", g.mcp, w.shop.text["agent token"], body)
	var reply struct {
		Result struct {
			Contents []struct {
				Text string `json:"text"`
			} `json:"contents"`
		} `json:"result"`
	}
	if err == nil {
		err = json.Unmarshal(data, &reply)
	}
	if err != nil || len(reply.Result.Contents) != 1 || !strings.Contains(reply.Result.Contents[0].Text, "QUOTE_NOT_FOUND") {
		w.t.Errorf("a quote of what was never shown: %v %.200s", err, data)
		return
	}
	w.sink("answers over HTTP", []byte(reply.Result.Contents[0].Text))
}

// mustHaveComeIn checks that the planted values were read at all: they lie in the raw answers of the records.
func (w *world) mustHaveComeIn() {
	w.t.Helper()
	var raw bytes.Buffer
	w.mu.Lock()
	attempts := append([]*attempt{}, w.attempts...)
	w.mu.Unlock()
	for _, a := range attempts {
		rec, found, err := w.direct.Load(context.Background(), w.key(a.run, a.id))
		if err != nil {
			w.t.Fatal(err)
		}
		if found {
			raw.Write(unescapeJSON(rec.Raw))
			raw.Write(rec.Request)
		}
	}
	for _, class := range []string{"log message", "log bearer", "log field", "log stack trace", "log cookie", "log url", "log SQL literal", "secret in a cell", "secret in a JSON cell", "request", "log address", "log pod", "log e-mail"} {
		if !bytes.Contains(raw.Bytes(), []byte(w.shop.text[class])) {
			w.t.Errorf("the canary %q never came in: the search for it proves nothing", class)
		}
	}
}

// commandLine runs the commands that read the same store.
func (w *world) commandLine(g *gateway) {
	w.t.Helper()
	query, err := json.Marshal(declined())
	if err != nil {
		w.t.Fatal(err)
	}
	// A configuration of its own: what the commands audit is no attempt of this test.
	o := w.o
	w.o.auditMySQL = false
	file, audit := w.writeConfig("cli")
	w.o = o
	for _, args := range [][]string{
		{"check", "--connect"},
		{"call", "query_logs", string(query), "--view", "all"},
		{"call", "query_mysql", `{"datasource":"shop","sql":"SELECT * FROM customers"}`, "--view", "all"},
		{"call", "query_mysql", `{"datasource":"denied","sql":"SELECT id FROM orders"}`, "--view", "all"},
		{"runs", "--principal", principal},
		{"runs", "leak", "--principal", principal},
		{"verify", "evidence://leak/speak-2", "--principal", principal, "--replay", "--json"},
		{"explain", "SELECT id FROM orders WHERE note = 'api_key=" + "x" + "'", "--datasource", "shop"},
		{"explain", "SELECT v FROM vault", "--datasource", "shop"},
	} {
		cmd := exec.Command(g.cmd.Path, append(args, "--config", file)...)
		cmd.Env = append(os.Environ(), "AGENT_TOKEN="+w.shop.text["agent token"], "UNRELATED_SECRET="+w.shop.text["environment"])
		cmd.Dir = w.dir
		out, err := cmd.CombinedOutput()
		if len(out) == 0 {
			w.t.Errorf("%v says nothing: %v", args, err)
		}
		w.sink("command line: "+args[0], out)
	}
	rows, err := os.ReadFile(audit)
	if err != nil {
		w.t.Error(err)
	}
	w.sink("audit file", rows)
}

// searchWholeStore looks for canaries in every byte of a sealed store.
func (w *world) searchWholeStore() {
	w.t.Helper()
	var all bytes.Buffer
	ctx := context.Background()
	it := w.admin.Scan(ctx, 0, "*", 1000).Iterator()
	for it.Next(ctx) {
		dump, err := w.admin.Dump(ctx, it.Val()).Result()
		if err != nil {
			continue // it has just ended
		}
		all.WriteString(it.Val())
		all.WriteString(dump)
		if h, err := w.admin.HGetAll(ctx, it.Val()).Result(); err == nil {
			for k, v := range h {
				all.WriteString(k)
				all.WriteString(v)
			}
		}
		if v, err := w.admin.Get(ctx, it.Val()).Result(); err == nil {
			all.WriteString(v)
		}
	}
	if err := it.Err(); err != nil || all.Len() == 0 {
		w.t.Fatalf("%d bytes, %v", all.Len(), err)
	}
	for _, f := range newScanner(w.t, w.shop.canaries).find(all.Bytes()) {
		w.broken(i6, "sealed store: %s", f)
	}
}
