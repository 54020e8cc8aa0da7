package folder

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"modernc.org/sqlite"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/tools/rag"
)

// Progress is told how many of the changed files have been read. It is called from one goroutine at a time.
type Progress func(done, total int)

// Summary says what an index holds and what a Build did.
type Summary struct {
	Files     int // documents in the index
	Chunks    int
	Unchanged int // documents that did not have to be read again or had the same text
	Skipped   []Skip
	Took      time.Duration
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
	sum.Took = time.Since(began)
	return sum, err
}

// update is one comparison of folder and index, and a new generation if they differ. Only one runs at a time in a process; a lock file keeps other processes from
// building the same.
func (x *Index) update(ctx context.Context, progress Progress) (Summary, error) {
	began := time.Now()
	list, err := scan(x.o.Path)
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
	if plan := x.compare(g, list); g == nil || !plan.empty() {
		unlock, err := lockFile(ctx, file)
		if err != nil {
			return Summary{}, storeError("folder.lock", err)
		}
		defer unlock()
		x.mu.Lock()
		x.adopt(ctx) // another process may have done the work
		g = x.gen
		x.mu.Unlock()
		if list, err = scan(x.o.Path); err != nil {
			return Summary{}, err
		}
		plan = x.compare(g, list)
		if err := x.read(ctx, g, list, &plan, progress); err != nil {
			return Summary{}, err
		}
		if g == nil || !plan.empty() {
			next, err := x.build(ctx, file, g, list, plan)
			if err != nil {
				return Summary{}, storeError("folder.Build", err)
			}
			x.mu.Lock()
			x.swap(next)
			g = next
			x.mu.Unlock()
		}
		return x.finish(g, list, began, len(plan.docs)), nil
	}
	return x.finish(g, list, began, 0), nil
}

func (x *Index) finish(g *generation, list listing, began time.Time, changed int) Summary {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.checked = time.Now()
	x.pause = min(max(time.Since(began)*costs, minPause), maxPause)
	sum := Summary{Files: len(g.docs), Chunks: int(g.stats.chunks), Unchanged: len(g.docs) - changed, Skipped: list.skips}
	for _, f := range list.files {
		if s, ok := x.seen[f.path]; ok && s.skip != "" {
			sum.Skipped = append(sum.Skipped, Skip{f.path, s.skip})
		}
	}
	return sum
}

// plan is what has to change in the index.
type plan struct {
	read []entry     // files to be looked into
	gone []string    // paths no longer there, or no longer readable as text
	docs []*document // what the files hold, after reading
	sure map[string]entry
}

func (p *plan) empty() bool { return len(p.read) == 0 && len(p.gone) == 0 && len(p.docs) == 0 }

