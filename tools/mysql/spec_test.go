package mysql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
	"github.com/seed-069badc9/mcp-gateway/sqlguard"
)

// backend is an Executor whose catalogue is given and whose statements are none.
type backend struct {
	catalogue []TableInfo
	err       error
	asked     int
}

func (b *backend) Run(context.Context, *boundary.Permit, sqlguard.Plan) (Raw, error) {
	return Raw{}, errors.New("not to be run")
}

func (b *backend) Catalogue(context.Context, []TableName) ([]TableInfo, error) {
	b.asked++
	return b.catalogue, b.err
}

func source2(t testing.TB, name string, e Executor, tables int) Datasource {
	t.Helper()
	spec := map[string]sqlguard.TableSpec{}
	for i := range tables {
		spec[fmt.Sprintf("table_with_a_long_name_%03d", i)] = sqlguard.TableSpec{Columns: []string{"id", "name"}, Masked: []string{"mail"}}
	}
	g, err := sqlguard.New(sqlguard.PolicySpec{DefaultSchema: "shop", Schemas: map[string]map[string]sqlguard.TableSpec{"shop": spec}})
	if err != nil {
		t.Fatal(err)
	}
	return Datasource{Name: name, Description: "what " + name + " holds", Guard: g, Executor: e}
}

func TestDescriptionNamesWhatTheGrantsAllowAndFits(t *testing.T) {
	t.Parallel()
	var ds []Datasource
	for i := range 12 {
		ds = append(ds, source2(t, fmt.Sprintf("db-%02d", i), &backend{}, 30))
	}
	tool, err := New(Options{Datasources: ds})
	if err != nil {
		t.Fatal(err)
	}
	all := tool.Spec().Describe(boundary.Grants{})
	if len(all) > maxDescribe || !strings.Contains(all, "db-11: what db-11 holds") || !strings.Contains(all, "shop.table_with_a_long_name_000") {
		t.Errorf("%d bytes: %s", len(all), all)
	}
	one := tool.Spec().Describe(boundary.NewGrants(map[boundary.Kind][]string{boundary.Datasources: {"db-03"}}))
	if !strings.Contains(one, "db-03") || strings.Contains(one, "db-04") || len(one) > maxDescribe {
		t.Errorf("limited: %s", one)
	}
	if none := tool.Spec().Describe(boundary.NewGrants(map[boundary.Kind][]string{boundary.Datasources: {}})); strings.Contains(none, "db-") {
		t.Errorf("none: %s", none)
	}
}

func TestParseRefusesWithTheNextStep(t *testing.T) {
	t.Parallel()
	tool, err := New(Options{Datasources: []Datasource{source2(t, "shop", &backend{}, 1), source2(t, "hr", &backend{}, 1)}})
	if err != nil {
		t.Fatal(err)
	}
	grants := boundary.NewGrants(map[boundary.Kind][]string{boundary.Datasources: {"shop"}})
	for _, c := range []struct {
		args string
		code fault.Code
		hint string
	}{
		{`{}`, fault.InvalidRequest, "shop"},
		{`{"datasource":"hr","sql":"SELECT 1"}`, fault.InvalidRequest, "must name one of: shop"},
		{`{"datasource":"nope","sql":"SELECT 1"}`, fault.InvalidRequest, "must name one of: shop"},
		{`{"datasource":"shop"}`, fault.InvalidRequest, `"sql"`},
		{`{"datasource":"shop","sql":5}`, fault.InvalidRequest, `"sql"`},
		{`{"datasource":"shop","sql":"SELECT 1","limit":5}`, fault.InvalidRequest, `"limit"`},
		{`{"datasource":"shop","SQL":"SELECT 1"}`, fault.InvalidRequest, `"SQL"`},
		{`{"datasource":"shop","sql":"DELETE FROM table_with_a_long_name_000"}`, fault.SQLNotReadOnly, ""},
	} {
		_, err := tool.Parse(json.RawMessage(c.args), boundary.ParseContext{Grants: grants})
		code, _, hint := fault.Public(err)
		if code != c.code || !strings.Contains(hint, c.hint) || strings.Contains(hint, "hr") && !strings.Contains(c.hint, "hr") {
			t.Errorf("%s: %s %q, want %s %q", c.args, code, hint, c.code, c.hint)
		}
	}
}

