package redisstore

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// within fails when f takes longer than d: the bound is the promise, not the speed.
func within(t *testing.T, d time.Duration, what string, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if took := time.Since(start); took > d {
		t.Errorf("%s took %v, longer than %v", what, took, d)
	}
}

// failsClosed runs every step and expects STORE_ERROR of each.
func failsClosed(t *testing.T, s *Store, timeout time.Duration) {
	t.Helper()
	step := func(what string, f func(context.Context) error) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		// The allowance is for a loaded machine: go-redis itself stops at the deadline.
		within(t, timeout+time.Second, what, func() { wantCode(t, what, f(ctx), fault.StoreError) })
	}
	step("Open", func(ctx context.Context) error { _, err := s.Open(ctx, openArgs("r", "x")); return err })
	step("READY", func(ctx context.Context) error {
		_, err := s.Close(ctx, readyArgs(t, openArgs("r", "x"), canonical.Grant{Run: "r", ExpiresAt: time.Now().Add(time.Minute)}, random(64<<10)))
		return err
	})
	step("ERROR", func(ctx context.Context) error {
		_, err := s.Close(ctx, canonical.CloseArgs{Key: key(t, "r", "x"), Nonce: "n", Code: "CANCELLED"})
		return err
	})
	step("Load", func(ctx context.Context) error { _, _, err := s.Load(ctx, key(t, "r", "x")); return err })
	step("FindCall", func(ctx context.Context) error {
		_, _, err := s.FindCall(ctx, "p", "tc_aaaaaaaaaaaaaaaa")
		return err
	})
	step("Runs", func(ctx context.Context) error { _, err := s.Runs(ctx, "p", 1); return err })
	step("Ping", s.Ping)
}

func advises(t *testing.T, s *Store, want ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	err := s.Ping(ctx)
	if err == nil {
		t.Error("Ping accepted the server")
		return
	}
	wantCode(t, "Ping", err, fault.StoreError)
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("Ping says %q, want %q in it", err, w)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("Ping shows the password: %v", err)
	}
}

func TestADeadServerFailsClosedAndComesBack(t *testing.T) {
	t.Parallel()
	srv := startServer(t)
	s := srv.store(t, Options{})
	a := openArgs("r", "c")
	g := mustOpen(t, s, a)
	srv.kill()
	failsClosed(t, s, time.Second)
	advises(t, s, "cannot be reached")
	srv.start(t)
	// The restarted server is empty: what was in flight is gone, a registered run is unknown, an implicit one starts anew.
	_, err := s.Close(t.Context(), readyArgs(t, a, g, []byte("raw")))
	wantCode(t, "CLOSE after an empty restart", err, fault.StoreError)
	if _, found, err := s.Load(t.Context(), key(t, "r", "c")); found || err != nil {
		t.Errorf("Load after an empty restart = %v, %v", found, err)
	}
	known := openArgs("r", "d")
	known.Implicit = nil
	_, err = s.Open(t.Context(), known)
	wantCode(t, "OPEN in registered mode", err, fault.RunNotActive)
	fresh := openArgs("r", "c")
	fresh.Salt = canonical.Salt{9}
	if g := mustOpen(t, s, fresh); g.Salt != fresh.Salt {
		t.Error("the run did not start anew")
	}
}

func TestAStalledServerReturnsWithinTheDeadline(t *testing.T) {
	t.Parallel()
	srv := startServer(t)
	s := srv.store(t, Options{})
	a := openArgs("r", "c")
	g := mustOpen(t, s, a)
	if err := srv.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	failsClosed(t, s, 250*time.Millisecond)
	if err := srv.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s, readyArgs(t, a, g, []byte("raw")))
	mustOpen(t, s, openArgs("r", "after"))
}

func TestAFullServerFailsClosedYetRecordsErrors(t *testing.T) {
	t.Parallel()
	srv := startServer(t, "--maxmemory", "8mb", "--maxmemory-policy", "noeviction")
	s, c := srv.store(t, Options{}), srv.admin(t)
	if err := s.Ping(t.Context()); err != nil {
		t.Fatalf("Ping = %v", err)
	}
	ready := openArgs("r", "ready")
	done := readyArgs(t, ready, mustOpen(t, s, ready), []byte("content"))
	mustClose(t, s, done)
	a, b := openArgs("r", "a"), openArgs("r", "b")
	ga, gb := mustOpen(t, s, a), mustOpen(t, s, b)
	for i := range 100 {
		if err := c.Set(t.Context(), fmt.Sprint("fill", i), random(256<<10), time.Minute).Err(); err != nil {
			if !redis.IsOOMError(err) {
				t.Fatal(err)
			}
			break
		}
	}
	// The last fill may have left room for something small.
	for i := range 100000 {
		if err := c.Set(t.Context(), fmt.Sprint("small", i), random(512), time.Minute).Err(); err != nil {
			break
		}
	}
	_, err := s.Open(t.Context(), openArgs("r", "x"))
	wantCode(t, "OPEN of a full server", err, fault.StoreError)
	for _, raw := range [][]byte{[]byte("small"), random(64 << 10)} {
		_, err = s.Close(t.Context(), readyArgs(t, a, ga, raw))
		wantCode(t, "READY of a full server", err, fault.StoreError)
	}
	if out := mustClose(t, s, canonical.CloseArgs{Key: key(t, "r", "a"), Nonce: a.Nonce, Code: "STORE_ERROR", Control: []byte("{}")}); out.State != canonical.StateError {
		t.Errorf("Closed = %+v", out)
	}
	mustClose(t, s, canonical.CloseArgs{Key: key(t, gb.Run, "b"), Nonce: b.Nonce, Code: "CANCELLED"})
	if rec := mustLoad(t, s, key(t, "r", "a")); rec.State != canonical.StateError || rec.Code != "STORE_ERROR" {
		t.Errorf("record = %s %s", rec.State, rec.Code)
	}
	if rec := mustLoad(t, s, done.Key); string(rec.Raw) != "content" {
		t.Error("a full server lost a record")
	}
	if info, _, err := s.Run(t.Context(), done.Key.RunKey()); err != nil || info.Used.Calls != 3 || info.Used.RawBytes != 7 {
		t.Errorf("used = %+v, %v, want three calls and one raw", info.Used, err)
	}
	advises(t, s, "out of memory")
}

