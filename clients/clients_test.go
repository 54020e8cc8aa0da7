package clients

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// runHeader names the run of an HTTP request.
const runHeader = "Mcp-Gateway-Run"

// target is a gateway as one client reaches it: over HTTP with a token, or as a process of its own.
type target struct {
	url     string
	headers map[string]string
	command string
	args    []string
	run     string
}

// targets gives the client of a name its two ways to the gateway, each with a run of its own.
func (s *shop) targets(config, url, client string) map[string]target {
	run := func(way string) string { return strings.ReplaceAll(client, " ", "-") + "-" + way }
	return map[string]target{
		"http":  {url: url, headers: map[string]string{"Authorization": "Bearer " + agentToken, runHeader: run("http")}, run: run("http")},
		"stdio": {command: s.program, args: []string{"stdio", "--config", config, "--run", run("stdio")}, run: run("stdio")},
	}
}

// Every client, over both transports, in every protocol era that it speaks, lists all tools, calls each, is refused a write, reads the resources and has its citations
// verified; and no secret of the data reaches it.
func TestClients(t *testing.T) {
	t.Parallel()
	node := node(t)
	s := newShop(t)
	s.startDatabase(t)
	config := s.config(t, "clients.yaml", `http: {listen: "127.0.0.1:0"}
auth: {tokens: [{name: clients, token: `+agentToken+`}]}
canonical: {store: "file:state/canonical.db"}
`)
	url := s.serve(t, config)
	const handshake, modern = "2025-11-25", "2026-07-28"
	for _, c := range []struct {
		name, program, protocol string
		mode                    any // of the second SDK's negotiation
	}{
		{"sdk v1", "sdk-v1.mjs", handshake, nil},
		{"sdk v2 legacy", "sdk-v2.mjs", handshake, "legacy"},
		{"sdk v2 auto", "sdk-v2.mjs", modern, "auto"},
		{"sdk v2 modern", "sdk-v2.mjs", modern, map[string]string{"pin": modern}},
	} {
		for way, to := range s.targets(config, url, c.name) {
			t.Run(c.name+" "+way, func(t *testing.T) {
				t.Parallel()
				sdkSession(t, node, c.program, c.mode, c.protocol, to)
			})
		}
	}
	for _, c := range []struct {
		name string
		i    inspector
	}{
		{"inspector v1", inspector{program: inspectorV1}},
		{"inspector v2 legacy", inspector{program: inspectorV2, era: "legacy"}},
		{"inspector v2 modern", inspector{program: inspectorV2, era: "modern"}},
	} {
		for way, to := range s.targets(config, url, c.name) {
			t.Run(c.name+" "+way, func(t *testing.T) {
				t.Parallel()
				i := c.i
				i.node, i.to = node, to
				i.session(t)
			})
		}
	}
}

// sdkReport is what session.mjs reports.
type sdkReport struct {
	Protocol, Server, Instructions string
	Capabilities                   []string
	Tools                          []tool
	Answers                        []answer
	Repeated                       answer
	Resources, Templates, Prompts  []string
	Read                           []resource
	Prompt                         struct {
		Messages []struct{ Content struct{ Text string } }
	}
}

func sdkSession(t *testing.T, node, program string, mode any, protocol string, to target) {
	qs, rs := append(questions(), question{ID: "drop", Tool: "drop_tables", Args: map[string]any{}, code: "TOOL_NOT_AUTHORIZED"}), readings(to.run)
	uris := make([]string, len(rs))
	for i, r := range rs {
		uris[i] = r.uri
	}
	task, err := json.Marshal(map[string]any{"mode": mode, "url": to.url, "headers": to.headers, "command": to.command, "args": to.args, "calls": qs, "uris": uris})
	if err != nil {
		t.Fatal(err)
	}
	r := runNode(t, node, string(task), program)
	noSecret(t, "what the client got", r.stdout+r.stderr)
	var got sdkReport
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || r.code != 0 {
		t.Fatalf("exit %d, %v\n%s%s", r.code, err, r.stdout, r.stderr)
	}
	if got.Protocol != protocol || got.Server != "mcp-gateway" || !strings.Contains(got.Instructions, "evidence://") {
		t.Errorf("protocol %s, server %s, instructions %q; want %s", got.Protocol, got.Server, got.Instructions, protocol)
	}
	if d := cmp.Diff([]string{"prompts", "resources", "tools"}, got.Capabilities); d != "" {
		t.Errorf("capabilities: %s", d)
	}
	checkTools(t, got.Tools)
	if len(got.Answers) != len(qs) || len(got.Read) != len(rs) {
		t.Fatalf("%d answers and %d resources, want %d and %d", len(got.Answers), len(got.Read), len(qs), len(rs))
	}
	for i, q := range qs {
		got.Answers[i].check(t, to.run, q)
	}
	repeated := qs[0]
	repeated.code = "DUPLICATE_TOOL_CALL_ID"
	got.Repeated.check(t, to.run, repeated)
	missing := -32602 // the second client names the error by its own code in both eras
	if program == "sdk-v1.mjs" {
		missing = -32002
	}
	for i, r := range rs {
		got.Read[i].check(t, r, missing)
	}
	if d := cmp.Diff([][]string{{"evidence://help"}, {"evidence://{+rest}", "schema://{datasource}"}, {"diagnose"}}, [][]string{got.Resources, got.Templates, got.Prompts}); d != "" {
		t.Errorf("resources, templates, prompts: %s", d)
	}
	if len(got.Prompt.Messages) != 1 || !strings.Contains(got.Prompt.Messages[0].Content.Text, "Incident: checkout answers 502") {
		t.Errorf("prompt: %+v", got.Prompt)
	}
}

