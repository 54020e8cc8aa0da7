package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/evidence"
	"github.com/seed-069badc9/mcp-gateway/harness"
	"github.com/seed-069badc9/mcp-gateway/internal/config"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/internal/tracing"
)

// gateway is everything that serves calls, wired from one configuration. Building it does no I/O: stdio clients start a server twice and throw one away.
type gateway struct {
	cfg    *config.Config
	log    *slog.Logger
	store  canonical.Driver
	ledger *canonical.Ledger
	guard  *evidence.Guard
	runs   *harness.Runs
	core   *core
	audit  auditSink
	trace  *tracing.Tracer                    // nil: no traces are asked for
	extra  atomic.Pointer[[]boundary.Auditor] // beside the sink: metrics, the command line
	views  []boundary.Controller              // beside the run registry
}

// auditSink is a boundary.Auditor that can be checked and closed.
type auditSink interface {
	boundary.Auditor
	Check(ctx context.Context) error
	Close(ctx context.Context) error
}

// newGateway wires a configuration.
func newGateway(cfg *config.Config, log *slog.Logger) (*gateway, error) {
	g := &gateway{cfg: cfg, log: log}
	g.extra.Store(&[]boundary.Auditor{})
	var err error
	if g.store, err = openStore(cfg, log); err != nil {
		return nil, err
	}
	if g.audit, err = openAudit(cfg, log); err != nil {
		return nil, err
	}
	if g.trace, err = tracing.New(context.Background(), os.Getenv, buildVersion(), log); err != nil {
		return nil, err
	}
	g.ledger = canonical.NewLedger(g.store, nil)
	g.guard = evidence.New(g.ledger)
	g.runs = harness.New(g.store, runPolicy(cfg))
	t, err := g.toolset(cfg)
	if err != nil {
		return nil, err
	}
	g.core = newCore(t)
	return g, nil
}

// toolset builds the tools of a configuration behind a boundary of their own.
func (g *gateway) toolset(cfg *config.Config) (*toolset, error) {
	tools, t, err := openTools(cfg, g.log)
	if err != nil {
		return nil, err
	}
	var tracer boundary.Tracer
	if g.trace != nil {
		tracer = g.trace
	}
	t.b, err = boundary.New(boundary.Options{
		Tracer: tracer, Ledger: g.ledger, Auditor: fanOutAudit{g}, Controller: fanOutViews{g}, Logger: g.log,
		Limits: boundary.Limits{Timeout: time.Duration(cfg.Call.Timeout), MaxRequest: int(cfg.Call.MaxRequest), MaxRaw: int64(cfg.Call.MaxRaw),
			MaxRecord: int64(cfg.Call.MaxRecord), MaxObservation: int(cfg.Call.MaxObservation), RecordTTL: time.Duration(cfg.Canonical.TTL)},
	}, tools...)
	if err != nil {
		return nil, errors.Join(err, t.close())
	}
	return t, nil
}

// fanOutAudit tells the sink and whoever else listens.
type fanOutAudit struct{ g *gateway }

func (f fanOutAudit) Audit(r boundary.AuditRecord) {
	if f.g.audit != nil {
		f.g.audit.Audit(r)
	}
	for _, a := range *f.g.extra.Load() {
		a.Audit(r)
	}
}

// addAuditor lets one more listener see every row.
func (g *gateway) addAuditor(a boundary.Auditor) {
	list := append(slices.Clone(*g.extra.Load()), a)
	g.extra.Store(&list)
}

type fanOutViews struct{ g *gateway }

func (f fanOutViews) Observe(v boundary.ControlView) {
	f.g.runs.Observe(v)
	for _, c := range f.g.views {
		c.Observe(v)
	}
}

func runPolicy(cfg *config.Config) harness.Policy {
	r := cfg.Runs
	return harness.Policy{
		Mode: canonical.Mode(r.Mode),
		Defaults: canonical.RunSpec{TTL: time.Duration(r.TTL), NoGain: canonical.NoGain{Limit: r.NoGain.Limit, Window: r.NoGain.Window},
			Limits: canonical.Limits{Calls: r.Limits.Calls, RequestBytes: int64(r.Limits.RequestBytes), RawBytes: int64(r.Limits.RawBytes), ObservationBytes: int64(r.Limits.ObservationBytes)}},
		Ceilings: canonical.Ceilings{OpenRuns: r.Principal.OpenRuns, CallsPerMinute: r.Principal.CallsPerMinute, LiveBytes: int64(r.Principal.LiveBytes)},
	}
}

const (
	// endTimeout bounds what happens after the last call: closing runs, writing the audit queue.
	endTimeout = 5 * time.Second
	// flushTimeout bounds the sending of the last spans.
	flushTimeout = 2 * time.Second
	// probeTimeout bounds the check of one backend at start.
	probeTimeout = 10 * time.Second
)

// close ends everything. endRuns closes the runs that were minted for this process.
func (g *gateway) close(endRuns bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	var errs []error
	if endRuns {
		errs = append(errs, g.runs.EndProcess(ctx))
	}
	errs = append(errs, g.core.Close())
	if g.audit != nil {
		errs = append(errs, g.audit.Close(ctx))
	}
	// A collector that does not answer must not keep a process.
	flush, stop := context.WithTimeout(ctx, flushTimeout)
	defer stop()
	_ = g.trace.Shutdown(flush) // lost spans are said by the tracer
	errs = append(errs, g.store.Shutdown())
	return errors.Join(errs...)
}

// probeFailure is a backend that did not pass its check.
type probeFailure struct {
	name      string
	essential bool // nothing can be served without it
	err       error
}

func (p probeFailure) Error() string { return p.name + ": " + p.err.Error() }
func (p probeFailure) Unwrap() error { return p.err }

// probeAll checks the store, the audit sink and every backend, and returns those that failed.
func (g *gateway) probeAll(ctx context.Context) []probeFailure {
	all := append([]probe{{name: "canonical.store", check: g.store.Ping}}, g.core.probes()...)
	if g.audit != nil {
		all = append(all, probe{name: "audit", check: g.audit.Check})
	}
	var out []probeFailure
	for i, p := range all {
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		if err := p.check(ctx); err != nil {
			out = append(out, probeFailure{p.name, i == 0, plain(err)})
		}
		cancel()
	}
	return out
}

// plain is the text for an operator: the cause of a coded error, which a client never sees.
func plain(err error) error {
	if fe, ok := errors.AsType[*fault.Error](err); ok && fe.Unwrap() != nil {
		return fe.Unwrap()
	}
	return err
}
