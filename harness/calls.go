package harness

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/evidence"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// storedView is the wire form of a call as the store keeps it.
func storedView(run string, c canonical.CallInfo) CallView {
	w := CallView{RunID: run, ToolCallID: c.Call, Tool: c.Tool, InvocationStatus: c.State, EvidenceStatus: c.Evidence, ErrorCode: c.Code, Scope: c.Scope, ScopeID: c.ScopeID,
		DuplicateOf: c.DuplicateOf, Gain: c.Gain, Assessed: c.Assessed, NoGainStreak: c.Streak, StopRequired: c.Stop}
	var f boundary.CallFacts
	if json.Unmarshal(c.Control, &f) == nil {
		w.facts(f)
	}
	if !c.StartedAt.IsZero() {
		t := c.StartedAt.UTC()
		w.StartedAt = &t
	}
	if !c.CompletedAt.IsZero() {
		t := c.CompletedAt.UTC()
		w.CompletedAt = &t
	}
	return w
}

func (a *API) listCalls(r *http.Request, principal string) (int, any, error) {
	k, err := runKey(r, principal)
	if err != nil {
		return 0, nil, err
	}
	offset, limit := 0, maxList
	for name, v := range map[string]*int{"offset": &offset, "limit": &limit} {
		if s := r.URL.Query().Get(name); s != "" {
			n, err := strconv.Atoi(s)
			if err != nil || n < 0 || n > 1_000_000 {
				return 0, nil, fault.New(fault.InvalidRequest, "harness.listCalls", nil).WithHint(name + " must be a whole number of at least 0")
			}
			*v = n
		}
	}
	if _, err := a.run(r.Context(), k); err != nil {
		return 0, nil, err
	}
	calls, err := a.o.Driver.Calls(r.Context(), k, offset, min(limit, maxList))
	out := struct {
		Calls []CallView `json:"calls"`
	}{[]CallView{}}
	for _, c := range calls {
		out.Calls = append(out.Calls, storedView(k.Run(), c))
	}
	return http.StatusOK, out, err
}

// eachCall walks all calls of a run.
func (a *API) eachCall(ctx context.Context, k canonical.RunKey, f func(canonical.CallInfo) (stop bool)) error {
	for offset := 0; ; offset += maxList {
		calls, err := a.o.Driver.Calls(ctx, k, offset, maxList)
		if err != nil {
			return err
		}
		for _, c := range calls {
			if f(c) {
				return nil
			}
		}
		if len(calls) < maxList {
			return nil
		}
	}
}

func (a *API) getCall(r *http.Request, principal string) (int, any, error) {
	k, err := runKey(r, principal)
	if err != nil {
		return 0, nil, err
	}
	var found *CallView
	err = a.eachCall(r.Context(), k, func(c canonical.CallInfo) bool {
		if c.Call == r.PathValue("call") {
			v := storedView(k.Run(), c)
			found = &v
		}
		return found != nil
	})
	if err == nil && found == nil {
		err = fault.New(fault.RunNotActive, "harness.getCall", nil).WithHint("the run has no such call")
	}
	return http.StatusOK, found, err
}

func (a *API) assess(r *http.Request, principal string) (int, any, error) {
	const op = "harness.assess"
	var in struct {
		Gain string `json:"gain"`
	}
	if err := readBody(r, &in); err != nil {
		return 0, nil, err
	}
	if in.Gain != string(canonical.GainYes) && in.Gain != string(canonical.GainNo) {
		return 0, nil, fault.New(fault.InvalidRequest, op, nil).WithHint("gain is GAIN or NO_GAIN")
	}
	k, err := canonical.NewKey(principal, r.PathValue("run"), r.PathValue("call"))
	if err != nil {
		return 0, nil, err
	}
	if err := a.o.Driver.Assess(r.Context(), k, in.Gain == string(canonical.GainYes)); err != nil {
		return 0, nil, err
	}
	return a.getCall(r, principal)
}

