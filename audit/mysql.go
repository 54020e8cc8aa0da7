package audit

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io"
	"log"
	"slices"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/seed-069badc9/mcp-gateway/boundary"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	// deleteRows is how many old rows one DELETE takes: small batches hold no lock for long.
	deleteRows = 1000
	// deletesPerMinute bounds the work of retention: 20,000 rows a minute outrun any gateway that writes fewer than 300 a second.
	deletesPerMinute = 20
)

// NewMySQL keeps rows in table mcp_gateway_audit of the DSN's database. It connects with the first row or Check and makes the table if it can.
func NewMySQL(dsn string, o Options) (*Sink, error) {
	cfg, err := driver.ParseDSN(dsn)
	if err != nil || cfg.DBName == "" {
		// The driver's own text would repeat parts of the DSN.
		return nil, errors.New("is no DSN; it looks like user:password@tcp(host:3306)/database")
	}
	cfg.MultiStatements, cfg.AllowAllFiles, cfg.InterpolateParams = false, false, true
	cfg.ParseTime, cfg.Loc = true, time.UTC
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = writeTimeout, writeTimeout, writeTimeout
	cfg.Logger = log.New(io.Discard, "", 0) // it prints addresses
	c, err := driver.NewConnector(cfg)
	if err != nil {
		return nil, errors.New("is no usable DSN")
	}
	db := sql.OpenDB(c)
	db.SetMaxOpenConns(1)
	db.SetConnMaxLifetime(30 * time.Minute)
	if o.Retention == 0 {
		o.Retention = DefaultRetention
	}
	return newSink(&mysqlWriter{db: db, retention: o.Retention}, o), nil
}

type mysqlWriter struct {
	db        *sql.DB
	retention time.Duration
	migrated  bool
	ids       [][]byte // of the rows of a write that failed and may have been carried out all the same
}

var columns = []string{"row_id", "at", "principal", "run_id", "tool_call_id", "host_call_id", "step_id", "tool", "invocation_status", "evidence_status", "error_code", "scope_id",
	"truncated", "returned_count", "request_bytes", "raw_bytes", "observation_bytes", "latency_us"}

func (w *mysqlWriter) migrate(ctx context.Context) error {
	if w.migrated {
		return nil
	}
	names, err := migrations.ReadDir("migrations")
	if err != nil {
		return err
	}
	for _, n := range names {
		text, err := migrations.ReadFile("migrations/" + n.Name())
		if err != nil {
			return err
		}
		if _, err := w.db.ExecContext(ctx, string(text)); err != nil {
			return mysqlProblem(err)
		}
	}
	w.migrated = true
	return nil
}

// mysqlProblem tells an operator the next step. The server's text stays inside: it names users and hosts.
func mysqlProblem(err error) error {
	if me, ok := errors.AsType[*driver.MySQLError](err); ok {
		switch me.Number {
		case 1044, 1045, 1142, 1227:
			return fmt.Errorf("audit: the account may not log in or lacks a right (MySQL error %d); grant CREATE, INSERT, SELECT and DELETE on mcp_gateway_audit", me.Number)
		case 1049:
			return errors.New("audit: the database of the DSN does not exist; create it")
		}
		return fmt.Errorf("audit: MySQL error %d", me.Number)
	}
	return errors.New("audit: MySQL cannot be reached; check the address and that the server runs")
}

func (w *mysqlWriter) write(ctx context.Context, rows []boundary.AuditRecord) error {
	if err := w.migrate(ctx); err != nil {
		return err
	}
	// A write whose reply was lost comes again: the rows know themselves by their ids, and one that is there already is left as it is.
	if len(w.ids) != len(rows) {
		w.ids = make([][]byte, len(rows))
		for i := range w.ids {
			w.ids[i] = make([]byte, 16)
			rand.Read(w.ids[i])
		}
	}
	row := "(" + strings.Repeat("?,", len(columns)-1) + "?)"
	args := make([]any, 0, len(rows)*len(columns))
	for i, r := range rows {
		args = append(args, w.ids[i], r.Time, fit(r.Principal, 255), r.Run, r.Call, r.HostCallID, r.StepID, r.Tool, string(r.InvocationStatus), r.EvidenceStatus, string(r.Code), r.ScopeID,
			r.Truncated, r.ReturnedCount, r.RequestBytes, r.RawBytes, r.ObservationBytes, r.LatencyMicros)
	}
	_, err := w.db.ExecContext(ctx, "INSERT IGNORE INTO mcp_gateway_audit ("+strings.Join(columns, ",")+") VALUES "+strings.Join(slices.Repeat([]string{row}, len(rows)), ","), args...)
	if err != nil {
		return mysqlProblem(err)
	}
	w.ids = nil
	return nil
}

// fit cuts a principal that an issuer made longer than the column.
func fit(s string, n int) string {
	r := []rune(s)
	return string(r[:min(len(r), n)])
}

func (w *mysqlWriter) check(ctx context.Context) error { return w.migrate(ctx) }

// tidy deletes rows past their retention, a few small batches at a time.
func (w *mysqlWriter) tidy(ctx context.Context) error {
	if w.retention < 0 || !w.migrated {
		return nil
	}
	for range deletesPerMinute {
		res, err := w.db.ExecContext(ctx, "DELETE FROM mcp_gateway_audit WHERE at < ? ORDER BY at LIMIT ?", time.Now().UTC().Add(-w.retention), deleteRows)
		if err != nil {
			return mysqlProblem(err)
		}
		if n, err := res.RowsAffected(); err != nil || n < deleteRows {
			return err
		}
	}
	return nil
}

func (w *mysqlWriter) close() error { return w.db.Close() }
