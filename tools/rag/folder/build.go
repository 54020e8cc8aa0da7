package folder

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// Progress is told how many of the changed files have been read and then, from 0 anew, how many passages have been embedded. It is called from one goroutine at a time.
type Progress func(done, total int)

// Summary says what an index holds and what a Build did.
type Summary struct {
	Files     int // documents in the index
	Chunks    int
	Unchanged int // documents that did not have to be read again or had the same text
	Skipped   []Skip
	Took      time.Duration
	// EmbedError is why vectors are missing: the index is complete for a search by words all the same.
	EmbedError error
}

// Build compares the folder with its index and brings the index up to date. Bad files are in the summary, not errors.
func (x *Index) Build(ctx context.Context, progress Progress) (Summary, error) {
	began := time.Now()
	for {
		x.mu.Lock()
		if x.closed {
			x.mu.Unlock()
			return Summary{}, fault.New(fault.Internal, "folder.Build", errors.New("closed"))
		}
		other := x.refresh
		if other == nil {
			break // mu stays locked
		}
		x.mu.Unlock()
		if err := other.wait(ctx); ctx.Err() != nil {
			return Summary{}, errors.Join(ctx.Err(), err)
		}
	}
	r := &refresh{done: make(chan struct{})}
	x.refresh = r
	x.adopt(ctx)
	x.mu.Unlock()
	sum, err := x.update(ctx, progress)
	x.mu.Lock()
	x.refresh = nil
	r.err = err
	close(r.done)
	x.mu.Unlock()
	if err == nil && x.o.Embedder != nil {
		if sum.EmbedError = x.embedMissing(ctx, progress); ctx.Err() != nil {
			err = ctx.Err()
		}
	}
	sum.Took = time.Since(began)
	return sum, err
}

// update is one comparison of folder and index, and a new generation if they differ. Only one runs at a time in a process; a lock file keeps other processes from
// building the same.
func (x *Index) update(ctx context.Context, progress Progress) (Summary, error) {
	began := time.Now()
	list, err := scan(x.o.Path, x.o.Redactor)
	if err != nil {
		return Summary{}, err
	}
	x.mu.Lock()
	g := x.gen
	file, err := x.file()
	x.mu.Unlock()
	if err != nil {
		return Summary{}, err
	}
	changed := 0
	if p := x.compare(g, list); g == nil || !p.empty() || x.lost(ctx, file, g) {
		unlock, err := lockFile(ctx, file)
		if err != nil {
			return Summary{}, storeError("folder.lock", err)
		}
		defer unlock()
		x.mu.Lock()
		x.adopt(ctx) // another process may have done the work
		g = x.gen
		x.mu.Unlock()
		if list, err = scan(x.o.Path, x.o.Redactor); err != nil {
			return Summary{}, err
		}
		if p = x.compare(g, list); g == nil || !p.empty() || x.lost(ctx, file, g) {
			next, n, err := x.build(ctx, file, g, list, p, progress)
			if err != nil {
				return Summary{}, storeError("folder.Build", err)
			}
			if changed = n; next != nil {
				x.mu.Lock()
				x.swap(next)
				x.mu.Unlock()
				g = next
			}
		}
	}
	return x.finish(g, list, began, changed), nil
}

func (x *Index) finish(g *generation, list listing, began time.Time, changed int) Summary {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.checked = began
	x.pause = min(max(time.Since(began)*costs, minPause), maxPause)
	sum := Summary{Files: len(g.docs), Chunks: int(g.stats.chunks), Unchanged: len(g.docs) - changed, Skipped: list.skips}
	for _, f := range list.files {
		if s, ok := x.seen[f.name]; ok && s.skip != "" {
			sum.Skipped = append(sum.Skipped, Skip{f.name, s.skip})
		}
	}
	return sum
}

// plan is what may have to change in the index.
type plan struct {
	read []entry  // files to be looked into
	gone []string // paths no longer there
}

func (p *plan) empty() bool { return len(p.read) == 0 && len(p.gone) == 0 }

// lost tells that the index file is neither the generation in use nor one to take over: somebody removed or damaged it, and without a new one a process that starts
// later would find nothing. An index of other rules is not lost: two configurations must not take turns in building.
func (x *Index) lost(ctx context.Context, file string, g *generation) bool {
	if st, err := stampOf(file); err != nil || st == g.stamp {
		return errors.Is(err, fs.ErrNotExist)
	}
	other, err := openGeneration(ctx, file, x.fingerprint())
	if err == nil {
		other.close()
	}
	return err != nil && !errors.Is(err, errForeign) && ctx.Err() == nil
}

// compare finds the files whose size or times differ from what the index knows.
func (x *Index) compare(g *generation, list listing) plan {
	var p plan
	x.mu.Lock()
	defer x.mu.Unlock()
	here := make(map[string]bool, len(list.files))
	for _, f := range list.files {
		here[f.name] = true
		d := g.byName(f.name)
		if s, ok := x.seen[f.name]; ok && s.entry == f && (s.skip != "" && d == nil || d != nil && s.hash == d.hash) {
			continue
		}
		if d == nil || d.size != f.size || d.mtime != f.mtime || d.ctime != f.ctime {
			p.read = append(p.read, f)
		}
	}
	if g != nil {
		for _, d := range g.docs {
			if !here[d.path] {
				p.gone = append(p.gone, d.path)
			}
		}
	}
	for path := range x.seen {
		if !here[path] {
			delete(x.seen, path)
		}
	}
	return p
}

