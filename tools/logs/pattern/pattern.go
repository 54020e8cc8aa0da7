// Package pattern groups log messages into templates over a whole result. Nothing in it is tuned to one kind of log.
//
// It promises: every line is counted in exactly one group; lines of different level, exception class or topic never
// share a group; memory is bounded whatever is fed (over the bound, lines go to a counted rest group); the groups do
// not depend on the order of the lines as long as the bound is not reached; a redaction mask is always a slot.
//
// Lines are first told apart by a one-pass scanner (runs with digits, paths, hosts, dates and masks are slots), then,
// when all are seen, groups that differ in one place only are merged when the values there look like a variable's.
package pattern

import (
	"hash/maphash"
	"strings"
)

const (
	defaultMaxGroups = 6000
	defaultMaxLine   = 8 << 10
	// maxTokens is far above the longest message a person wrote; what has more is a dump.
	maxTokens = 1024
	// maxRests bounds the rest groups: levels and topics are few, but they come from outside.
	maxRests = 256
	// maxStats bounds the slot statistics of all groups together (up to 0.5 KiB each); further slots are marked Over.
	maxStats = 60000
	// maxKeys and maxParts bound the bytes and tokens of all templates together, 400 bytes and 25 tokens a group when
	// all groups are in use, so that hostile lines cannot fill the memory through long templates.
	maxKeys  = 8 << 20
	maxParts = 500000
	// maxFields bounds the fields of one group whose values are gathered, maxFieldStats those of all groups together: 300 bytes each.
	maxFields     = 16
	maxFieldStats = 5000
)

// Line is one event as seen by the grouping.
type Line struct {
	Message string
	Level   string
	Class   string // exception class, or ""
	Topic   string
	Fields  []Field // what the event says beside its message; no part of the template
}

// Field is a named value beside the message. Wide says that there are too many different values to gather them.
type Field struct {
	Name  string
	Value string
	Wide  bool
}

// Options bound an Accumulator. Zero values mean the defaults.
type Options struct {
	MaxGroups int // provisional groups (6000); lines over it go to the rest
	MaxLine   int // bytes (8 KiB); longer messages go to the rest
}

// Group is a template and what was seen in its slots.
type Group struct {
	Template string // slots are <*>, or the mask's kind (<ip>) when all values were masks of one kind
	Level    string
	Class    string
	Topic    string
	Count    int
	Slots    []Slot // in the order of the slots in Template
	Fields   []Slot // of the fields beside the message, by name
	Rest     bool   // lines that were too long, or one too many to be told apart
}

// Accumulator takes lines one by one. It is not safe for concurrent use.
type Accumulator struct {
	opt    Options
	seed   maphash.Seed
	groups []*provisional
	byKey  map[string]int32
	rests  map[[2]string]int32
	stats  int
	fields int // statistics of fields in use
	keys   int // bytes of all keys
	parts  int // tokens of all templates
	toks   []token
	spans  []span
	buf    []byte
}

type span struct{ start, end int32 }

// provisional is a group as the scanner tells them apart: its key is the scope and the masked message.
type provisional struct {
	key   string // scope, then masked message
	msg   int    // where the masked message begins in key
	level string
	class string
	topic string
	count int
	rest  bool
	slots []slotStat

	fields []fieldStat
	closed bool // fields were left out: nothing is said of them
}

// fieldStat gathers the values of one field.
type fieldStat struct {
	name string
	slotStat
}

// Marks in a masked message. Control bytes cannot be part of a token.
const (
	markSlot = '\x01'
	markMask = '\x02' // followed by the kind and markEnd
	markEnd  = '\x03'
	markPart = '\x04' // ends a part of the scope
	markBool = '\x05' // a slot with a truth value; shown as its value when there is one only
)

// NewAccumulator returns an empty Accumulator.
func NewAccumulator(o Options) *Accumulator {
	if o.MaxGroups <= 0 {
		o.MaxGroups = defaultMaxGroups
	}
	if o.MaxLine <= 0 {
		o.MaxLine = defaultMaxLine
	}
	return &Accumulator{opt: o, seed: maphash.MakeSeed(), byKey: make(map[string]int32), rests: make(map[[2]string]int32)}
}

