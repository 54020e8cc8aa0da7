package redact

import "bytes"

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
	if from, end, next := wideQuoted(b, v); end > from {
		if w.harmless(k, b[from:end], true) {
			return 0
		}
		w.secret(from, end)
		return next
	}
	v = typed(b, v)
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
	end := w.unquoted(b, v, k.wide && b[v] < 0x80)
	if c := bytes.IndexByte(b[v:end], ','); k.wide && k.code && c > 0 { // 验证码为482913,5分钟内有效
		end = v + c
	}
	end = w.flagQuote(k, end)
	if k.phrase && d == colon {
		end = max(end, trimRight(b, v, w.lineEnd(b, v)))
	} else if d == colon && w.yamlLine(k, v) {
		end = max(end, trimRight(b, v, w.lineEnd(b, v)))
	}
	if d == equals && k.from > 0 && (b[k.from-1] == ';' && !afterEntity(b, k.from) || b[k.from-1] == ' ' && at(b, k.from-2) == ';') { // ADO: the value may hold blanks
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
	if d == colon && !k.phrase && isBlank(b[v-1]) && plain(b[v:end]) && w.sentenceAhead(end) { // passwd: user bob locked
		return 0
	}
	w.secret(v, end)
	return end
}

// sentenceAhead tells whether two words or more follow on the line, the first of them in small letters.
func (w *scanner) sentenceAhead(p int) bool {
	b := w.b
	for n := range 2 {
		q := skipBlank(b, p)
		if q == p {
			return false
		}
		word, e := w.next(q)
		if len(word) < 2 || n == 0 && mixed(word) || bytes.ContainsAny(word, "=:\"'") {
			return false
		}
		p = e
	}
	return true
}

// flagQuote is the end of a value with blanks in the quoted argument of a flag: -passin 'pass:two words', -e "PASSWORD=two words".
func (w *scanner) flagQuote(k *key, end int) int {
	b, o := w.b, k.from-1
	if o < 2 || !isQuote(b[o]) || end >= len(b) || !isBlank(b[end]) {
		return end
	}
	l := o
	for n := 0; n < 32 && l > 0 && (isIdent(b[l-1]) || b[l-1] == '='); n++ {
		l--
	}
	if l == o && isBlank(b[l-1]) {
		for l--; l > 0 && o-l < 32 && isIdent(b[l-1]); l-- {
		}
	}
	if b[l] != '-' || l > 0 && !isBlank(b[l-1]) {
		return end
	}
	rest := b[end:min(len(b), end+128)]
	n := bytes.IndexByte(rest, b[o])
	if n < 0 || bytes.ContainsAny(rest[:n], "=:\n") {
		return end
	}
	return end + n
}

// afterEntity tells whether an HTML entity ends right before b[i].
func afterEntity(b []byte, i int) bool {
	for j := i - 1; j >= 0 && i-j < 12; j-- {
		if b[j] == '&' {
			_, n := entity(b, j)
			return j+n == i
		}
	}
	return false
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
