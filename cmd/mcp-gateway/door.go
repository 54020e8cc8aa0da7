package main

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/seed-069badc9/mcp-gateway/harness"
	"github.com/seed-069badc9/mcp-gateway/internal/config"
)

// door is the harness's own listener. The zero door is closed: harness.listen is absent.
type door struct {
	api  *harness.API
	srv  *http.Server
	done sync.WaitGroup
}

// apiTokens are the tokens of role harness.
func apiTokens(cfg *config.Config) []harness.APIToken {
	var out []harness.APIToken
	for _, t := range cfg.Auth.Tokens {
		if t.Role == "harness" {
			out = append(out, harness.NewAPIToken(t.Name, t.Token.Reveal(), t.Principals))
		}
	}
	return out
}

// openHarness serves the harness API with its health and metrics pages, when harness.listen asks for it.
func (g *gateway) openHarness(ctx context.Context, tc *tls.Config) (*door, error) {
	d := &door{}
	if g.cfg.Harness.Listen == "" {
		return d, nil
	}
	var drops func() float64
	if s, ok := g.audit.(interface{ Dropped() int64 }); ok {
		drops = func() float64 { return float64(s.Dropped()) }
	}
	metrics := harness.NewMetrics(func() float64 { return float64(g.core.Panics()) }, drops)
	g.addAuditor(metrics)
	hosts := append([]string{}, g.cfg.HTTP.AllowedHosts...)
	if h, _, err := net.SplitHostPort(g.cfg.Harness.Listen); err == nil {
		hosts = append(hosts, h)
	}
	var err error
	d.api, err = harness.NewAPI(harness.APIOptions{Driver: g.store, Guard: g.guard, Replayer: g.core, Policy: runPolicy(g.cfg), Tokens: apiTokens(g.cfg),
		Metrics: metrics.Handler(), Hosts: hosts, Logger: g.log})
	if err != nil {
		return nil, err
	}
	tcp, err := listen(ctx, "harness.listen", g.cfg.Harness.Listen)
	if err != nil {
		return nil, err
	}
	var l net.Listener = tcp
	g.log.Info("serving the harness API", slog.String("address", l.Addr().String()))
	if tc != nil {
		l = tls.NewListener(l, tc.Clone()) // the MCP server completes its own
	}
	// A draft of 1 MiB over a slow line takes seconds; nothing here waits for a backend.
	d.srv = &http.Server{Handler: d.api, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 60 * time.Second, IdleTimeout: 60 * time.Second,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), DisableGeneralOptionsHandler: true}
	d.done.Go(func() { _ = d.srv.Serve(l) })
	return d, nil
}

func (d *door) setTokens(cfg *config.Config) {
	if d.api != nil {
		d.api.SetTokens(apiTokens(cfg))
	}
}

// drain makes /readyz say that no more calls are taken.
func (d *door) drain() {
	if d.api != nil {
		d.api.Drain()
	}
}

// close ends the listener after the requests in flight, within a bound.
func (d *door) close() error {
	if d.srv == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	err := d.srv.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, d.srv.Close())
	}
	d.done.Wait()
	return err
}
