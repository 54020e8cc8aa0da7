package line

import (
	"bytes"
	"time"
)

// Clock turns the times written in lines into instants. It fills in what a line leaves out: the zone from the configuration, the year or the date from a
// reference, usually when the file was last written. It learns where the lines of one file carry their time. Not safe for concurrent use.
type Clock struct {
	loc    *time.Location
	utc    bool
	ref    time.Time
	hour   int64 // the local half hour whose offset is cached
	offset int64
	twice  int64  // how much later the half hour comes a second time, when clocks are set back; in seconds
	other  int64  // the second reading of the last time, or 0
	local  bool   // the last time names no zone
	prefix []byte // what stood before the time in the last JSON line
	skip   int    // where the last text line's time stood; -1: unknown
	place  int    // how many words stood in front of it
	within int    // how many may
}

// maxPrefix bounds what is compared before a time: what stands in front of a later one differs from line to line.
const maxPrefix = 64

// NewClock makes a Clock for lines without a zone (loc) and without a year or date (ref).
func NewClock(loc *time.Location, ref time.Time) *Clock {
	return &Clock{loc: loc, utc: loc == time.UTC, ref: ref.In(loc), hour: -1 << 62, skip: -1, within: maxPlace}
}

// maxPlace is how many words stand in front of the time in the longest common layouts.
const maxPlace = 7

// Place tells how many words stood in front of the time that Time gave last; 0 for a structured line.
func (c *Clock) Place() int { return c.place }

// Within lets Time read no times that have more words in front of them: "lease ended at 2026-01-01T10:00:00Z" tells of a time and is not of that time.
func (c *Clock) Within(words int) { c.within = words }

// Other is the second reading of the time that Time gave last: a local time that comes twice, for clocks were set back. Time gives the first one. 0: there is none.
func (c *Clock) Other() int64 { return c.other }

// Local tells whether the time that Time gave last was written with a date and without a zone: the configured zone decides what it means.
func (c *Clock) Local() bool { return c.local }

