package folder

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"github.com/seed-069badc9/mcp-gateway/tools/rag"
)

// writer makes the next index file, in one transaction. It begins with the first change, so that nothing is copied when nothing changed.
type writer struct {
	ctx   context.Context // of the build: a writer does not outlive it
	file  string
	fresh bool        // from nothing, else from a copy of the file
	last  *generation // in use until now, may be nil: remembers identities when the file does not
	done  bool        // published

	before                          []known
	db                              *sql.DB
	tx                              *sql.Tx
	insDoc, insChunk, insFTS, delFT *sql.Stmt
	nextID                          int64
}

// temp is where the next file is written. The build lock is held: whatever lies there is the remains of a build that was killed.
func (w *writer) temp() string { return w.file + ".new" }

func (w *writer) open() (err error) {
	if w.db != nil {
		return nil
	}
	if err := os.Remove(w.temp()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if w.before = readKnown(w.ctx, w.file); len(w.before) == 0 && w.last != nil {
		w.before = knownIn(w.ctx, w.last.db)
	}
	if w.fresh {
		f, err := os.OpenFile(w.temp(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	} else if err := copyFile(w.file, w.temp()); err != nil {
		return err
	}
	// Neither journal nor sync: the file counts only after it is complete, synced and renamed. secure_delete: removed text leaves no trace in free pages.
	if w.db, err = sql.Open("sqlite", dsn(w.temp(), "_pragma=journal_mode(OFF)&_pragma=synchronous(OFF)&_pragma=secure_delete(1)&_pragma=cache_size(-8192)&_pragma=locking_mode(EXCLUSIVE)")); err != nil {
		return err
	}
	w.db.SetMaxOpenConns(1)
	if w.fresh {
		if _, err := w.db.ExecContext(w.ctx, schema); err != nil {
			return err
		}
		// Terms are gathered in memory and written in a few large segments, which publish joins: merging on the way would do the work twice.
		for _, option := range []struct {
			name string
			v    int
		}{{"hashsize", 8 << 20}, {"automerge", 0}, {"crisismerge", 64}} {
			if _, err := w.db.ExecContext(w.ctx, `INSERT INTO fts (fts, rank) VALUES (?, ?)`, option.name, option.v); err != nil {
				return err
			}
		}
	}
	if w.tx, err = w.db.BeginTx(w.ctx, nil); err != nil {
		return err
	}
	if w.fresh {
		w.vectorsFrom(w.file)
	}
	return w.prepare()
}

// publish completes the file and puts it in place of the old one.
func (w *writer) publish(fingerprint, space string) error {
	if err := w.identities(space, w.before); err != nil {
		return err
	}
	if _, err := w.tx.ExecContext(w.ctx, `DELETE FROM vectors WHERE key NOT IN (SELECT vkey FROM chunks)`); err != nil {
		return err
	}
	for _, m := range [][2]string{{"format", formatVersion}, {"fingerprint", fingerprint}} {
		if _, err := w.tx.ExecContext(w.ctx, `INSERT OR REPLACE INTO meta VALUES (?, ?)`, m[0], m[1]); err != nil {
			return err
		}
	}
	if w.fresh {
		if _, err := w.tx.ExecContext(w.ctx, `INSERT INTO fts (fts) VALUES ('optimize')`); err != nil {
			return err
		}
		if _, err := w.tx.ExecContext(w.ctx, `INSERT INTO fts (fts, rank) VALUES ('automerge', 4)`); err != nil {
			return err
		}
	}
	if err := w.tx.Commit(); err != nil {
		return err
	}
	if err := w.db.Close(); err != nil {
		return err
	}
	if err := syncFile(w.temp()); err != nil {
		return err
	}
	if err := os.Rename(w.temp(), w.file); err != nil {
		return err
	}
	w.done = true
	return nil
}

// close removes what an unfinished build leaves.
func (w *writer) close() {
	if w.db == nil || w.done {
		return
	}
	if w.tx != nil {
		w.tx.Rollback()
	}
	w.db.Close()
	os.Remove(w.temp())
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

// put adds a document or replaces the one at its path.
func (w *writer) put(d *document, e entry) error {
	if err := w.open(); err != nil {
		return err
	}
	if !w.fresh {
		if err := w.remove(d.path); err != nil {
			return err
		}
	}
	return w.insert(d, e)
}

// touch notes the size and the times of a file whose text is as indexed.
func (w *writer) touch(e entry) error {
	if err := w.open(); err != nil {
		return err
	}
	_, err := w.tx.ExecContext(w.ctx, `UPDATE docs SET size = ?, mtime = ?, ctime = ? WHERE path = ?`, e.size, e.mtime, e.ctime, e.name)
	return err
}

func (w *writer) prepare() (err error) {
	if err := w.tx.QueryRowContext(w.ctx, `SELECT COALESCE(MAX(id), 0) + 1 FROM docs`).Scan(&w.nextID); err != nil {
		return err
	}
	for _, s := range []struct {
		to  **sql.Stmt
		sql string
	}{
		{&w.insDoc, `INSERT INTO docs (id, path, doc_id, fm_id, title, tags, hash, size, mtime, ctime, chunks, copy, stats) VALUES (?, ?, '', ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)`},
		{&w.insChunk, `INSERT INTO chunks (id, heading, text, digest, vkey, stats) VALUES (?, ?, ?, ?, ?, ?)`},
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
	if _, err := w.insDoc.ExecContext(w.ctx, id, d.path, d.id, d.title, d.tags, d.hash, e.size, e.mtime, e.ctime, len(d.chunks), []byte(d.terms.doc)); err != nil {
		return err
	}
	for i, c := range d.chunks {
		heading, err := json.Marshal(c.heading)
		if err != nil {
			return err
		}
		row := id<<chunkBits | int64(i)
		if _, err := w.insChunk.ExecContext(w.ctx, row, string(heading), c.text, rag.Digest(c.text), rag.Digest(embedText(d.title, c)), []byte(d.terms.stats[i])); err != nil {
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
	if err := w.open(); err != nil {
		return err
	}
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
	upd, err := w.tx.PrepareContext(w.ctx, `UPDATE docs SET doc_id = ?, copy = ? WHERE path = ? AND (doc_id <> ? OR copy <> ?)`)
	if err != nil {
		return err
	}
	used := make(map[string]bool, len(ids))
	second := copies(space, docs, ids, before)
	for _, d := range docs {
		id := ids[d.path]
		used[id] = true
		if _, err := upd.ExecContext(w.ctx, id, second[d.path], d.path, id, second[d.path]); err != nil {
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
