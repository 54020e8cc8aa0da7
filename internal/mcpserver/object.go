package mcpserver

import (
	"bytes"
	"encoding/json"
)

// object is a JSON object taken apart: its members in order, names decoded, values as sent. It is made of input that strictjson.Check has accepted, so names are
// unique in every letter case; taking apart what was checked once costs a third of decoding it again.
type object []member

type member struct {
	name  string
	value json.RawMessage
}

// get is the member of exactly this name, nil if there is none.
func (o object) get(name string) json.RawMessage {
	for i := range o {
		if o[i].name == name {
			return o[i].value
		}
	}
	return nil
}

// split takes a checked JSON value apart. It reports false if the value is no object.
func split(data []byte) (object, bool) {
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != '{' {
		return nil, false
	}
	o := make(object, 0, 8)
	for i = skipSpace(data, i+1); i < len(data) && data[i] != '}'; {
		if data[i] == ',' {
			i = skipSpace(data, i+1)
		}
		end := skipValue(data, i)
		name, ok := text(data[i:end])
		if !ok {
			return nil, false
		}
		i = skipSpace(data, end)
		if i >= len(data) || data[i] != ':' {
			return nil, false
		}
		i = skipSpace(data, i+1)
		if end = skipValue(data, i); end == i {
			return nil, false
		}
		o = append(o, member{name, json.RawMessage(data[i:end:end])})
		i = skipSpace(data, end)
	}
	return o, i < len(data)
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\n' || data[i] == '\r') {
		i++
	}
	return i
}

// skipValue is the index after the value that begins at i.
func skipValue(data []byte, i int) int {
	depth := 0
	for i < len(data) {
		switch data[i] {
		case '"':
			i = skipString(data, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth == 0 {
				return i // the end of what holds the value
			}
			depth--
			i++
		case ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
			i++
			continue
		default:
			for i < len(data) && bytes.IndexByte([]byte(",:]} \t\n\r"), data[i]) < 0 {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
	return i
}

// skipString is the index after the string that begins at i.
func skipString(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}
