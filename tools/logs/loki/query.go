package loki

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/internal/window"
)

// template writes in front of a line its labels and structured metadata, whose names cannot be known beforehand: a line filter alone would miss a text that stands
// only there. They are written as Go prints a map. Measured with 300,000 lines, it costs the server as much again as reading them.
const template = "{{ . }}\n{{ __line__ }}"

// candidates are the stages that let events through that hold one of the texts in the line, in a label or in its name, or that may hide it behind an escape of the
// line. The first of the two filters is a choice of plain texts, which the server finds fast; the second decides on the few that are left. "" when nothing is known
// of the events that are wanted.
func candidates(need []logs.Literal) string {
	if len(need) == 0 {
		return ""
	}
	texts := window.Literals(need)
	return " | line_format " + quote(template) + " |~ " + quote(texts+"|"+window.Marks) + " |~ " + quote(texts+"|"+window.Hidden)
}

// unwrap takes the line out of what template made of it and of its labels.
func unwrap(b string, labels map[string]string) (string, bool) {
	return strings.CutPrefix(b, fmt.Sprint(labels)+"\n")
}

// quote writes a string of the query language: it reads them as Go does.
func quote(s string) string { return strconv.Quote(s) }
