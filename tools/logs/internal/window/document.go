package window

import (
	"cmp"
	"slices"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/line"
)

// Document decides how a document of a server is read as an event. Not safe for concurrent use.
type Document struct {
	parser line.Parser
}

// Event is the text and the labels of an event whose fields are given, object being the same as a JSON object. A document that the server or its agent has taken
// apart is that object. One whose message is still a whole line, because it is JSON, logfmt, wrapped or coloured, or because the level is written nowhere else, is the
// line, and the fields beside it are labels.
func (d *Document) Event(object []byte, message string, beside func() []logs.Label) ([]byte, []logs.Label) {
	if message == "" || d.parser.Parse(object).Level != line.None {
		return object, nil
	}
	text := []byte(message)
	_, whole := line.Unwrap(text)
	whole = whole || strings.IndexByte(message, 0x1b) >= 0
	if ev := d.parser.Parse(text); whole || ev.Level != line.None || ev.Format == line.JSON || ev.Format == line.Logfmt || ev.Format == line.Syslog || ev.Format == line.Access {
		labels := beside()
		SortLabels(labels)
		return text, labels
	}
	return object, nil
}

// first are the labels that name a service best: the first of them that an event has is its service.
var first = [...]string{"service", "service.name", "service_name", "app", "kubernetes.labels.app", "application"}

// SortLabels puts labels into a fixed order.
func SortLabels(labels []logs.Label) {
	rank := func(l logs.Label) int {
		if i := slices.Index(first[:], l.Key); i >= 0 {
			return i
		}
		return len(first)
	}
	slices.SortFunc(labels, func(a, b logs.Label) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), compareLabels(a, b)) })
}

// Object writes fields as a JSON object, in their order.
func Object(dst []byte, fields []logs.Label) []byte {
	dst = append(dst, '{')
	for i, f := range fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(appendString(dst, f.Key), ':'), appendString(nil, f.Value)...)
	}
	return append(dst, '}')
}

func appendString(dst []byte, s string) []byte {
	b, err := strictjson.Encode(strings.ToValidUTF8(s, "\uFFFD"))
	if err != nil { // a valid string always has a form
		return append(dst, `""`...)
	}
	return append(dst, b...)
}