// verifyRequest asks for citations by URI, or for a whole draft.
type verifyRequest struct {
	Citations []string `json:"citations"`
	Draft     *string  `json:"draft"`
	Replay    bool     `json:"replay"`
}

// maxCitations bounds one request; a draft has its own bound.
const maxCitations = 200

func (a *API) verify(r *http.Request, principal string) (int, any, error) {
	const op = "harness.verify"
	bad := func(hint string) (int, any, error) {
		return 0, nil, fault.New(fault.InvalidRequest, op, nil).WithHint(hint)
	}
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
			return bad("replay is not available here")
		}
		g = g.WithReplay(a.o.Replayer)
	}
	caller := evidence.Caller{Principal: principal, Run: k.Run()}
	switch {
	case (in.Draft == nil) == (in.Citations == nil):
		return bad("give either citations or draft")
	case len(in.Citations) > maxCitations:
		return bad("at most 200 citations a request")
	case in.Draft != nil:
		d, ok := g.CheckDraft(r.Context(), caller, *in.Draft)
		if !ok {
			return bad("the draft is too large or cites too often")
		}
		return http.StatusOK, d, nil
	}
	out := struct {
		Verdicts []evidence.Verdict `json:"verdicts"`
	}{[]evidence.Verdict{}}
	for _, uri := range in.Citations {
		out.Verdicts = append(out.Verdicts, g.VerifyURI(r.Context(), caller, uri))
	}
	return http.StatusOK, out, nil
}

// ProgressSnapshot is where a run stands.
type ProgressSnapshot struct {
	Run           canonical.RunInfo       `json:"run"`
	Tools         map[string]ToolProgress `json:"tools"`
	CheckedScopes []string                `json:"checked_scopes"` // newest first
	NoGainStreak  int                     `json:"no_gain_streak"`
	NoGainLimit   int                     `json:"no_gain_limit"`
	StopRequired  bool                    `json:"stop_required"`
	BudgetLeft    canonical.Limits        `json:"budget_left"`
}

// ToolProgress counts a tool's calls by how they ended.
type ToolProgress struct {
	Calls         int `json:"calls"`
	EvidenceFound int `json:"evidence_found"`
	NoEvidence    int `json:"no_evidence"`
	Errors        int `json:"errors"`
	Projecting    int `json:"projecting"` // under way, or given up by a process that died
	Duplicates    int `json:"duplicates"` // same scope as an earlier call
	NoGain        int `json:"no_gain"`
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
	p := ProgressSnapshot{Run: info, Tools: map[string]ToolProgress{}, CheckedScopes: append([]string{}, info.Scopes...), NoGainStreak: info.Streak,
		NoGainLimit: info.NoGain.Limit, StopRequired: info.Stopped, BudgetLeft: canonical.Limits{Calls: info.Limits.Calls - info.Used.Calls,
			RequestBytes: info.Limits.RequestBytes - info.Used.RequestBytes, RawBytes: info.Limits.RawBytes - info.Used.RawBytes,
			ObservationBytes: info.Limits.ObservationBytes - info.Used.ObservationBytes}}
	err = a.eachCall(r.Context(), k, func(c canonical.CallInfo) bool {
		t := p.Tools[c.Tool]
		t.add(c)
		p.Tools[c.Tool] = t
		return false
	})
	return http.StatusOK, p, err
}

func (t *ToolProgress) add(c canonical.CallInfo) {
	t.Calls++
	switch {
	case c.State == canonical.StateProjecting:
		t.Projecting++
	case c.State == canonical.StateError:
		t.Errors++
	case c.Evidence == canonical.Found.String():
		t.EvidenceFound++
	default:
		t.NoEvidence++
	}
	if c.DuplicateOf != "" {
		t.Duplicates++
	}
	if c.Gain == canonical.GainNo {
		t.NoGain++
	}
}
