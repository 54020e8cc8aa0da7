package main

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
)

// toolset is one generation of tools, made from one reading of the configuration.
type toolset struct {
	b       *boundary.Boundary
	schemas schemas
	checks  []probe
	close   func() error
	inUse   sync.WaitGroup
}

// probe checks one backend for `check --connect`, `http` at start and readiness.
type probe struct {
	name  string // as people configure it: "datasource shop"
	local bool   // asks no other machine
	check func(context.Context) error
}

// schemas answers schema://{datasource}; query_mysql does. nil where no datasource is configured.
type schemas interface {
	Datasources(g boundary.Grants) []string
	Schema(ctx context.Context, datasource string, g boundary.Grants) (json.RawMessage, error)
}

// core is the boundary of the newest toolset. A call keeps the toolset that it began with; a toolset that was replaced is closed when its last call has ended.
type core struct {
	mu      sync.RWMutex
	cur     *toolset
	retired sync.WaitGroup
}

func newCore(t *toolset) *core { return &core{cur: t} }

func (c *core) acquire() *toolset {
	c.mu.RLock()
	defer c.mu.RUnlock()
	c.cur.inUse.Add(1)
	return c.cur
}

// swap makes t the current toolset.
func (c *core) swap(t *toolset) {
	c.mu.Lock()
	old := c.cur
	c.cur = t
	c.mu.Unlock()
	c.retired.Go(func() {
		old.inUse.Wait()
		_ = old.close() // connections of a configuration that is no longer in force
	})
}

// Close waits for retired toolsets and closes the current one.
func (c *core) Close() error {
	c.retired.Wait()
	c.cur.inUse.Wait()
	return c.cur.close()
}

// Invoke serves one call.
func (c *core) Invoke(ctx context.Context, run boundary.Run, e boundary.Envelope) (boundary.Observation, error) {
	t := c.acquire()
	defer t.inUse.Done()
	return t.b.Invoke(ctx, run, e)
}

// Specs lists the tools of a caller.
func (c *core) Specs(g boundary.Grants) []boundary.Spec {
	t := c.acquire()
	defer t.inUse.Done()
	return t.b.Specs(g)
}

// Replay projects a stored record again.
func (c *core) Replay(rec canonical.Record) ([]byte, error) {
	t := c.acquire()
	defer t.inUse.Done()
	return t.b.Replay(rec)
}

// Panics counts the panics caught by the current toolset's boundary.
func (c *core) Panics() int64 {
	t := c.acquire()
	defer t.inUse.Done()
	return t.b.Panics()
}

// Datasources lists the datasources of a caller.
func (c *core) Datasources(g boundary.Grants) []string {
	t := c.acquire()
	defer t.inUse.Done()
	if t.schemas == nil {
		return nil
	}
	return t.schemas.Datasources(g)
}

var errNoDatasource = errors.New("no such datasource")

// Schema describes a datasource.
func (c *core) Schema(ctx context.Context, datasource string, g boundary.Grants) (json.RawMessage, error) {
	t := c.acquire()
	defer t.inUse.Done()
	if t.schemas == nil {
		return nil, errNoDatasource
	}
	return t.schemas.Schema(ctx, datasource, g)
}

// probes lists the backends of the current toolset.
func (c *core) probes() []probe {
	t := c.acquire()
	defer t.inUse.Done()
	return t.checks
}
