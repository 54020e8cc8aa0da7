package logs

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// Defaults and bounds of the time arguments: an hour back; five minutes around an event; windows of at most a day, since around is for what stands beside.
const (
	defaultRange  = time.Hour
	defaultWindow = 5 * time.Minute
	maxWindow     = 24 * time.Hour
)

var errTime = errors.New("time argument")

func badTime(hint string) error {
	return fault.New(fault.InvalidRequest, "logs.Parse", errTime).WithHint(hint)
}

// timeRange resolves the time arguments against now. from is inclusive, to exclusive.
func timeRange(a arguments, now time.Time) (from, to time.Time, err error) {
	now = now.UTC().Truncate(time.Millisecond)
	if a.Around != "" {
		if a.From != "" || a.To != "" {
			return from, to, badTime("give around and window, or from and to, not both")
		}
		at, err := moment("around", a.Around, now)
		if err != nil {
			return from, to, err
		}
		w := defaultWindow
		if a.Window != "" {
			if w, err = span(strings.TrimPrefix(a.Window, "±")); err != nil || w <= 0 || w > maxWindow {
				return from, to, badTime("window: want a duration up to 24h, as in 5m")
			}
		}
		return at.Add(-w), at.Add(w), nil
	}
	if a.Window != "" {
		return from, to, badTime("window belongs to around; give from and to otherwise")
	}
	to = now
	if a.To != "" {
		if to, err = moment("to", a.To, now); err != nil {
			return from, to, err
		}
	}
	from = to.Add(-defaultRange)
	if a.From != "" {
		if from, err = moment("from", a.From, now); err != nil {
			return from, to, err
		}
	}
	if !from.Before(to) {
		return from, to, badTime("from must be before to")
	}
	return from, to, nil
}

// moment reads RFC3339, now or a time back from now such as -15m.
func moment(name, s string, now time.Time) (time.Time, error) {
	s = strings.TrimSpace(s)
	if strings.EqualFold(s, "now") {
		return now, nil
	}
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		if d, err := span(rest); err == nil && d >= 0 {
			return now.Add(-d), nil
		}
	}
	t, err := time.Parse(time.RFC3339, strings.ToUpper(s))
	if err != nil || t.Year() < 1971 || t.Year() > 2250 {
		return time.Time{}, badTime(name + ": want RFC3339 as in 2026-01-01T10:00:00Z, or -15m, -2h, now")
	}
	return t.UTC(), nil
}

// span reads a duration; beside Go's units it knows d and w.
func span(s string) (time.Duration, error) {
	for unit, d := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if n, ok := strings.CutSuffix(s, unit); ok {
			if v, err := strconv.ParseUint(n, 10, 12); err == nil {
				return time.Duration(v) * d, nil
			}
		}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d > 10*366*24*time.Hour {
		return 0, errTime
	}
	return d, nil
}

// gridRange is a range on a grid of between a 24th and a 12th of its length, in milliseconds: ranges that differ by less mostly fall together.
func gridRange(from, to time.Time) string {
	step := int64(1)
	for step*24 <= to.Sub(from).Milliseconds() {
		step *= 2
	}
	at := func(t time.Time) string { return strconv.FormatInt(t.UnixMilli()/step, 10) }
	return strconv.FormatInt(step, 10) + "*" + at(from) + ".." + at(to)
}

// showTime writes an instant as the wire has it: RFC3339 in UTC, milliseconds only when there are any.
func showTime(ns int64) string {
	t := time.Unix(0, ns).UTC()
	if ns%int64(time.Second) < int64(time.Millisecond) {
		return t.Format("2006-01-02T15:04:05Z")
	}
	return t.Format("2006-01-02T15:04:05.000Z")
}

// exactTime writes an instant as showTime does, but for one that milliseconds cannot tell: a scope says what was really searched.
func exactTime(ns int64) string {
	if ns%int64(time.Millisecond) == 0 {
		return showTime(ns)
	}
	return time.Unix(0, ns).UTC().Format(time.RFC3339Nano)
}
