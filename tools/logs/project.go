package logs

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/pattern"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/stack"
)

var (
	errRoom  = errors.New("the bound of the observation leaves no room")
	errTopic = errors.New("stored event of an unknown topic")
)

// Project shows patterns first, then the events that explain them, within the bound.
func (t *Tool) Project(req Request, raw Raw, v boundary.View) (boundary.Projection[Observation], error) {
	p := &projector{req: req, raw: raw, view: v, tags: redact.NewTagger(v.Salt)}
	for _, u := range req.Topics {
		red, err := t.redactor(u)
		if err != nil {
			return boundary.Projection[Observation]{}, err
		}
		p.readers = append(p.readers, newReader(red, p.tags))
	}
	for _, i := range slices.Concat(raw.Uncovered, raw.Untimed) {
		if i < 0 || i >= len(req.Topics) {
			return boundary.Projection[Observation]{}, fault.New(fault.ProjectionError, "logs.Project", errTopic)
		}
	}
	for i := range raw.Events {
		if e := &raw.Events[i]; e.Topic < 0 || e.Topic >= len(p.readers) || raw.Summary != nil && (e.Group < 0 || e.Group >= len(raw.Summary.Groups)) {
			return boundary.Projection[Observation]{}, fault.New(fault.ProjectionError, "logs.Project", errTopic)
		}
	}
	p.obs.Scope = p.scope(t.safeQuery(req, p.tags))
	p.obs.Patterns, p.obs.Events = []PatternView{}, []EventView{}
	out := boundary.Projection[Observation]{Evidence: canonical.None, Count: int(raw.Total)}
	if raw.Total > 0 {
		out.Evidence = canonical.Found
		p.group()
		if err := p.fill(); err != nil {
			return out, err
		}
		out.Items = p.items()
	} else {
		p.room = v.MaxBytes
		p.obs.Note = p.note()
		if size(p.obs) > v.MaxBytes {
			p.obs.Note = ""
		}
		if size(p.obs) > v.MaxBytes {
			return out, fault.New(fault.ProjectionError, "logs.Project", errRoom)
		}
	}
	out.Observation, out.Truncated = p.obs, p.cut
	return out, nil
}

// projector turns one raw answer into one observation.
type projector struct {
	req     Request
	raw     Raw
	view    boundary.View
	tags    *redact.Tagger
	readers []*reader
	groups  []Group
	events  []RawEvent
	obs     Observation
	room    int
	cut     bool
	ids     map[int]string // shown groups
	picked  []pickedEvent
	stacks  map[string]bool // shown, by group and text without numbers
	once    bool            // a stack was left out because it was shown
}

type pickedEvent struct {
	index int
	view  EventView
}

func (p *projector) scope(query string) ScopeView {
	s := ScopeView{From: exactTime(p.req.From.UnixNano()), To: exactTime(p.req.To.UnixNano()), Level: p.req.Level, Query: query}
	for _, u := range p.req.Topics {
		s.Topics = append(s.Topics, u.Name)
	}
	if c := p.raw.Coverage; c != nil {
		s.Covered = &RangeView{showTime(c.From), showTime(c.To)}
	}
	return s
}

