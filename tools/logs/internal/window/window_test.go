package window

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/tools/logs"
)

var start = time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)

// server is a backend over a list of events with bounds of its own.
type server struct {
	times  []int64 // sorted
	needle func(i int) bool
	text   func(i int) string
	limit  int           // the most events that it gives; 0: any number
	tells  bool          // it says so
	width  time.Duration // the widest range; 0: any
	since  time.Time     // what is older it does not show
	fail   error
	asks   int
}

func (s *server) Fetch(_ context.Context, a Ask, p *Page) error {
	s.asks++
	switch {
	case s.fail != nil:
		return s.fail
	case s.width > 0 && a.To.Sub(a.From) > s.width:
		return &Narrow{Range: true}
	case s.limit > 0 && a.Limit > s.limit && s.tells:
		return &Narrow{Limit: s.limit}
	case s.limit > 0 && a.Limit > s.limit:
		return &Narrow{}
	}
	var idx []int
	for i, t := range s.times {
		if t >= a.From.UnixNano() && t < a.To.UnixNano() && t >= s.since.UnixNano() && (!a.Filtered || s.needle == nil || s.needle(i)) {
			idx = append(idx, i)
		}
	}
	if len(idx) > a.Limit {
		if a.Oldest {
			idx = idx[:a.Limit]
		} else {
			idx = idx[len(idx)-a.Limit:]
		}
	}
	rand.Shuffle(len(idx), func(i, j int) { idx[i], idx[j] = idx[j], idx[i] })
	for _, i := range idx {
		text := fmt.Sprint("event ", i)
		if s.text != nil {
			text = s.text(i)
		}
		if err := p.Add(s.times[i], []byte(text), nil); err != nil {
			return err
		}
	}
	return nil
}

// sink keeps what it is given.
type sink struct {
	events []logs.Event
	fail   error
	closed int
}

func (s *sink) Lane() logs.Lane { return s }
func (s *sink) Found() bool     { return false }
func (s *sink) Close()          { s.closed++ }
func (s *sink) Emit(e logs.Event) error {
	e.Text = slices.Clone(e.Text)
	s.events = append(s.events, e)
	return s.fail
}

func query(minutes int) logs.Query {
	return logs.Query{From: start, To: start.Add(time.Duration(minutes) * time.Minute), Now: start.Add(24 * time.Hour), MaxScan: 1 << 40}
}

func TestEveryEventIsHandedOverOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		unit := []time.Duration{1, time.Millisecond}[r.IntN(2)]
		spread := []time.Duration{time.Hour, time.Second, 40 * unit}[r.IntN(3)]
		srv := &server{}
		for range r.IntN(200) {
			srv.times = append(srv.times, start.Add(time.Duration(r.Int64N(int64(spread)))).UnixNano())
		}
		slices.Sort(srv.times)
		per := map[int64]int{}
		crowd := 0
		for _, at := range srv.times {
			per[at/int64(unit)]++
			crowd = max(crowd, per[at/int64(unit)])
		}
		o := Options{Limit: 1 + r.IntN(30), Unit: unit}
		o.Most = o.Limit * (1 + r.IntN(3))
		if r.IntN(3) == 0 {
			srv.limit, srv.tells = 1+r.IntN(o.Most+1), r.IntN(2) == 0
		}
		if r.IntN(3) == 0 {
			srv.width = time.Duration(1+r.IntN(40)) * time.Minute
		}
		var out sink
		rep, err := Search(t.Context(), query(60), &out, srv, o)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		most := o.Most
		if srv.limit > 0 {
			most = min(most, srv.limit-1)
		}
		if rep.Complete && len(out.events) != len(srv.times) || !rep.Complete && crowd <= min(o.Limit, most) && (srv.limit == 0 || srv.tells) {
			t.Fatalf("seed %d: %d of %d events, complete %v; at most %d in one unit, options %+v, server's limit %d", seed, len(out.events), len(srv.times), rep.Complete, crowd, o, srv.limit)
		}
		seen := map[string]bool{}
		for _, e := range out.events {
			if seen[string(e.Text)] {
				t.Fatalf("seed %d: %s came twice", seed, e.Text)
			}
			seen[string(e.Text)] = true
		}
		if out.closed != 1 {
			t.Fatalf("seed %d: lane closed %d times", seed, out.closed)
		}
	}
}

