package filestore

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

func openArgs(run, call string) canonical.OpenArgs {
	return canonical.OpenArgs{Principal: "p", Run: run, Call: call, Nonce: "nonce " + call, Tool: "query_logs", Request: []byte(`{"q":"x"}`), Projector: "1", TTL: time.Minute, RequestBytes: 9,
		Implicit: &canonical.RunSpec{Limits: canonical.Limits{Calls: 1e6, RequestBytes: 1 << 40, RawBytes: 1 << 40, ObservationBytes: 1 << 40}, NoGain: canonical.NoGain{Limit: 8, Window: 10}, TTL: time.Hour},
		Salt:     canonical.Salt{1, 2, 3}}
}

func key(tb testing.TB, run, call string) canonical.Key {
	tb.Helper()
	k, err := canonical.NewKey("p", run, call)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// write opens and closes one call.
func write(tb testing.TB, s *Store, call, content string) {
	tb.Helper()
	a := openArgs("r", call)
	a.Request = []byte(content)
	g, err := s.Open(tb.Context(), a)
	if err != nil {
		tb.Fatal(err, unwrap(err))
	}
	if _, err := s.Close(tb.Context(), canonical.CloseArgs{Key: key(tb, g.Run, call), Nonce: a.Nonce, Ready: true, Evidence: canonical.Found, Raw: []byte(strings.Repeat(content+" ", 3000)),
		Observation: []byte(content), ScopeID: "s", Scope: content, Control: []byte(content)}); err != nil {
		tb.Fatal(err, unwrap(err))
	}
}

func unwrap(err error) error {
	if u, ok := err.(interface{ Unwrap() error }); ok {
		return u.Unwrap()
	}
	return nil
}

func wantCode(tb testing.TB, what string, err error, want fault.Code) {
	tb.Helper()
	if got := fault.CodeOf(err); got != want {
		tb.Errorf("%s = %v (%v), want %s", what, err, unwrap(err), want)
	}
}

// everyByte is all that lies in the store's folder.
func everyByte(tb testing.TB, path string) (all []byte) {
	tb.Helper()
	err := filepath.WalkDir(filepath.Dir(path), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		all = append(all, b...)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

func TestNewDoesNotTouchTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "folder", "canonical.db")
	s := newStore(t, Options{Path: path})
	if _, err := os.Stat(filepath.Dir(path)); !os.IsNotExist(err) {
		t.Errorf("New made the folder: %v", err)
	}
	if err := s.Shutdown(); err != nil {
		t.Errorf("Shutdown of an unused store = %v", err)
	}
	if _, err := os.Stat(filepath.Dir(path)); !os.IsNotExist(err) {
		t.Errorf("Shutdown made the folder: %v", err)
	}
	_, err := s.Open(t.Context(), openArgs("r", "c"))
	wantCode(t, "Open after Shutdown", err, fault.StoreError)
}

func TestTheFileIsPrivate(t *testing.T) {
	t.Parallel()
	check := func(path string) {
		t.Helper()
		for _, suffix := range []string{"", "-wal", "-shm"} {
			fi, err := os.Stat(path + suffix)
			if err != nil {
				t.Fatal(err)
			}
			if fi.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %o, want 600", filepath.Base(path+suffix), fi.Mode().Perm())
			}
		}
	}
	s := newStore(t, Options{})
	write(t, s, "c", "content")
	check(s.path)
	if fi, err := os.Stat(filepath.Dir(s.path)); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("folder has mode %o (%v), want 700", fi.Mode().Perm(), err)
	}
	open := filepath.Join(t.TempDir(), "open.db")
	if err := os.WriteFile(open, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o666); err != nil {
		t.Fatal(err)
	}
	s = newStore(t, Options{Path: open})
	write(t, s, "c", "content")
	check(open)
}

const canary = "CANARY-" + "4711"

