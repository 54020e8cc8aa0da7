package server

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/sqlguard"
	"github.com/seed-069badc9/mcp-gateway/tools/mysql"
)

var (
	errNoPlan = errors.New("no plan")
	errShape  = errors.New("the answer does not have the columns of the plan")
	errRows   = errors.New("more rows than the statement allows")
	errLost   = errors.New("part of the result was lost without an error")
	errBusy   = errors.New("no free connection")
)

// Run executes a SELECT plan: one round trip on a connection of the pool, a second one only when the server counted warnings or TLS hides their count.
func (s *Server) Run(ctx context.Context, p *boundary.Permit, plan sqlguard.Plan) (mysql.Raw, error) {
	const op = "server.Run"
	if plan.IsZero() || p == nil || s.o.MaxRows > 0 && plan.Limit() > s.o.MaxRows {
		return mysql.Raw{}, fault.New(fault.Internal, op, errNoPlan)
	}
	var raw mysql.Raw
	err := s.with(ctx, func(ctx context.Context, c *session) (err error) {
		raw, err = c.answer(ctx, p, plan)
		return err
	})
	if err != nil {
		return mysql.Raw{}, classify(op, err)
	}
	return raw, nil
}

// with lends a session to f under the time limit. A connection found stale before anything was sent is replaced once. When f fails while the statement may still
// run, it is killed in the server; the slot stays taken until that is done, so kills are bounded like statements.
func (s *Server) with(parent context.Context, f func(context.Context, *session) error) error {
	free, err := s.acquire(parent)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(parent, s.o.Timeout+timeoutGrace)
	defer cancel()
	for attempt := 0; ; attempt++ {
		running, err := s.lend(ctx, f)
		if errors.Is(err, driver.ErrBadConn) && attempt == 0 && ctx.Err() == nil {
			continue
		}
		if err != nil && ctx.Err() != nil {
			err = ctx.Err() // whatever the driver made of it
		}
		if ce, ok := errors.AsType[*checkError](err); ok {
			s.log.LogAttrs(parent, slog.LevelWarn, "datasource check failed", slog.String("reason", ce.msg))
			err = fault.New(fault.BackendError, "server.Run", errConnect).WithHint("the datasource failed its start check; the operator sees why with: mcp-gateway check --connect")
		}
		if running == nil {
			free()
			return err
		}
		detached := context.WithoutCancel(parent)
		s.kills.Go(func() {
			defer free()
			s.kill(detached, running.id, running.node)
		})
		return err
	}
}

// acquire takes one of the slots; the wait is bounded.
func (s *Server) acquire(ctx context.Context) (free func(), err error) {
	free = func() { <-s.slots }
	select {
	case s.slots <- struct{}{}:
		return free, nil
	default:
	}
	t := time.NewTimer(s.o.PoolWait)
	defer t.Stop()
	select {
	case s.slots <- struct{}{}:
		return free, nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, ctx.Err()
		}
	case <-t.C:
	}
	return nil, fault.New(fault.BackendBusy, "server.Run", errBusy).WithHint(hintBusy)
}

// lend runs f on a pooled session. running is set when f left a statement that may still run in the server.
func (s *Server) lend(ctx context.Context, f func(context.Context, *session) error) (running *session, err error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close() // gives it back; a broken one is dropped by IsValid
	err = conn.Raw(func(dc any) error {
		c, ok := dc.(*session)
		if !ok {
			return fault.New(fault.Internal, "server.Run", errNoPlan)
		}
		err := f(ctx, c)
		if err != nil && !c.IsValid() && !errors.Is(err, driver.ErrBadConn) {
			running = c
		}
		return err
	})
	return running, err
}

// answer runs the plan on c and reads all of it.
func (c *session) answer(ctx context.Context, p *boundary.Permit, plan sqlguard.Plan) (mysql.Raw, error) {
	c.wire.arm(p)
	defer c.wire.arm(nil)
	rows, err := c.queryer.QueryContext(ctx, plan.SQL(), nil)
	if err != nil {
		return mysql.Raw{}, c.oversize(p, err)
	}
	raw, err := read(rows, p, plan)
	if err != nil {
		c.end(rows, err)
		return mysql.Raw{}, c.oversize(p, err)
	}
	if err := rows.Close(); err != nil {
		return mysql.Raw{}, err
	}
	return raw, c.checkWarnings(ctx, &raw, plan)
}

// oversize names the permit's refusal behind an error of the driver, for which a refused packet looks like a broken connection.
func (c *session) oversize(p *boundary.Permit, err error) error {
	if refused := p.Take(0); refused != nil {
		err = refused
	}
	if fe, ok := errors.AsType[*fault.Error](err); ok && (fe.Code() == fault.RawTooLarge || fe.Code() == fault.BudgetExhausted) {
		return fe.WithHint(hintLarge)
	}
	return err
}

