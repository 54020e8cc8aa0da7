package sqlguard

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	sp "vitess.io/vitess/go/vt/sqlparser"
)

// autoName is the name that MySQL gives an item without alias: that of a column as it was written, the text of a string or number, else the source text.
func autoName(e sp.Expr, text string) string {
	if text == "" {
		return ""
	}
	switch n := e.(type) {
	case *sp.ColName:
		text = n.Name.String()
	case *sp.Literal:
		switch n.Type {
		case sp.StrVal, sp.IntVal, sp.DecimalVal, sp.FloatVal: // a number goes without its brackets and its plus
			text = n.Val
		}
	case *sp.IntroducerExpr:
		if l, ok := n.Expr.(*sp.Literal); ok && l.Type == sp.StrVal {
			text = l.Val
		}
	case *sp.NullVal:
		text = "NULL"
	case sp.BoolVal:
		text = "FALSE"
		if n {
			text = "TRUE"
		}
	}
	text = strings.TrimLeftFunc(text, func(r rune) bool { return r <= ' ' })
	text = strings.TrimRight(text, " ")
	if i := strings.IndexByte(text, 0); i >= 0 {
		text = text[:i]
	}
	text = strings.Map(func(r rune) rune {
		if r > 0xffff {
			return '?'
		}
		return r
	}, text)
	if utf8.RuneCountInString(text) > 256 {
		text = strings.TrimRight(string([]rune(text)[:256]), " ")
	}
	return text
}

// groupItem: a position, a column, an output by name (as its position), or an expression.
func (c *conv) groupItem(x ctx, e sp.Expr) expr {
	if o, ok := c.position(x.sc, e); ok {
		return o
	}
	if n, ok := e.(*sp.ColName); ok && n.Qualifier.IsEmpty() {
		key := fold(n.Name.String())
		// A column of one table comes before an output of that name; what several tables have, joined by USING or not, does not.
		if _, found := x.sc.lookup(key); found != 1 || slices.Contains(x.sc.merged, key) {
			if o := c.findOutput(x.sc, n.Name.String(), key); o >= 0 {
				c.facts.column("", n.Name.String())
				c.maskedOutput(x.sc.outs[o], n.Name.String())
				return ordinal(o + 1)
			}
		}
	}
	x.aliases = inlineAlias
	r := c.sortKey(x, e, "GROUP BY")
	if cr, ok := r.(colRef); ok {
		x.sc.group = append(x.sc.group, visible(cr))
	}
	return r
}

// sortKey converts an item of ORDER BY or GROUP BY that is neither a position nor the name of an output, so that no server can take it for a position:
// MariaDB folds - -2 to 2, and TRUE to 1, before it looks what the item is.
func (c *conv) sortKey(x ctx, e sp.Expr, clause string) expr {
	if foldsToInteger(e) {
		fail(codeAmbiguous, "%s a constant means a position on some servers; name the column or write its position as a plain number", clause)
	}
	r := c.expr(x, e)
	if r == word("NULL") || !constant(r) {
		return r
	}
	return call{"COALESCE", []expr{r}}
}

// foldsToInteger tells whether e is an integer, TRUE or FALSE under any number of signs and negations.
func foldsToInteger(e sp.Expr) bool {
	for {
		switch n := e.(type) {
		case *sp.UnaryExpr:
			e = n.Expr
		case *sp.NotExpr:
			e = n.Expr
		case *sp.Literal:
			return n.Type == sp.IntVal
		case sp.BoolVal:
			return true
		default:
			return false
		}
	}
}

// constant tells whether e is made of literals and operators alone.
func constant(e expr) bool {
	switch n := e.(type) {
	case word, strLit, bytesLit, numLit:
		return true
	case seq:
		return !slices.ContainsFunc(n, varies)
	case nary:
		return !slices.ContainsFunc(n.args, varies)
	}
	return false
}

func varies(e expr) bool { return !constant(e) }

// position reads an integer that stands for an output.
func (c *conv) position(s *scope, e sp.Expr) (ordinal, bool) {
	l, ok := e.(*sp.Literal)
	if !ok || l.Type != sp.IntVal {
		return 0, false
	}
	i, err := strconv.Atoi(l.Val)
	if err != nil || i < 1 || i > len(s.outs) {
		fail(codeSyntax, "position %s is not a result column", show(l.Val))
	}
	c.maskedOutput(s.outs[i-1], s.outs[i-1].name)
	return ordinal(i), true
}

// orderBy converts the ORDER BY of a query: the outputs come first when the whole item is a name.
func (c *conv) orderBy(x ctx, o sp.OrderBy) []orderItem {
	if len(o) == 0 {
		return nil
	}
	c.orders++
	var out []orderItem
	for _, it := range o {
		out = append(out, orderItem{c.orderItem(x, it.Expr), it.Direction == sp.DescOrder})
	}
	return out
}

func (c *conv) orderItem(x ctx, e sp.Expr) expr {
	if o, ok := c.position(x.sc, e); ok {
		return o
	}
	if n, ok := e.(*sp.ColName); ok && n.Qualifier.IsEmpty() {
		if o := c.findOutput(x.sc, n.Name.String(), fold(n.Name.String())); o >= 0 {
			if !x.sc.union { // the second reader does not walk the ORDER BY of a set operation
				c.facts.column("", n.Name.String())
			}
			c.maskedOutput(x.sc.outs[o], n.Name.String())
			return ordinal(o + 1)
		}
	}
	return c.sortKey(x, e, "ORDER BY")
}

func (c *conv) limit(l *sp.Limit) *limit {
	if l == nil {
		return nil
	}
	c.limits++
	out := &limit{count: c.count(l.Rowcount)}
	if l.Offset != nil {
		out.offset = c.count(l.Offset)
	}
	return out
}

func (c *conv) count(e sp.Expr) uint64 {
	l, ok := e.(*sp.Literal)
	if !ok || l.Type != sp.IntVal {
		fail(codeUnsupported, "LIMIT takes a number; an expression is not supported")
	}
	n, err := strconv.ParseUint(l.Val, 10, 64)
	if err != nil {
		fail(codeSyntax, "LIMIT %s is out of range", show(l.Val))
	}
	return n
}
