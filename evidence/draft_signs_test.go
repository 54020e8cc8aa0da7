package evidence_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/seed-069badc9/mcp-gateway/evidence"
)

// checked tells whether the draft shows the check that something is quoted: a citation is refused, or the words are listed as uncited.
func checked(t *testing.T, f fixture, draft string) bool {
	t.Helper()
	d, ok := f.guard.CheckDraft(t.Context(), evidence.Caller{Principal: "alice", Run: "r1"}, draft)
	if !ok {
		t.Fatalf("%q is no draft", draft)
	}
	return !d.OK || len(d.Uncited) > 0
}

// An invented quote between marks that were not known passed as if nothing were quoted. Every quotation mark of Unicode counts, in whatever place, also when the
// other one of its pair is missing.
func TestEveryQuotationMarkIsRead(t *testing.T) {
	f := newFixture(t)
	var marks []rune
	for _, r16 := range unicode.Quotation_Mark.R16 {
		for r := rune(r16.Lo); r <= rune(r16.Hi); r += rune(r16.Stride) {
			marks = append(marks, r)
		}
	}
	if len(marks) < 25 {
		t.Fatalf("%d marks", len(marks))
	}
	marks = append(marks, '《', '〈', '″', '❝', '❞')
	for _, form := range []string{"%s [ev:logs#e1]", "The log: %s[ev:logs#e1].", "日志%s[ev:logs#e1]", "- **%s**, [ev:logs#e1]", "> – the log:\n\n%s\n[ev:logs#e1]", "## %s [ev:logs#e1]", "| %s | [ev:logs#e1] |",
		"It says %s.[^1]\n\n[^1]: [ev:logs#e1]", "[ev:logs#e1] says %s", "“closed early” [ev:logs#e2], %s [ev:logs#e1]", "<b>%s</b> [ev:logs#e1]", "[%s](https://example.com) [ev:logs#e1]"} {
		for _, words := range []string{"the rack is gone", "机柜已经不存在了"} {
			for _, open := range marks {
				for _, end := range marks {
					pair := unicode.Is(unicode.Pi, open) && unicode.Is(unicode.Pf, end) || open == end && !strings.ContainsRune("《〈", open) || unicode.Is(unicode.Ps, open) && end == open+1
					draft := fmt.Sprintf(form, string(open)+words+string(end))
					if pair && !checked(t, f, draft) {
						t.Errorf("%q passes", draft)
					}
				}
				if strings.ContainsRune("'’‘‚‛＇❞", open) {
					continue // by itself an apostrophe
				}
				if draft := fmt.Sprintf(form, string(open)+words); unicode.Is(unicode.Pi, open) && !checked(t, f, draft) {
					t.Errorf("%q passes", draft)
				}
				if draft := fmt.Sprintf(form, words+string(open)); unicode.Is(unicode.Pf, open) && !checked(t, f, draft) {
					t.Errorf("%q passes", draft)
				}
			}
		}
	}
}

