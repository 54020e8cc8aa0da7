package redact

import "bytes"

// key handles a word that may be part of a key.
func (w *scanner) key(from, to int) {
	if from < w.identEnd {
		return
	}
	b := w.b
	l, r := bounds(b, from, to)
	w.identEnd = r
	w.steps += r - l
	switch at(b, r) { // what cannot follow a key in any carrier is most of ordinary text
	case '.':
		if !has(b, r, "...") {
			return
		}
	case 0xe2, 0xe4, 0xe6:
		if !has(b, r, "→") && !has(b, r, "⇒") && !has(b, r, "│") && !has(b, r, "为") && !has(b, r, "是") {
			return
		}
	case '=', ':', ' ', '\t', '\n', '\r', '"', '\'', '`', '\\', ']', '[', '-', '*', '>', '|', ',', '/', 0, '<':
	default:
		return
	}
	k := w.memo.classify(b, l, r)
	if r-l == 3 && k.weak || r-l == 4 && k.kind == kindNone {
		w.ofKey(&k)
	}
	if k.kind == kindNone || !w.r.on[k.kind] {
		return
	}
	if k.weak && hasFold(b, r, " phrase") && !isWord(at(b, r+7)) { // seed phrase: of several words
		k.weak, k.phrase, k.to = false, true, r+len(" phrase")
		r = k.to
	}
	w.busy = w.busy || k.kind == kindSecret
	if w.markup(&k) || k.kind == kindSecret && w.inTable(&k) {
		return
	}
	v, d := w.delim(l, r)
	switch {
	case d != noDelimiter:
		w.keyed(&k, v, d)
	case k.kind != kindSecret:
		w.entityProse(&k)
	case w.masked(k.from):
	case r-l == 4 && string(b[l:r]) == "AUTH":
		w.authCommand(r)
	case w.flag(&k) == 0:
		w.prose(&k)
	}
}

// authCommand handles the command of Redis and SMTP: AUTH x, AUTH user x, AUTH PLAIN x. The words of a sentence stay.
func (w *scanner) authCommand(p int) {
	b := w.b
	if isQuote(at(b, p)) { // Redis MONITOR: "AUTH" "user" "x"
		for range 2 {
			q, from := opening(b, skipBlank(b, p+1))
			if q.c == 0 {
				return
			}
			end, next, ok := w.closing(b[:min(len(b), from+1024)], from, q)
			if !ok {
				return
			}
			w.secret(from, end)
			p = next - 1
		}
		return
	}
	for range 2 {
		q := skipBlank(b, p)
		if q == p || q >= len(b) {
			return
		}
		word, e := w.next(q)
		if mixed(word) && !plain(word) && (hasDigit(word) || len(word) >= 12) {
			if o, f := opening(b, q); o.c != 0 {
				e, _, _ = w.closing(b[:min(len(b), f+1024)], f, o)
				q = f
			} else if e-q >= 64 {
				e = w.unquoted(b, q, false)
			}
			w.secret(q, e)
			return
		}
		p = e
	}
}

// ofKey makes a secret of "key" and "code" in two words: API key, access key, verification code.
func (w *scanner) ofKey(k *key) {
	b := w.b
	code := hasFold(b, k.from, "code")
	if code && k.from > 0 && (b[k.from-1] == '?' || b[k.from-1] == '&') && at(b, k.to) == '=' { // the code of an OAuth redirect opens an account
		k.kind, k.weak = kindSecret, true
		return
	}
	if e := k.from - 1; (code || hasFold(b, k.from, "key")) && e > 0 && b[e] == ' ' {
		l := e
		for l > 0 && e-l < 12 && isLetter(b[l-1]) {
			l--
		}
		var buf [12]byte
		if code {
			if codeOf[string(lowered(buf[:0], b[l:e]))] {
				k.kind, k.code = kindSecret, true
			}
		} else if keyOf[string(lowered(buf[:0], b[l:e]))] {
			k.weak, k.from, k.token = false, l, true
		}
	}
}

