package logs

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// Bounds of a query. 2 KiB and 32 terms are far over what a question needs; 2000 instructions keep a regular expression's automaton small.
const (
	maxQuery   = 2 << 10
	maxTerms   = 32
	maxRegex   = 512
	maxProgram = 2000
)

// TermKind tells the forms of a term apart.
type TermKind uint8

// The forms of a term.
const (
	Substring TermKind = iota // case-insensitive
	Regex                     // RE2, letter case as written
	FieldIs                   // a field equals a value, case-insensitive
)

// Term is one condition of a query; all must hold.
type Term struct {
	Kind TermKind
	Not  bool
	Key  string // FieldIs; of a substring key:value, the key: it also finds the field with that value
	Text string // the substring, the expression, the value
	Wide string // a substring with signs that were typed in full width, as typed: text may be written so too
}

// ParseQuery reads the query language: terms, "quoted phrases", -excluded, /regex/, field=value, its signs in half or full width. The error is INVALID_REQUEST and its hint says what would be right.
func ParseQuery(q string) ([]Term, error) {
	if len(q) > maxQuery {
		return nil, badQuery("the query is longer than 2048 bytes")
	}
	if strings.ContainsFunc(q, func(r rune) bool { return r < 0x20 && r != '\t' || r == 0x7f || r >= tagBase && r < tagBase+0x80 }) {
		return nil, badQuery("the query holds a control or private-use character")
	}
	var terms []Term
	for s := strings.TrimLeft(q, blanks+parting); s != ""; s = strings.TrimLeft(s, blanks+parting) {
		if len(terms) == maxTerms {
			return nil, badQuery("the query has more than 32 terms")
		}
		t, rest, err := nextTerm(s)
		if err != nil {
			return nil, err
		}
		s = rest
		if t.Kind == Substring && t.Text == "" || slices.Contains(terms, t) {
			continue
		}
		terms = append(terms, t)
	}
	return terms, nil
}

func nextTerm(s string) (Term, string, error) {
	var t Term
	if rest, ok := cutSign(s, '-'); ok && !beginsBlank(rest) {
		if _, twice := cutSign(rest, '-'); !twice {
			t.Not, s = true, rest
		}
	}
	if opensPhrase(s) {
		text, rest, err := phrase(s)
		t.Text = text
		return t, rest, err
	}
	if expr, flags, rest, ok := slashed(s); ok {
		if flags != "" {
			expr = "(?" + flags + ")" + expr
		}
		t.Kind, t.Text = Regex, expr
		return t, rest, checkRegex(expr)
	}
	if key, op, rest, ok := fieldKey(s); ok && (op != ":" || opensPhrase(rest)) {
		if op == "!=" {
			t.Not = !t.Not
		}
		t.Kind, t.Key = FieldIs, strings.ToLower(key)
		if opensPhrase(rest) {
			text, rest, err := phrase(rest)
			t.Text = text
			return t, rest, err
		}
		value, rest := cutWord(rest, t.Not)
		if t.Text = halfLetters(value); t.Text == "" {
			return t, rest, badQuery("field= needs a value, as in status=502")
		}
		if !isASCII(key) { // in Chinese text words stand in front of an equals sign without being a field
			t.Kind, t.Text = Substring, t.Key+"="+t.Text
		}
		return t, rest, nil
	}
	word, rest := cutWord(s, t.Not)
	half := halfWidth(word)
	switch half {
	case "OR", "AND", "NOT", "或", "或者", "且", "并且", "和", "与", "及", "非", "不含", "排除":
		return t, rest, badQuery(`terms are all required; write alternatives as /a|b/, exclusion as -word, and quote the word to search for it`)
	case "|", "||", "&&", "|=", "|~", "!~", "=~", "!=":
		return t, rest, badQuery("there are no pipes and operators; terms are all required; write alternatives as /a|b/, exclusion as -word, and quote the sign to search for it")
	}
	if half = strings.Trim(half, "*"); strings.Contains(half, "*") {
		return t, rest, badQuery("wildcards are not supported; a term is found anywhere in a word; write /a.*b/, or quote the word to search for it")
	}
	if comparison.MatchString(half) {
		return t, rest, badQuery(`comparisons are not supported; write status=502, or /status=5\d\d/, or quote the word to search for it`)
	}
	if key, op, value, ok := fieldKey(half); ok && op == ":" && value != "" && value[0] != ':' && value[0] != '/' {
		t.Key = strings.ToLower(key)
	}
	t.Text = half
	if wide := strings.Trim(halfLetters(word), "*＊"); wide != half {
		t.Wide = wide
	}
	return t, rest, nil
}

// comparison is what looks like a range of numbers: taken for a word it would find nothing and say so.
var comparison = regexp.MustCompile(`^[A-Za-z_][\w.]*(?:>|<|>=|<=)\d+(?:\.\d+)?$`)

// quoted reads a phrase in double quotes; \" and \\ stand for themselves.
func quoted(s string) (text, rest string, err error) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			if b.Len() == 0 {
				return "", "", badQuery("a quoted phrase is empty")
			}
			return b.String(), s[i+1:], nil
		case s[i] == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			i++
		}
		b.WriteByte(s[i])
	}
	return "", "", badQuery(`a quoted phrase is not closed with "`)
}

// slashed reads /regex/ with optional flags: it ends at a slash that is not escaped and at which the word ends. A path such as /api/orders is no expression. Two slashes
// in full width do as well.
func slashed(s string) (expr, flags, rest string, ok bool) {
	slash := "/"
	if strings.HasPrefix(s, "／") {
		slash = "／"
	} else if !strings.HasPrefix(s, slash) {
		return "", "", "", false
	}
	for i := len(slash); i < len(s); i++ {
		if s[i] == '\\' {
			i++
			continue
		}
		if !strings.HasPrefix(s[i:], slash) {
			continue
		}
		end := i + len(slash)
		j := end
		for j < len(s) && (s[j] == 'i' || s[j] == 's' || s[j] == 'm') && j-end < 3 {
			j++
		}
		if i > len(slash) && beginsBlank(s[j:]) {
			return strings.ReplaceAll(s[len(slash):i], `\/`, `/`), s[end:j], s[j:], true
		}
	}
	return "", "", "", false
}

func checkRegex(expr string) error {
	if len(expr) > maxRegex {
		return badQuery("a regular expression is longer than 512 bytes")
	}
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		detail := ""
		if se, ok := errors.AsType[*syntax.Error](err); ok {
			detail = ": " + string(se.Code)
		}
		return badQuery("a regular expression is not valid RE2" + detail)
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil || len(prog.Inst) > maxProgram {
		return badQuery("a regular expression is too complex")
	}
	if _, err := regexp.Compile(expr); err != nil {
		return badQuery("a regular expression is not valid RE2")
	}
	return nil
}

var errQuery = errors.New("query")

func badQuery(hint string) error {
	return fault.New(fault.InvalidRequest, "logs.ParseQuery", errQuery).WithHint("query: " + hint)
}

// normalTerms is the query in its normal form: equal for queries that mean the same.
func normalTerms(terms []Term) string {
	out := make([]string, 0, len(terms))
	for _, t := range terms {
		s := ""
		if t.Not {
			s = "-"
		}
		switch t.Kind {
		case Regex:
			s += "/" + t.Text + "/"
		case FieldIs:
			s += t.Key + "=" + strconv.Quote(strings.ToLower(t.Text))
		default:
			s += strconv.Quote(strings.ToLower(t.Text))
		}
		out = append(out, s)
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), " ")
}
