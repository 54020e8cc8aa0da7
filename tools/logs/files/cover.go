package files

import (
	"time"

	"github.com/seed-069badc9/mcp-gateway/tools/logs"
)

// How far silence at an end of the files still counts as covered: ten times the usual distance of events, within these bounds. A file that ends earlier has stopped,
// and what came then is not known.
const (
	leastQuiet = int64(2 * time.Second)
	mostQuiet  = int64(15 * time.Minute)
	// alive is how much longer a file that is being written may be silent and still cover the time up to now: the distances between events vary widely.
	alive = 10
	// touched is how far the last write may lie behind the last event: later, the file was copied or touched, and its time says nothing.
	touched = int64(5 * time.Minute)
)

// cover tells which part of the range the files cover. Between its first and its last event a set of files is taken to be whole.
func cover(files []*file, from, to int64, now time.Time) logs.Report {
	var rep logs.Report
	var oldest, newest *file
	for _, f := range files {
		if oldest == nil || f.first < oldest.first {
			oldest = f
		}
		if f.high > 0 { // a packed file shows its end only when it was read
			f.last = f.high
		}
		if newest == nil || f.last > newest.last {
			newest = f
		}
	}
	if oldest == nil {
		return rep
	}
	rep.HeldFrom, rep.HeldTo = time.Unix(0, oldest.first).UTC(), time.Unix(0, newest.last).UTC()
	lo := oldest.first
	if quiet(oldest.gap) >= lo-from {
		lo = min(lo, from)
	}
	q := quiet(newest.gap)
	hi := newest.last
	if written := newest.info.ModTime().UnixNano(); written-hi <= touched && now.UnixNano()-hi <= max(q*alive, mostQuiet) {
		hi = max(hi, now.UnixNano(), to) // being written: silence up to now is silence
	} else if q >= to-hi {
		hi = max(hi, to)
	}
	hi += int64(time.Millisecond) // the last event itself is covered; the end is exclusive
	if lo < to && hi > from {
		rep.CoveredFrom, rep.CoveredTo = time.Unix(0, max(lo, from)).UTC(), time.Unix(0, min(hi, to)).UTC()
	}
	return rep
}

func quiet(gap int64) int64 { return min(max(gap*10, leastQuiet), mostQuiet) }
