package sqlguard

import (
	"slices"
	"strconv"
	"strings"
)

// The normal form is the statement printed once more, for finding repeats and never to be run: what may be written in either order is put into one, names of results
// and columns are in lower case, relations are numbered instead of named.

// normalPrinter prints the normal form. The plan itself has to be printed before: its bound holds for both.
func normalPrinter() *printer {
	return &printer{normal: true, ctes: map[*cteDef]int{}, rels: map[*relation]int{}}
}

// apart prints e alone, with the numbers given so far.
func (p *printer) apart(e expr) string {
	q := printer{normal: true, ctes: p.ctes, rels: p.rels}
	e.write(&q)
	return q.String()
}

// mirrored are the comparisons that say the same from the other side.
var mirrored = map[word]word{" = ": " = ", " <=> ": " <=> ", " <> ": " <> ", " < ": " > ", " > ": " < ", " <= ": " >= ", " >= ": " <= "}

// ordered prints n with its operands in one order.
func (p *printer) ordered(n nary) {
	op := n.op
	args := make([]string, len(n.args))
	for i, e := range n.args {
		args[i] = p.apart(e)
	}
	other, comparison := mirrored[op]
	switch {
	case op == " AND " || op == " OR ":
		slices.Sort(args)
		args = slices.Compact(args)
	case op == " XOR ":
		slices.Sort(args)
	case comparison && len(args) == 2 && args[0] < args[1]: // a column, in back quotes, comes before a literal
		args[0], args[1], op = args[1], args[0], other
	case (op == " IN " || op == " NOT IN ") && len(args) == 2:
		if list, ok := n.args[1].(seq); ok {
			args[1] = p.members(list)
		}
	}
	p.s("(")
	p.WriteString(strings.Join(args, string(op)))
	p.s(")")
}

// members prints a list in brackets in one order, each member once. The pieces of a list are "(", members with ", " between, and ")": see tuple.
func (p *printer) members(list seq) string {
	var out []string
	for i := 1; i < len(list); i += 2 {
		out = append(out, p.apart(list[i]))
	}
	slices.Sort(out)
	return "(" + strings.Join(slices.Compact(out), ", ") + ")"
}

// column writes the name of a column or of a result: the server does not tell their letter case apart.
func (p *printer) column(s string) {
	if p.normal {
		s = strings.ToLower(s)
	}
	p.name(s)
}

// relation writes the name that a relation goes by.
func (p *printer) relation(r *relation) {
	if !p.normal {
		p.name(r.label())
		return
	}
	n, ok := p.rels[r]
	if !ok {
		n = len(p.rels) + 1
		p.rels[r] = n
	}
	p.name("t" + strconv.Itoa(n))
}
