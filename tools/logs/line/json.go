package line

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

func parseFloat(b []byte, f *float64) bool {
	v, err := strconv.ParseFloat(string(b), 64)
	*f = v
	return err == nil
}

// walkTop calls fn with each member of the object at the start of b: the key and a string's value without their quotes and still escaped, everything else as
// written. kind is the value's first byte, '0' for numbers. It tells the length of the object, or 0 when b holds no well-formed one or fn returned false.
func walkTop(b []byte, fn func(key, value []byte, kind byte) bool) int {
	at := skipSpace(b, 1)
	if at < len(b) && b[at] == '}' {
		return at + 1
	}
	for {
		if at >= len(b) || b[at] != '"' {
			return 0
		}
		end := stringEnd(b, at+1)
		if end < 0 {
			return 0
		}
		key := b[at+1 : end]
		at = skipSpace(b, end+1)
		if at >= len(b) || b[at] != ':' {
			return 0
		}
		at = skipSpace(b, at+1)
		next := valueEnd(b, at)
		if next < 0 {
			return 0
		}
		value, kind := b[at:next], b[at]
		switch {
		case kind == '"':
			value = b[at+1 : next-1]
		case kind == '-' || isDigit(kind):
			kind = '0'
		}
		if !fn(key, value, kind) {
			return 0
		}
		at = skipSpace(b, next)
		if at >= len(b) {
			return 0
		}
		if b[at] == '}' {
			return at + 1
		}
		if b[at] != ',' {
			return 0
		}
		at = skipSpace(b, at+1)
	}
}

func skipSpace(b []byte, at int) int {
	for at < len(b) && (b[at] == ' ' || b[at] == '\t' || b[at] == '\n' || b[at] == '\r') {
		at++
	}
	return at
}

// stringEnd is the offset of the quote that ends the string whose content starts at at, or -1.
func stringEnd(b []byte, at int) int {
	start := at
	for {
		i := bytes.IndexByte(b[at:], '"')
		if i < 0 {
			return -1
		}
		at += i
		n := at
		for n > start && b[n-1] == '\\' {
			n--
		}
		if (at-n)%2 == 0 {
			return at
		}
		at++
	}
}

// valueEnd is the offset behind the value at at, or -1.
func valueEnd(b []byte, at int) int {
	if at >= len(b) {
		return -1
	}
	switch b[at] {
	case '"':
		if end := stringEnd(b, at+1); end >= 0 {
			return end + 1
		}
		return -1
	case '{', '[':
		depth := 0
		for at < len(b) {
			switch b[at] {
			case '"':
				end := stringEnd(b, at+1)
				if end < 0 {
					return -1
				}
				at = end
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return at + 1
				}
			}
			at++
		}
		return -1
	}
	start := at
	for at < len(b) && b[at] != ',' && b[at] != '}' && b[at] != ']' && b[at] > ' ' {
		at++
	}
	if at == start {
		return -1
	}
	return at
}

// Bounds of flattening: a log line with more is a dump. What is beyond stays one text, so that nothing of a line is lost to a search.
const (
	maxFields = 256
	maxNest   = 6
)

// object flattens the members of the object at the start of b into the event's fields, keys joined with dots, and tells the object's length.
func (p *Parser) object(b, prefix []byte, depth int) int {
	return walkTop(b, func(key, value []byte, kind byte) bool {
		if bytes.IndexByte(key, '\\') >= 0 {
			key = p.unescape(key)
		}
		if len(prefix) > 0 {
			key = p.join(prefix, key)
		}
		p.value(key, value, kind, depth)
		return true
	})
}

