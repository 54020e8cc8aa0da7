package pattern

import (
	"cmp"
	"slices"
)

// place is one word of a cluster seen as if it were a slot.
type place struct {
	hash uint64
	c    *cluster
	pos  int32
	at   int32 // index of c, for a fixed order
}

// round merges clusters that differ in one place, where that place looks like a variable. It reports whether anything
// was merged.
func (m *merger) round() bool {
	live := m.all[:0]
	var places []place
	for _, c := range m.all {
		if c.dead {
			continue
		}
		live = append(live, c)
		m.rehash(c)
	}
	m.all = live
	m.unify()
	m.rewrite()
	pow := []uint64{}
	for at, c := range m.all {
		if c.dead {
			continue
		}
		n := len(c.items)
		for len(pow) <= n {
			if len(pow) == 0 {
				pow = append(pow, hashBase)
			} else {
				pow = append(pow, pow[len(pow)-1]*hashBase)
			}
		}
		for i, t := range c.items {
			if t.kind == kindPunct {
				continue
			}
			w := uint64(wildHash)
			if t.space {
				w++
			}
			places = append(places, place{c.hash + (w-c.hs[i])*pow[n-1-i], c, int32(i), int32(at)})
		}
	}
	slices.SortFunc(places, func(a, b place) int {
		if a.hash != b.hash {
			return cmp.Compare(a.hash, b.hash)
		}
		if a.pos != b.pos {
			return cmp.Compare(a.pos, b.pos)
		}
		return cmp.Compare(a.at, b.at)
	})
	var cands []candidate
	for i := 0; i < len(places); {
		j := i + 1
		for j < len(places) && places[j].hash == places[i].hash && places[j].pos == places[i].pos {
			j++
		}
		if j-i > 1 {
			if c, ok := m.weigh(places[i:j]); ok {
				cands = append(cands, c)
			}
		}
		i = j
	}
	slices.SortStableFunc(cands, func(a, b candidate) int {
		if a.score != b.score {
			return cmp.Compare(b.score, a.score)
		}
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		return cmp.Compare(a.places[0].pos, b.places[0].pos)
	})
	merged := false
	for _, c := range cands {
		merged = m.apply(c) || merged
	}
	return merged
}

type candidate struct {
	places []place
	score  int
	key    string
}

// same says whether two clusters are equal but for position pos.
func same(a, b *cluster, pos int32) bool {
	if a.scope != b.scope || len(a.items) != len(b.items) {
		return false
	}
	for i, t := range a.items {
		if int32(i) == pos {
			if t.space != b.items[i].space {
				return false
			}
			continue
		}
		if t != b.items[i] {
			return false
		}
	}
	return true
}

// unify joins clusters that have become equal.
func (m *merger) unify() {
	by := make(map[uint64]*cluster, len(m.all))
	for _, c := range m.all {
		if o, ok := by[c.hash]; ok && same(o, c, -1) {
			join(o, c, -1, m)
		} else {
			by[c.hash] = c
		}
	}
}

// rewrite joins templates that print the same value in another form: "peer ()" is "peer (<*>)" with an empty value, and
// "LOCAL(<*>)" is a value where others have "<*>". Only what meets a template that is there already is rewritten.
func (m *merger) rewrite() {
	by := make(map[uint64]*cluster, len(m.all))
	for _, c := range m.all {
		if !c.dead {
			by[c.hash] = c
		}
	}
	for _, c := range m.all {
		for i := 1; i < len(c.items) && !c.dead; i++ {
			f := m.filled(c, i)
			if f == nil {
				f = m.folded(c, i)
			}
			if f == nil {
				continue
			}
			m.rehash(f)
			if o := by[f.hash]; o != nil && !o.dead && o != c && same(o, f, -1) {
				join(o, f, -1, m)
				c.dead, c.into, c.slots = true, o, nil
			}
		}
	}
}

// filled is c with an empty value between the brackets at i-1 and i.
func (m *merger) filled(c *cluster, i int) *cluster {
	if !isPair(c.items[i-1], c.items[i]) {
		return nil
	}
	st := &slotStat{}
	st.add(m.hashValue(""), "", c.count)
	return &cluster{
		scope: c.scope, count: c.count, first: c.first, field: c.field, mute: c.mute,
		items: slices.Insert(slices.Clone(c.items), i, item{kind: kindSlot}),
		slots: slices.Insert(slices.Clone(c.slots), slotIndex(c.items, i), st),
	}
}

