// Package window searches log servers that give the newest events first and never more than a number of them. It promises: the whole range is asked for, piece by
// piece from its end, each piece one event over what is wanted, so that a full answer is seen as full; memory holds one answer and is bounded; requests and bytes are
// bounded and over them the search is RAW_TOO_LARGE, never a part of the range without a word; a server that answers nothing where it holds nothing covers nothing.
package window

import (
	"context"
	"errors"
	"time"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/tools/logs"
)

// Ask is one request.
type Ask struct {
	From, To time.Time // [From, To), whole units
	Limit    int
	// Filtered: only events that can match are wanted. Otherwise any event.
	Filtered bool
	// Oldest asks for the oldest Limit events instead of the newest.
	Oldest bool
}

// Backend asks one server.
type Backend interface {
	// Fetch adds to p the newest events of the range, or the oldest, in any order, at most a.Limit of them. It returns the error of p.Add as it is (or ErrFull itself), a *Narrow when the
	// server refuses so wide a range or so many events, else an error with a code.
	Fetch(ctx context.Context, a Ask, p *Page) error
}

// Narrow says what a server refuses: it is asked again for less.
type Narrow struct {
	Range bool // the range is too wide
	Limit int  // the most events that it gives, 0: unknown
}

// Error says what was refused.
func (*Narrow) Error() string { return "the server answers only smaller requests" }

// Options bound a search.
type Options struct {
	// Limit is how many events are wanted of a request; one more is asked for.
	Limit int
	// Most is asked for when a single unit of time holds more than Limit; 0: Limit.
	Most int
	// Unit is the resolution of the server's times.
	Unit time.Duration
}

// around is how far from the range an event may lie that shows that the server keeps this part of time: a log that was silent for longer may have ended.
const around = 24 * time.Hour

// shortest is the smallest range that a server may insist on.
const shortest = time.Second

// search is one call.
type search struct {
	q      logs.Query
	o      Options
	b      Backend
	page   Page
	span   time.Duration // the widest range that the server accepts
	newest int64         // the newest event that was seen
}

// Search streams what the server holds of the range into sink, from its end to its start. The report's Scanned is the caller's to fill in.
func Search(ctx context.Context, q logs.Query, sink logs.Sink, b Backend, o Options) (logs.Report, error) {
	if o.Most < o.Limit {
		o.Most = o.Limit
	}
	from, to := floor(q.From, o.Unit), ceil(q.To, o.Unit)
	s := &search{q: q, o: o, b: b, page: Page{unit: int64(o.Unit)}, span: to.Sub(from)}
	lane := sink.Lane()
	defer lane.Close()
	complete, err := s.read(ctx, lane, from, to)
	if err != nil {
		return logs.Report{}, err
	}
	rep, err := s.cover(ctx, from, to)
	if err != nil {
		return logs.Report{}, err
	}
	rep.Complete = rep.Complete && complete
	return rep, nil
}

func floor(t time.Time, unit time.Duration) time.Time {
	n, u := t.UnixNano(), int64(unit)
	return time.Unix(0, n-((n%u)+u)%u).UTC()
}

func ceil(t time.Time, unit time.Duration) time.Time {
	f := floor(t, unit)
	if f.Before(t) {
		return f.Add(unit)
	}
	return f
}

var (
	errNarrow = errors.New("the server refuses the smallest request")
	errEvent  = errors.New("one event is larger than an answer may be")
)

