package folder

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"modernc.org/sqlite"
)

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
