package evidence

import (
	"context"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/seed-069badc9/mcp-gateway/canonical"
)

// Draft is what a check of a report found.
type Draft struct {
	Citations []DraftCitation `json:"citations"`
	// Uncited are quoted passages that no citation stands beside.
	Uncited []Passage `json:"uncited"`
	// OK is true when the report cites at least once and every citation is backed.
	OK bool `json:"citations_ok"`
}

// DraftCitation is one citation of a report with its verdict. A citation beside two quotes is listed once for each.
type DraftCitation struct {
	Line     int     `json:"line"` // of the citation, 1-based
	Citation string  `json:"citation"`
	Quote    string  `json:"quote,omitzero"`
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
)

// CheckDraft reads a report in Markdown and decides every citation in it. run is the run that its tool_call_ids belong to; ids minted by the gateway name their run
// themselves. Grammar: [ev:ID], [ev:ID#e3], [ev:ID#r3.status=FAILED], [ev:ID#absent]; the words it relies on stand beside it in "…", “…”, 「…」 or a > block. Anything
// else in brackets is no citation. ok is false when the draft is larger than MaxDraft or cites more than 2,000 times.
func (g *Guard) CheckDraft(ctx context.Context, caller Caller, markdown string) (d Draft, ok bool) {
	d = Draft{Citations: []DraftCitation{}, Uncited: []Passage{}}
	if len(markdown) > MaxDraft {
		return d, false
	}
	groups, uncited := readDraft(markdown)
	d.Uncited = append(d.Uncited, uncited...)
	n := 0
	for _, gr := range groups {
		if n += len(gr.marks) * max(len(gr.quotes), 1); n > maxDraftCitations {
			return d, false
		}
		d.Citations = append(d.Citations, g.decideGroup(ctx, caller, gr)...)
	}
	d.OK = len(d.Citations) > 0
	for _, c := range d.Citations {
		d.OK = d.OK && c.Verdict.Backed()
	}
	return d, true
}

// group is citations that stand side by side, with the quotes that belong to them.
type group struct {
	marks  []mark
	quotes []Passage
}

// mark is one citation as written.
type mark struct {
	line int
	text string
}

// decideGroup decides the citations of a group. A quote beside several citations has to be in one of them; the others then stand for themselves.
func (g *Guard) decideGroup(ctx context.Context, caller Caller, gr group) []DraftCitation {
	var out []DraftCitation
	plain := func(m mark) DraftCitation {
		c, ok := parseMark(m.text)
		if !ok {
			return DraftCitation{Line: m.line, Citation: m.text, Verdict: rejected(c, InvalidCitation, Existence)}
		}
		return DraftCitation{Line: m.line, Citation: m.text, Verdict: g.Verify(ctx, caller, c)}
	}
	if len(gr.quotes) == 0 {
		for _, m := range gr.marks {
			out = append(out, plain(m))
		}
		return out
	}
	for _, q := range gr.quotes {
		with := make([]DraftCitation, len(gr.marks))
		any := false
		for i, m := range gr.marks {
			with[i] = g.quoted(ctx, caller, m, q.Text)
			any = any || with[i].Verdict.Backed() && with[i].Quote != ""
		}
		for i, m := range gr.marks {
			if any && !with[i].Verdict.Backed() {
				with[i] = plain(m)
			}
		}
		out = append(out, with...)
	}
	return out
}

// quoted decides one citation with a quote beside it. A citation of absence has no words to find: what is quoted beside it is what was searched for.
func (g *Guard) quoted(ctx context.Context, caller Caller, m mark, quote string) DraftCitation {
	c, ok := parseMark(m.text)
	d := DraftCitation{Line: m.line, Citation: m.text}
	if !ok {
		d.Verdict = rejected(c, InvalidCitation, Existence)
		return d
	}
	if c.Stance == StanceAbsent {
		d.Verdict = g.Verify(ctx, caller, c)
		return d
	}
	d.Quote = quote
	c.Quote = &quote
	d.Verdict = g.Verify(ctx, caller, c)
	if d.Verdict.Reason != QuoteNotFound {
		return d
	}
	// Left-out words and several lines of a > block: each piece has to be there.
	for _, pieces := range [][]string{cutAt(quote, ellipsis), strings.Split(quote, "\n")} {
		if v, all := g.pieces(ctx, caller, c, pieces); all {
			d.Verdict = v
			return d
		}
	}
	return d
}

var ellipsis = regexp.MustCompile(`\s*(?:\[…\]|\[\.\.\.\]|…|\.\.\.)\s*`)

func cutAt(s string, re *regexp.Regexp) []string { return re.Split(s, -1) }

func (g *Guard) pieces(ctx context.Context, caller Caller, c Citation, pieces []string) (v Verdict, all bool) {
	n := 0
	for _, p := range pieces {
		if p = strings.TrimSpace(p); p == "" {
			continue
		}
		c.Quote = &p
		if v = g.Verify(ctx, caller, c); !v.Backed() {
			return v, false
		}
		n++
	}
	return v, n > 1
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

// block is a paragraph, a list item, a heading or a > block.
type block struct {
	line   int
	lines  []string
	quoted bool // a > block
}

var listItem = regexp.MustCompile(`^\s*(?:[-*+]|\d{1,9}[.)])\s+`)

// blocks splits Markdown. Fenced code is a block of its own without quotes: what stands in code is no claim in words, but a citation in it still has to hold.
func blocks(markdown string) (out []block, fenced map[int]bool) {
	fenced = map[int]bool{}
	var cur *block
	fence := ""
	for i, l := range strings.Split(strings.ReplaceAll(markdown, "\r\n", "\n"), "\n") {
		trimmed := strings.TrimSpace(l)
		start := func(quoted bool) {
			out = append(out, block{line: i + 1, quoted: quoted})
			cur = &out[len(out)-1]
		}
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence, cur = "", nil
				continue
			}
			cur.lines = append(cur.lines, l)
			fenced[cur.line] = true
			continue
		case strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~"):
			fence = trimmed[:3]
			start(false)
			fenced[cur.line] = true
			continue
		case trimmed == "":
			cur = nil
			continue
		}
		inner, isQuote := strings.CutPrefix(trimmed, ">")
		switch {
		case isQuote:
			if cur == nil || !cur.quoted {
				start(true)
			}
			cur.lines = append(cur.lines, strings.TrimSpace(inner))
			continue
		case cur == nil || cur.quoted || listItem.MatchString(l) || strings.HasPrefix(trimmed, "#"):
			start(false)
		}
		cur.lines = append(cur.lines, l)
	}
	return out, fenced
}

