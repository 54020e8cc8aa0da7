package folder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/tools/rag"
)

// Attack: somebody keeps a runbook in "token=….md" or below "password=…/". The words of paths are searched, and paths are shown, so both gave the secret away.
func TestASecretInAPathIsNeitherKeptNorFound(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "i.db")
	secret, other := "Zk9"+"vQ2mX7pLw4", "Hj3"+"tR8nB5cVx1"
	write(t, dir, map[string]string{
		"password=" + secret + ".md": "# Orders\n\nRestart the orders worker.\n", "password=" + other + ".md": "# Invoices\n\nRestart the invoices worker.\n",
		"token=" + secret + "/page.html": "<h1>Returns</h1><p>Restart the returns worker.</p>", "secret=" + secret + ".bin": "x", "esc\x1b[31m\n.md": "# Escapes\n\nRestart the terminal worker.\n"})
	x := open(t, Options{Path: dir, IndexFile: file})
	var shown []string
	for _, q := range []string{"orders worker", "invoices worker", "returns worker", "terminal worker"} {
		hits := ask(t, x, q, 0.5)
		if len(hits) == 0 {
			t.Fatalf("%q finds nothing", q)
		}
		shown = append(shown, hits[0].Source)
	}
	if want := []string{"password=<secret> (2)", "password=<secret>", "token=<secret>", "esc .md"}; !cmp.Equal(shown, want) && !cmp.Equal(shown, []string{want[1], want[0], want[2], want[3]}) {
		t.Errorf("sources %q, want %q", shown, want)
	}
	for _, q := range []string{secret, secret[:6], other} {
		if hits := ask(t, x, q, 0.3); len(hits) != 0 {
			t.Errorf("%q finds %v", q, sources(hits))
		}
	}
	sum, err := x.Build(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sum.Skipped {
		if strings.Contains(s.Path, secret) {
			t.Errorf("the summary shows %q", s.Path)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{secret, other, strings.ToLower(secret)} {
		if strings.Contains(string(b), s) {
			t.Errorf("the file holds %q", s)
		}
	}
}

// Attack: ask right after a runbook was written. The pause between two comparisons made the index swear that there was none.
func TestNothingFoundIsSaidOfTheFolderAsItIsNow(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, shop)
	x := open(t, Options{Path: dir})
	ask(t, x, "disk", 0)
	write(t, dir, map[string]string{"new.md": "# Zanzibar breaker\n\nReset the zanzibar breaker.\n"})
	x.mu.Lock()
	x.pause = time.Hour
	x.mu.Unlock()
	ans, err := x.Search(t.Context(), rag.Query{Text: "zanzibar breaker", Limit: 5, Floor: 0.3}, func(int) error { return nil })
	if err != nil || len(ans.Hits) == 0 {
		t.Errorf("Search = %v, %v, want the new document", ans.Hits, err)
	}
}

// Attack: a folder is unmounted, found empty, and comes back with an edited document. It got a new identity, although its path had one.
func TestADocumentThatCameBackEditedKeepsItsDocID(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.md": "# Alpha\n\nText of alpha.\n", "b.md": "# Beta\n\nText of beta.\n"})
	x := open(t, Options{Path: dir})
	first := docIDs(t, x)
	write(t, dir, map[string]string{"a.md": "", "b.md": ""})
	docIDs(t, x)
	write(t, dir, map[string]string{"a.md": "# Alpha, second edition\n\nText of alpha, revised.\n", "b.md": "# Beta\n\nText of beta.\n"})
	if diff := cmp.Diff(first, docIDs(t, x)); diff != "" {
		t.Error(diff)
	}
}

// Attack: the index file is deleted, cut or overwritten under a process that serves from it. Refreshes failed until it was started again.
func TestALostIndexFileIsReplacedWhileServing(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(file string) error{
		"removed":     os.Remove,
		"folder gone": func(file string) error { return os.RemoveAll(filepath.Dir(file)) },
		"cut":         func(file string) error { return os.Truncate(file, 5000) },
		"overwritten": func(file string) error {
			return errors.Join(os.Remove(file), os.WriteFile(file, []byte(strings.Repeat("junk", 5000)), 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, file := t.TempDir(), filepath.Join(t.TempDir(), "sub", "i.db")
			write(t, dir, shop)
			write(t, dir, map[string]string{"moved.md": "---\nid: m1\n---\n# Moved page\n\nKangaroo.\n"})
			x := open(t, Options{Path: dir, IndexFile: file})
			write(t, dir, map[string]string{"disk.md": shop["disk.md"] + "\nEdited since.\n"})
			first := docIDs(t, x)
			if err := harm(file); err != nil {
				t.Fatal(err)
			}
			write(t, dir, map[string]string{"new.md": "# Zanzibar breaker\n\nReset the zanzibar breaker.\n"})
			if len(ask(t, x, "zanzibar breaker", 0.3)) == 0 || len(ask(t, x, "disk full", 0.3)) == 0 {
				t.Error("nothing found")
			}
			if err := harm(file); err != nil {
				t.Fatal(err)
			}
			ask(t, x, "disk full", 0) // nothing changed but the index file
			y := open(t, Options{Path: dir, IndexFile: file})
			again := docIDs(t, y)
			delete(again, "new.md")
			if diff := cmp.Diff(first, again); diff != "" && name != "cut" {
				t.Errorf("identities were lost with the file:\n%s", diff)
			}
		})
	}
}

// Attack: two configurations with other masks share an index file. The one with more masks refreshed a copy of what the other had written, addresses and all.
func TestAnIndexOfOtherRulesIsNeverCopied(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "i.db")
	write(t, dir, map[string]string{"a.md": "# Gateway\n\nThe gateway lives at 10.20.30.40.\n", "b.md": "# Other\n\nText.\n", "c.md": "# Third\n\nText.\n"})
	strict, err := redact.New(redact.Options{Classes: redact.Classes{Secrets: true, Infrastructure: true}, KeepPlaceholders: true})
	if err != nil {
		t.Fatal(err)
	}
	x, y := open(t, Options{Path: dir, IndexFile: file, Redactor: strict, Redaction: "strict"}), open(t, Options{Path: dir, IndexFile: file})
	ask(t, x, "gateway", 0)
	ask(t, y, "gateway", 0)
	write(t, dir, map[string]string{"b.md": "# Other\n\nText, edited.\n"})
	ask(t, x, "edited", 0)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), "10.20.30.40") {
		t.Error("the index of the strict rules holds an address")
	}
	if hits := ask(t, x, "10.20.30.40", 0.3); len(hits) != 0 {
		t.Errorf("the address finds %v", sources(hits))
	}
}

