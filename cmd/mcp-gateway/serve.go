package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/seed-069badc9/mcp-gateway/internal/config"
	"github.com/seed-069badc9/mcp-gateway/internal/mcpserver"
	"github.com/seed-069badc9/mcp-gateway/internal/tracing"
)

func (e *env) stdioCommand() *cobra.Command {
	var bind string
	c := &cobra.Command{Use: "stdio", Short: "Serve one client over standard input and output", Args: noArgs, RunE: func(c *cobra.Command, _ []string) error {
		return e.stdio(c.Context(), bind)
	}}
	c.Flags().StringVar(&bind, "run", "", "bind every call to this run")
	return c
}

// stdio opens nothing before the first call: clients start a server twice and keep one.
func (e *env) stdio(ctx context.Context, bind string) error {
	if err := checkRunFlag(bind); err != nil {
		return err
	}
	seen := e.stamp()
	cfg, err := e.loadForClient()
	if err != nil {
		return err
	}
	log := newLogger(e.err, cfg.Log)
	g, err := newGateway(cfg, log)
	if err != nil {
		return err
	}
	g.warn(cfg)
	srv, err := g.server(nil)
	if err != nil {
		return errors.Join(err, g.close(false))
	}
	log.Info("serving over stdio", slog.String("config", cfg.File))
	stop := g.watch(ctx, seen, nil)
	signal.Ignore(syscall.SIGPIPE) // a client that is gone is an error of a write: calls in flight still close their records
	err = srv.ServeStdio(ctx, e.in, e.out, mcpserver.Caller{Principal: localPrincipal(), Binding: bind, Process: rand.Text()})
	stop()
	if cerr := g.close(true); cerr != nil {
		log.Warn("closing", slog.String("what", "a store or a backend did not close cleanly"))
	}
	return err
}

// loadForClient is load for a server that a client starts. All that people see of a start that failed is "Connection closed" and, in the client's log, this one line;
// the folder that a client starts servers in is often not the one they think of, so the path is whole.
func (e *env) loadForClient() (*config.Config, error) {
	const hint = `"mcp-gateway init" writes a commented one`
	path, found := e.configPath()
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if !found {
		return nil, usage("no configuration: neither --config nor $MCP_GATEWAY_CONFIG is given and there is no %q; %s, --config names another", path, hint)
	}
	cfg, err := e.load()
	if _, many := asProblems(err); err == nil || many {
		return cfg, err
	}
	text := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?' // of a path: the sentence stays one line
		}
		return r
	}, err.Error())
	if !strings.Contains(text, "mcp-gateway init") {
		text += "; " + hint
	}
	return nil, usage("%s", text)
}

// warn says what is worth knowing of a configuration that is put in force.
func (g *gateway) warn(cfg *config.Config) {
	for _, w := range append(slices.Clone(cfg.Warnings), noTool(cfg)...) {
		g.log.Warn("configuration", slog.String("problem", w.String()))
	}
}

// noTool is a warning about a configuration with which clients get an empty list of tools, or none.
func noTool(cfg *config.Config) []config.Problem {
	if len(cfg.Logs.Topics)+len(cfg.RAG.Collections)+len(cfg.MySQL.Datasources) > 0 {
		return nil
	}
	return []config.Problem{cfg.Problem("", "configures no tool: add topics under logs, collections under rag or datasources under mysql; until then clients get an empty list")}
}

// server makes the MCP face of the gateway. auth is nil over stdio.
func (g *gateway) server(auth mcpserver.Authenticator) (*mcpserver.Server, error) {
	cfg := g.cfg
	var join func(context.Context, string) context.Context
	if g.trace != nil {
		join = tracing.Join
	}
	return mcpserver.New(mcpserver.Options{
		Join: join, Version: buildVersion(), Core: g.core, Resolver: g.runs, Verifier: g.guard, Schemas: g.core, Log: g.log,
		MaxMessage: int(cfg.HTTP.MaxBody), MaxConcurrent: cfg.HTTP.MaxConcurrent, CallTimeout: time.Duration(cfg.Call.Timeout),
		Grace: time.Duration(cfg.Call.Timeout) + 5*time.Second,
		HTTP: mcpserver.HTTPOptions{Path: cfg.HTTP.Path, Listen: cfg.HTTP.Listen, AllowedOrigins: cfg.HTTP.AllowedOrigins, AllowedHosts: cfg.HTTP.AllowedHosts, Auth: auth,
			MaxPerPrincipal: perPrincipal(cfg), AuthServers: issuers(cfg), Secure: cfg.HTTP.TLS.CertFile != "" || cfg.HTTP.BehindTLSProxy},
	})
}

