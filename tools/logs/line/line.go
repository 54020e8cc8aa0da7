// Package line reads one log event: which format it has, when it happened, how severe it is, which service wrote it, what it says. It knows JSON, logfmt, CRI and
// docker wrappers, syslog and the common text layouts, each by the line's own shape, so that a mixed file is read line by line. Parse is pure and never fails: a
// line it cannot take apart is its own message. A level is read only where a format keeps it: `"level":"` inside a message is part of the message.
//
// Nothing here redacts: callers redact every part before they match, group or show it.
package line

import (
	"bytes"
)

// Format is the shape of a line.
type Format uint8

// The formats.
const (
	Text Format = iota
	JSON
	Logfmt
	Syslog
	Access
)

// Field is a named value of a structured line. Names of nested values are joined with dots.
type Field struct {
	Key, Value []byte
	Used       bool // Message, Level, Service, Stack or the time were read from it
}

// Event is a line taken apart. Its parts point into the text that was parsed or into the Parser and are valid until the next Parse.
type Event struct {
	Format  Format
	Text    []byte // the event without wrapper and colours, continuation lines included
	Level   Level
	Service []byte
	Message []byte  // the message, with continuation lines
	Stack   []byte  // a stack trace that the line keeps in a field of its own
	Fields  []Field // all fields, also those that the parts above were read from; the last one holds what is beyond 256
}

// Parser takes events apart. The zero value is ready; not safe for concurrent use.
type Parser struct {
	buf  []byte
	more []byte // fields beyond maxFields, as text
	ev   Event
}

// Parse takes the event at text apart: its first line and, behind it, continuation lines that belong to the message.
func (p *Parser) Parse(text []byte) *Event {
	p.buf, p.more = p.buf[:0], p.more[:0]
	p.ev = Event{Fields: p.ev.Fields[:0]}
	text = bytes.TrimPrefix(bytes.TrimRight(text, "\r\n"), []byte("\xef\xbb\xbf"))
	if bytes.IndexByte(text, 0x1b) >= 0 {
		text = p.plain(text)
	}
	p.parse(text, 0)
	return &p.ev
}

func (p *Parser) parse(text []byte, depth int) {
	first, rest := text, []byte(nil)
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		first, rest = bytes.TrimRight(text[:i], "\r"), text[i:]
	}
	if depth < 2 {
		if w, ok := Unwrap(first); ok {
			inner := w.Inner
			if w.Escaped {
				inner = p.unescape(inner)
			}
			inner = bytes.TrimRight(inner, "\r\n")
			if len(rest) > 0 {
				inner = p.concat(inner, rest)
			}
			p.parse(inner, depth+1)
			return
		}
	}
	p.ev.Text = text
	if len(first) > 1 && first[0] == '{' {
		n := p.object(first, nil, 0)
		if n == 0 {
			p.ev.Fields, p.more = p.ev.Fields[:0], p.more[:0]
			n = p.broken(first)
		}
		if n > 0 {
			p.ev.Format = JSON
			p.roles()
			if len(p.more) > 0 {
				p.ev.Fields = append(p.ev.Fields, Field{Key: []byte("more"), Value: bytes.TrimSpace(p.more)})
			}
			p.tail(first[n:])
			p.tail(rest)
			return
		}
		p.ev.Fields, p.more = p.ev.Fields[:0], p.more[:0]
	}
	if p.logfmt(first) {
		p.tail(rest)
		return
	}
	p.text(first)
	p.tail(rest)
}

// tail adds continuation lines to the message.
func (p *Parser) tail(rest []byte) {
	if len(bytes.TrimSpace(rest)) == 0 {
		return
	}
	p.ev.Message = p.concat(p.ev.Message, rest)
}

// concat joins two parts; parts that follow each other in one text are joined without a copy.
func (p *Parser) concat(a, b []byte) []byte {
	if len(a) == 0 {
		return b
	}
	start := len(p.buf)
	p.buf = append(p.buf, a...)
	if b[0] != '\n' {
		p.buf = append(p.buf, ' ')
	}
	p.buf = append(p.buf, b...)
	return p.buf[start:len(p.buf):len(p.buf)]
}

// roles finds level, service, message and stack among the fields and marks them; times too, they are read by Clock.
func (p *Parser) roles() {
	var best [roleStack + 1]struct{ at, rank int }
	for i := range p.ev.Fields {
		f := &p.ev.Fields[i]
		kind, rank := role(f.Key)
		if dot := bytes.IndexByte(f.Key, '.'); kind == roleNone && dot > 0 { // {"t":{"$date":…}}
			if outer, _ := role(f.Key[:dot]); outer == roleTime {
				f.Used = true
			}
		}
		switch kind {
		case roleNone:
			continue
		case roleLevel:
			if levelOf(f.Key, f.Value) == None {
				continue
			}
		case roleStack:
			if bytes.IndexByte(f.Value, '\n') < 0 {
				continue
			}
		}
		if rank > best[kind].rank {
			best[kind] = struct{ at, rank int }{i, rank}
		}
	}
	take := func(kind int) (Field, bool) {
		if best[kind].rank == 0 {
			return Field{}, false
		}
		return p.ev.Fields[best[kind].at], true
	}
	if f, ok := take(roleLevel); ok {
		p.ev.Level = levelOf(f.Key, f.Value)
	}
	if f, ok := take(roleService); ok {
		p.ev.Service = f.Value
	}
	if f, ok := take(roleMessage); ok {
		p.ev.Message = f.Value
	}
	if f, ok := take(roleStack); ok {
		p.ev.Stack = f.Value
	}
	for _, b := range best {
		if b.rank > 0 {
			p.ev.Fields[b.at].Used = true
		}
	}
}