func TestAServerThatEvictsIsRefused(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"allkeys-lru", "volatile-ttl"} {
		srv := startServer(t, "--maxmemory-policy", policy)
		advises(t, srv.store(t, Options{}), policy, "noeviction", "canonical.allow_eviction")
		if err := srv.store(t, Options{AllowEviction: true}).Ping(t.Context()); err != nil {
			t.Errorf("Ping with AllowEviction = %v", err)
		}
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	srv := startServer(t, "--requirepass", "right")
	auth := func(userinfo string) *Store {
		return srv.store(t, Options{URL: "unix://" + userinfo + srv.sock})
	}
	for _, s := range []*Store{srv.store(t, Options{}), auth(":hunter2@"), auth("nobody:hunter2@")} {
		failsClosed(t, s, time.Second)
		advises(t, s, "credentials")
	}
	if err := auth(":right@").Ping(t.Context()); err != nil {
		t.Errorf("Ping with the right password = %v", err)
	}
}

// aclRules are those of the package comment.
func aclRules(t *testing.T) []string {
	t.Helper()
	src, err := os.ReadFile("redisstore.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(src), "An ACL user needs: ")
	list, _, ok2 := strings.Cut(rest, ", and for a cluster")
	if !ok || !ok2 {
		t.Fatal("the package comment names no rules")
	}
	return strings.Fields(strings.ReplaceAll(list, "//", " "))
}

func TestAnACLUserNeedsWhatTheCommentNames(t *testing.T) {
	t.Parallel()
	srv := startServer(t)
	rules := []any{"ACL", "SETUSER", "gw", "on", ">right"}
	for _, r := range aclRules(t) {
		rules = append(rules, r)
	}
	if err := srv.admin(t).Do(t.Context(), rules...).Err(); err != nil {
		t.Fatal(err)
	}
	s := srv.store(t, Options{URL: "unix://gw:right@" + srv.sock + "?db=1"})
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("Ping = %v (%v)", err, unwrap(unwrap(err)))
	}
	everyStep(t, s)
	lacking := append(rules[:4:4], ">right", "~mg:*", "+eval", "+evalsha", "+info", "+hello", "+select")
	lacking[2] = "poor"
	if err := srv.admin(t).Do(t.Context(), lacking...).Err(); err != nil {
		t.Fatal(err)
	}
	poor := srv.store(t, Options{URL: "unix://poor:right@" + srv.sock})
	_, err := poor.Open(t.Context(), openArgs("r", "c"))
	wantCode(t, "Open without rights", err, fault.StoreError)
	advises(t, poor, "permission")
}