// group gives the groups of the summary, or groups the events that were kept whole.
func (p *projector) group() {
	if s := p.raw.Summary; s != nil {
		p.groups, p.events = s.Groups, p.raw.Events
		return
	}
	p.events = slices.Clone(p.raw.Events)
	acc := pattern.NewAccumulator(pattern.Options{})
	ids := make([]int, len(p.events))
	for i := range p.events {
		e := &p.events[i]
		r := p.readers[e.Topic]
		r.load([]byte(e.Text), e.Labels)
		msg, class := r.grouped()
		ids[i] = acc.Add(pattern.Line{Message: msg, Level: r.level().String(), Class: class, Topic: strconv.Itoa(e.Topic), Fields: r.facts()})
	}
	gs := acc.Finish()
	groups := make([]Group, gs.Len())
	for g := range groups {
		src := gs.Group(g)
		topic, _ := strconv.Atoi(src.Topic)
		groups[g] = Group{Template: tidy(src.Template), Level: src.Level, Class: src.Class, Topic: topic, Rest: src.Rest, Buckets: make([]int64, buckets), Values: valuesOf(src)}
	}
	for i := range p.events {
		e, g := &p.events[i], &groups[gs.Of(ids[i])]
		if g.Count == 0 || e.Time < g.First {
			g.First = e.Time
		}
		if g.Count == 0 || e.Time > g.Last {
			g.Last = e.Time
		}
		g.Count++
		g.Buckets[bucketOf(e.Time, p.req.From, p.req.To)]++
	}
	place := make([]int, len(groups))
	for i := range place {
		place[i] = i
	}
	slices.SortStableFunc(place, func(a, b int) int { return compareGroups(&groups[a], &groups[b]) })
	at := make([]int, len(groups))
	for n, g := range place {
		p.groups = append(p.groups, groups[g])
		at[g] = n
	}
	for i := range p.events {
		p.events[i].Group = at[gs.Of(ids[i])]
	}
}

// Shares of the room and caps of what is shown. A note of two sentences and two hint lines fits into noteRoom.
const (
	noteRoom     = 520
	templateCap  = 400
	templateTiny = 110
	itemMargin   = 6 // comma and a longer id
)

// fill puts patterns, their values and events into the room. Patterns win: events get what is left, but for a small reserve, so that the severest are seen at all.
func (p *projector) fill() error {
	base := p.obs
	base.PatternsOmitted = 1 << 30
	p.room = p.view.MaxBytes - size(base) - min(noteRoom, p.view.MaxBytes/5)
	if p.room < 200 {
		return fault.New(fault.ProjectionError, "logs.Project", errRoom)
	}
	total := p.room
	p.ids = make(map[int]string, len(p.groups))
	views := make([]PatternView, len(p.groups))
	all := 0
	for g := range p.groups {
		views[g] = p.pattern(g, templateCap)
		all += size(views[g]) + itemMargin
	}
	if all > total*2/3 { // many patterns: short templates let more of them be seen
		for g := range p.groups {
			if len(views[g].Template) > templateTiny {
				views[g].Template = p.template(p.groups[g].Topic, views[g].Template, templateTiny)
			}
		}
	}
	reserve := min(total/5, 700*max(1, min(3, p.fatals())))
	order := mixed(p.groups, priority(p.groups))
	shown := make([]bool, len(p.groups))
	for _, g := range order {
		n := size(views[g]) + itemMargin
		if n > p.room-reserve {
			p.cut = true
			p.obs.PatternsOmitted++
			continue
		}
		p.room -= n
		shown[g] = true
	}
	if s := p.raw.Summary; s != nil && s.Omitted > 0 {
		p.obs.PatternsOmitted += s.Omitted
		p.cut = true
	}
	for g := range p.groups {
		if !shown[g] {
			continue
		}
		views[g].ID = "p" + strconv.Itoa(len(p.ids)+1)
		p.ids[g] = views[g].ID
		if strings.HasSuffix(views[g].Template, cutMark) {
			p.cut = true
		}
	}
	p.values(views, shown, order, min(total/6, max(p.room-reserve, 0)))
	for g := range views {
		if shown[g] {
			p.obs.Patterns = append(p.obs.Patterns, views[g])
		}
	}
	p.showEvents()
	if int64(len(p.obs.Events)) < p.raw.Total || p.raw.Partial || len(p.raw.Shifted) > 0 {
		p.cut = true
	}
	p.obs.Note = p.note()
	for size(p.obs) > p.view.MaxBytes && p.obs.Note != "" { // only a very small bound comes here
		p.obs.Note = p.obs.Note[:max(strings.LastIndexByte(p.obs.Note, '\n'), 0)]
	}
	if size(p.obs) > p.view.MaxBytes {
		return fault.New(fault.ProjectionError, "logs.Project", errRoom)
	}
	return nil
}

