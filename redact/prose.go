package redact

import "bytes"

// wordBefore tells whether one of the words stands before b[i].
func (w *scanner) wordBefore(i int, words ...string) bool {
	b := w.b
	for i > 0 && (isBlank(b[i-1]) || isQuote(b[i-1]) || b[i-1] == '(') {
		i--
	}
	for _, x := range words {
		if i >= len(x) && hasFold(b, i-len(x), x) && (i == len(x) || !isWord(b[i-len(x)-1])) {
			return true
		}
	}
	return false
}

// next gives the word at p: up to a blank, at most 64 bytes are looked at; long tells that it goes on.
func (w *scanner) next(p int) (word []byte, end int) {
	b := w.b
	e := p
	for e < len(b) && e-p < 64 && !isSpace(b[e]) {
		e++
	}
	w.steps += e - p
	return b[p:e], e
}

// prose handles sentences: "password is x", "changed password from x to y", "with password x", "password for bob: x".
func (w *scanner) prose(k *key) int {
	b := w.b
	if k.code {
		return w.codeProse(k)
	}
	if k.weak || hasFold(b, k.to-len(" id"), " id") {
		return w.sessionProse(k)
	}
	if k.auth || k.cookie {
		return 0
	}
	p := skipBlank(b, k.to)
	if p == k.to || p >= len(b) {
		return 0
	}
	sure := w.wordBefore(k.from, "with", "using", "by", "via") || w.afterLogin(k.from)
	for n := 0; n < 7 && p < len(b); n++ {
		if q, _ := opening(b, p); q.c != 0 {
			if n == 0 {
				return w.bare(k, p, sure)
			}
			p = w.skipQuoted(p)
			if c := at(b, p); c == ':' || c == '=' {
				return w.said(k, skipBlank(b, p+1), n > 0)
			}
			p = skipBlank(b, p)
			continue
		}
		word, e := w.next(p)
		text := bytes.TrimRight(word, ":=,")
		mark := len(text) < len(word) && word[len(text)] != ','
		var buf [12]byte
		lw := lowered(buf[:0], text)
		after := skipBlank(b, e)
		if after == e && !mark || after >= len(b) {
			if n == 0 {
				return w.bare(k, p, sure)
			}
			return 0
		}
		switch string(lw) {
		case "has", "have", "had", "been":
		case "is", "was", "are", "were", "equals", "becomes", "reads", "be", "being", "as":
			after = w.skipWords(after, "now", "still", "currently", "set", "reset", "updated", "rotated", "switched", "to", "changed", "just", "the", "simply")
			if q := w.skipWords(after, "generated", "created", "assigned", "issued"); q > after && k.password { // is generated for root@localhost: x
				p = q
				continue
			}
			if after < len(b) {
				if v := skipBlank(b, after+len("from")); wordFold(b, after, "from") && v > after+len("from") {
					if w.changed(k, v) {
						return w.fromTo(k, v)
					}
					return 0
				}
				return w.said(k, after, string(lw) == "as")
			}
			return 0
		case "set", "changed", "updated", "reset", "rotated", "switched", "to":
			if string(lw) == "to" || wordFold(b, after, "to") {
				return w.said(k, w.skipWords(after, "to", "the"), string(lw) == "to" && n > 0)
			}
		case "from":
			if w.changed(k, after) {
				return w.fromTo(k, after)
			}
			return 0
		case "hash", "digest":
			if v, end := w.next(after); k.password && n == 0 && hashed(v) && len(v) >= 16 {
				w.secret(after, end)
				return end
			}
		case "for", "of", "provided", "given", "value", "received", "supplied", "entered", "used", "attempted", "sent", "string", "user", "account", "field", "in", "on":
		case "is:", "was:":
			return w.said(k, after, false)
		case "mismatch":
			if q := w.skipWords(after, "expected", "got", "want"); mark && q > after && !isDigit(at(b, q)) {
				return w.said(k, q, true)
			}
			return 0
		default:
			if n == 0 && !mark {
				if end := w.bare(k, p, sure); end > 0 {
					return end
				}
				if plainWords[string(lw)] || !k.password {
					return 0
				}
			} else if n == 0 {
				return 0
			}
		}
		if mark {
			return w.said(k, after, true)
		}
		p = after
	}
	return 0
}