// broken reads what is whole of an object that does not end: a line that was cut, or that a writer did not finish. It tells how much of b it read, 0 when what
// stands there tells too little to be an event. A text value that does not end reaches to the end of the line.
func (p *Parser) broken(b []byte) int {
	known, read := 0, 0
	at := skipSpace(b, 1)
	for at < len(b) && b[at] == '"' {
		end := stringEnd(b, at+1)
		if end < 0 {
			break
		}
		key := b[at+1 : end]
		v := skipSpace(b, end+1)
		if v >= len(b) || b[v] != ':' {
			break
		}
		if v = skipSpace(b, v+1); v >= len(b) {
			break
		}
		if bytes.IndexByte(key, '\\') >= 0 {
			key = p.unescape(key)
		}
		if kind, _ := role(key); kind != roleNone {
			known++
		}
		next, value, kind := valueEnd(b, v), []byte(nil), b[v]
		switch {
		case next < 0 && kind != '"':
			next = 0 // the rest is kept as it is
		case next < 0:
			next, value = len(b), b[v+1:]
		case kind == '"':
			value = b[v+1 : next-1]
		default:
			value = b[v:next]
		}
		if next == 0 {
			break
		}
		p.value(key, value, kind, 0)
		read = next
		if at = skipSpace(b, next); at >= len(b) || b[at] != ',' {
			break
		}
		read = at + 1
		at = skipSpace(b, read)
	}
	if known == 0 {
		return 0
	}
	return read
}

// value appends a member: objects and lists are taken apart so that every text in them is unescaped and redacted under its own key.
func (p *Parser) value(key, value []byte, kind byte, depth int) {
	full := len(p.ev.Fields) >= maxFields
	switch {
	case kind == '"':
		if bytes.IndexByte(value, '\\') >= 0 {
			value = p.unescape(value)
		}
	case kind == '{' && depth < maxNest && !full:
		from := len(p.ev.Fields)
		p.object(value, key, depth+1)
		p.namedValue(from, len(key))
		return
	case kind == '[' && depth < maxNest && !full:
		p.list(key, value, depth+1)
		return
	case kind == 'n':
		return
	}
	if full { // one more field holds them all
		p.more = append(append(append(append(p.more, ' '), key...), '='), value...)
		return
	}
	p.ev.Fields = append(p.ev.Fields, Field{Key: key, Value: value})
}

// namedValue gives the value of {"name":"password","value":"x"} the name as its key, so that it is redacted under it.
func (p *Parser) namedValue(from, prefix int) {
	fs := p.ev.Fields[from:]
	if len(fs) < 2 || len(fs) > 4 {
		return
	}
	name, value := -1, -1
	for i, f := range fs {
		k := f.Key
		if prefix > 0 && len(k) > prefix {
			k = k[prefix+1:]
		}
		switch string(bytes.ToLower(k)) {
		case "name", "key", "k", "header", "field", "param":
			name = i
		case "value", "v", "val", "content", "stringvalue", "value.stringvalue":
			value = i
		}
	}
	if name >= 0 && value >= 0 && len(fs[name].Value) > 0 && len(fs[name].Value) <= 64 {
		fs[value].Key = fs[name].Value
	}
}

func (p *Parser) list(key, b []byte, depth int) {
	switch n, flags := listShape(b); {
	case n == 2 && depth > 1: // [["Authorization","x"],…]: the first names the second
		name, rest := element(b, 1)
		value, _ := element(b, rest)
		if bytes.IndexByte(name, '\\') >= 0 {
			name = p.unescape(name)
		}
		if isName(name) {
			p.value(p.join(key, name), value, '"', depth)
			return
		}
	case n > 0 && flags: // a command line: what stands behind a flag is read with it
		start := len(p.buf)
		for at := 1; ; {
			value, rest := element(b, at)
			if value == nil {
				break
			}
			if at > 1 {
				p.buf = append(p.buf, ' ')
			}
			if bytes.IndexByte(value, '\\') >= 0 {
				p.unescape(value)
			} else {
				p.buf = append(p.buf, value...)
			}
			at = rest
		}
		p.value(key, p.buf[start:len(p.buf):len(p.buf)], 0, depth)
		return
	}
	at := skipSpace(b, 1)
	for at < len(b) && b[at] != ']' {
		end := valueEnd(b, at)
		if end < 0 {
			return
		}
		value, kind := b[at:end], b[at]
		if kind == '"' {
			value = b[at+1 : end-1]
		}
		p.value(key, value, kind, depth)
		at = skipSpace(b, end)
		if at < len(b) && b[at] == ',' {
			at = skipSpace(b, at+1)
		}
	}
}

