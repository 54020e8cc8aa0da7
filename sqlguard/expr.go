package sqlguard

import (
	"encoding/hex"
	"strings"

	sp "vitess.io/vitess/go/vt/sqlparser"
)

// bare converts an expression where a masked column may stand: an item of a select list, the argument of COUNT, the operand of IS NULL.
// It returns the masked columns whose cells the value shows and the column that it is.
func (c *conv) bare(x ctx, e sp.Expr) (expr, []*source, *source) {
	switch n := e.(type) {
	case *sp.ColName:
		r, col := c.column(x, n)
		if col == nil {
			return r, nil, nil
		}
		return r, col.masked, col.src
	case *sp.Subquery:
		q := c.query(n.Select, x.sc, x.env, nil)
		if len(q.outputs) != 1 {
			fail(codeSyntax, "a subquery in the select list needs one column")
		}
		return subquery{q}, q.outputs[0].masked, nil
	}
	if v, ok := anyValue(x, e); ok {
		c.facts.function("any_value")
		return c.bare(x.plain(), v)
	}
	return c.expr(x, e), nil, nil
}

func (c *conv) column(x ctx, n *sp.ColName) (expr, *relColumn) {
	name, table := n.Name.String(), n.Qualifier.Name.String()
	if x.aliases != unionAlias {
		c.facts.column(table, name)
	}
	if n.Qualifier.IsEmpty() {
		return c.unqualified(x, name)
	}
	return c.qualified(x, n.Qualifier.Qualifier.String(), table, name)
}

func (c *conv) exprs(x ctx, es []sp.Expr) []expr {
	out := make([]expr, len(es))
	for i, e := range es {
		out[i] = c.expr(x, e)
	}
	return out
}

// expr converts an expression in a place where a masked column may not stand. Unknown nodes are refused.
func (c *conv) expr(x ctx, e sp.Expr) expr {
	c.node()
	c.enter()
	defer c.leave()
	switch n := e.(type) {
	case *sp.ColName:
		r, col := c.column(x, n)
		if col != nil && col.masked != nil {
			c.masked(n.Name.String())
		}
		return r
	case *sp.Literal:
		return literal(n)
	case *sp.NullVal:
		return word("NULL")
	case sp.BoolVal:
		if n {
			return word("TRUE")
		}
		return word("FALSE")
	case *sp.AndExpr:
		return nary{" AND ", c.exprs(x, conjuncts(n, nil))}
	case *sp.OrExpr:
		return nary{" OR ", c.exprs(x, disjuncts(n))}
	case *sp.XorExpr:
		return nary{" XOR ", []expr{c.expr(x, n.Left), c.expr(x, n.Right)}}
	case *sp.NotExpr:
		return seq{word("(NOT "), c.expr(x, n.Expr), word(")")}
	case *sp.UnaryExpr:
		return c.unary(x, n)
	case *sp.BinaryExpr:
		op, ok := binaries[n.Operator]
		if !ok {
			failUnsupported("this operator")
		}
		return nary{op, []expr{c.expr(x, n.Left), c.expr(x, n.Right)}}
	case *sp.ComparisonExpr:
		return c.comparison(x, n)
	case *sp.BetweenExpr:
		op := word(" BETWEEN ")
		if !n.IsBetween {
			op = " NOT BETWEEN "
		}
		return seq{word("("), c.expr(x, n.Left), op, c.expr(x, n.From), word(" AND "), c.expr(x, n.To), word(")")}
	case *sp.IsExpr:
		return c.is(x, n)
	case sp.ValTuple:
		return tuple(c.exprs(x, n))
	case *sp.Subquery:
		return c.subquery(x, n)
	case *sp.ExistsExpr:
		// The output list of EXISTS is not a use of its columns.
		return seq{word("EXISTS "), subquery{c.query(n.Subquery.Select, x.sc, x.env, nil)}}
	case *sp.CaseExpr:
		return c.caseExpr(x, n)
	case *sp.CollateExpr:
		w, ok := collations[fold(n.Collation)]
		if !ok {
			fail(codeUnsupported, "collation %s is not supported; use utf8mb4_bin or utf8mb4_general_ci", show(n.Collation))
		}
		return seq{word("("), c.expr(x, n.Expr), word(" COLLATE "), w, word(")")}
	case *sp.IntroducerExpr:
		return introducer(n)
	case *sp.CastExpr:
		if n.Array {
			failUnsupported("CAST to an array")
		}
		return c.cast(x, n.Expr, n.Type)
	case *sp.ConvertExpr:
		return c.cast(x, n.Expr, n.Type)
	case *sp.ConvertUsingExpr:
		return seq{word("CONVERT("), c.expr(x, n.Expr), word(" USING "), charset(n.Type), word(")")}
	case *sp.Argument, sp.ListArg:
		failUnsupported("a placeholder")
	case *sp.Variable, *sp.AssignmentExpr:
		failUnsupported("a variable")
	}
	if r := c.typedFunction(x, e); r != nil {
		return r
	}
	if r := c.jsonFunction(x, e); r != nil {
		return r
	}
	if r := c.aggregate(x, e); r != nil {
		c.aggregates++
		return r
	}
	c.refusedFunction(e)
	return nil
}

