package redact

import (
	"bytes"
	"unicode/utf8"
)

// view is a decoded form of an event: b is what is matched, off[i] is where b[i] begins in the event, off[len(b)] is its end.
type view struct {
	b   []byte
	off []int32
}

func (v *view) put(c byte, at int) {
	v.b = append(v.b, c)
	v.off = append(v.off, int32(at))
}

func (v *view) putRune(r rune, at int) {
	var u [utf8.UTFMax]byte
	n := utf8.EncodeRune(u[:], r)
	for _, c := range u[:n] {
		v.put(c, at)
	}
}

// needsFold tells whether s may hold characters or escape sequences that hide text from a byte match.
func needsFold(s []byte) bool {
	wide, control := survey(s)
	return wide || control || bytes.IndexByte(s, '\\') >= 0
}

// origins maps offsets of a text to those of the event; nil when the text is the event.
type origins []int32

func (m origins) at(i int) int {
	if m == nil {
		return i
	}
	return int(m[i])
}

// fold removes what is invisible or no character at all, gives full-width and look-alike characters their ASCII form and decodes \u and \x escapes, however often the
// backslash was doubled. It reports whether the result differs. The offsets of s in the event are in m.
func (v *view) fold(s []byte, m origins) bool {
	v.b, v.off = v.b[:0], v.off[:0]
	changed := false
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == 0x1b:
			i += ansiLen(s, i)
			changed = true
		case c == '\\':
			if r, n := escaped(s, i); n > 0 {
				if !invisible(r) && r != utf8.RuneError {
					v.putRune(asciiOf(r), m.at(i))
				}
				i += n
				changed = true
				continue
			}
			for i < len(s) && s[i] == '\\' { // the whole run at once: it was looked at
				v.put('\\', m.at(i))
				i++
			}
		case c < 0x20 && !isSpace(c) || c == 0x7f:
			if c == 0 && keyAhead(s, i+1, false) { // an environment, as the system gives it
				v.put(' ', m.at(i))
			}
			i++
			changed = true
		case c < utf8.RuneSelf:
			v.put(c, m.at(i))
			i++
		default:
			r, n := utf8.DecodeRune(s[i:])
			switch f := asciiOf(r); {
			case invisible(r), r == utf8.RuneError: // a byte that is no character, or the mark left in its place
				changed = true
			case f != r:
				v.putRune(f, m.at(i))
				changed = true
			default:
				for k := range n {
					v.put(s[i+k], m.at(i+k))
				}
			}
			i += n
		}
	}
	v.off = append(v.off, int32(m.at(len(s))))
	return changed
}

// escaped decodes \uXXXX and \xXX at s[i], after any number of backslashes. Line ends stay escaped: they must not become structure.
func escaped(s []byte, i int) (rune, int) {
	j := i
	for j < len(s) && s[j] == '\\' {
		j++
	}
	var want int
	switch at(s, j) {
	case 'u', 'U':
		want = 4
	case 'x', 'X':
		want = 2
	default:
		return 0, 0
	}
	if at(s, j+1) == '{' {
		return 0, 0
	}
	r := rune(0)
	for k := 1; k <= want; k++ {
		c := at(s, j+k)
		if !isHex(c) {
			return 0, 0
		}
		r = r<<4 | rune(unhex(c))
	}
	if r == '\n' || r == '\r' || r == 0 {
		return 0, 0
	}
	return r, j + 1 + want - i
}

func unhex(c byte) byte {
	if isDigit(c) {
		return c - '0'
	}
	return lower(c) - 'a' + 10
}

// asciiOf is the ASCII character that r stands in for, or r.
func asciiOf(r rune) rune {
	switch {
	case r < 0x80:
		return r
	case r == '，' || r == '；': // they end a value and never shape one
		return r
	case r >= 0xff01 && r <= 0xff5e: // full width
		return r - 0xfee0
	case r == 0xa0 || r >= 0x2000 && r <= 0x200a || r == 0x202f || r == 0x205f || r == 0x3000:
		return ' '
	case r >= 0x1d400 && r <= 0x1d6a3: // mathematical letters, 52 an alphabet
		n := (r - 0x1d400) % 52
		if n < 26 {
			return 'A' + n
		}
		return 'a' + n - 26
	case r >= 0x1d7ce && r <= 0x1d7ff:
		return '0' + (r-0x1d7ce)%10
	case r >= 0x24b6 && r <= 0x24cf:
		return 'A' + r - 0x24b6
	case r >= 0x24d0 && r <= 0x24e9:
		return 'a' + r - 0x24d0
	}
	return lookAlike(r)
}

