// Package stack reads the stack traces of Java, Python, Go, Node, .NET, Ruby, PHP and Rust as they stand in logs.
//
// It promises: trimming drops frames only, each gap with a mark that counts it; the header of every cause, suppressed
// exception and group member survives, and so does every line that is no frame; trimming twice changes nothing more;
// the work is linear in the text. Java prints the root cause last and Python prints it first, so nothing here ever
// cuts the tail.
package stack

import "strings"

// Names of the runtimes as Detect returns them.
const (
	Java   = "java"
	Python = "python"
	Go     = "go"
	Node   = "node"
	DotNet = "dotnet"
	Ruby   = "ruby"
	PHP    = "php"
	Rust   = "rust"
)

// tree removes the margin in which Python draws exception groups ("  | ", "    | ") and returns its width.
func tree(line string) (string, int) {
	i := 0
	for i < len(line) && line[i] == ' ' {
		i++
	}
	if i < 2 || i+1 >= len(line) || line[i] != '|' || line[i+1] != ' ' {
		return line, 0
	}
	return line[i+2:], i + 2
}

func indentOf(s string) int {
	i := 0
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	return i
}

// atFrame recognises "at …" of Java, Node and .NET (also in a Chinese .NET: "在 …"). It tells which by the look of
// the place.
func atFrame(t string) (string, bool) {
	rest, ok := strings.CutPrefix(t, "at ")
	if !ok {
		if rest, ok = strings.CutPrefix(t, "在 "); ok && strings.Contains(rest, "(") {
			return DotNet, true
		}
		return "", false
	}
	rest = strings.TrimRight(rest, " \r")
	open := strings.IndexByte(rest, '(')
	if open < 0 {
		if numbersAtEnd(rest) > 0 && !strings.Contains(strings.TrimPrefix(rest, "async "), " ") || rest == "<anonymous>" || rest == "native" {
			return Node, true
		}
		return "", false
	}
	name := strings.TrimRight(rest[:open], " ")
	shut := strings.IndexByte(rest[open:], ')')
	if name == "" || shut < 0 {
		return "", false
	}
	inner := rest[open+1 : open+shut]
	place := inner == "native" || inner == "<anonymous>" || strings.HasPrefix(inner, "index ") || strings.HasPrefix(inner, "eval at ") || numbersAtEnd(inner) > 0
	if rest[open-1] == ' ' { // Node: "at f (file:1:2)"
		if !place {
			return "", false
		}
		return Node, true
	}
	if strings.Contains(name, " ") {
		return "", false
	}
	after := rest[open+shut+1:]
	switch {
	case strings.HasPrefix(after, " in "), strings.HasPrefix(inner, "Object "), strings.HasPrefix(inner, "String "):
		return DotNet, true
	case inner == "Native Method", inner == "Unknown Source", place && strings.Contains(inner, ".") && !strings.Contains(inner, " "),
		strings.HasSuffix(inner, ".java"), strings.HasSuffix(inner, ".kt"), inner == "<generated>":
		return Java, true
	case strings.Contains(name, "."):
		return DotNet, true
	}
	return DotNet, strings.HasPrefix(name, "lambda_method")
}

// numbersAtEnd counts the ":n" groups at the end of s, at most 2.
func numbersAtEnd(s string) int {
	n := 0
	for n < 2 {
		i := len(s)
		for i > 0 && s[i-1] >= '0' && s[i-1] <= '9' {
			i--
		}
		if i == len(s) || i == 0 || s[i-1] != ':' {
			return n
		}
		n++
		s = s[:i-1]
	}
	return n
}

func pythonFrame(t string) bool {
	rest, ok := strings.CutPrefix(t, `File "`)
	return ok && strings.Contains(rest, `", line `)
}