func disjuncts(e sp.Expr) []sp.Expr {
	var right []sp.Expr
	for {
		o, ok := e.(*sp.OrExpr)
		if !ok {
			break
		}
		right = append(right, o.Right)
		e = o.Left
	}
	out := []sp.Expr{e}
	for i := len(right) - 1; i >= 0; i-- {
		out = append(out, right[i])
	}
	return out
}

func tuple(es []expr) expr {
	out := seq{word("(")}
	for i, e := range es {
		if i > 0 {
			out = append(out, word(", "))
		}
		out = append(out, e)
	}
	return append(out, word(")"))
}

func (c *conv) unary(x ctx, n *sp.UnaryExpr) expr {
	var op word
	switch n.Operator {
	case sp.UPlusOp:
		op = "(+ "
	case sp.UMinusOp:
		op = "(- "
	case sp.TildaOp:
		op = "(~ "
	case sp.BangOp:
		op = "(NOT "
	case sp.NStringOp:
		return c.expr(x, n.Expr)
	default:
		failUnsupported("this operator")
	}
	return seq{op, c.expr(x, n.Expr), word(")")}
}

func (c *conv) comparison(x ctx, n *sp.ComparisonExpr) expr {
	op, ok := comparisons[n.Operator]
	if !ok {
		failUnsupported("this operator")
	}
	inLeft, left := c.side(x, n.Left)
	inRight, right := c.side(x, n.Right)
	if (inLeft || inRight) && n.Operator != sp.InOp && n.Operator != sp.NotInOp {
		// (COUNT(*), a) = (SELECT ...) ends the whole server process of MariaDB 10.11 when the subquery is correlated.
		_, l := n.Left.(*sp.Subquery)
		_, r := n.Right.(*sp.Subquery)
		if l || r {
			failUnsupported("comparing a row that holds an aggregate or a window function with a subquery")
		}
	}
	if n.Modifier == sp.Missing && n.Escape == nil {
		return nary{op, []expr{left, right}}
	}
	out := seq{word("("), left, op}
	switch n.Modifier {
	case sp.Missing:
	case sp.Any:
		out = append(out, word("ANY "))
	case sp.All:
		out = append(out, word("ALL "))
	default:
		failUnsupported("this operator")
	}
	out = append(out, right)
	if n.Escape != nil {
		out = append(out, word(" ESCAPE "), c.expr(x, n.Escape))
	}
	return append(out, word(")"))
}

// side converts one side of a comparison and tells whether it is a row with an aggregate or a window function in it.
func (c *conv) side(x ctx, e sp.Expr) (bool, expr) {
	before := c.aggregates
	r := c.expr(x, e)
	_, row := e.(sp.ValTuple)
	return row && c.aggregates != before, r
}

func (c *conv) is(x ctx, n *sp.IsExpr) expr {
	w, ok := tests[n.Right]
	if !ok {
		failUnsupported("this IS test")
	}
	var e expr
	if col, isCol := n.Left.(*sp.ColName); isCol && (n.Right == sp.IsNullOp || n.Right == sp.IsNotNullOp) {
		e, _ = c.column(x, col)
	} else {
		e = c.expr(x, n.Left)
	}
	return seq{word("("), e, w, word(")")}
}

// subquery converts a subquery whose values are used.
func (c *conv) subquery(x ctx, n *sp.Subquery) expr {
	q := c.query(n.Select, x.sc, x.env, nil)
	for _, o := range q.outputs {
		c.maskedOutput(o, o.name)
	}
	return subquery{q}
}

func (c *conv) caseExpr(x ctx, n *sp.CaseExpr) expr {
	out := seq{word("(CASE")}
	if n.Expr != nil {
		out = append(out, word(" "), c.expr(x, n.Expr))
	}
	for _, w := range n.Whens {
		out = append(out, word(" WHEN "), c.expr(x, w.Cond), word(" THEN "), c.expr(x, w.Val))
	}
	if n.Else != nil {
		out = append(out, word(" ELSE "), c.expr(x, n.Else))
	}
	return append(out, word(" END)"))
}

