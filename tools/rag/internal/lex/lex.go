// Package lex turns text into search terms, the same way for documents and for queries: words are lower-cased and stemmed, identifiers are split into their parts
// (KubePodCrashLooping, node_cpu_seconds, db.pool.size) and kept whole beside them, Han, Kana and Hangul runs become overlapping bigrams, scripts are split where
// they meet. Redaction masks are opaque: no term comes out of them, so nothing can be found out by searching for one. Any bytes are accepted; offsets always lie
// on rune borders of the input.
package lex

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/seed-069badc9/mcp-gateway/redact"
)

// Kind tells what a term was made from.
type Kind uint8

// The kinds of terms.
const (
	Word   Kind = iota // a word or a part of an identifier
	Whole              // an identifier as a whole, given after its parts and covering them
	Bigram             // two neighbouring ideographs or syllables
	Single             // an ideograph alone in its run
)

// Token is a term and the bytes of the input it came from.
type Token struct {
	Term       string
	Start, End int
	Kind       Kind
}

// maxTerm bounds a term in bytes: longer words are hashes, keys and encoded data, which nobody searches by a part and which would bloat an index.
const maxTerm = 64

// Scan calls yield for every term of s in the order of the text. Stop words are left out.
func Scan(s string, yield func(Token)) {
	for i := 0; i < len(s); {
		c := s[i]
		if c == '<' {
			if n := maskLen(s[i:]); n > 0 {
				i += n
				continue
			}
		}
		if c < utf8.RuneSelf && !asciiWord[c] {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case isCJK(r):
			i = scanCJK(s, i, yield)
		case isWordRune(r):
			i = scanIdent(s, i, yield)
		default:
			i += n
		}
	}
}

// Tokens collects what Scan yields.
func Tokens(s string) []Token {
	out := make([]Token, 0, len(s)/6+1)
	Scan(s, func(t Token) { out = append(out, t) })
	return out
}

var asciiWord = func() (t [utf8.RuneSelf]bool) {
	for c := range t {
		t[c] = c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	return t
}()

func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return asciiWord[r]
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r))
}

// isCJK tells the scripts that write no spaces between words, Hangul included because its particles stick to the words.
func isCJK(r rune) bool {
	switch {
	case r < 0x1100:
		return false
	case r >= 0x4E00 && r <= 0x9FFF, r >= 0x3400 && r <= 0x4DBF, r >= 0x3041 && r <= 0x30FF && r != 0x30FB && r != 0x30A0, r >= 0xAC00 && r <= 0xD7A3, r == 0x3005, r == 0x3007,
		r >= 0x20000 && r <= 0x323AF, r >= 0xF900 && r <= 0xFAFF, r >= 0x31F0 && r <= 0x31FF:
		return true
	}
	return false
}

// Normalize gives the composed form (NFC), in which documents and queries are compared.
func Normalize(s string) string { return norm.NFC.String(s) }

// HasCJK tells whether most of the letters of s belong to a script without spaces: such text is judged by the floor for bigrams.
func HasCJK(s string) bool {
	cjk, other := 0, 0
	inWord := false
	for _, r := range s {
		switch {
		case isCJK(r):
			cjk++
			inWord = false
		case isWordRune(r):
			if !inWord {
				other++ // a word of letters weighs as much as one ideograph
			}
			inWord = true
		default:
			inWord = false
		}
	}
	return cjk > 0 && cjk >= other
}

func scanCJK(s string, i int, yield func(Token)) int {
	start, prev, n := i, -1, 0
	for i < len(s) {
		r, w := utf8.DecodeRuneInString(s[i:])
		if !isCJK(r) {
			break
		}
		if prev >= 0 {
			yield(Token{s[prev : i+w], prev, i + w, Bigram})
		}
		prev = i
		i += w
		n++
	}
	if n == 1 {
		yield(Token{s[start:i], start, i, Single})
	}
	return i
}

// joins tells a byte that holds the parts of an identifier together when a word follows directly.
func joins(c byte) bool { return c == '_' || c == '-' || c == '.' }

// scanIdent reads a word or an identifier made of several words and yields its parts and, when there is more than one, the whole.
func scanIdent(s string, i int, yield func(Token)) int {
	start, parts, strong := i, 0, false
	for i < len(s) {
		end := wordEnd(s, i)
		n, camel := splitWord(s, i, end, yield)
		parts += n
		strong = strong || camel
		i = end
		if i+1 < len(s) && joins(s[i]) {
			if r, _ := utf8.DecodeRuneInString(s[i+1:]); isWordRune(r) && !isCJK(r) {
				strong = strong || s[i] == '_' || s[i] == '-'
				i++
				continue
			}
		}
		break
	}
	if parts > 1 && strong && i-start <= maxTerm {
		yield(Token{squash(s[start:i]), start, i, Whole})
	}
	return i
}