func levelOf(key, value []byte) Level {
	if len(value) == 0 {
		return None
	}
	if isDigit(value[0]) {
		switch string(key) {
		case "SeverityNumber", "severityNumber", "severity_number":
			return otelLevel(value)
		}
		return numericLevel(value)
	}
	return ParseLevel(value, len(key) == 1 || string(key) == "level" || string(key) == "lvl" || string(key) == "级别")
}

// Wrapped is a line of a container's log, out of its wrapper.
type Wrapped struct {
	Inner   []byte
	Time    []byte // of the wrapper, as written
	Escaped bool   // Inner is still escaped as JSON: docker
	Stderr  bool
	Partial bool // the next line of the same stream goes on within the same line of the program
}

// dockerPart is from what length a docker line that ends without a line end is a part: docker cuts lines at 16 KiB, and other writers of its format leave line
// ends out altogether. Bytes that are cut within a rune become longer when they are written as JSON, escapes too.
const dockerPart = 16000

// Unwrap takes a CRI or docker line apart.
func Unwrap(b []byte) (w Wrapped, ok bool) {
	if len(b) < 30 {
		return w, false
	}
	if b[0] == '{' {
		return unwrapDocker(b)
	}
	if !isDigit(b[0]) || b[4] != '-' {
		return w, false
	}
	sp := bytes.IndexByte(b, ' ')
	if sp < 20 || sp > 40 || len(b) < sp+10 {
		return w, false
	}
	rest := b[sp+1:]
	if !bytes.HasPrefix(rest, []byte("stdout ")) && !bytes.HasPrefix(rest, []byte("stderr ")) {
		return w, false
	}
	w.Time, w.Stderr, rest = b[:sp], rest[3] == 'e', rest[7:]
	if len(rest) < 2 || (rest[0] != 'F' && rest[0] != 'P') || (rest[1] != ' ' && rest[1] != ':') {
		return w, false
	}
	w.Partial = rest[0] == 'P'
	i := bytes.IndexByte(rest, ' ')
	if i < 0 {
		return w, false
	}
	w.Inner = rest[i+1:]
	return w, true
}

func unwrapDocker(b []byte) (w Wrapped, ok bool) {
	members, known := 0, 0
	n := walkTop(b, func(key, value []byte, kind byte) bool {
		members++
		switch string(key) {
		case "log":
			w.Inner = value
			known++
			return kind == '"'
		case "stream":
			w.Stderr = string(value) == "stderr"
			known++
			return kind == '"'
		case "time":
			w.Time = value
			known++
			return kind == '"'
		case "attrs":
			known++
		}
		return members == known && members <= 4
	})
	if n == 0 || known < 3 || w.Inner == nil {
		return w, false
	}
	w.Partial = len(w.Inner) >= dockerPart && !bytes.HasSuffix(w.Inner, []byte(`\n`))
	w.Escaped = bytes.IndexByte(w.Inner, '\\') >= 0
	return w, true
}

// Unescape appends s to dst with the escapes of a JSON string decoded.
func Unescape(dst, s []byte) []byte {
	p := Parser{buf: dst}
	p.unescape(s)
	return p.buf
}

// plain removes colour sequences: terminals' loggers put them around levels and keys.
func (p *Parser) plain(s []byte) []byte {
	start := len(p.buf)
	for i := 0; i < len(s); i++ {
		if s[i] != 0x1b || i+1 >= len(s) || s[i+1] != '[' {
			p.buf = append(p.buf, s[i])
			continue
		}
		j := i + 2
		for j < len(s) && j < i+24 && (isDigit(s[j]) || s[j] == ';') {
			j++
		}
		if j < len(s) && isLetter(s[j]) {
			i = j
			continue
		}
		p.buf = append(p.buf, s[i])
	}
	return p.buf[start:len(p.buf):len(p.buf)]
}

// IsLevelKey tells whether a field of this name holds a severity.
func IsLevelKey(key string) bool { kind, _ := role([]byte(key)); return kind == roleLevel }

// IsTimeKey tells whether a field of this name holds a time.
func IsTimeKey(key string) bool { return timeRank([]byte(key)) > 0 }

// IsServiceKey tells whether a field of this name may hold the service.
func IsServiceKey(key string) bool { kind, _ := role([]byte(key)); return kind == roleService }