// read hands over all events that pass the filter, and tells whether they are all.
func (s *search) read(ctx context.Context, lane logs.Lane, from, to time.Time) (complete bool, err error) {
	complete = true
	limit, most := s.o.Limit, s.o.Most
	filtered := len(s.q.Need) > 0 || s.q.Level > 0
	for to.After(from) {
		lo := from
		if to.Sub(from) > s.span {
			lo = to.Add(-s.span)
		}
		err := s.fetch(ctx, Ask{From: lo, To: to, Limit: limit + 1, Filtered: filtered})
		if n, ok := errors.AsType[*Narrow](err); ok {
			if limit, err = s.narrow(n, limit, to.Sub(lo)); err != nil {
				return false, err
			}
			most = limit
			continue
		}
		if errors.Is(err, ErrFull) {
			if limit == 0 {
				return false, fault.New(fault.RawTooLarge, "window.Search", errEvent)
			}
			limit /= 4
			most = limit
			continue
		}
		if err != nil {
			return false, err
		}
		p := &s.page
		complete = complete && !p.Partial
		s.newest = max(s.newest, p.newest())
		if len(p.rows) <= limit {
			if err := p.emit(lane, lo.UnixNano()); err != nil {
				return false, err
			}
			to = lo
			continue
		}
		oldest := p.oldest()
		switch {
		case oldest < p.unitOf(p.newest()): // what lies behind the oldest unit is whole; that unit comes again
			if err := p.emit(lane, oldest+p.unit); err != nil {
				return false, err
			}
			to = time.Unix(0, oldest+p.unit).UTC()
		case limit < most:
			limit = most
			continue
		default: // more events in one unit than the server gives at all
			complete = false
			if err := p.emit(lane, oldest); err != nil {
				return false, err
			}
			to = time.Unix(0, oldest).UTC()
		}
		if most == s.o.Most {
			limit = s.o.Limit
		}
	}
	return complete, nil
}

// narrow takes back what the server refused.
func (s *search) narrow(n *Narrow, limit int, width time.Duration) (int, error) {
	switch {
	case n.Range && width/2 >= shortest:
		s.span = width / 2
		return limit, nil
	case !n.Range && limit > 0:
		next := limit / 2
		if n.Limit > 0 && n.Limit <= limit {
			next = n.Limit - 1
		}
		return next, nil
	}
	return 0, fault.New(fault.BackendError, "window.Search", errNarrow)
}

func (s *search) fetch(ctx context.Context, a Ask) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.page.reset(a)
	return s.b.Fetch(ctx, a, &s.page)
}

// one asks for the newest or the oldest event of a range, whatever it says. t is 0 when there is none.
func (s *search) one(ctx context.Context, from, to time.Time, oldest bool, rep *logs.Report) (t int64, err error) {
	for {
		err := s.fetch(ctx, Ask{From: from, To: to, Limit: 1, Oldest: oldest})
		if n, ok := errors.AsType[*Narrow](err); ok && n.Range && to.Sub(from)/2 >= shortest { // a part of it says enough
			if oldest {
				to = from.Add(to.Sub(from) / 2)
			} else {
				from = to.Add(-to.Sub(from) / 2)
			}
			from, to = ceil(from, s.o.Unit), ceil(to, s.o.Unit)
			continue
		} else if ok {
			return 0, fault.New(fault.BackendError, "window.Search", errNarrow)
		}
		if err != nil {
			return 0, err
		}
		rep.Complete = rep.Complete && !s.page.Partial
		if oldest {
			return s.page.oldest(), nil
		}
		return s.page.newest(), nil
	}
}

// cover tells which part of the range the server keeps, from the events around it: an answer without events is the same whether nothing happened, the events were
// dropped, or the server looks back less far than it was asked to. The part begins with the range when an event lies before it, else with its first event. It ends
// with the range, unless the log fell silent long before.
func (s *search) cover(ctx context.Context, from, to time.Time) (logs.Report, error) {
	rep := logs.Report{Complete: true}
	before, newest := from.Add(-around), s.newest
	var err error
	if newest <= to.Add(-around).UnixNano() { // one that the filter left out may be newer
		if newest, err = s.one(ctx, before, to, false, &rep); err != nil || newest == 0 {
			return rep, err
		}
	}
	start := s.q.From
	if newest >= from.UnixNano() {
		earlier, err := s.one(ctx, before, from, false, &rep)
		if err != nil {
			return rep, err
		}
		if earlier == 0 {
			first, err := s.one(ctx, from, to, true, &rep)
			if err != nil {
				return rep, err
			}
			if first > 0 {
				start = time.Unix(0, first).UTC()
			}
		}
	}
	end := s.q.To
	if silent := time.Unix(0, newest).UTC().Add(around); silent.Before(end) {
		end = silent
	}
	if start.Before(end) {
		rep.CoveredFrom, rep.CoveredTo = start, end
	}
	return rep, nil
}
