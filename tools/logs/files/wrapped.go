package files

import (
	"bytes"
	"strconv"

	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/line"
)

// unwrap gives the line inside a CRI or docker line, unescaped.
func unwrap(l []byte) ([]byte, bool) {
	inner, ok := line.Unwrap(l)
	if !ok {
		return nil, false
	}
	if l[0] == '{' && bytes.IndexByte(inner, '\\') >= 0 {
		if s, err := strconv.Unquote(`"` + string(bytes.ReplaceAll(inner, []byte(`\/`), []byte(`/`))) + `"`); err == nil {
			inner = []byte(s)
		}
	}
	return bytes.TrimRight(inner, "\r\n"), true
}

// continuation tells a line that cannot begin an event by itself.
func continuation(inner []byte) bool {
	return len(inner) == 0 || inner[0] == ' ' || inner[0] == '\t' || bytes.HasPrefix(inner, []byte("Caused by: ")) || bytes.HasPrefix(inner, []byte("... "))
}

// wrappedEvents splits the lines of a container's log: what stands inside decides which lines belong together. An event is its first line as it stands and the inner
// parts of the others.
func (s *scanner) wrappedEvents(b []byte) (int, error) {
	s.scratch = s.scratch[:0]
	var first []byte
	partial, lines := false, 0
	flush := func() error {
		if len(s.scratch) == 0 {
			return nil
		}
		err := s.emitWrapped(s.scratch, first)
		s.scratch, lines = s.scratch[:0], 0
		return err
	}
	for pos := 0; pos < len(b); {
		stop := index(b, pos, '\n')
		l := b[pos:stop]
		pos = stop + 1
		if len(bytes.TrimSpace(l)) == 0 {
			continue
		}
		inner, ok := unwrap(l)
		if !ok {
			inner = l
		}
		joins := lines > 0 && lines < maxLines && len(s.scratch) < maxEvent
		switch {
		case joins && partial:
			s.scratch = append(s.scratch, inner...)
		case joins && s.innerContinues(inner, first):
			s.scratch = append(append(s.scratch, '\n'), inner...)
			lines++
		default:
			if err := flush(); err != nil {
				return 0, err
			}
			s.scratch = append(s.scratch, l...)
			first, lines, s.primed = l, 1, false
		}
		partial = ok && l[0] != '{' && line.Partial(l)
	}
	return len(b), flush()
}

func (s *scanner) innerContinues(inner, first []byte) bool {
	if len(inner) > 0 && inner[0] == '{' {
		return false
	}
	if !s.primed {
		s.joiner.Reset()
		if f, ok := unwrap(first); ok {
			first = f
		}
		s.joiner.Continues(first)
		s.primed = true
	}
	return s.joiner.Continues(inner)
}

// emitWrapped hands over an event of a container's log; its time is the one of the wrapper.
func (s *scanner) emitWrapped(text, first []byte) error {
	t, ok := s.clock.Time(first)
	if ok {
		s.seen(t)
		s.last = t
	} else {
		t = s.last
	}
	if t < s.from || t >= s.to {
		return nil
	}
	cut := false
	if len(text) > maxEvent {
		text, cut = shorten(text), true
	}
	return s.lane.Emit(logs.Event{Time: t, Text: text, Cut: cut})
}
