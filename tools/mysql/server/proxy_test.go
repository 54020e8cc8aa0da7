package server

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// between listens on a socket and passes everything on to the server, with from replaced by to in what the gateway sends. Both have the same length, so that the
// packets stay whole.
func between(t testing.TB, m *maria, from, to string) (dsn string) {
	t.Helper()
	if len(from) != len(to) {
		t.Fatalf("%q and %q differ in length", from, to)
	}
	dir, err := os.MkdirTemp("", "px") // the path of a socket has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	sock := filepath.Join(dir, "s")
	l, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("unix", m.sock)
			if err != nil {
				_ = client.Close()
				return
			}
			go func() { _, _ = io.Copy(client, up); _ = client.Close() }()
			go func() {
				defer up.Close()
				b := make([]byte, 64<<10)
				for {
					n, err := client.Read(b)
					if err != nil {
						return
					}
					if _, err := up.Write(bytes.ReplaceAll(b[:n], []byte(from), []byte(to))); err != nil {
						return
					}
				}
			}()
		}
	}()
	return strings.Replace(m.dsn("ro"), m.sock, sock, 1)
}

// 1. Something between gateway and server changes the session back. 2. Under another sql_mode the text of a plan means something else; outside a read-only session
// a plan is no longer the only guard. Such a session serves nothing, whatever account it has.
func TestASessionThatDoesNotKeepItsPinsServesNothing(t *testing.T) {
	m := server(t)
	for variable, change := range map[string][2]string{
		"sql_mode":              {"ERROR_FOR_DIVISION_BY_ZERO", "IGNORE_SPACE,REAL_AS_FLOAT"},
		"time_zone":             {"time_zone='+00:00'", "time_zone='+01:00'"},
		"autocommit":            {"autocommit=1", "autocommit=0"},
		"transaction_read_only": {"SET SESSION TRANSACTION READ ONLY", "SET SESSION lock_wait_timeout=50 "},
		"":                      {"no such text", "no such text"},
	} {
		s := open(t, Options{DSN: between(t, m, change[0], change[1]), AllowWritableAccount: true})
		_, err := s.Run(t.Context(), permit(t, 1<<20), mustPlan(t, guard(t, 0), "SELECT n FROM numbers LIMIT 1"))
		check := s.Check(t.Context())
		if variable == "" {
			if err != nil || check != nil {
				t.Errorf("nothing changed: %v, %v: the test proves nothing", err, check)
			}
			continue
		}
		if fault.CodeOf(err) != fault.BackendError {
			t.Errorf("%s: got %v, want %s", variable, err, fault.BackendError)
		}
		if check == nil || !strings.Contains(check.Error(), variable) {
			t.Errorf("%s: the operator reads %v", variable, check)
		}
	}
}

// lines is a log that can be read while it is written.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Behind one name may stand several servers, and a connection's number on another one is somebody else's: nothing is killed there.
func TestAKillDoesNotReachAnotherServer(t *testing.T) {
	m := server(t)
	var log lines
	dsn := between(t, m, "SELECT CONCAT_WS('/', @@hostname", "SELECT CONCAT_WS('/', 'elsewhr' ")
	s := open(t, Options{DSN: dsn, Timeout: time.Hour, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	plan := mustPlan(t, guard(t, 0), strings.Replace(endless, "AS n", "AS elsewhere", 1))
	running := func() string {
		return m.must(t, "SELECT IFNULL(GROUP_CONCAT(ID), '') FROM information_schema.PROCESSLIST WHERE INFO LIKE '%AS `elsewhere`%' AND USER = 'ro'")
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = s.Run(ctx, permit(t, 1<<20), plan) })
	eventually(t, "the statement runs", func() bool { return running() != "" })
	id := running()
	cancel()
	wg.Wait()
	s.kills.Wait()
	if got := running(); got != id {
		t.Errorf("statement %s was killed; running is %q", id, got)
	}
	m.must(t, "KILL "+id)
	if !strings.Contains(log.String(), "another server answered") {
		t.Errorf("the log: %s", log.String())
	}
}
