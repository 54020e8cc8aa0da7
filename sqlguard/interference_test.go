package sqlguard_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/sqlguard"
)

// Two databases that differ only in what is hidden or masked cannot be told apart: every plan gives the same unmasked cells in the same order. Plans run as
// root, so no grant helps.
func checkInterference(t *testing.T, g *sqlguard.Guard, root *sql.DB) {
	var plans []sqlguard.Plan
	add := func(sql string) {
		if p, err := g.Plan(sql); err == nil && p.Kind() == sqlguard.Select {
			plans = append(plans, p)
		}
	}
	for _, a := range readAccepted(t) {
		if a.mark != "plan" {
			add(a.sql)
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	for len(plans) < 1300 {
		q := &querier{r: r}
		add(q.query(true))
	}
	// The values change and their lengths do not: how rows lie in a page decides the order of rows that an ORDER BY leaves open.
	swap := func(c string) string {
		return c + " = REPLACE(REPLACE(REPLACE(" + c + ", '1', '#'), '8', '1'), '#', '8')"
	}
	change := func() {
		for _, c := range []string{
			"UPDATE members SET " + swap("mail") + ", " + swap("phone") + ", " + swap("password_hash") + ", " + swap("reset_token"),
			"UPDATE vault SET v = REVERSE(v)",
		} {
			if _, err := root.ExecContext(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
	}
	before := shown(t, root, plans)
	change()
	after := shown(t, root, plans)
	ran := 0
	var suspects []sqlguard.Plan
	var one, other []string
	for i, p := range plans {
		switch {
		case before[i] != after[i]:
			suspects, one, other = append(suspects, p), append(one, before[i]), append(other, after[i])
		case !strings.HasPrefix(before[i], "error"):
			ran++
		}
	}
	if ran < len(plans)/2 {
		t.Errorf("only %d of %d plans ran", ran, len(plans))
	}
	// The order of equal rows differs by itself now and then. What is due to the values comes and goes with them.
	due := make([]bool, len(suspects))
	for i := range due {
		due[i] = true
	}
	for round := range 6 {
		want := [][]string{one, other}[round%2]
		change()
		for i, s := range shown(t, root, suspects) {
			due[i] = due[i] && s == want[i]
		}
	}
	for i, p := range suspects {
		if due[i] {
			t.Errorf("what is hidden shows in %s\n%.300s\n%.300s", p.SQL(), one[i], other[i])
		}
	}
}

// shown runs the plans and gives the unmasked cells of each, or the error.
func shown(t *testing.T, db *sql.DB, plans []sqlguard.Plan) []string {
	t.Helper()
	out := make([]string, len(plans))
	for i, p := range plans {
		out[i] = cells(t, db, p)
	}
	return out
}

func cells(t *testing.T, db *sql.DB, p sqlguard.Plan) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	rows, err := db.QueryContext(ctx, p.SQL())
	if err != nil {
		return "error " + err.Error()
	}
	defer rows.Close()
	var b strings.Builder
	outs := p.Outputs()
	into, raw := make([]any, len(outs)), make([]sql.RawBytes, len(outs))
	for i := range raw {
		into[i] = &raw[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		for i, o := range outs {
			if !o.Masked {
				fmt.Fprintf(&b, "%q,", raw[i])
			}
		}
		b.WriteByte('\n')
	}
	if err := rows.Err(); err != nil {
		return "error " + err.Error()
	}
	return b.String()
}

// querier writes random statements that name hidden and masked columns, and aliases and outputs called like them, wherever a name can stand.
type querier struct {
	r     *rand.Rand
	names []string // columns that some table around has
	depth int
}

func (q *querier) pick(s ...string) string { return s[q.r.IntN(len(s))] }

// name is a column, seldom one that is hidden or masked: most statements with one are refused.
func (q *querier) name() string {
	n := q.pick(q.names...)
	for range 3 {
		if strings.HasSuffix(n, "mail") || strings.HasSuffix(n, "phone") {
			n = q.pick(q.names...)
		}
	}
	return n
}

func (q *querier) expr() string {
	if q.depth++; q.depth > 5 {
		q.depth--
		return q.name()
	}
	defer func() { q.depth-- }()
	switch q.r.IntN(14) {
	case 0, 1, 2, 3:
		return q.name()
	case 4:
		return q.pick("1", "2", "TRUE", "- -2", "-1", "NOT FALSE", "+1", "NULL", "'m1'")
	case 5:
		return q.expr() + q.pick(" > ", " = ", " + ", " <=> ", " AND ", " LIKE ") + q.expr()
	case 6:
		return q.pick("UPPER", "LENGTH", "ISNULL", "QUOTE", "HEX") + "(" + q.expr() + ")"
	case 7:
		return q.pick("COUNT", "MAX", "MIN", "GROUP_CONCAT") + "(" + q.expr() + ")"
	case 8:
		return q.expr() + q.pick(" IS NULL", " IS NOT NULL")
	case 9:
		return "EXISTS (" + q.inner() + ")"
	case 10:
		return "(" + q.inner() + " LIMIT 1)"
	case 11:
		return q.expr() + " IN (" + q.inner() + ")"
	case 12:
		return "CASE WHEN " + q.expr() + " THEN " + q.expr() + " ELSE 0 END"
	}
	return "- " + q.name()
}

func (q *querier) inner() string {
	saved := q.names
	defer func() { q.names = saved }()
	return q.query(false)
}

// relation is a table or a derived table under one of few aliases, so that they meet.
func (q *querier) relation(as string) string {
	var columns []string
	var text string
	if q.r.IntN(2) == 0 {
		for _, n := range []string{"id", "phone", "mail"} {
			columns = append(columns, n)
			text += ", " + q.pick("id", "id", "name", "mail") + " AS " + n
		}
		text = "(SELECT " + text[2:] + " FROM " + q.pick("members", "items", "staff") + ")"
	} else {
		text = q.pick("members", "members", "items", "staff")
		columns = map[string][]string{"members": {"id", "name", "mail", "phone", "city"}, "items": {"id", "name", "kind"}, "staff": {"id", "name", "team", "boss_id"}}[text]
	}
	for _, c := range columns {
		q.names = append(q.names, c, as+"."+c)
	}
	return text + " AS " + as
}

func (q *querier) query(outermost bool) string {
	outer := slices.Clone(q.names)
	q.names = nil
	from := q.relation(q.pick("x", "y"))
	if q.r.IntN(4) == 0 {
		from += q.pick(" JOIN ", " LEFT JOIN ") + q.relation(q.pick("z", "y", "X")) + q.pick(" USING (id)", " USING (mail)", " ON "+q.expr())
	}
	if q.r.IntN(2) == 0 {
		q.names = append(q.names, outer...)
	}
	var items []string
	n := 1
	if outermost {
		n = 2 + q.r.IntN(2)
	}
	for range n {
		item, as := q.expr(), ""
		if q.r.IntN(3) == 0 {
			item = q.pick("id", "mail", "name")
		}
		if q.r.IntN(2) == 0 {
			as = q.pick("phone", "mail", "id", "n")
			item += " AS " + as
		}
		items = append(items, item)
		if as != "" {
			q.names = append(q.names, as, as)
		}
	}
	s := "SELECT " + strings.Join(items, ", ") + " FROM " + from
	for _, clause := range []string{" WHERE ", " GROUP BY ", " HAVING ", " ORDER BY "} {
		switch q.r.IntN(5) {
		case 0:
			s += clause + q.expr()
		case 1:
			s += clause + q.pick(q.names...) + q.pick("", " LIKE '%1%'", " > 'm5'")
		case 2:
			switch clause {
			case " HAVING ":
				s += clause + q.pick("x", "y") + q.pick(".phone", ".mail") + " LIKE '%1%'"
			case " GROUP BY ", " ORDER BY ":
				s += clause + q.pick("- -2", "- - - -1", "TRUE", "NOT FALSE")
			}
		}
	}
	return s
}
