package boundary

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
)

// call carries one attempt through its phases. Each phase is a value that only the one before can make: admitted → opened → executed → finished. What a phase
// learns beside its result (sizes, statuses) lands in facts, so that audit has one row for every attempt, however far it came.
type call struct {
	b      *Boundary
	run    Run
	env    Envelope
	began  time.Time
	callID string // checked or minted; "" while the claimed one is not known to be well formed
	tool   string // known tools only
	runID  string
	scope  Scope
	scopeH string
	facts  CallFacts
	advice *StopAdvice
	trace  Trace
}

// admitted has passed preflight: nothing was touched yet.
type admitted struct {
	*call
	tool   bound
	req    request
	stored []byte // the request as stored
	minted bool
}

// opened has a PROJECTING record.
type opened struct {
	admitted
	pending *canonical.Pending
	grant   canonical.Grant
}

// executed has a complete raw answer.
type executed struct {
	opened
	ans answer
	raw []byte
}

// finished has an observation.
type finished struct {
	executed
	p      projected
	result []byte
}

func (c *call) attempt(ctx context.Context) (obs Observation, err error) {
	a, err := guarded(c, "preflight", func() (admitted, error) { return c.preflight() })
	if err != nil {
		c.audit("", "", err)
		return Observation{}, err
	}
	crashPoint("admitted")
	o, err := guarded(c, "open", func() (opened, error) { return a.open(ctx) })
	if err != nil {
		c.audit("", "", err)
		return Observation{}, err
	}
	crashPoint("opened")
	f, err := guarded(c, "work", func() (finished, error) { return o.work(ctx) })
	if err != nil {
		return Observation{}, o.fail(ctx, err)
	}
	crashPoint("projected")
	ended := false
	obs, err = guarded(c, "close", func() (Observation, error) {
		obs, err := f.close(ctx)
		ended = true
		return obs, err
	})
	if !ended {
		return Observation{}, o.fail(ctx, err)
	}
	return obs, err
}

// preflight does no I/O.
func (c *call) preflight() (admitted, error) {
	const op = "boundary.preflight"
	b, e := c.b, c.env
	c.facts = CallFacts{HostCallID: metadataID(e.HostCallID), StepID: metadataID(e.StepID), RequestBytes: int64(len(e.Args))}
	if !b.refusals.admit(c.run.Principal, c.began) {
		return admitted{}, fault.New(fault.Overloaded, op, errors.New("too many refused calls"))
	}
	if c.run.Refusal != nil {
		return admitted{}, c.run.Refusal
	}
	if c.run.Principal == "" || (c.run.ID == "") == (c.run.Slot == "") {
		return admitted{}, fault.New(fault.Internal, op, errors.New("incomplete run"))
	}
	if c.run.ID != "" {
		if _, err := canonical.NewRunKey(c.run.Principal, c.run.ID); err != nil {
			return admitted{}, err
		}
		c.runID = c.run.ID
	}
	if e.RunID != "" && e.RunID != c.run.ID {
		return admitted{}, fault.New(fault.RunMismatch, op, nil)
	}
	a := admitted{call: c, minted: e.CallID == ""}
	c.callID = e.CallID
	if a.minted {
		c.callID = mint(canonical.MintedCallPrefix)
	} else if !canonical.ValidID(e.CallID) {
		c.callID = ""
		return admitted{}, fault.New(fault.InvalidToolCallID, op, nil).WithHint("a tool call id matches [A-Za-z0-9][A-Za-z0-9._-]{0,127}")
	} else if canonical.Minted(e.CallID) {
		// Minted ids are indexed by principal across runs; a client that could claim one would shadow somebody's citation.
		c.callID = ""
		return admitted{}, fault.New(fault.InvalidToolCallID, op, nil).WithHint("ids of the form tc_… are minted by the gateway; leave the id out or choose another")
	}
	t, ok := b.tools[e.Tool]
	if !ok || !c.run.Grants.Allows(Tools, e.Tool) {
		return admitted{}, fault.New(fault.ToolNotAuthorized, op, nil)
	}
	a.tool, c.tool = t, e.Tool
	if len(e.Args) > b.o.Limits.MaxRequest {
		return admitted{}, fault.New(fault.RequestTooLarge, op, nil)
	}
	req, err := t.t.parse(e.Args, ParseContext{Now: c.began, Grants: c.run.Grants})
	if err != nil {
		return admitted{}, err
	}
	a.req = req
	c.scope = req.scope()
	c.scope.Text = cutRunes(c.scope.Text, 256)
	c.scopeH = scopeID(e.Tool, c.scope.Normal)
	enc, err := req.encode()
	if err != nil {
		return admitted{}, fault.New(fault.Internal, op, err)
	}
	a.stored = store(b.o.Limits.MaxObservation, enc)
	return a, nil
}

