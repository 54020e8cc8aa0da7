package sqlguard

import (
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	sp "vitess.io/vitess/go/vt/sqlparser"
)

// parser is the deciding reader. It holds options only and is safe for concurrent use.
var parser = sync.OnceValues(func() (*sp.Parser, error) { return sp.New(sp.Options{}) })

// Plan decides about one statement. The error is a *fault.Error with one of the SQL_ codes and a hint that names the offending word of the statement,
// the nearest allowed names or the form that would pass.
func (g *Guard) Plan(sql string) (Plan, error) {
	if len(sql) > MaxBytes {
		return Plan{}, refuse(codeComplex, "the statement is longer than %d KiB", MaxBytes>>10)
	}
	toks, err := lex(sql)
	if err != nil {
		if len(toks) > 0 && toks[0].verb() {
			err = notAllowed(toks[0])
		}
		return Plan{}, err
	}
	n := len(toks)
	for n > 0 && toks[n-1].op(";") {
		n--
	}
	toks = toks[:n]
	for i, t := range toks {
		if t.op(";") {
			if i == 0 {
				return Plan{}, refuse(codeSyntax, "the statement is empty")
			}
			return Plan{}, refuse(codeNotReadOnly, "one statement at a time; send what stands behind the semicolon as a call of its own")
		}
	}
	if n == 0 {
		return Plan{}, refuse(codeSyntax, "the statement is empty")
	}
	switch kw := toks[0].kw; {
	case kw == kwShow, kw == kwDescribe, kw == kwExplain:
		return g.metadata(sql, toks)
	case kw == kwTable && n > 1:
		return Plan{}, refuse(codeUnsupported, "TABLE is not supported; write SELECT * FROM %s", show(toks[1].text))
	case kw == kwAnalyze && n > 1 && toks[1].kw != kwTable:
		return Plan{}, refuse(codeNotReadOnly, "ANALYZE runs its statement; write EXPLAIN SELECT ... or the SELECT itself")
	case kw == kwSelect, kw == kwWith, kw == kwValues, toks[0].op("("):
		return g.selectPlan(sql, toks)
	}
	if toks[0].verb() {
		return Plan{}, notAllowed(toks[0])
	}
	return Plan{}, refuse(codeSyntax, "a statement begins with SELECT, WITH, SHOW, DESCRIBE or EXPLAIN, not with %s", near(toks[0]))
}

// verb tells whether t begins a statement that changes something or manages the server.
func (t token) verb() bool { return t.kind == tWord && verbs[strings.ToUpper(t.text)] }

func notAllowed(t token) error {
	if strings.EqualFold(t.text, "USE") {
		return refuse(codeNotReadOnly, "USE is not allowed; write the schema before the table: schema.table")
	}
	return refuse(codeNotReadOnly, "%s is not allowed; only SELECT, SHOW TABLES, SHOW COLUMNS, DESCRIBE and EXPLAIN SELECT are", strings.ToUpper(t.text))
}

