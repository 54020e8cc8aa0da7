package folder

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/seed-069badc9/mcp-gateway/tools/rag/internal/visible"
)

// maxDepth bounds the nesting of elements that are read: the parser itself has no bound, and a walk of hostile nesting must not exhaust the stack.
const maxDepth = 256

// htmlToMarkdown writes the visible text of a page as simple Markdown (headings, lists, listings, table rows), so that one splitter serves both, and gives the
// page's title.
func htmlToMarkdown(s string) (title, text string) {
	root, err := html.Parse(strings.NewReader(s))
	if err != nil {
		return "", "" // the parser repairs everything but read errors and absurd nesting
	}
	w := &pageWriter{}
	w.walk(root, 0)
	return strings.Join(strings.Fields(w.title), " "), strings.TrimSpace(w.b.String())
}

type pageWriter struct {
	b     strings.Builder
	title string
	space bool // a space is due before the next word
	pre   int
}

func (w *pageWriter) walk(n *html.Node, depth int) {
	if depth > maxDepth {
		return
	}
	switch n.Type {
	case html.TextNode:
		w.text(n.Data)
		return
	case html.ElementNode:
		if w.element(n, depth) {
			return
		}
	case html.CommentNode, html.DoctypeNode:
		return
	}
	w.children(n, depth)
}

func (w *pageWriter) children(n *html.Node, depth int) {
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		w.walk(c, depth+1)
	}
}

// element writes n and tells whether it is done with its children too.
func (w *pageWriter) element(n *html.Node, depth int) bool {
	if hiddenNode(n) {
		return true
	}
	switch n.DataAtom {
	case atom.Title:
		if n.FirstChild != nil && w.title == "" {
			w.title = n.FirstChild.Data
		}
		return true
	case atom.Script, atom.Style, atom.Template, atom.Noscript, atom.Iframe, atom.Svg, atom.Nav:
		return true
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.block(strings.Repeat("#", int(n.Data[1]-'0')) + " ")
		w.children(n, depth)
		w.block("")
		return true
	case atom.Pre:
		w.block("```\n")
		w.pre++
		w.children(n, depth)
		w.pre--
		if !strings.HasSuffix(w.b.String(), "\n") {
			w.b.WriteByte('\n')
		}
		w.b.WriteString("```\n\n")
		return true
	case atom.Li:
		w.line("- ")
	case atom.Tr:
		w.row(n, depth)
		return true
	case atom.Td, atom.Th:
		w.children(n, depth)
		w.b.WriteString(" | ")
		w.space = false
		return true
	case atom.Dt:
		w.line("")
		w.children(n, depth)
		w.b.WriteByte(':')
		w.space = true
		return true
	case atom.Dd:
		w.children(n, depth)
		w.line("")
		return true
	case atom.Br:
		w.line("")
	case atom.P, atom.Div, atom.Section, atom.Article, atom.Ul, atom.Ol, atom.Table, atom.Blockquote, atom.Dl, atom.Main, atom.Header, atom.Footer:
		w.block("")
		w.children(n, depth)
		w.block("")
		return true
	}
	return false
}

// row writes a row of a table, and below a row of headings the rule by which Markdown and the redactor know one.
func (w *pageWriter) row(n *html.Node, depth int) {
	w.line("| ")
	w.children(n, depth)
	cells, headings := 0, 0
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		switch c.DataAtom {
		case atom.Th:
			headings++
			cells++
		case atom.Td:
			cells++
		}
	}
	if headings > 1 && headings == cells {
		w.line("|" + strings.Repeat("---|", cells))
	}
}

func hiddenNode(n *html.Node) bool {
	var attrs strings.Builder
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "style":
			attrs.WriteString(" style=\"" + strings.ToLower(a.Val) + "\"")
		}
	}
	return attrs.Len() > 0 && visible.Hides(attrs.String())
}

func (w *pageWriter) text(s string) {
	if w.pre > 0 {
		w.b.WriteString(s)
		return
	}
	for i, f := range strings.Fields(s) {
		if w.space || i > 0 || s[0] == ' ' || s[0] == '\n' || s[0] == '\t' {
			if t := w.b.String(); t != "" && t[len(t)-1] != '\n' && t[len(t)-1] != ' ' {
				w.b.WriteByte(' ')
			}
		}
		w.b.WriteString(f)
		w.space = false
	}
	if s != "" && strings.ContainsRune(" \n\t", rune(s[len(s)-1])) {
		w.space = true
	}
}

// line starts a new line with a mark.
func (w *pageWriter) line(mark string) {
	if t := w.b.String(); t != "" && t[len(t)-1] != '\n' {
		w.b.WriteByte('\n')
	}
	w.b.WriteString(mark)
	w.space = false
}

// block starts a new paragraph with a mark.
func (w *pageWriter) block(mark string) {
	t := strings.TrimRight(w.b.String(), " ")
	if t != "" && !strings.HasSuffix(t, "\n\n") {
		if strings.HasSuffix(t, "\n") {
			w.b.WriteByte('\n')
		} else {
			w.b.WriteString("\n\n")
		}
	}
	w.b.WriteString(mark)
	w.space = false
}