// sessionProse handles "session 8f2kq91mzx closed": letters and digits of one piece. The number of a session, and a name, stay.
func (w *scanner) sessionProse(k *key) int {
	b := w.b
	if !hasFold(b, k.to-len("session"), "session") && !hasFold(b, k.to-len("session id"), "session id") && !hasFold(b, k.to-len("sid"), "sid") {
		return 0
	}
	p := skipBlank(b, k.to)
	if q, from := opening(b, p); q.c != 0 {
		p = from
	}
	e := p
	for e < len(b) && e-p < 128 && isB64(b[e]) {
		e++
	}
	if v := b[p:e]; p == k.to || has(v, 0, "0x") || !random(v) || !hasDigit(v) || !hasLetter(v) || dnsName(v) || bytes.IndexByte(v, '/') >= 0 || at(b, e) == '.' && isAlnum(at(b, e+1)) {
		return 0
	}
	w.secret(p, e)
	return e
}

// afterLogin tells the third word of "login bob password x", as .netrc has it.
func (w *scanner) afterLogin(i int) bool {
	b, l := w.b, i
	for l > 0 && isBlank(b[l-1]) {
		l--
	}
	for n := 0; l > 0 && !isSpace(b[l-1]) && n < 64; n++ {
		l--
	}
	return l < i && w.wordBefore(l, "login")
}

// codeProse handles "your OTP is 482913" and "verification code 482913": four to eight digits.
func (w *scanner) codeProse(k *key) int {
	b := w.b
	p := w.skipWords(skipBlank(b, k.to), "is", "was", "number")
	e := p
	for e < len(b) && e-p < 9 && isDigit(b[e]) {
		e++
	}
	if p == k.to || e-p < 4 || e-p > 8 || isWord(at(b, e)) {
		if word, e := w.next(p); p > k.to && codeGroups(bytes.TrimRight(word, ".,;:)")) {
			e -= len(word) - len(bytes.TrimRight(word, ".,;:)"))
			w.secret(p, e)
			return e
		}
		return 0
	}
	w.secret(p, e)
	return e
}

func lowered(dst, s []byte) []byte {
	for _, c := range s[:min(len(s), 12)] {
		dst = append(dst, lower(c))
	}
	return dst
}

func (w *scanner) skipWords(p int, words ...string) int {
	for again := true; again; {
		again = false
		for _, x := range words {
			if wordFold(w.b, p, x) && isBlank(at(w.b, p+len(x))) {
				p = skipBlank(w.b, p+len(x))
				again = true
			}
		}
	}
	return p
}

// skipQuoted moves past a quoted name of at most 64 bytes.
func (w *scanner) skipQuoted(p int) int {
	q, from := opening(w.b, p)
	if end, next, ok := w.closing(w.b[:min(len(w.b), from+64)], from, q); ok && end > from {
		return next
	}
	return from
}

// said masks the value that a sentence states; doubt asks for more than a lower-case word.
func (w *scanner) said(k *key, p int, doubt bool) int {
	b := w.b
	p = w.skipWords(p, "tried", "got", "received", "was", "is", "entered", "submitted", "given", "attempted", "value", "expected", "actual")
	if p >= len(b) {
		return 0
	}
	if q, from := opening(b, p); q.c != 0 {
		end, next, ok := w.closing(b, from, q)
		if !ok && end-from > 64 || w.harmless(k, b[from:end], true) || plain(b[from:end]) {
			return 0
		}
		w.secret(from, end)
		return next
	}
	end := w.unquoted(b, p, false)
	v := bytes.TrimRight(b[p:end], ".,;:!?)")
	if w.harmless(k, v, false) || plain(v) || w.r.o.KeepPlaceholders && !mixed(v) || doubt && !k.password && !mixed(v) {
		return 0
	}
	w.secret(p, sentence(b, p, end))
	return end
}

// sentence takes the full stop or the comma that ends a sentence off a value.
func sentence(b []byte, p, end int) int {
	if c := b[end-1]; end-p > 1 && (c == '.' || c == ',') {
		return end - 1
	}
	return end
}

