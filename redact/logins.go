package redact

import "bytes"

// logins are the phrases after which a name and its password stand as a pair: "login bob/x", "authentication failed for root:x", login("bob", "x").
var logins = []string{"login", "log in", "logged in", "logging in", "logon", "logged on", "sign in", "signed in", "signin", "sign_in", "authenticate", "authenticated", "auth failed", "authentication failed", "authentication failure", "access denied for", "credentials", "creds"}

// wideLogins are the same in Chinese.
var wideLogins = []string{"账号", "帐号", "账户", "用户", "登录", "登陆"}

// calls are functions whose last arguments are a password; login( and the like are among logins.
var calls = []string{"auth(", "password(", "passwd(", "passphrase(", "credentials(", "secret("}

// dials are functions that take an address first and a password after it.
var dials = []string{"pdo->__construct(", "mysqli->__construct(", "mysqli_connect(", "pdo(", "mysqli(", "getconnection("}

// login looks behind a phrase of logins.
func (w *scanner) login(from, to int) {
	b := w.b
	if from > 0 && isWord(b[from-1]) && at(b, to) != '(' || isWord(at(b, to)) {
		return
	}
	if string(b[from:to]) == "LOGIN" && w.mailLogin(from, to) {
		return
	}
	if at(b, to) == '(' {
		w.call(to, false)
		return
	}
	p := to
	for n := 0; n < 6; n++ {
		q := skipBlank(b, p)
		for q-p < 3 && (at(b, q) == ':' || at(b, q) == ',') && (isBlank(at(b, q+1)) || b[p-1] >= 0x80) {
			q = skipBlank(b, q+1)
		}
		e := q
		for e-q < 9 && isLetter(at(b, e)) {
			e++
		}
		var buf [12]byte
		if e == q || !isBlank(at(b, e)) || !loginWords[string(lowered(buf[:0], b[q:e]))] {
			w.loginPair(q)
			return
		}
		p = e
	}
}

// mailLogin masks the password in the command of IMAP: a1 LOGIN bob x.
func (w *scanner) mailLogin(from, p int) bool {
	b := w.b
	l := from
	for l > 0 && from-l < 10 && (isAlnum(b[l-1]) || b[l-1] == ' ') {
		l--
	}
	if tag := bytes.TrimSpace(b[l:from]); len(tag) == 0 || !hasDigit(tag) || bytes.IndexByte(tag, ' ') > 0 {
		return false
	}
	for n := range 2 {
		q := skipBlank(b, p)
		if q == p || q >= len(b) {
			return false
		}
		o, f := opening(b, q)
		end, next := 0, 0
		if o.c != 0 {
			ok := false
			if end, next, ok = w.closing(b[:min(len(b), f+256)], f, o); !ok {
				return false
			}
			q = f
		} else {
			_, end = w.next(q)
			next = end
		}
		if n == 1 && end > q && next < len(b) && b[next] != '\r' && b[next] != '\n' {
			return false
		}
		if n == 1 && end > q {
			w.secret(q, end)
			return true
		}
		p = next
	}
	return false
}

var loginWords = map[string]bool{"with": true, "as": true, "using": true, "for": true, "user": true, "username": true, "account": true, "failed": true, "attempt": true, "by": true, "of": true, "are": true, "is": true, "to": true, "rejected": true, "denied": true, "failure": true, "error": true, "name": true, "the": true, "admin": true, "invalid": true}

// loginPair masks the second part of name/value, name:value and name / value when it looks made up: letters and digits, no path, no name of a machine.
func (w *scanner) loginPair(p int) {
	b := w.b
	if o, f := opening(b, p); o.c != 0 {
		p = f
	}
	e := p
	for e < len(b) && e-p < 64 && (isWord(b[e]) || b[e] == '.' || b[e] == '-' || b[e] == '@') {
		e++
	}
	if user := b[p:e]; len(user) < 2 || !isLetter(user[0]) || plain(user) {
		return
	}
	v := skipBlank(b, closers(b, e))
	if c := at(b, v); c != '/' && (c != ':' || v > e) {
		return
	}
	if v == e {
		v++
	} else if v++; !isBlank(at(b, v)) {
		return
	}
	v = skipBlank(b, v)
	if o, f := opening(b, v); o.c != 0 {
		v = f
	}
	if w.masked(v) || v >= len(b) {
		return
	}
	end := w.unquoted(b[:min(len(b), v+256)], v, false)
	end = sentence(b, v, max(end, v+1))
	if s := b[v:end]; madeUp(s) && at(b, end) != '/' {
		w.secret(v, end)
	}
}

