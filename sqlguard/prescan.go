package sqlguard

import (
	"strconv"
	"strings"
)

// setOp is the operator between two arms of a set operation.
type setOp uint8

const (
	opUnion setOp = iota
	opIntersect
	opExcept
)

// selectMark is what the scan knows of one SELECT word. The number of the mark travels through the parser as a comment, the only comments
// that the parsers get to see, so that the closed form finds it again.
type selectMark struct {
	items  []string // source text of each item of the select list, "" when its alias is empty
	before setOp    // INTERSECT or EXCEPT directly before this SELECT (behind brackets), which the parser was given as UNION
}

// scan is the caller's statement prepared for the readers.
type scan struct {
	toks                   []token
	marks                  []selectMark
	deciding               string // text for the reader that decides
	second                 string // text for the second reader
	limits, orders, setOps int    // LIMIT and ORDER words, INTERSECT and EXCEPT words
	offsets                []int  // where each token begins in deciding
	brackets               map[span]bool
}

// span is the first and the last SELECT of a part of the statement, as marks.
type span struct{ first, last int }

// frame follows one select list while the scan runs.
type frame struct {
	mark, depth int
	first       int // token that begins the current item, -1 when none yet
	listing     bool
	from        bool // in the FROM clause
	on          bool // in an ON condition of it
	window      bool // in the WINDOW clause
}

