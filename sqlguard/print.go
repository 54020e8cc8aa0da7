package sqlguard

import (
	"strconv"
	"strings"
)

// printer writes the closed form as SQL that MySQL 8 and MariaDB read alike on a utf8mb4 connection with the default sql_mode.
type printer struct {
	strings.Builder
	ctes   map[*cteDef]int   // numbers of the WITH elements, in the order of printing
	normal bool              // prints the normal form, which is not run
	rels   map[*relation]int // numbers of the relations, for the normal form
}

func (p *printer) s(s word) { p.WriteString(string(s)) }

func (p *printer) name(s string) { quoteName(&p.Builder, s) }

// quoteName writes a name in back quotes.
func quoteName(b *strings.Builder, s string) {
	b.WriteByte('`')
	for {
		i := strings.IndexByte(s, '`')
		if i < 0 {
			break
		}
		b.WriteString(s[:i+1])
		b.WriteByte('`')
		s = s[i+1:]
	}
	b.WriteString(s)
	b.WriteByte('`')
}

// quoteString writes a text literal: quotes doubled, backslash and the characters that hurt in a log or a client escaped. It is right only while
// the connection is utf8mb4 and sql_mode lacks NO_BACKSLASH_ESCAPES, which the executor pins.
func quoteString(b *strings.Builder, s string) {
	b.WriteByte('\'')
	last := 0
	for i := range len(s) {
		var esc string
		switch s[i] {
		case '\'':
			esc = "''"
		case '\\':
			esc = `\\`
		case 0:
			esc = `\0`
		case '\n':
			esc = `\n`
		case '\r':
			esc = `\r`
		case 0x1a:
			esc = `\Z`
		default:
			continue
		}
		b.WriteString(s[last:i])
		b.WriteString(esc)
		last = i + 1
	}
	b.WriteString(s[last:])
	b.WriteByte('\'')
}

func (w word) write(p *printer) { p.s(w) }

func (s seq) write(p *printer) {
	for _, e := range s {
		e.write(p)
	}
}

func (p *printer) list(es []expr) {
	for i, e := range es {
		if i > 0 {
			p.s(", ")
		}
		e.write(p)
	}
}

func (c call) write(p *printer) {
	p.bound()
	p.s(c.name)
	p.s("(")
	p.list(c.args)
	p.s(")")
}

func (n nary) write(p *printer) {
	if p.normal {
		p.ordered(n)
		return
	}
	p.s("(")
	for i, e := range n.args {
		if i > 0 {
			p.s(n.op)
		}
		e.write(p)
	}
	p.s(")")
}

// bound stops a plan that grows without end, as when ORDER BY names a long expression again and again.
func (p *printer) bound() {
	if p.Len() > maxPrinted {
		fail(codeComplex, "the plan of the statement would be longer than %d KiB", maxPrinted>>10)
	}
}

func (s strLit) write(p *printer) {
	p.bound()
	quoteString(&p.Builder, string(s))
}

func (s bytesLit) write(p *printer) {
	const digits = "0123456789ABCDEF"
	p.s("X'")
	for i := range len(s) {
		p.WriteByte(digits[s[i]>>4])
		p.WriteByte(digits[s[i]&15])
	}
	p.s("'")
}

func (n numLit) write(p *printer)  { p.WriteString(string(n)) }
func (n ordinal) write(p *printer) { p.WriteString(strconv.Itoa(int(n))) }
func (n outName) write(p *printer) { p.column(string(n)) }

func (c colRef) write(p *printer) {
	p.bound()
	p.relation(c.rel)
	p.s(".")
	p.column(c.rel.cols[c.col].name)
}

func (s subquery) write(p *printer) {
	p.s("(")
	p.query(s.q)
	p.s(")")
}

func (w windowName) write(p *printer) {
	p.s("`w")
	p.WriteString(strconv.Itoa(int(w) + 1))
	p.s("`")
}

func (p *printer) query(q *query) {
	if len(q.with) > 0 {
		p.s("WITH ")
		if q.recurse {
			p.s("RECURSIVE ")
		}
		for i, c := range q.with {
			if i > 0 {
				p.s(", ")
			}
			p.cte(c)
			if c.columns != nil {
				p.s("(")
				for k, n := range c.columns {
					if k > 0 {
						p.s(", ")
					}
					p.column(n)
				}
				p.s(")")
			}
			p.s(" AS (")
			p.query(c.q)
			p.s(")")
		}
		p.s(" ")
	}
	q.body.writeBody(p)
	p.orderBy(q.order)
	if l := q.limit; l != nil {
		p.s(" LIMIT ")
		p.WriteString(strconv.FormatUint(l.count, 10))
		if l.offset > 0 {
			p.s(" OFFSET ")
			p.WriteString(strconv.FormatUint(l.offset, 10))
		}
	}
}

func (p *printer) cte(c *cteDef) {
	id, ok := p.ctes[c]
	if !ok {
		if p.ctes == nil {
			p.ctes = map[*cteDef]int{}
		}
		id = len(p.ctes) + 1
		p.ctes[c] = id
	}
	p.s("`cte_")
	p.WriteString(strconv.Itoa(id))
	p.s("`")
}

func (p *printer) orderBy(items []orderItem) {
	for i, o := range items {
		if i == 0 {
			p.s(" ORDER BY ")
		} else {
			p.s(", ")
		}
		o.e.write(p)
		if o.desc {
			p.s(" DESC")
		}
	}
}

func (b *selectBody) writeBody(p *printer) {
	p.s("SELECT ")
	if b.distinct {
		p.s("DISTINCT ")
	}
	for i, it := range b.items {
		if i > 0 {
			p.s(", ")
		}
		it.e.write(p)
		p.s(" AS ")
		p.outputName(it.name)
	}
	for i, f := range b.from {
		if i == 0 {
			p.s(" FROM ")
		} else {
			p.s(", ")
		}
		f.writeFrom(p)
	}
	if len(b.from) == 0 && b.where != nil {
		p.s(" FROM DUAL")
	}
	if b.where != nil {
		p.s(" WHERE ")
		b.where.write(p)
	}
	if len(b.group) > 0 {
		p.s(" GROUP BY ")
		p.list(b.group)
		if b.rollup {
			p.s(" WITH ROLLUP")
		}
	}
	if b.having != nil {
		p.s(" HAVING ")
		b.having.write(p)
	}
	for i := range b.windows {
		if i == 0 {
			p.s(" WINDOW ")
		} else {
			p.s(", ")
		}
		windowName(i).write(p)
		p.s(" AS ")
		b.windows[i].spec.write(p)
	}
}

// outputName writes the name of a result column. The empty name of SELECT ” cannot be back-quoted, but it can be a string.
func (p *printer) outputName(n string) {
	if n == "" {
		p.s("''")
		return
	}
	p.column(n)
}

func (w windowSpec) write(p *printer) {
	p.s("(")
	sep := word("")
	if w.base != nil {
		w.base.write(p)
		sep = " "
	}
	if len(w.partition) > 0 {
		p.s(sep)
		p.s("PARTITION BY ")
		p.list(w.partition)
	}
	p.orderBy(w.order)
	if w.frame != nil {
		p.s(" ")
		w.frame.write(p)
	}
	p.s(")")
}

func (p *printer) uint(n uint64) { p.WriteString(strconv.FormatUint(n, 10)) }
