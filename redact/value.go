package redact

import "bytes"

// delimiter says how a key is bound to its value.
type delimiter uint8

const (
	noDelimiter delimiter = iota
	equals                // = => := ->
	colon                 // : with or without blanks
	tuple                 // ('password', 'x')
	element               // <password>x</password>
)

// closers moves past what may stand between an identifier and its delimiter: escaped quotes, brackets, emphasis.
func closers(b []byte, i int) int {
	for n := 0; n < 24 && i < len(b); n++ {
		switch c := b[i]; {
		case c == '\\' && (b[i-1] == '\\' || isQuote(at(b, i+1)) || at(b, i+1) == '\\'), isQuote(c), c == ']':
			i++
		case c == '*' && (at(b, i+1) == '*' || b[i-1] == '*' || isBlank(at(b, i+1)) || at(b, i+1) == ':'):
			i++
		case c == '[' && isDigit(at(b, i+1)): // passwords[0]
			for j := i + 1; ; j++ {
				if !isDigit(at(b, j)) || j-i > 6 {
					if at(b, j) != ']' {
						return i
					}
					i = j
					break
				}
			}
		default:
			return i
		}
	}
	return i
}

// delim finds the delimiter after the identifier b[l:r] and the place where the value begins.
func (w *scanner) delim(l, r int) (int, delimiter) {
	b := w.b
	p := closers(b, r)
	quoted := p > r
	if at(b, p) == '<' && at(b, p+1) == '/' { // <b>password</b>: x
		if n := bytes.IndexByte(b[p:min(len(b), p+12)], '>'); n > 0 {
			p = closers(b, p+n+1)
		}
	}
	q := skipBlank(b, p)
	switch at(b, q) {
	case '=':
		q++
		for n := 0; n < 2 && (at(b, q) == '=' || at(b, q) == '>' || at(b, q) == '~'); n++ {
			q++
		}
		return w.valueStart(q, equals)
	case ':':
		if at(b, q+1) == ':' { // a scope: Token::parse, but LDIF's userPassword:: base64
			if v := skipBlank(b, q+2); v > q+2 && q == r {
				if e := w.unquoted(b[:min(len(b), v+maxIdent)], v, false); e-v >= 8 && allB64(b[v:e]) {
					return v, colon
				}
			}
			return 0, noDelimiter
		}
		q++
		if at(b, q) == '=' {
			return w.valueStart(q+1, equals)
		}
		for n := 0; n < 2 && at(b, q) == '*'; n++ {
			q++
		}
		return w.valueStart(q, colon)
	case '.': // HikariCP: password..........x
		if q == r && has(b, q, "...") {
			for q < len(b) && b[q] == '.' && q-r < 64 {
				q++
			}
			return w.valueStart(q, equals)
		}
	case '-':
		if at(b, q+1) == '>' {
			return w.valueStart(q+2, equals)
		}
		if v := skipBlank(b, q+1); v > q+1 && q > r && at(b, v) == '`' { // Password - `x`, in a document
			return v, equals
		}
	case 0xe4, 0xe6: // token 为 x
		if has(b, q, "为") || has(b, q, "是") {
			if v := skipBlank(b, q+len("为")); isAlnum(at(b, v)) || isQuote(at(b, v)) {
				return v, equals
			}
		}
	case 0xe2:
		if has(b, q, "→") || has(b, q, "⇒") {
			return w.valueStart(q+len("→"), equals)
		}
		if dash := has(b, q, "–") || has(b, q, "—"); dash && q > r {
			if v := skipBlank(b, q+len("–")); at(b, v) == '`' {
				return v, equals
			}
		}
	case ',':
		if quoted && l > 0 {
			o := l - 1
			for o > 0 && (isQuote(b[o]) || b[o] == '\\' || b[o] == 'b' || b[o] == 'u') {
				o--
			}
			if v := skipBlank(b, q+1); b[o] == '(' && (isQuote(at(b, v)) || isLetter(at(b, v)) && isQuote(at(b, v+1)) || at(b, v) == '\\') {
				return v, tuple
			}
		}
	}
	if v := w.named(l, p); v > 0 {
		return w.valueStart(v, equals)
	}
	return 0, noDelimiter
}