// bare masks the word right after a key when it looks like a value.
func (w *scanner) bare(k *key, p int, sure bool) int {
	b := w.b
	if q, from := opening(b, p); q.c != 0 {
		end, next, ok := w.closing(b[:min(len(b), from+4096)], from, q)
		v := b[from:end]
		switch {
		case !ok || len(v) == 0 || w.harmless(k, v, true) || plain(v):
			return 0
		case k.password && (sure || !bytes.ContainsRune(v, ' ')) && !w.wordBefore(k.from, "unexpected", "field", "property", "column", "parameter"):
		case w.wordBefore(k.from, "unexpected", "illegal", "unknown"), !uuid(v) && !chosen(v) && !padded(v) && (!random(v) || dnsName(v)):
			return 0
		}
		w.secret(from, end)
		return next
	}
	if c := b[p]; (c == '(' || c == '[') && k.password { // password (hunter2) rejected
		end := w.unquoted(b, p+1, false)
		if v := b[p+1 : end]; (at(b, end) == ')' || at(b, end) == ']') && len(v) >= 4 && mixed(v) && !plain(v) && bytes.IndexByte(v, '=') < 0 {
			w.secret(p+1, end)
			return end
		}
	}
	end := w.unquoted(b, p, false)
	v := bytes.TrimRight(b[p:end], ".,;:!?)")
	switch {
	case isDigit(b[p]) && isBlank(at(b, p+1)) && k.from != k.to: // the type of a password, as Cisco writes it: password 7 0822455D0A16
		q := skipBlank(b, p+1)
		if word, _ := w.next(q); len(word) >= 4 && len(word) < 64 && mixed(word) && !plain(word) && !numeric(word) && (isAlnum(word[0]) || word[0] == '$') {
			w.secret(q, q+len(word))
			return q + len(word)
		}
		return 0
	case len(v) < 3 || isIdent(v[0]) && bytes.IndexByte(bytes.TrimRight(v, "="), '=') > 0 || w.harmless(k, v, false) || plain(v) || v[0] == '<' || v[0] == '(' || v[0] == '[' || v[0] == '{':
		return 0
	case bytes.HasPrefix(v, []byte("-")) || bytes.Contains(v, []byte("://")) || v[0] == '/':
		return 0
	case k.password && sure && !w.r.o.KeepPlaceholders: // with password hunter
	case k.password && mixed(v) && (len(v) >= 4 || !numeric(v)):
	case len(v) >= 5 && hasDigit(v) && hasLetter(v) && !dnsName(v) && bytes.IndexByte(v, '.') < 0 && bytes.ContainsAny(b[k.from:k.to], "-_"): // pre-shared-key x1y2z
	case (k.token || bytes.ContainsAny(b[k.from:k.to], "-_") || hasFold(b, k.from, "apikey")) && hashed(v):
	case (random(v) && !dnsName(v) && mixed(v) && !numeric(v) || uuid(v) || chosen(v) || padded(v)) && !w.wordBefore(k.from, "unexpected", "illegal"):
	default:
		return 0
	}
	w.secret(p, sentence(b, p, end))
	return end
}

// fromTo masks both values of "from x to y".
func (w *scanner) fromTo(k *key, p int) int {
	b := w.b
	res := 0
	for range 2 {
		if p >= len(b) {
			return res
		}
		from, end, next := p, 0, 0
		if q, f := opening(b, p); q.c != 0 {
			from = f
			end, next, _ = w.closing(b[:min(len(b), f+4096)], f, q)
		} else {
			end = w.unquoted(b, p, false)
			next = end
		}
		v := bytes.TrimRight(b[from:end], ".,;:!?)")
		if len(v) > 0 && !plain(v) && (k.password && !fileLike(v) || mixed(v) && random(v) || chosen(v)) && (!w.r.o.KeepPlaceholders || mixed(v)) {
			w.secret(from, end)
			res = next
		}
		p = skipBlank(b, next)
		if !wordFold(b, p, "to") {
			return res
		}
		p = skipBlank(b, p+2)
	}
	return res
}

// changed tells whether the sentence before the key, or the word after the value at p, says that the secret went from one value to another, and not that a
// password came from a machine.
func (w *scanner) changed(k *key, p int) bool {
	b := w.b
	l := k.from
	for n := 0; n < 4 && l > 0; n++ {
		for l > 0 && isBlank(b[l-1]) {
			l--
		}
		e := l
		for l > 0 && e-l < 16 && isWord(b[l-1]) {
			l--
		}
		for _, v := range [...]string{"change", "rotate", "reset", "update", "switch", "replace", "migrat", "modif"} {
			if hasFold(b[:e], l, v) {
				return true
			}
		}
	}
	end := 0
	if q, f := opening(b, p); q.c != 0 {
		_, end, _ = w.closing(b[:min(len(b), f+4096)], f, q)
	} else {
		end = w.unquoted(b, p, false)
	}
	return wordFold(b, skipBlank(b, end), "to")
}
