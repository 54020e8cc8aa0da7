package folder

import (
	"path"
	"strings"
)

// documentTerms are what an index keeps of a document beside its text.
type documentTerms struct {
	text  []string // the distinct terms of each chunk, for the full-text table
	stats []stats  // of each chunk; empty for the only one, which has those of the document
	doc   stats
}

// analyse makes the terms of a document. Title, tags and the names in the path are searched once, with the first chunk.
func analyse(d *document) documentTerms {
	var out documentTerms
	doc := newStatsBuilder()
	headings := map[string]bool{}
	name := strings.TrimSuffix(path.Base(d.path), path.Ext(d.path))
	for i, c := range d.chunks {
		var b strings.Builder
		b.Grow(len(c.text) * 2)
		seen := make(map[string]struct{}, len(c.text)/8+8)
		put := func(term string) {
			if _, twice := seen[term]; !twice {
				seen[term] = struct{}{}
				b.WriteString(term)
				b.WriteByte(' ')
			}
		}
		if i == 0 {
			doc.text(inTitle, d.title, put)
			doc.text(inTitle, d.tags, put)
			if name != d.title {
				doc.text(inHeading, name, put)
			}
			if dir := path.Dir(d.path); dir != "." {
				doc.text(inHeading, dir, put)
			}
		}
		one := newStatsBuilder()
		for _, h := range c.heading {
			one.text(inHeading, h, put)
			if !headings[h] {
				headings[h] = true
				doc.text(inHeading, h, nil)
			}
		}
		one.text(inBody, c.text, func(term string) {
			put(term)
			doc.add(inBody, term)
		})
		out.text = append(out.text, b.String())
		if len(d.chunks) > 1 {
			out.stats = append(out.stats, one.build())
		} else {
			out.stats = append(out.stats, stats{})
		}
	}
	out.doc = doc.build()
	return out
}
