package sqlguard_test

import (
	"database/sql"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/sqlguard"
)

// accepted is one line of testdata/accept.txtar.
type accepted struct{ category, mark, sql string }

func readAccepted(t testing.TB) []accepted {
	t.Helper()
	raw, err := os.ReadFile("testdata/accept.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var out []accepted
	for _, f := range txtar.Parse(raw).Files {
		for line := range strings.Lines(string(f.Data)) {
			a := accepted{category: f.Name, sql: strings.TrimSuffix(line, "\n")}
			for _, m := range []string{"mysql", "plan", "ours"} {
				if rest, ok := strings.CutPrefix(a.sql, m+": "); ok {
					a.mark, a.sql = m, rest
				}
			}
			out = append(out, a)
		}
	}
	if len(out) < 150 {
		t.Fatalf("only %d statements", len(out))
	}
	return out
}

func TestAcceptsWhatPeopleAndModelsWrite(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	for _, a := range readAccepted(t) {
		p, err := g.Plan(a.sql)
		if err != nil {
			t.Errorf("%s: %s\n\t%v: %s", a.category, a.sql, err, hint(err))
			continue
		}
		again, err := g.Plan(p.SQL())
		if err != nil {
			t.Errorf("the plan is refused: %s\n\t%v: %s", p.SQL(), err, hint(err))
			continue
		}
		if again.SQL() != p.SQL() {
			t.Errorf("the plan of a plan differs\n got %s\nwant %s", again.SQL(), p.SQL())
		}
		if d := cmp.Diff(p.Outputs(), again.Outputs()); d != "" {
			t.Errorf("%s: outputs differ\n%s", a.sql, d)
		}
	}
}

// The plan gives what the original gives, and the server itself finds that it touches the allowed columns only: it runs under grants for just those. Stars over members are not in the list: there the plan shows fewer columns, which is its purpose.
func TestOnAServer(t *testing.T) {
	t.Parallel()
	root, reader := startServer(t)
	g := newGuard(t)
	t.Run("plans give the rows of the original", func(t *testing.T) { checkAccepted(t, g, root, reader) })
	t.Run("expressions keep their meaning", func(t *testing.T) { checkExpressions(t, g, root, reader) })
	t.Run("random statements give the rows of their plans", func(t *testing.T) { checkStatements(t, root, reader) })
	t.Run("hidden and masked values decide nothing", func(t *testing.T) { checkInterference(t, g, root) })
}

func checkAccepted(t *testing.T, g *sqlguard.Guard, root, reader *sql.DB) {
	same := 0
	for _, a := range readAccepted(t) {
		if a.mark == "plan" {
			continue
		}
		p, err := g.Plan(a.sql)
		if err != nil {
			t.Errorf("%s: %v", a.sql, err)
			continue
		}
		got, err := ask(t, reader, p.SQL())
		if err != nil {
			if a.mark == "mysql" && syntaxOrUnknown(err) && strings.Contains(p.SQL(), "LATERAL") {
				continue // MariaDB 10.11 has no LATERAL
			}
			t.Errorf("%s\n\t%s\n\t%v", a.sql, p.SQL(), err)
			continue
		}
		var names []string
		for _, o := range p.Outputs() {
			names = append(names, o.Name)
		}
		if d := cmp.Diff(names, got.Columns); d != "" {
			t.Errorf("%s: announced names differ from those of the server\n%s", a.sql, d)
		}
		want, err := ask(t, root, strings.TrimRight(a.sql, "; "))
		if a.mark != "" {
			if err == nil {
				t.Errorf("%s: runs on MariaDB, drop the mark", a.sql)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: the original fails: %v", a.sql, err)
			continue
		}
		if !strings.Contains(strings.ToUpper(a.sql), "ORDER BY") {
			slices.Sort(got.Rows)
			slices.Sort(want.Rows)
		}
		if len(want.Rows) > 200 {
			want.Rows, got.Rows = want.Rows[:200], got.Rows[:200]
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s\n\t%s\n%s", a.sql, p.SQL(), d)
			continue
		}
		same++
	}
	t.Logf("%d statements give the same rows", same)
}

// Operators bind as they do on the server: random expressions with as few brackets as possible give the same values.
func checkExpressions(t *testing.T, g *sqlguard.Guard, root, reader *sql.DB) {
	r := rand.New(rand.NewPCG(1, 2))
	same := 0
	for range 800 {
		q := "SELECT id, " + expression(r, 3) + " AS x FROM `lines` WHERE id < 5 ORDER BY id"
		p, err := g.Plan(q)
		if fault.CodeOf(err) == fault.SQLSyntax {
			continue // predicates in a row without brackets, which MySQL refuses as well
		}
		if err != nil {
			t.Errorf("%s: %v %s", q, err, hint(err))
			continue
		}
		want, err := ask(t, root, q)
		if err != nil {
			continue // out of range, or the server's own parser gives up
		}
		got, err := ask(t, reader, p.SQL())
		if err != nil {
			t.Errorf("%s\n\t%s\n\t%v", q, p.SQL(), err)
			continue
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s\n\t%s\n%s", q, p.SQL(), d)
		}
		same++
	}
	if same < 400 {
		t.Errorf("only %d expressions could be compared", same)
	}
}

func expression(r *rand.Rand, depth int) string {
	pick := func(s ...string) string { return s[r.IntN(len(s))] }
	sub := func() string { return expression(r, depth-1) }
	n := r.IntN(100)
	switch {
	case depth == 0 || n < 15:
		return pick("0", "1", "2", "3", "NULL", "TRUE", "'1'", "'a'", "1.5", "id", "qty")
	case n < 28:
		return pick("NOT ", "-", "- ", "!", "~", "BINARY ", "+") + sub()
	case n < 34:
		return "CASE WHEN " + sub() + " THEN " + sub() + " ELSE " + sub() + " END"
	case n < 40:
		return "(" + sub() + ")"
	case n < 48:
		return sub() + pick(" IN ", " NOT IN ") + "(1, " + sub() + ")"
	case n < 54:
		return sub() + pick(" IS NULL", " IS NOT NULL", " IS TRUE", " IS NOT FALSE")
	case n < 60:
		return sub() + pick(" LIKE ", " NOT LIKE ") + pick("'1%'", "id", "'a'")
	case n < 66:
		return sub() + pick(" BETWEEN ", " NOT BETWEEN ") + pick("1", "qty", "id + 1") + " AND " + pick("3", "id", "qty - 1")
	}
	return sub() + " " + pick("+", "-", "*", "/", "DIV", "%", "MOD", "AND", "OR", "XOR", "&&", "||", "=", "<>", "!=", "<", "<=", ">", ">=", "<=>", "&", "|", "^", "<<", ">>") + " " + sub()
}
