package logs

import (
	"regexp"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/line"
)

// matcher decides on redacted text whether an event answers a request. A term that the redactor masks whole is looked for as the mask it becomes; one that becomes a
// mask without a tag, such as a secret, matches nothing, whatever it guesses.
type matcher struct {
	level line.Level
	terms []compiled
}

type compiled struct {
	Term
	re     *regexp.Regexp
	any    []string // folded opaque texts, one of which must occur
	phrase bool     // it has blanks
	masked bool     // the redactor changes the term: raw text does not hold what it becomes
	never  bool
	field  *compiled // what key:value means beside its words
	need   []Literal // raw texts of which a match holds one
}

// hostKeys are fields under which a bare name is masked: naming a host or pod whole finds it.
var hostKeys = [...]string{"host", "pod", "email"}

func newMatcher(req Request, terms []Term, red *redact.Redactor, tags *redact.Tagger) *matcher {
	m := &matcher{level: line.ParseLevel([]byte(req.Level), true)}
	for _, t := range terms {
		c := compiled{Term: t}
		switch t.Kind {
		case Regex:
			re, err := regexp.Compile(t.Text)
			if err != nil {
				c.never = true
			}
			c.re = re
		case Substring:
			red1 := red.Text(t.Text, tags)
			c.phrase = strings.Contains(t.Text, " ")
			c.masked = red1 != t.Text || strings.IndexByte(t.Text, '<') >= 0
			red2 := red.Text(t.Wide, tags)
			c.masked = c.masked || red2 != t.Wide
			if t.Key != "" {
				f := Term{Kind: FieldIs, Key: t.Key, Text: t.Text[len(t.Key)+1:]}
				c.field = &compiled{Term: f}
				c.masked = c.masked || red.Field(f.Key, f.Text, tags) != f.Text || line.IsLevelKey(f.Key)
			}
			if o := opaque(red1); hidden(o) {
				c.never = true
			} else {
				c.any = append(c.any, foldCase(o))
				if o := opaque(red2); t.Wide != "" && !hidden(o) {
					c.any = append(c.any, foldCase(o))
				}
			}
			if !c.masked && !strings.ContainsAny(t.Text, " \t") && len(t.Text) > 2 {
				for _, k := range hostKeys {
					if v := red.Field(k, t.Text, tags); v != t.Text && isTag(v) {
						c.any = append(c.any, foldCase(opaque(v)))
					}
				}
			}
		case FieldIs:
			c.masked = red.Field(t.Key, t.Text, tags) != t.Text || line.IsLevelKey(t.Key)
		}
		c.need = c.needed()
		m.terms = append(m.terms, c)
	}
	return m
}

// isTag tells whether s is one mask with a tag and nothing else.
func isTag(s string) bool {
	start, end := redact.FindTag(s)
	return start == 0 && end == len(s) && strings.IndexByte(s, ':') > 0
}

// holds tells whether the event that r holds meets the terms.
func (m *matcher) holds(r *reader) bool {
	for i := range m.terms {
		if m.terms[i].holds(r) == m.terms[i].Not {
			return false
		}
	}
	return true
}

func (c *compiled) holds(r *reader) bool {
	if c.never {
		return false
	}
	switch c.Kind {
	case Regex:
		return !r.pieces(func(s string) bool { return !c.re.MatchString(s) })
	case FieldIs:
		return c.fieldHolds(r)
	}
	if c.field != nil && c.field.fieldHolds(r) {
		return true
	}
	return !r.pieces(func(s string) bool {
		s = foldCase(s)
		if c.within(s) {
			return false
		}
		// A phrase is found over line ends and columns too: patterns show them as one space.
		return !c.phrase || !strings.ContainsAny(s, "\t\n") && !strings.Contains(s, "  ") || !c.within(strings.Join(strings.Fields(s), " "))
	})
}

// within tells whether a folded text holds one of the term's texts.
func (c *compiled) within(s string) bool {
	for _, t := range c.any {
		if strings.Contains(s, t) {
			return true
		}
	}
	return false
}

// fieldHolds compares redacted values: what the event has under the key with what the redactor makes of the term under the same key.
func (c *compiled) fieldHolds(r *reader) bool {
	if line.IsLevelKey(c.Key) {
		if want := line.ParseLevel([]byte(c.Text), true); want != line.None && r.level() == want {
			return true
		}
	}
	equal := func(key, value string) bool {
		want := opaque(r.red.Field(key, c.Text, r.tags))
		return !hidden(want) && foldCase(want) == foldCase(opaque(value))
	}
	if line.IsServiceKey(c.Key) && equal(c.Key, r.service()) {
		return true
	}
	for _, f := range r.ev.Fields {
		if sameKey(string(f.Key), c.Key) {
			if k, v := r.field(f); equal(k, v) {
				return true
			}
		}
	}
	for _, l := range r.labels {
		if sameKey(l.Key, c.Key) && equal(l.Key, r.red.Field(l.Key, l.Value, r.tags)) {
			return true
		}
	}
	if r.ev.Format == line.Logfmt {
		return false
	}
	found := false
	line.Pairs([]byte(opaque(r.message())), func(key, value []byte) bool {
		if sameKey(string(key), c.Key) {
			want := opaque(r.red.Field(c.Key, c.Text, r.tags))
			found = !hidden(want) && foldCase(want) == foldCase(string(value))
		}
		return !found
	})
	return found
}

// sameKey compares a field's name with the one asked for, which is in lower case: whole, or its last part.
func sameKey(have, want string) bool {
	if len(have) > len(want) && have[len(have)-len(want)-1] == '.' {
		have = have[len(have)-len(want):]
	}
	return strings.EqualFold(have, want)
}
