package folder

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/tools/rag/internal/lex"
)

// formatVersion changes with the schema, the tokeniser, the splitter or anything else that makes an index of yesterday wrong. Another version is built anew;
// identities are carried over.
const formatVersion = "rag-5"

// schema of an index file. The full-text table is contentless: it holds terms only, and the text lies beside it. A chunk's rowid is doc<<chunkBits | ordinal, so
// that a posting names its document without a look-up.
const schema = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE docs (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, doc_id TEXT NOT NULL, fm_id TEXT NOT NULL, title TEXT NOT NULL, tags TEXT NOT NULL, hash TEXT NOT NULL,
  size INTEGER NOT NULL, mtime INTEGER NOT NULL, ctime INTEGER NOT NULL, chunks INTEGER NOT NULL, copy INTEGER NOT NULL, stats BLOB NOT NULL);
CREATE TABLE chunks (id INTEGER PRIMARY KEY, heading TEXT NOT NULL, text TEXT NOT NULL, digest TEXT NOT NULL, vkey TEXT NOT NULL, stats BLOB NOT NULL);
CREATE TABLE identity (path TEXT NOT NULL, doc_id TEXT NOT NULL, hash TEXT NOT NULL, title TEXT NOT NULL, gone INTEGER NOT NULL);
CREATE TABLE vectors (key TEXT PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE fts USING fts5(t, content='', tokenize='ascii', detail='none', columnsize=0);
CREATE VIRTUAL TABLE vocab USING fts5vocab(fts, 'row');
`

const chunkBits = 16

// generation is one state of an index: a complete SQLite file that nobody changes any more. Writers build the next one beside it and rename it over the path, so
// that readers of any process see the old or the new one, never a mixture, and need no locks.
type generation struct {
	db    *sql.DB
	stamp stamp
	meta  map[string]string
	docs  []docRow // ordered by path
	byID  map[int64]*docRow
	names map[string]*docRow
	stats collectionStats
	terms termCache

	titleDF map[uint32]int // titles that hold a term

	embedded bool // its vectors are being made, or all there
	vecMu    sync.Mutex
	vec      *vectors // nil until they are wanted

	candidates, chunk, chunkStats, docStats, df, holding, spelled *sql.Stmt
}

// docRow is a document in memory: everything but its text.
type docRow struct {
	id     int64
	path   string
	docID  string
	title  string
	hash   string
	size   int64
	mtime  int64
	ctime  int64
	chunks int
	copy   bool // of a document that had its text first
	stats  stats

	titleMass  float64 // of the words of title and tags, identifiers as a whole included
	titleWords float64 // without them
}

// stamp tells two files under one path apart.
type stamp struct {
	size  int64
	mtime int64
	inode uint64
}

func stampOf(path string) (stamp, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return stamp{}, err
	}
	return stamp{fi.Size(), fi.ModTime().UnixNano(), inodeOf(fi)}, nil
}

func dsn(path, options string) string {
	return (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: options}).String()
}

var (
	errFormat  = errors.New("index of another format")
	errForeign = errors.New("index of other rules") // a whole index, of another version or another configuration
)

// openGeneration opens the file for reading. errFormat means that it must be built anew; fs.ErrNotExist that there is none.
func openGeneration(ctx context.Context, path, fingerprint string) (*generation, error) {
	st, err := stampOf(path)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", dsn(path, "mode=ro&immutable=1&_pragma=query_only(1)&_pragma=cache_size(-4096)"))
	if err != nil {
		return nil, err
	}
	// Readers share nothing but the page cache of the system; more connections than this would only multiply the cache of each.
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	g := &generation{db: db, stamp: st, meta: map[string]string{}, byID: map[int64]*docRow{}, names: map[string]*docRow{}}
	if err := g.load(ctx, fingerprint); err != nil {
		db.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, errors.Join(errFormat, err)
	}
	return g, nil
}

func (g *generation) load(ctx context.Context, fingerprint string) error {
	rows, err := g.db.QueryContext(ctx, `SELECT key, value FROM meta`)
	if err != nil {
		return err
	}
	for rows.Next() {
		var k, v string
		if err := rows.Scan(&k, &v); err != nil {
			rows.Close()
			return err
		}
		g.meta[k] = v
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	if g.meta["format"] != formatVersion || g.meta["fingerprint"] != fingerprint {
		if g.meta["format"] == "" {
			return fmt.Errorf("no format")
		}
		return errForeign
	}
	if err := g.loadDocs(ctx); err != nil {
		return err
	}
	for _, p := range []struct {
		to  **sql.Stmt
		sql string
	}{
		{&g.candidates, `SELECT rowid FROM fts WHERE fts MATCH ?`},
		{&g.df, `SELECT doc FROM vocab WHERE term = ?`},
		{&g.spelled, `SELECT term, doc FROM vocab WHERE term >= ? AND term < ?`},
		{&g.chunk, `SELECT heading, text, digest FROM chunks WHERE id = ?`},
		{&g.docStats, `SELECT stats FROM docs WHERE id = ?`},
		{&g.chunkStats, `SELECT id, stats FROM chunks WHERE id >= ? AND id < ? ORDER BY id`},
		{&g.holding, `SELECT rowid FROM fts WHERE fts MATCH ? AND rowid >= ? AND rowid < ? LIMIT ?`},
	} {
		if *p.to, err = g.db.PrepareContext(ctx, p.sql); err != nil {
			return err
		}
	}
	return nil
}

// maxHeld bounds the term counts that a generation holds in memory, in bytes: ten thousand Chinese paragraphs take some 15 MiB. Those of further documents are read
// when they are wanted.
const maxHeld = 24 << 20

func (g *generation) loadDocs(ctx context.Context) error {
	rows, err := g.db.QueryContext(ctx, `SELECT id, path, doc_id, title, tags, hash, size, mtime, ctime, chunks, copy, stats FROM docs ORDER BY path`)
	if err != nil {
		return err
	}
	defer rows.Close()
	g.titleDF = make(map[uint32]int)
	var titles [][]titleTerm
	held := 0
	for rows.Next() {
		var d docRow
		var tags string
		var blob sql.RawBytes
		if err := rows.Scan(&d.id, &d.path, &d.docID, &d.title, &tags, &d.hash, &d.size, &d.mtime, &d.ctime, &d.chunks, &d.copy, &blob); err != nil {
			return err
		}
		s := stats(blob)
		if held += len(s); held <= maxHeld {
			d.stats = append(make(stats, 0, len(s)), s...)
		}
		g.stats.add(&d, s)
		title := titleTerms(d.title, tags)
		for _, t := range title {
			g.titleDF[t.hash]++
		}
		titles = append(titles, title)
		g.docs = append(g.docs, d)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	g.stats.finish()
	for i := range g.docs {
		d := &g.docs[i]
		g.byID[d.id], g.names[d.path] = d, d
		for _, t := range titles[i] {
			if v := g.titleIDF(t.hash); t.whole {
				d.titleMass += v * wWhole
			} else {
				d.titleMass += v
				d.titleWords += v
			}
		}
	}
	return nil
}

// titleTerm is a distinct term of a title; whole tells an identifier beside its parts.
type titleTerm struct {
	hash  uint32
	whole bool
}

func titleTerms(title, tags string) []titleTerm {
	var out []titleTerm
	for _, s := range [...]string{title, tags} {
		lex.Scan(s, func(t lex.Token) { out = append(out, titleTerm{termHash(t.Term), t.Kind == lex.Whole}) })
	}
	slices.SortFunc(out, func(a, b titleTerm) int {
		if c := cmp.Compare(a.hash, b.hash); c != 0 || a.whole == b.whole {
			return c
		}
		if a.whole {
			return 1
		}
		return -1
	})
	return slices.CompactFunc(out, func(a, b titleTerm) bool { return a.hash == b.hash })
}

// titleIDF tells how telling a word of titles is.
func (g *generation) titleIDF(h uint32) float64 {
	return idf(g.stats.docs+prior, float64(g.titleDF[h]))
}

// byName is the document at a path, nil if there is none.
func (g *generation) byName(path string) *docRow {
	if g == nil {
		return nil
	}
	return g.names[path]
}

// statsOf are the term counts of a document.
func (g *generation) statsOf(ctx context.Context, d *docRow) (stats, error) {
	if d.stats != nil {
		return d.stats, nil
	}
	var s []byte
	err := g.docStats.QueryRowContext(ctx, d.id).Scan(&s)
	return stats(s), err
}

func (g *generation) close() {
	if g != nil {
		g.db.Close()
	}
}

// readKnown reads what a file, even of another format, remembers of identities. Nothing readable is no error: identities are then made anew.
func readKnown(ctx context.Context, path string) []known {
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	db, err := sql.Open("sqlite", dsn(path, "mode=ro&immutable=1"))
	if err != nil {
		return nil
	}
	defer db.Close()
	return knownIn(ctx, db)
}

func knownIn(ctx context.Context, db *sql.DB) []known {
	rows, err := db.QueryContext(ctx, `SELECT path, doc_id, hash, title, gone FROM identity ORDER BY path, doc_id`)
	if err != nil {
		return nil
	}
	defer rows.Close()
	var out []known
	for rows.Next() {
		var k known
		if rows.Scan(&k.path, &k.docID, &k.hash, &k.title, &k.gone) != nil {
			return nil
		}
		out = append(out, k)
	}
	if rows.Err() != nil {
		return nil
	}
	return out
}

// storeError is what a failing index file turns into. The cause stays in the process.
func storeError(op string, err error) error {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fault.New(fault.BackendError, op, err)
}

// copyFile copies an index file for changing. The copy is private to this user from its first byte.
func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(dst, src); err != nil {
		dst.Close()
		return err
	}
	return dst.Close()
}
