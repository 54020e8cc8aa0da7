package redact

// Byte classes of ASCII. A table answers in one load what a chain of comparisons would mispredict.
const (
	cDigit = 1 << iota
	cUpper
	cLower
	cHex
	cIdent // letters, digits, _ - . $
	cWord  // letters, digits, _
	cHost  // letters, digits, - . _
	cB64   // both alphabets of base64, no padding
)

var class = func() (t [256]uint8) {
	for i := range t {
		c := byte(i)
		d, u, l := c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z'
		set := func(on bool, f uint8) {
			if on {
				t[i] |= f
			}
		}
		set(d, cDigit)
		set(u, cUpper)
		set(l, cLower)
		set(d || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F', cHex)
		set(d || u || l || c == '_' || c == '-' || c == '.' || c == '$', cIdent)
		set(d || u || l || c == '_', cWord)
		set(d || u || l || c == '-' || c == '.' || c == '_', cHost)
		set(d || u || l || c == '+' || c == '/' || c == '-' || c == '_', cB64)
	}
	return t
}()

func isDigit(c byte) bool  { return class[c]&cDigit != 0 }
func isHex(c byte) bool    { return class[c]&cHex != 0 }
func isLetter(c byte) bool { return class[c]&(cUpper|cLower) != 0 }
func isAlnum(c byte) bool  { return class[c]&(cUpper|cLower|cDigit) != 0 }
func isWord(c byte) bool   { return class[c]&cWord != 0 }
func isIdent(c byte) bool  { return class[c]&cIdent != 0 }
func isHost(c byte) bool   { return class[c]&cHost != 0 }
func isB64(c byte) bool    { return class[c]&cB64 != 0 }
func isSpace(c byte) bool  { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func isBlank(c byte) bool  { return c == ' ' || c == '\t' }
func isQuote(c byte) bool  { return c == '"' || c == '\'' || c == '`' }

func lower(c byte) byte {
	if class[c]&cUpper != 0 {
		return c | 0x20
	}
	return c
}

// at is b[i], or NUL outside of b.
func at(b []byte, i int) byte {
	if uint(i) < uint(len(b)) {
		return b[i]
	}
	return 0
}

// hasFold tells whether b holds the lower-case word w at i, without regard to case.
func hasFold(b []byte, i int, w string) bool {
	if i < 0 || len(b)-i < len(w) {
		return false
	}
	for n := range len(w) {
		if lower(b[i+n]) != w[n] {
			return false
		}
	}
	return true
}

// has tells whether b holds w at i exactly.
func has(b []byte, i int, w string) bool {
	return i >= 0 && len(b)-i >= len(w) && string(b[i:i+len(w)]) == w
}

// wordFold tells whether the whole word w stands at i, without regard to case.
func wordFold(b []byte, i int, w string) bool {
	return hasFold(b, i, w) && !isWord(at(b, i+len(w)))
}

// skipBlank moves past at most 32 blanks.
func skipBlank(b []byte, i int) int {
	for n := 0; n < 32 && i < len(b) && isBlank(b[i]); n++ {
		i++
	}
	return i
}

// skipSpace moves past at most 64 blanks and line ends.
func skipSpace(b []byte, i int) int {
	for n := 0; n < 64 && i < len(b) && isSpace(b[i]); n++ {
		i++
	}
	return i
}
