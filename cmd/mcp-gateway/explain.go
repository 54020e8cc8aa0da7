package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
	"github.com/seed-069badc9/mcp-gateway/sqlguard"
)

type explainFlags struct {
	datasource  string
	json, batch bool
}

func (e *env) explainCommand() *cobra.Command {
	var f explainFlags
	c := &cobra.Command{Use: "explain SQL --datasource D", Short: "Show the plan of a statement, or why it is refused and what would pass",
		Long:    "explain works from the configuration alone, without a connection. With --batch it reads {\"id\",\"sql\"} lines and prints one verdict a line. Exit 1 when the statement is refused.",
		Example: "  mcp-gateway explain 'SELECT status, COUNT(*) FROM orders GROUP BY status' --datasource shop",
		Args: func(_ *cobra.Command, args []string) error {
			if f.batch != (len(args) == 0) || len(args) > 1 {
				return usage("explain takes one statement in quotes, or --batch and lines of {\"id\",\"sql\"} on standard input; see \"mcp-gateway explain --help\"")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return e.explain(args, f) }}
	c.Flags().StringVar(&f.datasource, "datasource", "", "the datasource whose allowlist applies")
	c.Flags().BoolVar(&f.json, "json", false, "print the verdict as JSON")
	c.Flags().BoolVar(&f.batch, "batch", false, "read {\"id\",\"sql\"} lines, print {\"id\",\"accepted\",…} lines")
	return c
}

// explained is one verdict of the guard.
type explained struct {
	ID       json.RawMessage `json:"id,omitzero"`
	Accepted bool            `json:"accepted"`
	Code     string          `json:"code,omitzero"`
	Reason   string          `json:"reason,omitzero"`
	Tables   []string        `json:"tables"`
	Columns  []string        `json:"columns"`
	Masked   []string        `json:"masked"`
	Limit    int             `json:"limit,omitzero"`
	Kind     string          `json:"kind,omitzero"`
	Plan     string          `json:"plan,omitzero"`
}

func (e *env) explain(args []string, f explainFlags) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(cfg.MySQL.Datasources))
	if f.datasource == "" && len(names) == 1 {
		f.datasource = names[0]
	}
	if _, ok := cfg.MySQL.Datasources[f.datasource]; !ok {
		if len(names) == 0 {
			return usage("the configuration has no datasource; add one under mysql.datasources (\"mcp-gateway init\" writes an example)")
		}
		return usage("--datasource %q is not configured; there are %s", f.datasource, strings.Join(names, ", "))
	}
	guard, ps := sqlGuard(cfg, f.datasource)
	if len(ps) > 0 {
		return ps
	}
	if f.batch {
		return e.explainBatch(guard)
	}
	x := explainOne(guard, args[0])
	if f.json {
		b, err := strictjson.Encode(x)
		if err != nil {
			return err
		}
		fmt.Fprintf(e.out, "%s\n", b)
	} else {
		e.printExplained(x)
	}
	if !x.Accepted {
		return errSaidNo
	}
	return nil
}

func explainOne(guard *sqlguard.Guard, sql string) explained {
	x := explained{Tables: []string{}, Columns: []string{}, Masked: []string{}}
	plan, err := guard.Plan(sql)
	if err != nil {
		code, sentence, hint := fault.Public(err)
		x.Code, x.Reason = string(code), sentence
		if hint != "" {
			x.Reason = sentence + " " + hint
		}
		return x
	}
	x.Accepted, x.Kind, x.Limit, x.Plan = true, plan.Kind().String(), plan.Limit(), plan.SQL()
	x.Tables, x.Columns, x.Masked = append(x.Tables, plan.Tables()...), append(x.Columns, plan.Columns()...), append(x.Masked, plan.Masked()...)
	if inner := plan.Inner(); !inner.IsZero() {
		x.Plan = inner.SQL()
	}
	return x
}

func (e *env) explainBatch(guard *sqlguard.Guard) error {
	w := bufio.NewWriterSize(e.out, 64<<10)
	in := bufio.NewReaderSize(e.in, 64<<10)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n') // whatever its length
		if len(strings.TrimSpace(string(line))) > 0 {
			b, err := strictjson.Encode(explainLine(guard, line, n))
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "%s\n", b) // a failure shows in Flush
		}
		if errors.Is(err, io.EOF) {
			return w.Flush()
		}
		if err != nil {
			return errors.Join(fmt.Errorf("reading the input: %w", err), w.Flush())
		}
	}
}

// explainLine is the verdict of one {"id","sql"} line.
func explainLine(guard *sqlguard.Guard, line []byte, n int) explained {
	var in struct {
		ID  json.RawMessage `json:"id"`
		SQL *string         `json:"sql"`
	}
	x := explained{Code: string(fault.InvalidRequest), Reason: fmt.Sprintf("line %d is not {\"id\",\"sql\"}", n), Tables: []string{}, Columns: []string{}, Masked: []string{}}
	if err := json.Unmarshal(line, &in); err == nil && in.SQL != nil {
		x = explainOne(guard, *in.SQL)
	}
	x.ID = in.ID
	return x
}

func (e *env) printExplained(x explained) {
	list := func(name string, items []string) {
		if len(items) > 0 {
			fmt.Fprintf(e.out, "%-9s %s\n", name, strings.Join(items, ", "))
		}
	}
	if !x.Accepted {
		fmt.Fprintf(e.out, "refused   %s\nwhy       %s\n", x.Code, x.Reason)
		return
	}
	fmt.Fprintf(e.out, "accepted  %s\n", x.Kind)
	list("tables", x.Tables)
	list("columns", x.Columns)
	list("masked", x.Masked)
	if x.Limit > 0 {
		fmt.Fprintf(e.out, "%-9s at most %d rows are shown\n", "limit", x.Limit)
	}
	if x.Plan != "" {
		io.WriteString(e.out, "runs      "+x.Plan+"\n")
	}
}
