package redact

import (
	"strings"
	"unicode/utf8"
)

// Clean makes text inert for a terminal and for a reader's eye: it removes ANSI escape sequences, C0 and C1 controls except line end and tab, bidirectional
// controls, zero-width characters and Unicode tag characters; a byte that is not UTF-8 becomes U+FFFD. Text that needs nothing is returned as it is.
func Clean(s string) string {
	i := 0
	for i < len(s) && (s[i] >= 0x20 && s[i] < 0x7f || s[i] == '\n' || s[i] == '\t') {
		i++
	}
	if i == len(s) {
		return s
	}
	var sb strings.Builder
	sb.Grow(len(s))
	sb.WriteString(s[:i])
	for i < len(s) {
		c := s[i]
		if c == 0x1b {
			i += ansiLen(s, i)
			continue
		}
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != 0x7f || c == '\n' || c == '\t' {
				sb.WriteByte(c)
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == 0x9b { // C1 form of ESC [
			i += n + csiLen(s, i+n)
			continue
		}
		if !invisible(r) {
			sb.WriteRune(r)
		}
		i += n
	}
	return sb.String()
}

// ansiLen is the length of the escape sequence at s[i], which is ESC. A sequence that does not end is one byte long, so that text after it stays.
func ansiLen[T string | []byte](s T, i int) int {
	if i+1 >= len(s) {
		return 1
	}
	switch c := s[i+1]; {
	case c == '[':
		if n := csiLen(s, i+2); n > 0 {
			return 2 + n
		}
		return 2
	case c == ']' || c == 'P' || c == '^' || c == '_' || c == 'X': // a string, ended by BEL or ESC \; bounded, so that one forged ESC costs little
		for j := i + 2; j < len(s) && j < i+256; j++ {
			if s[j] == '\n' {
				break
			}
			if s[j] == 7 {
				return j + 1 - i
			}
			if s[j] == 0x1b && j+1 < len(s) && s[j+1] == '\\' {
				return j + 2 - i
			}
		}
		return 2
	case c >= 0x20 && c <= 0x2f && i+2 < len(s) && s[i+2] >= 0x30 && s[i+2] < 0x7f:
		return 3
	case c >= 0x30 && c < 0x7f:
		return 2
	}
	return 1
}

// csiLen is the length of the parameters and the final byte of a control sequence, or 0 when it does not end within 32 bytes.
func csiLen[T string | []byte](s T, i int) int {
	for j := i; j < len(s) && j < i+32; j++ {
		switch c := s[j]; {
		case c >= 0x40 && c < 0x7f:
			return j + 1 - i
		case c < 0x20 || c >= 0x7f:
			return 0
		}
	}
	return 0
}

// invisible tells whether r shows nothing or reorders what is shown.
func invisible(r rune) bool {
	switch {
	case r < 0x20 || r >= 0x7f && r < 0xa0:
		return r != '\n' && r != '\t'
	case r == 0xad, r == 0x34f, r == 0x61c, r == 0x180e, r == 0xfeff, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0000 && r <= 0xe0fff, r >= 0x1d173 && r <= 0x1d17a, r >= 0xfff9 && r <= 0xfffb:
		return true
	}
	return false
}