func (p *projector) fatals() int {
	n := 0
	for i := range p.groups {
		if p.groups[i].Level == "FATAL" {
			n++
		}
	}
	return n
}

func (p *projector) pattern(g int, limit int) PatternView {
	src := &p.groups[g]
	v := PatternView{ID: "p999", Count: src.Count, Level: src.Level, First: showTime(src.First), Last: showTime(src.Last)}
	if len(p.req.Topics) > 1 {
		v.Topic = p.req.Topics[src.Topic].Name
	}
	text := src.Template
	switch {
	case src.Rest && text == "":
		text = "(messages too long or too many to group)"
	case src.Class != "":
		if last := src.Class[strings.LastIndexByte(src.Class, ' ')+1:]; !strings.Contains(text, last) {
			text += " [" + last + "]"
		}
	case text == "":
		text = "(empty message)"
	}
	v.Template = p.template(src.Topic, text, limit)
	return v
}

// template shows a template: made inert, cut, redacted once more like every shown text.
func (p *projector) template(topic int, text string, limit int) string {
	red := p.readers[topic].red
	return red.Text(p.show(red.Text(text, p.tags), limit), p.tags)
}

// values adds what stood in the slots, for the patterns in their order, within room.
func (p *projector) values(views []PatternView, shown []bool, order []int, room int) {
	order = slices.Clone(order)
	slices.SortStableFunc(order, func(a, b int) int { return int(min(p.groups[b].Count, 2) - min(p.groups[a].Count, 2)) }) // of a single event, the event itself says it
	for _, g := range order {
		if !shown[g] || len(p.groups[g].Values) == 0 {
			continue
		}
		red := p.readers[p.groups[g].Topic].red
		var vs []Values
		for _, v := range p.groups[g].Values {
			w := Values{Slot: p.show(red.Text(v.Slot, p.tags), 40)}
			for _, s := range v.Top {
				w.Top = append(w.Top, p.show(red.Text(s, p.tags), 90))
			}
			vs = append(vs, w)
		}
		n := size(vs) + len(`,"values":`)
		for n > room && len(vs) > 1 { // what comes first tells most
			p.cut = true
			vs = vs[:len(vs)-1]
			n = size(vs) + len(`,"values":`)
		}
		if n > room {
			p.cut = true
			continue
		}
		room -= n
		p.room -= n
		views[g].Values = vs
	}
}

const (
	// plenty is how many events are shown one by one whatever they are, room permitting.
	plenty = 60
	// alike is how many of one group are shown when there are more: two dozen lines that differ in a number cost a model's context and tell it nothing that the
	// pattern's count, span and values do not. A caller that wants them sets limit.
	alike = 12
)

// showEvents adds events in the order of what they explain and then puts them into the order of time.
func (p *projector) showEvents() {
	limit := p.req.Limit
	if limit == 0 {
		limit = maxSample
	}
	p.stacks = make(map[string]bool)
	shown := make([]int, len(p.groups))
	picks := sample(p.groups, p.events)
	wide := min(max(p.room/max(min(len(picks), 24), 1), 400), 6000)
	misses := 0
	for _, i := range picks {
		if len(p.picked) == limit {
			break
		}
		g := p.events[i].Group
		if _, ok := p.ids[g]; !ok || p.req.Limit == 0 && p.raw.Total > plenty && shown[g] >= alike {
			continue
		}
		v, cut := p.event(i, wide)
		n := size(v) + itemMargin
		if n > p.room {
			if v, cut = p.event(i, 160); size(v)+itemMargin > p.room {
				if misses++; misses > 8 { // the room is used up
					break
				}
				continue
			}
			n = size(v) + itemMargin
		}
		p.cut = p.cut || cut
		p.room -= n
		if v.Stack != "" {
			p.stacks[stackKey(p.events[i].Group, v.Stack)] = true
		}
		shown[g]++
		p.picked = append(p.picked, pickedEvent{i, v})
	}
	slices.SortFunc(p.picked, func(a, b pickedEvent) int { return a.index - b.index })
	for n := range p.picked {
		v := &p.picked[n].view
		v.ID = "e" + strconv.Itoa(n+1)
		p.obs.Events = append(p.obs.Events, *v)
	}
}

