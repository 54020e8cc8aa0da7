package canonical_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/memstore"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

func args(run, call string) canonical.OpenArgs {
	return canonical.OpenArgs{Principal: "p", Run: run, Call: call, Nonce: "nonce " + call, Tool: "query_logs", Request: []byte("{}"), TTL: time.Minute, RequestBytes: 2,
		Implicit: &canonical.RunSpec{Limits: canonical.Limits{Calls: 100, RequestBytes: 1000, RawBytes: 1000, ObservationBytes: 1000}, NoGain: canonical.NoGain{Limit: 8, Window: 10}, TTL: time.Hour}}
}

func pending(t *testing.T, l *canonical.Ledger, a canonical.OpenArgs) *canonical.Pending {
	t.Helper()
	p, _, err := l.Open(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestTheLedgerGivesEachStateItsOwnType(t *testing.T) {
	l := canonical.NewLedger(memstore.New(nil), nil)
	load := func(p *canonical.Pending) canonical.Invocation {
		t.Helper()
		inv, err := l.Load(t.Context(), p.Key())
		if err != nil {
			t.Fatal(err)
		}
		if inv.Key() != p.Key() || inv.Record().Call != p.Key().Call() {
			t.Errorf("Load(%v) gave %v", p.Key(), inv.Key())
		}
		return inv
	}
	a, b, c := pending(t, l, args("r", "a")), pending(t, l, args("r", "b")), pending(t, l, args("r", "tc_abcdefghijklmnop"))
	if _, ok := load(a).(canonical.Projecting); !ok {
		t.Errorf("opened = %T, want Projecting", load(a))
	}
	if _, err := a.Ready(t.Context(), canonical.Result{Raw: []byte("raw"), Observation: []byte("obs"), Evidence: canonical.Found}); err != nil {
		t.Fatal(err)
	}
	if r, ok := load(a).(canonical.Ready); !ok || !r.Valid() || r.Evidence() != canonical.Found || string(r.Record().Raw) != "raw" {
		t.Errorf("closed = %#v, want Ready with evidence", load(a))
	}
	if _, err := b.Ready(t.Context(), canonical.Result{Raw: []byte("raw"), Observation: []byte("obs"), Evidence: canonical.None, Items: []canonical.Item{{Key: "x"}}}); err != nil {
		t.Fatal(err)
	}
	if r, ok := load(b).(canonical.Ready); !ok || !r.Valid() || r.Evidence() != canonical.None {
		t.Errorf("closed = %#v, want Ready without evidence", load(b))
	}
	if _, err := c.Fail(t.Context(), fault.BackendTimeout, "", "", nil); err != nil {
		t.Fatal(err)
	}
	if f, ok := load(c).(canonical.Failed); !ok || f.Code() != fault.BackendTimeout {
		t.Errorf("failed = %#v, want Failed with its code", load(c))
	}
	if _, err := l.FindCall(t.Context(), "p", c.Key().Call()); !errors.Is(err, canonical.ErrNotFound) {
		t.Errorf("FindCall of an id that was not minted = %v, want ErrNotFound", err)
	}
	if _, err := l.FindCall(t.Context(), "p", "a"); !errors.Is(err, canonical.ErrNotFound) {
		t.Errorf("FindCall of another id = %v, want ErrNotFound", err)
	}
}

func TestZeroValuesAreUseless(t *testing.T) {
	var r canonical.Ready
	if r.Valid() || r.Evidence() != canonical.None || !r.Key().IsZero() {
		t.Error("the zero Ready claims something")
	}
	if (struct{ canonical.Ready }{}).Valid() {
		t.Error("an embedded zero Ready is valid")
	}
	l := canonical.NewLedger(memstore.New(nil), nil)
	if inv, err := l.Load(t.Context(), canonical.Key{}); inv != nil || !errors.Is(err, canonical.ErrNotFound) {
		t.Errorf("Load of the zero key = %v, %v", inv, err)
	}
}

func TestIncompleteStepsAreRefusedBeforeTheStore(t *testing.T) {
	d := &fake{}
	l := canonical.NewLedger(d, nil)
	for name, change := range map[string]func(*canonical.OpenArgs){
		"no nonce": func(a *canonical.OpenArgs) { a.Nonce = "" }, "no life": func(a *canonical.OpenArgs) { a.TTL = 0 },
		"no run": func(a *canonical.OpenArgs) { a.Run = "" }, "run and slot": func(a *canonical.OpenArgs) { a.Slot = "s" },
	} {
		a := args("r", "c")
		change(&a)
		if p, _, err := l.Open(t.Context(), a); p != nil || fault.CodeOf(err) != fault.Internal {
			t.Errorf("%s: Open = %v, %v, want INTERNAL", name, p, err)
		}
	}
	for want, change := range map[fault.Code]func(*canonical.OpenArgs){
		fault.InvalidRequest:    func(a *canonical.OpenArgs) { a.Run = "r:c" },
		fault.InvalidToolCallID: func(a *canonical.OpenArgs) { a.Run, a.Slot, a.MintRun, a.Call = "", "s", "run_abcdefghijklmnop", "c:d" },
	} {
		a := args("r", "c")
		change(&a)
		if p, _, err := l.Open(t.Context(), a); p != nil || fault.CodeOf(err) != want {
			t.Errorf("Open outside the grammar = %v, %v, want %s", p, err, want)
		}
	}
	if d.opened != 0 {
		t.Errorf("the store saw %d of them", d.opened)
	}
	p := pending(t, l, args("r", "c"))
	for _, r := range []canonical.Result{{}, {Raw: []byte("r")}, {Observation: []byte("o")}} {
		if _, err := p.Ready(t.Context(), r); fault.CodeOf(err) != fault.Internal || d.closed != 0 {
			t.Errorf("Ready without content = %v, want INTERNAL", err)
		}
	}
}

// fake is a store that gives out what it is told and keeps what it is sent.
type fake struct {
	canonical.Driver
	rec            canonical.Record
	err            error
	opened, closed int
	sent           canonical.CloseArgs
}

func (f *fake) Open(_ context.Context, a canonical.OpenArgs) (canonical.Grant, error) {
	f.opened++
	return canonical.Grant{Run: a.Run, ExpiresAt: time.UnixMilli(1)}, nil
}

func (f *fake) Close(_ context.Context, a canonical.CloseArgs) (canonical.Closed, error) {
	f.closed++
	f.sent = a
	return canonical.Closed{}, nil
}

func (f *fake) Load(context.Context, canonical.Key) (canonical.Record, bool, error) {
	return f.rec, true, f.err
}

func TestRecordsOutOfShapeAreNotGivenOut(t *testing.T) {
	now := time.Unix(1000, 0)
	good := canonical.Record{Run: "r", Call: "c", State: canonical.StateReady, Evidence: "EVIDENCE_FOUND", Raw: []byte("r"), Observation: []byte("o"), ExpiresAt: now.Add(time.Minute)}
	k, err := canonical.NewKey("p", "r", "c")
	if err != nil {
		t.Fatal(err)
	}
	load := func(rec canonical.Record, err error) (canonical.Invocation, error) {
		return canonical.NewLedger(&fake{rec: rec, err: err}, func() time.Time { return now }).Load(t.Context(), k)
	}
	if inv, err := load(good, nil); err != nil {
		t.Fatalf("a good record = %v, %v", inv, err)
	}
	for name, change := range map[string]func(*canonical.Record){
		"READY without observation": func(r *canonical.Record) { r.Observation = nil }, "READY without raw": func(r *canonical.Record) { r.Raw = nil },
		"READY with ERROR": func(r *canonical.Record) { r.Evidence = "ERROR" }, "READY with nothing": func(r *canonical.Record) { r.Evidence = "" },
		"PROJECTING with evidence": func(r *canonical.Record) { r.State = canonical.StateProjecting },
		"ERROR with evidence":      func(r *canonical.Record) { r.State, r.Code = canonical.StateError, "INTERNAL" },
		"ERROR with content":       func(r *canonical.Record) { r.State, r.Code, r.Evidence = canonical.StateError, "INTERNAL", "ERROR" },
		"ERROR without code": func(r *canonical.Record) {
			r.State, r.Evidence, r.Raw, r.Observation = canonical.StateError, "ERROR", nil, nil
		},
		"unknown state": func(r *canonical.Record) { r.State = "DONE" }, "bad id": func(r *canonical.Record) { r.Call = "a b" },
	} {
		rec := good
		change(&rec)
		if inv, err := load(rec, nil); inv != nil || fault.CodeOf(err) != fault.StoreError {
			t.Errorf("%s = %v, %v, want STORE_ERROR", name, inv, err)
		}
	}
	if inv, err := load(good, fault.New(fault.StoreError, "x", nil)); inv != nil || fault.CodeOf(err) != fault.StoreError {
		t.Errorf("a failing store = %v, %v", inv, err)
	}
	for past, gone := range map[time.Duration]bool{0: false, 900 * time.Millisecond: false, 1100 * time.Millisecond: true, time.Hour: true} {
		rec := good
		rec.ExpiresAt = now.Add(-past)
		if _, err := load(rec, nil); errors.Is(err, canonical.ErrNotFound) != gone {
			t.Errorf("%v past its deadline by the gateway's clock: %v, want gone %v", past, err, gone)
		}
	}
}

func TestWhatARunRemembersIsBoundedBeforeTheStore(t *testing.T) {
	d := &fake{}
	l := canonical.NewLedger(d, nil)
	p := pending(t, l, args("r", "c"))
	var items []canonical.Item
	for i := range canonical.MaxItems + 10 {
		items = append(items, canonical.Item{Key: fmt.Sprint(i), Detail: strings.Repeat("d", 1000+i)})
	}
	if _, err := p.Ready(t.Context(), canonical.Result{Raw: []byte("r"), Observation: []byte("o"), Evidence: canonical.Found, Items: items, ScopeID: strings.Repeat("s", 1000), Scope: strings.Repeat("数", 200)}); err != nil {
		t.Fatal(err)
	}
	if n := len(d.sent.Items); n != canonical.MaxItems {
		t.Errorf("%d items, want %d", n, canonical.MaxItems)
	}
	for i, it := range d.sent.Items {
		if it.Key != items[i].Key || len(it.Detail) != 64 {
			t.Fatalf("item %d = %q with a detail of %d bytes, want its key and a digest", i, it.Key, len(it.Detail))
		}
	}
	if d.sent.Items[0].Detail == d.sent.Items[1].Detail {
		t.Error("two details became one")
	}
	if len(d.sent.ScopeID) != 64 || len(d.sent.Scope) > 256 || len(d.sent.Scope) < 250 || !utf8.ValidString(d.sent.Scope) {
		t.Errorf("scope id of %d bytes, scope of %d", len(d.sent.ScopeID), len(d.sent.Scope))
	}
	if d.sent.Key != p.Key() || d.sent.Nonce != "nonce c" || !d.sent.ExpiresAt.Equal(time.UnixMilli(1)) || !bytes.Equal(d.sent.Raw, []byte("r")) {
		t.Errorf("CLOSE = %+v", d.sent)
	}
	if _, err := p.Ready(t.Context(), canonical.Result{Raw: []byte("r"), Observation: []byte("o"), Evidence: canonical.None, Items: items}); err != nil || d.sent.Items != nil {
		t.Errorf("an empty answer brought %d items", len(d.sent.Items))
	}
	if _, err := p.Fail(t.Context(), "free text with a secret", "", "", nil); err != nil || d.sent.Code != "INTERNAL" {
		t.Errorf("an unknown code was stored as %q", d.sent.Code)
	}
}
