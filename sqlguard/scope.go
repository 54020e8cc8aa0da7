package sqlguard

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// visible is a column that can be named without its table.
type visible struct {
	rel *relation
	col int
}

func (v visible) column() *relColumn { return &v.rel.cols[v.col] }

// scope is what the names in one SELECT can mean; parent is the query around a correlated subquery.
type scope struct {
	parent *scope
	vis    []visible
	rels   []*relation
	beside []*relation  // relations of the same FROM that an ON cannot name
	outs   []output     // outputs of this SELECT once they are known
	items  []selectItem // their expressions
	group  []visible    // plain columns of GROUP BY
	named  []string     // windows by name, folded
	merged []string     // columns that USING made one, folded
	later  []string     // aliases of the select list, which WHERE and ON cannot name
	having bool         // its HAVING is being converted
	union  bool         // the ORDER BY of a set operation: outputs only
}

// aliasMode says whether a name may also mean an output of the same SELECT.
type aliasMode uint8

const (
	noAlias aliasMode = iota
	// inlineAlias: in expressions of ORDER BY and GROUP BY the columns come first; the output's expression is put in place of its name,
	// because a server would look for a column first and could find a hidden one.
	inlineAlias
	// havingAlias: in HAVING outside aggregates the outputs and the grouped columns come first.
	havingAlias
	// unionAlias: over a set operation there are only outputs.
	unionAlias
)

// ctx is where an expression stands.
type ctx struct {
	sc      *scope
	env     *cteEnv
	aliases aliasMode
	sized   bool // inside REPEAT and its like, which do not nest
}

func (x ctx) plain() ctx { x.aliases = noAlias; return x }

// cteEnv is the chain of WITH names in scope, the innermost first.
type cteEnv struct {
	parent *cteEnv
	def    *cteDef
}

func (e *cteEnv) find(name string) *cteDef {
	k := fold(name)
	for ; e != nil; e = e.parent {
		if fold(e.def.name) == k {
			return e.def
		}
	}
	return nil
}

// bailout carries a refusal up to Plan.
type bailout struct{ err error }

func fail(code fault.Code, format string, args ...any) { panic(bailout{refuse(code, format, args...)}) }

func failUnsupported(what string) { panic(bailout{unsupported(what)}) }

// unqualified resolves a name without a table. The result is an expression because in ORDER BY and HAVING it can be an output.
func (c *conv) unqualified(x ctx, name string) (expr, *relColumn) {
	key := fold(name)
	if x.aliases == unionAlias {
		if o := c.findOutput(x.sc, name, key); o >= 0 {
			c.maskedOutput(x.sc.outs[o], name)
			return outName(x.sc.outs[o].name), nil
		}
		fail(codeColumn, "%s is not a result column of the set operation; its ORDER BY can name only those of its first SELECT", show(name))
	}
	if x.aliases == havingAlias {
		for _, g := range x.sc.group {
			if g.column().key == key {
				return c.ref(g)
			}
		}
		if o := c.findOutput(x.sc, name, key); o >= 0 {
			c.maskedOutput(x.sc.outs[o], name)
			return outName(x.sc.outs[o].name), nil
		}
	}
	for s := x.sc; s != nil; s = s.parent {
		v, n := s.lookup(key)
		if n > 1 {
			fail(codeAmbiguous, "column %s is in more than one table of the query; write it as table.%s", show(name), show(name))
		}
		if n == 1 {
			c.notCaptured(x.sc, s, v.rel)
			c.inHaving(x, s, v)
			return c.ref(v)
		}
		if s == x.sc && x.aliases == inlineAlias {
			if o := c.findOutput(s, name, key); o >= 0 {
				c.maskedOutput(s.outs[o], name)
				c.nodes += s.items[o].cost
				c.node()
				return s.items[o].e, nil
			}
		}
	}
	c.noColumn(x.sc, name)
	return nil, nil
}

func (s *scope) lookup(key string) (visible, int) {
	var found visible
	n := 0
	for _, v := range s.vis {
		if v.column().key == key && (n == 0 || v != found) {
			found = v
			n++
		}
	}
	return found, n
}

// findOutput gives the output of that name, -1 for none. Two different outputs of one name cannot be told apart.
func (c *conv) findOutput(s *scope, name, key string) int {
	at := -1
	for i, o := range s.outs {
		if fold(o.name) != key {
			continue
		}
		if at >= 0 && !(o.src != nil && s.outs[at].src == o.src) {
			fail(codeAmbiguous, "%s is the name of two result columns; give one of them another name with AS", show(name))
		}
		if at < 0 {
			at = i
		}
	}
	return at
}

func (c *conv) maskedOutput(o output, name string) {
	if o.masked != nil {
		c.masked(name)
	}
}

func (c *conv) masked(name string) {
	fail(codeMasked, "column %s is masked: list it, COUNT(%s) or test it with IS NULL, nothing else", show(name), show(name))
}

// qualified resolves table.column and schema.table.column.
func (c *conv) qualified(x ctx, schema, table, name string) (expr, *relColumn) {
	s, r := x.sc.relation(schema, table)
	if r == nil {
		if _, r := (&scope{rels: x.sc.beside}).relation(schema, table); r != nil {
			fail(codeTable, "%s cannot be named in this ON: a comma binds weaker than JOIN; write JOIN instead of the comma", show(table))
		}
		fail(codeTable, "%s is not a table or alias of this query; it has %s", show(table), list(x.sc.aliasesInScope(), 8))
	}
	c.notCaptured(x.sc, s, r)
	key := fold(name)
	for i := range r.cols {
		if r.cols[i].key == key {
			c.inHaving(x, s, visible{r, i})
			return c.ref(visible{r, i})
		}
	}
	c.noColumnOf(r, name)
	return nil, nil
}