// Attack: touch every file. Each process that started later read all of them again, for ever.
func TestATouchedFileIsReadOnceByAllProcesses(t *testing.T) {
	t.Parallel()
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "i.db")
	write(t, dir, shop)
	write(t, dir, map[string]string{"x.md": "# X\n\nText.\n", "y.md": "# Y\n\nText.\n", "z.md": "# Z\n\nText.\n"})
	x := open(t, Options{Path: dir, IndexFile: file})
	ask(t, x, "disk", 0) // the files are too young for their times to be trusted
	x.grain = 0
	ask(t, x, "disk", 0)
	y := open(t, Options{Path: dir, IndexFile: file})
	read := 0
	if _, err := y.Build(t.Context(), func(done, _ int) { read = done }); err != nil || read != 0 {
		t.Errorf("a second process reads %d files again, %v", read, err)
	}
}

// Attack: edit a file and set its time back. Size and time were all that was compared.
func TestAnEditThatKeepsSizeAndTimeIsSeen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.md": "# alpha one\n"})
	p := filepath.Join(dir, "a.md")
	fi, err := os.Stat(p)
	if err != nil {
		t.Fatal(err)
	}
	if changeTime(fi) == 0 {
		t.Skip("this system tells no time of change")
	}
	x := open(t, Options{Path: dir})
	x.grain = 0
	ask(t, x, "alpha", 0)
	write(t, dir, map[string]string{"a.md": "# gamma two\n"})
	if err := os.Chtimes(p, fi.ModTime(), fi.ModTime()); err != nil {
		t.Fatal(err)
	}
	if len(ask(t, x, "gamma", 0)) == 0 {
		t.Error("the edit is missed")
	}
}