// userField masks the password of user=bob:x. A name may have a colon in it (system:node:worker-1, ldap:bob): what follows has to look made up.
func (w *scanner) userField(from, p int) {
	b := w.b
	if from > 0 && isAlnum(b[from-1]) {
		return
	}
	if o, f := opening(b, p); o.c != 0 {
		p = f
	}
	c := p
	for c < len(b) && c-p < 64 && (isWord(b[c]) || b[c] == '.' || b[c] == '-' || b[c] == '@') {
		c++
	}
	if at(b, c) != ':' || c-p < 2 || userDomains[string(bytes.ToLower(b[p:c]))] {
		return
	}
	v := c + 1
	if v >= len(b) || w.masked(v) {
		return
	}
	end := w.unquoted(b[:min(len(b), v+256)], v, false)
	if s := b[v:end]; madeUp(s) && bytes.IndexByte(s, ':') < 0 && !numeric(s) {
		w.secret(v, end)
	}
}

// userDomains are words before the colon in a user's name that say where the name is known.
var userDomains = map[string]bool{"system": true, "oidc": true, "ldap": true, "saml": true, "sso": true, "github": true, "gitlab": true, "google": true, "azure": true, "aws": true, "iam": true, "local": true, "arn": true, "urn": true, "ad": true, "id": true, "uid": true, "group": true, "role": true, "service": true, "sa": true, "serviceaccount": true, "http": true, "https": true}

// accessLog masks the password in the user's field of an access log, which stands before " [date".
func (w *scanner) accessLog(i int) {
	b := w.b
	if i+8 >= len(b) || !isLetter(b[i+5]) || b[i+8] != '/' { // 01/Mar/
		return
	}
	l := i
	for l > 0 && i-l < 256 && !isSpace(b[l-1]) {
		l--
	}
	c := bytes.IndexByte(b[l:i], ':')
	if c < 1 || l < 2 || b[l-1] != ' ' || isBlank(b[l-2]) || onlyTags(b[l:i], kindSecret) {
		return
	}
	o := l - 1 // the identity, "-" as a rule, stands between the client and the user
	for o > 0 && l-o < 64 && !isSpace(b[o-1]) {
		o--
	}
	if o > 0 && b[o-1] == ' ' {
		w.secret(l+c+1, i)
	}
}

// madeUp tells whether v looks like a password beside a name: letters and digits, and neither a path, a version nor a name of a machine.
func madeUp(v []byte) bool {
	if len(v) < 5 || !hasDigit(v) || !hasLetter(v) || dnsName(v) || bytes.IndexByte(v, '/') >= 0 || bytes.IndexByte(v, '=') > 0 || fileTypes[string(v[bytes.LastIndexByte(v, '.')+1:])] {
		return false
	}
	return !(lower(v[0]) == 'v' && isDigit(v[1]))
}

