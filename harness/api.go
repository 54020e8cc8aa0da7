package harness

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/evidence"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// APIToken lets its bearer administer runs. Its text is not kept.
type APIToken struct {
	Name       string
	Sum        [sha256.Size]byte
	Principals []string // nil: all; empty: none
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
	Policy   Policy            // its Defaults fill what a request to open a run leaves out
	Tokens   []APIToken
	Metrics  http.Handler                // GET /metrics; nil: 404
	Ready    func(context.Context) error // GET /readyz, asked once a second at most; nil: the store's Ping
	// Hosts are the names by which the API may be addressed beside loopback ones, with a port or without; a request for another Host is refused.
	Hosts  []string
	Logger *slog.Logger // nil: discards
}

// API is the harness's own door: it opens and closes runs, reads control views and progress, assesses calls and verifies drafts. It belongs on a listener of its own
// and never answers without a token of role harness, except for /healthz, /readyz and /metrics. docs/openapi.yaml describes it.
type API struct {
	o           APIOptions
	hosts       hosts
	tokens      atomic.Pointer[[]APIToken]
	mux         *http.ServeMux
	gate        gate
	readiness   readiness
	draining    atomic.Bool
	bodyTimeout time.Duration
}

const (
	// maxAPIBody bounds a request: a draft of evidence.MaxDraft, escaped (JSON encoders write up to three bytes for one of UTF-8).
	maxAPIBody = 4 << 20
	// bodyTimeout bounds the time a body may take: a client that drips would hold a place. 4 MiB in it are 3.4 Mbit/s.
	bodyTimeout = 10 * time.Second
	// requestTimeout bounds the work on one request. A draft of 2,000 citations over a healthy store takes seconds.
	requestTimeout = 30 * time.Second
)

// NewAPI checks the options.
func NewAPI(o APIOptions) (*API, error) {
	if o.Driver == nil || o.Guard == nil {
		return nil, errors.New("harness: the API needs a store and a guard")
	}
	if d := o.Policy.Defaults; d.TTL <= 0 || d.Limits.Calls <= 0 || d.Limits.RequestBytes <= 0 || d.Limits.RawBytes <= 0 || d.Limits.ObservationBytes <= 0 {
		return nil, errors.New("harness: the API needs a policy whose defaults are positive; DefaultPolicy is one")
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Ready == nil {
		o.Ready = o.Driver.Ping
	}
	a := &API{o: o, hosts: newHosts(o.Hosts), mux: http.NewServeMux(), bodyTimeout: bodyTimeout}
	a.readiness.check = o.Ready
	a.SetTokens(o.Tokens)
	byPath := map[string]map[string]handler{}
	for _, e := range a.endpoints() {
		if byPath[e.path] == nil {
			byPath[e.path] = map[string]handler{}
		}
		byPath[e.path][e.method] = e.serve
	}
	for p, methods := range byPath {
		a.mux.HandleFunc(p, a.guarded(methods))
	}
	for p, h := range a.pages() {
		a.mux.HandleFunc(p, page(h))
	}
	a.mux.HandleFunc("/", a.guarded(nil))
	return a, nil
}

// endpoint is one operation behind the token.
type endpoint struct {
	method, path string
	serve        handler
}

func (a *API) endpoints() []endpoint {
	const runs = "/v1/principals/{principal}/runs"
	const run = runs + "/{run}"
	return []endpoint{
		{"POST", runs, a.openRun},
		{"GET", runs, a.listRuns},
		{"GET", run, a.getRun},
		{"DELETE", run, a.closeRun},
		{"POST", run + "/resume", a.resume},
		{"GET", run + "/calls", a.listCalls},
		{"GET", run + "/calls/{call}", a.getCall},
		{"POST", run + "/calls/{call}/assessment", a.assess},
		{"POST", run + "/verify", a.verify},
		{"GET", run + "/progress", a.progress},
	}
}

// pages need no token.
func (a *API) pages() map[string]http.Handler {
	out := map[string]http.Handler{
		"/healthz": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "ok\n") }),
		"/readyz": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if a.draining.Load() {
				text(w, http.StatusServiceUnavailable, "draining\n")
				return
			}
			if a.readiness.ready(r.Context()) != nil {
				text(w, http.StatusServiceUnavailable, "not ready\n")
				return
			}
			text(w, http.StatusOK, "ready\n")
		}),
	}
	if a.o.Metrics != nil {
		out["/metrics"] = a.o.Metrics
	}
	return out
}

func text(w http.ResponseWriter, status int, s string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, s) // a client that is gone needs no answer
}

func page(h http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			wrongMethod(w, "GET, HEAD")
			return
		}
		h.ServeHTTP(w, r)
	}
}

// Drain says that the gateway takes no more calls: /readyz answers 503 from now on, whatever the store says, so that load balancers look elsewhere. Everything else is
// served as before: a harness may still read what the calls in flight come to.
func (a *API) Drain() { a.draining.Store(true) }