// selectPlan plans a query that will run.
func (g *Guard) selectPlan(sql string, toks []token) (p Plan, err error) {
	defer func() {
		if r := recover(); r != nil {
			p = Plan{}
			if b, ok := r.(bailout); ok {
				err = b.err
				return
			}
			err = refuse(codeUnsupported, "the statement could not be analysed; write it more simply")
		}
	}()
	s, err := prescan(sql, toks)
	if err != nil {
		return Plan{}, err
	}
	reader, err := parser()
	if err != nil {
		return Plan{}, fault.New(fault.Internal, "sqlguard.Plan", err)
	}
	// The second reader, the slower of the two, works beside the first.
	var second reading
	var wg sync.WaitGroup
	wg.Go(func() { second = readSecond(s.second) })
	defer wg.Wait()
	st, perr := reader.ParseStrictDDL(s.deciding)
	if perr != nil {
		return Plan{}, g.syntax(s, perr)
	}
	ts, ok := st.(sp.TableStatement)
	if !ok {
		if writes(toks) {
			return Plan{}, refuse(codeNotReadOnly, "only SELECT is allowed behind WITH")
		}
		return Plan{}, refuse(codeUnsupported, "this kind of statement is not supported; write a SELECT")
	}
	c := &conv{g: g, s: s, tables: map[*entry]bool{}, columns: map[*source]bool{}, facts: newFacts()}
	q := c.query(ts, nil, nil, nil)
	if c.limits != s.limits || c.orders != s.orders {
		return Plan{}, refuse(codeAmbiguous, "a LIMIT or ORDER BY on a SELECT in brackets with another one outside is ambiguous; write SELECT * FROM (SELECT ... LIMIT n) AS t ORDER BY ... LIMIT m")
	}
	if c.marks != len(s.marks) || c.setOps != s.setOps {
		return Plan{}, refuse(codeAmbiguous, "a SELECT, INTERSECT or EXCEPT of the statement could not be placed; use fewer brackets")
	}
	if wg.Wait(); !second.agrees(c.facts) {
		return Plan{}, refuse(codeAmbiguous, "two parsers disagree about what the statement names; put blanks around operators (a - -1) and quote unusual names with back quotes")
	}
	return g.finish(q, c), nil
}

// finish prints the plan and collects what it touches.
func (g *Guard) finish(q *query, c *conv) Plan {
	p := Plan{kind: Select, limit: g.maxRows}
	var m printer
	if l := q.limit; l != nil && l.count <= uint64(g.maxRows) {
		p.limit, p.userLimited = int(l.count), true
		m.query(q)
	} else {
		var offset uint64
		if l != nil {
			offset = l.offset
		}
		q.limit = &limit{offset, uint64(g.maxRows) + 1}
		m.query(q)
		q.limit = nil
		if offset > 0 {
			q.limit = &limit{offset, 1<<64 - 1}
		}
	}
	n := normalPrinter()
	n.query(q)
	p.sql, p.normal = m.String(), n.String()
	for e := range c.tables {
		p.tables = append(p.tables, e.Schema+"."+e.Name)
	}
	for s := range c.columns {
		p.columns = append(p.columns, s.String())
	}
	shown := map[*source]bool{}
	for _, o := range q.outputs {
		out := Output{Name: o.name, Masked: o.masked != nil}
		if o.src != nil {
			out.Source = o.src.String()
		}
		p.outputs = append(p.outputs, out)
		for _, s := range o.masked {
			if !shown[s] {
				shown[s] = true
				p.maskedBy = append(p.maskedBy, s.String())
			}
		}
	}
	slices.Sort(p.tables)
	slices.Sort(p.columns)
	slices.Sort(p.maskedBy)
	return p
}

// writes tells whether a data-changing verb stands among the words. REPLACE and INSERT before a bracket are functions.
func writes(toks []token) bool {
	for i, t := range toks {
		if t.kind == tWord && (i+1 == len(toks) || !toks[i+1].op("(")) {
			switch strings.ToUpper(t.text) {
			case "DELETE", "UPDATE", "INSERT", "REPLACE":
				return true
			}
		}
	}
	return false
}

var position = regexp.MustCompile(`at position (\d+)`)

