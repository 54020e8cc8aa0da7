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
		if v := visibility(b, l, q); v > 0 {
			return w.valueStart(v, equals)
		}
		if has(b, q, ":private]=>") || has(b, q, ":protected]=>") { // the class of a property
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
			if v := skipBlank(b, q+len("为")); isAlnum(at(b, v)) || isQuote(at(b, v)) || v < len(b) && bytes.IndexByte([]byte("$@#!%&*+~^"), b[v]) >= 0 {
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
	case ';': // PHP, serialized: s:8:"password";s:6:"x"
		if v := typed(b, q+1); quoted && v > q+1 {
			return v, equals
		}
	case ',':
		if atom := l > 0 && (b[l-1] == '{' || b[l-1] == ':' && at(b, l-2) == '{'); atom && !quoted { // Erlang, Elixir: {password, "x"}
			if v := skipBlank(b, q+1); isQuote(at(b, v)) || has(b, v, "<<\"") {
				return v, tuple
			}
		}
		if quoted && l > 1 && (b[l-2] == '[' || b[l-2] == ',' || b[l-2] == ' ' && at(b, l-3) == ',') { // ["password","x"], but not a list of names
			if o, f := opening(b, skipBlank(b, q+1)); o.c != 0 {
				if e, _, ok := w.closing(b[:min(len(b), f+128)], f, o); ok && madeUp(b[f:e]) {
					return skipBlank(b, q+1), tuple
				}
			}
		}
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

// visibility is the place behind the arrow of a property in a dump of PHP: ["token":"Creds":private]=>, or 0.
func visibility(b []byte, l, q int) int {
	if l < 2 || !isQuote(b[l-1]) || b[l-2] != '[' {
		return 0
	}
	rest := b[q:min(len(b), q+96)]
	n := bytes.Index(rest, []byte("]=>"))
	if n < 0 || bytes.ContainsAny(rest[:n], " \n[") {
		return 0
	}
	return q + n + len("]=>")
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
	if form := formValue(b, o, p); form > 0 {
		w.formOpen = w.formOpen || form >= len(b)
		return form
	}
	behind := p
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
			return w.valueBeside(o, behind)
		}
	}
	q := skipBlank(b, closers(b, p+word))
	if c := at(b, q); c == '=' || c == ':' {
		return q + 1
	}
	return 0
}

// maxPair bounds the object or the tag in which a name and its value are looked for.
const maxPair = 256

// valueBeside finds the value of a name that stands at b[o:p] with other fields between them or behind its value: {"value":"x","key":"password"}, <meta name="token" content="x">.
func (w *scanner) valueBeside(o, p int) int {
	b := w.b
	start, end := o, p
	for start > 0 && o-start < maxPair && bytes.IndexByte([]byte("{}<>\n"), b[start-1]) < 0 {
		start--
	}
	if start == 0 || b[start-1] != '{' && b[start-1] != '<' {
		return 0
	}
	for end < len(b) && end-p < maxPair && bytes.IndexByte([]byte("{}<>\n"), b[end]) < 0 {
		end++
	}
	w.steps += end - start
	for _, part := range [...][2]int{{p, end}, {start, o}} {
		for _, word := range [...]string{"value", "content"} {
			i := bytes.Index(b[part[0]:part[1]], []byte(word))
			if i < 0 {
				continue
			}
			i += part[0]
			if isWord(at(b, i-1)) || isWord(at(b, i+len(word))) {
				continue
			}
			q := skipBlank(b, closers(b, i+len(word)))
			if c := at(b, q); c != '=' && c != ':' {
				continue
			}
			if o, _ := opening(b, skipBlank(b, q+1)); o.c != 0 {
				return q + 1
			}
		}
	}
	return 0
}

// formValue is the value of a part of a form whose name ends before b[p], behind the other headers of the part: Content-Disposition: form-data; name="password".
func formValue(b []byte, o, p int) int {
	if !bytes.Contains(b[max(0, o-32):o+1], []byte("form-data")) {
		return 0
	}
	breaks := 0
	for i := p; i < len(b) && i-p < 512; {
		switch n := escapedBreak(b, i); {
		case n > 0:
			if b[i+n-1] == 'n' {
				breaks++
			}
			i += n
		case b[i] == '\n':
			breaks++
			i++
		case b[i] == '\r':
			i++
		case breaks > 1:
			if has(b, i, "--") {
				return 0
			}
			return i
		default:
			breaks = 0
			i++
		}
	}
	return len(b)
}

// valueStart moves from behind a delimiter to the value: past blanks, an escaped or a real line end, a YAML tag.
func (w *scanner) valueStart(q int, d delimiter) (int, delimiter) {
	b := w.b
	v := skipBlank(b, q)
	for n := 0; n < 2 && (at(b, v) == '=' || at(b, v) == ':') && isBlank(at(b, v+1)); n++ { // password = = x
		v = skipBlank(b, v+1)
	}
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
