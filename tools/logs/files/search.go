package files

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/tools/logs"
)

// segmentBytes is how much of a file one goroutine reads at a time: a large file is read by several.
const segmentBytes = 32 << 20

// segment is a part of a file. Packed and loose files have one.
type segment struct {
	f        *file
	from, to int64
}

var errScan = errors.New("bytes scanned over max_scan")

// search is one call.
type search struct {
	src     *Source
	q       logs.Query
	sink    logs.Sink
	left    atomic.Int64 // bytes that may still be read
	failed  atomic.Bool  // a file could not be read to its end
	mu      sync.Mutex
	wild    map[*file]bool // files whose times turned out unordered
	skipped []segment      // what bisecting and pruning left out
}

// Search reads the files that can hold events of the range, the newest listing of them. Parts that their times rule out are read too when nothing matched otherwise,
// and when the file turns out not to be ordered.
func (s *Source) Search(ctx context.Context, q logs.Query, sink logs.Sink) (logs.Report, error) {
	l := s.list()
	defer func() { l.close() }()
	l.probe(s)
	if l.moved() { // rotated in between: once more on the new names
		l.close()
		l = s.list()
		l.probe(s)
	}
	w := &search{src: s, q: q, sink: sink, wild: make(map[*file]bool)}
	w.left.Store(q.MaxScan)
	from, to := q.From.UnixNano(), q.To.UnixNano()
	complete := l.complete(from)
	if len(l.files) == 0 && len(l.problems) > 0 {
		return logs.Report{}, fault.New(fault.BackendError, "files.Search", l.problems[0])
	}
	sortFiles(l.files)
	segs, err := w.plan(ctx, l.files, from, to)
	if err != nil {
		return logs.Report{}, err
	}
	if err := w.run(ctx, segs); err != nil {
		return logs.Report{}, err
	}
	if again := w.again(from); len(again) > 0 {
		if err := w.run(ctx, again); err != nil {
			return logs.Report{}, err
		}
	}
	rep := cover(l.files, from, to, q.Now)
	d, sane, _ := lead(l.files, q.Now.UnixNano())
	rep.Ahead, rep.Doubtful = time.Duration(d), d > 0 && !sane
	rep.Untimed = slices.ContainsFunc(l.files, func(f *file) bool { return !f.timed && f.first >= from && f.first < to })
	rep.NoFile = len(l.files) == 0
	rep.Complete = complete && !w.failed.Load() && !l.shrunk()
	rep.Scanned = q.MaxScan - w.left.Load()
	return rep, nil
}

// probe reads the ends of all files; one that cannot be read becomes a problem.
func (l *listing) probe(s *Source) {
	kept := l.files[:0]
	for _, f := range l.files {
		if err := f.probe(s.loc); err != nil {
			_ = f.h.Close() // opened for reading
			l.problem(err, f.info.ModTime())
			continue
		}
		kept = append(kept, f)
	}
	l.files = kept
}

// old is how long before the range a file must have been written last to be ruled out by that alone: a day for zones and clocks.
const old = 25 * time.Hour

// complete tells whether every unreadable file is too old to matter.
func (l *listing) complete(from int64) bool {
	for _, last := range l.blocked {
		if last.IsZero() || last.Add(old).UnixNano() >= from {
			return false
		}
	}
	return true
}

func (l *listing) shrunk() bool {
	for _, f := range l.files {
		if info, err := f.h.Stat(); err != nil || info.Size() < f.size {
			return true
		}
	}
	return false
}

// plan cuts what may hold events of the range into segments and notes what it leaves out.
func (w *search) plan(ctx context.Context, files []*file, from, to int64) ([]segment, error) {
	var out []segment
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if f.timed && f.ordered && f.pack == none && f.size > bisectFrom && !f.steady(f.clock(w.src.loc)) {
			f.ordered = false
		}
		margin := slack
		if w.src.loc != time.UTC { // a local time may be an hour later than its first reading
			margin += int64(time.Hour)
		}
		if f.timed && f.ordered && (f.first > to+slack || f.last < from-margin) {
			w.skip(f, 0, f.size)
			continue
		}
		start, end := int64(0), f.size
		if f.pack == none && f.ordered && f.timed && f.size > bisectFrom {
			a, b, ok := f.window(from, to, f.clock(w.src.loc))
			if ok {
				start, end = a, b
				w.skip(f, 0, a)
				w.skip(f, b, f.size)
			}
		}
		out = append(out, w.split(f, start, end)...)
	}
	return out, nil
}

func (w *search) skip(f *file, from, to int64) {
	if to > from {
		w.skipped = append(w.skipped, segment{f, from, to})
	}
}

// split cuts a part of a file into segments.
func (w *search) split(f *file, start, end int64) []segment {
	size := w.src.segment
	if f.pack != none || f.shape == loose || f.shape == wrapped || end-start <= size*3/2 {
		if start >= end {
			return nil
		}
		return []segment{{f, start, end}}
	}
	var out []segment
	for start < end {
		next := min(start+size, end)
		out = append(out, segment{f, start, next})
		start = next
	}
	return out
}

// again lists what was left out and has to be read after all. Files last written long before the range stay out when reading them would pass the bound: unless
// somebody sets the clock of the file system, they hold nothing.
func (w *search) again(from int64) []segment {
	var out []segment
	var size int64
	for _, s := range w.skipped {
		if !w.sink.Found() || w.wild[s.f] {
			out = append(out, s)
			size += s.to - s.from
		}
	}
	if size > w.left.Load() {
		out = slices.DeleteFunc(out, func(s segment) bool { return s.f.info.ModTime().Add(old).UnixNano() < from })
	}
	var cut []segment
	for _, s := range out {
		cut = append(cut, w.split(s.f, s.from, s.to)...)
	}
	return cut
}

// run reads segments, in parallel, lanes opened in their order.
func (w *search) run(ctx context.Context, segs []segment) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		next  int
		first error
	)
	fail := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			first = err
		}
		cancel()
	}
	take := func() (segment, logs.Lane, bool) {
		mu.Lock()
		defer mu.Unlock()
		if next == len(segs) || first != nil {
			return segment{}, nil, false
		}
		next++
		return segs[next-1], w.sink.Lane(), true
	}
	for range min(runtime.GOMAXPROCS(0), len(segs)) {
		wg.Go(func() {
			buf := make([]byte, 0, bufBytes)
			for {
				seg, lane, ok := take()
				if !ok {
					return
				}
				if err := w.read(ctx, seg, lane, buf); err != nil {
					fail(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return first
}

// read reads one segment; a panic in it must not end the process, and what caused it stays here.
func (w *search) read(ctx context.Context, seg segment, lane logs.Lane, buf []byte) (err error) {
	defer lane.Close()
	defer func() {
		if recover() != nil {
			err = fault.New(fault.Internal, "files.Search", nil)
		}
	}()
	sc := newScanner(ctx, w, seg, lane, buf)
	err = sc.run()
	w.mu.Lock()
	defer w.mu.Unlock()
	if sc.unordered {
		w.wild[seg.f] = true
	}
	if seg.f.pack != none {
		seg.f.high = max(seg.f.high, sc.high)
	}
	return err
}

// claim takes n bytes from the bound.
func (w *search) claim(n int) error {
	if w.left.Add(-int64(n)) < 0 {
		return fault.New(fault.RawTooLarge, "files.Search", errScan)
	}
	return nil
}
