// Package redisstore keeps records and runs in Redis 7 or later (or Valkey), shared by any number of gateways. One principal's data has one hash tag; each step
// is one Lua script that makes all its checks before its first write: OPEN, CLOSE and Load cost one round trip each. A step whose reply was lost is sent once
// more and recognises itself by its nonce. Every key has a deadline that was fixed when its record was opened. A Redis that may evict keys is refused.
//
// An ACL user needs: ~mg:* +eval +evalsha +time +set +get +getrange +strlen +exists +unlink +rename +incr +pexpire +pexpireat +pexpiretime +hset +hget +hmget
// +hgetall +hdel +hexists +hlen +hincrby +rpush +lrange +zadd +zrem +zcount +zrangebyscore +zremrangebyscore +zrevrange +info +select +hello, and for a cluster
// +cluster|slots +cluster|shards +command +readonly.
package redisstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/internal/seal"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// Bounds of one attempt; the caller's deadline holds as well. A healthy server answers a script in well under a millisecond, but a burst of first calls on a
// loaded machine waits for its connections; a raw of some MiB over a slow link needs the longer write.
const (
	dialTimeout  = time.Second
	readTimeout  = time.Second
	writeTimeout = 2 * time.Second
	// stepTimeout bounds a step whose caller brought no deadline.
	stepTimeout = 5 * time.Second
	// pause lies between a step and its repetition: long enough for a restarted listener, short beside any deadline.
	pause = 50 * time.Millisecond

	// poolSize: a step holds its connection for some 100 µs, so 32 serve more calls than a gateway admits at once.
	poolSize = 32
	// connMaxIdle is below the idle timeouts of common load balancers.
	connMaxIdle = 4 * time.Minute
)

// Options say how to reach the store.
type Options struct {
	// URL names the server: redis://, rediss://, unix://, redis+sentinel://, redis+cluster:// with user and password inside.
	URL string
	// AllowEviction accepts a server that may evict keys; evidence can then disappear before its deadline.
	AllowEviction bool
	// EncryptionKey holds 32-byte keys as base64 or hex, comma separated: the first seals request, raw, observation, scopes and control data, all of them open. Empty: plain.
	EncryptionKey string
	// Logger gets one line per repeated step, and one when the server's clock is found to be off; nil: none.
	Logger *slog.Logger
}

// Store is a canonical.Driver on Redis.
type Store struct {
	o      Options
	target *target
	ring   *seal.Ring
	pack   packer
	log    *slog.Logger
	clock  func() time.Time
	skewed atomic.Bool // the operator was told

	mu     sync.Mutex
	client redis.UniversalClient
	closed bool
}

var _ canonical.Driver = (*Store)(nil)

// New checks the options. It does not connect: the first step does.
func New(o Options) (*Store, error) {
	t, err := parse(o.URL)
	if err != nil {
		return nil, err
	}
	ring, err := seal.Parse(o.EncryptionKey)
	if err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	// go-redis writes addresses to stderr by itself; there is one logger for the whole process.
	redis.SetLogger(silent{})
	return &Store{o: o, target: t, ring: ring, pack: newPacker(), log: o.Logger, clock: time.Now}, nil
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

var errShutdown = errors.New("the store is shut down")

func (s *Store) conn() (redis.UniversalClient, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errShutdown
	}
	if s.client == nil {
		c, err := s.target.client()
		if err != nil {
			return nil, err
		}
		s.client = c
	}
	return s.client, nil
}

// Shutdown closes the connections.
func (s *Store) Shutdown() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.client == nil {
		return nil
	}
	err := s.client.Close()
	s.client = nil
	return err
}

// do runs one step: f, and once more after a failure of the connection. f must be safe to repeat.
func (s *Store) do(ctx context.Context, op string, f func(context.Context, redis.UniversalClient) error) error {
	if err := ctx.Err(); err != nil {
		return fault.New(fault.StoreError, op, err)
	}
	c, err := s.conn()
	if err != nil {
		return fault.New(fault.StoreError, op, err)
	}
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, stepTimeout)
		defer cancel()
	}
	err = f(ctx, c)
	if err != nil && again(err) && wait(ctx) {
		s.log.LogAttrs(ctx, slog.LevelWarn, "store step repeated", slog.String("op", op))
		err = f(ctx, c)
	}
	if err != nil {
		return fault.New(fault.StoreError, op, err)
	}
	return nil
}

func wait(ctx context.Context) bool {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// again tells the failures after which the same step may succeed: a broken connection, where it may have been executed or not, and a server that is just
// changing its role, where it was not.
func again(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, redis.ErrClosed) {
		return false
	}
	if _, ok := errors.AsType[net.Error](err); ok || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return true
	}
	return redis.IsReadOnlyError(err) || redis.IsLoadingError(err) || redis.IsMasterDownError(err) || redis.IsClusterDownError(err) || redis.IsTryAgainError(err)
}

// prefix is the principal's part of every key: a digest, because a principal may be any string, in braces, because all its keys belong on one cluster node.
func prefix(principal string) string {
	sum := sha256.Sum256([]byte(principal))
	return "mg:{" + hex.EncodeToString(sum[:16]) + "}:"
}

func recordKey(k canonical.Key) string {
	return prefix(k.Principal()) + "i:" + k.Run() + ":" + k.Call()
}
func rawKey(k canonical.Key) string { return prefix(k.Principal()) + "w:" + k.Run() + ":" + k.Call() }

// digest is 16 bytes that stand for any string.
func digest(s string) []byte {
	sum := sha256.Sum256([]byte(s))
	return sum[:16]
}
