package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/seed-069badc9/mcp-gateway/internal/config"
	"github.com/seed-069badc9/mcp-gateway/internal/mcpserver"
)

// pollInterval is how often the configuration file is looked at: a stat a second costs nothing and works on every file system, mounted secrets included.
const pollInterval = time.Second

// setTokens puts the tokens of a changed configuration in force.
type setTokens func(cfg *config.Config, list []mcpserver.Token)

// watch reloads the configuration on SIGHUP and when its file changes, until ctx or the returned stop ends it. tokens is nil over stdio.
func (g *gateway) watch(ctx context.Context, tokens setTokens) (stop func()) {
	if g.cfg.File == "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer signal.Stop(hup)
		tick := time.NewTicker(pollInterval)
		defer tick.Stop()
		last := stamp(g.cfg.File)
		for {
			select {
			case <-ctx.Done():
				return
			case <-hup:
				last = stamp(g.cfg.File)
				g.reload(tokens)
			case <-tick.C:
				// A file that is gone for a moment is being replaced.
				if now := stamp(g.cfg.File); now != last && now != (fileStamp{}) {
					last = now
					g.reload(tokens)
				}
			}
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

type fileStamp struct {
	mtime time.Time
	size  int64
}

func stamp(path string) fileStamp {
	st, err := os.Stat(path)
	if err != nil {
		return fileStamp{}
	}
	return fileStamp{st.ModTime(), st.Size()}
}

// reload puts the file's allowlists, topics, collections and tokens in force. Listeners, the store, runs and limits stay as they were started. A broken file changes
// nothing: the last good configuration goes on, and the log says so.
func (g *gateway) reload(tokens setTokens) {
	keep := func(err error) {
		if ps, ok := errors.AsType[config.Problems](err); ok {
			for _, p := range ps {
				g.log.Error("configuration", slog.String("problem", p.String()))
			}
		}
		g.log.Error("the changed configuration is broken; the last good one stays in force", slog.String("config", g.cfg.File))
	}
	cfg, err := config.Load(g.cfg.File, nil)
	if err != nil {
		keep(err)
		return
	}
	list, err := bearerTokens(cfg)
	if err != nil {
		keep(err)
		return
	}
	if tokens != nil && len(list) == 0 && len(g.cfg.Auth.Tokens) > 0 {
		keep(config.Problems{cfg.Problem("auth.tokens", "cannot be emptied while serving; restart the gateway")})
		return
	}
	// Limits of a call stay those of the start, so that a record and its replay agree on them.
	cfg.Call, cfg.Canonical, cfg.Runs = g.cfg.Call, g.cfg.Canonical, g.cfg.Runs
	t, err := g.toolset(cfg)
	if err != nil {
		keep(err)
		return
	}
	g.core.swap(t)
	if tokens != nil && (len(g.cfg.Auth.Tokens) > 0 || g.cfg.Auth.OIDC != nil) {
		tokens(cfg, list)
	}
	g.log.Info("configuration reloaded", slog.String("config", g.cfg.File))
}
