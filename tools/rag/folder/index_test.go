package folder

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/tools/rag"
)

// write puts files into dir; an empty content removes the file. Times are set into the past, as a folder that was filled a while ago has them.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		p := filepath.Join(dir, name)
		if content == "" {
			if err := os.Remove(p); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(p, old, old); err != nil {
			t.Fatal(err)
		}
	}
}

// open makes an index over dir that compares the folder at every search.
func open(t *testing.T, o Options) *Index {
	t.Helper()
	x, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return x
}

// recheck makes the next search compare the folder again, as time would.
func (x *Index) recheck() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.pause = 0
}

// ask searches the folder as it is now: on a slow machine a refresh may outlast the patience of a search, which then says so.
func ask(t *testing.T, x *Index, query string, floor float64) []rag.Hit {
	t.Helper()
	x.recheck()
	for {
		ans, err := x.Search(t.Context(), rag.Query{Text: query, Limit: 20, Floor: floor}, func(int) error { return nil })
		if err != nil {
			t.Fatalf("Search(%q): %v", query, err)
		}
		if !strings.Contains(ans.Note, noteRefreshing) {
			return ans.Hits
		}
	}
}

func sources(hits []rag.Hit) []string {
	var out []string
	seen := map[string]bool{}
	for _, h := range hits {
		if !seen[h.Source] {
			seen[h.Source] = true
			out = append(out, h.Source)
		}
	}
	return out
}

var shop = map[string]string{
	"payments.md": "# Payment gateway answers 502\n\n## Symptoms\n\nCheckout logs `payment declined: gateway answered 502`.\n\n## Action\n\nFail over to the second acquirer with `payctl failover --region eu`.\n",
	"disk.md":     "# Disk full on database host\n\nDelete old binary logs after checking replicas.\n",
}

func TestTwoDocumentsAreEnoughToTellSenseFromNonsense(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, shop)
	x := open(t, Options{Path: dir})
	hits := ask(t, x, "payment gateway 502 failover", rag.DefaultFloor)
	if len(hits) == 0 || hits[0].Source != "payments.md" || !strings.Contains(hits[0].Text, "failover") {
		t.Errorf("hits = %+v, want payments.md with the failover command first", hits)
	}
	if hits := ask(t, x, "how do I fail over payments when the gateway is down?", rag.DefaultFloor); len(hits) == 0 {
		t.Error("a question in a sentence finds nothing")
	}
	for _, q := range []string{"zebra umbrella quantum sandwich", "今天天气怎么样", "how to bake bread with old flour"} {
		if hits := ask(t, x, q, rag.DefaultFloor); len(hits) != 0 {
			t.Errorf("%q finds %v", q, sources(hits))
		}
	}
}

func TestChangesOfTheFolderArePickedUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, shop)
	x := open(t, Options{Path: dir})
	ask(t, x, "disk full", 0)
	write(t, dir, map[string]string{"sub/queue.md": "# Order queue lags\n\nScale the consumers.\n", "disk.md": "# Volume full on archive\n\nCompress the archive.\n"})
	if got := sources(ask(t, x, "queue lags", 0.3)); !cmp.Equal(got, []string{"sub/queue.md"}) {
		t.Errorf("a new file: %v", got)
	}
	if got := sources(ask(t, x, "compress archive", 0.3)); !cmp.Equal(got, []string{"disk.md"}) {
		t.Errorf("an edited file: %v", got)
	}
	if got := ask(t, x, "delete binary replicas", 0.3); len(got) != 0 {
		t.Errorf("text that is gone is found: %v", sources(got))
	}
	write(t, dir, map[string]string{"payments.md": ""})
	if got := ask(t, x, "payment gateway 502", 0.3); len(got) != 0 {
		t.Errorf("a deleted file is found: %v", sources(got))
	}
}