func wordEnd(s string, i int) int {
	for i < len(s) {
		if c := s[i]; c < utf8.RuneSelf {
			if !asciiWord[c] {
				return i
			}
			i++
			continue
		}
		r, w := utf8.DecodeRuneInString(s[i:])
		if !isWordRune(r) || isCJK(r) {
			return i
		}
		i += w
	}
	return i
}

type class uint8

const (
	lower class = iota
	upper
	digit
)

func classOf(r rune) class {
	switch {
	case r >= 'a' && r <= 'z':
		return lower
	case r >= 'A' && r <= 'Z':
		return upper
	case r >= '0' && r <= '9':
		return digit
	case unicode.IsUpper(r):
		return upper
	case unicode.IsDigit(r):
		return digit
	}
	return lower
}

// splitWord yields the parts of s[from:to], a run of letters and digits, and tells how many there were and whether capitals divided it. k8s, 5xx and p99 stay
// whole; a number is cut off only from a part of three letters or more (Warning85).
func splitWord(s string, from, to int, yield func(Token)) (int, bool) {
	n, camel := 0, false
	part := from
	emit := func(end int) {
		if end > part {
			if emitWord(s, part, end, yield) {
				n++
			}
			part = end
		}
	}
	var prev class
	letters := 0 // letters since the start of the part
	for i := from; i < to; {
		r, w := utf8.DecodeRuneInString(s[i:to])
		c := classOf(r)
		if c == lower && unicode.Is(unicode.Mn, r) {
			c = prev // an accent belongs to its letter
		}
		if i > from {
			switch {
			case c == upper && prev == lower, c == upper && prev == digit && letters >= 3:
				emit(i)
				camel, letters = true, 0
			case c == upper && prev == upper && i+w < to:
				// HTTPServer: the last capital belongs to the next word, but only when a real word follows (VMs, APIs keep their plural).
				if next, nw := utf8.DecodeRuneInString(s[i+w : to]); classOf(next) == lower && !unicode.Is(unicode.Mn, next) && !(next == 's' && i+w+nw == to) && i > part {
					emit(i)
					camel, letters = true, 0
				}
			case c == digit && prev != digit && letters >= 3:
				emit(i)
				letters = 0
			case c == lower && prev == digit && letters == 0 && i-part >= 1 && n > 0:
				emit(i)
			}
		}
		if c != digit {
			letters++
		}
		prev = c
		i += w
	}
	emit(to)
	return n, camel
}

func emitWord(s string, from, to int, yield func(Token)) bool {
	if to-from > maxTerm {
		return false
	}
	w := fold(s[from:to])
	if w == "" || isStop(w) {
		return false
	}
	if acronyms(s[from:to]) {
		w = w[:len(w)-1]
	}
	yield(Token{normal(w), from, to, Word})
	return true
}

// acronyms tells the plural of an abbreviation: VMs, APIs, PVCs.
func acronyms(w string) bool {
	n := len(w) - 1
	if n < 2 || w[n] != 's' {
		return false
	}
	for i := range n {
		if w[i] < 'A' || w[i] > 'Z' {
			return false
		}
	}
	return true
}

// fold lower-cases and maps full-width forms to ASCII.
func fold(w string) string {
	plain := true
	for i := range len(w) {
		if c := w[i]; c >= utf8.RuneSelf || c >= 'A' && c <= 'Z' {
			plain = false
			break
		}
	}
	if plain {
		return w
	}
	return strings.Map(func(r rune) rune {
		if r >= 0xFF01 && r <= 0xFF5E {
			r -= 0xFEE0
		}
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, w)
}

// squash writes an identifier without its joints, so that kube-proxy, kube_proxy and KubeProxy meet.
func squash(w string) string {
	return fold(strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && joins(byte(r)) {
			return -1
		}
		return r
	}, w))
}

// maskSpan is longer than any mask.
const maskSpan = 24

// maskLen is the length of the redaction mask that s starts with, or 0.
func maskLen(s string) int {
	if start, end := redact.FindTag(s[:min(len(s), maskSpan)]); start == 0 {
		return end
	}
	return 0
}
