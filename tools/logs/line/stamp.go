package line

import (
	"bytes"
	"time"
)

// stamp is a time as written, before a zone and a missing year are filled in.
type stamp struct {
	year, month, day, hour, min, sec, nano int
	offset                                 int // seconds east of UTC
	zoned, noYear, noDate, epoch           bool
	ns                                     int64 // when epoch
}

// readStamp reads a time at the start of b and tells how many bytes it took; 0 when there is none.
func readStamp(b []byte) (stamp, int) {
	if len(b) < 8 {
		return stamp{}, 0
	}
	c := b[0]
	switch {
	case isDigit(c):
		return readDigits(b)
	case c >= 'A' && c <= 'Z':
		return readNamed(b)
	}
	return stamp{}, 0
}

func readDigits(b []byte) (stamp, int) {
	n := 0
	for n < len(b) && n < 20 && isDigit(b[n]) {
		n++
	}
	if n == len(b) && n < 10 {
		return stamp{}, 0
	}
	switch n {
	case 4:
		if b[4] == '-' || b[4] == '/' || b[4] == '.' {
			return readISO(b)
		}
		if bytes.HasPrefix(b[4:], []byte("年")) {
			return readHan(b)
		}
	case 2:
		switch b[2] {
		case ':':
			return readClockOnly(b)
		case '/', '-', ' ', '.':
			return readDayFirst(b)
		}
	case 1:
		if len(b) > 12 && (b[1] == ' ' || b[1] == '/') {
			return readDayFirst(b)
		}
	case 8:
		return readCompact(b, 4)
	case 6:
		if len(b) >= 13 && b[6] == ' ' {
			return readCompact(b, 2)
		}
	case 10, 13, 16, 19:
		return readEpoch(b, n)
	}
	return stamp{}, 0
}

// readISO reads YYYY-MM-DD, a separator, HH:MM:SS, a fraction and a zone, and its relatives with / and . in the date or in the time.
func readISO(b []byte) (stamp, int) {
	if len(b) < 16 {
		return stamp{}, 0
	}
	s := stamp{year: num4(b), month: num2(b[5:]), day: num2(b[8:])}
	if b[7] != b[4] || s.month < 1 || s.month > 12 || s.day < 1 || s.day > 31 {
		return stamp{}, 0
	}
	at := 10
	switch b[10] {
	case 'T', 't', ' ', '-', '_', ':':
		at++
	default:
		return stamp{}, 0
	}
	n := s.clock(b[at:])
	if n == 0 {
		return stamp{}, 0
	}
	at += n
	return s, at + s.zone(b[at:])
}

// clock reads HH:MM[:SS[.fraction]], also with dots, and tells the length.
func (s *stamp) clock(b []byte) int {
	if len(b) < 5 {
		return 0
	}
	s.hour, s.min = num2(b), num2(b[3:])
	if s.hour < 0 || s.hour > 24 || s.min < 0 || s.min > 59 || (b[2] != ':' && b[2] != '.') {
		return 0
	}
	if len(b) < 8 || b[5] != b[2] || !isDigit(b[6]) {
		return 5
	}
	if s.sec = num2(b[6:]); s.sec < 0 || s.sec > 60 {
		return 0
	}
	at := 8
	if len(b) > 9 && (b[8] == '.' || b[8] == ',' || (b[8] == ':' && isDigit(b[9]) && len(b) > 11 && isDigit(b[10]) && isDigit(b[11]))) && isDigit(b[9]) {
		at = 9
		scale := int(1e8)
		for at < len(b) && isDigit(b[at]) {
			s.nano += int(b[at]-'0') * scale
			scale /= 10
			at++
		}
	}
	return at
}

// zone reads Z, ±hh:mm, ±hhmm, UTC or GMT, a space before it allowed.
func (s *stamp) zone(b []byte) int {
	at := 0
	if len(b) > 1 && b[0] == ' ' && (b[1] == '+' || b[1] == '-' || b[1] == 'U' || b[1] == 'G' || b[1] == 'Z') {
		at = 1
	}
	if at >= len(b) {
		return 0
	}
	switch c := b[at]; {
	case c == 'Z' || c == 'z':
		if at+1 < len(b) && isWord(b[at+1]) {
			return 0
		}
		s.zoned = true
		return at + 1
	case (c == 'U' || c == 'G') && len(b) >= at+3 && (string(b[at:at+3]) == "UTC" || string(b[at:at+3]) == "GMT"):
		s.zoned = true
		return at + 3
	case (c == '+' || c == '-') && len(b) >= at+5 && isDigit(b[at+1]) && isDigit(b[at+2]):
		h, rest := num2(b[at+1:]), b[at+3:]
		n := 3
		if rest[0] == ':' {
			rest, n = rest[1:], 4
		}
		if len(rest) < 2 || !isDigit(rest[0]) || !isDigit(rest[1]) || (len(rest) > 2 && isDigit(rest[2])) || h > 15 {
			return 0
		}
		s.offset = (h*60 + num2(rest)) * 60
		if c == '-' {
			s.offset = -s.offset
		}
		s.zoned = true
		return at + n + 2
	}
	return 0
}

