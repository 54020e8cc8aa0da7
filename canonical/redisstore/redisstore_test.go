package redisstore

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/canonicaltest"
	"github.com/seed-069badc9/mcp-gateway/canonical/memstore"
)

// unit is what the suite waits in: a loaded machine still keeps 300 ms apart.
const unit = 300 * time.Millisecond

func conformance(t *testing.T, o Options) {
	srv := startServer(t, "--databases", "100")
	var n atomic.Int64
	t.Run("suite", func(t *testing.T) {
		canonicaltest.Run(t, canonicaltest.Harness{
			New: func(t *testing.T) canonical.Driver {
				// Each test has a database of its own on the one server.
				o := o
				o.URL = fmt.Sprintf("unix://%s?db=%d", srv.sock, n.Add(1))
				return srv.store(t, o)
			},
			Wait: time.Sleep, Unit: unit,
		})
	})
	for db := range int(n.Load()) {
		c := redis.NewClient(&redis.Options{Network: "unix", Addr: srv.sock, DB: db + 1})
		lives(t, c, 1000*unit+canonical.RunGrace)
		c.Close()
	}
}

func TestConformance(t *testing.T) { conformance(t, Options{}) }

func TestAgreesWithTheMemoryStore(t *testing.T) {
	srv := startServer(t)
	s, c := srv.store(t, Options{EncryptionKey: testKey(1)}), srv.admin(t)
	canonicaltest.Agree(t, func() canonicaltest.Pair {
		if err := c.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		return canonicaltest.Pair{Want: memstore.New(nil), Got: s, Done: func() { lives(t, c, time.Hour+canonical.RunGrace) }}
	})
}

func BenchmarkCall(b *testing.B) { canonicaltest.Bench(b, startServer(b).store(b, Options{})) }
