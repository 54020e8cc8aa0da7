package evidence_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/seed-069badc9/mcp-gateway/evidence"
)

// Each file is a draft and what the check must say: a line a citation ("LINE CITATION | QUOTE | VERDICT REASON"), a line an uncited quote, and ok or not.
func TestDrafts(t *testing.T) {
	files, err := filepath.Glob("testdata/draft/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no drafts", err)
	}
	f := newFixture(t)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			ar, err := txtar.ParseFile(file)
			if err != nil || len(ar.Files) != 2 {
				t.Fatal(err)
			}
			d, ok := f.guard.CheckDraft(t.Context(), evidence.Caller{Principal: "alice", Run: "r1"}, string(ar.Files[0].Data))
			if !ok {
				t.Fatal("the draft is too large")
			}
			if diff := cmp.Diff(string(ar.Files[1].Data), tell(d)); diff != "" {
				t.Errorf("%s\ngot:\n%s", diff, tell(d))
			}
		})
	}
}

func tell(d evidence.Draft) string {
	var b strings.Builder
	for _, c := range d.Citations {
		hidden := ""
		if c.Hidden {
			hidden = " hidden"
		}
		fmt.Fprintf(&b, "%d %s%s | %s | %s %s\n", c.Line, c.Citation, hidden, strings.ReplaceAll(c.Quote, "\n", "⏎"), c.Verdict.Outcome, c.Verdict.Reason)
	}
	for _, p := range d.Uncited {
		fmt.Fprintf(&b, "%d uncited | %s\n", p.Line, strings.ReplaceAll(p.Text, "\n", "⏎"))
	}
	fmt.Fprintf(&b, "ok %v\n", d.OK)
	return b.String()
}

func TestADraftIsBounded(t *testing.T) {
	f := newFixture(t)
	caller := evidence.Caller{Principal: "alice", Run: "r1"}
	if _, ok := f.guard.CheckDraft(t.Context(), caller, strings.Repeat("x", evidence.MaxDraft+1)); ok {
		t.Error("a draft over its bound was read")
	}
	if _, ok := f.guard.CheckDraft(t.Context(), caller, strings.Repeat("[ev:logs] ", 2001)); ok {
		t.Error("a draft with 2001 citations was read")
	}
	if d, ok := f.guard.CheckDraft(t.Context(), caller, ""); !ok || d.OK {
		t.Error("an empty draft passes")
	}
}

// Whatever the text, the check ends and a citation of an unknown call is never backed.
func FuzzDraft(f *testing.F) {
	f.Add("> quoted words here\n\nthat is so [ev:nope#e1].")
	f.Add("“a” 「b」 \"c [ev:nope]\" ```\n[ev:nope]\n```")
	f.Add("- [ev:nope#r1.a=b][ev:nope#absent]\n\"")
	fx := newFixture(f)
	f.Fuzz(func(t *testing.T, s string) {
		if strings.Contains(s, "logs") || strings.Contains(s, "sql") || strings.Contains(s, "none") || strings.Contains(s, "zh") || strings.Contains(s, "doc") || strings.Contains(s, "searched") || strings.Contains(s, "tc_") {
			return
		}
		d, _ := fx.guard.CheckDraft(t.Context(), evidence.Caller{Principal: "alice", Run: "r1"}, s)
		for _, c := range d.Citations {
			if c.Verdict.Backed() {
				t.Fatalf("%q is backed in %q", c.Citation, s)
			}
		}
	})
}
