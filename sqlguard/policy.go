package sqlguard

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// TableSpec lists the columns of a table that may be read. Masked columns may be listed in Columns as well or only here.
type TableSpec struct {
	Columns []string
	Masked  []string
}

// PolicySpec is the allowlist of one datasource.
type PolicySpec struct {
	DefaultSchema string                          // schema of names without one
	Schemas       map[string]map[string]TableSpec // schema, table
	MaxRows       int                             // most rows that may be shown; 0 means 200
}

const defaultMaxRows = 200

// maxMaxRows keeps rows countable in memory; the observation shows far fewer anyway.
const maxMaxRows = 100000

// Problems lists every mistake of the policy in plain sentences, sorted; empty when New accepts it.
func (p PolicySpec) Problems() []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if p.MaxRows < 0 || p.MaxRows > maxMaxRows {
		add("max_rows %d is not between 1 and %d", p.MaxRows, maxMaxRows)
	}
	tables := 0
	for schema, ts := range p.Schemas {
		if why := badName(schema); why != "" {
			add("schema %q: %s", schema, why)
		}
		if systemSchemas[strings.ToLower(schema)] {
			add("schema %q is a system schema and cannot be allowed", schema)
		}
		if len(ts) == 0 {
			add("schema %q allows no table", schema)
		}
		for table, t := range ts {
			tables++
			if why := badName(table); why != "" {
				add("table %q.%q: %s", schema, table, why)
			}
			if len(t.Columns)+len(t.Masked) == 0 {
				add("table %s.%s allows no column", schema, table)
			}
			for _, columns := range [][]string{t.Columns, t.Masked} {
				seen := map[string]bool{}
				for _, c := range columns {
					if why := badName(c); why != "" {
						add("column %q of %s.%s: %s", c, schema, table, why)
					}
					if seen[fold(c)] {
						add("column %q of %s.%s is listed twice", c, schema, table)
					}
					seen[fold(c)] = true
				}
			}
		}
	}
	if tables == 0 {
		add("no table is allowed")
	}
	sort.Strings(out)
	return out
}

var systemSchemas = map[string]bool{"mysql": true, "information_schema": true, "performance_schema": true, "sys": true}

func badName(n string) string {
	switch {
	case n == "":
		return "the name is empty"
	case !utf8.ValidString(n), strings.ContainsFunc(n, func(r rune) bool { return r < ' ' || r == 0x7f || r > 0xffff }):
		return "the name holds a character that MySQL does not allow"
	case utf8.RuneCountInString(n) > 64:
		return "the name is longer than 64 characters"
	case strings.HasSuffix(n, " "):
		return "the name ends in a blank"
	case n == "*":
		return "list the columns one by one, a star would publish what is added later"
	}
	return ""
}

// fold is the form under which names are compared. It never decides what is printed: that is always the name of the catalogue.
func fold(n string) string { return strings.ToLower(n) }

// Column is a published column.
type Column struct {
	Name   string
	Masked bool
}

// Table is a published table.
type Table struct {
	Schema, Name string
	Columns      []Column
}

// entry is a table of the catalogue with what the converter needs of it.
type entry struct {
	Table
	cols []relColumn
}

// Guard turns statements into plans under one policy. It is immutable and safe for concurrent use.
type Guard struct {
	schema  string
	maxRows int
	exact   map[[2]string]*entry
	folded  map[[2]string][]*entry
	tables  []*entry
	schemas []string
}

