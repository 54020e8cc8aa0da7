// Package charset tells how the text of a log is encoded and turns it into UTF-8: UTF-8 with and without a mark, UTF-16 with one, and GB 18030 (GBK, GB 2312), which
// Chinese programs and consoles still write. Programs share files, so GB 18030 is told line by line: a byte of a line end is never part of a character in it.
//
// It promises: text in UTF-8 is never changed while most of a log is; a byte that belongs to nothing known stays as it is; no letter of the ASCII alphabet that could
// begin a word is taken for the second half of a character.
package charset

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// Kind is how a text is encoded.
type Kind uint8

// The kinds.
const (
	UTF8    Kind = iota // UTF-8, ASCII, and what nothing is known of
	Mixed               // UTF-8 with lines in GB 18030 among them
	GB18030             // most lines that are more than ASCII are in GB 18030
	UTF16LE
	UTF16BE
)

// Mark tells the encoding that the first bytes of a text declare; UTF8 when they declare none.
func Mark(head []byte) Kind {
	switch {
	case len(head) >= 2 && head[0] == 0xff && head[1] == 0xfe:
		return UTF16LE
	case len(head) >= 2 && head[0] == 0xfe && head[1] == 0xff:
		return UTF16BE
	}
	return UTF8
}

// Tally gathers what the lines of a text say of its encoding. The zero value is ready.
type Tally struct {
	plain, other int // lines in UTF-8 beyond ASCII, and not in UTF-8
	sum          pairs
}

// Add takes whole lines.
func (t *Tally) Add(text []byte) {
	for l := range bytes.Lines(text) {
		t.count(l, judge(l))
	}
}

func (t *Tally) count(l []byte, v verdict) {
	switch v {
	case unicoded:
		t.plain++
	case chinese, unknown:
		t.other++
		t.sum.add(count(l))
	}
}

// Kind is what the lines so far say.
func (t *Tally) Kind() Kind {
	switch {
	case !t.sum.chinese():
		return UTF8
	case t.other > t.plain:
		return GB18030
	}
	return Mixed
}

// Append appends text as UTF-8 to dst, line by line. Of a text that is UTF8 or Mixed only those lines are decoded that cannot be anything but GB 18030.
func Append(dst, text []byte, k Kind) []byte {
	for l := range bytes.Lines(text) {
		switch v := judge(l); {
		case v == chinese, k == GB18030 && (v == either || v == unknown && mostlyPairs(l)):
			dst = appendChinese(dst, l)
		default:
			dst = append(dst, l...)
		}
	}
	return dst
}

// sure is after how many characters that take three bytes a line is in UTF-8: in GB 18030 one in fifty reads so by chance.
const sure = 4

// beyond has the bits that no ASCII byte has.
const beyond = 0x8080808080808080

// Foreign tells whether a text may have lines that Append decodes, without looking at all of it.
func Foreign(text []byte) bool {
	wide, since := 0, 0
	for i := 0; i < len(text); {
		if b := text[i:]; len(b) >= 8 {
			if len(b) >= 32 && (binary.LittleEndian.Uint64(b)|binary.LittleEndian.Uint64(b[8:])|binary.LittleEndian.Uint64(b[16:])|binary.LittleEndian.Uint64(b[24:]))&beyond == 0 {
				i += 32
				continue
			}
			if binary.LittleEndian.Uint64(b)&beyond == 0 {
				i += 8
				continue
			}
		}
		if text[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			return true
		}
		if r >= 0x2000 {
			if wide == 0 || bytes.IndexByte(text[since:i], '\n') >= 0 { // each line is told by itself
				wide, since = 0, i
			}
			wide++
		}
		if i += n; wide == sure {
			end := bytes.IndexByte(text[i:], '\n')
			if end < 0 {
				return false
			}
			i, wide = i+end+1, 0
		}
	}
	return false
}

// verdict is what a line shows of its encoding.
type verdict uint8

