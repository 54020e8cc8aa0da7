package line

import "bytes"

// walkPairs calls fn with each key=value of a logfmt text until fn returns false. quoted values come without their quotes and still escaped.
func walkPairs(b []byte, fn func(key, value []byte, quoted bool) bool) {
	for at := 0; at < len(b); {
		for at < len(b) && (b[at] <= ' ' || b[at] == ',' || b[at] == ';') {
			at++
		}
		start := at
		for at < len(b) && isKeyByte(b[at]) {
			at++
		}
		if at == start || at >= len(b) || b[at] != '=' {
			for at < len(b) && b[at] > ' ' { // a word without =
				if b[at] == '"' {
					if end := stringEnd(b, at+1); end >= 0 {
						at = end
					}
				}
				at++
			}
			continue
		}
		key := b[start:at]
		at++
		if at < len(b) && b[at] == '"' {
			if end := stringEnd(b, at+1); end >= 0 {
				if !fn(key, b[at+1:end], true) {
					return
				}
				at = end + 1
				continue
			}
		}
		v := at
		for at < len(b) && b[at] > ' ' {
			at++
		}
		if !fn(key, bytes.TrimRight(b[v:at], ",;"), false) {
			return
		}
	}
}

func isKeyByte(c byte) bool { return isWord(c) || c == '.' || c == '-' || c == '@' || c == '/' }

func startsWithPair(b []byte) bool {
	i := 0
	for i < len(b) && isKeyByte(b[i]) {
		i++
	}
	return i > 0 && i < len(b) && b[i] == '='
}

// logfmt reads a line of key=value pairs. A line counts as one when it starts with a pair and names its message or, with its level or time, more.
func (p *Parser) logfmt(b []byte) bool {
	if !startsWithPair(b) {
		return false
	}
	roles, message := 0, false
	walkPairs(b, func(key, value []byte, quoted bool) bool {
		if len(p.ev.Fields) >= maxFields { // the line is searched as text as well
			return false
		}
		switch kind, rank := role(key); kind {
		case roleMessage:
			message = message || rank > 1
		case roleLevel, roleTime:
			roles++
		}
		if quoted && bytes.IndexByte(value, '\\') >= 0 {
			value = p.unescape(value)
		}
		p.ev.Fields = append(p.ev.Fields, Field{Key: key, Value: value})
		return true
	})
	if len(p.ev.Fields) < 2 || !message && roles < 2 {
		p.ev.Fields = p.ev.Fields[:0]
		return false
	}
	p.ev.Format = Logfmt
	p.roles()
	return true
}

// Pairs calls fn with each key=value that a text holds, unescaped values as written.
func Pairs(text []byte, fn func(key, value []byte) bool) {
	walkPairs(text, func(k, v []byte, _ bool) bool { return fn(k, v) })
}
