package logs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// What went wrong: on a Chinese keyboard the signs of the query language come out in full width, “支付失败”, －下单成功, channel＝支付宝. They were searched for as they stood,
// no line holds them, and the answer was NO_EVIDENCE without a hint.
func TestSignsInFullWidthMeanWhatTheirHalfWidthFormsMean(t *testing.T) {
	for wide, half := range map[string]string{
		"“支付失败”": `"支付失败"`, "「支付 失败」": `"支付 失败"`, "『支付失败』": `"支付失败"`, "＂支付失败＂": `"支付失败"`, "”支付失败”": `"支付失败"`, "“支付失败“": `"支付失败"`, `“支付失败"`: `"支付失败"`,
		"－下单成功": "-下单成功", "－“下单 成功”": `-"下单 成功"`, "－/x+/": "-/x+/", "／time(out)?／i": "/time(out)?/i", "－－flag": "--flag",
		"channel＝支付宝": "channel=支付宝", "ｃｈａｎｎｅｌ＝支付宝": "channel=支付宝", "channel！＝支付宝": "channel!=支付宝", "channel＝“支付 宝”": `channel="支付 宝"`, "status＝５０２": "status=502", "－status＝502": "-status=502",
		"channel：支付宝": "channel:支付宝", "msg：“not found”": `msg:"not found"`, "渠道：支付宝": "渠道:支付宝", "渠道＝支付宝": "渠道=支付宝", "渠道＝「支付 宝」": `渠道="支付 宝"`,
		"支付　失败": "支付 失败", "　支付失败　": "支付失败", "ＥＲＲＯＲ": "ERROR", "ｏｒｄｅｒ４２": "order42",
		"支付失败，": "支付失败", "支付失败。": "支付失败", "支付失败！": "支付失败", "支付失败、连接池耗尽": "支付失败 连接池耗尽", "支付失败，level＝ERROR；－重试。": "支付失败 level=ERROR -重试", "“支付失败”、“超时”": `"支付失败" "超时"`, "－支付失败，": "-支付失败",
		"time＊": "time*",
	} {
		a, err := ParseQuery(wide)
		b, herr := ParseQuery(half)
		if err != nil || herr != nil {
			t.Errorf("%q: %v, %q: %v", wide, err, half, herr)
			continue
		}
		if na, nb := normalTerms(a), normalTerms(b); na != nb {
			t.Errorf("%q is %s, %q is %s", wide, na, half, nb)
		}
	}
	// What stands in quotes or between slashes, and signs within a word, are looked for as they were typed as well.
	for q, want := range map[string][]Term{
		"“－ＥＲＲＯＲ：”":       {{Text: "－ＥＲＲＯＲ："}},
		`"支付失败，重试"`:       {{Text: "支付失败，重试"}},
		"“say \"hi\" \\”": {{Text: `say "hi" \`}},
		"/支付：.，/":         {{Kind: Regex, Text: "支付：.，"}},
		"支付失败：余额不足":       {{Text: "支付失败:余额不足", Key: "支付失败", Wide: "支付失败：余额不足"}},
		"（超时）":            {{Text: "(超时)", Wide: "（超时）"}},
		"-支付失败，请重试":       {{Text: "支付失败,请重试", Wide: "支付失败，请重试", Not: true}},
		"3、4":             {{Text: "3"}, {Text: "4"}},
		"渠道=支付宝":          {{Text: "渠道=支付宝", Key: "渠道"}},
		"【错误】":            {{Text: "【错误】"}},
	} {
		got, err := ParseQuery(q)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("ParseQuery(%q): %v %s", q, err, d)
		}
	}
	for q, hint := range map[string]string{
		"支付失败 或 连接池耗尽": "alternatives", "支付失败 且 超时": "alternatives", "非 重试": "-word", "ａ ＯＲ ｂ": "alternatives", "a ｜ b": "pipes", "status＞＝500": "comparisons", "a＊b": "wildcards",
		"“支付失败": "not closed with ”", "「支付失败": "not closed with 」", "“”": "empty", "status＝": "value", "status＝，": "value",
	} {
		_, err := ParseQuery(q)
		if code, _, h := fault.Public(err); code != fault.InvalidRequest || !strings.Contains(h, hint) {
			t.Errorf("ParseQuery(%q) = %s %q, want INVALID_REQUEST with %q", q, code, h, hint)
		}
	}
}
