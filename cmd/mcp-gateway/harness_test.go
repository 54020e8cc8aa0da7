package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// api speaks to the harness listener.
type api struct {
	base, token string
}

func (a api) do(t *testing.T, method, path string, body any) (int, map[string]any) {
	t.Helper()
	var r io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		r = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, a.base+path, r)
	if err != nil {
		t.Fatal(err)
	}
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	v := map[string]any{}
	if len(data) > 0 && data[0] == '{' {
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatalf("%s %s: %s", method, path, data)
		}
	} else {
		v["text"] = string(data)
	}
	return res.StatusCode, v
}

const registered = `canonical: {store: memory}
harness: {listen: "127.0.0.1:0"}
runs: {mode: registered, no_gain: {limit: 2, window: 3}}
auth: {tokens: [{name: a, token: tok-a-not-real}, {name: ops, token: tok-ops-not-real, role: harness, principals: [a]}, {name: all, token: tok-all-not-real, role: harness}]}
`

// A registered run from its opening to its end: budgets, control views, assessment, STOP_REQUIRED and resume, drafts, progress, metrics.
func TestTheHarnessRunsARegisteredRun(t *testing.T) {
	s := serve(t, registered)
	base := "http://" + s.log.await(t, "serving the harness API", 1)["address"].(string)
	ops := api{base, "tok-ops-not-real"}
	const runs = "/v1/principals/a/runs"

	agent := s.dial(t, bearer{token: "tok-a-not-real", run: "inc-1"})
	if v, isErr := call(t, agent, "query_logs", declined(), nil); !isErr || v["error"].(map[string]any)["code"] != "RUN_NOT_ACTIVE" {
		t.Fatalf("a run that was never opened: %v", v)
	}
	if code, v := ops.do(t, "POST", runs, map[string]any{"run_id": "inc-1", "limits": map[string]any{"calls": 50}}); code != 201 || v["mode"] != "registered" || v["active"] != true {
		t.Fatalf("open: %d %v", code, v)
	}
	if code, v := ops.do(t, "POST", runs, map[string]any{"run_id": "inc-1"}); code != 400 {
		t.Errorf("open twice: %d %v", code, v)
	}
	ask := func(id, query string) (map[string]any, bool) {
		args := declined()
		args["query"] = query
		return call(t, agent, "query_logs", args, mcp.Meta{"dev.mcp-gateway/tool-call-id": id, "dev.mcp-gateway/step-id": "s1"})
	}
	for i, q := range []string{"declined", "declined", "DECLINED"} {
		if v, isErr := ask(fmt.Sprint("c", i), q); isErr || strings.Contains(fmt.Sprint(v), "streak") || strings.Contains(fmt.Sprint(v), "budget") {
			t.Fatalf("call %d: %v", i, v)
		}
	}
	v, isErr := ask("c3", "declined")
	if code := v["error"].(map[string]any)["code"]; !isErr || code != "STOP_REQUIRED" {
		t.Fatalf("after two calls without gain: %v", v)
	}
	if scopes := v["control"].(map[string]any)["checked_scopes"].([]any); len(scopes) != 1 {
		t.Errorf("checked scopes %v", scopes)
	}
	code, v := ops.do(t, "GET", runs+"/inc-1/calls/c1", nil)
	if code != 200 || v["gain"] != "NO_GAIN" || v["duplicate_of"] != "c0" || v["step_id"] != "s1" || v["returned_count"] == 0.0 {
		t.Errorf("control view: %d %v", code, v)
	}
	if code, v := ops.do(t, "POST", runs+"/inc-1/calls/c1/assessment", map[string]any{"gain": "GAIN"}); code != 200 || v["assessed"] != true || v["gain"] != "GAIN" {
		t.Errorf("assessment: %d %v", code, v)
	}
	if _, isErr := ask("c4", "declined"); isErr {
		t.Error("an assessed gain does not let the run go on")
	}
	if _, isErr := ask("c5", "declined"); !isErr {
		t.Error("the run was not stopped again")
	}
	if code, v := ops.do(t, "POST", runs+"/inc-1/resume", nil); code != 200 || v["stop_required"] != false {
		t.Errorf("resume: %d %v", code, v)
	}
	if _, isErr := ask("c6", "zebra"); isErr {
		t.Error("a resumed run is refused")
	}
	code, v = ops.do(t, "GET", runs+"/inc-1/progress", nil)
	tool, _ := v["tools"].(map[string]any)["query_logs"].(map[string]any)
	if code != 200 || tool["calls"] != 5.0 || tool["no_evidence"] != 1.0 || v["budget_left"].(map[string]any)["calls"] != 45.0 {
		t.Errorf("progress: %d %v", code, v)
	}
	code, v = ops.do(t, "POST", runs+"/inc-1/verify", map[string]any{"replay": true, "draft": "It said \"gateway answered 502\" [ev:c0#e1]. Nothing about zebras [ev:c6#absent]."})
	if code != 200 || v["citations_ok"] != true {
		t.Errorf("draft: %d %v", code, v)
	}
	code, v = ops.do(t, "POST", runs+"/inc-1/verify", map[string]any{"citations": []string{"evidence://current/c0", "evidence://inc-1/nope", "x"}})
	if vs := v["verdicts"].([]any); code != 200 || vs[0].(map[string]any)["verdict"] != "SUPPORTED" || vs[1].(map[string]any)["reason"] != "NOT_FOUND" || vs[2].(map[string]any)["reason"] != "INVALID_CITATION" {
		t.Errorf("citations: %d %v", code, v)
	}
	if code, _ := ops.do(t, "DELETE", runs+"/inc-1", nil); code != 204 {
		t.Errorf("close: %d", code)
	}
	if v, isErr := ask("c7", "declined"); !isErr || v["error"].(map[string]any)["code"] != "RUN_NOT_ACTIVE" {
		t.Errorf("a closed run: %v", v)
	}
	if code, v := ops.do(t, "POST", runs+"/inc-1/verify", map[string]any{"citations": []string{"evidence://inc-1/c0"}}); code != 200 || v["verdicts"].([]any)[0].(map[string]any)["verdict"] != "SUPPORTED" {
		t.Errorf("verify after the close: %d %v", code, v)
	}
	code, v = api{base, ""}.do(t, "GET", "/metrics", nil)
	if text := v["text"].(string); code != 200 || !strings.Contains(text, `mcp_gateway_calls_total{code="STOP_REQUIRED",outcome="REFUSED",tool="query_logs"} 2`) || strings.Contains(text, "inc-1") {
		t.Errorf("metrics: %d\n%.2000s", code, text)
	}
	for _, p := range []string{"/healthz", "/readyz"} {
		if code, v := (api{base, ""}).do(t, "GET", p, nil); code != 200 {
			t.Errorf("%s: %d %v", p, code, v)
		}
	}
}

