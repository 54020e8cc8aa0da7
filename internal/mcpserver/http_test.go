package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/seed-069badc9/mcp-gateway/boundary"
)

const testCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query_logs","arguments":{"query":"x"}}}`

// post sends one body to the handler. headers holds pairs; "Host" and "Method" set those.
func post(t testing.TB, h http.Handler, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body))
	req.Host = "127.0.0.1:8484"
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		switch k, v := headers[i], headers[i+1]; {
		case k == "Host":
			req.Host = v
		case k == "Method":
			req.Method = v
		case k == "Path":
			req.URL.Path = v
		case v == "":
			req.Header.Del(k)
		case strings.HasPrefix(k, "+"):
			req.Header.Add(k[1:], v)
		default:
			req.Header.Set(k, v)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

// answer is a JSON-RPC response.
type answer struct {
	ID     json.RawMessage `json:"id"`
	Result struct {
		IsError           bool `json:"isError"`
		Content           []struct{ Text string }
		StructuredContent json.RawMessage `json:"structuredContent"`
		Contents          []struct{ URI, Text string }
		Tools             []struct{ Name, Description string }
		ResultType        string
	} `json:"result"`
	Error *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

func read(t testing.TB, w *httptest.ResponseRecorder) answer {
	t.Helper()
	var a answer
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Fatalf("%d %q is no JSON-RPC response: %v", w.Code, w.Body, err)
	}
	return a
}

func TestWhoMayReachTheHandler(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) {
		o.HTTP.Listen = "gw.internal:8484"
		o.HTTP.AllowedHosts = []string{"mcp.example.com", "port.example.com:8443"}
		o.HTTP.AllowedOrigins = []string{"https://good.example", "http://localhost:3000"}
	})
	h := r.Handler()
	for name, c := range map[string]struct {
		headers []string
		status  int
	}{
		"no Origin":                     {nil, 200},
		"allowed Origin":                {[]string{"Origin", "https://good.example"}, 200},
		"default port":                  {[]string{"Origin", "https://good.example:443"}, 200},
		"allowed Origin with port":      {[]string{"Origin", "http://localhost:3000"}, 200},
		"evil Origin":                   {[]string{"Origin", "https://evil.example"}, 403},
		"null Origin":                   {[]string{"Origin", "null"}, 403},
		"lookalike Origin":              {[]string{"Origin", "https://good.example.evil"}, 403},
		"prefix of the Origin":          {[]string{"Origin", "https://evilgood.example"}, 403},
		"Origin of another scheme":      {[]string{"Origin", "http://good.example"}, 403},
		"Origin of another port":        {[]string{"Origin", "https://good.example:8443"}, 403},
		"userinfo in the Origin":        {[]string{"Origin", "https://good.example@evil.example"}, 403},
		"two Origins":                   {[]string{"Origin", "https://good.example", "+Origin", "https://evil.example"}, 403},
		"the same Origin twice":         {[]string{"Origin", "https://good.example", "+Origin", "https://good.example"}, 403},
		"two Origins in one":            {[]string{"Origin", "https://good.example, https://evil.example"}, 403},
		"listen name":                   {[]string{"Host", "gw.internal:8484"}, 200},
		"localhost":                     {[]string{"Host", "localhost"}, 200},
		"LOCALHOST.":                    {[]string{"Host", "LOCALHOST.:1"}, 200},
		"IPv6 loopback":                 {[]string{"Host", "[::1]:8484"}, 200},
		"mapped loopback":               {[]string{"Host", "[::ffff:127.0.0.1]:8484"}, 200},
		"allowed host, any port":        {[]string{"Host", "mcp.example.com:1234"}, 200},
		"allowed host and port":         {[]string{"Host", "port.example.com:8443"}, 200},
		"allowed host, another port":    {[]string{"Host", "port.example.com:80"}, 403},
		"allowed host, port missing":    {[]string{"Host", "port.example.com"}, 403},
		"evil Host":                     {[]string{"Host", "evil.example"}, 403},
		"localhost.evil":                {[]string{"Host", "localhost.evil"}, 403},
		"127.0.0.1.nip.io":              {[]string{"Host", "127.0.0.1.nip.io"}, 403},
		"an address":                    {[]string{"Host", "192.0.2.7:8484"}, 403},
		"any address":                   {[]string{"Host", "0.0.0.0:8484"}, 403},
		"octal loopback":                {[]string{"Host", "0177.0.0.1"}, 403},
		"no Host":                       {[]string{"Host", ""}, 403},
		"GET":                           {[]string{"Method", "GET"}, 405},
		"DELETE":                        {[]string{"Method", "DELETE"}, 405},
		"HEAD":                          {[]string{"Method", "HEAD"}, 405},
		"PUT":                           {[]string{"Method", "PUT"}, 405},
		"OPTIONS without Origin":        {[]string{"Method", "OPTIONS"}, 405},
		"preflight":                     {[]string{"Method", "OPTIONS", "Origin", "https://good.example"}, 204},
		"preflight of an evil Origin":   {[]string{"Method", "OPTIONS", "Origin", "https://evil.example"}, 403},
		"other path":                    {[]string{"Path", "/"}, 404},
		"path below":                    {[]string{"Path", "/mcp/x"}, 404},
		"text":                          {[]string{"Content-Type", "text/plain"}, 415},
		"form":                          {[]string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		"no type":                       {[]string{"Content-Type", ""}, 415},
		"two types":                     {[]string{"+Content-Type", "application/json"}, 415},
		"json lookalike":                {[]string{"Content-Type", "application/json-patch+json"}, 415},
		"charset utf-8":                 {[]string{"Content-Type", "application/json; charset=UTF-8"}, 200},
		"charset utf-16":                {[]string{"Content-Type", "application/json; charset=utf-16"}, 415},
		"gzip":                          {[]string{"Content-Encoding", "gzip"}, 415},
		"identity":                      {[]string{"Content-Encoding", "identity"}, 200},
		"Accept of anything":            {[]string{"Accept", "text/html"}, 200},
		"a session id of another era":   {[]string{"Mcp-Session-Id", "mcp-session-of-someone"}, 200},
		"2024-11-05":                    {[]string{"MCP-Protocol-Version", "2024-11-05"}, 200},
		"2025-11-25":                    {[]string{"MCP-Protocol-Version", "2025-11-25"}, 200},
		"unknown version":               {[]string{"MCP-Protocol-Version", "1999-01-01"}, 400},
		"modern header, legacy message": {[]string{"MCP-Protocol-Version", "2026-07-28"}, 400},
		"two versions":                  {[]string{"MCP-Protocol-Version", "2025-11-25", "+MCP-Protocol-Version", "2024-11-05"}, 400},
		"right Mcp-Name":                {[]string{"Mcp-Name", "query_logs", "Mcp-Method", "tools/call"}, 200},
		"wrong Mcp-Name":                {[]string{"Mcp-Name", "query_mysql"}, 400},
		"wrong Mcp-Method":              {[]string{"Mcp-Method", "tools/list"}, 400},
	} {
		t.Run(name, func(t *testing.T) {
			before := len(r.core.seen())
			w := post(t, h, testCall, c.headers...)
			if w.Code != c.status {
				t.Errorf("status %d, want %d: %s", w.Code, c.status, w.Body)
			}
			if ran := len(r.core.seen()) > before; ran != (c.status == 200) {
				t.Errorf("the call ran: %v, with status %d", ran, w.Code)
			}
			if strings.Contains(w.Body.String(), "evil") {
				t.Errorf("the answer repeats the sender's words: %s", w.Body)
			}
			if got := w.Header().Get("Mcp-Session-Id"); got != "" {
				t.Errorf("a session %q was minted", got)
			}
			allowed := headerOf(c.headers, "Origin")
			if got := w.Header().Get("Access-Control-Allow-Origin"); w.Code == 403 && got != "" || w.Code == 200 && got != allowed {
				t.Errorf("Access-Control-Allow-Origin %q for Origin %q and status %d", got, allowed, w.Code)
			}
			if w.Code == 405 && w.Header().Get("Allow") != "POST" {
				t.Error("405 without Allow")
			}
		})
	}
}

