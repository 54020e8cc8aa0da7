package files

import (
	"bytes"
	"io"
	"time"

	"github.com/seed-069badc9/mcp-gateway/tools/logs/line"
)

const (
	// slack is how far times may run backwards in a file that still counts as ordered: writers with several threads and buffers are off by seconds.
	slack = int64(time.Minute)
	// bisectFrom is the size from which bisecting pays: below it a scan takes a few milliseconds.
	bisectFrom = 1 << 20
	// bisectTo is where bisecting ends: the rest is read anyway.
	bisectTo = 256 << 10
)

// window finds the part of an ordered file that holds [from, to). ok is false when the probes contradict the order: then the whole file is to be scanned.
func (f *file) window(from, to int64, clock *line.Clock) (start, end int64, ok bool) {
	start, ok = f.edge(from-slack, clock, true)
	if !ok {
		return 0, f.size, false
	}
	end, ok = f.edge(to+slack, clock, false)
	if !ok || end < start {
		return 0, f.size, false
	}
	return start, end, true
}

// places is how many places of a file are looked at before it is taken to be in order: each costs a read of 16 KiB.
const places = 48

// steady looks at places all over a file: one that was put together of several goes back in time between two of them, which its ends do not show.
func (f *file) steady(clock *line.Clock) bool {
	prev := f.first
	for i := range int64(places - 1) {
		_, t, ok := f.timeAt(f.size/places*(i+1), clock)
		if !ok || t < prev-slack || t > f.last+slack {
			return false
		}
		prev = max(prev, t)
	}
	return true
}

// edge bisects for the place where times reach target: the offset of a line before it (low) or behind it.
func (f *file) edge(target int64, clock *line.Clock, low bool) (int64, bool) {
	lo, hi := int64(0), f.size
	tlo, thi := f.first, f.last
	if low && target <= f.first {
		return 0, true
	}
	if !low && target > f.last {
		return f.size, true
	}
	hiLine := f.size
	for hi-lo > bisectTo {
		mid := lo + (hi-lo)/2
		at, t, ok := f.timeAt(mid, clock)
		if !ok {
			return 0, false
		}
		if t < tlo-slack || t > thi+slack {
			return 0, false
		}
		if t < target {
			lo, tlo = max(at, lo+1), t
		} else {
			hi, hiLine, thi = mid, at, t
		}
	}
	if low {
		return lo, true
	}
	return max(hiLine, hi), true
}

// timeAt finds the first line that carries a time behind an offset.
func (f *file) timeAt(off int64, clock *line.Clock) (at, t int64, ok bool) {
	for size := int64(16 << 10); size <= 1<<20; size *= 8 {
		b := make([]byte, min(size, f.size-off))
		n, err := f.h.ReadAt(b, off)
		if err != nil && err != io.EOF {
			return 0, 0, false
		}
		b = b[:n]
		pos := bytes.IndexByte(b, '\n') + 1
		for pos > 0 && pos < len(b) {
			i := bytes.IndexByte(b[pos:], '\n')
			if i < 0 {
				break
			}
			if t, ok := clock.Time(b[pos : pos+i]); ok {
				return off + int64(pos), t, true
			}
			pos += i + 1
		}
		if off+size >= f.size {
			return f.size, f.last, true // nothing carries a time from here on
		}
	}
	return 0, 0, false
}
