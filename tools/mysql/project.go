package mysql

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
	"github.com/seed-069badc9/mcp-gateway/sqlguard"
)

// Observation is what the model is shown.
type Observation struct {
	Scope   ScopeShown      `json:"scope"`
	Columns []ColumnShown   `json:"columns"`
	Rows    json.RawMessage `json:"rows"` // one array of cells a row
	Note    string          `json:"note,omitzero"`
}

// ScopeShown says what was asked.
type ScopeShown struct {
	Datasource string   `json:"datasource"`
	Tables     []string `json:"tables"`
	Limit      int      `json:"limit,omitzero"`
}

// ColumnShown is one column of the table.
type ColumnShown struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Masked bool   `json:"masked,omitzero"`
}

const (
	// Masked stands in every cell of a masked column, NULL or not: a NULL that shows would be one bit of the value.
	Masked = "<masked>"
	// maxNote bounds the note in its encoded form.
	maxNote = 320
)

var errRoom = errors.New("the observation has no room for a single row")

// Project renders the table and fits it into v.MaxBytes: long cells are shortened before rows are dropped.
func (t *Tool) Project(req Request, raw Raw, v boundary.View) (boundary.Projection[Observation], error) {
	tab := newTable(req, raw, t.redactor(req))
	obs := Observation{Scope: ScopeShown{Datasource: req.Datasource, Tables: nonNil(req.Tables), Limit: req.Limit}, Columns: tab.columns, Rows: json.RawMessage("[]")}
	more := raw.More && !req.UserLimited
	note := func() string { return tab.note(req, more, raw.Cut) }

	obs.Note = note()
	frame, err := frameSize(obs)
	if err != nil {
		return boundary.Projection[Observation]{}, err
	}
	if frame+tab.size() > v.MaxBytes {
		// The note depends on what is left out, which depends on the room that the note leaves: first with the longest note, then with the one that it came to.
		obs.Note = ""
		if err := tab.fit(v.MaxBytes-maxNote, obs); err != nil {
			return boundary.Projection[Observation]{}, err
		}
		room := noteSize(note()) + 8
		if err := tab.fit(v.MaxBytes-room, obs); err != nil {
			return boundary.Projection[Observation]{}, err
		}
		if noteSize(note()) > room {
			if err := tab.fit(v.MaxBytes-maxNote, obs); err != nil {
				return boundary.Projection[Observation]{}, err
			}
		}
		obs.Columns = tab.columns[:tab.cols]
		obs.Note = note()
	}
	obs.Rows = tab.append(make([]byte, 0, tab.size()+2))
	return boundary.Projection[Observation]{
		Observation: obs,
		Evidence:    canonical.Evidence(len(raw.Rows) > 0),
		Truncated:   more || raw.Cut || tab.cut > 0 || tab.rows < len(tab.cells) || tab.cols < len(tab.columns),
		Count:       tab.rows,
		Items:       tab.items(req, v.Salt),
	}, nil
}

// frameSize is the encoded size of everything but the rows.
func frameSize(obs Observation) (int, error) {
	obs.Rows = json.RawMessage("[]")
	b, err := strictjson.Encode(obs)
	return len(b) - 2, err
}

// noteSize is what a note adds to the encoding; its text needs no escapes.
func noteSize(s string) int {
	if s == "" {
		return 0
	}
	return len(`,"note":""`) + len(s)
}

// note explains masks and cuts in one short sentence, "" when there are none.
func (t *table) note(req Request, more, serverCut bool) string {
	var parts []string
	add := func(s string) { parts = append(parts, s) }
	if req.Kind == sqlguard.Explain.String() {
		add("this is the plan as the gateway sees it, nothing was run")
	}
	if t.masked {
		add("masked columns show " + Masked)
	}
	if t.redacted {
		add("secrets in cells show <secret>")
	}
	switch {
	case t.rows < len(t.cells):
		add("only the first " + strconv.Itoa(t.rows) + " rows are shown")
	case more:
		add("only the first " + strconv.Itoa(t.rows) + " rows are shown, there are more")
	}
	if t.cut > 0 {
		add("long cells are cut")
	}
	if t.cols < len(t.columns) {
		add("only the first " + strconv.Itoa(t.cols) + " of " + strconv.Itoa(len(t.columns)) + " columns are shown")
	}
	if serverCut {
		add("the server cut a GROUP_CONCAT value")
	}
	if len(parts) == 0 {
		return ""
	}
	s := strings.Join(parts, "; ")
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// items names the rows that are shown, by tables, columns and values before any cut: the same fact is the same item however much room there was, whatever its columns
// are called and in whichever order they stand.
func (t *table) items(req Request, salt canonical.Salt) []canonical.Item {
	if t.rows == 0 {
		return nil
	}
	h := sha256.New()
	h.Write(salt[:])
	for _, s := range req.Tables {
		h.Write([]byte(s))
		h.Write([]byte{0})
	}
	h.Write([]byte{1})
	name := func(i int) string {
		if i < len(req.Outputs) && req.Outputs[i].Source != "" {
			return req.Outputs[i].Source
		}
		return t.columns[i].Name
	}
	order := make([]int, len(t.columns))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(name(a), name(b)) })
	for _, i := range order {
		h.Write([]byte(name(i)))
		h.Write([]byte{0})
	}
	prefix := h.Sum(nil)
	out := make([]canonical.Item, t.rows)
	for i := range out {
		h.Reset()
		h.Write(prefix)
		for _, j := range order {
			h.Write(t.cells[i][j].enc)
			h.Write([]byte{0})
		}
		out[i].Key = hex.EncodeToString(h.Sum(nil)[:16])
	}
	return out
}
