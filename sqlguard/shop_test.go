package sqlguard_test

import (
	"testing"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/sqlguard"
)

// shop is the policy of the tests. members.password_hash, members.reset_token and members.phone exist in the test database and are in no list;
// vault and the schema payroll are not allowed at all.
func shop() sqlguard.PolicySpec {
	return sqlguard.PolicySpec{
		DefaultSchema: "store",
		Schemas: map[string]map[string]sqlguard.TableSpec{"store": {
			"members":   {Columns: []string{"id", "name", "mail", "city", "level", "joined_at", "prefs", "login_count"}, Masked: []string{"mail"}},
			"purchases": {Columns: []string{"id", "member_id", "state", "amount", "currency", "bought_at", "paid_at", "remark"}},
			"lines":     {Columns: []string{"id", "purchase_id", "item_id", "qty", "price"}},
			"items":     {Columns: []string{"id", "name", "kind", "price", "attrs"}},
			"outages":   {Columns: []string{"id", "service", "severity", "begun_at", "ended_at", "title"}},
			"staff":     {Columns: []string{"id", "name", "boss_id", "team", "pay"}},
			"order":     {Columns: []string{"id", "group", "key", "select"}},
			"数据":        {Columns: []string{"编号", "数量"}},
		}},
	}
}

func newGuard(t testing.TB) *sqlguard.Guard {
	t.Helper()
	g, err := sqlguard.New(shop())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// hint is the public hint of a refusal.
func hint(err error) string {
	_, _, h := fault.Public(err)
	return h
}
