package pattern

import (
	"hash/maphash"
	"slices"
	"strings"
)

// Groups is the outcome of a grouping.
type Groups struct {
	of       []int32
	groups   []Group // without slots and fields
	clusters []*cluster
}

// Of is the final group of a provisional id.
func (g *Groups) Of(provisional int) int { return int(g.of[provisional]) }

// Len is the number of groups.
func (g *Groups) Len() int { return len(g.groups) }

// Group returns group i. Groups are in the order of their first line.
func (g *Groups) Group(i int) Group {
	out := g.groups[i]
	if c := g.clusters[i]; c != nil {
		out.Slots, out.Fields = slotsOf(c), c.fields()
	}
	return out
}

// Brief is Group without slots and fields, which cost more than all the rest.
func (g *Groups) Brief(i int) Group { return g.groups[i] }

// item is one token of a template under merging.
type item struct {
	text  string // word or punctuation; the kind for a mask
	kind  kind
	space bool
	truth bool // a slot for true and false
}

// cluster is a template under merging.
type cluster struct {
	scope string
	items []item
	slots []*slotStat // one a slot item, in order
	count int
	first int32 // lowest provisional id, for the order of the output only
	field []*fieldStat
	mute  bool // the fields of some of its lines are not known
	dead  bool
	into  *cluster
	hash  uint64
	hs    []uint64
}

// Finish merges what was seen. The Accumulator must not be used afterwards.
func (a *Accumulator) Finish() *Groups {
	m := &merger{seed: a.seed}
	own := make([]*cluster, len(a.groups))
	for id, p := range a.groups {
		if p.rest {
			continue
		}
		c := &cluster{scope: p.key[:p.msg], items: parse(p.key[p.msg:]), count: p.count, first: int32(id)}
		for i := range p.slots {
			c.slots = append(c.slots, &p.slots[i])
		}
		c.mute = p.closed
		for i := range p.fields {
			c.field = append(c.field, &p.fields[i])
		}
		own[id] = c
		m.all = append(m.all, c)
	}
	// The order of merging is that of the templates, not of the lines.
	slices.SortFunc(m.all, func(x, y *cluster) int {
		return strings.Compare(a.groups[x.first].key, a.groups[y.first].key)
	})
	m.run()
	g := &Groups{of: make([]int32, len(a.groups))}
	index := make(map[*cluster]int32)
	for id, p := range a.groups {
		c := own[id]
		if c == nil {
			g.of[id] = int32(len(g.groups))
			g.groups = append(g.groups, Group{Template: "<rest>", Level: p.level, Topic: p.topic, Count: p.count, Rest: true})
			g.clusters = append(g.clusters, nil)
			continue
		}
		for c.into != nil {
			c = c.into
		}
		i, ok := index[c]
		if !ok {
			i = int32(len(g.groups))
			index[c] = i
			g.groups = append(g.groups, Group{Template: template(c), Level: p.level, Class: p.class, Topic: p.topic, Count: c.count})
			g.clusters = append(g.clusters, c)
		}
		g.of[id] = i
	}
	return g
}

// parse turns a masked message back into tokens.
func parse(s string) []item {
	var out []item
	space := false
	for i := 0; i < len(s); {
		switch s[i] {
		case ' ':
			space = true
			i++
			continue
		case markSlot:
			out = append(out, item{kind: kindSlot, space: space})
			i++
		case markBool:
			out = append(out, item{kind: kindSlot, space: space, truth: true})
			i++
		case markMask:
			end := strings.IndexByte(s[i:], markEnd) + i
			out = append(out, item{text: s[i+1 : end], kind: kindMask, space: space})
			i = end + 1
		default:
			t := item{kind: kindPunct, space: space}
			end := i + 1
			if classOf[s[i]] != clsSep {
				var tok token
				var next int
				tok, next = run(s, i)
				if next > int(tok.end) {
					next = int(tok.end)
				}
				end = max(next, i+1)
				for j := i; j < end; j++ { // a mark ends a word
					if s[j] <= markBool {
						end = j
					}
				}
				t.kind = tok.kind
				if t.kind != kindPunct {
					t.kind = kindWord
				}
			}
			t.text = s[i:end]
			out = append(out, t)
			i = end
		}
		space = false
	}
	return out
}

