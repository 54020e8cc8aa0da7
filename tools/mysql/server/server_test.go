package server

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/memstore"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/sqlguard"
	"github.com/seed-069badc9/mcp-gateway/tools/mysql"
)

func guard(t testing.TB, maxRows int) *sqlguard.Guard {
	t.Helper()
	g, err := sqlguard.New(sqlguard.PolicySpec{DefaultSchema: "shop", MaxRows: maxRows, Schemas: map[string]map[string]sqlguard.TableSpec{"shop": {
		"types":     {Columns: []string{"id", "small", "flag", "bit1", "bit9", "bit64", "yr", "big", "dec_", "f", "d", "ts", "dt", "da", "ti", "e", "s", "j", "c", "v", "t", "vb", "bl", "g"}},
		"orders":    {Columns: []string{"id", "customer_id", "status", "total"}},
		"customers": {Columns: []string{"id", "name", "email", "settings"}, Masked: []string{"email"}},
		"big":       {Columns: []string{"id", "body"}},
		"numbers":   {Columns: []string{"n"}},
		"gone":      {Columns: []string{"id"}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func open(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// gateway is the tool behind a real boundary over a memory store.
type gateway struct {
	b    *boundary.Boundary
	tool *mysql.Tool
	run  boundary.Run
}

func newGateway(t testing.TB, s *Server, g *sqlguard.Guard, l boundary.Limits) *gateway {
	t.Helper()
	tool, err := mysql.New(mysql.Options{Datasources: []mysql.Datasource{{Name: "shop", Description: "orders and customers", Guard: g, Executor: s}}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := boundary.New(boundary.Options{Ledger: canonical.NewLedger(memstore.New(time.Now), time.Now), Limits: l}, boundary.Bind(tool))
	if err != nil {
		t.Fatal(err)
	}
	return &gateway{b, tool, boundary.Run{Principal: "local:test", ID: "inc-1", Spec: runSpec()}}
}

type observation struct {
	Evidence  string `json:"evidence_status"`
	Truncated bool   `json:"truncated"`
	Columns   []struct {
		Name   string `json:"name"`
		Type   string `json:"type"`
		Masked bool   `json:"masked"`
	} `json:"columns"`
	Rows  json.RawMessage `json:"rows"`
	Note  string          `json:"note"`
	bytes int
	all   string
}

func (g *gateway) ask(t testing.TB, sql string) (observation, error) {
	t.Helper()
	args, err := json.Marshal(map[string]string{"datasource": "shop", "sql": sql})
	if err != nil {
		t.Fatal(err)
	}
	obs, err := g.b.Invoke(t.Context(), g.run, boundary.Envelope{Tool: mysql.Name, Args: args})
	if err != nil {
		return observation{}, err
	}
	var o observation
	if err := json.Unmarshal(obs.JSON(), &o); err != nil {
		t.Fatalf("%s: %v", obs.JSON(), err)
	}
	o.bytes, o.all = len(obs.Result()), string(obs.JSON())
	return o, nil
}

func (g *gateway) rows(t testing.TB, sql string) string {
	t.Helper()
	o, err := g.ask(t, sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, explainErr(err))
	}
	return string(o.Rows)
}

func explainErr(err error) string {
	if r, ok := err.(*boundary.Refusal); ok {
		return string(r.Code) + ": " + r.Hint
	}
	return err.Error()
}

func codeOfRefusal(t testing.TB, err error) (fault.Code, string) {
	t.Helper()
	r, ok := err.(*boundary.Refusal)
	if !ok {
		t.Fatalf("got %v, want a refusal", err)
	}
	return r.Code, r.Hint
}

func ro(t testing.TB) *gateway {
	return newGateway(t, open(t, Options{DSN: server(t).dsn("ro")}), guard(t, 0), boundary.Limits{})
}

func TestTypesArriveAsTheDatabaseMeansThem(t *testing.T) {
	g := ro(t)
	for _, c := range []struct{ sql, want string }{
		{"SELECT id FROM types WHERE id > 5", `[["18446744073709551615"]]`},
		{"SELECT small, yr, big FROM types WHERE id = 1", `[[-7,2026,"9007199254740993"]]`},
		{"SELECT big FROM types WHERE id > 5", `[[-9007199254740991]]`},
		{"SELECT dec_ FROM types WHERE id IN (1, 18446744073709551615) ORDER BY id", `[["12345678901234.5000"],["-0.5000"]]`},
		{"SELECT f, d FROM types WHERE id = 1", `[[0.1,1e+300]]`},
		{"SELECT flag, bit1 FROM types WHERE id = 1", `[[true,true]]`},
		{"SELECT flag AS f2, bit1 AS b2 FROM types WHERE id = 3", `[[false,null]]`},
		{"SELECT flag, bit1 FROM types WHERE id > 5", `[[2,false]]`},
		{"SELECT flag + 0, bit1 + 0 FROM types WHERE id = 1", `[[1,1]]`},
		{"SELECT small FROM types WHERE id = 3", `[[0]]`},
		{"SELECT bit9, bit64 FROM types WHERE id = 1", `[[257,"18446744073709551615"]]`},
		{"SELECT ts, dt, da, ti FROM types WHERE id = 1", `[["2026-01-01T10:00:00.250Z","2026-01-01 10:00:00.50","2026-01-01","-838:59:59"]]`},
		{"SELECT ts, dt, da FROM types WHERE id = 4", `[["0000-00-00 00:00:00.000","0000-00-00 00:00:00.00","2026-02-00"]]`},
		{"SELECT e, s FROM types WHERE id = 1", `[["new","a,c"]]`},
		{"SELECT j FROM types WHERE id = 1", `[[{"n":"9007199254740993","list":[1,2.50,null,true],"text":"x\ny"}]]`},
		{"SELECT c, v, t FROM types WHERE id = 1", `[["ab","数据 \"quoted\"","line\none"]]`},
		{"SELECT vb FROM types WHERE id = 1", `[[{"binary":{"bytes":2,"sha256":"06eb7d6a69ee19e5fbdf749018d3d2abfa04bcbd1365db312eb86dc7169389b8"}}]]`},
		{"SELECT vb, bl FROM types WHERE id > 5", `[[{"binary":{"bytes":0,"sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}},{"binary":{"bytes":0,"sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}}]]`},
		{"SELECT e, j, v, bl, g, ts, dec_, d FROM types WHERE id = 3", `[[null,null,null,null,null,null,null,null]]`},
		{"SELECT id AS a, small AS a FROM types WHERE id = 1", `[[1,-7]]`},
		{"SELECT COUNT(*), AVG(small) FROM types WHERE id = 1", `[[1,"-7.0000"]]`},
		{"SELECT 1 AS one, 'x' AS x, NULL AS n, 1.50 AS d", `[[1,"x",null,"1.50"]]`},
	} {
		if got := g.rows(t, c.sql); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.sql, got, c.want)
		}
	}
	o, err := g.ask(t, "SELECT id AS a, small AS a, dec_, flag, j, g FROM types WHERE id = 1")
	if err != nil {
		t.Fatal(explainErr(err))
	}
	var got []string
	for _, c := range o.Columns {
		got = append(got, c.Name+" "+c.Type)
	}
	want := []string{"a bigint unsigned", "a tinyint", "dec_ decimal", "flag tinyint", "j json", "g geometry"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("columns (-want +got):\n%s", d)
	}
}

func TestMaskedColumnsShowNothing(t *testing.T) {
	g := ro(t)
	for _, c := range []struct{ sql, want string }{
		{"SELECT id, email FROM customers ORDER BY id", `[[1,"<masked>"],[2,"<masked>"]]`},
		{"SELECT x.mail, x.id FROM (SELECT id, email AS mail FROM customers) x ORDER BY x.id", `[["<masked>",1],["<masked>",2]]`},
		{"WITH c AS (SELECT email FROM customers WHERE id = 1) SELECT email FROM c", `[["<masked>"]]`},
		{"SELECT COUNT(email) AS n FROM customers", `[[1]]`},
		{"SELECT id FROM customers WHERE email IS NULL", `[[2]]`},
	} {
		o, err := g.ask(t, c.sql)
		if err != nil {
			t.Errorf("%s: %s", c.sql, explainErr(err))
			continue
		}
		if string(o.Rows) != c.want || strings.Contains(o.all, "example.com") {
			t.Errorf("%s\n got %s\nwant %s", c.sql, o.Rows, c.want)
		}
	}
}

func TestMaskedCellsAreNotEvenKept(t *testing.T) {
	s := open(t, Options{DSN: server(t).dsn("ro")})
	plan := mustPlan(t, guard(t, 0), "SELECT id, email FROM customers ORDER BY id")
	raw, err := s.Run(t.Context(), permit(t, 1<<20), plan)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := json.Marshal(raw); err != nil || strings.Contains(string(b), "example.com") {
		t.Errorf("raw holds the masked value: %s, %v", b, err)
	}
}

// 1. Fill a row with a cell of chosen length beside a masked one. 2. Where RAW_TOO_LARGE begins told how long the masked value is. 3. The same for a NULL gave its
// nullness and, over several rows, one length after the other.
func TestTheLengthOfAMaskedCellDoesNotDecideWhatIsTooLarge(t *testing.T) {
	s := open(t, Options{DSN: server(t).dsn("ro")})
	g := guard(t, 0)
	for id := 1; id <= 2; id++ { // an address and NULL
		plan := mustPlan(t, g, fmt.Sprintf("SELECT email, REPEAT('a', 998) FROM customers WHERE id = %d", id))
		if _, err := s.Run(t.Context(), permit(t, 1000), plan); err != nil {
			t.Errorf("row %d at the limit: %v", id, err)
		}
		if _, err := s.Run(t.Context(), permit(t, 999), plan); fault.CodeOf(err) != fault.RawTooLarge {
			t.Errorf("row %d over it: %v, want %s", id, err, fault.RawTooLarge)
		}
	}
}

func mustPlan(t testing.TB, g *sqlguard.Guard, sql string) sqlguard.Plan {
	t.Helper()
	p, err := g.Plan(sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return p
}

func TestSecretsInCellsAreMasked(t *testing.T) {
	o, err := ro(t).ask(t, "SELECT settings FROM customers WHERE id = 1")
	if err != nil {
		t.Fatal(explainErr(err))
	}
	if strings.Contains(o.all, "canary") || !strings.Contains(o.all, "<secret>") || !strings.Contains(o.all, "retries=3") {
		t.Errorf("got %s", o.all)
	}
	if o.Note == "" {
		t.Error("a mask without a note")
	}
}

func TestTruncationIsTheTruth(t *testing.T) {
	s := open(t, Options{DSN: server(t).dsn("ro")})
	g := newGateway(t, s, guard(t, 10), boundary.Limits{})
	for _, c := range []struct {
		sql       string
		rows      int
		truncated bool
	}{
		{"SELECT n FROM numbers WHERE n <= 9", 9, false},
		{"SELECT n FROM numbers WHERE n <= 10", 10, false},
		{"SELECT n FROM numbers WHERE n <= 11", 10, true},
		{"SELECT n FROM numbers", 10, true},
		{"SELECT n FROM numbers LIMIT 5", 5, false},
		{"SELECT n FROM numbers LIMIT 50", 10, true},
		{"SELECT n FROM numbers WHERE n <= 10 LIMIT 50", 10, false},
		{"SELECT n FROM numbers WHERE n < 0", 0, false},
	} {
		o, err := g.ask(t, c.sql)
		if err != nil {
			t.Errorf("%s: %s", c.sql, explainErr(err))
			continue
		}
		var rows [][]any
		if err := json.Unmarshal(o.Rows, &rows); err != nil {
			t.Fatal(err)
		}
		wantEv := "EVIDENCE_FOUND"
		if c.rows == 0 {
			wantEv = "NO_EVIDENCE"
		}
		if len(rows) != c.rows || o.Truncated != c.truncated || o.Evidence != wantEv || len(o.Columns) != 1 {
			t.Errorf("%s: %d rows, truncated %v, %s, %d columns; want %d, %v, %s, 1", c.sql, len(rows), o.Truncated, o.Evidence, len(o.Columns), c.rows, c.truncated, wantEv)
		}
	}
}

func TestLongCellsAreCutBeforeRowsAreDropped(t *testing.T) {
	g := newGateway(t, open(t, Options{DSN: server(t).dsn("ro")}), guard(t, 0), boundary.Limits{})
	o, err := g.ask(t, "SELECT n, REPEAT('long text ', n) AS body FROM numbers WHERE n <= 100 ORDER BY n")
	if err != nil {
		t.Fatal(explainErr(err))
	}
	var rows [][]any
	if err := json.Unmarshal(o.Rows, &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 100 || !o.Truncated || !strings.HasSuffix(rows[99][1].(string), "…") || rows[0][1] != "long text " || o.bytes > 16<<10 {
		t.Errorf("%d rows, truncated %v, %d bytes, last %v", len(rows), o.Truncated, o.bytes, rows[len(rows)-1])
	}
}

func TestRefusalsReachNoDatabase(t *testing.T) {
	// A server that cannot be reached proves that nothing tried.
	g := newGateway(t, open(t, Options{DSN: "ro:x@unix(/nonexistent/socket)/shop"}), guard(t, 0), boundary.Limits{})
	for sql, want := range map[string]fault.Code{
		"UPDATE orders SET status = 'PAID'":        fault.SQLNotReadOnly,
		"SELECT 1; DELETE FROM orders":             fault.SQLNotReadOnly,
		"SELECT * FROM mysql.user":                 fault.SQLTableNotAllowed,
		"SELECT phone FROM customers":              fault.SQLColumnNotAllowed,
		"SELECT id FROM customers WHERE email='x'": fault.SQLMaskedColumn,
		"SELECT SLEEP(1)":                          fault.SQLFunctionNotAllowed,
		"  ":                                       fault.InvalidRequest,
	} {
		_, err := g.ask(t, sql)
		if got, _ := codeOfRefusal(t, err); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
	_, err := g.ask(t, "SELECT n FROM numbers")
	if got, _ := codeOfRefusal(t, err); got != fault.BackendError {
		t.Errorf("an allowed statement: %s, want %s: the test proves nothing", got, fault.BackendError)
	}
}

func TestShowAndExplainComeFromAllowlistAndCatalogue(t *testing.T) {
	g := ro(t)
	tables := g.rows(t, "SHOW TABLES")
	if !strings.Contains(tables, `["shop","orders","id, customer_id, status, total",`) || !strings.Contains(tables, `"id, name, email (masked), settings"`) || strings.Contains(tables, "gone") {
		t.Errorf("SHOW TABLES: %s", tables)
	}
	if got := g.rows(t, "SHOW TABLES LIKE 'n%'"); !strings.Contains(got, "numbers") || strings.Contains(got, "orders") {
		t.Errorf("SHOW TABLES LIKE: %s", got)
	}
	want := `[["id","int(11)","NO","PRI","NO"],["name","varchar(64)","YES","","NO"],["email","varchar(128)","YES","","YES"],["settings","varchar(500)","YES","","NO"]]`
	if got := g.rows(t, "DESCRIBE customers"); got != want {
		t.Errorf("DESCRIBE:\n got %s\nwant %s", got, want)
	}
	if got := g.rows(t, "SHOW COLUMNS FROM types LIKE 'j'"); got != `[["j","json","YES","","NO"]]` {
		t.Errorf("SHOW COLUMNS LIKE: %s", got)
	}
	if got := g.rows(t, "SHOW INDEX FROM orders"); !strings.Contains(got, `["by_status","status","NO"]`) || !strings.Contains(got, `["PRIMARY","id","YES"]`) || strings.Contains(got, "by_hidden") {
		t.Errorf("SHOW INDEX: %s", got)
	}
	if got := g.rows(t, "SHOW DATABASES"); got != `[["shop"]]` {
		t.Errorf("SHOW DATABASES: %s", got)
	}
	got := g.rows(t, "EXPLAIN SELECT status, COUNT(*) FROM orders GROUP BY status")
	if !strings.Contains(got, `"shop.orders","status"`) || !strings.Contains(got, "by_status(status)") || strings.Contains(got, "by_hidden") {
		t.Errorf("EXPLAIN: %s", got)
	}
}

func TestSchemaListsTheAllowlistWithTypes(t *testing.T) {
	g := ro(t)
	got, err := g.tool.Schema(t.Context(), "shop", boundary.Grants{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`{"name":"email","type":"varchar(128)","masked":true}`, `{"name":"j","type":"json"}`, `"truncated":false`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if strings.Contains(string(got), "phone") {
		t.Errorf("a column outside the allowlist: %s", got)
	}
	if _, err := g.tool.Schema(t.Context(), "shop", boundary.NewGrants(map[boundary.Kind][]string{boundary.Datasources: {}})); fault.CodeOf(err) != fault.InvalidRequest {
		t.Errorf("outside the grants: %v", err)
	}
	down := newGateway(t, open(t, Options{DSN: "ro:x@unix(/nonexistent/socket)/shop"}), guard(t, 0), boundary.Limits{})
	got, err = down.tool.Schema(t.Context(), "shop", boundary.Grants{})
	if err != nil || !strings.Contains(string(got), `{"name":"email","masked":true}`) {
		t.Errorf("without the database: %s, %v", got, err)
	}
}

func TestAStatementIsOneRoundTrip(t *testing.T) {
	m := server(t)
	s := open(t, Options{DSN: m.dsn("ro")})
	plan := mustPlan(t, guard(t, 0), "SELECT id, status FROM orders WHERE id = 7")
	questions := func() int {
		t.Helper()
		n, err := strconv.Atoi(m.must(t, "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'QUESTIONS'"))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	run := func() {
		t.Helper()
		if _, err := s.Run(t.Context(), permit(t, 1<<20), plan); err != nil {
			t.Fatal(err)
		}
	}
	run() // connects
	before := questions()
	asking := questions() - before
	for range 50 {
		run()
	}
	if n := questions() - before - 2*asking; n != 50 {
		t.Errorf("50 statements took %d round trips", n)
	}
}
