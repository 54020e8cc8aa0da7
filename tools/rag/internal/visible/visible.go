// Package visible keeps of Markdown what a reader of the rendered page sees, and knows what is code in it. A model must not read instructions that the people who
// review a runbook cannot see.
package visible

import (
	"html"
	"strings"
)

// Strip removes from Markdown what a reader of the rendered page does not see: HTML comments, script, style and hidden elements, link-reference comments
// ([//]: # (...)) and definitions that no link or footnote uses. Code, fenced or inline, is visible and stays as it is.
func Strip(s string) string {
	defines := strings.Contains(s, "]:")
	if !defines && !strings.Contains(s, "<") {
		return s
	}
	var used map[string]int
	if defines {
		used = labels(s)
	}
	var b strings.Builder
	b.Grow(len(s))
	var fence Fence
	failed := map[string]int{}
	end := 0       // of the line that pos is in
	begins := true // no paragraph goes on in the line: a definition cannot interrupt one
	for pos := 0; pos < len(s); {
		if pos >= end { // a new line
			line, width := CutLine(s[pos:])
			end = pos + width
			if fence.Line(line) {
				b.WriteString(s[pos:end])
				pos, begins = end, true
				continue
			}
			if defines && (begins || strings.HasPrefix(line, "[//]:")) {
				if n, seen := definition(s[pos:], used); n > 0 && !seen {
					pos += n
					end = pos
					continue
				} else if n > 0 {
					b.WriteString(s[pos : pos+n])
					pos += n
					end = pos
					continue
				}
			}
			begins = strings.TrimSpace(line) == "" || line[0] == '#'
		}
		at, kind := hiddenStart(s[pos:], end-pos)
		if at < 0 {
			b.WriteString(s[pos:end])
			pos = end
			continue
		}
		from := pos + at
		b.WriteString(s[pos:from])
		if pos = skipHidden(s, from, kind, failed); pos == from+1 { // nothing hidden after all
			b.WriteByte('<')
		}
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

// maxLabel bounds the label of a link in bytes; Markdown itself allows 999 characters.
const maxLabel = 1000

// maxDefinitions bounds the definitions of a text that are looked at; further ones count as unused.
const maxDefinitions = 4096

// labels counts how often the labels that s defines stand in square brackets, definitions included.
func labels(s string) map[string]int {
	out := map[string]int{}
	for i := 0; i < len(s) && len(out) < maxDefinitions; {
		line, width := CutLine(s[i:])
		if label, _, ok := strings.Cut(strings.TrimLeft(line, " "), "]:"); ok && label != "" && label[0] == '[' && len(label) <= maxLabel {
			out[foldLabel(label[1:])] = 0
		}
		i += width
	}
	open := -1
	for i := 0; i < len(s) && len(out) > 0; i++ {
		switch s[i] {
		case '\\':
			i++
		case '[':
			open = i + 1
		case ']':
			if open >= 0 && i-open <= maxLabel {
				if label := foldLabel(s[open:i]); out[label] < 2 {
					if _, ok := out[label]; ok {
						out[label]++
					}
				}
			}
			open = -1
		}
	}
	return out
}

func foldLabel(label string) string { return strings.ToLower(strings.Join(strings.Fields(label), " ")) }

// definition reads a link or footnote definition at the beginning of s and gives its width with its line end, 0 when none begins there. seen tells that it shows:
// its label is used, counting the definition itself, and is none of those that people write comments with.
func definition(s string, used map[string]int) (width int, seen bool) {
	line, width := CutLine(s)
	t := strings.TrimLeft(line, " ")
	if len(line)-len(t) > 3 || !strings.HasPrefix(t, "[") {
		return 0, false
	}
	label, rest, ok := strings.Cut(t[1:], "]:")
	if !ok || len(label) > maxLabel || strings.ContainsAny(label, "[]") {
		return 0, false
	}
	rest = strings.TrimSpace(rest)
	switch label = foldLabel(label); label {
	case "//", "comment", "_", "#", "":
		return width, false
	}
	if rest == "#" || strings.HasPrefix(rest, "# ") || strings.HasPrefix(rest, "<> ") {
		return width, false
	}
	if label[0] == '^' {
		return width, used[label] > 1
	}
	_, title, _ := strings.Cut(rest, " ")
	title = strings.TrimSpace(title)
	if rest == "" || title != "" && strings.IndexByte("\"'(", title[0]) < 0 { // [error]: disk full
		return 0, false
	}
	if title != "" {
		end := title[0]
		if end == '(' {
			end = ')'
		}
		if title[1:] == "" || title[len(title)-1] != end { // it goes on in the next lines, but over no blank one
			paragraph, _, _ := strings.Cut(s[width:min(len(s), width+maxTag)], "\n\n")
			at := strings.IndexByte(paragraph, end)
			if at < 0 {
				return 0, false
			}
			_, more := CutLine(s[width+at:])
			width += at + more
		}
	}
	return width, used[label] > 1
}

// hiddenTags are elements whose content is never shown.
var hiddenTags = []string{"script", "style", "template", "noscript", "head", "title"}

// hiddenStart finds the first hidden piece that begins in the first n bytes of s, a line, outside of inline code. kind is a key of ends, else the element's name.
func hiddenStart(s string, n int) (at int, kind string) {
	code := false
	for i := 0; i < n; i++ {
		switch s[i] {
		case '`':
			if code || strings.IndexByte(s[i+1:n], '`') >= 0 {
				code = !code
			}
		case '<':
			if code {
				continue
			}
			if kind := bogus(s[i:]); kind != "" {
				return i, kind
			}
			name, attrs := openTag(s[i:])
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

// bogus tells a comment ("--") and what browsers treat as one: processing instructions ("?"), character data ("[") and declarations ("!").
func bogus(s string) string {
	switch {
	case strings.HasPrefix(s, "<!--"):
		return "--"
	case strings.HasPrefix(s, "<?"):
		return "?"
	case strings.HasPrefix(s, "<![CDATA["):
		return "["
	case len(s) > 2 && s[1] == '!' && lower(s[2]) >= 'a' && lower(s[2]) <= 'z':
		return "!"
	}
	return ""
}

// ends are the ends of what is hidden without being an element.
var ends = map[string]string{"--": "-->", "?": "?>", "[": "]]>", "!": ">"}

// maxTag bounds a tag in bytes; it may go on over line ends.
const maxTag = 4096

// openTag reads an element's name and attributes, lower-cased. A tag ends at the next mark of either kind, so that a line of a million < is read once.
func openTag(s string) (name, attrs string) {
	n := 1
	for n < len(s) && (lower(s[n]) >= 'a' && lower(s[n]) <= 'z' || n > 1 && s[n] >= '0' && s[n] <= '9') {
		n++
	}
	if n == 1 || n < len(s) && strings.IndexByte(" \t\n/>", s[n]) < 0 {
		return "", ""
	}
	attrs = s[n:min(len(s), n+maxTag)]
	if i := strings.IndexAny(attrs, "<>"); i >= 0 {
		attrs = attrs[:i]
	}
	return strings.ToLower(s[1:n]), strings.ToLower(attrs)
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// hidingStyles are declarations, without blanks, under which text is not to be seen.
var hidingStyles = []string{"display:none", "visibility:hidden", "visibility:collapse", "font-size:0", "font-size:1px", "opacity:0;", `opacity:0"`, `opacity:0'`, "opacity:0!", "color:transparent",
	"text-indent:-", "left:-9", "right:-9", "top:-9", "clip:rect(0", "clip-path:inset(50%", "clip-path:inset(100%", "scale(0)", "max-height:0;", `max-height:0"`, "content-visibility:hidden"}

// Hides tells attributes that keep an element from being seen.
func Hides(attrs string) bool {
	if attrs == "" {
		return false
	}
	if strings.Contains(attrs, "style") {
		squeezed := strings.Join(strings.Fields(html.UnescapeString(attrs)), "")
		for _, mark := range hidingStyles {
			if strings.Contains(squeezed, mark) {
				return true
			}
		}
		if strings.Contains(squeezed, "overflow:hidden") && (noSize(squeezed, "height:0") || noSize(squeezed, "width:0")) {
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

// noSize tells a size of nothing, whatever its unit: height:0px, not height:0.5em.
func noSize(style, decl string) bool {
	_, rest, ok := strings.Cut(style, decl)
	return ok && (rest == "" || rest[0] != '.' && (rest[0] < '0' || rest[0] > '9'))
}

// maxFailed is how often the end of a hidden piece of one kind is searched for in vain. Beyond it the rest of the text is taken not to hold one, which keeps the work
// linear however hostile the text is.
const maxFailed = 16

// skipHidden gives the place behind the hidden piece that starts at pos. What begins a line and is never closed hides all that follows, as it does on the rendered
// page: text after it would be read by a model and by nobody else. Inside of a line it hides the rest of its paragraph.
func skipHidden(s string, pos int, kind string, failed map[string]int) int {
	rest := s[pos:]
	if failed[kind] < maxFailed {
		end := -1
		if mark := ends[kind]; mark != "" {
			if end = strings.Index(rest, mark); end >= 0 {
				end += len(mark)
			}
		} else {
			end = elementEnd(rest, kind)
		}
		if end >= 0 {
			return pos + end
		}
		failed[kind]++
		if line := strings.TrimLeft(s[strings.LastIndexByte(s[:pos], '\n')+1:pos], " "); line == "" {
			return len(s)
		}
	}
	if kind == "?" || kind == "!" {
		return pos + 1 // an open one inside of a line is text: "is i <?"
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