// literal writes a literal anew.
func literal(n *sp.Literal) expr {
	switch n.Type {
	case sp.StrVal:
		return strLit(n.Val)
	case sp.IntVal, sp.DecimalVal, sp.FloatVal:
		if isNumber(n.Val) {
			return numLit(n.Val)
		}
	case sp.HexNum:
		if radix(n.Val) == len(n.Val) {
			return numLit(n.Val)
		}
	case sp.BitNum:
		if radix(n.Val) == len(n.Val) {
			return numLit(n.Val)
		}
	case sp.HexVal:
		if b, err := hex.DecodeString(n.Val); err == nil {
			return bytesLit(b)
		}
	case sp.DateVal:
		return seq{word("DATE "), strLit(n.Val)}
	case sp.TimeVal:
		return seq{word("TIME "), strLit(n.Val)}
	case sp.TimestampVal:
		return seq{word("TIMESTAMP "), strLit(n.Val)}
	}
	failUnsupported("this literal")
	return nil
}

// isNumber tells whether s is digits with an optional point and exponent.
func isNumber(s string) bool {
	digits := func() int {
		n := 0
		for n < len(s) && isDigit(s[n]) {
			n++
		}
		s = s[n:]
		return n
	}
	n := digits()
	if strings.HasPrefix(s, ".") {
		s = s[1:]
		n += digits()
	}
	if n == 0 {
		return false
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		if digits() == 0 {
			return false
		}
	}
	return s == ""
}

// introducer writes a literal with a character set as its bytes.
func introducer(n *sp.IntroducerExpr) expr {
	w, ok := introducers[fold(n.CharacterSet)]
	if !ok {
		fail(codeUnsupported, "the character set %s before a literal is not supported", show(n.CharacterSet))
	}
	if l, isLit := n.Expr.(*sp.Literal); isLit {
		switch l.Type {
		case sp.StrVal:
			return seq{w, word(" "), bytesLit(l.Val)}
		case sp.HexVal:
			if b, err := hex.DecodeString(l.Val); err == nil {
				return seq{w, word(" "), bytesLit(b)}
			}
		case sp.HexNum:
			digits := strings.TrimPrefix(l.Val, "0x")
			if len(digits)%2 != 0 {
				digits = "0" + digits
			}
			if b, err := hex.DecodeString(digits); err == nil {
				return seq{w, word(" "), bytesLit(b)}
			}
		}
	}
	failUnsupported("a character set before this literal")
	return nil
}

func charset(name string) word {
	w, ok := charsets[fold(name)]
	if !ok {
		fail(codeUnsupported, "the character set %s is not supported; use utf8mb4", show(name))
	}
	return w
}

func (c *conv) cast(x ctx, e sp.Expr, t *sp.ConvertType) expr {
	out := seq{word("CAST("), c.expr(x, e), word(" AS "), c.sizedType(castTypes, t.Type, t.Length, t.Scale)}
	if t.Charset.Name != "" {
		if !castTypes[fold(t.Type)].text {
			failUnsupported("a character set in this CAST")
		}
		out = append(out, word(" CHARACTER SET "), charset(t.Charset.Name))
	}
	if t.Charset.Binary {
		failUnsupported("CHAR BINARY")
	}
	return append(out, word(")"))
}

// maxSize bounds the sizes in types: beyond it no value that can be shown differs.
const maxSize = 65535

func (c *conv) sizedType(types map[string]castType, name string, length, scale *int) expr {
	t, ok := types[fold(name)]
	if !ok {
		fail(codeUnsupported, "the type %s is not supported; use CHAR, SIGNED, UNSIGNED, DECIMAL(10,2), DATE, DATETIME, TIME or DOUBLE", show(name))
	}
	out := seq{t.name}
	for i, n := range []*int{length, scale} {
		if n == nil {
			continue
		}
		if i >= t.most {
			fail(codeUnsupported, "the type %s takes no such size", show(name))
		}
		if *n < 0 || *n > maxSize {
			fail(codeComplex, "the size of %s is out of range", show(name))
		}
		if i == 0 {
			out = append(out, word("("), ordinal(*n))
		} else {
			out = append(out, word(", "), ordinal(*n))
		}
	}
	if length != nil {
		out = append(out, word(")"))
	}
	return out
}