func TestRequestsSurviveTheStoreAndMeanTheSame(t *testing.T) {
	t.Parallel()
	tool, err := New(Options{Datasources: []Datasource{source2(t, "shop", &backend{}, 1)}, Hide: []string{"ticket-[0-9]+"}})
	if err != nil {
		t.Fatal(err)
	}
	parse := func(sql string) Request {
		t.Helper()
		args, _ := json.Marshal(map[string]string{"datasource": "shop", "sql": sql})
		r, err := tool.Parse(args, boundary.ParseContext{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := parse("SELECT id, mail AS m FROM table_with_a_long_name_000 WHERE name = 'a' LIMIT 5")
	b, err := strictjson.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	var back Request
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	again, err := strictjson.Encode(back)
	if err != nil || string(again) != string(b) || !back.Outputs[1].Masked || back.Limit != 5 {
		t.Errorf("%s became %s, %v", b, again, err)
	}
	if _, err := tool.Execute(t.Context(), nil, back, [32]byte{}); fault.CodeOf(err) != fault.Internal {
		t.Errorf("a stored request was executed: %v", err)
	}
	same := parse("select  id, mail as m\nfrom shop.table_with_a_long_name_000 /* why */ where name = 'a' limit 5 ;")
	if tool.Scope(r) != tool.Scope(same) {
		t.Errorf("scopes differ:\n%+v\n%+v", tool.Scope(r), tool.Scope(same))
	}
	long := tool.Scope(parse("SELECT id FROM table_with_a_long_name_000 WHERE name IN ('" + strings.Repeat("数", 300) + "', 'ticket-4711')"))
	if len(long.Text) > scopeText || !strings.Contains(long.Text, " … #") {
		t.Errorf("%d bytes: %s", len(long.Text), long.Text)
	}
	if s := tool.Scope(parse("SELECT id FROM table_with_a_long_name_000 WHERE name = 'ticket-4711'")); strings.Contains(s.Text, "4711") {
		t.Errorf("a hidden value in the scope: %s", s.Text)
	}
}

func TestTheCatalogueIsReadRarely(t *testing.T) {
	t.Parallel()
	b := &backend{catalogue: []TableInfo{{TableName: TableName{"shop", "T"}, Columns: []ColumnInfo{{Name: "Flag", Type: "tinyint(1)"}}}}}
	s := &source{Datasource: Datasource{Executor: b}}
	s.cat.init()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s.cat.now = func() time.Time { return now }
	get := func() *snapshot {
		t.Helper()
		snap, err := s.cat.get(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		return snap
	}
	if _, ok := get().column("shop.t.flag"); !ok {
		t.Error("letter case hides a column")
	}
	get()
	if b.asked != 1 {
		t.Errorf("asked %d times", b.asked)
	}
	now = now.Add(freshFor)
	b.err = errors.New("down")
	if _, ok := get().column("shop.T.Flag"); !ok || b.asked != 2 {
		t.Errorf("an old catalogue is not used while the database is down (asked %d times)", b.asked)
	}
}

func TestNewNamesTheMistake(t *testing.T) {
	t.Parallel()
	ok := source2(t, "shop", &backend{}, 1)
	for want, o := range map[string]Options{
		"no datasource":  {},
		"given twice":    {Datasources: []Datasource{ok, ok}},
		"a name matches": {Datasources: []Datasource{{Name: "a b", Guard: ok.Guard, Executor: ok.Executor}}},
		"lacks":          {Datasources: []Datasource{{Name: "x"}}},
		"INVALID":        {Datasources: []Datasource{ok}, Hide: []string{"("}},
	} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
