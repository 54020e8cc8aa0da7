package redact

import "bytes"

// column is a column of a table whose heading names a secret: | user | password |, user,password, or words that stand above each other.
type column struct {
	sep   byte // '|', ',', ';', a tab, or ' ' for columns that stand below each other
	tight bool // a list with bars and without blanks: user|password
	at    int  // separators before it; for ' ' the offset of its heading
	cells int  // separators of the line of headings; for ' ' the number of headings
	key   key
}

// heading is a column found in the text under scan; line is the end of the line of headings.
type heading struct {
	line int
	column
}

const (
	maxHeadings = 16   // of one line
	maxTableRow = 4096 // bytes of a line of headings: what is longer is no table
)

// inTable handles a key in a cell: a heading, whose column is masked when the table has been seen, or a name beside its value. It reports whether the key is done with.
func (w *scanner) inTable(k *key) bool {
	b := w.b
	if k.weak || k.code || k.auth || k.cookie {
		return false
	}
	p := closers(b, k.to)
	e := skipBlank(b, p)
	sep := byte(0)
	switch c := at(b, e); {
	case c == '|' || has(b, e, "│"):
		sep = '|'
	case at(b, p) == '\t' || at(b, p) == ',' || at(b, p) == ';':
		sep = b[p]
	case e >= len(b) || c == '\n' || c == '\r': // the last column
	case e-p >= 2:
		sep = ' '
	default:
		return false
	}
	if k.from >= w.rowEnd || k.from < w.rowFrom { // another line
		w.rowFrom = max(0, k.from-maxTableRow)
		if n := bytes.LastIndexByte(b[w.rowFrom:k.from], '\n'); n >= 0 {
			w.rowFrom += n + 1
		}
		w.rowEnd = w.lineEnd(b, k.from)
		w.rowHeads, w.rowRule = 0, ruleLine(nextLine(b, w.rowEnd))
		w.steps += k.from - w.rowFrom
	}
	if w.rowHeads++; w.rowHeads > maxHeadings || w.rowEnd-w.rowFrom > maxTableRow {
		return false
	}
	line := bytes.TrimRight(b[w.rowFrom:w.rowEnd], "\r")
	c, ok := headingIn(line, k.from-w.rowFrom, sep)
	w.steps += len(line)
	if ok {
		c.key = *k
		next := nextLine(b, w.rowEnd)
		if w.rowEnd >= len(b)-1 || c.sep == '|' && w.rowRule || (c.sep != '|' || c.tight) && c.fits(next) {
			w.heads = append(w.heads, heading{w.rowEnd, c})
			if w.rowEnd < len(b)-1 {
				return true
			}
		}
	}
	if sep != '|' || bytes.IndexByte([]byte("|*`\"'_"), at(bytes.TrimLeft(line, " \t>"), 0)) < 0 && len(bytes.TrimSpace(line[:k.from-w.rowFrom])) > 0 {
		return false
	}
	width := 1
	if b[e] != '|' {
		width = len("│")
	}
	from, to := e+width, w.rowEnd
	if n := barAt(b[from:to]); n >= 0 {
		to = from + n
	}
	w.cell(k, from, to)
	return true
}

func nextLine(b []byte, end int) []byte {
	if end >= len(b) {
		return nil
	}
	next := b[end+1:]
	if n := bytes.IndexByte(next[:min(len(next), maxTableRow)], '\n'); n >= 0 {
		return next[:n]
	}
	return next[:min(len(next), maxTableRow)]
}

// headingIn tells whether the key at offset at of line is a heading of a table with the separator sep, 0 for the last column of any.
func headingIn(line []byte, at int, sep byte) (column, bool) {
	if sep == 0 {
		if i := bytes.LastIndexAny(line[:at], "|\t,;"); i >= 0 {
			sep = line[i]
		} else if bytes.Contains(line[:at], []byte("│")) {
			sep = '|'
		} else {
			sep = ' '
		}
	}
	c := column{sep: sep}
	if sep == ' ' {
		// Every heading is one word, and two blanks or more stand between them.
		words, gap := 0, 2
		for i, x := range line {
			switch {
			case x == ' ':
				gap++
			case !isWord(x) && x != '-' && x < 0x80:
				return c, false
			default:
				if gap == 1 {
					return c, false
				}
				if gap > 1 {
					words++
				}
				if i == at && gap < 2 {
					return c, false
				}
				gap = 0
			}
		}
		c.at, c.cells = at, words
		return c, words > 1
	}
	from := 0
	for {
		n := sepAt(line[from:], sep)
		if n < 0 || from+n >= at {
			break
		}
		from += n + sepWidth(line[from+n:])
		c.at++
	}
	c.cells = c.at
	rest := line[at:]
	for {
		n := sepAt(rest, sep)
		if n < 0 {
			break
		}
		rest = rest[n+sepWidth(rest[n:]):]
		c.cells++
	}
	if c.cells == 0 {
		return c, false
	}
	c.tight = sep == '|'
	for i, x := range line { // headings are words
		c.tight = c.tight && (isIdent(x) || x == '|')
		if sep == ',' || sep == ';' {
			if !isIdent(x) && x != sep && x != '"' && x < 0x80 {
				return c, false
			}
		} else if i < at && i >= from && !isWord(x) && x < 0x80 && bytes.IndexByte([]byte(" -*`\"'#."), x) < 0 {
			return c, false
		}
	}
	return c, true
}

// sepAt is the offset of the next separator that is not escaped or quoted, or -1.
func sepAt(line []byte, sep byte) int {
	if sep == '|' {
		return barAt(line)
	}
	quoted := false
	for i, c := range line {
		if c == '"' && (sep == ',' || sep == ';') {
			quoted = !quoted
		}
		if c == sep && !quoted {
			return i
		}
	}
	return -1
}

