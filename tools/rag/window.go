package rag

import (
	"strings"
	"unicode/utf8"

	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/tools/rag/internal/lex"
)

// maxExcerpt is the length of an excerpt in characters: 1200 keeps nineteen of twenty runbook sections whole.
const maxExcerpt = 1200

// ellipsis stands where text was left out.
const ellipsis = "…"

// window cuts text to at most limit characters around the words of a query. It cuts between lines wherever a line fits, never inside a redaction mask, and closes a
// code fence that it opens. cut tells whether anything is missing.
func window(text string, words map[string]bool, limit int) (excerpt string, cut bool) {
	text = strings.TrimRight(text, " \t\n")
	if utf8.RuneCountInString(text) <= limit {
		return text, false
	}
	lines := splitLines(text)
	// Room for the marks of omission and, where the text has listings, for a fence at either end.
	room := limit - 4
	if longest := longestFence(lines); longest > 0 {
		room -= 2 * (longest + 1)
	}
	if room < 1 {
		return cutLine(text, limit)
	}
	from, to := bestSpan(lines, words, room)
	if from == to { // not even the best line fits
		s, _ := cutAround(lines[from].text, words, room)
		return s, true
	}
	var b strings.Builder
	if from > 0 {
		b.WriteString(ellipsis + "\n")
	}
	if f := lines[from].inside; f != "" {
		b.WriteString(f + "\n")
	}
	open := ""
	for _, l := range lines[from:to] {
		b.WriteString(l.text)
		b.WriteByte('\n')
		open = l.after
	}
	if open != "" {
		b.WriteString(closing(open) + "\n")
	}
	if to < len(lines) {
		b.WriteString(ellipsis)
	}
	return strings.TrimRight(b.String(), " \t\n"), true
}

// textLine is a line and the code fence that is open before and after it, as its opening line without indentation.
type textLine struct {
	text          string
	runes         int
	inside, after string
}

func splitLines(text string) []textLine {
	parts := strings.Split(text, "\n")
	out := make([]textLine, len(parts))
	open := ""
	for i, p := range parts {
		out[i] = textLine{text: p, runes: utf8.RuneCountInString(p), inside: open}
		t := strings.TrimLeft(p, " \t>")
		if mark := fenceMark(t); mark != "" {
			switch {
			case open == "" && (mark[0] == '~' || !strings.Contains(t[len(mark):], "`")):
				open = cutFence(t, mark)
			case open != "" && strings.HasPrefix(mark, closing(open)) && strings.TrimSpace(t[len(mark):]) == "":
				open = ""
				out[i].inside = "" // a window that begins with the closing fence needs no opening one before it: bestSpan skips such a line
			}
		}
		out[i].after = open
	}
	return out
}

// fenceMark is the run of ``` or ~~~ that a line starts with, or "".
func fenceMark(t string) string {
	if len(t) < 3 || t[0] != '`' && t[0] != '~' {
		return ""
	}
	n := 0
	for n < len(t) && t[n] == t[0] {
		n++
	}
	if n < 3 {
		return ""
	}
	return t[:n]
}

// maxFence bounds the opening line that a window repeats.
const maxFence = 24

// cutFence is an opening line short enough to be repeated: its mark and the language.
func cutFence(t, mark string) string {
	lang := strings.TrimSpace(t[len(mark):])
	if i := strings.IndexAny(lang, " \t{"); i >= 0 {
		lang = lang[:i]
	}
	if len(mark)+len(lang) > maxFence {
		lang = ""
	}
	return mark[:min(len(mark), maxFence)] + lang
}

// closing is the fence that ends what open began.
func closing(open string) string {
	n := 0
	for n < len(open) && open[n] == open[0] {
		n++
	}
	return open[:n]
}

func longestFence(lines []textLine) int {
	n := 0
	for _, l := range lines {
		n = max(n, len(l.inside), len(l.after))
	}
	return n
}

// bestSpan finds the lines [from, to) within room that hold most of the words, each word once and further ones a little. Of equal spans the first wins, and what room
// is left goes to the lines after it, then to those before.
func bestSpan(lines []textLine, words map[string]bool, room int) (from, to int) {
	hits := make([][]string, len(lines))
	for i, l := range lines {
		lex.Scan(l.text, func(t lex.Token) {
			if words[t.Term] && len(hits[i]) < 64 {
				hits[i] = append(hits[i], t.Term)
			}
		})
	}
	count := map[string]int{}
	used, score, best := 0, 0, -1
	end := 0
	bestFrom, bestTo := 0, 0
	for start := range lines {
		end = max(end, start)
		for end < len(lines) && used+lines[end].runes+1 <= room {
			used += lines[end].runes + 1
			for _, h := range hits[end] {
				if count[h]++; count[h] == 1 {
					score += 8
				} else if count[h] <= 3 {
					score++
				}
			}
			end++
		}
		if score > best && end > start {
			best, bestFrom, bestTo = score, start, end
		}
		if end == start {
			// This line alone is too long. It is the answer if it holds more than any span does.
			if s := 8 * distinct(hits[start]); s > best {
				best, bestFrom, bestTo = s, start, start
			}
			continue
		}
		used -= lines[start].runes + 1
		for _, h := range hits[start] {
			if count[h]--; count[h] == 0 {
				score -= 8
			} else if count[h] < 3 {
				score--
			}
		}
	}
	if bestFrom == bestTo {
		return bestFrom, bestTo
	}
	return centre(lines, hits, bestFrom, bestTo, room)
}

// centre moves a span so that its matches do not stand at its very beginning: a third of the free room goes before them.
func centre(lines []textLine, hits [][]string, from, to, room int) (int, int) {
	first, last := from, to-1
	for first < to && len(hits[first]) == 0 {
		first++
	}
	if first == to {
		return from, to
	}
	for last > first && len(hits[last]) == 0 {
		last--
	}
	used := 0
	for _, l := range lines[first : last+1] {
		used += l.runes + 1
	}
	from, to = first, last+1
	before := used + (room-used)/3
	for from > 0 && used+lines[from-1].runes+1 <= before {
		from--
		used += lines[from].runes + 1
	}
	for to < len(lines) && used+lines[to].runes+1 <= room {
		used += lines[to].runes + 1
		to++
	}
	for from > 0 && used+lines[from-1].runes+1 <= room {
		from--
		used += lines[from].runes + 1
	}
	return from, to
}

func distinct(words []string) int {
	seen := map[string]bool{}
	for _, w := range words {
		seen[w] = true
	}
	return len(seen)
}

// cutLine keeps the first limit characters of a line.
func cutLine(s string, limit int) (string, bool) {
	n := offset(s, max(limit-1, 0))
	return strings.TrimRight(cut(s, n), " ") + ellipsis, true
}

// cutAround keeps limit characters of a long line around its first match.
func cutAround(line string, words map[string]bool, limit int) (string, bool) {
	at := -1
	lex.Scan(line, func(t lex.Token) {
		if at < 0 && words[t.Term] {
			at = t.Start
		}
	})
	before := utf8.RuneCountInString(line[:max(at, 0)])
	if at < 0 || before <= limit/3 {
		return cutLine(line, limit)
	}
	start := offset(line, before-limit/3)
	for a, e := range redact.Tags(line) {
		if a < start && start < e {
			start = e // a mask is left out whole
		}
	}
	rest := line[start:]
	if utf8.RuneCountInString(rest) <= limit-1 {
		return ellipsis + rest, true
	}
	s, _ := cutLine(rest, limit-1)
	return ellipsis + s, true
}

// offset is the byte offset of the n-th character.
func offset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}
