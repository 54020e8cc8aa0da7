package mysql

import (
	"encoding/json"
	"errors"
	"strconv"
	"unicode/utf8"
)

// Form says how the text of a column's cells becomes JSON.
type Form string

// The forms. A cell that does not have the shape of its column's form is shown as text.
const (
	Text   Form = "text"   // strings, DECIMAL, dates and times: a JSON string
	Number Form = "number" // integers, floating point numbers, BIT: a JSON number, a string beyond ±(2^53-1)
	Bool   Form = "bool"   // 0 and 1 as false and true, anything else as Number
	JSON   Form = "json"   // a JSON document, embedded
)

// Column is one column of an answer.
type Column struct {
	Name string `json:"name"`
	Type string `json:"type"` // lower case, as the server names it: "bigint unsigned"
	Form Form   `json:"form"`
}

// CellKind tells the three cells apart.
type CellKind uint8

// The kinds of a cell. The zero Cell is NULL.
const (
	Null CellKind = iota
	Value
	Binary
)

// Cell is one value. Binary content is not kept: its size and digest are all that an observation shows of it, so the record holds no more.
type Cell struct {
	Kind CellKind
	Text string // Value: the text, valid UTF-8; Binary: SHA-256 in hex
	Size int    // Binary: bytes
}

// Raw is a complete answer, as stored. Cells of masked columns are NULL in it: nothing that is not shown needs to be kept.
type Raw struct {
	Columns []Column
	Rows    [][]Cell // at most as many as may be shown
	// More: the statement has further rows beyond those the gateway may show.
	More bool
	// Cut: the server itself cut a value (GROUP_CONCAT) and said so.
	Cut bool
}

var errRaw = errors.New("stored raw has another shape")

// MarshalJSON writes null, "text" or {"bytes":n,"sha256":"…"} for a cell. It is written by hand because it is on the path of every call: one pass, no reflection.
func (r Raw) MarshalJSON() ([]byte, error) {
	cols, err := json.Marshal(r.Columns)
	if err != nil {
		return nil, err
	}
	n := len(cols) + 64
	for _, row := range r.Rows {
		n += 2
		for i := range row {
			n += len(row[i].Text) + 8
		}
	}
	b := make([]byte, 0, n)
	b = append(b, `{"columns":`...)
	b = append(b, cols...)
	b = append(b, `,"rows":[`...)
	for i, row := range r.Rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		for j := range row {
			if j > 0 {
				b = append(b, ',')
			}
			b = row[j].append(b)
		}
		b = append(b, ']')
	}
	b = append(b, `],"more":`...)
	b = strconv.AppendBool(b, r.More)
	b = append(b, `,"cut":`...)
	b = strconv.AppendBool(b, r.Cut)
	return append(b, '}'), nil
}

func (c Cell) append(b []byte) []byte {
	switch c.Kind {
	case Value:
		return appendString(b, c.Text)
	case Binary:
		b = append(b, `{"bytes":`...)
		b = strconv.AppendInt(b, int64(c.Size), 10)
		b = append(b, `,"sha256":`...)
		b = appendString(b, c.Text)
		return append(b, '}')
	}
	return append(b, "null"...)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Raw) UnmarshalJSON(data []byte) error {
	var w struct {
		Columns []Column `json:"columns"`
		Rows    [][]Cell `json:"rows"`
		More    bool     `json:"more"`
		Cut     bool     `json:"cut"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	for _, row := range w.Rows {
		if len(row) != len(w.Columns) {
			return errRaw
		}
	}
	*r = Raw(w)
	return nil
}

// MarshalJSON writes one cell.
func (c Cell) MarshalJSON() ([]byte, error) { return c.append(nil), nil }

// UnmarshalJSON reads one cell.
func (c *Cell) UnmarshalJSON(data []byte) error {
	switch {
	case len(data) == 0:
		return errRaw
	case data[0] == '"':
		*c = Cell{Kind: Value}
		return json.Unmarshal(data, &c.Text)
	case data[0] == '{':
		var w struct {
			Bytes  int    `json:"bytes"`
			SHA256 string `json:"sha256"`
		}
		if err := json.Unmarshal(data, &w); err != nil {
			return err
		}
		*c = Cell{Kind: Binary, Text: w.SHA256, Size: w.Bytes}
		return nil
	case string(data) == "null":
		*c = Cell{}
		return nil
	}
	return errRaw
}

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string: no HTML escapes, bytes that are no UTF-8 as U+FFFD.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			b = append(b, s[start:i]...)
			b = appendEscape(b, c)
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b = append(b, s[start:i]...)
			b = append(b, "\uFFFD"...)
			i++
			start = i
			continue
		}
		i += n
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}