// storedRequest is the request as the record keeps it: with the bound that projection worked under, so that replay works under the same.
type storedRequest struct {
	MaxObservation int             `json:"max_observation"`
	Request        json.RawMessage `json:"request"`
}

func store(maxObservation int, request []byte) []byte {
	b := make([]byte, 0, len(request)+48)
	b = append(b, `{"max_observation":`...)
	b = strconv.AppendInt(b, int64(maxObservation), 10)
	b = append(b, `,"request":`...)
	return append(append(b, request...), '}')
}

func scopeID(tool, normal string) string {
	sum := sha256.Sum256([]byte(tool + "\x00" + normal))
	return hex.EncodeToString(sum[:12])
}

// open runs OPEN to its end even if the client leaves meanwhile: half an OPEN would be a record that nobody closes.
func (a admitted) open(ctx context.Context) (opened, error) {
	c, b := a.call, a.b
	defer c.stage("open")()
	if ctx.Err() != nil {
		return opened{}, fault.New(fault.Cancelled, "boundary.open", ctx.Err())
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openTimeout)
	defer cancel()
	var salt canonical.Salt
	rand.Read(salt[:])
	var nonce [12]byte
	rand.Read(nonce[:])
	pending, grant, err := b.o.Ledger.Open(ctx, canonical.OpenArgs{
		Principal: c.run.Principal, Run: c.run.ID, Slot: c.run.Slot, MintRun: c.run.MintRun,
		Call: c.callID, Minted: a.minted, Nonce: hex.EncodeToString(nonce[:]), Tool: c.tool,
		Request: a.stored, Projector: a.tool.spec.Projector, TTL: b.o.Limits.RecordTTL, RequestBytes: c.facts.RequestBytes,
		Implicit: c.run.Spec, Salt: salt, Ceilings: c.run.Ceilings,
	})
	if grant.Run != "" {
		c.runID = grant.Run
	}
	if err != nil {
		if fault.CodeOf(err) == fault.StopRequired {
			c.advice = newAdvice(grant.Scopes)
		}
		if _, ok := errors.AsType[*fault.Error](err); !ok {
			err = fault.New(fault.StoreError, "boundary.open", err)
		}
		return opened{}, err
	}
	if grant.StopAdvised {
		c.advice = newAdvice(grant.Scopes)
	}
	return opened{a, pending, grant}, nil
}

// work is execute and project.
func (o opened) work(ctx context.Context) (finished, error) {
	x, err := o.execute(ctx)
	if err != nil {
		return finished{}, err
	}
	crashPoint("executed")
	return x.project()
}

func (o opened) execute(parent context.Context) (executed, error) {
	const op = "boundary.execute"
	lim := o.b.o.Limits
	defer o.stage("execute")()
	if errors.Is(parent.Err(), context.Canceled) {
		return executed{}, fault.New(fault.Cancelled, op, parent.Err())
	}
	ctx, cancel := context.WithTimeout(parent, lim.Timeout)
	defer cancel()
	permit := newPermit(lim.MaxRaw, o.grant.Left.RawBytes)
	ans, err := guarded(o.call, "execute", func() (answer, error) { return o.req.execute(ctx, permit, o.grant.Salt) })
	o.facts.RawBytes = permit.used.Load()
	if perr := permit.err(); perr != nil {
		// The tool's own error may carry a hint on how to narrow; the permit decides the code.
		if fe, ok := errors.AsType[*fault.Error](err); ok && fe.Code() == fault.CodeOf(perr) {
			return executed{}, fe
		}
		return executed{}, perr
	}
	if err != nil {
		return executed{}, interrupted(parent, ctx, err)
	}
	raw, err := ans.encode()
	if err != nil {
		return executed{}, fault.New(fault.BackendError, op, err)
	}
	o.facts.RawBytes = int64(len(raw))
	if int64(len(raw)) > lim.MaxRaw {
		return executed{}, fault.New(fault.RawTooLarge, op, errOver)
	}
	return executed{o, ans, raw}, nil
}

