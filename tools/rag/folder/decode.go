package folder

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/tools/rag/internal/lex"
)

// Reasons why a file is skipped. They are shown beside its name.
var (
	errBinary   = errors.New("binary content")
	errEncoding = errors.New("neither UTF-8 nor UTF-16 text")
	errEmpty    = errors.New("no text")
)

// maxInvalid is the share of broken bytes (1 in 50) up to which a file still counts as UTF-8: a stray Latin-1 word in a runbook should not hide the rest.
const maxInvalid = 50

// decode turns a file's bytes into clean text: UTF-8 in NFC with \n line ends, without control, bidi and zero-width characters.
func decode(b []byte) (string, error) {
	var s string
	switch {
	case bytes.HasPrefix(b, []byte{0xEF, 0xBB, 0xBF}):
		s = string(b[3:])
	case bytes.HasPrefix(b, []byte{0xFF, 0xFE}) && len(b)%2 == 0:
		s = fromUTF16(b[2:], binary.LittleEndian)
	case bytes.HasPrefix(b, []byte{0xFE, 0xFF}) && len(b)%2 == 0:
		s = fromUTF16(b[2:], binary.BigEndian)
	case bytes.IndexByte(b, 0) >= 0:
		return "", errBinary
	default:
		s = string(b)
	}
	if !utf8.ValidString(s) {
		if bad := countInvalid(s); bad*maxInvalid > len(s) {
			return "", errEncoding
		}
		s = strings.ToValidUTF8(s, "\uFFFD")
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