// read takes the rows of one answer. Every cell that is kept is taken from the permit before.
func read(rows driver.Rows, p *boundary.Permit, plan sqlguard.Plan) (mysql.Raw, error) {
	const op = "server.read"
	names, outputs := rows.Columns(), plan.Outputs()
	types, ok := rows.(driver.RowsColumnTypeDatabaseTypeName)
	if !ok || len(names) != len(outputs) {
		return mysql.Raw{}, fault.New(fault.Internal, op, errShape)
	}
	n := len(names)
	raw := mysql.Raw{Columns: make([]mysql.Column, n), Rows: [][]mysql.Cell{}}
	shapes := make([]shape, n)
	for i := range n {
		raw.Columns[i], shapes[i] = describe(outputs[i].Name, types.ColumnTypeDatabaseTypeName(i))
	}
	dest := make([]driver.Value, n)
	ends := make([]int, n)
	var buf []byte
	var spare []mysql.Cell // cells of the next rows: few allocations for many rows, none wasted on one
	limit := plan.Limit()
	for {
		if err := rows.Next(dest); err == io.EOF {
			return raw, nil
		} else if err != nil {
			return mysql.Raw{}, err
		}
		if len(raw.Rows) == limit {
			if raw.More {
				return mysql.Raw{}, fault.New(fault.Internal, op, errRows)
			}
			raw.More = true
			continue // the one row beyond what may be shown: that it exists is all that is kept
		}
		need := 0
		for i, v := range dest {
			if outputs[i].Masked {
				need++ // kept as NULL; its real size would tell, by the refusal of a row filled up to the limit, how long the value is
				continue
			}
			need += size(v)
		}
		if err := p.Take(need); err != nil {
			return mysql.Raw{}, err
		}
		if len(spare) < n {
			spare = make([]mysql.Cell, n*min(len(raw.Rows)+1, 64))
		}
		row := spare[:n:n]
		spare = spare[n:]
		buf = buf[:0]
		for i, v := range dest {
			if !outputs[i].Masked {
				buf, row[i].Kind, row[i].Size = appendCell(buf, v, shapes[i])
			}
			ends[i] = len(buf)
		}
		text, from := string(buf), 0
		for i, end := range ends {
			row[i].Text, from = text[from:end], end
		}
		raw.Rows = append(raw.Rows, row)
	}
}

// Warnings of the server by which a result is not what was asked for, although no error came.
const (
	warnConcat    = "1260" // GROUP_CONCAT or JSON_ARRAYAGG cut at group_concat_max_len
	warnTooLong   = "1301" // a string function over max_allowed_packet gave NULL
	warnGaveUp    = "1931" // LIMIT ROWS EXAMINED or the depth of a recursion was reached
	warnKilled    = "1317"
	warnTimeMaria = "1969"
	warnTimeMySQL = "3024"
)

// checkWarnings asks the server for the warnings of the statement that just ended, when there are any, and turns silent loss into truth: cut is marked, lost is an error.
func (c *session) checkWarnings(ctx context.Context, raw *mysql.Raw, plan sqlguard.Plan) error {
	const op = "server.Run"
	n, known := c.wire.warnings()
	if known && n == 0 {
		return nil
	}
	list, err := c.rows(ctx, "SHOW WARNINGS")
	if err != nil || len(list) == 0 {
		return err
	}
	for _, w := range list {
		switch w[1] {
		case warnConcat:
			raw.Cut = true
		case warnTooLong:
			return runtimeFault(op, "TOO_LONG", serverError{1301})
		case warnGaveUp:
			return fault.New(fault.BackendIncomplete, op, errLost).WithHint(hintLost)
		case warnKilled, warnTimeMaria, warnTimeMySQL:
			return fault.New(fault.BackendTimeout, op, errLost).WithHint(hintSlow)
		}
	}
	if len(list) >= maxWarnings && canCut(plan.SQL()) {
		raw.Cut = true // the list is full: what would have told may have been pushed out
	}
	if raw.Cut && len(raw.Rows) == 0 {
		return fault.New(fault.BackendIncomplete, op, errLost).WithHint(hintLost)
	}
	// The server keeps the list until a statement that reads a table: the next answer must not inherit it.
	_, err = c.rows(ctx, "SELECT 1 FROM information_schema.CHARACTER_SETS WHERE 0")
	return err
}

// canCut tells whether a printed statement calls anything whose result the server cuts. A word in a literal only makes it more careful.
func canCut(printed string) bool {
	up := strings.ToUpper(printed)
	for _, w := range []string{"GROUP_CONCAT", "JSON_ARRAYAGG", "JSON_OBJECTAGG", "REPEAT", "PAD", "SPACE", "RECURSIVE"} {
		if strings.Contains(up, w) {
			return true
		}
	}
	return false
}
