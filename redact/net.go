package redact

import "net/netip"

// dots looks at digit "." digit at b[i:i+3]: an IPv4 address or a phone number.
func (w *scanner) dots(i int) {
	b := w.b
	if i < w.dotEnd {
		return
	}
	l := i
	for l > 0 && i-l < 4 && isDigit(b[l-1]) {
		l--
	}
	r, n, run, octet, ok := l, 0, 0, 0, true
	for r < len(b) && r-l < 24 {
		if isDigit(b[r]) {
			run++
			octet = octet*10 + int(b[r]-'0')
			ok = ok && octet < 256 && run <= 3
		} else if b[r] == '.' && isDigit(at(b, r+1)) {
			n, run, octet = n+1, 0, 0
		} else {
			break
		}
		r++
	}
	w.dotEnd = r
	w.steps += r - l
	if n == 4 && (hasFold(b, l, "10.") || hasFold(b, l, "192.168.") || hasFold(b, l, "127.")) { // tcpdump and BSD write the port behind a dot
		for r--; r > l && b[r] != '.'; r-- {
		}
		if w.r.on[kindIP] && (l == 0 || !isIdent(b[l-1])) {
			w.add(kindIP, l, r)
		}
		return
	}
	if n != 3 || !ok || isDigit(at(b, r)) {
		if n == 2 {
			w.phoneDots(l, r)
		}
		return
	}
	if !w.r.on[kindIP] || l > 0 && (isWord(b[l-1]) || b[l-1] == '.') || isWord(at(b, r)) && at(b, r) != '_' || at(b, r) == '.' && isDigit(at(b, r+1)) {
		return
	}
	if w.versionBefore(l) || at(b, r) == '-' && isLetter(at(b, r+1)) && l > 0 && b[l-1] == '-' {
		return
	}
	if w.r.o.KeepPlaceholders && documentation(b[l:r]) {
		return
	}
	if at(b, r) == '.' && isLetter(at(b, r+1)) { // the beginning of a name in reverse DNS
		if e := endHost(b, r); w.r.on[kindHost] {
			w.add(kindHost, l, e)
			w.hostEnd = max(w.hostEnd, e)
			return
		}
	}
	w.add(kindIP, l, r)
	w.socket(l)
}

// socket masks the name before "/address", as Java prints a resolved socket address.
func (w *scanner) socket(i int) {
	b := w.b
	if i < 2 || b[i-1] != '/' || !w.r.on[kindHost] {
		return
	}
	l := i - 1
	for l > 0 && i-l < 128 && isHost(b[l-1]) {
		l--
	}
	if v := b[l : i-1]; hostName(v) && isAlnum(v[len(v)-1]) && (l == 0 || b[l-1] != '/' && b[l-1] != '\\' && b[l-1] != '$') {
		w.add(kindHost, l, i-1)
	}
}

// versionBefore tells whether what stands before the dotted number at b[i] makes a version of it.
func (w *scanner) versionBefore(i int) bool {
	b := w.b
	if i == 0 {
		return false
	}
	switch b[i-1] {
	case '-': // libfoo-1.2.3.4, but not 10.0.0.1-10.0.0.9
		return i > 1 && isLetter(b[i-2])
	case '/': // Chrome/120.0.0.0, but not host/10.0.0.1
		for _, p := range [...]string{"chrome", "chromium", "edg", "edge", "opr", "opera", "firefox", "safari", "version", "vivaldi", "yabrowser", "headlesschrome", "electron", "crios", "fxios", "brave"} {
			if i-1 >= len(p) && hasFold(b, i-1-len(p), p) {
				return true
			}
		}
		return false
	case 'v', 'V':
		return true
	}
	j := i
	for j > 0 && i-j < 8 && (isBlank(b[j-1]) || isQuote(b[j-1]) || b[j-1] == '=' || b[j-1] == ':' || b[j-1] == '(' || b[j-1] == '\\') {
		j--
	}
	if j == i {
		return false
	}
	for _, p := range [...]string{"version", "versions", "ver", "release", "build", "revision", "rev", "firmware", "kernel", "driver", "assembly", "assemblyversion", "upgrade to", "upgraded to", "downgraded to", "oid", "agent"} {
		if j >= len(p) && hasFold(b, j-len(p), p) && (j == len(p) || !isLetter(b[j-len(p)-1]) || len(p) >= 7) {
			return true
		}
	}
	return false
}