// keyed masks the value at v of the key k.
func (w *scanner) keyed(k *key, v int, d delimiter) int {
	if k.kind != kindSecret {
		return w.entityValue(k, v, d)
	}
	b := w.b
	if w.masked(v) {
		return 0
	}
	if v >= len(b) {
		w.pending = w.pending || !k.weak && !k.code
		return 0
	}
	switch {
	case k.auth:
		return w.authorization(v, w.limit(k, v))
	case k.cookie:
		return w.cookies(v, w.limit(k, v), k.set)
	case k.token && d == colon && w.wordBefore(k.from, "unexpected", "illegal"):
		return 0
	}
	return w.secretValue(k, v, d)
}

// secretValue masks one value: quoted, bracketed, a YAML block or bare. Nothing but a word that is no value at all stays.
func (w *scanner) secretValue(k *key, v int, d delimiter) int {
	b := w.b
	if q, from := opening(b, v); q.c != 0 {
		in := b
		if k.weak || k.code { // what may stay must not be looked at again and again
			in = b[:min(len(b), from+1024)]
		}
		end, next, ok := w.closing(in, from, q)
		if !ok && !k.weak {
			w.open = q
		}
		if from >= end {
			if at(b, next) != q.c || q.n > 0 {
				return next
			}
			if q.c == '`' {
				return w.fenced(k, next+1)
			}
			from = next + 1 // three quotes, as in TOML and Python
			end = len(b)
			if n := bytes.Index(b[from:], []byte{q.c, q.c, q.c}); n >= 0 {
				end = from + n
			} else {
				w.open = q
			}
			w.secret(from, end)
			return end
		}
		if w.harmless(k, b[from:end], true) {
			return 0
		}
		w.secret(from, end)
		return next
	}
	switch c := b[v]; {
	case (c == '|' || c == '>') && d == colon && blockScalar(b, v):
		return w.block(k, v)
	case c == '{' || c == '[' || c == '(':
		if k.weak || k.code {
			return 0
		}
		end, ok := w.balanced(b, v)
		if w.r.o.KeepPlaceholders && placeholder(b[v:min(end+1, len(b))]) {
			return end
		}
		if q, from := opening(b, v+1); ok && q.c != 0 && c != '{' {
			if e, next, ok := w.closing(b, from, q); ok && next == end {
				w.secret(from, e)
				return end
			}
		}
		if ok && end == v+1 {
			return end
		}
		if c == '{' && !ok && end-v > 512 && w.lineEnd(b, v)-v < 2 { // "unexpected token: {" before a new line is prose
			return 0
		}
		w.secret(v+1, end)
		return end
	}
	end := w.unquoted(b, v, false)
	if k.phrase && d == colon {
		end = max(end, trimRight(b, v, w.lineEnd(b, v)))
	} else if d == colon && w.yamlLine(k, v) {
		end = max(end, trimRight(b, v, w.lineEnd(b, v)))
	}
	if d == equals && k.from > 0 && (b[k.from-1] == ';' || b[k.from-1] == ' ' && at(b, k.from-2) == ';') { // ADO: the value may hold blanks
		for e := end; e < len(b) && e-end < 64 && b[e] != '\n' && b[e] != '='; e++ {
			if b[e] == ';' || b[e] == '"' {
				end = e
				break
			}
		}
	}
	if w.harmless(k, b[v:end], false) || d == colon && isBlank(at(b, end)) && isQuote(at(b, end+1)) && plainNoun[string(bytes.ToLower(b[v:end]))] {
		return 0
	}
	w.secret(v, end)
	return end
}

// plainNoun are words before a name: volume "app-secret" : secret "app-secret" not found.
var plainNoun = map[string]bool{"secret": true, "secrets": true, "configmap": true, "token": true, "key": true, "volume": true, "user": true, "file": true, "field": true}

