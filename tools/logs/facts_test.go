package logs

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/line"
)

// textLines makes one event a second of whole lines.
func textLines(n int, line func(i int) string) []Event {
	out := make([]Event, n)
	for i := range out {
		out[i] = Event{Time: start.Add(time.Duration(i) * time.Hour / time.Duration(n)).UnixNano(), Text: []byte(line(i))}
	}
	return out
}

func observe(t *testing.T, events []Event, args string) Observation {
	t.Helper()
	p, _, err := ask(t, toolOver(t, map[string]Source{"shop": memory{events: events, report: Report{Complete: true}}}), `{"topics":["shop"]`+args+`}`, 16<<10)
	if err != nil {
		t.Fatal(err)
	}
	return p.Observation
}

func valuesIn(v PatternView) string {
	var out []string
	for _, x := range v.Values {
		out = append(out, x.Slot+": "+strings.Join(x.Top, ", "))
	}
	return strings.Join(out, " | ")
}

// Of a structured event its fields tell the cause: "payment failed" is the same for every reason. Few events are kept whole, many are summarised; both must say the
// same.
func TestFieldsBesideTheMessageAreCounted(t *testing.T) {
	t.Parallel()
	for _, n := range []int{60, 30_000} {
		o := observe(t, textLines(n, func(i int) string {
			status, reason := 502, "upstream orders timed out"
			if i%10 == 0 {
				status, reason = 504, "no route"
			}
			return fmt.Sprintf(`{"level":"error","msg":"payment failed","status":%d,"reason_text":%q,"order":%d,"trace":"%032x","password":"pw-%d","customer":"c%d@example.com","host":"web-%d"}`, status, reason, i, i*7, i, i, i%2)
		}), "")
		got := valuesIn(o.Patterns[0])
		for _, want := range []string{
			fmt.Sprintf("status: 502 x%d, 504 x%d", n*9/10, n/10), fmt.Sprintf("reason_text: upstream orders timed out x%d, no route x%d", n*9/10, n/10), fmt.Sprintf("order: 0..%d", n-1), "host: <host:",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("%d events: values %s, want %s", n, got, want)
			}
		}
		for _, not := range []string{"password", "pw-", "trace", "example.com", "customer"} {
			if strings.Contains(got, not) {
				t.Errorf("%d events: values hold %s: %s", n, not, got)
			}
		}
	}
}

// The attack: values beside a message are counted without being redacted each, when they are short numbers; so are some addresses, phone numbers and codes.
func TestShortNumbersThatAreHiddenStayHidden(t *testing.T) {
	t.Parallel()
	hidden := map[string]string{"peer": "10.0.0.1", "phone": "555014477", "otp": "482913", "pin": "4829", "pid": "28341", "password": "12345678", "verification_code": "482913", "cvv": "713", "ip": "10.1.2.3", "mobile": "13800138"}
	var fields strings.Builder
	for k, v := range hidden {
		fmt.Fprintf(&fields, `,%q:%q,"n_%s":%q`, k, v, k, v)
	}
	tool := toolOver(t, map[string]Source{"shop": memory{}})
	red := tool.topics["shop"].Redactor
	r := newReader(red, redact.NewTagger([32]byte{1}))
	r.load([]byte(`{"level":"error","msg":"x"`+fields.String()+`,"took":12.5,"count":-3,"port":8080}`), nil)
	r.facts() // the keys are known from here on
	for _, f := range r.ev.Fields {
		if f.Used {
			continue
		}
		_, want := r.field(f)
		r.known.out = r.known.out[:0]
		r.fact(f.Key, f.Value)
		for _, got := range r.known.out {
			if got.Value != want {
				t.Errorf("%s: %s is counted as %s, shown as %s", f.Key, f.Value, got.Value, want)
			}
		}
	}
	r.known.out = r.known.out[:0]
	r.fact([]byte("took"), []byte("12.5"))
	r.fact([]byte("count"), []byte("-3"))
	r.fact([]byte("port"), []byte("8080"))
	if got := fmt.Sprint(r.known.out); got != "[{took 12.5 false} {count -3 false} {port 8080 false}]" {
		t.Errorf("%s", got)
	}
}

func TestAccessLinesGroupByRoute(t *testing.T) {
	t.Parallel()
	o := observe(t, textLines(400, func(i int) string {
		status := 200
		if i%4 == 0 {
			status = 502 + i%8/4
		}
		return fmt.Sprintf(`192.0.2.7 - - [01/Jan/2026:11:00:00 +0000] "GET /api/%s/%d?token=pw%d HTTP/1.1" %d %d "-" "curl" rt=0.%03d`, []string{"orders", "carts"}[i%2], i, i, status, i, i)
	}), `,"level":"error"`)
	if len(o.Patterns) != 1 || o.Patterns[0].Template != "GET /api/orders/<*>" || o.Patterns[0].Count != 100 {
		t.Fatalf("%+v", o.Patterns)
	}
	if got := valuesIn(o.Patterns[0]); !strings.Contains(got, "status: 502 x50, 503 x50") || !strings.Contains(got, "rt: 0.000..0.396") {
		t.Errorf("values %s", got)
	}
	if !strings.Contains(o.Events[0].Message, `"GET /api/orders/0?token=<secret> HTTP/1.1" 502`) {
		t.Errorf("event %+v", o.Events[0])
	}
}

