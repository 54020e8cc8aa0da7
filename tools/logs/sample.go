package logs

import (
	"math"
	"slices"

	"github.com/seed-069badc9/mcp-gateway/tools/logs/line"
)

// maxSample is how many events are considered for an observation: more than fit into the largest one.
const maxSample = 600

// sample orders events by how much they explain: the first event of every fatal and error pattern, then their last ones, the start and the end of all, then the
// rarest patterns, then the rest by the square root of their count over equal parts of the time in which something happened. No chance is involved: the same events
// give the same order. It returns indexes into events, which are in order of time; each belongs to groups[events[i].Group].
func sample(groups []Group, events []RawEvent) []int {
	if len(events) == 0 {
		return nil
	}
	of := make([][]int, len(groups))
	for i := range events {
		of[events[i].Group] = append(of[events[i].Group], i)
	}
	s := &sampler{taken: make([]bool, len(events))}
	first := func(g int) { s.take(of[g][0]) }
	last := func(g int) { s.take(of[g][len(of[g])-1]) }
	var fatal, failed, rest []int
	for _, g := range priority(groups) {
		if len(of[g]) == 0 {
			continue
		}
		switch severity(groups[g].Level) {
		case line.Fatal:
			fatal = append(fatal, g)
		case line.Error:
			failed = append(failed, g)
		default:
			rest = append(rest, g)
		}
	}
	each(fatal, first)
	each(failed, first)
	s.take(0)
	s.take(len(events) - 1)
	each(fatal, last)
	each(failed, last)
	byCount := slices.Clone(rest)
	slices.SortStableFunc(byCount, func(a, b int) int { return int(min(groups[a].Count, 3) - min(groups[b].Count, 3)) })
	for _, g := range byCount {
		if groups[g].Count <= 2 {
			first(g)
			last(g)
		}
	}
	each(rest, first)
	s.spread(groups, events, of)
	return s.out
}

func each(gs []int, fn func(int)) {
	for _, g := range gs {
		fn(g)
	}
}

type sampler struct {
	taken []bool
	out   []int
}

func (s *sampler) take(i int) {
	if !s.taken[i] && len(s.out) < maxSample {
		s.taken[i] = true
		s.out = append(s.out, i)
	}
}

// spread gives every group events in proportion to the square root of its count, one a part of time before any part gets a second.
func (s *sampler) spread(groups []Group, events []RawEvent, of [][]int) {
	from, to := events[0].Time, events[len(events)-1].Time+1
	width := max((to-from)/buckets, 1)
	queues := make([][]int, len(groups))
	for g, idx := range of {
		queues[g] = bySpread(idx, events, from, width)
	}
	next := make([]float64, len(groups)) // when a group's turn comes: the smaller the weight, the longer its steps
	for len(s.out) < maxSample {
		best := -1
		for g := range groups {
			if len(queues[g]) > 0 && (best < 0 || next[g] < next[best]) {
				best = g
			}
		}
		if best < 0 {
			return
		}
		s.take(queues[best][0])
		queues[best] = queues[best][1:]
		next[best] += 1 / math.Sqrt(float64(max(groups[best].Count, 1)))
	}
}

// bySpread orders a group's events: round by round one of each part of time, the one nearest the part's centre, outer parts first so that onset and end are seen.
func bySpread(idx []int, events []RawEvent, from, width int64) []int {
	var parts [buckets][]int
	for _, i := range idx {
		b := min(int((events[i].Time-from)/width), buckets-1)
		parts[b] = append(parts[b], i)
	}
	for b := range parts {
		centre := from + int64(b)*width + width/2
		slices.SortStableFunc(parts[b], func(x, y int) int {
			return int(min(max(dist(events[x].Time, centre)-dist(events[y].Time, centre), -1), 1))
		})
	}
	out := make([]int, 0, len(idx))
	for len(out) < len(idx) && len(out) < maxSample {
		for k := range buckets {
			b := k / 2
			if k%2 == 1 {
				b = buckets - 1 - k/2
			}
			if len(parts[b]) > 0 {
				out = append(out, parts[b][0])
				parts[b] = parts[b][1:]
			}
		}
	}
	return out
}

func dist(a, b int64) int64 {
	if a < b {
		return b - a
	}
	return a - b
}

// priority orders groups for showing when not all fit: by severity, within one alternately the most frequent and the rarest. groups are in order of severity and
// falling count.
func priority(groups []Group) []int {
	out := make([]int, 0, len(groups))
	for i := 0; i < len(groups); {
		j := i
		for j < len(groups) && severity(groups[j].Level) == severity(groups[i].Level) {
			j++
		}
		for lo, hi := i, j-1; lo <= hi; lo, hi = lo+1, hi-1 {
			out = append(out, lo)
			if lo != hi {
				out = append(out, hi)
			}
		}
		i = j
	}
	return out
}

// mixed lets every level be seen: fatal groups first, then of five groups four of the severest and one of the others, level by level in turn. order is what priority
// gives.
func mixed(groups []Group, order []int) []int {
	var severe []int
	var rest [line.Error][]int
	out := make([]int, 0, len(order))
	for _, g := range order {
		switch l := severity(groups[g].Level); {
		case l >= line.Fatal:
			out = append(out, g)
		case l >= line.Error:
			severe = append(severe, g)
		default:
			rest[l] = append(rest[l], g)
		}
	}
	level := int(line.Error)
	other := func() bool {
		for range rest {
			if level--; level < 0 {
				level = int(line.Error) - 1
			}
			if q := rest[level]; len(q) > 0 {
				out, rest[level] = append(out, q[0]), q[1:]
				return true
			}
		}
		return false
	}
	for i, g := range severe {
		if out = append(out, g); i%4 == 3 {
			other()
		}
	}
	for other() {
	}
	return out
}
