package folder

import "strings"

// stripHidden removes from Markdown what a reader of the rendered page does not see: HTML comments, script, style and hidden elements, link-reference comments
// ([//]: # (...)). A model must not read instructions that the people who review a runbook cannot. Code, fenced or inline, is visible and stays as it is.
func stripHidden(s string) string {
	if !strings.Contains(s, "<") && !strings.Contains(s, "]:") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	var fence fenceState
	for s != "" {
		line, width := cutLine(s)
		if inside := fence.line(line); inside {
			b.WriteString(s[:width])
			s = s[width:]
			continue
		}
		if isLinkComment(line) {
			s = s[width:]
			continue
		}
		at, kind := hiddenStart(line)
		if at < 0 {
			b.WriteString(s[:width])
			s = s[width:]
			continue
		}
		b.WriteString(s[:at])
		s = skipHidden(s[at:], kind)
	}
	return b.String()
}

// cutLine is the first line of s without its end, and its width with it.
func cutLine(s string) (string, int) {
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
			if hidesItself(attrs) {
				return i, name
			}
		}
	}
	return -1, ""
}

// openTag reads an element's name and attributes, lower-cased.
func openTag(s string) (name, attrs string) {
	end := strings.IndexByte(s, '>')
	if end < 0 {
		end = len(s)
	}
	t := strings.ToLower(s[1:end])
	n := 0
	for n < len(t) && (t[n] >= 'a' && t[n] <= 'z' || n > 0 && t[n] >= '0' && t[n] <= '9') {
		n++
	}
	if n == 0 || n < len(t) && t[n] != ' ' && t[n] != '\t' && t[n] != '/' {
		return "", ""
	}
	return t[:n], t[n:]
}

// hidesItself tells attributes that keep an element from being seen.
func hidesItself(attrs string) bool {
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

// skipHidden drops the hidden piece that s starts with and returns what follows. What is never closed hides the rest of its paragraph only, so that one forgotten
// end mark does not lose a document.
func skipHidden(s, kind string) string {
	if kind == "--" {
		if i := strings.Index(s, "-->"); i >= 0 {
			return s[i+3:]
		}
	} else {
		low := strings.ToLower(s)
		closing := "</" + kind
		depth, i := 0, 0
		for i < len(low) {
			open, shut := indexTag(low[i:], "<"+kind), strings.Index(low[i:], closing)
			if shut < 0 {
				break
			}
			if open >= 0 && open < shut {
				depth++
				i += open + 1 + len(kind)
				continue
			}
			i += shut + len(closing)
			if depth--; depth <= 0 {
				if end := strings.IndexByte(low[i:], '>'); end >= 0 {
					return s[i+end+1:]
				}
				return ""
			}
		}
	}
	if i := strings.Index(s, "\n\n"); i >= 0 {
		return s[i:]
	}
	return ""
}

// indexTag finds an opening tag whose name ends where the text given ends.
func indexTag(s, tag string) int {
	from := 0
	for {
		i := strings.Index(s[from:], tag)
		if i < 0 {
			return -1
		}
		end := from + i + len(tag)
		if end >= len(s) || strings.IndexByte(" \t\n/>", s[end]) >= 0 {
			return from + i
		}
		from = end
	}
}
