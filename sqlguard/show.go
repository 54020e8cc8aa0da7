package sqlguard

import (
	"slices"
	"strings"
)

// metadata plans SHOW, DESCRIBE and EXPLAIN. They are answered from the policy and the catalogue and never reach a server.
func (g *Guard) metadata(sql string, toks []token) (Plan, error) {
	r := &reader{toks: toks[1:]}
	switch toks[0].kw {
	case kwShow:
		return g.show(r)
	case kwExplain, kwDescribe:
		return g.explain(sql, r, toks[0])
	}
	return Plan{}, refuse(codeUnsupported, "this statement is not supported")
}

// reader takes the words of a SHOW statement one by one.
type reader struct{ toks []token }

func (r *reader) word(ws ...string) bool {
	if len(r.toks) == 0 || r.toks[0].kind != tWord {
		return false
	}
	for _, w := range ws {
		if strings.EqualFold(r.toks[0].text, w) {
			r.toks = r.toks[1:]
			return true
		}
	}
	return false
}

// text reads one of the words in quotes.
func (r *reader) text(ws ...string) bool {
	if len(r.toks) == 0 || r.toks[0].kind != tString || !slices.ContainsFunc(ws, func(w string) bool { return strings.EqualFold(w, r.toks[0].text) }) {
		return false
	}
	r.toks = r.toks[1:]
	return true
}

func (r *reader) op(o string) bool {
	if len(r.toks) > 0 && r.toks[0].op(o) {
		r.toks = r.toks[1:]
		return true
	}
	return false
}

func (r *reader) name() (string, bool) {
	if len(r.toks) == 0 || r.toks[0].kind != tWord && r.toks[0].kind != tQuoted {
		return "", false
	}
	n := r.toks[0].text
	r.toks = r.toks[1:]
	return n, true
}

// table reads t or s.t.
func (r *reader) table() (schema, name string, ok bool) {
	if name, ok = r.name(); !ok {
		return "", "", false
	}
	if r.op(".") {
		schema = name
		name, ok = r.name()
	}
	return schema, name, ok
}

// like reads an optional LIKE 'pattern' and the end.
func (r *reader) like() (string, error) {
	pattern := ""
	if r.word("LIKE") {
		if len(r.toks) == 0 || r.toks[0].kind != tString {
			return "", refuse(codeSyntax, "LIKE needs a pattern in quotes")
		}
		pattern = r.toks[0].text
		r.toks = r.toks[1:]
	} else if r.word("WHERE") {
		return "", refuse(codeUnsupported, "WHERE in SHOW is not supported; use LIKE 'pattern'")
	}
	if len(r.toks) > 0 {
		return "", refuse(codeSyntax, "the statement cannot be read near %s at byte %d", near(r.toks[0]), r.toks[0].pos+1)
	}
	return pattern, nil
}

func (g *Guard) show(r *reader) (Plan, error) {
	r.word("EXTENDED")
	full := r.word("FULL")
	switch {
	case r.word("TABLES"):
		schema := ""
		if r.word("FROM", "IN") {
			n, ok := r.name()
			if !ok {
				return Plan{}, refuse(codeSyntax, "SHOW TABLES FROM needs a schema")
			}
			if schema, ok = g.findSchema(n); !ok {
				return Plan{}, refuse(codeTable, "schema %s is not on the allowlist; allowed: %s", show(n), list(g.schemas, 8))
			}
		}
		pattern, err := r.like()
		if err != nil {
			return Plan{}, err
		}
		return Plan{kind: ShowTables, schema: schema, pattern: pattern, limit: g.maxRows, normal: "SHOW TABLES FROM " + schema + " LIKE " + pattern}, nil
	case r.word("DATABASES", "SCHEMAS"):
		pattern, err := r.like()
		if err != nil {
			return Plan{}, err
		}
		return Plan{kind: ShowDatabases, pattern: pattern, limit: g.maxRows, normal: "SHOW DATABASES LIKE " + pattern}, nil
	case r.word("COLUMNS", "FIELDS"):
		schema, name, err := r.from("SHOW COLUMNS")
		if err != nil {
			return Plan{}, err
		}
		return g.showColumns(schema, name, r)
	case full:
	case r.word("INDEX", "INDEXES", "KEYS"):
		schema, name, err := r.from("SHOW INDEX")
		if err != nil {
			return Plan{}, err
		}
		return g.showIndex(schema, name, r)
	case r.word("CREATE") && r.word("TABLE", "VIEW"):
		schema, name, ok := r.table()
		if !ok {
			return Plan{}, refuse(codeSyntax, "the statement needs a table")
		}
		e, err := g.table(schema, name)
		if err != nil {
			return Plan{}, err
		}
		return Plan{}, refuse(codeUnsupported, "SHOW CREATE is not supported; DESCRIBE %s and SHOW INDEX FROM %s tell what can be queried", show(e.Name), show(e.Name))
	case r.word("TABLE") && r.word("STATUS"):
		return Plan{}, refuse(codeUnsupported, "SHOW TABLE STATUS is not supported; SHOW TABLES tells how many rows each table is estimated to have")
	}
	return Plan{}, refuse(codeUnsupported, "this SHOW asks about the server and is not supported; SHOW TABLES, DESCRIBE t, SHOW INDEX FROM t, SHOW DATABASES and EXPLAIN SELECT ... are")
}

