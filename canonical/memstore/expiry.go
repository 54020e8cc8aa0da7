package memstore

import (
	"container/heap"
)

// kind is what an expiry drops.
type kind uint8

const (
	records kind = iota
	runs
	slots
	minted
)

// expiry is one thing that ends at a time.
type expiry struct {
	at    int64
	kind  kind
	owner string
	name  string
	place place
	gen   gen
}

// expiries is a heap, soonest first.
type expiries []expiry

func (q expiries) Len() int           { return len(q) }
func (q expiries) Less(i, j int) bool { return q[i].at < q[j].at }
func (q expiries) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *expiries) Push(x any)        { *q = append(*q, x.(expiry)) }
func (q *expiries) Pop() any {
	old := *q
	last := old[len(old)-1]
	old[len(old)-1] = expiry{}
	*q = old[:len(old)-1]
	return last
}

func (s *Store) expire(at int64, e expiry) {
	e.at = at
	heap.Push(&s.queue, e)
}

// purge drops all that ended at or before now.
func (s *Store) purge(now int64) {
	for len(s.queue) > 0 && s.queue[0].at <= now {
		e := heap.Pop(&s.queue).(expiry)
		p := s.all[e.owner]
		if p == nil {
			continue
		}
		switch e.kind {
		case records:
			if r, ok := p.records[e.place]; ok {
				s.weight -= weight(r)
				delete(p.records, e.place)
			}
		case runs:
			if r, ok := p.runs[e.gen]; ok {
				s.weight -= r.weight
				delete(p.runs, e.gen)
				if p.newest[e.gen.run] == r {
					delete(p.newest, e.gen.run)
				}
			}
		case slots:
			if p.slots[e.name].until <= now {
				delete(p.slots, e.name)
			}
		case minted:
			if p.minted[e.name].until <= now {
				delete(p.minted, e.name)
			}
		}
		if p.empty() {
			delete(s.all, e.owner)
		}
	}
}
