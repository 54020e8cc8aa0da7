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

// agrees reads text with the second parser and tells whether its facts are those of the first. A text that it cannot read is no disagreement.
func agrees(text string, f facts) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	st, err := old.ParseStrictDDL(text)
	if err != nil {
		return true
	}
	sel, isSelect := st.(old.SelectStatement)
	if !isSelect {
		return false
	}
	g := newFacts()
	diff := false
	if old.Walk(func(n old.SQLNode) (bool, error) {
		switch n := n.(type) {
		case *old.AliasedTableExpr:
			if t, ok := n.Expr.(old.TableName); ok {
				g.table(t.Qualifier.String(), t.Name.String())
			}
		case *old.JoinTableExpr:
			for _, u := range n.Condition.Using {
				g.column("", u.String())
			}
		case *old.ColName:
			if n == nil {
				return false, nil
			}
			g.column(n.Qualifier.Name.String(), n.Name.String())
		case *old.FuncExpr:
			name := n.Name.Lowered()
			if !n.Qualifier.IsEmpty() {
				name = n.Qualifier.String() + "." + name
			}
			g.function(name)
			if name == "timestampdiff" || name == "timestampadd" {
				diff = true
			}
		case *old.GroupConcatExpr:
			g.function("group_concat")
		case *old.SubstrExpr:
			g.function("substring")
		}
		return true, nil
	}, sel) != nil {
		return false
	}
	delete(f.tables, ".dual")
	delete(g.tables, ".dual")
	if diff {
		for u := range unitWords {
			if g.columns[u] && !f.columns[u] {
				delete(g.columns, u)
			}
		}
	}
	return same(f.tables, g.tables) && same(f.columns, g.columns) && same(f.functions, g.functions)
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
