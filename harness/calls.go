package harness

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/evidence"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

func (a *API) listCalls(r *http.Request, principal string) (int, any, error) {
	offset, limit := number{0, 0, maxCalls}, number{maxList, 1, maxList}
	if err := readQuery(r, map[string]*number{"offset": &offset, "limit": &limit}); err != nil {
		return 0, nil, err
	}
	k, err := canonical.NewRunKey(principal, r.PathValue("run"))
	if err != nil {
		return 0, nil, err
	}
	run, err := a.run(r.Context(), k)
	if err != nil {
		return 0, nil, err
	}
	n := int(limit.value)
	calls, err := a.o.Driver.Calls(r.Context(), k, int(offset.value), n+1)
	out := struct {
		Calls []CallView `json:"calls"`
		Next  int64      `json:"next_offset,omitzero"`
	}{Calls: []CallView{}}
	if len(calls) > n {
		calls, out.Next = calls[:n], offset.value+limit.value
	}
	for _, c := range calls {
		out.Calls = append(out.Calls, storedView(run, c))
	}
	return http.StatusOK, out, err
}

// eachCall walks all calls of a run. New calls only ever follow the last, so pages fit together.
func (a *API) eachCall(ctx context.Context, k canonical.RunKey, f func(canonical.CallInfo)) error {
	for offset := 0; ; offset += maxList {
		calls, err := a.o.Driver.Calls(ctx, k, offset, maxList)
		if err != nil {
			return err
		}
		for _, c := range calls {
			f(c)
		}
		if len(calls) < maxList {
			return nil
		}
	}
}

// call reads one call that has to exist.
func (a *API) call(ctx context.Context, k canonical.Key) (CallView, error) {
	run, c, found, err := a.o.Driver.Call(ctx, k)
	switch {
	case err != nil:
		return CallView{}, err
	case found:
		return storedView(run, c), nil
	case run.Run == "":
		return CallView{}, noRun()
	}
	return CallView{}, fault.New(fault.RunNotActive, "harness.call", nil).WithHint("the run has no such call")
}

func callKey(r *http.Request, principal string) (canonical.Key, error) {
	if err := readQuery(r, nil); err != nil {
		return canonical.Key{}, err
	}
	return canonical.NewKey(principal, r.PathValue("run"), r.PathValue("call"))
}

func (a *API) getCall(r *http.Request, principal string) (int, any, error) {
	k, err := callKey(r, principal)
	if err != nil {
		return 0, nil, err
	}
	v, err := a.call(r.Context(), k)
	return http.StatusOK, v, err
}

func (a *API) assess(r *http.Request, principal string) (int, any, error) {
	const op = "harness.assess"
	k, err := callKey(r, principal)
	if err != nil {
		return 0, nil, err
	}
	var in struct {
		Gain canonical.Gain `json:"gain"`
	}
	if err := readBody(r, &in); err != nil {
		return 0, nil, err
	}
	if in.Gain != canonical.GainYes && in.Gain != canonical.GainNo {
		return 0, nil, invalid(op, "gain is GAIN or NO_GAIN")
	}
	v, err := a.call(r.Context(), k)
	if err != nil {
		return 0, nil, err
	}
	if v.InvocationStatus == canonical.StateProjecting {
		return 0, nil, invalid(op, "the call is not finished yet")
	}
	if err := a.o.Driver.Assess(r.Context(), k, in.Gain == canonical.GainYes); err != nil {
		return 0, nil, err
	}
	v, err = a.call(r.Context(), k)
	return http.StatusOK, v, err
}

func (a *API) progress(r *http.Request, principal string) (int, any, error) {
	k, err := runKey(r, principal)
	if err != nil {
		return 0, nil, err
	}
	info, err := a.run(r.Context(), k)
	if err != nil {
		return 0, nil, err
	}
	run := runView(info)
	p := ProgressSnapshot{Run: run, Tools: map[string]ToolProgress{}, CheckedScopes: run.CheckedScopes, NoGainStreak: run.NoGainStreak, NoGainLimit: run.NoGain.Limit,
		StopRequired: run.StopRequired, BudgetLeft: run.BudgetLeft}
	err = a.eachCall(r.Context(), k, func(c canonical.CallInfo) {
		t := p.Tools[c.Tool]
		t.add(c)
		p.Tools[c.Tool] = t
	})
	return http.StatusOK, p, err
}

// verifyRequest asks for citations by URI, or for a whole draft.
type verifyRequest struct {
	Citations []string `json:"citations"`
	Draft     *string  `json:"draft"`
	Replay    bool     `json:"replay"`
}

// maxCitations bounds one request; a draft has its own bound.
const maxCitations = 200

// verify answers for runs that are closed or gone too: a record outlives its run.
func (a *API) verify(r *http.Request, principal string) (int, any, error) {
	const op = "harness.verify"
	k, err := runKey(r, principal)
	if err != nil {
		return 0, nil, err
	}
	var in verifyRequest
	if err := readBody(r, &in); err != nil {
		return 0, nil, err
	}
	g := a.o.Guard
	if in.Replay {
		if a.o.Replayer == nil {
			return 0, nil, invalid(op, "replay is not available here")
		}
		g = g.WithReplay(a.o.Replayer)
	}
	var out any
	caller := evidence.Caller{Principal: principal, Run: k.Run()}
	switch {
	case (in.Draft == nil) == (in.Citations == nil):
		return 0, nil, invalid(op, "give either citations or draft")
	case in.Draft != nil:
		d, ok := g.CheckDraft(r.Context(), caller, *in.Draft)
		if !ok {
			if why := evidence.DraftProblem(*in.Draft); why != "" && strings.ContainsAny(*in.Draft, "\x00\x1b") { // all that a JSON string can hold of another encoding
				return 0, nil, invalid(op, "the draft "+why)
			}
			return 0, nil, fault.New(fault.RequestTooLarge, op, nil).WithHint("a draft holds at most 1 MiB and 2,000 citations")
		}
		out = d
	case len(in.Citations) > maxCitations:
		return 0, nil, fault.New(fault.RequestTooLarge, op, nil).WithHint("at most " + strconv.Itoa(maxCitations) + " citations a request")
	default:
		verdicts := []evidence.Verdict{}
		for _, uri := range in.Citations {
			verdicts = append(verdicts, g.VerifyURI(r.Context(), caller, uri))
		}
		out = struct {
			Verdicts []evidence.Verdict `json:"verdicts"`
		}{verdicts}
	}
	// What came after the deadline was not read: those verdicts would blame the store.
	if r.Context().Err() != nil {
		return 0, nil, fault.New(fault.Overloaded, op, r.Context().Err()).WithHint("the check took too long: ask for fewer citations at once")
	}
	return http.StatusOK, out, nil
}
