package redact

import "bytes"

// opening reads the quote at b[i], with the backslashes and the literal prefix (b'…', u"…") before it.
func opening(b []byte, i int) (quote, int) {
	j := i
	if c := at(b, j); (isLetter(c) || c == '@' || c == '$') && (at(b, j+1) == '"' || at(b, j+1) == '\'') && c < 0x80 {
		switch lower(c) {
		case 'b', 'u', 'r', 'f', 'n', 'e', '@', '$':
			j++
		}
	}
	k := j
	for k < len(b) && k-j < 16 && b[k] == '\\' {
		k++
	}
	if c := at(b, k); isQuote(c) {
		return quote{c, k - j}, k + 1
	}
	return quote{}, i
}

// wideQuotes are pairs of quotes beyond ASCII.
var wideQuotes = [...][2]string{{"“", "”"}, {"‘", "’"}, {"「", "」"}, {"『", "』"}, {"【", "】"}, {"《", "》"}, {"〈", "〉"}, {"〔", "〕"}, {"«", "»"}, {"‹", "›"}, {"„", "“"}}

// wideQuoted is the content of the text in such quotes at b[i] and the index behind it; from is end when there is none on the line.
func wideQuoted(b []byte, i int) (from, end, next int) {
	if at(b, i) < 0x80 {
		return i, i, i
	}
	for _, q := range wideQuotes {
		if !has(b, i, q[0]) {
			continue
		}
		from = i + len(q[0])
		in := b[from:min(len(b), from+512)]
		n := bytes.Index(in, []byte(q[1]))
		if n < 0 || bytes.IndexByte(in[:n], '\n') >= 0 {
			continue
		}
		return from, from + n, from + n + len(q[1])
	}
	return i, i, i
}

// escapedNUL is the length of the rest of an escaped NUL behind its backslashes: x00, u0000, 0.
func escapedNUL(b []byte, i int) int {
	for _, e := range [...]string{"x00", "u0000", "0"} {
		if has(b, i, e) {
			return len(e)
		}
	}
	return 0
}

// closing finds the end of the quoted text that begins at b[i]: the end of its content and the index after the quote; ok is false when it does not end.
// A quote behind n backslashes ends at the same quote behind n, or behind fewer, which end the text around it.
func (w *scanner) closing(b []byte, i int, q quote) (end, next int, ok bool) {
	defer func() { w.steps += max(next-i, 0) }()
	for p := min(i, len(b)); ; {
		j := bytes.IndexByte(b[p:], q.c)
		if j < 0 {
			return len(b), len(b), false
		}
		j += p
		m := 0
		for j-m > i && b[j-m-1] == '\\' {
			m++
		}
		p = j + 1
		over := m - q.n
		switch {
		case over < 0:
			return j - m, j - m, true
		case over%(q.n+1) != 0 || over/(q.n+1)%2 != 0:
			continue // escaped inside
		case q.c == '\'' && q.n == 0 && at(b, j+1) == '\'' && j > i:
			p++ // doubled, as in SQL
			continue
		}
		if isAlnum(at(b, j+1)) { // an apostrophe, or a quote that somebody forgot to escape: what follows belongs to the value
			continue
		}
		return j - q.n, j + 1, true
	}
}

// balanced finds the end of the bracketed text whose opening bracket is b[i]; quotes are respected.
func (w *scanner) balanced(b []byte, i int) (end int, ok bool) {
	defer func() { w.steps += end - i }()
	depth := 0
	for j := i; j < len(b); j++ {
		switch c := b[j]; c {
		case '{', '[', '(':
			depth++
		case '}', ']', ')':
			if depth--; depth == 0 {
				return j, true
			}
		case '"':
			m := 0
			for m < 16 && j-m > i && b[j-m-1] == '\\' {
				m++
			}
			if _, next, ok := w.closing(b, j+1, quote{'"', m}); ok {
				j = next - 1
			}
		}
	}
	return len(b), false
}

