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
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
)

var callViews = []string{"observation", "control", "audit", "all"}

func (e *env) callCommand() *cobra.Command {
	var view, runID string
	c := &cobra.Command{Use: "call TOOL JSON", Short: "Make one call through the boundary", Args: exactly("a tool", "its arguments as JSON"),
		Long: callWords,
		Example: `  mcp-gateway call query_logs '{"topics":["checkout"],"query":"error"}' --view all
  mcp-gateway call query_mysql '{"datasource":"shop","sql":"SELECT status, COUNT(*) FROM orders GROUP BY status"}'
  mcp-gateway call query_rag - < arguments.json`,
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

// callWords name the arguments of the tools; a test holds them against the published schemas.
const callWords = `call makes one call as a model would and prints what the model would see, or the error that it would get. Exit 1 when the call is refused or fails; why and
what to do about it is then on standard error. "-" reads the arguments from standard input.

Arguments, * are required:
  query_logs    topics* (a list)  query  level  from  to  around  window  limit
  query_mysql   datasource*  sql*
  query_rag     query*  collection  top_k

Times are RFC 3339 or relative, as in -15m; without from, query_logs reads the last hour. A query holds terms, "a phrase", -excluded, /regex/, field=value.`

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
	tools := toolNames(g)
	run := g.runs.Resolve(boundary.Identity{Principal: localPrincipal(), Binding: runID, Process: rand.Text()})
	obs, callErr := g.core.Invoke(ctx, run, boundary.Envelope{Tool: tool, Args: json.RawMessage(args)})
	if err := g.close(true); err != nil {
		log.Warn("closing", slog.String("what", "a store or a backend did not close cleanly"))
	}
	if err := e.printCall(obs, callErr, last, view); err != nil {
		return err
	}
	if callErr != nil {
		fmt.Fprintf(e.err, "mcp-gateway: %s\n", e.nextStep(callErr, tools))
		return errSaidNo
	}
	return nil
}

func toolNames(g *gateway) (names []string) {
	for _, s := range g.core.Specs(boundary.Grants{}) {
		names = append(names, s.Name)
	}
	return names
}

// nextStep says what a person can do about a call that was refused or failed. The answer itself holds what a model may know, which is never the cause.
func (e *env) nextStep(err error, tools []string) string {
	code := fault.Internal
	if ref, ok := errors.AsType[*boundary.Refusal](err); ok {
		code = ref.Code
	}
	check := "\"mcp-gateway check --connect"
	if e.config != "" {
		check += " --config " + e.config
	}
	check += "\""
	switch code {
	case fault.BackendError, fault.BackendTimeout, fault.BackendBusy:
		return "the tool's backend failed; " + check + " tells why"
	case fault.BackendIncomplete:
		return "the backend could not answer for the whole range; " + check + " tells whether it is there, and the hint what to ask instead"
	case fault.StoreError:
		return "the record store failed (canonical.store); " + check + " tells why"
	case fault.ToolNotAuthorized:
		if len(tools) == 0 {
			return "no tool is configured: add logs.topics, rag.collections or mysql.datasources to the configuration (\"mcp-gateway init\" writes an example)"
		}
		return "the tools of this configuration: " + strings.Join(tools, ", ")
	case fault.InvalidRequest:
		return "\"mcp-gateway call --help\" lists the arguments of each tool; keep the JSON in single quotes"
	case fault.RequestTooLarge, fault.RawTooLarge, fault.RecordTooLarge:
		return "ask for less, or raise the bound under \"call\" in the configuration"
	case fault.RunNotActive, fault.InvalidToolCallID, fault.DuplicateToolCallID, fault.RunMismatch:
		return "leave out --run for a run of its own, or see \"mcp-gateway runs\" for those of the store"
	case fault.BudgetExhausted, fault.Overloaded, fault.StopRequired:
		return "the bounds are under \"runs\" in the configuration; \"mcp-gateway runs\" shows what is used"
	case fault.Cancelled:
		return "the call was interrupted; make it again"
	case fault.ProjectionError, fault.ToolNotReadOnly, fault.Internal:
		return "this is a fault of the gateway; with log.level: debug the log above says where"
	}
	if strings.HasPrefix(string(code), "SQL_") {
		return "\"mcp-gateway explain SQL --datasource D\" shows what would pass"
	}
	return "see \"mcp-gateway call --help\""
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