func TestTheOrderIsTheSameHoweverTheServerAnswers(t *testing.T) {
	t.Parallel()
	srv := &server{}
	for i := range 500 {
		srv.times = append(srv.times, start.Add(time.Duration(i/3)*time.Second).UnixNano())
	}
	var first []string
	for range 3 {
		var out sink
		if _, err := Search(t.Context(), query(60), &out, srv, Options{Limit: 40, Unit: 1}); err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, e := range out.events {
			texts = append(texts, string(e.Text))
		}
		if first != nil && !slices.Equal(first, texts) {
			t.Fatal("two searches, two orders")
		}
		first = texts
	}
}

func TestLargeEventsAreAskedForInSmallerNumbers(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("word ", 40<<10)
	srv := &server{text: func(i int) string { return fmt.Sprint(i, " ", big) }}
	for i := range 300 { // 60 MB
		srv.times = append(srv.times, start.Add(time.Duration(i)*time.Second).UnixNano())
	}
	var out sink
	rep, err := Search(t.Context(), query(60), &out, srv, Options{Limit: 1000, Unit: 1})
	if err != nil || len(out.events) != 300 || !rep.Complete {
		t.Errorf("%d events, %+v, %v", len(out.events), rep, err)
	}
	srv.text = func(i int) string { return strings.Repeat("x", i*pageBytes/200) } // the last ones do not fit by themselves
	if _, err := Search(t.Context(), query(60), &sink{}, srv, Options{Limit: 1000, Unit: 1}); fault.CodeOf(err) != fault.RawTooLarge {
		t.Errorf("events over the bound of an answer: %v, want RAW_TOO_LARGE", err)
	}
}

func TestWhatIsCoveredFollowsFromTheEventsAround(t *testing.T) {
	t.Parallel()
	at := func(hours ...float64) (out []int64) {
		for _, h := range hours {
			out = append(out, start.Add(time.Duration(h*float64(time.Hour))).UnixNano())
		}
		return out
	}
	for _, c := range []struct {
		name     string
		times    []int64
		since    float64 // how far back the server looks, in hours from the start of the range
		hours    int     // of the range
		from, to float64 // covered; equal: nothing
	}{
		{"nothing at all", nil, -1000, 1, 0, 0},
		{"events before and in it", at(-1, 0.5), -1000, 1, 0, 1},
		{"events before only", at(-20), -1000, 1, 0, 1},
		{"events long before", at(-30), -1000, 1, 0, 0},
		{"events behind it only", at(5), -1000, 1, 0, 0},
		{"it begins within", at(0.25, 0.5), -1000, 1, 0.25, 1},
		{"the look-back ends within", at(-2, 0.1, 0.25, 0.5), 0.2, 1, 0.25, 1},
		{"the look-back ends behind it", at(-2, 0.1, 0.25, 0.5), 2, 1, 0, 0},
		{"silent for days at the end", at(-1, 10), -1000, 72, 0, 34},
		{"alive at the end of a long range", at(-1, 10, 60), -1000, 72, 0, 72},
		{"silent before it but not for a day", at(-1), -1000, 48, 0, 23},
	} {
		for _, filtered := range []bool{false, true} {
			srv := &server{times: c.times, since: start.Add(time.Duration(c.since * float64(time.Hour))), needle: func(int) bool { return false }}
			q := query(c.hours * 60)
			if filtered {
				q.Need = []logs.Literal{{Text: "x"}}
			}
			rep, err := Search(t.Context(), q, &sink{}, srv, Options{Limit: 100, Unit: 1})
			if err != nil || !rep.Complete {
				t.Errorf("%s: %+v, %v", c.name, rep, err)
			}
			var from, to float64
			if !rep.CoveredTo.IsZero() {
				from, to = rep.CoveredFrom.Sub(start).Hours(), rep.CoveredTo.Sub(start).Hours()
			}
			if from != c.from || to != c.to {
				t.Errorf("%s, filtered %v: covered %v to %v, want %v to %v", c.name, filtered, from, to, c.from, c.to)
			}
		}
	}
}

