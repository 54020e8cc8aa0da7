package redact

import "bytes"

const (
	maxHTMLTable = 1 << 15 // bytes of a table behind its headings
	maxHTMLHeads = 8       // headings of a text whose columns are followed
)

// htmlHeading handles a heading of an HTML table, <th>password</th>: the cells below it are masked. It reports whether the key is one.
func (w *scanner) htmlHeading(k *key, p int) bool {
	b := w.b
	if !hasFold(b, p, "</th>") {
		return false
	}
	if w.htmlHeads++; w.htmlHeads > maxHTMLHeads || k.weak || k.code {
		return true
	}
	start := max(0, k.from-maxTableRow)
	head := b[start:k.from]
	if n := bytes.LastIndex(head, []byte("<tr")); n >= 0 {
		head = head[n:]
	}
	col := bytes.Count(head, []byte("<th>")) + bytes.Count(head, []byte("<th "))
	rest := b[p:min(len(b), p+maxHTMLTable)]
	if n := bytes.Index(rest, []byte("</table")); n >= 0 {
		rest = rest[:n]
	}
	w.steps += len(head) + len(rest)
	cell := 0
	for i := 0; ; {
		n := bytes.IndexByte(rest[i:], '<')
		if n < 0 {
			return true
		}
		i += n + 1
		switch {
		case has(rest, i, "tr") && !isAlnum(at(rest, i+2)):
			cell = 0
		case has(rest, i, "td") && !isAlnum(at(rest, i+2)):
			if cell++; cell != col {
				continue
			}
			from := bytes.IndexByte(rest[i:], '>')
			if from < 0 {
				return true
			}
			from += i + 1
			to := bytes.Index(rest[from:], []byte("</"))
			if to < 0 {
				to = len(rest) - from
			}
			w.cell(k, p+from, p+from+to)
			i = from
		}
	}
}