// Time is the time that a line carries, in nanoseconds since 1970.
func (c *Clock) Time(line []byte) (int64, bool) {
	c.other, c.local = 0, false
	if len(line) == 0 {
		return 0, false
	}
	if line[0] == 0xef {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	if len(line) > 0 && line[0] == '{' {
		c.place = 0
		return c.jsonTime(line)
	}
	if c.skip >= 0 && c.skip < len(line) {
		if s, n := readStamp(line[c.skip:]); n > 0 && !s.noDate {
			return c.resolve(s), true
		}
	}
	at, s, n, place := findStamp(line, c.within)
	if n == 0 {
		c.place = 0
		return c.pairTime(line)
	}
	c.skip, c.place = at, place
	return c.resolve(s), true
}

// jsonTime looks where the last line had its time before it walks the object.
func (c *Clock) jsonTime(line []byte) (int64, bool) {
	if len(c.prefix) > 0 && bytes.HasPrefix(line, c.prefix) {
		if s, n := readStamp(line[len(c.prefix):]); n > 0 && len(line) > len(c.prefix)+n {
			if e := line[len(c.prefix)+n]; e == '"' || s.epoch && (e == ',' || e == '}') {
				return c.resolve(s), true
			}
		}
	}
	found, other, local, ok := int64(0), int64(0), false, false
	best := 0
	walkTop(line, func(key, value []byte, kind byte) bool {
		rank := timeRank(key)
		if rank <= best {
			return true
		}
		if ns, good := c.value(value, kind, 0); good {
			found, other, local, ok, best = ns, c.other, c.local, true, rank
			if at := cap(line) - cap(value); at <= maxPrefix && (kind == '"' || kind == '0') { // value is a part of line: their capacities tell its offset
				c.prefix = append(c.prefix[:0], line[:at]...)
			}
			return rank < rankSure
		}
		return true
	})
	c.other, c.local = other, local
	return found, ok
}

// value reads a JSON value as a time: text, number, or an object such as {"$date":"…"} and {"epochSecond":…,"nanoOfSecond":…}.
func (c *Clock) value(v []byte, kind byte, depth int) (int64, bool) {
	c.other, c.local = 0, false
	switch kind {
	case '"', '0':
		if exp, n, ok := expNumber(v); ok && kind == '0' {
			return exp, n == len(v)
		}
		s, n := readStamp(v)
		if n == 0 || s.noDate {
			return 0, false
		}
		return c.resolve(s), true
	case '{':
		if depth > 0 {
			return 0, false
		}
		var sec, nano int64
		var found, ok = int64(0), false
		walkTop(v, func(key, value []byte, kind byte) bool {
			switch string(key) {
			case "$date":
				found, ok = c.value(value, kind, 1)
			case "epochSecond", "seconds":
				sec = smallInt(value)
			case "nanoOfSecond", "nanos":
				nano = smallInt(value)
			}
			return !ok
		})
		if !ok && sec > 0 {
			return sec*1e9 + nano, true
		}
		return found, ok
	}
	return 0, false
}

// expNumber reads zap's old form 1.7672172e+09.
func expNumber(v []byte) (int64, int, bool) {
	i := bytes.IndexAny(v, "eE")
	if i < 0 || len(v) > 32 {
		return 0, 0, false
	}
	var f float64
	if !parseFloat(v, &f) || f < 1e9 || f > 4.2e9 {
		return 0, 0, false
	}
	return int64(f * 1e9), len(v), true
}

func smallInt(b []byte) int64 {
	var v int64
	for _, ch := range b {
		if !isDigit(ch) || v > 1e17 {
			return 0
		}
		v = v*10 + int64(ch-'0')
	}
	return v
}

// pairTime reads the time of a logfmt line: time=, ts= or timestamp= within its first pairs.
func (c *Clock) pairTime(line []byte) (int64, bool) {
	found, ok := int64(0), false
	if !startsWithPair(line) {
		return 0, false
	}
	walkPairs(line, func(key, value []byte, _ bool) bool {
		if timeRank(key) == 0 {
			return true
		}
		s, n := readStamp(value)
		if n == 0 || s.noDate {
			return true
		}
		found, ok = c.resolve(s), true
		if start := cap(line) - cap(value); start < 128 {
			c.skip = start
		}
		return false
	})
	return found, ok
}

// resolve fills in zone, year and date.
func (c *Clock) resolve(s stamp) int64 {
	c.local = !s.epoch && !s.zoned && !s.noDate
	if s.epoch {
		return s.ns
	}
	if s.noDate {
		y, m, d := c.ref.Date()
		s.year, s.month, s.day = y, int(m), d
		if ns := c.civil(s); ns <= c.ref.UnixNano()+int64(time.Hour) {
			return ns
		}
		return c.civil(s) - int64(24*time.Hour)
	}
	if s.noYear { // the latest year that does not lie in the future of the reference
		s.year = c.ref.Year()
		if ns := c.civil(s); ns <= c.ref.UnixNano()+int64(36*time.Hour) {
			return ns
		}
		s.year--
	}
	return c.civil(s)
}

func (c *Clock) civil(s stamp) int64 {
	sec := daysSince1970(s.year, s.month, s.day)*86400 + int64(s.hour)*3600 + int64(s.min)*60 + int64(s.sec)
	c.other = 0
	switch {
	case s.zoned:
		sec -= int64(s.offset)
	case !c.utc:
		if hour := sec / 1800; hour != c.hour { // zone rules change at full half hours at most
			c.hour = hour
			c.offset, c.twice = c.offsets(hour * 1800)
		}
		sec -= c.offset
		if c.twice > 0 {
			c.other = (sec+c.twice)*1e9 + int64(s.nano)
		}
	}
	return sec*1e9 + int64(s.nano)
}

// offsets gives the offset of a local time, and how much later it comes again.
func (c *Clock) offsets(local int64) (offset, twice int64) {
	at := func(sec int64) int64 {
		_, off := time.Unix(sec, 0).In(c.loc).Zone()
		return int64(off)
	}
	offset = at(local - at(local))
	for _, o := range [...]int64{at(local - 86400), at(local + 86400)} {
		if o == offset || at(local-o) != o {
			continue
		}
		if at(local-offset) != offset {
			offset = o
			continue
		}
		return max(offset, o), max(offset, o) - min(offset, o)
	}
	return offset, 0
}

// daysSince1970 counts the days to a date of the proleptic Gregorian calendar.
func daysSince1970(y, m, d int) int64 {
	if m <= 2 {
		y--
		m += 12
	}
	return int64(365*y+y/4-y/100+y/400+(153*(m-3)+2)/5+d-1) - 719468
}

// findStamp looks for a time at the start of the line's first tokens, behind at most within of them; brackets and quotes before it are skipped. Bare clock times count
// only at the very start.
func findStamp(b []byte, within int) (int, stamp, int, int) {
	limit := min(len(b), 96)
	tokens := 0
	for at := 0; at < limit && tokens <= within; tokens++ {
		for at < limit && (b[at] == ' ' || b[at] == '\t' || b[at] == '[' || b[at] == '(' || b[at] == '"' || b[at] == '<' || b[at] == '|') {
			at++
		}
		if at >= limit {
			break
		}
		if s, n := readStamp(b[at:]); n > 0 && !(s.noDate && tokens > 1) && !(s.epoch && tokens > 1) && !(at+n < len(b) && isWord(b[at+n]) && (b[at+n] < 0x80 || s.epoch)) {
			return at, s, n, tokens
		}
		if b[at] == '{' {
			break
		}
		for at < limit && b[at] != ' ' && b[at] != '\t' && b[at] != '[' && b[at] != '|' && b[at] != '>' {
			at++
		}
		if at < limit && b[at] == '>' {
			at++
		}
	}
	return 0, stamp{}, 0, 0
}
