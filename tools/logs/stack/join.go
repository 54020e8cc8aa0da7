package stack

import (
	"bytes"
	"strings"
)

// Joiner tells which lines of a log continue the event above them. It looks at one line at a time and keeps no text.
// The zero value is at the start of a file.
type Joiner struct {
	open    bool // an event is under way
	frames  bool // it has had frames, or the beginning of a trace
	blank   bool // the last line was blank
	braces  bool // a line ended in an opening bracket
	context string
	await   bool // Python, Node: the line that names the exception is still to come
	next    bool // the next line belongs, whatever it is
	armor   int  // lines that an open PEM block may still have
	object  bool // the event is a JSON text that has not ended yet
}

// maxArmor is how many lines a PEM block may have: the longest private keys in use have about 100.
const maxArmor = 256

// Reset forgets the event under way, as at the start of a file.
func (j *Joiner) Reset() { *j = Joiner{} }

// Continues says whether line belongs to the event under way. If not, line begins the next event and has been noted as
// its first line, so no Reset is needed between events.
func (j *Joiner) Continues(line []byte) bool {
	line = bytes.TrimRight(line, "\r\n")
	// Only the beginning of a line decides, and its end: this bounds the work on one line.
	const look = 512
	var s, tail string
	if len(line) > look {
		s, tail = string(line[:look]), string(line[len(line)-16:])
	} else {
		s = string(line)
		tail = s
	}
	ok := j.open && j.continues(s)
	if !ok {
		*j = Joiner{open: true}
		j.object = s == "{" || s == "["
	}
	j.note(s, tail)
	j.wrap(s, line)
	return ok
}

// wrap notes what encloses the lines to come: a key must not be torn apart, or its lines would look like any other text.
func (j *Joiner) wrap(s string, line []byte) {
	switch begin := bytes.LastIndex(line, []byte("-----BEGIN ")); {
	case begin >= 0 && !bytes.Contains(line[begin:], []byte("-----END ")):
		j.armor = maxArmor
	case j.armor > 0:
		j.armor--
	}
	if s == "}" || s == "]" {
		j.object = false
	}
}

// armored tells a line of an open PEM block: base64, a header such as DEK-Info, a blank, the end. The end closes it.
func (j *Joiner) armored(s string) bool {
	if j.armor == 0 {
		return false
	}
	t := strings.TrimSpace(s)
	if strings.HasPrefix(t, "-----END ") {
		j.armor = 0
		return true
	}
	if t == "" || strings.HasPrefix(t, "Proc-Type: ") || strings.HasPrefix(t, "DEK-Info: ") || strings.HasPrefix(t, "Comment: ") || strings.HasPrefix(t, "Version: ") {
		return true
	}
	for i := range len(t) {
		if c := t[i]; c|0x20 < 'a' || c|0x20 > 'z' {
			if (c < '0' || c > '9') && c != '+' && c != '/' && c != '=' {
				j.armor = 0
				return false
			}
		}
	}
	return true
}

// flatJSON tells a line of a JSON text that is printed without indentation.
func flatJSON(s string) bool {
	switch s[0] {
	case '"', '{', '}', '[', ']', '-', 't', 'f', 'n':
		return true
	}
	return s[0] >= '0' && s[0] <= '9'
}

