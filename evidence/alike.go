package evidence

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// alike folds what looks like a bracket, a colon or the letters of ev.
var alike = map[rune]rune{
	'【': '[', '〔': '[', '〖': '[', '⟦': '[', '［': '[', '⁅': '[', '❲': '[', '：': ':', '∶': ':', '꞉': ':', '˸': ':', '︓': ':', '﹕': ':', 'ː': ':',
	'е': 'e', 'Е': 'e', 'ε': 'e', 'ｅ': 'e', 'ҽ': 'e', '℮': 'e', 'ѵ': 'v', 'Ѵ': 'v', 'ν': 'v', 'ｖ': 'v', '∨': 'v', 'ⅴ': 'v', 'Ⅴ': 'v', 'v': 'v', 'E': 'e', 'V': 'v',
}

// rounded is a citation in the wrong brackets. The target of a link is none.
var rounded = regexp.MustCompile(`(?:^|[^\]])([(（{｛][eE][vV][:：][A-Za-z0-9][A-Za-z0-9._-]*(?:#[^\s()（）{}｛｝]*)?[)）}｝])`)

// alikes finds what a reader takes for [ev: and is none: other letters and brackets, blanks, emphasis, escapes or tags in between.
func alikes(text string, starts []int) (out []mark) {
	for _, m := range rounded.FindAllStringSubmatchIndex(text, -1) {
		out = append(out, mark{line: lineOf(starts, m[2]), text: text[m[2]:m[3]], alike: true})
	}
	exact := map[int]bool{}
	for _, m := range markGrammar.FindAllStringIndex(text, -1) {
		exact[m[0]] = true
	}
	const want = "[ev:"
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if foldAlike(r) != '[' || exact[i] {
			i += n
			continue
		}
		at, next := i+n, 1
		for noise := 0; at < len(text) && next < len(want) && noise < 64; {
			if text[at] == '<' {
				if j := strings.IndexByte(text[at:min(len(text), at+64)], '>'); j > 0 {
					at, noise = at+j+1, noise+j
					continue
				}
			}
			r, w := utf8.DecodeRuneInString(text[at:])
			switch f := foldAlike(r); {
			case f == rune(want[next]):
				next++
			case unicode.IsSpace(r) || strings.ContainsRune("*_~\\`", r) || unicode.Is(unicode.Mn, r):
				noise++
			default:
				noise = 64
				continue
			}
			at += w
		}
		if next == len(want) {
			end := min(len(text), i+64)
			for end < len(text) && !utf8.RuneStart(text[end]) {
				end--
			}
			shown, _, _ := strings.Cut(text[i:end], "\n")
			if j := strings.IndexAny(shown, "]】〕〗⟧］"); j > 0 {
				_, w := utf8.DecodeRuneInString(shown[j:])
				shown = shown[:j+w]
			}
			out = append(out, mark{line: lineOf(starts, i), text: shown, alike: true})
			i = at
			continue
		}
		i += n
	}
	return out
}

func foldAlike(r rune) rune {
	if f, ok := alike[r]; ok {
		return f
	}
	if r < utf8.RuneSelf {
		return r
	}
	d := []rune(norm.NFKD.String(string(r)))
	if f, ok := alike[d[0]]; ok {
		return f
	}
	return d[0]
}
