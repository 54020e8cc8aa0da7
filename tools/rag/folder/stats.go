package folder

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"sort"

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

// stats are the term counts of a document or chunk as a sorted table: a header of the field lengths (3 × uint32), then entries of 4 bytes hash, 1 byte per field.
// Ranking reads counts from here and never touches text, and a table is searched in place as it lies in the file.
type stats []byte

const (
	statsHead  = 4 * int(fields)
	statsEntry = 4 + int(fields)
)

// termHash names a term in stats. Two terms of one document collide once in some ten million documents, which costs that document a rank at worst.
func termHash(term string) uint32 {
	h := fnv.New64a()
	h.Write([]byte(term))
	v := h.Sum64()
	return uint32(v ^ v>>32)
}

type counts [fields]uint8

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
	keys := make([]uint32, 0, len(b.counts))
	for h := range b.counts {
		keys = append(keys, h)
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i] < keys[j] })
	out := make(stats, statsHead, statsHead+len(keys)*statsEntry)
	for f, n := range b.lens {
		binary.LittleEndian.PutUint32(out[4*f:], n)
	}
	for _, h := range keys {
		out = binary.LittleEndian.AppendUint32(out, h)
		out = append(out, b.counts[h][:]...)
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
	copy(c[:], s[at+4:at+statsEntry])
	return c, true
}

// collectionStats are the averages that ranking normalises by.
type collectionStats struct {
	docs, chunks float64
	avg          [fields]float64 // of documents
	avgChunk     float64         // body terms of a chunk
}

func (c *collectionStats) add(d *docRow) {
	c.docs++
	c.chunks += float64(d.chunks)
	for f := range fields {
		c.avg[f] += d.stats.length(f)
	}
}

func (c *collectionStats) finish() {
	if c.docs == 0 {
		return
	}
	c.avgChunk = max(c.avg[inBody]/max(c.chunks, 1), 1)
	for f := range c.avg {
		c.avg[f] = max(c.avg[f]/c.docs, 1)
	}
}

// each calls yield for every term.
func (s stats) each(yield func(h uint32, c counts)) {
	for at := statsHead; at+statsEntry <= len(s); at += statsEntry {
		var c counts
		copy(c[:], s[at+4:at+statsEntry])
		yield(binary.LittleEndian.Uint32(s[at:]), c)
	}
}

// weighTitles finds how telling the words of titles are.
func (g *generation) weighTitles() {
	g.titleDF = make(map[uint32]int)
	for i := range g.docs {
		g.docs[i].stats.each(func(h uint32, c counts) {
			if c[inTitle] > 0 {
				g.titleDF[h]++
			}
		})
	}
	for i := range g.docs {
		d := &g.docs[i]
		d.stats.each(func(h uint32, c counts) {
			if c[inTitle] > 0 {
				d.titleMass += g.titleIDF(h)
			}
		})
	}
}

func (g *generation) titleIDF(h uint32) float64 {
	return idf(g.stats.docs+prior, float64(g.titleDF[h]))
}
