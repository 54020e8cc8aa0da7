package redact

import "bytes"

// entityValue masks the value at v under a key that names a machine, a process or a person.
func (w *scanner) entityValue(k *key, v int, d delimiter) int {
	b := w.b
	if v >= len(b) {
		return 0
	}
	if b[v] == '[' || b[v] == '(' || b[v] == '{' {
		v++
	}
	lim := min(len(b), v+512)
	if q, from := opening(b, v); q.c != 0 {
		end, _, _ := w.closing(b[:min(len(b), from+512)], from, q)
		v, lim = from, end
	}
	if v >= lim || b[v] == '<' {
		return 0
	}
	switch k.kind {
	case kindHost:
		w.hostValue(k, v, lim, d)
	case kindPod:
		w.podValue(v, lim, true)
	case kindPID:
		e := v
		for e < lim && isDigit(b[e]) {
			e++
		}
		if e > v && e-v <= 8 && !isIdent(at(b, e)) {
			w.add(kindPID, v, e)
		}
	case kindMAC:
		e := v
		for e < lim && (isHex(b[e]) || b[e] == ':' || b[e] == '-' || b[e] == '.') {
			e++
		}
		n := 0
		for _, c := range b[v:e] {
			if isHex(c) {
				n++
			}
		}
		if n == 12 || n == 16 {
			w.add(kindMAC, v, e)
		}
	case kindPhone:
		w.number(kindPhone, v, lim, 6, 18)
	case kindCard:
		w.number(kindCard, v, lim, 8, 19)
	case kindID:
		w.idValue(v, lim)
	case kindTrace:
		e := v
		for e < lim && (isAlnum(b[e]) || b[e] == '-') {
			e++
		}
		if e-v >= 8 && hasDigit(b[v:e]) {
			w.add(kindTrace, v, e)
		}
	}
	return 0
}

// hostValue masks one host or a list of them.
func (w *scanner) hostValue(k *key, v, lim int, d delimiter) {
	b := w.b
	for n := 0; n < 32 && v < lim; n++ {
		e := v
		for e < lim && isHost(b[e]) {
			e++
		}
		if has(b, e, "://") {
			return // by the URL's own rule
		}
		next := e
		for e > v && (b[e-1] == '.' || b[e-1] == '-') {
			e--
		}
		host := b[v:e]
		if e > v && hostName(host) && !(d == colon && plain(host)) && !noValue[string(bytes.ToLower(host))] && !(k.hostish && !hostLike(host) && !portAfter(b, next)) && at(b, next) != '(' && !fourNumbers(host) {
			w.add(kindHost, v, e)
			w.hostEnd = max(w.hostEnd, e)
		}
		if at(b, next) == ':' {
			for next++; next < lim && isDigit(b[next]); next++ {
			}
		}
		if next >= lim || b[next] != ',' && b[next] != '/' {
			return
		}
		if v = skipBlank(b, next+1); v > next+1 || b[next] == '/' || !isAlnum(at(b, v)) || keyAhead(b, v, false) && b[next] == ',' && !portAfter(b, endHost(b, v)) {
			return
		}
	}
}

func endHost(b []byte, v int) int {
	for v < len(b) && isHost(b[v]) {
		v++
	}
	return v
}

func portAfter(b []byte, i int) bool {
	return at(b, i) == ':' && isDigit(at(b, i+1)) && isDigit(at(b, i+2))
}

// fourNumbers tells whether v has the form of an address, which has its own rule.
func fourNumbers(v []byte) bool {
	for _, c := range v {
		if !isDigit(c) && c != '.' {
			return false
		}
	}
	return true
}

// podValue masks a pod's name, behind its namespace if it has one. sure: any name; otherwise it must look generated.
func (w *scanner) podValue(v, lim int, sure bool) {
	b := w.b
	e := v
	for e < lim && (class[b[e]]&(cLower|cDigit) != 0 || b[e] == '-' || b[e] == '.') {
		e++
	}
	if at(b, e) == '/' && e > v {
		f := e + 1
		for e = f; e < lim && (class[b[e]]&(cLower|cDigit) != 0 || b[e] == '-' || b[e] == '.'); e++ {
		}
		v = f
	}
	for e > v && (b[e-1] == '.' || b[e-1] == '-') {
		e--
	}
	name := b[v:e]
	if e == v || !isAlnum(b[v]) || !isLetter(b[v]) && !hasLetter(name) || plain(name) || noValue[string(name)] || class[at(b, e)]&cUpper != 0 || !sure && bytes.IndexByte(name, '-') < 0 {
		return
	}
	w.add(kindPod, v, e)
}

