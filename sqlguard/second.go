package sqlguard

import (
	"strings"

	old "github.com/xwb1989/sqlparser"
)

// facts are what decides about a statement: the tables, columns and functions that it names, folded so that two parsers can be compared. They are
// sets: the readers differ in how often they keep a thing, not in whether they see it.
type facts struct{ tables, columns, functions map[string]bool }

func newFacts() facts {
	return facts{map[string]bool{}, map[string]bool{}, map[string]bool{}}
}

func (f facts) table(schema, name string) {
	f.tables[strings.ToLower(schema+"."+name)] = true
}

func (f facts) column(table, name string) {
	f.columns[strings.ToLower(table+"."+name)] = true
}

func (f facts) function(name string) {
	n := strings.ToLower(name)
	if s, ok := synonyms[n]; ok {
		n = s
	}
	if n != "" {
		f.functions[n] = true
	}
}

// synonyms fold names that one reader keeps and the other does not; "" drops what one of them has as syntax.
var synonyms = map[string]string{
	"substr": "substring", "mid": "substring", "instr": "locate", "position": "locate", "curdate": "current_date", "cast": "", "convert": "", "binary": "", "values": "",
	"json_merge": "json_merge_preserve", "schema": "database", "lcase": "lower", "ucase": "upper", "sha": "sha1", "interval": "", "row": "", "regexp_like": "regexp_like",
	"now": "now", "localtime": "now", "localtimestamp": "now", "current_timestamp": "now", "current_time": "curtime", "dayofmonth": "day", "char_length": "character_length",
	"json_unquote": "", "json_extract": "",
}

// unitWords are the time units: the second reader takes the unit of TIMESTAMPDIFF and TIMESTAMPADD for a column.
var unitWords = buildUnitWords()

func buildUnitWords() map[string]bool {
	m := map[string]bool{}
	for _, w := range units {
		m["."+strings.ToLower(string(w))] = true
	}
	for _, w := range []string{"sql_tsi_second", "sql_tsi_minute", "sql_tsi_hour", "sql_tsi_day", "sql_tsi_week", "sql_tsi_month", "sql_tsi_quarter", "sql_tsi_year"} {
		m["."+w] = true
	}
	return m
}

// reading is what the second parser made of a text.
type reading struct {
	facts
	parsed  bool // it could read the text
	query   bool // as a query, without a panic
	hasDiff bool // with TIMESTAMPDIFF or TIMESTAMPADD, whose unit it takes for a column
}

// readSecond reads text with the second parser. Its panics count as a text that it read as something else.
func readSecond(text string) (r reading) {
	defer func() {
		if recover() != nil {
			r = reading{parsed: true}
		}
	}()
	st, err := old.ParseStrictDDL(text)
	if err != nil {
		return reading{}
	}
	sel, ok := st.(old.SelectStatement)
	r = reading{facts: newFacts(), parsed: true, query: ok}
	if !ok {
		return r
	}
	err = old.Walk(func(n old.SQLNode) (bool, error) {
		switch n := n.(type) {
		case *old.AliasedTableExpr:
			if t, ok := n.Expr.(old.TableName); ok {
				r.table(t.Qualifier.String(), t.Name.String())
			}
		case *old.JoinTableExpr:
			for _, u := range n.Condition.Using {
				r.column("", u.String())
			}
		case *old.ColName:
			if n == nil {
				return false, nil
			}
			r.column(n.Qualifier.Name.String(), n.Name.String())
		case *old.FuncExpr:
			name := n.Name.Lowered()
			if !n.Qualifier.IsEmpty() {
				name = n.Qualifier.String() + "." + name
			}
			r.function(name)
			if name == "timestampdiff" || name == "timestampadd" {
				r.hasDiff = true
			}
		case *old.GroupConcatExpr:
			r.function("group_concat")
		case *old.SubstrExpr:
			r.function("substring")
		}
		return true, nil
	}, sel)
	r.query = err == nil
	return r
}

// agrees tells whether the second reading names what the first names. A text that the second parser cannot read is no disagreement.
func (r reading) agrees(f facts) bool {
	if !r.parsed {
		return true
	}
	if !r.query {
		return false
	}
	delete(f.tables, ".dual")
	delete(r.tables, ".dual")
	if r.hasDiff {
		for u := range unitWords {
			if !f.columns[u] {
				delete(r.columns, u)
			}
		}
	}
	return same(f.tables, r.tables) && same(f.columns, r.columns) && same(f.functions, r.functions)
}

func same(a, b map[string]bool) bool {
	if len(a) != len(b) {
		return false
	}
	for k := range a {
		if !b[k] {
			return false
		}
	}
	return true
}
