package redact

import "bytes"

// plain tells whether v is a word of the message: a listed one, or lower-case letters with the ending of a participle, an adjective or a noun of state.
func plain(v []byte) bool {
	v = bytes.Trim(v, ".,;:!?)(\"'*`_")
	if len(v) == 0 {
		return true
	}
	if len(v) > 24 {
		return false
	}
	var buf [24]byte
	l := buf[:0]
	for _, c := range v {
		l = append(l, lower(c))
	}
	if plainWords[string(l)] {
		return true
	}
	for i, c := range v {
		if class[c]&cLower == 0 && (i > 0 || class[c]&cUpper == 0) {
			return false
		}
	}
	for _, e := range [...]string{"ed", "ing", "able", "ible", "tion", "sion", "ment", "ly", "ive", "ness", "ance", "ence", "ity"} {
		if len(v) > len(e)+3 && bytes.HasSuffix(l, []byte(e)) {
			return true
		}
	}
	return false
}

// mixed tells whether v is more than one plain word: it holds a digit, a sign or an inner capital.
func mixed(v []byte) bool {
	for i, c := range v {
		if class[c]&cLower == 0 && (i > 0 || class[c]&cUpper == 0) && c != '-' && c != '\'' && c < 0x80 {
			return true
		}
	}
	return false
}

// dnsName tells whether v is a name as Kubernetes gives them: lower case, digits and hyphens.
func dnsName(v []byte) bool {
	h := false
	for _, c := range v {
		if class[c]&(cLower|cDigit) == 0 && c != '-' && c != '.' && c != '/' {
			return false
		}
		h = h || c == '-' || c == '.' || c == '/'
	}
	return h
}

func fileLike(v []byte) bool {
	return v[0] == '/' || v[0] == '~' || bytes.HasPrefix(v, []byte("./")) || bytes.Contains(v, []byte("://"))
}

// hashed tells whether v holds a piece that no name of a thing has: eight letters and digits or more, with three digits.
func hashed(v []byte) bool {
	n, digits := 0, 0
	for i := 0; i <= len(v); i++ {
		if c := at(v, i); isAlnum(c) {
			n++
			if isDigit(c) {
				digits++
			}
			continue
		}
		if n >= 8 && digits >= 3 {
			return true
		}
		n, digits = 0, 0
	}
	return false
}

func numeric(v []byte) bool {
	for _, c := range v {
		if !isDigit(c) && c != '.' && c != ',' && c != '/' && c != '-' && c != 'k' {
			return false
		}
	}
	return len(v) > 0
}

// random tells whether v looks made by a generator: letters and digits mixed, or long and of one piece.
func random(v []byte) bool {
	var d, l, u, other int
	for _, c := range v {
		switch {
		case isDigit(c):
			d++
		case class[c]&cLower != 0:
			l++
		case class[c]&cUpper != 0:
			u++
		case c == '/' || c == ' ' || c == '<':
			other += 4
		case c != '-' && c != '_' && c != '=' && c != '+' && c != '.' && c != '%' && c != ':':
			other++
		}
	}
	if len(v) < 8 || other*4 > len(v) {
		return false
	}
	return d > 0 && l+u > 0 || len(v) >= 20 && l > 0 && u > 2 || len(v) >= 24
}

// chosen tells whether v looks like a password that a person chose: digits among letters of both cases or beside a sign that no name has.
func chosen(v []byte) bool {
	sign := false
	for _, c := range v {
		if isSpace(c) || c == '=' || c == '(' || c == '<' {
			return false
		}
		sign = sign || !isAlnum(c) && c < 0x80 && c != '-' && c != '_' && c != '.' && c != '/' && c != ':' && c != ',' && c != ';'
	}
	return len(v) >= 5 && hasDigit(v) && hasLetter(v) && (sign || hasUpper(v) && hasLower(v))
}

// padded tells base64 that shows itself: by its padding or a plus, with a digit and letters of both cases.
func padded(v []byte) bool {
	return len(v) >= 8 && (v[len(v)-1] == '=' || bytes.IndexByte(v, '+') > 0) && allB64(bytes.TrimRight(v, "=")) && hasDigit(v) && hasUpper(v) && hasLower(v)
}

// uuid tells whether v has the form of one.
func uuid(v []byte) bool {
	if len(v) != 36 {
		return false
	}
	for i, c := range v {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return false
			}
		} else if !isHex(c) {
			return false
		}
	}
	return true
}

func codeLike(v []byte) bool {
	d := 0
	for _, c := range v {
		if isDigit(c) {
			d++
		}
	}
	return d >= 3 && len(v) <= 12 && d*2 >= len(v) || random(v) || codeGroups(v)
}

// codeGroups tells a code in groups: ABC-123-XYZ.
func codeGroups(v []byte) bool {
	n, groups, size := 0, 1, 0
	for _, c := range v {
		if c == '-' {
			if size > 0 && n != size || n < 3 {
				return false
			}
			size, n = n, 0
			groups++
		} else if n++; !isAlnum(c) {
			return false
		}
	}
	return groups > 1 && n == size && hasDigit(v)
}
