package files

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/charset"
)

// finder looks for candidates in raw text: a place that holds one of the literals, or a backslash, behind which anything may hide, or the start of a colour, which
// may stand within the literal. It runs on the fast byte search of
// the standard library: each literal is looked for by its rarest byte.
type finder struct {
	needles []needle
	b       []byte
	slash   int
	escape  int
}

type needle struct {
	text   []byte
	fold   bool
	rare   int // index of the rarest byte
	lo, up byte
	next   int // the next hit, when >= the position asked for
	nextLo int
	nextUp int
}

// common lists bytes of structured logs from frequent to rare. What is not listed is rarer still.
const common = "\" e0t12a:onirs,3l5d4c6789-u.pmgTh{}f_/[]=vwbyZkINE(O)RS+DALFxCMPqjUWBzGHVKYJQX"

func rarity(c byte) int {
	if i := bytes.IndexByte([]byte(common), c); i >= 0 {
		return i
	}
	return len(common)
}

func newFinder(need []logs.Literal) *finder {
	f := &finder{}
	for _, l := range need {
		n := needle{text: []byte(l.Text), fold: l.Fold}
		best := -1
		for i := range n.text {
			r := rarity(n.text[i])
			if n.fold {
				r = min(r, rarity(upper(n.text[i])))
			}
			if r > best {
				best, n.rare = r, i
			}
		}
		n.lo, n.up = n.text[n.rare], n.text[n.rare]
		if n.fold {
			n.up = upper(n.lo)
		}
		f.needles = append(f.needles, n)
	}
	return f
}

// alsoChinese adds the literals as they stand in a line in GB 18030: an encoding that no sample of the file showed must not hide a line. ASCII stands there as it is.
func alsoChinese(need []logs.Literal) []logs.Literal {
	out := need
	for _, l := range need {
		best := ""
		for _, run := range strings.FieldsFunc(l.Text, func(r rune) bool { return r < utf8.RuneSelf || r == utf8.RuneError }) {
			if len(run) > len(best) {
				best = run
			}
		}
		if best == "" {
			continue
		}
		if b := charset.Chinese(best); b != nil {
			out = append(out[:len(out):len(out)], logs.Literal{Text: string(b)})
		}
	}
	return out
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// load takes a block of text.
func (f *finder) load(b []byte) {
	f.b, f.slash, f.escape = b, -1, -1
	for i := range f.needles {
		n := &f.needles[i]
		n.next, n.nextLo, n.nextUp = -1, -1, -1
	}
}

// find is the place of the next candidate at or behind pos, or -1.
func (f *finder) find(pos int) int {
	if f.slash < pos {
		f.slash = f.nextSlash(pos)
	}
	if f.escape < pos {
		f.escape = index(f.b, pos, 0x1b)
	}
	best := min(f.slash, f.escape)
	for i := range f.needles {
		n := &f.needles[i]
		if n.next < pos {
			n.next = n.search(f.b, pos)
		}
		best = min(best, n.next)
	}
	if best >= len(f.b) {
		return -1
	}
	return best
}

// nextSlash is the next backslash, but for a line end that ends a text, as docker writes them: nothing can hide behind it.
func (f *finder) nextSlash(pos int) int {
	for {
		i := index(f.b, pos, '\\')
		if i+2 >= len(f.b) || f.b[i+1] != 'n' || f.b[i+2] != '"' {
			return i
		}
		pos = i + 3
	}
}

// index is the offset of c at or behind pos, or len(b).
func index(b []byte, pos int, c byte) int {
	if i := bytes.IndexByte(b[pos:], c); i >= 0 {
		return pos + i
	}
	return len(b)
}

func (n *needle) search(b []byte, pos int) int {
	if !n.fold {
		if i := bytes.Index(b[pos:], n.text); i >= 0 {
			return pos + i
		}
		return len(b)
	}
	at := pos + n.rare
	for at < len(b) {
		if n.nextLo < at {
			n.nextLo = index(b, at, n.lo)
		}
		hit := n.nextLo
		if n.up != n.lo {
			if n.nextUp < at {
				n.nextUp = index(b, at, n.up)
			}
			hit = min(hit, n.nextUp)
		}
		start := hit - n.rare
		if start+len(n.text) > len(b) {
			return len(b)
		}
		if n.equal(b[start : start+len(n.text)]) {
			return start
		}
		at = hit + 1
	}
	return len(b)
}

func (n *needle) equal(b []byte) bool {
	for i, c := range n.text {
		if lower(b[i]) != c {
			return false
		}
	}
	return true
}
