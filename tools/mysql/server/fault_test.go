package server

import (
	"context"
	"database/sql/driver"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	driversql "github.com/go-sql-driver/mysql"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// endless joins numbers with itself until it would take hours.
const endless = "SELECT COUNT(*) AS n FROM numbers a JOIN numbers b ON a.n <> b.n JOIN numbers c ON b.n <> c.n JOIN numbers d ON c.n <> d.n"

// busy lists what the accounts of the gateway run at the moment.
func busy(t testing.TB, m *maria, user string) string {
	t.Helper()
	return m.must(t, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = '"+user+"' AND COMMAND <> 'Sleep'")
}

// eventually waits for a state of the server, which no channel tells of.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); ; {
		if ok() {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s: not within a minute", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestACancelledStatementEndsInTheServer(t *testing.T) {
	m := server(t)
	m.must(t, "CREATE OR REPLACE USER cancelled IDENTIFIED BY 'pw-cancelled'; GRANT SELECT ON shop.* TO cancelled")
	s := open(t, Options{DSN: m.dsn("cancelled"), Timeout: time.Hour})
	plan := mustPlan(t, guard(t, 0), endless)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var err error
	wg.Go(func() { _, err = s.Run(ctx, permit(t, 1<<20), plan) })
	eventually(t, "the statement runs", func() bool { return busy(t, m, "cancelled") == "1" })
	cancel()
	began := time.Now()
	wg.Wait()
	if d := time.Since(began); d > 2*time.Second {
		t.Errorf("Run returned %s after the cancel", d)
	}
	if fault.CodeOf(err) != fault.Cancelled {
		t.Errorf("got %v, want %s", err, fault.Cancelled)
	}
	eventually(t, "the statement is gone", func() bool { return busy(t, m, "cancelled") == "0" })
	if _, err := s.Run(t.Context(), permit(t, 1<<20), mustPlan(t, guard(t, 0), "SELECT n FROM numbers LIMIT 1")); err != nil {
		t.Errorf("the next statement: %v", err)
	}
}

func TestASlowStatementIsATimeout(t *testing.T) {
	m := server(t)
	s := open(t, Options{DSN: m.dsn("ro"), Timeout: 200 * time.Millisecond})
	_, err := s.Run(t.Context(), permit(t, 1<<20), mustPlan(t, guard(t, 0), endless))
	if fault.CodeOf(err) != fault.BackendTimeout {
		t.Errorf("got %v, want %s", err, fault.BackendTimeout)
	}
	if _, _, hint := fault.Public(err); !strings.Contains(hint, "narrow") {
		t.Errorf("hint %q", hint)
	}
}

func TestTheServerItselfStopsASlowStatement(t *testing.T) {
	s := open(t, Options{DSN: server(t).dsn("ro"), Timeout: time.Second})
	c := session0(t, s)
	got, err := c.rows(t.Context(), "SELECT @@max_statement_time")
	if err != nil || got[0][0] != "1" {
		t.Errorf("max_statement_time = %v, %v; want 1", got, err)
	}
}

func session0(t testing.TB, s *Server) *session {
	t.Helper()
	c, err := s.conn.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.(*session)
}

func TestAHugeCellIsRefusedAtItsHeader(t *testing.T) {
	s := open(t, Options{DSN: server(t).dsn("ro")})
	plan := mustPlan(t, guard(t, 0), "SELECT body FROM big WHERE id = 1")
	p := permit(t, 1<<20)
	if _, err := s.Run(t.Context(), permit(t, 1<<20), mustPlan(t, guard(t, 0), "SELECT id FROM big")); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := s.Run(t.Context(), p, plan)
	runtime.ReadMemStats(&after)
	if fault.CodeOf(err) != fault.RawTooLarge {
		t.Errorf("got %v, want %s", err, fault.RawTooLarge)
	}
	if grew := after.TotalAlloc - before.TotalAlloc; grew > 4<<20 {
		t.Errorf("%d bytes were allocated for a cell of 12 MiB that was refused", grew)
	}
	if _, err := s.Run(t.Context(), permit(t, 1<<20), mustPlan(t, guard(t, 0), "SELECT id FROM big")); err != nil {
		t.Errorf("the next statement: %v", err)
	}
}

func TestRawAtTheLimitAndOneByteOver(t *testing.T) {
	s := open(t, Options{DSN: server(t).dsn("ro")})
	plan := mustPlan(t, guard(t, 0), "SELECT body FROM big WHERE id = 2") // 1000 bytes, one for the length
	if _, err := s.Run(t.Context(), permit(t, 1001), plan); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	if _, err := s.Run(t.Context(), permit(t, 1000), plan); fault.CodeOf(err) != fault.RawTooLarge {
		t.Errorf("one byte over: %v, want %s", err, fault.RawTooLarge)
	}
}

func TestAConnectionKilledInMidAnswerIsNoShortAnswer(t *testing.T) {
	m := server(t)
	m.must(t, "CREATE OR REPLACE USER victim IDENTIFIED BY 'pw-victim'; GRANT SELECT ON shop.* TO victim")
	s := open(t, Options{DSN: m.dsn("victim"), Timeout: 30 * time.Second})
	for _, how := range []struct {
		kill string
		want fault.Code
	}{{"KILL QUERY ", fault.BackendTimeout}, {"KILL ", fault.BackendError}} {
		var wg sync.WaitGroup
		var err error
		wg.Go(func() { _, err = s.Run(t.Context(), permit(t, 1<<20), mustPlan(t, guard(t, 0), endless)) })
		id := ""
		eventually(t, "the statement runs", func() bool {
			id = m.must(t, "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'victim' AND COMMAND = 'Query'")
			return id != ""
		})
		m.must(t, how.kill+id)
		wg.Wait()
		if got := fault.CodeOf(err); got != how.want && !(how.kill == "KILL " && got == fault.BackendTimeout) {
			t.Errorf("%s: %v, want %s", how.kill, err, how.want)
		}
	}
}

func TestTheGatewayServesAgainAfterTheDatabaseDied(t *testing.T) {
	need(t)
	dir, err := os.MkdirTemp("", "mgw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	m, err := install(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.kill() })
	m.must(t, schema)
	s := open(t, Options{DSN: m.dsn("ro"), Timeout: 20 * time.Second})
	short := mustPlan(t, guard(t, 0), "SELECT n FROM numbers LIMIT 1")
	if _, err := s.Run(t.Context(), permit(t, 1<<20), short); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { _, err = s.Run(t.Context(), permit(t, 1<<20), mustPlan(t, guard(t, 0), endless)) })
	eventually(t, "the statement runs", func() bool { return busy(t, m, "ro") == "1" })
	m.kill()
	wg.Wait()
	if got := fault.CodeOf(err); got != fault.BackendError {
		t.Errorf("in mid-call: %v, want %s", err, fault.BackendError)
	}
	if _, err := s.Run(t.Context(), permit(t, 1<<20), short); fault.CodeOf(err) != fault.BackendError {
		t.Errorf("while it is down: %v, want %s", err, fault.BackendError)
	}
	if err := m.start(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), permit(t, 1<<20), short); err != nil {
		t.Errorf("after its restart: %v", err)
	}
}

func TestABusyPoolIsNotATimeout(t *testing.T) {
	m := server(t)
	m.must(t, "CREATE OR REPLACE USER pooled IDENTIFIED BY 'pw-pooled'; GRANT SELECT ON shop.* TO pooled")
	s := open(t, Options{DSN: m.dsn("pooled"), MaxConnections: 1, PoolWait: 50 * time.Millisecond, Timeout: time.Hour})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = s.Run(ctx, permit(t, 1<<20), mustPlan(t, guard(t, 0), endless)) })
	eventually(t, "the statement runs", func() bool { return busy(t, m, "pooled") == "1" })
	_, err := s.Run(t.Context(), permit(t, 1<<20), mustPlan(t, guard(t, 0), "SELECT n FROM numbers LIMIT 1"))
	if fault.CodeOf(err) != fault.BackendBusy {
		t.Errorf("got %v, want %s", err, fault.BackendBusy)
	}
	cancel()
	wg.Wait()
}