func TestASecondWriteWithinTheClocksGrainIsSeen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := filepath.Join(dir, "a.md")
	put := func(s string) {
		if err := os.WriteFile(p, []byte(s), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("# alpha one\n")
	fi, err := os.Stat(p)
	if err != nil {
		t.Fatal(err)
	}
	x := open(t, Options{Path: dir})
	ask(t, x, "alpha", 0)
	put("# gamma two\n")
	if err := os.Chtimes(p, fi.ModTime(), fi.ModTime()); err != nil {
		t.Fatal(err)
	}
	if len(ask(t, x, "gamma", 0)) == 0 {
		t.Error("a write of the same size and time right after the first is missed")
	}
}

func TestIncrementalAndFreshIndexAnswerAlike(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := map[string]string{}
	for i := range 30 {
		files[fmt.Sprintf("r%02d.md", i)] = fmt.Sprintf("# Service s%d is slow\n\nThe pool of service s%d is exhausted. Restart worker %d.\n\n## Cause\n\nCache miss storm %d.\n", i, i, i*7, i%3)
	}
	write(t, dir, files)
	x := open(t, Options{Path: dir, IndexFile: filepath.Join(t.TempDir(), "i.db")})
	ask(t, x, "pool", 0)
	for i := range 8 {
		write(t, dir, map[string]string{fmt.Sprintf("r%02d.md", i): fmt.Sprintf("# Service s%d is down\n\nThe breaker is open, worker %d.\n", i, i), fmt.Sprintf("n%d.md", i): "# Fresh page\n\nCache storm.\n"})
		ask(t, x, "pool", 0)
	}
	y := open(t, Options{Path: dir})
	for _, q := range []string{"service pool exhausted", "cache storm", "worker 3 breaker", "fresh page"} {
		strip := func(in []rag.Hit) []rag.Hit {
			for i := range in {
				in[i].DocID = ""
			}
			return in
		}
		if diff := cmp.Diff(strip(ask(t, y, q, 0)), strip(ask(t, x, q, 0))); diff != "" {
			t.Errorf("%q (-fresh +incremental):\n%s", q, diff)
		}
	}
}

func TestSecretsAreNeitherInTheFileNorFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := "Zk9" + "vQ2mX7pLw4"
	write(t, dir, map[string]string{"db.md": "---\ntitle: Database access\ntags: [password=" + secret + "]\n---\n# Database\n\nConnect with `password=" + secret + "` to the replica.\n\n<!-- old password=" + secret + " -->\n",
		"page.html": "<title>t password=" + secret + "</title><h1>Access</h1><p>token=" + secret + "</p><div hidden>password=" + secret + "</div>", "plain.txt": "login uses password=" + secret})
	file := filepath.Join(t.TempDir(), "i.db")
	x := open(t, Options{Path: dir, IndexFile: file})
	hits := ask(t, x, "database replica", 0)
	if len(hits) == 0 || !strings.Contains(hits[0].Text, "password=<secret>") {
		t.Errorf("hits = %+v, want the sentence with a mask", hits)
	}
	for _, q := range []string{secret, secret[:6], "password=" + secret, "secret", "<secret>"} {
		for _, h := range ask(t, x, q, 0) {
			if q != "password="+secret {
				t.Errorf("%q finds %s", q, h.Source)
			}
			if strings.Contains(h.Text+h.Title, secret) {
				t.Errorf("%q shows the secret", q)
			}
		}
	}
	for _, f := range []string{file, file + ".lock"} {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range []string{secret, strings.ToLower(secret), secret[:8]} {
			if strings.Contains(string(b), form) {
				t.Errorf("%s holds %q", filepath.Base(f), form)
			}
		}
		if fi, err := os.Stat(f); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", filepath.Base(f), fi.Mode())
		}
	}
}

func TestOtherRedactionBuildsTheIndexAnew(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "i.db")
	write(t, dir, map[string]string{"a.md": "# Gateway\n\nThe gateway lives at 10.20.30.40 behind the balancer. Word acmeplan stays.\n"})
	x, err := New(Options{Path: dir, IndexFile: file})
	if err != nil {
		t.Fatal(err)
	}
	before := ask(t, x, "gateway balancer", 0)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(before[0].Text, "10.20.30.40") {
		t.Fatalf("infrastructure is masked by default: %q", before[0].Text)
	}
	r, err := redact.New(redact.Options{Classes: redact.Classes{Secrets: true, Infrastructure: true}, KeepPlaceholders: true, Hide: []string{"acmeplan"}})
	if err != nil {
		t.Fatal(err)
	}
	y := open(t, Options{Path: dir, IndexFile: file, Redactor: r, Redaction: "2"})
	after := ask(t, y, "gateway balancer", 0)
	if strings.Contains(after[0].Text, "10.20.30.40") || strings.Contains(after[0].Text, "acmeplan") {
		t.Errorf("the old text is still served: %q", after[0].Text)
	}
	if after[0].DocID != before[0].DocID {
		t.Error("the doc_id changed with the redaction")
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), "10.20.30.40") || strings.Contains(string(b), "acmeplan") {
		t.Error("the file still holds the old text")
	}
}

