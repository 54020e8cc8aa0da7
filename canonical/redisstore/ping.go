package redisstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// Ping proves that every server which may hold evidence is reachable, runs the scripts, takes writes, is new enough and does not evict keys.
func (s *Store) Ping(ctx context.Context) error {
	const op = "redisstore.Ping"
	err := s.do(ctx, op, func(ctx context.Context, c redis.UniversalClient) error {
		cluster, ok := c.(*redis.ClusterClient)
		if !ok {
			return s.fit(ctx, c, true)
		}
		var mu sync.Mutex // ForEachMaster runs its function on all masters at once
		if err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
			mu.Lock()
			defer mu.Unlock()
			return s.fit(ctx, node, false)
		}); err != nil {
			return err
		}
		return pingScript.Run(ctx, c, []string{prefix("")}).Err()
	})
	if err == nil {
		return nil
	}
	cause := errors.Unwrap(err)
	return fmt.Errorf("canonical store: %s: %w", advice(cause), err)
}

// unfit is a server that answers and must not hold evidence.
type unfit struct{ text string }

func (u *unfit) Error() string { return u.text }

// fit checks one server.
func (s *Store) fit(ctx context.Context, c redis.UniversalClient, write bool) error {
	p := c.Pipeline()
	memory, server, its := p.Info(ctx, "memory"), p.Info(ctx, "server"), p.Time(ctx)
	sent := s.clock()
	if _, err := p.Exec(ctx); err != nil {
		return err
	}
	s.compare(sent, its.Val(), s.clock())
	version := field(server.Val(), "redis_version")
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err != nil || n < 7 {
		return &unfit{fmt.Sprintf("Redis %s is too old: version 7 or Valkey is needed", version)}
	}
	if policy := field(memory.Val(), "maxmemory_policy"); policy != "noeviction" && !s.o.AllowEviction {
		return &unfit{fmt.Sprintf("maxmemory-policy is %q, so Redis may drop evidence before its deadline: set it to noeviction (CONFIG SET maxmemory-policy noeviction) or accept the loss with canonical.allow_eviction", policy)}
	}
	if !write {
		return nil
	}
	return pingScript.Run(ctx, c, []string{prefix("")}).Err()
}

// tolerance is what a gateway forgives a record that its own clock holds for expired: see canonical.Ledger.
const tolerance = time.Second

// compare tells the operator, once until it is well again, that the clocks differ. Nothing unsafe comes of it, but a gateway that is ahead finds records gone that
// others still verify.
func (s *Store) compare(sent, its, received time.Time) {
	ahead, behind := sent.Sub(its), its.Sub(received)
	if ahead <= tolerance && behind <= tolerance {
		s.skewed.Store(false)
		return
	}
	if !s.skewed.Swap(true) {
		s.log.Warn("the clocks of this machine and of Redis differ: records end early or late here", slog.Duration("ahead", ahead.Round(time.Second)))
	}
}

// field reads one line of INFO.
func field(info, name string) string {
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// advice names the next step for the operator. It repeats nothing of the URL and nothing of the server's text.
func advice(err error) string {
	if err == nil {
		return "the step was refused"
	}
	if u, ok := errors.AsType[*unfit](err); ok {
		return u.text
	}
	switch {
	case redis.IsAuthError(err):
		return "Redis refuses the credentials: check user and password in canonical.store"
	case redis.IsPermissionError(err), strings.Contains(err.Error(), "ACL failure"), strings.Contains(err.Error(), "The user executing the script"): // the latter two inside a script
		return "the Redis user lacks a permission: grant the commands listed in the documentation of the store, info included"
	case redis.IsReadOnlyError(err):
		return "this Redis is a read-only replica: name the master, or use redis+sentinel://"
	case redis.IsOOMError(err):
		return "Redis is out of memory: raise maxmemory or lower runs.principal.live_bytes and canonical.ttl"
	case redis.IsLoadingError(err):
		return "Redis is still loading its data set: try again shortly"
	case redis.IsClusterDownError(err):
		return "the Redis cluster is down: not all of its slots are served"
	case errors.Is(err, errShutdown):
		return "the store is shut down"
	case errors.Is(err, context.DeadlineExceeded), again(err):
		return "Redis cannot be reached or does not answer: check canonical.store, the server and TLS (rediss://)"
	}
	return "Redis cannot be used: " + string(fault.StoreError)
}
