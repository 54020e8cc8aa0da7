package sqlguard

import (
	"strconv"
	"strings"

	sp "vitess.io/vitess/go/vt/sqlparser"
)

// call makes a call of a table function after counting its arguments.
func (c *conv) call(x ctx, name string, args ...sp.Expr) expr {
	c.facts.function(name)
	up := strings.ToUpper(name)
	f, ok := functions[up]
	if !ok {
		c.noFunction(name)
	}
	if len(args) < f.least || f.most >= 0 && len(args) > f.most {
		fail(codeFunction, "%s takes %s", f.name, arity(f))
	}
	switch up {
	case "REPEAT", "SPACE", "LPAD", "RPAD", "EXPORT_SET":
		return c.sized(x, f, args)
	case "REGEXP_LIKE":
		return c.regexpLike(x, args)
	}
	if d, ok := regexpDefaults[up]; ok && len(args) > d.needed {
		if short, ok := c.regexpShort(x, f, args, d); ok {
			return short
		}
	}
	return call{f.name, c.exprs(x, args)}
}

// regexpDefault is what a function's arguments behind the needed ones mean when they are left out; a match type may follow.
type regexpDefault struct {
	needed int
	values []string
}

var regexpDefaults = map[string]regexpDefault{
	"REGEXP_REPLACE": {3, []string{"1", "0"}}, "REGEXP_SUBSTR": {2, []string{"1", "1"}}, "REGEXP_INSTR": {2, []string{"1", "1", "0"}},
}

// regexpShort leaves out arguments that say what is meant without them, which MariaDB does not take; the match type becomes a flag of the pattern.
func (c *conv) regexpShort(x ctx, f fn, args []sp.Expr, d regexpDefault) (expr, bool) {
	rest, flag := args[d.needed:], ""
	for i, a := range rest {
		l, ok := a.(*sp.Literal)
		if !ok {
			return nil, false
		}
		if i < len(d.values) {
			if l.Type != sp.IntVal || l.Val != d.values[i] {
				return nil, false
			}
			continue
		}
		if flag, ok = matchFlags[l.Val]; !ok || l.Type != sp.StrVal {
			return nil, false
		}
	}
	out := c.exprs(x, args[:d.needed])
	if flag != "" {
		out[1] = call{"CONCAT", []expr{strLit(flag), out[1]}}
	}
	return call{f.name, out}, true
}

// matchFlags are the match types that can be written as flags of the pattern.
var matchFlags = map[string]string{"i": "(?i)", "c": "(?-i)", "": ""}

func arity(f fn) string {
	switch {
	case f.most < 0:
		return "at least " + strconv.Itoa(f.least) + " arguments"
	case f.least == f.most:
		return strconv.Itoa(f.least) + " arguments"
	}
	return strconv.Itoa(f.least) + " to " + strconv.Itoa(f.most) + " arguments"
}

// sized bounds the functions that make long strings from short statements: a literal length up to maxRepeat, or one that depends on the rows, which
// the server's packet limit stops. They do not nest.
func (c *conv) sized(x ctx, f fn, args []sp.Expr) expr {
	if x.sized {
		fail(codeComplex, "REPEAT, SPACE, LPAD and RPAD cannot be nested")
	}
	x.sized = true
	at := 1
	if f.name == "SPACE" {
		at = 0
	}
	out := make([]expr, len(args))
	for i, a := range args {
		refs, aggregates := c.refs, c.aggregates
		out[i] = c.expr(x, a)
		if i != at || f.name == "EXPORT_SET" {
			continue
		}
		if l, ok := a.(*sp.Literal); ok && l.Type == sp.IntVal {
			if n, err := strconv.Atoi(l.Val); err != nil || n > maxRepeat {
				fail(codeComplex, "%s makes at most %d characters here", f.name, maxRepeat)
			}
		} else if u, ok := a.(*sp.UnaryExpr); ok && u.Operator == sp.UMinusOp {
			continue
		} else if c.refs == refs && c.aggregates == aggregates {
			fail(codeComplex, "the length of %s has to be a number up to %d", f.name, maxRepeat)
		}
	}
	return call{f.name, out}
}

