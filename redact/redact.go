// Package redact hides secrets, infrastructure, personal data and SQL literals in text before a model or a search index sees it.
//
// It promises: one pass in time linear in the input; a value under a key that names a secret never survives, and what cannot be classified there counts as secret;
// the number of line ends never changes; text without a finding comes back byte for byte; redacting redacted text changes nothing. Disguises (zero-width and
// full-width characters, look-alike letters, ANSI, JSON, URL and HTML escapes, base64 of key=value) are decoded for matching, the output keeps the original bytes.
// Ports, statuses, error codes, durations, counts, versions, trace ids, stack frames and paths survive.
package redact

import (
	"fmt"
	"regexp"
	"sync"
	"sync/atomic"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// Classes selects what is hidden.
type Classes struct {
	Secrets        bool // passwords, tokens, keys, cookies, PEM, userinfo of URLs and DSNs
	Infrastructure bool // addresses, hosts, pods, process ids, MAC
	Persons        bool // e-mail, phone, card, id numbers, IBAN
	SQL            bool // literals of SQL statements and of database error details
}

// All hides every class.
var All = Classes{Secrets: true, Infrastructure: true, Persons: true, SQL: true}

// Options shape a Redactor.
type Options struct {
	Classes          Classes
	Keep             []string // RE2: a finding inside a match stays
	Hide             []string // RE2: every match becomes <secret>, whatever the classes
	KeepPlaceholders bool     // documents: password=<password>, ${X}, *** and {…} stay, and so do documentation addresses
	MaskTraceIDs     bool     // trace, span, request ids and UUIDs are masked; by default they stay, as correlation
}

// Redactor holds compiled options. It is safe for concurrent use and never changes.
type Redactor struct {
	o          Options
	keep, hide []*regexp.Regexp
	on         [kindCount]bool
	ascii      *automaton
	wide       *automaton
	plain      *automaton // ascii without the triggers that decode: text that was decoded is not decoded again
	pool       *sync.Pool
}

// New compiles o. The error is INVALID_REQUEST and names the regular expression that does not compile by its list and position.
func New(o Options) (*Redactor, error) {
	r := &Redactor{o: o, ascii: asciiMachine(), wide: wideMachine(), plain: plainMachine()}
	for _, l := range []struct {
		name string
		in   []string
		out  *[]*regexp.Regexp
	}{{"keep", o.Keep, &r.keep}, {"hide", o.Hide, &r.hide}} {
		for i, s := range l.in {
			re, err := regexp.Compile(s)
			if err != nil {
				return nil, fault.New(fault.InvalidRequest, "redact.New", err).WithHint(fmt.Sprintf("redaction.%s[%d]: %s", l.name, i, err.Error()))
			}
			*l.out = append(*l.out, re)
		}
	}
	c := o.Classes
	for k := range r.on {
		switch kind(k) {
		case kindSecret:
			r.on[k] = c.Secrets
		case kindSQL:
			r.on[k] = c.SQL
		case kindPID, kindPod, kindHost, kindMAC, kindIP:
			r.on[k] = c.Infrastructure
		case kindPhone, kindEmail, kindID, kindCard:
			r.on[k] = c.Persons
		case kindTrace:
			r.on[k] = o.MaskTraceIDs
		}
	}
	r.pool = &sync.Pool{New: func() any { return &scanner{r: r} }}
	return r, nil
}

// Text redacts one whole event, which may have several lines. The result has as many line ends as s.
func (r *Redactor) Text(s string, t *Tagger) string {
	w := r.pool.Get().(*scanner)
	defer r.put(w)
	w.in = append(w.in[:0], s...)
	if !w.find(w.in) {
		return s
	}
	w.settled(w.in, t, nil, w.find)
	return string(w.res)
}

// Append redacts one whole event and appends the result to dst. Without a finding it appends s itself and allocates nothing beyond dst.
func (r *Redactor) Append(dst, s []byte, t *Tagger) []byte { return r.AppendStats(dst, s, t, nil) }

// AppendStats is Append that also counts what was masked; st may be nil.
func (r *Redactor) AppendStats(dst, s []byte, t *Tagger, st *Stats) []byte {
	w := r.pool.Get().(*scanner)
	defer r.put(w)
	if !w.find(s) {
		return append(dst, s...)
	}
	if !w.busy {
		return w.render(dst, s, t, st)
	}
	w.settled(s, t, st, w.find)
	return append(dst, w.res...)
}

// Field redacts the value of a structured field: by the name of its key first (dotted, nested, camel case, English or Chinese), then as text.
func (r *Redactor) Field(key, value string, t *Tagger) string {
	w := r.pool.Get().(*scanner)
	defer r.put(w)
	w.in = append(w.in[:0], value...)
	if !w.findField(key, w.in) {
		return value
	}
	w.settled(w.in, t, nil, func(s []byte) bool { return w.findField(key, s) })
	return string(w.res)
}

// maxKept bounds the scratch memory that stays in the pool: a rare huge event must not pin its size for the life of the process.
const maxKept = 1 << 20

func (r *Redactor) put(w *scanner) {
	if cap(w.in) > maxKept || cap(w.res) > maxKept || cap(w.alt) > maxKept || cap(w.v1.b) > maxKept || cap(w.v2.b) > maxKept || cap(w.found) > maxKept/16 || cap(w.spans) > maxKept/16 {
		return
	}
	w.b = nil
	r.pool.Put(w)
}

// Stats counts masks by kind. It is safe for concurrent use.
type Stats struct {
	n [kindCount]atomic.Int64
}

// Count is the number of masks of one kind ("secret", "ip", "host", …) so far.
func (s *Stats) Count(name string) int64 {
	for k, n := range kindNames {
		if n == name && n != "" {
			return s.n[k].Load()
		}
	}
	return 0
}

// Counts lists the kinds that were met.
func (s *Stats) Counts() map[string]int64 {
	out := map[string]int64{}
	for k := range s.n {
		if n := s.n[k].Load(); n > 0 {
			out[kindNames[k]] = n
		}
	}
	return out
}
