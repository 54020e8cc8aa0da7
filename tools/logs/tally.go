package logs

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/seed-069badc9/mcp-gateway/tools/logs/line"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/pattern"
)

// tally groups events and keeps, for each group, what sampling needs: count, first, last, counts a bucket and raw examples. Memory is bounded however many events
// come. Fatal events, errors and the rest are grouped apart, so that a flood of one cannot push out a single one of the other.
type tally struct {
	req   Request
	parts [3]part
}

type part struct {
	acc   *pattern.Accumulator
	stats []stat
	room  int // bytes of examples that may still be kept
}

type stat struct {
	count       int64
	first, last example
	buckets     [buckets]uint32
	samples     *[buckets]*example
}

type example struct {
	time   int64
	text   []byte
	labels []Label
	beside int // bytes of labels
	topic  int32
	set    bool
	kept   bool
	cut    bool
}

// exampleRoom bounds the raw examples of one part while events stream: with it and the bounds of package pattern the process stays below 128 MiB, whatever it reads.
const exampleRoom = 3 << 20

func newTally(req Request) *tally {
	t := &tally{req: req}
	for i := range t.parts {
		t.parts[i] = part{acc: pattern.NewAccumulator(pattern.Options{}), room: exampleRoom}
	}
	return t
}

func partOf(level string) int {
	switch level {
	case "FATAL":
		return 0
	case "ERROR":
		return 1
	}
	return 2
}

// hit is a matching event: its raw form and what grouping needs of its redacted one.
type hit struct {
	topic   int
	time    int64
	level   line.Level
	message string
	class   string
	facts   []pattern.Field
	text    []byte
	labels  []Label
	cut     bool
}

// size is what a hit counts against bounds: its text and what the source knows beside it.
func (h *hit) size() int { return len(h.text) + labelBytes(h.labels) }

func labelBytes(labels []Label) int {
	n := 0
	for _, l := range labels {
		n += len(l.Key) + len(l.Value)
	}
	return n
}

func (t *tally) add(h *hit) {
	level := h.level.String()
	p := &t.parts[partOf(level)]
	id := p.acc.Add(pattern.Line{Message: h.message, Level: level, Class: h.class, Topic: strconv.Itoa(h.topic), Fields: h.facts})
	for id >= len(p.stats) {
		p.stats = append(p.stats, stat{})
	}
	s := &p.stats[id]
	b := bucketOf(h.time, t.req.From, t.req.To)
	s.count++
	s.buckets[b]++
	switch {
	case !s.first.set:
		p.keep(&s.first, h)
	case h.time < s.first.time:
		if !s.last.set {
			s.last, s.first = s.first, example{}
		}
		p.keep(&s.first, h)
	case !s.last.set || h.time >= s.last.time:
		p.keep(&s.last, h)
	}
	// A few spread samples of the groups that were met first: rare groups are few events anyway.
	if len(h.text) <= 8<<10 && p.room > exampleRoom/2 {
		if s.samples == nil {
			s.samples = new([buckets]*example)
		}
		if s.samples[b] == nil {
			s.samples[b] = &example{}
			p.keep(s.samples[b], h)
		}
	}
}

// keep stores h as an example. An example that finds no room keeps its time: first and last stay exact.
func (p *part) keep(e *example, h *hit) {
	e.set, e.time, e.topic, e.cut = true, h.time, int32(h.topic), h.cut
	labels := labelBytes(h.labels)
	grow := max(len(h.text)-cap(e.text), 0) + labels - e.beside
	if grow > p.room {
		e.kept = false
		return
	}
	p.room -= grow
	e.beside = labels
	e.kept = true
	e.text = append(e.text[:0], h.text...)
	e.labels = h.labels
}

// final is a group at the end with its examples.
type final struct {
	Group
	at int // in the grouping
	ex []example
}

