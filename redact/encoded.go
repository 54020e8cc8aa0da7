package redact

import (
	"bytes"
	"encoding/base64"
	"unicode/utf8"
)

// base64 decodes the run around a key word in base64 and masks it when it holds a secret.
func (w *scanner) base64(from, to int) {
	b := w.b
	if !w.r.on[kindSecret] || to <= w.b64End {
		return
	}
	l, r := from, to
	for l > w.b64End && isB64(b[l-1]) {
		l--
	}
	for r < len(b) && isB64(b[r]) {
		r++
	}
	w.b64End = r
	w.steps += r - l
	for r < len(b) && b[r] == '=' && r-w.b64End < 2 {
		r++
	}
	if w.r.holds(decode64(b[l:r])) {
		w.secret(l, r)
		return
	}
	for s, n := from-1, 0; s >= l && n < 4; s-- { // "path/" or "key-" before the encoded text belongs to the alphabet too
		if c := b[s]; c == '/' || c == '-' || c == '_' || c == '+' {
			n++
			if w.r.holds(decode64(b[s+1 : r])) {
				w.secret(s+1, r)
				return
			}
		}
	}
}

// hex decodes the run of hexadecimal digits around a key word and masks it when it holds a secret.
func (w *scanner) hex(n, from, to int) {
	b := w.b
	if !w.r.on[kindSecret] || from < w.hexEnd || !hasFold(b, from, hexWords[n]) {
		return
	}
	l, r := from, to
	for l > w.hexEnd && isHex(b[l-1]) {
		l--
	}
	for r < len(b) && isHex(b[r]) {
		r++
	}
	w.hexEnd = r
	w.steps += r - l
	text := make([]byte, 0, (r-l)/2)
	for i := l + (from-l)%2; i+1 < r; i += 2 { // the word stands on a byte border
		text = append(text, unhex(b[i])<<4|unhex(b[i+1]))
	}
	if i := from - l; !printable(text[:min(len(text), i/2)]) { // something binary before it
		text = text[i/2:]
	}
	if n := bytes.IndexFunc(text, func(r rune) bool { return r < ' ' && !isSpace(byte(r)) || r == utf8.RuneError }); n >= 0 {
		text = text[:n]
	}
	if w.r.holds(text) {
		w.secret(l, r)
	}
}

// decode64 decodes either alphabet, with or without padding, as far as it goes; nil when it is not text.
func decode64(s []byte) []byte {
	s = bytes.TrimRight(s, "=")
	if len(s)%4 == 1 {
		s = s[:len(s)-1]
	}
	enc := base64.RawStdEncoding
	if bytes.IndexByte(s, '-') >= 0 || bytes.IndexByte(s, '_') >= 0 {
		enc = base64.RawURLEncoding
	}
	out := make([]byte, enc.DecodedLen(len(s)))
	n, _ := enc.Decode(out, s)
	if !printable(out[:n]) {
		return nil
	}
	return out[:n]
}

func printable(s []byte) bool {
	for _, c := range s {
		if c < 0x20 && !isSpace(c) || c == 0x7f {
			return false
		}
	}
	return utf8.Valid(s)
}

// holds tells whether text holds a secret, by the rules that need no decoding.
func (r *Redactor) holds(text []byte) bool {
	if len(text) < 4 || !r.on[kindSecret] {
		return false
	}
	w := &scanner{r: r}
	w.begin(text)
	w.walk(r.plain)
	for _, s := range w.spans {
		if s.kind == kindSecret {
			return true
		}
	}
	return false
}

func allB64(s []byte) bool {
	for _, c := range s {
		if !isB64(c) && c != '=' {
			return false
		}
	}
	return true
}
