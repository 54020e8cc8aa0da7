package stack

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// events joins lines as a reader of a log does.
func events(text string) []string {
	var j Joiner
	var out []string
	for line := range strings.Lines(text) {
		if j.Continues([]byte(line)) {
			out[len(out)-1] += line
		} else {
			out = append(out, line)
		}
	}
	return out
}

func TestEachTraceIsOneEvent(t *testing.T) {
	t.Parallel()
	// How many events each file holds, log lines around the trace included.
	want := map[string]int{
		"go_panic": 1, "go_http_panic": 1, "go_index": 2,
		"java_causedby": 2, "java_circular": 2, "java_recursion": 2, "java_suppressed": 1,
		"python_chained": 1, "python_group": 1, "python_recursion": 2,
		"php_previous": 1, "php_laravel": 2, "rust_panic": 2, "rust_deep": 1,
		"dotnet_aggregate": 1, "dotnet_chinese": 1, "ruby_cause": 1, "node_cause": 2,
	}
	for name, text := range traces(t) {
		got := events(text)
		if len(got) != want[name] {
			t.Errorf("%s: %d events, want %d:\n%s", name, len(got), want[name], strings.Join(got, "-----\n"))
		}
	}
}

func TestTracesInALogStayWithTheirLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		in   []string // one string an event
	}{
		{"plain lines", []string{"2026-03-01 a\n", "2026-03-01 b\n", "INFO: c\n", "c(3)\n", "Error: x\n", "panic: y\n"}},
		{"indented text continues", []string{"begin\n  more\n\tmore\n", "next\n"}},
		{"Java below its log line", []string{"10:00 ERROR failed\njava.io.IOException: x\n\tat a.B.c(B.java:1)\nCaused by: a.D: y\n\t... 3 more\n", "10:01 INFO next\n"}},
		{"two bare Java traces", []string{"java.io.IOException: x\n\tat a.B.c(B.java:1)\n", "java.io.IOException: y\n\tat a.B.c(B.java:1)\n"}},
		{"Python below its log line, levels after it", []string{"ERROR:root:boom\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\nshop.Oops: 1\n", "INFO:root:next\n", "INFO: more\n"}},
		{"Python group, then a level", []string{"  + Exception Group Traceback (most recent call last):\n  |   File \"a.py\", line 1, in f\n  | ExceptionGroup: b (1 sub-exception)\n  +-+---------------- 1 ----------------\n    | ValueError: v\n    +------------------------------------\n", "INFO: next\n"}},
		{"Go dump", []string{"panic: x\n\ngoroutine 1 [running]:\nmain.main()\n\t/a.go:1 +0x1\n\ngoroutine 2 [chan receive]:\nmain.f(0x1, {0x2, 0x3})\n\t/a.go:2 +0x1\ncreated by main.main in goroutine 1\n\t/a.go:3 +0x1\nexit status 2\n", "10:00 next\n"}},
		{"Rust message on its own line", []string{"thread 'main' panicked at a.rs:1:1:\n10 things broke\nnote: run with `RUST_BACKTRACE=1`\n", "10:00 next\n"}},
		{"Ruby without indentation", []string{"RuntimeError (boom):\n\napp/a.rb:1:in 'f'\napp/b.rb:2:in 'g'\n", "10:00 next\n"}},
		{".NET joint without indentation", []string{"System.Exception: x\n   at A.B() in a.cs:line 1\n--- End of stack trace from previous location ---\n   at A.C()\n", "10:00 next\n"}},
	} {
		got := events(strings.Join(c.in, ""))
		if d := cmp.Diff(c.in, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func TestResetForgetsTheEvent(t *testing.T) {
	t.Parallel()
	var j Joiner
	j.Continues([]byte("a"))
	j.Reset()
	if j.Continues([]byte("\tat a.B.c(B.java:1)")) {
		t.Error("a line after Reset continues an event")
	}
}

func TestKeyJoinsOccurrencesAndPartsFailures(t *testing.T) {
	t.Parallel()
	trace := func(class, msg, at string) string {
		return fmt.Sprintf("%s: %s\n\tat java.base/java.lang.Thread.run(Thread.java:1)\n\tat %s", class, msg, at)
	}
	o := Options{InApp: []string{"com.example."}}
	base := Key(trace("a.XException", "order 42", "com.example.A.f(A.java:10)"), o)
	for _, c := range []struct {
		what string
		text string
		same bool
	}{
		{"other number in the message", trace("a.XException", "order 43", "com.example.A.f(A.java:10)"), true},
		{"other line of the same method", trace("a.XException", "order 42", "com.example.A.f(A.java:12)"), true},
		{"other method", trace("a.XException", "order 42", "com.example.A.g(A.java:10)"), false},
		{"other class", trace("a.YException", "order 42", "com.example.A.f(A.java:10)"), false},
	} {
		if same := Key(c.text, o) == base; same != c.same {
			t.Errorf("%s: same key %v, want %v", c.what, same, c.same)
		}
	}
	lib := "org.apache.A.f(A.java:1)"
	if Key(trace("a.XException", "pool is empty", lib), o) == Key(trace("a.XException", "cart is empty", lib), o) {
		t.Error("without a frame of the application, failures with different messages share a key")
	}
	if Key(trace("a.XException", "order 1 is empty", lib), o) != Key(trace("a.XException", "order 2 is empty", lib), o) {
		t.Error("without a frame of the application, a number in the message parts a failure")
	}
}

func TestProseIsNoTrace(t *testing.T) {
	t.Parallel()
	text := "started\n  at the end (see above) nothing was left\n  at 10:00 all was well\nfrom here: on\n#1 of many\n   1: first\nfoo(bar)\n  more\n"
	if got, n := Trim(text, Options{}); got != text || n != 0 {
		t.Errorf("Trim(prose) omitted %d:\n%s", n, got)
	}
	if rt, ok := Detect(text); ok {
		t.Errorf("Detect(prose) = %q", rt)
	}
}
