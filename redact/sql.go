package redact

import (
	"strings"

	"github.com/DataDog/go-sqllexer"
)

// sqlRole is what a word of SQL does to the walk over a statement.
type sqlRole uint8

const (
	sqlOperator sqlRole = iota + 1 // an operand follows: WHERE, AND, LIMIT
	sqlNames                       // names follow, which may have an alias: FROM, JOIN, INTO
	sqlList                        // the select list: aliases too
	sqlOperand                     // stands for a value
	sqlUnit                        // may follow a value: DAY, ASC
)

var sqlWords = func() map[string]sqlRole {
	m := map[string]sqlRole{}
	for role, words := range map[sqlRole]string{
		sqlOperator: "where and or not in like ilike rlike regexp between is limit offset set values value by on having when then else case using escape as all any some exists binary collate div mod xor top interval default for of rows row only fetch next first range partition over match against returning with duplicate key update nowait skip locked share lock mode conflict do nothing",
		sqlNames:    "from join into left right inner outer cross full natural straight_join table ignore low_priority delayed high_priority quick overwrite force index use",
		sqlList:     "select distinct union except intersect insert replace delete sql_no_cache sql_calc_found_rows",
		sqlOperand:  "null true false end current_timestamp current_date unknown",
		sqlUnit:     "asc desc day hour minute second month year week quarter microsecond nulls last order group date timestamp time",
	} {
		for w := range strings.FieldsSeq(words) {
			m[w] = role
		}
	}
	return m
}()

// sql looks at a word that can begin a statement. Only a span that reads as a statement is touched: the lexer fed with prose would eat its numbers.
func (w *scanner) sql(from, to int) {
	b := w.b
	if from < w.sqlEnd || !w.r.on[kindSQL] || from > 0 && (isWord(b[from-1]) || b[from-1] == '.' || b[from-1] == '-') || isWord(at(b, to)) || at(b, to) == '.' || at(b, to) == '-' || at(b, to) == '(' && !hasFold(b, from, "values") {
		return
	}
	if c := at(b, to); !isSpace(c) && c != '(' && c != '*' && c != '/' && c != '`' && c != '\\' && c != '\'' && c != '"' {
		return
	}
	end, unescape := w.sqlRegion(from)
	src, off := w.sqlSource(from, end, unescape)
	st := statement{w: w, src: src, off: off, base: from, upper: class[b[from]]&cUpper != 0 && class[b[from+1]]&cUpper != 0}
	mark := len(w.spans)
	reached := st.walk()
	w.steps += reached
	if !st.valid() {
		w.spans = w.spans[:mark]
		w.sqlWaste += reached
		if w.sqlWaste < 4*len(b)+1<<12 { // a walk that led nowhere may be repeated from the next word, within linear work
			return
		}
	}
	w.sqlEnd = st.origin(reached)
}

// sqlRegion is the end of the text that may belong to a statement at b[from]: the end of the quoted text around it, or of the event. unescape tells that the
// quotes inside are escaped.
func (w *scanner) sqlRegion(from int) (end int, unescape bool) {
	b := w.b
	if w.sqlWaste > 4*len(b)+1<<12 {
		return len(b), false
	}
	if from > 0 && (b[from-1] == '"' || b[from-1] == '\'') {
		n := 0
		for from-1-n > 0 && b[from-2-n] == '\\' {
			n++
		}
		e, _, ok := w.closing(b, from, quote{b[from-1], n})
		w.sqlWaste += e - from
		return e, n > 0 || ok && b[from-1] == '"'
	}
	// Inside of a JSON string: an odd number of bare quotes before, on this line.
	for ; w.quotePos < from; w.quotePos++ {
		switch c := b[w.quotePos]; {
		case c == '\n':
			w.quoteOdd = false
		case c == '\\':
			w.quotePos++
		case c == '"':
			w.quoteOdd = !w.quoteOdd
		}
	}
	if w.quoteOdd {
		e, next, ok := w.closing(b, from, quote{'"', 0})
		w.sqlWaste += e - from
		if ok {
			if c := at(b, next); next >= len(b) || isSpace(c) || c == ',' || c == '}' || c == ']' || c == ':' || c == ')' || c == ';' {
				return e, true
			}
		}
	}
	return len(b), false
}

