package mysql

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/redact"
)

// maxDepth is how deep a document may nest to be embedded; a deeper one is shown as text. Databases themselves stop at 32 (MariaDB) and 100 (MySQL).
const maxDepth = 48

var errNotEmbeddable = errors.New("not fit to be embedded")

// document renders a JSON document compactly, each string of it redacted under its path. It gives up, so that the document is shown as text, when it is no JSON,
// has a member twice or nests too deep.
func (r *renderer) document(s string) ([]byte, bool) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	w := docWriter{r: r, d: d, b: make([]byte, 0, len(s)+16)}
	tok, err := d.Token()
	if err != nil || w.value(tok, "", 0) != nil {
		return nil, false
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, false
	}
	return w.b, true
}

type docWriter struct {
	r *renderer
	d *json.Decoder
	b []byte
}

// value writes the value that tok starts; path is the dotted path of member names to it.
func (w *docWriter) value(tok json.Token, path string, depth int) error {
	if depth > maxDepth {
		return errNotEmbeddable
	}
	switch v := tok.(type) {
	case json.Delim:
		if v == '{' {
			return w.object(path, depth)
		}
		return w.array(path, depth)
	case string:
		w.b = appendString(w.b, w.hide(path, redact.Clean(v)))
	case json.Number:
		s := v.String()
		if h := w.hide(path, s); h != s || unsafeInteger(s) {
			w.b = appendString(w.b, h)
		} else {
			w.b = append(w.b, s...)
		}
	case bool:
		if v {
			w.b = append(w.b, "true"...)
		} else {
			w.b = append(w.b, "false"...)
		}
	case nil:
		w.b = append(w.b, "null"...)
	}
	return nil
}

func (w *docWriter) hide(path, s string) string {
	out := w.r.redact(s)
	if path != "" {
		if h := w.r.r.Field(path, out, nil); h != out {
			w.r.redacted = true
			return h
		}
	}
	return out
}

func (w *docWriter) object(path string, depth int) error {
	w.b = append(w.b, '{')
	seen := map[string]struct{}{}
	for w.d.More() {
		tok, err := w.d.Token()
		if err != nil {
			return err
		}
		name, ok := tok.(string)
		if !ok {
			return errNotEmbeddable
		}
		shown := w.hide("", redact.Clean(name))
		if _, twice := seen[shown]; twice {
			return errNotEmbeddable
		}
		if len(seen) > 0 {
			w.b = append(w.b, ',')
		}
		seen[shown] = struct{}{}
		w.b = append(appendString(w.b, shown), ':')
		if tok, err = w.d.Token(); err != nil {
			return err
		}
		inner := name
		if path != "" {
			inner = path + "." + name
		}
		if err := w.value(tok, inner, depth+1); err != nil {
			return err
		}
	}
	w.b = append(w.b, '}')
	_, err := w.d.Token()
	return err
}

func (w *docWriter) array(path string, depth int) error {
	w.b = append(w.b, '[')
	for n := 0; w.d.More(); n++ {
		tok, err := w.d.Token()
		if err != nil {
			return err
		}
		if n > 0 {
			w.b = append(w.b, ',')
		}
		if err := w.value(tok, path, depth+1); err != nil {
			return err
		}
	}
	w.b = append(w.b, ']')
	_, err := w.d.Token()
	return err
}