// regexpLike is printed as REGEXP, which MariaDB has too; the match types c and i as flags of the pattern.
func (c *conv) regexpLike(x ctx, args []sp.Expr) expr {
	subject, pattern := c.expr(x, args[0]), c.expr(x, args[1])
	if len(args) == 3 {
		flag, ok := matchFlags[text(args[2], "the match type of REGEXP_LIKE")]
		if !ok {
			fail(codeUnsupported, "this match type of REGEXP_LIKE is not supported; use 'i' or 'c', or write flags into the pattern: '(?m)^x'")
		}
		if flag != "" {
			pattern = call{"CONCAT", []expr{strLit(flag), pattern}}
		}
	}
	return nary{" REGEXP ", []expr{subject, pattern}}
}

// typedFunction converts functions and function-like syntax for which the parser has nodes of their own; nil when e is none.
func (c *conv) typedFunction(x ctx, e sp.Expr) expr {
	switch n := e.(type) {
	case *sp.FuncExpr:
		if n.Qualifier.NotEmpty() {
			fail(codeFunction, "%s.%s: stored functions are not allowed", show(n.Qualifier.String()), show(n.Name.String()))
		}
		if n.Name.EqualString("get_format") {
			return c.getFormat(x, n)
		}
		return c.call(x, n.Name.String(), n.Exprs...)
	case *sp.WeightStringFuncExpr:
		if n.As != nil {
			failUnsupported("WEIGHT_STRING(... AS ...)")
		}
		return c.call(x, "WEIGHT_STRING", n.Expr)
	case *sp.CurTimeFuncExpr:
		c.facts.function(n.Name.String())
		w, ok := clocks[n.Name.Lowered()]
		if !ok {
			c.noFunction(n.Name.String())
		}
		if n.Fsp < 0 || n.Fsp > 6 {
			fail(codeSyntax, "the precision of %s is 0 to 6", show(n.Name.String()))
		}
		if n.Fsp > 0 {
			return call{w, []expr{ordinal(n.Fsp)}}
		}
		return call{w, nil}
	case *sp.SubstrExpr:
		return c.call(x, "SUBSTRING", present(n.Name, n.From, n.To)...)
	case *sp.LocateExpr:
		return c.call(x, "LOCATE", present(n.SubStr, n.Str, n.Pos)...)
	case *sp.InsertExpr:
		return c.call(x, "INSERT", n.Str, n.Pos, n.Len, n.NewStr)
	case *sp.IntervalFuncExpr:
		return c.call(x, "INTERVAL", append([]sp.Expr{n.Expr}, n.Exprs...)...)
	case *sp.TrimFuncExpr:
		return c.trim(x, n)
	case *sp.CharExpr:
		c.facts.function("char")
		out := seq{word("CHAR(")}
		for i, a := range n.Exprs {
			if i > 0 {
				out = append(out, word(", "))
			}
			out = append(out, c.expr(x, a))
		}
		if n.Charset != "" {
			out = append(out, word(" USING "), charset(n.Charset))
		}
		return append(out, word(")"))
	case *sp.ExtractFuncExpr:
		c.facts.function("extract")
		return seq{word("EXTRACT("), unit(n.IntervalType), word(" FROM "), c.expr(x, n.Expr), word(")")}
	case *sp.TimestampDiffExpr:
		c.facts.function("timestampdiff")
		return seq{word("TIMESTAMPDIFF("), unit(n.Unit), word(", "), c.expr(x, n.Expr1), word(", "), c.expr(x, n.Expr2), word(")")}
	case *sp.IntervalDateExpr:
		return c.interval(x, n)
	case *sp.MatchExpr:
		return c.match(x, n)
	case *sp.RegexpLikeExpr:
		return c.call(x, "REGEXP_LIKE", present(n.Expr, n.Pattern, n.MatchType)...)
	case *sp.RegexpInstrExpr:
		return c.call(x, "REGEXP_INSTR", present(n.Expr, n.Pattern, n.Position, n.Occurrence, n.ReturnOption, n.MatchType)...)
	case *sp.RegexpReplaceExpr:
		return c.call(x, "REGEXP_REPLACE", present(n.Expr, n.Pattern, n.Repl, n.Position, n.Occurrence, n.MatchType)...)
	case *sp.RegexpSubstrExpr:
		return c.call(x, "REGEXP_SUBSTR", present(n.Expr, n.Pattern, n.Position, n.Occurrence, n.MatchType)...)
	}
	return nil
}

