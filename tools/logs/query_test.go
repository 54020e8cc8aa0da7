package logs

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

func TestParseQuery(t *testing.T) {
	for q, want := range map[string][]Term{
		"":                        nil,
		"*":                       nil,
		"declined":                {{Text: "declined"}},
		"Payment  declined":       {{Text: "Payment"}, {Text: "declined"}},
		`"payment declined" x`:    {{Text: "payment declined"}, {Text: "x"}},
		`"say \"hi\" \\ x"`:       {{Text: `say "hi" \ x`}},
		"-noise":                  {{Text: "noise", Not: true}},
		`-"two words"`:            {{Text: "two words", Not: true}},
		"-":                       {{Text: "-"}},
		"--flag":                  {{Text: "--flag"}},
		`/time(out|d out)/`:       {{Kind: Regex, Text: "time(out|d out)"}},
		`/a b/ c`:                 {{Kind: Regex, Text: "a b"}, {Text: "c"}},
		`/a\/b/`:                  {{Kind: Regex, Text: "a/b"}},
		`-/x+/`:                   {{Kind: Regex, Text: "x+", Not: true}},
		`/x/i`:                    {{Kind: Regex, Text: "(?i)x"}},
		"/api/orders":             {{Text: "/api/orders"}},
		"status=502":              {{Kind: FieldIs, Key: "status", Text: "502"}},
		"-Status=502":             {{Kind: FieldIs, Key: "status", Text: "502", Not: true}},
		"status!=502":             {{Kind: FieldIs, Key: "status", Text: "502", Not: true}},
		`user.name="Ada L"`:       {{Kind: FieldIs, Key: "user.name", Text: "Ada L"}},
		"a=b=c":                   {{Kind: FieldIs, Key: "a", Text: "b=c"}},
		"5=x":                     {{Text: "5=x"}},
		"<ip:k3f9qa>":             {{Text: "<ip:k3f9qa>"}},
		"x x":                     {{Text: "x"}},
		"支付 失败":                   {{Text: "支付"}, {Text: "失败"}},
		"10.0.0.1:8080 \t db-1.x": {{Text: "10.0.0.1:8080"}, {Text: "db-1.x"}},
		"Status:502 -level:info":  {{Text: "Status:502", Key: "status"}, {Text: "level:info", Key: "level", Not: true}},
		`msg:"not found" x`:       {{Kind: FieldIs, Key: "msg", Text: "not found"}, {Text: "x"}},
		"https://x.y error: a::b": {{Text: "https://x.y"}, {Text: "error:"}, {Text: "a::b"}},
		"time* *out":              {{Text: "time"}, {Text: "out"}},
	} {
		got, err := ParseQuery(q)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("ParseQuery(%q): %v %s", q, err, d)
		}
	}
	for q, hint := range map[string]string{
		`"open`: "not closed", `""`: "empty", "/(/": "RE2", "/a{2000}/": "RE2", "/((a{100}){100}){9}/": "", "a OR b": "alternatives", "NOT a": "-word", "status>=500": "comparisons", "status=": "value", "a*b": "wildcards", "a | b": "pipes", `{app="x"} |= "y"`: "pipes", `msg:"open`: "not closed",
		strings.Repeat("a ", 1500): "2048", "/" + strings.Repeat("x", 600) + "/": "512", "a\x00b": "control", "a\ue03cb": "private-use", "/(?<n/": "RE2",
		strings.Join(strings.Split(strings.Repeat("x", 40), ""), " ") + " a b c d e f g h i j k l m n o p q r s t u v w y z 1 2 3 4 5 6 7 8 9": "32",
	} {
		_, err := ParseQuery(q)
		code, _, h := fault.Public(err)
		if code != fault.InvalidRequest || !strings.Contains(h, hint) {
			t.Errorf("ParseQuery(%.40q) = %s %q, want INVALID_REQUEST with %q", q, code, h, hint)
		}
	}
}