// documentation tells whether an address is reserved for documents (RFC 5737) or names no machine.
func documentation(a []byte) bool {
	for _, p := range [...]string{"192.0.2.", "198.51.100.", "203.0.113.", "127.0.0.1", "0.0.0.0"} {
		if has(a, 0, p) {
			return true
		}
	}
	return false
}

// colons looks at ":" between hexadecimal digits: MAC and IPv6, but no clock time and no scope.
func (w *scanner) colons(i int) {
	b := w.b
	if i < w.colonEnd || !w.r.on[kindIP] {
		return
	}
	next := at(b, i+1)
	if next != ':' && !isHex(next) {
		return
	}
	l := i
	for l > 0 && i-l < 5 && isHex(b[l-1]) {
		l--
	}
	if l == i && next != ':' {
		return
	}
	r, groups, run, double, digit := l, 0, 0, 0, false
	pairs := true
	for r < len(b) && r-l < 64 {
		c := b[r]
		if isHex(c) {
			run++
			digit = digit || isDigit(c)
		} else if c == ':' {
			if n := at(b, r+1); n != ':' && !isHex(n) {
				if b[r-1] == ':' && groups > 1 && r > l+1 { // 2001:db8::/32
					double++
					r++
				}
				break
			}
			if run > 0 {
				pairs = pairs && run == 2
				groups++
			} else {
				double++
			}
			run = 0
		} else if c == '.' && run > 0 && isDigit(at(b, r+1)) && double > 0 { // ::ffff:10.0.0.1
			run++
		} else {
			break
		}
		r++
	}
	if run > 0 {
		pairs = pairs && run == 2
		groups++
	}
	w.colonEnd = r
	w.steps += r - l
	if l > 0 && (isWord(b[l-1]) || b[l-1] == ':' || b[l-1] == '.') || isWord(at(b, r)) {
		return
	}
	e := r
	for e < len(b) && e-r < 4 && b[e] == ':' {
		e++
	}
	if _, n := tagAt(b, e); n > 0 || maskEnds(b, l) { // the rest of what is masked already
		return
	}
	if double == 0 && pairs && (groups == 6 || groups == 8) {
		w.add(kindMAC, l, r)
		return
	}
	if double == 0 && groups != 8 || double > 1 && !(double == 2 && l == i) || groups+double < 2 {
		return
	}
	if !digit && groups < 4 && !(l > 0 && b[l-1] == '[') {
		return
	}
	if _, err := netip.ParseAddr(string(b[l:r])); err != nil {
		return
	}
	if w.r.o.KeepPlaceholders && (hasFold(b, l, "2001:db8:") || string(b[l:r]) == "::1") {
		return
	}
	w.add(kindIP, l, r)
	w.dotEnd = max(w.dotEnd, r)
}

// maskEnds tells whether a mask ends right before b[i].
func maskEnds(b []byte, i int) bool { return maskBefore(b, i) >= 0 }

// maskBefore is where the mask that ends right before b[i] begins, or -1.
func maskBefore(b []byte, i int) int {
	if i < 4 || b[i-1] != '>' {
		return -1
	}
	for j := i - 2; j >= 0 && i-j < 24; j-- {
		if b[j] == '<' {
			if _, n := tagAt(b, j); n == i-j {
				return j
			}
			return -1
		}
	}
	return -1
}

