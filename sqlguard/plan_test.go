package sqlguard_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/sqlguard"
)

func TestPlanFacts(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	p, err := g.Plan("select P.ID, m.name AS who, mail, COUNT(*) over () from PURCHASES p join members m on m.id = p.member_id where p.state = 'paid' limit 7;")
	if err != nil {
		t.Fatal(err, hint(err))
	}
	if p.IsZero() || p.Kind() != sqlguard.Select || p.Limit() != 7 || !p.UserLimited() {
		t.Errorf("kind %v limit %d user %v", p.Kind(), p.Limit(), p.UserLimited())
	}
	want := "SELECT `p`.`id` AS `ID`, `m`.`name` AS `who`, `m`.`mail` AS `mail`, COUNT(*) OVER () AS `COUNT(*) over ()` FROM `store`.`purchases` AS `p` JOIN `store`.`members` AS `m`" +
		" ON (`m`.`id` = `p`.`member_id`) WHERE (`p`.`state` = 'paid') LIMIT 7"
	if p.SQL() != want {
		t.Errorf("SQL\n got %s\nwant %s", p.SQL(), want)
	}
	if d := cmp.Diff([]string{"store.members", "store.purchases"}, p.Tables()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"store.members.id", "store.members.mail", "store.members.name", "store.purchases.id", "store.purchases.member_id", "store.purchases.state"}, p.Columns()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"store.members.mail"}, p.Masked()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]sqlguard.Output{
		{Name: "ID", Source: "store.purchases.id"}, {Name: "who", Source: "store.members.name"}, {Name: "mail", Masked: true, Source: "store.members.mail"}, {Name: "COUNT(*) over ()"},
	}, p.Outputs()); d != "" {
		t.Error(d)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	for _, c := range []struct {
		sql, tail string
		limit     int
		user      bool
	}{
		{"SELECT id FROM items", " LIMIT 201", 200, false},
		{"SELECT id FROM items LIMIT 5", " LIMIT 5", 5, true},
		{"SELECT id FROM items LIMIT 0", " LIMIT 0", 0, true},
		{"SELECT id FROM items LIMIT 200", " LIMIT 200", 200, true},
		{"SELECT id FROM items LIMIT 201", " LIMIT 201", 200, false},
		{"SELECT id FROM items LIMIT 10, 5000", " LIMIT 201 OFFSET 10", 200, false},
		{"SELECT id FROM items LIMIT 18446744073709551615", " LIMIT 201", 200, false},
		{"SELECT id FROM items UNION SELECT id FROM lines LIMIT 3 OFFSET 2", " LIMIT 3 OFFSET 2", 3, true},
		{"(SELECT id FROM items LIMIT 3)", " LIMIT 3", 3, true},
	} {
		p, err := g.Plan(c.sql)
		if err != nil {
			t.Errorf("%s: %v %s", c.sql, err, hint(err))
			continue
		}
		if !strings.HasSuffix(p.SQL(), c.tail) || p.Limit() != c.limit || p.UserLimited() != c.user {
			t.Errorf("%s: limit %d user %v in %s", c.sql, p.Limit(), p.UserLimited(), p.SQL())
		}
	}
}

