package sqlguard

import (
	"strings"
	"unicode/utf8"
)

// tokKind is what a token is for MySQL on a utf8mb4 connection with the default sql_mode: double quotes delimit strings, backslash escapes.
type tokKind uint8

const (
	tWord   tokKind = iota + 1 // unquoted name or keyword
	tQuoted                    // back-quoted name, text holds the decoded name
	tString                    // string literal, text holds the decoded value
	tNumber                    // decimal, hexadecimal or bit number as written
	tHex                       // x'..' or b'..' as written
	tOp                        // operator or punctuation
)

// token is one token of the caller's text; pos and end are byte offsets in it.
type token struct {
	text     string
	pos, end int
	kind     tokKind
	kw       keyword // of an unquoted word, 0 when it is none that matters here
	national bool    // N'..'
}

func (t token) op(s string) bool { return t.kind == tOp && t.text == s }

// lexer splits a statement as MySQL does. It refuses what MySQL reads in more than one way (executable comments, placeholders, variables)
// and what no statement needs (control characters, ODBC braces), so that both parsers see only plain text.
type lexer struct {
	src  string
	toks []token
	// Open brackets and CASEs and unary operators in a row: all are bounded before any parser recurses.
	depth, cases, run int
}

// lex reads the whole statement. Beside an error it returns the tokens before it.
func lex(src string) ([]token, error) {
	l := &lexer{src: src, toks: make([]token, 0, len(src)/4+8)}
	if i := strings.IndexByte(src, 0); i >= 0 {
		return nil, refuse(codeSyntax, "a NUL byte is not accepted; write CHAR(0) or X'00'")
	}
	if !utf8.ValidString(src) {
		return nil, refuse(codeSyntax, "the statement is not valid UTF-8")
	}
	for i := 0; i < len(src); {
		next, err := l.step(i)
		if err != nil {
			return l.toks, err
		}
		i = next
		if len(l.toks) > maxTokens {
			return nil, refuse(codeComplex, "the statement has too many words; split it")
		}
	}
	return l.toks, nil
}

// step reads one blank, comment or token at i and returns the offset behind it.
func (l *lexer) step(i int) (int, error) {
	src := l.src
	c := src[i]
	switch {
	case isBlank(c):
		return i + 1, nil
	case c == '#', c == '-' && dashComment(src, i):
		if n := strings.IndexByte(src[i:], '\n'); n >= 0 {
			return i + n + 1, nil
		}
		return len(src), nil
	case c == '/' && i+1 < len(src) && src[i+1] == '*':
		return l.comment(i)
	case c == '\'' || c == '"':
		return l.str(i, i, false)
	case c == '`':
		return l.quoted(i)
	case c >= '0' && c <= '9', c == '.' && i+1 < len(src) && isDigit(src[i+1]) && !l.joined(i):
		if l.afterDot(i) {
			return l.word(i)
		}
		return l.number(i)
	case isNameByte(c):
		return l.word(i)
	}
	return l.operator(i)
}

func (l *lexer) add(k tokKind, text string, pos, end int) *token {
	l.toks = append(l.toks, token{kind: k, text: text, pos: pos, end: end})
	return &l.toks[len(l.toks)-1]
}

// joined tells whether a name ends just before i, as in t.1a.
func (l *lexer) joined(i int) bool {
	n := len(l.toks)
	return n > 0 && l.toks[n-1].end == i && (l.toks[n-1].kind == tWord || l.toks[n-1].kind == tQuoted)
}

// afterDot tells whether the last token is a dot: what follows is a name, whatever it looks like.
func (l *lexer) afterDot(i int) bool {
	n := len(l.toks)
	return n > 0 && l.toks[n-1].end == i && l.toks[n-1].op(".")
}

// comment skips a plain comment. An executable one runs on some servers and is blank for others, so it is refused, not read.
func (l *lexer) comment(i int) (int, error) {
	rest := l.src[i+2:]
	if strings.HasPrefix(rest, "!") || strings.HasPrefix(rest, "M!") || strings.HasPrefix(rest, "m!") {
		return 0, refuse(codeUnsupported, "executable comments (/*! */, /*M! */) are not accepted; write the statement without them")
	}
	n := strings.Index(rest, "*/")
	if n < 0 {
		return 0, refuse(codeSyntax, "a comment is not closed")
	}
	return i + 2 + n + 2, nil
}

