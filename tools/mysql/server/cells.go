package server

import (
	"crypto/sha256"
	"database/sql/driver"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed-069badc9/mcp-gateway/tools/mysql"
)

// shape is how the bytes of a column are read.
type shape uint8

const (
	asText shape = iota
	asNumber
	asJSON
	asBinary
	asBit
	asTimestamp
)

// describe maps the driver's type name to the wire's type, the form of cells and how they are read.
func describe(name, driverType string) (mysql.Column, shape) {
	c := mysql.Column{Name: name, Type: strings.ToLower(driverType), Form: mysql.Text}
	base, unsigned := strings.CutPrefix(driverType, "UNSIGNED ")
	if unsigned {
		c.Type = strings.ToLower(base) + " unsigned"
	}
	switch base {
	case "TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "YEAR", "FLOAT", "DOUBLE":
		c.Form = mysql.Number
		return c, asNumber
	case "BIT":
		c.Form = mysql.Number
		return c, asBit
	case "TIMESTAMP":
		return c, asTimestamp
	case "JSON":
		c.Form = mysql.JSON
		return c, asJSON
	case "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB", "BINARY", "VARBINARY", "GEOMETRY", "VECTOR":
		return c, asBinary
	case "":
		c.Type = "unknown"
	}
	return c, asText
}

// size is how many bytes of the answer a value stands for, its length prefix included.
func size(v driver.Value) int {
	switch b := v.(type) {
	case []byte:
		return len(b) + 1
	case nil:
		return 1
	}
	return 9 // a number: its text is about as long as its eight bytes
}

// appendValue appends the text of a driver value.
func appendValue(b []byte, v driver.Value) []byte {
	switch x := v.(type) {
	case []byte:
		return append(b, x...)
	case string:
		return append(b, x...)
	case int64:
		return strconv.AppendInt(b, x, 10)
	case uint64:
		return strconv.AppendUint(b, x, 10)
	case float32:
		return appendFloat(b, float64(x), 32)
	case float64:
		return appendFloat(b, x, 64)
	case bool:
		return strconv.AppendBool(b, x)
	}
	return b
}

// appendFloat writes a number as JSON does: plain digits between 1e-6 and 1e21.
func appendFloat(b []byte, f float64, bits int) []byte {
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.AppendFloat(b, f, 'e', -1, bits)
	}
	return strconv.AppendFloat(b, f, 'f', -1, bits)
}

// appendCell appends the text of a value to the row's bytes and tells the kind of the cell. Binary content is replaced by its digest at once.
func appendCell(b []byte, v driver.Value, sh shape) ([]byte, mysql.CellKind, int) {
	if v == nil {
		return b, mysql.Null, 0
	}
	raw, isBytes := v.([]byte)
	if !isBytes {
		return appendValue(b, v), mysql.Value, 0
	}
	switch {
	case sh == asBinary, sh != asBit && !utf8.Valid(raw):
		// Text that is no UTF-8 on a utf8mb4 connection is not text: shown as what it is instead of as something it never was.
		sum := sha256.Sum256(raw)
		return hex.AppendEncode(b, sum[:]), mysql.Binary, len(raw)
	case sh == asBit:
		var n uint64
		for _, c := range raw[max(0, len(raw)-8):] {
			n = n<<8 | uint64(c)
		}
		return strconv.AppendUint(b, n, 10), mysql.Value, 0
	case sh == asTimestamp:
		return appendTimestamp(b, raw), mysql.Value, 0
	}
	return append(b, raw...), mysql.Value, 0
}

// appendTimestamp writes "2026-01-01 10:00:00.5" of a session in UTC as ISO 8601 with Z; a date that no calendar has stays the server's text.
func appendTimestamp(b, raw []byte) []byte {
	if len(raw) < 19 || raw[10] != ' ' || string(raw[:4]) == "0000" || string(raw[5:7]) == "00" || string(raw[8:10]) == "00" {
		return append(b, raw...)
	}
	b = append(b, raw[:10]...)
	b = append(b, 'T')
	b = append(b, raw[11:]...)
	return append(b, 'Z')
}
