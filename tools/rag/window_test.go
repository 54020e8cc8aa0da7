package rag

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/tools/rag/internal/lex"
)

func wordsOf(q string) map[string]bool {
	m := map[string]bool{}
	for _, t := range lex.Tokens(q) {
		m[t.Term] = true
	}
	return m
}

func filler(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d says nothing of note\n", i)
	}
	return b.String()
}

func TestWindowsStandAroundTheMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, query string
		limit             int
		want, without     []string
		cut               bool
	}{
		{"short text is whole", "one\ntwo\n", "two", 100, []string{"one\ntwo"}, []string{"…"}, false},
		{"in the middle", filler(50) + "restart the payment gateway\n" + filler(50), "payment gateway", 300, []string{"restart the payment gateway\n", "…\n", "\n…"}, nil, true},
		{"at the start", "payment gateway\n" + filler(50), "payment gateway", 300, []string{"payment gateway\nline 0"}, []string{"…\npayment"}, true},
		{"at the end", filler(50) + "payment gateway", "payment gateway", 300, []string{"payment gateway"}, []string{"gateway\n…"}, true},
		{"the denser place wins", filler(5) + "payment\n" + filler(60) + "payment of the gateway\n" + filler(20), "payment gateway", 300, []string{"payment of the gateway"}, nil, true},
		{"an open listing is closed", "intro\n```sh\n" + filler(20) + "payctl failover\n" + filler(40) + "```\n", "payctl failover", 300, []string{"```sh\n", "\n```", "payctl failover"}, nil, true},
		{"a listing that is left stays closed", "```sh\n" + filler(3) + "```\n" + filler(30) + "payctl\n" + filler(30), "payctl", 300, []string{"payctl"}, []string{"```"}, true},
		{"Chinese", strings.Repeat("这一行没有什么内容。\n", 80) + "数据库连接池耗尽时先扩容。\n" + strings.Repeat("这一行没有什么内容。\n", 80), "连接池耗尽", 200, []string{"数据库连接池耗尽时先扩容。"}, nil, true},
		{"one long line", strings.Repeat("filler words here ", 100) + "payment gateway" + strings.Repeat(" more filler", 100), "payment gateway", 200, []string{"payment gateway", "…"}, nil, true},
		{"a mask is never cut", strings.Repeat("x", 190) + " <secret> " + strings.Repeat("y", 300), "nothing", 200, []string{"…"}, []string{"<sec…", "<s", "<secret…"}, true},
		{"no match: the beginning", filler(100), "zebra", 200, []string{"line 0 says"}, nil, true},
	} {
		got, cut := window(c.text, wordsOf(c.query), c.limit)
		if cut != c.cut || utf8.RuneCountInString(got) > c.limit {
			t.Errorf("%s: cut %v, %d characters, want %v, at most %d", c.name, cut, utf8.RuneCountInString(got), c.cut, c.limit)
		}
		for _, w := range c.want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %q lacks %q", c.name, got, w)
			}
		}
		for _, w := range c.without {
			if strings.Contains(got, w) {
				t.Errorf("%s: %q holds %q", c.name, got, w)
			}
		}
		if strings.Count(got, "```")%2 != 0 {
			t.Errorf("%s: %q leaves a listing open", c.name, got)
		}
	}
}

func FuzzWindow(f *testing.F) {
	f.Add(filler(60), "line 7", 100)
	f.Add("```\n"+strings.Repeat("x\n", 200)+"````\n~~~\n", "x", 60)
	f.Add(strings.Repeat("<secret>", 100), "x", 30)
	f.Add(strings.Repeat("字", 500), "字字", 20)
	f.Add("``````````````````````````````````````````x\n"+filler(9), "x", 80)
	f.Fuzz(func(t *testing.T, text, query string, limit int) {
		if limit < 16 || limit > 2000 || len(text) > 1<<16 {
			return
		}
		text = strings.ToValidUTF8(text, "?")
		got, cut := window(text, wordsOf(query), limit)
		if n := utf8.RuneCountInString(got); n > limit {
			t.Fatalf("%d characters, limit %d", n, limit)
		}
		if !utf8.ValidString(got) {
			t.Fatal("not UTF-8")
		}
		if !cut && got != strings.TrimRight(text, " \t\n") {
			t.Fatal("changed without a cut")
		}
		for a, e := range redact.Tags(got) {
			if !strings.Contains(text, got[a:e]) {
				t.Fatalf("a mask %q that the text does not hold", got[a:e])
			}
		}
		// Every line but the marks and fences that were added is of the text.
		for _, l := range strings.Split(got, "\n") {
			l = strings.TrimSuffix(strings.TrimPrefix(l, ellipsis), ellipsis)
			if l != "" && fenceMark(l) == "" && !strings.Contains(text, l) {
				t.Fatalf("line %q is not of the text", l)
			}
		}
	})
}