// Attack: copy a runbook to a folder that comes first. The excerpt was then shown under the copy's identity.
func TestACopyTakesNoIdentity(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const text = "---\nid: RB-7\n---\n# Beta\n\nThe wallaby queue is stuck.\n"
	write(t, dir, map[string]string{"x/b.md": text, "n.md": "# Alpha\n\nThe numbat pool is empty.\n", "o.md": "# Other\n\nNothing.\n", "p.md": "# More\n\nNothing.\n"})
	x := open(t, Options{Path: dir})
	first, second := ask(t, x, "wallaby queue", 0.3)[0], ask(t, x, "numbat pool", 0.3)[0]
	write(t, dir, map[string]string{"a-copy.md": text, "backup/a.md": "# Alpha\n\nThe numbat pool is empty.\n", "wallaby queue.md": text})
	for q, was := range map[string]rag.Hit{"wallaby queue": first, "numbat pool": second} {
		if now := ask(t, x, q, 0.3)[0]; now.DocID != was.DocID || now.Source != was.Source {
			t.Errorf("%q: %s %s, was %s %s", q, now.Source, now.DocID, was.Source, was.DocID)
		}
	}
}

// Attack: put the one telling line behind some hundred sections of a huge file. Only the first 512 were looked at, and the line was NO_EVIDENCE.
func TestTheEndOfAHugeDocumentIsSearched(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("# Ledger\n\n")
	for i := range 900 {
		fmt.Fprintf(&b, "## Entry %d\n\nThe ledger restart of batch %d. %s\n\n", i, i, strings.Repeat("Restart the ledger and wait. ", 40))
	}
	b.WriteString("## Last\n\nThe bandicoot valve is stuck.\n")
	write(t, dir, map[string]string{"ledger.md": b.String(), "other.md": "# Other\n\nNothing.\n"})
	x := open(t, Options{Path: dir})
	for _, q := range []string{"bandicoot valve", "bandicoot valve of the ledger restart"} {
		hits := ask(t, x, q, 0.3)
		if len(hits) == 0 || !strings.Contains(hits[0].Text, "bandicoot") {
			t.Errorf("%q finds %d passages, not the line", q, len(hits))
		}
	}
}

