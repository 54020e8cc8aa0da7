package victorialogs

import (
	"strconv"
	"strings"
	"time"

	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/internal/window"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/line"
)

// selection is the part of a query that the configuration fixes and the time. The line end closes a comment at the end of the filter.
func (s *Source) selection(from, to time.Time) string {
	q := "_time:[" + from.UTC().Format(time.RFC3339Nano) + ", " + to.UTC().Format(time.RFC3339Nano) + ")"
	if s.filter != "" {
		q += " (" + s.filter + "\n)"
	}
	return q
}

// maxNames bounds the fields that are asked for by name.
const maxNames = 64

// candidates is the filter for events that hold one of the texts in a value or in a field's name, or that may hide it behind an escape of the message, which is the
// one value that may be decoded again. "" when there is no such filter. names are the fields that the range has.
func candidates(need []logs.Literal, names []string) string {
	if len(need) == 0 {
		return ""
	}
	parts := []string{"*:~" + quote(window.Literals(need)), "(_msg:~" + quote(window.Marks) + " _msg:~" + quote(window.Hidden) + ")"}
	for _, n := range names {
		if n != "_stream" && n != "_stream_id" && n != "_time" && window.NamesAny(n, need) {
			if parts = append(parts, quote(n)+":*"); len(parts) > maxNames {
				return ""
			}
		}
	}
	return "(" + strings.Join(parts, " or ") + ")"
}

// severe is the filter that leaves out events whose field level names a lower one. The other two names come before it where an event has both.
func severe(min line.Level) string {
	words := window.Below(min)
	if len(words) == 0 {
		return ""
	}
	return "!(level:~" + quote("^(?i:"+strings.Join(words, "|")+")$") + ` "@l":"" "@level":"")`
}

// quote writes a string of the query language: it reads them as Go does.
func quote(s string) string { return strconv.Quote(s) }
