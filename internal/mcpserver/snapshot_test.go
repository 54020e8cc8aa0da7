package mcpserver

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-069badc9/mcp-gateway/boundary"
)

var update = flag.Bool("update", false, "rewrite the snapshots in toolsnap")

// What clients see of the face is reviewed as files: a change here changes what every model reads.
func TestFaceSnapshots(t *testing.T) {
	t.Parallel()
	modern := []string{"MCP-Protocol-Version", "2026-07-28"}
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	all := []string{"query_logs", "query_mysql", "query_rag"}
	for name, c := range map[string]struct {
		body    string
		headers []string
		tools   []string
	}{
		"initialize":       {initialize, nil, all},
		"initialize_logs":  {initialize, nil, all[:1]},
		"initialize_mysql": {initialize, nil, all[1:2]},
		"initialize_none":  {initialize, nil, nil},
		"discover":         {`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modernMeta + `}}`, append(modern, "Mcp-Method", "server/discover"), all},
		"resources":        {`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`, nil, all},
		"templates":        {`{"jsonrpc":"2.0","id":1,"method":"resources/templates/list"}`, nil, all},
		"help":             {`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"evidence://help"}}`, nil, all},
		"prompts":          {`{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`, nil, all},
		"diagnose":         {`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"diagnose","arguments":{"incident":"Checkout answers 502","service":"checkout","since":"-2h"}}}`, nil, all},
		"tool":             {`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil, []string{"query_logs", "query_rag"}}, // of the tests' own tools: how a Spec is published
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.core.specs = fakeSpecs(c.tools...)
			w := post(t, r.Handler(), c.body, c.headers...)
			var a struct{ Result json.RawMessage }
			if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || len(a.Result) == 0 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			var got bytes.Buffer
			if err := json.Indent(&got, a.Result, "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			file := filepath.Join("..", "..", "toolsnap", "face_"+name+".json")
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got.String()); d != "" {
				t.Errorf("%s differs; if that is meant, run go test ./internal/mcpserver -update:\n%s", file, d)
			}
		})
	}
}

func fakeSpecs(names ...string) (out []boundary.Spec) {
	for _, n := range names {
		out = append(out, fakeSpec(n))
	}
	return out
}

// A model is told of the tools that it has and of no others, whatever its token grants, and no client cuts what it is told.
func TestModelTextsNameTheCallersTools(t *testing.T) {
	t.Parallel()
	all := []string{"query_logs", "query_mysql", "query_rag", "query_weather"}
	for subset := range 1 << len(all) {
		var names []string
		for i, n := range all {
			if subset&(1<<i) != 0 {
				names = append(names, n)
			}
		}
		r := newRig(t, func(o *Options) {
			o.HTTP.Auth = Everyone{Caller{Principal: "p", Grants: boundary.NewGrants(map[boundary.Kind][]string{boundary.Tools: append([]string{}, names...)})}}
		})
		r.core.specs = fakeSpecs(all...)
		ask := func(method, params string) string {
			return post(t, r.Handler(), `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":{`+params+`}}`).Body.String()
		}
		var got struct{ Result struct{ Instructions string } }
		answer := ask("initialize", `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}`)
		if err := json.Unmarshal([]byte(answer), &got); err != nil || len(got.Result.Instructions) == 0 || len(got.Result.Instructions) > maxModelText {
			t.Errorf("%v: instructions of %d bytes, clients cut at %d: %s", names, len(got.Result.Instructions), maxModelText, answer)
		}
		for kind, text := range map[string]string{"instructions": answer, "prompt": ask("prompts/get", `"name":"diagnose","arguments":{"incident":"x"}`)} {
			for _, n := range all {
				if want := slices.Contains(names, n) && (kind == "instructions" || n != "query_weather"); strings.Contains(text, n) != want {
					t.Errorf("%v: the %s naming %s = %v, want %v: %s", names, kind, n, !want, want, text)
				}
			}
			if strings.Contains(text, "schema://{datasource}") != slices.Contains(names, "query_mysql") || strings.Contains(text, noTools) != (len(names) == 0) {
				t.Errorf("%v: %s = %s", names, kind, text)
			}
			for _, place := range []string{"{tools}", "{data}", "{item}", "{cell}", "{steps}"} {
				if strings.Contains(text, place) {
					t.Errorf("%v: the %s holds %s", names, kind, place)
				}
			}
		}
	}
}

// However many tools are added and whatever their titles are, the instructions stay whole.
func TestAddedToolsDoNotOverflowTheInstructions(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	specs := fakeSpecs("query_logs", "query_mysql", "query_rag")
	for i := range 40 {
		s := fakeSpec(fmt.Sprintf("query_%d", i))
		s.Title = strings.Repeat("x", 10*i)
		specs = append(specs, s)
	}
	got := r.instructions(specs)
	if len(got) > maxModelText || !strings.Contains(got, "query_1: ") || !strings.Contains(got, "query_mysql: ") || !strings.HasSuffix(got, "explains the rest.\n") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

func TestOwnInstructionsAreGivenAsTheyAre(t *testing.T) {
	t.Parallel()
	const own = "Ask {tools} first."
	r := newRig(t, func(o *Options) { o.Instructions = own })
	if got := r.instructions(fakeSpecs("query_logs")); got != own {
		t.Errorf("instructions = %q, want %q", got, own)
	}
	o := r.o
	o.Instructions = string(make([]byte, maxModelText+1))
	if _, err := New(o); err == nil {
		t.Error("New accepted instructions that clients would cut")
	}
}
