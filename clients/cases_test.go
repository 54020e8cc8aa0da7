package clients

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// toolNames are all tools there are.
var toolNames = []string{"query_logs", "query_mysql", "query_rag"}

// question is a call and what its answer must hold.
type question struct {
	ID    string         `json:"id"`
	Tool  string         `json:"tool"`
	Args  map[string]any `json:"args"`
	has   []string       // of an observation
	code  string         // of a refusal
	cites string         // parameters of a citation that holds, as a model writes them
}

// questions are one of each tool, then refusals.
func questions() []question {
	sql := "SELECT o.id, o.status, c.id AS customer, c.name, c.email FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.status = 'FAILED'"
	return []question{
		{ID: "logs", Tool: "query_logs", Args: map[string]any{"topics": []string{"checkout"}, "query": "declined", "from": "2026-01-01T10:00:00Z", "to": "2026-01-01T10:06:00Z"},
			has: []string{"gateway answered 502", "password=<secret>"}, cites: "item=e1&quote=gateway answered 502"},
		{ID: "rag", Tool: "query_rag", Args: map[string]any{"query": "支付网关 502 切换"}, has: []string{"payctl failover --region eu", "zh.md"}, cites: "item=e1&quote=时，切换到备用网关："},
		{ID: "mysql", Tool: "query_mysql", Args: map[string]any{"datasource": "shop", "sql": sql}, has: []string{"FAILED", `"9007199254740993"`, "阿达", "<masked>"}, cites: "item=r1&field=status&value=FAILED"},
		{ID: "write", Tool: "query_mysql", Args: map[string]any{"datasource": "shop", "sql": "DELETE FROM orders"}, code: "SQL_NOT_READ_ONLY"},
		{ID: "topic", Tool: "query_logs", Args: map[string]any{"topics": []string{"payroll"}}, code: "INVALID_REQUEST"},
	}
}

// answer is a tools/call result as a client shows it.
type answer struct {
	Content           []struct{ Type, Text string }
	StructuredContent json.RawMessage
	IsError           bool
	Thrown            *thrown
}

type thrown struct {
	Code    int
	Message string
}

// check holds an answer against its question: an observation is the same value as text and as structured content, a refusal is text only.
func (a answer) check(tb testing.TB, run string, q question) {
	tb.Helper()
	if a.Thrown != nil || len(a.Content) != 1 || a.Content[0].Type != "text" {
		tb.Errorf("%s: %+v, want one text", q.ID, a)
		return
	}
	var text, structured map[string]any
	if err := json.Unmarshal([]byte(a.Content[0].Text), &text); err != nil {
		tb.Errorf("%s: the text is no JSON: %v", q.ID, err)
		return
	}
	if text["tool_call_id"] != q.ID {
		tb.Errorf("%s: tool_call_id %v", q.ID, text["tool_call_id"])
	}
	if q.code != "" {
		e, _ := text["error"].(map[string]any)
		if !a.IsError || e["code"] != q.code || len(a.StructuredContent) > 0 {
			tb.Errorf("%s: %s, isError %v, structured %s; want a refusal %s", q.ID, a.Content[0].Text, a.IsError, a.StructuredContent, q.code)
		}
		return
	}
	if err := json.Unmarshal(a.StructuredContent, &structured); err != nil {
		tb.Errorf("%s: structuredContent: %v", q.ID, err)
		return
	}
	if d := cmp.Diff(text, structured); d != "" {
		tb.Errorf("%s: text and structuredContent differ: %s", q.ID, d)
	}
	if a.IsError || text["evidence_status"] != "EVIDENCE_FOUND" || text["run_id"] != run {
		tb.Errorf("%s: %s, isError %v; want evidence in run %s", q.ID, a.Content[0].Text, a.IsError, run)
	}
	for _, h := range q.has {
		if !strings.Contains(a.Content[0].Text, h) {
			tb.Errorf("%s: %s lacks %q", q.ID, a.Content[0].Text, h)
		}
	}
}

// resource is a resources/read result.
type resource struct {
	Contents []struct{ URI, MIMEType, Text string }
	Thrown   *thrown
}

// reading is a URI and what reading it must give: a verdict, a text, or an error.
type reading struct {
	uri     string
	verdict string // "SUPPORTED OK"
	text    string
	missing bool
}

// readings verify each observation by a citation that holds and one that does not.
func readings(run string) []reading {
	out := []reading{{uri: "evidence://help", text: "# Citing and verifying evidence"}, {uri: "schema://shop", text: "customers"}, {uri: "schema://payroll", missing: true}}
	for _, q := range questions() {
		if q.cites == "" {
			continue
		}
		out = append(out, reading{uri: "evidence://" + run + "/" + q.ID + "?" + q.cites, verdict: "SUPPORTED OK"},
			reading{uri: "evidence://current/" + q.ID + "?" + q.cites, verdict: "SUPPORTED OK"},
			reading{uri: "evidence://" + run + "/" + q.ID + "?quote=50% of 网关 answered 418", verdict: "REJECTED QUOTE_NOT_FOUND"})
	}
	return append(out, reading{uri: "evidence://" + run + "/write?quote=whatever it was", verdict: "REJECTED NOT_FOUND"})
}

// check holds what was read against what the reading wants. missingCode is the JSON-RPC code of the protocol revision for a resource that does not exist.
func (r resource) check(tb testing.TB, want reading, missingCode int) {
	tb.Helper()
	if want.missing {
		if r.Thrown == nil || r.Thrown.Code != missingCode || !strings.Contains(r.Thrown.Message, "Resource not found") {
			tb.Errorf("%s: %+v, want error %d", want.uri, r.Thrown, missingCode)
		}
		return
	}
	if r.Thrown != nil || len(r.Contents) != 1 {
		tb.Errorf("%s: %+v, want one content", want.uri, r)
		return
	}
	text := r.Contents[0].Text
	if want.verdict == "" {
		if !strings.Contains(text, want.text) {
			tb.Errorf("%s: %q lacks %q", want.uri, text, want.text)
		}
		return
	}
	var v struct{ Verdict, Reason string }
	if err := json.Unmarshal([]byte(text), &v); err != nil || v.Verdict+" "+v.Reason != want.verdict {
		tb.Errorf("%s: %s, want %s", want.uri, text, want.verdict)
	}
}

// tool is a listed tool.
type tool struct {
	Name, Description string
	InputSchema       map[string]any
	OutputSchema      map[string]any
	Annotations       struct{ ReadOnlyHint, DestructiveHint bool }
}

// checkTools wants every tool, each read-only with both schemas.
func checkTools(tb testing.TB, list []tool) {
	tb.Helper()
	var names []string
	for _, t := range list {
		names = append(names, t.Name)
		if !t.Annotations.ReadOnlyHint || t.Annotations.DestructiveHint || t.InputSchema["type"] != "object" || t.OutputSchema["type"] != "object" || t.Description == "" {
			tb.Errorf("%s: %+v", t.Name, t)
		}
	}
	slices.Sort(names)
	if d := cmp.Diff(toolNames, names); d != "" {
		tb.Errorf("tools: %s", d)
	}
}
