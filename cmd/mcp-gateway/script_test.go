package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mcp-gateway": func() {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
		stop()
		os.Exit(code)
	}})
}

// TestScripts drives the binary as people and clients do. A script whose name ends in -regression opens with the attack.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("UPDATE") != "",
		Setup: func(e *testscript.Env) error {
			return os.MkdirAll(filepath.Join(e.WorkDir, "home"), 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"shop":    shopCommand,
			"answers": answersCommand,
			"field":   fieldCommand,
		},
	})
}

// shopCommand writes the fixture of most scripts: `shop [extra YAML lines…]` makes shop.yaml with a log topic, a runbook collection and a private record store.
func shopCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("shop cannot fail")
	}
	for _, d := range []string{"logs", "runbooks"} {
		ts.Check(os.MkdirAll(ts.MkAbs(d), 0o755))
	}
	var log strings.Builder
	for i := range 300 {
		fmt.Fprintf(&log, `{"time":"2026-01-01T10:%02d:%02dZ","level":"INFO","service":"checkout","msg":"order %d accepted in %dms from 192.0.2.%d"}`+"\n", i/60, i%60, i, i%90, i%250)
	}
	// The secret is put together here so that no scanner takes it for a real one.
	fmt.Fprintf(&log, `{"time":"2026-01-01T10:05:07Z","level":"ERROR","service":"checkout","msg":"payment declined: gateway answered 502 password=%s host=pay-7f9c6d5b8-x2x9z"}`+"\n", "canary-"+"pw-4711")
	ts.Check(os.WriteFile(ts.MkAbs("logs/checkout.log"), []byte(log.String()), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("runbooks/payments.md"), []byte("# Payment gateway answers 502\n\n## Action\n\nFail over to the second acquirer with `payctl failover --region eu`.\n"), 0o644))
	ts.Check(os.WriteFile(ts.MkAbs("runbooks/disk.md"), []byte("# Disk full on the database host\n\nDelete old binary logs after checking the replicas.\n"), 0o644))
	cfg := `canonical: {store: "file:state/canonical.db"}
rag: {collections: {runbooks: {description: operations runbooks, folder: {path: runbooks}}}}
logs: {topics: {checkout: {description: checkout service, files: {paths: [logs/*.log], timezone: UTC}}}}
` + strings.Join(args, "\n") + "\n"
	ts.Check(os.WriteFile(ts.MkAbs("shop.yaml"), []byte(cfg), 0o600))
}