func TestBadFilesAreReportedByNameAndStopNothing(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	write(t, outside, map[string]string{"private.md": "# Private\n\nOutside words.\n"})
	write(t, dir, map[string]string{"good.md": "# Good\n\nUseful words.\n", "binary.md": "\x00\x01\x02\x7fELF", "latin.txt": strings.Repeat("\xe9\xe8\xff", 50), "empty.md": "  \n\n", "image.png": "x",
		"latin-word.md": "# Caf\xe9\n\nThe coffee machine of the office is broken, which is why nobody answers the pager before nine. It is a long text.\n", ".hidden.md": "# Hidden\n", ".git/x.md": "# Git\n"})
	for name, target := range map[string]string{"out.md": filepath.Join(outside, "private.md"), "outdir": outside, "loop": dir, "self.md": "self.md", "inside.md": "good.md"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "huge.txt"), make([]byte, maxFile+1), 0o644); err != nil {
		t.Fatal(err)
	}
	x := open(t, Options{Path: dir})
	sum, err := x.Build(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range sum.Skipped {
		got[s.Path] = s.Reason
	}
	want := map[string]string{"binary.md": "binary content", "latin.txt": "neither UTF-8, UTF-16 nor GB 18030 text", "empty.md": "no text", "image.png": "unsupported type .png", "huge.txt": "larger than 8 MiB",
		"out.md": "link that leads out of the folder or nowhere", "self.md": "link that leads out of the folder or nowhere"}
	for _, name := range []string{"outdir", "loop"} { // read as files without an extension or as links to folders, never entered
		if _, ok := got[name]; !ok {
			t.Errorf("%s is not reported", name)
		}
		delete(got, name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	if sum.Files != 3 {
		t.Errorf("%d files, want good.md, its link and the one with a stray byte", sum.Files)
	}
	if hits := ask(t, x, "private outside words", 0.3); len(hits) != 0 && sources(hits)[0] != "good.md" {
		t.Errorf("a file outside is found: %v", sources(hits))
	}
	if hits := ask(t, x, "hidden git", 0); len(hits) != 0 {
		t.Errorf("hidden files are found: %v", sources(hits))
	}
}

func TestAMissingFolderIsAnErrorAndAnEmptyOneIsBare(t *testing.T) {
	t.Parallel()
	x := open(t, Options{Path: filepath.Join(t.TempDir(), "nowhere")})
	_, err := x.Search(t.Context(), rag.Query{Text: "disk", Limit: 5}, func(int) error { return nil })
	if fault.CodeOf(err) != fault.BackendError {
		t.Errorf("Search = %v, want BACKEND_ERROR", err)
	}
	if err := x.Check(t.Context()); fault.CodeOf(err) != fault.BackendError {
		t.Errorf("Check = %v, want BACKEND_ERROR", err)
	}
	dir := t.TempDir()
	y := open(t, Options{Path: dir})
	ans, err := y.Search(t.Context(), rag.Query{Text: "disk", Limit: 5}, func(int) error { return nil })
	if err != nil || len(ans.Hits) != 0 || !ans.Bare {
		t.Errorf("an empty folder answers %+v, %v", ans, err)
	}
	if err := y.Check(t.Context()); fault.CodeOf(err) != fault.BackendError {
		t.Errorf("Check of an empty folder = %v, want BACKEND_ERROR", err)
	}
}

func TestAFolderThatVanishedGivesNoFalseNegative(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "docs")
	write(t, dir, shop)
	x := open(t, Options{Path: dir})
	ask(t, x, "disk", 0)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	x.recheck()
	take := func(int) error { return nil }
	ans, err := x.Search(t.Context(), rag.Query{Text: "disk full", Limit: 5}, take)
	if err != nil || len(ans.Hits) == 0 || ans.Note == "" {
		t.Errorf("Search = %+v, %v, want the old answer with a note", ans, err)
	}
	x.recheck()
	if _, err := x.Search(t.Context(), rag.Query{Text: "zebra", Limit: 5}, take); fault.CodeOf(err) != fault.BackendIncomplete {
		t.Errorf("Search = %v, want BACKEND_INCOMPLETE", err)
	}
}

func TestSeveralIndexesShareOneFile(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "i.db")
	write(t, dir, shop)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		x := open(t, Options{Path: dir, IndexFile: file})
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				x.recheck()
				ans, err := x.Search(t.Context(), rag.Query{Text: "disk full", Limit: 5, Floor: 0.3}, func(int) error { return nil })
				if err != nil || len(ans.Hits) == 0 {
					t.Errorf("Search = %v, %v", ans.Hits, err)
					return
				}
			}
		})
	}
	writer := open(t, Options{Path: dir, IndexFile: file})
	for i := range 10 {
		write(t, dir, map[string]string{fmt.Sprintf("n%d.md", i): fmt.Sprintf("# Page %d\n\nText.\n", i)})
		if _, err := writer.Build(t.Context(), nil); err != nil {
			t.Errorf("Build: %v", err)
		}
	}
	close(stop)
	wg.Wait()
	if sum, err := writer.Build(t.Context(), nil); err != nil || sum.Files != 12 {
		t.Errorf("Build = %+v, %v", sum, err)
	}
}

