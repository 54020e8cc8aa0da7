package harness_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/memstore"
	"github.com/seed-069badc9/mcp-gateway/harness"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

func TestSourcesOfTheRun(t *testing.T) {
	implicit := harness.New(memstore.New(time.Now), harness.DefaultPolicy())
	p := harness.DefaultPolicy()
	p.Mode = canonical.Registered
	registered := harness.New(memstore.New(time.Now), p)
	for _, c := range []struct {
		name    string
		r       *harness.Runs
		id      boundary.Identity
		run     string
		slot    string // prefix
		refused fault.Code
	}{
		{"binding", implicit, boundary.Identity{Binding: "r1"}, "r1", "", ""},
		{"header", implicit, boundary.Identity{Header: "r1"}, "r1", "", ""},
		{"meta", implicit, boundary.Identity{Meta: "r1"}, "r1", "", ""},
		{"all three agree", implicit, boundary.Identity{Binding: "r1", Header: "r1", Meta: "r1"}, "r1", "", ""},
		{"header against binding", implicit, boundary.Identity{Binding: "r1", Header: "r2"}, "r1", "", fault.RunMismatch},
		{"meta against binding", implicit, boundary.Identity{Binding: "r1", Meta: "r2"}, "r1", "", fault.RunMismatch},
		{"meta against header", implicit, boundary.Identity{Header: "r1", Meta: "r2"}, "r1", "", fault.RunMismatch},
		{"malformed", implicit, boundary.Identity{Header: "a b"}, "", "", fault.InvalidRequest},
		{"reserved", implicit, boundary.Identity{Meta: "current"}, "", "", fault.InvalidRequest},
		{"explicit outranks the conversation", implicit, boundary.Identity{Meta: "r1", Conversation: "threadId:x"}, "r1", "", ""},
		{"conversation", implicit, boundary.Identity{Conversation: "threadId:x", Process: "p"}, "", "c-", ""},
		{"process", implicit, boundary.Identity{Process: "p"}, "", "p-", ""},
		{"nothing", implicit, boundary.Identity{}, "", "default", ""},
		{"registered and named", registered, boundary.Identity{Header: "r1"}, "r1", "", ""},
		{"registered and not named", registered, boundary.Identity{Conversation: "x"}, "", "", fault.RunNotActive},
	} {
		c.id.Principal = "alice"
		got := c.r.Resolve(c.id)
		if got.ID != c.run || !strings.HasPrefix(got.Slot, c.slot) || (c.slot == "") != (got.Slot == "") || fault.CodeOf(got.Refusal) != c.refused || got.Principal != "alice" {
			t.Errorf("%s: id %q slot %q refusal %v", c.name, got.ID, got.Slot, got.Refusal)
		}
		if (got.Spec != nil) != (c.r == implicit) {
			t.Errorf("%s: spec %v", c.name, got.Spec)
		}
		if got.Slot != "" && !canonical.ValidID(got.MintRun) {
			t.Errorf("%s: minted run %q", c.name, got.MintRun)
		}
	}
}

// What is remembered of principals is bounded; past the bound "current" has to be named.
func TestServedRunsAreBounded(t *testing.T) {
	r := harness.New(memstore.New(time.Now), harness.DefaultPolicy())
	for i := range harness.MaxServed {
		r.Observe(boundary.ControlView{Principal: fmt.Sprint("p", i), Run: "r1"})
	}
	r.Observe(boundary.ControlView{Principal: "late", Run: "r1"})
	r.Observe(boundary.ControlView{Principal: "p0"}) // a call refused before it had a run
	if r.Current("late", "") != "" || r.Current("late", "r7") != "r7" || r.Current("p0", "") != "r1" {
		t.Error("past the bound")
	}
}