func TestWhoMayUseTheHarnessAPI(t *testing.T) {
	s := serve(t, registered)
	base := "http://" + s.log.await(t, "serving the harness API", 1)["address"].(string)
	for name, c := range map[string]struct {
		token, path string
		want        int
	}{
		"no token":               {"", "/v1/principals/a/runs", 401},
		"wrong token":            {"tok-x", "/v1/principals/a/runs", 401},
		"an agent's token":       {"tok-a-not-real", "/v1/principals/a/runs", 401},
		"limited to others":      {"tok-ops-not-real", "/v1/principals/b/runs", 403},
		"for all":                {"tok-all-not-real", "/v1/principals/b/runs", 200},
		"principal with a slash": {"tok-all-not-real", "/v1/principals/https:%2F%2Fissuer.example.com%7Csub/runs", 200},
		"unknown run":            {"tok-all-not-real", "/v1/principals/a/runs/none", 404},
		"malformed run":          {"tok-all-not-real", "/v1/principals/a/runs/a%20b", 400},
		"unknown path":           {"tok-all-not-real", "/v1/everything", 404},
	} {
		if code, v := (api{base, c.token}).do(t, "GET", c.path, nil); code != c.want {
			t.Errorf("%s: %d %v, want %d", name, code, v, c.want)
		}
	}
	// The harness's token opens no MCP endpoint, and a browser opens nothing.
	req, _ := http.NewRequestWithContext(t.Context(), "POST", s.url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	req.Header.Set("Authorization", "Bearer tok-all-not-real")
	req.Header.Set("Content-Type", "application/json")
	if res, err := http.DefaultClient.Do(req); err != nil || res.StatusCode != 403 {
		t.Errorf("harness token at the MCP endpoint: %v %v", res, err)
	}
	for header, value := range map[string]string{"Origin": "https://evil.example", "Host": "evil.example"} {
		req, _ := http.NewRequestWithContext(t.Context(), "GET", base+"/healthz", nil)
		req.Header.Set(header, value)
		if header == "Host" {
			req.Host = value
		}
		if res, err := http.DefaultClient.Do(req); err != nil || res.StatusCode != 403 {
			t.Errorf("%s %s: %v %v", header, value, res, err)
		}
	}
}

// The tools' schemas and descriptions are a reviewed snapshot: UPDATE=1 rewrites it.
func TestToolSnapshot(t *testing.T) {
	dir, file := baseConfig(t, "canonical: {store: memory}\nmysql: {datasources: {shop: {description: orders and customers, dsn: \"ro:x@tcp(127.0.0.1:1)/shop\", schemas: {shop: {orders: [id, status], customers: {columns: [id, email], masked: [email]}}}}}}\n")
	_ = dir
	var out, errs bytes.Buffer
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n")
	if code := run(t.Context(), []string{"stdio", "--config", file}, in, &out, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, errs.String())
	}
	var msg struct {
		Result struct {
			Tools []json.RawMessage `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal(out.Bytes(), &msg); err != nil || len(msg.Result.Tools) != 3 {
		t.Fatalf("%s %v", out.Bytes(), err)
	}
	for _, tool := range msg.Result.Tools {
		var named struct {
			Name string `json:"name"`
		}
		if err := json.Unmarshal(tool, &named); err != nil {
			t.Fatal(err)
		}
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, tool, "", "  "); err != nil {
			t.Fatal(err)
		}
		pretty.WriteByte('\n')
		path := filepath.Join("..", "..", "toolsnap", named.Name+".json")
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(path, pretty.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(want, pretty.Bytes()) {
			t.Errorf("%s differs from its snapshot (%v); review it and run UPDATE=1 go test ./cmd/mcp-gateway -run TestToolSnapshot\n%s", named.Name, err, pretty.Bytes())
		}
	}
}
