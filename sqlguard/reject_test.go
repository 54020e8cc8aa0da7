package sqlguard_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// rejected is one line of testdata/reject.txtar or of a file under testdata/regress.
type rejected struct{ class, code, sql string }

func readRejected(t testing.TB) []rejected {
	t.Helper()
	files, err := filepath.Glob("testdata/regress/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no regression files", err)
	}
	var out []rejected
	for _, name := range append(files, "testdata/reject.txtar") {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		a := txtar.Parse(raw)
		if len(a.Comment) == 0 {
			t.Errorf("%s does not say what it is about", name)
		}
		for _, f := range a.Files {
			for line := range strings.Lines(string(f.Data)) {
				code, sql, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
				if !ok || !fault.Known(fault.Code(code)) {
					t.Fatalf("%s: %q does not begin with a code", name, line)
				}
				if strings.HasPrefix(sql, `"`) {
					if sql, err = strconv.Unquote(sql); err != nil {
						t.Fatalf("%s: %q: %v", name, line, err)
					}
				}
				out = append(out, rejected{filepath.Base(name) + "/" + f.Name, code, sql})
			}
		}
	}
	return out
}

func TestRefusesWhatMustNotRun(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	for _, r := range readRejected(t) {
		p, err := g.Plan(r.sql)
		if err == nil {
			t.Errorf("%s: accepted %q\n\t%s", r.class, r.sql, p.SQL())
			continue
		}
		if string(fault.CodeOf(err)) != r.code {
			t.Errorf("%s: %q: %s, want %s (%s)", r.class, r.sql, fault.CodeOf(err), r.code, hint(err))
		}
		if hint(err) == "" {
			t.Errorf("%s: %q: no hint", r.class, r.sql)
		}
		if !p.IsZero() {
			t.Errorf("%s: %q: a refusal with a plan", r.class, r.sql)
		}
	}
}

// A hint never names what is not published, unless the caller named it.
func TestHintsNameOnlyThePublished(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	for _, r := range readRejected(t) {
		_, err := g.Plan(r.sql)
		for _, hidden := range []string{"vault", "wages", "payroll", "password_hash", "reset_token", "phone"} {
			if h := strings.ToLower(hint(err)); strings.Contains(h, hidden) && !strings.Contains(strings.ToLower(r.sql), hidden) {
				t.Errorf("%q: the hint names %s: %s", r.sql, hidden, h)
			}
		}
	}
}

// Deep and long statements are answered at once: the bounds are checked before any parser recurses.
func TestDeepAndLongStatementsAreAnsweredQuickly(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	for name, sql := range map[string]string{
		"brackets":    "SELECT " + strings.Repeat("(", 3000) + "1" + strings.Repeat(")", 3000),
		"not":         "SELECT " + strings.Repeat("NOT ", 12000) + "1",
		"minus":       "SELECT " + strings.Repeat("- ", 30000) + "1",
		"tilde":       "SELECT " + strings.Repeat("~", 60000) + "1",
		"bang":        "SELECT " + strings.Repeat("!", 4<<20) + "1",
		"plus":        "SELECT " + strings.Repeat("1+", 8000) + "1",
		"case":        "SELECT " + strings.Repeat("CASE WHEN 1 THEN ", 2000) + "1" + strings.Repeat(" END", 2000),
		"union":       strings.Repeat("SELECT 1 UNION ALL ", 2000) + "SELECT 1",
		"derived":     "SELECT * FROM " + strings.Repeat("(SELECT * FROM ", 1000) + "items" + strings.Repeat(") t", 1000),
		"exists":      "SELECT " + strings.Repeat("EXISTS(SELECT ", 300) + "1" + strings.Repeat(")", 300),
		"long string": "SELECT '" + strings.Repeat("a", 4<<20) + "'",
		"comment":     "SELECT 1 /*" + strings.Repeat("a", 4<<20) + "*/",
		"collate":     "SELECT 'a'" + strings.Repeat(" COLLATE utf8mb4_bin", 3000),
		"is null":     "SELECT 1" + strings.Repeat(" IS NULL", 7000),
		"stars":       "SELECT " + strings.Repeat("p.*,", 8000) + "p.id FROM purchases p",
		"inlining":    "SELECT CONCAT(" + strings.Repeat("name,", 2000) + "name) y FROM items ORDER BY " + strings.Repeat("y+1,", 3000) + "y",
		"long inline": "SELECT CONCAT('" + strings.Repeat("a", 30000) + "') y FROM items ORDER BY " + strings.Repeat("y+1,", 3000) + "y",
		"interval":    "SELECT NOW()" + strings.Repeat(" + INTERVAL 1 DAY", 3500),
		"binary":      "SELECT " + strings.Repeat("BINARY ", 5000) + "1",
	} {
		start := time.Now()
		_, err := g.Plan(sql)
		if c := fault.CodeOf(err); c != fault.SQLTooComplex {
			t.Errorf("%s: %v (%s)", name, err, hint(err))
		}
		if d := time.Since(start); d > 2*time.Second {
			t.Errorf("%s took %v", name, d)
		}
	}
}

