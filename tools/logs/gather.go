package logs

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/charset"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/line"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/pattern"
)

// gather takes what the sources of one call find, in a fixed order, and keeps it whole while it is small and as a tally when it is not.
type gather struct {
	req     Request
	max     int64 // bytes of matching events
	keep    int
	matched int64
	total   int64
	kept    int
	hits    []hit // until they are too many
	tally   *tally
}

var errMatched = errors.New("matching bytes over max_matched")

func tooMuch(req Request) string {
	parts := []string{"narrow from and to"}
	if req.Level == "" {
		parts = append(parts, "give a level")
	}
	if req.Query == "" {
		parts = append(parts, "give a query")
	} else {
		parts = append(parts, "add a term")
	}
	if len(req.Topics) > 1 {
		parts = append(parts, "ask for fewer topics")
	}
	return strings.Join(parts, ", or ")
}

func (g *gather) add(h *hit) error {
	g.total++
	if g.matched += int64(h.size()); g.matched > g.max {
		return fault.New(fault.RawTooLarge, "logs.Execute", errMatched).WithHint("too much matches: " + tooMuch(g.req))
	}
	if g.tally != nil {
		g.tally.add(h)
		return nil
	}
	if g.kept += h.size() + 64; g.kept <= g.keep {
		g.hits = append(g.hits, *h)
		return nil
	}
	g.tally = newTally(g.req)
	for i := range g.hits {
		g.tally.add(&g.hits[i])
	}
	g.hits = nil
	g.tally.add(h)
	return nil
}

// batch is a run of hits whose texts lie in one buffer.
type batch struct {
	hits  []hit
	text  []byte
	facts []pattern.Field
}

// A lane holds laneDepth batches of about batchBytes: enough for a scanning goroutine to run ahead, at most 2 MiB a lane.
const (
	laneDepth  = 4
	batchBytes = 256 << 10
	batchHits  = 512
)

// sink reads lanes in order.
type sink struct {
	ctx   context.Context
	topic int
	req   Request
	match *matcher
	fresh func() *reader
	mu    sync.Mutex
	lanes []*lane
	more  chan struct{} // a lane was opened or the search has ended
	ended bool
	found atomic.Bool
	noLvl atomic.Int64
	cut   atomic.Bool // an event that was not whole did not match
	pool  sync.Pool
}

func newSink(ctx context.Context, topic int, req Request, m *matcher, fresh func() *reader) *sink {
	return &sink{ctx: ctx, topic: topic, req: req, match: m, fresh: fresh, more: make(chan struct{}, 1)}
}

// Lane opens the next lane.
func (s *sink) Lane() Lane {
	l := &lane{s: s, r: s.fresh(), out: make(chan *batch, laneDepth), from: s.req.From.UnixNano(), to: s.req.To.UnixNano()}
	s.mu.Lock()
	s.lanes = append(s.lanes, l)
	s.mu.Unlock()
	s.signal()
	return l
}

func (s *sink) Found() bool { return s.found.Load() }

func (s *sink) signal() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// end tells the reading side that no lane will follow.
func (s *sink) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.signal()
}

// next is the i-th lane, once it is open; nil when there is none.
func (s *sink) next(i int) *lane {
	for {
		s.mu.Lock()
		if i < len(s.lanes) {
			l := s.lanes[i]
			s.mu.Unlock()
			return l
		}
		ended := s.ended
		s.mu.Unlock()
		if ended {
			return nil
		}
		<-s.more
	}
}

// drain reads all lanes into g until the search has ended. After an error it goes on reading, so that nobody stays blocked, and cancel has been called.
func (s *sink) drain(g *gather, cancel context.CancelFunc) error {
	var failed error
	for i := 0; ; i++ {
		l := s.next(i)
		if l == nil {
			return failed
		}
		for b := range l.out {
			for k := range b.hits {
				if failed != nil {
					break
				}
				if err := g.add(&b.hits[k]); err != nil {
					failed = err
					cancel()
				}
			}
			if g.tally != nil { // nothing refers to the batch any more
				s.pool.Put(b)
			}
		}
	}
}

type lane struct {
	s        *sink
	r        *reader
	out      chan *batch
	b        *batch
	utf8     []byte // an event that was written in another encoding than the rest
	from, to int64
	closed   bool // guarded by the sink's mutex
}

// Emit matches an event on its redacted text and passes it on.
func (l *lane) Emit(e Event) error {
	if e.Time < l.from || e.Time >= l.to {
		return nil
	}
	m := l.s.match
	if m.level != line.None {
		if v, ok := line.QuickLevel(e.Text); ok && v < m.level {
			return nil
		}
	}
	if charset.Foreign(e.Text) {
		l.utf8 = charset.Append(l.utf8[:0], e.Text, charset.UTF8)
		e.Text = l.utf8
	}
	if len(e.Labels) == 0 && !e.Cut && m.unlikely(e.Text) {
		return nil
	}
	l.r.load(e.Text, e.Labels)
	level := l.r.level()
	switch {
	case level < m.level && (level != line.None || !e.Cut):
		// Counted only when the terms are met: whether a raw prefilter let an event pass must not be told.
		if level == line.None && m.holds(l.r) {
			l.s.noLvl.Add(1)
		}
		return nil
	case level < m.level, !m.holds(l.r):
		if e.Cut { // what is missing of it might have matched
			l.s.cut.Store(true)
		}
		return nil
	}
	l.s.found.Store(true)
	return l.keep(e)
}

// keep appends the event that the reader holds to the batch under way.
func (l *lane) keep(e Event) error {
	if l.b == nil {
		if b, ok := l.s.pool.Get().(*batch); ok {
			b.hits, b.text, b.facts = b.hits[:0], b.text[:0], b.facts[:0]
			l.b = b
		} else {
			l.b = &batch{}
		}
	}
	b := l.b
	message, class := l.r.grouped()
	text, cut := shorten(e.Text)
	start := len(b.text)
	b.text = append(b.text, text...) // earlier hits keep their part of the old buffer when this one grows
	from := len(b.facts)
	b.facts = append(b.facts, l.r.facts()...)
	h := hit{facts: b.facts[from:len(b.facts):len(b.facts)], topic: l.s.topic, time: e.Time, level: l.r.level(), message: message, class: class, text: b.text[start:len(b.text):len(b.text)], cut: e.Cut || cut}
	if len(e.Labels) > 0 {
		h.labels = append([]Label(nil), e.Labels...)
	}
	b.hits = append(b.hits, h)
	if len(b.hits) >= batchHits || len(b.text) >= batchBytes {
		return l.flush()
	}
	return nil
}

// maxKeep bounds what is kept of one event: it was matched and grouped whole, and an observation shows far less of it.
const maxKeep = 256 << 10

// shorten cuts a text that is too long behind a blank, so that no value is cut in two.
func shorten(b []byte) ([]byte, bool) {
	if len(b) <= maxKeep {
		return b, false
	}
	b = b[:maxKeep]
	if i := bytes.LastIndexAny(b, " \t\n,;"); i > maxKeep/2 {
		b = b[:i]
	}
	return b, true
}

func (l *lane) flush() error {
	if l.b == nil {
		return nil
	}
	select {
	case l.out <- l.b:
		l.b = nil
		return nil
	case <-l.s.ctx.Done():
		return l.s.ctx.Err()
	}
}

// Close ends the lane.
func (l *lane) Close() {
	_ = l.flush() // a search that was cancelled has its error already
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if !l.closed {
		l.closed = true
		close(l.out)
	}
}
