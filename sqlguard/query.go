package sqlguard

import (
	"strconv"
	"strings"

	sp "vitess.io/vitess/go/vt/sqlparser"
)

// conv turns the deciding reader's tree into the closed form. It stops at the first thing that is not known or not allowed.
type conv struct {
	g          *Guard
	s          *scan
	tables     map[*entry]bool
	columns    map[*source]bool
	touched    []*relation // relations referenced since it was last cut
	refs       int         // column references so far
	aggregates int         // aggregates and window functions so far
	nodes      int
	deep       int
	limits     int // Limit nodes, ORDER BY lists, SELECT marks and changed set operators met: all that the text has must turn up
	orders     int
	marks      int
	setOps     int
	marked     span // SELECTs met since it was last reset
	facts      facts
	open       []string // printed names of the relations around the current place, folded
}

func (c *conv) node() {
	if c.nodes++; c.nodes > maxNodes {
		fail(codeComplex, "the statement is too large; ask for fewer columns or conditions")
	}
}

// query converts a SELECT, VALUES or set operation. pending is the recursive CTE whose columns its first arm defines, or nil.
func (c *conv) query(ts sp.TableStatement, outer *scope, env *cteEnv, pending *cteDef) *query {
	c.enter()
	defer c.leave()
	switch n := ts.(type) {
	case *sp.Select:
		q := c.selectQuery(n, outer, env)
		define(pending, q)
		return q
	case *sp.Union:
		return c.setQuery(n, outer, env, pending)
	case *sp.ValuesStatement:
		q := c.values(n, outer, env)
		define(pending, q)
		return q
	}
	failUnsupported("this kind of query")
	return nil
}

func (c *conv) enter() {
	if c.deep++; c.deep > maxSpine {
		fail(codeComplex, "the statement is nested too deeply")
	}
}

func (c *conv) leave() { c.deep-- }

// define gives a CTE its columns: the names of its list or of the query, the lineage of the query.
func define(d *cteDef, q *query) {
	if d == nil || d.known {
		return
	}
	if d.columns != nil && len(d.columns) != len(q.outputs) {
		fail(codeSyntax, "the column list of %s has %d names for %d columns", show(d.name), len(d.columns), len(q.outputs))
	}
	d.cols = relColumns(q.outputs, d.columns, d.name)
	d.known = true
}

// relColumns turns outputs into the columns of a derived table or CTE. Two columns of one name would be an error of the server.
func relColumns(outs []output, names []string, of string) []relColumn {
	cols := make([]relColumn, len(outs))
	seen := make(map[string]bool, len(outs))
	for i, o := range outs {
		n := o.name
		if names != nil {
			n = names[i]
		}
		k := fold(n)
		if seen[k] {
			fail(codeAmbiguous, "%s has two columns named %s; give one of them another name with AS", show(of), show(n))
		}
		seen[k] = true
		cols[i] = relColumn{name: n, key: k, src: o.src, masked: o.masked}
	}
	return cols
}

// with converts a WITH clause and returns the names in scope behind it.
func (c *conv) with(w *sp.With, env *cteEnv, q *query) *cteEnv {
	if w == nil {
		return env
	}
	q.recurse = w.Recursive
	seen := map[string]bool{}
	for _, n := range w.CTEs {
		name := alias(n.ID.String(), "the CTE name", 64)
		if seen[fold(name)] {
			fail(codeSyntax, "the CTE name %s is used twice", show(name))
		}
		seen[fold(name)] = true
		d := &cteDef{name: name}
		for _, col := range n.Columns {
			d.columns = append(d.columns, alias(col.String(), "the column name", 64))
		}
		inner := env
		var pending *cteDef
		if w.Recursive {
			inner, pending = &cteEnv{env, d}, d
		}
		// A CTE does not see the query around it: MariaDB has no such references, and a server that has them could find another table of that alias.
		d.q = c.query(n.Subquery, nil, inner, pending)
		if w.Recursive && d.used {
			for _, o := range d.q.outputs {
				if o.masked != nil {
					c.masked(o.name)
				}
			}
		}
		if w.Recursive && d.used && endless(d.q, d) {
			fail(codeComplex, "the recursive part of %s has no condition that ends it; add WHERE", show(name))
		}
		d.known = false
		define(d, d.q)
		q.with = append(q.with, d)
		env = &cteEnv{env, d}
	}
	return env
}