// macDash handles aa-bb-cc-dd-ee-ff around the "-" at b[i].
func (w *scanner) macDash(i int) bool {
	b := w.b
	l := i - 2
	if l < 0 || l > 0 && (isWord(b[l-1]) || b[l-1] == '-') {
		return false
	}
	letter := false
	for n := range 17 {
		c := at(b, l+n)
		if n%3 == 2 {
			if c != '-' {
				return false
			}
		} else if !isHex(c) {
			return false
		}
		letter = letter || isLetter(c)
	}
	if !letter || isWord(at(b, l+17)) || at(b, l+17) == '-' {
		return false
	}
	w.add(kindMAC, l, l+17)
	return true
}

// bracket looks at "[": a process id behind a program's name, nginx[28341]: or PostgreSQL's UTC [28341].
func (w *scanner) bracket(i int) {
	b := w.b
	if !w.r.on[kindPID] || !isDigit(at(b, i+1)) || !isDigit(at(b, i+2)) {
		return
	}
	e := i + 1
	for e < len(b) && e-i < 9 && isDigit(b[e]) {
		e++
	}
	if at(b, e) != ']' || i == 0 {
		return
	}
	if e-i < 4 && !w.startsLine(i) || has(b, i-8, "SQLSTATE") {
		return
	}
	if p := b[i-1]; (isAlnum(p) || p == ')' || p == '_' || p == '-') && (at(b, e+1) == ':' || at(b, e+1) == ' ' && at(b, e+2) == ':') {
		w.add(kindPID, i+1, e)
		w.syslogHost(i)
	} else if p == ' ' && i >= 4 && (has(b, i-4, "UTC ") || has(b, i-4, "GMT ") || has(b, i-4, "CST ")) {
		w.add(kindPID, i+1, e)
	}
}

// startsLine tells whether the word before b[i] begins its line.
func (w *scanner) startsLine(i int) bool {
	for n := 0; n < 64 && i > 0 && isIdent(w.b[i-1]); n++ {
		i--
	}
	return i == 0 || w.b[i-1] == '\n'
}

func hasUpper(v []byte) bool {
	for _, c := range v {
		if class[c]&cUpper != 0 {
			return true
		}
	}
	return false
}

func hasLower(v []byte) bool {
	for _, c := range v {
		if class[c]&cLower != 0 {
			return true
		}
	}
	return false
}

// syslogHost masks the machine in "<time> machine program[pid]:".
func (w *scanner) syslogHost(i int) {
	b := w.b
	for n := 0; n < 96 && i > 0 && !isSpace(b[i-1]); n++ {
		i--
	}
	if i < 11 || b[i-1] != ' ' || !w.r.on[kindHost] {
		return
	}
	e := i - 1
	l := e
	for l > 0 && e-l < 128 && (isHost(b[l-1])) {
		l--
	}
	o := l
	if at(b, l-1) == '@' { // facility@machine
		for o--; o > 0 && isWord(b[o-1]); o-- {
		}
	}
	if o < 10 || b[o-1] != ' ' || !hasLetter(b[l:e]) || plain(b[l:e]) || !hasLower(b[l:e]) {
		return
	}
	for o--; o > 0 && b[o-1] != ' ' && b[o-1] != 'T' && b[o-1] != '>'; o-- {
	}
	if o > 0 && isDigit(b[o]) && isDigit(b[o+1]) && b[o+2] == ':' && isDigit(b[o+3]) && at(b, o+5) == ':' {
		w.add(kindHost, l, e)
	}
}

// hashPID handles nginx's pid#tid: before a message.
func (w *scanner) hashPID(i int) {
	b := w.b
	l, r := i, i+2
	for l > 0 && i-l < 8 && isDigit(b[l-1]) {
		l--
	}
	for r < len(b) && r-i < 10 && isDigit(b[r]) {
		r++
	}
	if r > i+2 && at(b, r) == ':' && l > 0 && b[l-1] == ' ' && r-l >= 5 {
		w.add(kindPID, l, r)
	}
}
