package folder

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"math"
	"sort"
	"strings"
	"sync"
	"time"
)

// Embedder turns texts into vectors of length one. Name tells the vectors of different models apart.
type Embedder interface {
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	Name() string
}

const (
	batchTexts   = 16               // texts of one request to the embedder
	batchPublish = 512              // vectors after which the index is published: what a build that is killed loses at most
	embedWait    = 60 * time.Second // for a batch
	queryWait    = 3 * time.Second  // for the vector of a query: beyond it the lexical answer is worth more than the wait
	embedPause   = 30 * time.Second // after a failure, before the embedder is asked again
	nearest      = 50               // passages that the vectors put into the fusion
	rrf          = 60               // the constant of reciprocal rank fusion, as in Cormack et al. 2009
	maxVectors   = 48 << 20         // bytes of vectors held in memory; beyond it they are read from the file
)

// Notes on the embeddings of an answer.
const (
	noteNoVectors   = "Embeddings are unavailable at the moment; the answer is by words only."
	notePartVectors = "Embeddings of some passages are still being made."
)

// embedText is what the embedder is given for a passage: its text under its title and headings, redacted like everything in the index.
func embedText(title string, c chunk) string {
	return strings.Join(append([]string{title}, c.heading...), " > ") + "\n" + c.text
}

// vectors are the passages' vectors of a generation.
type vectors struct {
	rows   []int64
	data   []byte // of all rows, one after the other; nil when they are read from the file
	width  int    // bytes of one
	missed int    // passages without one
	middle float64
}

// vectorsOf loads the vectors once. Nil: the file holds none of this embedder.
func (g *generation) vectorsOf(ctx context.Context, name string) (*vectors, error) {
	g.vecMu.Lock()
	defer g.vecMu.Unlock()
	if g.vec != nil || g.meta["embedder"] != name {
		return g.vec, nil
	}
	v := &vectors{}
	size := 0
	err := g.eachVector(ctx, func(row int64, b []byte) {
		v.rows = append(v.rows, row)
		v.width = len(b)
		if size += len(b); size <= maxVectors {
			v.data = append(v.data, b...)
		}
	})
	if err != nil {
		return nil, err
	}
	if size > maxVectors {
		v.data = nil
	}
	v.missed = int(g.stats.chunks) - len(v.rows)
	v.middle = v.background()
	g.vec = v
	return v, nil
}

func (g *generation) eachVector(ctx context.Context, yield func(row int64, v []byte)) error {
	rows, err := g.db.QueryContext(ctx, `SELECT c.id, v.v FROM chunks c JOIN vectors v ON v.key = c.vkey ORDER BY c.id`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var row int64
		var b sql.RawBytes
		if err := rows.Scan(&row, &b); err != nil {
			return err
		}
		yield(row, b)
	}
	return rows.Err()
}

// background is the mean likeness of passages that have nothing to do with each other. Models differ in it by half the scale, so a likeness means something only
// above it.
func (v *vectors) background() float64 {
	n := len(v.rows)
	if v.data == nil || n < 8 {
		return 0.3
	}
	sum, pairs := 0.0, 0
	for i := 0; i < n && pairs < 512; i += max(n/512, 1) {
		j := (i + n/2 + i%7) % n
		if i != j {
			sum += dot(v.data[i*v.width:(i+1)*v.width], v.data[j*v.width:(j+1)*v.width])
			pairs++
		}
	}
	return min(max(sum/float64(max(pairs, 1)), 0), 0.9)
}

func dot(a, b []byte) float64 {
	sum := float32(0)
	for i := 0; i+4 <= len(a) && i+4 <= len(b); i += 4 {
		sum += math.Float32frombits(binary.LittleEndian.Uint32(a[i:])) * math.Float32frombits(binary.LittleEndian.Uint32(b[i:]))
	}
	return float64(sum)
}

func pack(v []float32) []byte {
	out := make([]byte, 0, 4*len(v))
	for _, f := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(f))
	}
	return out
}

// neighbour is a passage near a query.
type neighbour struct {
	row      int64
	likeness float64 // 0 for what any two passages have in common, 1 for equal
}

// near finds the passages nearest to a query, exactly.
func (g *generation) near(ctx context.Context, v *vectors, query []float32) ([]neighbour, error) {
	q := pack(query)
	out := make([]neighbour, 0, len(v.rows))
	add := func(row int64, b []byte) {
		out = append(out, neighbour{row, math.Round(max(dot(q, b)-v.middle, 0)/(1-v.middle)*1e6) / 1e6})
	}
	if v.data != nil {
		for i, row := range v.rows {
			add(row, v.data[i*v.width:(i+1)*v.width])
		}
	} else if err := g.eachVector(ctx, add); err != nil {
		return nil, err
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].likeness != out[j].likeness {
			return out[i].likeness > out[j].likeness
		}
		a, b := g.byID[out[i].row>>chunkBits], g.byID[out[j].row>>chunkBits]
		if a != b && a != nil && b != nil {
			return a.path < b.path
		}
		return out[i].row < out[j].row
	})
	return out[:min(len(out), nearest)], nil
}

