package sqlguard

import (
	sp "vitess.io/vitess/go/vt/sqlparser"
)

// fromClause converts FROM. FROM dual and no FROM are the same.
func (c *conv) fromClause(x ctx, b *selectBody, items []sp.TableExpr) {
	if len(items) == 1 {
		if a, ok := items[0].(*sp.AliasedTableExpr); ok {
			if t, ok := a.Expr.(sp.TableName); ok && t.Qualifier.IsEmpty() && fold(t.Name.String()) == "dual" && a.As.IsEmpty() && x.env.find("dual") == nil {
				return
			}
		}
	}
	for _, it := range items {
		f, vis := c.tableExpr(x, it)
		b.from = append(b.from, f)
		x.sc.vis = append(x.sc.vis, vis...)
	}
}

// tableExpr converts one table, join or bracket. Relations enter the scope at once, for LATERAL; the columns that can be named without a table are returned.
func (c *conv) tableExpr(x ctx, te sp.TableExpr) (fromItem, []visible) {
	c.enter()
	defer c.leave()
	switch n := te.(type) {
	case *sp.AliasedTableExpr:
		r := c.aliased(x, n)
		return r, c.enterScope(x.sc, r)
	case *sp.JoinTableExpr:
		return c.join(x, n)
	case *sp.ParenTableExpr:
		var items parenItem
		var vis []visible
		for _, e := range n.Exprs {
			f, v := c.tableExpr(x, e)
			items, vis = append(items, f), append(vis, v...)
		}
		return items, vis
	case *sp.JSONTableExpr:
		r := c.jsonTable(x, n)
		return r, c.enterScope(x.sc, r)
	}
	failUnsupported("this form of FROM")
	return nil, nil
}

func (c *conv) enterScope(s *scope, r *relation) []visible {
	for _, o := range s.rels {
		if fold(o.alias) == fold(r.alias) {
			fail(codeAmbiguous, "%s names two tables of one FROM; give one of them another alias", show(r.alias))
		}
	}
	c.unique(r)
	if s.rels = append(s.rels, r); len(s.rels) > maxTables {
		fail(codeComplex, "one FROM joins more than %d tables", maxTables)
	}
	vis := make([]visible, len(r.cols))
	for i := range r.cols {
		vis[i] = visible{r, i}
	}
	return vis
}

func (c *conv) aliased(x ctx, n *sp.AliasedTableExpr) *relation {
	c.node()
	if len(n.Partitions) > 0 {
		failUnsupported("PARTITION")
	}
	for _, h := range n.Hints {
		// A hint changes no row and is left out. A name that no index bears is refused, as the server would refuse it.
		for _, i := range h.Indexes {
			if !plainName(i.String()) {
				fail(codeUnsupported, "the index hint %s is not supported; leave it out", show(i.String()))
			}
		}
	}
	switch t := n.Expr.(type) {
	case sp.TableName:
		if len(n.Columns) > 0 {
			fail(codeSyntax, "a table takes no column list; only a derived table does")
		}
		return c.table(x, t, n)
	case *sp.DerivedTable:
		if n.As.IsEmpty() {
			fail(codeSyntax, "a derived table needs an alias; write (SELECT ...) AS t")
		}
		r := &relation{alias: alias(n.As.String(), "the alias", 64), lateral: t.Lateral}
		var outer *scope // a derived table sees nothing around it, for the reason that a CTE does not
		if t.Lateral {
			// What stands to the left is in scope; the columns are gathered here because the SELECT's own list is not complete yet.
			left := &scope{parent: x.sc.parent, rels: x.sc.rels}
			for _, o := range x.sc.rels {
				for i := range o.cols {
					left.vis = append(left.vis, visible{o, i})
				}
			}
			outer = left
		}
		q := c.query(t.Select, outer, x.env, nil)
		if len(n.Columns) > 0 {
			q = c.rename(q, n.Columns, r.alias)
		}
		r.derived = q
		r.cols = relColumns(q.outputs, nil, r.alias)
		return r
	}
	failUnsupported("this form of FROM")
	return nil
}

func plainName(n string) bool {
	for i := range len(n) {
		if !isNameByte(n[i]) && n[i] != '-' {
			return false
		}
	}
	return n != ""
}

