package sqlguard_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
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
func TestPlansGiveTheRowsOfTheOriginal(t *testing.T) {
	t.Parallel()
	root, reader := startServer(t)
	g := newGuard(t)
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
