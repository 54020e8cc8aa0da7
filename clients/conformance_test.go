package clients

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the figures in docs/conformance.md")

const suite = "node_modules/@modelcontextprotocol/conformance/dist/index.js"

// revisions are the requirement sets of the suite that the gateway is held against.
var revisions = []string{"2025-11-25", "2026-07-28"}

// generic are the scenarios that need nothing of a server but itself. Each must be run and pass without an exception.
var generic = map[string][]string{
	"2025-11-25": {"server-initialize", "ping", "tools-list", "resources-list", "prompts-list", "dns-rebinding-protection"},
	"2026-07-28": {"tools-list", "resources-list", "prompts-list", "dns-rebinding-protection", "server-sse-multiple-streams",
		"sep-2164-resource-not-found", "caching", "http-header-validation", "input-required-result-unsupported-methods", "input-required-result-ignore-extra-params"},
}

// check is one line of the suite's result.
type check struct {
	ID, Status, ErrorMessage string
	Details                  json.RawMessage
}

var stamp = regexp.MustCompile(`-\d{4}-\d\d-\d\dT[-\d]+Z$`)

// conform runs the suite and returns its checks by scenario.
func conform(t *testing.T, node, url string, args ...string) (map[string][]check, ran) {
	t.Helper()
	out := t.TempDir()
	r := runNode(t, node, "", append([]string{suite, "server", "--url", url, "-o", out}, args...)...)
	dirs, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	checks := map[string][]check{}
	for _, d := range dirs {
		b, err := os.ReadFile(filepath.Join(out, d.Name(), "checks.json"))
		if err != nil {
			t.Fatal(err)
		}
		var list []check
		if err := json.Unmarshal(b, &list); err != nil {
			t.Fatal(err)
		}
		checks[stamp.ReplaceAllString(strings.TrimPrefix(d.Name(), "server-"), "")] = list
	}
	if len(checks) == 0 {
		t.Fatalf("the suite ran nothing: exit %d\n%s%s", r.code, r.stdout, r.stderr)
	}
	return checks, r
}

// failures are the checks that fail or warn, as "scenario:check", in order: to the suite's baselines both are the same.
func failures(checks map[string][]check) (out []string) {
	for scenario, list := range checks {
		for _, c := range list {
			if c.Status == "FAILURE" || c.Status == "WARNING" {
				out = append(out, scenario+":"+c.ID)
			}
		}
	}
	slices.Sort(out)
	return out
}

// expected reads the failures that a baseline allows.
func expected(t *testing.T, file string) (out []string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if entry, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			out = append(out, entry)
		}
	}
	slices.Sort(out)
	return out
}

// The gateway as it is built passes every generic scenario of both requirement sets, and of the others exactly the checks fail that the baselines name.
func TestConformance(t *testing.T) {
	t.Parallel()
	node := node(t)
	s := newShop(t) // no database runs: the suite lists query_mysql and does not call it
	url := s.serveAtOrigin(t, "conformance.yaml", func(address string) string {
		return `http: {listen: "` + address + `", allowed_origins: ["http://` + address + `"]}` + "\ncanonical: {store: memory}\n"
	})
	var figures sync.Map
	t.Run("gateway", func(t *testing.T) {
		for _, revision := range revisions {
			t.Run(revision, func(t *testing.T) {
				t.Parallel()
				baseline := filepath.Join("testdata", "expected-"+revision+".yml")
				checks, r := conform(t, node, url, "--requirements", revision, "--expected-failures", baseline)
				if r.code != 0 {
					_, summary, _ := strings.Cut(r.stdout, "=== SUMMARY ===")
					t.Errorf("the suite ends with %d\n%s%s", r.code, summary, r.stderr)
				}
				if d := cmp.Diff(expected(t, baseline), failures(checks)); d != "" {
					t.Errorf("failing checks differ from %s (-expected +failed):\n%s", baseline, d)
				}
				for _, scenario := range generic[revision] {
					passes(t, scenario, checks[scenario])
				}
				figures.Store(revision, figure(checks))
			})
		}
	})
	if t.Failed() {
		return
	}
	var lines strings.Builder
	for _, revision := range revisions {
		f, _ := figures.Load(revision)
		fmt.Fprintf(&lines, "| %s | %v |\n", revision, f)
	}
	documented(t, lines.String())
}

// passes wants at least one passed check and no failed one.
func passes(t *testing.T, scenario string, list []check) {
	t.Helper()
	passed := 0
	for _, c := range list {
		switch c.Status {
		case "SUCCESS":
			passed++
		case "FAILURE", "WARNING":
			t.Errorf("%s: %s: %s", scenario, c.ID, c.ErrorMessage)
		}
	}
	if passed == 0 {
		t.Errorf("%s: no check has passed", scenario)
	}
}

// figure is a row of docs/conformance.md: scenarios run, scenarios without a failure, checks passed, failed, warned.
func figure(checks map[string][]check) string {
	clean, count := 0, map[string]int{}
	for _, list := range checks {
		before := count["FAILURE"]
		for _, c := range list {
			count[c.Status]++
		}
		if count["FAILURE"] == before {
			clean++
		}
	}
	return fmt.Sprintf("%d | %d | %d | %d | %d", len(checks), clean, count["SUCCESS"], count["FAILURE"], count["WARNING"])
}

const tableHead = "| requirement set | scenarios run | without a failure | checks passed | failed, as expected | warned, as expected |\n|---|---|---|---|---|---|\n"

// documented holds the table of docs/conformance.md against the figures, and wants every scenario of a baseline explained there.
func documented(t *testing.T, rows string) {
	t.Helper()
	path := filepath.Join("..", "docs", "conformance.md")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, tail, ok := strings.Cut(string(b), tableHead)
	if !ok {
		t.Fatalf("%s lacks the table of figures", path)
	}
	for strings.HasPrefix(tail, "|") {
		_, tail, _ = strings.Cut(tail, "\n")
	}
	want := head + tableHead + rows + tail
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(want, string(b)); d != "" {
		t.Errorf("%s (-measured +written; -update rewrites):\n%s", path, d)
	}
}

// Every scenario that a baseline excuses is explained.
func TestExpectedFailuresAreExplained(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "docs", "conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, revision := range revisions {
		names := map[string]bool{}
		for _, e := range expected(t, filepath.Join("testdata", "expected-"+revision+".yml")) {
			scenario, _, single := strings.Cut(e, ":")
			if !single {
				t.Errorf("%s excuses a whole scenario: name its checks", e)
			}
			names[scenario] = true
		}
		for _, scenario := range slices.Sorted(maps.Keys(names)) {
			if slices.Contains(generic[revision], scenario) {
				t.Errorf("%s: the generic scenario %s is excused", revision, scenario)
			}
			if !bytes.Contains(doc, []byte("`"+scenario+"`")) {
				t.Errorf("docs/conformance.md does not explain `%s`", scenario)
			}
		}
	}
}
