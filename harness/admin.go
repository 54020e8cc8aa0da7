package harness

import (
	"context"
	"crypto/rand"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// openRequest opens a run; what is left out takes the policy's default.
type openRequest struct {
	RunID      *string   `json:"run_id"`
	Tools      *[]string `json:"tools"`
	TTLSeconds *int64    `json:"ttl_seconds"`
	Limits     struct {
		Calls            *int64 `json:"calls"`
		RequestBytes     *int64 `json:"request_bytes"`
		RawBytes         *int64 `json:"raw_bytes"`
		ObservationBytes *int64 `json:"observation_bytes"`
	} `json:"limits"`
	NoGain struct {
		Limit  *int64 `json:"limit"`
		Window *int64 `json:"window"`
	} `json:"no_gain"`
}

// Bounds of a run that the harness opens.
const (
	// maxTTL is 30 days: longer than any incident.
	maxTTL = 30 * 24 * 3600
	// maxCalls bounds what a run has to remember of its calls.
	maxCalls = 1_000_000
	// maxBytes is 1 TiB. Stores count in doubles, which are exact far beyond.
	maxBytes = 1 << 40
	// maxWindow bounds the list of calls that every CLOSE rewrites.
	maxWindow = 100
	// maxTools bounds the list that every OPEN reads.
	maxTools = 64
)

var toolName = regexp.MustCompile(`^[a-z0-9_]{1,40}$`)

// spec lays a request over the defaults.
func (in openRequest) spec(spec canonical.RunSpec) (canonical.RunSpec, error) {
	const op = "harness.openRun"
	ttl, limit, window := int64(spec.TTL/time.Second), int64(spec.NoGain.Limit), int64(spec.NoGain.Window)
	for _, p := range []struct {
		name string
		in   *int64
		to   *int64
		max  int64
	}{
		{"limits.calls", in.Limits.Calls, &spec.Limits.Calls, maxCalls},
		{"limits.request_bytes", in.Limits.RequestBytes, &spec.Limits.RequestBytes, maxBytes},
		{"limits.raw_bytes", in.Limits.RawBytes, &spec.Limits.RawBytes, maxBytes},
		{"limits.observation_bytes", in.Limits.ObservationBytes, &spec.Limits.ObservationBytes, maxBytes},
		{"ttl_seconds", in.TTLSeconds, &ttl, maxTTL},
		{"no_gain.limit", in.NoGain.Limit, &limit, maxWindow},
		{"no_gain.window", in.NoGain.Window, &window, maxWindow},
	} {
		switch {
		case p.in == nil:
		case *p.in < 1 || *p.in > p.max:
			return spec, invalid(op, p.name+" must be from 1 to "+strconv.FormatInt(p.max, 10))
		default:
			*p.to = *p.in
		}
	}
	if in.TTLSeconds != nil {
		spec.TTL = time.Duration(ttl) * time.Second
	}
	if in.NoGain.Limit != nil || in.NoGain.Window != nil {
		if limit > window {
			return spec, invalid(op, "no_gain needs limit ≤ window; the window is "+strconv.FormatInt(window, 10))
		}
		spec.NoGain = canonical.NoGain{Limit: int(limit), Window: int(window)}
	}
	if in.Tools != nil {
		if len(*in.Tools) > maxTools || slices.ContainsFunc(*in.Tools, func(n string) bool { return !toolName.MatchString(n) }) {
			return spec, invalid(op, "tools lists at most 64 names of the form [a-z0-9_]{1,40}")
		}
		list := append([]string{}, *in.Tools...)
		slices.Sort(list)
		spec.Tools = slices.Compact(list)
	}
	return spec, nil
}

func (a *API) openRun(r *http.Request, principal string) (int, any, error) {
	if err := readQuery(r, nil); err != nil {
		return 0, nil, err
	}
	var in openRequest
	if err := readBody(r, &in); err != nil {
		return 0, nil, err
	}
	spec, err := in.spec(a.o.Policy.Defaults)
	if err != nil {
		return 0, nil, err
	}
	id := boundary.MintRunID()
	if in.RunID != nil {
		id = *in.RunID
	}
	k, err := canonical.NewRunKey(principal, id)
	if err != nil {
		return 0, nil, err
	}
	var salt canonical.Salt
	rand.Read(salt[:]) // never fails: crypto/rand ends the process instead
	info, err := a.o.Driver.OpenRun(r.Context(), k, spec, canonical.Registered, salt, a.o.Policy.Ceilings)
	return http.StatusCreated, runView(info), err
}

// maxList bounds a page of runs or calls.
const maxList = 1000

func (a *API) listRuns(r *http.Request, principal string) (int, any, error) {
	limit := number{maxList, 1, maxList}
	if err := readQuery(r, map[string]*number{"limit": &limit}); err != nil {
		return 0, nil, err
	}
	runs, err := a.o.Driver.Runs(r.Context(), principal, int(limit.value)+1)
	out := struct {
		Runs      []RunView `json:"runs"`
		Truncated bool      `json:"truncated"`
	}{[]RunView{}, len(runs) > int(limit.value)}
	for _, i := range runs[:min(len(runs), int(limit.value))] {
		out.Runs = append(out.Runs, runView(i))
	}
	return http.StatusOK, out, err
}

func runKey(r *http.Request, principal string) (canonical.RunKey, error) {
	if err := readQuery(r, nil); err != nil {
		return canonical.RunKey{}, err
	}
	return canonical.NewRunKey(principal, r.PathValue("run"))
}

// run reads a run that has to exist. One that never did, one that has expired and one of another principal are the same.
func (a *API) run(ctx context.Context, k canonical.RunKey) (canonical.RunInfo, error) {
	info, found, err := a.o.Driver.Run(ctx, k)
	if err == nil && !found {
		err = noRun()
	}
	return info, err
}

func noRun() error {
	return fault.New(fault.RunNotActive, "harness.run", nil).WithHint("no such run, or it has expired")
}

func (a *API) getRun(r *http.Request, principal string) (int, any, error) {
	k, err := runKey(r, principal)
	if err != nil {
		return 0, nil, err
	}
	info, err := a.run(r.Context(), k)
	return http.StatusOK, runView(info), err
}

func (a *API) closeRun(r *http.Request, principal string) (int, any, error) {
	k, err := runKey(r, principal)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, a.o.Driver.CloseRun(r.Context(), k)
}

func (a *API) resume(r *http.Request, principal string) (int, any, error) {
	k, err := runKey(r, principal)
	if err != nil {
		return 0, nil, err
	}
	if err := a.o.Driver.Resume(r.Context(), k); err != nil {
		return 0, nil, err
	}
	info, err := a.run(r.Context(), k)
	return http.StatusOK, runView(info), err
}