// fenced masks the one word of a listing that stands for the value: "Password:" and below it a fenced block. Other listings say something about it.
func (w *scanner) fenced(k *key, p int) int {
	b := w.b
	from := p
	for from < len(b) && from-p < 24 && b[from] != '\n' {
		from++
	}
	if from = skipBlank(b, from+1); !k.password || from >= len(b) {
		return 0
	}
	to := w.unquoted(b[:min(len(b), from+256)], from, false)
	if next := skipSpace(b, to); to == from || to == next || !has(b, next, "```") || !mixed(b[from:to]) || w.harmless(k, b[from:to], false) {
		return 0
	}
	w.secret(from, to)
	return to
}

func trimRight(b []byte, from, to int) int {
	for to > from && isSpace(b[to-1]) {
		to--
	}
	return to
}

// masked tells whether b[i] is inside of the value that was masked last.
func (w *scanner) masked(i int) bool { return i >= w.secretFrom && i < w.secretEnd }

// secret records a secret, without the blanks around it.
func (w *scanner) secret(from, to int) {
	for from < to && isSpace(w.b[from]) {
		from++
	}
	to = trimRight(w.b, from, to)
	w.steps += to - from
	w.secretFrom, w.secretEnd = from, to
	w.add(kindSecret, from, to)
}

// yamlLine tells whether the key stands alone at the beginning of a later or indented line, so that its value is the rest of the line.
func (w *scanner) yamlLine(k *key, v int) bool {
	b, i := w.b, k.from
	if k.weak || k.code || !isSpace(b[v-1]) {
		return false
	}
	for i > 0 && (isBlank(b[i-1]) || isQuote(b[i-1])) {
		i--
	}
	if i > 1 && b[i-1] == '-' {
		i--
		for i > 0 && isBlank(b[i-1]) {
			i--
		}
	}
	return i > 0 && b[i-1] == '\n' || i == 0 && k.from >= 2 && isBlank(b[0])
}

// blockScalar tells whether b[v] is the indicator of a YAML block scalar.
func blockScalar(b []byte, v int) bool {
	v++
	for at(b, v) == '-' || at(b, v) == '+' || isDigit(at(b, v)) {
		v++
	}
	v = skipBlank(b, v)
	return v == len(b) || b[v] == '\n' || b[v] == '\r'
}

// block masks the lines of a YAML block scalar: all that are indented deeper than the key.
func (w *scanner) block(k *key, v int) int {
	b := w.b
	start := bytes.LastIndexByte(b[:k.from], '\n') + 1
	indent := skipBlank(b, start) - start
	i := w.lineEnd(b, v)
	end := i
	defer func() {
		if end >= len(b)-1 {
			w.blockOpen = indent
		}
	}()
	for i < len(b) {
		next := i + 1
		text := skipBlank(b, next)
		if text < len(b) && b[text] != '\n' && text-next <= indent {
			break
		}
		i = w.lineEnd(b, next)
		if i > text {
			w.secret(text, i)
		}
		end = i
	}
	return end
}

// limit is the end of the text that a header's value at v may take: the end of the quoted text around or at it, or of the line.
func (w *scanner) limit(k *key, v int) int {
	b := w.b
	if o := k.from - 1; o >= 0 && isQuote(b[o]) && !isQuote(at(b, k.to)) && at(b, k.to) != '\\' { // 'Cookie: a=b' -X POST
		n := 0
		for o-n > 0 && b[o-n-1] == '\\' {
			n++
		}
		for i := v; ; i++ {
			if i >= len(b) || b[i] == '\n' {
				return i
			}
			if b[i] == b[o] && (n > 0) == (b[i-1] == '\\') {
				for n > 0 && i > v && b[i-1] == '\\' {
					i--
				}
				return i
			}
		}
	}
	if q, from := opening(b, v); q.c != 0 {
		end, _, _ := w.closing(b, from, q)
		return end
	}
	if b[v] == '[' {
		if v >= w.bracketTo {
			w.bracketTo = len(b)
			if n := bytes.IndexByte(b[v:], ']'); n >= 0 {
				w.bracketTo = v + n
			}
		}
		return w.bracketTo
	}
	if v >= w.lineTo {
		w.lineTo = w.lineEnd(b, v)
	}
	return w.lineTo
}