// dashComment tells whether -- at i begins a comment: only before a blank, a control character or the end.
func dashComment(src string, i int) bool {
	if i+1 >= len(src) || src[i+1] != '-' {
		return false
	}
	return i+2 >= len(src) || src[i+2] <= ' ' || src[i+2] == 0x7f
}

// str reads a string literal whose opening quote is at i and decodes it: a doubled quote, the escapes of MySQL; \% and \_ keep their backslash.
func (l *lexer) str(start, i int, national bool) (int, error) {
	src, q := l.src, l.src[i]
	j := i + 1
	for j < len(src) && src[j] != q && src[j] != '\\' {
		j++
	}
	text := src[i+1 : j]
	if j < len(src) && (src[j] == '\\' || j+1 < len(src) && src[j+1] == q) {
		b := []byte(text)
		for ; j < len(src); j++ {
			c := src[j]
			if c == q {
				if j+1 >= len(src) || src[j+1] != q {
					break
				}
				j++
			} else if c == '\\' {
				if j+1 >= len(src) {
					break
				}
				j++
				if e := src[j]; e == '%' || e == '_' {
					b = append(b, '\\', e)
					continue
				}
				c = unescape(src[j])
			}
			b = append(b, c)
		}
		text = string(b)
	}
	if j >= len(src) || src[j] != q {
		return 0, refuse(codeSyntax, "a string literal is not closed")
	}
	if !utf8.ValidString(text) {
		return 0, refuse(codeSyntax, "a string literal is not valid UTF-8; write it as X'..'")
	}
	l.run = 0
	l.add(tString, text, start, j+1).national = national
	return j + 1, nil
}

func unescape(c byte) byte {
	switch c {
	case '0':
		return 0
	case 'b':
		return '\b'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'Z':
		return 0x1a
	}
	return c
}

func (l *lexer) quoted(i int) (int, error) {
	src := l.src
	for j := i + 1; j < len(src); j++ {
		if src[j] != '`' {
			continue
		}
		if j+1 < len(src) && src[j+1] == '`' {
			j++
			continue
		}
		text := src[i+1 : j]
		if strings.Contains(text, "``") {
			text = strings.ReplaceAll(text, "``", "`")
		}
		if text == "" {
			return 0, refuse(codeSyntax, "a back-quoted name is empty")
		}
		l.run = 0
		l.add(tQuoted, text, i, j+1)
		return j + 1, nil
	}
	return 0, refuse(codeSyntax, "a back-quoted name is not closed")
}

// number reads a number. Digits that run on into letters are a name for MySQL, as in 1a; after a point or an exponent they are refused.
func (l *lexer) number(i int) (int, error) {
	src := l.src
	j := i
	if n := radix(src[i:]); n > 0 {
		j = i + n
		if j < len(src) && isNameByte(src[j]) {
			return l.word(i)
		}
		l.run = 0
		l.add(tNumber, src[i:j], i, j)
		return j, nil
	}
	for j < len(src) && isDigit(src[j]) {
		j++
	}
	whole := true
	if j < len(src) && src[j] == '.' {
		whole = false
		for j++; j < len(src) && isDigit(src[j]); j++ {
		}
	}
	if j < len(src) && (src[j] == 'e' || src[j] == 'E') {
		k := j + 1
		if k < len(src) && (src[k] == '+' || src[k] == '-') {
			k++
		}
		if k < len(src) && isDigit(src[k]) {
			whole = false
			for j = k; j < len(src) && isDigit(src[j]); j++ {
			}
		}
	}
	if j < len(src) && (isNameByte(src[j]) || src[j] == '.') {
		if whole && src[j] != '.' {
			return l.word(i)
		}
		return 0, refuse(codeSyntax, "a number runs into a name; put a blank between them")
	}
	l.run = 0
	l.add(tNumber, src[i:j], i, j)
	return j, nil
}

// radix is the length of a 0x or 0b number at the start of s, or 0.
func radix(s string) int {
	if len(s) < 3 || s[0] != '0' {
		return 0
	}
	n := 2
	switch s[1] {
	case 'x':
		for n < len(s) && isHex(s[n]) {
			n++
		}
	case 'b':
		for n < len(s) && (s[n] == '0' || s[n] == '1') {
			n++
		}
	}
	if n == 2 {
		return 0
	}
	return n
}

