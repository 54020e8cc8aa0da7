package redact

import "bytes"

// markup handles elements: <password>x</password>, <entry key="db.password">x</entry>, <key>password</key><string>x</string>.
func (w *scanner) markup(k *key) bool {
	b, p := w.b, k.to
	l := k.from
	for n := 0; n < 24 && l > 0 && (isIdent(b[l-1]) || b[l-1] == ':'); n++ { // a namespace prefix
		l--
	}
	var name []byte
	switch {
	case l > 0 && b[l-1] == '<' && (isSpace(at(b, p)) || at(b, p) == '>' || at(b, p) == '/'):
		for n := 0; n < 512 && p < len(b) && b[p] != '>' && b[p] != '<'; n++ {
			if k.kind == kindSecret && isSpace(b[p]) && (hasFold(b, p+1, "value=") || hasFold(b, p+1, "val=")) { // <password value="x"/>
				for p++; b[p] != '='; p++ {
				}
				return p+1 < len(b) && w.secretValue(k, p+1, equals) > 0
			}
			p++
		}
		if at(b, p) != '>' || b[p-1] == '/' {
			return false
		}
		name = b[l:k.to]
		p++
	case has(b, p, "</"): // plist
		if k.kind == kindSecret && w.htmlHeading(k, p) {
			return true
		}
		for p += 2; p < len(b) && isWord(b[p]); p++ {
		}
		if p = skipSpace(b, p+1); at(b, p) != '<' || at(b, p+1) == '/' {
			return false
		}
		for n := 0; n < 64 && p < len(b) && b[p] != '>'; n++ {
			p++
		}
		p++
	default:
		q := closers(b, p)
		if at(b, q) != '>' || q == p {
			return false
		}
		p = q + 1
	}
	return !w.masked(p) && w.elementValue(k, p, name) > 0
}

// elementValue masks the text of an element up to its end tag: name, or any when that is empty.
func (w *scanner) elementValue(k *key, p int, name []byte) int {
	b := w.b
	if p >= len(b) {
		return 0
	}
	if k.kind != kindSecret {
		w.entityValue(k, skipSpace(b, p), equals)
		return p
	}
	end := len(b)
	if has(b, p, "<![CDATA[") {
		p += len("<![CDATA[")
		if n := bytes.Index(b[p:], []byte("]]>")); n >= 0 {
			end = p + n
		}
	} else {
		for i := p; i < len(b); i++ {
			if b[i] == '<' {
				if _, n := tagAt(b, i); n > 0 {
					i += n - 1
					continue
				}
				c := at(b, i+1)
				if c == '/' || isLetter(c) && i > p {
					end = i
					if w.r.o.KeepPlaceholders && !(c == '/' && has(b, i+2, string(name))) {
						return 0 // <password> in a document stands for one, whatever comes later
					}
					if n := bytes.IndexByte(b[p:i], '\n'); n > 0 && c != '/' { // an element of a later line does not end this one
						end = p + n
					}
					break
				}
			}
		}
		if end == len(b) && w.r.o.KeepPlaceholders { // <password> in a document stands for one
			return 0
		}
		if end == len(b) { // no end tag: the line is the value, unless a sentence goes on: "AUTH <password> called without …"
			if end = w.lineEnd(b, p); isBlank(b[p]) {
				return 0
			}
		}
	}
	if w.harmless(k, b[p:end], true) {
		return 0
	}
	w.secret(p, end)
	return end
}

// less looks at "<": a mask is jumped over, so that no rule reads its inside, unless it is an element with the name of a mask.
func (w *scanner) less(i int) int {
	b := w.b
	k, n := tagAt(b, i)
	if n == 0 {
		return i + 1
	}
	p := i + n
	name := kindNames[k]
	if n == len(name)+2 {
		for j := p; j < len(b) && j-p < 512; j++ {
			if b[j] != '<' {
				continue
			}
			if _, m := tagAt(b, j); m > 0 {
				j += m - 1
				continue
			}
			if at(b, j+1) == '/' && hasFold(b, j+2, name) && at(b, j+2+len(name)) == '>' && j > p {
				return max(p, w.elementValue(&key{from: i, to: p, kind: k}, p, nil))
			}
			break
		}
	}
	return p
}

// flag handles --password x, -password x and /password:x: the next word is the value.
func (w *scanner) flag(k *key) int {
	b, l := w.b, k.from
	if k.weak || k.code || l == 0 || b[l-1] != '-' && (b[l-1] != '/' || l > 1 && !isBlank(b[l-2])) {
		return 0
	}
	if o := l - 2; b[l-1] == '-' && o >= 0 && b[o] != '-' && !isSpace(b[o]) && !isQuote(b[o]) && b[o] != ',' {
		return 0
	}
	p := closers(b, k.to) // ["--password", "x"]
	if at(b, p) == ',' && p > k.to {
		p++
	} else if p > k.to || !isBlank(at(b, p)) {
		return 0
	}
	p = skipBlank(b, p)
	if p >= len(b) || at(b, p) == '-' && !isAlnum(at(b, p+1)) || at(b, p) == '-' && at(b, p-1) == ' ' && isLetter(at(b, p+1)) || b[p] == '\n' {
		return 0
	}
	if k.auth || k.cookie {
		k.from = k.to // the flag is not part of a quoted header
		if k.auth {
			return w.authorization(p, w.limit(k, p))
		}
		return w.cookies(p, w.limit(k, p), k.set)
	}
	return w.secretValue(k, p, equals)
}
