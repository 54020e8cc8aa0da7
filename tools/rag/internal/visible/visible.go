// Package visible keeps of Markdown what a reader of the rendered page sees, and knows what is code in it. A model must not read instructions that the people who
// review a runbook cannot see.
package visible

import "strings"

// Strip removes from Markdown what a reader of the rendered page does not see: HTML comments, script, style and hidden elements, link-reference comments
// ([//]: # (...)). Code, fenced or inline, is visible and stays as it is.
func Strip(s string) string {
	if !strings.Contains(s, "<") && !strings.Contains(s, "]:") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	var fence Fence
	failed := map[string]int{}
	end := 0 // of the line that pos is in
	for pos := 0; pos < len(s); {
		if pos >= end { // a new line
			line, width := CutLine(s[pos:])
			end = pos + width
			if fence.Line(line) {
				b.WriteString(s[pos:end])
				pos = end
				continue
			}
			if isLinkComment(line) {
				pos = end
				continue
			}
		}
		at, kind := hiddenStart(s[pos:end])
		if at < 0 {
			b.WriteString(s[pos:end])
			pos = end
			continue
		}
		b.WriteString(s[pos : pos+at])
		pos = skipHidden(s, pos+at, kind, failed)
		if pos > end { // the rest of a line that began hidden
			_, width := CutLine(s[pos:])
			end = pos + width
		}
	}
	return b.String()
}

// CutLine is the first line of s without its end, and its width with it.
func CutLine(s string) (string, int) {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return s[:i], i + 1
	}
	return s, len(s)
}

func isLinkComment(line string) bool {
	t := strings.TrimSpace(line)
	if !strings.HasPrefix(t, "[") {
		return false
	}
	label, rest, ok := strings.Cut(t[1:], "]:")
	if !ok {
		return false
	}
	rest = strings.TrimSpace(rest)
	switch strings.ToLower(strings.TrimSpace(label)) {
	case "//", "comment", "_", "#", "":
		return true
	}
	return rest == "#" || strings.HasPrefix(rest, "# ") || strings.HasPrefix(rest, "<> ")
}

// hiddenTags are elements whose content is never shown.
var hiddenTags = []string{"script", "style", "template", "noscript", "head", "title"}

// hiddenStart finds the first hidden piece of a line outside of inline code. kind is "--" for a comment, else the element's name.
func hiddenStart(line string) (at int, kind string) {
	code := false
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '`':
			if code || strings.IndexByte(line[i+1:], '`') >= 0 {
				code = !code
			}
		case '<':
			if code {
				continue
			}
			if strings.HasPrefix(line[i:], "<!--") {
				return i, "--"
			}
			name, attrs := openTag(line[i:])
			if name == "" {
				continue
			}
			for _, h := range hiddenTags {
				if name == h {
					return i, name
				}
			}
			if Hides(attrs) {
				return i, name
			}
		}
	}
	return -1, ""
}

// openTag reads an element's name and attributes, lower-cased. A tag ends at the next mark of either kind, so that a line of a million < is read once.
func openTag(s string) (name, attrs string) {
	n := 1
	for n < len(s) && (lower(s[n]) >= 'a' && lower(s[n]) <= 'z' || n > 1 && s[n] >= '0' && s[n] <= '9') {
		n++
	}
	if n == 1 || n < len(s) && strings.IndexByte(" \t/>", s[n]) < 0 {
		return "", ""
	}
	end := n
	if i := strings.IndexAny(s[n:], "<>"); i >= 0 {
		end += i
	} else {
		end = len(s)
	}
	return strings.ToLower(s[1:n]), strings.ToLower(s[n:end])
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// Hides tells attributes that keep an element from being seen.
func Hides(attrs string) bool {
	if attrs == "" {
		return false
	}
	squeezed := strings.Join(strings.Fields(attrs), "")
	for _, mark := range []string{"display:none", "visibility:hidden", "font-size:0", "opacity:0;", `opacity:0"`, `opacity:0'`} {
		if strings.Contains(squeezed, mark) {
			return true
		}
	}
	for _, f := range strings.Fields(attrs) {
		if f == "hidden" || f == "hidden/" || strings.HasPrefix(f, "hidden=") {
			return true
		}
	}
	return false
}

// maxFailed is how often the end of a hidden piece of one kind is searched for in vain. Beyond it the rest of the text is taken not to hold one, which keeps the work
// linear however hostile the text is.
const maxFailed = 16

// skipHidden gives the place behind the hidden piece that starts at pos. What is never closed hides the rest of its paragraph only, so that one forgotten
// end mark does not lose a document.
func skipHidden(s string, pos int, kind string, failed map[string]int) int {
	rest := s[pos:]
	if failed[kind] < maxFailed {
		end := -1
		if kind == "--" {
			if end = strings.Index(rest, "-->"); end >= 0 {
				end += len("-->")
			}
		} else {
			end = elementEnd(rest, kind)
		}
		if end >= 0 {
			return pos + end
		}
		failed[kind]++
	}
	if i := strings.Index(rest, "\n\n"); i >= 0 {
		return pos + i
	}
	return len(s)
}

// elementEnd is where the element that s starts with ends, counting elements of the same name inside it, or -1.
func elementEnd(s, name string) int {
	depth := 0
	for i := 0; i < len(s); {
		next := strings.IndexByte(s[i:], '<')
		if next < 0 {
			return -1
		}
		i += next + 1
		closing := i < len(s) && s[i] == '/'
		if closing {
			i++
		}
		if len(s)-i < len(name) || !strings.EqualFold(s[i:i+len(name)], name) {
			continue
		}
		after := i + len(name)
		if after < len(s) && strings.IndexByte(" \t\n/>", s[after]) < 0 {
			continue
		}
		i = after
		if !closing {
			depth++
			continue
		}
		if depth--; depth <= 0 {
			if end := strings.IndexByte(s[i:], '>'); end >= 0 {
				return i + end + 1
			}
			return len(s)
		}
	}
	return -1
}

// Fence follows fenced code blocks line by line.
type Fence struct {
	mark byte
	n    int
}

// Line tells whether the line belongs to a fenced block, its fences included.
func (f *Fence) Line(line string) bool {
	t := strings.TrimLeft(line, " \t>")
	if len(t) >= 3 && (t[0] == '`' || t[0] == '~') {
		n := 0
		for n < len(t) && t[n] == t[0] {
			n++
		}
		rest := t[n:]
		switch {
		case f.n == 0 && n >= 3 && (t[0] == '~' || !strings.Contains(rest, "`")):
			f.mark, f.n = t[0], n
			return true
		case f.n > 0 && t[0] == f.mark && n >= f.n && strings.TrimSpace(rest) == "":
			f.n = 0
			return true
		}
	}
	return f.n > 0
}

// Open tells whether a block is open.
func (f *Fence) Open() bool { return f.n > 0 }

// Closing is the line that ends the open block.
func (f *Fence) Closing() string { return strings.Repeat(string(f.mark), f.n) }
