package files

import (
	"bufio"
	"bytes"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/seed-069badc9/mcp-gateway/tools/logs/charset"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/line"
)

// shape is how the lines of a file begin, as its first ones show.
type shape uint8

const (
	loose   shape = iota // no mark tells where an event begins
	objects              // a line that begins with { begins an event
	stamped              // a line that begins with a time begins an event
	wrapped              // CRI or docker: the line inside decides
)

type packing uint8

const (
	none packing = iota
	gz
	zst
	wide // UTF-16, as some Windows programs write
)

// file is an opened log file and what its ends say.
type file struct {
	name    string
	root    *os.Root
	h       *os.File
	info    fs.FileInfo
	size    int64
	pack    packing
	coding  charset.Kind
	shape   shape
	within  int   // how many words may stand in front of a line's time
	timed   bool  // some of the first lines carry times
	first   int64 // earliest time among the first lines
	last    int64 // latest time among the last lines; the time of the last write when unknown
	high    int64 // latest time met while a packed file was read
	gap     int64 // mean distance of events
	newest  newest
	ordered bool // nothing seen so far contradicts rising times
}

// probeBytes is what is read at both ends of a file: some hundred lines.
const probeBytes = 64 << 10

// zstdWindow bounds the decoder's memory: the default of zstd's command line is 8 MiB, its long mode 128 MiB is refused.
const zstdWindow = 32 << 20

// open gives the file's content from the start, unpacked.
func (f *file) open() (io.Reader, func(), error) {
	raw := f.section(0, f.size)
	switch f.pack {
	case gz:
		r, err := gzip.NewReader(bufio.NewReaderSize(raw, 64<<10))
		if err != nil {
			return nil, nil, err
		}
		return r, func() { _ = r.Close() }, nil
	case zst:
		r, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			return nil, nil, err
		}
		return r, r.Close, nil
	case wide:
		return charset.NewWide(raw, f.coding), func() {}, nil
	}
	return raw, func() {}, nil
}

// sniff tells by the first bytes how the file is packed.
func (f *file) sniff() error {
	var magic [4]byte
	n, err := f.h.ReadAt(magic[:], 0)
	if err != nil && err != io.EOF {
		return err
	}
	switch {
	case n >= 2 && magic[0] == 0x1f && magic[1] == 0x8b:
		f.pack = gz
	case n == 4 && magic == [4]byte{0x28, 0xb5, 0x2f, 0xfd}:
		f.pack = zst
	default:
		if f.coding = charset.Mark(magic[:n]); f.coding != charset.UTF8 {
			f.pack = wide
		}
	}
	return nil
}

