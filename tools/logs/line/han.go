package line

import "bytes"

// readHan reads 2006年1月2日 15:04:05 and 2006年01月02日15时04分05秒, with 上午 or 下午 in front of the hour, or not.
func readHan(b []byte) (stamp, int) {
	s, at, ok := stamp{year: num4(b)}, 4, false
	take := func(v *int, unit string) bool {
		n, start := 0, at
		for at < len(b) && isDigit(b[at]) && at-start < 2 {
			n = n*10 + int(b[at]-'0')
			at++
		}
		ok = at > start && bytes.HasPrefix(b[at:], []byte(unit))
		if ok {
			*v = n
			at += len(unit)
		}
		return ok
	}
	at += len("年")
	if !take(&s.month, "月") || !take(&s.day, "日") || s.month < 1 || s.month > 12 || s.day < 1 || s.day > 31 {
		return stamp{}, 0
	}
	for at < len(b) && b[at] == ' ' {
		at++
	}
	noon := 0
	switch {
	case bytes.HasPrefix(b[at:], []byte("上午")):
		noon, at = -12, at+len("上午")
	case bytes.HasPrefix(b[at:], []byte("下午")):
		noon, at = 12, at+len("下午")
	}
	if start := at; take(&s.hour, "时") {
		if !take(&s.min, "分") || s.hour > 24 || s.min > 59 {
			return stamp{}, 0
		}
		if before := at; !take(&s.sec, "秒") || s.sec > 60 {
			s.sec, at = 0, before
		}
	} else {
		at = start
		clock := b[at:]
		if len(clock) > 1 && isDigit(clock[0]) && clock[1] == ':' { // 下午3:04:05
			clock = append([]byte{'0'}, clock[:min(len(clock), 40)]...)
			at--
		}
		n := s.clock(clock)
		if n == 0 {
			return stamp{}, 0
		}
		at += n
	}
	if noon != 0 {
		s.hour = s.hour%12 + max(noon, 0)
	}
	return s, at + s.zone(b[at:])
}

// half reads AM or PM.
func (s *stamp) half(b []byte) int {
	if len(b) < 3 || b[0] != ' ' || b[2] != 'M' || b[1] != 'A' && b[1] != 'P' || len(b) > 3 && isWord(b[3]) {
		return 0
	}
	if s.hour %= 12; b[1] == 'P' {
		s.hour += 12
	}
	return 3
}