// event shows one event within about limit bytes of text.
func (p *projector) event(i, limit int) (EventView, bool) {
	e := &p.events[i]
	r := p.readers[e.Topic]
	r.load([]byte(e.Text), e.Labels)
	cut := e.Cut
	message := r.message()
	head, trace, _ := split(message, r.stack())
	extra := r.extra()
	for _, l := range e.Labels {
		if len(extra) < maxShown {
			extra = strings.TrimSpace(extra + " " + r.red.Text(l.Key, p.tags) + "=" + r.red.Field(l.Key, l.Value, p.tags))
		}
	}
	if extra != "" {
		head = strings.TrimSpace(head + " " + extra)
	}
	v := EventView{ID: "e999", Time: showTime(e.Time), Level: r.level().String(), Pattern: p.ids[e.Group]}
	if len(p.req.Topics) > 1 {
		v.Topic = p.req.Topics[e.Topic].Name
	}
	v.Service = p.final(r, r.service(), 80, &cut)
	if trace != "" {
		trimmed, omitted := stack.Trim(trace, stack.Options{InApp: p.req.Topics[e.Topic].App})
		cut = cut || omitted > 0
		if first, rest, ok := strings.Cut(trimmed, "\n"); ok && first == message[:min(len(first), len(message))] {
			trimmed = rest // the message shows it
		}
		v.Stack = p.final(r, trimmed, limit*3/2, &cut)
		if p.stacks[stackKey(e.Group, v.Stack)] {
			v.Stack, cut, p.once = "", true, true
		}
	}
	v.Message = p.final(r, head, limit, &cut)
	return v, cut
}

// stackKey is equal for stacks of one group that differ in numbers only.
func stackKey(group int, s string) string {
	return strconv.Itoa(group) + "\n" + strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, s)
}

// cutMark ends a text that was cut.
const cutMark = "…"

// final is the last step of every shown text: made inert, cut on a rune border, redacted once more.
func (p *projector) final(r *reader, s string, limit int, cut *bool) string {
	s = redact.Clean(s)
	if len(s) > limit {
		*cut = true
		s = clip(s, limit) + cutMark
	}
	return r.red.Text(s, p.tags)
}

// show makes a text inert and cuts it. The caller has redacted it.
func (p *projector) show(s string, limit int) string {
	s = redact.Clean(s)
	if len(s) > limit {
		s = strings.TrimSuffix(clip(s, limit), cutMark) + cutMark
	}
	return s
}

func size(v any) int {
	b, err := strictjson.Encode(v)
	if err != nil {
		return 1 << 30
	}
	return len(b)
}

// items are what the model was shown: each pattern, and of a pattern's events what is new in them.
func (p *projector) items() []canonical.Item {
	var out []canonical.Item
	key := func(g int) string {
		src := &p.groups[g]
		return digest(src.Template, src.Level, src.Class, p.req.Topics[src.Topic].Name)[:16]
	}
	seen := make(map[int]bool, len(p.ids))
	for _, e := range p.picked {
		g := p.events[e.index].Group
		seen[g] = true
		out = append(out, canonical.Item{Key: key(g), Detail: digest(e.view.Message, e.view.Stack)[:16]})
	}
	for g := range p.groups {
		if _, shown := p.ids[g]; shown && !seen[g] {
			out = append(out, canonical.Item{Key: key(g)})
		}
	}
	return out[:min(len(out), canonical.MaxItems)]
}
