package stack

import (
	"strings"
)

type link uint8

const (
	first      link = iota // begins a trace
	cause                  // causes what stands above
	suppressed             // was suppressed while what stands above was thrown
	wrapper                // wraps what stands above
	member                 // of an exception group
)

// header is a line that names an exception.
type header struct {
	line   int
	class  string
	link   link
	indent int
}

// links are the words that hang one exception on another, and those that only introduce the first.
var links = [...]struct {
	text string
	link link
}{
	{"Caused by: ", cause}, {"Suppressed: ", suppressed}, {"Wrapped by: ", wrapper}, {"---> ", cause}, {"[cause]: ", cause}, {"Next ", wrapper},
	{"Unhandled exception. ", first}, {"Unhandled Exception: ", first}, {"PHP Fatal error:  Uncaught ", first}, {"Fatal error: Uncaught ", first},
	{"PHP Fatal error: Uncaught ", first}, {"Uncaught ", first}, {"[ERROR] ", first},
}

// headers lists what a text names as thrown, in the order of the text.
func (p *parsed) headers() []header {
	var out []header
	list := false // below "Caused by:" of a Rust error
	for i, raw := range p.lines {
		if p.kinds[i] != other {
			continue
		}
		line, margin := tree(raw)
		t := strings.TrimRight(strings.TrimSpace(line), "\r")
		h := header{line: i, indent: margin + indentOf(line)}
		if t == "" {
			continue
		}
		if list && rustFrame(raw) || list && indentOf(raw) >= 4 {
			h.link = cause
			out = append(out, h)
			continue
		}
		list = t == "Caused by:"
		if list {
			continue
		}
		if h.class = goClass(t); h.class == "" {
			if strings.HasPrefix(t, "thread '") && strings.Contains(t, " panicked at ") {
				h.class = "panic"
			}
		}
		if h.class == "" {
			h.class, h.link = p.className(i, t, margin)
		}
		if h.class == "" {
			continue
		}
		out = append(out, h)
		// Old .NET prints the whole chain on one line.
		for {
			_, inner, ok := strings.Cut(t, " ---> ")
			if !ok {
				break
			}
			if c, after := classToken(inner); isClassName(c) && classEnds(after) {
				out = append(out, header{line: i, class: c, link: cause, indent: h.indent})
			}
			t = inner
		}
	}
	return out
}

func goClass(t string) string {
	switch {
	case strings.HasPrefix(t, "panic: runtime error: "), strings.Contains(t, "http: panic serving ") && strings.Contains(t, ": runtime error: "):
		return "runtime error"
	case strings.HasPrefix(t, "panic: "), strings.Contains(t, "http: panic serving "):
		return "panic"
	case strings.HasPrefix(t, "fatal error: ") && !strings.Contains(t, "Uncaught"):
		return "fatal error"
	}
	return ""
}

