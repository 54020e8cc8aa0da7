package reliability

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// canary is a planted value that must not be found where the gateway writes.
type canary struct {
	class string // what kind of value it stands for, and where it was planted
	text  string // the value
	whole bool   // too short or too ordinary to be recognised by a part of it
}

// window is how many bytes of a canary in a row count as a leak: half a secret is a leak too.
const window = 8

// depth is how many encodings may lie around each other.
const depth = 2

// scanner finds canaries in bytes, plain or wrapped in what carries bytes in JSON, URLs, logs and archives.
type scanner struct {
	first [1 << 16]bool           // the first two bytes of the parts: most of a text is passed over at once
	parts map[[window]byte]string // every part of a canary, forwards and backwards
	whole []canary
	zstd  *zstd.Decoder
}

func newScanner(tb testing.TB, cs []canary) *scanner {
	tb.Helper()
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(z.Close)
	s := &scanner{parts: map[[window]byte]string{}, zstd: z}
	for _, c := range cs {
		if c.whole {
			s.whole = append(s.whole, c)
			continue
		}
		if len(c.text) < window {
			tb.Fatalf("canary %s is shorter than what is searched for", c.class)
		}
		back := []byte(c.text)
		slices.Reverse(back)
		for _, t := range [][]byte{[]byte(c.text), back} {
			for i := 0; i+window <= len(t); i++ {
				s.first[uint16(t[i])<<8|uint16(t[i+1])] = true
				s.parts[[window]byte(t[i:])] = c.class
			}
		}
	}
	return s
}

// find lists the classes of the canaries in data, each with the least encoding around it.
func (s *scanner) find(data []byte) []string {
	found := map[string]string{}
	s.look(data, "", depth, found)
	out := make([]string, 0, len(found))
	for class, how := range found {
		out = append(out, class+how)
	}
	slices.Sort(out)
	return out
}

func (s *scanner) look(data []byte, how string, left int, found map[string]string) {
	note := func(class string) {
		if was, ok := found[class]; !ok || len(how) < len(was) {
			found[class] = how
		}
	}
	for i := 0; i+window <= len(data); i++ {
		if !s.first[uint16(data[i])<<8|uint16(data[i+1])] {
			continue
		}
		if class, ok := s.parts[[window]byte(data[i:])]; ok {
			note(class)
		}
	}
	for _, c := range s.whole {
		if bytes.Contains(data, []byte(c.text)) {
			note(c.class)
		}
	}
	if left == 0 {
		return
	}
	for _, d := range decoders {
		d.each(s, data, func(inner []byte) { s.look(inner, how+" in "+d.name, left-1, found) })
	}
}

// decoders take off one encoding wherever it may lie in the data.
var decoders = []struct {
	name string
	each func(s *scanner, data []byte, f func([]byte))
}{
	{"JSON escapes", func(_ *scanner, data []byte, f func([]byte)) {
		if bytes.IndexByte(data, '\\') >= 0 {
			f(unescapeJSON(data))
		}
	}},
	{"a URL", func(_ *scanner, data []byte, f func([]byte)) {
		if bytes.IndexByte(data, '%') >= 0 {
			f(unescapeURL(data))
		}
	}},
	{"base64", func(_ *scanner, data []byte, f func([]byte)) {
		runs(data, 11, isBase64, func(run []byte) {
			std := standard(run)
			for from := range min(4, len(run)) { // one of them meets the alignment
				part := std[from:]
				part = part[:len(part)&^3]
				out := make([]byte, base64.StdEncoding.DecodedLen(len(part)))
				if n, _ := base64.StdEncoding.Decode(out, part); n >= window {
					f(out[:n])
				}
			}
		})
	}},
	{"hex", func(_ *scanner, data []byte, f func([]byte)) {
		runs(data, 2*window, isHex, func(run []byte) {
			for from := range 2 {
				part := run[from:]
				out := make([]byte, len(part)/2)
				if n, _ := hex.Decode(out, part[:len(part)&^1]); n >= window {
					f(out[:n])
				}
			}
		})
	}},
	{"gzip", func(_ *scanner, data []byte, f func([]byte)) {
		each(data, []byte{0x1f, 0x8b, 8}, func(at []byte) {
			if r, err := gzip.NewReader(bytes.NewReader(at)); err == nil {
				f(readSome(r))
			}
		})
	}},
	{"zlib", func(_ *scanner, data []byte, f func([]byte)) {
		for _, head := range [][]byte{{0x78, 0x9c}, {0x78, 0x01}, {0x78, 0xda}} {
			each(data, head, func(at []byte) {
				if r, err := zlib.NewReader(bytes.NewReader(at)); err == nil {
					f(readSome(r))
				}
			})
		}
	}},
	{"zstd", func(s *scanner, data []byte, f func([]byte)) {
		each(data, []byte{0x28, 0xb5, 0x2f, 0xfd}, func(at []byte) {
			if out, _ := s.zstd.DecodeAll(at, nil); len(out) > 0 {
				f(out)
			}
		})
	}},
}

// readSome reads what can be read: a stream that was cut is read up to there.
func readSome(r io.Reader) []byte {
	out, _ := io.ReadAll(io.LimitReader(r, 16<<20))
	return out
}

