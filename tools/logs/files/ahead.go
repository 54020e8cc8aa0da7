package files

import (
	"fmt"
	"strings"
	"time"
)

// A time that names no zone is read in the configured one. When that is the wrong one, every answer about the log is wrong without looking so: hours are searched that the
// log has not reached or has passed long ago. It shows when the newest events lie in the future.
const (
	// ahead is how far clocks of a writer and of this machine may differ.
	ahead = int64(5 * time.Minute)
	// least is how far two zones differ at least, less what a writer may be slow.
	least = int64(12 * time.Minute)
	// farthest is the widest difference of two zones, UTC-12 and UTC+14: what lies further ahead is no matter of zones.
	farthest = int64(26 * time.Hour)
	// several is how many events it takes: a single line is easily forged or mistaken.
	several = 3
)

// newest holds the last times without a zone in a file, in the order of its lines.
type newest struct {
	times [32]int64
	n     int
}

func (w *newest) add(t int64) {
	w.times[w.n%len(w.times)] = t
	w.n++
}

// ahead tells how far the newest events lie beyond now when they do so as a wrong zone makes them: from one line on, most lie ahead, and none by more than zones differ.
// 0: they do not. Lines that somebody slips into a log of the right zone stand among lines that are not ahead, since the program goes on writing.
func (w *newest) ahead(now int64) int64 {
	var lead int64
	over, back, all := 0, 0, true
	for i := max(w.n-len(w.times), 0); i < w.n; i++ {
		switch d := w.times[i%len(w.times)] - now; {
		case d > ahead && d <= farthest:
			over++
			lead = max(lead, d)
		case over > 0:
			back++
			all = false
		default:
			all = false
		}
	}
	if over > back && (over >= several || all) {
		return lead
	}
	return 0
}

// ahead tells how far the newest events lie in the future by the zone. Events that lie ahead of now and of the file's last write by less than zones differ come from a
// clock that is fast.
func (f *file) ahead(now int64) int64 {
	d := f.newest.ahead(now)
	if d > 0 && now+d-min(now, f.info.ModTime().UnixNano()) < least {
		return 0
	}
	return d
}

// agrees tells whether the last time in the file is that of its last write, as the right zone makes it.
func (f *file) agrees() bool {
	if f.newest.n == 0 {
		return false
	}
	d := f.info.ModTime().UnixNano() - f.newest.times[(f.newest.n-1)%len(f.newest.times)]
	return d >= -ahead && d <= mostQuiet
}

// lead is how far the newest events of any file lie ahead, and whether another file shows that the zone is right.
func lead(files []*file, now int64) (most int64, sane bool, which *file) {
	for _, f := range files {
		if d := f.ahead(now); d > 0 {
			if d > most {
				most, which = d, f
			}
		} else if f.agrees() {
			sane = true
		}
	}
	return most, sane, which
}

// zoneError tells the operator what the zone should be.
func (s *Source) zoneError(f *file, d int64) error {
	return fmt.Errorf("%w: %s: its newest events lie %s in the future; is the timezone right (%s)? Write the zone of the times in the file, as in Asia/Shanghai or \"+08:00\"",
		errZone, f.name, strings.TrimSuffix(time.Duration(d).Round(time.Minute).String(), "0s"), s.loc)
}
