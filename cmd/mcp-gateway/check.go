package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/seed-069badc9/mcp-gateway/internal/config"
)

func (e *env) checkCommand() *cobra.Command {
	var connect bool
	c := &cobra.Command{Use: "check", Short: "Report every problem of the configuration at once", Args: noArgs,
		Long: "check reads the configuration and reports all of its problems with line, key and what would be right. With --connect it also asks the record store, audit and every backend for an answer, and says why one gives none. Exit 1 if anything is wrong.",
		RunE: func(c *cobra.Command, _ []string) error { return e.check(c.Context(), connect) }}
	c.Flags().BoolVar(&connect, "connect", false, "also probe the store, audit and every backend")
	return c
}

func (e *env) check(ctx context.Context, connect bool) error {
	cfg, err := e.load()
	if ps, ok := asProblems(err); ok {
		return e.problems(ps)
	}
	if err != nil {
		return err
	}
	for _, w := range append(slices.Clone(cfg.Warnings), noTool(cfg)...) {
		fmt.Fprintf(e.out, "warning: %s\n", w)
	}
	g, err := newGateway(cfg, newLogger(e.err, cfg.Log))
	if ps, ok := asProblems(err); ok {
		return e.problems(ps)
	}
	if err != nil {
		return err
	}
	defer g.close(false)
	fmt.Fprintf(e.out, "%s: %d topic(s), %d collection(s), %d datasource(s), %d token(s)\n", cfg.File, len(cfg.Logs.Topics), len(cfg.RAG.Collections), len(cfg.MySQL.Datasources), len(cfg.Auth.Tokens))
	if !connect {
		g.warnLocal(ctx, e.out)
		fmt.Fprintln(e.out, "ok; add --connect to probe each backend")
		return nil
	}
	failed := g.probeAll(ctx)
	for _, p := range failed {
		fmt.Fprintf(e.out, "failed: %s\n", p.Error())
	}
	if len(failed) > 0 {
		fmt.Fprintf(e.err, "mcp-gateway: %d did not pass; put right what each line says and check again\n", len(failed))
		return errSaidNo
	}
	fmt.Fprintln(e.out, "ok; every backend answered")
	return nil
}

// warnLocal tells of files and folders that are not there. They are no mistakes of the configuration: they may come later.
func (g *gateway) warnLocal(ctx context.Context, out io.Writer) {
	for _, p := range g.core.probes() {
		if !p.local {
			continue
		}
		if err := p.check(ctx); err != nil {
			fmt.Fprintf(out, "warning: %s: %s\n", p.name, plain(err))
		}
	}
}

// problems prints what is wrong as a result: it is what check was asked for.
func (e *env) problems(ps config.Problems) error {
	for _, p := range ps {
		fmt.Fprintln(e.out, p)
	}
	fmt.Fprintf(e.out, "%d problem(s)\n", len(ps))
	return errSaidNo
}