// Long but flat statements are what reports look like, and pass.
func TestFlatStatementsPass(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	ids := strings.TrimSuffix(strings.Repeat("12345,", 5000), ",")
	ors := strings.TrimSuffix(strings.Repeat("state = 'open' OR ", 900), " OR ")
	for _, sql := range []string{
		"SELECT id FROM purchases WHERE id IN (" + ids + ")",
		"SELECT id FROM purchases WHERE " + ors,
		strings.Repeat("SELECT id FROM items UNION ALL ", 60) + "SELECT id FROM items",
		"SELECT " + strings.Repeat("(", 25) + "1" + strings.Repeat(")", 25),
		strings.Repeat("(", 25) + "SELECT 1" + strings.Repeat(")", 25),
	} {
		if _, err := g.Plan(sql); err != nil {
			t.Errorf("%.60s: %v %s", sql, err, hint(err))
		}
	}
}

func TestMaskedColumnsCanBeListedCountedAndTestedForNull(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	for _, c := range []struct {
		sql  string
		mask []bool
	}{
		{"SELECT id, mail FROM members", []bool{false, true}},
		{"SELECT * FROM members m", []bool{false, false, true, false, false, false, false, false}},
		{"SELECT COUNT(mail), COUNT(*) FROM members WHERE mail IS NOT NULL", []bool{false, false}},
		{"SELECT mail IS NULL FROM members ORDER BY mail IS NULL", []bool{false}},
		{"SELECT t.m FROM (SELECT mail AS m FROM members) t", []bool{true}},
		{"WITH a AS (SELECT mail m, id FROM members), b(x, y) AS (SELECT id, m FROM a) SELECT y, x FROM b", []bool{true, false}},
		{"SELECT name FROM members UNION ALL SELECT mail FROM members", []bool{true}},
		{"SELECT mail FROM members UNION ALL SELECT name FROM members LIMIT 2", []bool{true}},
		{"SELECT (SELECT mail FROM members LIMIT 1) AS x", []bool{true}},
		{"SELECT id FROM members WHERE EXISTS (SELECT mail FROM members)", []bool{false}},
		{"SELECT * FROM (SELECT 1, mail FROM members) t(a, b)", []bool{false, true}},
		{"SELECT name AS mail FROM members ORDER BY mail", []bool{false}},
	} {
		p, err := g.Plan(c.sql)
		if err != nil {
			t.Errorf("%s: %v %s", c.sql, err, hint(err))
			continue
		}
		any := false
		for i, o := range p.Outputs() {
			if i >= len(c.mask) || o.Masked != c.mask[i] {
				t.Errorf("%s: output %d %+v", c.sql, i, o)
			}
			any = any || o.Masked
		}
		if any != (len(p.Masked()) > 0) {
			t.Errorf("%s: masked %v", c.sql, p.Masked())
		}
	}
}
