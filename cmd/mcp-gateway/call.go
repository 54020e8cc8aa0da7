package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/harness"
	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
)

var callViews = []string{"observation", "control", "audit", "all"}

func (e *env) callCommand() *cobra.Command {
	var view, runID string
	c := &cobra.Command{Use: "call TOOL JSON", Short: "Make one call through the boundary", Args: exactly("a tool", "its arguments as JSON"),
		Example: `  mcp-gateway call query_logs '{"topics":["checkout"],"query":"error"}' --view all`,
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains(callViews, view) {
				return usage("--view is one of %s", strings.Join(callViews, ", "))
			}
			return e.call(c.Context(), args[0], args[1], view, runID)
		}}
	c.Flags().StringVar(&view, "view", "observation", "what to print: "+strings.Join(callViews, ", "))
	c.Flags().StringVar(&runID, "run", "", "the run of the call (default: one of its own)")
	return c
}

func checkRunFlag(id string) error {
	if id != "" && !canonical.ValidID(id) {
		return usage("--run %q: a run id matches [A-Za-z0-9][A-Za-z0-9._-]{0,127} and is not %q", id, canonical.CurrentRun)
	}
	return nil
}

// lastCall keeps what the boundary tells besides the observation.
type lastCall struct {
	view *boundary.ControlView
	row  *boundary.AuditRecord
}

func (l *lastCall) Observe(v boundary.ControlView) { l.view = &v }
func (l *lastCall) Audit(r boundary.AuditRecord)   { l.row = &r }

func (e *env) call(ctx context.Context, tool, args, view, runID string) error {
	if err := checkRunFlag(runID); err != nil {
		return err
	}
	if args == "-" {
		b, err := io.ReadAll(io.LimitReader(e.in, 1<<20))
		if err != nil {
			return fmt.Errorf("reading the arguments: %w", err)
		}
		args = string(b)
	}
	cfg, err := e.load()
	if err != nil {
		return err
	}
	log := newLogger(e.err, cfg.Log)
	g, err := newGateway(cfg, log)
	if err != nil {
		return err
	}
	last := &lastCall{}
	g.addAuditor(last)
	g.views = append(g.views, last)
	run := g.runs.Resolve(boundary.Identity{Principal: localPrincipal(), Binding: runID, Process: rand.Text()})
	obs, callErr := g.core.Invoke(ctx, run, boundary.Envelope{Tool: tool, Args: json.RawMessage(args)})
	if err := g.close(true); err != nil {
		log.Warn("closing", slog.String("what", "a store or a backend did not close cleanly"))
	}
	if err := e.printCall(obs, callErr, last, view); err != nil {
		return err
	}
	if callErr != nil {
		return errSaidNo
	}
	return nil
}

func (e *env) printCall(obs boundary.Observation, callErr error, last *lastCall, view string) error {
	observation := obs.JSON()
	if ref, ok := errors.AsType[*boundary.Refusal](callErr); ok {
		observation = ref.JSON()
	}
	control, row := json.RawMessage("null"), json.RawMessage("null")
	var err error
	if last.view != nil {
		if control, err = strictjson.Encode(harness.WireView(*last.view)); err != nil {
			return err
		}
	}
	if last.row != nil {
		if row, err = strictjson.Encode(last.row); err != nil {
			return err
		}
	}
	var out []byte
	switch view {
	case "observation":
		out = observation
	case "control":
		out = control
	case "audit":
		out = row
	default:
		out, err = strictjson.Encode(struct {
			Observation json.RawMessage `json:"observation"`
			Control     json.RawMessage `json:"control"`
			Audit       json.RawMessage `json:"audit"`
		}{observation, control, row})
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.out, "%s\n", out)
	return err
}