// compare finds the files whose size or time differ from what the index knows.
func (x *Index) compare(g *generation, list listing) plan {
	p := plan{sure: map[string]entry{}}
	x.mu.Lock()
	defer x.mu.Unlock()
	here := make(map[string]bool, len(list.files))
	indexed := map[string]*docRow{}
	if g != nil {
		for i := range g.docs {
			indexed[g.docs[i].path] = &g.docs[i]
		}
	}
	for _, f := range list.files {
		here[f.path] = true
		d := indexed[f.path]
		if s, ok := x.seen[f.path]; ok && s.entry == f && (s.skip != "" && d == nil || d != nil && s.hash == d.hash) {
			continue
		}
		if d == nil || d.size != f.size || d.mtime != f.mtime {
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

// read turns the files of the plan into documents, several at a time. Files with the same text as indexed drop out of the plan; bad ones leave the index.
func (x *Index) read(ctx context.Context, g *generation, list listing, p *plan, progress Progress) error {
	if len(p.read) == 0 {
		return nil
	}
	root, err := os.OpenRoot(x.o.Path)
	if err != nil {
		return folderError("folder.read", err)
	}
	defer root.Close()
	indexed := map[string]*docRow{}
	if g != nil {
		for i := range g.docs {
			indexed[g.docs[i].path] = &g.docs[i]
		}
	}
	docs := make([]*document, len(p.read))
	skips := make([]error, len(p.read))
	next := make(chan int)
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for range min(runtime.GOMAXPROCS(0), 4, len(p.read)) {
		wg.Go(func() {
			for i := range next {
				b, err := readFile(root, p.read[i].path)
				if err == nil {
					var d document
					if d, err = readDocument(p.read[i].path, b, x.o.Redactor); err == nil {
						d.terms = analyse(&d)
						docs[i] = &d
					}
				}
				skips[i] = err
				mu.Lock()
				if done++; progress != nil {
					progress(done, len(p.read))
				}
				mu.Unlock()
			}
		})
	}
	for i := range p.read {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	now := time.Now()
	x.mu.Lock()
	defer x.mu.Unlock()
	for i, f := range p.read {
		old := indexed[f.path]
		fresh := now.Sub(time.Unix(0, f.mtime)) < settled
		switch {
		case docs[i] == nil:
			s := seenFile{entry: f, skip: readReason(skips[i])}
			if fresh || !contentReason(skips[i]) {
				s.entry.mtime = 0 // looked at again next time: rights may change without a trace in size and time
			}
			x.seen[f.path] = s
			if old != nil {
				p.gone = append(p.gone, f.path)
			}
		case old != nil && old.hash == docs[i].hash:
			s := seenFile{entry: f, hash: old.hash}
			if fresh {
				s.entry.mtime = 0
			}
			x.seen[f.path] = s
		default:
			delete(x.seen, f.path)
			if fresh {
				f.mtime = 0
			}
			p.docs = append(p.docs, docs[i])
			p.sure[f.path] = f
		}
	}
	p.read = nil
	return nil
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

// build writes the next generation beside the file, renames it into place and opens it.
func (x *Index) build(ctx context.Context, file string, g *generation, list listing, p plan) (*generation, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	// The lock is held: whatever lies at this name is the remains of a build that was killed.
	temp := file + ".new"
	for _, f := range []string{temp, temp + "-journal"} {
		if err := os.Remove(f); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	defer os.Remove(temp)
	before := readKnown(ctx, file)
	fresh := g == nil || (len(p.docs)+len(p.gone))*2 > len(g.docs)
	if fresh && g != nil {
		// More than half is new: building from nothing is as quick and leaves no free pages behind. The unchanged documents are read again.
		whole := plan{read: list.files, sure: map[string]entry{}}
		if err := x.read(ctx, nil, list, &whole, nil); err != nil {
			return nil, err
		}
		p = whole
	}
	if fresh {
		f, err := os.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		if err := f.Close(); err != nil {
			return nil, err
		}
	} else if err := copyFile(file, temp); err != nil {
		return nil, err
	}
	if err := writeGeneration(ctx, temp, fresh, x.fingerprint(), x.o.Space, before, p); err != nil {
		return nil, err
	}
	if err := syncFile(temp); err != nil {
		return nil, err
	}
	if err := os.Rename(temp, file); err != nil {
		return nil, err
	}
	return openGeneration(ctx, file, x.fingerprint())
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// maxGone bounds how many vanished documents an index remembers, the latest first.
const maxGone = 4096

// writeGeneration applies a plan to a file nobody reads yet.
func writeGeneration(ctx context.Context, file string, fresh bool, fingerprint, space string, before []known, p plan) error {
	// Neither journal nor sync: the file counts only after it is complete, synced and renamed. secure_delete: removed text leaves no trace in free pages.
	db, err := sql.Open("sqlite", dsn(file, "_pragma=journal_mode(OFF)&_pragma=synchronous(OFF)&_pragma=secure_delete(1)&_pragma=cache_size(-16384)&_pragma=locking_mode(EXCLUSIVE)"))
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if fresh {
		if _, err := db.ExecContext(ctx, schema); err != nil {
			return err
		}
		// Terms are gathered in memory and written in a few large segments, which optimize below joins: merging on the way would do the work twice.
		for option, v := range map[string]int{"hashsize": 8 << 20, "automerge": 0, "crisismerge": 64} {
			if _, err := db.ExecContext(ctx, `INSERT INTO fts (fts, rank) VALUES (?, ?)`, option, v); err != nil {
				return err
			}
		}
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	w := &writer{ctx: ctx, tx: tx}
	if err := w.prepare(); err != nil {
		return err
	}
	for _, path := range p.gone {
		if err := w.remove(path); err != nil {
			return err
		}
	}
	for _, d := range p.docs {
		if err := w.remove(d.path); err != nil {
			return err
		}
		if err := w.insert(d, p.sure[d.path]); err != nil {
			return err
		}
	}
	if err := w.identities(space, before); err != nil {
		return err
	}
	for k, v := range map[string]string{"format": formatVersion, "fingerprint": fingerprint} {
		if _, err := tx.ExecContext(ctx, `INSERT OR REPLACE INTO meta VALUES (?, ?)`, k, v); err != nil {
			return err
		}
	}
	if fresh {
		if _, err := tx.ExecContext(ctx, `INSERT INTO fts (fts) VALUES ('optimize')`); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO fts (fts, rank) VALUES ('automerge', 4)`); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	return db.Close()
}

// writer changes documents within one transaction.
type writer struct {
	ctx                             context.Context
	tx                              *sql.Tx
	insDoc, insChunk, insFTS, delFT *sql.Stmt
	nextID                          int64
}

func (w *writer) prepare() (err error) {
	if err := w.tx.QueryRowContext(w.ctx, `SELECT COALESCE(MAX(id), 0) + 1 FROM docs`).Scan(&w.nextID); err != nil {
		return err
	}
	for _, s := range []struct {
		to  **sql.Stmt
		sql string
	}{
		{&w.insDoc, `INSERT INTO docs (id, path, doc_id, fm_id, title, tags, hash, size, mtime, chunks, stats) VALUES (?, ?, '', ?, ?, ?, ?, ?, ?, ?, ?)`},
		{&w.insChunk, `INSERT INTO chunks (id, heading, text, digest, stats) VALUES (?, ?, ?, ?, ?)`},
		{&w.insFTS, `INSERT INTO fts (rowid, t) VALUES (?, ?)`},
		{&w.delFT, `INSERT INTO fts (fts, rowid, t) VALUES ('delete', ?, ?)`},
	} {
		if *s.to, err = w.tx.PrepareContext(w.ctx, s.sql); err != nil {
			return err
		}
	}
	return nil
}

// insert adds a document that is not in the index.
func (w *writer) insert(d *document, e entry) error {
	id := w.nextID
	w.nextID++
	if _, err := w.insDoc.ExecContext(w.ctx, id, d.path, d.id, d.title, d.tags, d.hash, e.size, e.mtime, len(d.chunks), []byte(d.terms.doc)); err != nil {
		return err
	}
	for i, c := range d.chunks {
		heading, err := json.Marshal(c.heading)
		if err != nil {
			return err
		}
		row := id<<chunkBits | int64(i)
		if _, err := w.insChunk.ExecContext(w.ctx, row, string(heading), c.text, rag.Digest(c.text), []byte(d.terms.stats[i])); err != nil {
			return err
		}
		if _, err := w.insFTS.ExecContext(w.ctx, row, d.terms.text[i]); err != nil {
			return err
		}
	}
	return nil
}

// remove takes a document out, if it is there. A contentless table must be told the terms it is to forget: they are made again from the stored text.
func (w *writer) remove(path string) error {
	d := document{path: path}
	var id int64
	err := w.tx.QueryRowContext(w.ctx, `SELECT id, title, tags FROM docs WHERE path = ?`, path).Scan(&id, &d.title, &d.tags)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	rows, err := w.tx.QueryContext(w.ctx, `SELECT id, heading, text FROM chunks WHERE id >= ? AND id < ? ORDER BY id`, id<<chunkBits, (id+1)<<chunkBits)
	if err != nil {
		return err
	}
	var ids []int64
	for rows.Next() {
		var row int64
		var heading string
		var c chunk
		if err := errors.Join(rows.Scan(&row, &heading, &c.text), json.Unmarshal([]byte(heading), &c.heading)); err != nil {
			rows.Close()
			return err
		}
		ids = append(ids, row)
		d.chunks = append(d.chunks, c)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	d.terms = analyse(&d)
	for i, row := range ids {
		if _, err := w.delFT.ExecContext(w.ctx, row, d.terms.text[i]); err != nil {
			return err
		}
	}
	if _, err := w.tx.ExecContext(w.ctx, `DELETE FROM chunks WHERE id >= ? AND id < ?`, id<<chunkBits, (id+1)<<chunkBits); err != nil {
		return err
	}
	_, err = w.tx.ExecContext(w.ctx, `DELETE FROM docs WHERE id = ?`, id)
	return err
}

// identities assigns every document its doc_id and writes down what is to be remembered.
func (w *writer) identities(space string, before []known) error {
	rows, err := w.tx.QueryContext(w.ctx, `SELECT path, fm_id, hash, title FROM docs ORDER BY path`)
	if err != nil {
		return err
	}
	var docs []*document
	for rows.Next() {
		d := new(document)
		if err := rows.Scan(&d.path, &d.id, &d.hash, &d.title); err != nil {
			rows.Close()
			return err
		}
		docs = append(docs, d)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	ids := assignIDs(space, docs, before)
	if _, err := w.tx.ExecContext(w.ctx, `DELETE FROM identity`); err != nil {
		return err
	}
	ins, err := w.tx.PrepareContext(w.ctx, `INSERT INTO identity (path, doc_id, hash, title, gone) VALUES (?, ?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	upd, err := w.tx.PrepareContext(w.ctx, `UPDATE docs SET doc_id = ? WHERE path = ? AND doc_id <> ?`)
	if err != nil {
		return err
	}
	used := make(map[string]bool, len(ids))
	for _, d := range docs {
		id := ids[d.path]
		used[id] = true
		if _, err := upd.ExecContext(w.ctx, id, d.path, id); err != nil {
			return err
		}
		if _, err := ins.ExecContext(w.ctx, d.path, id, d.hash, d.title, 0); err != nil {
			return err
		}
	}
	var newest int64
	for _, k := range before {
		newest = max(newest, k.gone)
	}
	left := maxGone
	for _, k := range sortedKnown(before) {
		if used[k.docID] || left == 0 {
			continue
		}
		used[k.docID] = true
		left--
		if k.gone == 0 {
			k.gone = newest + 1
		}
		if _, err := ins.ExecContext(w.ctx, k.path, k.docID, k.hash, k.title, k.gone); err != nil {
			return err
		}
	}
	return nil
}

// lockFile takes the build lock of an index file. SQLite's own file lock serves: it works on every system the index works on and ends with the process.
func lockFile(ctx context.Context, file string) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	name := file + ".lock"
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", dsn(name, "_pragma=busy_timeout("+strconv.Itoa(int(lockPoll/time.Millisecond))+")"))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	for {
		conn, err := db.Conn(ctx)
		if err == nil {
			if _, err = conn.ExecContext(ctx, `BEGIN EXCLUSIVE`); err == nil {
				return func() { conn.Close(); db.Close() }, nil
			}
			conn.Close()
		}
		if ctx.Err() != nil || !busy(err) {
			db.Close()
			return nil, errors.Join(ctx.Err(), err)
		}
	}
}

// lockPoll is how long SQLite waits for the lock before the context is looked at again.
const lockPoll = 100 * time.Millisecond

// sqliteBusy is SQLITE_BUSY, the primary result code for a lock that somebody else holds.
const sqliteBusy = 5

func busy(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code()&0xFF == sqliteBusy
}
