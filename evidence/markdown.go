package evidence

import (
	"html"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode"
)

// plainText is the draft with line ends made one, character references read and signs without width dropped: what a reader sees decides, not how it is spelt.
// Lines keep their numbers.
func plainText(markdown string) string {
	s := strings.ReplaceAll(strings.ReplaceAll(markdown, "\r\n", "\n"), "\r", "\n")
	s = htmlQuotes(s)
	if strings.Contains(s, "&") {
		lines := strings.Split(s, "\n")
		for i, l := range lines {
			lines[i] = strings.ReplaceAll(html.UnescapeString(l), "\n", " ")
		}
		s = strings.Join(lines, "\n")
	}
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r)) {
			return -1
		}
		return r
	}, s)
}

var (
	quoteTag    = regexp.MustCompile(`(?i)<(/?)q(?:\s[^<>]*)?>`)
	blockTag    = regexp.MustCompile(`(?i)<blockquote(?:\s[^<>]*)?>`)
	blockTagEnd = regexp.MustCompile(`(?i)</blockquote\s*>`)
	hidingTag   = regexp.MustCompile(`(?i)\b(?:hidden|style|aria-hidden)\b`)
)

// htmlQuotes writes quotes of HTML as those of Markdown: a reader sees no difference. Tags that may hide what they hold stay.
func htmlQuotes(s string) string {
	if !strings.Contains(s, "<") {
		return s
	}
	s = quoteTag.ReplaceAllStringFunc(s, func(tag string) string {
		switch {
		case hidingTag.MatchString(tag):
			return tag
		case strings.HasPrefix(tag, "</"):
			return "”"
		}
		return "“"
	})
	lines := strings.Split(s, "\n")
	open, last := false, 0
	for i, l := range lines {
		if blockTagEnd.MatchString(l) {
			last = i
		}
	}
	for i, l := range lines {
		if open && i > last && strings.TrimSpace(l) == "" { // never closed: the paragraph
			open = false
			continue
		}
		m := blockTag.FindStringIndex(l)
		if !open && (m == nil || hidingTag.MatchString(l[m[0]:m[1]])) {
			continue
		}
		begins := !open
		open = true
		if begins {
			l = l[:m[0]] + "“" + l[m[1]:]
		}
		if e := blockTagEnd.FindStringIndex(l); e != nil {
			open = false
			l = l[:e[0]] + "”" + l[e[1]:]
		}
		if begins && !open { // on one line
			lines[i] = l
			continue
		}
		lines[i] = "> " + strings.NewReplacer("“", "", "”", "").Replace(l)
	}
	return strings.Join(lines, "\n")
}

// block is a paragraph, a list item, a heading, fenced code or a > block.
type block struct {
	line   int // of the first of lines
	lines  []string
	quoted bool // a > block
	code   bool
}

var (
	listItem  = regexp.MustCompile(`^\s*(?:[-*+]|\d{1,9}[.)])\s+`)
	fenceOpen = regexp.MustCompile("^ {0,3}(`{3,}[^`]*|~{3,}.*)$")
	heading   = regexp.MustCompile(`^ {0,3}#{1,6}(?:\s|$)`)
	rule      = regexp.MustCompile(`^ {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$`)
)

// blocks splits Markdown. A line that goes on a paragraph of a > block without the sign is part of it, as renderers show it.
func blocks(markdown string) (out []block) {
	var cur *block
	fence := ""
	for i, l := range strings.Split(markdown, "\n") {
		trimmed := strings.TrimSpace(l)
		start := func(b block) {
			b.line = i + 1
			out = append(out, b)
			cur = &out[len(out)-1]
		}
		if fence != "" {
			if body := strings.Trim(trimmed, fence[:1]); body == "" && len(trimmed) >= len(fence) && len(l)-len(strings.TrimLeft(l, " ")) < 4 {
				fence, cur = "", nil
				continue
			}
			if cur == nil {
				start(block{code: true})
			}
			cur.lines = append(cur.lines, l)
			continue
		}
		if m := fenceOpen.FindStringSubmatch(l); m != nil {
			fence, cur = m[1][:len(m[1])-len(strings.TrimLeft(m[1], m[1][:1]))], nil
			continue
		}
		inner := strings.TrimLeft(trimmed, "> \t")
		isQuote := strings.HasPrefix(trimmed, ">")
		switch {
		case trimmed == "":
			cur = nil
			continue
		case isQuote:
			if cur == nil || !cur.quoted {
				start(block{quoted: true})
			}
			cur.lines = append(cur.lines, inner)
			continue
		case cur == nil, listItem.MatchString(l), heading.MatchString(l), rule.MatchString(l), noteDefinition.MatchString(l), strings.HasPrefix(trimmed, "|"),
			cur.quoted && cur.lines[len(cur.lines)-1] == "": // each row of a table is one
			start(block{})
		}
		cur.lines = append(cur.lines, l)
	}
	return out
}

// Places where a reader does not see what is written. They are found generously: what stands in one still has to hold, it only does not count as a citation that
// the reader has.
var hiddenPlaces = []*regexp.Regexp{
	regexp.MustCompile(`(?s)<!--.*?(?:-->|$)`),
	regexp.MustCompile(`(?s)<[a-zA-Z/!?][^<>]*>`),
	regexp.MustCompile(`(?is)<(?:script|style|template|title|noscript|iframe|textarea|object|svg|head)\b.*?(?:</(?:script|style|template|title|noscript|iframe|textarea|object|svg|head)\s*>|$)`),
	regexp.MustCompile(`(?is)<\w[^<>]*\b(?:hidden|style|aria-hidden)\b[^<>]*>.*?(?:</\w[^<>]*>|$)`),
	regexp.MustCompile(`(?s)\]\([^()]*(?:\([^()]*\)[^()]*)*\)`),                                                                         // target and title of a link
	regexp.MustCompile(`!\[(?:[^\[\]]|\[[^\[\]]*\])*\]`),                                                                                // what an image shows when it cannot be loaded
	regexp.MustCompile(`(?m)^[ >]*\[ev:[^\]\n]*\]:[ \t]*(?:<[^<>\n]*>|[^\s<>]+)(?:[ \t]+(?:"[^"\n]*"|'[^'\n]*'|\([^()\n]*\)))?[ \t]*$`), // definition of a link
}

var footnote = regexp.MustCompile(`(?m)^ {0,3}(\[\^[^\]\s]+\]):.*$`)

// hiddenSpans gives the places of text that a reader does not see, as byte offsets in order.
func hiddenSpans(text string) (out [][]int) {
	for _, re := range hiddenPlaces {
		out = append(out, re.FindAllStringIndex(text, -1)...)
	}
	for _, m := range footnote.FindAllStringSubmatchIndex(text, -1) {
		if !strings.Contains(text[:m[0]], text[m[2]:m[3]]) && !strings.Contains(text[m[3]:], text[m[2]:m[3]]) { // nobody refers to it
			out = append(out, m[:2])
		}
	}
	slices.SortFunc(out, func(a, b []int) int { return a[0] - b[0] })
	reach := 0
	for _, s := range out { // each reaches at least as far as those before it, so that the last one that begins before a place decides
		reach = max(reach, s[1])
		s[1] = reach
	}
	return out
}

func within(spans [][]int, off int) bool {
	i := sort.Search(len(spans), func(i int) bool { return spans[i][0] > off })
	return i > 0 && off < spans[i-1][1]
}