// Attack: documents that no editor would write. Each must be among the first by what a reader of it sees, although short ones hold a part of the question.
func TestHostileDocumentsAreFoundByWhatAReaderSees(t *testing.T) {
	t.Parallel()
	dir, out := t.TempDir(), t.TempDir()
	gbk, err := simplifiedchinese.GBK.NewEncoder().String("# 网关重启手册\n\n鸭嘴兽网关需要重启两次，然后检查日志里是否还有超时。\n")
	if err != nil {
		t.Fatal(err)
	}
	docs := []struct{ file, text, query, shows string }{
		{"fence.md", "# Fence\n\n```sh\nrun one\n\nreset the aardvark valve\n", "aardvark valve", "aardvark"},
		{"seven.md", "# S\n\n####### bandicoot valve, seven deep\n\ntext\n", "bandicoot valve", "bandicoot"},
		{"six.md", "# a\n## b\n### c\n#### d\n##### e\n###### cassowary valve\n\ntext\n", "cassowary valve", "cassowary"},
		{"table.md", "# Table\n\n| a | b |\n|---|---|\n" + strings.Repeat("| host cell | value of cell |\n", 8000) + "| dunnart valve | last row |\n", "dunnart valve", "dunnart"},
		{"line.md", "# Line\n\n" + strings.Repeat("filler words of one line ", 60_000) + " echidna valve at the end " + strings.Repeat("more filler ", 1000) + "\n", "echidna valve", "echidna"},
		{"invalid.md", "# Invalid\n\nThe caf\xe9 of the fairywren valve \xff\n" + strings.Repeat("plain text. ", 20), "fairywren valve", "fairywren"},
		{"gbk.md", gbk, "鸭嘴兽网关要重启", "鸭嘴兽"},
		{"zero.md", "# Zero\n\nThe gala\u200bgonia and gou\u00adldian valve, \u202eglider\u202c.\n", "galagonia gouldian glider", "galagonia"},
		{"wide.md", "# Full\n\nＨＯＮＥＹＥＡＴＥＲ valve\n", "honeyeater valve", "ＨＯＮＥＹＥＡＴＥＲ"},
		{"marks.md", "# E\n\n" + strings.Repeat("*_`", 50_000) + " ibisbill valve\n", "ibisbill valve", "ibisbill"},
		{"head.md", "# " + strings.Repeat("long heading ", 3000) + "jacana valve\n\nbody\n", "jacana valve", "jacana"},
		{"under.md", strings.Repeat("a\n=\n", 3000) + "kowari valve\n", "kowari valve", "kowari"},
		{"front.md", "---\n" + strings.Repeat("key: value\n", 5000) + "\nlorikeet valve\n", "lorikeet valve", "lorikeet"},
		{strings.Repeat("d/", 60) + "deep.md", "# Deep\n\nThe monjon valve.\n", "monjon valve", "monjon"},
		{"short.md", "# Notes\n\nA valve is a valve, says the macropod.\n", "macropod valve", "A valve is"},
	}
	for _, d := range docs {
		write(t, dir, map[string]string{d.file: d.text})
	}
	write(t, out, map[string]string{"outside.md": "# Outside\n\nkookaburra valve\n"})
	for from, to := range map[string]string{"link.md": filepath.Join(out, "outside.md"), "links": out, "loop.md": "loop.md", "inside.md": "six.md"} {
		if err := os.Symlink(to, filepath.Join(dir, from)); err != nil {
			t.Fatal(err)
		}
	}
	x := open(t, Options{Path: dir})
	for _, d := range docs {
		hits := ask(t, x, d.query, 0.3)
		if !slices.ContainsFunc(hits[:min(len(hits), 3)], func(h rag.Hit) bool { return strings.Contains(h.Text, d.shows) }) {
			t.Errorf("%q finds %.60q, want a passage of %.20s with %s among the first", d.query, sources(hits), d.file, d.shows)
		}
		for _, h := range hits {
			if !utf8.ValidString(h.Text) || strings.ContainsAny(h.Text, "\u200b\u202e\u00ad") {
				t.Errorf("%s shows broken or invisible characters", h.Source)
			}
		}
	}
	if hits := ask(t, x, "kookaburra", 0.3); len(hits) != 0 {
		t.Errorf("a file outside of the folder is found: %v", sources(hits))
	}
}

// Attack: ask in Chinese at length. The subject came after the first 64 bigrams and was not looked at.
func TestTheSubjectOfALongChineseQuestionMayComeLast(t *testing.T) {
	t.Parallel()
	dir, _, _ := shopBooks(t)
	x := open(t, Options{Path: dir})
	polite := "各位同事早上好，非常抱歉这么早打扰大家，昨晚值班的时候我正在跟家里人吃饭，突然收到好几条告警短信，一开始以为只是误报，后来客服部门也打来电话说有不少顾客投诉，所以想请教一下："
	hits := ask(t, x, polite+"缓存命中率下降，大量键同时过期引起缓存雪崩应该怎么处理？", 0.2)
	if len(hits) == 0 || hits[0].Source != "zh/redis_hit_rate.md" {
		t.Errorf("found %v, want zh/redis_hit_rate.md first", sources(hits))
	}
	words := make([]string, maxTerms+1)
	for i := range words {
		words[i] = fmt.Sprintf("w%dx", i)
	}
	for n, want := range map[int]string{maxTerms: "", maxTerms + 1: noteLong} {
		ans, err := x.Search(t.Context(), rag.Query{Text: strings.Join(words[:n], " "), Limit: 5, Floor: 0.3}, func(int) error { return nil })
		if err != nil || ans.Note != want {
			t.Errorf("%d words: note %q, %v, want %q", n, ans.Note, err, want)
		}
	}
}
