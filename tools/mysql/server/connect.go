package server

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	driversql "github.com/go-sql-driver/mysql"
)

// Session values that every connection has. They decide what a text means, so they are verified after they are set.
const (
	// sqlMode: strict, and without ANSI_QUOTES, NO_BACKSLASH_ESCAPES, PIPES_AS_CONCAT and IGNORE_SPACE, under which the same text means something else. Without
	// ONLY_FULL_GROUP_BY too: MariaDB's reading of it refuses statements that MySQL takes, so with it a plan would run on one and fail on the other.
	sqlMode  = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
	timeZone = "+00:00"
	charset  = "utf8mb4"
	// concatMax lets GROUP_CONCAT grow to 1 MiB, MariaDB's own default; MySQL's is 1024 bytes, which cuts ordinary lists.
	concatMax = 1 << 20
	// maxWarnings is how many warnings the server keeps: the one that matters must not be pushed out by a thousand implicit casts.
	maxWarnings = 1024
)

// pinned are the variables that a DSN cannot set.
var pinned = map[string]bool{
	"sql_mode": true, "time_zone": true, "charset": true, "character_set_client": true, "character_set_results": true, "character_set_connection": true,
	"tx_read_only": true, "transaction_read_only": true, "autocommit": true, "group_concat_max_len": true, "max_error_count": true, "sql_auto_is_null": true,
	"max_statement_time": true, "max_execution_time": true, "sql_select_limit": true,
}

type wireKey struct{}

// wireHolder carries the wire from the dial function to the session that is being made.
type wireHolder struct{ w *wire }

// checkError is a failed check of a connection, in words for the operator. Its text is fixed but for names of variables and privileges.
type checkError struct{ msg string }

func (e *checkError) Error() string { return "server: " + e.msg }

// connector makes pinned and checked sessions.
type connector struct {
	inner    driver.Connector
	timeout  time.Duration
	writable bool
}

func (c *connector) Driver() driver.Driver { return c.inner.Driver() }

// Connect gives a session that passed every check, or an error.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	s, err := c.open(ctx)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (c *connector) open(ctx context.Context) (*session, error) {
	s, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.setup(ctx, c.timeout, c.writable); err != nil {
		_ = s.Close() // the first error is the one to tell
		return nil, err
	}
	return s, nil
}

func (c *connector) dial(ctx context.Context) (*session, error) {
	h := &wireHolder{}
	conn, err := c.inner.Connect(context.WithValue(ctx, wireKey{}, h))
	if err != nil {
		return nil, err
	}
	s := &session{conn: conn, wire: h.w}
	var ok1, ok2 bool
	s.queryer, ok1 = conn.(driver.QueryerContext)
	s.execer, ok2 = conn.(driver.ExecerContext)
	if h.w == nil || !ok1 || !ok2 {
		_ = conn.Close()
		return nil, errors.New("server: the driver lacks what the gateway needs")
	}
	return s, nil
}

// session is one pinned connection. The pool sees only what it needs to keep it: text can be run through query alone.
type session struct {
	conn    driver.Conn
	queryer driver.QueryerContext
	execer  driver.ExecerContext
	wire    *wire
	id      uint64 // the server's name for this connection
	node    string // which server it is, so that a kill does not hit the same id on another
	maria   bool
}

var errPlansOnly = errors.New("server: a session runs plans only")

// Prepare refuses: there is no way around Run.
func (s *session) Prepare(string) (driver.Stmt, error) { return nil, errPlansOnly }

// Begin refuses: the session is read-only by itself.
func (s *session) Begin() (driver.Tx, error) { return nil, errPlansOnly }

// Close closes the connection.
func (s *session) Close() error { return s.conn.Close() }

// ResetSession tells the pool whether an idle connection is still alive.
func (s *session) ResetSession(ctx context.Context) error {
	if r, ok := s.conn.(driver.SessionResetter); ok {
		return r.ResetSession(ctx)
	}
	return nil
}

// IsValid tells the pool whether the connection can be kept.
func (s *session) IsValid() bool {
	v, ok := s.conn.(driver.Validator)
	return !s.wire.over && (!ok || v.IsValid())
}