// readDayFirst reads 02/Jan/2006:15:04:05 -0700, 02-Jan-2006 15:04:05, 02 Jan 2006 15:04:05, 06/01/02 15:04:05, 01/02/2006 15:04:05 and 01-02 15:04:05.
func readDayFirst(b []byte) (stamp, int) {
	d := 2
	if !isDigit(b[1]) {
		d = 1
	}
	if len(b) < 14 {
		return stamp{}, 0
	}
	sep := b[d]
	day := int(b[0] - '0')
	if d == 2 {
		day = num2(b)
	}
	rest := b[d+1:]
	var s stamp
	at := d + 1
	if m := monthAt(rest); m > 0 {
		s.month, s.day = m, day
		at += 3
		if at < len(b) && b[at] == sep {
			at++
		}
		if at+4 <= len(b) && num4(b[at:]) > 1900 {
			s.year = num4(b[at:])
			at += 4
			if at < len(b) && (b[at] == ':' || b[at] == ' ') {
				at++
			}
		} else {
			s.noYear = true
		}
	} else if sep == '/' && len(rest) > 8 && isDigit(rest[0]) && isDigit(rest[1]) && rest[2] == '/' {
		second := num2(rest)
		if y := num4(rest[3:]); y > 1900 { // month/day/year, or day/month/year when only that can be
			s.year, s.month, s.day = y, day, second
			if day > 12 {
				s.month, s.day = second, day
			}
			at += 7
		} else { // year/month/day of two digits each
			s.year, s.month, s.day = 2000+day, second, num2(rest[3:])
			at += 5
		}
		for at < len(b) && (b[at] == ' ' || b[at] == ',') {
			at++
		}
	} else if sep == '-' && d == 2 && isDigit(rest[0]) && isDigit(rest[1]) && rest[2] == ' ' {
		s.month, s.day, s.noYear = day, num2(rest), true
		at += 3
	} else {
		return stamp{}, 0
	}
	if s.month < 1 || s.month > 12 || s.day < 1 || s.day > 31 || at >= len(b) {
		return stamp{}, 0
	}
	n := s.clock(b[at:])
	if n < 8 {
		return stamp{}, 0
	}
	at += n
	at += s.half(b[at:])
	return s, at + s.zone(b[at:])
}

// readCompact reads 20060102 150405, 20060102T150405Z, 20060102-15:04:05 and 060102 150405; digits is the length of the year.
func readCompact(b []byte, digits int) (stamp, int) {
	var s stamp
	if digits == 4 {
		s.year = num4(b)
	} else {
		s.year = 2000 + num2(b)
	}
	s.month, s.day = num2(b[digits:]), num2(b[digits+2:])
	at := digits + 4
	if s.month < 1 || s.month > 12 || s.day < 1 || s.day > 31 || s.year < 1970 || s.year > 2100 || len(b) < at+7 || (b[at] != 'T' && b[at] != ' ' && b[at] != '-') {
		return stamp{}, 0
	}
	at++
	if n := s.clock(b[at:]); n >= 8 {
		at += n
		return s, at + s.zone(b[at:])
	}
	n := 0
	for at+n < len(b) && isDigit(b[at+n]) {
		n++
	}
	if n != 6 {
		return stamp{}, 0
	}
	s.hour, s.min, s.sec = num2(b[at:]), num2(b[at+2:]), num2(b[at+4:])
	if s.hour > 23 || s.min > 59 || s.sec > 60 {
		return stamp{}, 0
	}
	at += 6
	return s, at + s.zone(b[at:])
}

// readClockOnly reads 15:04:05.000: the date is that of the reference time.
func readClockOnly(b []byte) (stamp, int) {
	s := stamp{noDate: true}
	n := s.clock(b)
	if n < 8 {
		return stamp{}, 0
	}
	return s, n
}

