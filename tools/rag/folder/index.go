// Package folder searches a folder of Markdown, text and HTML files through an embedded index (SQLite FTS5) with its own English and Chinese analysis. It promises:
// the index holds redacted, visible text only; nothing outside the folder is read, whatever links say; a bad file is reported by name and never stops the rest; the
// folder's changes are picked up without a restart; an index file is always complete, because the next one is built beside it and renamed over it, so that several
// processes may read it while one refreshes it; an empty answer is given only by an index that is up to date; equal folders give equal answers.
package folder

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/tools/rag"
)

// Options say where the documents and their index lie.
type Options struct {
	// Path is the folder.
	Path string
	// IndexFile is where the index is kept, with mode 0600; a lock file lies beside it. Empty: a private temporary file that Close removes.
	IndexFile string
	// Space separates the doc_ids of collections: the collection's name.
	Space string
	// Redactor hides values before anything is indexed. Nil: secrets, with placeholders kept.
	Redactor *redact.Redactor
	// Redaction names the redactor's options, for instance by their hash: when it changes, the index is built anew.
	Redaction string
	// Embedder adds a search by meaning to the search by words. Nil: by words only.
	Embedder Embedder
}

// Index is a searchable folder. It is safe for concurrent use.
type Index struct {
	o      Options
	life   context.Context // of refreshes: they outlive the call that started them and end with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex
	gen      *generation
	users    map[*generation]int // searches that use a generation; a retired one is closed by its last user
	refresh  *refresh            // the one under way, or nil
	checked  time.Time           // when the folder was last compared
	pause    time.Duration       // before it is compared again
	seen     map[string]seenFile // what reading a file told, for files whose stat alone does not settle it
	provider provider
	tempDir  string
	grain    time.Duration // settled, shorter in tests
	closed   bool
}

// seenFile remembers a file that was read in vain: unchanged text under a new time, or no text at all.
type seenFile struct {
	entry entry
	hash  string // of a document whose text is as indexed
	skip  string // why the file is left out
}

// New makes an Index. It does no I/O: the folder and the index are opened by the first search or Build.
func New(o Options) (*Index, error) {
	if o.Path == "" {
		return nil, fault.New(fault.InvalidRequest, "folder.New", errors.New("no path"))
	}
	if o.Redactor == nil {
		r, err := redact.New(redact.Options{Classes: redact.Classes{Secrets: true}, KeepPlaceholders: true})
		if err != nil {
			return nil, err
		}
		o.Redactor = r
	}
	life, cancel := context.WithCancel(context.Background())
	return &Index{o: o, life: life, cancel: cancel, provider: provider{e: o.Embedder}, grain: settled, users: map[*generation]int{}, seen: map[string]seenFile{}}, nil
}

// How often the folder is compared with its index. A comparison of ten thousand files takes some 50 ms and one of ten takes none, so the pause follows the cost: at
// most 2 % of the time goes into comparing.
const (
	minPause = 200 * time.Millisecond
	maxPause = 5 * time.Second
	costs    = 50
)

// patience is how long a search waits for a refresh before it answers from the index as it is.
const patience = 500 * time.Millisecond

// Notes that go with an answer.
const (
	noteRefreshing = "The index is being refreshed; the newest changes of the folder may be missing."
	noteLong       = "The question is long; only its first part was searched."
	noteUnreadable = "The folder cannot be read at the moment; the answer comes from its last index."
)