func each(data, head []byte, f func([]byte)) {
	for {
		i := bytes.Index(data, head)
		if i < 0 {
			return
		}
		f(data[i:])
		data = data[i+1:]
	}
}

// runs calls f with every longest run of bytes of a kind.
func runs(data []byte, shortest int, kind func(byte) bool, f func([]byte)) {
	from := 0
	for i := 0; i <= len(data); i++ {
		if i < len(data) && kind(data[i]) {
			continue
		}
		if i-from >= shortest {
			f(data[from:i])
		}
		from = i + 1
	}
}

func isBase64(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '+' || b == '/' || b == '-' || b == '_'
}

func isHex(b byte) bool { return b >= '0' && b <= '9' || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F' }

// standard turns the URL alphabet of base64 into the standard one.
func standard(run []byte) []byte {
	out := bytes.Clone(run)
	for i, b := range out {
		switch b {
		case '-':
			out[i] = '+'
		case '_':
			out[i] = '/'
		}
	}
	return out
}

// unescapeJSON resolves escapes wherever they stand; what is none stays.
func unescapeJSON(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' || i+1 == len(data) {
			out = append(out, data[i])
			continue
		}
		n := 2
		if data[i+1] == 'u' {
			n = 6
		}
		var s string
		if i+n <= len(data) && json.Unmarshal([]byte(`"`+string(data[i:i+n])+`"`), &s) == nil {
			out = append(out, s...)
			i += n - 1
			continue
		}
		out = append(out, data[i])
	}
	return out
}

// unescapeURL resolves %XX wherever it stands.
func unescapeURL(data []byte) []byte {
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); i++ {
		if data[i] == '%' && i+3 <= len(data) {
			if s, err := url.PathUnescape(string(data[i : i+3])); err == nil {
				out = append(out, s...)
				i += 2
				continue
			}
		}
		out = append(out, data[i])
	}
	return out
}

// The scanner is trusted only because it finds a canary behind everything that it claims to see through, also half of one.
func TestTheScannerFindsWhatIsHidden(t *testing.T) {
	const text = "Kq7ZpXw2LmT9vRb4"
	s := newScanner(t, []canary{{class: "secret", text: text}, {class: "address", text: "198.51.100.73", whole: true}})
	pack := func(w func(io.Writer) io.WriteCloser, in string) []byte {
		var b bytes.Buffer
		z := w(&b)
		_, _ = io.WriteString(z, in)
		_ = z.Close()
		return b.Bytes()
	}
	zip := func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) }
	escaped := ""
	for _, c := range text {
		escaped += fmt.Sprintf("\\u%04x", c)
	}
	back := []byte(text)
	slices.Reverse(back)
	hidden := map[string][]byte{
		"plain":               []byte("x" + text + "y"),
		"the first half":      []byte("x" + text[:window] + "…"),
		"the last half":       []byte("…" + text[len(text)-window:]),
		"reversed":            back,
		"whole":               []byte(`{"a":"198.51.100.73:80"}`),
		"base64 0":            []byte("t=" + base64.StdEncoding.EncodeToString([]byte(text))),
		"base64 1":            []byte("t=" + base64.URLEncoding.EncodeToString([]byte("?"+text))),
		"base64 2":            []byte("t=" + base64.RawURLEncoding.EncodeToString([]byte("??"+text+"?"))),
		"base64, a part":      []byte("t=" + base64.StdEncoding.EncodeToString([]byte("pad"+text[4:12]+"pad"))),
		"base64 behind a /":   []byte("a/" + base64.StdEncoding.EncodeToString([]byte(text))),
		"hex":                 []byte("a" + hex.EncodeToString([]byte(text))),
		"HEX":                 bytes.ToUpper([]byte(hex.EncodeToString([]byte(text)))),
		"URL":                 []byte("%4bq7ZpX%772LmT9vRb4"),
		"JSON escapes":        []byte(`{"a":"` + escaped + `"}`),
		"gzip":                append([]byte("head"), pack(zip, "before "+text)...),
		"gzip that was cut":   pack(zip, text+strings.Repeat(" and more that follows", 200))[:60],
		"zlib":                pack(func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) }, text),
		"zstd":                pack(func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z }, "a record with "+text),
		"base64 of gzip":      []byte(base64.StdEncoding.EncodeToString(pack(zip, text))),
		"base64 in URL":       []byte(url.QueryEscape(base64.StdEncoding.EncodeToString([]byte("~~" + text)))),
		"hex in JSON escapes": []byte(strings.ReplaceAll(hex.EncodeToString([]byte(text)), "4b", `\u0034b`)),
	}
	for name, data := range hidden {
		if len(s.find(data)) == 0 {
			t.Errorf("%s: not found in %q", name, data)
		}
	}
	clean := strings.Repeat("An ordinary line of a log, 198.51.100.7, with Kq7ZpXw and vRb4. ", 50)
	for name, data := range map[string][]byte{"text": []byte(clean), "base64": []byte(base64.StdEncoding.EncodeToString([]byte(clean))), "gzip": pack(zip, clean), "one byte less": []byte(text[:window-1])} {
		if f := s.find(data); len(f) > 0 {
			t.Errorf("%s: found %v", name, f)
		}
	}
}
