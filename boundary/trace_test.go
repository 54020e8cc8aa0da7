package boundary_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/memstore"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// tape writes down what a tracer is told.
type tape struct{ said []string }

type tapeKey struct{}

func (p *tape) Trace(ctx context.Context, _ time.Time) (context.Context, boundary.Trace) {
	return context.WithValue(ctx, tapeKey{}, p), p
}

func (p *tape) Stage(name string) func() {
	p.said = append(p.said, name)
	return func() { p.said = append(p.said, "/"+name) }
}

func (p *tape) End(r boundary.AuditRecord) { p.said = append(p.said, "end "+string(r.Code)) }

func TestATracerSeesTheStagesOfEveryOutcome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		tool    string
		execute func(context.Context, *boundary.Permit) error
		project func()
		want    []string
	}{
		{name: "ready", want: []string{"open", "/open", "execute", "/execute", "project", "/project", "close", "/close", "end "}},
		{name: "refused", tool: "nope", want: []string{"end TOOL_NOT_AUTHORIZED"}},
		{name: "backend", execute: func(context.Context, *boundary.Permit) error {
			return fault.New(fault.BackendError, "test", errors.New("down"))
		},
			want: []string{"open", "/open", "execute", "/execute", "close", "/close", "end BACKEND_ERROR"}},
		{name: "panic", project: func() { panic("SECRET") },
			want: []string{"open", "/open", "execute", "/execute", "project", "/project", "close", "/close", "end INTERNAL"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := &tape{}
			tool := newLines("one line")
			tool.project = c.project
			carried := false
			tool.execute = func(ctx context.Context, permit *boundary.Permit) error {
				carried = ctx.Value(tapeKey{}) == p
				if c.execute != nil {
					return c.execute(ctx, permit)
				}
				return nil
			}
			b, err := boundary.New(boundary.Options{Ledger: canonical.NewLedger(memstore.New(time.Now), nil), Tracer: p}, boundary.Bind(tool))
			if err != nil {
				t.Fatal(err)
			}
			e := envelope("c1", "one")
			if c.tool != "" {
				e.Tool = c.tool
			}
			_, _ = b.Invoke(t.Context(), inRun("r1"), e)
			if !slices.Equal(p.said, c.want) {
				t.Errorf("told %v, want %v", p.said, c.want)
			}
			if c.tool == "" && !carried {
				t.Error("the tool does not run under the trace's context")
			}
		})
	}
}

type loudTracer struct{ at string }

func (l loudTracer) Trace(ctx context.Context, _ time.Time) (context.Context, boundary.Trace) {
	if l.at == "trace" {
		panic("trace")
	}
	return ctx, l
}

func (l loudTracer) Stage(string) func() {
	if l.at == "stage" {
		panic("stage")
	}
	return func() {
		if l.at == "end of stage" {
			panic("end of stage")
		}
	}
}

func (l loudTracer) End(boundary.AuditRecord) {
	if l.at == "end" {
		panic("end")
	}
}

func TestATracerThatPanicsHarmsNoCall(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"trace", "stage", "end of stage", "end"} {
		b, err := boundary.New(boundary.Options{Ledger: canonical.NewLedger(memstore.New(time.Now), nil), Tracer: loudTracer{at}}, boundary.Bind(newLines("one line")))
		if err != nil {
			t.Fatal(err)
		}
		if obs, err := b.Invoke(t.Context(), inRun("r1"), envelope("c1", "one")); err != nil || obs.IsZero() {
			t.Errorf("%s: %v", at, err)
		}
		if _, err := b.Invoke(t.Context(), inRun("r1"), boundary.Envelope{Tool: "nope"}); codeOf(t, err) != fault.ToolNotAuthorized {
			t.Errorf("%s: %v", at, err)
		}
	}
}