// interrupted decides the code of an error that came while a context ended: the client's cancel and the deadline outrank what the backend made of them, a
// refusal that the tool decided does not.
func interrupted(parent, ctx context.Context, err error) error {
	switch fault.CodeOf(err) {
	case fault.BackendError, fault.BackendIncomplete, fault.BackendBusy, fault.Internal, fault.Cancelled, fault.BackendTimeout:
	default:
		return err
	}
	switch {
	case parent.Err() != nil && errors.Is(parent.Err(), context.Canceled):
		return fault.New(fault.Cancelled, "boundary.execute", err)
	case ctx.Err() != nil && fault.CodeOf(err) != fault.BackendBusy:
		return fault.New(fault.BackendTimeout, "boundary.execute", err).WithHint("narrow the request: a shorter time range, fewer rows, a more selective condition")
	}
	return err
}

func (x executed) project() (finished, error) {
	const op = "boundary.project"
	lim := x.b.o.Limits
	defer x.stage("project")()
	runID, callID := x.pending.Key().Run(), x.callID
	p, err := guarded(x.call, "project", func() (projected, error) {
		return x.ans.project(View{Salt: x.grant.Salt, MaxBytes: bodyRoom(lim.MaxObservation, runID, callID)})
	})
	if err != nil {
		if fault.CodeOf(err) == fault.Internal {
			if _, decided := errors.AsType[*fault.Error](err); !decided {
				err = fault.New(fault.ProjectionError, op, err)
			}
		}
		return finished{}, err
	}
	result := compose(runID, callID, p)
	x.facts.ObservationBytes = int64(len(result))
	x.facts.Truncated, x.facts.ReturnedCount, x.facts.Relevance = p.truncated, p.count, p.relevance
	if int64(len(x.stored)+len(x.raw)+len(result)) > lim.MaxRecord {
		return finished{}, fault.New(fault.RecordTooLarge, op, nil)
	}
	return finished{x, p, result}, nil
}

// What the boundary itself puts in front of every observation, around the ids (which need no escape: see canonical.ValidID), the evidence status and truncated.
const (
	headCall, headRun, headEvidence, headTruncated = `{"tool_call_id":"`, `","run_id":"`, `","evidence_status":"`, `","truncated":`
	longestTruth                                   = len("false")
)

func headRoom(runID, callID string) int {
	return len(headCall) + len(callID) + len(headRun) + len(runID) + len(headEvidence) + len("EVIDENCE_FOUND") + len(headTruncated) + longestTruth
}

// bodyRoom is what a projection may use of max: the head in its longest form and the comma between are taken off.
func bodyRoom(maxBytes int, runID, callID string) int { return maxBytes - headRoom(runID, callID) - 1 }

func compose(runID, callID string, p projected) []byte {
	b := make([]byte, 0, headRoom(runID, callID)+len(p.body)+1)
	b = append(append(b, headCall...), callID...)
	b = append(append(b, headRun...), runID...)
	b = append(append(b, headEvidence...), p.evidence.String()...)
	b = strconv.AppendBool(append(b, headTruncated...), p.truncated)
	if len(p.body) > 2 {
		b = append(b, ',')
		return append(b, p.body[1:]...)
	}
	return append(b, '}')
}

// close ends a call that has an observation. The observation leaves only if the record is READY.
func (f finished) close(ctx context.Context) (Observation, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	f.facts.LatencyMicros = f.b.o.Clock().Sub(f.began).Microseconds()
	end := f.stage("close")
	closed, err := f.pending.Ready(ctx, canonical.Result{Raw: f.raw, Observation: f.result, Evidence: f.p.evidence, Truncated: f.p.truncated,
		ScopeID: f.scopeH, Scope: f.scope.Text, Items: f.p.items, Control: f.encodeFacts()})
	end()
	if err != nil {
		return Observation{}, f.fail(ctx, fault.New(fault.StoreError, "boundary.close", err))
	}
	if closed.State != canonical.StateReady {
		err := fault.New(fault.Code(closed.Code), "boundary.close", nil)
		f.facts.ObservationBytes = 0
		f.observe(closed, "ERROR")
		f.audit(closed.State, "ERROR", err)
		return Observation{}, err
	}
	crashPoint("closed")
	f.observe(closed, f.p.evidence.String())
	f.audit(closed.State, f.p.evidence.String(), nil)
	return Observation{result: f.result, delivery: deliver(f.result, f.advice)}, nil
}