// call masks what looks like a password among the arguments of the call whose bracket is b[open]: from the second one on, or all of them.
func (w *scanner) call(open int, all bool) {
	b := w.b
	lim := min(len(b), open+256)
	quotedBefore, n := false, 0
	for p := open + 1; p < lim && n < 6; n++ {
		p = skipSpace(b[:lim], p)
		o, f := opening(b, p)
		from, end, next := p, p, p
		if o.c != 0 {
			ok := false
			if from = f; from >= lim {
				return
			}
			if end, next, ok = w.closing(b[:lim], from, o); !ok {
				return
			}
		} else {
			for end < lim && b[end] != ',' && b[end] != ')' && b[end] != '(' && b[end] != '\n' {
				end++
			}
			next = end
		}
		next = skipSpace(b[:lim], next)
		last := at(b[:lim], next) == ')'
		v := bytes.TrimSpace(b[from:end])
		switch {
		case n == 0 && !all, len(v) < 3, plain(v), w.masked(from), w.harmless(&key{kind: kindSecret}, v, true):
		case o.c == 0 && madeUp(v) && !bytes.ContainsAny(v, ".:$[<{ "):
			w.secret(from, end)
		case o.c != 0 && (madeUp(v) || !dnsName(v) && last && (mixed(v) || n == 1 && quotedBefore || all && n == 0)) && !fileLike(v) && bytes.IndexByte(v, '%') < 0:
			w.secret(from, end)
		}
		quotedBefore = o.c != 0
		if last || at(b[:lim], next) != ',' {
			return
		}
		p = next + 1
	}
}

// word masks the word or the quoted text at p, the argument of a directive: requirepass x.
func (w *scanner) word(p int) {
	b := w.b
	if isDigit(at(b, p)) && isBlank(at(b, p+1)) { // the type of the value, as Cisco writes it
		p = skipBlank(b, p+1)
	}
	if p >= len(b) {
		return
	}
	k := key{from: p, to: p, kind: kindSecret, password: true}
	if o, _ := opening(b, p); o.c == 0 {
		v, _ := w.next(p)
		if len(v) < 3 || plain(v) || v[0] == '-' || v[0] == '(' {
			return
		}
	}
	w.secretValue(&k, p, equals)
}

// accessRules masks the passwords in an access rule of Redis: user bob on >x ~* +@all.
func (w *scanner) accessRules(p int) {
	b := w.b
	if p < w.ruleTo {
		return
	}
	end := w.nearLine(p)
	w.ruleTo = end
	for ; p < end; p++ {
		if c := b[p]; (c == '>' || c == '<' || c == '#') && isBlank(at(b, p-1)) {
			if _, n := tagAt(b, p); n > 0 {
				continue
			}
			e := p + 1
			for e < end && !isSpace(b[e]) && b[e] != '"' && b[e] != '\'' {
				e++
			}
			if v := b[p+1 : e]; len(v) > 2 && !numeric(v) && (c != '#' || len(v) > 60) {
				w.secret(p+1, e)
			}
			p = e
		}
	}
}

// stdin masks what a line feeds to a program that reads a password: echo x | docker login --password-stdin, chpasswd <<< "bob:x".
func (w *scanner) stdin(from, to int) {
	b := w.b
	l := max(0, from-512)
	if n := bytes.LastIndexAny(b[l:from], "\n;&`"); n >= 0 {
		l += n + 1
	}
	if bar := bytes.LastIndexByte(b[l:from], '|'); bar > 0 {
		for _, cmd := range [...]string{"echo ", "printf "} {
			i := bytes.LastIndex(b[l:l+bar], []byte(cmd))
			if i < 0 {
				continue
			}
			v := skipBlank(b, l+i+len(cmd))
			for at(b, v) == '-' || at(b, v) == '%' || isQuote(at(b, v)) && at(b, v+1) == '%' { // flags and a format
				for v < l+bar && !isSpace(b[v]) {
					v++
				}
				v = skipBlank(b, v)
			}
			end := trimRight(b, v, l+bar)
			if o, f := opening(b, v); o.c != 0 && f < end {
				v = f
				end, _, _ = w.closing(b[:end], f, o)
			}
			if v < end && !w.harmless(&key{kind: kindSecret}, b[v:end], true) {
				w.secret(v, end)
			}
			return
		}
	}
	rest := b[to:min(len(b), to+64)]
	if n := bytes.IndexByte(rest, '\n'); n >= 0 {
		rest = rest[:n]
	}
	if i := bytes.Index(rest, []byte("<<<")); i >= 0 {
		w.word(skipBlank(b, to+i+3))
	}
}
