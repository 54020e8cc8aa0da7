package charset_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/seed-069badc9/mcp-gateway/tools/logs/charset"
)

func gb(t testing.TB, s string) string {
	t.Helper()
	b, err := simplifiedchinese.GB18030.NewEncoder().String(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestLinesAreDecodedByWhatTheyAre(t *testing.T) {
	for _, c := range []struct{ name, in, alone, among string }{ // decoded alone, and among lines in GB 18030
		{"ASCII", "ERROR password=x", "ERROR password=x", "ERROR password=x"},
		{"UTF-8", "支付失败", "支付失败", "支付失败"},
		{"UTF-8 that was cut", "支付失败"[:11], "支付失败"[:11], "支付失败"[:11]},
		{"one character of UTF-8 that was cut", "ERROR \xe4\xbb", "ERROR \xe4\xbb", "ERROR 浠"},
		{"GB 18030", gb(t, "支付失败：密码错误"), "支付失败：密码错误", "支付失败：密码错误"},
		{"rare characters", gb(t, "朱镕基堃"), "\xd6\xec\xe9F\xbb\xf9\x88\xd2", "朱镕基堃"},
		{"four bytes", gb(t, "支付失败，渠道超时😀㐂"), "支付失败，渠道超时😀㐂", "支付失败，渠道超时😀㐂"},
		{"what looks like UTF-8 by chance", "\xcd\xa8", "ͨ", "通"},
		{"a word of French", "café", "café", "caf茅"},
		{"a symbol", "done ✓ 50°", "done ✓ 50°", "done ✓ 50°"},
		{"Latin-1", "f\xfcr K\xf6ln", "f\xfcr K\xf6ln", "f\xfcr K\xf6ln"},
		{"a character that was cut", gb(t, "支付失败") + "\xd6", "支付失败\ufffd", "支付失败\ufffd"},
		{"half a character before a key", gb(t, "支付失败，渠道超时") + "\xe9password=x", "支付失败，渠道超时\ufffdpassword=x", "支付失败，渠道超时\ufffdpassword=x"},
		{"bytes", "\x00\x81\xff", "\x00\x81\xff", "\x00\x81\xff"},
	} {
		if got := string(charset.Append(nil, []byte(c.in), charset.UTF8)); got != c.alone {
			t.Errorf("%s: alone %q, want %q", c.name, got, c.alone)
		}
		if got := string(charset.Append(nil, []byte(c.in), charset.GB18030)); got != c.among {
			t.Errorf("%s: among others %q, want %q", c.name, got, c.among)
		}
	}
}

func TestATextIsToldByItsLines(t *testing.T) {
	chinese, unicoded := gb(t, "订单处理失败，请稍后再试\n"), "订单处理失败，请稍后再试\n"
	for _, c := range []struct {
		name, text string
		want       charset.Kind
	}{
		{"nothing", "", charset.UTF8},
		{"ASCII", strings.Repeat("plain\n", 9), charset.UTF8},
		{"UTF-8", strings.Repeat(unicoded, 9), charset.UTF8},
		{"UTF-8 with a line that was cut", strings.Repeat(unicoded, 9) + unicoded[:7] + "\n", charset.UTF8},
		{"GB 18030", strings.Repeat("plain\n", 9) + chinese, charset.GB18030},
		{"names with rare characters", strings.Repeat(gb(t, "用户朱镕基登录成功\n"), 9), charset.GB18030},
		{"both", strings.Repeat(unicoded, 9) + chinese, charset.Mixed},
		{"Latin-1", strings.Repeat("f\xfcr K\xf6ln na\xefve\n", 9), charset.UTF8},
		{"Latin-1 with a word that looks Chinese", strings.Repeat("f\xfcr K\xf6ln\n", 9) + "cr\xe9\xe9 done\n", charset.UTF8},
		{"Big5", strings.Repeat("\xb1\xb1\xbdX\xbf\xf9\xbb~\xa5\xe6\xa9\xf6\xa5\xa2\xb1\xd1\xb5\x4c\xae\x4c\xb1\x4a\xc0\x5c\n", 9), charset.UTF8},
	} {
		var tally charset.Tally
		tally.Add([]byte(c.text))
		if got := tally.Kind(); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestUTF16IsReadByItsMark(t *testing.T) {
	const text = "登录 😀 declined\r\n"
	for mark, put := range map[string]func([]byte, uint16) []byte{
		"\xff\xfe": func(b []byte, u uint16) []byte { return append(b, byte(u), byte(u>>8)) },
		"\xfe\xff": func(b []byte, u uint16) []byte { return append(b, byte(u>>8), byte(u)) },
	} {
		b := []byte(mark)
		for _, u := range utf16.Encode([]rune(text)) {
			b = put(b, u)
		}
		k := charset.Mark(b)
		got, err := io.ReadAll(charset.NewWide(bytes.NewReader(append(b, 'x')), k))
		if err != nil || string(got) != "\ufeff"+text {
			t.Errorf("%x: %q %v", mark, got, err)
		}
	}
	if charset.Mark([]byte("\xef\xbb\xbfx")) != charset.UTF8 {
		t.Error("a UTF-8 mark is no UTF-16")
	}
}

// Whatever the bytes: lines stay lines, ASCII stays as it is, UTF-8 is not touched, and nothing grows beyond bounds.
func FuzzAppend(f *testing.F) {
	for _, s := range []string{"plain\npassword=x\n", "支付失败", gb(f, "支付失败：密码\n订单"), gb(f, "支付失败")[:5], "\xe9password=", "\x81\x30\x81\x30", "\xff\x80\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, k := range []charset.Kind{charset.UTF8, charset.Mixed, charset.GB18030} {
			got := charset.Append(nil, b, k)
			if bytes.Count(got, []byte{'\n'}) != bytes.Count(b, []byte{'\n'}) || len(got) > 3*len(b) {
				t.Errorf("%q became %q", b, got)
			}
			if k == charset.UTF8 && !charset.Foreign(b) && !bytes.Equal(got, b) {
				t.Errorf("%q became %q without a look at it", b, got)
			}
			if k != charset.GB18030 && utf8.Valid(b) && !bytes.Equal(got, b) {
				t.Errorf("UTF-8 %q became %q", b, got)
			}
			if ascii := bytes.IndexFunc(b, func(r rune) bool { return r >= utf8.RuneSelf }) < 0; ascii && !bytes.Equal(got, b) {
				t.Errorf("ASCII %q became %q", b, got)
			}
		}
	})
}

func BenchmarkForeign(b *testing.B) {
	for name, text := range map[string]string{"ASCII": "2026-01-01 10:00:00,000 ERROR order 1042 failed after 35ms", "UTF-8": "2026-01-01 10:00:00,000 ERROR 支付失败：渠道超时 order=1042 耗时 35ms"} {
		b.Run(name, func(b *testing.B) {
			line := []byte(text)
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				if charset.Foreign(line) {
					b.Fatal(text)
				}
			}
		})
	}
}

func BenchmarkAppend(b *testing.B) {
	text := []byte(strings.Repeat(gb(b, "2026-01-01 10:00:00,000 ERROR 支付失败：渠道超时 order=1042 耗时 35ms\n"), 1000))
	var dst []byte
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		dst = charset.Append(dst[:0], text, charset.GB18030)
	}
}