// everyStep does each step once, with both kinds of raw, and each way of opening a run.
func everyStep(t *testing.T, s *Store) {
	t.Helper()
	ctx := t.Context()
	for i, raw := range [][]byte{[]byte("small"), random(64 << 10)} {
		a := openArgs("", fmt.Sprintf("tc_aaaaaaaaaaaaaaa%c", 'a'+i))
		a.Minted, a.Slot, a.MintRun, a.Implicit.NoGain = true, "slot", "run_aaaaaaaaaaaaaaaa", canonical.NoGain{Limit: 1, Window: 2}
		c := readyArgs(t, a, mustOpen(t, s, a), raw)
		c.Items = []canonical.Item{{Key: "k", Detail: fmt.Sprint(i)}}
		mustClose(t, s, c)
		if rec, found, err := s.FindCall(ctx, "p", a.Call); err != nil || !found || !bytes.Equal(rec.Raw, raw) || !bytes.Equal(mustLoad(t, s, c.Key).Raw, raw) {
			t.Errorf("FindCall = %v, %v (%v)", found, err, unwrap(err))
		}
	}
	k := key(t, "run_aaaaaaaaaaaaaaaa", "tc_aaaaaaaaaaaaaaaa")
	short := openArgs("short", "c")
	short.Implicit.TTL = time.Millisecond
	mustOpen(t, s, short)
	time.Sleep(5 * time.Millisecond) // past the run's deadline by the server's clock
	mustOpen(t, s, openArgs("short", "d"))
	failed := openArgs("short", "e")
	mustOpen(t, s, failed)
	mustClose(t, s, canonical.CloseArgs{Key: key(t, "short", "e"), Nonce: failed.Nonce, Code: "CANCELLED"})
	_, err := s.OpenRun(ctx, key(t, "registered", "x").RunKey(), *short.Implicit, canonical.Registered, short.Salt, canonical.Ceilings{OpenRuns: 10})
	for what, err := range map[string]error{"OpenRun": err, "Assess": s.Assess(ctx, k, false), "Resume": s.Resume(ctx, k.RunKey()), "CloseRun": s.CloseRun(ctx, k.RunKey())} {
		if err != nil {
			t.Errorf("%s = %v (%v)", what, err, unwrap(err))
		}
	}
	if calls, err := s.Calls(ctx, k.RunKey(), 0, 10); err != nil || len(calls) != 2 {
		t.Errorf("Calls = %d, %v (%v)", len(calls), err, unwrap(err))
	}
	if runs, err := s.Runs(ctx, "p", 10); err != nil || len(runs) < 2 {
		t.Errorf("Runs = %d, %v (%v)", len(runs), err, unwrap(err))
	}
	if _, found, err := s.Run(ctx, k.RunKey()); err != nil || !found {
		t.Errorf("Run = %v, %v (%v)", found, err, unwrap(err))
	}
}

func TestAReadOnlyReplicaIsRefused(t *testing.T) {
	t.Parallel()
	srv := startServer(t, "--replicaof", "127.0.0.1 1", "--replica-serve-stale-data", "yes")
	s := srv.store(t, Options{})
	_, err := s.Open(t.Context(), openArgs("r", "c"))
	wantCode(t, "Open", err, fault.StoreError)
	if !redis.IsReadOnlyError(unwrap(err)) {
		t.Errorf("cause = %v, want READONLY", unwrap(err))
	}
	if _, found, err := s.Load(t.Context(), key(t, "r", "c")); found || err != nil {
		t.Errorf("Load = %v, %v", found, err)
	}
	advises(t, s, "read-only replica", "redis+sentinel://")
	// Promoted, it serves.
	if err := srv.admin(t).Do(t.Context(), "REPLICAOF", "NO", "ONE").Err(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, s, openArgs("r", "c"))
}

func TestALoadingServerFailsClosed(t *testing.T) {
	t.Parallel()
	srv := startServer(t)
	c := srv.admin(t)
	for range 100 {
		p := c.Pipeline()
		for range 200 {
			p.Set(t.Context(), string(random(8)), "x", 0)
		}
		if _, err := p.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Save(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	srv.kill()
	// 1 ms a key: 20 s of loading, during which the server answers LOADING.
	srv.args = append(srv.args, "--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024")
	srv.start(t)
	s := srv.store(t, Options{})
	_, err := s.Open(t.Context(), openArgs("r", "c"))
	wantCode(t, "Open", err, fault.StoreError)
	if !redis.IsLoadingError(unwrap(err)) {
		t.Errorf("cause = %v, want LOADING", unwrap(err))
	}
	advises(t, s, "loading")
}

func TestNewDoesNotConnect(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(Options{URL: "unix://:hunter2@" + ln.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	if err := ln.(*net.UnixListener).SetDeadline(time.Now().Add(30 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if c, err := ln.Accept(); err == nil {
		c.Close()
		t.Error("New connected")
	}
	ln.Close()
	advises(t, s, "cannot be reached")
	if err := s.Shutdown(); err != nil {
		t.Errorf("Shutdown = %v", err)
	}
	_, err = s.Open(t.Context(), openArgs("r", "c"))
	wantCode(t, "Open after Shutdown", err, fault.StoreError)
}

// clockLines counts what is said about clocks.
type clockLines struct {
	repeats
}

func (c *clockLines) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "clocks") {
		c.n.Add(1)
	}
	return nil
}

// A gateway whose clock is off rejects citations that others accept, and nothing else would show why: the operator is told, once.
func TestClocksThatDifferAreReported(t *testing.T) {
	t.Parallel()
	srv := startServer(t)
	var told clockLines
	s := srv.store(t, Options{Logger: slog.New(&told)})
	var off time.Duration
	s.clock = func() time.Time { return time.Now().Add(off) }
	for i, c := range []struct {
		off  time.Duration
		told int64
	}{{0, 0}, {time.Hour, 1}, {time.Hour, 1}, {0, 1}, {-time.Hour, 2}, {-time.Minute, 2}} {
		off = c.off
		if err := s.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := told.n.Load(); n != c.told {
			t.Errorf("%d: the operator was told %d times of %v, want %d", i, n, c.off, c.told)
		}
	}
}
