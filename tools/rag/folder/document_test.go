package folder

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-069badc9/mcp-gateway/redact"
)

func redactor(t testing.TB) *redact.Redactor {
	t.Helper()
	r, err := redact.New(redact.Options{Classes: redact.Classes{Secrets: true}, KeepPlaceholders: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// outline is a document in one line a chunk.
func outline(d document) string {
	var b strings.Builder
	fmt.Fprintf(&b, "title %q", d.title)
	for _, c := range d.chunks {
		fmt.Fprintf(&b, "\n%s | %s", strings.Join(c.heading, " > "), strings.ReplaceAll(c.text, "\n", "⏎"))
	}
	return b.String()
}

func TestDocumentsAreSplitAtTheirHeadings(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 150) // 750 characters: two do not fit one chunk
	for _, c := range []struct{ name, file, in, want string }{
		{"short sections stay together", "a.md", "# T\n\n## A\n\none\n\n## B\n\ntwo\n", `title "T"` + "\n | # T⏎⏎## A⏎⏎one⏎⏎## B⏎⏎two"},
		{"long sections stand alone", "a.md", "# T\n\n## A\n\n" + long + "\n\n## B\n\n" + long + "\n", `title "T"` + "\nA | # T⏎⏎## A⏎⏎" + strings.TrimSpace(long) + "\nB | ## B⏎⏎" + strings.TrimSpace(long)},
		{"a heading in a listing is code", "a.md", "# T\n\n```sh\n# not a heading\n```\n", `title "T"` + "\n | # T⏎⏎```sh⏎# not a heading⏎```"},
		{"underlined headings", "a.md", "Top\n===\n\ntext\n", `title "Top"` + "\n | Top⏎===⏎⏎text"},
		{"front matter", "a.md", "---\ntitle: \"Named: here\"\nid: x1\ntags:\n  - redis\n  - cache\n---\nbody\n", `title "Named: here"` + "\n | body"},
		{"TOML front matter", "a.md", "+++\ntitle = \"Named\"\n+++\nbody\n", `title "Named"` + "\n | body"},
		{"a rule is no front matter", "a.md", "---\n\nbody\n", `title "a"` + "\n | ---⏎⏎body"},
		{"no heading: the file's name", "ops/disk-full.md", "body\n", `title "disk-full"` + "\n | body"},
		{"marks and links in headings", "a.md", "# **Bold** `code` [link](http://example.com/x) {#anchor}\n\nb\n", `title "Bold code link"` + "\n | # **Bold** `code` [link](http://example.com/x) {#anchor}⏎⏎b"},
		{"comments go", "a.md", "# T\n\nseen <!-- do\nthis --> also seen\n\n`<!-- code -->`\n\n```xml\n<!-- kept -->\n```\n", `title "T"` + "\n | # T⏎⏎seen  also seen⏎⏎`<!-- code -->`⏎⏎```xml⏎<!-- kept -->⏎```"},
		{"hidden elements go", "a.md", "# T\n\na <span style=\"display: none\">b <span>c</span></span> d\n\n<script>\nx\n</script>\n[//]: # (note to self)\n", `title "T"` + "\n | # T⏎⏎a  d"},
		{"an unclosed comment hides its paragraph only", "a.md", "# T\n\na <!-- open\nb\n\nc\n", `title "T"` + "\n | # T⏎⏎a ⏎⏎c"},
		{"text", "a.txt", "# no heading\n\nbody\n", `title "a"` + "\n | # no heading⏎⏎body"},
		{"a page", "a.html", "<html><head><title>Page &amp; title</title><style>x{}</style></head><body><h1>Head</h1><p>One <b>two</b>.</p><ul><li>x<li>y</ul><pre>a\n  b</pre><table><tr><td>1<td>2</table><p style='visibility:hidden'>no</p><script>no</script></body></html>",
			`title "Head"` + "\n | # Head⏎⏎One two.⏎⏎- x⏎- y⏎⏎```⏎a⏎  b⏎```⏎⏎| 1 | 2 |"},
		{"line ends and marks of order", "a.md", "\ufeff# T\r\n\r\nbody\u200b\r\n", `title "T"` + "\n | # T⏎⏎body"},
	} {
		d, err := readDocument(c.file, []byte(c.in), redactor(t))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if diff := cmp.Diff(c.want, outline(d)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestUTF16IsRead(t *testing.T) {
	t.Parallel()
	le := []byte{0xFF, 0xFE, '#', 0, ' ', 0, 0x78, 0x78, '\n', 0}
	d, err := readDocument("a.md", le, redactor(t))
	if err != nil || d.title != "硸" {
		t.Errorf("readDocument = %q, %v", d.title, err)
	}
	if d, err = readDocument("a.md", append(le, 'x'), redactor(t)); err != nil || d.title != "硸" {
		t.Errorf("cut in the middle of a unit: %q, %v", d.title, err)
	}
}

// Attack: a folder of runbooks written on an old Chinese system. They were skipped. Text in other encodings must not turn into Chinese.
func TestGB18030IsReadAndNothingElseIsTakenForIt(t *testing.T) {
	t.Parallel()
	gb := []byte("# \xb4\xc5\xc5\xcc\xb8\xe6\xbe\xaf\n\n\xc7\xe5\xc0\xed\xc8\xd5\xd6\xbe\xce\xc4\xbc\xfe\xa1\xa3\n")
	d, err := readDocument("a.md", gb, redactor(t))
	if err != nil || d.title != "磁盘告警" || !strings.Contains(d.chunks[0].text, "清理日志文件。") {
		t.Errorf("readDocument = %q %v, %v", d.title, d.chunks, err)
	}
	for name, in := range map[string]string{
		"Latin-1":      "caf\xe9 d\xe9j\xe0 vu \xe0 la fen\xeatre",
		"Windows-1251": "\xc4\xe8\xf1\xea \xef\xe5\xf0\xe5\xef\xee\xeb\xed\xe5\xed \xed\xe0 \xf5\xee\xf1\xf2\xe5",
	} {
		if _, err := readDocument("a.md", []byte(in), redactor(t)); err != errEncoding {
			t.Errorf("%s: %v, want %v", name, err, errEncoding)
		}
	}
}

func TestALongListingKeepsItsFenceInEveryChunk(t *testing.T) {
	t.Parallel()
	in := "# T\n\n```yaml\n" + strings.Repeat("key: value of some length here\n", 200) + "```\n\nafter\n"
	d, err := readDocument("a.md", []byte(in), redactor(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.chunks) < 4 {
		t.Fatalf("%d chunks", len(d.chunks))
	}
	for i, c := range d.chunks {
		if n := strings.Count(c.text, "```"); n%2 != 0 {
			t.Errorf("chunk %d has %d fences: %q", i, n, c.text)
		}
		if n := utf8.RuneCountInString(c.text); n > hardChunk {
			t.Errorf("chunk %d has %d characters", i, n)
		}
	}
}

func TestFrontMatterIDsThatProveNothingDoNotCount(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"id: a-1": "a-1", "uid: 'u 2' # note": "u 2", "id: <secret>": "", "id: [a, b]": "", "id:": "", "id: " + strings.Repeat("x", 200): "", " id: nested": "", "ID: up": "up"} {
		fm, _ := splitFrontMatter("---\n" + in + "\n---\nbody")
		if fm.id != want {
			t.Errorf("id of %q = %q, want %q", in, fm.id, want)
		}
	}
}

func TestHostileDocumentsAreReadInLinearTime(t *testing.T) {
	t.Parallel()
	r := redactor(t)
	for _, piece := range []string{"#\n", "# [a](b)", "x", "x ", "- a\n", "```\n", "a\n===\n", "\n", "[a]:", "> ", "| a |\n", "字"} {
		in := []byte("# T\n" + strings.Repeat(piece, 1<<20/len(piece)))
		d, err := readDocument("a.md", in, r) // quadratic work would take minutes here
		if err != nil {
			t.Errorf("%q: %v", piece, err)
		}
		for _, c := range d.chunks {
			if n := utf8.RuneCountInString(c.text); n > hardChunk+softChunk {
				t.Errorf("%q: chunk of %d characters", piece, n)
				break
			}
		}
	}
	if _, err := readDocument("a.html", []byte(strings.Repeat("<div><b>", 1<<16)), r); err != nil && err != errEmpty {
		t.Errorf("nested elements: %v", err)
	}
}

func FuzzReadDocument(f *testing.F) {
	for _, s := range []string{"# T\n\n## A\ntext\n", "---\nid: x\n---\n```\n# x\n", "<!-- a\n\n```\n-->\n", "a\n===\nb\n---\n", "~~~~\n```\n~~~~\n", "<div hidden><div></div>\n\nx", strings.Repeat("字", 3000), "````\n" + strings.Repeat("x\n", 2000), "<b hidden", "[x]: #"} {
		f.Add("a.md", s)
		f.Add("a.html", s)
		f.Add("a.txt", s)
	}
	r := redactor(f)
	f.Fuzz(func(t *testing.T, name, s string) {
		if len(s) > 1<<16 || len(name) > 100 {
			return
		}
		d, err := readDocument(name, []byte(s), r)
		if err != nil {
			return
		}
		if len(d.chunks) == 0 || d.title == "" && strings.Trim(name, "./") != "" && d.chunks[0].text == "" {
			t.Fatalf("document without content: %+v", d)
		}
		for _, c := range d.chunks {
			// A fence that is repeated in every piece may add a little to the bound.
			if n := utf8.RuneCountInString(c.text); n > hardChunk+softChunk {
				t.Fatalf("chunk of %d characters", n)
			}
			if !utf8.ValidString(c.text) {
				t.Fatal("chunk is not UTF-8")
			}
		}
	})
}

func FuzzBlocksLoseNothing(f *testing.F) {
	f.Add("a\n\n```\nb\n\nc\n```\n\n\nd")
	f.Fuzz(func(t *testing.T, s string) {
		if got := strings.Join(blocks(s), ""); got != s {
			t.Fatalf("blocks joined = %q, want %q", got, s)
		}
	})
}