func barAt(line []byte) int {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '|':
			return i
		case 0xe2:
			if has(line, i, "│") {
				return i
			}
		}
	}
	return -1
}

func sepWidth(line []byte) int {
	if line[0] == 0xe2 {
		return len("│")
	}
	return 1
}

// ruleLine tells the line that separates the headings from the rows.
func ruleLine(line []byte) bool {
	dash := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; c {
		case '-', '=':
			dash = true
		case '|', '+', ':', ' ', '\t', '\r', '>':
		case 0xe2: // box drawing
			if i+2 >= len(line) || line[i+1] < 0x94 || line[i+1] > 0x95 {
				return false
			}
			dash = true
			i += 2
		default:
			return false
		}
	}
	return dash
}

// fits tells whether a line has as many cells as the headings.
func (c *column) fits(line []byte) bool {
	line = bytes.TrimRight(line, "\r \t")
	if c.sep == ' ' {
		cells, gap := 0, 2
		for i, x := range line {
			if x == ' ' {
				gap++
				continue
			}
			if gap > 1 {
				cells++
			}
			if i == c.at && gap == 0 {
				return false
			}
			gap = 0
		}
		return cells == c.cells && c.at < len(line) && line[c.at] != ' ' || ruleLine(line)
	}
	n := 0
	for from := 0; ; n++ {
		i := sepAt(line[from:], c.sep)
		if i < 0 {
			break
		}
		from += i + sepWidth(line[from+i:])
	}
	if c.sep == '|' && !c.tight {
		return n > 0 && n >= c.at
	}
	return n == c.cells
}

// find is the range of the column's cell in a row.
func (c *column) find(line []byte) (from, to int) {
	line = bytes.TrimRight(line, "\r")
	if c.sep == ' ' {
		from = c.at
		for to = from; to < len(line) && !(line[to] == ' ' && at(line, to+1) == ' '); to++ {
		}
		return from, to
	}
	var ends []int
	for i := 0; ; {
		n := sepAt(line[i:], c.sep)
		if n < 0 {
			break
		}
		ends = append(ends, i+n)
		i += n + sepWidth(line[i+n:])
	}
	if c.at > 0 {
		from = ends[c.at-1] + sepWidth(line[ends[c.at-1]:])
	}
	to = len(line)
	if last := c.at + max(0, len(ends)-c.cells); last < len(ends) { // a bar that belongs to the value makes a cell more
		to = ends[last]
	}
	return from, to
}

// tables masks the columns whose headings were met.
func (w *scanner) tables() {
	end := 0
	for n := 0; n < len(w.heads); {
		line, cols := w.heads[n].line, n
		for n < len(w.heads) && w.heads[n].line == line {
			n++
		}
		if line < end {
			continue // a row of the table before
		}
		for end = line; end < len(w.b); {
			row := w.b[end+1:]
			if i := bytes.IndexByte(row, '\n'); i >= 0 {
				row = row[:i]
			}
			w.steps += len(row)
			if !w.row(w.heads[cols:n], row, end+1) {
				break
			}
			end += 1 + len(row)
		}
	}
}

// row masks the cells of the columns in a row that begins at offset base; false ends the table.
func (w *scanner) row(cols []heading, row []byte, base int) bool {
	if len(row) == 0 || len(row) > maxTableRow {
		return false
	}
	if ruleLine(row) {
		return true
	}
	for i := range cols {
		c := &cols[i].column
		if !c.fits(row) {
			return false
		}
		from, to := c.find(row)
		w.cell(&c.key, base+from, base+to)
	}
	return true
}

// cell masks the value in a cell.
func (w *scanner) cell(k *key, from, to int) {
	b := w.b
	trim := func(marks string) {
		for from < to && bytes.IndexByte([]byte(marks), b[from]) >= 0 {
			from++
		}
		for to > from && bytes.IndexByte([]byte(marks), b[to-1]) >= 0 {
			to--
		}
	}
	trim(" \t\r")
	trim("*")
	trim("`\"'")
	v := b[from:to]
	if len(v) == 0 || w.harmless(k, v, true) || plain(v) || columnType(v) || !hasAlnum(v) {
		return
	}
	if n := bytes.IndexByte(v, ' '); n >= 0 && w.r.o.KeepPlaceholders { // a sentence about the value, perhaps behind it
		v, to = v[:n], from+n
		if !mixed(v) || numeric(v) {
			return
		}
	}
	if !k.password && !uuid(v) && (!random(v) && (len(v) < 5 || !hasDigit(v) || !hasLetter(v)) || dnsName(v)) {
		return
	}
	w.secret(from, to)
}

func hasAlnum(v []byte) bool {
	for _, c := range v {
		if isAlnum(c) || c >= 0x80 {
			return true
		}
	}
	return false
}

// columnType tells the type of a column, as in the description of a table: varchar(255).
func columnType(v []byte) bool {
	i := 0
	for i < len(v) && isLetter(v[i]) {
		i++
	}
	if columnTypes[string(bytes.ToLower(v[:i]))] {
		return i == len(v) || v[i] == '(' || v[i] == ' '
	}
	return false
}

var columnTypes = map[string]bool{"varchar": true, "char": true, "nvarchar": true, "nchar": true, "varbinary": true, "binary": true, "text": true, "tinytext": true, "mediumtext": true, "longtext": true, "blob": true, "longblob": true, "character": true, "bytea": true,
	"int": true, "integer": true, "bigint": true, "smallint": true, "tinyint": true, "boolean": true, "bool": true, "decimal": true, "timestamp": true, "datetime": true, "date": true, "json": true, "jsonb": true, "uuid": true, "string": true, "enum": true, "number": true, "securestring": true}
