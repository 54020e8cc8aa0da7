package filestore

import (
	"bytes"
	"encoding/base64"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/canonicaltest"
	"github.com/seed-069badc9/mcp-gateway/canonical/memstore"
)

// fakeClock is the time of one store.
type fakeClock struct{ ms atomic.Int64 }

func newClock() *fakeClock {
	c := &fakeClock{}
	c.ms.Store(1_700_000_000_000)
	return c
}

func (c *fakeClock) now() time.Time          { return time.UnixMilli(c.ms.Load()) }
func (c *fakeClock) advance(d time.Duration) { c.ms.Add(d.Milliseconds()) }

func newStore(tb testing.TB, o Options) *Store {
	tb.Helper()
	if o.Path == "" {
		o.Path = filepath.Join(tb.TempDir(), "folder", "canonical.db")
	}
	s, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Shutdown(); err != nil {
			tb.Errorf("Shutdown = %v", err)
		}
	})
	return s
}

func TestConformance(t *testing.T) {
	// The tests run one after the other: they share the clock.
	clock := newClock()
	canonicaltest.Run(t, canonicaltest.Harness{
		New:  func(t *testing.T) canonical.Driver { return newStore(t, Options{Clock: clock.now}) },
		Wait: clock.advance, Unit: time.Minute, In: func(t *testing.T, f func(*testing.T)) { f(t) },
	})
}

func TestAgreesWithTheMemoryStore(t *testing.T) {
	clock := newClock()
	s := newStore(t, Options{Clock: clock.now, EncryptionKey: testKey(1)})
	canonicaltest.Agree(t, func() canonicaltest.Pair {
		clock.advance(24 * time.Hour) // empties the store faster than a new file would
		return canonicaltest.Pair{Want: memstore.New(clock.now), Got: s, Advance: clock.advance, Done: func() {}}
	})
}

func testKey(b byte) string {
	return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, 32))
}

func BenchmarkCall(b *testing.B) { canonicaltest.Bench(b, newStore(b, Options{})) }
