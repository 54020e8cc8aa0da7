// Package sqlguard decides which statements may run on a MySQL datasource and prints the SQL that runs.
//
// A statement is read by two independent parsers, resolved against an allowlist and turned into a closed form of this package's own types; the SQL
// that runs is printed from that form alone, with names from the catalogue, functions from fixed tables and literals escaped anew, so that no byte of
// the caller's text is passed on. What is unknown is refused by name, with the nearest form that would pass. A masked column can be listed, counted
// and tested for NULL, and nothing else: its cells are marked through derived tables, CTEs and UNION ALL.
package sqlguard

import "slices"

// Kind is what a plan does.
type Kind uint8

const (
	None          Kind = iota // the zero plan
	Select                    // rows from the server: SQL
	ShowTables                // the allowed tables: Pattern, and the schema of Target if one was named
	ShowColumns               // the allowed columns of Target: Pattern
	ShowDatabases             // the schemas of the allowlist: Pattern
	ShowIndex                 // the indexes of Target all of whose columns are allowed
	Explain                   // the plan of Inner, nothing runs
)

func (k Kind) String() string {
	switch k {
	case Select:
		return "SELECT"
	case ShowTables:
		return "SHOW TABLES"
	case ShowColumns:
		return "SHOW COLUMNS"
	case ShowDatabases:
		return "SHOW DATABASES"
	case ShowIndex:
		return "SHOW INDEX"
	case Explain:
		return "EXPLAIN"
	}
	return "none"
}

// Output is one result column of a plan.
type Output struct {
	Name   string
	Masked bool   // its cells must not be shown
	Source string // "schema.table.column" when it is just that column, through derived tables and CTEs too; else ""
}

// Plan is a statement that passed. Only this package makes one; the zero value is none.
type Plan struct {
	kind                      Kind
	sql, normal               string
	limit                     int
	userLimited               bool
	tables, columns, maskedBy []string
	outputs                   []Output
	schema, table, pattern    string
	inner                     *Plan
}

// IsZero tells whether p is no plan.
func (p Plan) IsZero() bool { return p.kind == None }

// Kind is what p does. Only Select has SQL to run; every other kind is answered from the policy and the catalogue.
func (p Plan) Kind() Kind { return p.kind }

// SQL is the statement to run, "" unless p is a Select. It asks for Limit rows when UserLimited, else for Limit+1, so that one row more than may be
// shown proves that there is more.
func (p Plan) SQL() string { return p.sql }

// Limit is the most rows that may be shown: the statement's own LIMIT, at most the policy's MaxRows.
func (p Plan) Limit() int { return p.limit }

// UserLimited tells that the statement's own LIMIT is within MaxRows: the rows that come are all it asked for, and exactly Limit rows are not truncated.
func (p Plan) UserLimited() bool { return p.userLimited }

// Tables are the base tables of every clause as "schema.table", sorted.
func (p Plan) Tables() []string { return slices.Clone(p.tables) }

// Columns are the base columns of every clause as "schema.table.column", sorted.
func (p Plan) Columns() []string { return slices.Clone(p.columns) }

// Masked are the masked base columns whose cells appear in the result, sorted.
func (p Plan) Masked() []string { return slices.Clone(p.maskedBy) }

// Outputs are the result columns in order; nil unless p is a Select.
func (p Plan) Outputs() []Output { return slices.Clone(p.outputs) }

// Target is the allowed table of ShowColumns and ShowIndex, or the schema that SHOW TABLES named.
func (p Plan) Target() (schema, table string) { return p.schema, p.table }

// Inner is the plan that Explain explains; the zero plan for other kinds.
func (p Plan) Inner() Plan {
	if p.inner == nil {
		return Plan{}
	}
	return *p.inner
}

// Pattern is the LIKE pattern of a SHOW statement, or "".
func (p Plan) Pattern() string { return p.pattern }

// Normal is the identity of the statement for finding repeats, not to be run: case, white space, comments, literal spelling, the order of what AND and OR join, of the
// sides of a comparison and of the members of a list, aliases of tables and a LIMIT beyond MaxRows fold away.
func (p Plan) Normal() string { return p.normal }