// Of an access line the client and the user matched a search and were not shown: who floods the shop could not be seen. A client that sends user:password for basic
// authentication puts both into the log.
func TestAnAccessLineShowsWhoAsked(t *testing.T) {
	t.Parallel()
	o := observe(t, textLines(40, func(i int) string {
		return fmt.Sprintf(`192.0.2.%d - %s [01/Jan/2026:11:00:%02d +0000] "GET /api/orders HTTP/1.1" 200 12 "-" "curl/8"`, 7+i%4/3, []string{"bob", "-", "bob:Tulip7x"}[i%3], i)
	}), "")
	if got := o.Events[0].Message; !regexp.MustCompile(`"curl/8" client=<ip:[a-z2-7]{6}> user=bob$`).MatchString(got) {
		t.Errorf("event %q", got)
	}
	if got := valuesIn(o.Patterns[0]); !strings.Contains(got, "client: <ip:") || !strings.Contains(got, " x30") || !strings.Contains(got, "user: bob x14") {
		t.Errorf("values %s", got)
	}
	b, err := json.Marshal(o)
	if err != nil || strings.Contains(string(b), "Tulip7x") || !strings.Contains(string(b), "bob:") {
		t.Errorf("%v: %s", err, b)
	}
}

func TestBytesThatAreNoTextAreOnePattern(t *testing.T) {
	t.Parallel()
	o := observe(t, textLines(300, func(i int) string {
		if i%3 == 0 {
			return fmt.Sprintf("served %d", i)
		}
		b := []byte{0xff, 0xfe, 0x80, 0x81, byte(i), byte(0x80 + i%64), 'a', 0xc0}
		return string(slices.Repeat(b, 1+i%7))
	}), "")
	if len(o.Patterns) != 2 || o.Patterns[0].Count != 200 || o.Patterns[0].Template != "(not text)" {
		t.Errorf("%+v", o.Patterns)
	}
}

// A flood of errors of many kinds leaves room for what happened beside it: the rarest line of no severity may be the cause.
func TestErrorsOfManyKindsLeaveTheOthersVisible(t *testing.T) {
	t.Parallel()
	o := observe(t, lines(30_000, func(i int) (string, string) {
		switch {
		case i == 12_345:
			return "INFO", "deploy of the pricing table finished"
		case i == 23_456:
			return "WARN", "the clock was set back"
		case i%5 == 0:
			return "INFO", fmt.Sprintf("served %d", i)
		}
		return "ERROR", wordy(i % 190)
	}), "")
	var all strings.Builder
	for _, v := range o.Patterns {
		all.WriteString(v.Template + "\n")
	}
	for _, want := range []string{"deploy of the pricing table", "the clock was set back", "served <*>"} {
		if !strings.Contains(all.String(), want) {
			t.Errorf("%q is not among %d patterns", want, len(o.Patterns))
		}
	}
}

func TestManyKindsKeepBothEndsOfEachSeverity(t *testing.T) {
	t.Parallel()
	var all []Group
	for i := range 3000 {
		g := Group{Level: "ERROR", Count: int64(5000 - i), Template: fmt.Sprint("e", i)}
		if i >= 2000 {
			g = Group{Level: "INFO", Count: int64(5000 - i), Template: fmt.Sprint("i", i)}
		}
		all = append(all, g)
	}
	kept := trimGroups(all, func(g Group) *Group { return &g })
	var names []string
	for _, g := range kept {
		names = append(names, g.Template)
	}
	if len(kept) != maxGroups || !slices.Contains(names, "e0") || !slices.Contains(names, "e1999") || !slices.Contains(names, "i2000") || !slices.Contains(names, "i2999") {
		t.Errorf("%d kept, first %s, last %s", len(kept), names[0], names[len(names)-1])
	}
	if !slices.IsSortedFunc(kept, func(a, b Group) int { return int(severity(b.Level)) - int(severity(a.Level)) }) || severity("ERROR") != line.Error {
		t.Error("not in order of severity")
	}
}

func TestEqualStacksAreShownOnceAPattern(t *testing.T) {
	t.Parallel()
	o := observe(t, textLines(200, func(i int) string {
		return fmt.Sprintf("2026-01-01 11:00:00 ERROR [main] com.example.Cart - order %d failed\njava.lang.IllegalStateException: cart %d is gone\n\tat com.example.Cart.pay(Cart.java:12)\n\tat com.example.Api.post(Api.java:%d)", i, i, 7)
	}), "")
	shown := 0
	for _, e := range o.Events {
		if e.Stack != "" {
			shown++
			if strings.Contains(e.Stack, "failed") || !strings.HasPrefix(e.Stack, "java.lang.IllegalStateException: cart ") {
				t.Errorf("stack %q", e.Stack)
			}
		}
	}
	if shown != 1 || len(o.Events) != 12 || !strings.Contains(o.Note, "shown once") {
		t.Errorf("%d stacks in %d events, note %q", shown, len(o.Events), o.Note)
	}
}

