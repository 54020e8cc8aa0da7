package logs

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/line"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/pattern"
)

// facts are the short values that events say beside their messages: status=502 tells more of "payment failed" than its words do. They are gathered for every event,
// so they must cost little: a value that was met before is not redacted again.
type facts struct {
	keys map[string]*fact
	kept int // bytes of all known values
	out  []pattern.Field
}

// fact is what is known of one key.
type fact struct {
	name   string
	dull   bool // its values are hidden, or say when, not what
	number bool // numbers of up to nine digits are shown as they are
	wide   bool // more than maxKnown different values
	known  map[string]string
}

// Bounds of facts: a key with more different values is an identifier, a longer value a text.
const (
	maxFactKeys = 256
	maxKnown    = 256
	maxKept     = 1 << 20
	maxFact     = 512
	shownFact   = 60
	maxFacts    = 12
)

// facts gives the event's facts. They are valid until the next call.
func (r *reader) facts() []pattern.Field {
	f := &r.known
	f.out = f.out[:0]
	if f.keys == nil {
		f.keys = make(map[string]*fact)
	}
	switch r.ev.Format {
	case line.JSON, line.Logfmt:
		for i := range r.ev.Fields {
			if e := &r.ev.Fields[i]; !e.Used {
				r.fact(e.Key, e.Value)
			}
		}
	case line.Access:
		for i := range r.ev.Fields {
			if e := &r.ev.Fields[i]; string(e.Key) == "status" || isCaller(e.Key) {
				r.fact(e.Key, e.Value)
			}
		}
		line.Pairs(r.ev.Message, func(key, value []byte) bool {
			r.fact(key, bytes.Trim(value, `"`))
			return true
		})
	}
	return f.out
}

func (r *reader) fact(key, value []byte) {
	if len(value) == 0 || len(key) > maxFact || len(r.known.out) == maxFacts {
		return
	}
	k := r.known.keys[string(key)]
	if k == nil {
		if len(r.known.keys) == maxFactKeys {
			return
		}
		k = r.judge(string(key))
		r.known.keys[string(key)] = k
	}
	switch {
	case k.dull:
		return
	case k.number && smallNumber(value):
		r.known.out = append(r.known.out, pattern.Field{Name: k.name, Value: string(value)})
		return
	}
	v, ok := k.known[string(value)]
	long := len(value) > maxFact
	if !ok && !k.wide && !long {
		if len(k.known) == maxKnown || r.known.kept > maxKept {
			k.wide, k.known = true, nil
		} else {
			_, v = r.field(line.Field{Key: key, Value: value})
			if v = strings.ReplaceAll(v, "\n", " "); len(v) > shownFact {
				v = clip(v, shownFact) + cutMark
			}
			k.known[string(value)] = v
			r.known.kept += len(value) + len(v)
		}
	}
	r.known.out = append(r.known.out, pattern.Field{Name: k.name, Value: v, Wide: k.wide || long})
}

// judge looks at a key once. What redaction hides whatever it is, tells nothing by its values.
func (r *reader) judge(key string) *fact {
	k := &fact{name: r.red.Text(key, r.tags), known: make(map[string]string)}
	const number = "487213956"
	k.number = true
	for n := 1; n <= len(number) && k.number; n++ { // a short phone number, a code of six digits
		k.number = r.red.Field(key, number[:n], r.tags) == number[:n]
	}
	last := key[strings.LastIndexByte(key, '.')+1:]
	if v := r.red.Field(key, probeValue, r.tags); v != probeValue && !isTag(v) || line.IsTimeKey(key) || strings.HasPrefix(k.name, "<") || namesValue(last) || namesArguments(last) {
		k.dull = true
	}
	return k
}

// smallNumber tells a number too short to be an identifier of anybody.
func smallNumber(b []byte) bool {
	if b[0] == '-' {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 9 {
		return false
	}
	dot := false
	for i, c := range b {
		switch {
		case c >= '0' && c <= '9':
		case c == '.' && !dot && i > 0 && i < len(b)-1: // a second one makes it an address
			dot = true
		default:
			return false
		}
	}
	return true
}

// methods are those of access lines, which group by method and route.
var methods = [...]string{"GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"}

// route is what an access line is grouped by: its method and the parts of its path, so that numbers in it become slots and words stay. The bars are turned into
// slashes by tidy.
func (r *reader) route() string {
	var method, path string
	for _, f := range r.ev.Fields {
		switch string(f.Key) {
		case "method":
			method = string(f.Value)
		case "path":
			_, path = r.field(f)
		}
	}
	if !slices.Contains(methods[:], method) || !strings.HasPrefix(path, "/") || strings.ContainsAny(path, "|\n ") {
		return ""
	}
	path, _, _ = strings.Cut(path, "?")
	return method + " " + strings.ReplaceAll(path, "/", "|")
}

// tidy writes the template of access lines as a path again.
func tidy(template string) string {
	method, path, ok := strings.Cut(template, " ")
	if !ok || !strings.HasPrefix(path, "|") || !slices.Contains(methods[:], method) {
		return template
	}
	return method + " " + strings.ReplaceAll(path, "|", "/")
}

// maxValues bounds the slots and facts listed of one group.
const maxValues = 8

// valuesOf lists what stood in the slots of a group and beside its message: slots first, then facts with few values, then ranges.
func valuesOf(g pattern.Group) []Values {
	var out []Values
	add := func(name string, s pattern.Slot) {
		v := Values{Slot: name}
		switch {
		case len(out) == maxValues, len(s.Top) == 1 && isBareMask(s.Top[0].Text): // the template says so
			return
		case len(s.Top) > 0:
			for _, t := range s.Top {
				v.Top = append(v.Top, t.Text+" x"+strconv.Itoa(t.Count))
			}
		case s.Min != "" && s.Max != "":
			v.Top = []string{s.Min + ".." + s.Max}
		default:
			return
		}
		out = append(out, v)
	}
	for i, s := range g.Slots {
		if s.Name == "" {
			s.Name = strconv.Itoa(i + 1)
		}
		add(s.Name, s)
	}
	facts := slices.Clone(g.Fields)
	slices.SortStableFunc(facts, func(a, b pattern.Slot) int { return cmp.Compare(weightOf(a), weightOf(b)) })
	for _, s := range facts {
		add(s.Name, s)
	}
	return out
}

// isBareMask tells a mask without a tag: every value looks so.
func isBareMask(s string) bool {
	start, end := redact.FindTag(s)
	return start == 0 && end == len(s) && !isTag(s)
}

// weightOf orders facts: those that tell events apart by few values, constants, ranges.
func weightOf(s pattern.Slot) int {
	switch {
	case s.Distinct > 1 && len(s.Top) > 0:
		return 0
	case len(s.Top) > 0:
		return 1
	}
	return 2
}
