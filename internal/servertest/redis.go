package servertest

import (
	"fmt"
	"path/filepath"
	"strconv"
	"testing"
)

// Redis is a private redis-server without persistence.
type Redis struct {
	*process
	Socket string
}

// StartRedis starts a Redis with more arguments, such as "--maxmemory", "8mb".
func StartRedis(tb testing.TB, args ...string) *Redis {
	tb.Helper()
	path, dir := need(tb, "redis-server", "redis-server", "valkey-server"), folder(tb)
	sock := filepath.Join(dir, "s")
	return &Redis{Socket: sock, process: launch(tb, path, func(port int) []string {
		base := []string{"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--unixsocket", sock, "--save", "", "--appendonly", "no", "--dir", dir}
		return append(base, args...)
	})}
}

// URL is the address as canonical.store takes it.
func (r *Redis) URL() string { return fmt.Sprintf("redis://%s/0", r.Addr()) }
