package evidence

import (
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// closers are the signs that can close a quote, by the one that opens it. Single marks and back ticks have rules of their own.
var closers = map[rune]string{
	'"': "\"”", '“': "”\"", '„': "“”\"", '‟': "”", '”': "”", '＂': "＂", '〝': "〞〟", '「': "」", '『': "』", '｢': "｣", '﹁': "﹂", '﹃': "﹄", '«': "»", '»': "«»", '‹': "›", '›': "‹›",
	'❝': "❞", '⹂': "”", '″': "″", 'ʺ': "ʺ", '🙶': "🙷", '《': "》", '〈': "〉",
}

const (
	ends    = "」』｣﹂﹄〞〟»›”❞🙷" // close a quote and, but for some, never open one
	singles = "'’‘‚‛＇❛❜❟"
	sizes   = "\"”″ʺ＂"                // behind a number they are inches: a 19" rack
	titles  = "《〈"                    // of books, and now and then of quotes
	clings  = "([{<（［｛【「『《—–-/=:：*_~" // may stand right before an opening sign
	trails  = ".,;:!?)]}>。，、；：！？）］｝】」』》…|*_~"
)

// span is quoted words in a text.
type span struct {
	from, to int  // the words, citations among them included
	end      int  // behind the closing sign
	soft     bool // may be no quote: a title, a name in single marks, a command in back ticks
	lone     bool // the opening sign is missing
}

// quoteSpans finds quoted words. cited tells that citations stand in the text: then inline code may be a quote as well.
// A sign is judged by what stands before and behind it, so that one that is missing does not turn what is quoted and what is not around for the rest of the text.
func quoteSpans(text string, cited bool) (out []span) {
	s := signs{text: text, next: map[string]int{}}
	marks := markGrammar.FindAllStringIndex(text, -1)
	done, half := 0, 0 // where the last span ends, and the last that was never closed
	add := func(sp span) {
		if strings.TrimSpace(text[sp.from:sp.to]) != "" {
			out = append(out, sp)
		}
		done = sp.end
	}
	for i := 0; i < len(text); {
		for len(marks) > 0 && marks[0][0] < i {
			marks = marks[1:]
		}
		if len(marks) > 0 && marks[0][0] == i {
			i = marks[0][1]
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		_, opens := closers[r]
		switch {
		case r == '`':
			sp, next := s.code(i, cited)
			if sp.to > 0 {
				add(sp)
			}
			i = next
			continue
		case strings.ContainsRune(singles, r):
			if sp, ok := s.single(i, n); ok {
				add(sp)
				i = sp.end
				continue
			}
		case !opens && !strings.ContainsRune(ends, r):
		case !opens, s.closeOnly(i, n), strings.ContainsRune(ends, r) && unicode.IsSpace(s.before(i)) && unicode.IsSpace(s.behind(i+n)):
			if !strings.ContainsRune(sizes, r) || !unicode.IsDigit(s.before(i)) {
				add(span{from: done + lastBreak(text[done:i]), to: i, end: i + n, lone: true})
			}
		case opens:
			sp, ok := s.pair(i, r, n)
			if !ok && i >= half && !strings.ContainsRune(titles, r) && (r != '"' || s.openOnly(i, n)) {
				// Never closed: what stands from here to the next citation, or to the end, is shown as quoted.
				half = len(text)
				if len(marks) > 0 {
					half = marks[0][0]
				}
				sp, ok = span{from: i + n, to: half, end: i + n}, true
			}
			if ok {
				add(sp)
				i = sp.end
				continue
			}
		}
		i += n
	}
	return out
}

// lastBreak is where the last line, sentence or citation of the text ends.
func lastBreak(text string) int {
	i := strings.LastIndexAny(text, "\n]。！？.!?")
	if i < 0 {
		return 0
	}
	_, n := utf8.DecodeRuneInString(text[i:])
	return i + n
}

// signs finds closing signs. Places are asked for in rising order, so that each kind of sign is looked for once along the text.
type signs struct {
	text    string
	next    map[string]int // kind: the first place at or behind the last that was asked for, len(text) for none
	singles *[]int         // places of single marks, once they are asked for
}

func (s *signs) before(i int) rune {
	r, n := utf8.DecodeLastRuneInString(s.text[:i])
	if n == 0 {
		return ' '
	}
	return r
}

func (s *signs) behind(i int) rune {
	r, n := utf8.DecodeRuneInString(s.text[i:])
	if n == 0 {
		return ' '
	}
	return r
}

// closeOnly tells a sign that cannot open: words stand before it, and none behind.
func (s *signs) closeOnly(i, n int) bool {
	before, behind := s.before(i), s.behind(i+n)
	return !unicode.IsSpace(before) && !strings.ContainsRune(clings, before) &&
		(unicode.IsSpace(behind) || strings.ContainsRune(trails, behind) || strings.HasPrefix(s.text[i+n:], "[ev:") || strings.HasPrefix(s.text[i+n:], "[^"))
}

// openOnly tells a sign that cannot close: words stand behind it, and none before.
func (s *signs) openOnly(i, n int) bool {
	before, behind := s.before(i), s.behind(i+n)
	return (unicode.IsSpace(before) || strings.ContainsRune(clings, before)) && !unicode.IsSpace(behind) && !strings.ContainsRune(trails, behind)
}

// after gives the first of the signs at or behind from, -1 for none.
func (s *signs) after(from int, kind string, find func(string) int) int {
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

// pair reads a quote that r at i opens.
func (s *signs) pair(i int, r rune, n int) (span, bool) {
	kind := closers[r]
	end := s.after(i+n, kind, func(text string) int { return strings.IndexAny(text, kind) })
	if end < 0 {
		return span{}, false
	}
	if strings.ContainsRune(sizes, r) && unicode.IsDigit(s.before(i)) && strings.Contains(s.text[i+n:end], "[ev:") {
		return span{}, false
	}
	sign, w := utf8.DecodeRuneInString(s.text[end:])
	if second := end + w; end == i+n && sign == r && !unicode.IsSpace(s.behind(second)) { // given twice, as in a table of comma separated values
		if j := s.after(second, kind, func(text string) int { return strings.IndexAny(text, kind) }); j > second {
			_, w := utf8.DecodeRuneInString(s.text[j:])
			return span{from: second, to: j, end: j + w}, true
		}
	}
	sp := span{from: i + n, to: end, end: end + w}
	if sign == '"' && s.openOnly(end, w) {
		sp.end = end // it opens the next
	}
	if strings.ContainsRune(titles, r) {
		if width(s.text[sp.from:min(sp.to, sp.from+256)]) < minQuote {
			return span{}, false
		}
		sp.soft = !s.citedAt(sp.end)
	}
	return sp, true
}

// citedAt tells whether a citation stands right here.
func (s *signs) citedAt(i int) bool {
	return strings.HasPrefix(strings.TrimLeft(s.text[i:min(len(s.text), i+32)], " \n,，、*_~"), "[ev:")
}

// code reads inline code, and words between “ and ” as typewriters and TeX write them. sp.to is 0 when there is no quote; next is where to go on.
func (s *signs) code(i int, cited bool) (sp span, next int) {
	n := len(s.text[i:]) - len(strings.TrimLeft(s.text[i:], "`"))
	from := i + n
	to := s.ticks(from, n)
	if to < 0 {
		if j := strings.Index(s.text[from:min(len(s.text), from+4096)], "''"); n == 2 && j > 0 {
			return span{from: from, to: from + j, end: from + j + 2}, from + j + 2
		}
		return span{}, from
	}
	next = to + n
	body := strings.TrimSpace(s.text[from:to])
	if !cited || body == "" {
		return span{}, next
	}
	at := from + strings.Index(s.text[from:], body)
	if in := quoteSpans(body, false); len(in) == 1 && in[0].end == len(body) && in[0].from <= utf8.UTFMax && !in[0].lone {
		return span{from: at + in[0].from, to: at + in[0].to, end: next}, next
	}
	if !markGrammar.MatchString(body) && phrase(body) {
		return span{from: at, to: at + len(body), end: next, soft: true}, next
	}
	return span{}, next
}

// ticks gives the next run of exactly n back ticks.
func (s *signs) ticks(from, n int) int {
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

// phrase tells words that can be a quote from a name: long enough, and more than one word or of a script that puts no blanks between them.
func phrase(words string) bool {
	words = words[:min(len(words), 256)]
	return len(words) >= minQuote && width(words) >= minQuote && (strings.ContainsFunc(words, unicode.IsSpace) || strings.ContainsFunc(words, eastAsian))
}

// wordLetter tells a letter that an apostrophe can stand beside within a word.
func wordLetter(r rune) bool { return (unicode.IsLetter(r) || unicode.IsDigit(r)) && !eastAsian(r) }

// maxApostrophes is how many marks that turn out to close nothing may stand in words between single marks.
const maxApostrophes = 6

// single reads a quote in single marks: an apostrophe is no mark, and what is short or one word is a name, not a quote.
func (s *signs) single(i, n int) (sp span, ok bool) {
	mark, _ := utf8.DecodeRuneInString(s.text[i:])
	if wordLetter(s.before(i)) || unicode.IsSpace(s.behind(i+n)) || mark == '’' && s.closeOnly(i, n) {
		return span{}, false
	}
	if s.singles == nil {
		s.singles = &[]int{}
		for at := range s.text {
			if r, _ := utf8.DecodeRuneInString(s.text[at:]); strings.ContainsRune(singles, r) {
				*s.singles = append(*s.singles, at)
			}
		}
	}
	first, dirty, last := true, false, i+n
	for k, at := range (*s.singles)[sort.SearchInts(*s.singles, i+n):] {
		_, w := utf8.DecodeRuneInString(s.text[at:])
		switch letter := wordLetter(s.behind(at + w)); {
		case k == maxApostrophes, letter && !wordLetter(s.before(at)): // it opens another
			return sp, ok
		case letter: // an apostrophe
		default:
			words := s.text[i+n : at]
			dirty = dirty || strings.ContainsAny(s.text[last:at], "\"“”„«»「」『』`[")
			if last = at; dirty && !first { // what may be no quote must not hide one
				return sp, ok
			}
			if phrase(words) { // words in which a plural has its apostrophe may be two names as well
				return span{from: i + n, to: at, end: at + w, soft: !first}, true
			}
			if first && mark != '\'' && width(words[:min(len(words), 256)]) >= minQuote {
				sp, ok = span{from: i + n, to: at, end: at + w, soft: true}, true
			}
			first = false
		}
	}
	return sp, ok
}

// bare is quoted words without citations among them and without what a writer put around them: emphasis, a second pair of signs, an escape of the closing one.
func bare(words string) string {
	words = strings.TrimSpace(markGrammar.ReplaceAllString(words, ""))
	return strings.TrimSpace(strings.TrimRight(strings.Trim(words, "\"“”„«»「」『』*_~`'‘’"), `\`))
}

// outside gives the parts of a text that are neither quoted nor a citation.
func outside(text string, spans []span) (out [][2]int) {
	cut := markGrammar.FindAllStringIndex(text, -1)
	for _, sp := range spans {
		cut = append(cut, []int{sp.from, max(sp.to, sp.end)})
	}
	slices.SortFunc(cut, func(a, b []int) int { return a[0] - b[0] })
	at := 0
	for _, c := range cut {
		if c[0] > at {
			out = append(out, [2]int{at, c[0]})
		}
		at = max(at, c[1])
	}
	return append(out, [2]int{at, len(text)})
}