// probe reads the ends of the file.
func (f *file) probe(loc *time.Location) error {
	if err := f.sniff(); err != nil {
		return err
	}
	r, done, err := f.open()
	if err != nil {
		return err
	}
	defer done()
	head := make([]byte, probeBytes)
	n, err := io.ReadFull(r, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	head = head[:n]
	if err := f.encoding(head, n == probeBytes); err != nil {
		return err
	}
	head = f.decode(head)
	f.within = f.layout(head, n == probeBytes, line.NewClock(loc, f.info.ModTime()))
	if f.pack == none && f.size > int64(n) { // other programs may have written at the end
		end, err := f.end()
		if err != nil {
			return err
		}
		f.within = max(f.within, f.layout(end, false, line.NewClock(loc, f.info.ModTime())))
	}
	clock := f.clock(loc)
	f.ordered = true
	var prev int64
	lines, heads, times, objs, wraps := 0, 0, 0, 0, 0
	eachLine(head, n == probeBytes, func(l []byte) {
		if len(bytes.TrimSpace(l)) == 0 {
			return
		}
		lines++
		if _, ok := line.Unwrap(l); ok {
			wraps++
		}
		if l[0] == '{' {
			objs++
		}
		if !continuation(l) && l[0] != '}' && l[0] != ']' && l[0] != ')' {
			heads++
		}
		t, ok := clock.Time(l)
		if !ok {
			return
		}
		times++
		if clock.Local() {
			f.newest.add(t)
		}
		if f.first == 0 || t < f.first {
			f.first = t
		}
		if t < prev-slack {
			f.ordered = false
		}
		prev = max(prev, t)
	})
	f.timed = times > 0
	switch {
	case wraps*2 > lines:
		f.shape = wrapped
	case objs*2 > lines:
		f.shape = objects
	case times*4 >= heads && times > 0: // traces and dumps may stand between
		f.shape = stamped
	}
	mtime := f.info.ModTime().UnixNano()
	f.last = max(prev, f.first)
	switch {
	case !f.timed:
		f.first, f.last = mtime, mtime
	case f.pack != none:
		f.last = max(f.last, mtime)
		if n == probeBytes { // its end is not known
			f.newest = newest{}
		}
	case f.size > int64(n):
		return f.tail(clock)
	}
	if times > 1 {
		f.gap = (prev - f.first) / int64(times-1)
	}
	return nil
}

// clock reads the times of the file's lines.
func (f *file) clock(loc *time.Location) *line.Clock {
	c := line.NewClock(loc, f.info.ModTime())
	c.Within(f.within)
	return c
}

// layout tells how many words stand in front of the time in the lines of the file: the fewest that an eighth of the timed lines has. A time further behind is one
// that a line tells of, as the message of an exception does, and begins no event.
func (f *file) layout(head []byte, cut bool, clock *line.Clock) int {
	var places [16]int
	timed := 0
	eachLine(head, cut, func(l []byte) {
		if l[0] == ' ' || l[0] == '\t' {
			return
		}
		if _, ok := clock.Time(l); ok {
			timed++
			places[min(clock.Place(), len(places)-1)]++
		}
	})
	for p, n := range places {
		if n > 0 && n*8 >= timed {
			return p
		}
	}
	return len(places)
}

// end is the last lines of a plain file.
func (f *file) end() ([]byte, error) {
	from := max(f.size-probeBytes, 0)
	b := make([]byte, f.size-from)
	if _, err := f.h.ReadAt(b, from); err != nil && err != io.EOF {
		return nil, err
	}
	return f.decode(b[bytes.IndexByte(b, '\n')+1:]), nil
}

// A plain file that is larger than what is read of its ends is looked at in between for its encoding: programs that start with plain words speak Chinese later.
const (
	samples     = 8
	sampleBytes = 4 << 10
)

// encoding tells by samples of the file whether lines of it must be decoded. One that the samples miss is still decoded when it is matched.
func (f *file) encoding(head []byte, cut bool) error {
	if f.pack == wide {
		return nil
	}
	parts := [][]byte{head}
	if cut {
		parts[0] = head[:bytes.LastIndexByte(head, '\n')+1]
	}
	if f.pack == none && f.size > int64(len(head)) {
		buf := make([]byte, samples*sampleBytes+probeBytes)
		for i := range samples + 1 {
			size, from := sampleBytes, f.size/(samples+1)*int64(i+1)
			if i == samples {
				size, from = probeBytes, max(f.size-probeBytes, 0)
			}
			n, err := f.h.ReadAt(buf[:size], from)
			if err != nil && err != io.EOF {
				return err
			}
			b := buf[:n]
			parts = append(parts, b[bytes.IndexByte(b, '\n')+1:bytes.LastIndexByte(b, '\n')+1])
			buf = buf[size:]
		}
	}
	if !slices.ContainsFunc(parts, func(b []byte) bool { return !utf8.Valid(b) }) {
		return nil
	}
	var t charset.Tally
	for _, b := range parts {
		t.Add(b)
	}
	f.coding = t.Kind()
	return nil
}

// decode gives lines of the file as UTF-8.
func (f *file) decode(b []byte) []byte {
	if f.pack == wide || f.coding == charset.UTF8 {
		return b
	}
	return charset.Append(nil, b, f.coding)
}

// tail reads the last lines of a plain file.
func (f *file) tail(clock *line.Clock) error {
	b, err := f.end()
	if err != nil {
		return err
	}
	var low, high int64
	n := 0
	f.newest = newest{} // those of the head are not the last
	eachLine(b, false, func(l []byte) {
		if t, ok := clock.Time(l); ok {
			n++
			if clock.Local() {
				f.newest.add(t)
			}
			if low == 0 || t < low {
				low = t
			}
			high = max(high, t)
		}
	})
	if n == 0 {
		f.ordered = false
		return nil
	}
	f.last = max(f.last, high)
	if low < f.first-slack || high < f.first {
		f.ordered = false
		f.first = min(f.first, low)
	}
	if n > 1 {
		f.gap = (high - low) / int64(n-1)
	}
	return nil
}

// eachLine calls fn with each line of b; the last one is left out when it may be cut.
func eachLine(b []byte, cut bool, fn func([]byte)) {
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			if !cut {
				fn(b)
			}
			return
		}
		if i > 0 {
			fn(b[:i])
		}
		b = b[i+1:]
	}
}
