package window

import (
	"regexp"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/line"
)

// Literals is the RE2 expression that finds any of the texts. The texts are a caller's: whoever puts the expression into a query quotes it for the query's language.
func Literals(need []logs.Literal) string {
	parts := make([]string, len(need))
	for i, l := range need {
		parts[i] = regexp.QuoteMeta(l.Text)
		if l.Fold {
			parts[i] = "(?i:" + parts[i] + ")"
		}
	}
	return strings.Join(parts, "|")
}

// Hidden is the RE2 expression of what may hide a text in a line that is decoded later: an escape that can stand for a letter, and the start of a colour sequence,
// which may stand within a word. The escapes of line ends, quotes and backslashes hide nothing that is ever looked for.
const Hidden = `\\[^ntrbf"\\]|\x1b`

// Marks is the RE2 expression of what every place that Hidden finds begins with. Servers look for such single texts far faster than for Hidden, so it goes first.
const Marks = `\\|\x1b`

// NamesAny tells whether a field's name holds one of the texts: a term is looked for in names as well as in values.
func NamesAny(name string, need []logs.Literal) bool {
	low := strings.ToLower(name)
	for _, l := range need {
		if strings.Contains(name, l.Text) || l.Fold && strings.Contains(low, l.Text) {
			return true
		}
	}
	return false
}

// levelWords are the spellings of levels that a server can leave out; what else there is it sends.
var levelWords = [...]string{"trace", "finest", "finer", "verbose", "debug", "dbg", "fine", "info", "information", "inf", "notice", "warn", "warning", "wrn", "error", "err", "severe",
	"t", "d", "i", "n", "w", "e"}

// Below lists the words for levels under min, in lower case; nil when there is none.
func Below(min line.Level) []string {
	var out []string
	for _, w := range levelWords {
		if l := line.ParseLevel([]byte(w), true); l != line.None && l < min {
			out = append(out, w)
		}
	}
	return out
}