// className is the class that line i names, if it is a header.
func (p *parsed) className(i int, t string, margin int) (string, link) {
	l, linked := first, false
	for _, x := range links {
		if rest, ok := strings.CutPrefix(t, x.text); ok {
			t, l, linked = rest, x.link, x.link != first || x.text != "[ERROR] "
			break
		}
	}
	if rest, ok := strings.CutPrefix(t, `Exception in thread "`); ok {
		if _, after, ok := strings.Cut(rest, `" `); ok {
			t = after
		}
	}
	if rest, ok := strings.CutPrefix(t, "(Inner Exception #"); ok {
		if n := leadingNumber(rest); strings.HasPrefix(rest[n:], ") ") {
			t, l = rest[n+2:], member
		}
	}
	if _, rest, ok := strings.Cut(t, `"[object] (`); ok { // PHP, Monolog
		if c, after := classToken(rest); isClassName(c) && strings.HasPrefix(after, "(code") {
			return strings.ReplaceAll(c, `\\`, `\`), first
		}
	}
	if c := rubyClass(t); c != "" {
		if i > 0 && (p.kinds[i-1] == inFrame && p.frames[p.at[i-1]].runtime == Ruby || p.kinds[i-1] == mark) {
			return c, cause
		}
		return c, l
	}
	c, after := classToken(t)
	if c != "" && classEnds(after) {
		above := i > 0 && p.kinds[i-1] == inFrame && p.frames[p.at[i-1]].runtime == Python
		rule := i > 0 && isGroupRule(p.lines[i-1])
		below := i+1 < len(p.lines) && p.kinds[i+1] == inFrame && strings.Contains(c, ".") && (after == "" || after[0] == ':')
		switch {
		case rule:
			return c, member
		case linked, above, below, isClassName(c):
			return c, l
		}
	}
	// A log line in front of the class: "… ERROR x - java.lang.E: message".
	if !linked && margin == 0 && i+1 < len(p.lines) && p.kinds[i+1] == inFrame {
		for at := 0; at < len(t); {
			sp := strings.IndexByte(t[at:], ' ')
			if sp < 0 {
				break
			}
			at += sp + 1
			if c, after := classToken(t[at:]); isClassName(c) && (after == "" || after[0] == ':') {
				return c, first
			}
		}
	}
	return "", first
}

// isGroupRule recognises "+-+------- 1 -------" and "+------- 2 -------" of Python.
func isGroupRule(line string) bool {
	t := strings.TrimSpace(line)
	return strings.HasPrefix(t, "+-") && strings.Contains(t, "--- ") && strings.HasSuffix(t, "---")
}

// rubyClass is the class at the end of "f.rb:1:in 'x': message (Class)".
func rubyClass(t string) string {
	n := rubyPlace(t)
	if n == 0 || !strings.HasPrefix(t[n:], ":in ") && !strings.HasPrefix(t[n:], ": ") || !strings.HasSuffix(t, ")") {
		return ""
	}
	i := strings.LastIndexByte(t, '(')
	if c, after := classToken(t[i+1:]); after == ")" && c != "" && c[0] >= 'A' && c[0] <= 'Z' {
		return c
	}
	return ""
}

// classToken splits a qualified name (a.b.C, A::B, A\B, C$D) off the front of s.
func classToken(s string) (string, string) {
	i := 0
	for i < len(s) {
		c := s[i]
		switch {
		case c|0x20 >= 'a' && c|0x20 <= 'z', c == '_', c == '$', c >= 0x80, i > 0 && (c >= '0' && c <= '9' || c == '.' || c == '\\' || c == '`' || c == '+'):
			i++
			continue
		case c == '\\' && i == 0:
			i++
			continue
		case c == ':' && i > 0 && i+2 < len(s) && s[i+1] == ':' && isWordByte(s[i+2]):
			i += 2
			continue
		}
		break
	}
	return s[:i], s[i:]
}

func isWordByte(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }

// classEnds: what may follow the class in a header.
func classEnds(after string) bool {
	return after == "" || strings.HasPrefix(after, ":") && (len(after) == 1 || after[1] == ' ') || strings.HasPrefix(after, " (") || strings.HasPrefix(after, " [") || strings.HasPrefix(after, " {")
}

// isClassName: the names that errors have by custom in all the runtimes.
func isClassName(c string) bool {
	if len(c) < 5 {
		return false
	}
	last := c[strings.LastIndexAny(c, `.\:$`)+1:]
	if last == "" || last[0] < 'A' || last[0] > 'Z' {
		return false
	}
	for _, s := range [...]string{"Exception", "Error", "Throwable", "ExceptionGroup", "Warning", "Interrupt", "SystemExit", "StopIteration", "Fault", "Timeout", "Exit"} {
		if strings.HasSuffix(last, s) {
			return true
		}
	}
	return false
}

// Classes is the chain of exception classes in the order of the text: the root cause is last in Java, .NET, Node and
// Ruby and first in Python and PHP.
func Classes(text string) []string {
	var out []string
	for _, h := range parse(text).headers() {
		if h.class != "" {
			out = append(out, h.class)
		}
	}
	return out
}

// Root is the line that names the root cause, or the first line of a text that names none.
func Root(text string) string {
	p := parse(text)
	i := p.root(p.headers())
	if i < 0 {
		i = 0
	}
	line, _ := tree(p.lines[i])
	return strings.TrimSpace(line)
}

// root is the index of the root cause's line, or -1.
func (p *parsed) root(hs []header) int {
	if len(hs) == 0 {
		return -1
	}
	rt := p.runtime()
	if rt == Python || rt == PHP || rt == Go {
		h := hs[0]
		for _, x := range hs[1:] {
			if x.link != member || !strings.HasSuffix(h.class, "ExceptionGroup") {
				break
			}
			h = x
		}
		return h.line
	}
	best, base := hs[0], -1
	for _, h := range hs {
		if h.link != cause {
			continue
		}
		// A cause deeper than the others belongs to a suppressed exception, but in Node depth is the chain itself.
		if base < 0 || h.indent <= base || rt == Node {
			best, base = h, h.indent
		}
	}
	if rt == Rust && best.link != cause && best.line+1 < len(p.lines) && strings.HasSuffix(strings.TrimSpace(p.lines[best.line]), ":") {
		return best.line + 1 // the message follows the place
	}
	return best.line
}

// Detect names the runtime whose trace stands in text.
func Detect(text string) (runtime string, ok bool) {
	rt := parse(text).runtime()
	return rt, rt != ""
}

func (p *parsed) runtime() string {
	counts := map[string]int{}
	best := ""
	for _, f := range p.frames {
		if counts[f.runtime]++; best == "" || counts[f.runtime] > counts[best] {
			best = f.runtime
		}
	}
	if best != "" {
		return best
	}
	for i, line := range p.lines {
		t := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(t, "thread '") && strings.Contains(t, " panicked at "), t == "Caused by:" && i+1 < len(p.lines) && indentOf(p.lines[i+1]) >= 4:
			return Rust
		case goroutine(line), strings.HasPrefix(t, "panic: ") && i+1 < len(p.lines):
			return Go
		case t == "Traceback (most recent call last):":
			return Python
		case strings.HasPrefix(t, "PHP Fatal error:"):
			return PHP
		case rubyClass(t) != "":
			return Ruby
		case strings.HasPrefix(t, "Caused by: "), strings.HasPrefix(t, "Exception in thread "):
			return Java
		}
	}
	return ""
}
