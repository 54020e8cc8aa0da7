package elasticsearch

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/internal/fetch"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/internal/window"
)

// member is a member of a document as it was written.
type member struct {
	key   string
	value json.RawMessage
}

func members(source json.RawMessage) ([]member, error) {
	var out []member
	err := fetch.Document(bytes.NewReader(source), func(d *json.Decoder, key string) error {
		m := member{key: key}
		err := fetch.Value(d, &m.value)
		out = append(out, m)
		return err
	})
	return out, err
}

// lookup finds a value by its path: as a member of that name or as one of nested objects. text is what a string says.
func lookup(ms []member, path string) (text string, raw json.RawMessage) {
	for _, m := range ms {
		if m.key == path {
			if json.Unmarshal(m.value, &text) != nil {
				text = ""
			}
			return text, m.value
		}
	}
	for _, m := range ms {
		rest, ok := strings.CutPrefix(path, m.key+".")
		if !ok || len(m.value) == 0 || m.value[0] != '{' {
			continue
		}
		inner, err := members(m.value)
		if err != nil {
			return "", nil
		}
		if text, raw := lookup(inner, rest); raw != nil {
			return text, raw
		}
	}
	return "", nil
}

// hidden finds what may hide a text in a message that is taken apart once more. Such a message stays as it is, so that what the index knows of it is what is matched.
var hidden = regexp.MustCompile(window.Hidden)

// add reads a document: its object without the time, with message and level under names that are known.
func (r *run) add(at time.Time, source json.RawMessage, p *window.Page) error {
	ms, err := members(source)
	if err != nil {
		return errShape
	}
	ns := at.UnixNano()
	if text, _ := lookup(ms, r.s.time); text != "" { // the index may keep milliseconds where the document has more
		if t, err := time.Parse(time.RFC3339Nano, text); err == nil && t.UnixMilli() == at.UnixMilli() {
			ns = t.UnixNano()
		}
	}
	message, rawMessage := lookup(ms, r.s.message)
	rest := ms[:0:0]
	if r.s.addLevel {
		if _, v := lookup(ms, r.s.level); v != nil {
			rest = append(rest, member{"level", v})
		}
	}
	if r.s.addMessage && rawMessage != nil {
		rest = append(rest, member{"message", rawMessage})
	}
	for _, m := range ms {
		if m.key == r.s.time || r.s.addMessage && m.key == r.s.message || r.s.addLevel && m.key == r.s.level {
			continue
		}
		rest = append(rest, m)
	}
	if hidden.MatchString(message) {
		message = ""
	}
	whole, err := written(rest)
	if err != nil {
		return err
	}
	text, labels := r.doc.Event(whole, message, func() []logs.Label { return flatten(nil, "", rest, r.s.message) })
	return p.Add(ns, text, labels)
}

// written is the object of members on one line: a document may have been stored with line ends between its members.
func written(ms []member) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range ms {
		if i > 0 {
			b.WriteByte(',')
		}
		key := window.Object(nil, []logs.Label{{Key: m.key}}) // {"key":""}
		b.Write(key[1 : len(key)-len(`""}`)])
		if err := json.Compact(&b, m.value); err != nil {
			return nil, errShape
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// maxLabels bounds the labels of one event.
const maxLabels = 256

// flatten lists values under their paths, without the message.
func flatten(out []logs.Label, prefix string, ms []member, message string) []logs.Label {
	for _, m := range ms {
		key := prefix + m.key
		if key == message || key == "message" || len(out) == maxLabels || len(m.value) == 0 || string(m.value) == "null" {
			continue
		}
		if inner, err := members(m.value); err == nil {
			out = flatten(out, key+".", inner, message)
			continue
		}
		var text string
		if json.Unmarshal(m.value, &text) != nil {
			text = string(m.value)
		}
		out = append(out, logs.Label{Key: key, Value: text})
	}
	return out
}
