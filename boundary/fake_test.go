package boundary_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/memstore"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// lines is a small real tool: it answers with lines of its own text that contain a word.
type lines struct {
	text     []string
	readOnly bool
	name     string
	version  string
	execute  func(ctx context.Context, p *boundary.Permit) error // runs first
	project  func()
	fat      int // bytes added to the observation beyond its bound
}

type lineReq struct {
	Word string `json:"word"`
}

type lineRaw struct {
	Lines []string `json:"lines"`
}

type lineObs struct {
	Scope lineReq  `json:"scope"`
	Lines []string `json:"lines"`
	Fat   string   `json:"fat,omitzero"`
}

func newLines(text ...string) *lines {
	return &lines{text: text, readOnly: true, name: "query_lines", version: "1"}
}

func (l *lines) Spec() boundary.Spec {
	return boundary.Spec{Name: l.name, Title: "Lines", ReadOnly: l.readOnly, Projector: l.version, Describe: func(boundary.Grants) string { return "lines" },
		InputSchema:  json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}},"required":["word"],"additionalProperties":false}`),
		OutputSchema: json.RawMessage(`{"type":"object"}`)}
}

func (l *lines) Parse(args json.RawMessage, _ boundary.ParseContext) (lineReq, error) {
	var r lineReq
	if err := boundary.StrictArgs("lines.Parse", args, &r); err != nil {
		return r, err
	}
	if r.Word == "panic" {
		panic("word SECRET-IN-PANIC")
	}
	return r, nil
}

func (l *lines) Scope(r lineReq) boundary.Scope {
	return boundary.Scope{Normal: strings.ToLower(r.Word), Text: "lines with " + r.Word}
}

func (l *lines) Execute(ctx context.Context, p *boundary.Permit, r lineReq, _ canonical.Salt) (lineRaw, error) {
	if l.execute != nil {
		if err := l.execute(ctx, p); err != nil {
			return lineRaw{}, err
		}
	}
	var raw lineRaw
	for _, t := range l.text {
		if strings.Contains(t, r.Word) {
			if err := p.Take(len(t)); err != nil {
				return lineRaw{}, err
			}
			raw.Lines = append(raw.Lines, t)
		}
	}
	return raw, nil
}

func (l *lines) Project(r lineReq, raw lineRaw, v boundary.View) (boundary.Projection[lineObs], error) {
	if l.project != nil {
		l.project()
	}
	p := boundary.Projection[lineObs]{Observation: lineObs{Scope: r, Lines: []string{}}}
	room := v.MaxBytes - 64 - len(r.Word)
	for _, t := range raw.Lines {
		if room -= len(t) + 3; room < 0 {
			p.Truncated = true
			break
		}
		p.Observation.Lines = append(p.Observation.Lines, t)
		p.Items = append(p.Items, canonical.Item{Key: t})
	}
	if l.fat > 0 {
		p.Observation.Fat = strings.Repeat("x", v.MaxBytes+l.fat)
	}
	p.Evidence = canonical.Evidence(len(raw.Lines) > 0)
	p.Count = len(p.Observation.Lines)
	return p, nil
}

// world is a boundary over a memory store, with everything it tells recorded.
type world struct {
	*boundary.Boundary
	ledger *canonical.Ledger
	store  *memstore.Store
	mu     sync.Mutex
	rows   []boundary.AuditRecord
	views  []boundary.ControlView
}

func (w *world) Audit(a boundary.AuditRecord) { w.mu.Lock(); w.rows = append(w.rows, a); w.mu.Unlock() }
func (w *world) Observe(v boundary.ControlView) {
	w.mu.Lock()
	w.views = append(w.views, v)
	w.mu.Unlock()
}

func newWorld(t testing.TB, l boundary.Limits, wrap func(*canonical.Ledger) boundary.Ledger, tools ...boundary.BoundTool) *world {
	t.Helper()
	w := &world{store: memstore.New(time.Now)}
	w.ledger = canonical.NewLedger(w.store, nil)
	var led boundary.Ledger = w.ledger
	if wrap != nil {
		led = wrap(w.ledger)
	}
	b, err := boundary.New(boundary.Options{Ledger: led, Auditor: w, Controller: w, Limits: l}, tools...)
	if err != nil {
		t.Fatal(err)
	}
	w.Boundary = b
	return w
}

func spec() *canonical.RunSpec {
	return &canonical.RunSpec{TTL: time.Hour, Limits: canonical.Limits{Calls: 100, RequestBytes: 1 << 20, RawBytes: 64 << 20, ObservationBytes: 1 << 20},
		NoGain: canonical.NoGain{Limit: 2, Window: 4}}
}

func inRun(id string) boundary.Run {
	return boundary.Run{Principal: "alice", ID: id, Spec: spec()}
}

func envelope(id, word string) boundary.Envelope {
	b, _ := json.Marshal(lineReq{word})
	return boundary.Envelope{CallID: id, Tool: "query_lines", Args: b}
}

func codeOf(t testing.TB, err error) fault.Code {
	t.Helper()
	if err == nil {
		return ""
	}
	r, ok := errors.AsType[*boundary.Refusal](err)
	if !ok {
		t.Fatalf("Invoke returned %T, want *boundary.Refusal", err)
	}
	return r.Code
}

func (w *world) record(t testing.TB, run, call string) canonical.Invocation {
	t.Helper()
	k, err := canonical.NewKey("alice", run, call)
	if err != nil {
		t.Fatal(err)
	}
	inv, err := w.ledger.Load(t.Context(), k)
	if err != nil {
		t.Fatalf("record %s/%s: %v", run, call, err)
	}
	return inv
}

var errEOF = io.EOF

// countingReader counts what was taken from its source.
type countingReader struct {
	r io.Reader
	n int
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += n
	return n, err
}