func TestExpiredBytesAreGoneAfterAPurge(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"open", "shutdown", "first use"} {
		t.Run(how, func(t *testing.T) {
			clock := newClock()
			path := filepath.Join(t.TempDir(), "f", "canonical.db")
			s := newStore(t, Options{Path: path, Clock: clock.now})
			for i := range 30 {
				write(t, s, fmt.Sprint("c", i), canary)
			}
			if !bytes.Contains(everyByte(t, path), []byte(canary)) {
				t.Fatal("the test's own look at the file sees nothing")
			}
			if how == "first use" { // as after a kill: nobody closed the file
				crashed := s
				s = newStore(t, Options{Path: path, Clock: clock.now})
				crashed.mu.Lock()
				crashed.db.Close()
				crashed.db = nil
				crashed.mu.Unlock()
			}
			clock.advance(2*time.Hour + canonical.RunGrace)
			if _, found, err := s.Load(t.Context(), key(t, "r", "c0")); found || err != nil {
				t.Errorf("Load of an expired record = %v, %v", found, err)
			}
			switch how {
			case "open":
				a := openArgs("other", "c")
				if _, err := s.Open(t.Context(), a); err != nil {
					t.Fatal(err, unwrap(err))
				}
			case "shutdown":
				if err := s.Shutdown(); err != nil {
					t.Fatal(err)
				}
			}
			all := everyByte(t, path)
			if n := bytes.Count(all, []byte(canary)); n != 0 {
				t.Errorf("%d copies of an expired secret are left", n)
			}
			if len(all) > 512<<10 {
				t.Errorf("the files still hold %d bytes", len(all))
			}
		})
	}
}

func TestAReaderInTheWayDelaysThePurgeOfTheJournalOnly(t *testing.T) {
	t.Parallel()
	clock := newClock()
	path := filepath.Join(t.TempDir(), "f", "canonical.db")
	a, b := newStore(t, Options{Path: path, Clock: clock.now}), newStore(t, Options{Path: path, Clock: clock.now})
	write(t, a, "c", canary)
	if _, _, err := b.Load(t.Context(), key(t, "r", "c")); err != nil {
		t.Fatal(err)
	}
	reader, err := b.db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := reader.QueryRow("SELECT count(*) FROM records").Scan(&n); err != nil {
		t.Fatal(err)
	}
	clock.advance(2*time.Hour + canonical.RunGrace)
	write(t, a, "d", "fresh")
	if !a.stale.Load() {
		t.Error("the store believes that the journal is empty")
	}
	if err := reader.Rollback(); err != nil {
		t.Fatal(err)
	}
	clock.advance(2 * purgeEvery)
	write(t, a, "e", "fresh")
	if a.stale.Load() || bytes.Contains(everyByte(t, path), []byte(canary)) {
		t.Error("an expired secret is left although nobody is in the way any more")
	}
}