// sqlSource gives the text for the lexer and the map of its offsets. Masks become digits of the same length, so that redacted SQL reads as the original did;
// NUL, at which the lexer stops, becomes a blank.
func (w *scanner) sqlSource(from, end int, unescape bool) (string, []int32) {
	b := w.b
	if !unescape {
		if len(w.sqlText) != len(b) {
			buf := make([]byte, len(b))
			for i := 0; i < len(b); i++ {
				if b[i] == 0 {
					buf[i] = ' '
				} else if _, n := tagAt(b, i); n > 0 {
					for range n {
						buf[i] = '0'
						i++
					}
					i--
				} else {
					buf[i] = b[i]
				}
			}
			w.sqlText = string(buf)
		}
		return w.sqlText[from:end], nil
	}
	buf, off := make([]byte, 0, end-from), make([]int32, 0, end-from+1)
	put := func(c byte, i int) { buf, off = append(buf, c), append(off, int32(i)) }
	for i := from; i < end; i++ {
		if _, n := tagAt(b, i); n > 0 {
			for k := range n {
				put('0', i+k)
			}
			i += n - 1
			continue
		}
		if b[i] != '\\' || i+1 >= end {
			put(max(b[i], ' '), i)
			continue
		}
		j := i
		for j < end && b[j] == '\\' {
			j++
		}
		switch c := at(b[:end], j); {
		case c == '"' || j-i == 1 && c == '/':
			for k := 1; k < j-i; k += 2 { // \\\" inside of \"…\"
				put('\\', i)
			}
			put(c, i)
		case c == 'n' || c == 't' || c == 'r':
			put('\n', i)
		case c == '\'':
			if j-i > 1 {
				put('\\', i)
			}
			put(c, i)
		default:
			put('\\', i)
			j--
		}
		i = j
	}
	off = append(off, int32(end))
	return string(buf), off
}

// statement walks the tokens of one statement and masks literals where an operand may stand. The first token that cannot follow ends the statement, so that
// the message around it stays.
type statement struct {
	w     *scanner
	src   string
	off   []int32
	base  int
	upper bool // keywords in capitals: written by a program

	first                                                  string
	from, where, set, values, sign, verbatim, called, into bool
	literals                                               int
}

func (st *statement) origin(i int) int {
	if st.off != nil {
		return int(st.off[min(i, len(st.off)-1)])
	}
	return st.base + i
}

func (st *statement) literal(from, to int) {
	st.literals++
	st.w.add(kindSQL, st.origin(from), st.origin(to))
}