// endless tells whether an arm of q reads d and nothing else, without any condition. The server's own bound on recursion stops the others.
func endless(q *query, d *cteDef) bool {
	switch b := q.body.(type) {
	case *setBody:
		return q.limit == nil && (endless(b.left, d) || endless(b.right, d))
	case *selectBody:
		if len(b.from) != 1 || b.where != nil || b.having != nil || q.limit != nil {
			return false
		}
		r, ok := b.from[0].(*relation)
		return ok && r.cte == d
	}
	return false
}

func (c *conv) setQuery(n *sp.Union, outer *scope, env *cteEnv, pending *cteDef) *query {
	q := &query{}
	if n.Lock != sp.NoLock {
		fail(codeNotReadOnly, "locking reads are not allowed; leave the clause out")
	}
	if n.Into != nil {
		fail(codeNotReadOnly, "INTO is not allowed; leave it out")
	}
	env = c.with(n.With, env, q)
	b := &setBody{all: !n.Distinct}
	marked := c.marked
	c.marked = span{len(c.s.marks), -1}
	b.left = c.query(n.Left, outer, env, pending)
	b.apart = c.s.brackets[c.marked]
	c.marked = span{min(marked.first, c.marked.first), max(marked.last, c.marked.last)}
	b.op = c.operator(n.Right)
	b.right = c.query(n.Right, outer, env, nil)
	if len(b.left.outputs) != len(b.right.outputs) {
		fail(codeSyntax, "the SELECTs of a set operation have %d and %d columns", len(b.left.outputs), len(b.right.outputs))
	}
	for i, l := range b.left.outputs {
		r := b.right.outputs[i]
		o := output{name: l.name, masked: merge(l.masked, r.masked)}
		if l.src == r.src {
			o.src = l.src
		}
		if o.masked != nil && (b.op != opUnion || !b.all) {
			fail(codeMasked, "column %s is masked: only UNION ALL can carry it", show(o.name))
		}
		q.outputs = append(q.outputs, o)
	}
	q.body = b
	sc := &scope{parent: outer, outs: q.outputs, union: true}
	q.order = c.orderBy(ctx{sc: sc, env: env, aliases: unionAlias}, n.OrderBy)
	q.limit = c.limit(n.Limit)
	return q
}

// operator tells which set operator stood before the arm ts: the mark of its first SELECT knows it.
func (c *conv) operator(ts sp.TableStatement) setOp {
	for {
		switch n := ts.(type) {
		case *sp.Union:
			if n.With != nil {
				return opUnion
			}
			ts = n.Left
			continue
		case *sp.Select:
			m := c.mark(n)
			if op := m.before; op != opUnion {
				c.setOps++
				return op
			}
		}
		return opUnion
	}
}

// mark finds what the scan knows of a SELECT.
func (c *conv) mark(n *sp.Select) *selectMark {
	cs := n.Comments.GetComments()
	if len(cs) != 1 {
		fail(codeAmbiguous, "the statement could not be matched to its text; write it without brackets around its SELECTs")
	}
	i, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(cs[0], "/*"), "*/"))
	if err != nil || i < 0 || i >= len(c.s.marks) {
		fail(codeAmbiguous, "the statement could not be matched to its text; write it without brackets around its SELECTs")
	}
	c.marked = span{min(c.marked.first, i), max(c.marked.last, i)}
	return &c.s.marks[i]
}

func merge(a, b []*source) []*source {
	out := a
next:
	for _, s := range b {
		for _, t := range out {
			if s == t {
				continue next
			}
		}
		out = append(out[:len(out):len(out)], s)
	}
	return out
}

func (c *conv) selectQuery(n *sp.Select, outer *scope, env *cteEnv) *query {
	c.node()
	q := &query{}
	switch {
	case n.Lock != sp.NoLock:
		fail(codeNotReadOnly, "locking reads are not allowed; leave the clause out")
	case n.Into != nil:
		fail(codeNotReadOnly, "INTO is not allowed; leave it out")
	case n.SQLCalcFoundRows:
		failUnsupported("SQL_CALC_FOUND_ROWS")
	case n.SelectExprs == nil || len(n.SelectExprs.Exprs) == 0:
		failUnsupported("an empty select list")
	}
	m := c.mark(n)
	c.marks++
	defer func(n int) { c.open = c.open[:n] }(len(c.open))
	env = c.with(n.With, env, q)
	b := &selectBody{distinct: n.Distinct}
	q.body = b
	sc := &scope{parent: outer}
	for _, it := range n.SelectExprs.Exprs {
		if a, ok := it.(*sp.AliasedExpr); ok && a.As.NotEmpty() {
			sc.later = append(sc.later, a.As.String())
		}
	}
	x := ctx{sc: sc, env: env}
	c.fromClause(x, b, n.From)
	if n.Where != nil {
		b.where = c.condition(x, n.Where.Expr)
	}
	c.notLoose(sc)
	c.windows(x, b, n.Windows)
	c.selectList(x, b, q, n.SelectExprs.Exprs, m)
	sc.outs, sc.items = q.outputs, b.items
	if b.distinct {
		for _, o := range q.outputs {
			if o.masked != nil {
				fail(codeMasked, "column %s is masked: DISTINCT would compare it; leave DISTINCT or the column out", show(o.name))
			}
		}
	}
	if n.GroupBy != nil {
		b.rollup = n.GroupBy.WithRollup
		for _, e := range n.GroupBy.Exprs {
			b.group = append(b.group, c.groupItem(x, e))
		}
	}
	if n.Having != nil {
		h := x
		h.aliases = havingAlias
		sc.having = true
		b.having = c.expr(h, n.Having.Expr)
		sc.having = false
	}
	x.aliases = inlineAlias
	q.order = c.orderBy(x, n.OrderBy)
	q.limit = c.limit(n.Limit)
	return q
}

