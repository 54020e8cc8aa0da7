package sqlguard

import (
	"slices"
	"strings"

	sp "vitess.io/vitess/go/vt/sqlparser"
)

func sortStrings(s []string) { slices.Sort(s) }

// aggregate converts aggregates and window functions; nil when e is none. Inside an aggregate a name is a column, never an output.
func (c *conv) aggregate(x ctx, e sp.Expr) expr {
	x = x.plain()
	switch n := e.(type) {
	case *sp.CountStar:
		c.facts.function("count")
		return c.over(x, word("COUNT(*)"), n.OverClause)
	case *sp.Count:
		return c.countCall(x, n)
	case *sp.GroupConcatExpr:
		return c.groupConcat(x, n)
	case *sp.ArgumentLessWindowExpr, *sp.FirstOrLastValueExpr, *sp.NtileExpr, *sp.NTHValueExpr, *sp.LagLeadExpr:
		return c.windowCall(x, n.(sp.WindowFunc))
	case sp.AggrFunc:
		w, ok := aggregates[n.AggrName()]
		if !ok {
			return nil
		}
		c.facts.function(n.AggrName())
		if v, ok := anyValue(x, e); ok {
			return c.expr(x, v)
		}
		out := seq{w, word("(")}
		if d, ok := n.(sp.DistinctableAggr); ok && d.IsDistinct() {
			out = append(out, word("DISTINCT "))
		}
		for i, a := range n.GetArgs() {
			if i > 0 {
				out = append(out, word(", "))
			}
			out = append(out, c.expr(x, a))
		}
		out = append(out, word(")"))
		if wf, ok := n.(sp.WindowFunc); ok {
			return c.over(x, out, wf.GetOverClause())
		}
		return out
	}
	return nil
}

// anyValue gives the argument of ANY_VALUE: as it stands it means the same under the sql_mode of the executor, and MariaDB lacks the function. HAVING could not name it.
func anyValue(x ctx, e sp.Expr) (sp.Expr, bool) {
	v, ok := e.(*sp.AnyValue)
	if !ok || x.sc.having {
		return nil, false
	}
	return v.Arg, true
}

// countCall: COUNT(col) tells how many are not NULL, which is allowed for a masked column; COUNT(DISTINCT col) compares it.
func (c *conv) countCall(x ctx, n *sp.Count) expr {
	c.facts.function("count")
	if len(n.Args) == 1 && !n.Distinct {
		if col, ok := n.Args[0].(*sp.ColName); ok {
			e, _ := c.column(x, col)
			return c.over(x, call{"COUNT", []expr{e}}, n.OverClause)
		}
	}
	if len(n.Args) == 0 || len(n.Args) > 1 && !n.Distinct {
		fail(codeSyntax, "COUNT takes one argument, or several behind DISTINCT")
	}
	if !n.Distinct {
		return c.over(x, call{"COUNT", c.exprs(x, n.Args)}, n.OverClause)
	}
	out := seq{word("COUNT(DISTINCT ")}
	for i, a := range n.Args {
		if i > 0 {
			out = append(out, word(", "))
		}
		out = append(out, c.expr(x, a))
	}
	return c.over(x, append(out, word(")")), n.OverClause)
}

func (c *conv) groupConcat(x ctx, n *sp.GroupConcatExpr) expr {
	c.facts.function("group_concat")
	out := seq{word("GROUP_CONCAT(")}
	if n.Distinct {
		out = append(out, word("DISTINCT "))
	}
	for i, a := range n.Exprs {
		if i > 0 {
			out = append(out, word(", "))
		}
		out = append(out, c.expr(x, a))
	}
	if len(n.OrderBy) > 0 {
		out = append(out, orderList(c.innerOrder(x, n.OrderBy, len(n.Exprs))))
	}
	if n.Separator != "" {
		toks, err := lex(n.Separator)
		if err != nil || len(toks) != 1 || toks[0].kind != tString {
			failUnsupported("this SEPARATOR")
		}
		out = append(out, word(" SEPARATOR "), strLit(toks[0].text))
	}
	if n.Limit != nil {
		l := c.limit(n.Limit)
		out = append(out, word(" LIMIT "), number(l.count))
		if l.offset > 0 {
			out = append(out, word(" OFFSET "), number(l.offset))
		}
	}
	return append(out, word(")"))
}

// orderList is an ORDER BY inside a call or a window.
type orderList []orderItem

func (o orderList) write(p *printer) { p.orderBy(o) }

// number is an unsigned integer.
type number uint64

func (n number) write(p *printer) { p.uint(uint64(n)) }

// innerOrder converts the ORDER BY of an aggregate or window: columns only; in GROUP_CONCAT a number means one of its arguments.
func (c *conv) innerOrder(x ctx, o sp.OrderBy, positions int) []orderItem {
	c.orders++
	var out []orderItem
	for _, it := range o {
		item := orderItem{desc: it.Direction == sp.DescOrder}
		l, ok := it.Expr.(*sp.Literal)
		switch isInt := ok && l.Type == sp.IntVal; {
		case positions == 0:
			item.e = c.expr(x, it.Expr)
		case !isInt:
			item.e = c.sortKey(x, it.Expr, "ORDER BY")
		case len(l.Val) > 4 || c.count(l) < 1 || c.count(l) > uint64(positions):
			fail(codeSyntax, "position %s is not an argument of GROUP_CONCAT", show(l.Val))
		default:
			item.e = c.expr(x, it.Expr)
		}
		out = append(out, item)
	}
	return out
}

