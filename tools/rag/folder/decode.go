package folder

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/tools/rag/internal/lex"
)

// Reasons why a file is skipped. They are shown beside its name.
var (
	errBinary   = errors.New("binary content")
	errEncoding = errors.New("neither UTF-8, UTF-16 nor GB 18030 text")
	errEmpty    = errors.New("no text")
)

// maxInvalid is the share of broken bytes (1 in 50) up to which a file still counts as UTF-8: a stray Latin-1 word in a runbook should not hide the rest.
const maxInvalid = 50

// decode turns a file's bytes (UTF-8, UTF-16 with a mark, GB 18030) into clean text: UTF-8 in NFC with \n line ends, without control, bidi and zero-width characters.
func decode(b []byte) (string, error) {
	var s string
	switch {
	case bytes.HasPrefix(b, []byte{0xEF, 0xBB, 0xBF}):
		s = string(b[3:])
	case bytes.HasPrefix(b, []byte{0xFF, 0xFE}): // half a unit at the end of a cut file is dropped
		s = fromUTF16(b[2:], binary.LittleEndian)
	case bytes.HasPrefix(b, []byte{0xFE, 0xFF}):
		s = fromUTF16(b[2:], binary.BigEndian)
	case bytes.IndexByte(b, 0) >= 0:
		return "", errBinary
	default:
		s = string(b)
	}
	if !utf8.ValidString(s) {
		if bad := countInvalid(s); bad*maxInvalid <= len(s) {
			s = strings.ToValidUTF8(s, "\uFFFD")
		} else if s = fromChinese(b); s == "" {
			return "", errEncoding
		}
	}
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.ReplaceAll(s, "\r", "\n")
	s = redact.Clean(lex.Normalize(s))
	if strings.TrimSpace(s) == "" {
		return "", errEmpty
	}
	return s, nil
}

func fromUTF16(b []byte, order binary.ByteOrder) string {
	u := make([]uint16, len(b)/2)
	for i := range u {
		u[i] = order.Uint16(b[2*i:])
	}
	return string(utf16.Decode(u))
}

// fromChinese decodes GB 18030, the encoding of Chinese text on older systems, or gives "". It is recognised by its common characters, the two-byte rows of GB 2312,
// which text of a European encoding does not hit: there a byte over 0xA0 is followed by a plain letter or a blank most of the time.
func fromChinese(b []byte) string {
	common, other := 0, 0
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case c < 0x80:
		case i+1 < len(b) && c >= 0xA1 && c <= 0xF7 && b[i+1] >= 0xA1 && b[i+1] != 0xFF:
			common++
			i++
		case i+1 < len(b) && c > 0x80 && c < 0xFF && b[i+1] >= 0x30:
			other++
			i++
		default:
			return ""
		}
	}
	if common < 20*other {
		return ""
	}
	out, err := simplifiedchinese.GB18030.NewDecoder().Bytes(b)
	if err != nil || bytes.ContainsRune(out, utf8.RuneError) {
		return ""
	}
	return string(out)
}

func countInvalid(s string) (n int) {
	for i := 0; i < len(s); {
		r, w := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && w == 1 {
			n++
		}
		i += w
	}
	return n
}
