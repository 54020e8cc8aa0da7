package lex

// stem reduces an English word to its stem after M. F. Porter's algorithm of 1980 ("An algorithm for suffix stripping", Program 14 no. 3). Words with anything
// but a-z in them, and words under four letters, stay as they are: identifiers and Chinese pinyin abbreviations gain nothing from it.
func stem(w string) string {
	if len(w) < 4 {
		return w
	}
	for i := range len(w) {
		if w[i] < 'a' || w[i] > 'z' {
			return w
		}
	}
	p := porter(append(make([]byte, 0, len(w)+2), w...))
	p.step1()
	p.step2()
	p.step3()
	p.step4()
	p.step5()
	return string(p)
}

type porter []byte

func (p porter) vowel(i int) bool {
	switch p[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return true
	case 'y':
		return i > 0 && !p.vowel(i-1)
	}
	return false
}

// measure counts the vowel-consonant sequences of the first n letters.
func (p porter) measure(n int) int {
	m, prev := 0, false
	for i := range n {
		v := p.vowel(i)
		if prev && !v {
			m++
		}
		prev = v
	}
	return m
}

func (p porter) hasVowel(n int) bool {
	for i := range n {
		if p.vowel(i) {
			return true
		}
	}
	return false
}

func (p porter) ends(s string) bool { return len(p) > len(s) && string(p[len(p)-len(s):]) == s }

func (p porter) doubled() bool {
	n := len(p)
	return n > 1 && p[n-1] == p[n-2] && !p.vowel(n-1)
}

// cvc tells that the first n letters end consonant, vowel, consonant, the last not w, x or y.
func (p porter) cvc(n int) bool {
	if n < 3 || p.vowel(n-1) || !p.vowel(n-2) || p.vowel(n-3) {
		return false
	}
	c := p[n-1]
	return c != 'w' && c != 'x' && c != 'y'
}

func (p *porter) cut(n int, add string) { *p = append((*p)[:len(*p)-n], add...) }

func (p *porter) step1() {
	switch {
	case p.ends("sses"), p.ends("ies"):
		p.cut(2, "")
	case p.ends("ss"), p.ends("us"), p.ends("is"): // status, basis: not plurals
	case p.ends("s"):
		p.cut(1, "")
	}
	switch {
	case p.ends("eed"):
		if p.measure(len(*p)-3) > 0 {
			p.cut(1, "")
		}
	case p.ends("ed") && p.hasVowel(len(*p)-2):
		p.cut(2, "")
		p.mend()
	case p.ends("ing") && p.hasVowel(len(*p)-3):
		p.cut(3, "")
		p.mend()
	}
	if p.ends("y") && p.hasVowel(len(*p)-1) {
		p.cut(1, "i")
	}
}

func (p *porter) mend() {
	switch {
	case p.ends("at"), p.ends("bl"), p.ends("iz"):
		p.cut(0, "e")
	case p.doubled():
		if c := (*p)[len(*p)-1]; c != 'l' && c != 's' && c != 'z' {
			p.cut(1, "")
		}
	case p.measure(len(*p)) == 1 && p.cvc(len(*p)):
		p.cut(0, "e")
	}
}

type suffix struct{ from, to string }

var suffixes2 = []suffix{{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"}, {"bli", "ble"}, {"alli", "al"}, {"entli", "ent"}, {"eli", "e"},
	{"ousli", "ous"}, {"ization", "ize"}, {"ation", "ate"}, {"ator", "ate"}, {"alism", "al"}, {"iveness", "ive"}, {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"},
	{"iviti", "ive"}, {"biliti", "ble"}, {"logi", "log"}}

var suffixes3 = []suffix{{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""}}

var suffixes4 = []string{"ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ism", "ate", "iti", "ous", "ive", "ize", "al", "er", "ic", "ou"}

func (p *porter) replace(list []suffix) {
	for _, s := range list {
		if p.ends(s.from) {
			if p.measure(len(*p)-len(s.from)) > 0 {
				p.cut(len(s.from), s.to)
			}
			return
		}
	}
}

func (p *porter) step2() { p.replace(suffixes2) }
func (p *porter) step3() { p.replace(suffixes3) }

func (p *porter) step4() {
	if p.ends("ion") {
		if n := len(*p) - 3; p.measure(n) > 1 && n > 0 && ((*p)[n-1] == 's' || (*p)[n-1] == 't') {
			p.cut(3, "")
		}
		return
	}
	for _, s := range suffixes4 {
		if p.ends(s) {
			if p.measure(len(*p)-len(s)) > 1 {
				p.cut(len(s), "")
			}
			return
		}
	}
}

func (p *porter) step5() {
	if n := len(*p) - 1; p.ends("e") {
		if m := p.measure(n); m > 1 || m == 1 && !p.cvc(n) {
			p.cut(1, "")
		}
	}
	if n := len(*p); p.ends("ll") && p.measure(n-1) > 1 {
		p.cut(1, "")
	}
}