// concatCut joins 1.9 MiB into one value: more than the session lets GROUP_CONCAT return.
const concatCut = "SELECT GROUP_CONCAT(a.n, ' padding to be long') AS list FROM numbers a JOIN numbers b ON b.n <= 30"

func TestSilentLossIsFoundOut(t *testing.T) {
	s := open(t, Options{DSN: server(t).dsn("ro")})
	g := guard(t, 0)
	raw, err := s.Run(t.Context(), permit(t, 64<<20), mustPlan(t, g, concatCut))
	if err != nil {
		t.Fatal(err)
	}
	if !raw.Cut || len(raw.Rows) != 1 {
		t.Errorf("a cut GROUP_CONCAT is not marked: %d rows", len(raw.Rows))
	}
	raw, err = s.Run(t.Context(), permit(t, 1<<20), mustPlan(t, g, "SELECT 1 AS one"))
	if err != nil || raw.Cut {
		t.Errorf("the next answer inherits the mark: %v, %v", raw.Cut, err)
	}
	for sql, want := range map[string]fault.Code{
		"SELECT LENGTH(CONCAT(body, body, body)) AS n FROM big WHERE id = 1":                                                             fault.SQLRuntime,
		"WITH RECURSIVE b AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM b WHERE n < 100000) SELECT MAX(n) AS n FROM b":                   fault.BackendIncomplete,
		"SELECT n FROM (SELECT GROUP_CONCAT(a.n, ' padding to be long') AS n FROM numbers a JOIN numbers b ON b.n <= 30) x WHERE n = ''": fault.BackendIncomplete,
	} {
		if _, err := s.Run(t.Context(), permit(t, 1<<20), mustPlan(t, g, sql)); fault.CodeOf(err) != want {
			t.Errorf("%s: %v, want %s", sql, err, want)
		}
	}
	// Other warnings can fill the server's list, so that the one that matters is not in it.
	raw, err = s.Run(t.Context(), permit(t, 64<<20), mustPlan(t, g, "SELECT GROUP_CONCAT('x' + a.n) AS list FROM numbers a"))
	if err != nil || !raw.Cut {
		t.Errorf("a full list of warnings beside a GROUP_CONCAT: cut %v, %v", raw.Cut, err)
	}
	raw, err = s.Run(t.Context(), permit(t, 64<<20), mustPlan(t, g, "SELECT SUM('x' + a.n) AS total FROM numbers a"))
	if err != nil || raw.Cut {
		t.Errorf("a full list of warnings where nothing can be cut: cut %v, %v", raw.Cut, err)
	}
	raw, err = s.Run(t.Context(), permit(t, 1<<20), mustPlan(t, g, "SELECT n FROM numbers WHERE n = 'abc'"))
	if err != nil || raw.Cut || len(raw.Rows) != 0 {
		t.Errorf("a warning that loses nothing: %+v, %v", raw, err)
	}
}

