package redact

import "bytes"

// authorization masks the credentials of an Authorization header at b[v:lim] and keeps the scheme.
func (w *scanner) authorization(v, lim int) int {
	b := w.b
	quoted := false
	if q, from := opening(b, v); q.c != 0 {
		v, quoted = from, true
	} else if b[v] == '[' {
		v, quoted = v+1, true
		if q, from := opening(b, v); q.c != 0 {
			v = from
			lim, _, _ = w.closing(b[:lim], from, q)
		}
	}
	if v >= lim {
		return 0
	}
	if w.r.o.KeepPlaceholders && placeholder(b[v:lim]) {
		return lim
	}
	e := v
	for e < lim && !isSpace(b[e]) && b[e] != '"' && b[e] != '\\' && b[e] != '+' {
		e++
	}
	scheme := b[v:e]
	p := e
	for p < lim && (isBlank(b[p]) || b[p] == '+') {
		p++
	}
	if p == e || p >= lim || !schemeLike(scheme) {
		if quoted {
			e = lim
		} else {
			e = w.unquoted(b[:lim], v, false)
		}
		if plain(b[v:e]) && !quoted {
			return 0
		}
		w.secret(v, e)
		return e
	}
	known := authSchemes[string(bytes.ToLower(scheme))]
	if !known {
		word, _ := w.next(p)
		if !mixed(word) && !quoted { // "Authorization: required for this path"
			if plain(scheme) {
				return 0
			}
			w.secret(v, e)
			return e
		}
	}
	if w.r.o.KeepPlaceholders && placeholder(b[p:w.unquoted(b[:lim], p, false)]) {
		return lim
	}
	if quoted {
		w.secret(p, lim)
		return lim
	}
	e = w.authParams(p, lim)
	if plain(b[p:e]) {
		return 0
	}
	w.secret(p, e)
	return e
}

// authSchemes are the registered schemes and the ones common services invented.
var authSchemes = map[string]bool{"basic": true, "bearer": true, "digest": true, "negotiate": true, "ntlm": true, "token": true, "apikey": true, "api-key": true, "key": true, "oauth": true, "hawk": true, "jwt": true, "ssws": true, "splunk": true, "mac": true, "dpop": true,
	"signature": true, "aws": true, "aws4-hmac-sha256": true, "gssapi": true, "kerberos": true, "sharedkey": true, "sharedkeylite": true, "hmac": true, "goog4-rsa-sha256": true, "tc3-hmac-sha256": true, "hoba": true, "scram-sha-256": true, "privatetoken": true, "genie": true, "genkey": true, "genieKey": true}

func schemeLike(s []byte) bool {
	if len(s) == 0 || len(s) > 24 || !isLetter(s[0]) {
		return false
	}
	if authSchemes[string(bytes.ToLower(s))] {
		return true
	}
	if bytes.Contains(s, []byte("HMAC-")) || bytes.Contains(s, []byte("-SHA")) { // ACS3-HMAC-SHA256 and other signatures of requests
		return true
	}
	for _, c := range s {
		if !isLetter(c) && c != '-' {
			return false
		}
	}
	return true
}

// authParams is the end of credentials: one word, or name=value pairs with commas.
func (w *scanner) authParams(p, lim int) int {
	b := w.b[:lim]
	for {
		i := p
		for i < lim && isIdent(b[i]) {
			i++
		}
		e := 0
		if q, from := opening(b, i+1); at(b, i) == '=' && i > p && q.c != 0 {
			_, e, _ = w.closing(b, from, q)
		} else {
			e = i
			for e < lim && !isSpace(b[e]) && b[e] != ',' && b[e] != '"' && b[e] != '\'' && b[e] != '\\' {
				e++
			}
			if at(b, i) != '=' && at(b, e) != ',' {
				return max(e, w.unquoted(b, p, false))
			}
		}
		c := skipBlank(b, e)
		if at(b, c) != ',' {
			return max(e, w.unquoted(b, e, false))
		}
		c = skipBlank(b, c+1)
		j := c
		for j < lim && isIdent(b[j]) {
			j++
		}
		if at(b, j) != '=' {
			return max(e, w.unquoted(b, e, false))
		}
		p = c
	}
}