// getFormat reads GET_FORMAT(DATE, 'ISO'), whose first argument is a word that the readers take for a column.
func (c *conv) getFormat(x ctx, n *sp.FuncExpr) expr {
	c.facts.function("get_format")
	if len(n.Exprs) == 2 {
		if col, ok := n.Exprs[0].(*sp.ColName); ok && col.Qualifier.IsEmpty() {
			if w, ok := formatKinds[col.Name.Lowered()]; ok {
				c.facts.column("", col.Name.String())
				return seq{word("GET_FORMAT("), w, word(", "), c.expr(x, n.Exprs[1]), word(")")}
			}
		}
	}
	fail(codeFunction, "GET_FORMAT takes DATE, TIME or DATETIME and a text")
	return nil
}

// present drops the optional arguments that are absent.
func present(es ...sp.Expr) []sp.Expr {
	out := es[:0]
	for _, e := range es {
		if e != nil {
			out = append(out, e)
		}
	}
	return out
}

func unit(t sp.IntervalType) word {
	w, ok := units[t]
	if !ok {
		failUnsupported("this time unit")
	}
	return w
}

func (c *conv) trim(x ctx, n *sp.TrimFuncExpr) expr {
	name := "TRIM"
	switch n.TrimFuncType {
	case sp.LTrimType:
		name = "LTRIM"
	case sp.RTrimType:
		name = "RTRIM"
	}
	if n.Type == sp.NoTrimType && n.TrimArg == nil || name != "TRIM" {
		return c.call(x, name, n.StringArg)
	}
	c.facts.function("trim")
	out := seq{word("TRIM(")}
	switch n.Type {
	case sp.LeadingTrimType:
		out = append(out, word("LEADING "))
	case sp.TrailingTrimType:
		out = append(out, word("TRAILING "))
	case sp.BothTrimType:
		out = append(out, word("BOTH "))
	}
	if n.TrimArg != nil {
		out = append(out, c.expr(x, n.TrimArg), word(" "))
	}
	return append(out, word("FROM "), c.expr(x, n.StringArg), word(")"))
}

func (c *conv) interval(x ctx, n *sp.IntervalDateExpr) expr {
	date := c.expr(x, n.Date)
	amount := c.expr(x, n.Interval)
	switch n.Syntax {
	case sp.IntervalDateExprBinaryAdd, sp.IntervalDateExprBinaryAddLeft:
		return seq{word("("), date, word(" + INTERVAL "), amount, word(" "), unit(n.Unit), word(")")}
	case sp.IntervalDateExprBinarySub:
		return seq{word("("), date, word(" - INTERVAL "), amount, word(" "), unit(n.Unit), word(")")}
	case sp.IntervalDateExprTimestampadd:
		c.facts.function("timestampadd")
		return seq{word("TIMESTAMPADD("), unit(n.Unit), word(", "), amount, word(", "), date, word(")")}
	}
	w, ok := intervalForms[n.Syntax]
	if !ok {
		failUnsupported("this form of INTERVAL")
	}
	c.facts.function(string(w))
	if n.Unit == sp.IntervalNone {
		return call{w, []expr{date, amount}}
	}
	return seq{w, word("("), date, word(", INTERVAL "), amount, word(" "), unit(n.Unit), word(")")}
}

func (c *conv) match(x ctx, n *sp.MatchExpr) expr {
	w, ok := matchOptions[n.Option]
	if !ok {
		failUnsupported("this mode of MATCH")
	}
	out := seq{word("MATCH (")}
	for i, col := range n.Columns {
		if i > 0 {
			out = append(out, word(", "))
		}
		out = append(out, c.expr(x.plain(), col))
	}
	return append(out, word(") AGAINST ("), c.expr(x, n.Expr), w, word(")"))
}

// noFunction refuses a function and says what to use instead where that is known.
func (c *conv) noFunction(name string) {
	up := strings.ToUpper(name)
	if alt, ok := instead[up]; ok {
		fail(codeFunction, "function %s is not allowed; %s", show(up), alt)
	}
	if stateful[up] {
		fail(codeFunction, "function %s is not allowed: it waits, locks, writes or shows server state; leave it out", show(up))
	}
	names := make([]string, 0, len(functions))
	for n := range functions {
		if distance(n, up) <= 2 {
			names = append(names, n)
		}
	}
	if len(names) > 0 {
		fail(codeFunction, "function %s is not allowed; similar ones that are: %s", show(up), list(sortedBy(up, names), 4))
	}
	fail(codeFunction, "function %s is not allowed here", show(up))
}

