package redact

import "bytes"

// internalLabels end names that only a private network has.
var internalLabels = map[string]bool{"internal": true, "local": true, "lan": true, "corp": true, "intra": true, "intranet": true, "svc": true, "consul": true, "localdomain": true, "private": true, "compute": true}

// topLabels are the public endings after which a name of three labels, or one with a port, is taken for a host. Endings that are also file types or packages are left out.
var topLabels = map[string]bool{"com": true, "net": true, "org": true, "cn": true, "io": true, "de": true, "uk": true, "fr": true, "jp": true, "eu": true, "us": true, "cloud": true, "example": true, "test": true, "invalid": true, "arpa": true, "edu": true, "gov": true, "kr": true, "in": true, "au": true, "ru": true, "br": true}

// publicHosts are sites of documentation and schemas: an address there says where to read on.
var publicHosts = map[string]bool{"w3.org": true, "slf4j.org": true, "apache.org": true, "github.com": true, "gitlab.com": true, "microsoft.com": true, "oracle.com": true, "mysql.com": true, "mariadb.com": true, "postgresql.org": true, "kubernetes.io": true, "docker.com": true, "docker.io": true, "golang.org": true, "go.dev": true, "python.org": true, "spring.io": true,
	"springframework.org": true, "xmlsoap.org": true, "nodejs.org": true, "mozilla.org": true, "nginx.org": true, "redis.io": true, "elastic.co": true, "grafana.com": true, "prometheus.io": true, "stackoverflow.com": true, "wikipedia.org": true, "openssl.org": true, "ietf.org": true, "json.org": true, "google.com": true, "googleapis.com": true, "stripe.com": true, "slack.com": true, "k8s.io": true, "gcr.io": true, "quay.io": true, "npmjs.org": true, "npmjs.com": true, "pypi.org": true, "maven.org": true, "rubyonrails.org": true, "djangoproject.com": true, "hibernate.org": true, "eclipse.org": true, "android.com": true, "gradle.org": true, "opentelemetry.io": true, "discord.com": true, "discordapp.com": true, "telegram.org": true, "office.com": true, "openai.com": true, "anthropic.com": true, "rust-lang.org": true, "php.net": true, "rabbitmq.com": true, "mongodb.org": true, "mongodb.com": true, "dingtalk.com": true, "feishu.cn": true, "zapier.com": true, "pagerduty.com": true, "weixin.qq.com": true}

// publicName tells whether h belongs to one of publicHosts.
func publicName(h []byte) bool {
	if publicHosts[string(h)] {
		return true
	}
	for i, c := range h {
		if c == '.' && publicHosts[string(h[i+1:])] {
			return true
		}
	}
	return false
}

// hostName tells whether v can name a machine: letters in it, no loopback name, no word of a message, no file.
func hostName(v []byte) bool {
	if len(v) == 0 || len(v) > 253 || !isAlnum(v[0]) || hasFold(v, 0, "localhost") && !isAlnum(at(v, 9)) {
		return false
	}
	letter := false
	for _, c := range v {
		if !isHost(c) {
			return false
		}
		letter = letter || isLetter(c)
	}
	return letter
}

// hostLike is hostName with a digit, a dot or a hyphen in it, as a weak key asks.
func hostLike(v []byte) bool {
	if !hostName(v) || javaName(v) {
		return false
	}
	dot, dash, digit := false, false, false
	for _, c := range v {
		dot, dash, digit = dot || c == '.', dash || c == '-', digit || isDigit(c)
	}
	return dot && !isDigit(v[0]) || dash && digit
}

// javaName tells whether v is a package, a class or a file.
func javaName(v []byte) bool {
	for _, p := range [...]string{"com.", "org.", "net.", "io.", "java.", "javax.", "jakarta.", "sun.", "cn.", "github.com.", "kotlin.", "scala.", "system.", "microsoft."} {
		if hasFold(v, 0, p) {
			return true
		}
	}
	i := bytes.LastIndexByte(v, '.') + 1
	return i < len(v) && class[v[i]]&cUpper != 0 && i > 0 && class[at(v, i+1)]&cLower != 0 || fileTypes[string(v[i:])] && i > 0
}

// hostSuffix looks at ".internal", ".com" and the like: the name they end is a host.
func (w *scanner) hostSuffix(from, to int) {
	b := w.b
	if from < w.hostEnd || !w.r.on[kindHost] || isWord(at(b, to)) {
		return
	}
	l, r := from, to
	for l > 0 && from-l < 253 && isHost(b[l-1]) {
		l--
	}
	for r < len(b) && r-to < 64 && isHost(b[r]) {
		r++
	}
	for r > to && (b[r-1] == '.' || b[r-1] == '-' || b[r-1] == '_') {
		r--
	}
	for l < from && !isAlnum(b[l]) {
		l++
	}
	w.steps += r - l
	w.hostEnd = r
	v := b[l:r]
	if l == from || at(b, l-1) == '@' || at(b, l-1) == '/' && at(b, l-2) != '/' && !w.slashHost(l) || at(b, l-1) == '<' || javaName(v) || !hostName(v) {
		return
	}
	last := v[bytes.LastIndexByte(v, '.')+1:]
	dots := bytes.Count(v, []byte{'.'})
	port := at(b, r) == ':' && isDigit(at(b, r+1)) && isDigit(at(b, r+2))
	var buf [24]byte
	l2 := lowered(buf[:0], last)
	switch {
	case publicName(v):
		return
	case internalLabels[string(l2)] && string(l2) != "compute" && (dots > 1 || string(l2) != "private" && string(l2) != "svc" || port):
	case topLabels[string(l2)] && (dots >= 2 || port) && !upper(v):
	default:
		return
	}
	if at(b, r) == '(' || at(b, r) == '/' && !isAlnum(at(b, l-1)) && l > 0 && b[l-1] == '.' {
		return
	}
	w.add(kindHost, l, r)
}

