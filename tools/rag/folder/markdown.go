package folder

import (
	"strings"
	"unicode/utf8"

	"github.com/seed-069badc9/mcp-gateway/tools/rag/internal/visible"
)

// Chunk bounds in characters. A chunk of up to softChunk fits an excerpt whole (the projector's cap is 1200), and neighbouring short sections are joined up to
// goodChunk: a runbook's "meaning" and "mitigation" are one sentence each and are wanted together. Only a single block, such as a long listing, may reach
// hardChunk; beyond it lines are divided.
const (
	goodChunk = 1000
	softChunk = 1200
	hardChunk = 2000
)

// chunk is a piece of a document with the headings it stands under.
type chunk struct {
	heading []string
	text    string
}

// section is a heading with the text below it, up to the next heading.
type section struct {
	path []string
	text string // heading line included
	body bool   // holds more than the heading line
}

// splitMarkdown divides s at its headings and gives the first heading of the highest level as title, or "".
func splitMarkdown(s string) (title string, chunks []chunk) {
	secs := sections(s)
	level := 7
	for _, sec := range secs {
		if n := len(sec.path); n > 0 {
			if l := headingLevel(sec.text); l < level {
				level, title = l, sec.path[n-1]
			}
		}
	}
	return title, joinSections(secs)
}

// atx reads "## Heading ##".
func atx(line string) (level int, text string) {
	t := strings.TrimLeft(line, " ")
	if len(line)-len(t) > 3 {
		return 0, ""
	}
	for level < len(t) && t[level] == '#' {
		level++
	}
	if level == 0 || level > 6 || level < len(t) && t[level] != ' ' && t[level] != '\t' {
		return 0, ""
	}
	text = strings.TrimSpace(t[level:])
	if cut := strings.TrimRight(text, "#"); cut != text && (cut == "" || strings.HasSuffix(cut, " ")) {
		text = strings.TrimSpace(cut)
	}
	return level, plainHeading(text)
}

// setext tells the level of a line that underlines the heading before it.
func setext(line, before string) int {
	t := strings.TrimSpace(line)
	if t == "" || strings.TrimSpace(before) == "" || strings.HasPrefix(line, "    ") {
		return 0
	}
	switch {
	case strings.Trim(t, "=") == "":
		return 1
	case len(t) >= 3 && strings.Trim(t, "-") == "" && !strings.ContainsAny(strings.TrimSpace(before)[:1], "-*+>|#0123456789"):
		return 2
	}
	return 0
}

// headingLevel is the level of the heading that a section's text starts with.
func headingLevel(text string) int {
	line, width := visible.CutLine(text)
	if l, _ := atx(line); l > 0 {
		return l
	}
	under, _ := visible.CutLine(text[width:])
	return setext(under, line)
}

// plainHeading takes emphasis marks, code marks, links' targets and anchors off a heading.
func plainHeading(s string) string {
	s = cutRunes(s, 4*maxHeading)
	if i := strings.LastIndex(s, "{#"); i >= 0 && strings.HasSuffix(s, "}") {
		s = strings.TrimSpace(s[:i])
	}
	for {
		open := strings.IndexByte(s, '[')
		if open < 0 {
			break
		}
		mid := strings.Index(s[open:], "](")
		if mid < 0 {
			break
		}
		end := strings.IndexByte(s[open+mid:], ')')
		if end < 0 {
			break
		}
		s = s[:open] + s[open+1:open+mid] + s[open+mid+end+1:]
	}
	s = strings.NewReplacer("**", "", "__", "", "`", "").Replace(s)
	s = strings.TrimSpace(s)
	if len(s) > maxHeading {
		s = cutRunes(s, maxHeading)
	}
	return s
}

// maxHeading bounds a heading or title in bytes; longer ones are paragraphs somebody marked by mistake.
const maxHeading = 200

func cutRunes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// sections reads s line by line. Headings inside fenced code are code.
func sections(s string) []section {
	type head struct {
		level int
		text  string
	}
	var out []section
	var stack []head
	var fence visible.Fence
	start, body, pos := 0, false, 0 // of the section being read
	var path []string
	before, beforeAt := "", -1 // the line before, when it can be a setext heading
	flush := func(end int) {
		if strings.TrimSpace(s[start:end]) != "" {
			out = append(out, section{path, s[start:end], body})
		}
	}
	enter := func(level int, text string, at int) {
		flush(at)
		for len(stack) > 0 && stack[len(stack)-1].level >= level {
			stack = stack[:len(stack)-1]
		}
		stack = append(stack, head{level, text})
		path = make([]string, 0, len(stack))
		for _, h := range stack {
			if h.text != "" {
				path = append(path, h.text)
			}
		}
		start, body = at, false
	}
	for pos < len(s) {
		line, width := visible.CutLine(s[pos:])
		switch {
		case fence.Line(line):
			body = true
			before, beforeAt = "", -1
		default:
			if level, text := atx(line); level > 0 {
				enter(level, text, pos)
				before, beforeAt = "", -1
			} else if level := setext(line, before); level > 0 && beforeAt >= start {
				wasBody := body
				enter(level, plainHeading(strings.TrimSpace(before)), beforeAt)
				_ = wasBody
				before, beforeAt = "", -1
			} else {
				if strings.TrimSpace(line) != "" {
					body = true
				}
				// Only a paragraph of one line can be a setext heading here: the rule under a longer one is a rule.
				if strings.TrimSpace(before) == "" {
					before, beforeAt = line, pos
				} else if strings.TrimSpace(line) == "" {
					before, beforeAt = "", -1
				} else {
					before, beforeAt = " ", -1
				}
			}
		}
		pos += width
	}
	flush(len(s))
	return out
}