// readNamed reads Jan _2 15:04:05, Mon Jan _2 15:04:05 2006, Mon, 02 Jan 2006 15:04:05 GMT and klog's I0102 15:04:05.000000.
func readNamed(b []byte) (stamp, int) {
	if isDigit(b[1]) {
		return readKlog(b)
	}
	at := 0
	if len(b) > 18 && isWeekday(b) {
		at = 4
		if b[3] == ',' {
			at = 5
		} else if b[3] != ' ' {
			return stamp{}, 0
		}
		if isDigit(b[at]) {
			s, n := readDayFirst(b[at:])
			if n == 0 {
				return stamp{}, 0
			}
			return s, at + n
		}
	}
	s := stamp{month: monthAt(b[at:]), noYear: true}
	if s.month == 0 || len(b) < at+14 || b[at+3] != ' ' {
		return stamp{}, 0
	}
	at += 4
	if b[at] == ' ' {
		at++
	}
	for at < len(b) && isDigit(b[at]) && s.day < 100 {
		s.day = s.day*10 + int(b[at]-'0')
		at++
	}
	if s.day < 1 || s.day > 31 || at >= len(b) {
		return stamp{}, 0
	}
	if b[at] == ',' && len(b) > at+7 && num4(b[at+2:]) > 1900 { // Jan 2, 2006 15:04:05
		s.year, s.noYear = num4(b[at+2:]), false
		at += 6
		if b[at] == ',' {
			at++
		}
	}
	if at+1 >= len(b) || b[at] != ' ' {
		return stamp{}, 0
	}
	at++
	if s.noYear && len(b) > at+5 && b[at+4] == ' ' && num4(b[at:]) > 1900 { // Jan _2 2006 15:04:05
		s.year, s.noYear = num4(b[at:]), false
		at += 5
	}
	n := s.clock(b[at:])
	if n < 8 {
		return stamp{}, 0
	}
	at += n
	at += s.half(b[at:])
	at += s.zone(b[at:])
	if s.noYear && len(b) >= at+5 && b[at] == ' ' && num4(b[at+1:]) > 1900 && (len(b) == at+5 || !isWord(b[at+5])) {
		s.year, s.noYear = num4(b[at+1:]), false
		at += 5
	}
	return s, at
}

func readKlog(b []byte) (stamp, int) {
	if len(b) < 14 || ParseLevel(b[:1], true) == None {
		return stamp{}, 0
	}
	s := stamp{month: num2(b[1:]), day: num2(b[3:]), noYear: true}
	if b[5] != ' ' || s.month < 1 || s.month > 12 || s.day < 1 || s.day > 31 {
		return stamp{}, 0
	}
	n := s.clock(b[6:])
	if n < 8 {
		return stamp{}, 0
	}
	return s, 6 + n
}

// readEpoch reads seconds, milliseconds, microseconds or nanoseconds since 1970: the unit follows from the number of digits.
func readEpoch(b []byte, n int) (stamp, int) {
	var v int64
	for _, c := range b[:n] {
		if v > (1<<63-10)/10 {
			return stamp{}, 0
		}
		v = v*10 + int64(c-'0')
	}
	at := n
	switch n {
	case 10:
		v *= 1e9
		if at+1 < len(b) && b[at] == '.' && isDigit(b[at+1]) {
			at++
			for scale := int64(1e8); at < len(b) && isDigit(b[at]); at, scale = at+1, scale/10 {
				v += int64(b[at]-'0') * scale
			}
		}
	case 13:
		v *= 1e6
		for at < len(b) && (b[at] == '.' || isDigit(b[at])) {
			at++
		}
	case 16:
		v *= 1e3
	}
	if at < len(b) && isWord(b[at]) || v < epochMin || v > epochMax {
		return stamp{}, 0
	}
	return stamp{epoch: true, ns: v}, at
}

// An epoch number outside 1990 to 2100 is an identifier, not a time.
const (
	epochMin = 631152000 * int64(time.Second)
	epochMax = 4102444800 * int64(time.Second)
)

func monthAt(b []byte) int {
	if len(b) < 3 {
		return 0
	}
	switch string([]byte{b[0], lower(b[1]), lower(b[2])}) {
	case "Jan":
		return 1
	case "Feb":
		return 2
	case "Mar":
		return 3
	case "Apr":
		return 4
	case "May":
		return 5
	case "Jun":
		return 6
	case "Jul":
		return 7
	case "Aug":
		return 8
	case "Sep":
		return 9
	case "Oct":
		return 10
	case "Nov":
		return 11
	case "Dec":
		return 12
	}
	return 0
}

func isWeekday(b []byte) bool {
	switch string(b[:3]) {
	case "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun":
		return true
	}
	return false
}

func isDigit(c byte) bool { return c-'0' <= 9 }
func isLetter(c byte) bool {
	c |= 0x20
	return c-'a' <= 'z'-'a'
}
func isWord(c byte) bool { return isDigit(c) || isLetter(c) || c == '_' || c >= 0x80 }

// num2 is the number of two digits at the start of b, or -1.
func num2(b []byte) int {
	if len(b) < 2 || !isDigit(b[0]) || !isDigit(b[1]) {
		return -1
	}
	return int(b[0]-'0')*10 + int(b[1]-'0')
}

func num4(b []byte) int {
	if len(b) < 4 {
		return -1
	}
	h, l := num2(b), num2(b[2:])
	if h < 0 || l < 0 {
		return -1
	}
	return h*100 + l
}
