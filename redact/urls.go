package redact

import "bytes"

// maxURL bounds what is looked at behind "://". Longer userinfo is unknown in practice; a hostile one is masked up to the bound by the keys inside it.
const maxURL = 2048

// url handles "://": userinfo is a secret, the host is infrastructure.
func (w *scanner) url(i int) {
	b := w.b
	s := i
	for s > 0 && i-s < 32 && (isAlnum(b[s-1]) || b[s-1] == '+' || b[s-1] == '-' || b[s-1] == '.') {
		s--
	}
	a := i + 3
	if a <= w.urlEnd {
		return
	}
	scheme := b[s:i]
	web := len(scheme) >= 2 && (hasFold(scheme, 0, "http") || hasFold(scheme, 0, "ws") || hasFold(scheme, 0, "file"))
	end, auth, lastAt, query := a, -1, -1, -1
	for end < len(b) && end-a < maxURL {
		c := b[end]
		if c == '<' {
			if _, n := tagAt(b, end); n > 0 {
				end += n
				continue
			}
			break
		}
		if c <= ' ' || c == ':' && has(b, end, "://") || c == '"' || c == '>' || c == '`' || c == '\\' {
			break
		}
		if c == '\'' && !isAlnum(at(b, end+1)) {
			break
		}
		switch c {
		case '/', '?', '#':
			if auth < 0 {
				auth = end
			}
			if c == '?' && query < 0 {
				query = end
			}
		case '@':
			if auth < 0 || !web && query < 0 || lastAt < 0 && !portLike(b[a:auth]) {
				lastAt = end
			}
		}
		end++
	}
	w.steps += end - a
	w.urlEnd = a
	if auth < 0 {
		auth = end
	}
	host := a
	if lastAt >= a {
		host = lastAt + 1
		w.atEnd = max(w.atEnd, host)
		user := b[a:lastAt]
		switch {
		case len(user) == 0, string(user) == "git", string(user) == "<secret>":
		case w.r.o.KeepPlaceholders && placeholderUser(user):
		default:
			w.secret(a, lastAt)
		}
	}
	if w.r.on[kindHost] && len(scheme) > 0 && !bucketSchemes[string(bytes.ToLower(scheme))] {
		w.hostList(host, lastAt >= a || !web)
	}
}

// bucketSchemes are those whose first part names no machine.
var bucketSchemes = map[string]bool{"file": true, "classpath": true, "s3": true, "s3a": true, "s3n": true, "gs": true, "oss": true, "cos": true, "cosn": true, "obs": true, "evidence": true, "schema": true, "docker-pullable": true}

// portLike tells whether an authority without userinfo is complete: no colon, or a port behind the last one.
func portLike(auth []byte) bool {
	c := bytes.LastIndexByte(auth, ':')
	if c < 0 {
		return true
	}
	return c+1 < len(auth) && numeric(auth[c+1:]) || c+1 == len(auth)
}

// placeholderUser tells whether userinfo in a document is user:<password>, user:***, user:${X}.
func placeholderUser(u []byte) bool {
	c := bytes.IndexByte(u, ':')
	if c < 0 {
		return placeholder(u)
	}
	p := u[c+1:]
	for _, w := range [...]string{"password", "pass", "passwd", "pw", "pwd", "secret", "token"} {
		if string(bytes.ToLower(p)) == w {
			return true
		}
	}
	return placeholder(p)
}

// hostList masks the hosts of an authority: one, or several with commas (MongoDB, Kafka).
func (w *scanner) hostList(p int, always bool) {
	b := w.b
	for n := 0; n < 32; n++ {
		e := p
		for e < len(b) && e-p < 255 && isHost(b[e]) {
			e++
		}
		for e > p && (b[e-1] == '.' || b[e-1] == '-' || b[e-1] == '_') {
			e--
		}
		if e > p && hostName(b[p:e]) && (always || !publicName(b[p:e])) {
			w.add(kindHost, p, e)
			w.hostEnd = max(w.hostEnd, e)
		}
		if at(b, e) == ':' {
			for e++; isDigit(at(b, e)); e++ {
			}
		}
		if !always || at(b, e) != ',' || !isAlnum(at(b, e+1)) {
			return
		}
		p = e + 1
	}
}

// address looks at "@": an e-mail address, the userinfo of a DSN without a scheme, or the host of a MySQL account.
func (w *scanner) address(i int) {
	b := w.b
	if i < w.atEnd {
		return
	}
	if w.r.on[kindSecret] && w.dsn(i) {
		return
	}
	if isQuote(at(b, i+1)) && w.r.on[kindHost] { // 'root'@'web-01.corp'
		e := i + 2
		for e < len(b) && e-i < 255 && isHost(b[e]) {
			e++
		}
		if at(b, e) == b[i+1] && hostName(b[i+2:e]) {
			w.add(kindHost, i+2, e)
		}
		return
	}
	if w.email(i) || i == 0 || !isWord(b[i-1]) || !w.r.on[kindHost] { // root@web-01
		return
	}
	e := endHost(b[:min(len(b), i+254)], i+1)
	for e > i+1 && !isAlnum(b[e-1]) {
		e--
	}
	if v := b[i+1 : e]; hostLike(v) && !(v[0] == 'v' && isDigit(v[1])) && !isDigit(v[0]) {
		w.add(kindHost, i+1, e)
		w.hostEnd = max(w.hostEnd, e)
	}
}