func hasLetter(v []byte) bool {
	for _, c := range v {
		if isLetter(c) {
			return true
		}
	}
	return false
}

// number masks min to max digits with separators between them.
func (w *scanner) number(k kind, v, lim, least, most int) {
	b := w.b
	e, n := v, 0
	if at(b, e) == '+' {
		e++
	}
	last := e
	for e < lim {
		c := b[e]
		if isDigit(c) {
			n++
			last = e + 1
		} else if c != ' ' && c != '-' && c != '.' && c != '(' && c != ')' && c != '*' || c == ' ' && !isDigit(at(b, e+1)) && at(b, e+1) != '(' {
			break
		}
		if n > most {
			break
		}
		e++
	}
	if n >= least && n <= most && !isWord(at(b, last)) {
		w.add(k, v, last)
	}
}

// idValue masks an identity number under its key: letters and digits with at least five digits.
func (w *scanner) idValue(v, lim int) {
	b := w.b
	e, digits, last := v, 0, v
	for e < lim && e-v < 44 && (isAlnum(b[e]) || b[e] == '-' || b[e] == ' ' && isAlnum(at(b, e+1))) {
		if isDigit(b[e]) {
			digits++
			last = e + 1
		}
		if b[e] == ' ' && digits > 0 && isLetter(at(b, e+1)) && isLetter(at(b, e+2)) {
			break
		}
		e++
	}
	for last < e && isAlnum(b[last]) {
		last++
	}
	if digits >= 5 {
		w.add(kindID, v, last)
	}
}

// entityProse handles "pod x", "node x", "host x", "pid 123", "phone 139…" without a delimiter.
func (w *scanner) entityProse(k *key) int {
	b := w.b
	p := closers(b, k.to)
	if p > k.to && k.kind != kindPod {
		return 0
	}
	if at(b, p) == '/' && (k.kind == kindPod || k.kind == kindHost) && (k.from == 0 || b[k.from-1] != '/') && k.to-k.from <= 5 { // pod/cart-0, node/worker-3
		if k.kind == kindPod {
			w.podValue(p+1, min(len(b), p+256), false)
		} else if e := endHost(b[:min(len(b), p+256)], p+1); hostLike(b[p+1:e]) && at(b, e) != '/' {
			w.add(kindHost, p+1, e)
		}
		return 0
	}
	p = skipBlank(b, p)
	if p == k.to || p >= len(b) {
		return 0
	}
	if k.kind == kindID || k.kind == kindPhone || k.kind == kindCard {
		if q := w.skipWords(p, "number", "no", "num", "id", "is", "was"); q > p {
			p = q
		} else {
			for _, x := range [...]string{"number", "no", "num", "id"} {
				if hasFold(b, p, x) && (at(b, p+len(x)) == ':' || at(b, p+len(x)) == '.' || at(b, p+len(x)) == '=') {
					p = skipBlank(b, p+len(x)+1)
				}
			}
		}
	}
	if k.kind == kindHost || k.kind == kindPod || k.kind == kindPID {
		if k.to-k.from > 12 {
			return 0
		}
		p = w.skipWords(p, "name", "id", "named")
	}
	lim := min(len(b), p+300)
	q, from := opening(b, p)
	if q.c != 0 {
		end, _, ok := w.closing(b[:lim], from, q)
		if !ok {
			return 0
		}
		p, lim = from, end
	}
	switch k.kind {
	case kindPod:
		w.podValue(p, lim, q.c != 0)
	case kindHost:
		e := endHost(b[:lim], p)
		for e > p && (b[e-1] == '.' || b[e-1] == '-') {
			e--
		}
		if v := b[p:e]; e > p && !k.hostish && hostName(v) && !plain(v) && !javaName(v) && (hostLike(v) || q.c != 0 && e == lim || portAfter(b, e)) {
			w.add(kindHost, p, e)
			w.hostEnd = max(w.hostEnd, e)
		}
	case kindPID:
		e := p
		for e < lim && isDigit(b[e]) {
			e++
		}
		if e-p >= 2 && e-p <= 8 && !isIdent(at(b, e)) || e-p >= 2 && e-p <= 8 && at(b, e) == '.' && !isDigit(at(b, e+1)) {
			w.add(kindPID, p, e)
		}
	case kindPhone:
		w.number(kindPhone, p, lim, 7, 18)
	case kindCard:
		w.number(kindCard, p, lim, 12, 19)
	case kindID:
		w.idValue(p, lim)
	case kindMAC:
		w.entityValue(k, p, equals)
	}
	return 0
}