// listShape counts the elements of a list of texts and tells whether one of them is a flag such as -p or --token; n is 0 when something else is among them.
func listShape(b []byte) (n int, flags bool) {
	at := 1
	for {
		value, rest := element(b, at)
		if value == nil {
			if at = skipSpace(b, at); at >= len(b) || b[at] != ']' {
				return 0, false
			}
			return n, flags
		}
		flags = flags || len(value) > 1 && value[0] == '-' && (value[1] == '-' || isLetter(value[1]))
		n++
		at = rest
	}
}

// element is the text at or behind at in a list, still escaped, and where the next one may begin; nil when there is none.
func element(b []byte, at int) ([]byte, int) {
	at = skipSpace(b, at)
	if at >= len(b) || b[at] != '"' {
		return nil, at
	}
	end := stringEnd(b, at+1)
	if end < 0 {
		return nil, at
	}
	next := skipSpace(b, end+1)
	if next < len(b) && b[next] == ',' {
		next++
	}
	return b[at+1 : end : end], next
}

// isName tells a name from a text: letters, digits and what joins them.
func isName(b []byte) bool {
	if len(b) == 0 || len(b) > 64 || !isLetter(b[0]) {
		return false
	}
	for _, c := range b {
		if !isWord(c) && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

func (p *Parser) join(a, b []byte) []byte {
	start := len(p.buf)
	p.buf = append(append(append(p.buf, a...), '.'), b...)
	return p.buf[start:len(p.buf):len(p.buf)]
}

// unescape decodes the escapes of a JSON string into the parser's buffer. Broken escapes stay as they are.
func (p *Parser) unescape(s []byte) []byte {
	start := len(p.buf)
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			j := bytes.IndexByte(s[i+1:], '\\')
			if j < 0 {
				j = len(s) - i - 1
			}
			p.buf = append(p.buf, s[i:i+1+j]...)
			i += j
			continue
		}
		i++
		switch s[i] {
		case 'n':
			p.buf = append(p.buf, '\n')
		case 't':
			p.buf = append(p.buf, '\t')
		case 'r':
			p.buf = append(p.buf, '\r')
		case 'b':
			p.buf = append(p.buf, '\b')
		case 'f':
			p.buf = append(p.buf, '\f')
		case 'u':
			r, n := hexRune(s[i+1:])
			if n == 0 {
				p.buf = append(p.buf, '\\', 'u')
				continue
			}
			i += n
			if utf16.IsSurrogate(r) {
				r2, n2 := rune(0), 0
				if i+2 < len(s) && s[i+1] == '\\' && s[i+2] == 'u' {
					r2, n2 = hexRune(s[i+3:])
				}
				if r = utf16.DecodeRune(r, r2); r != utf8.RuneError {
					i += 2 + n2
				}
			}
			p.buf = utf8.AppendRune(p.buf, r)
		default:
			p.buf = append(p.buf, s[i])
		}
	}
	return p.buf[start:len(p.buf):len(p.buf)]
}

func hexRune(s []byte) (rune, int) {
	if len(s) < 4 {
		return 0, 0
	}
	var r rune
	for _, c := range s[:4] {
		c |= 0x20
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		default:
			return 0, 0
		}
	}
	return r, 4
}

// QuickLevel reads the level of a JSON line without taking all of it apart. ok is false when only Parse can tell.
func QuickLevel(b []byte) (l Level, ok bool) {
	if len(b) == 0 || b[0] != '{' {
		return None, false
	}
	unsure := false
	walkTop(b, func(key, value []byte, kind byte) bool {
		if string(key) == "log" || bytes.IndexByte(key, '\\') >= 0 { // a wrapper, or a key in disguise
			unsure = true
			return false
		}
		if k, rank := role(key); k == roleLevel && rank == rankSure && (kind == '"' || kind == '0') {
			if unsure = bytes.IndexByte(value, '\\') >= 0; !unsure {
				l = levelOf(key, value)
			}
		}
		return l == None && !unsure
	})
	return l, l != None && !unsure
}