func TestErrorsAreNotTurnedIntoAnswers(t *testing.T) {
	t.Parallel()
	times := []int64{start.UnixNano(), start.Add(time.Second).UnixNano(), start.Add(2 * time.Second).UnixNano()}
	down := fault.New(fault.BackendBusy, "test", nil)
	if _, err := Search(t.Context(), query(60), &sink{}, &server{times: times, fail: down}, Options{Limit: 10, Unit: 1}); !errors.Is(err, down) {
		t.Errorf("backend's error: %v", err)
	}
	own := errors.New("sink")
	if _, err := Search(t.Context(), query(60), &sink{fail: own}, &server{times: times}, Options{Limit: 10, Unit: 1}); !errors.Is(err, own) {
		t.Errorf("sink's error: %v", err)
	}
	if _, err := Search(t.Context(), query(60), &sink{}, &server{times: times, width: time.Millisecond}, Options{Limit: 10, Unit: 1}); fault.CodeOf(err) != fault.BackendError {
		t.Errorf("a server that accepts no range: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Search(ctx, query(60), &sink{}, &server{times: times}, Options{Limit: 10, Unit: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	partial := partially{&server{times: times}}
	if rep, err := Search(t.Context(), query(60), &sink{}, partial, Options{Limit: 10, Unit: 1}); err != nil || rep.Complete {
		t.Errorf("a partial answer: %+v, %v", rep, err)
	}
	outside := lying{&server{times: times}}
	if _, err := Search(t.Context(), query(60), &sink{}, outside, Options{Limit: 10, Unit: 1}); fault.CodeOf(err) != fault.BackendError {
		t.Errorf("events that were not asked for: %v", err)
	}
}

type partially struct{ *server }

func (s partially) Fetch(ctx context.Context, a Ask, p *Page) error {
	p.Partial = true
	return s.server.Fetch(ctx, a, p)
}

type lying struct{ *server }

func (s lying) Fetch(_ context.Context, a Ask, p *Page) error {
	return p.Add(a.To.UnixNano(), []byte("later"), nil)
}

func TestExpressionsHoldTextsAsTheyAre(t *testing.T) {
	t.Parallel()
	got := Literals([]logs.Literal{{Text: `a.b|c\`, Fold: true}, {Text: `(x)`}})
	if want := `(?i:a\.b\|c\\)|\(x\)`; got != want {
		t.Errorf("Literals = %s, want %s", got, want)
	}
	for name, want := range map[string]bool{"Order.ID": true, "x(x)": true, "order": false, "": false} {
		if got := NamesAny(name, []logs.Literal{{Text: "order.id", Fold: true}, {Text: "(x)"}}); got != want {
			t.Errorf("NamesAny(%q) = %v", name, got)
		}
	}
}

func TestADocumentIsReadAsItsAgentLeftIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, object, message string
		line                  bool
	}{
		{"decoded", `{"level":"error","message":"card declined"}`, "card declined", false},
		{"decoded, message looks like a line", `{"level":"error","message":"level=info msg=x"}`, "level=info msg=x", false},
		{"no level anywhere", `{"message":"card declined"}`, "card declined", false},
		{"no message", `{"status":"502"}`, "", false},
		{"JSON line", `{"pod":"p","message":"{}"}`, `{"level":"error","msg":"x"}`, true},
		{"logfmt line", `{"pod":"p","message":""}`, `level=info msg="x y"`, true},
		{"text layout", `{"pod":"p","message":""}`, `2026-01-01 10:00:00,000 ERROR [main] com.example.Pay - text`, true},
		{"wrapped line", `{"pod":"p","message":""}`, `2026-01-01T10:00:00.000000000Z stdout F hello`, true},
		{"coloured line", `{"pod":"p","message":""}`, "\x1b[31mred\x1b[0m", true},
	} {
		var d Document
		text, labels := d.Event([]byte(c.object), c.message, func() []logs.Label { return []logs.Label{{Key: "pod", Value: "p"}, {Key: "app", Value: "a"}} })
		if line := string(text) == c.message && c.message != ""; line != c.line || line != (len(labels) == 2 && labels[0].Key == "app") {
			t.Errorf("%s: %s %v", c.name, text, labels)
		}
	}
	if got := string(Object(nil, []logs.Label{{Key: `a"b`, Value: "x\n<y>"}, {Key: "c", Value: "\xff"}})); got != `{"a\"b":"x\n<y>","c":"`+"\uFFFD"+`"}` {
		t.Errorf("Object = %s", got)
	}
}
