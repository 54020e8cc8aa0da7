package redact

import "bytes"

func isLocal(c byte) bool {
	return isAlnum(c) || c == '.' || c == '_' || c == '%' || c == '+' || c == '-' || c == '\''
}

// email looks at "@" at b[i] and tells whether an address stands there.
func (w *scanner) email(i int) bool {
	b := w.b
	l := i
	for l > 0 && i-l < 64 {
		if c := b[l-1]; isLocal(c) && !(c == '\'' && !isAlnum(at(b, l-2))) {
			l--
		} else if c >= 0x80 && c < 0xc0 && l > 1 && b[l-2] >= 0xc3 && b[l-2] <= 0xc9 { // letters with accents
			l -= 2
		} else {
			break
		}
	}
	for l < i && (b[l] == '.' || b[l] == '-' || b[l] == '\'' || b[l] == '%') {
		l++
	}
	r, dot := i+1, -1
	for r < len(b) && r-i < 255 && (isAlnum(b[r]) || b[r] == '-' || b[r] == '.') {
		if b[r] == '.' {
			if at(b, r+1) == '.' {
				break
			}
			dot = r
		}
		r++
	}
	w.steps += r - l
	for r > i && (b[r-1] == '.' || b[r-1] == '-') {
		r--
	}
	if dot >= r {
		dot = bytes.LastIndexByte(b[i:r], '.')
		if dot > 0 {
			dot += i
		}
	}
	if l == i || dot <= i+1 || r-dot < 3 || !isLetter(b[dot+1]) || !isLetter(b[r-1]) || fileTypes[string(b[dot+1:r])] {
		return false
	}
	if w.r.o.KeepPlaceholders && (bytes.HasSuffix(b[:r], []byte("example.com")) || bytes.HasSuffix(b[:r], []byte("example.org"))) {
		return false
	}
	w.add(kindEmail, l, r)
	w.hostEnd = max(w.hostEnd, r)
	return true
}

// digits looks at a run or a group of digits: cards, identity numbers, mobile phones, phones with separators.
func (w *scanner) digits(i int) {
	b := w.b
	if i < w.numEnd {
		return
	}
	l := i
	for l > w.numEnd && (isDigit(b[l-1]) || (b[l-1] == ' ' || b[l-1] == '-') && l > 1 && isDigit(b[l-2])) {
		l--
	}
	r := l // the maximal run of digits with single separators
	for r < len(b) && (isDigit(b[r]) || (b[r] == ' ' || b[r] == '-') && isDigit(at(b, r+1))) {
		r++
	}
	w.steps += r - l
	w.numEnd = r
	w.groups(l, r)
}

// groups tries the pieces of b[l:r], digits with single separators, from each group on.
func (w *scanner) groups(l, r int) {
	b := w.b
	for s := l; s < r; {
		g := s
		for g < r && isDigit(b[g]) {
			g++
		}
		e := w.person(s, g, r)
		if e == 0 {
			e = g
		}
		for e < r && !isDigit(b[e]) {
			e++
		}
		s = e
	}
}

