package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// "call --help" named no argument of any tool. It names those of the published schemas, each with its mark.
func TestTheHelpOfCallNamesEveryArgument(t *testing.T) {
	files, err := filepath.Glob("../../toolsnap/query_*.json")
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	lines := map[string]string{}
	for l := range strings.Lines(callWords) {
		if name, rest, ok := strings.Cut(strings.TrimSpace(l), " "); ok && strings.HasPrefix(name, "query_") {
			lines[name] = " " + strings.TrimSpace(rest) + " "
		}
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var tool struct {
			Name        string
			InputSchema struct {
				Properties map[string]json.RawMessage
				Required   []string
			}
		}
		if err := json.Unmarshal(b, &tool); err != nil || len(tool.InputSchema.Properties) == 0 {
			t.Fatal(f, err)
		}
		for _, r := range tool.InputSchema.Required {
			if !strings.Contains(lines[tool.Name], " "+r+"* ") {
				t.Errorf("%s: %q does not name %s*", tool.Name, lines[tool.Name], r)
			}
			delete(tool.InputSchema.Properties, r)
		}
		for p := range tool.InputSchema.Properties {
			if !strings.Contains(lines[tool.Name], " "+p+" ") {
				t.Errorf("%s: %q does not name %s", tool.Name, lines[tool.Name], p)
			}
		}
	}
}

// Every code of the closed list ends with something to do: none is without words, and none but INTERNAL and its like has the words for a fault of the gateway.
func TestEveryCodeHasANextStep(t *testing.T) {
	e := &env{config: "shop.yaml"}
	for _, c := range fault.Codes() {
		got := e.nextStep(&boundary.Refusal{Code: c}, []string{"query_logs"})
		if ours := strings.Contains(got, "fault of the gateway"); ours != (c == fault.Internal || c == fault.ProjectionError || c == fault.ToolNotReadOnly) {
			t.Errorf("%s: %q", c, got)
		}
	}
}
