package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/charset"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/line"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/stack"
)

const (
	// bufBytes is one read: it stays in the processor's second cache while it is searched.
	bufBytes = 1 << 20
	// maxEvent is how long an event of several lines grows; a single line may be as long as the buffer, what is longer is cut and says so.
	maxEvent = 512 << 10
	// maxLines bounds the lines that are joined: a trace of a deep recursion has about 1000, a dump of all threads of a large process some ten thousand.
	maxLines = 20000
)

// scanner reads one segment and hands its events to the lane.
type scanner struct {
	ctx   context.Context
	w     *search
	seg   segment
	lane  logs.Lane
	buf   []byte
	clock *line.Clock
	find  *finder

	joiner    stack.Joiner
	primed    bool
	last      int64 // time of the event before: lines without one inherit it
	high      int64
	unordered bool
	scratch   []byte
	decoded   []byte    // the block under way, or the event, as UTF-8
	streams   [2]stream // of a container's log: stdout, stderr
	current   int       // the one that was written last
	from, to  int64
}

func newScanner(ctx context.Context, w *search, seg segment, lane logs.Lane, buf []byte) *scanner {
	s := &scanner{ctx: ctx, w: w, seg: seg, lane: lane, buf: buf, from: w.q.From.UnixNano(), to: w.q.To.UnixNano()}
	s.clock = seg.f.clock(w.src.loc)
	s.last = seg.f.first
	if seg.from > 0 && seg.f.timed {
		if _, t, ok := seg.f.timeAt(s.base(), s.clock); ok {
			s.last = t
		}
	}
	if len(w.q.Need) > 0 && seg.f.shape != loose {
		need := w.q.Need
		if !s.decodes() {
			need = alsoChinese(need)
		}
		s.find = newFinder(need)
	}
	return s
}

// decodes tells whether blocks are decoded before anything else reads them. In all other files package logs decodes the few lines that need it.
func (s *scanner) decodes() bool { return s.seg.f.pack != wide && s.seg.f.coding != charset.UTF8 }

// text gives a block of whole lines as UTF-8.
func (s *scanner) text(b []byte) []byte {
	if !s.decodes() {
		return b
	}
	s.decoded = charset.Append(s.decoded[:0], b, s.seg.f.coding)
	return s.decoded
}

// same is the offset in raw of the line that begins at used in its decoded text.
func same(raw, text []byte, used int) int {
	if used == len(text) {
		return len(raw)
	}
	at := 0
	for range bytes.Count(text[:used], []byte{'\n'}) {
		at = index(raw, at, '\n') + 1
	}
	return at
}

// run reads the segment block by block. A segment in the middle of a file begins with its first whole event and ends with the event that reaches over its end.
func (s *scanner) run() error {
	r, done, err := s.open()
	if err != nil {
		s.w.failed.Store(true)
		return nil
	}
	defer done()
	b := s.buf[:0]
	var (
		read  int64 // bytes of the segment read
		size  = s.seg.to - s.base()
		plain = s.seg.f.pack == none
		skip  = s.seg.from > 0 // until the first event begins
		eof   bool
	)
	for !eof {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		n, err := r.Read(b[len(b):cap(b)])
		read += int64(n)
		b = b[:len(b)+n]
		if cerr := s.w.claim(n); cerr != nil {
			return cerr
		}
		switch {
		case errors.Is(err, io.EOF):
			eof = true
			if plain && s.base()+read < s.seg.f.size && read < size {
				s.w.failed.Store(true) // it became shorter while it was read
			}
		case err != nil:
			s.w.failed.Store(true)
			eof = true
		}
		if len(b) < cap(b) && !eof {
			continue
		}
		if skip {
			at := s.firstEvent(b)
			if at < 0 {
				b = b[:0]
				continue
			}
			// An event that begins behind the end belongs to the next segment.
			if s.base()+read-int64(len(b)-at) >= s.seg.to {
				return nil
			}
			b, skip = s.shift(b, at), false
			if len(b) < cap(b) && !eof {
				continue
			}
		}
		over := plain && read > size
		if over { // the last event that begins within the segment ends at the first one that begins behind it
			inside := len(b) - int(read-size)
			if inside <= 0 {
				inside = 1
			}
			if end := s.eventAt(b, inside); end >= 0 {
				_, err := s.block(b[:end], true)
				return err
			}
		}
		used, err := s.block(b, eof)
		if err != nil {
			return err
		}
		if used == 0 && !eof { // one event fills the buffer
			if err := s.oversize(b); err != nil {
				return err
			}
			skip = true
			b = b[:0]
			continue
		}
		b = s.shift(b, used)
	}
	return nil
}

