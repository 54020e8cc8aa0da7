package stack

import (
	"strings"
	"testing"
)

// FuzzTrim holds what Trim promises for any text: what is no frame stays in order, all else is a line of the text or a
// mark, and a second Trim changes nothing.
func FuzzTrim(f *testing.F) {
	for _, s := range []string{
		"java.io.IOException: x\n\tat a.B.c(B.java:1)\n\tat a.B.d(B.java:2)\n\t... 3 more\nCaused by: y\n\tat a.B.c(B.java:1)",
		strings.Repeat("\tat a.B.c(B.java:1)\n\tat a.B.d(B.java:2)\n", 9) + "x",
		"panic: x\n\ngoroutine 1 [running]:\npanic({0x1})\n\t/a.go:1 +0x2\nmain.f()\n\t/a.go:1 +0x2\nmain.g()\n\t/a.go:1\nmain.h()\n\t/a.go:1\nmain.i()\n\t/a.go:1",
		"Traceback (most recent call last):\n  File \"a\", line 1, in b\n    c\n    ^\n  [Previous line repeated 3 more times]\nE: x",
		"  | File \"a\", line 1\n  | E: x\n  +-+---- 1 ----\n    | E: y",
		"stack backtrace:\n   0: a\n             at b:1:1\n   1: c\n",
		"Stack trace:\n#0 a(1): b()\n#1 {main}\n\nNext E: x",
		"a.rb:1:in 'x': y (Z)\n\tfrom b.rb:2:in 'c'\n ... 3 levels...\n\t1: from a.rb:1:in 'b'",
		"E: x\n    at f (a:1:2)\n    at async g (a:1:2) {\n  [cause]: E: y\n}",
		" at a.B.d(B.java:2)\nat a.B.c(B.java:1)\nat a.B.d(B.java:2)\nat a.B.c(B.java:1)\nat a.B.d(B.java:2)\nat a.B.d(B.java:2)\nat a.B.c(B.java:1)\nat a.B.d(B.java:2)\nat a.B.c(B.java:1)\nat a.B.d(B.java:2)\n",
		"\tat a.B.c(B.java:1)\n... 2 frames above x9\n... frame above x3\n\t... 70 frames omitted",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, o := range []Options{{}, {InApp: []string{"a."}, Head: 1, App: 1}} {
			got, n := Trim(s, o)
			if twice, m := Trim(got, o); twice != got || m != 0 {
				t.Fatalf("Trim is not idempotent:\n%q\nonce  %q\ntwice %q", s, got, twice)
			}
			if n == 0 && got != s {
				t.Fatalf("nothing omitted, but %q became %q", s, got)
			}
			in := strings.Split(s, "\n")
			known := map[string]bool{}
			for _, line := range in {
				known[line] = true
			}
			out := strings.Split(got, "\n")
			for _, line := range out {
				if !known[line] && !isMark(strings.TrimLeft(line, " \t|")) {
					t.Fatalf("line %q of the trimmed text is neither a mark nor of %q", line, s)
				}
			}
			p, at := parse(s), 0
			for i, line := range in {
				if p.kinds[i] == inFrame {
					continue
				}
				for at < len(out) && out[at] != line {
					at++
				}
				if at == len(out) {
					t.Fatalf("line %q is lost from %q: %q", line, s, got)
				}
				at++
			}
		}
		Classes(s)
		Root(s)
		Key(s, Options{})
		var j Joiner
		for line := range strings.Lines(s) {
			j.Continues([]byte(line))
		}
	})
}

func BenchmarkTrim(b *testing.B) {
	var sb strings.Builder
	sb.WriteString("2026-03-01 ERROR x\ncom.example.XException: y\n")
	for range 20 {
		sb.WriteString("\tat org.springframework.web.servlet.FrameworkServlet.service(FrameworkServlet.java:897)\n\tat com.example.shop.Checkout.run(Checkout.java:36)\n\tat java.base/java.lang.Thread.run(Thread.java:1583)\n\tat org.apache.catalina.core.ApplicationFilterChain.doFilter(ApplicationFilterChain.java:166)\n")
	}
	s := sb.String()
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for b.Loop() {
		Trim(s, Options{})
	}
}

func BenchmarkContinues(b *testing.B) {
	line := []byte(`2026-03-01T10:00:00.000Z INFO order 42 stored in 3ms by worker-7`)
	var j Joiner
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		j.Continues(line)
	}
}
