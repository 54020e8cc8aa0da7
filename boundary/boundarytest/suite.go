// Package boundarytest is the suite that every tool runs: what docs/design.md promises of a call must hold for each tool on its real backend. A tool brings a few
// requests whose answers it knows; the suite drives them through a real Boundary over a memory store.
package boundarytest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/memstore"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// Subject is a tool under test. Args are JSON objects.
type Subject struct {
	// Tool works on a real local backend.
	Tool boundary.BoundTool
	// Found has an answer with evidence from which nothing is missing, in the default bound of an observation.
	Found string
	// Empty has a complete answer without evidence.
	Empty string
	// Cut has an answer that does not fit whole. "" if the tool has no such request.
	Cut string
	// Secret occurs in the backend's answer to Found and must occur in no observation. "" if the backend holds none.
	Secret string
	// Endless is a tool and a request whose backend never stops sending. nil if the backend cannot do that.
	Endless func(t *testing.T) (boundary.BoundTool, string)
	// Stuck is a tool and a request whose backend accepts and never answers; started is closed or sent to when the backend has the request.
	Stuck func(t *testing.T) (tool boundary.BoundTool, args string, started <-chan struct{})
	// Restricted is a kind and a name that the tool serves to unrestricted callers: a caller without it must get INVALID_REQUEST and must not read the name in the
	// description.
	Restricted boundary.Kind
	Name       string
	// Now is the clock of the calls; zero means 2026-01-01T12:00:00Z.
	Now time.Time
}

// fixedSalt makes two runs mask alike, so that their bytes can be compared.
type fixedSalt struct{ *canonical.Ledger }

func (l fixedSalt) Open(ctx context.Context, a canonical.OpenArgs) (*canonical.Pending, canonical.Grant, error) {
	a.Salt = canonical.Salt{1, 2, 3}
	return l.Ledger.Open(ctx, a)
}

// rig is one boundary over one store.
type rig struct {
	b      *boundary.Boundary
	ledger *canonical.Ledger
	rows   []boundary.AuditRecord
}

func (r *rig) Audit(a boundary.AuditRecord) { r.rows = append(r.rows, a) }

func newRig(t testing.TB, s Subject, tool boundary.BoundTool, l boundary.Limits) *rig {
	t.Helper()
	now := s.Now
	if now.IsZero() {
		now = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	}
	clock := func() time.Time { return now }
	r := &rig{ledger: canonical.NewLedger(memstore.New(clock), clock)}
	b, err := boundary.New(boundary.Options{Ledger: fixedSalt{r.ledger}, Auditor: r, Limits: l, Clock: clock}, tool)
	if err != nil {
		t.Fatal(err)
	}
	r.b = b
	return r
}

// principal and runID name the caller of all calls of the suite.
const (
	principal = "suite"
	runID     = "run-suite"
)

func run(g boundary.Grants) boundary.Run {
	return boundary.Run{Principal: principal, ID: runID, Grants: g, Spec: &canonical.RunSpec{TTL: time.Hour,
		Limits: canonical.Limits{Calls: 10_000, RequestBytes: 1 << 30, RawBytes: 1 << 40, ObservationBytes: 1 << 30}, NoGain: canonical.NoGain{Limit: 1000, Window: 1000}}}
}

// outcome of one call: an observation or a code.
type outcome struct {
	obs  []byte
	code fault.Code
	hint string
}

func (r *rig) call(t testing.TB, ctx context.Context, tool, id, args string) outcome {
	t.Helper()
	return r.callAs(t, ctx, boundary.Grants{}, tool, id, args)
}

func (r *rig) callAs(t testing.TB, ctx context.Context, g boundary.Grants, tool, id, args string) outcome {
	t.Helper()
	o, err := r.b.Invoke(ctx, run(g), boundary.Envelope{CallID: id, Tool: tool, Args: json.RawMessage(args)})
	if err != nil {
		ref, ok := errors.AsType[*boundary.Refusal](err)
		if !ok {
			t.Fatalf("Invoke returned %T, want *boundary.Refusal", err)
		}
		return outcome{code: ref.Code, hint: ref.Hint}
	}
	return outcome{obs: o.Result()}
}

