package mysql

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/sqlguard"
)

// Request is one planned statement, as stored. Everything a projection depends on is in it; the plan itself, which only the guard can make, is needed to run it
// and is not stored.
type Request struct {
	Datasource  string   `json:"datasource"`
	Kind        string   `json:"kind"` // "SELECT", "SHOW TABLES", …
	SQL         string   `json:"sql"`  // the printed statement; "" for kinds that are not run
	Normal      string   `json:"normal"`
	Tables      []string `json:"tables"` // "schema.table"
	Outputs     []Output `json:"outputs"`
	Limit       int      `json:"limit"` // most rows that may be shown
	UserLimited bool     `json:"user_limited"`
	Keep        []string `json:"keep,omitempty"` // the redaction rules in force
	Hide        []string `json:"hide,omitempty"`

	plan sqlguard.Plan
}

// Output is one result column of the plan.
type Output struct {
	Name   string `json:"name"`
	Masked bool   `json:"masked,omitempty"`
	Source string `json:"source,omitempty"` // "schema.table.column" when it is just that column
}

type arguments struct {
	Datasource string `json:"datasource"`
	SQL        string `json:"sql"`
}

var errRefused = errors.New("refused")

// Parse plans the statement: a refusal costs no I/O.
func (t *Tool) Parse(args json.RawMessage, c boundary.ParseContext) (Request, error) {
	const op = "mysql.Parse"
	var a arguments
	if err := boundary.StrictArgs(op, args, &a); err != nil {
		return Request{}, err
	}
	allowed := c.Grants.Filter(boundary.Datasources, t.names)
	if !slices.Contains(allowed, a.Datasource) {
		return Request{}, fault.New(fault.InvalidRequest, op, errRefused).WithHint("argument \"datasource\" must name one of: " + names(allowed))
	}
	if strings.TrimSpace(a.SQL) == "" {
		return Request{}, fault.New(fault.InvalidRequest, op, errRefused).WithHint("argument \"sql\" is missing: give one SELECT statement")
	}
	plan, err := t.sources[a.Datasource].Guard.Plan(a.SQL)
	if err != nil {
		return Request{}, err
	}
	r := Request{
		Datasource: a.Datasource, Kind: plan.Kind().String(), SQL: plan.SQL(), Normal: plan.Normal(), Tables: nonNil(plan.Tables()), Outputs: []Output{},
		Limit: plan.Limit(), UserLimited: plan.UserLimited(), Keep: t.keep, Hide: t.hide, plan: plan,
	}
	for _, o := range plan.Outputs() {
		r.Outputs = append(r.Outputs, Output{Name: o.Name, Masked: o.Masked, Source: o.Source})
	}
	return r, nil
}

func nonNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

// names joins a published list for a hint, at most as much of it as a hint can hold.
func names(list []string) string {
	if len(list) == 0 {
		return "(none is allowed)"
	}
	s := strings.Join(list, ", ")
	if len(s) > 400 {
		s = strings.ToValidUTF8(s[:400], "") + " …"
	}
	return s
}

// scopeText bounds Scope.Text: what the contract allows for an echoed query, the name of the datasource included.
const scopeText = 256

// Scope is the datasource with the normal form of the statement.
func (t *Tool) Scope(req Request) boundary.Scope {
	text := req.Datasource + ": " + t.redactor(req).Text(req.Normal, nil)
	if len(text) > scopeText {
		sum := sha256.Sum256([]byte(req.Normal))
		text = strings.ToValidUTF8(text[:scopeText-16], "") + " … #" + hex.EncodeToString(sum[:4])
	}
	return boundary.Scope{Normal: req.Datasource + "\x00" + req.Normal, Text: text}
}