// Add counts a line and returns the id of its provisional group; Groups.Of turns it into a final one.
func (a *Accumulator) Add(l Line) int {
	if len(l.Message) > a.opt.MaxLine {
		return a.addRest(l)
	}
	toks, ok := scan(l.Message, a.toks[:0])
	a.toks = toks
	if !ok {
		return a.addRest(l)
	}
	b := a.buf[:0]
	b = append(append(b, l.Level...), markPart)
	b = append(append(b, l.Class...), markPart)
	b = append(append(b, l.Topic...), markPart)
	head := len(b)
	b, a.spans = mask(b, a.spans[:0], l.Message, toks)
	a.buf = b
	id, ok := a.byKey[string(b)]
	if !ok {
		if len(a.byKey) >= a.opt.MaxGroups || a.keys+len(b) > maxKeys || a.parts+len(toks) > maxParts {
			return a.addRest(l)
		}
		a.keys += len(b)
		a.parts += len(toks)
		id = int32(len(a.groups))
		p := &provisional{key: string(b), msg: head, level: strings.Clone(l.Level), class: strings.Clone(l.Class), topic: strings.Clone(l.Topic)}
		if n := len(a.spans); n > 0 {
			p.slots = make([]slotStat, n)
			if a.stats += n; a.stats > maxStats {
				for i := range p.slots {
					p.slots[i] = slotStat{over: true, notNum: true, blind: true}
				}
			}
		}
		a.groups = append(a.groups, p)
		a.byKey[p.key] = id
	}
	p := a.groups[id]
	p.count++
	for i := range p.slots {
		st := &p.slots[i]
		if st.over && st.notNum {
			continue
		}
		sp := a.spans[i]
		v := l.Message[sp.start:sp.end]
		var h uint64
		if !st.over {
			h = maphash.String(a.seed, v)
		}
		st.add(h, v, 1)
	}
	a.addFields(p, l.Fields)
	return int(id)
}

// addFields gathers the values of the fields beside a message. A group that is one too many for that says nothing of its fields.
func (a *Accumulator) addFields(p *provisional, fields []Field) {
	for i, f := range fields {
		if p.closed {
			return
		}
		st := p.field(f.Name, i)
		if st == nil {
			if a.fields == maxFieldStats {
				p.closed = true
				a.fields -= len(p.fields)
				p.fields = nil
				return
			}
			if len(p.fields) == maxFields {
				continue
			}
			a.fields++
			p.fields = append(p.fields, fieldStat{name: strings.Clone(f.Name)})
			st = &p.fields[len(p.fields)-1].slotStat
		}
		switch {
		case f.Wide:
			st.close()
		case st.over && st.notNum:
		case st.over:
			st.add(0, f.Value, 1)
		default:
			st.add(maphash.String(a.seed, f.Value), f.Value, 1)
		}
	}
}

// field is the statistic of a field, which mostly stands where it stood in the lines before.
func (p *provisional) field(name string, at int) *slotStat {
	if at < len(p.fields) && p.fields[at].name == name {
		return &p.fields[at].slotStat
	}
	for i := range p.fields {
		if p.fields[i].name == name {
			return &p.fields[i].slotStat
		}
	}
	return nil
}

func (a *Accumulator) addRest(l Line) int {
	k := [2]string{l.Level, l.Topic}
	if _, ok := a.rests[k]; !ok && len(a.rests) >= maxRests {
		k = [2]string{}
	}
	id, ok := a.rests[k]
	if !ok {
		k = [2]string{strings.Clone(k[0]), strings.Clone(k[1])}
		id = int32(len(a.groups))
		a.groups = append(a.groups, &provisional{level: k[0], topic: k[1], rest: true})
		a.rests[k] = id
	}
	a.groups[id].count++
	return int(id)
}