func TestQueriesThatMeanTheSameHaveOneNormalForm(t *testing.T) {
	normal := func(q string) string {
		terms, err := ParseQuery(q)
		if err != nil {
			t.Fatal(err)
		}
		return normalTerms(terms)
	}
	for _, same := range [][]string{{"a b", "B A", `"a" b`, "b  a a"}, {"status=Five", "STATUS=five", "status=\"five\""}, {"-x", "-X", `-"x"`}} {
		for _, q := range same[1:] {
			if normal(q) != normal(same[0]) {
				t.Errorf("%q and %q differ", q, same[0])
			}
		}
	}
	for _, other := range [][2]string{{"a b", `"a b"`}, {"/a/", "/A/"}, {"-a", "a"}, {"a=b", `"a=b"`}} {
		if normal(other[0]) == normal(other[1]) {
			t.Errorf("%q and %q are one", other[0], other[1])
		}
	}
}

func TestTimeRange(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 123456789, time.UTC)
	for _, c := range []struct {
		a        arguments
		from, to string
	}{
		{arguments{}, "2026-01-01T11:00:00.123Z", "2026-01-01T12:00:00.123Z"},
		{arguments{From: "-15m"}, "2026-01-01T11:45:00.123Z", "2026-01-01T12:00:00.123Z"},
		{arguments{From: "-2h", To: "-1h"}, "2026-01-01T10:00:00.123Z", "2026-01-01T11:00:00.123Z"},
		{arguments{From: "-1d", To: "now"}, "2025-12-31T12:00:00.123Z", "2026-01-01T12:00:00.123Z"},
		{arguments{To: "2026-01-01T10:00:00Z"}, "2026-01-01T09:00:00Z", "2026-01-01T10:00:00Z"},
		{arguments{From: "2026-01-01T10:00:00+02:00", To: "2026-01-01T09:00:00Z"}, "2026-01-01T08:00:00Z", "2026-01-01T09:00:00Z"},
		{arguments{Around: "2026-01-01T10:00:00.5Z", Window: "30s"}, "2026-01-01T09:59:30.500Z", "2026-01-01T10:00:30.500Z"},
		{arguments{Around: "-10m"}, "2026-01-01T11:45:00.123Z", "2026-01-01T11:55:00.123Z"},
	} {
		from, to, err := timeRange(c.a, now)
		if err != nil || showTime(from.UnixNano()) != c.from || showTime(to.UnixNano()) != c.to {
			t.Errorf("timeRange(%+v) = %s %s %v, want %s %s", c.a, from, to, err, c.from, c.to)
		}
	}
	for _, a := range []arguments{{From: "yesterday"}, {From: "now", To: "-1h"}, {From: "-1h", To: "-1h"}, {Around: "now", From: "-1h"}, {Around: "x"}, {Around: "now", Window: "-1m"}, {Around: "now", Window: "48h"},
		{Window: "5m"}, {From: "2026-01-01"}, {From: "2026-13-01T00:00:00Z"}, {From: "-99999999h"}, {To: "0001-01-01T00:00:00Z"}} {
		if _, _, err := timeRange(a, now); fault.CodeOf(err) != fault.InvalidRequest {
			t.Errorf("timeRange(%+v): %v, want INVALID_REQUEST", a, err)
		}
	}
}

func FuzzParseQuery(f *testing.F) {
	for _, s := range []string{`a "b c" -d /e/ f=g`, `/x/i`, `"\"`, `-`, `a!=b`, `/api/x /y z/`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, q string) {
		terms, err := ParseQuery(q)
		if err != nil {
			if fault.CodeOf(err) != fault.InvalidRequest {
				t.Errorf("%q: %v", q, err)
			}
			return
		}
		if len(terms) > maxTerms {
			t.Errorf("%q: %d terms", q, len(terms))
		}
		for _, x := range terms {
			if x.Text == "" {
				t.Errorf("%q: empty term", q)
			}
		}
		normalTerms(terms)
	})
}