// deliver adds the stop advice to a copy of the result: it is not part of what was stored.
func deliver(result []byte, advice *StopAdvice) []byte {
	if advice == nil {
		return result
	}
	a, err := strictjson.Encode(advice)
	if err != nil { // a struct of strings
		return result
	}
	out := make([]byte, 0, len(result)+len(a)+12)
	out = append(out, result[:len(result)-1]...)
	out = append(out, `,"control":`...)
	out = append(out, a...)
	return append(out, '}')
}

// fail ends an opened call without content and returns the error to report. The record becomes ERROR if the store can be reached; if not it stays PROJECTING,
// which no citation can use.
func (o opened) fail(ctx context.Context, cause error) error {
	crashPoint("failing")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	o.facts.ObservationBytes, o.facts.ReturnedCount, o.facts.Truncated, o.facts.Relevance = 0, 0, false, ""
	o.facts.LatencyMicros = o.b.o.Clock().Sub(o.began).Microseconds()
	state := canonical.StateError
	end := o.stage("close")
	closed, err := guarded(o.call, "fail", func() (canonical.Closed, error) {
		return o.pending.Fail(ctx, fault.CodeOf(cause), o.scopeH, o.scope.Text, o.encodeFacts())
	})
	end()
	if err != nil {
		// The client learns the first cause: it names what to do next. That the record is not closed shows in the control view.
		state = canonical.StateProjecting
	}
	crashPoint("failed")
	closed.State, closed.Code = state, string(fault.CodeOf(cause))
	o.observe(closed, "ERROR")
	o.audit(state, "ERROR", cause)
	return cause
}

func (c *call) encodeFacts() []byte {
	b, err := strictjson.Encode(&c.facts)
	if err != nil { // ids, numbers, booleans
		return nil
	}
	return b
}

func (c *call) observe(cl canonical.Closed, evidence string) {
	if c.b.o.Controller == nil {
		return
	}
	defer c.unharmed("observe")
	c.b.o.Controller.Observe(ControlView{
		Principal: c.run.Principal, Run: c.runID, Call: c.callID, Tool: c.tool, InvocationStatus: cl.State, EvidenceStatus: evidence, Code: fault.Code(cl.Code),
		ScopeID: c.scopeH, Scope: c.scope.Text, DuplicateOf: cl.DuplicateOf, Gain: cl.Gain, Streak: cl.Streak, NoGain: cl.NoGain, StopRequired: cl.Stop,
		BudgetLeft: cl.Left, CallFacts: c.facts,
	})
}

func (c *call) audit(state canonical.State, evidence string, err error) {
	if err != nil && state == "" {
		c.b.refusals.count(c.run.Principal, c.began)
		c.facts.LatencyMicros = c.b.o.Clock().Sub(c.began).Microseconds()
	}
	r := AuditRecord{
		Time: c.began.UTC(), Principal: c.run.Principal, Run: c.runID, Call: c.callID, HostCallID: c.facts.HostCallID, StepID: c.facts.StepID, Tool: c.tool,
		InvocationStatus: state, EvidenceStatus: evidence, Code: fault.CodeOf(err), ScopeID: c.scopeH, Truncated: c.facts.Truncated,
		ReturnedCount: c.facts.ReturnedCount, RequestBytes: c.facts.RequestBytes, RawBytes: c.facts.RawBytes, ObservationBytes: c.facts.ObservationBytes,
		LatencyMicros: c.facts.LatencyMicros,
	}
	c.endTrace(r)
	if c.b.o.Auditor != nil {
		defer c.unharmed("audit")
		c.b.o.Auditor.Audit(r)
	}
}

func (c *call) publicCallID() string { return c.callID }
