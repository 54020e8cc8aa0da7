// Command demo shows one diagnosis through mcp-gateway on this machine alone: it starts a small shop with a MySQL server, logs and runbooks, runs the real gateway on
// them, drives it with a real MCP client and prints what the model saw beside what stayed behind. Its output is the same on every run. --serve keeps the gateway
// running over HTTP for a client of your own, --stdio is the same data for a desktop client.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

type options struct {
	serve, stdio, full, timing bool
	listen, gateway            string
}

func run(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int {
	var o options
	fs := flag.NewFlagSet("demo", flag.ContinueOnError)
	fs.SetOutput(errw)
	fs.BoolVar(&o.serve, "serve", false, "keep the gateway running over HTTP, for a client of your own")
	fs.BoolVar(&o.stdio, "stdio", false, "serve one client over standard input and output, as a desktop client starts it")
	fs.BoolVar(&o.full, "full", false, "print every answer in full as well")
	fs.BoolVar(&o.timing, "timing", false, "print how long each call took; the output is then another on every run")
	fs.StringVar(&o.listen, "listen", "127.0.0.1:8484", "address for --serve; loopback only")
	fs.StringVar(&o.gateway, "gateway", "", "a gateway that is built already")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	if fs.NArg() > 0 || o.serve && o.stdio {
		fmt.Fprintln(errw, "demo: takes flags only, and --serve or --stdio, not both; see --help")
		return 2
	}
	err := start(ctx, o, in, out, errw)
	switch {
	case ctx.Err() != nil && (o.serve || o.stdio): // Ctrl-C is how these end
		return 0
	case ctx.Err() != nil:
		return 130
	case err != nil:
		fmt.Fprintln(errw, "demo:", err)
		return 1
	}
	return 0
}

func start(ctx context.Context, o options, in io.Reader, out, errw io.Writer) (err error) {
	if o.serve {
		if o.listen, err = freeLoopback(o.listen); err != nil {
			return err
		}
	}
	d, err := newDemo(ctx, o.gateway, o.listen, errw)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	switch {
	case o.stdio:
		return d.serveStdio(ctx, in, out, errw)
	case o.serve:
		return d.serveHTTP(ctx, o.listen, out, errw)
	}
	m, err := connect(ctx, d)
	if err != nil {
		return err
	}
	s := &storyteller{page: page{w: out}, d: d, m: m, full: o.full, timing: o.timing, masks: map[string]int{}}
	err = s.tell(ctx)
	if cerr := m.close(); err == nil && cerr != nil {
		err = fmt.Errorf("ending the gateway: %w", cerr)
	}
	return err
}
