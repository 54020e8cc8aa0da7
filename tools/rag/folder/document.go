package folder

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/tools/rag/internal/visible"
)

// document is a file as the index knows it: visible, redacted text only.
type document struct {
	path   string // relative to the folder, with slashes; redacted
	title  string
	tags   string
	id     string // front-matter id, "" if there is none
	hash   string // of the redacted text: equal text, equal hash, wherever the file lies
	chunks []chunk
	terms  documentTerms
}

// maxChunks bounds the chunks of one document: a file of maxFile bytes in chunks of ordinary size stays below.
const maxChunks = 1 << 14

type format uint8

const (
	markdown format = iota
	plain
	page
)

// formats are the files that are read, by extension. A file without an extension (README) is read as Markdown.
var formats = map[string]format{"": markdown, ".md": markdown, ".markdown": markdown, ".mdown": markdown, ".mdx": markdown, ".mkd": markdown, ".txt": plain, ".text": plain, ".rst": plain,
	".adoc": plain, ".asciidoc": plain, ".org": plain, ".html": page, ".htm": page, ".xhtml": page}

// readDocument turns a file into a document. The order matters: hidden text goes first, so that a comment cannot hide half of a secret, and redaction comes before
// anything is cut.
func readDocument(name string, b []byte, r *redact.Redactor) (document, error) {
	d := document{path: safeName(name, r)}
	s, err := decode(b)
	if err != nil {
		return d, err
	}
	kind := formats[strings.ToLower(path.Ext(name))]
	pageTitle := ""
	switch kind {
	case page:
		pageTitle, s = htmlToMarkdown(s)
		pageTitle = r.Text(redact.Clean(pageTitle), nil)
		s = redact.Clean(s)
	case markdown:
		s = visible.Strip(s)
	}
	s = r.Text(s, nil)
	sum := sha256.Sum256([]byte(pageTitle + "\x00" + strings.TrimSpace(s)))
	d.hash = hex.EncodeToString(sum[:])

	var fm frontMatter
	if kind != page {
		fm, s = splitFrontMatter(s)
	}
	if strings.TrimSpace(s) == "" && fm.title == "" {
		return d, errEmpty
	}
	d.id, d.tags = fm.id, cutRunes(fm.tags, 1024)
	var heading string
	if kind == plain {
		d.chunks = splitPlain(s)
	} else {
		heading, d.chunks = splitMarkdown(s)
	}
	for _, t := range []string{fm.title, heading, pageTitle, strings.TrimSuffix(path.Base(d.path), path.Ext(d.path))} {
		if t = plainHeading(strings.TrimSpace(t)); t != "" {
			d.title = t
			break
		}
	}
	if len(d.chunks) == 0 {
		d.chunks = []chunk{{text: d.title}}
	}
	d.chunks = d.chunks[:min(len(d.chunks), maxChunks)]
	for i, c := range d.chunks {
		if len(c.heading) > 0 && c.heading[0] == d.title {
			d.chunks[i].heading = c.heading[1:] // the title is shown beside the path
		}
	}
	return d, nil
}

// splitPlain divides text without marks: its paragraphs, joined up to the size of a good chunk.
func splitPlain(s string) []chunk {
	var secs []section
	for _, b := range blocks(s) {
		secs = append(secs, section{text: b, body: true})
	}
	return joinSections(secs)
}
