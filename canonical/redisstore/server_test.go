package redisstore

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-069badc9/mcp-gateway/canonical"
)

// server is a private redis-server on a unix socket.
type server struct {
	dir  string
	sock string
	args []string
	cmd  *exec.Cmd
	port int // 0: unix socket only
}

// startServer starts a server that ends with the test.
func startServer(tb testing.TB, args ...string) *server {
	tb.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		if os.Getenv("CI") != "" {
			tb.Fatal("redis-server is not installed: apt-get install redis-server")
		}
		tb.Skip("redis-server is not installed: apt-get install redis-server")
	}
	// A socket path must stay under 108 bytes; the test's own folder may be longer.
	dir, err := os.MkdirTemp("", "redis")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	s := &server{dir: dir, sock: filepath.Join(dir, "s"), args: args}
	s.start(tb)
	tb.Cleanup(s.kill)
	return s
}

func (s *server) start(tb testing.TB) {
	tb.Helper()
	base := []string{"--port", fmt.Sprint(s.port), "--bind", "127.0.0.1", "--unixsocket", s.sock, "--save", "", "--appendonly", "no", "--dir", s.dir, "--io-threads", "1"}
	s.cmd = exec.Command("redis-server", append(base, s.args...)...)
	if err := s.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	s.await(tb, "unix", s.sock)
}

// await polls until the server takes connections.
func (s *server) await(tb testing.TB, network, addr string) {
	tb.Helper()
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if c, err := net.Dial(network, addr); err == nil {
			c.Close()
			return
		}
	}
	tb.Fatalf("redis-server does not listen on %s", addr)
}

func (s *server) kill() {
	if s.cmd.ProcessState != nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGCONT)
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

func (s *server) url() string { return "unix://" + s.sock }

func (s *server) store(tb testing.TB, o Options) *Store {
	tb.Helper()
	if o.URL == "" {
		o.URL = s.url()
	}
	st, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { st.Shutdown() })
	return st
}

// admin is a plain client of the server.
func (s *server) admin(tb testing.TB) *redis.Client {
	c := redis.NewClient(&redis.Options{Network: "unix", Addr: s.sock, MaxRetries: -1})
	tb.Cleanup(func() { c.Close() })
	return c
}

// lives checks that every key has a deadline and that none lies behind limit.
func lives(tb testing.TB, c redis.UniversalClient, limit time.Duration) {
	tb.Helper()
	ctx := context.Background()
	it := c.Scan(ctx, 0, "*", 1000).Iterator()
	for it.Next(ctx) {
		ttl, err := c.PTTL(ctx, it.Val()).Result()
		if err != nil {
			tb.Fatal(err)
		}
		if ttl == -1 {
			tb.Errorf("key %s has no deadline", it.Val())
		}
		if ttl > limit {
			tb.Errorf("key %s lives for %v, longer than %v", it.Val(), ttl, limit)
		}
	}
	if err := it.Err(); err != nil {
		tb.Fatal(err)
	}
}

func openArgs(run, call string) canonical.OpenArgs {
	return canonical.OpenArgs{Principal: "p", Run: run, Call: call, Nonce: "nonce " + call, Tool: "query_logs", Request: []byte(`{"q":"x"}`), Projector: "1", TTL: time.Minute, RequestBytes: 9,
		Implicit: &canonical.RunSpec{Limits: canonical.Limits{Calls: 1e6, RequestBytes: 1 << 40, RawBytes: 1 << 40, ObservationBytes: 1 << 40}, NoGain: canonical.NoGain{Limit: 8, Window: 10}, TTL: time.Minute},
		Salt:     canonical.Salt{1, 2, 3}, Ceilings: canonical.Ceilings{OpenRuns: 1000, CallsPerMinute: 1e6, LiveBytes: 1 << 40}}
}

func key(tb testing.TB, run, call string) canonical.Key {
	tb.Helper()
	k, err := canonical.NewKey("p", run, call)
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func readyArgs(tb testing.TB, a canonical.OpenArgs, g canonical.Grant, raw []byte) canonical.CloseArgs {
	return canonical.CloseArgs{Key: key(tb, g.Run, a.Call), Nonce: a.Nonce, Ready: true, Evidence: canonical.Found, Raw: raw, Observation: []byte(`{"o":1}`), ScopeID: "s-" + a.Call, Scope: "scope",
		Items: []canonical.Item{{Key: a.Call}}, Control: []byte(`{}`), ExpiresAt: g.ExpiresAt}
}
