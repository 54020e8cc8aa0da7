// Command mcp-gateway serves query_logs, query_rag and query_mysql to a model through one boundary, and lets people check, explain and verify what it does.
// Standard output carries results only; everything else goes to standard error. Exit 0 is done, 1 is "said no", 2 is a mistake in usage or configuration.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/seed-069badc9/mcp-gateway/internal/config"
	"github.com/seed-069badc9/mcp-gateway/internal/spelling"
)

// version is set by the release build; a plain build reads it from the module.
var version = ""

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Exit codes of the contract.
const (
	exitDone  = 0
	exitNo    = 1
	exitUsage = 2
)

// errSaidNo ends a command with exit 1 when what it printed already says why.
var errSaidNo = errors.New("said no")

// usageError is a mistake of the person at the keyboard or in the configuration: exit 2.
type usageError struct{ err error }

func (u usageError) Error() string { return u.err.Error() }
func (u usageError) Unwrap() error { return u.err }

func usage(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// env is what a command works with.
type env struct {
	in       io.Reader
	out, err io.Writer
	config   string // --config
}

func run(ctx context.Context, args []string, in io.Reader, out, errw io.Writer) int {
	e := &env{in: in, out: out, err: errw}
	root := &cobra.Command{
		Use:           "mcp-gateway",
		Short:         "A gateway between a model and your runbooks, logs and databases",
		Long:          "mcp-gateway lets a model diagnose an incident over runbooks, logs and MySQL without owning the data: it sees bounded, redacted observations, and every sentence it cites can be verified.",
		Example:       "  mcp-gateway init                     write a configuration to begin with\n  mcp-gateway check --connect          see whether it is right and every backend answers\n  mcp-gateway stdio                    serve a desktop or IDE client",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(c, args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			_ = c.Help()
			return usageError{errors.New("a command is needed; to begin, \"mcp-gateway init\" writes a configuration and \"mcp-gateway stdio\" serves it")}
		},
	}
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(errw)
	root.SetErr(errw)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return usage("%w; see \"%s --help\"", err, c.CommandPath()) })
	root.PersistentFlags().StringVar(&e.config, "config", "", "configuration file (default $MCP_GATEWAY_CONFIG, then ./mcp-gateway.yaml)")
	root.AddCommand(e.stdioCommand(), e.httpCommand(), e.initCommand(), e.checkCommand(), e.callCommand(), e.explainCommand(), e.verifyCommand(), e.runsCommand(),
		e.redactCommand(), e.patternsCommand(), e.indexCommand(), e.versionCommand())
	e.versionFlag(root)
	root.InitDefaultHelpCmd()
	if c, _, err := root.Find([]string{"help"}); err == nil && c != root {
		c.Args = func(_ *cobra.Command, args []string) error { // cobra prints the list of commands and calls it done
			if of, _, err := root.Find(args); len(args) > 0 && (err != nil || of == root) {
				return unknownCommand(root, args[0])
			}
			return nil
		}
	}
	return e.exit(root.ExecuteContext(ctx))
}

// unknownCommand says which command may have been meant.
func unknownCommand(root *cobra.Command, name string) error {
	var names []string
	for _, c := range root.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	if near := spelling.Nearest(name, names); near != "" {
		return usage("unknown command %q; did you mean %q? \"mcp-gateway --help\" lists them all", name, near)
	}
	return usage("unknown command %q; \"mcp-gateway --help\" lists them", name)
}

// exit turns an error into an exit code and its words on standard error.
func (e *env) exit(err error) int {
	if err == nil {
		return exitDone
	}
	if errors.Is(err, errSaidNo) {
		return exitNo
	}
	if ps, ok := errors.AsType[config.Problems](err); ok {
		for _, p := range ps {
			fmt.Fprintln(e.err, p)
		}
		fmt.Fprintf(e.err, "mcp-gateway: %d problem(s) in the configuration; nothing was started\n", len(ps))
		return exitUsage
	}
	msg := strings.TrimPrefix(err.Error(), "mcp-gateway: ")
	fmt.Fprintf(e.err, "mcp-gateway: %s\n", msg)
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	return exitNo
}

func (e *env) versionCommand() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Args: noArgs, RunE: func(*cobra.Command, []string) error {
		_, err := fmt.Fprintf(e.out, "mcp-gateway %s\n", buildVersion())
		return err
	}}
}

func buildVersion() string {
	if version != "" {
		return version
	}
	if bi, ok := debug.ReadBuildInfo(); ok && bi.Main.Version != "" {
		return bi.Main.Version
	}
	return "(devel)"
}

func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s takes no argument %q; see \"mcp-gateway %s --help\"", c.Name(), args[0], c.Name())
	}
	return nil
}

// exactly checks the number of arguments and names them.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != len(names) {
			return usage("%s takes %s; see \"mcp-gateway %s --help\"", c.Name(), strings.Join(names, " and "), c.Name())
		}
		return nil
	}
}
