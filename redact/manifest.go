package redact

import "bytes"

// block follows the data of a Kubernetes Secret line by line. In YAML the data comes before the kind, so every "data:" block counts: its values are masked when
// they are base64, those of stringData always.
type block struct {
	in, all bool
	indent  int
	folded  int // indentation of a key whose value is a block scalar, or -1
}

// line gives the range of the value to be masked in the next line, or 0, 0.
func (m *block) line(line []byte) (from, to int) {
	line = bytes.TrimRight(line, "\r\n")
	indent := skipBlank(line, 0)
	text := line[indent:]
	if len(text) == 0 {
		return 0, 0
	}
	if m.in && indent <= m.indent {
		m.in = false
	}
	if !m.in {
		m.all = bytes.Equal(text, []byte("stringData:"))
		if m.all || bytes.Equal(text, []byte("data:")) {
			m.in, m.indent, m.folded = true, indent, -1
		}
		return 0, 0
	}
	if m.folded >= 0 && indent > m.folded {
		if m.all || encoded(text) && len(text) >= 16 {
			return indent, len(line)
		}
		return 0, 0
	}
	m.folded = -1
	c := bytes.Index(text, []byte(": "))
	if c < 0 {
		if m.all && text[len(text)-1] != ':' {
			return indent, len(line)
		}
		return 0, 0
	}
	from = skipBlank(line, indent+c+1)
	to = trimRight(line, from, len(line))
	v := line[from:to]
	if len(v) == 0 {
		return 0, 0
	}
	if v[0] == '|' || v[0] == '>' {
		m.folded = indent
		return 0, 0
	}
	if q, f := opening(line, from); q.c != 0 && to > f && line[to-1] == q.c {
		from, to = f, to-1
		v = line[from:to]
	}
	if m.all || len(v)%4 == 0 && encoded(v) {
		return from, to
	}
	return 0, 0
}

// encoded tells base64 from the words and numbers of a ConfigMap: letters of both cases, or padding.
func encoded(v []byte) bool {
	upper, lower := v[len(v)-1] == '=', false
	for _, c := range v {
		upper, lower = upper || class[c]&cUpper != 0, lower || class[c]&cLower != 0
	}
	return len(v) >= 4 && upper && lower && allB64(v)
}

// manifest masks the data of Kubernetes Secrets in the text under scan.
func (w *scanner) manifest() {
	if !w.r.on[kindSecret] {
		return
	}
	b := w.b
	if w.sawData {
		var m block
		for i := 0; i < len(b); {
			e := w.lineEnd(b, i)
			if f, t := m.line(b[i:e]); t > f {
				w.secret(i+f, i+t)
			}
			i = e + 1
		}
	}
	if w.sawKind > 0 {
		for i := 0; i < len(b); {
			j := bytes.Index(b[i:], []byte("ata"))
			if j < 0 {
				return
			}
			i += j + 3
			if (!has(b, i-4, "data") || !isQuote(at(b, i-5))) && !has(b, i-10, "stringData") {
				continue
			}
			p := skipSpace(b, closers(b, i))
			if at(b, p) != ':' || p == i {
				continue
			}
			if p = skipSpace(b, p+1); at(b, p) != '{' {
				continue
			}
			end, _ := w.balanced(b, p)
			w.jsonValues(p+1, end)
			i = end
		}
	}
}

// jsonValues masks the strings that are values in the object at b[p:end].
func (w *scanner) jsonValues(p, end int) {
	b := w.b
	for p < end {
		c := bytes.IndexByte(b[p:end], ':')
		if c < 0 {
			return
		}
		p = skipSpace(b, p+c+1)
		if q, from := opening(b, p); q.c != 0 && p < end {
			e, next, _ := w.closing(b[:end], from, q)
			w.secret(from, e)
			p = max(next, p+1)
		}
	}
}

// kindSecretAt notes a manifest's kind: "kind":"Secret".
func (w *scanner) kindSecretAt(to int) {
	p := skipBlank(w.b, closers(w.b, to))
	if at(w.b, p) != ':' {
		return
	}
	p = skipBlank(w.b, p+1)
	if _, f := opening(w.b, p); f > p && has(w.b, f, "Secret") {
		w.sawKind++
	}
}