func (l *lexer) word(i int) (int, error) {
	src := l.src
	j := i
	for j < len(src) && isNameByte(src[j]) {
		if src[j] >= 0xF0 {
			return 0, refuse(codeSyntax, "a name holds a character outside the basic plane; MySQL has no such names")
		}
		j++
	}
	text := src[i:j]
	if j < len(src) && src[j] == '\'' && len(text) == 1 {
		switch text[0] {
		case 'n', 'N':
			return l.str(i, j, true)
		case 'x', 'X', 'b', 'B':
			return l.hex(i, j)
		}
	}
	t := l.add(tWord, text, i, j)
	if !l.dotBefore() {
		t.kw = keywordOf(text)
	}
	switch t.kw {
	case kwCase:
		l.cases++
	case kwEnd: // a name too
		l.cases = max(l.cases-1, 0)
	case kwNot, kwBinary:
		l.run++
		return j, l.bound()
	}
	l.run = 0
	return j, l.bound()
}

// dotBefore tells whether the word just added follows a dot.
func (l *lexer) dotBefore() bool {
	n := len(l.toks)
	return n > 1 && l.toks[n-2].op(".")
}

func (l *lexer) hex(i, q int) (int, error) {
	n := strings.IndexByte(l.src[q+1:], '\'')
	if n < 0 {
		return 0, refuse(codeSyntax, "a string literal is not closed")
	}
	body, end := l.src[q+1:q+1+n], q+1+n+1
	bits := l.src[i] == 'b' || l.src[i] == 'B'
	for k := range len(body) {
		if bits && body[k] != '0' && body[k] != '1' || !isHex(body[k]) {
			return 0, refuse(codeSyntax, "a hexadecimal or bit literal holds another character")
		}
	}
	if !bits && len(body)%2 != 0 {
		return 0, refuse(codeSyntax, "a hexadecimal literal needs an even number of digits")
	}
	l.run = 0
	l.add(tHex, l.src[i:end], i, end)
	return end, nil
}

func (l *lexer) operator(i int) (int, error) {
	src := l.src
	for _, op := range [...]string{"<=>", "->>", "->", "<=", ">=", "<>", "!=", "<<", ">>", "||", "&&"} {
		if strings.HasPrefix(src[i:], op) {
			l.run = 0
			l.add(tOp, op, i, i+len(op))
			return i + len(op), nil
		}
	}
	switch c := src[i]; c {
	case '(':
		l.depth, l.run = l.depth+1, 0
	case ')':
		l.depth, l.run = max(l.depth-1, 0), 0
	case '-', '+', '!', '~':
		l.run++
	case '*', '/', '%', ',', '.', ';', '=', '<', '>', '^', '&', '|':
		l.run = 0
	case '@':
		return 0, refuse(codeUnsupported, "user variables and system variables (@x, @@x) are not accepted")
	case ':':
		if strings.HasPrefix(src[i:], "::") {
			return 0, refuse(codeUnsupported, "the cast :: is not MySQL; write CAST(x AS type)")
		}
		return 0, refuse(codeUnsupported, "placeholders are not accepted; write the value")
	case '?':
		return 0, refuse(codeUnsupported, "placeholders are not accepted; write the value")
	case '{', '}':
		return 0, refuse(codeUnsupported, "ODBC escapes in braces are not accepted")
	case '[', ']':
		return 0, refuse(codeSyntax, "square brackets do not quote names in MySQL; use back quotes")
	case '\\':
		if rest := src[i+1:]; len(rest) == 1 && strings.ContainsAny(rest, "gGs") {
			return 0, refuse(codeSyntax, "\\%s is a command of the terminal client; leave it out", rest)
		}
		return 0, refuse(codeSyntax, "a backslash outside a string; write NULL for \\N")
	default:
		return 0, refuse(codeSyntax, "a control character outside a string")
	}
	l.add(tOp, src[i:i+1], i, i+1)
	return i + 1, l.bound()
}

func (l *lexer) bound() error {
	if l.depth+l.cases > maxDepth || l.run > maxRun {
		return refuse(codeComplex, "the statement is nested too deeply")
	}
	return nil
}

func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isHex(c byte) bool   { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
func isNameByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || isDigit(c) || c == '_' || c == '$' || c >= 0x80
}