func (r *rig) record(t testing.TB, id string) (canonical.Record, error) {
	t.Helper()
	k, err := canonical.NewKey(principal, runID, id)
	if err != nil {
		t.Fatal(err)
	}
	inv, err := r.ledger.Load(t.Context(), k)
	if err != nil {
		return canonical.Record{}, err
	}
	return inv.Record(), nil
}

// header is the part of an observation that the suite reads.
type header struct {
	Evidence  string          `json:"evidence_status"`
	Truncated *bool           `json:"truncated"`
	Call      string          `json:"tool_call_id"`
	Run       string          `json:"run_id"`
	Scope     json.RawMessage `json:"scope"`
}

func read(t testing.TB, o outcome) header {
	t.Helper()
	var h header
	if o.code != "" {
		t.Fatalf("refused with %s (%s)", o.code, o.hint)
	}
	if err := json.Unmarshal(o.obs, &h); err != nil {
		t.Fatalf("observation is no JSON: %v", err)
	}
	if h.Truncated == nil || h.Call == "" || h.Run != runID || len(h.Scope) == 0 {
		t.Fatalf("observation lacks a common member: %.200s", o.obs)
	}
	return h
}

// Run runs the suite.
func Run(t *testing.T, s Subject) {
	name := s.Tool.Spec().Name
	t.Run("found and empty", func(t *testing.T) { foundAndEmpty(t, s, name) })
	t.Run("strict parsing", func(t *testing.T) { strict(t, s, name) })
	t.Run("same input, same bytes", func(t *testing.T) { deterministic(t, s, name) })
	t.Run("truncated says what is missing", func(t *testing.T) { truncated(t, s, name) })
	t.Run("raw at the limit and one byte over", func(t *testing.T) { rawLimit(t, s, name) })
	t.Run("replay gives the stored observation", func(t *testing.T) { replay(t, s, name) })
	t.Run("schemas are closed and name every member", func(t *testing.T) { schemas(t, s, name) })
	if s.Endless != nil {
		t.Run("an endless backend is stopped", func(t *testing.T) { endless(t, s, name) })
	}
	if s.Stuck != nil {
		t.Run("cancel returns", func(t *testing.T) { cancelled(t, s, name) })
		t.Run("a stuck backend ends in a timeout", func(t *testing.T) { timeout(t, s, name) })
	}
	if s.Restricted != "" {
		t.Run("a forbidden name is like an unknown one", func(t *testing.T) { restricted(t, s, name) })
	}
}

func foundAndEmpty(t *testing.T, s Subject, name string) {
	r := newRig(t, s, s.Tool, boundary.Limits{})
	for _, c := range []struct{ id, args, want string }{{"found", s.Found, "EVIDENCE_FOUND"}, {"empty", s.Empty, "NO_EVIDENCE"}} {
		o := r.call(t, t.Context(), name, c.id, c.args)
		h := read(t, o)
		if h.Evidence != c.want || *h.Truncated {
			t.Errorf("%s: evidence_status %s, truncated %v, want %s, false", c.id, h.Evidence, *h.Truncated, c.want)
		}
		rec, err := r.record(t, c.id)
		if err != nil || rec.State != canonical.StateReady || rec.Evidence != c.want || !bytes.Equal(rec.Observation, o.obs) {
			t.Errorf("%s: record %s %s, %v", c.id, rec.State, rec.Evidence, err)
		}
		if s.Secret != "" && bytes.Contains(o.obs, []byte(s.Secret)) {
			t.Errorf("%s: the planted secret is in the observation", c.id)
		}
		if c.id == "found" && s.Secret != "" && !bytes.Contains(rec.Raw, []byte(s.Secret)) {
			t.Logf("the secret is not in the raw answer either: the backend keeps it masked")
		}
	}
	for _, a := range r.rows {
		if b, err := json.Marshal(a); err != nil || s.Secret != "" && bytes.Contains(b, []byte(s.Secret)) {
			t.Errorf("audit row %s %v", b, err)
		}
	}
}

