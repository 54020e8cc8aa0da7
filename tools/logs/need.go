package logs

import (
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxNeed bounds the alternatives of a prefilter: each is searched for on its own.
const maxNeed = 8

// need picks, of all positive terms, the texts that tell most lines apart without decoding them. Negated terms never filter raw text, nor do terms whose value is
// masked: those are decided on redacted text alone.
func (m *matcher) need() []Literal {
	var best []Literal
	score := 0
	for i := range m.terms {
		t := &m.terms[i]
		if t.Not || t.masked {
			continue
		}
		var set []Literal
		switch t.Kind {
		case Regex:
			if re, err := syntax.Parse(t.Text, syntax.Perl); err == nil {
				set = required(re.Simplify())
			}
		default:
			text := t.Text
			if t.field != nil {
				text = t.field.Text
			}
			if lit := longestRun(foldCase(text)); lit != "" {
				set = []Literal{{lit, true}}
			}
		}
		if s := weight(set); s > score {
			best, score = set, s
		}
	}
	return best
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
			r == ',' || r == '.' || r >= utf8.RuneSelf && unicode.ToUpper(r) != r || r >= tagBase && r < tagBase+0x80
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