// slashHost tells whether the "/" before b[l] stands between an address and a name, as Java prints sockets, and does not belong to a path.
func (w *scanner) slashHost(l int) bool {
	return l < 2 || isSpace(w.b[l-2]) || w.b[l-2] == '(' || w.b[l-2] == '='
}

// upper tells whether a label of v begins with a capital, as packages and classes do.
func upper(v []byte) bool {
	for i, c := range v {
		if class[c]&cUpper != 0 && (i == 0 || v[i-1] == '.') {
			return true
		}
	}
	return false
}

// ipName masks a name that spells an address: ip-10-1-2-3.ec2.internal, ec2-54-1-2-3.compute-1.amazonaws.com.
func (w *scanner) ipName(i int) bool {
	b := w.b
	r := i
	for n := 0; n < 4; n++ {
		if at(b, r) != '-' || !isDigit(at(b, r+1)) {
			return false
		}
		for r++; isDigit(at(b, r)); r++ {
		}
		if r-i > 20 {
			return false
		}
	}
	l := i
	for l > 0 && i-l < 16 && isAlnum(b[l-1]) {
		l--
	}
	if l == i || !hasLetter(b[l:i]) || !(hasFold(b, l, "ip") || hasFold(b, l, "ec2")) && !(at(b, r) == '.' || at(b, r) == '-') {
		return false
	}
	for l > 0 && i-l < 64 && isHost(b[l-1]) {
		l--
	}
	for r < len(b) && r-i < 200 && isHost(b[r]) {
		r++
	}
	for b[r-1] == '.' {
		r--
	}
	w.add(kindHost, l, r)
	w.hostEnd = max(w.hostEnd, r)
	return true
}

// numbered masks a name with a number and a port, without a key: kafka-0:9092.
func (w *scanner) numbered(i int) bool {
	b := w.b
	e := i + 1
	for e-i < 5 && isDigit(at(b, e)) {
		e++
	}
	r := e + 1
	for r-e < 7 && isDigit(at(b, r)) {
		r++
	}
	if at(b, e) != ':' || r-e < 4 || r-e > 6 || isWord(at(b, r)) || at(b, r) == ':' || at(b, r) == '.' {
		return false
	}
	l := i
	for l > 0 && i-l < 64 && (class[b[l-1]]&(cLower|cDigit) != 0 || b[l-1] == '-') {
		l--
	}
	if l == i || !isLetter(b[l]) || l > 0 && (isWord(b[l-1]) || b[l-1] == '.' || b[l-1] == '$') {
		return false
	}
	for _, p := range [...]string{"thread", "exec", "pool", "task", "job", "line", "step", "step", "nio", "scheduling", "reactor"} {
		if bytes.Contains(b[l:i], []byte(p)) {
			return false
		}
	}
	w.add(kindHost, l, e)
	w.hostEnd = max(w.hostEnd, e)
	return true
}

// dashes looks at "-": the hash of a pod's name, a MAC, an address spelled in a name.
func (w *scanner) dashes(i int) {
	b := w.b
	if !w.r.on[kindPod] || i == 0 || !isAlnum(b[i-1]) || !isAlnum(at(b, i+1)) {
		return
	}
	if at(b, i+3) == '-' && isHex(b[i-1]) && w.macDash(i) {
		return
	}
	if isDigit(b[i+1]) && i >= w.hostEnd && (w.ipName(i) || w.numbered(i)) {
		return
	}
	n := 0
	switch {
	case at(b, i+10) == '-':
		n = 9
	case at(b, i+11) == '-':
		n = 10
	case at(b, i+9) == '-':
		n = 8
	case at(b, i+8) == '-':
		n = 7
	default:
		return
	}
	hash, tail := b[i+1:i+1+n], i+2+n
	digits, letters := 0, 0
	for _, c := range hash {
		switch {
		case isDigit(c):
			digits++
		case class[c]&cLower != 0:
			letters++
		default:
			return
		}
	}
	if tail+5 > len(b) || isAlnum(at(b, tail+5)) || at(b, tail+5) == '-' && isAlnum(at(b, tail+6)) {
		return
	}
	td := 0
	for _, c := range b[tail : tail+5] {
		if class[c]&(cLower|cDigit) == 0 {
			return
		}
		if isDigit(c) {
			td++
		}
	}
	if letters == 0 && (td == 0 || td == 5 || n != 8) || digits == 0 && (td == 0 || !safe(hash) || !safe(b[tail:tail+5])) || digits > 0 && letters > 0 && td == 5 {
		return
	}
	l := i
	for l > 0 && i-l < 190 && (class[b[l-1]]&(cLower|cDigit) != 0 || b[l-1] == '-' || b[l-1] == '.') {
		l--
	}
	for l < i && !isLetter(b[l]) {
		l++
	}
	if l < i {
		w.add(kindPod, l, tail+5)
	}
}

// safe tells whether v uses only the letters that Kubernetes generates names from.
func safe(v []byte) bool {
	for _, c := range v {
		if bytes.IndexByte([]byte("bcdfghjklmnpqrstvwxz2456789"), c) < 0 {
			return false
		}
	}
	return true
}
