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
	case 0xe2, 0xe3, 0xe4, 0xe6:
		if from, end, _ := wideQuoted(b, r); end > from { // password“x”
			k := w.memo.classify(b, l, r)
			if v := b[from:end]; k.kind == kindSecret && w.r.on[kindSecret] && !k.weak && !k.code && !w.harmless(&k, v, true) && !plain(v) && (k.password || random(v) || chosen(v)) && (v[0] < 0x80 || mixed(v) && hasDigit(v)) {
				w.busy = true
				w.secret(from, end)
			}
			return
		}
		if !has(b, r, "→") && !has(b, r, "⇒") && !has(b, r, "│") && !has(b, r, "为") && !has(b, r, "是") {
			return
		}
	case '=', ':', ' ', '\t', '\n', '\r', '"', '\'', '`', '\\', ']', '[', '-', '*', '>', '|', ',', ';', '/', 0, '<':
	case '(': // AccessToken(value=x)
		if v := valueArgument(b, r); v > 0 {
			if k := w.memo.classify(b, l, r); k.kind == kindSecret && !k.weak && !k.code && w.r.on[kindSecret] {
				w.busy = true
				w.keyed(&k, v, equals)
			}
		}
		return
	default:
		return
	}
	k := w.memo.classify(b, l, r)
	if k.short && w.testResult(l, r) {
		return
	}
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
	if k.weak && hasFold(b, r, " id") && !isWord(at(b, r+3)) && (hasFold(b, r-7, "session") || hasFold(b, r-4, "sess")) { // session id: x
		k.weak, k.token, k.to = false, true, r+len(" id")
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
	case r-l == 4 && string(b[l:r]) == "PASS":
		w.passCommand(l, r)
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

// testResult tells PASS: TestOrders (0.01s), as go test prints it.
func (w *scanner) testResult(l, r int) bool {
	b := w.b
	if !has(b, l, "PASS: ") {
		return false
	}
	if has(b, l-4, "--- ") {
		return true
	}
	word, e := w.next(r + 2)
	return has(word, 0, "Test") && has(b, e, " (") && isDigit(at(b, e+2))
}

// passCommand handles the command of FTP and POP3: PASS x, the last word of its line. A test runner's PASS is followed by the name of a test.
func (w *scanner) passCommand(l, p int) {
	b := w.b
	q := skipBlank(b, p)
	word, e := w.next(q)
	if q == p || e < len(b) && b[e] == ' ' || !madeUp(word) || hasFold(word, 0, "test") {
		return
	}
	if o := trimRight(b, 0, l); o > 0 && bytes.IndexByte([]byte(">:"), b[o-1]) >= 0 || bytes.Contains(b[max(0, l-96):l], []byte("USER ")) || hasLower(word) && hasUpper(word) {
		w.secret(q, e)
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
		for l > 0 && e-l < 12 && isAlnum(b[l-1]) {
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
