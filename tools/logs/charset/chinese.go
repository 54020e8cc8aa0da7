package charset

import (
	"sync"
	"unicode/utf8"

	"golang.org/x/text/encoding/simplifiedchinese"
)

// doubles are the characters of two bytes, by their bytes; 0: there is none. Looking them up is some ten times faster than a decoder, which takes runs of letters.
var doubles = sync.OnceValue(func() *[1 << 15]rune {
	var t [1 << 15]rune
	dec := simplifiedchinese.GB18030.NewDecoder()
	for lead := 0x81; lead <= 0xfe; lead++ {
		for trail := 0x40; trail <= 0xfe; trail++ {
			if b, err := dec.Bytes([]byte{byte(lead), byte(trail)}); err == nil {
				if r, n := utf8.DecodeRune(b); n == len(b) {
					t[(lead-0x80)<<8|trail] = r
				}
			}
		}
	}
	return &t
})

// appendChinese decodes a line. A half character becomes U+FFFD, and so does a lead byte in front of a word: "\xe9password" is no ideograph and "assword", or a byte
// that somebody leaves in front of a key would take the key away from the redactor.
func appendChinese(dst, l []byte) []byte {
	table := doubles()
	for i := 0; i < len(l); {
		if l[i] < utf8.RuneSelf {
			j := i + 1
			for j < len(l) && l[j] < utf8.RuneSelf {
				j++
			}
			dst = append(dst, l[i:j]...)
			i = j
			continue
		}
		n, r := width(l[i:]), utf8.RuneError
		switch {
		case n == 2 && isLetter(l[i+1]) && i+2 < len(l) && isLetter(l[i+2]):
			n = 1
		case n == 2:
			r = table[int(l[i]-0x80)<<8|int(l[i+1])]
		case n == 4:
			if b, err := simplifiedchinese.GB18030.NewDecoder().Bytes(l[i : i+4]); err == nil {
				r, _ = utf8.DecodeRune(b)
			}
		}
		if r == 0 {
			r = utf8.RuneError
		}
		dst = utf8.AppendRune(dst, r)
		i += n
	}
	return dst
}

func isLetter(c byte) bool {
	c |= 0x20
	return c >= 'a' && c <= 'z'
}

// Chinese is a text in GB 18030, nil when it has no such form.
func Chinese(s string) []byte {
	b, err := simplifiedchinese.GB18030.NewEncoder().Bytes([]byte(s))
	if err != nil {
		return nil
	}
	return b
}