func TestRuntimeErrorsNameTheirKindAndNothingElse(t *testing.T) {
	g := ro(t)
	for _, c := range []struct {
		sql  string
		code fault.Code
		kind string
	}{
		{"SELECT (SELECT id FROM customers) AS x", fault.SQLRuntime, "SUBQUERY_ROWS"},
		{"SELECT 9223372036854775807 + id AS x FROM customers", fault.SQLRuntime, "OUT_OF_RANGE"},
		{"SELECT name REGEXP '(' AS x FROM customers", fault.SQLRuntime, "REGEX"},
		{"SELECT id FROM gone", fault.BackendError, "allowlist"},
		{"SELECT status, COUNT(*) AS n FROM orders GROUP BY status WITH ROLLUP ORDER BY n", fault.SQLUnsupported, "order outside"},
	} {
		_, err := g.ask(t, c.sql)
		code, hint := codeOfRefusal(t, err)
		if code != c.code || !strings.Contains(hint, c.kind) {
			t.Errorf("%s: %s %q, want %s %s", c.sql, code, hint, c.code, c.kind)
		}
		if strings.Contains(hint, "shop.") || strings.Contains(hint, "Ada") {
			t.Errorf("%s: the hint %q holds server text", c.sql, hint)
		}
	}
}

func TestAConnectionThatDiedIdleIsReplaced(t *testing.T) {
	m := server(t)
	m.must(t, "CREATE OR REPLACE USER idle IDENTIFIED BY 'pw-idle'; GRANT SELECT ON shop.* TO idle")
	s := open(t, Options{DSN: m.dsn("idle")})
	plan := mustPlan(t, guard(t, 0), "SELECT n FROM numbers LIMIT 1")
	for range 3 {
		if _, err := s.Run(t.Context(), permit(t, 1<<20), plan); err != nil {
			t.Fatal(err)
		}
		m.must(t, "KILL USER idle")
	}
}