func sortedBy(name string, names []string) []string {
	sortStrings(names)
	return nearest(name, names)
}

var stateful = map[string]bool{
	"SLEEP": true, "BENCHMARK": true, "GET_LOCK": true, "RELEASE_LOCK": true, "RELEASE_ALL_LOCKS": true, "IS_FREE_LOCK": true, "IS_USED_LOCK": true, "LOAD_FILE": true,
	"USER": true, "CURRENT_USER": true, "SESSION_USER": true, "SYSTEM_USER": true, "CURRENT_ROLE": true, "CONNECTION_ID": true, "LAST_INSERT_ID": true, "ROW_COUNT": true,
	"FOUND_ROWS": true, "NEXTVAL": true, "LASTVAL": true, "SETVAL": true, "MASTER_POS_WAIT": true, "MASTER_GTID_WAIT": true, "UUID_SHORT": true, "NAME_CONST": true,
	"EXTRACTVALUE": true, "UPDATEXML": true,
}

// instead answers functions of other databases and those whose question the gateway answers otherwise.
var instead = map[string]string{
	"STRFTIME": "use DATE_FORMAT(d, '%Y-%m')", "TO_CHAR": "use DATE_FORMAT(d, '%Y-%m-%d') or CAST(x AS CHAR)", "DATE_TRUNC": "use DATE_FORMAT(d, '%Y-%m-01') or DATE(d)",
	"DATE_PART": "use EXTRACT(unit FROM d)", "TO_DATE": "use STR_TO_DATE(s, '%Y-%m-%d')", "TO_TIMESTAMP": "use FROM_UNIXTIME(n) or STR_TO_DATE(s, f)", "JULIANDAY": "use TO_DAYS(d) or DATEDIFF(a, b)",
	"STRING_AGG": "use GROUP_CONCAT(x SEPARATOR ',')", "LISTAGG": "use GROUP_CONCAT(x SEPARATOR ',')", "ARRAY_AGG": "use JSON_ARRAYAGG(x)", "GETDATE": "use NOW()", "LEN": "use CHAR_LENGTH(s)",
	"DATEADD": "use d + INTERVAL n UNIT", "ILIKE": "use LIKE", "TO_NUMBER": "use CAST(x AS DECIMAL(20,4))", "DIVIDE": "use a / b", "SUBTRACT": "use a - b", "MEDIAN": "use a window with ROW_NUMBER()",
	"PERCENTILE_CONT": "use a window with PERCENT_RANK()", "PERCENTILE_DISC": "use a window with CUME_DIST()", "DATABASE": "SHOW TABLES lists what can be read", "SCHEMA": "SHOW TABLES lists what can be read",
	"ROLLUP": "write GROUP BY a, b WITH ROLLUP", "CUBE": "MySQL has no CUBE; write UNION ALL of several GROUP BY", "VERSION": "nothing about the server can be asked; leave it out", "USER": "nothing about the account can be asked; leave it out", "CURRENT_USER": "nothing about the account can be asked; leave it out",
	"SLEEP": "nothing waits here; send the next statement later", "IIF": "use IF(c, a, b)", "TYPEOF": "use SHOW COLUMNS FROM t", "CHARINDEX": "use LOCATE(a, b)", "GEN_RANDOM_UUID": "use UUID()",
}

// refusedFunction names a node that is known to the parser and not allowed.
func (c *conv) refusedFunction(e sp.Expr) {
	switch n := e.(type) {
	case *sp.LockingFunc:
		fail(codeFunction, "lock functions (GET_LOCK, RELEASE_LOCK and the like) are not allowed")
	case *sp.ExtractValueExpr:
		c.noFunction("EXTRACTVALUE")
	case *sp.UpdateXMLExpr:
		c.noFunction("UPDATEXML")
	case *sp.GTIDFuncExpr:
		fail(codeFunction, "GTID functions are not allowed")
	case *sp.PerformanceSchemaFuncExpr:
		fail(codeFunction, "performance schema functions are not allowed")
	case *sp.ValuesFuncExpr:
		fail(codeFunction, "VALUES(col) belongs to INSERT and is not allowed")
	case *sp.Default:
		fail(codeFunction, "DEFAULT is not allowed")
	case sp.AggrFunc:
		fail(codeFunction, "function %s is not allowed", show(strings.ToUpper(n.AggrName())))
	}
	failUnsupported("this function or operator")
}