// dsn masks user:password of user:password@tcp(host)/db, user:password@/db and user:password@host:port/db.
func (w *scanner) dsn(i int) bool {
	b := w.b
	r := i + 1
	for r < len(b) && r-i < 255 && isHost(b[r]) {
		r++
	}
	proto := at(b, r) == '(' && r > i+1 // tcp( unix( cloudsql( …
	slash := r == i+1 && at(b, r) == '/' && (r+1 >= len(b) || isWord(b[r+1]) || b[r+1] == '/')
	port := r > i+1 && at(b, r) == ':' && isDigit(at(b, r+1))
	path := r > i+1 && at(b, r) == '/'
	bracket := at(b, r) == '[' && r == i+1
	l := i
	for l > 0 && i-l < 256 && !isSpace(b[l-1]) && b[l-1] != '"' && b[l-1] != '`' && b[l-1] != '<' && b[l-1] != '>' && !(b[l-1] == '\'' && !isAlnum(at(b, l-2))) && !(b[l-1] == '=' && isDSNKey(b, l-1)) {
		l--
	}
	w.steps += i - l
	m := maskBefore(b, l)
	if l > 0 && isQuote(b[l-1]) {
		m = maskBefore(b, l-1)
	}
	if m > 2 && has(b, m-3, "://") { // the rest of a URL whose host is masked already
		return false
	}
	c := bytes.IndexByte(b[l:i], ':')
	if proto && c < 0 && l > 0 && isBlank(b[l-1]) { // a password with a blank: back to the word with the colon
		for n := l - 1; n > 0 && i-n < 96 && b[n] != '\n' && b[n] != '"'; n-- {
			if b[n] == ':' && isWord(at(b, n-1)) && !isBlank(at(b, n+1)) {
				for n > 0 && isWord(b[n-1]) {
					n--
				}
				w.secret(n, i)
				return true
			}
		}
	}
	if c < 0 {
		if s := bytes.IndexByte(b[l:i], '/'); s > 0 && (has(b, i+1, "//") || port) && !bytes.Contains(b[l:i], []byte("//")) { // scott/tiger@//db:1521, scott/tiger@db:1521
			w.secret(l, i)
			w.atEnd = i + 1
			return true
		}
		return false
	}
	if o := bytes.LastIndexAny(b[l:l+c], "([{,"); o >= 0 { // no user's name has a bracket
		l, c = l+o+1, c-o-1
	}
	if has(b, l+c, "://") { // the "@" is in a path: the URL has its own rule
		return false
	}
	if d := l + c + 1; !proto && isDigit(at(b, d)) { // registry:5000/shop@sha256:… is a host, a port and a path
		for d < i && isDigit(b[d]) {
			d++
		}
		if at(b, d) == '/' && d < l+c+7 {
			return false
		}
	}
	user := b[l : l+c]
	if c > 0 && user[c-1] >= 0x80 && !proto && !slash { // 邮箱：bob@shop.example
		return false
	}
	if l+c+1 >= i || c < 0 || bytes.IndexByte(user, '/') >= 0 && !proto || onlyTags(b[l:i], kindSecret) {
		return false
	}
	if v := b[l+c+1 : i]; !proto && bytes.IndexByte(v, '/') > max(0, bytes.IndexByte(v, '.')) && bytes.IndexByte(v, '.') > 0 && dnsName(v) { // registry:quay.example/shop/api@sha256:…
		return false
	}
	if !proto && !slash && !port && !path && !bracket {
		// user:password@host alone reads like key:mail@example.com
		if r == i+1 || maskBefore(b, l) >= 0 || !hasLetter(b[i+1:r]) && bytes.Count(b[i+1:r], []byte{'.'}) != 3 || mailKeys[string(bytes.ToLower(lastWord(user)))] || len(user) == 0 {
			return false
		}
	}
	if (port || path) && len(user) > 0 && mailKeys[string(bytes.ToLower(lastWord(user)))] {
		return false
	}
	if w.r.o.KeepPlaceholders && placeholderUser(b[l:i]) {
		return true
	}
	w.secret(l, i)
	w.atEnd = i + 1
	if w.r.on[kindHost] {
		switch {
		case proto && hasFold(b, i+1, "tcp"):
			w.hostList(r+1, true)
		case port, path:
			w.hostList(i+1, true)
		}
	}
	return true
}

// mailKeys are words before a colon that say that an address follows.
var mailKeys = map[string]bool{"mailto": true, "mail": true, "email": true, "from": true, "to": true, "cc": true, "bcc": true, "sip": true, "sips": true, "xmpp": true, "user": true, "username": true, "owner": true, "author": true, "sender": true, "recipient": true, "contact": true, "by": true, "account": true, "login": true, "for": true, "address": true, "rcpt": true, "reply": true, "name": true, "id": true, "customer": true, "member": true, "notify": true, "image": true, "pull": true, "principal": true}

func lastWord(u []byte) []byte {
	i := len(u)
	for i > 0 && isWord(u[i-1]) {
		i--
	}
	return u[i:]
}

// isDSNKey tells whether the "=" at b[i] separates a key from a DSN (dsn=root:pw@tcp(…)) and is not part of a password.
func isDSNKey(b []byte, i int) bool {
	l := i
	for l > 0 && i-l < maxIdent && isIdent(b[l-1]) {
		l--
	}
	return l < i && (l == 0 || b[l-1] != ':')
}