// authenticator accepts static tokens, tokens of an issuer, or both; with neither configured everybody who reaches the loopback listener is the local user.
func (g *gateway) authenticator(tokens *mcpserver.Tokens) (mcpserver.Authenticator, error) {
	list, err := bearerTokens(g.cfg)
	if err != nil {
		return nil, err
	}
	tokens.Set(list)
	o := g.cfg.Auth.OIDC
	switch {
	case o == nil && len(list) == 0:
		return mcpserver.Everyone{Caller: mcpserver.Caller{Principal: localPrincipal(), Role: mcpserver.RoleAgent}}, nil
	case o == nil:
		return tokens, nil
	}
	issuer, err := mcpserver.NewOIDC(mcpserver.OIDCOptions{Issuer: o.Issuer, Audience: o.Audience, RunClaim: o.RunClaim, RoleClaim: o.RoleClaim})
	if err != nil {
		return nil, config.Problems{g.cfg.Problem("auth.oidc", err.Error())}
	}
	return mcpserver.Any{tokens, issuer}, nil
}

// issuers lists whose tokens are accepted, for the metadata that clients read.
func issuers(cfg *config.Config) []string {
	if cfg.Auth.OIDC == nil {
		return nil
	}
	return []string{cfg.Auth.OIDC.Issuer}
}

// perPrincipal leaves a quarter of the places to the others when there are several tokens, so that one client cannot take them all.
func perPrincipal(cfg *config.Config) int {
	if len(cfg.Auth.Tokens) < 2 && cfg.Auth.OIDC == nil {
		return 0
	}
	return max(1, cfg.HTTP.MaxConcurrent*3/4)
}

func (e *env) httpCommand() *cobra.Command {
	return &cobra.Command{Use: "http", Short: "Serve clients over streamable HTTP", Args: noArgs, RunE: func(c *cobra.Command, _ []string) error {
		return e.http(c.Context())
	}}
}

func (e *env) http(ctx context.Context) error {
	seen := e.stamp()
	cfg, err := e.load()
	if err != nil {
		return err
	}
	log := newLogger(e.err, cfg.Log)
	g, err := newGateway(cfg, log)
	if err != nil {
		return err
	}
	g.warn(cfg)
	err = g.serveHTTP(ctx, seen)
	if cerr := g.close(false); cerr != nil {
		log.Warn("closing", slog.String("what", "a store or a backend did not close cleanly"))
	}
	return err
}

func (g *gateway) serveHTTP(ctx context.Context, seen fileStamp) error {
	tokens := mcpserver.NewTokens()
	auth, err := g.authenticator(tokens)
	if err != nil {
		return err
	}
	srv, err := g.server(auth)
	if err != nil {
		return err
	}
	if err := g.checkAtStart(ctx); err != nil {
		return err
	}
	var tc *tls.Config
	if t := g.cfg.HTTP.TLS; t.CertFile != "" {
		cert, err := tls.LoadX509KeyPair(string(t.CertFile), string(t.KeyFile))
		if err != nil {
			return config.Problems{g.cfg.Problem("http.tls", "the certificate or its key cannot be read: check both paths, and that the key belongs to the certificate")}
		}
		tc = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	}
	tcp, err := listen(ctx, "http.listen", g.cfg.HTTP.Listen)
	if err != nil {
		return err
	}
	l := newTurnstile(tcp)
	g.log.Info("serving over HTTP", slog.String("address", l.Addr().String()), slog.String("path", g.cfg.HTTP.Path))
	door, err := g.openHarness(ctx, tc)
	if err != nil {
		return errors.Join(err, tcp.Close())
	}
	stop := g.watch(ctx, seen, func(cfg *config.Config, list []mcpserver.Token) {
		tokens.Set(list)
		door.setTokens(cfg)
	})
	defer stop()
	// On its way down the gateway says so: /readyz is 503 before the first call is refused, and both stay so until the calls in flight have ended.
	down, drain := context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() { door.drain(); drain() })
	refused := l.refuse(mcpserver.NewHTTPServer(srv.Handler(), time.Duration(g.cfg.Call.Timeout)), tc)
	err = srv.Serve(down, l, tc)
	unhook()
	drain()
	return errors.Join(err, refused(), door.close())
}

func listen(ctx context.Context, key, address string) (*net.TCPListener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s: %s is in use by another process; stop it or choose another port", key, address)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("%s: this user may not listen on %s; choose a port over 1023", key, address)
	case err != nil:
		return nil, fmt.Errorf("%s: cannot listen on %s; check that the address belongs to this machine", key, address)
	}
	return l.(*net.TCPListener), nil
}

// checkAtStart refuses to serve over a store that cannot keep evidence. A backend that cannot be reached is no reason not to serve the others: it is said, and its
// calls fail until it is back.
func (g *gateway) checkAtStart(ctx context.Context) error {
	for _, r := range g.probeAll(ctx) {
		if r.essential {
			return r
		}
		g.log.Warn("a backend is not usable yet", slog.String("problem", r.Error()))
	}
	return nil
}
