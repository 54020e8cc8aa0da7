package files

import (
	"bytes"

	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/line"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/stack"
)

// stream is one of the two outputs of a container with the event under way in it. Lines of the other one may stand between its lines.
type stream struct {
	text    []byte // the event: its first line as it stands, then the inner parts of the others
	time    int64
	lines   int
	joiner  stack.Joiner
	primed  bool
	first   []byte // the inner part of the first line
	partial bool   // the last line goes on in the next one
}

// unwrap gives the line inside a CRI or docker line, unescaped into buf.
func unwrap(l, buf []byte) (line.Wrapped, bool) {
	w, ok := line.Unwrap(l)
	if !ok {
		return w, false
	}
	if w.Escaped {
		w.Inner = line.Unescape(buf[:0], w.Inner)
	}
	w.Inner = bytes.TrimRight(w.Inner, "\r\n")
	return w, true
}

// continuation tells a line that cannot begin an event by itself.
func continuation(inner []byte) bool {
	return len(inner) == 0 || inner[0] == ' ' || inner[0] == '\t' || bytes.HasPrefix(inner, []byte("Caused by: ")) || bytes.HasPrefix(inner, []byte("... "))
}

// longRun is how much of a container's log can stand between two line ends when none of its lines is a part of a longer one.
const longRun = 8 << 10

// hasLong tells whether b holds a line so long that it may be a part of one: what is looked for may be divided between it and the next.
func hasLong(b []byte) bool {
	for len(b) > longRun {
		i := bytes.IndexByte(b[:longRun], '\n')
		if i < 0 {
			return true
		}
		if j := bytes.LastIndexByte(b[:longRun], '\n'); j > i {
			i = j
		}
		b = b[i+1:]
	}
	return false
}

// edgeBytes is how much is read of both ends of a block that holds nothing looked for: an event may reach over its ends.
const edgeBytes = 64 << 10

// wrapped handles the lines of b: what stands inside decides which lines belong together. What is open at the end stays open.
func (s *scanner) wrapped(b []byte, final bool) error {
	if s.find != nil {
		for _, l := range [][]byte{b[:index(b, 0, '\n')], lastLine(b)} {
			if t, ok := s.clock.Time(l); ok {
				s.seen(t)
			}
		}
		if s.find.load(b); s.find.find(0) < 0 && !hasLong(b) {
			return s.wrappedEdges(b, final)
		}
	}
	if err := s.feedAll(b); err != nil || !final {
		return err
	}
	return s.flushAll()
}

// wrappedEdges handles a block that holds nothing looked for.
func (s *scanner) wrappedEdges(b []byte, final bool) error {
	head := min(edgeBytes, len(b))
	if i := bytes.IndexByte(b[head:], '\n'); i >= 0 {
		head += i + 1
	} else {
		head = len(b)
	}
	if s.streams[0].lines+s.streams[1].lines > 0 {
		if err := s.feedAll(b[:head]); err != nil {
			return err
		}
		if err := s.flushAll(); err != nil {
			return err
		}
	}
	if final || head == len(b) {
		return s.flushAll()
	}
	if at := s.eventAt(b, max(len(b)-edgeBytes, head)); at >= 0 {
		return s.feedAll(b[at:])
	}
	return nil
}

func lastLine(b []byte) []byte {
	b = bytes.TrimRight(b, "\n")
	return b[bytes.LastIndexByte(b, '\n')+1:]
}

func (s *scanner) feedAll(b []byte) error {
	for pos := 0; pos < len(b); {
		stop := index(b, pos, '\n')
		if err := s.feed(b[pos:stop]); err != nil {
			return err
		}
		pos = stop + 1
	}
	return nil
}

// feed takes one line. A line that has no wrapper belongs to what was written last.
func (s *scanner) feed(l []byte) error {
	if len(bytes.TrimSpace(l)) == 0 {
		return nil
	}
	w, ok := unwrap(l, s.scratch)
	if w.Escaped {
		s.scratch = w.Inner[:0:cap(w.Inner)]
	}
	inner := w.Inner
	if !ok {
		inner = l
	} else if w.Stderr {
		s.current = 1
	} else {
		s.current = 0
	}
	st := &s.streams[s.current]
	joins := st.lines > 0 && st.lines < maxLines && len(st.text) < maxEvent
	switch {
	case joins && st.partial:
		st.text = append(st.text, inner...)
	case joins && st.continues(inner):
		st.text = append(append(st.text, '\n'), inner...)
		st.lines++
	default:
		if err := s.flush(st); err != nil {
			return err
		}
		t, timed := s.clock.Time(l)
		if timed {
			s.note(t)
		}
		st.time = s.last
		st.lines, st.primed = 1, false
		st.first = append(st.first[:0], inner...)
		if ok && w.Partial && l[0] == '{' { // what follows is no part of the JSON text: the line is written as CRI would
			name := " stdout F "
			if w.Stderr {
				name = " stderr F "
			}
			st.text = append(append(append(st.text[:0], w.Time...), name...), inner...)
		} else {
			st.text = append(st.text[:0], l...)
		}
	}
	st.partial = ok && w.Partial
	return nil
}

// continues tells whether a line belongs to the event under way.
func (st *stream) continues(inner []byte) bool {
	if len(inner) > 1 && inner[0] == '{' {
		return false
	}
	if !st.primed {
		st.joiner.Reset()
		st.joiner.Continues(st.first)
		st.primed = true
	}
	return st.joiner.Continues(inner)
}

func (s *scanner) flushAll() error {
	for i := range s.streams {
		if err := s.flush(&s.streams[i]); err != nil {
			return err
		}
	}
	return nil
}

// flush hands the event under way over; its time is the one of the first wrapper.
func (s *scanner) flush(st *stream) error {
	if st.lines == 0 {
		return nil
	}
	st.lines, st.partial = 0, false
	if st.time < s.from || st.time >= s.to {
		return nil
	}
	return s.lane.Emit(logs.Event{Time: st.time, Text: st.text})
}
