package filestore

import (
	"context"
	"database/sql"
	_ "embed" // the schema
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/seed-069badc9/mcp-gateway/canonical"
)

//go:embed schema.sql
var schema string

// The file says what it is: an application id of its own, and the version of the schema.
const (
	applicationID = 0x6d636777 // "mcgw"
	schemaVersion = 1
)

var (
	errFolder  = errors.New("the folder of the store cannot be made")
	errNoFile  = errors.New("it is not a regular file: name another one in canonical.store")
	errForeign = errors.New("the file is another program's database: name another one in canonical.store")
	errVersion = errors.New("the file was written by another version of the gateway: end that one and remove the file (records live for hours only), or name another one in canonical.store")
)

// pragmas hold for every connection. None of them writes: a new connection must not wait for another process.
//   - synchronous NORMAL: a killed process loses nothing; a lost power supply may lose the last records, and verify then says no
//   - secure_delete overwrites what is deleted
//   - the journal is cut to 4 MiB after a checkpoint, which SQLite makes every 1000 pages
var pragmas = []string{"busy_timeout(5000)", "synchronous(NORMAL)", "secure_delete(ON)", "journal_size_limit(4194304)", "temp_store(MEMORY)", "trusted_schema(OFF)"}

// open gives the database, opened and made when this is the first step. A failure is tried again by the next one.
func (s *Store) open(ctx context.Context) (*sql.DB, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errShutdown
	}
	if s.db != nil {
		return s.db, ctx.Err()
	}
	if err := s.file(); err != nil {
		return nil, err
	}
	q := url.Values{"_txlock": {"immediate"}, "_pragma": pragmas}
	u := url.URL{Scheme: "file", OmitHost: true, Path: s.path, RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, err
	}
	// One connection: writers wait for each other anyway, and its statements stay prepared.
	db.SetMaxOpenConns(1)
	stmts, err := s.start(ctx, db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.db, s.stmts, s.purged = db, stmts, s.clock()
	return db, nil
}

// start makes the tables, drops what expired while nobody looked, and prepares the statements: inside a transaction the only connection would be taken.
func (s *Store) start(ctx context.Context, db *sql.DB) (map[string]*sql.Stmt, error) {
	if err := whenFree(ctx, func() error { return prepare(ctx, db) }); err != nil {
		return nil, err
	}
	if err := s.purge(ctx, db, true); err != nil {
		return nil, err
	}
	stmts := make(map[string]*sql.Stmt, len(statements))
	for _, text := range statements {
		st, err := db.PrepareContext(ctx, text)
		if err != nil {
			return nil, err
		}
		stmts[text] = st
	}
	return stmts, nil
}

// whenFree runs f again while another process is in the way. A switch to WAL does not wait for one that makes the same file at the same moment: it is SQLITE_BUSY at
// once, whatever busy_timeout says. Nothing else takes longer than that process needs to make its tables.
func whenFree(ctx context.Context, f func() error) error {
	for end := time.Now().Add(makeTimeout); ; {
		err := f()
		if e, ok := errors.AsType[*sqlite.Error](err); !ok || e.Code()&0xff != sqlite3.SQLITE_BUSY || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(makePause):
		}
	}
}

const (
	makeTimeout = 5 * time.Second // as busy_timeout
	makePause   = 5 * time.Millisecond
)

// file makes the file, for the user alone, before SQLite can make it for everybody. SQLite gives its journal the same mode. An existing file is not opened here:
// closing it would drop the locks that this process holds on it.
func (s *Store) file() error {
	dir := filepath.Dir(s.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return errors.Join(errFolder, err)
	}
	fi, err := os.Lstat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return nil // another process was first
		}
		if err != nil {
			return err
		}
		return f.Close()
	case err != nil:
		return err
	case !fi.Mode().IsRegular():
		return errNoFile
	case fi.Mode().Perm()&0o077 != 0:
		return os.Chmod(s.path, 0o600)
	}
	return nil
}

// prepare makes the tables, or checks that they are ours.
func prepare(ctx context.Context, db *sql.DB) error {
	var id, version, tables, pages int
	const look = "SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_master), (SELECT page_count FROM pragma_page_count)"
	see := func(row *sql.Row) error { return row.Scan(&id, &version, &tables, &pages) }
	if err := see(db.QueryRowContext(ctx, look)); err != nil {
		return err
	}
	if pages == 0 {
		// Both stay in the file; pages can only be given back if that is said before the first one is written. The database has one connection.
		for _, p := range []string{"PRAGMA auto_vacuum = INCREMENTAL", "PRAGMA journal_mode = WAL"} {
			if _, err := db.ExecContext(ctx, p); err != nil {
				return err
			}
		}
	}
	if id == applicationID && version == schemaVersion {
		return nil
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	// Another process may have made the tables meanwhile.
	if err := see(tx.QueryRowContext(ctx, look)); err != nil {
		return err
	}
	switch {
	case tables == 0 && id == 0 && version == 0:
		if _, err := tx.ExecContext(ctx, schema); err != nil {
			return err
		}
		return tx.Commit()
	case id != applicationID:
		return errForeign
	case version != schemaVersion:
		return errVersion
	}
	return nil
}

// purge drops what has expired and then empties the journal, which still holds its bytes: when something was dropped, when the last attempt did not succeed, or
// always. That a journal cannot be emptied is no error: a reader in another process may keep it for a moment, and the next purge tries again.
func (s *Store) purge(ctx context.Context, db *sql.DB, always bool) error {
	now := s.clock().UnixMilli()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	ended := now - canonical.RunGrace.Milliseconds()
	dropped := int64(0)
	for _, d := range []struct {
		sql string
		at  int64
	}{
		{"DELETE FROM records WHERE expires <= ?", now},
		{"DELETE FROM calls WHERE run IN (SELECT id FROM runs WHERE expires <= ?)", ended},
		{"DELETE FROM facts WHERE run IN (SELECT id FROM runs WHERE expires <= ?)", ended},
		{"DELETE FROM runs WHERE expires <= ?", ended},
		{"DELETE FROM slots WHERE expires <= ?", now},
		{"DELETE FROM live WHERE bucket <= ?", now},
		{"DELETE FROM rate WHERE minute < ?", now/60_000 - 1},
	} {
		r, err := tx.ExecContext(ctx, d.sql, d.at)
		if err != nil {
			return err
		}
		n, err := r.RowsAffected()
		if err != nil {
			return err
		}
		dropped += n
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	if dropped > 0 {
		s.stale.Store(true)
	}
	if always || s.stale.Load() {
		s.stale.Store(!emptied(ctx, db))
	}
	return nil
}

// emptied gives free pages back and cuts the journal; false when another process is in the way.
func emptied(ctx context.Context, db *sql.DB) bool {
	ctx, cancel := context.WithTimeout(ctx, journalTimeout)
	defer cancel()
	if _, err := db.ExecContext(ctx, "PRAGMA incremental_vacuum"); err != nil {
		return false
	}
	var busy, pages, moved int
	err := db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved)
	return err == nil && busy == 0
}

// due purges when the last purge is some time ago.
func (s *Store) due(ctx context.Context) error {
	db, err := s.open(ctx)
	if err != nil {
		return err
	}
	now := s.clock()
	s.mu.Lock()
	due := now.Sub(s.purged) >= purgeEvery || now.Before(s.purged)
	if due {
		s.purged = now
	}
	s.mu.Unlock()
	if !due {
		return nil
	}
	return s.purge(ctx, db, false)
}
