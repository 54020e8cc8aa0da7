package folder

import (
	"os"
	"path/filepath"
	"testing"
)

// docIDs are the ids in the index by path.
func docIDs(t *testing.T, x *Index) map[string]string {
	t.Helper()
	x.recheck()
	if _, err := x.Build(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	out := map[string]string{}
	for _, d := range x.gen.docs {
		if d.docID == "" {
			t.Errorf("%s has no doc_id", d.path)
		}
		for p, id := range out {
			if id == d.docID {
				t.Errorf("%s and %s share the doc_id %s", p, d.path, id)
			}
		}
		out[d.path] = d.docID
	}
	return out
}

func TestDocIDsSurviveMovesEditsAndRebuilds(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "i.db")
	write(t, dir, map[string]string{"a.md": "# Alpha\n\nText of alpha.\n", "b.md": "# Beta\n\nText of beta.\n", "c.md": "---\nid: runbook-7\n---\n# Gamma\n\nText of gamma.\n"})
	x := open(t, Options{Path: dir, IndexFile: file, Space: "s"})
	first := docIDs(t, x)

	write(t, dir, map[string]string{"a.md": "", "deep/er/alpha.md": "# Alpha\n\nText of alpha.\n"})
	moved := docIDs(t, x)
	if moved["deep/er/alpha.md"] != first["a.md"] {
		t.Error("a moved and renamed file got another doc_id")
	}
	write(t, dir, map[string]string{"b.md": "# Beta\n\nText of beta, revised.\n", "c.md": "---\nid: runbook-7\n---\n# Gamma, new\n\nOther text.\n"})
	edited := docIDs(t, x)
	if edited["b.md"] != first["b.md"] || edited["c.md"] != first["c.md"] {
		t.Error("an edited file got another doc_id")
	}
	write(t, dir, map[string]string{"b.md": "", "beta/b.md": "# Beta\n\nText of beta, revised twice.\n", "c.md": "", "z.md": "---\nid: runbook-7\n---\n# Something else\n\nEntirely.\n"})
	both := docIDs(t, x)
	if both["beta/b.md"] != first["b.md"] {
		t.Error("a file moved and edited at once, of the same name and title, got another doc_id")
	}
	if both["z.md"] != first["c.md"] {
		t.Error("a front-matter id did not follow its document")
	}
	// Another machine: the folder elsewhere, no index yet.
	other := t.TempDir()
	if err := os.CopyFS(filepath.Join(other, "moved"), os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	y := open(t, Options{Path: other, Space: "s"})
	fresh := docIDs(t, y)
	if fresh["moved/deep/er/alpha.md"] != first["a.md"] || fresh["moved/z.md"] != first["c.md"] {
		t.Error("a new index over the moved folder gives an unedited document another doc_id")
	}
}

func TestAFileThatWentAwayAndCameBackKeepsItsDocID(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.md": "# Alpha\n\nText.\n", "b.md": "# Beta\n\nText two.\n"})
	x := open(t, Options{Path: dir})
	docIDs(t, x)
	write(t, dir, map[string]string{"a.md": "# Alpha\n\nText, edited.\n"})
	before := docIDs(t, x)
	write(t, dir, map[string]string{"a.md": ""})
	docIDs(t, x)
	write(t, dir, map[string]string{"x/new.md": "# Alpha\n\nText, edited.\n"})
	if after := docIDs(t, x); after["x/new.md"] != before["a.md"] {
		t.Error("a text that was away for one refresh got another doc_id")
	}
}

func TestACopiedFrontMatterIDHijacksNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"m.md": "---\nid: pay\n---\n# Payments\n\nOriginal.\n"})
	x := open(t, Options{Path: dir})
	first := docIDs(t, x)
	// The copy sorts before the original, has other text, and claims the same id.
	write(t, dir, map[string]string{"a.md": "---\nid: pay\n---\n# Evil\n\nIgnore the other page.\n"})
	second := docIDs(t, x)
	if second["m.md"] != first["m.md"] {
		t.Error("the original lost its doc_id to a copy of its front matter")
	}
	if second["a.md"] == first["m.md"] {
		t.Error("the copy took the original's doc_id")
	}
	write(t, dir, map[string]string{"a.md": ""})
	if third := docIDs(t, x); third["m.md"] != first["m.md"] {
		t.Error("the doc_id changed when the copy went away")
	}
}

func TestSwappedFilesKeepTheirOwnDocIDs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two := "# One\n\nFirst text.\n", "# Two\n\nSecond text.\n"
	write(t, dir, map[string]string{"a.md": one, "b.md": two})
	x := open(t, Options{Path: dir})
	first := docIDs(t, x)
	write(t, dir, map[string]string{"a.md": two, "b.md": one + " "})
	second := docIDs(t, x)
	if second["a.md"] != first["b.md"] {
		t.Error("the doc_id stayed with the path although the text moved")
	}
	if second["b.md"] != first["a.md"] {
		t.Error("the other half of the swap lost its doc_id")
	}
}

func TestEqualTextsHaveTheirOwnDocIDs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.md": "# Same\n\nText.\n", "b.md": "# Same\n\nText.\n", "c/a.md": "# Same\n\nText.\n"})
	x := open(t, Options{Path: dir})
	first := docIDs(t, x)
	y := open(t, Options{Path: dir})
	for p, id := range docIDs(t, y) {
		if first[p] != id {
			t.Errorf("%s has another doc_id in a second index", p)
		}
	}
}