// person masks a number that begins at s; its first group ends at g, the whole run at r. It returns the end of what was masked.
func (w *scanner) person(s, g, r int) int {
	b := w.b
	p := at(b, s-1)
	if s > 0 && (isAlnum(p) || p == '_' || p == '.' || p == '-' && s > 1 && isAlnum(b[s-2])) {
		return 0
	}
	if s > 0 && p == '+' {
		return 0
	}
	tail := func(e int) bool { return !isWord(at(b, e)) && !(at(b, e) == '.' && isDigit(at(b, e+1))) }
	n := g - s
	// Chinese identity number: 17 digits and a checksum digit or X.
	if n == 17 && lower(at(b, g)) == 'x' && !isWord(at(b, g+1)) && chineseID(b[s:g+1]) || n == 18 && tail(g) && chineseID(b[s:g]) {
		e := s + 18
		w.add(kindID, s, e)
		return e
	}
	// Card numbers: one run, or groups with one separator. The longest that fits wins.
	var d [20]byte
	for k, e, end := 0, s, 0; ; {
		if e < r && isDigit(b[e]) && k < 19 {
			d[k] = b[e] - '0'
			k++
			e++
			continue
		}
		if k >= 13 && (e >= r || !isDigit(b[e])) && tail(e) && card(d[:k]) && groupsOf(b[s:e]) {
			end = e
		}
		if e < r && !isDigit(b[e]) && k < 19 && (b[e] == b[g] || e == g) {
			e++
			continue
		}
		if end > 0 {
			w.add(kindCard, s, end)
			return end
		}
		break
	}
	// Chinese mobile: 11 digits from 13 to 19, also 3-4-4, also behind 86.
	o := s
	if has(b, s, "0086") && n >= 4 {
		o += 4
	} else if has(b, s, "86") && (n == 13 || n == 2) {
		o += 2
	}
	if o > s && o < r && (b[o] == '-' || b[o] == ' ') {
		o++
	}
	if at(b, o) == '1' && at(b, o+1) >= '3' && isDigit(at(b, o+1)) {
		k, e := 0, o
		for e < r && k < 11 {
			if isDigit(b[e]) {
				k++
			} else if k != 3 && k != 7 {
				break
			}
			e++
		}
		if k == 11 && tail(e) && !measured(b, s) && !(e < r && e-o > 11 && isDigit(at(b, e+1)) && at(b, e) == '-') {
			w.add(kindPhone, s, e)
			return e
		}
	}
	// Landline 010-12345678, 0755-12345678.
	if b[s] == '0' && (n == 3 || n == 4) && at(b, g) == '-' {
		e := g + 1
		for e < r && isDigit(b[e]) {
			e++
		}
		if k := e - g - 1; (k == 7 || k == 8) && tail(e) && !measured(b, s) && at(b, e) != '-' {
			w.add(kindPhone, s, e)
			return e
		}
	}
	// 415-555-2671, (415) 555-2671 by phoneParen.
	if n == 3 && at(b, g) == '-' && r-s >= 12 && at(b, s+7) == '-' && b[s] >= '2' && b[s+4] >= '2' && tail(s+12) && at(b, s+12) != '-' && allDigits(b[s+4:s+7]) && allDigits(b[s+8:s+12]) && s+12 <= r {
		w.add(kindPhone, s, s+12)
		return s + 12
	}
	if n == 3 && s > 0 && p == ' ' && s >= 6 && b[s-2] == ')' && b[s-6] == '(' && allDigits(b[s-5:s-2]) && (at(b, g) == '-' || at(b, g) == ' ') && allDigits(b[g+1:min(len(b), g+5)]) && g+5 <= r && tail(g+5) {
		w.add(kindPhone, s-6, g+5)
		return g + 5
	}
	return 0
}

func allDigits(v []byte) bool {
	for _, c := range v {
		if !isDigit(c) {
			return false
		}
	}
	return len(v) > 0
}

// measured tells whether the number at b[i] is the value of a size, a time or a count.
func measured(b []byte, i int) bool {
	j := i
	for j > 0 && i-j < 4 && (isBlank(b[j-1]) || b[j-1] == '=' || b[j-1] == ':' || b[j-1] == '"') {
		j--
	}
	l := j
	for l > 0 && j-l < maxIdent && isWord(b[l-1]) {
		l--
	}
	if l == j || j == i {
		return false
	}
	for _, x := range [...]string{"size", "bytes", "len", "length", "offset", "ns", "time", "timestamp", "ts", "count", "total", "seq", "memory", "lsn", "position", "duration", "elapsed", "usec", "limit", "free", "used", "heap", "blocks"} {
		if hasFold(b, j-len(x), x) && j-len(x) >= l {
			return true
		}
	}
	return false
}

// card tells whether the digits are a payment card: a known issuer, its length, Luhn.
func card(d []byte) bool {
	n := len(d)
	p2 := int(d[0])*10 + int(d[1])
	p4 := p2*100 + int(d[2])*10 + int(d[3])
	switch {
	case d[0] == 4 && (n == 13 || n == 16 || n == 19):
	case p2 >= 51 && p2 <= 55 && n == 16, p4 >= 2221 && p4 <= 2720 && n == 16, p4 >= 2200 && p4 <= 2204 && n >= 16:
	case (p2 == 34 || p2 == 37) && n == 15:
	case (p4 == 6011 || p2 == 65 || p4/10 >= 644 && p4/10 <= 649) && n >= 16:
	case p4 >= 3528 && p4 <= 3589 && n >= 16:
	case (p4/10 >= 300 && p4/10 <= 305 || p2 == 36 || p2 == 38 || p2 == 39) && n == 14:
	case (p2 == 62 || p2 == 81) && n >= 16:
	case (p2 == 50 || p2 >= 56 && p2 <= 58 || p2 == 63 || p2 == 67) && n >= 16:
	case p2 == 60 && n >= 16:
	default:
		return false
	}
	sum, same := 0, true
	for i := range d {
		v := int(d[n-1-i])
		if i%2 == 1 {
			if v *= 2; v > 9 {
				v -= 9
			}
		}
		sum += v
		same = same && d[i] == d[0]
	}
	return sum%10 == 0 && !same
}