// summary ends the grouping; room bounds the bytes of examples. Groups are ordered by severity, then by count.
func (t *tally) summary(room int) (*Summary, []RawEvent) {
	var all []final
	total := 0
	for i := range t.parts {
		fs, n := t.parts[i].finish()
		t.parts[i] = part{} // one after the other, so that the memory of one is free for the next
		total += n
		all = append(all, fs...)
	}
	slices.SortStableFunc(all, func(a, b final) int { return compareGroups(&a.Group, &b.Group) })
	if len(all) > maxGroups {
		all = trimGroups(all, func(f final) *Group { return &f.Group })
	}
	sum := &Summary{Omitted: total - len(all)}
	var events []RawEvent
	for g := range all {
		sum.Groups = append(sum.Groups, all[g].Group)
	}
	// Round by round, so that every group gets its first, then its last, then spread ones while there is room.
	for g := range all {
		all[g].ex = order(all[g].ex)
	}
	for round := range 2 + buckets {
		for g := range all {
			if round >= len(all[g].ex) {
				continue
			}
			e := all[g].ex[round]
			n := len(e.text) + e.beside
			if n > room {
				continue
			}
			room -= n
			events = append(events, RawEvent{Topic: int(e.topic), Time: e.time, Text: string(e.text), Labels: e.labels, Cut: e.cut, Group: g})
		}
	}
	slices.SortStableFunc(events, func(a, b RawEvent) int { return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Group, b.Group)) })
	return sum, events
}

// finish ends the grouping of a part. It gives the groups that may be kept and tells how many there were.
func (p *part) finish() ([]final, int) {
	gs := p.acc.Finish()
	fs := make([]final, gs.Len())
	for g := range fs {
		src := gs.Brief(g)
		topic, _ := strconv.Atoi(src.Topic)
		fs[g] = final{Group: Group{Template: tidy(src.Template), Level: src.Level, Class: src.Class, Topic: topic, Rest: src.Rest}, at: g}
	}
	for id := range p.stats {
		s := &p.stats[id]
		if s.count == 0 {
			continue
		}
		f := &fs[gs.Of(id)]
		last := s.last.time
		if !s.last.set {
			last = s.first.time
		}
		if f.Count == 0 || s.first.time < f.First {
			f.First = s.first.time
		}
		if f.Count == 0 || last > f.Last {
			f.Last = last
		}
		f.Count += s.count
		if f.Buckets == nil {
			f.Buckets = make([]int64, buckets)
		}
		for b, n := range s.buckets {
			f.Buckets[b] += int64(n)
		}
		f.ex = append(f.ex, s.first, s.last)
		if s.samples == nil {
			continue
		}
		for _, e := range s.samples {
			if e != nil {
				f.ex = append(f.ex, *e)
			}
		}
	}
	n := len(fs)
	slices.SortStableFunc(fs, func(a, b final) int { return compareGroups(&a.Group, &b.Group) })
	if n > maxGroups {
		fs = trimGroups(fs, func(f final) *Group { return &f.Group })
	}
	for i := range fs {
		fs[i].Values = valuesOf(gs.Group(fs[i].at))
	}
	return fs, n
}

// order puts a group's examples in the order of need: the first, the last, then one a bucket; an event is kept once.
func order(ex []example) []example {
	ex = slices.DeleteFunc(ex, func(e example) bool { return !e.set || !e.kept })
	slices.SortStableFunc(ex, func(a, b example) int { return cmp.Compare(a.time, b.time) })
	ex = slices.CompactFunc(ex, func(a, b example) bool { return a.time == b.time && string(a.text) == string(b.text) })
	if len(ex) > 2 {
		last := ex[len(ex)-1]
		mid := ex[1 : len(ex)-1]
		step := max(1, (len(mid)+buckets-1)/buckets)
		out := []example{ex[0], last}
		for i := 0; i < len(mid); i += step {
			out = append(out, mid[i])
		}
		return out
	}
	return ex
}

// compareGroups orders by severity, then count, then what makes the order total.
func compareGroups(a, b *Group) int {
	return cmp.Or(cmp.Compare(severity(b.Level), severity(a.Level)), cmp.Compare(b.Count, a.Count), cmp.Compare(a.First, b.First), cmp.Compare(a.Template, b.Template),
		cmp.Compare(a.Class, b.Class), cmp.Compare(a.Topic, b.Topic))
}

func severity(level string) line.Level { return line.ParseLevel([]byte(level), false) }

// trimGroups keeps maxGroups: by severity, and of each kind both the frequent and the rare. Many errors must not hide all of the others.
func trimGroups[T any](all []T, group func(T) *Group) []T {
	severe := 0
	for _, f := range all {
		if severity(group(f).Level) >= line.Error {
			severe++
		}
	}
	rest := max(maxGroups-severe, min(len(all)-severe, maxGroups/10))
	return append(ends(all[:severe], maxGroups-rest), ends(all[severe:], rest)...)
}

// ends is the first and the last part of a list, n elements of it in all.
func ends[T any](l []T, n int) []T {
	if n >= len(l) {
		return slices.Clone(l)
	}
	head := (n + 1) / 2
	return append(slices.Clone(l[:head]), l[len(l)-(n-head):]...)
}
