package mcpserver

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// errLineTooLong marks a line over the limit; the reader stands at the next one.
var errLineTooLong = errors.New("mcpserver: line too long")

// lineReader reads lines of bounded length. What is over the limit is skipped without being kept.
type lineReader struct {
	r   *bufio.Reader
	max int
}

func newLineReader(r io.Reader, max int) *lineReader {
	return &lineReader{bufio.NewReaderSize(r, 64<<10), max}
}

// next returns a line of its own memory without its end, errLineTooLong, or the reader's error. A last line without an end counts.
func (l *lineReader) next() ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		if !long && len(line)+len(bytes.TrimRight(part, "\r\n")) > l.max {
			long, line = true, nil
		}
		if !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long && (err == nil || len(part) > 0 || err == io.EOF):
			return nil, errLineTooLong
		case err != nil && (err != io.EOF || len(line) == 0):
			return nil, err
		}
		return bytes.TrimRight(line, "\r\n"), nil
	}
}
