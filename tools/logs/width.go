package logs

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Chinese keyboard writes the signs of the query language in full width: “支付失败”, －下单成功, channel＝支付宝, and 、 between words. They mean what their half-width forms
// mean. What stands in quotes or between slashes stays as it is.

// blanks part terms; the third is the full-width one.
const blanks = " \t\u3000\u00a0"

// parting signs stand between words or behind them. Both words are looked for then: whoever looks for the whole finds it too, unless the term is negated.
const (
	parting = "，、；。"
	ending  = parting + "！？"
)

// narrow is the half-width form of a sign or a letter.
func narrow(r rune) rune {
	if r >= 0xff01 && r <= 0xff5e {
		return r - 0xff01 + '!'
	}
	return r
}

// halfWidth is s in half width.
func halfWidth(s string) string { return strings.Map(narrow, s) }

// halfLetters is s with letters and digits in half width, and its signs as they are.
func halfLetters(s string) string {
	return strings.Map(func(r rune) rune {
		if n := narrow(r); n < utf8.RuneSelf && (unicode.IsLetter(n) || unicode.IsDigit(n)) {
			return n
		}
		return r
	}, s)
}

// cutWord reads a word: it ends at a blank, and at a parting sign unless the whole is excluded.
func cutWord(s string, not bool) (word, rest string) {
	end := blanks
	if !not {
		end += parting
	}
	word = s
	if i := strings.IndexAny(s, end); i >= 0 {
		word, rest = s[:i], s[i:]
	}
	if trimmed := strings.TrimRight(word, ending); trimmed != "" {
		word = trimmed
	}
	return word, rest
}

// cutSign takes a sign of either width off s.
func cutSign(s string, sign byte) (string, bool) {
	r, n := utf8.DecodeRuneInString(s)
	if narrow(r) != rune(sign) {
		return s, false
	}
	return s[n:], true
}

// beginsBlank tells whether s ends here or goes on with a blank.
func beginsBlank(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return s == "" || strings.ContainsRune(blanks, r)
}

// wideQuotes are the marks that open a phrase and those that close it, the fitting one first: keyboards mix up the double ones.
var wideQuotes = [...]struct{ open, shut string }{{"“", `”“＂"`}, {"”", `”“＂"`}, {"＂", `＂”“"`}, {"「", "」"}, {"『", "』"}}

// opensPhrase tells whether s begins with a quotation mark.
func opensPhrase(s string) bool {
	if strings.HasPrefix(s, `"`) {
		return true
	}
	for _, q := range wideQuotes {
		if strings.HasPrefix(s, q.open) {
			return true
		}
	}
	return false
}

// phrase reads a phrase in quotation marks of any kind.
func phrase(s string) (text, rest string, err error) {
	for _, q := range wideQuotes {
		in, ok := strings.CutPrefix(s, q.open)
		if !ok {
			continue
		}
		for _, shut := range q.shut {
			text, rest, ok := strings.Cut(in, string(shut))
			if !ok {
				continue
			}
			if text == "" {
				return "", "", badQuery("a quoted phrase is empty")
			}
			return text, rest, nil
		}
		shut, _ := utf8.DecodeRuneInString(q.shut)
		return "", "", badQuery("a quoted phrase is not closed with " + string(shut))
	}
	return quoted(s)
}

// fieldKey reads a field's name and =, != or : behind it, and tells what follows. Chinese programs have Chinese names.
func fieldKey(s string) (key, op, rest string, ok bool) {
	var b strings.Builder
	for i, r := range s {
		switch n := narrow(r); {
		case n == '_' || n == '@' || n >= 'a' && n <= 'z' || n >= 'A' && n <= 'Z' || unicode.Is(unicode.Han, n), i > 0 && (n == '.' || n == '-' || n >= '0' && n <= '9'):
			b.WriteRune(n)
			if b.Len() <= 64 {
				continue
			}
		case i == 0:
		case n == '=' || n == ':':
			return b.String(), string(n), s[i+utf8.RuneLen(r):], true
		case n == '!':
			if rest, ok := cutSign(s[i+utf8.RuneLen(r):], '='); ok {
				return b.String(), "!=", rest, true
			}
		}
		break
	}
	return "", "", "", false
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}