// walk returns how far the statement reaches.
func (st *statement) walk() int {
	lx := sqllexer.New(st.src, sqllexer.WithDBMS(sqllexer.DBMSMySQL))
	pos, depth := 0, 0
	operand, ident, aliased, role := false, false, false, sqlList
	for pos < len(st.src) {
		tok := lx.Scan()
		if tok.Type == sqllexer.EOF || len(tok.Value) == 0 {
			break
		}
		p := pos
		pos = advance(st.src, p, tok.Value)
		v := st.src[p:pos]
		if p == 0 {
			st.first = strings.ToLower(v)
			if i := strings.IndexAny(st.first, " \t\n"); i > 0 {
				st.first = st.first[:i]
			}
		}
		switch tok.Type {
		case sqllexer.SPACE:
			if strings.Count(v, "\n") > 2 {
				return p
			}
		case sqllexer.STRING, sqllexer.INCOMPLETE_STRING:
			e := pos
			if tok.Type == sqllexer.STRING {
				e--
			}
			st.literal(p+1, max(e, p+1))
			operand, ident = true, false
		case sqllexer.DOLLAR_QUOTED_STRING, sqllexer.DOLLAR_QUOTED_FUNCTION:
			st.literal(p, pos)
			operand, ident = true, false
		case sqllexer.NUMBER:
			if v[0] == '-' || v[0] == '+' {
				p++
			} else if operand {
				return p
			}
			for pos > p+1 && st.src[pos-1] == '.' { // the full stop of a sentence
				pos--
				st.literal(p, pos)
				return pos
			}
			st.literal(p, pos)
			operand, ident = true, false
		case sqllexer.COMMENT, sqllexer.MULTILINE_COMMENT:
			st.verbatim = true
			st.w.add(kindSQL, st.origin(p), st.origin(pos))
		case sqllexer.ERROR: // a comment or a quoted name that does not end
			st.w.add(kindSQL, st.origin(p), st.origin(pos))
			return pos
		case sqllexer.OPERATOR, sqllexer.JSON_OP:
			switch {
			case v == "?":
				operand = true
				continue
			case v[0] == ':' && len(v) == 1 && operand, strings.HasPrefix(v, "...") || v == "=>" && depth == 0:
				return p
			}
			st.sign = st.sign || v == "=" || v == "<" || v == ">" || v == "!=" || v == "<>" || v == "=?"
			operand = v[len(v)-1] == '?'
		case sqllexer.WILDCARD:
			operand = !operand
			st.verbatim = true
		case sqllexer.PUNCTUATION:
			switch v {
			case "(":
				depth++
				operand, ident = false, false
			case ")":
				if depth--; depth < 0 {
					return p
				}
				operand, ident, aliased = true, false, false
			case ",":
				if depth == 0 && role == sqlOperator && st.where && !st.set && !st.values {
					return p
				}
				operand, aliased = false, false
			case "[":
				if p == 0 || isSpace(st.src[p-1]) {
					return p
				}
				operand = false
			case "]":
				operand = true
			case ".":
			default:
				return p
			}
		case sqllexer.UNKNOWN:
			if v == "`" || v == "\"" {
				return p
			}
			if v[0] < 0x80 {
				return p
			}
			operand = true
		case sqllexer.SYSTEM_VARIABLE, sqllexer.BIND_PARAMETER, sqllexer.POSITIONAL_PARAMETER, sqllexer.BOOLEAN, sqllexer.NULL:
			if operand {
				return p
			}
			operand = true
		default:
			word := strings.ToLower(v)
			r := sqlWords[word]
			switch {
			case tok.Type == sqllexer.QUOTED_IDENT:
				r, st.verbatim = 0, true
			case tok.Type == sqllexer.FUNCTION && r != sqlOperator && r != sqlNames:
				r, st.called = 0, true
			}
			switch r {
			case sqlOperator, sqlNames, sqlList:
				switch word {
				case "into":
					st.into = true
				case "from":
					st.from = true
				case "where":
					st.where = true
				case "set":
					st.set, st.where = true, false
				case "values", "value":
					st.values = true
				case "limit", "order", "group", "having", "join", "union", "by":
					st.verbatim = true
				}
				operand, ident, aliased, role = false, false, false, r
			case sqlOperand:
				operand, ident = true, false
			case sqlUnit:
				if word == "order" || word == "group" {
					operand, role = false, sqlOperator
				} else if !operand {
					operand = word != "date" && word != "timestamp" && word != "time" || role != sqlOperator
				}
			default:
				if operand {
					if role == sqlOperator || aliased || !ident && role == sqlNames && st.src[max(p-1, 0)] != ' ' {
						return p
					}
					aliased = true
				}
				operand, ident = true, true
				if st.first == "update" && role == sqlList {
					role = sqlNames
				}
			}
		}
	}
	return pos
}

// valid tells whether what was walked is a statement and not a sentence that begins like one.
func (st *statement) valid() bool {
	switch st.first {
	case "select":
		return st.from && (st.upper || st.where || st.verbatim || st.sign) || st.upper && st.literals > 0 && (st.from || st.sign || strings.ContainsAny(st.src[:min(len(st.src), 64)], "('"))
	case "update":
		return st.set && st.sign
	case "insert", "replace":
		return st.into && (st.values || st.set || st.from) || st.upper && st.values
	case "delete":
		return st.from && (st.upper || st.where)
	case "merge":
		return st.upper && st.sign
	case "call":
		return st.upper && st.called
	case "where":
		return st.sign && (st.upper || st.literals > 0) || st.upper && st.literals > 0
	case "values":
		return st.literals > 0
	}
	return false
}

// advance finds the end of the token in src that the lexer gave as value: it drops blanks around the dots of a qualified name.
func advance(src string, p int, value string) int {
	if strings.HasPrefix(src[p:], value) {
		return p + len(value)
	}
	for i := 0; i < len(value) && p < len(src); {
		if src[p] == value[i] {
			i++
		}
		p++
	}
	return p
}