// rename gives a derived table the names of its column list, in a form that MariaDB reads as well: as a CTE with a column list.
func (c *conv) rename(q *query, columns sp.Columns, of string) *query {
	if len(columns) != len(q.outputs) {
		fail(codeSyntax, "the column list of %s has %d names for %d columns", show(of), len(columns), len(q.outputs))
	}
	d := &cteDef{name: of, q: q}
	for _, col := range columns {
		d.columns = append(d.columns, alias(col.String(), "the column name", 64))
	}
	define(d, q)
	r := &relation{alias: of, cte: d, cols: d.cols}
	b := &selectBody{from: []fromItem{r}}
	out := &query{with: []*cteDef{d}, body: b}
	for i, col := range d.cols {
		b.items = append(b.items, selectItem{e: colRef{r, i}, name: col.name})
		out.outputs = append(out.outputs, output{name: col.name, src: col.src, masked: col.masked})
	}
	return out
}

func (c *conv) table(x ctx, t sp.TableName, n *sp.AliasedTableExpr) *relation {
	name, schema := t.Name.String(), t.Qualifier.String()
	c.facts.table(schema, name)
	as := name
	if n.As.NotEmpty() {
		as = alias(n.As.String(), "the alias", 64)
	}
	if schema == "" {
		if d := x.env.find(name); d != nil {
			if !d.known {
				fail(codeUnsupported, "%s refers to itself in its first SELECT; a recursive CTE does so only behind UNION", show(name))
			}
			d.used = true
			return &relation{alias: as, cte: d, cols: d.cols}
		}
	}
	e, err := c.g.table(schema, name)
	if err != nil {
		panic(bailout{err})
	}
	if n.As.IsEmpty() {
		as = e.Name
	}
	c.tables[e] = true
	return &relation{alias: as, schema: e.Schema, table: e.Name, cols: e.cols}
}

func (c *conv) join(x ctx, n *sp.JoinTableExpr) (fromItem, []visible) {
	kind, ok := joins[n.Join]
	if !ok {
		fail(codeUnsupported, "NATURAL JOIN compares columns without naming them; write JOIN ... ON a.x = b.x")
	}
	from := len(x.sc.rels)
	left, lv := c.tableExpr(x, n.LeftExpr)
	middle := len(x.sc.rels)
	right, rv := c.tableExpr(x, n.RightExpr)
	j := &joinItem{kind: kind, left: left, right: right}
	vis := append(lv[:len(lv):len(lv)], rv...)
	if n.Condition == nil {
		return j, vis
	}
	switch {
	case n.Condition.On != nil:
		on := x
		on.sc = &scope{parent: x.sc.parent, vis: vis, rels: x.sc.rels[from:], beside: x.sc.rels[:from], later: x.sc.later}
		j.on = c.condition(on, n.Condition.On)
	case len(n.Condition.Using) > 0:
		j.on, vis = c.using(x.sc, n, lv, rv)
		unify(x.sc.rels[from], x.sc.rels[middle])
	}
	return j, vis
}

// using writes USING (c) as an equality and leaves one column c to be named: that of the right table for RIGHT JOIN, else that of the left.
func (c *conv) using(s *scope, n *sp.JoinTableExpr, lv, rv []visible) (expr, []visible) {
	var conds []expr
	var merged []visible
	used := map[visible]bool{}
	for _, u := range n.Condition.Using {
		name, key := u.String(), fold(u.String())
		c.facts.column("", name)
		l, ln := (&scope{vis: lv}).lookup(key)
		r, rn := (&scope{vis: rv}).lookup(key)
		if ln == 0 || rn == 0 {
			fail(codeColumn, "column %s of USING is not an allowed column of both tables", show(name))
		}
		if ln > 1 || rn > 1 {
			fail(codeAmbiguous, "column %s of USING is in more than two tables; write ON", show(name))
		}
		if l.column().masked != nil || r.column().masked != nil {
			c.masked(name)
		}
		le, _ := c.ref(l)
		re, _ := c.ref(r)
		unify(l.rel, r.rel)
		conds = append(conds, nary{" = ", []expr{le, re}})
		used[l], used[r] = true, true
		if n.Join == sp.RightJoinType {
			l = r
		}
		merged = append(merged, l)
		s.merged = append(s.merged, key)
	}
	first, second := lv, rv
	if n.Join == sp.RightJoinType {
		first, second = rv, lv
	}
	for _, vs := range [][]visible{first, second} {
		for _, v := range vs {
			if !used[v] {
				merged = append(merged, v)
			}
		}
	}
	if len(conds) == 1 {
		return conds[0], merged
	}
	return nary{" AND ", conds}, merged
}

// condition converts WHERE or ON and notes which tables each of its terms connects.
func (c *conv) condition(x ctx, e sp.Expr) expr {
	terms := conjuncts(e, nil)
	out := make([]expr, 0, len(terms))
	for _, t := range terms {
		saved := c.touched
		c.touched = nil
		out = append(out, c.expr(x, t))
		for i := 1; i < len(c.touched); i++ {
			unify(c.touched[0], c.touched[i])
		}
		c.touched = append(saved, c.touched...)
	}
	if len(out) == 1 {
		return out[0]
	}
	return nary{" AND ", out}
}

