// Package filestore keeps records and runs in one SQLite file that several processes of one user share: a terminal can verify what a desktop client saw. The file
// is private before SQLite touches it. What has expired is unreadable at once; its bytes are overwritten, in the file and in the journal, at the next purge:
// at first use, at OPEN at most every few seconds, and at Shutdown. With an encryption key the bytes are never plain.
package filestore

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/internal/seal"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// Options say where the store is.
type Options struct {
	// Path is the file. Its folder is made when it is missing, for the user alone.
	Path string
	// EncryptionKey holds 32-byte keys as base64 or hex, comma separated: the first seals request, raw, observation, scopes and control data, all of them open. Empty: plain.
	EncryptionKey string
	// Clock is the store's time; nil: time.Now. All processes on one file must agree on it.
	Clock func() time.Time
}

const (
	// maxFile bounds the file with its journal: four times the default ceiling of one principal's live bytes. Over it OPEN and READY are refused, ERROR is not.
	maxFile = 2 << 30
	// purgeEvery is how often OPEN drops what has expired: the lives of records are minutes to hours, a purge of nothing costs some 50 µs.
	purgeEvery = 10 * time.Second
	// stepTimeout bounds a step whose caller brought no deadline: as long as another process may hold the file.
	stepTimeout = 5 * time.Second
	// purgeTimeout bounds the purge at Shutdown.
	purgeTimeout = 2 * time.Second
	// journalTimeout is how long a purge waits for readers in other processes before it leaves the journal to the next one.
	journalTimeout = 250 * time.Millisecond
)

// Store is a canonical.Driver on a file.
type Store struct {
	path  string
	ring  *seal.Ring
	clock func() time.Time
	bound int64
	stale atomic.Bool // the journal still holds bytes that were dropped

	mu     sync.Mutex
	db     *sql.DB
	stmts  map[string]*sql.Stmt
	purged time.Time
	closed bool
}

var _ canonical.Driver = (*Store)(nil)

// New checks the options. The file is opened, and made, by the first step.
func New(o Options) (*Store, error) {
	if o.Path == "" {
		return nil, errors.New("filestore: no path")
	}
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return nil, err
	}
	ring, err := seal.Parse(o.EncryptionKey)
	if err != nil {
		return nil, err
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	return &Store{path: path, ring: ring, clock: o.Clock, bound: maxFile}, nil
}

var (
	errShutdown = errors.New("the store is shut down")
	errFull     = errors.New("the store's file is full")
)

// owner stands for a principal in the file.
func owner(principal string) string {
	sum := sha256.Sum256([]byte(principal))
	return hex.EncodeToString(sum[:16])
}

// bounded gives ctx a deadline when it has none.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, stepTimeout)
}

// step runs f in one transaction over the principal's data. An error of f leaves nothing behind.
func (s *Store) step(ctx context.Context, principal, op string, readOnly bool, f func(*tx) error) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	db, err := s.open(ctx)
	if err != nil {
		return fault.New(fault.StoreError, op, err)
	}
	sqlTx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: readOnly})
	if err != nil {
		return fault.New(fault.StoreError, op, err)
	}
	defer sqlTx.Rollback() // after Commit it does nothing
	t := &tx{ctx: ctx, s: s, sql: sqlTx, owner: owner(principal), now: s.clock().UnixMilli(), ids: map[gen]int64{}}
	err = f(t)
	if t.err != nil {
		return fault.New(fault.StoreError, op, t.err)
	}
	if err != nil {
		return err
	}
	if err := sqlTx.Commit(); err != nil {
		return fault.New(fault.StoreError, op, err)
	}
	return nil
}

// full tells whether the file has reached its bound.
func (s *Store) full(op string) error {
	size := int64(0)
	for _, suffix := range []string{"", "-wal"} {
		if fi, err := os.Stat(s.path + suffix); err == nil {
			size += fi.Size()
		}
	}
	if size > s.bound {
		return fault.New(fault.StoreError, op, errFull)
	}
	return nil
}

// Ping opens the file and takes its write lock once.
func (s *Store) Ping(ctx context.Context) error {
	err := s.step(ctx, "", "filestore.Ping", false, func(t *tx) error {
		t.exec(setRate, "", 0, 0)
		return nil
	})
	if err == nil {
		return nil
	}
	return fmt.Errorf("canonical store %s: %s: %w", s.path, s.advice(errors.Unwrap(err)), err)
}

// advice names the next step for the operator.
func (s *Store) advice(err error) string {
	switch {
	case errors.Is(err, errForeign), errors.Is(err, errNoFile), errors.Is(err, errVersion):
		return err.Error()
	case errors.Is(err, os.ErrPermission):
		return "no permission: make " + filepath.Dir(s.path) + " writable for this user, or name another file in canonical.store"
	case errors.Is(err, os.ErrNotExist), errors.Is(err, errFolder):
		return "its folder cannot be made: name another file in canonical.store"
	case errors.Is(err, context.DeadlineExceeded):
		return "another process holds the file for too long: end it, or name another file in canonical.store"
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
			return "it cannot be written: make " + filepath.Dir(s.path) + " writable for this user, or name another file in canonical.store"
		case sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
			return "the file is damaged or no store: remove it (records live for hours only), or name another file in canonical.store"
		case sqlite3.SQLITE_FULL:
			return "the disk is full: make room, or name another file in canonical.store"
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			return "another process holds the file for too long: end it, or name another file in canonical.store"
		}
	}
	return "it cannot be used: name another file in canonical.store"
}

// Shutdown purges what has expired, empties the journal and closes the file. A store that was never used has none.
func (s *Store) Shutdown() error {
	s.mu.Lock()
	db := s.db
	s.db, s.stmts, s.closed = nil, nil, true
	s.mu.Unlock()
	if db == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), purgeTimeout)
	defer cancel()
	return errors.Join(s.purge(ctx, db, true), db.Close())
}