// A flood of one message took sixty places of an observation that nobody reads twice.
func TestAFloodOfOnePatternIsShownByADozen(t *testing.T) {
	t.Parallel()
	line := func(i int) string {
		return fmt.Sprintf("2026-01-01 11:%02d:00 ERROR [main] shop.Pay - order %d declined", i%60, i)
	}
	for _, c := range []struct {
		n     int
		limit string
		want  int
	}{{60, "", 60}, {61, "", 12}, {400, "", 12}, {400, `,"limit":40`, 40}} {
		o := observe(t, textLines(c.n, line), c.limit)
		if len(o.Events) != c.want || o.Patterns[0].Count != int64(c.n) {
			t.Errorf("%d lines%s: %d events, %d counted, want %d", c.n, c.limit, len(o.Events), o.Patterns[0].Count, c.want)
		}
	}
}

// A pattern shows runs of blanks and line ends as one blank; its words are found as they are shown.
func TestWordsOfAPatternFindItsEvents(t *testing.T) {
	t.Parallel()
	events := textLines(3, func(i int) string {
		return []string{`{"level":"error","msg":"cart  of\tbob\nwas lost"}`, `{"level":"error","msg":"cart of bob was kept"}`, "2026-01-01 11:00:00 ERROR cart   of bob was lost"}[i]
	})
	for query, want := range map[string]int{`\"of bob was lost\"`: 2, `\"cart of bob\"`: 3, `-\"cart of bob was lost\"`: 1} {
		if o := observe(t, events, `,"query":"`+query+`"`); len(o.Events) != want {
			t.Errorf("%s: %d events, want %d", query, len(o.Events), want)
		}
	}
}

// Models write key:value as other query languages do.
func TestAKeyWithAColonFindsTheField(t *testing.T) {
	t.Parallel()
	events := textLines(3, func(i int) string {
		return []string{`{"level":"error","msg":"declined","status":502,"peer":{"Name":"Gateway"}}`, `{"level":"info","msg":"declined","status":200}`, `2026-01-01 11:00:00 WARN answer status:502 seen`}[i]
	})
	for query, want := range map[string]int{"status:502": 2, "level:error": 1, "-level:info": 2, "peer.name:gateway": 1, "name:gateway declined": 1, "status:50": 1, `msg:\"declined\"`: 2, "declin*": 2} {
		if o := observe(t, events, `,"query":"`+query+`"`); len(o.Events) != want {
			t.Errorf("%s: %d events, want %d", query, len(o.Events), want)
		}
	}
}

// Whatever the lines are, what is kept of them is bounded.
func TestMemoryIsBoundedWhateverIsRead(t *testing.T) {
	live := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := live()
	tl := newTally(Request{From: start, To: noon})
	tool := toolOver(t, map[string]Source{"shop": memory{}})
	r := newReader(tool.topics["shop"].Redactor, nil)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 60_000 {
		var b strings.Builder
		fmt.Fprintf(&b, `{"level":%q,"msg":"`, []string{"fatal", "error", "info"}[i%3])
		for range 12 {
			b.WriteString(wordy(rnd.IntN(900)) + " ")
		}
		b.WriteString(`"`)
		for k := range 14 {
			fmt.Fprintf(&b, `,"k%d_%d":"v%d"`, k, rnd.IntN(3), rnd.IntN(1<<20))
		}
		b.WriteString("}")
		r.load([]byte(b.String()), nil)
		m, c := r.grouped()
		tl.add(&hit{time: start.UnixNano() + int64(i), level: r.level(), message: m, class: c, facts: r.facts(), text: []byte(b.String())})
	}
	if grown := live() - before; grown > 56<<20 {
		t.Errorf("%d MiB are kept while reading", grown>>20)
	}
	sum, events := tl.summary(exampleKeep)
	var n int64
	for _, g := range sum.Groups {
		n += g.Count
	}
	if len(sum.Groups) != maxGroups || len(events) == 0 || n <= 20_000 {
		t.Errorf("%d groups of %d events, %d examples", len(sum.Groups), n, len(events))
	}
	runtime.KeepAlive(tl)
}

func TestTheScopeIsWhatWasSearched(t *testing.T) {
	t.Parallel()
	o := observe(t, textLines(3, func(int) string { return "x" }), `,"from":"2026-01-01T11:00:00.000000001Z","to":"2026-01-01T11:30:00Z"`)
	if o.Scope.From != "2026-01-01T11:00:00.000000001Z" || len(o.Events) != 1 {
		t.Errorf("%+v", o.Scope)
	}
}
