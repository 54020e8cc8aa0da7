package mysql

import (
	"context"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seed-069badc9/mcp-gateway/sqlguard"
)

// What SHOW, DESCRIBE and EXPLAIN give is put together here, from the allowlist and the catalogue. The statement never reaches the server, which would tell of
// tables, columns and indexes that the allowlist leaves out.

func text(s string) Cell { return Cell{Kind: Value, Text: s} }

func number(n int64) Cell {
	if n < 0 {
		return Cell{}
	}
	return text(strconv.FormatInt(n, 10))
}

func columns(specs ...Column) []Column {
	for i := range specs {
		if specs[i].Form == "" {
			specs[i].Form = Text
		}
	}
	return specs
}

func yes(b bool) Cell {
	if b {
		return text("YES")
	}
	return text("NO")
}

func (s *source) showTables(ctx context.Context, plan sqlguard.Plan) (Raw, error) {
	cat, err := s.cat.get(ctx, s)
	if err != nil {
		return Raw{}, err
	}
	schema, _ := plan.Target()
	raw := Raw{Rows: [][]Cell{}, Columns: columns(Column{Name: "schema", Type: "varchar"}, Column{Name: "table", Type: "varchar"}, Column{Name: "columns", Type: "text"},
		Column{Name: "rows_estimate", Type: "bigint", Form: Number})}
	for _, t := range s.tables {
		info := cat.table(t.Schema, t.Name)
		if info == nil || schema != "" && t.Schema != schema || !like(plan.Pattern(), t.Name) {
			continue
		}
		names := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			if names[i] = c.Name; c.Masked {
				names[i] += " (masked)"
			}
		}
		raw.Rows = append(raw.Rows, []Cell{text(t.Schema), text(t.Name), text(strings.Join(names, ", ")), number(info.Rows)})
	}
	return raw, nil
}

func (s *source) showDatabases(plan sqlguard.Plan) Raw {
	raw := Raw{Rows: [][]Cell{}, Columns: columns(Column{Name: "schema", Type: "varchar"})}
	last := ""
	for _, t := range s.tables {
		if t.Schema != last && like(plan.Pattern(), t.Schema) {
			raw.Rows = append(raw.Rows, []Cell{text(t.Schema)})
		}
		last = t.Schema
	}
	return raw
}

func (s *source) showColumns(ctx context.Context, plan sqlguard.Plan) (Raw, error) {
	cat, err := s.cat.get(ctx, s)
	if err != nil {
		return Raw{}, err
	}
	schema, name := plan.Target()
	raw := Raw{Rows: [][]Cell{}, Columns: columns(Column{Name: "field", Type: "varchar"}, Column{Name: "type", Type: "varchar"}, Column{Name: "null", Type: "varchar"},
		Column{Name: "key", Type: "varchar"}, Column{Name: "masked", Type: "varchar"})}
	for _, t := range s.tables {
		if t.Schema != schema || t.Name != name {
			continue
		}
		for _, c := range t.Columns {
			info, ok := cat.column(t.Schema + "." + t.Name + "." + c.Name)
			if !ok || !like(plan.Pattern(), c.Name) {
				continue
			}
			raw.Rows = append(raw.Rows, []Cell{text(c.Name), text(declared(info)), yes(info.Nullable), text(info.Key), yes(c.Masked)})
		}
	}
	return raw, nil
}

func (s *source) showIndex(ctx context.Context, plan sqlguard.Plan) (Raw, error) {
	cat, err := s.cat.get(ctx, s)
	if err != nil {
		return Raw{}, err
	}
	schema, name := plan.Target()
	raw := Raw{Rows: [][]Cell{}, Columns: columns(Column{Name: "index", Type: "varchar"}, Column{Name: "columns", Type: "text"}, Column{Name: "unique", Type: "varchar"})}
	for _, t := range s.tables {
		if t.Schema != schema || t.Name != name {
			continue
		}
		for _, ix := range allowedIndexes(cat.table(schema, name), t) {
			raw.Rows = append(raw.Rows, []Cell{text(ix.Name), text(strings.Join(ix.Columns, ", ")), yes(ix.Unique)})
		}
	}
	return raw, nil
}

func declared(c ColumnInfo) string {
	if c.JSON {
		return "json"
	}
	return c.Type
}

// explain shows a plan as the guard sees it: per table the columns read, the rows it is estimated to have and the indexes all of whose columns are allowed.
func (s *source) explain(ctx context.Context, plan sqlguard.Plan) (Raw, error) {
	cat, err := s.cat.get(ctx, s)
	if err != nil {
		return Raw{}, err
	}
	raw := Raw{Rows: [][]Cell{}, Columns: columns(Column{Name: "table", Type: "varchar"}, Column{Name: "columns", Type: "text"}, Column{Name: "masked", Type: "text"},
		Column{Name: "rows_estimate", Type: "bigint", Form: Number}, Column{Name: "indexes", Type: "text"})}
	used, masked := plan.Columns(), plan.Masked()
	for _, t := range s.tables {
		full := t.Schema + "." + t.Name
		if !contains(plan.Tables(), full) {
			continue
		}
		row := []Cell{text(full), text(ofTable(used, full)), text(ofTable(masked, full)), {}, text("")}
		if info := cat.table(t.Schema, t.Name); info != nil {
			row[3], row[4] = number(info.Rows), text(indexList(allowedIndexes(info, t)))
		}
		raw.Rows = append(raw.Rows, row)
	}
	return raw, nil
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

func ofTable(columns []string, table string) string {
	var out []string
	for _, c := range columns {
		if rest, ok := strings.CutPrefix(c, table+"."); ok {
			out = append(out, rest)
		}
	}
	return strings.Join(out, ", ")
}

// allowedIndexes are the indexes all of whose columns are allowed.
func allowedIndexes(info *TableInfo, t sqlguard.Table) []IndexInfo {
	if info == nil {
		return nil
	}
	allowed := make(map[string]bool, len(t.Columns))
	for _, c := range t.Columns {
		allowed[strings.ToLower(c.Name)] = true
	}
	var out []IndexInfo
next:
	for _, ix := range info.Indexes {
		for _, c := range ix.Columns {
			if !allowed[strings.ToLower(c)] { // a hidden column, or an expression, which has no name
				continue next
			}
		}
		out = append(out, ix)
	}
	return out
}

func indexList(list []IndexInfo) string {
	out := make([]string, len(list))
	for i, ix := range list {
		out[i] = ix.Name + "(" + strings.Join(ix.Columns, ", ") + ")"
		if ix.Unique {
			out[i] += " unique"
		}
	}
	return strings.Join(out, ", ")
}

// like matches a LIKE pattern as SHOW does: % and _, backslash escapes, letter case does not matter. "" matches everything.
func like(pattern, s string) bool {
	if pattern == "" {
		return true
	}
	p, back := 0, -1 // back: where to go on in the pattern after the last %
	i, mark := 0, 0
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if p < len(pattern) && pattern[p] == '%' {
			p++
			back, mark = p, i
			continue
		}
		if p < len(pattern) {
			q, m := utf8.DecodeRuneInString(pattern[p:])
			any := q == '_'
			if q == '\\' && p+m < len(pattern) {
				p += m
				q, m = utf8.DecodeRuneInString(pattern[p:])
			}
			if any || unicode.ToLower(q) == unicode.ToLower(r) {
				p, i = p+m, i+n
				continue
			}
		}
		if back < 0 {
			return false
		}
		_, n = utf8.DecodeRuneInString(s[mark:])
		mark += n
		p, i = back, mark
	}
	return strings.Trim(pattern[p:], "%") == ""
}