// fuse joins the order by words and the order by vectors through the ranks alone, as their scores have nothing in common. A passage is as relevant as the better of
// its two measures.
func (g *generation) fuse(picks []pick, near []neighbour) []pick {
	at := make(map[int64]int, len(picks))
	for i := range picks {
		at[picks[i].p.row] = i
		picks[i].score = 1 / float64(rrf+1+i)
	}
	for i, n := range near {
		d := g.byID[n.row>>chunkBits]
		if d == nil || n.likeness == 0 {
			continue
		}
		score := 1 / float64(rrf+1+i)
		if k, ok := at[n.row]; ok {
			picks[k].score += score
			picks[k].relevance = max(picks[k].relevance, n.likeness)
			continue
		}
		picks = append(picks, pick{doc: d, p: passage{row: n.row}, relevance: n.likeness, score: score})
	}
	sort.SliceStable(picks, func(i, j int) bool {
		a, b := &picks[i], &picks[j]
		if a.score != b.score {
			return a.score > b.score
		}
		if a.doc.path != b.doc.path {
			return a.doc.path < b.doc.path
		}
		return a.p.row < b.p.row
	})
	return picks
}

// provider is the embedder with a memory of its failures.
type provider struct {
	e     Embedder
	mu    sync.Mutex
	until time.Time // not to be asked before
	busy  bool      // vectors are being made
}

var errReplaced = errors.New("the index file is not the one in use")

var errPaused = errors.New("the embedder failed a moment ago")

// embed asks for vectors unless the embedder failed a moment ago. Its errors other than the context's stop asking for a while.
func (p *provider) embed(ctx context.Context, wait time.Duration, texts []string) ([][]float32, error) {
	p.mu.Lock()
	paused := time.Now().Before(p.until)
	p.mu.Unlock()
	if paused {
		return nil, errPaused
	}
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	vs, err := p.e.Embed(limited, texts)
	if err == nil && len(vs) != len(texts) {
		err = errors.New("as many vectors as texts are needed")
	}
	if err != nil && ctx.Err() == nil {
		p.mu.Lock()
		p.until = time.Now().Add(embedPause)
		p.mu.Unlock()
	}
	return vs, err
}

// question makes the vector of a query; ok is false when the answer has to do without.
func (x *Index) question(ctx context.Context, text string) (v []float32, ok bool) {
	vs, err := x.provider.embed(ctx, queryWait, []string{text})
	if err != nil {
		return nil, false
	}
	return vs[0], true
}

// embedMissing makes the vectors that the index lacks and publishes them in portions, so that a build that is stopped goes on where it was.
func (x *Index) embedMissing(ctx context.Context, progress Progress) error {
	x.provider.mu.Lock()
	if x.provider.busy {
		x.provider.mu.Unlock()
		return nil
	}
	x.provider.busy = true
	x.provider.mu.Unlock()
	defer func() {
		x.provider.mu.Lock()
		x.provider.busy = false
		x.provider.mu.Unlock()
	}()
	done, total := 0, 0
	for {
		x.mu.Lock()
		if x.gen == nil {
			x.mu.Unlock()
			return nil
		}
		g := x.acquire()
		x.mu.Unlock()
		todo, left, err := g.missing(ctx, x.provider.e.Name())
		x.release(g)
		if err != nil || len(todo) == 0 {
			return err
		}
		total = max(total, done+left)
		made := make(map[string][]byte, len(todo))
		for len(todo) > 0 {
			part := todo[:min(len(todo), batchTexts)]
			todo = todo[len(part):]
			texts := make([]string, len(part))
			for i, m := range part {
				texts[i] = m.text
			}
			vs, failed := x.provider.embed(ctx, embedWait, texts)
			if failed != nil {
				if len(made) > 0 {
					failed = errors.Join(failed, x.publishVectors(ctx, made))
				}
				return failed
			}
			for i, m := range part {
				made[m.key] = pack(vs[i])
			}
			if done += len(part); progress != nil {
				progress(done, total)
			}
		}
		if err := x.publishVectors(ctx, made); err != nil {
			return err
		}
	}
}

// unembedded is a passage without a vector.
type unembedded struct{ key, text string }

