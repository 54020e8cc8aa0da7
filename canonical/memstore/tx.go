package memstore

import (
	"cmp"
	"slices"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/internal/steps"
)

// principal is all that one principal owns.
type principal struct {
	newest  map[string]*run
	runs    map[gen]*run
	slots   map[string]pointer
	records map[place]*steps.Record
	minted  map[string]pointer
	live    map[int64]int64
	minute  int64
	granted int64
}

func newPrincipal() *principal {
	return &principal{newest: map[string]*run{}, runs: map[gen]*run{}, slots: map[string]pointer{}, records: map[place]*steps.Record{}, minted: map[string]pointer{}, live: map[int64]int64{}}
}

func (p *principal) empty() bool { return len(p.runs)+len(p.slots)+len(p.records)+len(p.minted) == 0 }

type gen struct {
	run string
	gen int64
}

type place struct{ run, call string }

// pointer names a run until a time.
type pointer struct {
	run   string
	until int64
}

// run is a run with its calls and what it has seen. It is its own steps.Facts.
type run struct {
	steps.Run
	s      *Store
	calls  map[string]*steps.Call
	order  []*steps.Call
	facts  map[string]string
	weight int64
}

func (r *run) Get(member string) (string, bool) { v, ok := r.facts[member]; return v, ok }
func (r *run) Len() int                         { return len(r.facts) }
func (r *run) Put(member, value string) {
	if _, known := r.facts[member]; !known {
		r.weigh(int64(len(member)) + 64)
	}
	r.facts[member] = value
}

func (r *run) weigh(n int64) {
	r.weight += n
	r.s.weight += n
}

// tx is one transaction. The lock of the store is held; steps check everything before they write, so nothing needs to be taken back.
type tx struct {
	s     *Store
	p     *principal
	owner string
	now   int64
	wrote bool
}

var _ steps.Tx = (*tx)(nil)

func (t *tx) Now() int64 { return t.now }

func (t *tx) Run(id string) (*steps.Run, bool) {
	if r, ok := t.p.newest[id]; ok {
		return &r.Run, true
	}
	return nil, false
}

func (t *tx) RunOf(id string, g int64) (*steps.Run, bool) {
	if r, ok := t.p.runs[gen{id, g}]; ok {
		return &r.Run, true
	}
	return nil, false
}

func (t *tx) AddRun(r *steps.Run) {
	n := &run{Run: *r, s: t.s, calls: map[string]*steps.Call{}, facts: map[string]string{}}
	n.weigh(1024)
	t.p.newest[r.ID], t.p.runs[gen{r.ID, r.Gen}] = n, n
	t.s.expire(r.Expires+canonical.RunGrace.Milliseconds(), expiry{kind: runs, owner: t.owner, gen: gen{r.ID, r.Gen}})
	t.wrote = true
}

func (t *tx) SaveRun(r *steps.Run) { t.p.runs[gen{r.ID, r.Gen}].Run = *r }

func (t *tx) Runs(max int) []*steps.Run {
	var out []*steps.Run
	for _, r := range t.p.newest {
		if t.now < r.Expires {
			out = append(out, &r.Run)
		}
	}
	slices.SortFunc(out, func(a, b *steps.Run) int { return cmp.Or(cmp.Compare(b.Opened, a.Opened), cmp.Compare(b.ID, a.ID)) })
	return out[:min(len(out), max)]
}

func (t *tx) ActiveRuns() int64 {
	n := int64(0)
	for _, r := range t.p.newest {
		if r.ActiveAt(t.now) {
			n++
		}
	}
	return n
}

func (t *tx) Slot(slot string) string { return t.p.slots[slot].run }

func (t *tx) SetSlot(slot, run string, until int64) {
	t.p.slots[slot] = pointer{run, until}
	t.s.expire(until, expiry{kind: slots, owner: t.owner, name: slot})
}

func (t *tx) of(r *steps.Run) *run { return t.p.runs[gen{r.ID, r.Gen}] }

func (t *tx) Call(r *steps.Run, call string) (*steps.Call, bool) {
	c, ok := t.of(r).calls[call]
	return c, ok
}

func (t *tx) AddCall(r *steps.Run, c *steps.Call) {
	n := t.of(r)
	n.calls[c.Info.Call] = c
	n.order = append(n.order, c)
	n.weigh(1024)
}

func (t *tx) SaveCall(r *steps.Run, c *steps.Call) {
	if !c.Info.Assessed { // an assessment adds nothing
		t.of(r).weigh(int64(len(c.Info.Control)))
	}
}

func (t *tx) Calls(r *steps.Run, offset, max int) []*steps.Call {
	order := t.of(r).order
	if offset >= len(order) {
		return nil
	}
	order = order[offset:]
	return order[:min(len(order), max)]
}

func (t *tx) Facts(r *steps.Run) steps.Facts { return t.of(r) }

func (t *tx) Record(run, call string) (*steps.Record, bool) {
	r, ok := t.p.records[place{run, call}]
	return r, ok
}

// recordWeight is what a record weighs beside its content.
const recordWeight = 1024

func weight(r *steps.Record) int64 {
	return int64(len(r.Request)+len(r.Raw)+len(r.Observation)) + recordWeight
}

func (t *tx) AddRecord(r *steps.Record) {
	t.p.records[place{r.Run, r.Call}] = r
	t.s.weight += weight(r)
	t.s.expire(r.ExpiresAt.UnixMilli(), expiry{kind: records, owner: t.owner, place: place{r.Run, r.Call}})
	t.wrote = true
}

func (t *tx) Finish(r *steps.Record) { t.s.weight += int64(len(r.Raw) + len(r.Observation)) }

func (t *tx) Minted(call string) string { return t.p.minted[call].run }

func (t *tx) SetMinted(call, run string, until int64) {
	t.p.minted[call] = pointer{run, until}
	t.s.expire(until, expiry{kind: minted, owner: t.owner, name: call})
}

func (t *tx) Live() int64 {
	sum := int64(0)
	for end, n := range t.p.live {
		if end <= t.now {
			delete(t.p.live, end)
			continue
		}
		sum += n
	}
	return sum
}

func (t *tx) AddLive(end, n int64) { t.p.live[end] += n }

func (t *tx) Rate(minute int64) int64 {
	if t.p.minute != minute {
		return 0
	}
	return t.p.granted
}

func (t *tx) AddRate(minute int64) {
	t.p.granted = t.Rate(minute) + 1
	t.p.minute = minute
}