// named handles a pair spelled out: {"name":"DB_PASSWORD","value":"x"}, name=… value=…, <add key="Password" value="x"/>.
func (w *scanner) named(l, p int) int {
	b := w.b
	o := l - 1
	for n := 0; n < 12 && o > 0 && (isQuote(b[o]) || b[o] == '\\' || isBlank(b[o])); n++ {
		o--
	}
	if o >= len("variable")-1 && hasFold(b, o-len("variable")+1, "variable") { // Terraform: variable "db_password" { … default = "x" }
		body := b[p:min(len(b), p+256)]
		if end := bytes.IndexByte(body, '}'); end >= 0 {
			body = body[:end]
		}
		if d := bytes.Index(body, []byte("default")); d >= 0 && at(b, skipBlank(b, p)) == '{' {
			if q := skipBlank(b, p+d+len("default")); at(b, q) == '=' {
				return q + 1
			}
		}
	}
	if o <= 0 || b[o] != '=' && b[o] != ':' {
		return 0
	}
	for n := 0; n < 12 && o > 0 && !isWord(b[o]); n++ {
		o--
	}
	ok := false
	for _, name := range [...]string{"name", "key", "header", "field", "property", "variable", "var"} {
		ok = ok || o+1 >= len(name) && hasFold(b, o+1-len(name), name)
	}
	ok = ok || lower(b[o]) == 'k' && (o == 0 || !isWord(b[o-1]))
	if !ok {
		return 0
	}
	for n := 0; n < 48 && p < len(b) && (isSpace(b[p]) || b[p] == ',' || b[p] == '"' || b[p] == '\\' || b[p] == ';'); n++ {
		p += max(1, escapedBreak(b, p))
	}
	if at(b, p) == '\'' {
		p++
	}
	w.namedOpen = w.namedOpen || p >= len(b)
	word := len("value")
	if !hasFold(b, p, "value") {
		if word = 1; lower(at(b, p)) != 'v' || isWord(at(b, p+1)) {
			return 0
		}
	}
	q := skipBlank(b, closers(b, p+word))
	if c := at(b, q); c == '=' || c == ':' {
		return q + 1
	}
	return 0
}

// valueStart moves from behind a delimiter to the value: past blanks, an escaped or a real line end, a YAML tag.
func (w *scanner) valueStart(q int, d delimiter) (int, delimiter) {
	b := w.b
	v := skipBlank(b, q)
	for n := 0; n < 4; n++ {
		if e := escapedBreak(b, v); e > 0 && !isQuote(at(b, v+e)) {
			v = skipBlank(b, v+e)
		}
	}
	if at(b, v) == '!' && isLetter(at(b, v+1)) && d == colon || has(b, v, "!!") { // a YAML tag
		if t := bytes.IndexByte(b[v:min(len(b), v+32)], ' '); t > 0 {
			v = skipBlank(b, v+t)
		}
	}
	if c := at(b, v); v < len(b) && c != '\n' && c != '\r' {
		return v, d
	}
	next := skipSpace(b, v)
	if next >= len(b) {
		return len(b), d
	}
	if nextIsKey(b, next) || d == colon && !isBlank(b[next-1]) && eventStart(b[next:]) {
		return v, d // the value was empty
	}
	return next, d
}

// escapedBreak is the length of an escaped line end or tab (\n, \\n, \r\n) at b[i], or 0.
func escapedBreak(b []byte, i int) int {
	j := i
	for j < len(b) && j-i < 4 && b[j] == '\\' {
		j++
	}
	if c := at(b, j); j > i && (c == 'n' || c == 'r' || c == 't') {
		return j + 1 - i
	}
	return 0
}

// nextIsKey tells whether an identifier and a delimiter begin at b[i].
func nextIsKey(b []byte, i int) bool {
	j := i
	for j < len(b) && j-i < maxIdent && isIdent(b[j]) {
		j++
	}
	if j == i || !isLetter(b[i]) && b[i] != '_' {
		return false
	}
	return at(b, j) == '=' || at(b, j) == ':' && isSpace(at(b, j+1))
}

// eventStart tells whether a line begins like a new log event: a date, a bracketed or bare level, a syslog priority, a JSON object.
func eventStart(b []byte) bool {
	switch {
	case len(b) < 3:
		return false
	case isDigit(b[0]) && isDigit(b[1]) && isDigit(b[2]) && isDigit(at(b, 3)) && (at(b, 4) == '-' || at(b, 4) == '/'):
		return true
	case isDigit(b[0]) && isDigit(b[1]) && (b[2] == ':' || b[2] == '/'):
		return true
	case b[0] == '{' && (b[1] == '"' || b[1] == '\\'):
		return true
	case b[0] == '[' && (isDigit(b[1]) || class[b[1]]&cUpper != 0):
		return true
	case b[0] == '<' && isDigit(b[1]):
		return true
	}
	for _, l := range [...]string{"info", "warn", "error", "debug", "trace", "fatal", "panic", "level=", "time=", "ts=", "jan ", "feb ", "mar ", "apr ", "may ", "jun ", "jul ", "aug ", "sep ", "oct ", "nov ", "dec "} {
		if hasFold(b, 0, l) && (!isLetter(at(b, len(l))) || l[len(l)-1] == '=' || hasFold(b, 0, "warning")) {
			return true
		}
	}
	return false
}

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
		case '\\':
			k := j
			for k < len(b) && b[k] == '\\' {
				k++
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
			} else if n := at(b, j+1); j+1 >= len(b) || isSpace(n) || isQuote(n) || bytes.IndexByte([]byte(",;.)]}&|:\\<"), n) >= 0 {
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