func TestConversationsAreHashedAndApart(t *testing.T) {
	r := harness.New(memstore.New(time.Now), harness.DefaultPolicy())
	slot := func(c string) string { return r.Resolve(boundary.Identity{Principal: "a", Conversation: c}).Slot }
	if again := slot("threadId:secret-words"); slot("threadId:secret-words") != again || slot("threadId:x") == slot("threadId:y") || strings.Contains(slot("threadId:secret-words"), "secret") {
		t.Error("slots of conversations")
	}
}

func TestCurrentIsTheOnlyRunServed(t *testing.T) {
	r := harness.New(memstore.New(time.Now), harness.DefaultPolicy())
	if got := r.Current("alice", ""); got != "" {
		t.Errorf("before any call: %q", got)
	}
	r.Observe(boundary.ControlView{Principal: "alice", Run: "r1"})
	r.Observe(boundary.ControlView{Principal: "bob", Run: "r9"})
	if r.Current("alice", "") != "r1" || r.Current("bob", "") != "r9" || r.Current("alice", "r7") != "r7" {
		t.Error("with one run served")
	}
	r.Observe(boundary.ControlView{Principal: "alice", Run: "r2"})
	r.Observe(boundary.ControlView{Principal: "alice", Run: "r1"})
	if got := r.Current("alice", ""); got != "" {
		t.Errorf("with two runs served: %q", got)
	}
}

// A process closes the runs that were minted for it and no others; their records stay.
func TestEndOfAProcessClosesItsOwnRuns(t *testing.T) {
	d := memstore.New(time.Now)
	r := harness.New(d, harness.DefaultPolicy())
	l := canonical.NewLedger(d, nil)
	open := func(run boundary.Run, call string) canonical.Grant {
		_, g, err := l.Open(t.Context(), canonical.OpenArgs{Principal: "alice", Run: run.ID, Slot: run.Slot, MintRun: run.MintRun, Call: call, Nonce: call, Tool: "t", Request: []byte("{}"),
			Projector: "1", TTL: time.Hour, RequestBytes: 2, Implicit: run.Spec, Ceilings: run.Ceilings})
		if err != nil {
			t.Fatal(err)
		}
		r.Observe(boundary.ControlView{Principal: "alice", Run: g.Run})
		return g
	}
	minted := open(r.Resolve(boundary.Identity{Principal: "alice", Process: "p1"}), "c1")
	if again := open(r.Resolve(boundary.Identity{Principal: "alice", Process: "p1"}), "c1b"); again.Run != minted.Run {
		t.Errorf("one process has the runs %s and %s", minted.Run, again.Run)
	}
	named := open(r.Resolve(boundary.Identity{Principal: "alice", Binding: "inc-1"}), "c2")
	talk := open(r.Resolve(boundary.Identity{Principal: "alice", Process: "p1", Conversation: "threadId:x"}), "c3")
	// A run that the harness has opened under a minted id, and this process was bound to.
	k0, err := canonical.NewRunKey("alice", boundary.MintRunID())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.OpenRun(t.Context(), k0, harness.DefaultPolicy().Defaults, canonical.Registered, canonical.Salt{1}, canonical.Ceilings{}); err != nil {
		t.Fatal(err)
	}
	bound := open(r.Resolve(boundary.Identity{Principal: "alice", Process: "p1", Binding: k0.Run()}), "c4")
	if err := r.EndProcess(t.Context()); err != nil {
		t.Fatal(err)
	}
	for run, active := range map[string]bool{minted.Run: false, named.Run: true, talk.Run: true, bound.Run: true} {
		k, err := canonical.NewRunKey("alice", run)
		if err != nil {
			t.Fatal(err)
		}
		info, found, err := d.Run(t.Context(), k)
		if err != nil || !found || info.Active != active {
			t.Errorf("%s: %+v %v %v, want active %v", run, info, found, err, active)
		}
	}
	k, _ := canonical.NewKey("alice", minted.Run, "c1")
	if _, err := l.Load(t.Context(), k); err != nil {
		t.Errorf("the record went with the run: %v", err)
	}
	if err := r.EndProcess(t.Context()); err != nil {
		t.Errorf("twice: %v", err)
	}
}
