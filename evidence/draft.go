package evidence

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-069badc9/mcp-gateway/canonical"
)

// Draft is what a check of a report found.
type Draft struct {
	Citations []DraftCitation `json:"citations"`
	// Uncited are quoted passages that no citation stands beside, those beside a citation of absence that are no words of its scope, and those that may be no quote
	// (a title, a name, a command) and are not found.
	Uncited []Passage `json:"uncited"`
	// OK is true when the report cites at least once where a reader sees it and every citation is backed, seen or not.
	OK bool `json:"citations_ok"`
}

// DraftCitation is one citation of a report with its verdict. A citation beside two quotes is listed once for each.
type DraftCitation struct {
	Line     int     `json:"line"` // of the citation, 1-based
	Citation string  `json:"citation"`
	Quote    string  `json:"quote,omitzero"`
	Hidden   bool    `json:"hidden,omitzero"` // stands where a reader does not see it: a comment, the target of a link, a tag
	Verdict  Verdict `json:"result"`
}

// Passage is a quoted passage of a report.
type Passage struct {
	Line int    `json:"line"`
	Text string `json:"text"`
}

// Bounds of a draft: a report is some pages of text.
const (
	MaxDraft          = 1 << 20
	maxDraftCitations = 2000
	maxPieces         = 64 // of one quote
)

// CheckDraft reads a report in Markdown and decides every citation in it. run is the run that its tool_call_ids belong to; ids minted by the gateway name their run
// themselves. Grammar: [ev:ID], [ev:ID#e3], [ev:ID#r3.status=FAILED], [ev:ID#absent]; the words it relies on stand beside it in quotation marks of any language or
// in a > block. What a reader would take for a citation and is none to the letter, such as [еv:ID] with a Cyrillic е, is listed as INVALID_CITATION. Anything else
// in brackets is no citation. Each record is read once for a draft. ok is false when the draft cannot be read as one: see DraftProblem.
func (g *Guard) CheckDraft(ctx context.Context, caller Caller, markdown string) (d Draft, ok bool) {
	d = Draft{Citations: []DraftCitation{}, Uncited: []Passage{}}
	if DraftProblem(markdown) != "" {
		return d, false
	}
	text := plainText(markdown)
	groups, uncited := readDraft(text)
	d.Uncited = append(d.Uncited, uncited...)
	once := &Guard{r: &readOnce{r: g.r, seen: map[string]reading{}}, replayer: g.replayer}
	n := 0
	for _, gr := range groups {
		if n += len(gr.marks) * max(len(gr.quotes), 1); n > maxDraftCitations {
			return d, false
		}
		cs, loose := once.decideGroup(ctx, caller, gr)
		d.Citations = append(d.Citations, cs...)
		d.Uncited = append(d.Uncited, loose...)
	}
	slices.SortStableFunc(d.Uncited, func(a, b Passage) int { return a.Line - b.Line })
	seen := false
	d.OK = true
	for _, c := range d.Citations {
		d.OK = d.OK && c.Verdict.Backed()
		seen = seen || !c.Hidden
	}
	d.OK = d.OK && seen
	return d, true
}

// DraftProblem says why a text cannot be checked as a draft, "" when it can. Text in another encoding is refused: the signs around its quotes cannot be read, and a
// citation whose quote nobody sees would pass.
func DraftProblem(markdown string) string {
	switch {
	case len(markdown) > MaxDraft:
		return fmt.Sprintf("is larger than %d KiB", MaxDraft>>10)
	case strings.HasPrefix(markdown, "\xff\xfe"), strings.HasPrefix(markdown, "\xfe\xff"), strings.ContainsRune(markdown, 0):
		return "is not UTF-8 but UTF-16, it seems; convert it: iconv -f utf-16 -t utf-8"
	case !utf8.ValidString(markdown):
		return "is not UTF-8; convert it from the encoding it was written in, as in: iconv -f gb18030 -t utf-8"
	case strings.Contains(markdown, "\x1b$"):
		return "is not UTF-8 but ISO-2022, it seems; convert it: iconv -f iso-2022-jp -t utf-8"
	case strings.Count(plainText(markdown), "[ev:") > maxDraftCitations:
		return fmt.Sprintf("cites more than %d times", maxDraftCitations)
	}
	return ""
}

// readOnce reads each record once: a draft cites few calls many times, and all its citations of one call are held against the same reading.
type readOnce struct {
	r    Reader
	seen map[string]reading
}

type reading struct {
	inv canonical.Invocation
	err error
}

func (o *readOnce) once(key string, read func() (canonical.Invocation, error)) (canonical.Invocation, error) {
	got, ok := o.seen[key]
	if !ok {
		got.inv, got.err = read()
		o.seen[key] = got
	}
	return got.inv, got.err
}

func (o *readOnce) Load(ctx context.Context, k canonical.Key) (canonical.Invocation, error) {
	return o.once("run "+k.Run()+" "+k.Call(), func() (canonical.Invocation, error) { return o.r.Load(ctx, k) })
}