// mutations are requests made from a good one that strict parsing must refuse.
func mutations(t *testing.T, good string) map[string]string {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(good), &members); err != nil || len(members) == 0 {
		t.Fatalf("Found is no object with members: %s", good)
	}
	head := strings.TrimSuffix(strings.TrimSpace(good), "}")
	out := map[string]string{
		"unknown member":  head + `,"surprise_me":1}`,
		"trailing data":   good + ` {}`,
		"not an object":   `[` + good + `]`,
		"no JSON":         `{"`,
		"null for object": `null`,
	}
	for k, v := range members {
		out["member "+k+" twice"] = head + fmt.Sprintf(`,%q:%s}`, k, v)
		out["member "+k+" in capitals"] = strings.Replace(good, `"`+k+`"`, `"`+strings.ToUpper(k)+`"`, 1)
		out["member "+k+" as object"] = strings.Replace(good, string(v), `{"x":1}`, 1)
		out["member "+k+" as boolean"] = strings.Replace(good, string(v), `true`, 1)
	}
	return out
}

func strict(t *testing.T, s Subject, name string) {
	r := newRig(t, s, s.Tool, boundary.Limits{})
	for what, args := range mutations(t, s.Found) {
		o := r.call(t, t.Context(), name, "c-strict", args)
		if o.code != fault.InvalidRequest {
			t.Errorf("%s: %q, want INVALID_REQUEST for %s", what, o.code, args)
		}
		if _, err := r.record(t, "c-strict"); !errors.Is(err, canonical.ErrNotFound) {
			t.Fatalf("%s: a refused request left a record (%v)", what, err)
		}
	}
	if o := newRig(t, s, s.Tool, boundary.Limits{MaxRequest: len(s.Found) - 1}).call(t, t.Context(), name, "c", s.Found); o.code != fault.RequestTooLarge {
		t.Errorf("request one byte over its limit: %q, want REQUEST_TOO_LARGE", o.code)
	}
}

func deterministic(t *testing.T, s Subject, name string) {
	for _, args := range []string{s.Found, s.Empty, s.Cut} {
		if args == "" {
			continue
		}
		a := newRig(t, s, s.Tool, boundary.Limits{}).call(t, t.Context(), name, "c", args)
		b := newRig(t, s, s.Tool, boundary.Limits{}).call(t, t.Context(), name, "c", args)
		if !bytes.Equal(a.obs, b.obs) || a.code != b.code {
			t.Errorf("%s gave\n%s %s\nthen\n%s %s", args, a.obs, a.code, b.obs, b.code)
		}
	}
}

func truncated(t *testing.T, s Subject, name string) {
	whole := newRig(t, s, s.Tool, boundary.Limits{}).call(t, t.Context(), name, "c", s.Found)
	read(t, whole)
	for _, size := range []int{32 << 10, 4 << 10, 2 << 10, 1 << 10} {
		o := newRig(t, s, s.Tool, boundary.Limits{MaxObservation: size}).call(t, t.Context(), name, "c", s.Found)
		if o.code == fault.ProjectionError && size < 2<<10 {
			continue // not even the scope may fit
		}
		h := read(t, o)
		if len(o.obs) > size {
			t.Errorf("observation of %d bytes in a bound of %d", len(o.obs), size)
		}
		if !*h.Truncated && len(o.obs) < len(whole.obs) {
			t.Errorf("bound %d: %d bytes instead of %d, not marked truncated", size, len(o.obs), len(whole.obs))
		}
	}
	if s.Cut == "" {
		return
	}
	o := newRig(t, s, s.Tool, boundary.Limits{}).call(t, t.Context(), name, "c", s.Cut)
	if h := read(t, o); !*h.Truncated || len(o.obs) > 16<<10 {
		t.Errorf("%d bytes, truncated %v, want at most %d, true", len(o.obs), *h.Truncated, 16<<10)
	}
}