// cookieAttributes are the names in Set-Cookie that are not cookies.
var cookieAttributes = map[string]bool{"path": true, "domain": true, "expires": true, "max-age": true, "samesite": true, "secure": true, "httponly": true, "partitioned": true, "priority": true, "version": true, "comment": true}

// cookies masks every value of a cookie header and keeps the names. Which cookie is harmless cannot be known.
func (w *scanner) cookies(v, lim int, set bool) int {
	b := w.b
	bracketed := false
	if q, from := opening(b, v); q.c != 0 {
		v = from
	} else if b[v] == '[' || b[v] == '{' {
		v, bracketed = v+1, true
		if q, from := opening(b, v); q.c != 0 {
			v = from
		}
	}
	for n := 0; v < lim; n++ {
		e := v
		for e < lim && b[e] != '=' && b[e] != ';' && b[e] != ',' && !isSpace(b[e]) && b[e] != '"' && b[e] != ':' {
			e++
		}
		name := b[v:e]
		if e >= lim || b[e] != '=' && !(bracketed && b[e] == ':') {
			if n == 0 && !plain(name) && len(name) > 0 { // not a list of pairs: one opaque value
				end := w.unquoted(b[:lim], v, false)
				if w.r.o.KeepPlaceholders && placeholder(b[v:end]) {
					return end
				}
				w.secret(v, end)
				return end
			}
			if e < lim && b[e] == ';' {
				v = skipBlank(b, e+1)
				continue
			}
			return e
		}
		attr := set && n > 0 && cookieAttributes[string(bytes.ToLower(name))]
		from := e + 1
		end, next := from, from
		if q, f := opening(b[:lim], from); q.c != 0 && !attr { // within the header: a quote behind it ends the text around
			from = f
			end, next, _ = w.closing(b[:lim], f, q)
		} else {
			for end < lim && b[end] != ';' && (attr || !isSpace(b[end])) && b[end] != '\n' {
				if _, n := tagAt(b, end); n > 0 {
					end += n
					continue
				}
				if (b[end] == '"' || b[end] == ',' || b[end] == '}' || b[end] == ']') && !isAlnum(at(b, end+1)) && !attr {
					break
				}
				end++
			}
			next = end
		}
		if !attr && !(w.r.o.KeepPlaceholders && placeholder(b[from:end])) {
			w.secret(from, end)
		}
		p := skipBlank(b, next)
		if p >= lim || b[p] != ';' && !(bracketed && b[p] == ',') {
			return next
		}
		v = skipBlank(b, p+1)
	}
	return v
}

// bearer handles the scheme's name outside of its header: "Bearer abc…".
func (w *scanner) bearer(to int) {
	b := w.b
	p := skipBlank(b, to)
	if at(b, p) == ':' || at(b, p) == '=' {
		p = skipBlank(b, p+1)
	}
	if p == to || p >= len(b) {
		return
	}
	if q, from := opening(b, p); q.c != 0 {
		p = from
	}
	e := p
	for e < len(b) && (isB64(b[e]) || b[e] == '.' || b[e] == '~' || b[e] == ':' || b[e] == '|') {
		e++
	}
	for e < len(b) && b[e] == '=' {
		e++
	}
	if e > p && b[e-1] == '=' && isAlnum(at(b, e)) { // key=value
		return
	}
	v := b[p:e]
	if len(v) >= 6 && mixed(v) && !plain(v) && !numericOrWord(v) || len(v) >= 20 {
		w.secret(p, e)
	}
}

// numericOrWord tells whether v is a small thing of prose: a number or words with a hyphen or a full stop.
func numericOrWord(v []byte) bool {
	letters, digits := false, false
	for _, c := range v {
		digits = digits || isDigit(c)
		letters = letters || isLetter(c)
	}
	return !letters || !digits && len(v) < 16
}

// basic handles "Basic <base64 of user:password>" outside of its header.
func (w *scanner) basic(to int) {
	b := w.b
	p := skipBlank(b, to)
	if p == to {
		return
	}
	e := p
	for e < len(b) && (isB64(b[e]) || b[e] == '=') {
		e++
	}
	if e-p < 6 {
		return
	}
	if d := decode64(b[p:e]); len(d) > 2 && bytes.IndexByte(d, ':') >= 0 && printable(d) {
		w.secret(p, e)
	}
}
