package sqlguard_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/sqlguard"
)

// statementSeeds and statementsEach give a few thousand statements, the same in every run.
var statementSeeds = []uint64{1, 2, 3, 5, 8, 13}

const statementsEach = 500

// checkStatements writes random statements over the whole grammar and runs each as it is and as its plan, which gets only the grants of the policy: names, types
// and rows are the same. What the server runs must be accepted, but for the few things that the guard refuses on purpose.
func checkStatements(t *testing.T, root, reader *sql.DB) {
	spec := shop()
	spec.MaxRows = 100000 // so that the plan's own limit cuts nothing
	g, err := sqlguard.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	seeds := statementSeeds
	if testing.Short() {
		seeds = seeds[:1]
	}
	hasty, err := root.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer hasty.Close()
	limit := func(seconds string) { // some joins multiply
		if _, err := hasty.ExecContext(t.Context(), "SET SESSION max_statement_time = "+seconds); err != nil {
			t.Error(err)
		}
	}
	limit("0.3")
	defer limit("0")
	var n tally
	for _, seed := range seeds {
		w := newWriter(seed)
		for range statementsEach {
			n.compare(t, g, hasty, reader, w.statement())
		}
	}
	t.Logf("%d statements give the same rows, %d are refused, %d the server does not run", n.same, n.refused, n.failed)
	if all := n.same + n.refused + n.failed; n.same < all/2 {
		t.Errorf("only %d of %d statements could be compared", n.same, all)
	}
}

type tally struct{ same, refused, failed int }

// deliberate are refusals of statements that a server runs: what it would read in a way of its own.
var deliberate = map[fault.Code]bool{fault.SQLAmbiguous: true, fault.SQLTooComplex: true}