// harmless tells whether a value under a secret's key says nothing: null, a count, a mask, a word of the message.
func (w *scanner) harmless(k *key, v []byte, quoted bool) bool {
	v = bytes.TrimRight(bytes.TrimSpace(v), ".,;:!)")
	switch {
	case len(v) == 0:
		return true
	case len(v) <= 12 && noValue[string(bytes.ToLower(v))]:
		return true
	case k.plural && numeric(v), k.short && len(v) <= 3 && numeric(v):
		return true
	case k.cwd && (v[0] == '/' || v[0] == '~'):
		return true
	case k.weak && !random(v) && !basicAuth(k, v), k.code && !codeLike(v):
		return true
	case w.r.o.KeepPlaceholders && placeholder(v):
		return true
	case (k.weak && !hasDigit(v) || k.names) && dnsName(v) && !hashed(v):
		return true
	case !quoted && (has(v, 0, "[REDACTED") || has(v, 0, "[FILTERED")):
		return true
	}
	return false
}

// basicAuth tells the credentials of a registry in Docker's configuration: "auth": base64 of user:password.
func basicAuth(k *key, v []byte) bool {
	if k.to-k.from != len("auth") || len(v) < 4 || !allB64(v) {
		return false
	}
	d := decode64(v)
	return len(d) > 2 && bytes.IndexByte(d[1:], ':') >= 0
}

// noValue are words in the place of a value that say there is none or judge it.
var noValue = map[string]bool{"null": true, "nil": true, "none": true, "undefined": true, "true": true, "false": true, "empty": true, "yes": true, "no": true, "n/a": true, "(null": true, "<masked>": true, "<redacted>": true, "<hidden>": true, "[masked]": true, "[redacted]": true, "<nil>": true, "<null>": true,
	"expired": true, "invalid": true, "missing": true, "required": true, "incorrect": true, "wrong": true, "valid": true, "ok": true, "failed": true, "unknown": true, "not": true, "must": true, "is": true, "has": true, "was": true, "cannot": true, "too": true, "the": true, "unset": true, "absent": true, "present": true, "authentication": true, "should": true}

// placeholder tells whether a document's value stands for one: <password>, ${X}, $X, {{x}}, ***, xxx, your-password.
func placeholder(v []byte) bool {
	v = bytes.Trim(v, "\"'`")
	if len(v) == 0 {
		return true
	}
	switch last := v[len(v)-1]; {
	case v[0] == '<' && last == '>', v[0] == '{' && last == '}', v[0] == '[' && last == ']':
		for _, c := range v[1 : len(v)-1] {
			if !isIdent(c) && c != ' ' && c != '{' && c != '}' && (v[0] != '<' || c != ':') || isDigit(c) && v[0] != '<' {
				return false
			}
		}
		return true
	case has(v, 0, "${") && last == '}', has(v, 0, "$("), string(v) == "...", string(v) == "…", v[0] == '%' && len(v) <= 3, string(v) == "changeme":
		return true
	case v[0] == '$' && len(v) > 1 && isLetter(v[1]):
		upper, lower := true, true // $TOKEN2, $token, but not $hunter2
		for _, c := range v[1:] {
			upper = upper && (class[c]&cUpper != 0 || isDigit(c) || c == '_')
			lower = lower && (class[c]&cLower != 0 || c == '_')
		}
		return upper || lower
	case hasFold(v, 0, "your") && len(v) > 4 && !isAlnum(v[4]):
		for _, c := range v {
			if isDigit(c) {
				return false
			}
		}
		return true
	}
	for _, c := range v {
		if c != '*' && c != 'x' && c != 'X' && c != '.' && c != '#' && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
