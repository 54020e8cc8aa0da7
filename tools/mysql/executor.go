package mysql

import (
	"context"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/sqlguard"
)

// Executor runs plans on one database.
type Executor interface {
	// Run executes a SELECT plan and returns the whole answer: at most plan.Limit() rows, More when there are others, every byte of a cell taken from p before it
	// is kept. Cells of masked outputs are NULL. Errors carry a code of the closed list; the text of the server is in none of them. It returns soon after ctx ends,
	// and the statement does not go on in the server.
	Run(ctx context.Context, p *boundary.Permit, plan sqlguard.Plan) (Raw, error)
	// Catalogue reads what the database declares about tables. Tables and columns that it does not have are left out.
	Catalogue(ctx context.Context, tables []TableName) ([]TableInfo, error)
}

// TableName names one table of the allowlist.
type TableName struct{ Schema, Name string }

// TableInfo is what the database declares about one table.
type TableInfo struct {
	TableName
	Rows    int64 // the server's estimate, -1 when it has none (views)
	Columns []ColumnInfo
	Indexes []IndexInfo
}

// ColumnInfo is what the database declares about one column.
type ColumnInfo struct {
	Name     string
	Type     string // the declared type, lower case: "tinyint(1)"
	Nullable bool
	Key      string // "PRI", "UNI", "MUL" or ""
	JSON     bool   // declared to hold JSON, whatever Type says (MariaDB declares longtext with a check)
}

// IndexInfo is one index with its columns in order.
type IndexInfo struct {
	Name    string
	Unique  bool
	Columns []string
}