func TestTheJournalIsBounded(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	for i := range 40 {
		write(t, s, fmt.Sprint("c", i), strings.Repeat("x", 100))
	}
	fi, err := os.Stat(s.path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	if fi.Size() > 6<<20 {
		t.Errorf("the journal has %d bytes after 12 MB of writes, want no more than 1000 pages and a record", fi.Size())
	}
}

func TestEncryptionAtRest(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "canonical.db")
	store := func(key string) *Store { return newStore(t, Options{Path: path, EncryptionKey: key}) }
	sealed := store(testKey(1))
	write(t, sealed, "c", canary)
	if bytes.Contains(everyByte(t, path), []byte("CANARY")) {
		t.Error("content is readable in the file")
	}
	rotated := store(testKey(2) + "," + testKey(1))
	for _, s := range []*Store{sealed, rotated} {
		rec, found, err := s.Load(t.Context(), key(t, "r", "c"))
		if err != nil || !found || string(rec.Request) != canary || string(rec.Observation) != canary || !bytes.HasPrefix(rec.Raw, []byte(canary)) {
			t.Errorf("Load = %v, %v (%v)", found, err, unwrap(err))
		}
	}
	// What an observation found is sealed with it: who may write into the file cannot make "found" a "nothing there", nor a part the whole.
	for _, set := range []string{"evidence = 'NO_EVIDENCE'", "evidence = 'EVIDENCE_FOUND', truncated = 1", "truncated = 0"} {
		if _, err := sealed.db.ExecContext(t.Context(), "UPDATE records SET "+set); err != nil {
			t.Fatal(err)
		}
		if _, found, err := sealed.Load(t.Context(), key(t, "r", "c")); found != (set == "truncated = 0") || found != (err == nil) {
			t.Errorf("Load after %s = %v, %v", set, found, err)
		}
	}
	write(t, rotated, "fresh", canary)
	// A run outlives its records: when their key is gone, the run's calls can still be listed, without the words.
	list, err := store(testKey(2)).Calls(t.Context(), key(t, "r", "c").RunKey(), 0, 10)
	if err != nil || len(list) != 2 || list[0].Call != "c" || list[0].State != canonical.StateReady || list[0].Scope != "" || list[0].Control != nil || list[1].Scope == "" {
		t.Errorf("calls after their key was dropped: %+v, %v (%v)", list, err, unwrap(err))
	}
	for _, s := range []*Store{sealed, store("")} {
		_, _, err := s.Load(t.Context(), key(t, "r", "fresh"))
		wantCode(t, "Load without the key", err, fault.StoreError)
	}
	if _, err := New(Options{Path: path, EncryptionKey: "too short"}); err == nil {
		t.Error("New accepted a bad key")
	}
}

func TestAFullFileFailsClosedYetRecordsErrors(t *testing.T) {
	t.Parallel()
	s := newStore(t, Options{})
	a := openArgs("r", "a")
	if _, err := s.Open(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	s.bound = 1
	_, err := s.Open(t.Context(), openArgs("r", "b"))
	wantCode(t, "Open", err, fault.StoreError)
	_, err = s.Close(t.Context(), canonical.CloseArgs{Key: key(t, "r", "a"), Nonce: a.Nonce, Ready: true, Raw: []byte("r"), Observation: []byte("o")})
	wantCode(t, "READY", err, fault.StoreError)
	if out, err := s.Close(t.Context(), canonical.CloseArgs{Key: key(t, "r", "a"), Nonce: a.Nonce, Code: "STORE_ERROR"}); err != nil || out.State != canonical.StateError {
		t.Errorf("ERROR = %+v, %v", out, err)
	}
}

func TestPingSaysWhatToDo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	foreign := filepath.Join(dir, "foreign.db")
	db, err := sql.Open("sqlite", foreign)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE theirs(a)"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	older := filepath.Join(dir, "older.db")
	old := newStore(t, Options{Path: older})
	if err := old.Ping(t.Context()); err != nil {
		t.Fatalf("Ping = %v", err)
	}
	if _, err := old.db.Exec("PRAGMA user_version = 77"); err != nil {
		t.Fatal(err)
	}
	if err := old.Shutdown(); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(older, filepath.Join(dir, "link.db")); err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{
		file("text.db", strings.Repeat("this is no database ", 100)): "remove it",
		foreign:                          "another program's",
		older:                            "another version",
		filepath.Join(dir, "link.db"):    "not a regular file",
		dir:                              "not a regular file",
		file("plain", "x") + "/under.db": "canonical.store",
	}
	if os.Getuid() != 0 {
		closed := filepath.Join(dir, "closed")
		if err := os.Mkdir(closed, 0o500); err != nil {
			t.Fatal(err)
		}
		cases[filepath.Join(closed, "canonical.db")] = "writable"
	}
	for path, want := range cases {
		s := newStore(t, Options{Path: path})
		err := s.Ping(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("Ping of %s = %v, want %q in it", filepath.Base(path), err, want)
		}
		wantCode(t, "Ping", err, fault.StoreError)
		_, err = s.Open(t.Context(), openArgs("r", "c"))
		wantCode(t, "Open of "+filepath.Base(path), err, fault.StoreError)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "text.db")); err != nil || !bytes.HasPrefix(b, []byte("this is no database")) {
		t.Error("a file that is no store was changed")
	}
}

