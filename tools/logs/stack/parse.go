package stack

import "strings"

// frame is one call of a trace: its line and what the runtime prints below it.
type frame struct {
	first, n int    // lines
	runtime  string //
	name     string // function, or "" where the runtime prints a path only
	path     string // file, or ""
	same     string // what makes two frames the same call: no arguments, no addresses
	newest   bool   // the newest call is printed last (Python, old Ruby)
}

type kind uint8

const (
	other   kind = iota // stays
	inFrame             // part of frames[at]
	mark                // counts frames; stays, and does not end a segment
)

type parsed struct {
	lines  []string
	kinds  []kind
	at     []int32 // index into frames for inFrame
	frames []frame
}

// parse classifies every line of text. A line is a frame only when its runtime prints it so and the lines around agree.
func parse(text string) *parsed {
	p := &parsed{lines: strings.Split(text, "\n")}
	p.kinds = make([]kind, len(p.lines))
	p.at = make([]int32, len(p.lines))
	backtrace := "" // runtime whose numbered frames are expected
	for i := 0; i < len(p.lines); i++ {
		line, margin := tree(p.lines[i])
		t := strings.TrimRight(strings.TrimLeft(line, " \t"), "\r")
		indent := indentOf(line)
		switch {
		case t == "":
			continue
		case isMark(t):
			p.kinds[i] = mark
			continue
		case backtrace == Rust && rustFrame(line):
			i += p.rust(i) - 1
			continue
		case backtrace == PHP && phpFrame(t):
			p.add(phpParse(t), i, 1)
			continue
		case xdebugFrame(p.lines[i]):
			p.add(frame{runtime: PHP, name: xdebugName(p.lines[i])}, i, 1)
			continue
		case strings.HasPrefix(line, "created by ") && i+1 < len(p.lines) && goFile(p.lines[i+1]):
			i++
			continue
		case margin == 0 && goFunc(line) && i+1 < len(p.lines) && goFile(p.lines[i+1]):
			p.add(goParse(t, p.lines[i+1]), i, 2)
			i++
			continue
		case pythonFrame(t):
			n := p.details(i, margin, indent)
			p.add(pythonParse(t), i, n)
			i += n - 1
			continue
		}
		if rt, ok := atFrame(t); ok && (indent > 0 || rt == Java) {
			p.add(atParse(t, rt), i, 1)
			continue
		}
		if ok, reversed := rubyFrame(t); ok {
			f := rubyParse(t)
			f.newest = reversed
			p.add(f, i, 1)
			continue
		}
		switch t {
		case "stack backtrace:", "Stack backtrace:":
			backtrace = Rust
		case "Stack trace:", "[stacktrace]", "PHP Stack trace:":
			backtrace = PHP
		default:
			backtrace = ""
		}
	}
	return p
}

func (p *parsed) add(f frame, first, n int) {
	f.first, f.n = first, n
	if f.same == "" {
		f.same = f.name + "\x00" + f.path
	}
	for j := first; j < first+n; j++ {
		p.kinds[j] = inFrame
		p.at[j] = int32(len(p.frames))
	}
	p.frames = append(p.frames, f)
}

// details counts the lines of a Python frame: source lines and ^^^^ markers stand deeper than the frame.
func (p *parsed) details(i, margin, indent int) int {
	n := 1
	for i+n < len(p.lines) {
		raw, m := tree(p.lines[i+n])
		t := strings.TrimLeft(raw, " \t")
		if m != margin || t == "" || indentOf(raw) <= indent || isMark(t) || pythonFrame(t) {
			break
		}
		n++
	}
	return n
}

// rust adds a numbered frame and its place, and returns how many lines they are.
func (p *parsed) rust(i int) int {
	t := strings.TrimLeft(p.lines[i], " ")
	name := strings.TrimSpace(t[leadingNumber(t)+2:])
	if strings.HasPrefix(name, "0x") { // "0x55d0 - name"
		if _, after, ok := strings.Cut(name, " - "); ok {
			name = after
		}
	}
	f := frame{runtime: Rust, name: name}
	n := 1
	if i+1 < len(p.lines) {
		if place, ok := strings.CutPrefix(strings.TrimSpace(p.lines[i+1]), "at "); ok && indentOf(p.lines[i+1]) > 0 {
			f.path = place
			n = 2
		}
	}
	p.add(f, i, n)
	return n
}

func phpParse(t string) frame {
	t = strings.TrimLeft(t[1+leadingNumber(t[1:]):], " ")
	f := frame{runtime: PHP, name: t}
	if place, call, ok := strings.Cut(t, ": "); ok {
		f.path, f.name = place, call
		if open := strings.IndexByte(place, '('); open > 0 && place[0] != '[' {
			f.path = place[:open]
		}
		f.same = place + "\x00" + beforeArgs(call)
	}
	return f
}

func xdebugName(line string) string {
	_, name, _ := strings.Cut(line, ". ")
	return name
}

// beforeArgs is a call without its arguments.
func beforeArgs(s string) string {
	if i := strings.IndexByte(s, '('); i > 0 {
		return s[:i]
	}
	return s
}

func goParse(call, place string) frame {
	f := frame{runtime: Go, name: call, path: strings.TrimSpace(place)}
	// The arguments are the last bracket; a receiver (*T) stands before.
	depth := 0
	for i := len(call) - 1; i > 0; i-- {
		if call[i] == ')' {
			depth++
		} else if call[i] == '(' {
			if depth--; depth == 0 {
				f.name = call[:i+1]
				break
			}
		}
	}
	if i := strings.Index(f.path, " +0x"); i > 0 {
		f.path = f.path[:i]
	}
	return f
}

func pythonParse(t string) frame {
	f := frame{runtime: Python, newest: true, same: t}
	rest := t[len(`File "`):]
	f.path, rest, _ = strings.Cut(rest, `", line `)
	if _, in, ok := strings.Cut(rest, ", in "); ok {
		f.name = in
	}
	return f
}

func rubyParse(t string) frame {
	if n := leadingNumber(t); n > 0 {
		t = t[n+2:]
	}
	t = strings.TrimPrefix(t, "from ")
	f := frame{runtime: Ruby, path: t, same: t}
	if place, in, ok := strings.Cut(t, ":in "); ok {
		f.path, f.name = place, strings.Trim(in, "`'")
	}
	return f
}

func atParse(t, rt string) frame {
	f := frame{runtime: rt, same: t}
	_, rest, _ := strings.Cut(t, " ")
	rest = strings.TrimPrefix(rest, "async ")
	name, place, ok := strings.Cut(rest, "(")
	if !ok {
		f.path = rest
		return f
	}
	f.name = strings.TrimSpace(name)
	switch rt {
	case Node:
		f.path = strings.TrimPrefix(strings.TrimSuffix(place, ")"), "file://")
		f.name = strings.TrimPrefix(f.name, "new ")
	case DotNet:
		if _, in, ok := strings.Cut(place, " in "); ok {
			f.path = in
		}
	case Java:
		// "app//com.acme.A.f", "java.base/java.lang.Thread.run": the class follows the module.
		// A lambda has a slash as well, behind its "$$".
		class, _, _ := strings.Cut(f.name, "$")
		if i := strings.LastIndexByte(class, '/'); i >= 0 {
			f.name = f.name[i+1:]
		}
	}
	return f
}