const (
	ascii    verdict = iota
	unicoded         // UTF-8, perhaps cut
	chinese          // GB 18030
	either           // a few bytes that are well formed in both
	unknown
)

// A Chinese text has leastCommon common characters beside one of the rarer rows at least, which other encodings hit about as often; bytes that form nothing are
// one in mostBroken.
const (
	leastCommon = 4
	mostBroken  = 50
)

func judge(l []byte) verdict {
	if utf8.Valid(l) {
		return judgeValid(l)
	}
	bad, wide, first, cut := 0, 0, 0, false
	for i := 0; i < len(l); {
		if l[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(l[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			bad++
			cut = cut || !utf8.FullRune(l[i:])
		case n >= 3:
			wide += n
			if r >= 0x2000 && bad == 0 {
				if first++; first == sure {
					return unicoded
				}
			}
		}
		i += n
	}
	if wide > bad { // UTF-8 that was cut within characters
		return unicoded
	}
	p := count(l)
	switch {
	case !p.chinese():
		return unknown
	case cut && bad < 3:
		return either
	}
	return chinese
}

// judgeValid tells UTF-8 that says what it is (ideographs, kana, full-width signs, whatever takes three bytes) from two-byte letters that could be Chinese too.
func judgeValid(l []byte) verdict {
	v := ascii
	for i := 0; i < len(l); {
		if len(l)-i >= 8 && binary.LittleEndian.Uint64(l[i:])&beyond == 0 {
			i += 8
			continue
		}
		if l[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(l[i:])
		if n >= 3 && r >= 0x2000 {
			return unicoded
		}
		v = unicoded
		i += n
	}
	if v == unicoded {
		if p := count(l); p.broken == 0 && p.rare == 0 && p.han == p.common && p.han > 0 {
			return either
		}
	}
	return v
}

// pairs counts what a text is in GB 18030.
type pairs struct {
	common, rare, broken int // the rows of GB 2312, all others, bytes that form nothing
	han                  int // ideographs among the common ones
}

func (p *pairs) add(q pairs) {
	p.common, p.rare, p.broken, p.han = p.common+q.common, p.rare+q.rare, p.broken+q.broken, p.han+q.han
}

// chinese tells Chinese text from that of other encodings.
func (p pairs) chinese() bool {
	return p.han > 0 && p.han*3 >= p.common && p.common >= leastCommon*p.rare && p.broken*mostBroken <= p.common
}

func count(l []byte) pairs {
	var p pairs
	for i := 0; i < len(l); {
		n := width(l[i:])
		switch {
		case n == 1 && (l[i] < 0x80 || i+1 == len(l) || l[i+1] == '\n' || l[i+1] == '\r'): // a writer that counts bytes cuts the last character
		case n == 1:
			p.broken++
		case n == 2 && l[i] >= 0xa1 && l[i] <= 0xf7 && l[i+1] >= 0xa1:
			p.common++
			if l[i] >= 0xb0 {
				p.han++
			}
		default:
			p.rare++
		}
		i += n
	}
	return p
}

// width is the length of the character at the start of l; 1 for a byte that forms none.
func width(l []byte) int {
	if l[0] <= 0x80 || l[0] == 0xff || len(l) < 2 {
		return 1
	}
	switch c := l[1]; {
	case c >= 0x40 && c <= 0x7e, c >= 0x80 && c <= 0xfe:
		return 2
	case c >= '0' && c <= '9' && len(l) >= 4 && l[2] > 0x80 && l[2] < 0xff && l[3] >= '0' && l[3] <= '9':
		return 4
	}
	return 1
}

// mostlyPairs tells a line that reads well in GB 18030 but for a few bytes: rare characters, a character that was cut.
func mostlyPairs(l []byte) bool {
	p := count(l)
	return p.common > 0 && p.rare <= p.common && p.broken*4 <= p.common+p.rare+3
}
