package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-069badc9/mcp-gateway/canonical"
)

// maxListed bounds the listing of runs and calls.
const maxListed = 1000

func (e *env) runsCommand() *cobra.Command {
	var principal string
	c := &cobra.Command{Use: "runs [RUN]", Short: "List the runs of the store, or one run's calls, without content",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("runs takes at most one run id")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if principal == "" {
				principal = localPrincipal()
			}
			return e.runs(c.Context(), principal, args)
		}}
	c.Flags().StringVar(&principal, "principal", "", "whose runs (default: this user's)")
	return c
}

func (e *env) runs(ctx context.Context, principal string, args []string) error {
	cfg, err := e.loadOrDefault()
	if err != nil {
		return err
	}
	store, err := openStore(cfg, newLogger(e.err, cfg.Log))
	if err != nil {
		return err
	}
	defer store.Shutdown()
	if len(args) == 0 {
		return e.listRuns(ctx, store, principal)
	}
	k, err := canonical.NewRunKey(principal, args[0])
	if err != nil {
		return usage("%q is no run id", args[0])
	}
	return e.listCalls(ctx, store, k)
}

func storeDown(err error) error {
	return fmt.Errorf("the store cannot be read: %w; check canonical.store and that it is running", plain(err))
}

func (e *env) listRuns(ctx context.Context, store canonical.Driver, principal string) error {
	list, err := store.Runs(ctx, principal, maxListed)
	if err != nil {
		return storeDown(err)
	}
	if len(list) == 0 {
		fmt.Fprintf(e.err, "mcp-gateway: %s has no run in the store\n", principal)
		return nil
	}
	w := tabwriter.NewWriter(e.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tMODE\tSTATE\tCALLS\tOBSERVED\tOPENED\tEXPIRES")
	for _, r := range list {
		state := "closed"
		switch {
		case r.Active && r.Stopped:
			state = "stop required"
		case r.Active:
			state = "active"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d/%d\t%d B\t%s\t%s\n", r.Run, r.Mode, state, r.Used.Calls, r.Limits.Calls, r.Used.ObservationBytes,
			r.OpenedAt.UTC().Format(time.DateTime), r.ExpiresAt.UTC().Format(time.DateTime))
	}
	return w.Flush()
}

func (e *env) listCalls(ctx context.Context, store canonical.Driver, k canonical.RunKey) error {
	_, found, err := store.Run(ctx, k)
	if err != nil {
		return storeDown(err)
	}
	if !found {
		fmt.Fprintf(e.err, "mcp-gateway: no run %s of %s in the store: never opened, or expired\n", k.Run(), k.Principal())
		return errSaidNo
	}
	calls, err := store.Calls(ctx, k, 0, maxListed)
	if err != nil {
		return storeDown(err)
	}
	w := tabwriter.NewWriter(e.out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "CALL\tTOOL\tSTATUS\tEVIDENCE\tGAIN\tSTARTED\tSCOPE")
	for _, c := range calls {
		status := string(c.State)
		if c.Code != "" {
			status += " " + c.Code
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", c.Call, c.Tool, status, c.Evidence, c.Gain, c.StartedAt.UTC().Format(time.DateTime), c.Scope)
	}
	return w.Flush()
}
