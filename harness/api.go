package harness

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/evidence"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
)

// APIToken lets its bearer administer runs. Its text is not kept.
type APIToken struct {
	Name       string
	Sum        [sha256.Size]byte
	Principals []string // nil: all
}

// NewAPIToken takes the digest of secret.
func NewAPIToken(name, secret string, principals []string) APIToken {
	return APIToken{Name: name, Sum: sha256.Sum256([]byte(secret)), Principals: principals}
}

// APIOptions configure the harness's HTTP API.
type APIOptions struct {
	Driver   canonical.Driver
	Guard    *evidence.Guard
	Replayer evidence.Replayer // nil: replay cannot be asked for
	Policy   Policy            // defaults of runs that are opened here
	Tokens   []APIToken
	Metrics  http.Handler                // GET /metrics; nil: 404
	Ready    func(context.Context) error // GET /readyz; nil: the store's Ping
	// Hosts are the names by which the API may be addressed beside loopback ones; a request for another Host is refused.
	Hosts  []string
	Logger *slog.Logger
}

// API is the harness's own door: it opens and closes runs, reads control views and progress, assesses calls and verifies drafts. It belongs on a listener of its own
// and never answers without a token of role harness, except for /healthz, /readyz and /metrics. docs/openapi.yaml describes it.
type API struct {
	o      APIOptions
	tokens atomic.Pointer[[]APIToken]
	mux    *http.ServeMux
}

// maxAPIBody bounds a request: a draft of evidence.MaxDraft, escaped.
const maxAPIBody = 4 << 20

// NewAPI checks the options.
func NewAPI(o APIOptions) (*API, error) {
	if o.Driver == nil || o.Guard == nil {
		return nil, errors.New("harness: the API needs a store and a guard")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Ready == nil {
		o.Ready = o.Driver.Ping
	}
	a := &API{o: o, mux: http.NewServeMux()}
	a.SetTokens(o.Tokens)
	for pattern, h := range map[string]handler{
		"POST /v1/principals/{principal}/runs":                               a.openRun,
		"GET /v1/principals/{principal}/runs":                                a.listRuns,
		"GET /v1/principals/{principal}/runs/{run}":                          a.getRun,
		"DELETE /v1/principals/{principal}/runs/{run}":                       a.closeRun,
		"POST /v1/principals/{principal}/runs/{run}/resume":                  a.resume,
		"GET /v1/principals/{principal}/runs/{run}/calls":                    a.listCalls,
		"GET /v1/principals/{principal}/runs/{run}/calls/{call}":             a.getCall,
		"POST /v1/principals/{principal}/runs/{run}/calls/{call}/assessment": a.assess,
		"POST /v1/principals/{principal}/runs/{run}/verify":                  a.verify,
		"GET /v1/principals/{principal}/runs/{run}/progress":                 a.progress,
	} {
		a.mux.HandleFunc(pattern, a.guarded(h))
	}
	a.mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok\n") })
	a.mux.HandleFunc("GET /readyz", a.readyz)
	if o.Metrics != nil {
		a.mux.Handle("GET /metrics", o.Metrics)
	}
	return a, nil
}

// SetTokens replaces the tokens while requests are served.
func (a *API) SetTokens(t []APIToken) {
	list := slices.Clone(t)
	a.tokens.Store(&list)
}

// ServeHTTP refuses foreign hosts and every browser, then routes.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if len(r.Header.Values("Origin")) > 0 || !a.knownHost(r.Host) {
		writeError(w, http.StatusForbidden, fault.InvalidRequest, "this address or origin may not be used")
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxAPIBody)
	a.mux.ServeHTTP(w, r)
}

func (a *API) knownHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.Trim(name, "[]")
	if name == "localhost" {
		return true
	}
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() {
		return true
	}
	return slices.Contains(a.o.Hosts, name) || slices.Contains(a.o.Hosts, host)
}

func (a *API) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	if err := a.o.Ready(ctx); err != nil {
		http.Error(w, "not ready", http.StatusServiceUnavailable)
		return
	}
	io.WriteString(w, "ready\n")
}

// handler answers a request of an authenticated harness with a status and a value, or an error.
type handler func(r *http.Request, principal string) (int, any, error)

// authenticate finds the token of a request in constant time over all of them.
func (a *API) authenticate(r *http.Request) (APIToken, bool) {
	auth := r.Header.Values("Authorization")
	if len(auth) != 1 {
		return APIToken{}, false
	}
	scheme, secret, ok := strings.Cut(auth[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") || secret == "" {
		return APIToken{}, false
	}
	sum := sha256.Sum256([]byte(secret))
	var found APIToken
	hit := false
	for _, t := range *a.tokens.Load() {
		if subtle.ConstantTimeCompare(sum[:], t.Sum[:]) == 1 {
			found, hit = t, true
		}
	}
	return found, hit
}

func (a *API) guarded(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		t, ok := a.authenticate(r)
		if !ok {
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeError(w, http.StatusUnauthorized, fault.ToolNotAuthorized, "a bearer token of role harness is needed")
			return
		}
		principal := r.PathValue("principal")
		if t.Principals != nil && !slices.Contains(t.Principals, principal) {
			writeError(w, http.StatusForbidden, fault.ToolNotAuthorized, "the token may not administer this principal")
			return
		}
		status, v, err := h(r, principal)
		if err != nil {
			code, _, hint := fault.Public(err)
			writeError(w, statusOf(code), code, hint)
			return
		}
		writeJSON(w, status, v)
	}
}