// rubyFrame recognises "from f.rb:1:in 'x'", its numbered form (newest last) and a bare "f.rb:1:in 'x'".
func rubyFrame(t string) (ok, reversed bool) {
	s := t
	if n := leadingNumber(s); n > 0 && strings.HasPrefix(s[n:], ": from ") {
		s, reversed = s[n+2:], true
	}
	if rest, from := strings.CutPrefix(s, "from "); from {
		return rubyPlace(rest) > 0, reversed
	}
	n := rubyPlace(s)
	// A header has the message behind the quoted name.
	return n > 0 && strings.HasPrefix(s[n:], ":in ") && (strings.HasSuffix(s, "'") || strings.HasSuffix(s, "`")), false
}

// rubyPlace is the length of "path:line" at the start of s, or 0. A path without .rb must be followed by ":in ".
func rubyPlace(s string) int {
	if i := strings.Index(s, ".rb:"); i >= 0 && !strings.ContainsAny(s[:i], " \t") {
		if n := leadingNumber(s[i+4:]); n > 0 {
			return i + 4 + n
		}
	}
	i := strings.Index(s, ":in ")
	if i <= 0 || strings.ContainsAny(s[:i], " \t") || numbersAtEnd(s[:i]) != 1 {
		return 0
	}
	return i
}

func leadingNumber(s string) int {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return i
}

// phpFrame recognises "#0 /x.php(1): f()".
func phpFrame(t string) bool {
	if len(t) < 4 || t[0] != '#' {
		return false
	}
	n := leadingNumber(t[1:])
	return n > 0 && strings.HasPrefix(t[1+n:], " ")
}

// xdebugFrame recognises "PHP   1. f() /x.php:1".
func xdebugFrame(line string) bool {
	rest, ok := strings.CutPrefix(line, "PHP ")
	if !ok {
		return false
	}
	rest = strings.TrimLeft(rest, " ")
	n := leadingNumber(rest)
	return n > 0 && strings.HasPrefix(rest[n:], ". ")
}

// rustFrame recognises "   3: name" of a backtrace.
func rustFrame(line string) bool {
	t := strings.TrimLeft(line, " ")
	n := leadingNumber(t)
	return n > 0 && n < 6 && len(t) < len(line) && strings.HasPrefix(t[n:], ": ")
}

// goFile recognises the second line of a Go frame, "\t/x.go:1 +0x2".
func goFile(line string) bool {
	if line == "" || line[0] != '\t' && line[0] != ' ' {
		return false
	}
	i := strings.LastIndex(line, ".go:")
	if i < 0 {
		if i = strings.LastIndex(line, ".s:"); i < 0 {
			return strings.HasPrefix(line, "\t_cgo_")
		}
		i--
	}
	n := leadingNumber(line[i+4:])
	rest := line[i+4+n:]
	return n > 0 && (rest == "" || strings.HasPrefix(rest, " +0x") || rest == "\r")
}

// goFunc recognises the first line of a Go frame: a qualified name and arguments, no blanks before them.
func goFunc(line string) bool {
	if line == "" || line[0] == ' ' || line[0] == '\t' || !strings.HasSuffix(strings.TrimSuffix(line, "\r"), ")") {
		return false
	}
	open := strings.IndexByte(line, '(')
	return open > 0 && !strings.ContainsAny(line[:open], " \t")
}

// goroutine recognises "goroutine 7 [running]:".
func goroutine(line string) bool {
	rest, ok := strings.CutPrefix(line, "goroutine ")
	if !ok {
		return false
	}
	n := leadingNumber(rest)
	return n > 0 && strings.Contains(rest[n:], " [") && strings.HasSuffix(strings.TrimRight(rest, "\r"), "]:")
}

// isMark recognises lines that count frames the runtime left out or repeats, and the marks of Trim itself. They are
// no frames and stay.
func isMark(t string) bool {
	if rest, ok := strings.CutPrefix(t, "..."); ok {
		rest = strings.TrimLeft(rest, " ")
		n := leadingNumber(rest)
		return n > 0 && rest[n:] != "" || rest == "additional frames elided..." || strings.HasPrefix(rest, "frame above x")
	}
	return strings.HasPrefix(t, "[Previous line repeated ")
}