func (n *tally) compare(t *testing.T, g *sqlguard.Guard, root, reader asker, text string) {
	t.Helper()
	want, err := ask(t, root, text)
	if err != nil {
		n.failed++
		return
	}
	p, err := g.Plan(text)
	if err != nil {
		if n.refused++; !deliberate[fault.CodeOf(err)] {
			t.Errorf("refused: %s\n\t%v: %s", text, err, hint(err))
		}
		return
	}
	got, err := ask(t, reader, p.SQL())
	if err != nil {
		t.Errorf("%s\n\t%s\n\t%v", text, p.SQL(), err)
		return
	}
	if !strings.Contains(text, totalOrder) {
		slices.Sort(want.Rows)
		slices.Sort(got.Rows)
	}
	for _, o := range [][]string{want.Columns, got.Columns} { // MariaDB writes a derived column in either letter case when it proves that there are no rows
		for i := range o {
			o[i] = strings.ToLower(o[i])
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s\n\t%s\n%.2000s", text, p.SQL(), d)
		return
	}
	n.same++
}

// totalOrder marks a statement whose ORDER BY leaves no two different rows in either order.
const totalOrder = "/* total */"

// kind is what an expression gives.
type kind int

const (
	number kind = iota
	words
	moment
)

// field is a column that an expression can name.
type field struct {
	of, name string
	kind     kind
}

// writer writes random statements as people write them: with and without brackets, back quotes, AS, in any letter case.
type writer struct {
	r      *rand.Rand
	fields []field // in scope
	depth  int
	alias  int
	ctes   []derived // names of WITH elements in scope
}

// derived is a query that a FROM can name.
type derived struct {
	name   string
	fields []field
}

func newWriter(seed uint64) *writer { return &writer{r: rand.New(rand.NewPCG(seed, 99))} }

func (w *writer) pick(s ...string) string { return s[w.r.IntN(len(s))] }
func (w *writer) one(in int) bool         { return w.r.IntN(in) == 0 }

func (w *writer) fresh(prefix string) string {
	w.alias++
	return prefix + strconv.Itoa(w.alias)
}

// quoted writes a name with or without back quotes, sometimes in another letter case when that means nothing.
func (w *writer) quoted(n string) string {
	if w.one(6) {
		n = strings.ToUpper(n)
	}
	if w.one(3) {
		return "`" + n + "`"
	}
	return n
}

func (w *writer) word(s string) string {
	if w.one(3) {
		return strings.ToLower(s)
	}
	return s
}

func (w *writer) field(k kind) string {
	var fit []field
	for _, f := range w.fields {
		if f.kind == k {
			fit = append(fit, f)
		}
	}
	if len(fit) == 0 {
		return w.literal(k)
	}
	f := fit[w.r.IntN(len(fit))]
	return f.of + "." + w.quoted(f.name)
}

func (w *writer) literal(k kind) string {
	switch k {
	case words:
		return w.pick("'a'", `"x y"`, "'it''s'", `'q\'q'`, `'b\\c'`, "'50\\%'", "N'n'", "_utf8mb4'ü'", "'上海'", "''", "X'4D31'", "_latin1'l'", `"d""q"`, `'\t\n'`)
	case moment:
		return w.pick("'2025-02-10'", "DATE '2025-02-11'", "TIMESTAMP'2025-02-12 03:04:05'", "'2025-03-01 12:00:00'", "DATE'2025-01-31'")
	}
	return w.pick("0", "1", "2", "7", "-3", "1.5", ".5", "2.", "1e1", "0x1F", "b'101'", "TRUE", "FALSE", "NULL", "- -2", "+4", "10")
}

// expr is an expression of kind k. The number of nested ones is bounded.
func (w *writer) expr(k kind) string {
	if w.depth >= 4 || w.one(3) {
		if w.one(3) {
			return w.literal(k)
		}
		return w.field(k)
	}
	w.depth++
	defer func() { w.depth-- }()
	if w.one(6) {
		return w.choice(k)
	}
	switch k {
	case words:
		return w.text()
	case moment:
		return w.time()
	}
	return w.number()
}

func (w *writer) choice(k kind) string {
	a, b := w.expr(k), w.expr(k)
	switch w.r.IntN(7) {
	case 0:
		return w.word("CASE WHEN ") + w.test() + w.word(" THEN ") + a + w.word(" ELSE ") + b + w.word(" END")
	case 1:
		return w.word("CASE ") + w.expr(number) + " WHEN 1 THEN " + a + " WHEN 2 THEN " + b + " END"
	case 2:
		return w.word("IF(") + w.test() + ", " + a + ", " + b + ")"
	case 3:
		return w.pick("COALESCE(", "ifnull(", "NULLIF(") + a + "," + b + ")"
	case 4:
		return "(" + a + ")"
	case 5:
		return w.pick("GREATEST", "LEAST") + "(" + a + ", " + b + ")"
	}
	return w.scalar(k)
}

func (w *writer) number() string {
	switch w.r.IntN(12) {
	case 0, 1, 2:
		return w.expr(number) + " " + w.pick("+", "-", "*", "/", "%", "DIV", "MOD", "&", "|", "^", "<<", ">>", "- -") + " " + w.expr(number)
	case 3:
		return w.pick("-", "- ", "~", "+", "!", "NOT ") + w.expr(number)
	case 4:
		return "(" + w.test() + ")"
	case 5:
		return w.pick("LENGTH", "CHAR_LENGTH", "ASCII", "CRC32", "BIT_LENGTH", "ISNULL") + "(" + w.expr(words) + ")"
	case 6:
		return w.pick("ABS", "ROUND", "FLOOR", "CEIL", "SIGN", "BIT_COUNT", "ISNULL") + "(" + w.expr(number) + ")"
	case 7:
		return w.pick("YEAR", "MONTH", "DAYOFWEEK", "HOUR", "TO_DAYS", "UNIX_TIMESTAMP", "WEEK", "QUARTER") + "(" + w.expr(moment) + ")"
	case 8:
		return w.pick("TIMESTAMPDIFF(MINUTE, ", "timestampdiff( month , ", "DATEDIFF(") + w.expr(moment) + ", " + w.expr(moment) + ")"
	case 9:
		return w.pick("EXTRACT(DAY_HOUR FROM ", "EXTRACT(YEAR FROM ", "EXTRACT(WEEK FROM ") + w.expr(moment) + ")"
	case 10:
		return w.pick("LOCATE(", "INSTR(", "STRCMP(", "FIND_IN_SET(") + w.expr(words) + ", " + w.expr(words) + ")"
	}
	return w.pick("CAST(", "cast( ") + w.expr(kind(w.r.IntN(2))) + w.pick(" AS SIGNED)", " AS DECIMAL(12,3))", " AS UNSIGNED INTEGER)", " as int)", " AS DOUBLE)")
}

func (w *writer) text() string {
	a := w.expr(words)
	switch w.r.IntN(12) {
	case 0:
		return "CONCAT(" + a + ", " + w.expr(kind(w.r.IntN(3))) + ")"
	case 1:
		return "CONCAT_WS('-', " + a + ", NULL, " + w.expr(number) + ")"
	case 2:
		return w.pick("UPPER(", "lower(", "REVERSE(", "LTRIM(", "RTRIM(", "TRIM(", "HEX(", "QUOTE(", "SOUNDEX(", "MD5(") + a + ")"
	case 3:
		return w.pick("SUBSTRING(", "substr(", "MID(") + a + w.pick(", 2)", ", 1, 3)", ", -2, 1)", " FROM 2)", " FROM 2 FOR 1)")
	case 4:
		return w.pick("TRIM(LEADING 'm' FROM ", "TRIM(BOTH FROM ", "trim(trailing '1' from ", "TRIM('a' FROM ") + a + ")"
	case 5:
		return w.pick("LEFT(", "RIGHT(", "REPEAT(") + a + ", " + w.pick("1", "2", "3") + ")"
	case 6:
		return w.pick("DATE_FORMAT(", "date_format( ") + w.expr(moment) + w.pick(", '%Y-%m')", ", '%W %d')", ", '%x%v %H:%i')", ", '%%')")
	case 7:
		return w.pick("REPLACE(", "REGEXP_REPLACE(") + a + ", '1', 'one')"
	case 8:
		return "CAST(" + w.expr(kind(w.r.IntN(3))) + w.pick(" AS CHAR)", " AS CHAR(4))", " AS CHAR(3) CHARACTER SET utf8mb4)")
	case 9:
		return "CONVERT(" + a + w.pick(" USING utf8mb4)", ", CHAR)", ", CHAR(5))")
	case 10: // of a column: MariaDB 10.11 itself cuts the pad of a constant in a UNION
		return w.pick("LPAD(", "RPAD(") + w.field(words) + ", 6, '*')"
	}
	return w.pick("SUBSTRING_INDEX(", "substring_index(") + a + ", ' ', " + w.pick("1", "-1") + ")"
}

func (w *writer) time() string {
	a := w.expr(moment)
	unit := w.pick("DAY", "hour", "MINUTE", "MONTH", "WEEK", "QUARTER", "YEAR")
	switch w.r.IntN(9) {
	case 0:
		return a + w.pick(" + ", " - ", "-") + w.word("INTERVAL ") + w.pick("1", "'2'", "-3", "(1 + 1)") + " " + unit
	case 1:
		return "(INTERVAL 2 " + unit + " + " + w.pick(w.field(moment), "("+a+")") + ")"
	case 2:
		return w.pick("DATE_ADD(", "date_sub(", "ADDDATE(", "SUBDATE(") + a + ", INTERVAL " + w.pick("1", "5") + " " + unit + ")"
	case 3:
		return "TIMESTAMPADD(" + unit + ", 2, " + a + ")"
	case 4:
		return w.pick("DATE(", "LAST_DAY(", "TIMESTAMP(") + a + ")"
	case 5:
		return a + " + INTERVAL " + w.pick("'1 2' DAY_HOUR", "'1:30' HOUR_MINUTE", "'1-2' YEAR_MONTH", "'3:04' MINUTE_SECOND")
	case 6:
		return w.pick("CAST(", "cast( ") + a + w.pick(" AS DATE)", " AS DATETIME)", " AS DATETIME(3))")
	case 7:
		return w.pick("STR_TO_DATE('05,2,2025', '%d,%m,%Y')", "FROM_UNIXTIME(1739000000)", "MAKEDATE(2025, 40)", "FROM_DAYS(739700)", "CONVERT_TZ('2025-02-03 04:05:06', '+00:00', '+08:00')")
	}
	return "ADDTIME(" + a + ", '1:00:00')"
}

// test is an expression that people use as a condition.
func (w *writer) test() string {
	k := kind(w.r.IntN(3))
	if w.depth >= 5 {
		return w.field(k) + w.pick(" = ", " > ", " <> ") + w.literal(k)
	}
	w.depth++
	defer func() { w.depth-- }()
	a := w.expr(k)
	switch w.r.IntN(14) {
	case 0, 1, 2:
		return a + " " + w.pick("=", "<>", "!=", "<", "<=", ">", ">=", "<=>") + " " + w.expr(k)
	case 3:
		return a + w.pick(" BETWEEN ", " NOT BETWEEN ", " between ") + w.expr(k) + w.word(" AND ") + w.expr(k)
	case 4:
		return a + w.pick(" IN (", " NOT IN (", " in( ") + w.literal(k) + ", " + w.expr(k) + ")"
	case 5:
		return a + w.pick(" IS NULL", " IS NOT NULL", " is null")
	case 6:
		return w.expr(words) + w.pick(" LIKE ", " NOT LIKE ") + w.pick("'%1%'", "'m_%'", "'%\\%'", "'x|%' ESCAPE '|'", "CONCAT('%', '2')")
	case 7:
		return w.expr(words) + w.pick(" REGEXP ", " RLIKE ", " NOT REGEXP ") + w.pick("'^[a-m]'", "'1$'", "'(o|i)n'")
	case 8, 9:
		return w.test() + w.pick(" AND ", " OR ", " XOR ", " && ", " || ", " and ", " or ") + w.test()
	case 10:
		return w.pick("NOT ", "!", "not ") + "(" + w.test() + ")"
	case 11:
		return w.pick("EXISTS (", "NOT EXISTS (", "exists(") + w.inner(-1) + ")"
	case 12:
		return a + w.pick(" IN (", " NOT IN (", " = ANY (", " <> ALL (", " > SOME (") + w.inner(k) + ")"
	}
	return "(" + a + ", " + w.expr(number) + ") " + w.pick("=", "IN", "<>") + " " + w.pick("((", "((") + w.expr(k) + ", " + w.expr(number) + "))"
}

// scalar is a subquery that gives one value.
func (w *writer) scalar(k kind) string {
	if w.depth >= 4 {
		return w.literal(k)
	}
	return "(" + w.in(func() string {
		from := w.from(1)
		return w.word("SELECT ") + w.pick("MAX(", "MIN(") + w.field(k) + ")" + from + w.where()
	}) + ")"
}

// inner is a subquery of one column of kind k, of anything for -1.
func (w *writer) inner(k kind) string {
	return w.in(func() string {
		from := w.from(1)
		if k < 0 {
			return w.word("SELECT ") + w.pick("1", "*", "NULL") + from + w.where()
		}
		return w.word("SELECT ") + w.field(k) + from + w.where()
	})
}

// in writes a query inside another: it sees the fields around it.
func (w *writer) in(f func() string) string {
	saved, ctes := w.fields, w.ctes
	w.depth += 2
	w.fields = slices.Clone(saved)
	defer func() { w.fields, w.ctes = saved, ctes; w.depth -= 2 }()
	return f()
}

func (w *writer) where() string {
	if w.one(3) {
		return ""
	}
	return w.word(" WHERE ") + w.test()
}

// tables of the test schema, the columns of each that are neither hidden nor masked.
var tables = []derived{
	{"members", []field{{"", "id", number}, {"", "name", words}, {"", "city", words}, {"", "level", words}, {"", "joined_at", moment}, {"", "login_count", number}}},
	{"purchases", []field{{"", "id", number}, {"", "member_id", number}, {"", "state", words}, {"", "amount", number}, {"", "currency", words}, {"", "bought_at", moment}, {"", "paid_at", moment}, {"", "remark", words}}},
	{"items", []field{{"", "id", number}, {"", "name", words}, {"", "kind", words}, {"", "price", number}}},
	{"outages", []field{{"", "id", number}, {"", "service", words}, {"", "severity", number}, {"", "begun_at", moment}, {"", "ended_at", moment}}},
	{"staff", []field{{"", "id", number}, {"", "name", words}, {"", "boss_id", number}, {"", "team", words}, {"", "pay", number}}},
}

// relation writes one table, CTE or derived table under an alias of its own and puts its fields in scope.
func (w *writer) relation() (string, []field) {
	as := w.fresh(w.pick("t", "x", "q"))
	var text string
	var fields []field
	switch {
	case len(w.ctes) > 0 && w.one(2):
		c := w.ctes[w.r.IntN(len(w.ctes))]
		text, fields = w.quoted(c.name), c.fields
	case w.depth < 2 && w.one(5):
		saved, depth := w.fields, w.depth
		w.fields, w.depth = nil, w.depth+1
		q, outs := w.selectText(true)
		w.fields, w.depth = saved, depth
		text, fields = "("+q+")", outs
	default:
		t := tables[w.r.IntN(len(tables))]
		text, fields = w.pick("", "store.", "`store`.")+w.pick(t.name, "`"+t.name+"`"), t.fields
	}
	out := make([]field, len(fields))
	for i, f := range fields {
		out[i] = field{as, f.name, f.kind}
	}
	return text + w.pick(" ", " AS ", " as ") + w.pick(as, "`"+as+"`"), out
}

// from writes FROM with up to n relations joined.
func (w *writer) from(n int) string {
	text, outs := w.relation()
	outer := w.fields
	w.fields = outs
	for range w.r.IntN(n) {
		rel, more := w.relation()
		a, b := w.fields, more
		w.fields = append(slices.Clone(w.fields), more...)
		on := " ON " + w.join(a, b)
		switch w.r.IntN(5) {
		case 0:
			on = strings.Replace(on, " ON ", " ON (", 1) + ")"
		case 1:
			if slices.ContainsFunc(a, named("id")) && slices.ContainsFunc(b, named("id")) && !slices.ContainsFunc(a[1:], named("id")) {
				on = w.pick(" USING (id)", " using(`id`)")
			}
		case 2:
			on += " AND " + w.test()
		}
		text += w.pick(" JOIN ", " LEFT JOIN ", " INNER JOIN ", " RIGHT OUTER JOIN ", " join ", " STRAIGHT_JOIN ") + rel
		if strings.HasSuffix(text, "STRAIGHT_JOIN "+rel) && !strings.HasPrefix(on, " ON") {
			on = " ON 1 = 1"
		}
		text += on
	}
	w.fields = append(w.fields, outer...)
	return w.word(" FROM ") + text
}

func named(n string) func(field) bool { return func(f field) bool { return f.name == n } }

// join is an equality of a number of a with one of b.
func (w *writer) join(a, b []field) string {
	side := func(fs []field) string {
		w2 := *w
		w2.fields = fs
		return w2.field(number)
	}
	return side(a) + " = " + side(b)
}

// selectText writes one SELECT and tells its outputs; inside FROM every output gets an alias.
func (w *writer) selectText(inFrom bool) (string, []field) {
	from := w.from(3 - min(w.depth, 1)) // inner ones join less, or the rows multiply
	if w.one(8) && !inFrom && w.depth == 0 {
		return w.plainStar(from)
	}
	grouped := w.one(3)
	var keys []string
	var outs []field
	var items []string
	add := func(e string, k kind) {
		name := w.fresh("c")
		if w.one(5) && !slices.ContainsFunc(outs, named("id")) {
			name = "id" // an alias that is a column too
		}
		if inFrom || w.one(2) || strings.Contains(e, "SELECT") {
			e += w.pick(" AS ", " ", " as ") + w.pick(name, "`"+name+"`", "`"+name+"`")
		} else {
			name = ""
		}
		items = append(items, e)
		outs = append(outs, field{"", name, k})
	}
	if grouped {
		for range 1 + w.r.IntN(2) {
			k := kind(w.r.IntN(3))
			key := w.field(k)
			if w.one(3) {
				key = w.expr(k)
			}
			keys = append(keys, key)
			add(key, k)
		}
		for range w.r.IntN(3) {
			add(w.aggregate())
		}
	} else {
		for range 1 + w.r.IntN(3) {
			if w.one(6) {
				add(w.window(), number)
				continue
			}
			k := kind(w.r.IntN(3))
			add(w.expr(k), k)
		}
	}
	text := w.word("SELECT ")
	if w.one(8) {
		text += w.word("DISTINCT ")
	}
	text += strings.Join(items, ", ") + from + w.where()
	if grouped {
		for i, k := range keys {
			if i == 0 {
				text += w.word(" GROUP BY ")
			} else {
				text += ", "
			}
			switch {
			case w.one(4):
				k = strconv.Itoa(i + 1)
			case w.one(3) && outs[i].name != "" && outs[i].name != "id":
				k = w.quoted(outs[i].name)
			}
			text += k
		}
		if w.one(3) {
			h := w.pick("COUNT(*) > 1", "MAX("+w.field(number)+") > 2", "COUNT(DISTINCT "+w.field(words)+") < 9")
			if o := outs[len(outs)-1]; o.name != "" && w.one(2) {
				h += w.pick(" AND ", " OR ") + w.quoted(o.name) + w.pick(" IS NOT NULL", " <> 3")
			}
			text += w.word(" HAVING ") + h
		}
	}
	return text, outs
}

// plainStar selects everything, which the plan writes out; not from members, whose hidden columns the plan leaves out.
func (w *writer) plainStar(from string) (string, []field) {
	if strings.Contains(strings.ToLower(from), "members") {
		return "SELECT COUNT(*)" + from, []field{{"", "", number}}
	}
	return "SELECT *" + from, nil
}

func (w *writer) aggregate() (string, kind) {
	switch w.r.IntN(7) {
	case 0:
		return w.pick("COUNT(*)", "count( * )", "COUNT(DISTINCT "+w.field(number)+", "+w.field(words)+")"), number
	case 1:
		return w.pick("SUM(", "MIN(", "MAX(", "sum(DISTINCT ", "BIT_OR(") + w.expr(number) + ")", number
	case 2:
		return w.pick("MIN(", "MAX(") + w.expr(moment) + ")", moment
	case 3:
		return "GROUP_CONCAT(" + w.pick("DISTINCT ", "") + w.field(words) + w.pick(" ORDER BY 1", " order by 1 DESC") + w.pick("", " SEPARATOR '|'", " separator ''", ` SEPARATOR '\''`) + ")", words
	case 4:
		return "SUM(CASE WHEN " + w.test() + " THEN 1 ELSE 0 END)", number
	case 5:
		return "SUM(" + w.test() + ") * 100 / COUNT(*)", number
	}
	return "ROUND(AVG(" + w.field(number) + "), 2)", number
}

func (w *writer) window() string {
	order := " ORDER BY " + w.field(number) + w.pick("", " DESC", " ASC")
	part := ""
	if w.one(2) {
		part = "PARTITION BY " + w.field(words)
	}
	switch w.r.IntN(5) {
	case 0:
		return w.pick("RANK()", "DENSE_RANK()", "rank( )") + w.word(" OVER ") + "(" + part + order + ")"
	case 1:
		return w.pick("MIN", "MAX", "COUNT") + "(" + w.field(number) + ") OVER (" + part + ")"
	case 2:
		return "COUNT(*) OVER (" + part + order + w.pick("", " RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", " RANGE UNBOUNDED PRECEDING") + ")"
	case 3:
		return "SUM(1) OVER (" + part + order + " RANGE BETWEEN 1 PRECEDING AND 2 FOLLOWING)"
	}
	return "MAX(" + w.field(number) + ") OVER (" + part + ") - MIN(" + w.field(number) + ") over ( )"
}

// statement writes a whole statement.
func (w *writer) statement() string {
	w.fields, w.ctes, w.depth, w.alias = nil, nil, 0, 0
	text := ""
	for i := range w.r.IntN(3) * w.r.IntN(2) {
		name := w.fresh(w.pick("cte", "items", "w"))
		if i == 0 {
			text = w.word("WITH ")
		} else {
			text += ", "
		}
		w.depth = 1
		q, outs := w.selectText(true)
		w.depth, w.fields = 0, nil
		if w.one(3) {
			var names []string
			for j := range outs {
				outs[j].name = fmt.Sprintf("n%d", j)
				names = append(names, outs[j].name)
			}
			text += name + " (" + strings.Join(names, ",") + ")"
		} else {
			text += w.quoted(name)
			text = text[:len(text)-len(name)] + strings.ToLower(text[len(text)-len(name):])
		}
		text += w.word(" AS (") + q + ")"
		w.ctes = append(w.ctes, derived{name, outs})
	}
	if text != "" {
		text += " "
	}
	body, outs := w.selectText(false)
	if outs == nil {
		return text + body + w.pick("", ";", " -- all")
	}
	fields := w.fields
	if w.one(5) {
		body = w.setOperation(body, outs)
		fields = nil
	}
	text += body
	if w.one(2) {
		return text
	}
	text += w.word(" ORDER BY ")
	if w.one(2) && fields != nil && !strings.Contains(strings.ToUpper(body), "GROUP") && !strings.Contains(strings.ToUpper(body), "DISTINCT") {
		w.fields = fields
		text += w.expr(kind(w.r.IntN(3))) + w.pick("", " DESC", " asc") + ", "
		w.fields = nil
	}
	for i := range outs {
		if i > 0 {
			text += ", "
		}
		if n := outs[i].name; n != "" && w.one(3) {
			text += w.quoted(n)
		} else {
			text += strconv.Itoa(i + 1)
		}
		text += w.pick("", " DESC", " ASC")
	}
	text += w.pick("", " LIMIT 7", " LIMIT 2, 5", " limit 3 offset 1", " LIMIT 0", " LIMIT 1000")
	return text + " " + totalOrder + w.pick("", ";")
}

// setOperation joins body with one or two SELECTs of the same number of columns.
func (w *writer) setOperation(body string, outs []field) string {
	for range 1 + w.r.IntN(2) {
		w.fields = nil
		from := w.from(2)
		var items []string
		for _, o := range outs {
			items = append(items, w.expr(o.kind))
		}
		arm := "SELECT " + strings.Join(items, ", ") + from + w.where()
		if w.one(3) {
			arm = "(" + arm + " ORDER BY " + strings.Join(positions(len(outs)), ",") + " LIMIT 4)"
		}
		if w.one(4) {
			body = "(" + body + ")"
		}
		body += w.pick(" UNION ", " UNION ALL ", " union distinct ", " EXCEPT ", " UNION ALL ") + arm
	}
	return body
}

func positions(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = strconv.Itoa(i + 1)
	}
	return out
}