// prescan checks what can be decided on words alone and writes the texts for the two readers.
func prescan(src string, toks []token) (*scan, error) {
	s := &scan{toks: toks, brackets: map[span]bool{}}
	var opened []int // SELECT words before each open bracket
	var out, second strings.Builder
	out.Grow(len(src) + 64)
	second.Grow(len(src) + 16)
	s.offsets = make([]int, 0, len(toks))
	var frames []frame
	pending := opUnion
	loose := map[int]bool{}
	depth, copied := 0, toks[0].pos
	skip := func(from, to int) { second.WriteString(src[copied:from]); copied = to }
	for i := 0; i < len(toks); i++ {
		t := toks[i]
		if len(frames) > 0 {
			f := &frames[len(frames)-1]
			if f.listing {
				frames = s.item(src, toks, i, depth, frames)
			}
			switch {
			case t.kw == kwOn:
				f.on = true
			case t.kw == kwJoin, depth == f.depth && t.op(","):
				f.on = false
			}
			if depth == f.depth {
				switch t.kw {
				case kwFrom:
					f.from, f.on = true, false
				case kwWhere, kwGroup, kwHaving, kwOrder, kwLimit, kwUnion, kwIntersect, kwExcept, kwWindow:
					f.from, f.window = false, t.kw == kwWindow
				}
			}
		}
		out.WriteByte(' ')
		s.offsets = append(s.offsets, out.Len())
		switch t.kind {
		case tString:
			if f := len(frames) - 1; f >= 0 && frames[f].from && !frames[f].on && aliasPlace(toks, i) {
				return nil, refuse(codeSyntax, "a string cannot be the alias of a table; use back quotes")
			}
			s.emitString(&out, toks, &i)
			if toks[i].end != t.end {
				for len(s.offsets) <= i {
					s.offsets = append(s.offsets, out.Len())
				}
			}
			if t.national {
				skip(t.pos, t.pos+1)
			}
			continue
		case tQuoted:
			quoteName(&out, t.text)
			continue
		case tNumber, tHex:
			out.WriteString(t.text)
			continue
		case tOp:
			switch t.text {
			case "(":
				depth++
				loose[depth] = false
				opened = append(opened, len(s.marks))
			case ")":
				depth--
				if n := len(opened) - 1; n >= 0 {
					s.brackets[span{opened[n], len(s.marks) - 1}] = true
					opened = opened[:n]
				}
				for len(frames) > 0 && frames[len(frames)-1].depth > depth {
					frames = frames[:len(frames)-1]
				}
			}
			out.WriteString(t.text)
			if f := len(frames) - 1; t.text == "," && f >= 0 && frames[f].window && frames[f].depth == depth {
				out.WriteString(" window") // the deciding reader wants the word before each window
			}
			continue
		}
		plain := asName(toks, i)
		if f := len(frames) - 1; f >= 0 && frames[f].listing && frames[f].depth == depth && i > 0 && toks[i-1].kw == kwAs && t.kw == kwNone {
			plain = true // behind AS in a select list stands a name, whatever word it is
		}
		if plain || odd(t.text) || i > 0 && toks[i-1].op(".") {
			quoteName(&out, t.text)
			if plain || odd(t.text) {
				skip(t.pos, t.end)
				quoteName(&second, t.text)
			}
			continue
		}
		if t.text[0] == '_' && i+1 < len(toks) && (toks[i+1].kind == tString || toks[i+1].kind == tHex) {
			skip(t.pos, t.end) // the second reader takes a character set for a column
		}
		switch t.kw {
		case kwSelect:
			s.marks = append(s.marks, selectMark{before: pending})
			pending = opUnion
			if len(s.marks) > maxSelects {
				return nil, refuse(codeComplex, "the statement has more than %d SELECT words", maxSelects)
			}
			out.WriteString("select /*")
			out.WriteString(strconv.Itoa(len(s.marks) - 1))
			out.WriteString("*/")
			frames = append(frames, frame{mark: len(s.marks) - 1, depth: depth, first: -1, listing: true})
			for i+1 < len(toks) && toks[i+1].kind == tWord && (toks[i+1].kw == kwModifier || toks[i+1].kw == kwAll || toks[i+1].kw == kwDistinct) {
				i++
				s.offsets = append(s.offsets, out.Len())
				if toks[i].kw == kwDistinct {
					out.WriteString(" distinct")
				}
				if toks[i].kw != kwDistinct || len(toks[i].text) != len("DISTINCT") {
					skip(toks[i].pos, toks[i].end) // the second reader takes these modifiers for columns
					if toks[i].kw == kwDistinct {
						second.WriteString("distinct")
					}
				}
				if strings.EqualFold(toks[i].text, "SQL_CALC_FOUND_ROWS") {
					return nil, refuse(codeUnsupported, "SQL_CALC_FOUND_ROWS keeps state on the connection; use a second query with COUNT(*)")
				}
			}
			continue
		case kwAll:
			if i > 0 && toks[i-1].op("(") { // COUNT(ALL x): what every aggregate does anyway
				skip(t.pos, t.end)
				continue
			}
		case kwUnion:
			loose[depth] = true
		case kwIntersect, kwExcept:
			if t.kw == kwIntersect && loose[depth] {
				return nil, refuse(codeAmbiguous, "INTERSECT binds tighter than UNION and EXCEPT; put the INTERSECT in brackets")
			}
			if t.kw == kwIntersect {
				pending = opIntersect
			} else {
				pending, loose[depth] = opExcept, true
			}
			s.setOps++
			out.WriteString("union")
			continue
		case kwLimit:
			s.limits++
		case kwOrder:
			if i == 0 || toks[i-1].kw != kwFor { // USE INDEX FOR ORDER BY
				s.orders++
			}
		case kwInto:
			return nil, refuse(codeNotReadOnly, "INTO (files and variables) is not allowed; leave it out")
		case kwProcedure:
			return nil, refuse(codeNotReadOnly, "PROCEDURE is not allowed; leave it out")
		case kwFor:
			if i+1 < len(toks) && (toks[i+1].kw == kwUpdate || toks[i+1].kw == kwShare) {
				return nil, refuse(codeNotReadOnly, "locking reads (FOR UPDATE, FOR SHARE) are not allowed; leave the clause out")
			}
		case kwLock:
			if i+1 < len(toks) && toks[i+1].kw == kwIn {
				return nil, refuse(codeNotReadOnly, "locking reads (LOCK IN SHARE MODE) are not allowed; leave the clause out")
			}
		case kwTyped:
			if i+1 < len(toks) && toks[i+1].kind == tString {
				skip(t.pos, t.end) // a typed literal, for the second reader a plain one
			}
		}
		if w, ok := castWord(toks, i); ok {
			out.WriteString(w)
			continue
		}
		if leadingInterval(toks, i) {
			return nil, refuse(codeAmbiguous, "INTERVAL n unit + date takes in all that follows; write date + INTERVAL n unit")
		}
		if i+1 < len(toks) && toks[i+1].op("(") && strings.EqualFold(t.text, "MID") {
			out.WriteString("substr") // the same function, of which the deciding reader knows one form only
			continue
		}
		out.WriteString(t.text)
	}
	for len(frames) > 0 {
		frames = s.item(src, toks, len(toks), -1, frames)
		if len(frames) > 0 {
			frames = frames[:len(frames)-1]
		}
	}
	second.WriteString(src[copied:toks[len(toks)-1].end])
	s.deciding, s.second = out.String(), second.String()
	return s, nil
}