// folded is c with the name at i-1 and the slot in brackets behind it as one slot.
func (m *merger) folded(c *cluster, i int) *cluster {
	if i+2 >= len(c.items) || c.items[i].text != "(" || c.items[i].space || c.items[i-1].kind != kindWord ||
		c.items[i+1].kind != kindSlot || c.items[i+2].text != ")" {
		return nil
	}
	at := slotIndex(c.items, i)
	st := &slotStat{}
	name := c.items[i-1].text + "()"
	st.add(m.hashValue(name), name, c.count)
	f := &cluster{scope: c.scope, count: c.count, first: c.first, field: c.field, mute: c.mute}
	f.items = slices.Replace(slices.Clone(c.items), i-1, i+3, item{kind: kindSlot, space: c.items[i-1].space})
	f.slots = slices.Replace(slices.Clone(c.slots), at, at+1, st)
	if words(f.items) < minConsts {
		return nil
	}
	return f
}

func words(items []item) int {
	n := 0
	for _, t := range items {
		if t.kind == kindWord {
			n++
		}
	}
	return n
}

func isPair(a, b item) bool {
	if a.kind != kindPunct || b.kind != kindPunct || b.space {
		return false
	}
	switch a.text + b.text {
	case "()", "[]", "{}", "<>", `""`, "''":
		return true
	}
	return false
}

// slotIndex is how many slots stand in front of item pos.
func slotIndex(items []item, pos int) int {
	n := 0
	for _, t := range items[:pos] {
		if t.kind == kindSlot || t.kind == kindMask {
			n++
		}
	}
	return n
}

// join adds o to c; at pos c has a slot and o may have a word.
func join(c, o *cluster, pos int32, m *merger) {
	oi := 0
	ci := 0
	for i := range c.items {
		k := o.items[i].kind
		slot := k == kindSlot || k == kindMask
		if c.items[i].kind == kindSlot || c.items[i].kind == kindMask {
			if slot {
				c.slots[ci].merge(o.slots[oi])
			} else {
				c.slots[ci].add(m.hashValue(o.items[i].text), o.items[i].text, o.count)
			}
			ci++
		}
		if slot {
			oi++
		}
	}
	c.addFields(o)
	c.count += o.count
	c.first = min(c.first, o.first)
	o.dead, o.into = true, c
	o.slots = nil
}

func (m *merger) weigh(ps []place) (candidate, bool) {
	c0, pos := ps[0].c, ps[0].pos
	words := map[string]int{}
	slot := 0
	for _, p := range ps {
		if p.pos != pos || p.c != c0 && !same(c0, p.c, pos) {
			return candidate{}, false
		}
		t := p.c.items[pos]
		if t.kind == kindWord {
			words[t.text] += p.c.count
		} else {
			slot++
		}
	}
	consts := 0
	for i, t := range c0.items {
		if int32(i) != pos && t.kind == kindWord {
			consts++
		}
	}
	// Without words, masks of different kinds stand there, or masks and plain values.
	if len(words) == 0 && consts == 0 || len(words) > 0 && !decide(c0.items, int(pos), words, slot, consts) {
		return candidate{}, false
	}
	return candidate{places: ps, score: len(words) + slot, key: template(c0)}, true
}

func (m *merger) apply(cd candidate) bool {
	var c *cluster
	n := 0
	for _, p := range cd.places {
		if !p.c.dead {
			n++
		}
	}
	if n < 2 {
		return false
	}
	for _, p := range cd.places {
		o := p.c
		if o.dead {
			continue
		}
		if c == nil {
			c = o
			m.open(c, int(p.pos))
			continue
		}
		join(c, o, p.pos, m)
	}
	return true
}

// open turns the word at pos into a slot.
func (m *merger) open(c *cluster, pos int) {
	t := c.items[pos]
	c.items = slices.Clone(c.items)
	c.items[pos] = item{kind: kindSlot, space: t.space}
	if t.kind != kindWord {
		return
	}
	at := slotIndex(c.items, pos)
	st := &slotStat{}
	st.add(m.hashValue(t.text), t.text, c.count)
	c.slots = slices.Insert(slices.Clone(c.slots), at, st)
}