// joinSections makes chunks of sections: short neighbours together, long ones divided. A heading without text of its own goes with what follows it.
func joinSections(secs []section) []chunk {
	var out []chunk
	var cur []section
	size, bodies := 0, 0
	take := func(sec section, n int) {
		cur = append(cur, sec)
		if size += n; sec.body {
			bodies++
		}
	}
	// flush ends the chunk and returns the headings at its end that belong to the next one.
	flush := func(keepHeadings bool) (lead []section) {
		last := len(cur)
		for keepHeadings && last > 0 && !cur[last-1].body && len(cur)-last < maxLead {
			last--
		}
		lead = cur[last:]
		var b strings.Builder
		for _, sec := range cur[:last] {
			b.WriteString(sec.text)
			if !strings.HasSuffix(sec.text, "\n") {
				b.WriteByte('\n')
			}
		}
		if text := trimBlank(b.String()); text != "" {
			out = append(out, chunk{commonPath(cur[:last]), text})
		}
		cur, size, bodies = nil, 0, 0
		return lead
	}
	for _, sec := range secs {
		n := utf8.RuneCountInString(sec.text)
		if n > softChunk {
			lead := ""
			for _, l := range flush(true) {
				lead += l.text
			}
			for _, piece := range divide(lead + sec.text) {
				out = append(out, chunk{sec.path, piece})
			}
			continue
		}
		if size+n > goodChunk && (bodies > 0 || len(cur) > maxLead) {
			for _, l := range flush(true) {
				take(l, utf8.RuneCountInString(l.text))
			}
		}
		take(sec, n)
	}
	flush(false)
	return out
}

// maxLead bounds the headings in a row that wait for a text to introduce.
const maxLead = 6

// commonPath is the heading path that all sections with text share; headings that only introduce the first of them do not count.
func commonPath(secs []section) []string {
	var path []string
	first := true
	for _, s := range secs {
		if !s.body && len(secs) > 1 {
			continue
		}
		if first {
			path, first = s.path, false
			continue
		}
		n := 0
		for n < len(path) && n < len(s.path) && path[n] == s.path[n] {
			n++
		}
		path = path[:n]
	}
	return path
}

// trimBlank removes blank lines around s and keeps the indentation of its first line.
func trimBlank(s string) string {
	s = strings.TrimRight(s, " \t\n")
	for {
		line, width := visible.CutLine(s)
		if s == "" || strings.TrimSpace(line) != "" {
			return s
		}
		s = s[width:]
	}
}

// divide cuts a long section between blocks: paragraphs, lists, tables and fenced listings. A block over hardChunk is cut between lines, a line over it between
// characters.
func divide(s string) []string {
	var out []string
	var cur strings.Builder
	size := 0
	flush := func() {
		if t := trimBlank(cur.String()); t != "" {
			out = append(out, t)
		}
		cur.Reset()
		size = 0
	}
	for _, b := range blocks(s) {
		n := utf8.RuneCountInString(b)
		if size > 0 && size+n > softChunk {
			flush()
		}
		if n <= hardChunk {
			cur.WriteString(b)
			size += n
			continue
		}
		for _, piece := range cutLong(b) {
			flush()
			cur.WriteString(piece)
			size = utf8.RuneCountInString(piece)
		}
	}
	flush()
	return out
}

// blocks cuts s behind every run of blank lines outside of fenced code. Nothing is lost: the blocks joined are s.
func blocks(s string) []string {
	var out []string
	var fence visible.Fence
	start, blank := 0, false
	for pos := 0; pos < len(s); {
		line, width := visible.CutLine(s[pos:])
		inside := fence.Line(line)
		empty := strings.TrimSpace(line) == ""
		if blank && (!empty || inside) && pos > start {
			out = append(out, s[start:pos])
			start, blank = pos, false
		}
		if empty && !inside {
			blank = true
		}
		pos += width
	}
	return append(out, s[start:])
}

// cutLong cuts a block over hardChunk into pieces of at most softChunk, between lines where it can. A listing keeps its fence in every piece.
func cutLong(b string) []string {
	var out []string
	var fence visible.Fence
	open := ""
	var cur strings.Builder
	size := 0
	flush := func(again bool) {
		if size == 0 {
			return
		}
		if open != "" {
			cur.WriteString(fence.Closing() + "\n")
		}
		out = append(out, cur.String())
		cur.Reset()
		size = 0
		if again && open != "" {
			cur.WriteString(open)
			size = utf8.RuneCountInString(open)
		}
	}
	for b != "" {
		line, width := visible.CutLine(b)
		for {
			cut := runeOffset(line, softChunk)
			if cut == len(line) {
				break
			}
			if i := strings.LastIndexAny(line[:cut], "。！？；.!?; "); i > cut/2 {
				_, w := utf8.DecodeRuneInString(line[i:])
				cut = i + w
			}
			flush(true)
			cur.WriteString(line[:cut] + "\n")
			size += softChunk
			line = line[cut:]
			b = b[cut:]
			width -= cut
		}
		n := utf8.RuneCountInString(line) + 1
		if size > 0 && size+n > softChunk {
			flush(true)
		}
		wasOpen := fence.Open()
		fence.Line(line)
		cur.WriteString(b[:width])
		size += n
		switch {
		case fence.Open() && !wasOpen:
			open = cutRunes(strings.TrimRight(line, "\n"), 64) + "\n"
		case !fence.Open():
			open = ""
		}
		b = b[width:]
	}
	if open != "" && !strings.HasSuffix(cur.String(), "\n") {
		cur.WriteByte('\n')
	}
	flush(false)
	return out
}

// runeOffset is the byte offset of the n-th rune of s.
func runeOffset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}
