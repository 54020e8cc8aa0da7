package logs

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxNeed bounds the alternatives of a prefilter: each is searched for on its own.
const maxNeed = 8

// need picks, of all positive terms, the texts that tell most lines apart without decoding them.
func (m *matcher) need() []Literal {
	var best []Literal
	score := 0
	for i := range m.terms {
		if set := m.terms[i].need; worth(set) > score {
			best, score = set, worth(set)
		}
	}
	return best
}

// needed gives texts of which every event that meets the term holds one. Negated terms never filter raw text, nor do terms whose value is masked: those are decided on
// redacted text alone.
func (c *compiled) needed() []Literal {
	if c.Not || c.masked || c.never {
		return nil
	}
	text := c.Text
	switch {
	case c.Kind == Regex:
		if re, err := syntax.Parse(c.Text, syntax.Perl); err == nil {
			return required(re.Simplify())
		}
		return nil
	case c.Wide != "": // what both widths have in common
		text = c.Wide
		if i := strings.IndexAny(text, ":："); c.field != nil && i >= 0 {
			text = text[i:]
		}
	case c.field != nil:
		text = c.field.Text
	}
	if lit := longestRun(foldCase(text)); lit != "" {
		return []Literal{{lit, true}}
	}
	return nil
}

// worth tells how well a set tells lines apart: by its shortest text; digits are more telling than letters.
func worth(set []Literal) int {
	w := 0
	for i, l := range set {
		n := 0
		for k := range len(l.Text) {
			if n += 2; l.Text[k] >= '0' && l.Text[k] <= '9' {
				n++
			}
		}
		if i == 0 || n < w {
			w = n
		}
	}
	return w
}

// unlikely tells raw text that cannot meet the terms: one of them needs a text that is not there. Text with escapes is not judged. It saves work and decides nothing
// that holds would not decide.
func (m *matcher) unlikely(raw []byte) bool {
	judged := false
	for i := range m.terms {
		set := m.terms[i].need
		if len(set) == 0 {
			continue
		}
		if !judged {
			if bytes.IndexByte(raw, 0x1b) >= 0 || escaped(raw) {
				return false
			}
			judged = true
		}
		if !slices.ContainsFunc(set, func(l Literal) bool { return l.in(raw) }) {
			return true
		}
	}
	return false
}

// escaped tells a backslash behind which something may hide; a line end that ends a text is none.
func escaped(raw []byte) bool {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return false
		}
		if i+2 >= len(raw) || raw[i+1] != 'n' || raw[i+2] != '"' {
			return true
		}
		raw = raw[i+3:]
	}
}

// in tells whether raw holds the text.
func (l Literal) in(raw []byte) bool {
	if !l.Fold {
		return bytes.Contains(raw, []byte(l.Text))
	}
	first := l.Text[0]
	other := first
	if 'a' <= first && first <= 'z' {
		other -= 'a' - 'A'
	}
	for i := 0; i+len(l.Text) <= len(raw); i++ {
		if raw[i] != first && raw[i] != other {
			continue
		}
		k := 1
		for k < len(l.Text) && (raw[i+k] == l.Text[k] || raw[i+k]|0x20 == l.Text[k] && 'a' <= l.Text[k] && l.Text[k] <= 'z') {
			k++
		}
		if k == len(l.Text) {
			return true
		}
	}
	return false
}

// weight is the length of the shortest text of a set: the one that lets most through.
func weight(set []Literal) int {
	w := 0
	for i, l := range set {
		if i == 0 || len(l.Text) < w {
			w = len(l.Text)
		}
	}
	return w
}

// longestRun is the longest part of a folded text that stands in raw text as it is: structured formats write =, :, quotes and the dots between nested keys otherwise,
// and letters beyond ASCII that have a case would need more folding than the raw search does.
func longestRun(s string) string {
	return longest(s, func(r rune) bool {
		return r == utf8.RuneError || r == '=' || r == ':' || r == '"' || r == '\'' || r == ' ' || r == '\t' || r == '\\' || r == '<' || r == '>' || r == '&' || r == '/' ||
			r == ',' || r == '.' || narrow(r) != r || r >= utf8.RuneSelf && unicode.ToUpper(r) != r || r >= tagBase && r < tagBase+0x80
	})
}

func longest(s string, stop func(rune) bool) string {
	best := ""
	for _, run := range strings.FieldsFunc(s, stop) {
		if len(run) > len(best) {
			best = run
		}
	}
	return best
}

// required finds texts of which every match of re holds one; nil when none are certain.
func required(re *syntax.Regexp) []Literal {
	switch re.Op {
	case syntax.OpLiteral:
		text, fold := string(re.Rune), re.Flags&syntax.FoldCase != 0
		if fold {
			text = longestRun(foldCase(text))
		} else {
			text = longest(text, func(r rune) bool {
				return r == utf8.RuneError || r <= ' ' || r == '\\' || r == '"' || r == '=' || r == '.'
			})
		}
		if text == "" {
			return nil
		}
		return []Literal{{text, fold}}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []Literal
		for _, sub := range re.Sub {
			if set := required(sub); weight(set) > weight(best) {
				best = set
			}
		}
		return best
	case syntax.OpAlternate:
		var all []Literal
		for _, sub := range re.Sub {
			set := required(sub)
			if len(set) == 0 || len(all)+len(set) > maxNeed {
				return nil
			}
			all = append(all, set...)
		}
		return all
	case syntax.OpCharClass: // the parser writes short alternatives such as a|b as a class
		if len(re.Rune) == 2 && re.Rune[0] == re.Rune[1] {
			return []Literal{{string(re.Rune[0]), false}}
		}
	}
	return nil
}