// item advances the current select list by token i: a comma ends an item, a clause word or the end of the bracket ends the list.
func (s *scan) item(src string, toks []token, i, depth int, frames []frame) []frame {
	f := &frames[len(frames)-1]
	flush := func() {
		if f.first >= 0 {
			text := src[toks[f.first].pos:toks[i-1].end]
			if last := toks[i-1]; last.kind == tString && last.text == "" && i-2 > f.first && toks[i-2].kw == kwAs {
				text = "" // an empty alias, which the deciding reader cannot tell from none
			}
			s.marks[f.mark].items = append(s.marks[f.mark].items, text)
			f.first = -1
		}
	}
	if i >= len(toks) {
		flush()
		return frames
	}
	t := toks[i]
	if depth == f.depth {
		switch t.kw {
		case kwFrom, kwWhere, kwGroup, kwHaving, kwOrder, kwLimit, kwUnion, kwIntersect, kwExcept, kwWindow, kwFor, kwLock:
			flush()
			f.listing = false
			return frames
		}
		if t.op(",") {
			flush()
			return frames
		}
		if t.op(")") {
			flush()
			f.listing = false
			return frames
		}
	}
	if f.first < 0 {
		f.first = i
	}
	return frames
}

// emitString writes a string literal; literals that stand side by side are one literal for MySQL. i is left on the last of them.
func (s *scan) emitString(out *strings.Builder, toks []token, i *int) {
	text := toks[*i].text
	for *i+1 < len(toks) && toks[*i+1].kind == tString && !toks[*i+1].national {
		*i++
		text += toks[*i].text
	}
	quoteString(out, text)
}

// aliasPlace tells whether token i stands where FROM has the alias of a table.
func aliasPlace(toks []token, i int) bool {
	if i < 2 {
		return false
	}
	prev, before := toks[i-1], toks[i-2]
	switch {
	case prev.kw == kwAs, prev.kind == tQuoted:
		return true
	case prev.kind == tWord:
		return before.kw == kwFrom || before.kw == kwJoin || before.op(",") || before.op(".")
	}
	return false
}

// names are words that MySQL or MariaDB takes for names and the deciding reader for keywords: some always, others (false) unless a bracket follows.
var names = map[string]bool{
	"NEXT": true, "OFF": true, "POSTPONE": true, "REVERT": true, "SAVEPOINT": true, "VSTREAM": true, "SYSTEM": true, "GROUPS": true,
	"CAST": false, "EXTRACT": false, "SUBSTR": false, "SUBSTRING": false, "NOW": false, "CURDATE": false, "CURTIME": false, "SYSDATE": false, "JSON_LENGTH": false, "RANK": false,
	"DENSE_RANK": false, "ROW_NUMBER": false, "PERCENT_RANK": false, "CUME_DIST": false, "NTILE": false, "LAG": false, "LEAD": false, "FIRST_VALUE": false, "LAST_VALUE": false,
	"NTH_VALUE": false, "GROUPING": false,
}