// headerOf is the value of a header among pairs.
func headerOf(headers []string, name string) string {
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == name {
			return headers[i+1]
		}
	}
	return ""
}

func TestEmptyAllowlistRefusesEveryOrigin(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	if w := post(t, r.Handler(), testCall, "Origin", "http://127.0.0.1:8484"); w.Code != 403 || len(r.core.seen()) != 0 {
		t.Errorf("status %d, want 403", w.Code)
	}
}

func TestBadAllowlistsAreRefusedAtStart(t *testing.T) {
	t.Parallel()
	for _, o := range []HTTPOptions{
		{AllowedOrigins: []string{"*"}}, {AllowedOrigins: []string{"https://*.example.com"}}, {AllowedOrigins: []string{"good.example"}}, {AllowedOrigins: []string{"https://a.example/"}},
		{AllowedOrigins: []string{"null"}}, {AllowedHosts: []string{""}}, {AllowedHosts: []string{"*"}}, {AllowedHosts: []string{"http://a.example"}}, {Listen: "8080"}, {Path: "mcp"},
	} {
		r := newRig(t)
		opts := r.o
		opts.HTTP = o
		if _, err := New(opts); err == nil {
			t.Errorf("New accepted %+v", o)
		}
	}
}

func TestHostileBodiesNeverReachTheTool(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) { o.MaxMessage = 64 << 10 })
	h := r.Handler()
	for name, c := range map[string]struct {
		body   string
		status int
		code   int
	}{
		"name and Name":          {`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"query_logs","Name":"query_mysql"}}`, 400, mcp.INVALID_REQUEST},
		"duplicate argument":     {`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"query_rag","arguments":{"query":"a","query":"b"}}}`, 400, mcp.INVALID_REQUEST},
		"batch":                  {"[" + testCall + "]", 400, mcp.INVALID_REQUEST},
		"trailing data":          {testCall + testCall, 400, mcp.INVALID_REQUEST},
		"lone surrogate":         {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\udc00"}}`, 400, mcp.PARSE_ERROR},
		"empty":                  {"", 400, mcp.PARSE_ERROR},
		"over the cap":           {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"q","x":"` + strings.Repeat("a", 64<<10) + `"}}`, 413, mcp.INVALID_REQUEST},
		"tool name not a string": {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["query_logs"]}}`, 400, mcp.INVALID_PARAMS},
	} {
		t.Run(name, func(t *testing.T) {
			w := post(t, h, c.body)
			if a := read(t, w); w.Code != c.status || a.Error == nil || a.Error.Code != c.code {
				t.Errorf("%d %s, want %d and code %d", w.Code, w.Body, c.status, c.code)
			}
		})
	}
	if n := len(r.core.seen()); n != 0 {
		t.Errorf("%d calls ran", n)
	}
}

