package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/config"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/internal/servertest"
)

// pausing is a tool whose backend runs a function in the middle of the call.
type pausing struct{ during func() }

type word struct {
	Word string `json:"word"`
}

func (p *pausing) Spec() boundary.Spec {
	return boundary.Spec{Name: "query_words", ReadOnly: true, Projector: "1", Describe: func(boundary.Grants) string { return "" },
		InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: json.RawMessage(`{"type":"object"}`)}
}
func (p *pausing) Parse(args json.RawMessage, _ boundary.ParseContext) (w word, err error) {
	return w, boundary.StrictArgs("test", args, &w)
}
func (p *pausing) Scope(w word) boundary.Scope { return boundary.Scope{Normal: w.Word, Text: w.Word} }
func (p *pausing) Execute(_ context.Context, _ *boundary.Permit, w word, _ canonical.Salt) (word, error) {
	if p.during != nil {
		p.during()
	}
	return w, nil
}
func (p *pausing) Project(_, raw word, _ boundary.View) (boundary.Projection[word], error) {
	return boundary.Projection[word]{Observation: raw, Evidence: canonical.Found, Count: 1}, nil
}

// Redis dies between OPEN and CLOSE: the client gets STORE_ERROR, no observation leaves, the record is never READY, and the next call works once Redis is back.
func TestTheStoreDiesInMidCall(t *testing.T) {
	r := servertest.StartRedis(t)
	store, err := openStore(&config.Config{Canonical: config.Canonical{Store: config.NewSecret(r.URL())}}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Shutdown() })
	ledger := canonical.NewLedger(store, nil)
	tool := &pausing{}
	b, err := boundary.New(boundary.Options{Ledger: ledger}, boundary.Bind(tool))
	if err != nil {
		t.Fatal(err)
	}
	run := boundary.Run{Principal: "p", ID: "r1", Spec: &canonical.RunSpec{TTL: time.Hour, NoGain: canonical.NoGain{Limit: 8, Window: 10},
		Limits: canonical.Limits{Calls: 100, RequestBytes: 1e6, RawBytes: 1e6, ObservationBytes: 1e6}}}
	invoke := func(id string) (boundary.Observation, fault.Code) {
		o, err := b.Invoke(t.Context(), run, boundary.Envelope{CallID: id, Tool: "query_words", Args: json.RawMessage(`{"word":"` + id + `"}`)})
		if err == nil {
			return o, ""
		}
		ref, ok := errors.AsType[*boundary.Refusal](err)
		if !ok {
			t.Fatalf("%T", err)
		}
		return o, ref.Code
	}
	if _, code := invoke("before"); code != "" {
		t.Fatal(code)
	}
	for name, hurt := range map[string]func(){"killed": r.Kill, "frozen": r.Freeze} {
		tool.during = hurt
		o, code := invoke("during-" + name)
		if code != fault.StoreError || !o.IsZero() {
			t.Errorf("%s: %q, observation %v, want STORE_ERROR and none", name, code, !o.IsZero())
		}
		tool.during = nil
		if _, code := invoke("meanwhile-" + name); code != fault.StoreError {
			t.Errorf("%s: a call meanwhile: %q, want STORE_ERROR", name, code)
		}
		if name == "killed" {
			r.Restart()
		} else {
			r.Thaw()
		}
		if _, code := invoke("after-" + name); code != "" {
			t.Errorf("%s: the next call once the store is back: %q", name, code)
		}
		k, err := canonical.NewKey("p", "r1", "during-"+name)
		if err != nil {
			t.Fatal(err)
		}
		if inv, err := ledger.Load(t.Context(), k); err == nil {
			if _, ready := inv.(canonical.Ready); ready {
				// A frozen server may carry out the CLOSE that it had received; then the record has its whole content, and only the delivery is missing.
				if name == "killed" || len(inv.Record().Observation) == 0 || len(inv.Record().Raw) == 0 {
					t.Errorf("%s: the record is READY", name)
				}
			}
		} else if !errors.Is(err, canonical.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheExampleConfigurationIsTheStarter(t *testing.T) {
	example, err := os.ReadFile(filepath.Join("..", "..", "examples", "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if string(example) != string(starter) {
		t.Error("examples/config.yaml differs from what init writes")
	}
}