// asName tells whether word i is a name although the deciding reader would take it for a keyword.
func asName(toks []token, i int) bool {
	if toks[i].kw != kwNone || len(toks[i].text) > len("PERCENT_RANK") {
		return false
	}
	always, ok := names[strings.ToUpper(toks[i].text)]
	return ok && (always || i+1 >= len(toks) || !toks[i+1].op("("))
}

// castWords are type names that MariaDB and other databases take in CAST. They are reserved in MySQL, so behind AS they cannot be aliases.
var castWords = map[string]string{
	"INT": "signed", "INTEGER": "signed", "BIGINT": "signed", "SMALLINT": "signed", "TINYINT": "signed", "MEDIUMINT": "signed", "VARCHAR": "char", "NUMERIC": "decimal",
}

func castWord(toks []token, i int) (string, bool) {
	if i == 0 || toks[i-1].kw != kwAs || i+1 >= len(toks) || !toks[i+1].op(")") && !toks[i+1].op("(") {
		return "", false
	}
	w, ok := castWords[strings.ToUpper(toks[i].text)]
	return w, ok
}

// odd tells whether a name needs back quotes before the parsers can read it although MySQL does not ask for them.
func odd(w string) bool {
	if isDigit(w[0]) {
		return true
	}
	for i := range len(w) {
		if w[i] >= 0x80 || w[i] == '$' {
			return true
		}
	}
	return false
}

// binds are words by which an operand goes on.
var binds = map[string]bool{"IS": true, "IN": true, "NOT": true, "LIKE": true, "BETWEEN": true, "REGEXP": true, "RLIKE": true, "DIV": true, "MOD": true, "COLLATE": true, "MEMBER": true, "SOUNDS": true}

// leadingInterval tells whether word i begins INTERVAL n unit + date with something behind the date: a server reads it as INTERVAL n unit + (date = x), the deciding
// reader as (INTERVAL n unit + date) = x.
func leadingInterval(toks []token, i int) bool {
	if !strings.EqualFold(toks[i].text, "INTERVAL") || i > 0 && (toks[i-1].op("+") || toks[i-1].op("-")) {
		return false
	}
	depth, unit := 0, false
	for i++; i < len(toks); i++ {
		t := toks[i]
		switch {
		case t.op("("):
			depth++
		case t.op(")"):
			depth--
		}
		if depth < 0 || depth == 0 && t.op(",") {
			return false
		}
		if depth > 0 {
			continue
		}
		if !unit && strings.EqualFold(t.text, "INTERVAL") {
			return false // that one is looked at by itself
		}
		if !unit {
			unit = t.op("+") && toks[i-1].kind == tWord && unitWords["."+strings.ToLower(toks[i-1].text)]
			continue
		}
		switch {
		case t.kind == tOp && strings.Contains("= <=> < > <= >= <> != + - * / % & | ^ << >> -> ->>", t.text) && !t.op("("):
			return true
		case t.kind == tWord && binds[strings.ToUpper(t.text)] && !(i+1 < len(toks) && toks[i+1].op("(") && strings.EqualFold(t.text, "MOD")):
			return true
		case t.kw == kwCase:
			return true
		case t.kind == tWord && !toks[i-1].op("+") && !toks[i-1].op("."), t.op("&&"), t.op("||"):
			return false
		}
	}
	return false
}

// where gives the caller's token at offset pos of the deciding text, for an error message.
func (s *scan) where(pos int) (token, bool) {
	for i := len(s.offsets) - 1; i >= 0; i-- {
		if s.offsets[i] < pos && i < len(s.toks) {
			return s.toks[i], true
		}
	}
	return token{}, false
}
