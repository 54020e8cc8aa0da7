package mysql

import (
	"strings"
	"testing"

	"github.com/seed-069badc9/mcp-gateway/sqlguard"
)

func tableOf(schema, name string, columns ...string) TableInfo {
	t := TableInfo{TableName: TableName{schema, name}}
	for _, c := range columns {
		t.Columns = append(t.Columns, ColumnInfo{Name: c})
	}
	return t
}

// "masked: [emial]" passed check --connect, and the e-mail addresses were shown.
func TestAnAllowlistIsHeldAgainstTheDatabase(t *testing.T) {
	t.Parallel()
	shop := &backend{catalogue: []TableInfo{tableOf("shop", "customers", "id", "Name", "email"), tableOf("shop", "orders", "id", "status")}}
	for name, c := range map[string]struct {
		tables map[string]sqlguard.TableSpec
		says   []string // nil: all is there
	}{
		"all there, in another case":    {map[string]sqlguard.TableSpec{"customers": {Columns: []string{"ID", "name"}, Masked: []string{"Email"}}}, nil},
		"a masked name that is none":    {map[string]sqlguard.TableSpec{"customers": {Columns: []string{"id", "email"}, Masked: []string{"emial"}}}, []string{"column shop.customers.emial (did you mean email?)"}},
		"a column and a table too many": {map[string]sqlguard.TableSpec{"orders": {Columns: []string{"id", "stat", "zzz"}}, "carts": {Columns: []string{"id"}}}, []string{"table shop.carts", "column shop.orders.zzz"}},
	} {
		g, err := sqlguard.New(sqlguard.PolicySpec{DefaultSchema: "shop", Schemas: map[string]map[string]sqlguard.TableSpec{"shop": c.tables}})
		if err != nil {
			t.Fatal(err)
		}
		err = CheckAllowlist(t.Context(), g, shop)
		if (err == nil) != (c.says == nil) {
			t.Errorf("%s: %v", name, err)
		}
		for _, s := range c.says {
			if err != nil && !strings.Contains(err.Error(), s) {
				t.Errorf("%s: %v does not say %q", name, err, s)
			}
		}
	}
	many := sqlguard.TableSpec{}
	for i := range 30 {
		many.Columns = append(many.Columns, "column_"+strings.Repeat("x", i+1))
	}
	g, err := sqlguard.New(sqlguard.PolicySpec{DefaultSchema: "shop", Schemas: map[string]map[string]sqlguard.TableSpec{"shop": {"orders": many}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := CheckAllowlist(t.Context(), g, shop); err == nil || !strings.HasSuffix(err.Error(), "and 22 more") {
		t.Errorf("%v", err)
	}
}