func (c *conv) windowCall(x ctx, n sp.WindowFunc) expr {
	switch f := n.(type) {
	case *sp.FirstOrLastValueExpr:
		respect(f.NullTreatmentClause)
	case *sp.LagLeadExpr:
		respect(f.NullTreatmentClause)
	case *sp.NTHValueExpr:
		respect(f.NullTreatmentClause)
		if f.FromFirstLastClause != nil && f.FromFirstLastClause.Type != sp.FromFirstType {
			failUnsupported("FROM LAST")
		}
	}
	w, ok := windowFunctions[n.WindowFuncName()]
	if !ok {
		failUnsupported("this window function")
	}
	c.facts.function(n.WindowFuncName())
	if n.GetOverClause() == nil {
		fail(codeSyntax, "%s needs OVER (...)", w)
	}
	if f, ok := n.(*sp.LagLeadExpr); ok && f.Default != nil {
		return c.lagDefault(x, w, f)
	}
	return c.over(x, call{w, c.exprs(x, present(n.GetArgs()...))}, n.GetOverClause())
}

// lagDefault writes LAG(a, n, d) as IF(LAG(1, n) IS NULL, d, LAG(a, n)), which MariaDB reads as well.
func (c *conv) lagDefault(x ctx, w word, f *sp.LagLeadExpr) expr {
	arg, by, other := c.expr(x, f.Expr), c.expr(x, f.N), c.expr(x, f.Default)
	over := c.over(x, word(""), f.OverClause)
	at := func(e expr) expr { return seq{call{w, []expr{e, by}}, over} }
	return call{"IF", []expr{seq{word("("), at(numLit("1")), word(" IS NULL)")}, other, at(arg)}}
}

func respect(n *sp.NullTreatmentClause) {
	if n != nil && n.Type != sp.RespectNullsType {
		failUnsupported("IGNORE NULLS")
	}
}

// over adds the OVER clause.
func (c *conv) over(x ctx, e expr, o *sp.OverClause) expr {
	if o == nil {
		return e
	}
	if o.WindowSpec == nil {
		return seq{e, word(" OVER "), c.windowRef(x, o.WindowName)}
	}
	return seq{e, word(" OVER "), c.windowSpec(x, o.WindowSpec)}
}

func (c *conv) windowRef(x ctx, name sp.IdentifierCI) expr {
	for i, n := range x.sc.named {
		if n == name.Lowered() {
			return windowName(i)
		}
	}
	fail(codeSyntax, "there is no window named %s", show(name.String()))
	return nil
}

func (c *conv) windowSpec(x ctx, s *sp.WindowSpecification) windowSpec {
	c.node()
	var out windowSpec
	if s.Name.NotEmpty() {
		out.base = c.windowRef(x, s.Name)
	}
	out.partition = c.exprs(x, s.PartitionClause)
	if len(s.OrderClause) > 0 {
		out.order = c.innerOrder(x, s.OrderClause, 0)
	}
	if f := s.FrameClause; f != nil {
		u := word("ROWS ")
		if f.Unit == sp.FrameRangeType {
			u = "RANGE "
		}
		if f.End == nil {
			out.frame = seq{u, c.framePoint(x, f.Start)}
		} else {
			out.frame = seq{u, word("BETWEEN "), c.framePoint(x, f.Start), word(" AND "), c.framePoint(x, f.End)}
		}
	}
	return out
}

func (c *conv) framePoint(x ctx, p *sp.FramePoint) expr {
	if p == nil {
		failUnsupported("this window frame")
	}
	var amount expr
	switch p.Type {
	case sp.CurrentRowType:
		return word("CURRENT ROW")
	case sp.UnboundedPrecedingType:
		return word("UNBOUNDED PRECEDING")
	case sp.UnboundedFollowingType:
		return word("UNBOUNDED FOLLOWING")
	}
	amount = c.expr(x, p.Expr)
	if p.Unit != sp.IntervalNone {
		amount = seq{word("INTERVAL "), amount, word(" "), unit(p.Unit)}
	}
	switch p.Type {
	case sp.ExprPrecedingType:
		return seq{amount, word(" PRECEDING")}
	case sp.ExprFollowingType:
		return seq{amount, word(" FOLLOWING")}
	}
	failUnsupported("this window frame")
	return nil
}

// windows converts the WINDOW clause. The windows get names of our own.
func (c *conv) windows(x ctx, b *selectBody, ws sp.NamedWindows) {
	for _, nw := range ws {
		for _, w := range nw.Windows {
			name := w.Name.Lowered()
			if slices.Contains(x.sc.named, name) {
				fail(codeSyntax, "the window name %s is used twice", show(w.Name.String()))
			}
			spec := c.windowSpec(x, w.WindowSpec)
			b.windows = append(b.windows, windowDef{spec})
			x.sc.named = append(x.sc.named, strings.ToLower(w.Name.String()))
		}
	}
}
