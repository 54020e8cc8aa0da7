package window

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/tools/logs"
)

const (
	// pageBytes bounds the events of one answer: 5000 of 1.6 KiB. With larger ones fewer are asked for; one that is larger by itself is too large to be searched.
	pageBytes = 8 << 20
	// rowBytes is what an event costs beside its text.
	rowBytes = 64
)

var (
	// ErrFull is an answer that is larger than memory for it: fewer events are asked for.
	ErrFull  = errors.New("the answer is larger than memory for it")
	errRange = errors.New("the answer holds an event outside of the range")
)

// Page holds the events of one answer.
type Page struct {
	// Partial says that the server left something out.
	Partial bool

	unit     int64
	from, to int64 // what was asked for
	rows     []row
	text     []byte
	used     int
}

type row struct {
	time       int64
	start, end int
	labels     []logs.Label
}

// reset empties the page for an answer to a.
func (p *Page) reset(a Ask) {
	clear(p.rows) // labels are let go
	p.rows, p.text, p.used, p.Partial = p.rows[:0], p.text[:0], 0, false
	p.from, p.to = a.From.UnixNano(), a.To.UnixNano()
}

// Add copies an event. Labels are kept as they are and may be shared by events. An error ends the request and is to be returned: an answer with events that were not
// asked for cannot be told to be whole.
func (p *Page) Add(t int64, text []byte, labels []logs.Label) error {
	if t < p.from || t >= p.to {
		return fault.New(fault.BackendError, "window.Add", errRange)
	}
	p.used += len(text) + rowBytes
	for _, l := range labels {
		p.used += len(l.Key) + len(l.Value)
	}
	if p.used > pageBytes {
		return ErrFull
	}
	start := len(p.text)
	p.text = append(p.text, text...)
	p.rows = append(p.rows, row{time: t, start: start, end: len(p.text), labels: labels})
	return nil
}

func (p *Page) unitOf(t int64) int64 { return t - ((t%p.unit)+p.unit)%p.unit }

// oldest is the unit of the oldest event; 0 when there is none.
func (p *Page) oldest() int64 {
	var t int64
	for i := range p.rows {
		if i == 0 || p.rows[i].time < t {
			t = p.rows[i].time
		}
	}
	return p.unitOf(t)
}

// newest is the time of the newest event; 0 when there is none.
func (p *Page) newest() int64 {
	var t int64
	for i := range p.rows {
		if i == 0 || p.rows[i].time > t {
			t = p.rows[i].time
		}
	}
	return t
}

// emit hands over the events from a time on, in an order that does not depend on the one they came in.
func (p *Page) emit(lane logs.Lane, from int64) error {
	slices.SortStableFunc(p.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.time, b.time), bytes.Compare(p.text[a.start:a.end], p.text[b.start:b.end]), slices.CompareFunc(a.labels, b.labels, compareLabels))
	})
	for i := range p.rows {
		r := &p.rows[i]
		if r.time < from {
			continue
		}
		if err := lane.Emit(logs.Event{Time: r.time, Text: p.text[r.start:r.end], Labels: r.labels}); err != nil {
			return err
		}
	}
	return nil
}

func compareLabels(a, b logs.Label) int {
	return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value))
}

// For empties the page for an answer about a range.
func (p *Page) For(from, to time.Time) *Page {
	p.unit = 1
	p.reset(Ask{From: from, To: to})
	return p
}
