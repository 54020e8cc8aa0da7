package line

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the expected parts of testdata/formats.txt")

// describe is a line's reading: time, level, service, message, then the fields; a star marks those that a part was read from.
func describe(l string) string {
	ns, ok := NewClock(time.UTC, time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)).Time([]byte(l))
	at := "-"
	if ok {
		at = time.Unix(0, ns).UTC().Format(time.RFC3339Nano)
	}
	var p Parser
	e := p.Parse([]byte(l))
	var fs strings.Builder
	for _, f := range e.Fields {
		mark := ""
		if f.Used {
			mark = "*"
		}
		fmt.Fprintf(&fs, " %s%s=%s", f.Key, mark, f.Value)
	}
	return fmt.Sprintf("%s | %s | %s | %q |%s", at, e.Level, e.Service, e.Message, fs.String())
}

// testdata/formats.txt holds pairs of lines: a log line and, behind "=> ", how it is read.
func TestFormatsAreRead(t *testing.T) {
	data, err := os.ReadFile("testdata/formats.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	last, n := "", 0
	for l := range strings.Lines(string(data)) {
		l = strings.TrimSuffix(l, "\n")
		want, isWant := strings.CutPrefix(l, "=> ")
		if !isWant {
			if last = l; l == "" || l[0] == '#' {
				last = ""
			}
			out.WriteString(l + "\n")
			if *update && last != "" {
				out.WriteString("=> " + describe(last) + "\n")
			}
			continue
		}
		n++
		if got := describe(last); got != want && !*update {
			t.Errorf("%s\n got %s\nwant %s", last, got, want)
		}
	}
	if *update {
		if err := os.WriteFile("testdata/formats.txt", []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if n < 60 {
		t.Errorf("only %d lines", n)
	}
}

func TestContinuationLinesBelongToTheMessage(t *testing.T) {
	var p Parser
	for text, want := range map[string]string{
		"2026-01-01 10:00:00 ERROR a.B - boom\njava.lang.X: y\n\tat a.B.c(B.java:1)":            "boom\njava.lang.X: y\n\tat a.B.c(B.java:1)",
		`{"level":"error","msg":"m"}` + "\npanic: x":                                            "m\npanic: x",
		"2026-01-01T10:00:00.000000000Z stderr F boom\n\tat x":                                  "boom\n\tat x",
		`{"log":"ERROR boom\n","stream":"stderr","time":"2026-01-01T10:00:01.5Z"}` + "\n\tat x": "boom\n\tat x",
		`{"level":"error","msg":"a","stack":"E: m\n    at f (/app/x.js:1:2)"}`:                  "a",
		"\x1b[31mERROR\x1b[0m red message":                                                      "red message",
		"2026-01-01 10:00:00 INFO plain\n":                                                      "plain",
		`{"message":"caf\u00e9 \ud83d\ude00 \u0041"}`:                                           "café 😀 A",
		`{"message":"broken \u12 escape \q"}`:                                                   `broken \u12 escape q`,
		`{"message":"unterminated`:                                                              `unterminated`,
		`{"level":"error","msg":"m","pass`:                                                      `m "pass`,
		`{"level":"error",broken}`:                                                              `broken}`,
		`{"unknown":"unterminated`:                                                              `{"unknown":"unterminated`,
		`{"level":"info"} trailing`:                                                             " trailing",
		"time=2026-01-01T10:00:00Z level=error msg=\"quoted \\\"x\\\" text\" err=\"a b\"":       `quoted "x" text`,
		"just a=b in prose":                                                                     "just a=b in prose",
		"":                                                                                      "",
	} {
		if got := string(p.Parse([]byte(text)).Message); got != want {
			t.Errorf("Parse(%q).Message = %q, want %q", text, got, want)
		}
	}
}

func TestALevelInsideAMessageIsNoLevel(t *testing.T) {
	var p Parser
	for text, want := range map[string]Level{
		`{"msg":"{\"level\":\"fatal\"}","level":"info"}`:                    Info,
		`{"msg":"\"level\":\"fatal\""}`:                                     None,
		`{"payload":{"level":"fatal"},"level":"debug","msg":"x"}`:           Debug,
		`2026-01-01 10:00:00 INFO [main] a.B - the ERROR was handled`:       Info,
		`2026-01-01 10:00:00 connection had an error`:                       None,
		`2026-01-01 10:00:00 user said: ERROR`:                              None,
		`level=info msg="level=fatal"`:                                      Info,
		`Jan  2 10:00:00 host app[1]: error: cannot open`:                   Error,
		`192.0.2.1 - - [01/Jan/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 5`: Info,
	} {
		if got := p.Parse([]byte(text)).Level; got != want {
			t.Errorf("Parse(%s).Level = %s, want %s", text, got, want)
		}
	}
}

func TestYearsAndZonesThatALineLeavesOut(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		loc       *time.Location
		ref, line string
		want      string
	}{
		{time.UTC, "2026-01-02T00:00:00Z", "Dec 31 23:59:59 h a[1]: x", "2025-12-31T23:59:59Z"},
		{time.UTC, "2026-01-02T00:00:00Z", "Jan  1 00:00:01 h a[1]: x", "2026-01-01T00:00:01Z"},
		{berlin, "2026-08-01T00:00:00Z", "2026-07-01 12:00:00 INFO x", "2026-07-01T10:00:00Z"},
		{berlin, "2026-08-01T00:00:00Z", "2026-01-01 12:00:00 INFO x", "2026-01-01T11:00:00Z"},
		{berlin, "2026-08-01T00:00:00Z", "2026-07-01T12:00:00Z INFO x", "2026-07-01T12:00:00Z"},
		{berlin, "2026-08-01T00:00:00Z", "2026-07-01T12:00:00+0530 INFO x", "2026-07-01T06:30:00Z"},
		{time.UTC, "2026-08-01T01:00:00Z", "23:59:00 INFO x", "2026-07-31T23:59:00Z"},
		{time.UTC, "2026-08-01T01:00:00Z", `{"time":1767261600}`, "2026-01-01T10:00:00Z"},
		{time.UTC, "2026-08-01T01:00:00Z", `{"time":1767261600000}`, "2026-01-01T10:00:00Z"},
		{time.UTC, "2026-08-01T01:00:00Z", `{"time":1767261600000000}`, "2026-01-01T10:00:00Z"},
		{time.UTC, "2026-08-01T01:00:00Z", `{"time":1767261600000000000}`, "2026-01-01T10:00:00Z"},
		{time.UTC, "2026-08-01T01:00:00Z", `{"time":"1767261600.5"}`, "2026-01-01T10:00:00.5Z"},
	} {
		ref, err := time.Parse(time.RFC3339, c.ref)
		if err != nil {
			t.Fatal(err)
		}
		ns, ok := NewClock(c.loc, ref).Time([]byte(c.line))
		if got := time.Unix(0, ns).UTC().Format(time.RFC3339Nano); !ok || got != c.want {
			t.Errorf("%s in %s: %s %v, want %s", c.line, c.loc, got, ok, c.want)
		}
	}
}

func TestALocalTimeThatComesTwiceHasTwoReadings(t *testing.T) {
	for zone, want := range map[string]string{"Europe/Berlin": "2025-10-26 02:30:00 2025-10-26T00:30:00Z 2025-10-26T01:30:00Z", "America/New_York": "2025-11-02 01:15:00 2025-11-02T05:15:00Z 2025-11-02T06:15:00Z",
		"Australia/Lord_Howe": "2026-04-05 01:45:00 2026-04-04T14:45:00Z 2026-04-04T15:15:00Z", "Asia/Tokyo": "2025-10-26 02:30:00 2025-10-25T17:30:00Z -", "UTC": "2025-10-26 02:30:00 2025-10-26T02:30:00Z -"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		c := NewClock(loc, time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC))
		for _, text := range []string{want[:19] + " INFO x", `{"time":"` + want[:19] + `","created_at":"2025-01-01 00:00:00"}`} {
			ns, ok := c.Time([]byte(text))
			other := "-"
			if c.Other() != 0 {
				other = time.Unix(0, c.Other()).UTC().Format(time.RFC3339)
			}
			if got := want[:19] + " " + time.Unix(0, ns).UTC().Format(time.RFC3339) + " " + other; !ok || got != want {
				t.Errorf("%s: %s, want %s", zone, got, want)
			}
		}
	}
}

// A Clock that has learned one line's layout must read the next one alike.
func TestALearnedLayoutChangesNothing(t *testing.T) {
	data, err := os.ReadFile("testdata/formats.txt")
	if err != nil {
		t.Fatal(err)
	}
	ref := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	shared := NewClock(time.UTC, ref)
	for l := range strings.Lines(string(data)) {
		if strings.HasPrefix(l, "=> ") {
			continue
		}
		a, aok := shared.Time([]byte(l))
		b, bok := NewClock(time.UTC, ref).Time([]byte(l))
		if aok != bok || a != b {
			t.Errorf("%q: %d %v after other lines, %d %v alone", l, a, aok, b, bok)
		}
	}
}

func FuzzParse(f *testing.F) {
	data, err := os.ReadFile("testdata/formats.txt")
	if err != nil {
		f.Fatal(err)
	}
	for l := range strings.Lines(string(data)) {
		f.Add([]byte(l))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		in := string(b)
		var p Parser
		e := p.Parse(b)
		if len(e.Fields) > maxFields+1 {
			t.Errorf("%d fields", len(e.Fields))
		}
		n := len(e.Message) + len(e.Service) + len(e.Stack)
		for _, f := range e.Fields {
			n += len(f.Key) + len(f.Value)
		}
		if n > 64*len(b)+1024 {
			t.Errorf("%d bytes became %d", len(b), n)
		}
		if l, ok := QuickLevel(b); ok && e.Format == JSON && json.Valid(b) && l != e.Level {
			t.Errorf("QuickLevel is %s, Parse says %s", l, e.Level)
		}
		NewClock(time.UTC, time.Unix(1767261600, 0)).Time(b)
		if string(b) != in {
			t.Error("the input was changed")
		}
	})
}