// mask appends the message with its slots replaced by marks to b, and the slots' spans to spans.
func mask(b []byte, spans []span, s string, toks []token) ([]byte, []span) {
	for i := 0; i < len(toks); i++ {
		t := toks[i]
		if t.space && i > 0 {
			b = append(b, ' ')
		}
		if t.date {
			if n := dateLen(s, toks[i:], i > 0 && toks[i-1].kind == kindSlot && t.space && toks[i-1].number); n > 0 {
				b = append(b, markSlot)
				spans = append(spans, span{t.start, toks[i+n-1].end})
				i += n - 1
				continue
			}
		}
		switch t.kind {
		case kindMask:
			b = append(b, markMask)
			b = append(b, maskKind(s[t.start:t.end])...)
			b = append(b, markEnd)
			spans = append(spans, span{t.start, t.end})
		case kindSlot:
			// 10.0.0.1:80, 12:30:45 and 1,234,567 are one value.
			end := t.end
			for i+2 < len(toks) && joins(s, toks[i+1]) && toks[i+2].kind == kindSlot && !toks[i+2].space {
				i += 2
				end = toks[i].end
			}
			if i+1 < len(toks) && toks[i+1].space || i > 0 && toks[i-1].kind == kindPunct {
				if n := listLen(s, toks, i); n > 0 {
					i += n
					end = toks[i].end
				} else if i+1 < len(toks) && toks[i+1].unit {
					i++ // "5.5 KB"
					end = toks[i].end
				}
			}
			b = append(b, markSlot)
			spans = append(spans, span{t.start, end})
		default:
			if text := s[t.start:t.end]; t.kind == kindWord && len(text) < 6 && isTruth(s, toks, i) {
				b = append(b, markBool)
				spans = append(spans, span{t.start, t.end})
			} else {
				b = append(b, text...)
			}
		}
	}
	return b, spans
}

// isTruth: "ready=false", "( on off )". Several of them in one message differ together, which a comparison of one place
// would not see.
func isTruth(s string, toks []token, i int) bool {
	text := s[toks[i].start:toks[i].end]
	if i == 0 {
		return false
	}
	prev := s[toks[i-1].end-1]
	if isBool(text) {
		return prev == '='
	}
	return isSwitch(text) && (prev == '=' || prev == '(' || i+1 < len(toks) && s[toks[i+1].start] == ')')
}

// listLen is how many tokens behind the slot at i belong to the same list: names of one kind ("node1 node2 node3"),
// paths, or whatever fills square or curly brackets ("[3, 4, 7]"). A list is one value, however long it is.
func listLen(s string, toks []token, i int) int {
	t := toks[i]
	if i > 0 && toks[i-1].kind == kindPunct && (s[toks[i-1].start] == '[' || s[toks[i-1].start] == '{') {
		closing := s[toks[i-1].start] + 2 // ] and } in ASCII
		j := i + 1
		for j < len(toks) && (toks[j].kind == kindSlot || toks[j].kind == kindPunct && s[toks[j].start] == ',') {
			j++
		}
		if j < len(toks) && toks[j].kind == kindPunct && s[toks[j].start] == closing {
			return j - i - 1
		}
	}
	n := int32(prefixLen(s[t.start:t.end]))
	if n == 0 && s[t.start] == '/' {
		n = 1
	}
	j := i
	for n > 0 && j+1 < len(toks) && toks[j+1].kind == kindSlot && toks[j+1].space && toks[j+1].end-toks[j+1].start > n &&
		s[toks[j+1].start:toks[j+1].start+n] == s[t.start:t.start+n] {
		j++
	}
	return j - i
}

// prefixLen is the length of the letters in front of the first digit.
func prefixLen(s string) int {
	for i := range len(s) {
		if !isLetter(s[i]) && s[i] != '_' {
			return i
		}
	}
	return len(s)
}

func joins(s string, t token) bool {
	return t.kind == kindPunct && !t.space && t.end == t.start+1 && (s[t.start] == ':' || s[t.start] == ',')
}

// dateLen is how many tokens of a written date stand at the start of toks: names of weekday and month, then day, time
// and year. A name alone is a word.
func dateLen(s string, toks []token, afterNumber bool) int {
	n, last, numbers := 0, 0, 0
	for n < len(toks) && n < 12 {
		t := toks[n]
		if n > 0 && !t.space && !(t.kind == kindPunct) && toks[n-1].kind != kindPunct {
			break
		}
		switch {
		case t.date:
		case t.kind == kindSlot && t.number && t.end-t.start <= 15:
			numbers++
		case t.kind == kindPunct && t.end == t.start+1 && (s[t.start] == ':' || s[t.start] == ',') && n+1 < len(toks) && (toks[n+1].date || toks[n+1].kind == kindSlot && toks[n+1].number):
			n++
			continue
		case t.kind == kindWord && numbers > 0 && isZone(s[t.start:t.end]) && n+1 < len(toks) && toks[n+1].kind == kindSlot:
		default:
			n = len(toks)
			continue
		}
		n++
		last = n
	}
	if numbers == 0 && !afterNumber {
		return 0
	}
	return last
}

func isZone(s string) bool {
	if len(s) < 2 || len(s) > 4 {
		return false
	}
	for i := range len(s) {
		if s[i] < 'A' || s[i] > 'Z' {
			return false
		}
	}
	return true
}
