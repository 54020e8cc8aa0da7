package logs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
	"github.com/seed-069badc9/mcp-gateway/redact"
)

// memory is a source whose events are in memory.
type memory struct {
	events []Event
	report Report
	err    error
}

func (m memory) Search(_ context.Context, q Query, sink Sink) (Report, error) {
	if m.err != nil {
		return Report{}, m.err
	}
	l := sink.Lane()
	defer l.Close()
	for _, e := range m.events {
		if err := l.Emit(e); err != nil {
			return Report{}, err
		}
	}
	r := m.report
	if r.CoveredFrom.IsZero() && !r.CoveredTo.IsZero() {
		return Report{Complete: r.Complete}, nil
	}
	if r.CoveredFrom.IsZero() {
		r.CoveredFrom, r.CoveredTo = q.From, q.To
	}
	return r, nil
}

var (
	noon  = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	start = noon.Add(-time.Hour)
)

func toolOver(t testing.TB, sources map[string]Source) *Tool {
	t.Helper()
	red, err := redact.New(redact.Options{Classes: redact.All})
	if err != nil {
		t.Fatal(err)
	}
	var o Options
	for name, s := range sources {
		o.Topics = append(o.Topics, Topic{Name: name, Description: "the " + name, Source: s, Redactor: red})
	}
	tool, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// lines makes one JSON event a second.
func lines(n int, line func(i int) (level, msg string)) []Event {
	var out []Event
	for i := range n {
		level, msg := line(i)
		at := start.Add(time.Duration(i) * time.Hour / time.Duration(n))
		b, err := json.Marshal(map[string]string{"level": level, "msg": msg})
		if err != nil {
			panic(err)
		}
		out = append(out, Event{Time: at.UnixNano(), Text: b})
	}
	return out
}

// unmetered lets every byte through.
type unmetered struct{}

func (unmetered) Take(int) error { return nil }
func (unmetered) Left() int64    { return 1 << 40 }

// ask runs a request through parse, execute and project, with a bound of 16 KiB.
func ask(t testing.TB, tool *Tool, args string, bound int) (boundary.Projection[Observation], Raw, error) {
	t.Helper()
	req, err := tool.Parse(json.RawMessage(args), boundary.ParseContext{Now: noon})
	if err != nil {
		return boundary.Projection[Observation]{}, Raw{}, err
	}
	raw, err := tool.search(t.Context(), unmetered{}, req, canonical.Salt{1})
	if err != nil {
		return boundary.Projection[Observation]{}, Raw{}, err
	}
	p, err := tool.Project(req, raw, boundary.View{Salt: canonical.Salt{1}, MaxBytes: bound})
	if err != nil {
		return p, raw, err
	}
	b, err := strictjson.Encode(p.Observation)
	if err != nil || len(b) > bound {
		t.Errorf("observation of %d bytes in %d: %v", len(b), bound, err)
	}
	var again Raw
	enc, err := strictjson.Encode(raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(enc, &again); err != nil {
		t.Fatal(err)
	}
	if q, err := tool.Project(req, again, boundary.View{Salt: canonical.Salt{1}, MaxBytes: bound}); err != nil || !cmp.Equal(p, q) {
		t.Errorf("a stored answer projects to another observation: %v %s", err, cmp.Diff(p, q))
	}
	return p, raw, nil
}

// wordy is a sentence of words that no other number's sentence holds.
func wordy(k int) string {
	var out []string
	for j := range 4 + k%5 {
		w := ""
		for n := k*16 + j + 1; n > 0; n /= 20 {
			w += string("bcdfghklmnprstvwxzjq"[n%20]) + string("aeiou"[n%5])
		}
		out = append(out, w)
	}
	return strings.Join(out, " ")
}

func TestTheRarestErrorIsShownAmongTwoHundredTemplates(t *testing.T) {
	events := lines(40_000, func(i int) (string, string) {
		switch {
		case i == 31_337:
			return "FATAL", "ledger checksum mismatch in segment omega"
		case i == 17_001:
			return "ERROR", "the shelf fell down once"
		case i%4 == 0:
			return "ERROR", wordy(i / 4 % 200)
		}
		return "INFO", fmt.Sprintf("served %d", i)
	})
	p, _, err := ask(t, toolOver(t, map[string]Source{"shop": memory{events: events, report: Report{Complete: true}}}), `{"topics":["shop"]}`, 16<<10)
	if err != nil {
		t.Fatal(err)
	}
	o := p.Observation
	if o.Patterns[0].Level != "FATAL" || !strings.Contains(o.Patterns[0].Template, "omega") {
		t.Errorf("first pattern %+v", o.Patterns[0])
	}
	found, rare := false, false
	for _, e := range o.Events {
		found = found || strings.Contains(e.Message, "segment omega")
	}
	for _, v := range o.Patterns {
		rare = rare || strings.Contains(v.Template, "shelf fell")
	}
	if !found || !rare || !p.Truncated || p.Count != 40_000 {
		t.Errorf("fatal event shown %v, rare error %v, truncated %v, count %d", found, rare, p.Truncated, p.Count)
	}
	if n := len(o.Patterns) + o.PatternsOmitted; n != 203 || len(o.Patterns) < 70 {
		t.Errorf("%d patterns shown and %d omitted, want 203 together", len(o.Patterns), o.PatternsOmitted)
	}
	t.Logf("%d patterns, %d omitted, %d events", len(o.Patterns), o.PatternsOmitted, len(o.Events))
}

func TestSamplesShowOnsetAndEnd(t *testing.T) {
	events := lines(60_000, func(i int) (string, string) {
		switch {
		case i >= 20_000 && i < 40_000 && i%3 == 0:
			return "ERROR", fmt.Sprintf("gateway answered 502 after %dms", i%100)
		case i == 55_555:
			return "WARN", "certificate ends soon"
		}
		return "INFO", fmt.Sprintf("order %d accepted", i)
	})
	p, _, err := ask(t, toolOver(t, map[string]Source{"shop": memory{events: events, report: Report{Complete: true}}}), `{"topics":["shop"]}`, 16<<10)
	if err != nil {
		t.Fatal(err)
	}
	o := p.Observation
	times := make(map[string][]string)
	id := make(map[string]PatternView)
	for _, v := range o.Patterns {
		id[v.ID] = v
	}
	for _, e := range o.Events {
		times[e.Pattern] = append(times[e.Pattern], e.Time)
	}
	for p, ts := range times {
		if ts[0] != id[p].First || ts[len(ts)-1] != id[p].Last {
			t.Errorf("%s: shown from %s to %s, happened from %s to %s", id[p].Template, ts[0], ts[len(ts)-1], id[p].First, id[p].Last)
		}
	}
	if len(o.Patterns) != 3 || o.PatternsOmitted != 0 {
		t.Errorf("patterns %+v", o.Patterns)
	}
	if e := times[o.Patterns[1].ID]; len(e) != 1 {
		t.Errorf("the rare warning is shown %d times", len(e))
	}
	if !strings.Contains(o.Note, fmt.Sprintf("%d of 60000 events are shown", len(o.Events))) || strings.Count(o.Note, "\n") > 2 {
		t.Errorf("note %q", o.Note)
	}
}

func TestEmptyAndIncompleteAreToldApart(t *testing.T) {
	one := lines(1, func(int) (string, string) { return "INFO", "hello" })
	uncovered := Report{Complete: true, CoveredTo: noon}
	part := Report{Complete: true, CoveredFrom: start.Add(10 * time.Minute), CoveredTo: noon.Add(-10 * time.Minute)}
	for name, c := range map[string]struct {
		sources map[string]Source
		args    string
		code    fault.Code
		found   bool
		cut     bool
		covered string
	}{
		"complete and empty":    {map[string]Source{"a": memory{report: Report{Complete: true}}}, `{"topics":["a"]}`, "", false, false, ""},
		"incomplete and empty":  {map[string]Source{"a": memory{}}, `{"topics":["a"]}`, fault.BackendIncomplete, false, false, ""},
		"incomplete and found":  {map[string]Source{"a": memory{events: one}}, `{"topics":["a"]}`, "", true, true, ""},
		"uncovered":             {map[string]Source{"a": memory{report: uncovered}}, `{"topics":["a"]}`, fault.BackendIncomplete, false, false, ""},
		"part covered":          {map[string]Source{"a": memory{report: part}}, `{"topics":["a"]}`, "", false, false, "2026-01-01T11:10:00Z"},
		"one topic uncovered":   {map[string]Source{"a": memory{report: Report{Complete: true}}, "b": memory{report: uncovered}}, `{"topics":["a","b"]}`, fault.BackendIncomplete, false, false, ""},
		"backend error":         {map[string]Source{"a": memory{err: context.DeadlineExceeded}}, `{"topics":["a"]}`, fault.BackendTimeout, false, false, ""},
		"backend error, others": {map[string]Source{"a": memory{events: one}, "b": memory{err: fmt.Errorf("down")}}, `{"topics":["a","b"]}`, fault.BackendError, false, false, ""},
	} {
		p, _, err := ask(t, toolOver(t, c.sources), c.args, 16<<10)
		if fault.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %q", name, err, c.code)
			continue
		}
		if err == nil && (bool(p.Evidence) != c.found || p.Truncated != c.cut) {
			t.Errorf("%s: evidence %v truncated %v", name, p.Evidence, p.Truncated)
		}
		if cov := p.Observation.Scope.Covered; err == nil && (cov == nil) != (c.covered == "") || cov != nil && cov.From != c.covered {
			t.Errorf("%s: covered %+v", name, cov)
		}
	}
}

func TestAPanicInASourceIsAnError(t *testing.T) {
	_, _, err := ask(t, toolOver(t, map[string]Source{"a": panicking{}}), `{"topics":["a"]}`, 16<<10)
	if fault.CodeOf(err) != fault.Internal {
		t.Errorf("got %v", err)
	}
}

type panicking struct{}

func (panicking) Search(_ context.Context, _ Query, s Sink) (Report, error) {
	s.Lane()
	panic("secret text")
}

// The observation keeps its bound, and is marked when something is missing, whatever the events are.
func TestObservationsKeepTheirBound(t *testing.T) {
	word := rapid.OneOf(rapid.StringMatching(`[a-z]{1,12}`), rapid.StringMatching(`[0-9]{1,6}`), rapid.SampledFrom([]string{"password=Fake" + "-Value9", "192.0.2.7", "\x1b[31m", "数据库", "a\nb", "\"q\"", "<ip>", "…", "\u202e", "\xff", "{\"a\":1}"}))
	rapid.Check(t, func(rt *rapid.T) {
		var events []Event
		for i := range rapid.IntRange(1, 60).Draw(rt, "n") {
			msg := strings.Join(rapid.SliceOfN(word, 1, 40).Draw(rt, "words"), " ")
			level := rapid.SampledFrom([]string{"INFO", "ERROR", "FATAL", "odd"}).Draw(rt, "level")
			text := []byte("2026-01-01T11:00:00Z " + level + " " + msg)
			if rapid.Bool().Draw(rt, "json") {
				text, _ = json.Marshal(map[string]any{"level": level, "msg": msg, "field": msg})
			}
			events = append(events, Event{Time: start.Add(time.Duration(i) * time.Second).UnixNano(), Text: text})
		}
		tool := toolOver(t, map[string]Source{"a": memory{events: events, report: Report{Complete: true}}})
		bound := rapid.IntRange(1500, 32<<10).Draw(rt, "bound")
		p, _, err := ask(t, tool, `{"topics":["a"]}`, bound)
		if err != nil {
			rt.Fatal(err)
		}
		if !p.Truncated && len(p.Observation.Events) != len(events) {
			rt.Errorf("%d of %d events, not marked", len(p.Observation.Events), len(events))
		}
		b, err := strictjson.Encode(p.Observation)
		if err != nil {
			rt.Fatal(err)
		}
		if strings.Contains(string(b), "Fake"+"-Val") {
			rt.Errorf("leak: %s", b)
		}
	})
}

func TestTheDescriptionListsWhatMayBeSearched(t *testing.T) {
	sources := make(map[string]Source)
	for i := range 40 {
		sources[fmt.Sprintf("topic-%02d", i)] = memory{}
	}
	tool := toolOver(t, sources)
	d := tool.Spec().Describe(boundary.Grants{})
	if len(d) > 2048 || !strings.Contains(d, "topic-00: the topic-00") || !strings.Contains(d, "more") && !strings.Contains(d, "topic-39") {
		t.Errorf("%d bytes: %s", len(d), d)
	}
	g := boundary.NewGrants(map[boundary.Kind][]string{boundary.Topics: {"topic-07"}})
	if d := tool.Spec().Describe(g); !strings.Contains(d, "topic-07") || strings.Contains(d, "topic-08") {
		t.Errorf("restricted: %s", d)
	}
	_, err := tool.Parse(json.RawMessage(`{"topics":["topic-08"]}`), boundary.ParseContext{Now: noon, Grants: g})
	_, unknown := tool.Parse(json.RawMessage(`{"topics":["topic-99"]}`), boundary.ParseContext{Now: noon, Grants: g})
	_, _, h1 := fault.Public(err)
	_, _, h2 := fault.Public(unknown)
	if fault.CodeOf(err) != fault.InvalidRequest || strings.ReplaceAll(h1, "08", "99") != h2 || !strings.Contains(h1, "topic-07") {
		t.Errorf("forbidden: %q, unknown: %q", h1, h2)
	}
}

func TestScopesThatMeanTheSame(t *testing.T) {
	tool := toolOver(t, map[string]Source{"a": memory{}, "b": memory{}})
	scope := func(args string) boundary.Scope {
		req, err := tool.Parse(json.RawMessage(args), boundary.ParseContext{Now: noon})
		if err != nil {
			t.Fatal(err)
		}
		return tool.Scope(req)
	}
	x := scope(`{"topics":["b","a"],"query":"Foo bar","level":"warning","from":"-1h"}`)
	y := scope(`{"topics":["a","b","a"],"query":"BAR  foo","level":"WARN","from":"2026-01-01T11:00:00Z","to":"2026-01-01T13:00:00+01:00"}`)
	if x.Normal != y.Normal {
		t.Errorf("%q\n%q", x.Normal, y.Normal)
	}
	if z := scope(`{"topics":["a"],"query":"password=Fake` + `-Value9"}`); strings.Contains(z.Text, "Value9") || len(z.Text) > 256 {
		t.Errorf("scope text %q", z.Text)
	}
	if z := scope(`{"topics":["a"],"query":"` + strings.Repeat("long ", 400)[:1999] + `"}`); len(z.Text) > 256 {
		t.Errorf("%d bytes", len(z.Text))
	}
}

func TestAPrefilterNeverHidesAMatch(t *testing.T) {
	red, err := redact.New(redact.Options{Classes: redact.All})
	if err != nil {
		t.Fatal(err)
	}
	tags := redact.NewTagger(canonical.Salt{1})
	holds := func(need []Literal, text string) bool {
		for _, l := range need {
			if l.Fold && strings.Contains(strings.ToLower(text), l.Text) || strings.Contains(text, l.Text) {
				return true
			}
		}
		return len(need) == 0 || strings.IndexByte(text, '\\') >= 0
	}
	texts := []string{
		`{"level":"error","msg":"Gateway answered 502","status":502,"host":"shop-db-01","path":"/api/Carts"}`,
		`level=error msg="Gateway answered 502" status=502`, `2026-01-01 10:00:00 ERROR [main] a.B - Gateway answered 502 status=502`, `{"msg":"caf\u00e9 gateway"}`, `{"msg":"peer 192.0.2.7 left","level":50}`,
	}
	for _, q := range []string{"gateway", "GATEWAY 502", `"answered 502"`, "status=502", `"status=502"`, "/status=5\\d\\d/", "/(?i)gateway/", "/Gateway|Timeout/", "/(Gate|Time)way.*50[0-9]/", "level=error", "-zebra", "-zebra answered",
		"192.0.2.7", "shop-db-01", "host=shop-db-01", "café", "/caf. gate/", "/api/carts", "path=/api/carts", "/^peer/", "/x*peer{1,3}/"} {
		terms, err := ParseQuery(q)
		if err != nil {
			t.Fatal(q, err)
		}
		m := newMatcher(Request{}, terms, red, tags)
		matched := 0
		for _, text := range texts {
			r := newReader(red, tags)
			r.load([]byte(text), nil)
			if m.holds(r) {
				matched++
				if m.unlikely([]byte(text)) {
					t.Errorf("%s matches %s, which was thought unlikely", q, text)
				}
				if !holds(m.need(), text) {
					t.Errorf("%s matches %s, which the prefilter %+v drops", q, text, m.need())
				}
			}
		}
		if matched == 0 {
			t.Errorf("%s matches nothing", q)
		}
	}
}

func TestEventsWithoutALevelAreCounted(t *testing.T) {
	events := lines(5, func(i int) (string, string) { return []string{"odd", "ERROR", "odd", "INFO", "odd"}[i], "hello" })
	p, _, err := ask(t, toolOver(t, map[string]Source{"a": memory{events: events, report: Report{Complete: true}}}), `{"topics":["a"],"level":"error"}`, 16<<10)
	if err != nil || p.Count != 1 || !strings.Contains(p.Observation.Note, "3 events without a level") {
		t.Errorf("%v %+v", err, p.Observation)
	}
}
