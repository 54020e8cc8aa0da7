package rag

import (
	"hash/fnv"
	"strings"
	"unicode"
)

// fingerprint tells passages apart that say the same in other places. Numbers, letter case, marks and white space do not count, as copies of a runbook differ in
// ports, dates and layout.
type fingerprint struct {
	exact    uint64
	shingles map[uint64]struct{}
}

const (
	shingleWords = 5 // neighbouring words that are compared together
	shingleRunes = 5 // the same for scripts without spaces
	// nearDuplicate is the share of common shingles from which two passages are one: at 0.8 a paragraph with one changed sentence of five is still the same.
	nearDuplicate = 0.8
	maxShingles   = 2048
)

func fingerprintOf(text string) fingerprint {
	var words []string
	var word strings.Builder
	flush := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
	}
	cjk := 0
	for _, r := range text {
		switch {
		case unicode.Is(unicode.Han, r) || unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			flush()
			words = append(words, string(r))
			cjk++
		case unicode.IsLetter(r):
			word.WriteRune(unicode.ToLower(r))
		case unicode.IsDigit(r):
			if !strings.HasSuffix(word.String(), "0") {
				word.WriteByte('0')
			}
		default:
			flush()
		}
	}
	flush()
	n := shingleWords
	if cjk*2 > len(words) {
		n = shingleRunes
	}
	f := fingerprint{exact: hashWords(words), shingles: map[uint64]struct{}{}}
	for i := 0; i+n <= len(words) && len(f.shingles) < maxShingles; i++ {
		f.shingles[hashWords(words[i:i+n])] = struct{}{}
	}
	return f
}

func hashWords(words []string) uint64 {
	h := fnv.New64a()
	for _, w := range words {
		h.Write([]byte(w))
		h.Write([]byte{0})
	}
	return h.Sum64()
}

// same tells exact and near duplicates.
func (f fingerprint) same(o fingerprint) bool {
	if f.exact == o.exact {
		return true
	}
	small, large := f.shingles, o.shingles
	if len(small) > len(large) {
		small, large = large, small
	}
	if float64(len(small)) < nearDuplicate*float64(len(large)) || len(small) == 0 {
		return false
	}
	common := 0
	for s := range small {
		if _, ok := large[s]; ok {
			common++
		}
	}
	return float64(common) >= nearDuplicate*float64(len(small)+len(large)-common)
}