func TestNormalFoldsSpelling(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	same := []string{
		"SELECT id, name FROM items WHERE name = 'it''s'",
		"select   id,name from store.items where name='it\\'s' -- again",
		"/* x */ SELECT `id`, `name` FROM `items` WHERE name = \"it's\" LIMIT 5000;",
	}
	first, err := g.Plan(same[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range same[1:] {
		p, err := g.Plan(s)
		if err != nil {
			t.Fatal(err, hint(err))
		}
		if p.Normal() != first.Normal() {
			t.Errorf("%q\n got %s\nwant %s", s, p.Normal(), first.Normal())
		}
	}
	other, err := g.Plan(same[0] + " LIMIT 5")
	if err != nil || other.Normal() == first.Normal() {
		t.Errorf("a LIMIT within the bound is another statement: %s %v", other.Normal(), err)
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	for _, c := range []struct {
		sql            string
		kind           sqlguard.Kind
		table, pattern string
	}{
		{"SHOW TABLES", sqlguard.ShowTables, "", ""},
		{"show full tables from store like 'pur%';", sqlguard.ShowTables, "", "pur%"},
		{"SHOW COLUMNS FROM purchases", sqlguard.ShowColumns, "purchases", ""},
		{"SHOW FULL COLUMNS IN items FROM store LIKE 'n%'", sqlguard.ShowColumns, "items", "n%"},
		{"SHOW FIELDS FROM `store`.`order`", sqlguard.ShowColumns, "order", ""},
		{"DESCRIBE Items", sqlguard.ShowColumns, "items", ""},
		{"desc store.members", sqlguard.ShowColumns, "members", ""},
		{"DESC members login_count", sqlguard.ShowColumns, "members", `login\_count`},
		{"EXPLAIN outages", sqlguard.ShowColumns, "outages", ""},
		{"EXPLAIN SELECT id FROM items", sqlguard.Explain, "", ""},
		{`EXPLAIN FORMAT="json" SELECT id FROM items`, sqlguard.Explain, "", ""},
		{"SHOW INDEX FROM Purchases", sqlguard.ShowIndex, "purchases", ""},
		{"show keys in purchases from store;", sqlguard.ShowIndex, "purchases", ""},
		{"EXPLAIN FORMAT=JSON WITH t AS (SELECT 1 a) SELECT a FROM t", sqlguard.Explain, "", ""},
	} {
		p, err := g.Plan(c.sql)
		if err != nil {
			t.Errorf("%s: %v %s", c.sql, err, hint(err))
			continue
		}
		if _, table := p.Target(); p.Kind() != c.kind || table != c.table || p.Pattern() != c.pattern || p.SQL() != "" {
			t.Errorf("%s: %v table %q pattern %q sql %q", c.sql, p.Kind(), table, p.Pattern(), p.SQL())
		}
		if (p.Kind() == sqlguard.Explain) != (p.Inner().Kind() == sqlguard.Select) {
			t.Errorf("%s: inner %v", c.sql, p.Inner().Kind())
		}
	}
}

func TestShowDatabasesListsTheSchemasOfTheAllowlist(t *testing.T) {
	t.Parallel()
	if p, err := newGuard(t).Plan("SHOW DATABASES"); err != nil || p.Kind() != sqlguard.ShowDatabases {
		t.Errorf("one schema: %v %v", err, p.Kind())
	}
	spec := shop()
	spec.Schemas["archive"] = map[string]sqlguard.TableSpec{"old": {Columns: []string{"id"}}}
	g, err := sqlguard.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	p, err := g.Plan("SHOW SCHEMAS LIKE 's%'")
	if err != nil || p.Kind() != sqlguard.ShowDatabases || p.Pattern() != "s%" {
		t.Errorf("two schemas: %v %v %q", err, p.Kind(), p.Pattern())
	}
}

func TestZeroPlanIsNoPlan(t *testing.T) {
	t.Parallel()
	var p sqlguard.Plan
	if !p.IsZero() || !p.Inner().IsZero() || p.SQL() != "" {
		t.Error("the zero plan counts as one")
	}
}

func TestProblemsNamesEveryMistake(t *testing.T) {
	t.Parallel()
	spec := sqlguard.PolicySpec{MaxRows: -1, Schemas: map[string]map[string]sqlguard.TableSpec{
		"mysql": {"user": {Columns: []string{"Host"}}},
		"a":     {"empty": {}, "twice": {Columns: []string{"x", "X"}}, "star": {Columns: []string{"*"}}, "": {Columns: []string{"x"}}},
		"b":     {},
	}}
	got := strings.Join(spec.Problems(), "\n")
	for _, want := range []string{"max_rows", "system schema", "a.empty allows no column", `column "X" of a.twice is listed twice`, "a star would publish", "the name is empty", `schema "b" allows no table`} {
		if !strings.Contains(got, want) {
			t.Errorf("no problem says %q:\n%s", want, got)
		}
	}
	if _, err := sqlguard.New(spec); err == nil {
		t.Error("New takes a policy with problems")
	}
	if ps := shop().Problems(); len(ps) != 0 {
		t.Errorf("a good policy has problems: %v", ps)
	}
}

func TestSecretNamesAreMaskedEvenIfListed(t *testing.T) {
	t.Parallel()
	masked := []string{"password", "password_hash", "passwd", "userPwd", "api_token", "apiKey", "api_key", "API_KEY", "client_secret", "secretKey", "private_key", "credentials", "refresh_token_enc", "token", "access-key"}
	open := []string{"token_count", "total_tokens", "secretary", "passport_no", "password_changed_at", "has_password", "tokenizer", "key", "keyboard", "passenger", "api_version", "token_type"}
	spec := sqlguard.PolicySpec{DefaultSchema: "d", Schemas: map[string]map[string]sqlguard.TableSpec{"d": {}}}
	for _, n := range append(append([]string{}, masked...), open...) {
		spec.Schemas["d"]["t_"+n] = sqlguard.TableSpec{Columns: []string{n}} // names that differ in case only cannot share a table
	}
	g, err := sqlguard.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, n := range masked {
		want[n] = true
	}
	for _, tab := range g.Tables() {
		for _, c := range tab.Columns {
			if c.Masked != want[c.Name] {
				t.Errorf("%s masked = %v", c.Name, c.Masked)
			}
		}
	}
}

func TestRefusalsHelp(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	for _, c := range []struct {
		sql, hint string
		code      fault.Code
	}{
		{"SELECT id FROM purchase", "purchases", fault.SQLTableNotAllowed},
		{"SELECT table_name FROM information_schema.tables", "SHOW TABLES", fault.SQLTableNotAllowed},
		{"SELECT titel FROM outages", "title", fault.SQLColumnNotAllowed},
		{"SELECT p.stat FROM purchases p", "state", fault.SQLColumnNotAllowed},
		{"SELECT STRFTIME('%Y', bought_at) FROM purchases", "DATE_FORMAT", fault.SQLFunctionNotAllowed},
		{"SELECT mail FROM members ORDER BY mail", "IS NULL", fault.SQLMaskedColumn},
		{"SELECT TOP 5 id FROM items", "LIMIT", fault.SQLSyntax},
		{"SELECT id FROM items a FULL JOIN lines b ON a.id = b.id", "LEFT JOIN", fault.SQLSyntax},
		{"SELECT id FROM items NATURAL JOIN lines", "ON", fault.SQLUnsupported},
		{"TABLE items", "SELECT * FROM items", fault.SQLUnsupported},
		{"SELECT id FROM items WHERE", "", fault.SQLSyntax},
		{"SELECT id FROM items FETCH FIRST 3 ROWS ONLY", "LIMIT", fault.SQLUnsupported},
		{"UPDATE items SET price = 0", "SELECT", fault.SQLNotReadOnly},
		{"SELECT 1; SELECT 2", "one statement", fault.SQLNotReadOnly},
		{"SELECT state s FROM purchases WHERE s = 'paid'", "alias", fault.SQLColumnNotAllowed},
		{"SELECT id FROM items GROUP BY ROLLUP(id)", "WITH ROLLUP", fault.SQLFunctionNotAllowed},
		{"SELECT SUM(amount) FILTER (WHERE state = 'paid') FROM purchases", "CASE WHEN", fault.SQLSyntax},
		{"SELECT '2025-01-01'::date", "CAST", fault.SQLUnsupported},
		{"SELECT [id] FROM items", "back quotes", fault.SQLSyntax},
		{`SELECT id FROM items WHERE id = 1\G`, `\G is a command`, fault.SQLSyntax},
		{"SELECT DISTINCT ON (kind) kind FROM items", "ROW_NUMBER", fault.SQLSyntax},
		{"SELECT NOW() - interval '1 day'", "INTERVAL 1 DAY", fault.SQLSyntax},
		{"SELECT id FROM purchases WHERE bought_at > NOW() - INTERVAL '1 hour' ORDER BY id", "INTERVAL 1 DAY", fault.SQLSyntax},
		{"SELECT key FROM `order`", "`key`", fault.SQLSyntax},
		{"SELECT id FROM items WHERE id = 1AND name = 'I1'", "cannot be read near name", fault.SQLSyntax},
		{"SELECT p.id FROM purchases p, items i JOIN members m ON m.id = p.member_id", "comma", fault.SQLTableNotAllowed},
		{"SELECT VERSION()", "server", fault.SQLFunctionNotAllowed},
		{"SELECT CURRENT_USER()", "account", fault.SQLFunctionNotAllowed},
		{"SHOW PROCESSLIST", "SHOW TABLES", fault.SQLUnsupported},
		{"SHOW FULL PROCESSLIST", "SHOW TABLES", fault.SQLUnsupported},
		{"SHOW TABLE STATUS LIKE 'items'", "SHOW TABLES", fault.SQLUnsupported},
		{"SHOW CREATE TABLE items", "SHOW INDEX FROM items", fault.SQLUnsupported},
		{"WITH t AS (SELECT REPLACE(name, 'a', 'b') x FROM items) SELECT x x x FROM t", "cannot be read near", fault.SQLSyntax},
	} {
		_, err := g.Plan(c.sql)
		if fault.CodeOf(err) != c.code {
			t.Errorf("%s: code %s, want %s (%s)", c.sql, fault.CodeOf(err), c.code, hint(err))
		}
		if !strings.Contains(hint(err), c.hint) {
			t.Errorf("%s: hint %q does not say %q", c.sql, hint(err), c.hint)
		}
	}
}

func TestOneGuardServesManyCallers(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	statements := readAccepted(t)
	want := make([]string, len(statements))
	for i, a := range statements {
		p, err := g.Plan(a.sql)
		if err != nil {
			t.Fatal(a.sql, err)
		}
		want[i] = p.SQL()
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i, a := range statements {
				if p, err := g.Plan(a.sql); err != nil || p.SQL() != want[i] {
					t.Errorf("%s: %v %s", a.sql, err, p.SQL())
				}
			}
		})
	}
	wg.Wait()
}

// What a server would resolve to a hidden column of a table is never printed as a bare name: outputs stand for their position or their expression.
func TestOutputNamesCannotReachHiddenColumns(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	for sql, tail := range map[string]string{
		"SELECT id AS phone FROM members ORDER BY phone":             " ORDER BY 1 LIMIT 201",
		"SELECT id AS phone FROM members ORDER BY phone LIKE '1%'":   " ORDER BY (`members`.`id` LIKE '1%') LIMIT 201",
		"SELECT id AS phone, COUNT(*) FROM members GROUP BY phone":   " GROUP BY 1 LIMIT 201",
		"SELECT id AS phone FROM members GROUP BY LENGTH(phone), id": " GROUP BY LENGTH(`members`.`id`), `members`.`id` LIMIT 201",
		"WITH vault AS (SELECT 1 AS v) SELECT v FROM vault":          "FROM `cte_1` AS `vault` LIMIT 201",
	} {
		p, err := g.Plan(sql)
		if err != nil {
			t.Errorf("%s: %v %s", sql, err, hint(err))
			continue
		}
		if !strings.HasSuffix(p.SQL(), tail) {
			t.Errorf("%s\n got %s\nwant …%s", sql, p.SQL(), tail)
		}
	}
}
