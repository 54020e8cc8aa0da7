package evidence

import (
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// readDraft finds the groups of citations, each with the quotes beside it.
func readDraft(text string) (groups []group, uncited []Passage) {
	all := blocks(text)
	lines := lineStarts(text)
	hidden := hiddenLines(text, lines)
	own := make([][]group, len(all))      // groups of each block
	waiting := make([]*Passage, len(all)) // > blocks without a citation inside
	for i, b := range all {
		var loose []Passage
		own[i], loose = b.read(hidden)
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
	for _, m := range alikes(text, lines) {
		groups = append(groups, group{marks: []mark{m}})
	}
	slices.SortStableFunc(groups, func(a, b group) int { return a.marks[0].line - b.marks[0].line })
	return groups, uncited
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

// read finds the groups of one block and the quotes that belong to none.
func (b block) read(hidden map[mark]int) (groups []group, loose []Passage) {
	text := strings.Join(b.lines, "\n")
	lines := lineStarts(text)
	lineAt := func(off int) int { return b.line + lineOf(lines, off) - 1 }
	marks := markGrammar.FindAllStringIndex(text, -1)
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
		groups = append(groups, group{marks: []mark{mk}})
	}
	if b.quoted {
		if p := b.words(); p.Text != "" {
			if len(groups) == 0 {
				return nil, []Passage{p}
			}
			for i := range groups {
				groups[i].quotes = []Passage{p}
			}
		}
		return groups, nil
	}
	if b.code && len(groups) == 0 {
		return nil, nil // words in code are no claim
	}
	starts := groupStarts(marks, text)
	for _, q := range quoteSpans(text, len(groups) > 0) {
		p := Passage{lineAt(q[0]), strings.TrimSpace(markGrammar.ReplaceAllString(text[q[0]:q[1]], ""))}
		if p.Text == "" {
			continue
		}
		if g := nextGroup(starts, q); g >= 0 {
			groups[g].quotes = append(groups[g].quotes, p)
		} else if len(groups) > 0 {
			groups[len(groups)-1].quotes = append(groups[len(groups)-1].quotes, p)
		} else if utf8.RuneCountInString(p.Text) >= minQuote {
			loose = append(loose, p)
		}
	}
	return groups, loose
}

// beside tells whether only blanks and commas stand between two citations.
func beside(between string) bool { return strings.Trim(between, " \t\n,;，；、") == "" }

// words is what a > block quotes: its lines without citations and without lines that only say where the words come from, such as "— the log [ev:x]".
func (b block) words() Passage {
	p := Passage{Line: b.line}
	var kept []string
	for i, l := range b.lines {
		bare := strings.TrimSpace(markGrammar.ReplaceAllString(l, ""))
		if bare == "" || bare != strings.TrimSpace(l) && attribution(bare) {
			continue
		}
		if len(kept) == 0 {
			p.Line = b.line + i
		}
		kept = append(kept, strings.Trim(bare, "\"“”"))
	}
	p.Text = strings.TrimSpace(strings.Join(kept, "\n"))
	return p
}

// attribution tells whether a line beside a citation names a source and quotes nothing: it begins with a dash, or is a word or two before a colon.
func attribution(l string) bool {
	if strings.HasPrefix(l, "—") || strings.HasPrefix(l, "–") || strings.HasPrefix(l, "--") {
		return utf8.RuneCountInString(l) <= 40
	}
	head := strings.TrimRight(l, ":： ")
	return (head != l || head == "") && utf8.RuneCountInString(head) <= 24 && len(strings.Fields(head)) <= 2
}

// groupStarts gives the offset at which each group of adjacent citations begins.
func groupStarts(marks [][]int, text string) (starts []int) {
	for i, m := range marks {
		if i > 0 && beside(text[marks[i-1][1]:m[0]]) {
			continue
		}
		starts = append(starts, m[0])
	}
	return starts
}

// nextGroup is the first group inside the quote or behind it.
func nextGroup(starts []int, q [3]int) int {
	if i := sort.SearchInts(starts, q[0]); i < len(starts) {
		return i
	}
	return -1
}

// closers are the signs that can close a quote, by the one that opens it.
var closers = map[rune]string{
	'"': "\"”", '“': "”\"", '„': "“”\"", '‟': "”", '＂': "＂", '〝': "〞〟", '「': "」", '『': "』", '｢': "｣", '«': "»", '»': "«", '‹': "›", '›': "‹", '‘': "’", '\'': "'’",
}

// quoteSpans finds quoted words, citations among them included: begin and end of the words, end with the closing sign. Inline code is passed over unless it is a
// quote as a whole and citations stand in the block. Words in single marks count when they are long enough and more than one: 'orders' is a name.
func quoteSpans(text string, cited bool) (out [][3]int) {
	s := signs{text: text, next: map[string]int{}}
	marks := markGrammar.FindAllStringIndex(text, -1)
	for i := 0; i < len(text); {
		for len(marks) > 0 && marks[0][0] < i {
			marks = marks[1:]
		}
		if len(marks) > 0 && marks[0][0] == i {
			i = marks[0][1]
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if r == '`' {
			ticks := len(text[i:]) - len(strings.TrimLeft(text[i:], "`"))
			if j := s.ticks(i+ticks, ticks); j >= 0 {
				j -= i + ticks
				body := strings.TrimSpace(text[i+ticks : i+ticks+j])
				if whole := quoteSpans(body, false); cited && len(whole) == 1 && whole[0][2] == len(body) && whole[0][0] <= utf8.UTFMax {
					from := i + ticks + strings.Index(text[i+ticks:], body)
					out = append(out, [3]int{from + whole[0][0], from + whole[0][1], from + whole[0][2]})
				}
				i += 2*ticks + j
				continue
			}
			i += ticks
			continue
		}
		end := s.closing(i, r, n)
		if end < 0 {
			i += n
			continue
		}
		_, w := utf8.DecodeRuneInString(text[end:])
		if strings.TrimSpace(text[i+n:end]) != "" {
			out = append(out, [3]int{i + n, end, end + w})
		}
		i = end + w
	}
	return out
}

// signs finds closing signs. Places are asked for in rising order, so that each kind of sign is looked for once along the text.
type signs struct {
	text string
	next map[string]int // kind: the first place at or behind the last that was asked for, len(text) for none
}

// after gives the first of the signs at or behind from, -1 for none.
func (s signs) after(from int, kind string, find func(string) int) int {
	at, ok := s.next[kind]
	if !ok || at < from {
		at = len(s.text)
		if j := find(s.text[from:]); j >= 0 {
			at = from + j
		}
		s.next[kind] = at
	}
	if at == len(s.text) {
		return -1
	}
	return at
}

// ticks gives the next run of exactly n back ticks.
func (s signs) ticks(from, n int) int {
	return s.after(from, "`"+strconv.Itoa(n), func(text string) int {
		for i := 0; i < len(text); {
			j := strings.IndexByte(text[i:], '`')
			if j < 0 {
				return -1
			}
			i += j
			run := len(text[i:]) - len(strings.TrimLeft(text[i:], "`"))
			if run == n {
				return i
			}
			i += run
		}
		return -1
	})
}

// closing gives where the quote that r at i opens is closed, -1 when r opens none.
func (s signs) closing(i int, r rune, n int) int {
	kind, ok := closers[r]
	if !ok {
		return -1
	}
	if r == '\'' || r == '‘' {
		return s.closingSingle(i, n)
	}
	end := s.after(i+n, kind, func(text string) int { return strings.IndexAny(text, kind) })
	if end > 0 && i > 0 && s.text[i-1] >= '0' && s.text[i-1] <= '9' && strings.Contains(s.text[i+n:end], "[ev:") {
		return -1 // 19" is a size
	}
	return end
}

// closingSingle: an apostrophe is no mark, and what is short or one word is a name, not a quote.
func (s signs) closingSingle(i, n int) int {
	letter := func(r rune, w int) bool { return w > 0 && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
	if letter(utf8.DecodeLastRuneInString(s.text[:i])) {
		return -1
	}
	end := s.after(i+n, "'", func(text string) int {
		for at := 0; ; {
			j := strings.IndexAny(text[at:], "'’")
			if j < 0 {
				return -1
			}
			at += j
			_, w := utf8.DecodeRuneInString(text[at:])
			if !letter(utf8.DecodeRuneInString(text[at+w:])) {
				return at
			}
			at += w
		}
	})
	if end < 0 {
		return -1
	}
	words := strings.TrimSpace(s.text[i+n : min(end, i+n+256)])
	if utf8.RuneCountInString(words) < minQuote || !strings.ContainsAny(words, " \n") {
		return -1
	}
	return end
}

// alike folds what looks like a bracket, a colon or the letters of ev.
var alike = map[rune]rune{
	'【': '[', '〔': '[', '〖': '[', '⟦': '[', '［': '[', '⁅': '[', '❲': '[', '：': ':', '∶': ':', '꞉': ':', '˸': ':', '︓': ':', '﹕': ':', 'ː': ':',
	'е': 'e', 'Е': 'e', 'ε': 'e', 'ｅ': 'e', 'ҽ': 'e', '℮': 'e', 'ѵ': 'v', 'Ѵ': 'v', 'ν': 'v', 'ｖ': 'v', '∨': 'v', 'ⅴ': 'v', 'Ⅴ': 'v', 'v': 'v', 'E': 'e', 'V': 'v',
}

// alikes finds what a reader takes for [ev: and is none: other letters and brackets, blanks, emphasis, escapes or tags in between.
func alikes(text string, starts []int) (out []mark) {
	exact := map[int]bool{}
	for _, m := range markGrammar.FindAllStringIndex(text, -1) {
		exact[m[0]] = true
	}
	const want = "[ev:"
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if foldAlike(r) != '[' || exact[i] {
			i += n
			continue
		}
		at, next := i+n, 1
		for noise := 0; at < len(text) && next < len(want) && noise < 64; {
			if text[at] == '<' {
				if j := strings.IndexByte(text[at:min(len(text), at+64)], '>'); j > 0 {
					at, noise = at+j+1, noise+j
					continue
				}
			}
			r, w := utf8.DecodeRuneInString(text[at:])
			switch f := foldAlike(r); {
			case f == rune(want[next]):
				next++
			case unicode.IsSpace(r) || strings.ContainsRune("*_~\\`", r) || unicode.Is(unicode.Mn, r):
				noise++
			default:
				noise = 64
				continue
			}
			at += w
		}
		if next == len(want) {
			end := min(len(text), i+64)
			for end < len(text) && !utf8.RuneStart(text[end]) {
				end--
			}
			shown, _, _ := strings.Cut(text[i:end], "\n")
			if j := strings.IndexAny(shown, "]】〕〗⟧］"); j > 0 {
				_, w := utf8.DecodeRuneInString(shown[j:])
				shown = shown[:j+w]
			}
			out = append(out, mark{line: lineOf(starts, i), text: shown, alike: true})
			i = at
			continue
		}
		i += n
	}
	return out
}

func foldAlike(r rune) rune {
	if f, ok := alike[r]; ok {
		return f
	}
	if r < utf8.RuneSelf {
		return r
	}
	d := []rune(norm.NFKD.String(string(r)))
	if f, ok := alike[d[0]]; ok {
		return f
	}
	return d[0]
}
