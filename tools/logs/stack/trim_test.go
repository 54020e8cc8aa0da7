package stack

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// expectation says what must be left of a trace: testdata/NAME.expect.json beside testdata/NAME.txt.
type expectation struct {
	InApp     []string `json:"in_app"`
	Runtime   string   `json:"runtime"`
	Classes   []string `json:"classes"`
	Root      string   `json:"root"`
	RootLines []int    `json:"root_cause_lines"`
	MaxLines  int      `json:"max_lines"`
	Omitted   int      `json:"omitted"`
	Must      []struct {
		Line     int
		Contains string
		Why      string
	} `json:"must_survive"`
	Should []struct {
		Line     int
		Contains string
		Why      string
	} `json:"should_survive"`
}

func traces(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata: %d traces, %v", len(files), err)
	}
	out := map[string]string{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(f), ".txt")] = string(b)
	}
	return out
}

func expect(t *testing.T, name string) expectation {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name + ".expect.json")
	if err != nil {
		t.Fatal(err)
	}
	var e expectation
	if err := json.Unmarshal(b, &e); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return e
}

func TestTrimKeepsWhatExplainsTheFailure(t *testing.T) {
	t.Parallel()
	for name, text := range traces(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := expect(t, name)
			got, _ := Trim(text, Options{InApp: e.InApp})
			for _, m := range append(e.Must, e.Should...) {
				if !strings.Contains(got, m.Contains) {
					t.Errorf("line %d (%s) is lost: %s\n%s", m.Line, m.Why, m.Contains, got)
				}
			}
			lines := strings.Split(text, "\n")
			for _, n := range e.RootLines {
				if !strings.Contains(got, strings.TrimSpace(lines[n-1])) {
					t.Errorf("root cause line %d is lost: %s", n, lines[n-1])
				}
			}
			if n := strings.Count(strings.TrimRight(got, "\n"), "\n") + 1; e.MaxLines > 0 && n > e.MaxLines {
				t.Errorf("%d lines are left, want at most %d:\n%s", n, e.MaxLines, got)
			}
		})
	}
}

func TestRuntimeClassesAndRootAreRead(t *testing.T) {
	t.Parallel()
	for name, text := range traces(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := expect(t, name)
			if rt, ok := Detect(text); rt != e.Runtime || !ok {
				t.Errorf("Detect = %q, %v, want %q", rt, ok, e.Runtime)
			}
			if e.Classes != nil && strings.Join(Classes(text), " ") != strings.Join(e.Classes, " ") {
				t.Errorf("Classes = %q, want %q", Classes(text), e.Classes)
			}
			if e.Root != "" && Root(text) != e.Root {
				t.Errorf("Root = %q, want %q", Root(text), e.Root)
			}
		})
	}
}

func TestTrimmingTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	for name, text := range traces(t) {
		for _, o := range []Options{{}, {InApp: expect(t, name).InApp}, {Head: 1, App: 1}} {
			once, _ := Trim(text, o)
			twice, n := Trim(once, o)
			if twice != once || n != 0 {
				t.Errorf("%s %+v: second Trim omitted %d:\n%s\nfirst:\n%s", name, o, n, twice, once)
			}
		}
	}
}