// readDraft finds the groups of citations, each with the quotes beside it.
func readDraft(markdown string) (groups []group, uncited []Passage) {
	all, fenced := blocks(markdown)
	own := make([][]group, len(all))      // groups of each block
	waiting := make([]*Passage, len(all)) // > blocks without a citation inside
	for i, b := range all {
		var loose []Passage
		own[i], loose = b.read(fenced[b.line])
		if b.quoted && len(own[i]) == 0 && len(loose) == 1 {
			waiting[i] = &loose[0]
			continue
		}
		uncited = append(uncited, loose...)
	}
	// A > block without a citation belongs to the block that follows it, else to the one before.
	for i, p := range waiting {
		switch {
		case p == nil:
		case i+1 < len(all) && len(own[i+1]) > 0:
			own[i+1][0].quotes = append(own[i+1][0].quotes, *p)
		case i > 0 && len(own[i-1]) > 0:
			last := &own[i-1][len(own[i-1])-1]
			last.quotes = append(last.quotes, *p)
		default:
			uncited = append(uncited, *p)
		}
	}
	for _, g := range own {
		groups = append(groups, g...)
	}
	return groups, uncited
}

// read finds the groups of one block and the quotes that belong to none.
func (b block) read(code bool) (groups []group, loose []Passage) {
	text := strings.Join(b.lines, "\n")
	lineAt := func(off int) int { return b.line + strings.Count(text[:off], "\n") + lineShift(code) }
	marks := markGrammar.FindAllStringIndex(text, -1)
	var quotes [][3]int // begin and end of the words, end with the closing sign
	if b.quoted {
		whole := strings.TrimSpace(markGrammar.ReplaceAllString(text, ""))
		whole = strings.Trim(whole, "\"“”")
		if whole != "" {
			loose = []Passage{{lineAt(0), whole}}
		}
	} else if !code {
		quotes = quoteSpans(text)
	}
	for i, m := range marks {
		mk := mark{lineAt(m[0]), text[m[0]:m[1]]}
		if i > 0 && len(strings.Trim(text[marks[i-1][1]:m[0]], " \t\n,;，；、")) == 0 {
			last := &groups[len(groups)-1]
			last.marks = append(last.marks, mk)
			continue
		}
		groups = append(groups, group{marks: []mark{mk}})
	}
	if b.quoted && len(groups) > 0 {
		if len(loose) > 0 {
			for i := range groups {
				groups[i].quotes = loose
			}
		}
		return groups, nil
	}
	starts := groupStarts(marks, text)
	for _, q := range quotes {
		p := Passage{lineAt(q[0]), strings.TrimSpace(text[q[0]:q[1]])}
		if g := nextGroup(starts, q[2]); g >= 0 {
			groups[g].quotes = append(groups[g].quotes, p)
		} else if len(groups) > 0 {
			groups[len(groups)-1].quotes = append(groups[len(groups)-1].quotes, p)
		} else if utf8.RuneCountInString(p.Text) >= minQuote {
			loose = append(loose, p)
		}
	}
	return groups, loose
}

// lineShift is 1 for fenced code: its block begins at the fence.
func lineShift(code bool) int {
	if code {
		return 1
	}
	return 0
}

// groupStarts gives the offset at which each group of adjacent citations begins.
func groupStarts(marks [][]int, text string) (starts []int) {
	for i, m := range marks {
		if i > 0 && len(strings.Trim(text[marks[i-1][1]:m[0]], " \t\n,;，；、")) == 0 {
			continue
		}
		starts = append(starts, m[0])
	}
	return starts
}

func nextGroup(starts []int, after int) int {
	for i, s := range starts {
		if s >= after {
			return i
		}
	}
	return -1
}

// quoteSpans finds "…", “…”, 「…」 and 『…』 outside of citations, inline code and link targets.
func quoteSpans(text string) (out [][3]int) {
	closing := map[rune]rune{'"': '"', '“': '”', '「': '」', '『': '』'}
	skip := markGrammar.FindAllStringIndex(text, -1)
	for i := 0; i < len(text); {
		if len(skip) > 0 && i >= skip[0][0] {
			i, skip = skip[0][1], skip[1:]
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if r == '`' {
			if j := strings.IndexByte(text[i+1:], '`'); j >= 0 {
				i += j + 2
				continue
			}
		}
		end, quote := closing[r]
		if !quote {
			i += n
			continue
		}
		j := strings.IndexRune(text[i+n:], end)
		if j < 0 || strings.Contains(text[i+n:i+n+j], "\n\n") || markGrammar.MatchString(text[i+n:i+n+j]) {
			i += n
			continue
		}
		if strings.TrimSpace(text[i+n:i+n+j]) != "" {
			out = append(out, [3]int{i + n, i + n + j, i + n + j + utf8.RuneLen(end)})
		}
		i += n + j + utf8.RuneLen(end)
	}
	return out
}
