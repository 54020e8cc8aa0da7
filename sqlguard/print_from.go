package sqlguard

func (b *setBody) writeBody(p *printer) {
	_, nested := b.left.body.(*setBody)
	p.arm(b.left, b.left.bare(b.op) && !(nested && b.apart))
	switch b.op {
	case opIntersect:
		p.s(" INTERSECT ")
	case opExcept:
		p.s(" EXCEPT ")
	default:
		p.s(" UNION ")
	}
	if b.all {
		p.s("ALL ")
	}
	_, set := b.right.body.(*setBody)
	p.arm(b.right, !set && b.right.plain())
}

func (p *printer) arm(q *query, bare bool) {
	if !bare {
		p.s("(")
	}
	p.query(q)
	if !bare {
		p.s(")")
	}
}

// plain tells whether nothing surrounds the body of q.
func (q *query) plain() bool { return len(q.with) == 0 && len(q.order) == 0 && q.limit == nil }

// bare tells whether q may stand as the left arm of op without brackets: operators of one rank read from the left, INTERSECT binds tighter.
func (q *query) bare(op setOp) bool {
	if !q.plain() {
		return false
	}
	s, ok := q.body.(*setBody)
	return !ok || op != opIntersect || s.op == opIntersect
}

func (r *relation) writeFrom(p *printer) {
	switch {
	case r.cte != nil:
		p.cte(r.cte)
	case r.derived != nil:
		if r.lateral {
			p.s("LATERAL ")
		}
		p.s("(")
		p.query(r.derived)
		p.s(")")
	case r.jsonTable != nil:
		r.jsonTable.write(p)
	default:
		p.name(r.schema)
		p.s(".")
		p.name(r.table)
	}
	p.s(" AS ")
	p.relation(r)
}

func (j *joinItem) writeFrom(p *printer) {
	if l, nested := j.left.(*joinItem); nested && l.on == nil {
		// Without ON, MySQL would join what stands to the right first.
		p.s("(")
		l.writeFrom(p)
		p.s(")")
	} else {
		j.left.writeFrom(p)
	}
	p.s(j.kind)
	if _, nested := j.right.(*joinItem); nested {
		p.s("(")
		j.right.writeFrom(p)
		p.s(")")
	} else {
		j.right.writeFrom(p)
	}
	if j.on != nil {
		p.s(" ON ")
		j.on.write(p)
	}
}

func (l parenItem) writeFrom(p *printer) {
	p.s("(")
	for i, f := range l {
		if i > 0 {
			p.s(", ")
		}
		f.writeFrom(p)
	}
	p.s(")")
}

func (j *jsonTable) write(p *printer) {
	p.s("JSON_TABLE(")
	j.doc.write(p)
	p.s(", ")
	quoteString(&p.Builder, j.path)
	p.s(" ")
	p.jsonColumns(j.cols)
	p.s(")")
}

func (p *printer) jsonColumns(cols []jsonColumn) {
	p.s("COLUMNS(")
	for i, c := range cols {
		if i > 0 {
			p.s(", ")
		}
		if c.nested != nil {
			p.s("NESTED PATH ")
			quoteString(&p.Builder, c.path)
			p.s(" ")
			p.jsonColumns(c.nested)
			continue
		}
		p.column(c.name)
		if c.ordinality {
			p.s(" FOR ORDINALITY")
			continue
		}
		p.s(" ")
		c.typ.write(p)
		if c.exists {
			p.s(" EXISTS")
		}
		p.s(" PATH ")
		quoteString(&p.Builder, c.path)
		if c.onEmpty != nil {
			p.s(" ")
			c.onEmpty.write(p)
			p.s(" ON EMPTY")
		}
		if c.onError != nil {
			p.s(" ")
			c.onError.write(p)
			p.s(" ON ERROR")
		}
	}
	p.s(")")
}
