package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"reflect"
	"slices"
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

// watch reloads the configuration on SIGHUP and when its file is no longer the one seen, until ctx or the returned stop ends it. tokens is nil over stdio.
func (g *gateway) watch(ctx context.Context, seen fileStamp, tokens setTokens) (stop func()) {
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
		last := seen
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

// stamp is that of the configuration that is about to be loaded: a change while the gateway starts is a change.
func (e *env) stamp() fileStamp {
	path, _ := e.configPath()
	return stamp(path)
}

// reloaded are the keys that a reload puts in force. All others are read at start only; a key that is new belongs to those until somebody makes it reload.
var reloaded = []string{"auth.tokens", "rag", "logs", "mysql", "redaction"}

// httpOnly are the keys that `stdio` never reads.
var httpOnly = []string{"http.listen", "http.path", "http.allowed_origins", "http.allowed_hosts", "http.tls", "http.behind_tls_proxy", "harness", "auth"}

// startOnly lists the keys that differ between the configuration of the start and a new one and that a reload does not put in force, in order of the file's sections.
func startOnly(start, now *config.Config, http bool) (keys []string) {
	var walk func(path string, a, b reflect.Value)
	walk = func(path string, a, b reflect.Value) {
		if slices.Contains(reloaded, path) || !http && slices.Contains(httpOnly, path) {
			return
		}
		if a.Kind() == reflect.Pointer && !a.IsNil() && !b.IsNil() {
			a, b = a.Elem(), b.Elem()
		}
		if a.Kind() != reflect.Struct || a.Type() == reflect.TypeFor[config.Secret]() {
			if !reflect.DeepEqual(a.Interface(), b.Interface()) {
				keys = append(keys, path)
			}
			return
		}
		for i := range a.NumField() {
			name := a.Type().Field(i).Tag.Get("yaml")
			if name == "" || name == "-" {
				continue
			}
			if path != "" {
				name = path + "." + name
			}
			walk(name, a.Field(i), b.Field(i))
		}
	}
	walk("", reflect.ValueOf(*start), reflect.ValueOf(*now))
	// Who lets everybody in goes on doing so: whether callers are asked for a token is decided at start.
	if http && len(start.Auth.Tokens) == 0 && start.Auth.OIDC == nil && len(now.Auth.Tokens) > 0 {
		keys = append(keys, "auth.tokens")
	}
	return keys
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
	pending := startOnly(g.cfg, cfg, tokens != nil)
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
	g.warn(cfg)
	for _, key := range pending {
		g.log.Warn("configuration", slog.String("problem", cfg.Problem(key, "has changed and is read at start only: restart the gateway to put it in force").String()))
	}
	g.log.Info("configuration reloaded", slog.String("config", g.cfg.File), slog.Int("need_restart", len(pending)))
}