// lookAlike covers the letters of Cyrillic, Greek and Latin extensions that read as ASCII in common fonts, and quotes and signs of other scripts.
func lookAlike(r rune) rune {
	switch {
	case r >= 0x370 && r < 0x530, r >= 0x131 && r <= 0x261, r >= 0x2010 && r <= 0x223f, r >= 0x3000 && r <= 0x301f, r >= 0xa780 && r <= 0xa7ff, r >= 0xfe50 && r <= 0xfe6f, r >= 0x2d0 && r <= 0x2ff, r == '«', r == '»':
		if c, ok := looks[r]; ok {
			return rune(c)
		}
	}
	return r
}

// looks holds pairs of a character and the ASCII one it is taken for.
var looks = func() map[rune]byte {
	m := map[rune]byte{}
	for _, pairs := range [...]string{
		"аaеeоoрpсcуyхxѕsіiјjԁdԛqԝwһhкkмmтtпnгrвbнhАAВBЕEКKМMНHОOРPСCТTУYХXЅSІIЈJԚQԜW",
		"οoαaεeρpτtυuνvιiκkχxΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧXıiſsɡgɑaⅼl",
		"«\"»\"‹'›'“\"”\"„\"‟\"【\"】\"《\"》\"〈\"〉\"〔\"〕\"‘'’'‚'‛'「\"」\"『\"』\"‐-‑-‒-–-−-∶:﹕:꞉:ː:˸:﹦=⁼=﹤<﹥>",
	} {
		from := rune(0)
		for _, r := range pairs {
			if from == 0 {
				from = r
				continue
			}
			m[from], from = byte(r), 0
		}
	}
	return m
}()

func needsUnescape(s []byte) bool {
	for i := 0; ; {
		j := bytes.IndexByte(s[i:], '%')
		if j < 0 {
			break
		}
		i += j + 1
		if isHex(at(s, i)) && isHex(at(s, i+1)) {
			return true
		}
	}
	for i := 0; ; {
		j := bytes.IndexByte(s[i:], '&')
		if j < 0 {
			return false
		}
		i += j + 1
		if _, n := entity(s, i-1); n > 0 {
			return true
		}
	}
}

// unescape decodes %XX (also doubly, %25XX) and HTML entities of s, whose offsets in the event are in m (nil: its own).
func (v *view) unescape(s []byte, m origins) bool {
	v.b, v.off = v.b[:0], v.off[:0]
	changed := false
	for i := 0; i < len(s); {
		c, n := s[i], 1
		switch c {
		case '%':
			c, n = percent(s, i)
		case '&':
			if e, k := entity(s, i); k > 0 {
				c, n = e, k
			}
		}
		changed = changed || n > 1
		v.put(c, m.at(i))
		i += n
	}
	v.off = append(v.off, int32(m.at(len(s))))
	return changed
}

// percent decodes the escape at s[i]; %25 may be repeated. Line ends stay escaped.
func percent(s []byte, i int) (byte, int) {
	j := i + 1
	for at(s, j) == '2' && at(s, j+1) == '5' && j-i < 16 {
		j += 2
	}
	if !isHex(at(s, j)) || !isHex(at(s, j+1)) {
		if j > i+1 {
			return '%', j - i
		}
		return '%', 1
	}
	c := unhex(s[j])<<4 | unhex(s[j+1])
	if c == '\n' || c == '\r' {
		return '%', 1
	}
	return c, j + 2 - i
}

// entity decodes the HTML entity at s[i] when it stands for a character that shapes a key or a value. What was escaped twice (&amp;quot;) counts as once.
func entity(s []byte, i int) (byte, int) {
	for j := i; j-i < 16 && has(s, j+1, "amp;"); {
		j += len("amp;")
		if c, n := entityAt(s, j); n > 0 && c != '&' {
			return c, j + n - i
		}
	}
	return entityAt(s, i)
}

// entityAt is entity for the name behind the byte at s[i].
func entityAt(s []byte, i int) (byte, int) {
	for _, e := range [...]struct {
		name string
		c    byte
	}{{"quot;", '"'}, {"lt;", '<'}, {"gt;", '>'}, {"amp;", '&'}, {"apos;", '\''}, {"equals;", '='}, {"colon;", ':'}} {
		if has(s, i+1, e.name) {
			return e.c, 1 + len(e.name)
		}
	}
	if at(s, i+1) != '#' {
		return 0, 0
	}
	j, base, v := i+2, 10, 0
	if c := at(s, j); c == 'x' || c == 'X' {
		j, base = j+1, 16
	}
	start := j
	for ; j < len(s) && j-start < 6 && isHex(s[j]) && (base == 16 || isDigit(s[j])); j++ {
		v = v*base + int(unhex(s[j]))
	}
	if j == start || at(s, j) != ';' || v < 0x20 || v > 0x7e {
		return 0, 0
	}
	return byte(v), j + 1 - i
}