func TestStaticTokens(t *testing.T) {
	t.Parallel()
	a, err := NewToken("agent-a", "tok-a")
	if err != nil {
		t.Fatal(err)
	}
	a.Run, a.Grants = "inc-42", boundary.NewGrants(map[boundary.Kind][]string{boundary.Tools: {"query_logs"}, boundary.Topics: {"checkout"}})
	h, err := NewToken("ops", "tok-h")
	if err != nil {
		t.Fatal(err)
	}
	h.Role = "harness"
	tokens := NewTokens(a, h)
	r := newRig(t, func(o *Options) {
		o.HTTP.Auth, o.HTTP.ResourceMetadata = tokens, "https://gw.example/.well-known/oauth-protected-resource/mcp"
	})
	handler := r.Handler()
	for name, c := range map[string]struct {
		headers   []string
		status    int
		challenge string
	}{
		"none":               {nil, 401, `Bearer resource_metadata="https://gw.example/.well-known/oauth-protected-resource/mcp"`},
		"good":               {[]string{"Authorization", "Bearer tok-a"}, 200, ""},
		"scheme in any case": {[]string{"Authorization", "bEARER  tok-a"}, 200, ""},
		"garbage":            {[]string{"Authorization", "Bearer tok-z"}, 401, "invalid_token"},
		"prefix":             {[]string{"Authorization", "Bearer tok-"}, 401, "invalid_token"},
		"longer":             {[]string{"Authorization", "Bearer tok-a "}, 401, "invalid_token"},
		"empty":              {[]string{"Authorization", "Bearer "}, 401, "invalid_token"},
		"basic":              {[]string{"Authorization", "Basic dG9rLWE6"}, 401, "invalid_token"},
		"two":                {[]string{"Authorization", "Bearer tok-a", "+Authorization", "Bearer tok-z"}, 401, "invalid_token"},
		"of the harness":     {[]string{"Authorization", "Bearer tok-h"}, 403, "insufficient_scope"},
	} {
		t.Run(name, func(t *testing.T) {
			w := post(t, handler, testCall, c.headers...)
			if got := w.Header().Get("WWW-Authenticate"); w.Code != c.status || !strings.Contains(got, c.challenge) || (c.challenge != "") != strings.HasPrefix(got, "Bearer") {
				t.Errorf("%d, challenge %q, want %d and %q", w.Code, got, c.status, c.challenge)
			}
		})
	}
	t.Run("in the query", func(t *testing.T) {
		req := httptest.NewRequest(http.MethodPost, "/mcp?access_token=tok-a", strings.NewReader(testCall))
		req.Host = "localhost"
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, req)
		if w.Code != 401 {
			t.Errorf("status %d, want 401", w.Code)
		}
	})
	id := r.runs.last(t)
	if id.Principal != "agent-a" || id.Binding != "inc-42" || id.Process != "" {
		t.Errorf("identity = %+v", id)
	}
	list := read(t, post(t, handler, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Authorization", "Bearer tok-a")).Result.Tools
	if len(list) != 1 || list[0].Name != "query_logs" || list[0].Description != "topics: checkout" {
		t.Errorf("tools of a restricted caller = %+v", list)
	}
	tokens.Set(nil)
	if w := post(t, handler, testCall, "Authorization", "Bearer tok-a"); w.Code != 401 {
		t.Errorf("a withdrawn token: %d, want 401", w.Code)
	}
	if _, err := NewToken("a", ""); err == nil {
		t.Error("an empty token was accepted")
	}
}

func TestAuthenticationThatCannotDecideRefuses(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]Authenticator{"an error": failingAuth{}, "no principal": Everyone{}, "none": nil} {
		r := newRig(t, func(o *Options) { o.HTTP.Auth = a })
		if w := post(t, r.Handler(), testCall); w.Code != 503 && w.Code != 403 || len(r.core.seen()) != 0 || strings.Contains(w.Body.String(), "jwks") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

type failingAuth struct{}

func (failingAuth) Authenticate(context.Context, *http.Request) (Caller, error) {
	return Caller{}, fmt.Errorf("jwks: %w", io.ErrUnexpectedEOF)
}

// modernMeta is the _meta of protocol 2026-07-28.
const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

func TestModernHeaders(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := r.Handler()
	msg := func(method, params string) string {
		if params != "" {
			params += ","
		}
		return `{"jsonrpc":"2.0","id":9,"method":"` + method + `","params":{` + params + modernMeta + `}}`
	}
	const v, modern = "MCP-Protocol-Version", "2026-07-28"
	uri := `evidence://r/c1?quote=50% "中文"`
	quoted, _ := json.Marshal(uri)
	encoded, _ := mcp.EncodeHeaderValue(uri)
	for name, c := range map[string]struct {
		body    string
		headers []string
		status  int
		code    int
	}{
		"list":                      {msg("tools/list", ""), []string{v, modern, "Mcp-Method", "tools/list"}, 200, 0},
		"call":                      {msg("tools/call", `"name":"query_logs"`), []string{v, modern, "Mcp-Method", "tools/call", "Mcp-Name", "query_logs"}, 200, 0},
		"call, base64 name":         {msg("tools/call", `"name":"query_logs"`), []string{v, modern, "Mcp-Method", "tools/call", "Mcp-Name", "=?base64?cXVlcnlfbG9ncw==?="}, 200, 0},
		"read of an unescaped URI":  {msg("resources/read", `"uri":`+string(quoted)), []string{v, modern, "Mcp-Method", "resources/read", "Mcp-Name", encoded}, 200, 0},
		"name differs":              {msg("tools/call", `"name":"query_logs"`), []string{v, modern, "Mcp-Method", "tools/call", "Mcp-Name", "query_mysql"}, 400, mcp.HEADER_MISMATCH},
		"name missing":              {msg("tools/call", `"name":"query_logs"`), []string{v, modern, "Mcp-Method", "tools/call"}, 400, mcp.HEADER_MISMATCH},
		"name twice":                {msg("tools/call", `"name":"query_logs"`), []string{v, modern, "Mcp-Method", "tools/call", "Mcp-Name", "query_logs", "+Mcp-Name", "query_logs"}, 400, mcp.HEADER_MISMATCH},
		"broken base64":             {msg("tools/call", `"name":"query_logs"`), []string{v, modern, "Mcp-Method", "tools/call", "Mcp-Name", "=?base64?%%?="}, 400, mcp.HEADER_MISMATCH},
		"method differs":            {msg("tools/list", ""), []string{v, modern, "Mcp-Method", "tools/call"}, 400, mcp.HEADER_MISMATCH},
		"method missing":            {msg("tools/list", ""), []string{v, modern}, 400, mcp.HEADER_MISMATCH},
		"version header missing":    {msg("tools/list", ""), []string{"Mcp-Method", "tools/list"}, 400, mcp.HEADER_MISMATCH},
		"version header differs":    {msg("tools/list", ""), []string{v, "2025-11-25", "Mcp-Method", "tools/list"}, 400, mcp.HEADER_MISMATCH},
		"resuming":                  {msg("tools/list", ""), []string{v, modern, "Mcp-Method", "tools/list", "Last-Event-ID", "1"}, 400, mcp.HEADER_MISMATCH},
		"no version in _meta":       {`{"jsonrpc":"2.0","id":9,"method":"tools/list"}`, []string{v, modern, "Mcp-Method", "tools/list"}, 400, mcp.INVALID_PARAMS},
		"no capabilities":           {`{"jsonrpc":"2.0","id":9,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, []string{v, modern, "Mcp-Method", "tools/list"}, 400, mcp.INVALID_PARAMS},
		"a version that is to come": {strings.ReplaceAll(msg("tools/list", ""), modern, "2099-01-01"), []string{v, "2099-01-01", "Mcp-Method", "tools/list"}, 400, mcp.UNSUPPORTED_PROTOCOL_VERSION},
		"method that is gone":       {msg("ping", ""), []string{v, modern, "Mcp-Method", "ping"}, 404, mcp.METHOD_NOT_FOUND},
		"unknown method":            {msg("x/y", ""), []string{v, modern, "Mcp-Method", "x/y"}, 404, mcp.METHOD_NOT_FOUND},
		"unknown resource":          {msg("resources/read", `"uri":"file:///etc/passwd"`), []string{v, modern, "Mcp-Method", "resources/read", "Mcp-Name", "file:///etc/passwd"}, 400, mcp.INVALID_PARAMS},
		"discover":                  {msg("server/discover", ""), []string{v, modern, "Mcp-Method", "server/discover"}, 200, 0},
		"response of a client":      {`{"jsonrpc":"2.0","id":9,"result":{}}`, []string{v, modern}, 400, mcp.INVALID_REQUEST},
	} {
		t.Run(name, func(t *testing.T) {
			w := post(t, h, c.body, c.headers...)
			a := read(t, w)
			code := 0
			if a.Error != nil {
				code = a.Error.Code
			}
			if w.Code != c.status || code != c.code || string(a.ID) != "9" {
				t.Errorf("%d, code %d, id %s, want %d and %d: %s", w.Code, code, a.ID, c.status, c.code, w.Body)
			}
			if code == 0 && a.Result.ResultType != "complete" {
				t.Errorf("no resultType in %s", w.Body)
			}
		})
	}
	if _, got := r.verifier.last(t); got != escapeURI(uri) {
		t.Errorf("the verifier was asked %q", got)
	}
}

func TestLegacyErrorsAreAnsweredWith200(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for body, code := range map[string]int{
		`{"jsonrpc":"2.0","id":1,"method":"x/y"}`:                                                  mcp.METHOD_NOT_FOUND,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}`: mcp.RESOURCE_NOT_FOUND,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"schema://nothing"}}`:   mcp.RESOURCE_NOT_FOUND,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"schema://a/b"}}`:       mcp.RESOURCE_NOT_FOUND,
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":""}}`:                   mcp.RESOURCE_NOT_FOUND,
		`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"evidence://a"}}`:  mcp.METHOD_NOT_FOUND,
		`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}`:          mcp.METHOD_NOT_FOUND,
		`{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{}}`:                      mcp.METHOD_NOT_FOUND,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/list"}`:                                           mcp.METHOD_NOT_FOUND,
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}`:                                 mcp.METHOD_NOT_FOUND,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"???"}}`:                 mcp.INVALID_PARAMS,
		`{"jsonrpc":"2.0","id":1,"method":"prompts/list","params":{"cursor":"YQ=="}}`:              mcp.INVALID_PARAMS,
	} {
		w := post(t, r.Handler(), body)
		if a := read(t, w); w.Code != 200 || a.Error == nil || a.Error.Code != code {
			t.Errorf("%s: %d %s, want 200 and code %d", body, w.Code, w.Body, code)
		}
	}
}