// SetTokens replaces the tokens while requests are served.
func (a *API) SetTokens(t []APIToken) {
	list := slices.Clone(t)
	a.tokens.Store(&list)
}

// ServeHTTP refuses foreign hosts and every browser, then routes.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if fromBrowser(r) || !a.hosts.allows(r) {
		writeError(w, http.StatusForbidden, fault.InvalidRequest, "this address or origin may not be used")
		return
	}
	// The mux would answer a path that is not clean with a redirect, and before any token was seen.
	if p := r.URL.EscapedPath(); path.Clean(p) != p {
		a.guarded(nil)(w, r)
		return
	}
	a.mux.ServeHTTP(w, r)
}

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

// handler answers a request of an authenticated harness with a status and a value, or an error.
type handler func(r *http.Request, principal string) (int, any, error)

// guarded puts what every operation needs in front of it, in this order: a token, the right to the principal, a method, a place. No methods: no such path. That is
// said to a harness only, and nothing of the store is touched before all of it is passed.
func (a *API) guarded(methods map[string]handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		t, ok := a.authenticate(r)
		if !ok {
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeError(w, http.StatusUnauthorized, fault.ToolNotAuthorized, "a bearer token of role harness is needed")
			return
		}
		if methods == nil {
			writeError(w, http.StatusNotFound, fault.InvalidRequest, "no such path; docs/openapi.yaml lists them")
			return
		}
		principal := r.PathValue("principal")
		if t.Principals != nil && !slices.Contains(t.Principals, principal) {
			writeError(w, http.StatusForbidden, fault.ToolNotAuthorized, "the token may not administer this principal")
			return
		}
		method := r.Method
		if method == http.MethodHead {
			method = http.MethodGet // net/http leaves the body out
		}
		h, ok := methods[method]
		if !ok {
			wrongMethod(w, allow(methods))
			return
		}
		if !a.gate.enter(t.Name) {
			writeError(w, http.StatusTooManyRequests, fault.Overloaded, "")
			return
		}
		defer a.gate.leave(t.Name)
		a.serve(w, r, t, principal, h)
	}
}

func allow(methods map[string]handler) string {
	var names []string
	for m := range methods {
		names = append(names, m)
		if m == http.MethodGet {
			names = append(names, http.MethodHead)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// serve runs one operation within its bounds of bytes and time. A panic ends as INTERNAL; its text may hold content, so it goes nowhere.
func (a *API) serve(w http.ResponseWriter, r *http.Request, t APIToken, principal string, h handler) {
	ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
	defer cancel()
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(a.bodyTimeout)) // where it is not supported the server's own deadline holds
	r.Body = http.MaxBytesReader(w, r.Body, maxAPIBody)
	status, v, err := a.contained(h, r.WithContext(ctx), principal)
	var body []byte
	if err == nil && v != nil {
		body, err = encode(v)
	}
	if err != nil {
		code, _, hint := fault.Public(err)
		status = statusOf(code)
		if code == fault.StoreError && hint == "" {
			hint = "the store of the runs cannot be used at the moment"
		}
		a.log(r, t, status, code)
		writeError(w, status, code, hint)
		return
	}
	a.log(r, t, status, "")
	writeBody(w, status, body)
}

var errPanic = errors.New("panic")

func (a *API) contained(h handler, r *http.Request, principal string) (status int, v any, err error) {
	defer func() {
		if recover() != nil {
			a.o.Logger.Error("panic in a harness request", slog.String("path", r.Pattern), slog.String("stack", functionNames()))
			status, v, err = 0, nil, fault.New(fault.Internal, "harness.serve", errPanic)
		}
	}()
	return h(r, principal)
}

// functionNames is the stack without arguments.
func functionNames() string {
	pcs := make([]uintptr, 24)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	var names []string
	for {
		f, more := frames.Next()
		names = append(names, f.Function)
		if !more {
			return strings.Join(names, " < ")
		}
	}
}

// log says who changed what, and what the gateway could not do. No principal and no content.
func (a *API) log(r *http.Request, t APIToken, status int, code fault.Code) {
	level := slog.LevelInfo
	switch {
	case status >= http.StatusInternalServerError:
		level = slog.LevelWarn
	case r.Method == http.MethodGet || r.Method == http.MethodHead || strings.HasSuffix(r.Pattern, "/verify"):
		return
	}
	attrs := []slog.Attr{slog.String("method", r.Method), slog.String("path", r.Pattern), slog.String("token", t.Name), slog.Int("status", status)}
	if run := r.PathValue("run"); canonical.ValidID(run) {
		attrs = append(attrs, slog.String("run", run))
	}
	if code != "" {
		attrs = append(attrs, slog.String("code", string(code)))
	}
	a.o.Logger.LogAttrs(r.Context(), level, "harness request", attrs...)
}
