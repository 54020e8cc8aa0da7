package logs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/redact"
)

var (
	errGone       = errors.New("topic is no longer configured")
	errIncomplete = errors.New("a source could not be read completely")
	errUncovered  = errors.New("no source covers the range")
	errZone       = errors.New("events lie in the future")
)

// Execute searches the topics one after the other; each source works in parallel within itself. Empty and incomplete is an error, found and incomplete is partial.
func (t *Tool) Execute(ctx context.Context, p *boundary.Permit, req Request, salt canonical.Salt) (Raw, error) {
	return t.search(ctx, p, req, salt)
}

// meter is what a search needs of a permit: bytes of events are claimed when they are kept.
type meter interface {
	Take(n int) error
	Left() int64
}

func (t *Tool) search(ctx context.Context, p meter, req Request, salt canonical.Salt) (Raw, error) {
	terms, err := ParseQuery(req.Query)
	if err != nil {
		return Raw{}, err
	}
	g := &gather{req: req, max: t.maxMatched, keep: rawKeep}
	tags := redact.NewTagger(salt)
	scan := t.maxScan
	var cov coverage
	var noLevel int64
	var bare []int
	var (
		shifted []Shift
		untimed []int
	)
	for i, use := range req.Topics {
		topic, ok := t.topics[use.Name]
		if !ok {
			return Raw{}, fault.New(fault.InvalidRequest, "logs.Execute", errGone).WithHint("topic " + use.Name + " is not served any more")
		}
		red, err := t.redactor(use)
		if err != nil {
			return Raw{}, err
		}
		m := newMatcher(req, terms, red, tags)
		sctx, cancel := context.WithCancel(ctx)
		s := newSink(sctx, i, req, m, func() *reader { return newReader(red, tags) })
		q := Query{From: req.From, To: req.To, Now: req.Now, Level: m.level, Terms: terms, Need: m.need(), MaxScan: scan}
		var rep Report
		var serr error
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer s.end()
			defer func() {
				if recover() != nil { // what was being read stays out of the error
					serr = fault.New(fault.Internal, "logs.Source", nil)
				}
				s.closeAll()
			}()
			rep, serr = topic.Source.Search(sctx, q, s)
		}()
		derr := s.drain(g, cancel)
		<-done
		cancel()
		switch {
		case derr != nil:
			return Raw{}, derr
		case ctx.Err() != nil:
			return Raw{}, ctx.Err()
		case serr != nil:
			return Raw{}, sourceError(serr, req)
		}
		if rep.Doubtful {
			return Raw{}, fault.New(fault.BackendIncomplete, "logs.Execute", errZone).WithHint(zoneHint(use.Name, rep.Ahead))
		}
		if rep.Ahead > 0 {
			shifted = append(shifted, Shift{i, rep.Ahead.Nanoseconds()})
		}
		if rep.Untimed {
			untimed = append(untimed, i)
		}
		scan = max(scan-rep.Scanned, 0)
		noLevel += s.noLvl.Load()
		rep.Complete = rep.Complete && !s.cut.Load()
		if !cov.add(use.Name, req, rep) {
			bare = append(bare, i)
		}
	}
	raw := Raw{Total: g.total, Partial: cov.partial, NoLevel: noLevel, Uncovered: bare, Shifted: shifted, Untimed: untimed, Coverage: cov.span(req)}
	if g.total == 0 {
		if len(shifted) > 0 {
			return Raw{}, fault.New(fault.BackendIncomplete, "logs.Execute", errZone).WithHint(zoneHint(req.Topics[shifted[0].Topic].Name, time.Duration(shifted[0].Ahead)))
		}
		if cov.covered == 0 {
			return Raw{}, fault.New(fault.BackendIncomplete, "logs.Execute", errUncovered).WithHint(cov.hint())
		}
		if cov.partial {
			return Raw{}, fault.New(fault.BackendIncomplete, "logs.Execute", errIncomplete).WithHint("part of the logs could not be read, so nothing found would prove nothing; try a smaller range")
		}
		if cov.covered < len(req.Topics) {
			return Raw{}, fault.New(fault.BackendIncomplete, "logs.Execute", errUncovered).WithHint(cov.hint())
		}
	}
	if g.tally != nil {
		raw.Summary, raw.Events = g.tally.summary(int(min(exampleKeep, p.Left()/2)))
	} else {
		for i := range g.hits {
			h := &g.hits[i]
			raw.Events = append(raw.Events, RawEvent{Topic: h.topic, Time: h.time, Text: string(h.text), Labels: h.labels, Cut: h.cut})
		}
		slices.SortStableFunc(raw.Events, func(a, b RawEvent) int { return cmpTime(a, b) })
	}
	for i := range raw.Events {
		e := &raw.Events[i]
		e.Text = strings.ToValidUTF8(e.Text, "\uFFFD") // what is stored must come back the same
		if err := p.Take(len(e.Text) + labelBytes(e.Labels)); err != nil {
			return Raw{}, err
		}
	}
	return raw, nil
}

