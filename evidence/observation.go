package evidence

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// observation reads a stored agent_result without knowing which tool made it: items are the members of its lists of objects that have an id, and the rows of its
// table. Only items can be cited: scope, notes and ids are the gateway's or the caller's own words, and a caller could otherwise quote its own query as evidence.
type observation struct {
	scope json.RawMessage
	items map[string]item
	order []string
}

// item is one citable thing: its fields by name and their texts.
type item struct {
	fields map[string]string
	texts  []string
	inside []string // texts within a document in a cell: they can be quoted, and none is a whole cell
	cells  bool     // fields are cells of a row: each may be quoted whole, however short
}

var errObservation = errors.New("stored observation cannot be read")

func readObservation(data []byte) (*observation, error) {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil {
		return nil, errObservation
	}
	o := &observation{scope: top["scope"], items: map[string]item{}}
	for name, raw := range top {
		if name == "rows" || name == "columns" || len(raw) == 0 || raw[0] != '[' {
			continue
		}
		var list []map[string]any
		if decode(raw, &list) != nil {
			continue // a list of something else, such as texts
		}
		for _, m := range list {
			if id, ok := m["id"].(string); ok && itemGrammar.MatchString(id) {
				o.add(id, objectItem(m))
			}
		}
	}
	return o, o.readRows(top)
}

func decode(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(v)
}

func (o *observation) add(id string, it item) {
	if _, dup := o.items[id]; !dup {
		o.items[id] = it
		o.order = append(o.order, id)
	}
}

func (o *observation) readRows(top map[string]json.RawMessage) error {
	if len(top["rows"]) == 0 {
		return nil
	}
	var cols []struct {
		Name string `json:"name"`
	}
	var rows [][]json.RawMessage
	if decode(top["columns"], &cols) != nil || decode(top["rows"], &rows) != nil {
		return errObservation
	}
	names := make([]string, len(cols))
	seen, bears := map[string]int{}, map[string]int{}
	for i, c := range cols {
		seen[c.Name]++
		names[i] = c.Name
		if n := seen[c.Name]; n > 1 {
			names[i] = c.Name + "~" + strconv.Itoa(n)
		}
		bears[names[i]]++
	}
	for i, row := range rows {
		it := item{fields: make(map[string]string, len(row)), cells: true}
		for j, cell := range row {
			text, inside, err := rowCell(cell)
			if err != nil {
				return errObservation
			}
			// Beside a column that is really called a~2, the name says nothing: a citation by it would hold for either.
			if j < len(names) && bears[names[j]] == 1 {
				it.fields[names[j]] = text
			}
			it.texts, it.inside = append(it.texts, text), append(it.inside, inside...)
		}
		o.add("r"+strconv.Itoa(i+1), it)
	}
	return nil
}

// rowCell is a cell as it was shown: a document keeps the order of its members and its signs, so that what a reader copies out of it is found.
func rowCell(raw json.RawMessage) (text string, inside []string, err error) {
	var v any
	if err := decode(raw, &v); err != nil {
		return "", nil, err
	}
	switch v.(type) {
	case map[string]any, []any:
		walkTexts(v, func(s string) { inside = append(inside, s) })
		return string(bytes.TrimSpace(raw)), inside, nil
	}
	return cellText(v), nil, nil
}

func walkTexts(v any, add func(string)) {
	switch x := v.(type) {
	case map[string]any:
		for _, e := range x {
			walkTexts(e, add)
		}
	case []any:
		for _, e := range x {
			walkTexts(e, add)
		}
	case string:
		add(x)
	}
}

func objectItem(m map[string]any) item {
	it := item{fields: map[string]string{}}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch x := v.(type) {
		case map[string]any:
			for k, e := range x {
				walk(strings.TrimPrefix(path+"."+k, "."), e)
			}
		case []any:
			for i, e := range x {
				walk(path+"."+strconv.Itoa(i), e)
			}
		case nil:
		default:
			text := cellText(x)
			it.fields[path] = text
			if path != "id" {
				it.texts = append(it.texts, text)
			}
		}
	}
	walk("", m)
	return it
}

// cellText is a value as it is cited: strings as they are, numbers and booleans as JSON writes them, null as NULL, objects as compact JSON.
func cellText(v any) string {
	switch x := v.(type) {
	case nil:
		return "NULL"
	case string:
		return x
	case json.Number:
		return x.String()
	case bool:
		return strconv.FormatBool(x)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// normalize is NFC with white space folded.
func normalize(s string) string { return strings.Join(strings.Fields(norm.NFC.String(s)), " ") }

// match finds quote in one text of the item: EXACT, NORMALIZED or "".
func (it item) match(quote string) string {
	for _, texts := range [][]string{it.texts, it.inside} {
		for _, t := range texts {
			if strings.Contains(t, quote) {
				return "EXACT"
			}
		}
	}
	q := normalize(quote)
	for _, texts := range [][]string{it.texts, it.inside} {
		for _, t := range texts {
			if strings.Contains(normalize(t), q) {
				return "NORMALIZED"
			}
		}
	}
	return ""
}

// matchInOrder finds the pieces of a quote with words left out: one after the other in one text, or in the cells of one row from left to right.
func (it item) matchInOrder(pieces []string) bool {
	one := func(texts []string, next int) int {
		for _, t := range texts {
			t = normalize(t)
			for next < len(pieces) {
				i := strings.Index(t, pieces[next])
				if i < 0 {
					break
				}
				t = t[i+len(pieces[next]):]
				next++
			}
		}
		return next
	}
	if it.cells && one(it.texts, 0) == len(pieces) {
		return true
	}
	for _, texts := range [][]string{it.texts, it.inside} {
		for i := range texts {
			if one(texts[i:i+1], 0) == len(pieces) {
				return true
			}
		}
	}
	return false
}

// wholeCell tells whether text is one whole cell of a row.
func (it item) wholeCell(text string) bool {
	if !it.cells {
		return false
	}
	for _, t := range it.texts {
		if t == text || normalize(t) == normalize(text) {
			return true
		}
	}
	return false
}