// syntax turns the reader's message into one about the caller's own text: the message itself quotes a text that the caller never wrote.
func (g *Guard) syntax(s *scan, err error) error {
	for i, t := range s.toks {
		if t.kind != tWord || t.kw != kwNone && t.kw != kwModifier && t.kw != kwFetch && t.kw != kwGroup && t.kw != kwDistinct {
			continue
		}
		switch up := strings.ToUpper(t.text); up {
		case "NATURAL":
			return refuse(codeUnsupported, "NATURAL JOIN compares columns without naming them; write JOIN ... ON a.x = b.x")
		case "FETCH":
			return refuse(codeUnsupported, "FETCH FIRST is not supported; write LIMIT n")
		case "TOP":
			if i > 0 && s.toks[i-1].kw == kwSelect {
				return refuse(codeSyntax, "TOP is not MySQL; write LIMIT n at the end")
			}
		case "ILIKE":
			return refuse(codeSyntax, "ILIKE is not MySQL; write LIKE, which ignores case for most columns")
		case "FULL":
			if i+1 < len(s.toks) && (s.toks[i+1].kw == kwJoin || strings.EqualFold(s.toks[i+1].text, "OUTER")) {
				return refuse(codeSyntax, "MySQL has no FULL JOIN; write a LEFT JOIN UNION ALL a RIGHT JOIN ... WHERE a.id IS NULL")
			}
		case "QUALIFY":
			return refuse(codeSyntax, "MySQL has no QUALIFY; filter the window in an outer SELECT")
		case "NULLS":
			return refuse(codeSyntax, "MySQL has no NULLS FIRST or LAST; write ORDER BY x IS NULL, x")
		case "FILTER":
			return refuse(codeSyntax, "MySQL has no FILTER; write SUM(CASE WHEN condition THEN x END)")
		case "WITHIN":
			return refuse(codeUnsupported, "WITHIN GROUP is not supported; write a window with PERCENT_RANK() or ROW_NUMBER()")
		case "DISTINCT":
			if i+1 < len(s.toks) && s.toks[i+1].kw == kwOn {
				return refuse(codeSyntax, "DISTINCT ON is not MySQL; write ROW_NUMBER() OVER (PARTITION BY a ORDER BY b) AS n in a derived table and n = 1 outside")
			}
		case "INTERVAL":
			if i+2 == len(s.toks) || i+2 < len(s.toks) && s.toks[i+1].kind == tString && !unitWords["."+strings.ToLower(s.toks[i+2].text)] {
				return refuse(codeSyntax, "the unit of INTERVAL stands outside the quotes; write INTERVAL 1 DAY")
			}
		case "SOUNDS":
			return refuse(codeUnsupported, "SOUNDS LIKE is not supported; write SOUNDEX(a) = SOUNDEX(b)")
		}
	}
	if writes(s.toks) && s.toks[0].kw == kwWith {
		return refuse(codeNotReadOnly, "only SELECT is allowed behind WITH")
	}
	if m := position.FindStringSubmatch(err.Error()); m != nil {
		n, _ := strconv.Atoi(m[1])
		if t, ok := s.where(n); ok {
			if t.kind == tWord && (strings.EqualFold(t.text, "DESC") || strings.EqualFold(t.text, "ASC")) {
				return refuse(codeSyntax, "%s at byte %d: GROUP BY does not sort; add ORDER BY", strings.ToUpper(t.text), t.pos+1)
			}
			if t.kind == tWord && t.pos > s.toks[0].pos && g.published(t.text) && reserved(t.text) {
				return refuse(codeSyntax, "%s at byte %d is a keyword too; as a name it needs back quotes: `%s`", show(t.text), t.pos+1, show(t.text))
			}
			return refuse(codeSyntax, "the statement cannot be read near %s at byte %d", near(t), t.pos+1)
		}
	}
	return fault.New(codeSyntax, "sqlguard.Plan", errors.New("syntax")).WithHint("the statement cannot be read to its end; a bracket, a quote or a keyword may be missing")
}

// published tells whether an allowed table or column bears that name.
func (g *Guard) published(name string) bool {
	k := fold(name)
	return slices.ContainsFunc(g.tables, func(e *entry) bool {
		return fold(e.Name) == k || slices.ContainsFunc(e.cols, func(c relColumn) bool { return c.key == k })
	})
}

// reserved tells whether the deciding reader takes no such word for a name.
func reserved(word string) bool {
	reader, err := parser()
	if err != nil {
		return false
	}
	_, err = reader.ParseStrictDDL("select " + word + " from t")
	return err != nil
}

// near names a token for a hint. The content of a literal stays out.
func near(t token) string {
	switch t.kind {
	case tString, tHex:
		return "a literal"
	case tNumber:
		return "a number"
	}
	return cmp.Or(show(t.text), "the end")
}