const (
	inspectorV1 = "node_modules/inspector-v1/cli/build/cli.js"
	inspectorV2 = "node_modules/inspector-v2/clients/launcher/build/index.js"
)

// inspector is the MCP Inspector's command line of one major version: each request is a process.
type inspector struct {
	node, program string
	era           string // "" for the first major, which knows one
	to            target
}

// serversFile writes the file in which desktop clients are told of a stdio server.
func serversFile(t *testing.T, to target) string {
	t.Helper()
	b, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"gateway": map[string]any{"command": to.command, "args": to.args}}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// do sends one request and decodes the result into v.
func (i inspector) do(t *testing.T, v any, args ...string) ran {
	t.Helper()
	r := i.exec(t, args...)
	noSecret(t, "what the client got", r.stdout+r.stderr)
	result := struct{ Result any }{v}
	into := any(&result)
	if i.era == "" {
		into = v
	}
	if err := json.Unmarshal([]byte(r.stdout), into); err != nil {
		t.Fatalf("%q: exit %d, %v\n%s%s", args, r.code, err, r.stdout, r.stderr)
	}
	return r
}

func (i inspector) exec(t *testing.T, args ...string) ran {
	t.Helper()
	line := []string{i.program, "--cli"}
	if i.to.url != "" {
		line = append(line, i.to.url, "--transport", "http")
		for name, value := range i.to.headers {
			line = append(line, "--header", name+": "+value)
		}
	} else {
		line = append(line, "--config", serversFile(t, i.to), "--server", "gateway")
	}
	if i.era != "" {
		line = append(line, "--protocol-era", i.era, "--format", "json")
	}
	return runNode(t, i.node, "", append(line, args...)...)
}

// session asks what a process a request allows: the SDK clients ask the rest.
func (i inspector) session(t *testing.T) {
	i.list(t)
	for _, q := range questions() {
		if q.code != "" && q.code != "SQL_NOT_READ_ONLY" {
			continue
		}
		var a answer
		r := i.do(t, &a, append([]string{"--method", "tools/call", "--tool-name", q.Tool, "--tool-metadata", "dev.mcp-gateway/tool-call-id=" + q.ID}, i.toolArgs(t, q)...)...)
		a.check(t, i.to.run, q)
		want := 0
		if q.code != "" && i.era != "" {
			want = 5 // the second major tells isError by its exit code
		}
		if r.code != want {
			t.Errorf("%s: exit %d, want %d\n%s", q.ID, r.code, want, r.stderr)
		}
	}
	for _, want := range readings(i.to.run) {
		if want.uri != "evidence://help" && !strings.HasPrefix(want.uri, "evidence://current/") {
			continue
		}
		var got resource
		i.do(t, &got, "--method", "resources/read", "--uri", want.uri)
		got.check(t, want, 0)
	}
}

// list lists the tools. The second major looks for what other clients cannot read in their schemas; it may find nothing, not even of the severity of a warning.
func (i inspector) list(t *testing.T) {
	t.Helper()
	tools, findings, r := i.strict(t)
	if r.code != 0 || len(findings) > 0 {
		t.Errorf("tools/list: exit %d, findings %s\n%s", r.code, findings, r.stderr)
	}
	checkTools(t, tools)
}

// strict lists the tools with --strict where there is such a thing, and returns what was found about their schemas.
func (i inspector) strict(t *testing.T) ([]tool, json.RawMessage, ran) {
	t.Helper()
	var list struct{ Tools []tool }
	if i.era == "" {
		r := i.do(t, &list, "--method", "tools/list")
		return list.Tools, nil, r
	}
	answer := struct {
		Result         any
		SchemaFindings json.RawMessage
	}{Result: &list}
	r := i.exec(t, "--method", "tools/list", "--strict")
	if err := json.Unmarshal([]byte(r.stdout), &answer); err != nil {
		t.Fatalf("tools/list --strict: exit %d, %v\n%s%s", r.code, err, r.stdout, r.stderr)
	}
	return list.Tools, answer.SchemaFindings, r
}

// That the Inspector finds nothing says something only while it would: it does where a property's schema is a bare true.
func TestInspectorFindsUnportableSchemas(t *testing.T) {
	t.Parallel()
	i := inspector{node: node(t), program: inspectorV2, era: "modern", to: target{url: serveFixture(t)}}
	if _, findings, r := i.strict(t); !strings.Contains(string(findings), "unportable_schema") || r.code != 6 {
		t.Errorf("exit %d, findings %s", r.code, findings)
	}
}

func (i inspector) toolArgs(t *testing.T, q question) []string {
	t.Helper()
	encode := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if i.era != "" {
		return []string{"--tool-args-json", encode(q.Args)}
	}
	var out []string
	for name, value := range q.Args {
		if s, ok := value.(string); ok {
			out = append(out, "--tool-arg", name+"="+s)
			continue
		}
		out = append(out, "--tool-arg", name+"="+encode(value))
	}
	return out
}