// Search finds passages. Errors: BACKEND_ERROR when the folder cannot be read and there is no index, BACKEND_INCOMPLETE when nothing was found but the index is not
// up to date, the context's when it ends.
func (x *Index) Search(ctx context.Context, q rag.Query, take func(int) error) (rag.Answer, error) {
	q.Text = x.o.Redactor.Text(q.Text, nil)
	asked, since := time.Now(), time.Time{}
	for {
		g, pending, err := x.current(ctx, since)
		if err != nil {
			return rag.Answer{}, err
		}
		ans, whole, err := x.answer(ctx, g, q, take)
		x.release(g)
		if err != nil {
			if _, refused := errors.AsType[*fault.Error](err); pending != nil && !refused && ctx.Err() == nil && pending.wait(ctx) == nil {
				continue // the index file was damaged, and has just been replaced
			}
			return rag.Answer{}, storeError("folder.Search", err)
		}
		if pending == nil {
			if len(ans.Hits) == 0 && x.comparedAt().Before(asked) {
				// That the folder held nothing a moment ago does not answer a question about now.
				since = asked
				continue
			}
			if !whole && len(ans.Hits) == 0 {
				return rag.Answer{}, fault.New(fault.BackendIncomplete, "folder.Search", errNoVectors)
			}
			return ans, nil
		}
		if len(ans.Hits) > 0 {
			state := noteRefreshing
			if pending.failed() != nil {
				state = noteUnreadable
			}
			ans.Note = strings.TrimSpace(ans.Note + " " + state)
			return ans, nil
		}
		// Nothing found proves nothing before the refresh is done.
		if err := pending.wait(ctx); err != nil {
			if ctx.Err() != nil {
				return rag.Answer{}, ctx.Err()
			}
			return rag.Answer{}, fault.New(fault.BackendIncomplete, "folder.Search", err)
		}
	}
}

// answer searches one generation. whole is false when a configured part of the search could not take part, so that finding nothing proves nothing.
func (x *Index) answer(ctx context.Context, g *generation, q rag.Query, take func(int) error) (ans rag.Answer, whole bool, err error) {
	found, err := g.words(ctx, q.Text)
	if err != nil {
		return ans, false, err
	}
	picks, whole, note := found.picks, true, ""
	if x.o.Embedder != nil && len(g.docs) > 0 {
		picks, note, whole = x.hybrid(ctx, g, q.Text, picks)
		x.makeVectors(g)
	}
	if err := ctx.Err(); err != nil {
		return ans, false, err
	}
	ans, err = g.collect(ctx, picks, found.left, q, take)
	ans.Bare = len(g.docs) == 0
	if ans.Note = note; found.shortened {
		ans.Note = strings.TrimSpace(noteLong + " " + note)
	}
	return ans, whole, err
}

// makeVectors has missing vectors made in the background.
func (x *Index) makeVectors(g *generation) {
	x.provider.mu.Lock()
	idle := !x.provider.busy && !time.Now().Before(x.provider.until)
	x.provider.mu.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	if !idle || x.closed || g != x.gen || g.embedded {
		return
	}
	g.embedded = true // this generation is taken care of; the next one is asked again
	x.wg.Go(func() {
		if x.embedMissing(x.life, nil) != nil {
			x.mu.Lock()
			g.embedded = false
			x.mu.Unlock()
		}
	})
}

var errNoVectors = errors.New("nothing found by words, and embeddings are incomplete")

var _ rag.Searcher = (*Index)(nil)

// refresh is a comparison of folder and index, and the build that follows from it.
type refresh struct {
	done chan struct{}
	err  error // readable once done is closed
}

func (r *refresh) wait(ctx context.Context) error {
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failed is the error of a refresh that has ended, nil while it runs.
func (r *refresh) failed() error {
	select {
	case <-r.done:
		return r.err
	default:
		return nil
	}
}

// comparedAt is when the folder was last found to be as indexed.
func (x *Index) comparedAt() time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.checked
}

