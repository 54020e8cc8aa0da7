package charset

import (
	"bufio"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// Wide reads UTF-16 as UTF-8: without it the zero bytes between the letters would hide every word, and every secret from the redactor.
type Wide struct {
	r    *bufio.Reader
	big  bool
	high rune // a first half that waits for its second
	left []byte
	err  error
}

// NewWide makes a Wide; k is UTF16LE or UTF16BE.
func NewWide(r io.Reader, k Kind) *Wide {
	return &Wide{r: bufio.NewReaderSize(r, 64<<10), big: k == UTF16BE}
}

// Read implements io.Reader. Half a unit at the end of the text is dropped, half a pair becomes U+FFFD.
func (w *Wide) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		if len(w.left) > 0 {
			k := copy(p[n:], w.left)
			n, w.left = n+k, w.left[k:]
			continue
		}
		if w.err != nil {
			return n, w.err
		}
		if n > 0 && w.r.Buffered() < 2 { // what is there is given before more is waited for
			return n, nil
		}
		w.next()
	}
	return n, nil
}

// next reads one unit.
func (w *Wide) next() {
	var b [2]byte
	if _, err := io.ReadFull(w.r, b[:]); err != nil {
		if err == io.ErrUnexpectedEOF {
			err = io.EOF
		}
		w.err = err
		if w.high != 0 {
			w.high, w.left = 0, utf8.AppendRune(w.left[:0], utf8.RuneError)
		}
		return
	}
	u := rune(b[0]) | rune(b[1])<<8
	if w.big {
		u = rune(b[1]) | rune(b[0])<<8
	}
	out := w.left[:0]
	if w.high != 0 {
		r := utf16.DecodeRune(w.high, u)
		w.high = 0
		out = utf8.AppendRune(out, r)
		if r != utf8.RuneError {
			w.left = out
			return
		}
	}
	if u >= 0xd800 && u < 0xdc00 {
		w.high = u
	} else {
		out = utf8.AppendRune(out, u)
	}
	w.left = out
}
