package mcpserver

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the snapshots in toolsnap")

// What clients see of the face is reviewed as files: a change here changes what every model reads.
func TestFaceSnapshots(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	modern := []string{"MCP-Protocol-Version", "2026-07-28"}
	for name, c := range map[string]struct {
		body    string
		headers []string
	}{
		"initialize": {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, nil},
		"discover":   {`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + modernMeta + `}}`, append(modern, "Mcp-Method", "server/discover")},
		"resources":  {`{"jsonrpc":"2.0","id":1,"method":"resources/list"}`, nil},
		"templates":  {`{"jsonrpc":"2.0","id":1,"method":"resources/templates/list"}`, nil},
		"help":       {`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"evidence://help"}}`, nil},
		"prompts":    {`{"jsonrpc":"2.0","id":1,"method":"prompts/list"}`, nil},
		"diagnose":   {`{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"diagnose","arguments":{"incident":"Checkout answers 502","service":"checkout","since":"-2h"}}}`, nil},
		"tool":       {`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil}, // of the tests' own tools: how a Spec is published
	} {
		t.Run(name, func(t *testing.T) {
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

func TestModelTextsFitClients(t *testing.T) {
	t.Parallel()
	if len(instructionsText) > maxModelText {
		t.Errorf("instructions of %d bytes, clients cut at %d", len(instructionsText), maxModelText)
	}
	r := newRig(t)
	o := r.o
	o.Instructions = string(make([]byte, maxModelText+1))
	if _, err := New(o); err == nil {
		t.Error("New accepted instructions that clients would cut")
	}
}