func template(c *cluster) string {
	var b strings.Builder
	n := -1
	for i, t := range c.items {
		if t.kind == kindSlot || t.kind == kindMask {
			n++
		}
		if t.space && i > 0 {
			b.WriteByte(' ')
		}
		switch t.kind {
		case kindSlot:
			if v, ok := c.constant(i, n); ok {
				b.WriteString(v)
			} else {
				b.WriteString("<*>")
			}
		case kindMask:
			b.WriteString("<" + t.text + ">")
		default:
			b.WriteString(t.text)
		}
	}
	return b.String()
}

func slotsOf(c *cluster) []Slot {
	var out []Slot
	n := -1
	for i, t := range c.items {
		if t.kind == kindSlot || t.kind == kindMask {
			n++
			if _, ok := c.constant(i, n); !ok {
				out = append(out, c.slots[n].slot(slotName(c.items, i)))
			}
		}
	}
	return out
}

// fields are the fields that a reader learns something from: listed values or a range, in the order of their names.
func (c *cluster) fields() []Slot {
	var out []Slot
	if c.mute {
		return nil
	}
	for _, f := range c.field {
		if s := f.slot(f.name); len(s.Top) > 0 || s.Min != "" {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b Slot) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// addFields adds the fields of o.
func (c *cluster) addFields(o *cluster) {
	if c.mute = c.mute || o.mute; c.mute {
		c.field, o.field = nil, nil
		return
	}
	for _, f := range o.field {
		i := slices.IndexFunc(c.field, func(x *fieldStat) bool { return x.name == f.name })
		if i >= 0 {
			c.field[i].merge(&f.slotStat)
		} else {
			c.field = append(c.field, f)
		}
	}
	o.field = nil
}

// constant is the value of a truth slot (item i, slot n) that only ever had one.
func (c *cluster) constant(i, n int) (string, bool) {
	st := c.slots[n]
	if c.items[i].truth && len(st.texts) == 1 && !st.over {
		return st.texts[0], true
	}
	return "", false
}

// slotName is the key in front of the slot at i, as in status=500 and status: "500".
func slotName(items []item, i int) string {
	j := i - 1
	if j >= 0 && items[j].kind == kindPunct && (items[j].text == `"` || items[j].text == "'") {
		j--
	}
	if j < 1 || items[j].kind != kindPunct || items[j].text != "=" && items[j].text != ":" {
		return ""
	}
	j--
	if items[j].kind == kindPunct && items[j].text == `"` && j > 0 {
		j--
	}
	if items[j].kind != kindWord {
		return ""
	}
	return items[j].text
}

type merger struct {
	seed maphash.Seed
	all  []*cluster
}

const (
	// hashBase spreads positions; any odd number with mixed bits does.
	hashBase = 0x9e3779b97f4a7c15
	wildHash = 0xd6e8feb86659fd93
	// rounds: each closes one more variable place of a template; real templates have few that the scanner does not see.
	rounds = 4
)

func (m *merger) rehash(c *cluster) {
	c.hs = c.hs[:0]
	var h uint64
	for _, t := range c.items {
		x := uint64(wildHash)
		switch t.kind {
		case kindSlot:
		default:
			x = maphash.String(m.seed, t.text) ^ uint64(t.kind)
		}
		if t.space {
			x++
		}
		c.hs = append(c.hs, x)
		h = h*hashBase + x
	}
	c.hash = h*hashBase + maphash.String(m.seed, c.scope) + uint64(len(c.items))
}

func (m *merger) run() {
	for range rounds {
		if !m.round() {
			return
		}
	}
}

func (m *merger) hashValue(s string) uint64 { return maphash.String(m.seed, s) }
