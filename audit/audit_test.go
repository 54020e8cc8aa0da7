package audit

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/internal/servertest"
)

func row(i int) boundary.AuditRecord {
	return boundary.AuditRecord{Time: time.Date(2026, 1, 1, 10, 0, 0, i*1000, time.UTC), Principal: "alice", Run: "r1", Call: fmt.Sprint("c", i), HostCallID: "h", StepID: "s", Tool: "query_logs",
		InvocationStatus: "READY", EvidenceStatus: "EVIDENCE_FOUND", Code: "", ScopeID: "abc", Truncated: true, ReturnedCount: 3, RequestBytes: 4, RawBytes: 5, ObservationBytes: 6, LatencyMicros: 7}
}

func closeSink(t *testing.T, s *Sink) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

func lines(t *testing.T, path string) []boundary.AuditRecord {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []boundary.AuditRecord
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		var r boundary.AuditRecord
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			t.Fatalf("%s: %q: %v", path, sc.Text(), err)
		}
		out = append(out, r)
	}
	return out
}

func TestEveryRowReachesTheFileOnceAndInOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "audit.jsonl")
	s, err := NewFile(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 500 {
		s.Audit(row(i))
	}
	closeSink(t, s)
	got := lines(t, path)
	if len(got) != 500 || s.Stats() != (Stats{Written: 500}) {
		t.Fatalf("%d rows, %+v", len(got), s.Stats())
	}
	for i, r := range got {
		if r != row(i) {
			t.Fatalf("row %d is %+v", i, r)
		}
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v %v", st.Mode(), err)
	}
	s.Audit(row(1))
	if s.Stats().Dropped != 1 {
		t.Error("a row after Close was not counted as dropped")
	}
}

func TestAFileSinkOpensNothingBeforeTheFirstRow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	s, err := NewFile(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	closeSink(t, s)
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file exists: %v", err)
	}
}

func TestFilesRotate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	w := &fileWriter{path: path, max: 1000, keep: 2}
	for i := range 20 {
		if err := w.write(t.Context(), []boundary.AuditRecord{row(i)}); err != nil {
			t.Fatal(err)
		}
	}
	w.close()
	var calls []string
	for _, p := range []string{path + ".2", path + ".1", path} {
		st, err := os.Stat(p)
		if err != nil || st.Size() > 1000 {
			t.Errorf("%s: %v %v", p, st, err)
		}
		for _, r := range lines(t, p) {
			calls = append(calls, r.Call)
		}
	}
	if _, err := os.Stat(path + ".3"); err == nil {
		t.Error("more old files than asked for")
	}
	if len(calls) == 0 || calls[len(calls)-1] != "c19" {
		t.Errorf("the newest rows are %v", calls)
	}
}

func TestUnusableFilesAreSaid(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, "/proc/none/audit.jsonl"} {
		s, err := NewFile(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "audit: ") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// slowWriter fails or blocks as a test asks.
type slowWriter struct {
	mu    sync.Mutex
	err   error
	block chan struct{}
	rows  []boundary.AuditRecord
}

func (w *slowWriter) write(ctx context.Context, rows []boundary.AuditRecord) error {
	if w.block != nil {
		select {
		case <-w.block:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	w.rows = append(w.rows, rows...)
	return nil
}
func (w *slowWriter) check(context.Context) error { return nil }
func (w *slowWriter) tidy(context.Context) error  { return nil }
func (w *slowWriter) close() error                { return nil }

// A sink whose database hangs takes rows without delay, drops what does not fit, and says how many once a minute.
func TestADeadSinkNeverBlocksAndCountsItsDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		var mu sync.Mutex
		w := &slowWriter{block: make(chan struct{})}
		s := newSink(w, Options{Logger: slog.New(slog.NewTextHandler(lockedWriter{&mu, &log}, nil))})
		began := time.Now()
		for i := range queueRows + 3*batchRows {
			s.Audit(row(i))
		}
		if d := time.Since(began); d != 0 {
			t.Errorf("queueing took %v", d)
		}
		time.Sleep(3 * time.Minute)
		mu.Lock()
		text := log.String()
		mu.Unlock()
		if n := strings.Count(text, "audit rows dropped"); n != 1 || strings.Contains(text, "alice") {
			t.Errorf("%d reports in three minutes with one bout of drops:\n%s", n, text)
		}
		close(w.block)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Fatal(err)
		}
		st := s.Stats()
		if st.Written+st.Dropped != queueRows+3*batchRows || st.Written < queueRows || int64(len(w.rows)) != st.Written {
			t.Errorf("%+v, %d rows kept", st, len(w.rows))
		}
	})
}

func TestASinkThatFailsIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{err: errors.New("down")}
		s := newSink(w, Options{})
		s.Audit(row(1))
		time.Sleep(10 * time.Second)
		w.mu.Lock()
		w.err = nil
		w.mu.Unlock()
		time.Sleep(10 * time.Second)
		if s.Stats() != (Stats{Written: 1}) {
			t.Errorf("%+v", s.Stats())
		}
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// The end of the gateway comes while the sink waits for its database, which is back by then: the rows are written, and once.
func TestTheLastTryWritesOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &slowWriter{err: errors.New("down")}
		s := newSink(w, Options{})
		s.Audit(row(1))
		synctest.Wait()
		w.mu.Lock()
		w.err = nil
		w.mu.Unlock()
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s.Stats() != (Stats{Written: 1}) || len(w.rows) != 1 {
			t.Errorf("%+v, %d rows kept, want one", s.Stats(), len(w.rows))
		}
	})
}

type lockedWriter struct {
	mu *sync.Mutex
	b  *strings.Builder
}

func (l lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func TestMySQLKeepsRowsAndForgetsOldOnes(t *testing.T) {
	db := servertest.StartMariaDB(t, "CREATE DATABASE audit; CREATE USER w@'%' IDENTIFIED BY 'fake-pw'; GRANT CREATE, INSERT, SELECT, DELETE ON audit.* TO w@'%';")
	s, err := NewMySQL(db.DSN("w", "fake-pw", "audit"), Options{Retention: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	for i := range 300 {
		r := row(i)
		r.Principal = strings.Repeat("数", 300)
		if r.Time = now; i >= 100 {
			r.Time = now.Add(-2 * time.Hour)
		}
		s.Audit(r)
	}
	closeAndKeep(t, s)
	if n := strings.TrimSpace(db.SQL(t, "SELECT COUNT(*), SUM(truncated), MAX(latency_us) FROM audit.mcp_gateway_audit")); n != "300\t300\t7" {
		t.Errorf("rows: %q", n)
	}
	again, err := NewMySQL(db.DSN("w", "fake-pw", "audit"), Options{Retention: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Check(t.Context()); err != nil { // the table exists already
		t.Fatal(err)
	}
	again.tidy()
	closeSink(t, again)
	if n := strings.TrimSpace(db.SQL(t, "SELECT COUNT(*) FROM audit.mcp_gateway_audit")); n != "100" {
		t.Errorf("%s rows after their retention, want 100", n)
	}
	for name, c := range map[string]struct{ user, pw, database, says string }{
		"wrong password": {"w", "wrong-fake-pw", "audit", "may not log in"},
		"no database":    {"w", "fake-pw", "nothing", "may not log in"}, // the server hides which
	} {
		s, err := NewMySQL(db.DSN(c.user, c.pw, c.database), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check(t.Context()); err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "fake-pw") {
			t.Errorf("%s: %v", name, err)
		}
		closeSink(t, s)
	}
	db.Kill()
	s, err = NewMySQL(db.DSN("w", "fake-pw", "audit"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("dead server: %v", err)
	}
	closeSink(t, s)
}

// A frozen database carries out, once it goes on, a write that was given up long ago. The repetition must not make a second row of it.
func TestAWriteThatIsRepeatedWritesOnce(t *testing.T) {
	db := servertest.StartMariaDB(t, "CREATE DATABASE audit; CREATE USER w@'%' IDENTIFIED BY 'fake-pw'; GRANT CREATE, INSERT, SELECT, DELETE ON audit.* TO w@'%';")
	s, err := NewMySQL(db.DSN("w", "fake-pw", "audit"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer closeSink(t, s)
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows := []boundary.AuditRecord{row(1), row(1), row(2)}
	db.Freeze()
	short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := s.w.write(short, rows); err == nil {
		t.Fatal("a frozen database took rows")
	}
	db.Thaw()
	for _, again := range [][]boundary.AuditRecord{rows, {row(3)}} {
		if err := s.w.write(t.Context(), again); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.TrimSpace(db.SQL(t, "SELECT COUNT(*) FROM audit.mcp_gateway_audit")); n != "4" {
		t.Errorf("%s rows, want 4: two of them are alike on purpose", n)
	}
}

func closeAndKeep(t *testing.T, s *Sink) {
	t.Helper()
	closeSink(t, s)
	if s.Stats().Dropped != 0 {
		t.Fatalf("%+v", s.Stats())
	}
}

func TestABadDSNIsNotRepeated(t *testing.T) {
	for _, dsn := range []string{"user:pw-not-real@tcp(h", "user:pw-not-real@tcp(h:1)/", ""} {
		if _, err := NewMySQL(dsn, Options{}); err == nil || strings.Contains(err.Error(), "not-real") {
			t.Errorf("%q: %v", dsn, err)
		}
	}
}

// A record has no field that could carry content: names and numbers only. A new field must be added here on purpose.
func TestARowHasNoContentField(t *testing.T) {
	known := "Time Principal Run Call HostCallID StepID Tool InvocationStatus EvidenceStatus Code ScopeID Truncated ReturnedCount RequestBytes RawBytes ObservationBytes LatencyMicros"
	var got []string
	for f := range reflect.TypeFor[boundary.AuditRecord]().Fields() {
		got = append(got, f.Name)
	}
	if strings.Join(got, " ") != known {
		t.Errorf("fields are %v", got)
	}
}