// unquoted finds the end of a bare value. Only what clearly begins something else ends it: a password may hold any punctuation.
func (w *scanner) unquoted(b []byte, i int, stopWide bool) (end int) {
	defer func() { w.steps += max(end-i, 0) }()
	depth, angle := 0, false
	for j := i; j < len(b); j++ {
		c := b[j]
		if class[c]&cIdent != 0 {
			continue
		}
		switch c {
		case ' ', '\t', '\n', '\r':
			return j
		case '<':
			if _, n := tagAt(b, j); n > 0 {
				j += n - 1
			} else if at(b, j+1) == '/' && j > i {
				return j
			} else if j == i {
				angle = true
			}
		case '"', '\'', '`':
			if j > i && depth == 0 && !isAlnum(at(b, j+1)) {
				return j
			}
		case 0: // an environment, as the system gives it
			if keyAhead(b, j+1, false) {
				return j
			}
		case '\\':
			k := j
			for k < len(b) && b[k] == '\\' {
				k++
			}
			if nul := escapedNUL(b, k); nul > 0 && keyAhead(b, k+nul, false) {
				return j
			}
			if n := at(b, k); (n == '"' || n == '\'') && !isAlnum(at(b, k+1)) {
				return j
			} else if n == 'n' || n == 'r' || n == 't' {
				if e := k + 1; e >= len(b) || isSpace(b[e]) || b[e] == '\\' || isQuote(b[e]) || keyAhead(b, e, false) {
					return j
				}
			} else if has(b, k, "u0026") && keyAhead(b, k+5, false) {
				return j
			}
			j = k - 1
		case '&':
			if keyAhead(b, j+1, false) || has(b, j, "&amp;") && keyAhead(b, j+5, false) {
				return j
			}
		case ';':
			if n := at(b, j+1); j+1 >= len(b) || isSpace(n) || isQuote(n) || n == '\\' || n >= 0x80 || keyAhead(b, j+1, true) {
				return j
			}
		case ',':
			if n := at(b, j+1); j+1 >= len(b) || isSpace(n) || isQuote(n) || n == '{' || n == '\\' || n >= 0x80 || keyAhead(b, j+1, false) {
				return j
			}
		case '|':
			if keyAhead(b, j+1, false) {
				return j
			}
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth > 0 {
				depth--
			} else if n := at(b, j+1); j+1 >= len(b) || isSpace(n) || isQuote(n) || n >= 0x80 || bytes.IndexByte([]byte(",;.)]}&|:\\<"), n) >= 0 {
				return j
			}
		case '>':
			if angle {
				angle = false
			} else if n := at(b, j+1); j+1 >= len(b) || isSpace(n) || n == '<' {
				return j
			}
		default:
			if c >= 0x80 && (stopWide || has(b, j, "。") || has(b, j, "、") || has(b, j, "，") || has(b, j, "；") || has(b, j, "　")) {
				return j
			}
		}
	}
	return len(b)
}

// keyAhead tells whether b[i:] begins with key= (or key: ); loose keys may hold blanks, as in ";Integrated Security=true".
func keyAhead(b []byte, i int, loose bool) bool {
	j := i
	for j < len(b) && j-i < 48 && (isIdent(b[j]) || loose && b[j] == ' ' || b[j] == '[' || b[j] == ']') {
		j++
	}
	if j == i || !isLetter(b[i]) && b[i] != '_' {
		return false
	}
	return at(b, j) == '=' || at(b, j) == ':' || at(b, j) == '%' && has(b, j, "%3D")
}

// lineEnd is the index of the line end at or after i, or len(b).
func (w *scanner) lineEnd(b []byte, i int) int {
	n := bytes.IndexByte(b[min(i, len(b)):], '\n')
	if n < 0 {
		n = len(b) - min(i, len(b))
	}
	w.steps += n
	return min(i, len(b)) + n
}
