package evidence

import (
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-069badc9/mcp-gateway/canonical"
)

// Stance says what a citation claims: that something was found, or that nothing was.
type Stance string

// The stances. A citation without one claims found.
const (
	StanceFound  Stance = "found"
	StanceAbsent Stance = "absent"
)

// Citation names what a sentence rests on. Nil pointers are parts that were not given.
type Citation struct {
	Run    string // a run id, or "current"
	Call   string
	Item   string  // e3, p1, r2 …; "" for the whole observation
	Field  *string // a member of the item, for rows a column name (the second of a name is name~2)
	Value  *string // what the field holds
	Quote  *string // words of the item
	SHA256 string  // digest of the whole observation, lower-case hex
	Stance Stance
}

// minQuote is how wide a quote must be to count as evidence of its own: shorter ones match by chance, so they must be one whole cell.
const minQuote = 8

// width counts the characters of a quote, an East Asian one as two: four of them say as much, and stand together by chance as seldom, as eight letters.
func width(s string) int {
	n := 0
	for _, r := range normalize(s) {
		n++
		if eastAsian(r) {
			n++
		}
	}
	return n
}

// eastAsian tells ideographs, kana and Hangul syllables. Half-width forms and single jamo are letters like others.
func eastAsian(r rune) bool {
	switch {
	case r < 0x2E80, 0x3130 <= r && r <= 0x318F, 0xA960 <= r && r <= 0xA97F, 0xD7B0 <= r && r <= 0xD7FF, 0xFF00 <= r && r <= 0xFFEF:
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// maxURI bounds a citation: the longest legitimate ones quote a paragraph.
const maxURI = 16 << 10

var (
	itemGrammar   = regexp.MustCompile(`^[a-z][1-9][0-9]{0,5}$`)
	digestGrammar = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)
)

// ParseURI reads evidence://{run}/{call}?item=&field=&value=&quote=&sha256=&stance=. ok is false for anything else: another scheme, ids outside the grammar, an
// unknown, repeated or malformed parameter, a fragment, user information, a port.
func ParseURI(raw string) (c Citation, ok bool) {
	if len(raw) > maxURI || !utf8.ValidString(raw) {
		return Citation{}, false
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "evidence" || u.User != nil || u.Fragment != "" || strings.Contains(raw, "#") || u.Opaque != "" {
		return Citation{}, false
	}
	c = Citation{Run: u.Host, Call: strings.TrimPrefix(u.Path, "/"), Stance: StanceFound}
	if u.RawPath != "" || u.Path == c.Call || (c.Run != canonical.CurrentRun && !canonical.ValidID(c.Run)) || !canonical.ValidID(c.Call) {
		return Citation{}, false
	}
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return c, false
	}
	for name, values := range q {
		if len(values) != 1 || !utf8.ValidString(values[0]) {
			return c, false
		}
		v := values[0]
		switch name {
		case "item":
			c.Item = v
			if v == "" {
				return c, false
			}
		case "field":
			c.Field = &v
		case "value":
			c.Value = &v
		case "quote":
			c.Quote = &v
		case "sha256":
			if !digestGrammar.MatchString(v) {
				return c, false
			}
			c.SHA256 = strings.ToLower(v)
		case "stance":
			c.Stance = Stance(v)
		default:
			return c, false
		}
	}
	return c, c.wellFormed()
}

// wellFormed checks what can be checked without a record.
func (c Citation) wellFormed() bool {
	switch {
	case c.Run != canonical.CurrentRun && !canonical.ValidID(c.Run), !canonical.ValidID(c.Call):
		return false
	case c.Item != "" && !itemGrammar.MatchString(c.Item):
		return false
	case c.Field != nil && (c.Item == "" || *c.Field == ""), c.Value != nil && c.Field == nil:
		return false
	case c.Stance != StanceFound && c.Stance != StanceAbsent:
		return false
	case c.SHA256 != "" && !digestGrammar.MatchString(c.SHA256):
		return false
	case c.Quote != nil && strings.TrimSpace(*c.Quote) == "":
		return false
	}
	return true
}

// short tells whether the quote is too short to stand on its own.
func (c Citation) short() bool {
	return c.Quote != nil && width(*c.Quote) < minQuote
}
