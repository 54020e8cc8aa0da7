package sqlguard_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/sqlguard"
)

// Whatever is accepted: its print is accepted again, gives the same print, and touches only allowed columns; whatever is refused has an SQL code.
func FuzzPlan(f *testing.F) {
	for _, a := range readAccepted(f) {
		f.Add(a.sql)
	}
	for _, r := range readRejected(f) {
		f.Add(r.sql)
	}
	g := newGuard(f)
	allowed := map[string]bool{}
	for _, t := range g.Tables() {
		allowed[t.Schema+"."+t.Name] = true
		for _, c := range t.Columns {
			allowed[t.Schema+"."+t.Name+"."+c.Name] = true
		}
	}
	f.Fuzz(func(t *testing.T, sql string) {
		p, err := g.Plan(sql)
		if err != nil {
			if c := string(fault.CodeOf(err)); !strings.HasPrefix(c, "SQL_") || hint(err) == "" {
				t.Fatalf("%q: code %s hint %q", sql, c, hint(err))
			}
			return
		}
		if p.Kind() == sqlguard.Explain {
			p = p.Inner()
		}
		for _, n := range slices.Concat(p.Tables(), p.Columns()) {
			if !allowed[n] {
				t.Fatalf("%q touches %s", sql, n)
			}
		}
		if p.Kind() != sqlguard.Select {
			return
		}
		again, err := g.Plan(p.SQL())
		if err != nil {
			t.Fatalf("%q\nplan %s\nrefused: %v %s", sql, p.SQL(), err, hint(err))
		}
		if again.SQL() != p.SQL() {
			t.Fatalf("%q\nplan %s\nagain %s", sql, p.SQL(), again.SQL())
		}
		if d := cmp.Diff(p.Columns(), again.Columns()) + cmp.Diff(p.Outputs(), again.Outputs()) + cmp.Diff(p.Tables(), again.Tables()); d != "" {
			t.Fatalf("%q\nplan %s\n%s", sql, p.SQL(), d)
		}
	})
}

// Every text survives the way through a literal, and no text leaves it.
func FuzzLiteral(f *testing.F) {
	for _, s := range []string{"", "a", "it's", `back\slash`, `\`, `\'`, `'`, `''`, "\x00", "\n\r\x1a", `\%\_`, "-- x", "/*!", "数量🚀", "`", `"`} {
		f.Add(s)
	}
	g := newGuard(f)
	f.Fuzz(func(t *testing.T, s string) {
		lit, ok := sqlguard.QuoteForTest(s)
		if !ok {
			return
		}
		p, err := g.Plan("SELECT id FROM items WHERE name = " + lit)
		if err != nil {
			if strings.ContainsRune(lit, 0) || fault.CodeOf(err) == fault.SQLTooComplex {
				return
			}
			t.Fatalf("%q: %v %s", lit, err, hint(err))
		}
		if want := "SELECT `items`.`id` AS `id` FROM `store`.`items` AS `items` WHERE (`items`.`name` = " + lit + ") LIMIT 201"; p.SQL() != want {
			t.Fatalf("got  %s\nwant %s", p.SQL(), want)
		}
		if got, ok := sqlguard.UnquoteForTest(lit); !ok || got != s {
			t.Fatalf("%q came back as %q", s, got)
		}
	})
}