// rawLimit finds the smallest limit that lets Found through: one byte less must refuse it as a whole.
func rawLimit(t *testing.T, s Subject, name string) {
	try := func(limit int64) (outcome, *rig) {
		r := newRig(t, s, s.Tool, boundary.Limits{MaxRaw: limit})
		return r.call(t, t.Context(), name, "c", s.Found), r
	}
	lo, hi := int64(0), int64(4<<20) // refused at lo, served at hi
	want, _ := try(hi)
	read(t, want)
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		if o, _ := try(mid); o.code == "" {
			hi = mid
		} else {
			lo = mid
		}
	}
	if o, _ := try(hi); !bytes.Equal(o.obs, want.obs) {
		t.Errorf("at the limit of %d bytes the observation differs", hi)
	}
	o, r := try(hi - 1)
	if o.code != fault.RawTooLarge || o.obs != nil {
		t.Errorf("one byte over: %q, want RAW_TOO_LARGE and no observation", o.code)
	}
	if rec, err := r.record(t, "c"); err != nil || rec.State != canonical.StateError || rec.Code != string(fault.RawTooLarge) || len(rec.Raw) != 0 {
		t.Errorf("one byte over: record %s %s with %d raw bytes, %v", rec.State, rec.Code, len(rec.Raw), err)
	}
}

func replay(t *testing.T, s Subject, name string) {
	r := newRig(t, s, s.Tool, boundary.Limits{})
	for id, args := range map[string]string{"found": s.Found, "empty": s.Empty, "cut": s.Cut} {
		if args == "" {
			continue
		}
		read(t, r.call(t, t.Context(), name, id, args))
		rec, err := r.record(t, id)
		if err != nil {
			t.Fatal(err)
		}
		again, err := r.b.Replay(rec)
		if err != nil || !bytes.Equal(again, rec.Observation) {
			t.Errorf("%s: replay gave\n%s\n%v, stored is\n%s", id, again, err, rec.Observation)
		}
		rec.Projector += "-other"
		if _, err := r.b.Replay(rec); !errors.Is(err, canonical.ErrOtherProjector) {
			t.Errorf("%s: replay under another projector version: %v", id, err)
		}
	}
}

func endless(t *testing.T, s Subject, _ string) {
	tool, args := s.Endless(t)
	r := newRig(t, s, tool, boundary.Limits{MaxRaw: 256 << 10, Timeout: 30 * time.Second})
	o := r.call(t, t.Context(), tool.Spec().Name, "c", args)
	if o.code != fault.RawTooLarge {
		t.Errorf("endless backend: %q, want RAW_TOO_LARGE", o.code)
	}
}

func cancelled(t *testing.T, s Subject, _ string) {
	tool, args, started := s.Stuck(t)
	r := newRig(t, s, tool, boundary.Limits{Timeout: time.Minute})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	if o := r.call(t, ctx, tool.Spec().Name, "c", args); o.code != fault.Cancelled {
		t.Errorf("cancelled call: %q, want CANCELLED", o.code)
	}
	if rec, err := r.record(t, "c"); err != nil || rec.State != canonical.StateError || rec.Code != string(fault.Cancelled) {
		t.Errorf("cancelled call: record %s %s, %v", rec.State, rec.Code, err)
	}
}

func timeout(t *testing.T, s Subject, _ string) {
	tool, args, _ := s.Stuck(t)
	r := newRig(t, s, tool, boundary.Limits{Timeout: 200 * time.Millisecond})
	if o := r.call(t, t.Context(), tool.Spec().Name, "c", args); o.code != fault.BackendTimeout {
		t.Errorf("stuck backend: %q, want BACKEND_TIMEOUT", o.code)
	}
}

func restricted(t *testing.T, s Subject, name string) {
	g := boundary.NewGrants(map[boundary.Kind][]string{s.Restricted: {}})
	r := newRig(t, s, s.Tool, boundary.Limits{})
	if o := r.callAs(t, t.Context(), g, name, "c", s.Found); o.code != fault.InvalidRequest || strings.Contains(strings.ReplaceAll(o.hint, s.Found, ""), s.Name) && !strings.Contains(s.Found, s.Name) {
		t.Errorf("without the grant: %q (%s), want INVALID_REQUEST", o.code, o.hint)
	}
	spec := s.Tool.Spec()
	if d := spec.Describe(boundary.Grants{}); !strings.Contains(d, s.Name) || len(d) > 2<<10 {
		t.Errorf("description of %d bytes, names %q: %v", len(d), s.Name, strings.Contains(d, s.Name))
	}
	if strings.Contains(spec.Describe(g), s.Name) {
		t.Errorf("the description names %q to a caller without it", s.Name)
	}
}