// conjuncts takes a chain of AND apart, from the left, without recursion along it.
func conjuncts(e sp.Expr, out []sp.Expr) []sp.Expr {
	var right []sp.Expr
	for {
		a, ok := e.(*sp.AndExpr)
		if !ok {
			break
		}
		right = append(right, a.Right)
		e = a.Left
	}
	out = append(out, e)
	for i := len(right) - 1; i >= 0; i-- {
		out = append(out, right[i])
	}
	return out
}

// notLoose refuses a product of tables that no condition connects: two of them are a habit, three run for hours.
func (c *conv) notLoose(s *scope) {
	groups := map[*relation]bool{}
	for _, r := range s.rels {
		if r.schema != "" {
			groups[r.root()] = true
		}
	}
	if len(groups) > maxLoose {
		fail(codeComplex, "the query multiplies %d groups of tables that no condition connects; add join conditions", len(groups))
	}
}

func (c *conv) jsonTable(x ctx, n *sp.JSONTableExpr) *relation {
	c.node()
	if n.Alias.IsEmpty() {
		fail(codeSyntax, "JSON_TABLE needs an alias; write JSON_TABLE(...) AS t")
	}
	r := &relation{alias: alias(n.Alias.String(), "the alias", 64), jsonTable: &jsonTable{}}
	left := &scope{parent: x.sc.parent, rels: x.sc.rels}
	for _, o := range x.sc.rels {
		for i := range o.cols {
			left.vis = append(left.vis, visible{o, i})
		}
	}
	at := ctx{sc: left, env: x.env}
	r.jsonTable.doc = c.expr(at, n.Expr)
	r.jsonTable.path = text(n.Filter, "the path of JSON_TABLE")
	r.jsonTable.cols = c.jsonColumns(n.Columns, r)
	seen := map[string]bool{}
	for _, col := range r.cols {
		if seen[col.key] {
			fail(codeAmbiguous, "JSON_TABLE has two columns named %s", show(col.name))
		}
		seen[col.key] = true
	}
	return r
}

func (c *conv) jsonColumns(defs []*sp.JtColumnDefinition, r *relation) []jsonColumn {
	var out []jsonColumn
	column := func(name string) string {
		name = alias(name, "the column name", 64)
		r.cols = append(r.cols, relColumn{name: name, key: fold(name)})
		return name
	}
	for _, d := range defs {
		c.node()
		switch {
		case d.JtOrdinal != nil:
			out = append(out, jsonColumn{name: column(d.JtOrdinal.Name.String()), ordinality: true})
		case d.JtNestedPath != nil:
			c.enter()
			out = append(out, jsonColumn{path: text(d.JtNestedPath.Path, "a path of JSON_TABLE"), nested: c.jsonColumns(d.JtNestedPath.Columns, r)})
			c.leave()
		case d.JtPath != nil:
			p := d.JtPath
			col := jsonColumn{name: column(p.Name.String()), exists: p.JtColExists, path: text(p.Path, "a path of JSON_TABLE")}
			if p.Type == nil || p.Type.Charset.Name != "" || p.Type.Unsigned || p.Type.Zerofill || len(p.Type.EnumValues) > 0 {
				failUnsupported("this column type in JSON_TABLE")
			}
			col.typ = c.sizedType(jsonTypes, p.Type.Type, p.Type.Length, p.Type.Scale)
			col.onEmpty, col.onError = c.jsonResponse(p.EmptyOnResponse), c.jsonResponse(p.ErrorOnResponse)
			out = append(out, col)
		default:
			failUnsupported("this column of JSON_TABLE")
		}
	}
	return out
}

func (c *conv) jsonResponse(r *sp.JtOnResponse) expr {
	if r == nil {
		return nil
	}
	w, ok := jsonResponses[r.ResponseType]
	if !ok {
		failUnsupported("this ON EMPTY or ON ERROR clause")
	}
	if r.ResponseType != sp.DefaultJSONType {
		return w
	}
	return seq{w, strLit(text(r.Expr, "a default value"))}
}

// text reads a text literal where nothing else is supported.
func text(e sp.Expr, what string) string {
	l, ok := e.(*sp.Literal)
	if !ok || l.Type != sp.StrVal {
		fail(codeUnsupported, "%s has to be a text literal", what)
	}
	return l.Val
}