// from reads FROM t, FROM s.t or FROM t FROM s.
func (r *reader) from(what string) (schema, name string, err error) {
	if !r.word("FROM", "IN") {
		return "", "", refuse(codeSyntax, "%s needs FROM and a table", what)
	}
	schema, name, ok := r.table()
	if ok && r.word("FROM", "IN") {
		schema, ok = r.name()
	}
	if !ok {
		return "", "", refuse(codeSyntax, "%s FROM needs a table", what)
	}
	return schema, name, nil
}

func (g *Guard) showIndex(schema, name string, r *reader) (Plan, error) {
	e, err := g.table(schema, name)
	if err != nil {
		return Plan{}, err
	}
	if len(r.toks) > 0 {
		return Plan{}, refuse(codeUnsupported, "SHOW INDEX FROM %s takes no condition here; leave it out", show(e.Name))
	}
	full := e.Schema + "." + e.Name
	return Plan{kind: ShowIndex, schema: e.Schema, table: e.Name, limit: g.maxRows, tables: []string{full}, normal: "SHOW INDEX FROM " + full}, nil
}

// findSchema finds an allowed schema, as written or else without regard to case.
func (g *Guard) findSchema(n string) (string, bool) {
	found := ""
	for _, s := range g.schemas {
		if s == n {
			return s, true
		}
		if fold(s) == fold(n) {
			found = s
		}
	}
	return found, found != ""
}

func (g *Guard) showColumns(schema, name string, r *reader) (Plan, error) {
	e, err := g.table(schema, name)
	if err != nil {
		return Plan{}, err
	}
	pattern, err := r.like()
	if err != nil {
		return Plan{}, err
	}
	p := Plan{
		kind: ShowColumns, schema: e.Schema, table: e.Name, pattern: pattern, limit: max(g.maxRows, len(e.cols)), tables: []string{e.Schema + "." + e.Name},
		normal: "SHOW COLUMNS FROM " + e.Schema + "." + e.Name + " LIKE " + pattern,
	}
	return p, nil
}

// explain reads DESCRIBE t [column] and EXPLAIN [FORMAT = x] SELECT.
func (g *Guard) explain(sql string, r *reader, verb token) (Plan, error) {
	switch {
	case r.word("ANALYZE"):
		return Plan{}, refuse(codeUnsupported, "EXPLAIN ANALYZE runs the statement; write EXPLAIN SELECT ... or the SELECT itself")
	case r.word("EXTENDED", "PARTITIONS"):
	case r.word("FORMAT"):
		if !r.op("=") || !r.word("JSON", "TREE", "TRADITIONAL") && !r.text("JSON", "TREE", "TRADITIONAL") {
			return Plan{}, refuse(codeSyntax, "EXPLAIN FORMAT is JSON, TREE or TRADITIONAL")
		}
	}
	if len(r.toks) == 0 {
		return Plan{}, refuse(codeSyntax, "%s needs a table or a SELECT", show(strings.ToUpper(verb.text)))
	}
	first := r.toks[0]
	switch {
	case first.kw == kwSelect, first.kw == kwWith, first.kw == kwValues, first.op("("):
		// The inner statement keeps its own text: offsets of its tokens are those of the whole.
		inner, err := g.selectPlan(sql, r.toks)
		if err != nil {
			return Plan{}, err
		}
		return Plan{kind: Explain, inner: &inner, limit: g.maxRows, tables: inner.tables, columns: inner.columns, normal: "EXPLAIN " + inner.normal}, nil
	case first.kind == tWord && verbs[strings.ToUpper(first.text)]:
		if _, err := g.table("", first.text); err != nil || len(r.toks) > 1 {
			return Plan{}, refuse(codeNotReadOnly, "EXPLAIN is allowed for SELECT only, not for %s", show(strings.ToUpper(first.text)))
		}
	}
	schema, name, ok := r.table()
	if !ok {
		return Plan{}, refuse(codeSyntax, "%s needs a table or a SELECT", show(strings.ToUpper(verb.text)))
	}
	e, err := g.table(schema, name)
	if err != nil {
		return Plan{}, err
	}
	pattern := ""
	if len(r.toks) == 1 {
		switch t := r.toks[0]; t.kind {
		case tString:
			pattern = t.text
			r.toks = nil
		case tWord, tQuoted:
			for _, col := range e.cols {
				if col.key == fold(t.text) {
					pattern = strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(col.name)
				}
			}
			if pattern == "" {
				return Plan{}, refuse(codeColumn, "column %s is not an allowed column of %s", show(t.text), show(e.Name))
			}
			r.toks = nil
		}
	}
	p, err := g.showColumns(schema, name, r)
	if err != nil {
		return Plan{}, err
	}
	if pattern != "" {
		p.pattern = pattern
		p.normal += pattern
	}
	return p, nil
}
