package charset

import (
	"bufio"
	"bytes"
	"io"
)

// Stream reads a text that comes line by line, whatever it is encoded in. It decides by the lines that it has seen.
type Stream struct {
	r     *bufio.Reader
	tally Tally
	buf   []byte
	lines int
	lost  int // in no known encoding
}

// NewStream makes a Stream. It waits for two bytes, a mark, and for nothing else.
func NewStream(r io.Reader) *Stream {
	br := bufio.NewReaderSize(r, 64<<10)
	if head, err := br.Peek(2); err == nil {
		if k := Mark(head); k != UTF8 {
			br = bufio.NewReaderSize(NewWide(br, k), 64<<10)
			if mark, _ := br.Peek(3); string(mark) == "\xef\xbb\xbf" { // the mark, in UTF-8
				_, _ = br.Discard(len(mark)) // they are there
			}
		}
	}
	return &Stream{r: br}
}

// Next is the next line as UTF-8, without its line end, whatever its length; ended tells whether the line end was there. The line is valid until the next call. After the
// last one the error is io.EOF.
func (s *Stream) Next() (l []byte, ended bool, err error) {
	l, err = s.r.ReadBytes('\n')
	if err == io.EOF && len(l) > 0 {
		err = nil
	}
	if err != nil {
		return nil, false, err
	}
	l, ended = bytes.CutSuffix(l, []byte{'\n'})
	s.lines++
	v := judge(l)
	s.tally.count(l, v)
	if v == ascii || v == unicoded {
		return l, ended, nil
	}
	s.buf = Append(s.buf[:0], l, s.tally.Kind())
	if v == unknown && bytes.Equal(s.buf, l) {
		s.lost++
	}
	return s.buf, ended, nil
}

// Lines counts the lines so far, and those of them whose encoding nothing tells: words in them have not been read.
func (s *Stream) Lines() (all, lost int) { return s.lines, s.lost }
