package boundary_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/memstore"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// brittle is a tool whose raw answer cannot be encoded: its encoder panics.
type brittle struct{}

type brittleRaw struct{ armed bool }

func (r brittleRaw) MarshalJSON() ([]byte, error) {
	if r.armed {
		panic("RAW SECRET")
	}
	return []byte("{}"), nil
}

func (brittle) Spec() boundary.Spec { return newLines().Spec() }
func (brittle) Parse(args json.RawMessage, _ boundary.ParseContext) (lineReq, error) {
	var r lineReq
	return r, boundary.StrictArgs("brittle.Parse", args, &r)
}
func (brittle) Scope(r lineReq) boundary.Scope { return boundary.Scope{Normal: r.Word, Text: r.Word} }
func (brittle) Execute(context.Context, *boundary.Permit, lineReq, canonical.Salt) (brittleRaw, error) {
	return brittleRaw{armed: true}, nil
}
func (brittle) Project(lineReq, brittleRaw, boundary.View) (boundary.Projection[lineObs], error) {
	return boundary.Projection[lineObs]{}, nil
}

// A panic while the answer is encoded ends the call like any other: the record is closed and the attempt audited.
func TestAPanicOfAnEncoderClosesTheRecord(t *testing.T) {
	w := newWorld(t, boundary.Limits{}, nil, boundary.Bind[lineReq, brittleRaw, lineObs](brittle{}))
	if _, err := w.Invoke(t.Context(), inRun("r1"), envelope("c1", "a")); codeOf(t, err) != fault.Internal {
		t.Errorf("%v", err)
	}
	if f, ok := w.record(t, "r1", "c1").(canonical.Failed); !ok || f.Code() != fault.Internal {
		t.Errorf("%T", w.record(t, "r1", "c1"))
	}
	if len(w.rows) != 1 || w.rows[0].Code != fault.Internal || w.Panics() != 1 {
		t.Errorf("%+v, %d panics", w.rows, w.Panics())
	}
}

// loud panics whenever it is told of a call.
type loud struct{}

func (loud) Audit(boundary.AuditRecord)   { panic("audit") }
func (loud) Observe(boundary.ControlView) { panic("observe") }

// What is told about a call can not change how it ends.
func TestAnAuditorThatPanicsHarmsNoCall(t *testing.T) {
	ledger := canonical.NewLedger(memstore.New(time.Now), nil)
	b, err := boundary.New(boundary.Options{Ledger: ledger, Auditor: loud{}, Controller: loud{}}, boundary.Bind(newLines("one line")))
	if err != nil {
		t.Fatal(err)
	}
	if obs, err := b.Invoke(t.Context(), inRun("r1"), envelope("c1", "one")); err != nil || obs.IsZero() {
		t.Errorf("%v", err)
	}
	if _, err := b.Invoke(t.Context(), inRun("r1"), boundary.Envelope{Tool: "nope"}); codeOf(t, err) != fault.ToolNotAuthorized {
		t.Errorf("%v", err)
	}
}

// weak is a ledger whose store panics.
type weak struct {
	boundary.Ledger
	open bool
}

func (l weak) Open(ctx context.Context, a canonical.OpenArgs) (*canonical.Pending, canonical.Grant, error) {
	if l.open {
		panic("open")
	}
	_, _, err := l.Ledger.Open(ctx, a)
	return nil, canonical.Grant{Run: a.Run, Left: canonical.Limits{RawBytes: 1 << 20}}, err // a nil Pending panics when it is used
}

func TestAPanicOfTheStoreEndsInInternalAndIsAudited(t *testing.T) {
	for _, open := range []bool{true, false} {
		w := newWorld(t, boundary.Limits{}, func(l *canonical.Ledger) boundary.Ledger { return weak{l, open} }, boundary.Bind(newLines("one line")))
		if _, err := w.Invoke(t.Context(), inRun("r1"), envelope("c1", "one")); codeOf(t, err) != fault.Internal {
			t.Errorf("open %v: %v", open, err)
		}
		if len(w.rows) != 1 || w.rows[0].Code != fault.Internal {
			t.Errorf("open %v: %+v", open, w.rows)
		}
	}
}

// leaver cancels the client's context while OPEN is under way.
type leaver struct {
	boundary.Ledger
	leave context.CancelFunc
}

func (l leaver) Open(ctx context.Context, a canonical.OpenArgs) (*canonical.Pending, canonical.Grant, error) {
	l.leave()
	if err := ctx.Err(); err != nil {
		return nil, canonical.Grant{}, err
	}
	return l.Ledger.Open(ctx, a)
}

// A client that leaves during OPEN leaves no record that nobody closes, and no backend is asked.
func TestACancelDuringOpenEndsTheRecord(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	tool := newLines("one line")
	asked := false
	tool.execute = func(context.Context, *boundary.Permit) error { asked = true; return nil }
	w := newWorld(t, boundary.Limits{}, func(l *canonical.Ledger) boundary.Ledger { return leaver{l, leave} }, boundary.Bind(tool))
	if _, err := w.Invoke(ctx, inRun("r1"), envelope("c1", "one")); codeOf(t, err) != fault.Cancelled {
		t.Errorf("%v", err)
	}
	if f, ok := w.record(t, "r1", "c1").(canonical.Failed); !ok || f.Code() != fault.Cancelled {
		t.Errorf("%T", w.record(t, "r1", "c1"))
	}
	if asked {
		t.Error("the backend was asked for nobody")
	}
	// One who has left before is not even opened.
	if _, err := w.Invoke(ctx, inRun("r1"), envelope("c2", "one")); codeOf(t, err) != fault.Cancelled {
		t.Errorf("%v", err)
	}
	if k, _ := canonical.NewKey("alice", "r1", "c2"); true {
		if _, err := w.ledger.Load(t.Context(), k); err == nil {
			t.Error("a call of a client that had left was opened")
		}
	}
}