func TestADamagedIndexFileIsBuiltAnew(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "i.db")
	write(t, dir, shop)
	for _, junk := range []string{"", "not a database", strings.Repeat("SQLite format 3\x00", 1000)} {
		if err := os.WriteFile(file, []byte(junk), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file+".new", []byte(junk), 0o600); err != nil {
			t.Fatal(err)
		}
		x := open(t, Options{Path: dir, IndexFile: file})
		if len(ask(t, x, "disk full", 0.3)) == 0 {
			t.Errorf("nothing found over a file of %q", cut8(junk))
		}
	}
}

func cut8(s string) string { return s[:min(len(s), 8)] }

func TestTheAllowanceStopsASearch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, shop)
	x := open(t, Options{Path: dir})
	ask(t, x, "disk", 0)
	want := fault.New(fault.RawTooLarge, "test", nil)
	if _, err := x.Search(t.Context(), rag.Query{Text: "disk full", Limit: 5}, func(int) error { return want }); fault.CodeOf(err) != fault.RawTooLarge {
		t.Errorf("Search = %v, want the refusal of take", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.Search(gone, rag.Query{Text: "disk full", Limit: 5}, func(int) error { return nil }); fault.CodeOf(err) != fault.Cancelled {
		t.Errorf("Search = %v, want CANCELLED", err)
	}
}

func TestHostileQueriesAreWordsAndNothingElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, shop)
	x := open(t, Options{Path: dir})
	for _, q := range []string{`disk" OR "x`, `disk AND NOT full`, `disk*`, `t:disk`, `NEAR(disk full)`, `"`, `'; DROP TABLE docs; --`, `^disk + full`, `( disk`, "disk\x00full", strings.Repeat("disk full ", 400), `{disk}`, "-disk"} {
		ask(t, x, q, 0)
	}
	if len(ask(t, x, "disk", 0)) == 0 {
		t.Error("the index is gone")
	}
}

func TestMoreIsSetExactlyWhenSomethingOverTheFloorIsLeftOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	section := func(word string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "## Part %d\n\nThe %s compaction of part %d. %s\n\n", i, word, i, strings.Repeat(fmt.Sprintf("filler%d of %d ", i, i), 60))
		}
		return b.String()
	}
	write(t, dir, map[string]string{"three.md": "# Three\n\n" + section("wallaby", 3), "ten.md": "# Ten\n\n" + section("numbat", 10), "one.md": "# One\n\nThe quoll compaction.\n"})
	x := open(t, Options{Path: dir})
	for _, c := range []struct {
		query string
		limit int
		hits  int
		more  bool
	}{
		{"quoll", 5, 1, false}, {"wallaby", 5, 3, false}, {"wallaby", 3, 3, false}, {"wallaby", 2, 2, true}, {"numbat", 20, 3, true}, {"zebra", 5, 0, false},
	} {
		ans, err := x.Search(t.Context(), rag.Query{Text: c.query, Limit: c.limit, Floor: 0.5}, func(int) error { return nil })
		if err != nil || len(ans.Hits) != c.hits || ans.More != c.more {
			t.Errorf("%q, at most %d: %d hits, more %v, %v; want %d, %v", c.query, c.limit, len(ans.Hits), ans.More, err, c.hits, c.more)
		}
	}
}