// missing lists passages that have no vector of this embedder, batchPublish at most, and counts all of them.
func (g *generation) missing(ctx context.Context, name string) ([]unembedded, int, error) {
	where := `WHERE vkey NOT IN (SELECT key FROM vectors)`
	if g.meta["embedder"] != name {
		where = ``
	}
	var n int
	if err := g.db.QueryRowContext(ctx, `SELECT COUNT(DISTINCT vkey) FROM chunks `+where).Scan(&n); err != nil || n == 0 {
		return nil, 0, err
	}
	rows, err := g.db.QueryContext(ctx, `SELECT MIN(id), vkey, heading, text FROM chunks `+where+` GROUP BY vkey ORDER BY 1 LIMIT ?`, batchPublish)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	var out []unembedded
	for rows.Next() {
		var row int64
		var key, heading string
		var c chunk
		if err := rows.Scan(&row, &key, &heading, &c.text); err != nil {
			return nil, 0, err
		}
		if c.heading, err = readHeading(heading); err != nil {
			return nil, 0, err
		}
		title := ""
		if d := g.byID[row>>chunkBits]; d != nil {
			title = d.title
		}
		out = append(out, unembedded{key, embedText(title, c)})
	}
	return out, n, rows.Err()
}

// publishVectors puts vectors into the next generation.
func (x *Index) publishVectors(ctx context.Context, made map[string][]byte) error {
	x.mu.Lock()
	file, err := x.file()
	x.mu.Unlock()
	if err != nil {
		return err
	}
	unlock, err := lockFile(ctx, file)
	if err != nil {
		return err
	}
	defer unlock()
	x.mu.Lock()
	x.adopt(ctx)
	g := x.gen
	x.mu.Unlock()
	if st, err := stampOf(file); err != nil || g == nil || st != g.stamp {
		return errors.Join(errReplaced, err) // not ours to copy: the next refresh builds one
	}
	w := &writer{ctx: ctx, file: file, last: g}
	defer w.close()
	if err := w.open(); err != nil {
		return err
	}
	if err := w.addVectors(x.provider.e.Name(), made); err != nil {
		return err
	}
	if err := w.publish(x.fingerprint(), x.o.Space); err != nil {
		return err
	}
	next, err := openGeneration(ctx, file, x.fingerprint())
	if err != nil {
		return err
	}
	x.mu.Lock()
	x.swap(next)
	x.mu.Unlock()
	return nil
}

func (w *writer) addVectors(name string, made map[string][]byte) error {
	var old string
	if err := w.tx.QueryRowContext(w.ctx, `SELECT value FROM meta WHERE key = 'embedder'`).Scan(&old); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if old != name {
		if _, err := w.tx.ExecContext(w.ctx, `DELETE FROM vectors`); err != nil {
			return err
		}
		if _, err := w.tx.ExecContext(w.ctx, `INSERT OR REPLACE INTO meta VALUES ('embedder', ?)`, name); err != nil {
			return err
		}
	}
	for key, v := range made {
		if _, err := w.tx.ExecContext(w.ctx, `INSERT OR REPLACE INTO vectors VALUES (?, ?)`, key, v); err != nil {
			return err
		}
	}
	return nil
}

// vectorsFrom copies the vectors of the file that a fresh build replaces: they belong to texts, and most texts stay. A file that cannot be read has none.
func (w *writer) vectorsFrom(file string) {
	db, err := sql.Open("sqlite", dsn(file, "mode=ro&immutable=1"))
	if err != nil {
		return
	}
	defer db.Close()
	var name string
	if db.QueryRowContext(w.ctx, `SELECT value FROM meta WHERE key = 'embedder'`).Scan(&name) != nil {
		return
	}
	rows, err := db.QueryContext(w.ctx, `SELECT key, v FROM vectors`)
	if err != nil {
		return
	}
	defer rows.Close()
	if _, err := w.tx.ExecContext(w.ctx, `INSERT OR REPLACE INTO meta VALUES ('embedder', ?)`, name); err != nil {
		return
	}
	for rows.Next() {
		var key string
		var v []byte
		if rows.Scan(&key, &v) != nil {
			return
		}
		if _, err := w.tx.ExecContext(w.ctx, `INSERT OR IGNORE INTO vectors VALUES (?, ?)`, key, v); err != nil {
			return
		}
	}
}

// hybrid adds the vectors to a ranking by words. ok is false when they could not take part.
func (x *Index) hybrid(ctx context.Context, g *generation, query string, picks []pick) (fused []pick, note string, ok bool) {
	v, err := g.vectorsOf(ctx, x.provider.e.Name())
	if err != nil || v == nil || len(v.rows) == 0 {
		return picks, noteNoVectors, false
	}
	q, ok := x.question(ctx, query)
	if !ok || 4*len(q) != v.width {
		return picks, noteNoVectors, false
	}
	near, err := g.near(ctx, v, q)
	if err != nil {
		return picks, noteNoVectors, false
	}
	if v.missed > 0 {
		note = notePartVectors
	}
	return g.fuse(picks, near), note, v.missed == 0
}
