// Package mysql is query_mysql: one SELECT on an allowlisted datasource, planned by the SQL guard, run by an Executor, shown as one compact table.
//
// It promises: a refusal costs no I/O; types arrive as the database means them (integers JSON cannot hold and every DECIMAL as strings, binary as size and digest);
// no cell of a masked column leaves the executor; secrets inside other cells are masked before anything is cut; the answer says truncated if and only if something
// of it is missing, and long cells are shortened before rows are given up.
package mysql

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/sqlguard"
)

// Name is the tool's name on the wire.
const Name = "query_mysql"

// projector changes whenever the same request, raw and salt could give another observation.
const projector = "mysql-1"

// Options configure a Tool.
type Options struct {
	Datasources []Datasource
	// Keep and Hide are the operator's redaction rules (RE2): findings that stay, and text that is always hidden.
	Keep, Hide []string
}

// Datasource is one database that may be asked.
type Datasource struct {
	Name        string // [A-Za-z0-9][A-Za-z0-9._-]{0,63}
	Description string
	Guard       *sqlguard.Guard
	Executor    Executor
}

type source struct {
	Datasource
	tables []sqlguard.Table
	cat    catalogue
}

// Tool is query_mysql. Safe for concurrent use.
type Tool struct {
	names      []string
	sources    map[string]*source
	keep, hide []string
	secrets    *redact.Redactor
}

var _ boundary.Tool[Request, Raw, Observation] = (*Tool)(nil)

var nameGrammar = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// New checks the options. It does no I/O.
func New(o Options) (*Tool, error) {
	t := &Tool{sources: make(map[string]*source, len(o.Datasources)), keep: slices.Clone(o.Keep), hide: slices.Clone(o.Hide)}
	for _, d := range o.Datasources {
		switch {
		case !nameGrammar.MatchString(d.Name):
			return nil, fmt.Errorf("mysql: datasource %q: a name matches %s", d.Name, nameGrammar)
		case t.sources[d.Name] != nil:
			return nil, fmt.Errorf("mysql: datasource %q is given twice", d.Name)
		case d.Guard == nil || d.Executor == nil:
			return nil, fmt.Errorf("mysql: datasource %q lacks its guard or its executor", d.Name)
		}
		s := &source{Datasource: d, tables: d.Guard.Tables()}
		s.cat.init()
		t.sources[d.Name] = s
		t.names = append(t.names, d.Name)
	}
	if len(t.names) == 0 {
		return nil, errors.New("mysql: no datasource")
	}
	slices.Sort(t.names)
	var err error
	t.secrets, err = newRedactor(t.keep, t.hide)
	return t, err
}

func newRedactor(keep, hide []string) (*redact.Redactor, error) {
	return redact.New(redact.Options{Classes: redact.Classes{Secrets: true}, Keep: keep, Hide: hide})
}

// redactor gives the one that the request was made under. It is the tool's own, unless a record from before a change of the rules is replayed.
func (t *Tool) redactor(req Request) *redact.Redactor {
	if slices.Equal(req.Keep, t.keep) && slices.Equal(req.Hide, t.hide) {
		return t.secrets
	}
	if r, err := newRedactor(req.Keep, req.Hide); err == nil {
		return r
	}
	return t.secrets
}

var errNoPlan = errors.New("the request has no plan")

// Execute runs the plan, or answers from the allowlist and the catalogue what is not run.
func (t *Tool) Execute(ctx context.Context, p *boundary.Permit, req Request, _ canonical.Salt) (Raw, error) {
	const op = "mysql.Execute"
	s := t.sources[req.Datasource]
	if s == nil || req.plan.IsZero() || p == nil {
		return Raw{}, fault.New(fault.Internal, op, errNoPlan)
	}
	var raw Raw
	var err error
	switch req.plan.Kind() {
	case sqlguard.Select:
		raw, err = s.query(ctx, p, req)
	case sqlguard.ShowTables:
		raw, err = s.showTables(ctx, req.plan)
	case sqlguard.ShowColumns:
		raw, err = s.showColumns(ctx, req.plan)
	case sqlguard.ShowIndex:
		raw, err = s.showIndex(ctx, req.plan)
	case sqlguard.ShowDatabases:
		raw = s.showDatabases(req.plan)
	case sqlguard.Explain:
		raw, err = s.explain(ctx, req.plan.Inner())
	default:
		err = fault.New(fault.Internal, op, errNoPlan)
	}
	if err != nil {
		return Raw{}, err
	}
	if req.plan.Kind() != sqlguard.Select { // the executor meters what it reads itself
		n := 0
		for _, row := range raw.Rows {
			for _, c := range row {
				n += len(c.Text) + 1
			}
		}
		if err := p.Take(n); err != nil {
			return Raw{}, err
		}
	}
	return raw, nil
}

// query runs a SELECT and gives bare references to columns the forms that the catalogue declares: the wire does not tell a boolean from a small number.
func (s *source) query(ctx context.Context, p *boundary.Permit, req Request) (Raw, error) {
	raw, err := s.Executor.Run(ctx, p, req.plan)
	if err != nil {
		return Raw{}, err
	}
	if len(raw.Columns) != len(req.Outputs) {
		return Raw{}, fault.New(fault.Internal, "mysql.Execute", errRaw)
	}
	if raw.Rows == nil {
		raw.Rows = [][]Cell{}
	}
	var cat *snapshot
	for i := range raw.Columns {
		c, src := &raw.Columns[i], req.Outputs[i].Source
		if src == "" || !undeclared[c.Type] {
			continue
		}
		if cat == nil {
			if cat, err = s.cat.get(ctx, s); err != nil {
				return Raw{}, err
			}
		}
		info, ok := cat.column(src)
		switch {
		case ok && isBool(info.Type):
			c.Form = Bool
		case ok && info.JSON:
			c.Type, c.Form = "json", JSON
		}
	}
	return raw, nil
}

// undeclared are the types under which the wire hides what the catalogue declares: booleans, and JSON in MariaDB.
var undeclared = map[string]bool{"tinyint": true, "tinyint unsigned": true, "bit": true, "longtext": true, "text": true, "mediumtext": true}

// isBool tells whether a declared type is how people declare booleans.
func isBool(declared string) bool {
	return declared == "bit(1)" || len(declared) >= 10 && declared[:10] == "tinyint(1)"
}

// freshFor is how long a catalogue is believed: a changed column type shows within minutes, and a busy gateway asks rarely.
const freshFor = 10 * time.Minute
