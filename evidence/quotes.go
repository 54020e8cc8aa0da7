package evidence

import (
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// quotation is a passage shown as quoted. A soft one may be none: it counts when it is found and is reported as uncited when it is not.
type quotation struct {
	Passage
	soft bool
}

// readDraft finds the groups of citations, each with the quotes beside it.
func readDraft(text string) (groups []group, uncited []Passage) {
	all := blocks(text)
	lines := lineStarts(text)
	hidden := hiddenLines(text, lines)
	notes := footnotes(all)
	own := make([][]group, len(all))        // groups of each block
	waiting := make([]*quotation, len(all)) // > blocks and code without a citation inside
	noted := map[int][]quotation{}          // quotes beside a reference to a footnote, by its block
	for i, b := range all {
		var loose []quotation
		own[i], loose = b.read(hidden, notes, noted)
		switch {
		case b.code && len(own[i]) == 0:
			waiting[i] = &quotation{Passage{b.line, strings.TrimSpace(strings.Join(b.lines, "\n"))}, true}
		case b.quoted && len(own[i]) == 0 && len(loose) == 1:
			waiting[i] = &loose[0]
		default:
			for _, q := range loose {
				uncited = append(uncited, q.Passage)
			}
		}
	}
	for i, qs := range noted {
		last := &own[i][len(own[i])-1]
		last.quotes = append(last.quotes, qs...)
	}
	// A > block without a citation belongs to the block that follows it, else to the one before. Code is quoted only if the next block begins with its citation.
	for i, p := range waiting {
		next := i+1 < len(all) && len(own[i+1]) > 0
		switch {
		case p == nil:
		case p.soft:
			if next && strings.HasPrefix(strings.TrimSpace(all[i+1].lines[0]), "[ev:") {
				own[i+1][0].quotes = append(own[i+1][0].quotes, *p)
			}
		case next:
			own[i+1][0].quotes = append(own[i+1][0].quotes, *p)
		case i > 0 && len(own[i-1]) > 0:
			last := &own[i-1][len(own[i-1])-1]
			last.quotes = append(last.quotes, *p)
		default:
			uncited = append(uncited, p.Passage)
		}
	}
	for _, g := range own {
		groups = append(groups, g...)
	}
	for _, m := range alikes(text, lines) {
		groups = append(groups, group{marks: []mark{m}})
	}
	slices.SortStableFunc(groups, func(a, b group) int { return a.marks[0].line - b.marks[0].line })
	return groups, uncited
}

var (
	noteDefinition = regexp.MustCompile(`^ {0,3}(\[\^[^\]\s]+\]):`)
	noteReference  = regexp.MustCompile(`\[\^[^\]\s]+\]`)
)

// footnotes gives the blocks of the footnotes that cite, by label.
func footnotes(all []block) map[string]int {
	out := map[string]int{}
	for i, b := range all {
		if m := noteDefinition.FindStringSubmatch(b.lines[0]); m != nil && !b.code && !b.quoted && markGrammar.MatchString(strings.Join(b.lines, "\n")) {
			if _, dup := out[m[1]]; !dup {
				out[m[1]] = i
			}
		}
	}
	return out
}

// lineStarts gives the offset of each line.
func lineStarts(text string) []int {
	out := []int{0}
	for i := range len(text) {
		if text[i] == '\n' {
			out = append(out, i+1)
		}
	}
	return out
}

func lineOf(starts []int, off int) int { return sort.SearchInts(starts, off+1) }

// hiddenLines gives, by line and text, how many citations of the draft stand where no reader sees them.
func hiddenLines(text string, starts []int) map[mark]int {
	spans := hiddenSpans(text)
	out := map[mark]int{}
	for _, m := range markGrammar.FindAllStringIndex(text, -1) {
		if within(spans, m[0]) {
			out[mark{line: lineOf(starts, m[0]), text: text[m[0]:m[1]]}]++
		}
	}
	return out
}

// read finds the groups of one block and the quotes that belong to none. Those beside a reference to a footnote that cites go into noted.
func (b block) read(hidden map[mark]int, notes map[string]int, noted map[int][]quotation) (groups []group, loose []quotation) {
	text := strings.Join(b.lines, "\n")
	lines := lineStarts(text)
	lineAt := func(off int) int { return b.line + lineOf(lines, off) - 1 }
	marks := markGrammar.FindAllStringIndex(text, -1)
	var starts []int // of groups
	for i, m := range marks {
		mk := mark{line: lineAt(m[0]), text: text[m[0]:m[1]]}
		if hidden[mk] > 0 {
			hidden[mk]--
			mk.hidden = true
		}
		if i > 0 && beside(text[marks[i-1][1]:m[0]]) {
			last := &groups[len(groups)-1]
			last.marks = append(last.marks, mk)
			continue
		}
		groups, starts = append(groups, group{marks: []mark{mk}}), append(starts, m[0])
	}
	if b.quoted {
		if q := b.words(); q.Text != "" {
			if len(groups) == 0 {
				return nil, []quotation{q}
			}
			for i := range groups {
				groups[i].quotes = []quotation{q}
			}
		}
		return groups, nil
	}
	if b.code && len(groups) == 0 {
		return nil, nil // words in code are no claim
	}
	var refs []int // references to footnotes that cite
	var refBlock []int
	for _, m := range noteReference.FindAllStringIndex(text, -1) {
		if at, ok := notes[text[m[0]:m[1]]]; ok && (m[0] > 0 || !noteDefinition.MatchString(text)) {
			refs, refBlock = append(refs, m[0]), append(refBlock, at)
		}
	}
	spans := quoteSpans(text, len(groups)+len(refs) > 0)
	for _, sp := range spans {
		q := quotation{Passage{lineAt(sp.from), bare(text[sp.from:sp.to])}, sp.soft}
		if q.Text == "" {
			continue
		}
		g, r := sort.SearchInts(starts, sp.from), sort.SearchInts(refs, sp.from)
		switch {
		case sp.lone, len(starts)+len(refs) == 0:
			if !sp.soft && width(q.Text) >= minQuote {
				loose = append(loose, q)
			}
		case r < len(refs) && (g == len(starts) || refs[r] < starts[g]):
			noted[refBlock[r]] = append(noted[refBlock[r]], q)
		case g < len(starts):
			groups[g].quotes = append(groups[g].quotes, q)
		case len(refs) > 0 && (len(starts) == 0 || refs[len(refs)-1] > starts[len(starts)-1]):
			noted[refBlock[len(refs)-1]] = append(noted[refBlock[len(refs)-1]], q)
		default:
			groups[len(groups)-1].quotes = append(groups[len(groups)-1].quotes, q)
		}
	}
	if len(groups) > 0 && strings.ContainsRune(text, utf8.RuneError) {
		// What was read in the wrong encoding has lost its quotation marks: the words have to be found as they stand.
		for _, part := range outside(text, spans) {
			if words := strings.TrimSpace(text[part[0]:part[1]]); strings.ContainsRune(words, utf8.RuneError) {
				g := min(sort.SearchInts(starts, part[0]), len(groups)-1)
				groups[g].quotes = append(groups[g].quotes, quotation{Passage: Passage{lineAt(part[0]), words}})
			}
		}
	}
	return groups, loose
}

// beside tells whether only blanks and commas stand between two citations.
func beside(between string) bool { return strings.Trim(between, " \t\n,;，；、") == "" }

// words is what a > block quotes: its lines without citations and without lines that only say where the words come from, such as "— the log [ev:x]".
func (b block) words() quotation {
	p := quotation{Passage: Passage{Line: b.line}}
	var kept []string
	for i, l := range b.lines {
		words := strings.TrimSpace(markGrammar.ReplaceAllString(l, ""))
		if bare(words) == "" || fenceOpen.MatchString(words) || words != strings.TrimSpace(l) && attribution(words) {
			continue
		}
		if len(kept) == 0 {
			p.Line = b.line + i
		}
		kept = append(kept, bare(words))
	}
	if len(kept) == 0 { // nothing but a line with a dash in front: it may be the quote
		for i, l := range b.lines {
			if words := strings.TrimSpace(markGrammar.ReplaceAllString(l, "")); dashed(words) {
				p.Line, p.soft, kept = b.line+i, true, append(kept, bare(strings.TrimLeft(words, "—–- ")))
				break
			}
		}
	}
	p.Text = strings.TrimSpace(strings.Join(kept, "\n"))
	return p
}

// attribution tells whether a line beside a citation names a source and quotes nothing: a few words behind a dash, or a word or two before a colon.
func attribution(l string) bool {
	if dashed(l) {
		words := strings.TrimLeft(l, "—–- ")
		return len(strings.Fields(words)) <= 4 && width(words) <= 40 && strings.IndexFunc(words, eastAsian) < 0 || width(words) <= 2*minQuote
	}
	head := strings.TrimRight(l, ":： ")
	return (head != l || head == "") && utf8.RuneCountInString(head) <= 24 && len(strings.Fields(head)) <= 2
}

func dashed(l string) bool {
	return strings.HasPrefix(l, "—") || strings.HasPrefix(l, "–") || strings.HasPrefix(l, "--")
}