// statusOf maps a code of the closed list to a status.
func statusOf(code fault.Code) int {
	switch code {
	case fault.RunNotActive:
		return http.StatusNotFound
	case fault.InvalidRequest, fault.InvalidToolCallID, fault.RunMismatch:
		return http.StatusBadRequest
	case fault.BudgetExhausted, fault.Overloaded:
		return http.StatusTooManyRequests
	case fault.RequestTooLarge:
		return http.StatusRequestEntityTooLarge
	case fault.StoreError:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

func writeError(w http.ResponseWriter, status int, code fault.Code, hint string) {
	ref := &boundary.Refusal{Code: code, Hint: hint}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(ref.JSON())
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	if v == nil {
		w.WriteHeader(status)
		return
	}
	b, err := strictjson.Encode(v)
	if err != nil {
		writeError(w, http.StatusInternalServerError, fault.Internal, "")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(b)
}

// readBody reads a JSON body strictly; an empty one leaves v as it is.
func readBody(r *http.Request, v any) error {
	const op = "harness.readBody"
	data, err := io.ReadAll(r.Body)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return fault.New(fault.RequestTooLarge, op, err)
	}
	if err != nil {
		return fault.New(fault.InvalidRequest, op, err)
	}
	if len(data) == 0 {
		return nil
	}
	if err := strictjson.Decode(data, v); err != nil {
		return fault.New(fault.InvalidRequest, op, err).WithHint(err.Error())
	}
	return nil
}

func runKey(r *http.Request, principal string) (canonical.RunKey, error) {
	return canonical.NewRunKey(principal, r.PathValue("run"))
}

// run reads a run that has to exist.
func (a *API) run(ctx context.Context, k canonical.RunKey) (canonical.RunInfo, error) {
	info, found, err := a.o.Driver.Run(ctx, k)
	if err == nil && !found {
		err = fault.New(fault.RunNotActive, "harness.run", nil)
	}
	return info, err
}

// openRequest opens a run; what is left out takes the policy's default.
type openRequest struct {
	RunID      string           `json:"run_id"`
	Tools      *[]string        `json:"tools"`
	TTLSeconds int64            `json:"ttl_seconds"`
	Limits     canonical.Limits `json:"limits"`
	NoGain     canonical.NoGain `json:"no_gain"`
}

func (a *API) openRun(r *http.Request, principal string) (int, any, error) {
	const op = "harness.openRun"
	var in openRequest
	if err := readBody(r, &in); err != nil {
		return 0, nil, err
	}
	spec := a.o.Policy.Defaults
	bad := func(hint string) (int, any, error) {
		return 0, nil, fault.New(fault.InvalidRequest, op, nil).WithHint(hint)
	}
	for _, p := range []struct {
		name    string
		in, def *int64
	}{{"calls", &in.Limits.Calls, &spec.Limits.Calls}, {"request_bytes", &in.Limits.RequestBytes, &spec.Limits.RequestBytes},
		{"raw_bytes", &in.Limits.RawBytes, &spec.Limits.RawBytes}, {"observation_bytes", &in.Limits.ObservationBytes, &spec.Limits.ObservationBytes}} {
		switch {
		case *p.in < 0:
			return bad("limits." + p.name + " must be positive")
		case *p.in > 0:
			*p.def = *p.in
		}
	}
	if in.NoGain != (canonical.NoGain{}) {
		if in.NoGain.Limit < 1 || in.NoGain.Window < in.NoGain.Limit || in.NoGain.Window > 100 {
			return bad("no_gain needs 1 ≤ limit ≤ window ≤ 100")
		}
		spec.NoGain = in.NoGain
	}
	if in.TTLSeconds < 0 || in.TTLSeconds > 30*24*3600 {
		return bad("ttl_seconds must be between 1 and 2592000")
	}
	if in.TTLSeconds > 0 {
		spec.TTL = time.Duration(in.TTLSeconds) * time.Second
	}
	if in.Tools != nil {
		spec.Tools = append([]string{}, *in.Tools...)
	}
	if in.RunID == "" {
		in.RunID = boundary.MintRunID()
	}
	k, err := canonical.NewRunKey(principal, in.RunID)
	if err != nil {
		return 0, nil, err
	}
	var salt canonical.Salt
	rand.Read(salt[:])
	info, err := a.o.Driver.OpenRun(r.Context(), k, spec, canonical.Registered, salt, a.o.Policy.Ceilings)
	return http.StatusCreated, info, err
}

// maxList bounds a page of runs or calls.
const maxList = 1000

func (a *API) listRuns(r *http.Request, principal string) (int, any, error) {
	runs, err := a.o.Driver.Runs(r.Context(), principal, maxList)
	if runs == nil {
		runs = []canonical.RunInfo{}
	}
	return http.StatusOK, struct {
		Runs []canonical.RunInfo `json:"runs"`
	}{runs}, err
}

func (a *API) getRun(r *http.Request, principal string) (int, any, error) {
	k, err := runKey(r, principal)
	if err != nil {
		return 0, nil, err
	}
	info, err := a.run(r.Context(), k)
	return http.StatusOK, info, err
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
	return http.StatusOK, info, err
}
