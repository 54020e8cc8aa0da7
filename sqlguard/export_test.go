package sqlguard

import (
	"strings"
	"unicode/utf8"
)

// QuoteForTest is the literal that the printer writes for s; false when s is no text.
func QuoteForTest(s string) (string, bool) {
	var b strings.Builder
	quoteString(&b, s)
	return b.String(), utf8.ValidString(s)
}

// UnquoteForTest decodes a literal as MySQL does; false when it is not exactly one literal.
func UnquoteForTest(lit string) (string, bool) {
	toks, err := lex(lit)
	if err != nil || len(toks) != 1 || toks[0].kind != tString {
		return "", false
	}
	return toks[0].text, true
}