func (j *Joiner) continues(s string) bool {
	if j.next || j.armored(s) {
		return true
	}
	if j.object && s != "" && flatJSON(s) {
		return true
	}
	if strings.TrimSpace(s) == "" {
		return j.frames
	}
	if s[0] == ' ' || s[0] == '\t' {
		return true
	}
	switch {
	case s == "Traceback (most recent call last):":
		return !j.frames || j.context == Python || j.context == ""
	case strings.HasPrefix(s, "The above exception was the direct cause of"), strings.HasPrefix(s, "During handling of the above exception"),
		strings.HasPrefix(s, "Caused by:"), strings.HasPrefix(s, "Suppressed: "), strings.HasPrefix(s, "Wrapped by: "), strings.HasPrefix(s, "nested exception is:"),
		strings.HasPrefix(s, "--- End of "), strings.HasPrefix(s, "---> "),
		s == "Stack trace:", s == "[stacktrace]", s == "PHP Stack trace:", strings.EqualFold(s, "stack backtrace:"), isMark(s):
		return true
	case phpFrame(s), xdebugFrame(s):
		return j.context == PHP
	case strings.HasPrefix(s, "Next "), strings.HasPrefix(s, "thrown in "):
		return j.context == PHP
	case goroutine(s), strings.HasPrefix(s, "[signal "):
		return true
	case strings.HasPrefix(s, "note: "):
		return j.context == Rust
	case onlyClosing(s):
		return j.frames || j.braces
	}
	switch j.context {
	case Go:
		return goFunc(s) || strings.HasPrefix(s, "created by ") || strings.HasPrefix(s, "exit status ") || strings.HasPrefix(s, "...additional frames")
	case Python: // the line that names the exception follows the frames
		c, after := classToken(s)
		return j.await && !j.blank && c != "" && classEnds(after)
	case Node: // an uncaught error begins with its source line
		c, after := classToken(s)
		if j.await && c != "" && classEnds(after) || strings.HasPrefix(s, "Node.js v") {
			return true
		}
	case Ruby:
		if ok, _ := rubyFrame(s); ok || rubyClass(s) != "" {
			return true
		}
	}
	if rt, ok := atFrame(s); ok && rt == Java {
		return true
	}
	if ok, _ := rubyFrame(s); ok {
		return true
	}
	// The class below the log line that reports it; after frames it begins another event.
	if !j.frames && !j.blank {
		// "Error: x" alone is as likely a line of its own.
		if c, after := classToken(s); isClassName(c) && c != "Error" && c != "Warning" && classEnds(after) {
			return true
		}
		if strings.HasPrefix(s, "Exception in thread ") || strings.HasPrefix(s, "+ Exception Group") {
			return true
		}
	}
	return false
}

// note keeps what the line says about those to come.
func (j *Joiner) note(s, tail string) {
	t := strings.TrimLeft(s, " \t")
	j.next = false
	if t == "" {
		j.blank = true
		return
	}
	j.blank = false
	switch tail[len(tail)-1] {
	case '{', '[', '(':
		j.braces = true
	}
	set := func(rt string) { j.frames, j.context = true, rt }
	margin, _ := tree(s)
	m := strings.TrimLeft(margin, " \t")
	switch {
	case strings.HasSuffix(t, "Traceback (most recent call last):"), pythonFrame(m):
		set(Python)
		j.await = j.await || len(margin) == len(s) && !strings.HasPrefix(t, "+ ")
	case strings.HasPrefix(t, "panic: "), strings.HasPrefix(t, "fatal error: "), goroutine(s), strings.Contains(s, "http: panic serving "):
		set(Go)
	case strings.HasPrefix(t, "thread '") && strings.Contains(t, " panicked at "):
		set(Rust)
		j.next = strings.HasSuffix(tail, ":")
	case strings.EqualFold(t, "stack backtrace:"):
		set(Rust)
	case t == "Stack trace:", t == "[stacktrace]", t == "PHP Stack trace:", strings.HasPrefix(t, "PHP Fatal error: "), strings.HasPrefix(t, "Fatal error: Uncaught "):
		set(PHP)
	case rubyClass(t) != "":
		set(Ruby)
	case len(t) == len(s) && nodeSource(s):
		set(Node)
		j.await = true
	default:
		c, after := classToken(t)
		switch ok, _ := rubyFrame(t); {
		case ok:
			j.frame(Ruby)
		case len(t) == len(s) && c != "" && classEnds(after) && (j.await || isClassName(c)):
			j.await, j.frames = false, true
		default:
			if rt, ok := atFrame(t); ok {
				j.frame(rt)
			}
		}
	}
}

// frame notes a frame; what Rust prints below its own looks like one of Node.
func (j *Joiner) frame(rt string) {
	j.frames = true
	if j.context == "" {
		j.context = rt
	}
}

// nodeSource recognises "/srv/app/x.js:21", the first line of an uncaught error.
func nodeSource(s string) bool {
	return numbersAtEnd(s) == 1 && !strings.ContainsAny(s, " \t") &&
		(strings.Contains(s, ".js:") || strings.Contains(s, ".ts:") || strings.Contains(s, ".mjs:") || strings.Contains(s, ".cjs:") || strings.HasPrefix(s, "node:"))
}

// onlyClosing: "}", "  ]," and the like end what an earlier line opened.
func onlyClosing(s string) bool {
	for i := range len(s) {
		switch s[i] {
		case '}', ']', ')', ',', ';', '"', ' ':
		default:
			return false
		}
	}
	return true
}
