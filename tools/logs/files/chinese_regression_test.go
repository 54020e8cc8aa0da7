package files_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/files"
)

func gbk(t testing.TB, s string) string {
	t.Helper()
	b, err := simplifiedchinese.GBK.NewEncoder().String(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// hanSecret is a visibly fake value behind a Chinese key.
const hanSecret = "Xk9" + "-CANARY-"

// failures are lines of a payment service, one a minute from ten o'clock; each has two secrets.
func failures(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "2026-01-01 10:%02d:00,000 ERROR 支付失败：渠道超时 第%d次 密码：%s%d 口令是 %sb%d\n", i, i, hanSecret, i, hanSecret, i)
	}
	return b.String()
}

// What went wrong:
//  1. a program on a Chinese Windows or an older Unix writes its log in GBK;
//  2. a search for "支付失败" says NO_EVIDENCE, though every line holds it;
//  3. the observation shows the bytes as U+FFFD, so the redactor does not know 密码 and the password behind it reaches the model, where it can be searched for, too.
func TestALogInGBKIsReadAsOneInUTF8(t *testing.T) {
	t.Parallel()
	text := failures(50)
	var objects strings.Builder
	for i := range 50 {
		fmt.Fprintf(&objects, `{"msg":"支付失败：渠道超时 第%d次","密码":"%s%d","note":"誠","level":"ERROR","时间":"2026-01-01 10:%02d:00"}`+"\n", i, hanSecret, i, i)
	}
	var docker strings.Builder
	for i := range 50 {
		fmt.Fprintf(&docker, `{"log":"ERROR 支付失败：渠道超时 第%d次 密码：%s%d\n","stream":"stderr","time":"2026-01-01T10:%02d:00Z"}`+"\n", i, hanSecret, i, i)
	}
	banner := strings.Repeat("2026-01-01 10:00:00,000 INFO loading module core.base\n", 4000) // beyond what is read of a file's start
	for name, content := range map[string]string{
		"text": gbk(t, text), "gz": gzipped(t, gbk(t, text)), "zst": zstded(t, gbk(t, text)), "JSON": gbk(t, objects.String()), "docker": gbk(t, docker.String()),
		"lines without a time": gbk(t, "2026-01-01 10:00:00,000 INFO 开始\n"+strings.Repeat("说明：没有时间的一行\n", 200)+"2026-01-01 10:59:00,000 INFO 结束\n"+text[strings.Index(text, "2026-01-01 10:01"):]),
		"behind plain words":   banner + gbk(t, text), "behind plain words, packed": gzipped(t, banner+gbk(t, text)),

		"GBK among UTF-8":  strings.Repeat("2026-01-01 10:00:00,000 INFO 正常\n", 300) + gbk(t, text),
		"one line in many": strings.Repeat("2026-01-01 10:00:00,000 INFO 一切正常，没有什么可说\n", 9000) + gbk(t, text[:strings.IndexByte(text, '\n')+1]) + strings.Repeat("2026-01-01 10:01:00,000 INFO 一切正常，没有什么可说\n", 9000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "app.log", content)
			g := newGateway(t, logs.Options{}, map[string]string{"shop": filepath.Join(dir, "*")})
			for _, query := range []string{`"query":"支付失败",`, `"query":"/渠道?超时/",`, `"query":"支付失败","level":"ERROR",`, `"level":"ERROR",`} {
				a := g.call(t, `{"topics":["shop"],`+query+morning+`}`)
				if len(a.Events) == 0 || !strings.Contains(a.text, "支付失败：渠道超时") || strings.Contains(a.text, "\ufffd") {
					t.Errorf("%s: %s %s %.400s", query, a.code, a.hint, a.text)
				}
				if strings.Contains(a.text, hanSecret[:6]) {
					t.Errorf("%s shows a secret: %.600s", query, a.text)
				}
			}
			for _, query := range []string{hanSecret + "7", hanSecret + "b7", "余额不足"} {
				if a := g.call(t, `{"topics":["shop"],"query":"`+query+`",`+morning+`}`); a.Evidence != "NO_EVIDENCE" {
					t.Errorf("%s: %s %s", query, a.code, a.text)
				}
			}
		})
	}
}

// The order of lines, events of several lines and the cuts between blocks do not depend on the encoding: small segments make many of them.
func TestALogInGBKIsWholeAcrossSegments(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 30_000 {
		fmt.Fprintf(&b, "%s ERROR [main] shop.Cart - 订单%d处理失败\n\tat 第一层\n\tat 第二层%d\n", time.Date(2026, 1, 1, 10, 0, 0, i*100e6, time.UTC).Format("2006-01-02 15:04:05,000"), i, i%7)
	}
	for name, content := range map[string]string{"UTF-8": b.String(), "GBK": gbk(t, b.String())} {
		src, err := files.New(files.Options{Paths: []string{write(t, t.TempDir(), "app.log", content)}})
		if err != nil {
			t.Fatal(err)
		}
		src.SetSegment(100 << 10)
		for _, need := range [][]logs.Literal{nil, {{Text: "处理失败", Fold: true}}} {
			var sink texts
			rep, err := src.Search(t.Context(), logs.Query{From: now.Add(-3 * time.Hour), To: now, Now: now, Need: need, MaxScan: 1 << 30}, &sink)
			if err != nil || !rep.Complete {
				t.Fatal(err, rep)
			}
			if sink.n.Load() != 30_000 || sink.torn.Load() != 0 {
				t.Errorf("%s, need %v: %d events, %d torn", name, need, sink.n.Load(), sink.torn.Load())
			}
		}
	}
}

// texts counts events and those that are not whole.
type texts struct{ n, torn atomic.Int64 }

