package logs

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-069badc9/mcp-gateway/redact"
)

// tagBase is where the characters of a tag are moved to while matching: into the private use area, so that a tag is found as a whole or not at all.
const tagBase = 0xE000

// opaque is redacted text as it is searched: a mask without a tag becomes NUL, which no query can hold; a tag's characters move to the private use area.
func opaque(redacted string) string {
	if strings.IndexByte(redacted, '<') < 0 {
		return redacted
	}
	var b strings.Builder
	at := 0
	for start, end := range redact.Tags(redacted) {
		b.WriteString(redacted[at:start])
		if tag := redacted[start:end]; strings.IndexByte(tag, ':') < 0 {
			b.WriteByte(0)
		} else {
			for i := range len(tag) {
				b.WriteRune(tagBase + rune(tag[i]))
			}
		}
		at = end
	}
	if at == 0 {
		return redacted
	}
	b.WriteString(redacted[at:])
	return b.String()
}

// hidden tells whether opaque text holds a mask that nothing can match.
func hidden(opaque string) bool { return strings.IndexByte(opaque, 0) >= 0 }

// foldCase maps letters to lower case for comparison. Letters beyond ASCII whose lower case is ASCII stay as they are, so that a raw search for the ASCII letter
// misses nothing that matches here.
func foldCase(s string) string {
	plain := true
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf {
			if 'A' <= r && r <= 'Z' {
				r += 'a' - 'A'
			}
			return r
		}
		if l := unicode.ToLower(r); l >= utf8.RuneSelf {
			return l
		}
		return r
	}, s)
}