func TestAStuckServerIsATimeout(t *testing.T) {
	dir, err := os.MkdirTemp("", "mgw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	l, err := net.Listen("unix", dir+"/s")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // accepted by the kernel, answered by nobody
	s := open(t, Options{DSN: "ro:x@unix(" + dir + "/s)/shop", Timeout: 100 * time.Millisecond})
	_, err = s.Run(t.Context(), permit(t, 1<<20), mustPlan(t, guard(t, 0), "SELECT n FROM numbers LIMIT 1"))
	if fault.CodeOf(err) != fault.BackendTimeout {
		t.Errorf("got %v, want %s", err, fault.BackendTimeout)
	}
}

func TestManyAtOnceShareThePool(t *testing.T) {
	s := open(t, Options{DSN: server(t).dsn("ro"), MaxConnections: 4, PoolWait: 20 * time.Second})
	plan := mustPlan(t, guard(t, 0), "SELECT id, status FROM orders")
	var wg sync.WaitGroup
	errs := make(chan error, 64)
	for range 64 {
		p := permit(t, 1<<20)
		wg.Go(func() {
			raw, err := s.Run(t.Context(), p, plan)
			if err == nil && (len(raw.Rows) != 200 || !raw.More) {
				err = fmt.Errorf("%d rows, more %v", len(raw.Rows), raw.More)
			}
			errs <- err
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
}

func TestBelowTLSTheSamePromisesHold(t *testing.T) {
	s := open(t, Options{DSN: server(t).dsn("ro") + "?tls=skip-verify"})
	c := session0(t, s)
	if got, err := c.rows(t.Context(), "SHOW SESSION STATUS LIKE 'Ssl_cipher'"); err != nil || got[0][1] == "" {
		t.Fatalf("no TLS: %v, %v", got, err)
	}
	g := guard(t, 0)
	raw, err := s.Run(t.Context(), permit(t, 1<<20), mustPlan(t, g, "SELECT id, name FROM customers"))
	if err != nil || len(raw.Rows) != 2 || raw.Cut {
		t.Errorf("%d rows, cut %v, %v", len(raw.Rows), raw.Cut, err)
	}
	raw, err = s.Run(t.Context(), permit(t, 64<<20), mustPlan(t, g, concatCut))
	if err != nil || !raw.Cut {
		t.Errorf("a cut GROUP_CONCAT is not marked: %v", err)
	}
	raw, err = s.Run(t.Context(), permit(t, 1<<20), mustPlan(t, g, "SELECT 1 AS one"))
	if err != nil || raw.Cut {
		t.Errorf("the next answer inherits the mark: %v, %v", raw.Cut, err)
	}
	if _, err := s.Run(t.Context(), permit(t, 1<<20), mustPlan(t, g, "SELECT body FROM big WHERE id = 1")); fault.CodeOf(err) != fault.RawTooLarge {
		t.Errorf("a cell of 12 MiB: %v, want %s", err, fault.RawTooLarge)
	}
	if _, err := s.Run(t.Context(), permit(t, 1<<20), mustPlan(t, g, "SELECT id FROM big")); err != nil {
		t.Errorf("the next statement: %v", err)
	}
}

func TestAnAnswerGivenUpHalfwayIsNotReadToItsEnd(t *testing.T) {
	m := server(t)
	m.must(t, "CREATE OR REPLACE USER halfway IDENTIFIED BY 'pw-halfway'; GRANT SELECT ON shop.* TO halfway")
	s := open(t, Options{DSN: m.dsn("halfway"), Timeout: time.Hour})
	plan := mustPlan(t, guard(t, 100000), "SELECT REPEAT('x', 9000) AS x FROM numbers a JOIN numbers b ON a.n <> b.n")
	began := time.Now()
	_, err := s.Run(t.Context(), permit(t, 1<<20), plan)
	if fault.CodeOf(err) != fault.RawTooLarge || time.Since(began) > 5*time.Second {
		t.Errorf("after %s: %v, want %s", time.Since(began), err, fault.RawTooLarge)
	}
	eventually(t, "the statement is gone", func() bool { return busy(t, m, "halfway") == "0" })
}

func TestABrokenConnectionIsReplacedOnceAndOnlyBeforeAnythingWasSent(t *testing.T) {
	s := open(t, Options{DSN: server(t).dsn("ro")})
	for _, c := range []struct {
		name  string
		fails int
		err   error
		calls int
		want  fault.Code
	}{
		{"nothing was sent, once", 1, driver.ErrBadConn, 2, ""},
		{"nothing was sent, again and again", 9, driver.ErrBadConn, 2, fault.BackendError},
		{"broken in mid-answer", 9, driversql.ErrInvalidConn, 1, fault.BackendError},
	} {
		calls := 0
		err := classify("test", s.with(t.Context(), func(context.Context, *session) error {
			if calls++; calls <= c.fails {
				return c.err
			}
			return nil
		}))
		if calls != c.calls || fault.CodeOf(err) != c.want {
			t.Errorf("%s: %d calls, %v; want %d, %q", c.name, calls, err, c.calls, c.want)
		}
	}
}