// open positions the reader. A plain file is read to its end, so that the last event of the segment is whole; run stops there.
func (s *scanner) open() (io.Reader, func(), error) {
	if s.seg.f.pack != none {
		return s.seg.f.open()
	}
	return s.seg.f.section(s.base(), s.seg.f.size), func() {}, nil
}

func (s *scanner) shift(b []byte, n int) []byte {
	return b[:copy(b, b[n:])]
}

// base is where reading begins: one byte before the segment, so that a line that begins with the segment is seen to begin there.
func (s *scanner) base() int64 { return max(s.seg.from-1, 0) }

// firstEvent is the offset of the first line that begins an event, in a block that begins somewhere within a line.
func (s *scanner) firstEvent(b []byte) int {
	at := bytes.IndexByte(b, '\n') + 1
	if at == 0 {
		return -1
	}
	return s.eventAt(b, at)
}

// eventAt is the offset of the first line at or behind pos that surely begins an event, or -1. pos need not be the start of a line.
func (s *scanner) eventAt(b []byte, pos int) int {
	if pos > 0 && pos <= len(b) && b[pos-1] != '\n' {
		i := bytes.IndexByte(b[pos:], '\n')
		if i < 0 {
			return -1
		}
		pos += i + 1
	}
	for pos < len(b) {
		i := bytes.IndexByte(b[pos:], '\n')
		if i < 0 {
			i = len(b) - pos
		}
		if s.begins(b[pos : pos+i]) {
			return pos
		}
		pos += i + 1
	}
	return -1
}

// begins tells whether a line surely begins an event.
func (s *scanner) begins(l []byte) bool {
	if len(l) == 0 {
		return false
	}
	switch s.seg.f.shape {
	case objects:
		return l[0] == '{'
	case stamped:
		if l[0] == ' ' || l[0] == '\t' {
			return false
		}
		_, ok := s.clock.Time(l)
		return ok
	case wrapped:
		w, ok := unwrap(l, nil)
		return ok && !continuation(w.Inner)
	}
	return l[0] != ' ' && l[0] != '\t'
}

// lastEvent is the offset of the last line that surely begins an event, or 0.
func (s *scanner) lastEvent(b []byte) int {
	end := bytes.LastIndexByte(b, '\n') + 1 // the last line may be cut; what is left of it tells whether it begins an event, or it counts to the one before
	at := end
	for {
		stop := len(b)
		if i := bytes.IndexByte(b[at:], '\n'); i >= 0 {
			stop = at + i
		}
		if at < len(b) && s.begins(b[at:stop]) || at == 0 {
			return at
		}
		at = bytes.LastIndexByte(b[:at-1], '\n') + 1
	}
}

// block handles the events of b and tells how much of it is done with. What is left begins with the event whose end is not known yet.
func (s *scanner) block(b []byte, final bool) (int, error) {
	end := len(b)
	switch {
	case s.seg.f.shape == wrapped:
		if !final {
			end = bytes.LastIndexByte(b, '\n') + 1
		}
		return end, s.wrapped(s.text(b[:end]), final)
	case final:
	case s.seg.f.shape == loose:
		text := s.text(b)
		used, err := s.events(text, false)
		if s.decodes() {
			used = same(b, text, used)
		}
		return used, err
	default:
		if end = s.lastEvent(b); end == 0 {
			return 0, nil
		}
	}
	text := s.text(b[:end])
	if s.find == nil {
		_, err := s.events(text, true)
		return end, err
	}
	if at := s.lastEvent(text); final && at < len(text) { // how far the file reaches is known without its last event matching
		if t, ok := s.clock.Time(text[at:index(text, at, '\n')]); ok {
			s.seen(t)
		}
	}
	return end, s.candidates(text)
}

// candidates handles only those events of b that hold what the query needs. The time of the first line is looked at in any case: it shows whether the file is ordered.
func (s *scanner) candidates(b []byte) error {
	if i := bytes.IndexByte(b, '\n'); i > 0 {
		if t, ok := s.clock.Time(b[:i]); ok {
			s.seen(t)
		}
	}
	s.find.load(b)
	for pos := 0; pos < len(b); {
		hit := s.find.find(pos)
		if hit < 0 {
			return nil
		}
		start := bytes.LastIndexByte(b[:hit], '\n') + 1
		for start > pos {
			stop := index(b, start, '\n')
			if s.begins(b[start:stop]) {
				break
			}
			start = bytes.LastIndexByte(b[:start-1], '\n') + 1
		}
		start = max(start, pos)
		end := index(b, hit, '\n') + 1
		for end < len(b) {
			stop := index(b, end, '\n')
			if s.begins(b[end:stop]) {
				break
			}
			end = stop + 1
		}
		end = min(end, len(b))
		s.inherit(b, start)
		if _, err := s.events(b[start:end], true); err != nil {
			return err
		}
		pos = end
	}
	return nil
}