// groupsOf tells whether separators stand where cards have them: none, or groups of three to seven digits.
func groupsOf(v []byte) bool {
	run, any := 0, false
	for i, c := range v {
		if isDigit(c) {
			run++
			if i < len(v)-1 {
				continue
			}
		} else {
			any = true
		}
		if any && (run < 3 || run > 7) {
			return false
		}
		run = 0
	}
	return true
}

// chineseID checks region, birth date and checksum of an 18-character identity number.
func chineseID(v []byte) bool {
	year := int(v[6]-'0')*1000 + int(v[7]-'0')*100 + int(v[8]-'0')*10 + int(v[9]-'0')
	month, day := int(v[10]-'0')*10+int(v[11]-'0'), int(v[12]-'0')*10+int(v[13]-'0')
	if v[0] < '1' || v[0] > '9' || year < 1900 || year > 2099 || month < 1 || month > 12 || day < 1 || day > 31 {
		return false
	}
	sum := 0
	for i, f := range [...]int{7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2} {
		sum += f * int(v[i]-'0')
	}
	c := v[17]
	if c == 'x' {
		c = 'X'
	}
	return "10X98765432"[sum%11] == c
}

// phonePlus looks at "+" digit: an international number of 8 to 15 digits.
func (w *scanner) phonePlus(i int) {
	b := w.b
	if !w.r.on[kindPhone] || i > 0 && (isWord(b[i-1]) || b[i-1] == '+' || b[i-1] == ')' || b[i-1] == '.' || maskEnds(b, i)) || b[i+1] == '0' {
		return
	}
	e, n, last := i+1, 0, i+1
	for e < len(b) && n <= 15 && e-i < 26 {
		c := b[e]
		if isDigit(c) {
			n++
			last = e + 1
		} else if nx := at(b, e+1); !(c == ' ' || c == '-' || c == '.' || c == '(' || c == ')') || !isDigit(nx) && nx != '(' && !(c == ')' && (nx == ' ' || nx == '-')) {
			break
		}
		e++
	}
	if n >= 8 && n <= 15 && !isWord(at(b, last)) {
		w.add(kindPhone, i, last)
		w.numEnd = max(w.numEnd, last)
	}
}

// phoneDots handles 415.555.2671.
func (w *scanner) phoneDots(l, r int) {
	b := w.b
	if w.r.on[kindPhone] && r-l == 12 && b[l+3] == '.' && b[l+7] == '.' && b[l] >= '2' && b[l+4] >= '2' && (l == 0 || !isIdent(b[l-1])) && !isWord(at(b, r)) && !w.versionBefore(l) {
		w.add(kindPhone, l, r)
	}
}

// iban looks at a country code and two digits: the whole number must pass modulo 97.
func (w *scanner) iban(i int) {
	b := w.b
	if !w.r.on[kindID] || i > 0 && isWord(b[i-1]) || class[b[i]]&cUpper == 0 || class[b[i+1]]&cUpper == 0 {
		return
	}
	rest := 0
	feed := func(c byte) {
		if isDigit(c) {
			rest = (rest*10 + int(c-'0')) % 97
		} else {
			v := int(c-'A') + 10
			rest = (rest*100 + v) % 97
		}
	}
	e, n, end := i+4, 0, 0
	for e < len(b) && n < 30 {
		c := b[e]
		if class[c]&(cUpper|cDigit) != 0 {
			feed(c)
			n++
		} else if c != ' ' || class[at(b, e+1)]&(cUpper|cDigit) == 0 {
			break
		}
		e++
		if n >= 11 && (e >= len(b) || !isAlnum(b[e])) {
			keep := rest
			for _, c := range b[i : i+4] {
				feed(c)
			}
			if rest == 1 {
				end = e
			}
			rest = keep
		}
	}
	if end > 0 {
		w.add(kindID, i, end)
		w.numEnd = max(w.numEnd, end)
	}
}
