package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// The page is 100 columns: what the model saw on the left, what stayed behind on the right.
const (
	pageWidth = 100
	leftWidth = 69
)

// page prints with the first error kept.
type page struct {
	w   io.Writer
	err error
}

func (p *page) line(s string) {
	if p.err == nil {
		_, p.err = fmt.Fprintln(p.w, strings.TrimRight(s, " "))
	}
}

func (p *page) rule(title string) {
	p.line("")
	p.line("── " + title + " " + strings.Repeat("─", max(0, pageWidth-columns(title)-4)))
}

// text prints s wrapped, with the first and the following lines indented.
func (p *page) text(first, rest, s string) {
	for i, l := range wrap(s, pageWidth-max(columns(first), columns(rest))) {
		if i > 0 {
			first = rest
		}
		p.line(first + l)
	}
}

// sides prints two columns.
func (p *page) sides(left, right []string) {
	var l, r []string
	for _, s := range left {
		indent := s[:len(s)-len(strings.TrimLeft(s, " "))]
		for i, part := range wrap(s[len(indent):], leftWidth-2-len(indent)) {
			if i > 0 {
				part = "  " + part
			}
			l = append(l, indent+part)
		}
	}
	for _, s := range right {
		r = append(r, wrap(s, pageWidth-leftWidth-3)...)
	}
	for i := range max(len(l), len(r)) {
		a, b := "", ""
		if i < len(l) {
			a = l[i]
		}
		if i < len(r) {
			b = r[i]
		}
		p.line(" " + a + strings.Repeat(" ", max(0, leftWidth-columns(a))) + "│ " + b)
	}
}

// columns is how wide s is in a terminal: Chinese characters take two.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// wrap breaks s into lines of at most n columns: at spaces and between the members of JSON, else where the line is full.
func wrap(s string, n int) []string {
	var out []string
	for columns(s) > n {
		cut, soft, w := 0, 0, 0
		for i, r := range s {
			if w += runeColumns(r); w > n {
				cut = i
				break
			}
			switch next := s[i+utf8.RuneLen(r):]; {
			case r == ' ':
				soft = i
			case strings.HasPrefix(next, " ") || r == '，' || r == ',' && strings.HasPrefix(next, "\""):
				soft = i + utf8.RuneLen(r)
			}
		}
		if soft > 0 {
			cut = soft
		}
		out = append(out, strings.TrimRight(s[:cut], " "))
		s = strings.TrimLeft(s[cut:], " ")
	}
	return append(out, s)
}

// clip shortens s to n columns.
func clip(s string, n int) string {
	if columns(s) <= n {
		return s
	}
	w := 0
	for i, r := range s {
		if w += runeColumns(r); w > n-1 {
			return s[:i] + "…"
		}
	}
	return s
}

// runTag is a mask whose suffix differs from run to run.
var runTag = regexp.MustCompile(`<([a-z-]+):[a-z0-9]{6}>`)

// steady makes text of two runs alike.
func steady(s string) string { return runTag.ReplaceAllString(s, "<$1:…>") }

// number groups digits in threes.
func number(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// size is a number of bytes with one decimal.
func size(n int64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return number(n) + " B"
}
