package config

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in a configuration: where it is, which key, what would be right.
type Problem struct {
	File string
	Line int // 1-based; 0 when the mistake is an absence
	Path string
	Text string
}

// String is file:line: key path: text.
func (p Problem) String() string {
	s := p.File
	if p.Line > 0 {
		s = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	if p.Path != "" {
		s += ": " + p.Path
	}
	return s + ": " + p.Text
}

// Problems is a configuration that cannot be used, with every mistake in order of line.
type Problems []Problem

// Error lists all problems, one a line.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, q := range p {
		lines[i] = q.String()
	}
	return strings.Join(lines, "\n")
}

// Sorted orders by line, then path.
func (p Problems) Sorted() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return strings.Compare(a.Path, b.Path)
	})
	return p
}

// Problem makes a problem about a key of this configuration, for checks that other packages do on their own options.
func (c *Config) Problem(path, text string) Problem {
	return Problem{File: c.File, Line: c.line(path), Path: path, Text: text}
}

// line is that of the key, or of its nearest ancestor in the file.
func (c *Config) line(path string) int {
	for path != "" {
		if l, ok := c.lines[path]; ok {
			return l
		}
		i := strings.LastIndexAny(path, ".[")
		if i < 0 {
			break
		}
		path = path[:i]
	}
	return 0
}