// current gives the generation to search and, when that is not known to be up to date, the refresh that will make it so. Up to date is what was compared with the
// folder a short while ago, and not before since. The caller releases the generation.
func (x *Index) current(ctx context.Context, since time.Time) (*generation, *refresh, error) {
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return nil, nil, fault.New(fault.Internal, "folder.Search", errors.New("closed"))
	}
	x.adopt(ctx)
	if x.gen != nil && x.refresh == nil && time.Since(x.checked) < x.pause && !x.checked.Before(since) {
		defer x.mu.Unlock()
		return x.acquire(), nil, nil
	}
	r := x.start(nil)
	had := x.gen != nil
	x.mu.Unlock()

	var err error
	if had {
		wait, stop := context.WithTimeout(ctx, patience)
		err = r.wait(wait)
		stop()
	} else {
		err = r.wait(ctx)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.gen == nil {
		if err == nil {
			err = fault.New(fault.Internal, "folder.Search", errors.New("no index after a refresh"))
		}
		return nil, nil, err
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		return x.acquire(), r, nil
	}
	return x.acquire(), nil, nil
}

// start begins a refresh unless one is under way. The caller holds mu.
func (x *Index) start(progress Progress) *refresh {
	if x.refresh != nil {
		return x.refresh
	}
	r := &refresh{done: make(chan struct{})}
	x.refresh = r
	x.wg.Go(func() {
		_, err := x.update(x.life, progress)
		x.mu.Lock()
		x.refresh = nil
		r.err = err
		close(r.done)
		x.mu.Unlock()
	})
	return r
}

func (x *Index) acquire() *generation {
	x.users[x.gen]++
	return x.gen
}

func (x *Index) release(g *generation) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.users[g]--; x.users[g] <= 0 {
		delete(x.users, g)
		if g != x.gen {
			g.close()
		}
	}
}

// adopt takes over an index file that another process has put in place. The caller holds mu.
func (x *Index) adopt(ctx context.Context) {
	file, err := x.file()
	if err != nil {
		return
	}
	st, err := stampOf(file)
	if err != nil || x.gen != nil && st == x.gen.stamp {
		return
	}
	if g, err := openGeneration(ctx, file, x.fingerprint()); err == nil {
		x.swap(g)
	}
}

// swap makes g the current generation. The caller holds mu.
func (x *Index) swap(g *generation) {
	old := x.gen
	x.gen = g
	if old != nil && x.users[old] == 0 {
		old.close()
	}
}

// file is the index file's path; a temporary folder is made for an index without one. The caller holds mu.
func (x *Index) file() (string, error) {
	if x.o.IndexFile != "" {
		return x.o.IndexFile, nil
	}
	if x.tempDir == "" {
		dir, err := os.MkdirTemp("", "mcp-gateway-index-")
		if err != nil {
			return "", fault.New(fault.BackendError, "folder.file", err)
		}
		x.tempDir = dir
	}
	return filepath.Join(x.tempDir, "index.db"), nil
}

// Check tells whether the folder can be listed. It builds nothing.
func (x *Index) Check(ctx context.Context) error {
	l, err := scan(x.o.Path, x.o.Redactor)
	if err != nil {
		return err
	}
	if len(l.files) == 0 {
		return fault.New(fault.BackendError, "folder.Check", errNoFiles)
	}
	return ctx.Err()
}

var errNoFiles = errors.New("the folder of the collection holds no Markdown, text or HTML file")

// Close ends a refresh under way, waits for it and closes the index. Searches must have ended.
func (x *Index) Close() error {
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return nil
	}
	x.closed = true
	x.mu.Unlock()
	x.cancel()
	x.wg.Wait()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.gen.close()
	x.gen = nil
	if x.tempDir != "" {
		if err := os.RemoveAll(x.tempDir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// fingerprint names everything beside the documents that an index depends on.
func (x *Index) fingerprint() string {
	return rag.Digest(x.o.Space + "\x00" + x.o.Redaction + "\x00" + x.o.Redactor.Text(probe, nil))
}

// probe is text that every class of redaction answers to, so that switching one is noticed even when Redaction does not name it.
var probe = "password=" + "Zq8vT2mK9xLw" + " client 10.20.30.40 host db-primary-7.internal.corp pod/checkout-7f9c6d5b8-x2x9z user ada@corp.test tel +49 30 901820 SELECT a FROM b WHERE c = 'Zq8vT2'"