// relation finds a relation by its alias, as written first, then without regard to case.
func (s *scope) relation(schema, table string) (*scope, *relation) {
	for ; s != nil; s = s.parent {
		var found *relation
		for _, r := range s.rels {
			if schema != "" && (r.schema == "" || fold(r.schema) != fold(schema) || fold(r.table) != fold(r.alias)) {
				continue
			}
			if r.alias == table {
				return s, r
			}
			if fold(r.alias) == fold(table) {
				found = r
			}
		}
		if found != nil {
			return s, found
		}
	}
	return nil, nil
}

// notCaptured refuses a reference to an outer query when a table in between bears the same alias: the server would take that one.
func (c *conv) notCaptured(from, to *scope, r *relation) {
	for s := from; s != nil && s != to; s = s.parent {
		for _, o := range s.rels {
			if fold(o.alias) == fold(r.alias) {
				fail(codeAmbiguous, "%s names a table of the subquery and one of the query around it; give one of them another alias", show(r.alias))
			}
		}
	}
}

// inHaving refuses a column of a SELECT that its HAVING, or a subquery there, cannot see: a server looks for it among the results and the grouped columns only, and
// then in the queries around.
func (c *conv) inHaving(x ctx, s *scope, v visible) {
	seen := s.having
	if s == x.sc {
		seen = x.aliases == havingAlias // not inside an aggregate
	}
	if !seen || slices.Contains(s.group, v) {
		return
	}
	for _, it := range s.items {
		if r, ok := it.e.(colRef); ok && visible(r) == v {
			return
		}
	}
	name := show(v.column().name)
	fail(codeColumn, "HAVING cannot name column %s, which is neither a result nor grouped: test it in WHERE, inside an aggregate, or list it", name)
}

// label is the name under which r is printed.
func (r *relation) label() string {
	if r.printed != "" {
		return r.printed
	}
	return r.alias
}

// unique gives r a printed name that no relation around it has. A server looks for a name in more than one place: in HAVING it looks in the select list
// and then in the queries around it, not in FROM, so the same alias outside would catch what means the table inside.
func (c *conv) unique(r *relation) {
	for n := 2; slices.Contains(c.open, fold(r.label())); n++ {
		suffix := "_" + strconv.Itoa(n)
		name := []rune(r.alias)
		r.printed = string(name[:min(len(name), 64-len(suffix))]) + suffix
	}
	c.open = append(c.open, fold(r.label()))
}

// ref makes a reference and records what it touches.
func (c *conv) ref(v visible) (expr, *relColumn) {
	c.node()
	c.refs++
	c.touched = append(c.touched, v.rel)
	col := v.column()
	if v.rel.schema != "" {
		c.columns[col.src] = true
	}
	return colRef(v), col
}

func (s *scope) aliasesInScope() []string {
	var out []string
	for ; s != nil; s = s.parent {
		for _, r := range s.rels {
			out = append(out, show(r.alias))
		}
	}
	if len(out) == 0 {
		return []string{"none"}
	}
	return out
}

func (c *conv) noColumn(s *scope, name string) {
	var names []string
	seen := map[string]bool{}
	for t := s; t != nil; t = t.parent {
		for _, v := range t.vis {
			if n := v.column().name; !seen[n] {
				seen[n] = true
				names = append(names, show(n))
			}
		}
	}
	if len(names) == 0 {
		fail(codeColumn, "column %s: the query reads no table that has it", show(name))
	}
	if v, ok := nonNames[strings.ToUpper(name)]; ok {
		fail(codeColumn, "%s is not a column here; %s", show(name), v)
	}
	for t := s; t != nil; t = t.parent {
		for _, a := range t.later {
			if fold(a) == fold(name) {
				fail(codeColumn, "column %s is not an allowed column of the tables in this query, and an alias of the select list cannot be named in WHERE, ON and aggregates: repeat its expression or use HAVING; allowed: %s",
					show(name), list(nearest(name, names), 8))
			}
		}
	}
	fail(codeColumn, "column %s is not an allowed column of the tables in this query; allowed: %s", show(name), list(nearest(name, names), 12))
}

// nonNames are words of other databases that a parser takes for columns.
var nonNames = map[string]string{"ROWNUM": "use LIMIT", "SYSDATE": "write SYSDATE()", "ROWID": "name a key column", "UUID": "write UUID()"}

func (c *conv) noColumnOf(r *relation, name string) {
	names := make([]string, len(r.cols))
	for i := range r.cols {
		names[i] = show(r.cols[i].name)
	}
	fail(codeColumn, "column %s is not an allowed column of %s; allowed: %s", show(name), show(r.alias), list(nearest(name, names), 12))
}

// alias checks a name of the caller's that will be printed in back quotes.
func alias(n, what string, most int) string {
	if !utf8.ValidString(n) || strings.ContainsFunc(n, func(r rune) bool { return r == 0 || r > 0xffff }) || strings.HasSuffix(n, " ") || utf8.RuneCountInString(n) > most {
		fail(codeSyntax, "%s %s cannot be a name in MySQL", what, show(n))
	}
	return n
}

// unify joins the groups of two relations that a condition connects.
func unify(a, b *relation) {
	a, b = a.root(), b.root()
	if a != b {
		a.link = b
	}
}

func (r *relation) root() *relation {
	for r.link != nil {
		r = r.link
	}
	return r
}
