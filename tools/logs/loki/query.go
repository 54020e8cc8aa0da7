package loki

import (
	"bytes"
	"strconv"

	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/internal/window"
)

// template writes in front of a line how long it is and behind it its labels and structured metadata, whose names cannot be known beforehand: a line filter alone
// would miss a text that stands only there.
const template = "{{ __line__ | len }} {{ __line__ }}\n{{ . }}"

// candidates is the stage that lets events through that hold one of the texts in the line, in a label or in its name, or that may hide it behind an escape of the
// line. "" when nothing is known of the events that are wanted.
func candidates(need []logs.Literal) string {
	if len(need) == 0 {
		return ""
	}
	return " | line_format " + quote(template) + " |~ " + quote(window.Literals(need)+"|"+window.Hidden)
}

// quote writes a string of the query language: it reads them as Go does.
func quote(s string) string { return strconv.Quote(s) }

// unwrap takes the line out of what template made of it.
func unwrap(b []byte) ([]byte, bool) {
	i := bytes.IndexByte(b, ' ')
	if i < 1 || i > 12 {
		return nil, false
	}
	n, err := strconv.Atoi(string(b[:i]))
	if err != nil || n < 0 || n >= len(b)-i-1 || b[i+1+n] != '\n' {
		return nil, false
	}
	return b[i+1 : i+1+n], true
}