func (s *texts) Lane() logs.Lane { return s }
func (s *texts) Found() bool     { return true }
func (s *texts) Close()          {}
func (s *texts) Emit(e logs.Event) error {
	s.n.Add(1)
	if t := string(e.Text); !strings.HasPrefix(t, "2026-") || strings.Count(t, "\n") != 2 || !strings.Contains(t, "处理失败\n\tat 第一层\n\tat 第二层") {
		s.torn.Add(1)
	}
	return nil
}

// What is neither UTF-8 nor GB 18030 is shown as before, and the secrets behind ASCII keys are masked.
func TestBytesOfNoKnownEncodingStillHideSecrets(t *testing.T) {
	t.Parallel()
	latin := "Verf\xfcgbarkeit gepr\xfcft f\xfcr K\xf6ln, na\xefve caf\xe9"
	big5 := "\xb1\xb1\xbdX\xbf\xf9\xbb~ \xa5\xe6\xa9\xf6\xa5\xa2\xb1\xd1 \xb5\x4c\xae\x4c\xb1\x4a\xc0\x5c" // not all of its bytes are rows of GB 2312
	for name, words := range map[string]string{"Latin-1": latin, "Big5": big5, "bytes": "\x81\x00\xff\xfe\x80 \x9d\x01"} {
		var b strings.Builder
		for i := range 50 {
			fmt.Fprintf(&b, "2026-01-01 10:%02d:00,000 ERROR %s password=%s%d done\n", i, words, hanSecret, i)
		}
		g := newGateway(t, logs.Options{}, map[string]string{"shop": write(t, t.TempDir(), "app.log", b.String())})
		a := g.call(t, `{"topics":["shop"],"query":"done",`+morning+`}`)
		if a.Evidence != "EVIDENCE_FOUND" || !strings.Contains(a.text, "password=<secret> done") || strings.Contains(a.text, hanSecret[:6]) || !strings.Contains(a.text, "\ufffd") {
			t.Errorf("%s: %s %.300s", name, a.code, a.text)
		}
	}
}

// The attack: somebody ends what he may write into a Chinese line with half a character, so that it takes the first letter of the key behind it.
func TestHalfACharacterTakesNoLetterFromAKey(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"password", "token", "api_key"} {
		sameAnswers(t, func(s string) string {
			return gbk(t, quiet(func(ts time.Time, level, msg string) string {
				return ts.Format("2006-01-02 15:04:05,000 ") + level + " 正常：" + msg
			})) + gbk(t, "2026-01-01 10:00:00,000 ERROR 登录失败，名称：张三") + "\xe9" + key + "=" + s + "\n" + gbk(t, "2026-01-01 10:00:01,000 ERROR 结束\n")
		})
	}
}

// What went wrong: signs in full width were searched for as they stood, 时间, 级别 and 消息 were no time, level and message, and 【错误】 was no level.
func TestChineseLogsAndQueriesAreUnderstood(t *testing.T) {
	t.Parallel()
	var text, objects strings.Builder
	for i := range 50 {
		level, msg, channel := "信息", "下单成功", "微信"
		if i%5 == 0 {
			level, msg, channel = "错误", "支付失败：连接池耗尽（超时）", "支付宝"
		}
		fmt.Fprintf(&text, "2026-01-01 10:%02d:00 【%s】%s channel=%s 第%d次\n", i, level, msg, channel, i)
		fmt.Fprintf(&objects, `{"时间":"2026-01-01 10:%02d:00","级别":%q,"服务":"收银台","消息":%q,"channel":%q,"渠道":%q}`+"\n", i, level, msg, channel, channel)
	}
	dir := t.TempDir()
	g := newGateway(t, logs.Options{}, map[string]string{"text": write(t, dir, "text.log", text.String()), "json": write(t, dir, "json.log", objects.String())})
	for query, want := range map[string]int{
		"“支付失败”": 10, "「支付失败」": 10, "－下单成功": 10, "channel＝支付宝": 10, "channel：支付宝": 10, "channel！＝支付宝": 40, "支付　失败": 10, "支付失败，": 10, "支付失败、连接池耗尽": 10, "支付失败：连接池耗尽": 10, "（超时）": 10, "“支付失败:”": 0, "－支付失败：连接池耗尽": 40,
		"ＣＨＡＮＮＥＬ＝支付宝": 10, "level＝错误": 10, "level=ERROR": 10, "余额不足": 0,
	} {
		for _, topic := range []string{"text", "json"} {
			a := g.call(t, `{"topics":["`+topic+`"],"query":"`+query+`","limit":100,`+morning+`}`)
			var sum int64
			for _, p := range a.Patterns {
				sum += p.Count
			}
			if sum != int64(want) || a.code != "" {
				t.Errorf("%s in %s: %d events, want %d %s %s", query, topic, sum, want, a.code, a.hint)
			}
		}
	}
	for _, topic := range []string{"text", "json"} {
		a := g.call(t, `{"topics":["`+topic+`"],"level":"错误",`+morning+`}`)
		if len(a.Events) != 10 || a.Events[0].Level != "ERROR" || a.Events[0].Time != "2026-01-01T10:00:00Z" || !strings.HasPrefix(a.Events[0].Message, "支付失败") || topic == "json" && a.Events[0].Service != "收银台" {
			t.Errorf("%s: %s %.500s", topic, a.code, a.text)
		}
	}
	if a := g.call(t, `{"topics":["json"],"query":"渠道＝支付宝",`+morning+`}`); len(a.Events) != 10 {
		t.Errorf("a Chinese field: %s %.300s", a.code, a.text)
	}
}