// inheritWithin is how far back the time of an event that carries none is looked for.
const inheritWithin = 64 << 10

// inherit notes the time of the event in front of start, when the one at start carries none.
func (s *scanner) inherit(b []byte, start int) {
	if _, ok := s.clock.Time(b[start:index(b, start, '\n')]); ok {
		return
	}
	for at := start; at > 0 && start-at < inheritWithin; {
		begin := bytes.LastIndexByte(b[:at-1], '\n') + 1
		if t, ok := s.clock.Time(b[begin : at-1]); ok {
			s.last = t
			return
		}
		at = begin
	}
}

// events splits b into events. complete tells that no line follows that could belong to the last of them.
func (s *scanner) events(b []byte, complete bool) (int, error) {
	start, first, end, lines := -1, 0, 0, 0
	for pos := 0; pos < len(b); {
		stop := index(b, pos, '\n')
		l := b[pos:stop]
		switch {
		case start < 0:
			if len(bytes.TrimSpace(l)) > 0 {
				start, first, end, lines = pos, stop, stop, 1
				s.primed = false
			}
		case lines < maxLines && stop-start < maxEvent && s.continues(l, b[start:first]):
			end = stop
			lines++
		default:
			if err := s.emit(b[start:end], b[start:first], false); err != nil {
				return 0, err
			}
			start, first, end, lines = pos, stop, stop, 1
			s.primed = false
			if len(bytes.TrimSpace(l)) == 0 {
				start = -1
			}
		}
		pos = stop + 1
	}
	if start < 0 {
		return len(b), nil
	}
	if !complete {
		return start, nil
	}
	return len(b), s.emit(b[start:end], b[start:first], false)
}

// continues tells whether a line belongs to the event whose first line is given.
func (s *scanner) continues(l, first []byte) bool {
	if s.seg.f.shape != loose && s.begins(l) {
		return false
	}
	if !s.primed {
		s.joiner.Reset()
		s.joiner.Continues(first)
		s.primed = true
	}
	if s.joiner.Continues(l) {
		return true
	}
	switch s.seg.f.shape {
	case stamped: // between two times everything is one event, but for a crash that another writer reports
		return !crash(l)
	case objects:
		return len(bytes.TrimSpace(l)) == 0
	}
	return false
}

// crash tells a line that begins the report of a failure, whatever stands above it.
func crash(l []byte) bool {
	for _, p := range [...]string{"panic: ", "fatal error: ", "Traceback (most recent", "Exception in thread ", "thread '", "Unhandled exception", "Uncaught ", "*** "} {
		if bytes.HasPrefix(l, []byte(p)) {
			return true
		}
	}
	return false
}

// seen notes a time and whether it contradicts the order.
func (s *scanner) seen(t int64) {
	if t < s.high-slack {
		s.unordered = true
	}
	s.high = max(s.high, t)
}

// nearby is how far events lie apart at most when the one in front tells the reading of a time that comes twice.
const nearby = int64(30 * time.Minute)

// which chooses between the two readings of a local time in the hour that comes twice: the one that goes on from the event in front; else the one in the range,
// since nothing must be said to be absent that may be there.
func (s *scanner) which(first, later int64) int64 {
	near := func(t int64) bool { return t >= s.last-slack && t <= s.last+nearby }
	switch {
	case near(first):
		return first
	case near(later):
		return later
	case first >= s.from && first < s.to:
		return first
	case later >= s.from && later < s.to:
		return later
	}
	return first
}

// note keeps the time of an event for the lines behind it that carry none. While a query leads from hit to hit the order is judged by fixed places alone: which
// further data a call reads must not depend on whether a hidden value was among the hits.
func (s *scanner) note(t int64) {
	if s.find == nil {
		s.seen(t)
	}
	s.last = t
}

// emit hands one event over when its time is in the range. cut tells that the text is not all of it.
func (s *scanner) emit(text, first []byte, cut bool) error {
	t, ok := s.clock.Time(first)
	if ok {
		if later := s.clock.Other(); later != 0 {
			t = s.which(t, later)
		}
		s.note(t)
	} else {
		t = s.last
	}
	if t < s.from || t >= s.to {
		return nil
	}
	return s.lane.Emit(logs.Event{Time: t, Text: bytes.Trim(text, "\x00\r\n"), Cut: cut})
}

// oversize handles an event that fills the whole buffer.
func (s *scanner) oversize(b []byte) error {
	b = s.text(b)
	return s.emit(b, b[:index(b, 0, '\n')], true)
}