// New builds the guard of one datasource. The error names the first problem; Problems lists them all.
func New(spec PolicySpec) (*Guard, error) {
	if ps := spec.Problems(); len(ps) > 0 {
		return nil, fmt.Errorf("sqlguard: %s", ps[0])
	}
	g := &Guard{schema: spec.DefaultSchema, maxRows: spec.MaxRows, exact: map[[2]string]*entry{}, folded: map[[2]string][]*entry{}}
	if g.maxRows == 0 {
		g.maxRows = defaultMaxRows
	}
	for schema, ts := range spec.Schemas {
		g.schemas = append(g.schemas, schema)
		for name, t := range ts {
			e := newEntry(schema, name, t)
			g.tables = append(g.tables, e)
			g.exact[[2]string{schema, name}] = e
			k := [2]string{fold(schema), fold(name)}
			g.folded[k] = append(g.folded[k], e)
		}
	}
	slices.Sort(g.schemas)
	slices.SortFunc(g.tables, func(a, b *entry) int {
		if c := strings.Compare(a.Schema, b.Schema); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	return g, nil
}

func newEntry(schema, name string, t TableSpec) *entry {
	e := &entry{Table: Table{Schema: schema, Name: name}}
	masked := map[string]bool{}
	for _, c := range t.Masked {
		masked[fold(c)] = true
	}
	seen := map[string]bool{}
	for _, c := range slices.Concat(t.Columns, t.Masked) {
		k := fold(c)
		if seen[k] {
			continue
		}
		seen[k] = true
		src := &source{schema, name, c}
		rc := relColumn{name: c, key: k, src: src}
		if masked[k] || secretName(c) {
			rc.masked = []*source{src}
		}
		e.cols = append(e.cols, rc)
		e.Columns = append(e.Columns, Column{Name: c, Masked: rc.masked != nil})
	}
	return e
}

// Tables is the published allowlist, sorted by schema and name, columns in the order of the policy.
func (g *Guard) Tables() []Table {
	out := make([]Table, len(g.tables))
	for i, e := range g.tables {
		out[i] = Table{Schema: e.Schema, Name: e.Name, Columns: slices.Clone(e.Columns)}
	}
	return out
}

// table finds an allowed table by the name in the statement: as written, else the only one that differs in case.
func (g *Guard) table(schema, name string) (*entry, error) {
	full := schema
	if full == "" {
		full = g.schema
	}
	if e := g.exact[[2]string{full, name}]; e != nil {
		return e, nil
	}
	es := g.folded[[2]string{fold(full), fold(name)}]
	switch len(es) {
	case 1:
		return es[0], nil
	case 0:
		return nil, g.noTable(schema, name)
	}
	return nil, refuse(codeAmbiguous, "table %s differs from several allowed tables in case only", show(name))
}

func (g *Guard) noTable(schema, name string) error {
	shown := show(name)
	if schema != "" {
		shown = show(schema) + "." + shown
	}
	if systemSchemas[fold(schema)] {
		return refuse(codeTable, "table %s is a system table; SHOW TABLES, DESCRIBE t and SHOW INDEX FROM t list what can be queried", shown)
	}
	if near := g.nearTables(name); len(near) > 0 {
		return refuse(codeTable, "table %s is not on the allowlist; allowed: %s", shown, list(near, 8))
	}
	return refuse(codeTable, "table %s is not on the allowlist; no table is", shown)
}

// nearTables names allowed tables, the most similar first; a table of the default schema goes without it.
func (g *Guard) nearTables(name string) []string {
	names := make([]string, len(g.tables))
	for i, e := range g.tables {
		names[i] = e.Name
		if e.Schema != g.schema {
			names[i] = e.Schema + "." + e.Name
		}
	}
	return nearest(name, names)
}

// nearest sorts names by their likeness to name.
func nearest(name string, names []string) []string {
	type scored struct {
		n string
		d int
	}
	k := fold(name)
	s := make([]scored, 0, len(names))
	for _, n := range names {
		f := fold(n)
		d := distance(k, f)
		if strings.Contains(f, k) || strings.Contains(k, f) {
			d = min(d, 2)
		}
		s = append(s, scored{n, d})
	}
	slices.SortStableFunc(s, func(a, b scored) int { return a.d - b.d })
	out := make([]string, len(s))
	for i := range s {
		out[i] = s[i].n
	}
	return out
}

// distance is the edit distance of two short names.
func distance(a, b string) int {
	if len(a) > 64 {
		a = a[:64]
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diag
			if a[i] != b[j] {
				cost++
			}
			diag = row[j+1]
			row[j+1] = min(cost, row[j]+1, diag+1)
		}
	}
	return row[len(b)]
}
