// Package zone reads the time zone of a configuration: a name of the IANA table, or an offset from UTC, which is what the logs of a single country need.
package zone

import (
	"errors"
	"strings"
	"time"
)

// ErrZone is the error of a text that is neither.
var ErrZone = errors.New("no time zone: want a name such as UTC or Asia/Shanghai, or an offset such as +08:00")

// Load reads "Asia/Shanghai", "+08:00", "+8", "UTC+8" or "GMT+08:00", all of them east of Greenwich; "" is UTC. (The table's own "Etc/GMT-8" counts to the west and stays
// as it is.)
func Load(name string) (*time.Location, error) {
	if off, ok := offset(name); ok {
		if off == 0 {
			return time.UTC, nil
		}
		return time.FixedZone(name, off), nil
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, ErrZone
	}
	return loc, nil
}

// offset reads the seconds east of UTC. No place on earth is further than 14 hours off.
func offset(s string) (int, bool) {
	for _, p := range [...]string{"UTC", "GMT"} {
		if len(s) > len(p) && strings.EqualFold(s[:len(p)], p) {
			s = s[len(p):]
			break
		}
	}
	if len(s) < 2 || s[0] != '+' && s[0] != '-' {
		return 0, false
	}
	hours, minutes, colon := strings.Cut(s[1:], ":")
	if !colon && len(hours) == 4 { // +0800
		hours, minutes, colon = hours[:2], hours[2:], true
	}
	h, ok := number(hours)
	m := 0
	if colon {
		if len(minutes) != 2 {
			return 0, false
		}
		n, good := number(minutes)
		m, ok = n, ok && good
	}
	if off := (h*60 + m) * 60; ok && m < 60 && off <= 14*3600 {
		if s[0] == '-' {
			off = -off
		}
		return off, true
	}
	return 0, false
}

func number(s string) (int, bool) {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, len(s) == 1 || len(s) == 2
}