// A draft written in GBK passed with an invented quote: its bytes are no quotation marks of UTF-8. A text that cannot be read as it was written is no draft, and one
// that was decoded wrongly on its way here is not backed.
func TestADraftInAnotherEncodingIsNotBacked(t *testing.T) {
	f := newFixture(t)
	caller := evidence.Caller{Principal: "alice", Run: "r1"}
	for name, draft := range map[string]string{
		"GBK":         "\xb7\xa2\xcf\xd6 \xa1\xb0\xb9\xa4\xd7\xf7\xb9\xe6\xb7\xb6\xa1\xb1[ev:logs#e1]",
		"Latin-1":     "\xabvraiment tout est perdu\xbb [ev:logs#e1]",
		"UTF-16":      "\xff\xfe[\x00e\x00v\x00:\x00l\x00o\x00g\x00s\x00]\x00",
		"UTF-16, raw": "\x1c\x20a\x00l\x00l\x00[\x00e\x00v\x00:\x00l\x00o\x00g\x00s\x00]\x00",
		"ISO-2022-JP": "\x1b$B!V$9$Y$F!W\x1b(B [ev:logs#e1]",
	} {
		d, ok := f.guard.CheckDraft(t.Context(), caller, draft)
		if ok || d.OK || !strings.Contains(evidence.DraftProblem(draft), "iconv -f") {
			t.Errorf("%s: read %v, ok %v, %q", name, ok, d.OK, evidence.DraftProblem(draft))
		}
	}
	lossy := strings.ToValidUTF8("\xb7\xa2\xcf\xd6 \xa1\xb0\xb9\xa4\xd7\xf7\xb9\xe6\xb7\xb6\xa1\xb1[ev:logs#e1]", "\uFFFD")
	d, ok := f.guard.CheckDraft(t.Context(), caller, lossy)
	if !ok || d.OK || len(d.Citations) != 1 || !strings.Contains(d.Citations[0].Why(caller), "encoding") {
		t.Errorf("a draft full of replacement characters: %v %+v", ok, d)
	}
	if d, ok := f.guard.CheckDraft(t.Context(), caller, "\ufeff\"payment declined\" [ev:logs#e1]"); !ok || !d.OK {
		t.Errorf("a byte order mark in front: %v %+v", ok, d)
	}
}

// Unlike mistakes were all called malformed. Each is told for what it is; what is right or refused for another reason gets no words.
func TestAnInvalidCitationSaysWhatToWrite(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct{ run, draft, says string }{
		{"r1", "“支付”[ev:zh#e1]", "4 Chinese"},
		{"r1", "\"502\" [ev:logs#e1]", "at least 8 characters"},
		{"r1", "【ev:logs#e1】", "half-width brackets"},
		{"r1", "［ev：logs#e1］", "half-width brackets"},
		{"r1", "[ev：logs#e1]", "half-width"},
		{"r1", "(ev:logs#e1)", "square brackets"},
		{"r1", "网关超时（ev:logs#e1）。", "square brackets"},
		{"r1", "[еv:logs#e1]", "only looks like"},
		{"r1", "[ev:logs#event]", "malformed"},
		{"r1", "[ev:]", "malformed"},
		{"", "[ev:pool#e2]", "--run"},
		{"", "“支付失败”[ev:pool#e2]", "--run"},
		{"r1", "[ev:nope#e2]", ""},
		{"r1", "\"gateway answered 503\" [ev:logs#e1]", ""},
		{"r1", "\"payment declined\" [ev:logs#e1]", ""},
	} {
		caller := evidence.Caller{Principal: "alice", Run: c.run}
		d, ok := f.guard.CheckDraft(t.Context(), caller, c.draft)
		if !ok || len(d.Citations) != 1 {
			t.Errorf("%s: %+v", c.draft, d)
			continue
		}
		if got := d.Citations[0].Why(caller); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%s: %q, want %q", c.draft, got, c.says)
		}
	}
	for _, c := range []struct{ run, uri, says string }{
		{"r1", "evidence://r1/zh" + q("quote", "支付"), "4 Chinese"},
		{"", "evidence://current/pool", "--run"},
		{"r1", "[ev:logs#e1]", "--draft"},
		{"r1", "【ev:logs#e1】", "--draft"},
		{"r1", "evidence：//r1/logs", "half-width"},
		{"r1", "evidence://r1/logs？item=e1", "half-width"},
		{"r1", "evidence://r1/logs#e1", "item=e1"},
		{"r1", "evidence://r1/logs?itm=e1", "unknown, repeated or malformed"},
		{"r1", "logs", "begins with evidence://"},
		{"r1", "evidence://r1/\xff", "not UTF-8"},
		{"r1", "evidence://r1", "malformed"},
	} {
		caller := evidence.Caller{Principal: "alice", Run: c.run}
		if v := f.guard.VerifyURI(t.Context(), caller, c.uri); v.Reason != evidence.InvalidCitation {
			t.Errorf("%s is %s", c.uri, v.Reason)
		}
		if got := evidence.WhyInvalid(caller, c.uri); !strings.Contains(got, c.says) {
			t.Errorf("%s: %q, want %q", c.uri, got, c.says)
		}
	}
}