// selectList converts the outputs and gives each the name that MySQL would give it.
func (c *conv) selectList(x ctx, b *selectBody, q *query, items []sp.SelectExpr, m *selectMark) {
	if len(m.items) != len(items) {
		fail(codeAmbiguous, "the select list can be read in more than one way")
	}
	for i, it := range items {
		switch n := it.(type) {
		case *sp.StarExpr:
			c.star(x, b, q, n)
		case *sp.AliasedExpr:
			before := c.nodes
			e, masked, src := c.bare(x, n.Expr)
			var name string
			if n.As.NotEmpty() {
				name = alias(n.As.String(), "the alias", 256)
			} else {
				name = autoName(n.Expr, m.items[i])
			}
			b.items = append(b.items, selectItem{e, name, c.nodes - before})
			q.outputs = append(q.outputs, output{name: name, src: src, masked: masked})
		default:
			failUnsupported("NEXT VALUE")
		}
		if len(q.outputs) > maxOutputs {
			fail(codeComplex, "the result has more than %d columns", maxOutputs)
		}
	}
}

func (c *conv) star(x ctx, b *selectBody, q *query, n *sp.StarExpr) {
	vis := x.sc.vis
	if n.TableName.NonEmpty() {
		_, r := (&scope{rels: x.sc.rels}).relation(n.TableName.Qualifier.String(), n.TableName.Name.String())
		if r == nil {
			fail(codeTable, "%s is not a table or alias of this query; it has %s", show(n.TableName.Name.String()), list(x.sc.aliasesInScope(), 8))
		}
		vis = nil
		for i := range r.cols {
			vis = append(vis, visible{r, i})
		}
	}
	if len(vis) == 0 {
		fail(codeSyntax, "a star needs a table")
	}
	for _, v := range vis {
		e, col := c.ref(v)
		b.items = append(b.items, selectItem{e: e, name: col.name})
		q.outputs = append(q.outputs, output{name: col.name, src: col.src, masked: col.masked})
	}
}

// values writes VALUES ROW(..), .. as a UNION ALL, which every server reads; its columns are named column_0 and so on, as MySQL names them.
func (c *conv) values(n *sp.ValuesStatement, outer *scope, env *cteEnv) *query {
	if len(n.Rows) == 0 || n.ListArg != "" {
		failUnsupported("VALUES without rows")
	}
	if len(n.Rows) > maxSelects {
		fail(codeComplex, "VALUES has more than %d rows", maxSelects)
	}
	q := &query{}
	env = c.with(n.With, env, q)
	x := ctx{sc: &scope{parent: outer}, env: env}
	width := len(n.Rows[0])
	var left *query
	for _, row := range n.Rows {
		if len(row) != width || width == 0 {
			fail(codeSyntax, "the rows of VALUES differ in length")
		}
		c.node()
		b := &selectBody{}
		arm := &query{body: b}
		for i, e := range row {
			name := "column_" + strconv.Itoa(i)
			b.items = append(b.items, selectItem{e: c.expr(x, e), name: name})
			arm.outputs = append(arm.outputs, output{name: name})
		}
		if left == nil {
			left = arm
			continue
		}
		left = &query{body: &setBody{all: true, left: left, right: arm}, outputs: left.outputs}
	}
	q.body, q.outputs = left.body, left.outputs
	sc := &scope{parent: outer, outs: q.outputs, union: true}
	q.order = c.orderBy(ctx{sc: sc, env: env, aliases: unionAlias}, n.Order)
	q.limit = c.limit(n.Limit)
	return q
}