// settled is the age from which a file's time can be trusted: a second write within the clock's grain would leave no trace in size and time.
const settled = 2 * time.Second

// touched is when the file was last written or replaced.
func (f *entry) touched() time.Time { return time.Unix(0, max(f.mtime, f.ctime)) }

// build writes the next generation beside the file, renames it into place and opens it. It returns nil when there is nothing to write. changed counts the documents
// with other text than before.
func (x *Index) build(ctx context.Context, file string, g *generation, list listing, p plan, progress Progress) (next *generation, changed int, err error) {
	// When more than half is new, building from nothing is as quick and leaves no free pages behind. Only the generation in use may be copied: what else lies in the
	// file's place may be damaged, or hold text that was redacted by other rules.
	fresh := g == nil || (len(p.read)+len(p.gone))*2 > len(g.docs)
	if st, err := stampOf(file); g != nil && (err != nil || st != g.stamp) {
		fresh = true
	}
	if fresh {
		p = plan{read: list.files}
	}
	w := &writer{ctx: ctx, file: file, fresh: fresh, last: g}
	defer w.close()
	if fresh {
		if err := w.open(); err != nil {
			return nil, 0, err
		}
	}
	err = x.read(ctx, p.read, progress, func(f entry, d *document, bad error) error {
		old := g.byName(f.name)
		if d != nil && (old == nil || old.hash != d.hash) {
			changed++
		}
		if d != nil && (fresh || old == nil || old.hash != d.hash) {
			if time.Since(f.touched()) < x.grain {
				f.mtime = 0 // looked at again next time
			}
			x.forget(f.name)
			return w.put(d, f)
		}
		if d != nil && time.Since(f.touched()) >= x.grain { // the same text under a new time, which the next process should not have to find out again
			x.forget(f.name)
			return w.touch(f)
		}
		x.remember(f, d, bad)
		if d == nil && old != nil && !fresh {
			return w.remove(f.name)
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	for _, path := range p.gone {
		if err := w.remove(path); err != nil {
			return nil, 0, err
		}
	}
	if w.db == nil {
		return nil, 0, nil
	}
	if err := w.publish(x.fingerprint(), x.o.Space); err != nil {
		return nil, 0, err
	}
	next, err = openGeneration(ctx, file, x.fingerprint())
	return next, changed, err
}

// remember notes what reading a file told when nothing has to be written for it: unchanged text, or none.
func (x *Index) remember(f entry, d *document, bad error) {
	s := seenFile{entry: f}
	if d != nil {
		s.hash = d.hash
	} else {
		s.skip = readReason(bad)
	}
	if time.Since(f.touched()) < x.grain || d == nil && !contentReason(bad) {
		s.entry.mtime = 0 // looked at again next time: rights, too, may change without a trace in size and time
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.seen[f.name] = s
}

func (x *Index) forget(path string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.seen, path)
}

// contentReason tells a file that is bad for what it holds, as against one that cannot be read at the moment.
func contentReason(err error) bool {
	for _, known := range []error{errBinary, errEncoding, errEmpty, errTooLarge} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// read turns files into documents, several at a time, and hands them to use one by one as they get ready: no more than a few are in memory at once.
func (x *Index) read(ctx context.Context, files []entry, progress Progress, use func(entry, *document, error) error) error {
	if len(files) == 0 {
		return nil
	}
	root, err := os.OpenRoot(x.o.Path)
	if err != nil {
		return folderError("folder.read", err)
	}
	defer root.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		file entry
		doc  *document
		err  error
	}
	work, ready := make(chan entry), make(chan result, 8)
	var readers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 4, len(files)) {
		readers.Go(func() {
			for f := range work {
				r := result{file: f}
				r.doc, r.err = x.readOne(root, f)
				ready <- r
			}
		})
	}
	readers.Go(func() {
		defer close(work)
		for _, f := range files {
			select {
			case work <- f:
			case <-ctx.Done():
				return
			}
		}
	})
	var all sync.WaitGroup
	all.Go(func() {
		readers.Wait()
		close(ready)
	})
	defer all.Wait()
	done := 0
	for r := range ready {
		if err != nil {
			continue // the readers are being waited for
		}
		if err = use(r.file, r.doc, r.err); err != nil {
			cancel()
			continue
		}
		if done++; progress != nil {
			progress(done, len(files))
		}
	}
	if err == nil && done < len(files) {
		err = ctx.Err()
	}
	return err
}

var errReader = errors.New("the file cannot be read as a document")

// readOne reads one file. A document that makes a reader panic is skipped like any other bad file: it must not end the process.
func (x *Index) readOne(root *os.Root, f entry) (doc *document, err error) {
	defer func() {
		if recover() != nil {
			doc, err = nil, errReader
		}
	}()
	b, err := readFile(root, f.path)
	if err != nil {
		return nil, err
	}
	d, err := readDocument(f.path, b, x.o.Redactor)
	if err != nil {
		return nil, err
	}
	d.path = f.name
	d.terms = analyse(&d)
	return &d, nil
}
