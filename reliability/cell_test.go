package reliability

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seed-069badc9/mcp-gateway/canonical"
)

// cell is one field of the fault matrix: something goes wrong at one stage of one call, and the answer, the record and the charge are among those promised.
type cell struct {
	stage string
	fault string
	quick bool // also without RELIABILITY=full
	hurts bool // hurts the database itself, so it has one for its group and waits for its turn
	o     options
	play  func(p *play)

	answer  []string // how the call may end for the client
	record  []string // what may be left of it: "none", "PROJECTING", "READY", "ERROR CODE"
	backend int      // how often the backend was asked; any: not counted
	verdict []string // why a citation of it is accepted or not, once the fault is over
	note    string
}

// The run and the call that something happens to, and what stands for "not counted".
const (
	cellRun   = "cell"
	cellCall  = "cell-call"
	uncounted = -1
)

const none = "none"

// play is a cell under way.
type play struct {
	*world
	g      *gateway // warm, and alive at the end
	at     *attempt
	done   chan struct{}
	cancel context.CancelFunc
}

func (c cell) name() string { return c.stage + ": " + c.fault }

// begin sends the cell's call; end waits for its answer.
func (p *play) begin(g *gateway, tool string, a arguments) {
	ctx, cancel := context.WithCancel(p.t.Context())
	p.cancel, p.done = cancel, make(chan struct{})
	go func() {
		defer close(p.done)
		p.at = g.askContext(ctx, cellRun, cellCall, tool, a)
	}()
}

func (p *play) end() {
	p.t.Helper()
	within(p.t, "the call ends", p.done)
	p.cancel()
}

// once makes the whole call.
func (p *play) once(tool string, a arguments) {
	p.t.Helper()
	p.begin(p.g, tool, a)
	p.end()
}

// during holds the call where the rule says, does something, and lets it go on.
func (p *play) during(r *rule, do func()) {
	p.t.Helper()
	p.begin(p.g, "query_mysql", orders(cellCall))
	within(p.t, "the call reaches the place of the fault", r.met)
	do()
	r.release()
	p.end()
}

// Where a call can be held. OPEN and CLOSE are the requests to the store that name it.
func (p *play) atOpen() *rule    { return p.store.on(&rule{text: cellCall, hold: true}) }
func (p *play) atClose() *rule   { return p.store.on(&rule{text: cellCall, skip: 1, hold: true}) }
func (p *play) atBackend() *rule { return p.db.on(&rule{text: cellCall, hold: true}) }

// restart empties the store by ending it.
func (p *play) restart() {
	p.redis.Kill()
	p.redis.Restart()
	p.emptied()
}

func (p *play) state() string {
	p.t.Helper()
	rec, found, err := p.direct.Load(context.Background(), p.key(p.at.run, cellCall))
	switch {
	case err != nil:
		p.t.Fatal(err)
	case !found:
		return none
	case rec.State == canonical.StateError:
		return "ERROR " + rec.Code
	}
	return string(rec.State)
}

func oneOf(list []string) string { return strings.Join(list, " or ") }

// run plays the cell and holds the world against what the cell promises and against the invariants.
func (c cell) run(t *testing.T, s *shop) {
	w := newWorld(t, s, c.o)
	p := &play{world: w, g: w.start("one", binary(t, plainBinary))}
	p.g.warm()
	w.db.watch(cellCall)
	c.play(p)
	if !slices.Contains(c.answer, p.at.code) {
		t.Errorf("the client got %s, want %s\n%s", p.at.code, oneOf(c.answer), p.g.log.bytes())
	}
	var state string
	eventually(t, fmt.Sprintf("the record becomes %s", oneOf(c.record)), func() bool {
		state = p.state()
		ok := slices.Contains(c.record, state)
		if !ok && (state == "READY" || strings.HasPrefix(state, "ERROR")) { // final
			t.Fatalf("the record is %s, want %s", state, oneOf(c.record))
		}
		return ok
	})
	count := func() int {
		n := w.db.count(cellCall)
		if w.remote != nil {
			n += w.remote.count()
		}
		return n
	}
	asked := count()
	if c.backend != uncounted && asked != c.backend {
		t.Errorf("the backend was asked %d times, want %d", asked, c.backend)
	}
	if _, reason := p.g.verdict(p.at.run, cellCall); !slices.Contains(c.verdict, reason) {
		t.Errorf("a citation is %s, want %s", reason, oneOf(c.verdict))
	}
	if state != none && p.at.run == cellRun {
		if again := p.g.ask(cellRun, cellCall, "query_mysql", orders(cellCall)); again.code != "DUPLICATE_TOOL_CALL_ID" {
			t.Errorf("the same id again: %s", again.code)
		}
		if n := count(); n != asked {
			t.Errorf("the same id again reached the backend: %d requests, %d before", n, asked)
		}
	}
	if w.remote != nil {
		p.g.must("after", "remote-runbook", "query_rag", remoteRunbook(""))
		for _, k := range kinds[1:] {
			p.g.must("after", k.topic, "query_logs", remoteLogs(k.topic))
		}
		if w.remote.strayed > 0 {
			t.Error("a redirect was followed")
		}
	}
	w.check()
	if again := p.state(); !slices.Contains(c.record, again) {
		t.Errorf("the record became %s at the end", again)
	}
}

// TestFaultMatrix plays the cells: those that hurt nobody else side by side, those that hurt the database one after another.
func TestFaultMatrix(t *testing.T) {
	t.Run("shared", func(t *testing.T) {
		t.Parallel()
		s := newShop(t)
		for _, c := range cells() {
			if !c.hurts && (c.quick || full()) {
				t.Run(c.name(), func(t *testing.T) {
					t.Parallel()
					c.run(t, s)
				})
			}
		}
	})
	t.Run("database", func(t *testing.T) {
		t.Parallel()
		s := newShop(t)
		for _, c := range cells() {
			if c.hurts && (c.quick || full()) {
				t.Run(c.name(), func(t *testing.T) {
					s.db.SQL(t, "DROP TABLE IF EXISTS audit.mcp_gateway_audit")
					c.run(t, s)
				})
			}
		}
	})
}
