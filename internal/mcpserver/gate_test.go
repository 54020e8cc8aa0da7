package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
)

func TestGateRefuses(t *testing.T) {
	t.Parallel()
	const parse, invalid, params = mcp.PARSE_ERROR, mcp.INVALID_REQUEST, mcp.INVALID_PARAMS
	call := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
	}
	for name, c := range map[string]struct {
		in   string
		code int
	}{
		"nothing":                       {"", parse},
		"no JSON":                       {"hello", parse},
		"half a message":                {`{"jsonrpc":"2.0","id":1`, parse},
		"invalid UTF-8":                 {call("{\"name\":\"query\xff\"}"), parse},
		"lone surrogate":                {call(`{"name":"\ud800"}`), parse},
		"comment":                       {`{"jsonrpc":"2.0",/* */"id":1,"method":"ping"}`, parse},
		"two messages":                  {`{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}`, invalid},
		"batch":                         {`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, invalid},
		"empty batch":                   {`[]`, invalid},
		"scalar":                        {`"ping"`, invalid},
		"null":                          {`null`, invalid},
		"no version":                    {`{"id":1,"method":"ping"}`, invalid},
		"version 1.0":                   {`{"jsonrpc":"1.0","id":1,"method":"ping"}`, invalid},
		"numeric version":               {`{"jsonrpc":2.0,"id":1,"method":"ping"}`, invalid},
		"duplicate method":              {`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`, invalid},
		"method in another case":        {`{"jsonrpc":"2.0","id":1,"Method":"ping"}`, invalid},
		"method twice by case":          {`{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":"tools/list"}`, invalid},
		"unknown member":                {`{"jsonrpc":"2.0","id":1,"method":"ping","extra":1}`, invalid},
		"empty method":                  {`{"jsonrpc":"2.0","id":1,"method":""}`, invalid},
		"null method":                   {`{"jsonrpc":"2.0","id":1,"method":null}`, invalid},
		"method of 10 KiB":              {`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("m", 10<<10) + `"}`, invalid},
		"null id":                       {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, invalid},
		"fractional id":                 {`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, invalid},
		"exponent id":                   {`{"jsonrpc":"2.0","id":1e3,"method":"ping"}`, invalid},
		"object id":                     {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, invalid},
		"id of a million digits":        {`{"jsonrpc":"2.0","id":` + strings.Repeat("9", 1_000_000) + `,"method":"ping"}`, invalid},
		"request and response":          {`{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, invalid},
		"result and error":              {`{"jsonrpc":"2.0","id":1,"result":{},"error":{}}`, invalid},
		"id alone":                      {`{"jsonrpc":"2.0","id":1}`, invalid},
		"too deep":                      {call(`{"name":"q","arguments":` + strings.Repeat(`{"a":`, 10_000) + `1` + strings.Repeat(`}`, 10_000) + `}`), invalid},
		"NUL in a name":                 {call(`{"name\u0000":"q"}`), invalid},
		"tool name twice by case":       {call(`{"name":"query_logs","Name":"query_mysql"}`), invalid},
		"argument twice":                {call(`{"name":"query_rag","arguments":{"query":"payment","query":"disk"}}`), invalid},
		"argument twice by case":        {call(`{"name":"query_rag","arguments":{"query":"payment","Query":"disk"}}`), invalid},
		"long s":                        {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"},"param` + "\u017f" + `":{"name":"b"}}`, invalid},
		"kelvin sign":                   {call(`{"name":"q","arguments":{"k":1,"` + "\u212a" + `":2}}`), invalid},
		"params list":                   {call(`["query_logs"]`), params},
		"params string":                 {call(`"query_logs"`), params},
		"tool name in another case":     {call(`{"Name":"query_logs"}`), invalid},
		"arguments in another case":     {call(`{"name":"query_logs","Arguments":{}}`), invalid},
		"arguments with a long s":       {call(`{"name":"query_logs","argument` + "\u017f" + `":{}}`), invalid},
		"no tool name":                  {call(`{}`), params},
		"numeric tool name":             {call(`{"name":1}`), params},
		"_meta list":                    {call(`{"name":"q","_meta":[]}`), params},
		"unknown key of ours":           {call(`{"name":"q","_meta":{"dev.mcp-gateway/runid":"r"}}`), params},
		"key of ours in another case":   {call(`{"name":"q","_meta":{"dev.mcp-gateway/Run-Id":"r"}}`), params},
		"prefix in another case":        {call(`{"name":"q","_meta":{"Dev.mcp-gateway/run-id":"r"}}`), params},
		"numeric uri":                   {`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":1}}`, params},
		"uri in another case":           {`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"URI":"evidence://help"}}`, invalid},
		"prompt argument is no string":  {`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"diagnose","arguments":{"incident":1}}}`, params},
		"cursor is no string":           {`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":1}}`, params},
		"protocolVersion is no string":  {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`, params},
		"long protocolVersion":          {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + strings.Repeat("1", 1000) + `"}}`, params},
		"escaped duplicate member name": {call(`{"name":"a","n\u0061me":"b"}`), invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := decode([]byte(c.in))
			if err == nil || err.code != c.code {
				t.Fatalf("decode = %+v, want code %d", err, c.code)
			}
		})
	}
}

func TestGateAccepts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   string
		want message
		mcp  string // what mcp-go sees
	}{
		"a call": {
			` {"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"query_logs","arguments":{ "query":"9007199254740993" },"progressToken":1,"task":{},"_meta":{"progressToken":3,"callId":"c"}}} `,
			message{id: json.RawMessage(`"x"`), method: "tools/call", name: "query_logs", args: json.RawMessage(`{ "query":"9007199254740993" }`)},
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"tool"}}`},
		"a call without arguments": {
			`{"jsonrpc":"2.0","id":-5,"method":"tools/call","params":{"name":"n\u00e9","arguments":null,"_meta":null}}`,
			message{id: json.RawMessage(`-5`), method: "tools/call", name: "né"},
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"tool"}}`},
		"arguments of any kind are the tool's to refuse": {
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"q","arguments":[1]}}`,
			message{id: json.RawMessage(`1`), method: "tools/call", name: "q", args: json.RawMessage(`[1]`)},
			`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"tool"}}`},
		"a modern request": {
			`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"YQ==","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"traceparent":"x"}}}`,
			message{id: json.RawMessage(`1`), method: "tools/list", cursor: "YQ=="},
			`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`},
		"initialize": {
			`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{"listChanged":true}},"clientInfo":{"name":"x","Version":"1"}}}`,
			message{id: json.RawMessage(`0`), method: "initialize", proto: "2025-06-18"},
			`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"","version":""}}}`},
		"a read": {
			`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"evidence://r/c?quote=\"50%\" 中文"}}`,
			message{id: json.RawMessage(`1`), method: "resources/read", uri: `evidence://r/c?quote="50%" 中文`},
			`{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"gateway://resource"}}`},
		"a prompt": {
			`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"diagnose","arguments":{"incident":"502"}}}`,
			message{id: json.RawMessage(`1`), method: "prompts/get", name: "diagnose", texts: map[string]string{"incident": "502"}},
			`{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"diagnose"}}`},
		"an unknown method": {
			`{"jsonrpc":"2.0","id":1,"method":"x\"y","params":{"a":1}}`,
			message{id: json.RawMessage(`1`), method: `x"y`},
			`{"jsonrpc":"2.0","id":7,"method":"x\"y","params":{}}`},
		"a notification": {
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`, message{kind: notification, method: "notifications/initialized"}, ""},
		"a cancellation": {
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9007199254740993,"reason":"x"}}`,
			message{kind: notification, method: "notifications/cancelled", target: "i9007199254740993"}, ""},
		"a response": {`{"jsonrpc":"2.0","id":1,"result":{}}`, message{kind: response, id: json.RawMessage(`1`)}, ""},
		"an error":   {`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`, message{kind: response, id: json.RawMessage(`1`)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := decode([]byte(c.in))
			if err != nil {
				t.Fatalf("decode(%s) = %+v", c.in, err)
			}
			got := *m
			got.raw, got.meta = nil, nil
			if d := cmp.Diff(c.want, got, cmp.AllowUnexported(message{})); d != "" {
				t.Errorf("decode(%s): %s", c.in, d)
			}
			if c.mcp != "" {
				if d := cmp.Diff(c.mcp, string(m.forward(7))); d != "" {
					t.Errorf("forward: %s", d)
				}
			}
		})
	}
}

func TestIDsThatAreEqualHaveOneKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{`1`, `1`, true}, {`1`, `"1"`, false}, {`"a"`, `"\u0061"`, true}, {`0`, `-0`, true}, {`1`, `-1`, false}, {`"i1"`, `1`, false}, {`"s"`, `""`, false},
		{`18446744073709551616`, `18446744073709551617`, false},
	} {
		a, b := idKey(json.RawMessage(c.a)), idKey(json.RawMessage(c.b))
		if a == "" || b == "" || (a == b) != c.same {
			t.Errorf("idKey(%s) = %q, idKey(%s) = %q, want same %v", c.a, a, c.b, b, c.same)
		}
	}
}

func FuzzGate(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query_logs","arguments":{"topics":["a"]},"_meta":{"dev.mcp-gateway/run-id":"r"}}}`,
		`{"jsonrpc":"2.0","id":"\u0061","method":"resources/read","params":{"uri":"evidence://a/b?quote=x"}}`,
		`{"jsonrpc":"2.0","id":9007199254740993,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"a":[1,{}]}}}}`,
		`[{}]`, `{"name":"a","Name":"b"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, bad := decode(data)
		if m == nil {
			t.Fatal("no message")
		}
		if b := errorReply(m.id, &rpcError{code: 1}).body; !json.Valid(b) {
			t.Fatalf("an answer under id %s is no JSON: %s", m.id, b)
		}
		if bad != nil || m.kind != request {
			return
		}
		// A second, independent reading of the same bytes finds the same call.
		var top struct {
			Method string
			Params map[string]json.RawMessage
		}
		if err := json.Unmarshal(data, &top); err != nil || top.Method != m.method {
			t.Fatalf("method %q, an independent reader sees %q, %v", m.method, top.Method, err)
		}
		if m.method == "tools/call" {
			var name string
			if err := json.Unmarshal(top.Params["name"], &name); err != nil || name != m.name {
				t.Fatalf("name %q, an independent reader sees %q, %v", m.name, name, err)
			}
			if args := top.Params["arguments"]; present(args) && string(args) != string(m.args) {
				t.Fatalf("arguments %q, an independent reader sees %q", m.args, args)
			}
		}
		// What is handed on decodes to what was decoded.
		out := m.forward(7)
		if err := strictjson.Check(out); err != nil {
			t.Fatalf("forward wrote %s: %v", out, err)
		}
		again, bad := decode(out)
		if bad != nil {
			t.Fatalf("forward wrote %s, which is refused: %+v", out, bad)
		}
		if again.method != m.method || again.proto != m.proto || again.version() != m.version() || string(again.protocolMeta()) != string(m.protocolMeta()) {
			t.Fatalf("forward changed the message: %s", out)
		}
	})
}

func FuzzSplit(f *testing.F) {
	for _, s := range []string{`{}`, ` { "a" : [1, {"b":"}\\""}] , "\u0062":null } `, `{"a":-1.5e3,"b":true}`, `[]`, `{"a":`, `{"a" 1}`, `{,}`, `"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o, ok := split(data) // must not panic or hang, whatever it is given
		if strictjson.Check(data) != nil {
			return
		}
		var want map[string]json.RawMessage
		isObject := json.Unmarshal(data, &want) == nil && want != nil
		if ok != isObject || len(o) != len(want) {
			t.Fatalf("split(%q) = %v, %v, an independent reader sees %v", data, o, ok, want)
		}
		for name, value := range want {
			if got := o.get(name); string(got) != string(value) {
				t.Fatalf("member %q = %q, an independent reader sees %q", name, got, value)
			}
		}
	})
}

func TestEvidenceURIsAreEscaped(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"evidence://r/c":                             "evidence://r/c",
		"evidence://r/c?item=e1&quote=a+b%20c":       "evidence://r/c?item=e1&quote=a+b%20c",
		`evidence://r/c?quote=say "no" | 50% of 中文`:  "evidence://r/c?quote=say%20%22no%22%20%7C%2050%25%20of%20%E4%B8%AD%E6%96%87",
		"evidence://r/c?quote=100%":                  "evidence://r/c?quote=100%25",
		"evidence://r/c?quote=%zz%4":                 "evidence://r/c?quote=%25zz%254",
		"evidence://r/c?quote=issue #42; open":       "evidence://r/c?quote=issue%20%2342%3B%20open",
		"evidence://r/c?quote=a\nb\t\x00":            "evidence://r/c?quote=a%0Ab%09%00",
		"evidence://r/c?quote=<ip:k3f9qa>[x]{y}^`\\": "evidence://r/c?quote=%3Cip:k3f9qa%3E%5Bx%5D%7By%7D%5E%60%5C",
		"evidence://r/c#e1":                          "evidence://r/c#e1",
		"evidence://r/c?item=e1#x;y":                 "evidence://r/c?item=e1#x;y",
		"evidence://r/c?value=a;b&item=e1;x":         "evidence://r/c?value=a%3Bb&item=e1;x",
		"evidence://r/c?quote=why? item=#1&item=#":   "evidence://r/c?quote=why?%20item=%231&item=#",
		"": "",
	} {
		if got := escapeURI(in); got != want {
			t.Errorf("escapeURI(%q) = %q, want %q", in, got, want)
		}
		if got := escapeURI(escapeURI(in)); got != want {
			t.Errorf("escapeURI twice(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestResponsesKeepTheIDAsSent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, id := range []string{`1`, `0`, `-7`, `9007199254740993`, `123456789012345678901234567890`, `"abc"`, `"\u4e2d"`, `""`} {
		m, bad := decode(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"ping"}`, id))
		if bad != nil {
			t.Errorf("id %s: %+v", id, bad)
			continue
		}
		if got, want := string(r.serve(t.Context(), Caller{Principal: "p"}, "", m).body), `{"jsonrpc":"2.0","id":`+id+`,"result":{}}`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