// setup pins the session and verifies it: nothing is taken on trust that decides what a statement means or may do.
func (s *session) setup(ctx context.Context, timeout time.Duration, writable bool) error {
	who, err := s.rows(ctx, "SELECT VERSION(), CONNECTION_ID(), CONCAT_WS('/', @@hostname, @@port, @@server_id)")
	if err != nil {
		return err
	}
	if len(who) != 1 || len(who[0]) != 3 {
		return &checkError{"the server does not answer like MySQL or MariaDB"}
	}
	s.maria = strings.Contains(strings.ToLower(who[0][0]), "mariadb")
	s.node = who[0][2]
	if s.id, err = strconv.ParseUint(who[0][1], 10, 64); err != nil {
		return &checkError{"the server does not answer like MySQL or MariaDB"}
	}
	if err := s.exec(ctx, "SET SESSION TRANSACTION READ ONLY"); err != nil {
		return err
	}
	set := fmt.Sprintf("SET SESSION autocommit=1, sql_auto_is_null=0, sql_mode='%s', time_zone='%s', group_concat_max_len=%d, max_error_count=%d", sqlMode, timeZone, concatMax, maxWarnings)
	if err := s.exec(ctx, set); err != nil {
		return err
	}
	limit := fmt.Sprintf("SET SESSION max_execution_time=%d", timeout.Milliseconds())
	if s.maria {
		limit = fmt.Sprintf("SET SESSION max_statement_time=%.3f", timeout.Seconds())
	}
	if err := s.exec(ctx, limit); err != nil && !isNumber(err, 1193) { // a server without such a limit is left to the kill
		return err
	}
	if err := s.verify(ctx); err != nil {
		return err
	}
	if writable {
		return nil
	}
	grants, err := s.rows(ctx, "SHOW GRANTS")
	if err != nil {
		return err
	}
	lines := make([]string, 0, len(grants))
	for _, g := range grants {
		lines = append(lines, g[0])
	}
	if w := writing(lines); len(w) > 0 {
		return &checkError{"the account has more than reading rights (" + cutList(w) + " on " + cutList(writtenTo(lines)) + "): give the gateway an account with SELECT alone, or set allow_writable_account: true"}
	}
	return nil
}

func cutList(w []string) string {
	if len(w) > 8 {
		w = append(slices.Clone(w[:8]), "…")
	}
	return strings.Join(w, ", ")
}

func (s *session) verify(ctx context.Context) error {
	got, err := s.rows(ctx, "SHOW SESSION VARIABLES WHERE Variable_name IN ('sql_mode','time_zone','autocommit','tx_read_only','transaction_read_only',"+
		"'character_set_client','character_set_connection','character_set_results')")
	if err != nil {
		return err
	}
	v := make(map[string]string, len(got))
	for _, g := range got {
		if len(g) == 2 {
			v[strings.ToLower(g[0])] = g[1]
		}
	}
	if v["tx_read_only"] != "ON" && v["transaction_read_only"] != "ON" {
		return unpinned("transaction_read_only")
	}
	for name, want := range map[string]string{"time_zone": timeZone, "autocommit": "ON", "character_set_client": charset, "character_set_connection": charset, "character_set_results": charset} {
		if v[name] != want {
			return unpinned(name)
		}
	}
	mode, wantMode := strings.Split(v["sql_mode"], ","), strings.Split(sqlMode, ",")
	slices.Sort(mode)
	slices.Sort(wantMode)
	if !slices.Equal(mode, wantMode) {
		return unpinned("sql_mode")
	}
	return nil
}

func unpinned(name string) error {
	return &checkError{"the session does not keep " + name + ": a proxy or init_connect changes it; connect to the server directly"}
}

// exec runs one statement of the gateway's own.
func (s *session) exec(ctx context.Context, text string) error {
	s.wire.arm(nil)
	_, err := s.execer.ExecContext(ctx, text, nil)
	return err
}

// maxOwn bounds what one of the gateway's own questions may answer: a catalogue of 20,000 columns is about 2 MiB.
const maxOwn = 16 << 20

// rows runs one query of the gateway's own and gives its cells as text, NULL as "".
func (s *session) rows(ctx context.Context, text string) ([][]string, error) {
	s.wire.arm(nil)
	r, err := s.queryer.QueryContext(ctx, text, nil)
	if err != nil {
		return nil, err
	}
	dest := make([]driver.Value, len(r.Columns()))
	var out [][]string
	total := 0
	for {
		err := r.Next(dest)
		if err == io.EOF {
			return out, r.Close()
		}
		if err == nil {
			row := make([]string, len(dest))
			for i, d := range dest {
				row[i] = string(appendValue(nil, d))
				total += len(row[i]) + 16
			}
			if out = append(out, row); total <= maxOwn {
				continue
			}
			err = errOversize
		}
		s.end(r, err)
		return nil, err
	}
}

// end closes a result that was not read to its end. Close alone would read the rest of it, which may be endless; an error of the server is the end already.
func (s *session) end(r driver.Rows, err error) {
	if _, ended := errors.AsType[*driversql.MySQLError](err); !ended {
		s.wire.abort()
	}
	_ = r.Close()
}
