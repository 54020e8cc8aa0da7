package mysql

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
	"github.com/seed-069badc9/mcp-gateway/redact"
)

// cell is one rendered value.
type cell struct {
	enc  []byte // its JSON
	text string // what may be shortened; "" for what is shown whole or not at all
	cut  int    // >0: at most so many encoded bytes
}

// minCell is the least that a long cell keeps, in encoded bytes: enough for an identifier or the start of a message.
const minCell = 48

// table is a rendered answer and how much of it is shown.
type table struct {
	columns    []ColumnShown
	cells      [][]cell
	rows, cols int // shown
	cut        int // cells cut
	masked     bool
	redacted   bool
}

// newTable renders every cell: masked, redacted, cleaned. Nothing is cut before that, so no cut can uncover anything.
func newTable(req Request, raw Raw, r *redact.Redactor) *table {
	t := &table{rows: len(raw.Rows), cols: len(raw.Columns), columns: make([]ColumnShown, len(raw.Columns)), cells: make([][]cell, len(raw.Rows))}
	rs := make([]renderer, len(raw.Columns))
	for i, c := range raw.Columns {
		t.columns[i] = ColumnShown{Name: redact.Clean(c.Name), Type: c.Type}
		rs[i] = renderer{r: r, form: c.Form, inert: inert[c.Type], keys: []string{c.Name}}
		if i < len(req.Outputs) {
			o := req.Outputs[i]
			t.columns[i].Masked, rs[i].masked = o.Masked, o.Masked
			if _, col, ok := cutLast(o.Source, "."); ok && !strings.EqualFold(col, c.Name) {
				rs[i].keys = append(rs[i].keys, col) // an alias does not make a secret column harmless
			}
		}
		rs[i].probe(len(req.Hide) > 0)
	}
	flat := make([]cell, len(raw.Rows)*len(raw.Columns))
	for i, row := range raw.Rows {
		t.cells[i], flat = flat[:len(row):len(row)], flat[len(row):]
		for j, c := range row {
			t.cells[i][j] = rs[j].render(c)
		}
	}
	for i := range rs {
		t.masked = t.masked || rs[i].masked && len(raw.Rows) > 0
		t.redacted = t.redacted || rs[i].redacted
	}
	return t
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// renderer turns the cells of one column into JSON.
type renderer struct {
	r        *redact.Redactor
	form     Form
	keys     []string // names under which a value counts as a secret or not
	masked   bool
	inert    bool // its text is digits and punctuation: numbers, dates and times
	plain    bool // digits in it cannot be hidden: neither the name nor a rule of the operator says so
	redacted bool // a secret was found
}

// inert are the types whose text is never words.
var inert = map[string]bool{"decimal": true, "date": true, "time": true, "datetime": true, "timestamp": true}

// probe finds out once whether the name alone hides a value, so that the digits of most columns need no look.
func (r *renderer) probe(rules bool) {
	const sample = "7401923"
	r.plain = !rules && r.redact(sample) == sample
	r.redacted = false
}

func (r *renderer) redact(s string) string {
	out := s
	for _, k := range r.keys {
		out = r.r.Field(k, out, nil)
	}
	if out != s {
		r.redacted = true
	}
	return out
}

func (r *renderer) render(c Cell) cell {
	switch {
	case r.masked:
		return cell{enc: []byte(`"` + Masked + `"`)}
	case c.Kind == Binary:
		b := append(make([]byte, 0, 112), `{"binary":`...)
		return cell{enc: append(c.append(b), '}')}
	case c.Kind != Value:
		return cell{enc: []byte("null")}
	}
	switch r.form {
	case Bool:
		if (c.Text == "0" || c.Text == "1") && (r.plain || r.redact(c.Text) == c.Text) {
			return cell{enc: strconv.AppendBool(nil, c.Text == "1")}
		}
		return r.number(c.Text)
	case Number:
		return r.number(c.Text)
	case JSON:
		if enc, ok := r.document(c.Text); ok {
			return cell{enc: enc, text: string(enc)}
		}
	}
	return r.text(c.Text)
}

func (r *renderer) text(s string) cell {
	if !r.inert || !r.plain {
		s = r.redact(redact.Clean(s))
	}
	return cell{enc: appendString(make([]byte, 0, len(s)+2), s), text: s}
}

func (r *renderer) number(s string) cell {
	if !isNumber(s) || unsafeInteger(s) || !r.plain && r.redact(s) != s {
		return r.text(s)
	}
	return cell{enc: []byte(s)}
}

// isNumber tells whether s is a JSON number.
func isNumber(s string) bool {
	s = strings.TrimPrefix(s, "-")
	digits := func() bool {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		s = s[n:]
		return n > 0
	}
	if len(s) > 1 && s[0] == '0' && s[1] >= '0' && s[1] <= '9' || !digits() {
		return false
	}
	if strings.HasPrefix(s, ".") {
		if s = s[1:]; !digits() {
			return false
		}
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		if s = s[1:]; s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		return digits() && s == ""
	}
	return s == ""
}

// maxExact is 2^53-1: beyond it a reader with floating point numbers would see another integer.
const maxExact = 1<<53 - 1

// unsafeInteger tells whether s is an integer that does not survive a reader's float64.
func unsafeInteger(s string) bool {
	if strings.ContainsAny(s, ".eE") {
		return false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return err != nil || n > maxExact || n < -maxExact
}

// len is the encoded size of the cell as it will be shown, at most.
func (c *cell) len() int {
	if c.cut > 0 {
		return c.cut
	}
	return len(c.enc)
}

// size is the encoded size of the shown cells with their commas and brackets, at most.
func (t *table) size() int {
	n := 0
	for i := range t.rows {
		n += t.rowSize(i)
	}
	return n
}

func (t *table) rowSize(i int) int {
	n := 3 // brackets and the comma before the next row
	for j := range t.cols {
		n += t.cells[i][j].len() + 1
	}
	return n
}

// fit finds what to show within room bytes, frame included: first columns that the room has no place for at all are left out from the right, then long cells are
// shortened to one width as wide as possible, then rows are dropped from the end.
func (t *table) fit(room int, obs Observation) error {
	t.rows, t.cols, t.cut = len(t.cells), len(t.columns), 0
	for _, row := range t.cells {
		for j := range row {
			row[j].cut = 0
		}
	}
	obs.Columns = t.columns[:0]
	frame, err := frameSize(obs)
	if err != nil {
		return err
	}
	room -= frame
	if room < 0 {
		return errRoom
	}
	// Columns: the header and the first row, its long cells at their least, must fit.
	if len(t.cells) > 0 {
		need, cols := 3, 0
		for j := range t.columns {
			head, err := encodeColumn(t.columns[j])
			if err != nil {
				return err
			}
			head++ // the comma
			if need += head + least(&t.cells[0][j]) + 1; need > room {
				break
			}
			room -= head
			need -= head
			cols = j + 1
		}
		t.cols = cols
	}
	if t.cols == 0 {
		return errRoom
	}
	// Rows: as many as fit with every long cell at its least.
	sum := 0
	for i := range t.cells {
		n := 3
		for j := range t.cols {
			n += least(&t.cells[i][j]) + 1
		}
		if sum+n > room {
			t.rows = i
			break
		}
		sum += n
	}
	t.level(room)
	return nil
}

func least(c *cell) int {
	if c.text == "" {
		return len(c.enc)
	}
	return min(len(c.enc), minCell)
}

// level cuts the widest cells of the shown rows to one width: the greatest at which everything fits.
func (t *table) level(room int) {
	var wide []int
	fixed := 0
	for i := range t.rows {
		fixed += 3
		for j := range t.cols {
			c := &t.cells[i][j]
			fixed++
			if c.text != "" && len(c.enc) > minCell {
				wide = append(wide, len(c.enc))
			} else {
				fixed += len(c.enc)
			}
		}
	}
	slices.Sort(wide)
	left := room - fixed
	width := -1
	for k, w := range wide { // cells up to k stay whole, those from k on share what is left
		if share := left / (len(wide) - k); share < w {
			width = max(share, minCell)
			break
		}
		left -= w
	}
	if width < 0 {
		return
	}
	for i := range t.rows {
		for j := range t.cols {
			if c := &t.cells[i][j]; c.text != "" && len(c.enc) > width && len(c.enc) > minCell {
				c.cut = width
				t.cut++
			}
		}
	}
}

// append writes the shown rows as a JSON array.
func (t *table) append(b []byte) []byte {
	b = append(b, '[')
	for i := range t.rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		for j := range t.cols {
			if j > 0 {
				b = append(b, ',')
			}
			if c := &t.cells[i][j]; c.cut > 0 {
				b = appendCut(b, c.text, c.cut)
			} else {
				b = append(b, c.enc...)
			}
		}
		b = append(b, ']')
	}
	return append(b, ']')
}

const ellipsis = "…"

// appendCut appends s as a JSON string of at most n bytes that ends in "…".
func appendCut(b []byte, s string, n int) []byte {
	room := n - 2 - len(ellipsis)
	end := 0
	for end < len(s) {
		_, w := utf8.DecodeRuneInString(s[end:])
		cost := w
		if w == 1 {
			switch c := s[end]; {
			case c == '"' || c == '\\' || c == '\n' || c == '\r' || c == '\t':
				cost = 2
			case c < 0x20:
				cost = 6
			case c >= utf8.RuneSelf:
				cost = 3 // U+FFFD
			}
		}
		if cost > room {
			break
		}
		room -= cost
		end += w
	}
	return appendString(b, s[:end]+ellipsis)
}

// encodeColumn is the encoded size of one column of the header.
func encodeColumn(c ColumnShown) (int, error) {
	b, err := strictjson.Encode(c)
	return len(b), err
}