func cmpTime(a, b RawEvent) int {
	switch {
	case a.Time < b.Time:
		return -1
	case a.Time > b.Time:
		return 1
	}
	return a.Topic - b.Topic
}

// zoneHint says that times of a topic are not what they seem. Who may set it right is the operator.
func zoneHint(topic string, ahead time.Duration) string {
	return fmt.Sprintf("the newest events of topic %s lie %s in the future, so its times are not what they seem and no range of it can be trusted: its timezone setting is probably wrong, "+
		"which the operator sees with `mcp-gateway check --connect`", topic, showSpan(ahead))
}

// showSpan writes hours and minutes.
func showSpan(d time.Duration) string {
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}

// sourceError gives a source's error its code. A scan over its bound gets the narrowing hint.
func sourceError(err error, req Request) error {
	if e, ok := errors.AsType[*fault.Error](err); ok {
		if e.Code() == fault.RawTooLarge && e.Hint() == "" {
			return e.WithHint("the logs to search are larger than a call may read: " + tooMuch(req))
		}
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fault.New(fault.BackendError, "logs.Execute", err)
}

// closeAll closes lanes that a source left open when it failed.
func (s *sink) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lanes {
		if !l.closed {
			l.closed = true
			close(l.out)
		}
	}
}

// coverage gathers what the topics cover. The range that all of them cover is what a negative answer holds for.
type coverage struct {
	partial  bool
	covered  int
	from, to int64
	held     []string
}

// add takes a topic's report and tells whether it covers any of the range.
func (c *coverage) add(topic string, req Request, r Report) bool {
	if r.CoveredFrom.IsZero() && r.CoveredTo.IsZero() || !r.CoveredFrom.Before(r.CoveredTo) {
		s := "topic " + topic + " has no events in the range"
		if r.NoFile {
			s = "topic " + topic + ": no log file matches its paths, or all are empty"
		}
		if !r.HeldFrom.IsZero() {
			s = fmt.Sprintf("topic %s holds %s to %s", topic, showTime(r.HeldFrom.UnixNano()), showTime(r.HeldTo.UnixNano()))
		}
		c.held = append(c.held, s)
		if !r.Complete {
			c.partial = true
		}
		return false
	}
	from, to := max(r.CoveredFrom.UnixNano(), req.From.UnixNano()), min(r.CoveredTo.UnixNano(), req.To.UnixNano())
	if c.covered == 0 {
		c.from, c.to = from, to
	} else {
		c.from, c.to = max(c.from, from), min(c.to, to)
	}
	c.covered++
	c.partial = c.partial || !r.Complete
	return true
}

// span is the covered part when it is not the whole range.
func (c *coverage) span(req Request) *Span {
	if c.covered == 0 || c.covered < len(req.Topics) && c.from >= c.to {
		return nil
	}
	if c.covered == len(req.Topics) && c.from <= req.From.UnixNano() && c.to >= req.To.UnixNano() {
		return nil
	}
	return &Span{c.from, max(c.from, c.to)}
}

func (c *coverage) hint() string {
	return "nothing of the range is covered: " + strings.Join(c.held, "; ")
}
