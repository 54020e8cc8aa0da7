package server

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/tools/mysql"
)

// Catalogue reads information_schema with fixed statements; names of the allowlist are the only literals in them.
func (s *Server) Catalogue(ctx context.Context, tables []mysql.TableName) ([]mysql.TableInfo, error) {
	if len(tables) == 0 {
		return nil, nil
	}
	var out []mysql.TableInfo
	err := s.with(ctx, func(ctx context.Context, c *session) error {
		var err error
		out, err = c.catalogue(ctx, tables)
		return err
	})
	if err != nil {
		return nil, classify("server.Catalogue", err)
	}
	return out, nil
}

func (c *session) catalogue(ctx context.Context, tables []mysql.TableName) ([]mysql.TableInfo, error) {
	b := catalogueBuilder{index: map[string]int{}}
	for schema, where := range bySchema(tables) {
		got, err := c.rows(ctx, "SELECT TABLE_NAME, IFNULL(TABLE_ROWS, -1) FROM information_schema.TABLES WHERE "+where)
		if err != nil {
			return nil, err
		}
		for _, r := range got {
			n, err := strconv.ParseInt(r[1], 10, 64)
			if err != nil {
				n = -1
			}
			b.table(schema, r[0]).Rows = n
		}
		got, err = c.rows(ctx, "SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_KEY FROM information_schema.COLUMNS WHERE "+where+" ORDER BY TABLE_NAME, ORDINAL_POSITION")
		if err != nil {
			return nil, err
		}
		for _, r := range got {
			t := b.table(schema, r[0])
			typ := strings.ToLower(r[2])
			t.Columns = append(t.Columns, mysql.ColumnInfo{Name: r[1], Type: typ, Nullable: r[3] == "YES", Key: r[4], JSON: typ == "json"})
		}
		got, err = c.rows(ctx, "SELECT TABLE_NAME, INDEX_NAME, NON_UNIQUE, IFNULL(COLUMN_NAME, '') FROM information_schema.STATISTICS WHERE "+where+" ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX")
		if err != nil {
			return nil, err
		}
		for _, r := range got {
			b.indexColumn(schema, r)
		}
		if c.maria {
			if err := c.jsonChecks(ctx, &b, schema, where); err != nil {
				return nil, err
			}
		}
	}
	slices.SortFunc(b.out, func(x, y mysql.TableInfo) int {
		if n := strings.Compare(x.Schema, y.Schema); n != 0 {
			return n
		}
		return strings.Compare(x.Name, y.Name)
	})
	return b.out, nil
}

// jsonChecks marks the columns that MariaDB keeps as longtext with the check that its JSON type writes.
func (c *session) jsonChecks(ctx context.Context, b *catalogueBuilder, schema, where string) error {
	where = strings.Replace(where, "TABLE_SCHEMA", "CONSTRAINT_SCHEMA", 1)
	got, err := c.rows(ctx, "SELECT TABLE_NAME, CONSTRAINT_NAME, CHECK_CLAUSE FROM information_schema.CHECK_CONSTRAINTS WHERE "+where)
	if err != nil {
		return err
	}
	for _, r := range got {
		if !strings.EqualFold(r[2], "json_valid(`"+strings.ReplaceAll(r[1], "`", "``")+"`)") {
			continue
		}
		t := b.table(schema, r[0])
		for i := range t.Columns {
			if strings.EqualFold(t.Columns[i].Name, r[1]) {
				t.Columns[i].JSON = true
			}
		}
	}
	return nil
}

type catalogueBuilder struct {
	out   []mysql.TableInfo
	index map[string]int
}

func (b *catalogueBuilder) table(schema, name string) *mysql.TableInfo {
	key := schema + "\x00" + name
	i, ok := b.index[key]
	if !ok {
		i = len(b.out)
		b.index[key] = i
		b.out = append(b.out, mysql.TableInfo{TableName: mysql.TableName{Schema: schema, Name: name}, Rows: -1})
	}
	return &b.out[i]
}

func (b *catalogueBuilder) indexColumn(schema string, r []string) {
	t := b.table(schema, r[0])
	if n := len(t.Indexes); n == 0 || t.Indexes[n-1].Name != r[1] {
		t.Indexes = append(t.Indexes, mysql.IndexInfo{Name: r[1], Unique: r[2] == "0"})
	}
	ix := &t.Indexes[len(t.Indexes)-1]
	ix.Columns = append(ix.Columns, r[3])
}

// bySchema gives the condition that selects the tables of each schema. Equality with constants is what lets the server open just these tables.
func bySchema(tables []mysql.TableName) map[string]string {
	names := map[string][]string{}
	for _, t := range tables {
		names[t.Schema] = append(names[t.Schema], literal(t.Name))
	}
	out := make(map[string]string, len(names))
	for schema, list := range names {
		out[schema] = "TABLE_SCHEMA = " + literal(schema) + " AND TABLE_NAME IN (" + strings.Join(list, ", ") + ")"
	}
	return out
}

// literal quotes a name of the operator's configuration as a string, for a session whose sql_mode has backslash escapes.
func literal(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`, "\x00", `\0`).Replace(s) + "'"
}
