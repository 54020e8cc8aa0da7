package folder

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/seed-069badc9/mcp-gateway/tools/rag/internal/lex"
)

// field is where a term stands.
type field int

const (
	inTitle   field = iota // title, tags and the file's name
	inHeading              // headings above and in the text
	inBody
	fields
)

// stats are the term counts of a document or chunk as a sorted table: a header of the field lengths (3 × uint32), then entries of a 4-byte hash and a byte of counts.
// Ranking reads counts from here and never touches text, and a table is searched in place as it lies in the file.
type stats []byte

const (
	statsHead  = 4 * int(fields)
	statsEntry = 5
)

// termHash names a term in stats. Two terms of one document collide once in some ten million documents, which costs that document a rank at worst.
func termHash(term string) uint32 {
	const offset, prime = 14695981039346656037, 1099511628211 // FNV-1a
	v := uint64(offset)
	for i := range len(term) {
		v = (v ^ uint64(term[i])) * prime
	}
	return uint32(v ^ v>>32)
}

type counts [fields]uint8

// steps are the body counts that can be told apart: exact up to 8, coarser where BM25 has long been saturated.
var steps = [16]uint8{0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 13, 18, 26, 40, 80, 160}

// pack puts counts into a byte: two bits for the title, two for headings, four for the body.
func (c counts) pack() byte {
	body := len(steps) - 1
	for steps[body] > c[inBody] {
		body--
	}
	return min(c[inTitle], 3)<<6 | min(c[inHeading], 3)<<4 | byte(body)
}

func unpack(b byte) counts { return counts{b >> 6, b >> 4 & 3, steps[b&15]} }

// statsBuilder collects terms.
type statsBuilder struct {
	counts map[uint32]*counts
	lens   [fields]uint32
}

func newStatsBuilder() *statsBuilder { return &statsBuilder{counts: make(map[uint32]*counts)} }

func (b *statsBuilder) add(f field, term string) {
	h := termHash(term)
	c := b.counts[h]
	if c == nil {
		c = new(counts)
		b.counts[h] = c
	}
	if c[f] < math.MaxUint8 {
		c[f]++
	}
	b.lens[f]++
}

// text counts the terms of s in field f and passes each on to also, when set.
func (b *statsBuilder) text(f field, s string, also func(string)) {
	lex.Scan(s, func(t lex.Token) {
		b.add(f, t.Term)
		if also != nil {
			also(t.Term)
		}
	})
}

func (b *statsBuilder) build() stats {
	keys := slices.Sorted(maps.Keys(b.counts))
	out := make(stats, statsHead, statsHead+len(keys)*statsEntry)
	for f, n := range b.lens {
		binary.LittleEndian.PutUint32(out[4*f:], n)
	}
	for _, h := range keys {
		out = binary.LittleEndian.AppendUint32(out, h)
		out = append(out, b.counts[h].pack())
	}
	return out
}

func (s stats) length(f field) float64 {
	if len(s) < statsHead {
		return 0
	}
	return float64(binary.LittleEndian.Uint32(s[4*f:]))
}

// count finds a term's counts.
func (s stats) count(h uint32) (c counts, ok bool) {
	if len(s) < statsHead {
		return c, false
	}
	n := (len(s) - statsHead) / statsEntry
	lo, hi := 0, n
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if binary.LittleEndian.Uint32(s[statsHead+mid*statsEntry:]) < h {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	at := statsHead + lo*statsEntry
	if lo == n || binary.LittleEndian.Uint32(s[at:]) != h {
		return c, false
	}
	return unpack(s[at+4]), true
}

// collectionStats are the averages that ranking normalises by.
type collectionStats struct {
	docs, chunks float64
	avg          [fields]float64 // of documents
	avgChunk     float64         // body terms of a chunk
	lengths      [fields][]float64
}

func (c *collectionStats) add(d *docRow, s stats) {
	c.docs++
	c.chunks += float64(d.chunks)
	for f := range fields {
		c.lengths[f] = append(c.lengths[f], s.length(f))
	}
}

// finish computes the averages. A document of more than maxLength times the average counts as one of that length, or a single manual would make all runbooks short.
func (c *collectionStats) finish() {
	if c.docs == 0 {
		return
	}
	all := 0.0
	for _, n := range c.lengths[inBody] {
		all += n
	}
	c.avgChunk = max(all/max(c.chunks, 1), 1)
	for f := range fields {
		limit := math.Inf(1)
		for range 8 {
			sum := 0.0
			for _, n := range c.lengths[f] {
				sum += min(n, limit)
			}
			c.avg[f] = max(sum/c.docs, 1)
			limit = c.avg[f] * maxLength
		}
	}
	c.lengths = [fields][]float64{}
}