func TestNotificationsAndResponsesAreAcceptedAndDropped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, body := range []string{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"query_logs"}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":""}}`,
	} {
		if w := post(t, r.Handler(), body); w.Code != 202 || w.Body.Len() != 0 {
			t.Errorf("%s: %d %q, want 202 and nothing", body, w.Code, w.Body)
		}
	}
	if n := len(r.core.seen()); n != 0 {
		t.Errorf("%d calls ran", n)
	}
}

func TestListenIsAcknowledgedAndEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	body := `{"jsonrpc":"2.0","id":"sub-9","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modernMeta + `}}`
	w := post(t, r.Handler(), body, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
	if w.Code != 200 || w.Header().Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d %s %s", w.Code, w.Header().Get("Content-Type"), w.Body)
	}
	var got []map[string]any
	for line := range strings.Lines(w.Body.String()) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			var m map[string]any
			if err := json.Unmarshal([]byte(data), &m); err != nil {
				t.Fatal(err)
			}
			got = append(got, m)
		}
	}
	if len(got) != 2 || got[0]["method"] != "notifications/subscriptions/acknowledged" || got[1]["id"] != "sub-9" {
		t.Fatalf("stream = %v", got)
	}
	if n := strings.Count(w.Body.String(), `"io.modelcontextprotocol/subscriptionId":"sub-9"`); n != 2 {
		t.Errorf("the subscription's id stands %d times in %s, want 2", n, w.Body)
	}
}