// TestOneProcess is what TestSeveralProcesses runs in other processes.
func TestOneProcess(t *testing.T) {
	path := os.Getenv("FILESTORE_TEST_PATH")
	if path == "" {
		t.Skip("run by TestSeveralProcesses")
	}
	s := newStore(t, Options{Path: path})
	for i := range 20 {
		a := openArgs("shared", fmt.Sprintf("c%d", i)) // every process wants the same ids
		a.Nonce = os.Getenv("FILESTORE_TEST_NAME")
		a.Implicit.Limits.Calls = 15
		g, err := s.Open(t.Context(), a)
		switch fault.CodeOf(err) {
		case "":
			if _, err := s.Close(t.Context(), canonical.CloseArgs{Key: key(t, g.Run, a.Call), Nonce: a.Nonce, Ready: true, Evidence: canonical.Found, Raw: []byte("raw"), Observation: []byte("obs")}); err != nil {
				t.Fatal(err, unwrap(err))
			}
			fmt.Println("won", a.Call)
		case fault.DuplicateToolCallID, fault.BudgetExhausted:
		default:
			t.Fatal(err, unwrap(err))
		}
	}
}

func TestSeveralProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "canonical.db")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var won []string
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, exe, "-test.run=^TestOneProcess$", "-test.v")
			cmd.Env = append(os.Environ(), "FILESTORE_TEST_PATH="+path, fmt.Sprintf("FILESTORE_TEST_NAME=process %d", i))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("process %d: %v\n%s", i, err, out)
			}
			mu.Lock()
			defer mu.Unlock()
			for line := range strings.Lines(string(out)) {
				if call, ok := strings.CutPrefix(line, "won "); ok {
					won = append(won, call)
				}
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, call := range won {
		if seen[call] {
			t.Errorf("call %s was granted twice", call)
		}
		seen[call] = true
	}
	s := newStore(t, Options{Path: path})
	info, found, err := s.Run(t.Context(), key(t, "shared", "x").RunKey())
	if err != nil || !found || len(won) != 15 || info.Used.Calls != 15 || info.Used.RawBytes != 45 {
		t.Errorf("%d calls granted, used = %+v, %v, want 15 of a budget of 15", len(won), info.Used, err)
	}
	for call := range seen {
		if rec, found, err := s.Load(t.Context(), key(t, "shared", strings.TrimSpace(call))); err != nil || !found || rec.State != canonical.StateReady {
			t.Errorf("record %s = %s, %v, %v", call, rec.State, found, err)
		}
	}
}

// A desktop client starts two gateways at the same moment, on a machine that has no file yet: the second switch to WAL was "database is locked" at once, and its first
// call failed.
func TestManyMakeTheFileAtOnce(t *testing.T) {
	t.Parallel()
	for range 20 {
		path := filepath.Join(t.TempDir(), "canonical.db")
		var wg sync.WaitGroup
		for i := range 8 {
			s := newStore(t, Options{Path: path})
			wg.Go(func() {
				if _, err := s.Open(t.Context(), openArgs("r", fmt.Sprintf("c%d", i))); err != nil {
					t.Error(err, unwrap(err))
				}
			})
		}
		wg.Wait()
	}
}

func TestALockedFileReturnsWithinTheDeadline(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "canonical.db")
	a, b := newStore(t, Options{Path: path}), newStore(t, Options{Path: path})
	write(t, a, "c", "x")
	write(t, b, "d", "x")
	tx, err := a.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err = b.Open(ctx, openArgs("r", "e"))
	wantCode(t, "Open of a locked file", err, fault.StoreError)
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("Open took %v with a deadline of 200 ms", took)
	}
	if _, found, err := b.Load(t.Context(), key(t, "r", "c")); !found || err != nil {
		t.Errorf("Load while another process writes = %v, %v (%v)", found, err, unwrap(err))
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	write(t, b, "e", "x")
}
