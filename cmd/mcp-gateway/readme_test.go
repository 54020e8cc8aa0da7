package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-069badc9/mcp-gateway/internal/config"
)

var (
	fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
	link  = regexp.MustCompile(`\]\(([^)#]+)\)`)
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func fences(text, lang string) (out []string) {
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		if m[1] == lang {
			out = append(out, m[2])
		}
	}
	return out
}

// What the README shows is what the project does: its output is the demo's, its configuration loads, its Go runs, its links lead somewhere.
func TestREADME(t *testing.T) {
	demo, example := read(t, "examples/demo/testdata/demo.txt"), strings.ReplaceAll(read(t, "boundary/example_test.go"), "\t", "")
	var first []string
	for _, name := range []string{"README.md", "README.zh-CN.md"} {
		text := read(t, name)
		if n := strings.Count(text, "\n"); n > 200 {
			t.Errorf("%s has %d lines, at most 200 are read", name, n)
		}
		out := fences(text, "text")
		if len(out) < 2 {
			t.Errorf("%s shows %d pieces of the demo's output", name, len(out))
		}
		for _, o := range out {
			if !strings.Contains(demo, o) {
				t.Errorf("%s shows output that the demo does not print:\n%s", name, o)
			}
		}
		if at := strings.Index(text, "go run -C examples/demo ."); at < 0 || strings.Count(text[:at], "\n") >= 20 {
			t.Errorf("%s: the demo's command is not within the first 20 lines", name)
		}
		for _, l := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(l[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join("..", "..", l[1])); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, l[1])
			}
		}
		for _, block := range fences(text, "go") {
			for line := range strings.Lines(block) {
				if l := strings.TrimSpace(line); l != "" && !strings.Contains(example, l) && !strings.Contains(example, strings.Replace(l, "verdict :=", "verdict =", 1)) &&
					!strings.HasPrefix(l, "verdict := evidence.New(ledger).VerifyURI(") {
					t.Errorf("%s: the example does not have %q", name, l)
				}
			}
		}
		ymls := fences(text, "yaml")
		if len(ymls) != 1 {
			t.Fatalf("%s has %d configurations", name, len(ymls))
		}
		file := filepath.Join(t.TempDir(), "c.yaml")
		if err := os.WriteFile(file, []byte(ymls[0]), 0o600); err != nil {
			t.Fatal(err)
		}
		env := map[string]string{"AGENT_TOKEN": "a-not-real", "HARNESS_TOKEN": "h-not-real", "REDIS_PASSWORD": "r", "CANONICAL_KEY": strings.Repeat("ab", 32), "AUDIT_DSN": "w:x@tcp(db)/audit", "SHOP_DSN": "r:x@tcp(db)/shop"}
		if _, err := config.Load(file, func(n string) (string, bool) { v, ok := env[n]; return v, ok }); err != nil {
			t.Errorf("%s: the configuration does not load: %v", name, err)
		}
		all := strings.Join(append(append(fences(text, "text"), ymls...), fences(text, "json")...), "")
		if first = append(first, all); first[0] != all {
			t.Errorf("%s shows other output, configuration or client settings than README.md", name)
		}
	}
}
