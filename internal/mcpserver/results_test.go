package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

func TestAnAnswerIsTheSameValueTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t, onBoundary(t, &echo{name: "query_logs"}))
	query := "<secret> & \u2028 \"中文\" \\ \x7f 18446744073709551616"
	args, _ := json.Marshal(map[string]string{"query": query})
	w := post(t, r.Handler(), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query_logs","arguments":`+string(args)+`}}`)
	res := read(t, w).Result
	if res.IsError || len(res.Content) != 1 {
		t.Fatalf("result = %s", w.Body)
	}
	var text, structured map[string]any
	if err := errors.Join(json.Unmarshal([]byte(res.Content[0].Text), &text), json.Unmarshal(res.StructuredContent, &structured)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(text, structured); d != "" || text["text"] != query {
		t.Errorf("text %v, structuredContent: %s", text, d)
	}
	if strings.ContainsAny(res.Content[0].Text, "\n") || !strings.Contains(res.Content[0].Text, "<secret> & ") {
		t.Errorf("the text is not compact JSON without HTML escapes: %s", res.Content[0].Text)
	}
}

func TestOwnEncoderAgreesWithTheSDK(t *testing.T) {
	t.Parallel()
	text := func(s string) []mcp.Content { return []mcp.Content{mcp.TextContent{Type: "text", Text: s}} }
	body := json.RawMessage("{\"a\":\"<b>\u2028 & \\\\ 中文\",\"n\":18446744073709551616}")
	modern := &mcp.CallToolResult{Content: text(string(body)), StructuredContent: body}
	modern.SetResultType(mcp.ResultTypeComplete)
	modern.EnsureResultMeta().SetServerInfo(mcp.Implementation{Name: "x", Version: "1"})
	for name, r := range map[string]*mcp.CallToolResult{
		"an answer":    {Content: text(string(body)), StructuredContent: body},
		"modern":       modern,
		"a refusal":    {Content: text("{}"), IsError: true},
		"two lines":    {Content: text("{\n}"), StructuredContent: json.RawMessage("{\n}")},
		"two contents": {Content: append(text("a"), text("b")...)},
		"an image":     {Content: []mcp.Content{mcp.ImageContent{Type: "image", Data: "", MIMEType: "image/png"}}},
		"a map":        {Content: text("a"), StructuredContent: map[string]any{"a": 1}},
		"nothing":      {},
	} {
		got, err := encodeCall(r)
		want, werr := json.Marshal(r)
		if err != nil || werr != nil || bytes.ContainsRune(got, '\n') {
			t.Fatalf("%s: %q, %v, %v", name, got, err, werr)
		}
		var a, b any
		if err := errors.Join(json.Unmarshal(got, &a), json.Unmarshal(want, &b)); err != nil {
			t.Fatalf("%s: %v in %s", name, err, got)
		}
		if d := cmp.Diff(b, a); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestRefusalsCarryTextOnly(t *testing.T) {
	t.Parallel()
	const canary = "root:" + "hunter2@tcp(db)"
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"a refusal": {&boundary.Refusal{Code: fault.SQLNotReadOnly, Hint: "use SELECT", CallID: "c9"},
			`{"error":{"code":"SQL_NOT_READ_ONLY","message":"Only a single SELECT statement is allowed.","hint":"use SELECT"},"tool_call_id":"c9"}`},
		"an error that is none":  {errors.New(canary), `{"error":{"code":"INTERNAL","message":"The call failed inside the gateway."}}`},
		"a context error":        {context.Canceled, `{"error":{"code":"CANCELLED","message":"The call was cancelled."}}`},
		"neither error nor view": {nil, `{"error":{"code":"INTERNAL","message":"The call failed inside the gateway."}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.core.hook = func(context.Context, boundary.Envelope) (boundary.Observation, error) {
				return boundary.Observation{}, c.err
			}
			w := post(t, r.Handler(), testCall)
			res := read(t, w).Result
			if !res.IsError || len(res.Content) != 1 || res.Content[0].Text != c.want || res.StructuredContent != nil {
				t.Errorf("%d %s, want an isError result of %s", w.Code, w.Body, c.want)
			}
		})
	}
}

func TestPanicsTellNothing(t *testing.T) {
	t.Parallel()
	const canary = "CANARY-in-a-panic"
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, nil))
	call := newRig(t, func(o *Options) { o.Log = log })
	call.core.hook = func(context.Context, boundary.Envelope) (boundary.Observation, error) { panic(canary) }
	w := post(t, call.Handler(), testCall)
	if res := read(t, w).Result; !res.IsError || !strings.Contains(res.Content[0].Text, `"INTERNAL"`) {
		t.Errorf("a panic in a call: %s", w.Body)
	}
	out := w.Body.String()

	verify := newRig(t, func(o *Options) { o.Log = log })
	verify.verifier.panics = true
	w = post(t, verify.Handler(), `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"evidence://r/c"}}`)
	if a := read(t, w); len(a.Result.Contents) != 1 || !strings.Contains(a.Result.Contents[0].Text, `"verdict":"REJECTED"`) {
		t.Errorf("a panic in a verdict: %s", w.Body)
	}
	out += w.Body.String()

	auth := newRig(t, func(o *Options) { o.Log, o.HTTP.Auth = log, panickingAuth{} })
	w = post(t, auth.Handler(), testCall)
	if a := read(t, w); w.Code != 500 || a.Error == nil || a.Error.Message != textInternal {
		t.Errorf("a panic in the shell: %d %s", w.Code, w.Body)
	}
	out += w.Body.String() + logged.String()

	list := newRig(t, func(o *Options) { o.Log = log })
	list.core.specs = []boundary.Spec{{Name: "x", Describe: func(boundary.Grants) string { panic(canary) }}}
	w = post(t, list.Handler(), `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	if a := read(t, w); a.Error == nil || a.Error.Message != textInternal || string(a.ID) != "1" {
		t.Errorf("a panic in a listing: %s", w.Body)
	}
	out += w.Body.String() + logged.String()
	if strings.Contains(out, canary) || strings.Contains(out, "secret text") {
		t.Errorf("a panic's text came out: %s", out)
	}
	if !strings.Contains(logged.String(), "panic recovered") || !strings.Contains(logged.String(), "TestPanicsTellNothing") {
		t.Errorf("the log does not say where: %s", &logged)
	}
}

type panickingAuth struct{}

func (panickingAuth) Authenticate(context.Context, *http.Request) (Caller, error) {
	panic("CANARY-in-a-panic")
}

func TestEveryEvidenceURIGetsAVerdict(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, uri := range []string{"evidence://r/c1", "evidence://r/c1?quote=50% off", "evidence:", "evidence://", "evidence:///", "EVIDENCE://r/c1", "evidence://help?x=1", "evidence://r/c1#x",
		"evidence://[::1/c", "evidence://r/c?a=1&a=2", "evidence://r/c%zz", "evidence://" + strings.Repeat("x", 100_000), "evidence://r/c\x00\n"} {
		quoted, _ := json.Marshal(uri)
		a := read(t, post(t, r.Handler(), `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":`+string(quoted)+`}}`))
		var v struct{ Verdict, Reason string }
		if a.Error != nil || len(a.Result.Contents) != 1 || json.Unmarshal([]byte(a.Result.Contents[0].Text), &v) != nil || v.Verdict == "" || v.Reason == "" || a.Result.Contents[0].URI != uri {
			t.Errorf("%.60q: %+v", uri, a)
		}
	}
}

func TestSchemasAreThoseOfTheCaller(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) {
		o.HTTP.Auth = Everyone{Caller{Principal: "p", Grants: boundary.NewGrants(map[boundary.Kind][]string{boundary.Datasources: {"shop"}})}}
	})
	get := func(uri string) string {
		body := post(t, r.Handler(), `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"`+uri+`"}}`).Body.String()
		return strings.ReplaceAll(body, uri, "URI")
	}
	for _, uri := range []string{"schema://shop", "schema://shop/", "Schema://sh%6fp"} {
		if got := get(uri); !strings.Contains(got, `{\"datasource\":\"shop\"}`) {
			t.Errorf("%s: %s", uri, got)
		}
	}
	if forbidden, unknown := get("schema://stock"), get("schema://other"); forbidden != unknown || !strings.Contains(unknown, "error") {
		t.Errorf("a forbidden datasource reads %s, an unknown one %s", forbidden, unknown)
	}
	list := post(t, r.Handler(), `{"jsonrpc":"2.0","id":1,"method":"resources/templates/list"}`).Body.String()
	if !strings.Contains(list, "Datasources: shop.") || strings.Contains(list, "stock") {
		t.Errorf("templates = %s", list)
	}
	none := newRig(t, func(o *Options) {
		o.HTTP.Auth = Everyone{Caller{Principal: "p", Grants: boundary.NewGrants(map[boundary.Kind][]string{boundary.Datasources: {}})}}
	})
	if list := post(t, none.Handler(), `{"jsonrpc":"2.0","id":1,"method":"resources/templates/list"}`).Body.String(); strings.Contains(list, "schema://") {
		t.Errorf("templates without a datasource = %s", list)
	}
}
