// Package server runs plans of the SQL guard on MySQL and MariaDB. Every connection is pinned and checked before its first statement: utf8mb4, fixed sql_mode and
// time zone, read-only session, an account that cannot write. A statement has a time limit in the server itself and is killed there when its context ends. Bytes
// are metered at the packet headers, so a huge cell is refused before it is held. A result that the server cut or gave up without an error is found out. Server
// text leaves in no error: numbers map to the closed codes.
package server

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	driversql "github.com/go-sql-driver/mysql"

	"github.com/seed-069badc9/mcp-gateway/tools/mysql"
)

// Options configure a Server.
type Options struct {
	// DSN is user:password@tcp(host:port)/database?params. What the gateway pins (see setup) overrides it.
	DSN string
	// MaxRows is the most rows one answer may show; 0: as the plan says.
	MaxRows int
	// Timeout bounds one statement in the server and here; 0: DefaultTimeout.
	Timeout time.Duration
	// AllowWritableAccount serves although SHOW GRANTS lists more than reading.
	AllowWritableAccount bool
	// MaxConnections bounds the connections for statements; 0: DefaultConnections. A kill uses one more for a moment.
	MaxConnections int
	// PoolWait is how long a statement waits for a free connection before BACKEND_BUSY; 0: DefaultPoolWait.
	PoolWait time.Duration
	// Logger gets connection events, never content; nil: none.
	Logger *slog.Logger
}

// Defaults of Options.
const (
	DefaultTimeout     = 10 * time.Second
	DefaultConnections = 16              // a diagnosing client runs a few statements at once; a production database has connections to spare for that many
	DefaultPoolWait    = 2 * time.Second // long enough for a short statement to end, short enough for a model to be told

	dialTimeout = 5 * time.Second
	killTimeout = 2 * time.Second
	// timeoutGrace lets the server's own limit come first: then the connection lives on and nothing needs to be killed.
	timeoutGrace = 250 * time.Millisecond
	maxSent      = 4 << 20          // bytes of a printed statement; the driver would ask the server for its own limit otherwise, a round trip each connection
	idleTime     = 5 * time.Minute  // under the usual idle limits of firewalls and proxies
	lifeTime     = 30 * time.Minute // so that changed grants and a moved server are noticed
)

// Server is one database. Safe for concurrent use.
type Server struct {
	o     Options
	db    *sql.DB
	conn  *connector
	slots chan struct{}
	kills sync.WaitGroup
	log   *slog.Logger
	plain bool // rows cross a network unencrypted
}

var _ mysql.Executor = (*Server)(nil)

// errDSN has fixed text: the parser's own would repeat parts of the DSN.
var errDSN = errors.New("server: the dsn is not valid: want user:password@tcp(host:3306)/database?tls=true; values of parameters are percent-encoded")

// New prepares a Server. It does no I/O.
func New(o Options) (*Server, error) {
	cfg, err := driversql.ParseDSN(o.DSN)
	if err != nil {
		return nil, errDSN
	}
	if cfg.User == "" {
		return nil, errors.New("server: the dsn names no user: want user:password@tcp(host:3306)/database")
	}
	switch {
	case o.MaxRows < 0, o.Timeout < 0, o.MaxConnections < 0, o.PoolWait < 0:
		return nil, errors.New("server: a limit is negative")
	case o.Timeout > 0 && o.Timeout < 10*time.Millisecond:
		return nil, fmt.Errorf("server: a timeout of %s ends every statement; use at least 10ms", o.Timeout)
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxConnections == 0 {
		o.MaxConnections = DefaultConnections
	}
	if o.PoolWait == 0 {
		o.PoolWait = DefaultPoolWait
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.TLS != nil && cfg.TLS.ServerName == "" && !cfg.TLS.InsecureSkipVerify {
		return nil, errors.New("server: the dsn demands TLS with a verified host, and its address names none: leave tls out for a socket")
	}
	if err := pin(cfg); err != nil {
		return nil, errDSN
	}
	inner, err := driversql.NewConnector(cfg)
	if err != nil {
		return nil, errDSN
	}
	o.DSN = "" // it holds the password; the connector has its own copy
	plain := cfg.TLS == nil && strings.HasPrefix(cfg.Net, "tcp") && !loopback(cfg.Addr)
	c := &connector{inner: inner, timeout: o.Timeout, writable: o.AllowWritableAccount}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(o.MaxConnections)
	db.SetMaxIdleConns(o.MaxConnections)
	db.SetConnMaxIdleTime(idleTime)
	db.SetConnMaxLifetime(lifeTime)
	return &Server{o: o, db: db, conn: c, slots: make(chan struct{}, o.MaxConnections), log: o.Logger, plain: plain}, nil
}

func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// pin overrides what a DSN may not decide.
func pin(cfg *driversql.Config) error {
	opaque := cfg.TLS != nil
	cfg.Logger = &driversql.NopLogger{} // the driver logs addresses to stderr
	cfg.MultiStatements, cfg.AllowAllFiles, cfg.ParseTime, cfg.InterpolateParams = false, false, false, false
	cfg.ColumnsWithAlias, cfg.ClientFoundRows, cfg.RejectReadOnly, cfg.CheckConnLiveness = false, false, false, true
	cfg.ReadTimeout = 0 // contexts bound reading; a second clock would turn a slow statement into a broken connection
	if cfg.Timeout <= 0 || cfg.Timeout > dialTimeout {
		cfg.Timeout = dialTimeout
	}
	if cfg.MaxAllowedPacket <= 0 {
		cfg.MaxAllowedPacket = maxSent
	}
	for name := range cfg.Params {
		if pinned[strings.ToLower(strings.TrimSpace(strings.TrimPrefix(strings.ToLower(name), "session ")))] {
			delete(cfg.Params, name)
		}
	}
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		var d net.Dialer
		nc, err := d.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		w := &wire{Conn: nc, opaque: opaque}
		if h, ok := ctx.Value(wireKey{}).(*wireHolder); ok {
			h.w = w
		}
		return w, nil
	}
	// Compression would hide the framing from the wire, and lets a small packet grow without bound.
	return cfg.Apply(driversql.EnableCompression(false), driversql.Charset("utf8mb4", "utf8mb4_general_ci"))
}

// Close waits for kills under way and closes the connections.
func (s *Server) Close() error {
	s.kills.Wait()
	return s.db.Close()
}

// Database is the database that a DSN names, where a table name without a schema resolves; "" when it names none or is no DSN.
func Database(dsn string) string {
	cfg, err := driversql.ParseDSN(dsn)
	if err != nil {
		return ""
	}
	return cfg.DBName
}
