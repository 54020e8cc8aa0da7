package mysql

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
)

func newTool(t testing.TB) *Tool {
	t.Helper()
	r, err := newRedactor(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Tool{secrets: r}
}

func answer(forms []Form, rows ...[]string) (Request, Raw) {
	req, raw := Request{Datasource: "shop", Kind: "SELECT", Tables: []string{"shop.t"}, Outputs: []Output{}, Limit: 200}, Raw{Columns: []Column{}, Rows: [][]Cell{}}
	for i, f := range forms {
		name := fmt.Sprintf("c%d", i)
		raw.Columns = append(raw.Columns, Column{Name: name, Type: string(f), Form: f})
		req.Outputs = append(req.Outputs, Output{Name: name})
	}
	for _, r := range rows {
		cells := make([]Cell, len(r))
		for i, s := range r {
			if s != "NULL" {
				cells[i] = text(s)
			}
		}
		raw.Rows = append(raw.Rows, cells)
	}
	return req, raw
}

func project(t testing.TB, tool *Tool, req Request, raw Raw, room int) (boundary.Projection[Observation], string) {
	t.Helper()
	p, err := tool.Project(req, raw, boundary.View{MaxBytes: room})
	if err != nil {
		t.Fatal(err)
	}
	b, err := strictjson.Encode(p.Observation)
	if err != nil {
		t.Fatal(err)
	}
	if len(b) > room {
		t.Fatalf("%d bytes in a room of %d", len(b), room)
	}
	return p, string(b)
}

func TestCells(t *testing.T) {
	t.Parallel()
	tool := newTool(t)
	for _, c := range []struct {
		form     Form
		in, want string
	}{
		{Number, "0", "0"},
		{Number, "-0.5", "-0.5"},
		{Number, "1e+300", "1e+300"},
		{Number, "9007199254740991", "9007199254740991"},
		{Number, "-9007199254740991", "-9007199254740991"},
		{Number, "9007199254740992", `"9007199254740992"`},
		{Number, "-9007199254740992", `"-9007199254740992"`},
		{Number, "18446744073709551615", `"18446744073709551615"`},
		{Number, "007", `"007"`},
		{Number, "1e", `"1e"`},
		{Number, "1.", `"1."`},
		{Number, "", `""`},
		{Number, "NaN", `"NaN"`},
		{Bool, "0", "false"},
		{Bool, "1", "true"},
		{Bool, "-1", "-1"},
		{Text, "1", `"1"`},
		{Text, "a\x00b\x1b[31mred\x1b[0m\u202e!", `"abred!"`},
		{Text, "tab\tline\n<b>&", `"tab\tline\n<b>&"`},
		{JSON, `{"a": 1}`, `{"a":1}`},
		{JSON, `{"a": 1, "a": 2}`, `"{\"a\": 1, \"a\": 2}"`},
		{JSON, `[1.0, 1e5, true, null, "x"]`, `[1.0,1e5,true,null,"x"]`},
		{JSON, `12345678901234567890`, `"12345678901234567890"`},
		{JSON, `{"a":`, `"{\"a\":"`},
		{JSON, `1 2`, `"1 2"`},
		{JSON, strings.Repeat("[", 60) + strings.Repeat("]", 60), `"` + strings.Repeat("[", 60) + strings.Repeat("]", 60) + `"`},
	} {
		req, raw := answer([]Form{c.form}, []string{c.in})
		p, _ := project(t, tool, req, raw, 1<<16)
		if got := string(p.Observation.Rows); got != "[["+c.want+"]]" {
			t.Errorf("%s %q: %s, want [[%s]]", c.form, c.in, got, c.want)
		}
	}
}

func TestSecretsAreFoundByNameInTextAndInDocuments(t *testing.T) {
	t.Parallel()
	tool := newTool(t)
	canary := "Zq8x" + "Canary0451"
	for _, c := range []struct {
		name string
		form Form
		in   string
	}{
		{"note", Text, "login pass" + "word=" + canary + " ok"},
		{"password", Text, canary},
		{"doc", JSON, `{"user": {"pass` + `word": "` + canary + `"}}`},
		{"doc", JSON, `{"list": ["pass` + `word=` + canary + `"]}`},
		{"doc", JSON, `{"db": {"pass` + `word": {"value": "` + canary + `"}}}`},
	} {
		req, raw := answer([]Form{c.form}, []string{c.in})
		raw.Columns[0].Name, req.Outputs[0].Name = c.name, c.name
		p, all := project(t, tool, req, raw, 1<<16)
		if strings.Contains(all, canary) || !strings.Contains(all, "<secret>") || p.Observation.Note == "" || p.Truncated {
			t.Errorf("%s %s: %s", c.name, c.in, all)
		}
	}
	req, raw := answer([]Form{Number}, []string{"4711"})
	req.Outputs[0].Source = "shop.t.pass" + "word"
	if _, all := project(t, tool, req, raw, 1<<16); strings.Contains(all, "4711") {
		t.Errorf("an alias uncovers a secret column: %s", all)
	}
}

func TestTheOperatorsRulesHideNumbersToo(t *testing.T) {
	t.Parallel()
	tool := newTool(t)
	req, raw := answer([]Form{Number, Text, Bool, JSON}, []string{"4711", "12.4711", "1", `{"n": 4711}`}, []string{"4712", "1.5", "0", "{}"})
	raw.Columns[1].Type = "decimal"
	req.Hide = []string{"4711"}
	p, _ := project(t, tool, req, raw, 1<<16)
	if got, want := string(p.Observation.Rows), `[["<secret>","12.<secret>",true,{"n":"<secret>"}],[4712,"1.5",false,{}]]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestMaskedCellsAreAllAlike(t *testing.T) {
	t.Parallel()
	req, raw := answer([]Form{Text, Number}, []string{"NULL", "NULL"}, []string{"x@example.com", "5"})
	req.Outputs[0].Masked, req.Outputs[1].Masked = true, true
	p, _ := project(t, newTool(t), req, raw, 1<<16)
	if got := string(p.Observation.Rows); got != `[["<masked>","<masked>"],["<masked>","<masked>"]]` || p.Observation.Note != "Masked columns show <masked>." {
		t.Errorf("%s, note %q", got, p.Observation.Note)
	}
}

func TestRoomGoesToRowsFirst(t *testing.T) {
	t.Parallel()
	tool := newTool(t)
	var rows [][]string
	for i := range 50 {
		rows = append(rows, []string{fmt.Sprint(i), strings.Repeat("w", 20*i), "short"})
	}
	req, raw := answer([]Form{Number, Text, Text}, rows...)
	for _, c := range []struct {
		room, rows int
		cut        bool
	}{{1 << 16, 50, false}, {16 << 10, 50, true}, {6 << 10, 50, true}, {3 << 10, 30, true}, {1 << 10, 5, true}} {
		p, all := project(t, tool, req, raw, c.room)
		var got [][]any
		if err := json.Unmarshal(p.Observation.Rows, &got); err != nil {
			t.Fatal(err)
		}
		if len(got) < c.rows || p.Truncated != c.cut || p.Count != len(got) || len(p.Items) != len(got) || strings.Contains(all, "…") != c.cut {
			t.Errorf("room %d: %d rows, truncated %v, count %d, %d items; want at least %d rows, %v", c.room, len(got), p.Truncated, p.Count, len(p.Items), c.rows, c.cut)
		}
		if c.cut && len(all) < c.room*3/4 {
			t.Errorf("room %d: only %d bytes are used", c.room, len(all))
		}
	}
}

func TestTooManyColumnsAreLeftOutFromTheRight(t *testing.T) {
	t.Parallel()
	forms, row := make([]Form, 400), make([]string, 400)
	for i := range forms {
		forms[i], row[i] = Text, strings.Repeat("v", 100)
	}
	req, raw := answer(forms, row)
	p, all := project(t, newTool(t), req, raw, 8<<10)
	if len(p.Observation.Columns) == 400 || len(p.Observation.Columns) < 20 || !p.Truncated || !strings.Contains(p.Observation.Note, "of 400 columns") {
		t.Errorf("%d columns, truncated %v, %.300s", len(p.Observation.Columns), p.Truncated, all)
	}
	var got [][]any
	if err := json.Unmarshal(p.Observation.Rows, &got); err != nil || len(got) != 1 || len(got[0]) != len(p.Observation.Columns) {
		t.Errorf("%d rows, %v: cells and columns differ", len(got), err)
	}
}

func TestGainKeysNameTheFactNotItsCut(t *testing.T) {
	t.Parallel()
	tool := newTool(t)
	req, raw := answer([]Form{Number, Text}, []string{"1", strings.Repeat("long ", 2000)}, []string{"2", "b"})
	wide, _ := project(t, tool, req, raw, 1<<16)
	tight, _ := project(t, tool, req, raw, 1<<10)
	if d := cmp.Diff(wide.Items, tight.Items); d != "" {
		t.Errorf("room changes the items:\n%s", d)
	}
	raw.Rows[1][1] = text("c")
	other, _ := project(t, tool, req, raw, 1<<16)
	if other.Items[0] != wide.Items[0] || other.Items[1] == wide.Items[1] || wide.Items[0] == wide.Items[1] {
		t.Errorf("items %v and %v", wide.Items, other.Items)
	}
	req.Tables = []string{"shop.u"}
	moved, _ := project(t, tool, req, raw, 1<<16)
	if moved.Items[0] == wide.Items[0] {
		t.Error("the table does not matter")
	}
}

func TestEmptyAnswersKeepTheirColumns(t *testing.T) {
	t.Parallel()
	req, raw := answer([]Form{Text, Number})
	p, all := project(t, newTool(t), req, raw, 1<<10)
	if bool(p.Evidence) || p.Truncated || len(p.Observation.Columns) != 2 || !strings.Contains(all, `"rows":[]`) {
		t.Errorf("%v %v %s", p.Evidence, p.Truncated, all)
	}
}

func TestRawSurvivesTheStore(t *testing.T) {
	t.Parallel()
	raw := Raw{Columns: []Column{{"a", "varchar", Text}, {"b\"", "blob", Text}}, More: true, Cut: true,
		Rows: [][]Cell{{text(""), {}}, {text("quote \" back \\ \x01 \n 数 <>"), {Kind: Binary, Text: "00ff", Size: 7}}}}
	b, err := strictjson.Encode(raw)
	if err != nil {
		t.Fatal(err)
	}
	var back Raw
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, raw) {
		t.Errorf("got %+v, want %+v", back, raw)
	}
	for _, bad := range []string{`{"columns":[],"rows":[[null]]}`, `{"columns":[{"name":"a"}],"rows":[[1]]}`, `{"columns":[{"name":"a"}],"rows":[[true]]}`} {
		if err := json.Unmarshal([]byte(bad), &back); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

func TestLike(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{
		{"", "x", true}, {"%", "", true}, {"%", "x", true}, {"ord%", "orders", true}, {"ORD%", "orders", true}, {"%ers", "orders", true}, {"%r%r%", "orders", true},
		{"%r%r%r%", "orders", false}, {"_rders", "orders", true}, {"__", "数据", true}, {"_", "数据", false}, {`a\_b`, "a_b", true}, {`a\_b`, "axb", false},
		{`100\%`, "100%", true}, {`100\%`, "1000", false}, {"orders", "orders2", false}, {"%a", "aab", false}, {"a%b%c", "axxbyybzc", true},
	} {
		if got := like(c.pattern, c.s); got != c.want {
			t.Errorf("like(%q, %q) = %v", c.pattern, c.s, got)
		}
	}
}

// FuzzProject: whatever the cells are, the observation keeps to its room, is JSON with as many cells as columns, shows nothing masked, and says when something is
// missing.
func FuzzProject(f *testing.F) {
	f.Add("plain", `{"k":"v"}`, "12", uint16(900), uint8(3))
	f.Add("\x1b[0m\u202e\xff", `[[[]]`, "-1e9", uint16(300), uint8(200))
	f.Add(strings.Repeat("数", 300), `{"a":{"b":[1,2,"`+strings.Repeat("x", 400)+`"]}}`, "18446744073709551616", uint16(2000), uint8(40))
	tool := newTool(f)
	const masked = "Mask-canary-7741"
	f.Fuzz(func(t *testing.T, a, b, c string, room uint16, n uint8) {
		req, raw := answer([]Form{Text, JSON, Number, Text, Bool})
		req.Outputs[3].Masked = true
		for range int(n) {
			raw.Rows = append(raw.Rows, []Cell{text(strings.ToValidUTF8(a, "?")), text(strings.ToValidUTF8(b, "?")), text(strings.ToValidUTF8(c, "?")), text(masked), text("1")})
		}
		p, err := tool.Project(req, raw, boundary.View{MaxBytes: int(room)})
		if err != nil {
			if room > 1500 {
				t.Fatalf("room %d: %v", room, err)
			}
			return
		}
		out, err := strictjson.Encode(p.Observation)
		if err != nil {
			t.Fatal(err)
		}
		if len(out) > int(room) || !utf8.Valid(out) || bytes.Contains(out, []byte(masked)) && !strings.Contains(a+b+c, masked) {
			t.Fatalf("%d bytes in %d: %s", len(out), room, out)
		}
		var rows [][]json.RawMessage
		if err := json.Unmarshal(p.Observation.Rows, &rows); err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if len(r) != len(p.Observation.Columns) {
				t.Fatalf("%d cells, %d columns", len(r), len(p.Observation.Columns))
			}
		}
		whole, err := tool.Project(req, raw, boundary.View{MaxBytes: 1 << 30})
		if err != nil {
			t.Fatal(err)
		}
		if same := bytes.Equal(whole.Observation.Rows, p.Observation.Rows); same == p.Truncated {
			t.Fatalf("truncated %v, whole %v", p.Truncated, same)
		}
	})
}