func (o *readOnce) FindCall(ctx context.Context, principal, call string) (canonical.Invocation, error) {
	return o.once("call "+call, func() (canonical.Invocation, error) { return o.r.FindCall(ctx, principal, call) })
}

// group is citations that stand side by side, with the quotes that belong to them.
type group struct {
	marks  []mark
	quotes []quotation
}

// mark is one citation as written, or what only looks like one.
type mark struct {
	line   int
	text   string
	hidden bool
	alike  bool
}

// decideGroup decides the citations of a group. A quote beside several citations has to be in one of them; the others then stand for themselves.
func (g *Guard) decideGroup(ctx context.Context, caller Caller, gr group) (out []DraftCitation, uncited []Passage) {
	plain := func(m mark) DraftCitation { return g.quoted(ctx, caller, m, "") }
	for _, q := range gr.quotes {
		with := make([]DraftCitation, len(gr.marks))
		found, absent := false, true
		for i, m := range gr.marks {
			with[i] = g.quoted(ctx, caller, m, q.Text)
			found = found || with[i].Verdict.Backed() && with[i].Quote != ""
			absent = absent && with[i].Verdict.Outcome == ScopedNegative
		}
		for i, m := range gr.marks {
			if found && !with[i].Verdict.Backed() {
				with[i] = plain(m)
			}
		}
		if absent && !inScope(with, q.Text) || q.soft && !absent && !found {
			uncited = append(uncited, q.Passage)
		}
		if !q.soft || found {
			out = append(out, with...)
		}
	}
	if len(out) == 0 {
		for _, m := range gr.marks {
			out = append(out, plain(m))
		}
	}
	return out, uncited
}

// inScope tells whether quote may be what one of the calls searched for: it is among the words of its scope, or the scope does not tell the words.
func inScope(cs []DraftCitation, quote string) bool {
	q := strings.ToLower(normalize(quote))
	for _, c := range cs {
		var scope map[string]any
		if decode(c.Verdict.Scope, &scope) != nil {
			continue
		}
		query, told := scope["query"].(string)
		found := !told || strings.Contains(query, " … #") // shortened
		walkTexts(scope, func(s string) { found = found || strings.Contains(strings.ToLower(normalize(s)), q) })
		if found {
			return true
		}
	}
	return false
}

// quoted decides one citation with a quote beside it, "" for none. A citation of absence has no words to find: what is quoted beside it is what was searched for.
func (g *Guard) quoted(ctx context.Context, caller Caller, m mark, quote string) DraftCitation {
	d := DraftCitation{Line: m.line, Citation: m.text, Hidden: m.hidden}
	c, ok := parseMark(m.text)
	if m.alike || !ok {
		d.Verdict = rejected(c, InvalidCitation, Existence)
		return d
	}
	cl := claim{Citation: c}
	if quote != "" && c.Stance == StanceFound {
		d.Quote, cl.Quote = quote, &quote
		cl.ordered, cl.lines = pieces(ellipsis.Split(quote, maxPieces+1)), pieces(strings.Split(quote, "\n"))
	}
	d.Verdict = g.verify(ctx, caller, []claim{cl})
	return d
}

var ellipsis = regexp.MustCompile(`\s*(?:\[…\]|\[\.\.\.\]|…|\.\.\.)\s*`)

// pieces normalises the parts of a quote and drops empty ones; nil when there are too many to be a quote.
func pieces(parts []string) (out []string) {
	for _, p := range parts {
		if p = strings.Trim(normalize(p), "\"“”"); p != "" {
			out = append(out, p)
		}
	}
	if len(out) > maxPieces {
		return nil
	}
	return out
}

var (
	markGrammar  = regexp.MustCompile(`\[ev:[^\]\n]*\]`)
	fieldGrammar = regexp.MustCompile(`^([a-z][1-9][0-9]{0,5})\.([^=]+)=(.*)$`)
)

// parseMark reads one citation as written. What follows [ev: must be right to the letter: a citation that cannot be read backs nothing.
func parseMark(s string) (Citation, bool) {
	body := strings.TrimSuffix(strings.TrimPrefix(s, "[ev:"), "]")
	call, frag, hasFrag := strings.Cut(body, "#")
	c := Citation{Run: canonical.CurrentRun, Call: call, Stance: StanceFound}
	if !canonical.ValidID(call) {
		return Citation{Run: canonical.CurrentRun}, false
	}
	switch m := fieldGrammar.FindStringSubmatch(frag); {
	case !hasFrag:
	case frag == "absent":
		c.Stance = StanceAbsent
	case m != nil:
		c.Item, c.Field, c.Value = m[1], &m[2], &m[3]
	case itemGrammar.MatchString(frag):
		c.Item = frag
	default:
		return c, false
	}
	return c, c.wellFormed()
}
