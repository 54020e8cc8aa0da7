package redact

import "bytes"

// maxOpen is how many lines a secret that did not end may take: the longest private keys in use (RSA 4096) have about 52.
const maxOpen = 64

// Stream redacts text line by line, one line out for each line in, and remembers what the last line left open: a PEM block, a quoted secret, a key whose value is
// on the next line, the data of a manifest. What stays open ends after 64 lines, or where a line begins like a new event. It is not safe for concurrent use.
type Stream struct {
	r     *Redactor
	t     *Tagger
	stats *Stats
	out   []byte

	left    int // lines that what is open may still take
	armor   bool
	quote   quote
	pending bool
	form    part // of a form whose value is a secret
	fence   bool // a listing began where the value was due
	bare    bool // the lines of the open PEM block carry no log prefix
	named   bool // a name that says that the value beside it is a secret
	indent  int  // of a key whose block scalar goes on, or -1
	data    block
	table   []heading // columns of secrets of the table that is open
	ruled   bool      // the rule below its headings was seen, or none is due
}

// part says how far a part of a form was read whose name says that its value is a secret.
type part uint8

const (
	noPart part = iota
	partHeaders
	partValue
)

// NewStream begins a stream. t may be nil.
func NewStream(r *Redactor, t *Tagger) *Stream { return &Stream{r: r, t: t, indent: -1} }

// Count makes the stream add what it masks to st.
func (s *Stream) Count(st *Stats) { s.stats = st }

// Line redacts one line, given without its line end. The result is valid until the next call.
func (s *Stream) Line(line []byte) []byte {
	w := s.r.pool.Get().(*scanner)
	defer s.r.put(w)
	w.reset()
	if s.r.on[kindSecret] {
		if head := s.head(w, line); head > 0 && !onlyTags(line[:head], kindSecret) {
			if from, to := skipBlank(line, 0), trimRight(line, 0, head); from < to {
				w.found = append(w.found, span{from, to, kindSecret})
			}
		}
		if f, t := s.data.line(line); t > f && !onlyTags(line[f:t], kindSecret) {
			w.found = append(w.found, span{f, t, kindSecret})
		}
	}
	row := s.row(w, line)
	continued := s.left > 0
	w.scan(line, nil)
	open, quote, pending, indent, named, form := w.armorOpen, w.open, w.pending, w.blockOpen, w.namedOpen, noPart
	if w.formOpen {
		form, pending = partHeaders, false
	}
	if !row && len(w.heads) > 0 {
		s.table, s.ruled = append(s.table[:0], w.heads...), w.heads[0].sep != '|' || w.heads[0].tight
	}
	w.disguises(line)
	w.byRegex(line)
	if !continued && s.r.on[kindSecret] {
		s.armor, s.quote, s.pending, s.indent, s.form = open, quote, pending, indent, form
		if open || quote.c != 0 || pending || indent >= 0 || form != noPart {
			s.left, s.bare = maxOpen, false
		}
	}
	s.named = named
	if !w.settle(line) {
		s.out = append(s.out[:0], line...)
		return s.out
	}
	w.settled(line, s.t, s.stats, w.find)
	s.out = append(s.out[:0], w.res...)
	return s.out
}

// row masks the cells of a line that belongs to the table that is open, and tells whether it does.
func (s *Stream) row(w *scanner, line []byte) bool {
	if len(s.table) == 0 {
		return false
	}
	w.begin(line)
	if !s.ruled {
		s.ruled = ruleLine(line)
	} else if w.row(s.table, line, 0) {
		w.collect(nil)
	} else {
		s.ruled = false
	}
	if !s.ruled {
		s.table = s.table[:0]
	}
	return s.ruled
}

// head is the end of the part of line that belongs to what the lines before left open.
func (s *Stream) head(w *scanner, line []byte) int {
	if s.named {
		v := skipBlank(line, 0)
		if has(line, v, "value:") || has(line, v, "value =") || has(line, v, "value=") || has(line, v, `"value":`) {
			v = skipBlank(line, v+bytes.IndexAny(line[v:], ":=")+1)
			if _, f := opening(line, v); f > v {
				v = f
			}
			w.found = append(w.found, span{v, trimRight(line, v, len(line)), kindSecret})
		}
	}
	if s.left == 0 {
		return 0
	}
	s.left--
	if len(bytes.TrimSpace(line)) == 0 && !s.pending {
		if s.form != noPart {
			s.form = partValue
		}
		return 0
	}
	done := func() {
		s.left, s.armor, s.quote, s.pending, s.fence, s.indent, s.form = 0, false, quote{}, false, false, -1, noPart
	}
	switch {
	case s.form == partHeaders:
		return 0
	case s.form == partValue:
		if has(line, 0, "--") || eventStart(line) {
			done()
			return 0
		}
		return len(line)
	case s.armor:
		if i := bytes.Index(line, []byte("-----END")); i >= 0 {
			e := i + len("-----END")
			if j := bytes.Index(line[e:], []byte("-----")); j >= 0 {
				e += j + 5
			} else {
				e = len(line)
			}
			done()
			return e
		}
		if s.left == maxOpen-1 {
			s.bare = !eventStart(line)
		} else if s.bare && eventStart(line) {
			done()
			return 0
		}
		return len(line)
	case s.quote.c != 0:
		end, _, ok := w.closing(line, 0, s.quote)
		if !ok && eventStart(line) {
			done()
			return 0
		}
		if ok {
			done()
		}
		return end
	case s.pending:
		v := skipBlank(line, 0)
		if has(line, v, "```") && !s.fence { // the value may be the one word of a listing
			s.fence = true
			return 0
		}
		fence := s.fence
		done()
		if e := w.unquoted(line, v, false); fence && (e < trimRight(line, v, len(line)) || !mixed(line[v:e])) {
			return 0
		}
		if v >= len(line) || nextIsKey(line, v) || eventStart(line) {
			return 0
		}
		if q, from := opening(line, typed(line, v)); q.c != 0 {
			end, _, _ := w.closing(line, from, q)
			if typed(line, v) > v {
				w.found = append(w.found, span{from, end, kindSecret})
				return 0
			}
			return end
		}
		return w.unquoted(line, v, false)
	case s.indent >= 0:
		if skipBlank(line, 0) <= s.indent {
			done()
			return 0
		}
		return len(line)
	}
	done()
	return 0
}
