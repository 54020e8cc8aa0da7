package mcpserver

import (
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
)

// trustedLength is the longest body whose room is taken on the client's word; longer ones take room as they arrive.
const trustedLength = 64 << 10

// refused is a request that the shell turns away: an HTTP status and what the client reads.
type refused struct {
	status int
	reason string // for the log: fixed words
	err    *rpcError
	header [2]string
}

func refuse(status int, text string) *refused {
	return &refused{status: status, reason: text, err: &rpcError{code: mcp.INVALID_REQUEST, text: text}}
}

func (r *refused) with(name, value string) *refused {
	r.header = [2]string{name, value}
	return r
}

// busy refuses for now. Nothing was charged and nothing recorded.
func busy(reason string) *refused {
	return (&refused{status: http.StatusServiceUnavailable, reason: reason, err: overloaded()}).with("Retry-After", "1")
}

// Handler serves the MCP endpoint. It needs nothing around it but an http.Server with timeouts: NewHTTPServer makes one, Serve runs one.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.handle) }

func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			s.logPanic(r.Context(), "handle")
			s.write(w, http.StatusInternalServerError, errorReply(nil, &rpcError{code: mcp.INTERNAL_ERROR, text: textInternal}))
		}
	}()
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	caller, ref := s.admit(w, r)
	if ref != nil {
		s.turnAway(w, r, nil, ref)
		return
	}
	if r.Method == http.MethodOptions { // an allowed origin's preflight
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if r.Method == http.MethodGet { // only the resource's metadata passes as one
		s.writeMetadata(w, r)
		return
	}
	body, ref := s.body(w, r, caller.Principal)
	if ref != nil {
		s.turnAway(w, r, nil, ref)
		return
	}
	m, bad := decode(body)
	if bad != nil {
		s.turnAway(w, r, m, &refused{status: http.StatusBadRequest, reason: "message refused", err: bad})
		return
	}
	if ref := checkHeaders(r.Header, m); ref != nil {
		s.turnAway(w, r, m, ref)
		return
	}
	if m.kind != request {
		// Notifications change nothing here, and a cancellation over HTTP is refused on purpose: it could name any client's request. Closing the stream is the cancel.
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if !s.calls.enter(caller.Principal) {
		s.turnAway(w, r, m, busy("overloaded"))
		return
	}
	defer s.calls.leave(caller.Principal)
	ctx := r.Context()
	if s.o.Join != nil {
		ctx = s.o.Join(ctx, r.Header.Get("Traceparent"))
	}
	rep := s.serve(ctx, caller, runHeader(r.Header), m)
	status := http.StatusOK
	if m.modern() {
		status = modernStatus(rep.code)
	}
	s.write(w, status, rep)
}

// admit decides by the request's head alone whether its body is read at all.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) (Caller, *refused) {
	if !s.hosts.allows(r.Host) {
		s.logForeign(r.Context(), &s.foreignHost, "a Host is refused: add the name that clients use, with or without a port, to http.allowed_hosts", keyHost, shownHost(r.Host))
		return Caller{}, refuse(http.StatusForbidden, "The Host is not allowed.")
	}
	origin := r.Header.Values("Origin")
	if len(origin) > 0 {
		if _, ok := s.orig[originKey(origin[0])]; !ok || len(origin) > 1 {
			s.logForeign(r.Context(), &s.foreignOrigin, "an Origin is refused: add that of the web page to http.allowed_origins if it may use this gateway", keyOrigin, shownOrigin(origin[0]))
			return Caller{}, refuse(http.StatusForbidden, "The Origin is not allowed.")
		}
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origin[0])
		h.Set("Access-Control-Expose-Headers", "WWW-Authenticate, Retry-After")
		h.Add("Vary", "Origin")
	}
	if s.isMetadata(r) {
		return Caller{}, nil
	}
	if r.URL.Path != s.o.HTTP.Path {
		return Caller{}, refuse(http.StatusNotFound, "There is nothing at this path.")
	}
	if r.Method == http.MethodOptions && len(origin) > 0 {
		h := w.Header()
		h.Set("Access-Control-Allow-Methods", http.MethodPost)
		h.Set("Access-Control-Allow-Headers", "Accept, Authorization, Content-Type, Last-Event-ID, "+mcp.HeaderProtocolVersion+", "+mcp.HeaderMethod+", "+mcp.HeaderName+", "+mcp.HeaderSessionID+", "+headerRun)
		h.Set("Access-Control-Max-Age", "600")
		return Caller{}, nil
	}
	if r.Method != http.MethodPost {
		return Caller{}, refuse(http.StatusMethodNotAllowed, "Only POST is served.").with("Allow", http.MethodPost)
	}
	if s.draining.Load() {
		w.Header().Set("Connection", "close")
		return Caller{}, busy("draining")
	}
	types := r.Header.Values("Content-Type")
	if len(types) != 1 {
		return Caller{}, refuse(http.StatusUnsupportedMediaType, "The Content-Type must be application/json.")
	}
	if mt, p, err := mime.ParseMediaType(types[0]); err != nil || mt != mimeJSON || p["charset"] != "" && !strings.EqualFold(p["charset"], "utf-8") {
		return Caller{}, refuse(http.StatusUnsupportedMediaType, "The Content-Type must be application/json.")
	}
	for _, e := range r.Header.Values("Content-Encoding") {
		if e != "" && !strings.EqualFold(e, "identity") {
			return Caller{}, refuse(http.StatusUnsupportedMediaType, "Encoded bodies are not accepted.")
		}
	}
	return s.authenticate(r)
}

func (s *Server) authenticate(r *http.Request) (Caller, *refused) {
	if s.o.HTTP.Auth == nil {
		return Caller{}, refuse(http.StatusForbidden, "No client may use this endpoint.")
	}
	c, err := s.o.HTTP.Auth.Authenticate(r.Context(), r)
	challenge := "Bearer"
	add := func(name, value string) {
		if challenge != "Bearer" {
			challenge += ","
		}
		challenge += " " + name + `="` + value + `"`
	}
	if u := s.metadataURL(r); u != "" {
		add("resource_metadata", u)
	}
	switch {
	case err == nil && c.Role != "" && c.Role != RoleAgent, errors.Is(err, ErrForbidden):
		add("error", "insufficient_scope")
		return Caller{}, refuse(http.StatusForbidden, "The token may not use this endpoint.").with("WWW-Authenticate", challenge)
	case err == nil && c.Principal != "":
		return c, nil
	case errors.Is(err, ErrNoToken):
		return Caller{}, refuse(http.StatusUnauthorized, "A bearer token is required.").with("WWW-Authenticate", challenge)
	case errors.Is(err, ErrBadToken):
		add("error", "invalid_token")
		return Caller{}, refuse(http.StatusUnauthorized, "The bearer token is not accepted.").with("WWW-Authenticate", challenge)
	}
	return Caller{}, refuse(http.StatusServiceUnavailable, "Tokens cannot be checked at the moment.").with("Retry-After", "5")
}

// body reads the request's body within the limit. How many are read at once is bounded apart from the calls, so that slow senders do not hold calls up.
func (s *Server) body(w http.ResponseWriter, r *http.Request, principal string) ([]byte, *refused) {
	tooLarge := func() *refused {
		w.Header().Set("Connection", "close") // the rest of the body is not read
		return refuse(http.StatusRequestEntityTooLarge, "The message is too large.")
	}
	if r.ContentLength > int64(s.o.MaxMessage) {
		return nil, tooLarge()
	}
	if !s.bodies.enter(principal) {
		return nil, busy("too many bodies")
	}
	defer s.bodies.leave(principal)
	limited := http.MaxBytesReader(w, r.Body, int64(s.o.MaxMessage))
	var body []byte
	var err error
	if r.ContentLength >= 0 && r.ContentLength <= trustedLength {
		body = make([]byte, r.ContentLength)
		_, err = io.ReadFull(limited, body)
	} else {
		body, err = io.ReadAll(limited)
	}
	if err == nil {
		return body, nil
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge()
	}
	w.Header().Set("Connection", "close")
	return nil, refuse(http.StatusBadRequest, "The body could not be read.")
}

// runHeader is the run that the header names. Two headers make a value outside the grammar of ids, so the call is refused.
func runHeader(h http.Header) string { return strings.Join(h.Values(headerRun), ",") }

// checkHeaders compares the protocol's headers with the message as it was sent.
func checkHeaders(h http.Header, m *message) *refused {
	mismatch := func(text string) *refused {
		return &refused{status: http.StatusBadRequest, reason: "header mismatch", err: &rpcError{code: mcp.HEADER_MISMATCH, text: text}}
	}
	for _, name := range [...]string{mcp.HeaderProtocolVersion, mcp.HeaderMethod, mcp.HeaderName} {
		if len(h.Values(name)) > 1 {
			return mismatch("The header " + name + " is given twice.")
		}
	}
	version := h.Get(mcp.HeaderProtocolVersion)
	modern := m.modern() || mcp.IsModernProtocol(version)
	switch {
	case !modern && m.method != string(mcp.MethodInitialize) && version != "" && !mcp.IsValidProtocolVersion(version):
		return refuse(http.StatusBadRequest, "The protocol version is not supported.")
	case modern && m.kind == response:
		return refuse(http.StatusBadRequest, "Responses of a client are not part of this protocol version.")
	case modern && h.Get(mcp.HeaderLastEventID) != "":
		return mismatch("Last-Event-ID is not supported: streams are not resumable.")
	case modern && version == "":
		return mismatch("The header " + mcp.HeaderProtocolVersion + " is missing.")
	case modern && m.version() == "":
		return &refused{status: http.StatusBadRequest, reason: "no version in _meta", err: invalidParams("The _meta lacks " + mcp.MetaKeyProtocolVersion + ".")}
	case modern && version != m.version():
		return mismatch("The header " + mcp.HeaderProtocolVersion + " differs from the message.")
	}
	method := h.Get(mcp.HeaderMethod)
	if method == "" && modern && m.kind == request {
		return mismatch("The header " + mcp.HeaderMethod + " is missing.")
	}
	if method != "" && method != m.method {
		return mismatch("The header " + mcp.HeaderMethod + " differs from the message.")
	}
	want := m.name
	switch mcp.MCPMethod(m.method) {
	case mcp.MethodResourcesRead:
		want = m.uri
	case mcp.MethodToolsCall, mcp.MethodPromptsGet:
	default:
		return nil // other methods carry no name
	}
	sent := h.Values(mcp.HeaderName)
	if len(sent) == 0 {
		if modern {
			return mismatch("The header " + mcp.HeaderName + " is missing.")
		}
		return nil
	}
	if got, ok := mcp.DecodeHeaderValue(sent[0]); !ok || got != want {
		return mismatch("The header " + mcp.HeaderName + " differs from the message.")
	}
	return nil
}

// modernStatus is the HTTP status that protocol 2026-07-28 gives a JSON-RPC error; before it every answer was 200.
func modernStatus(code int) int {
	switch code {
	case mcp.METHOD_NOT_FOUND:
		return http.StatusNotFound
	case mcp.HEADER_MISMATCH, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, mcp.UNSUPPORTED_PROTOCOL_VERSION, mcp.INVALID_REQUEST, mcp.INVALID_PARAMS, mcp.PARSE_ERROR:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

func (s *Server) turnAway(w http.ResponseWriter, r *http.Request, m *message, ref *refused) {
	s.log.LogAttrs(r.Context(), slog.LevelDebug, "request refused", slog.Int(keyStatus, ref.status), slog.String(keyReason, ref.reason))
	if ref.header[0] != "" {
		w.Header().Set(ref.header[0], ref.header[1])
	}
	rep := reply{}
	if m != nil {
		rep = errorReply(m.id, ref.err)
	} else {
		rep = errorReply(nil, ref.err)
	}
	s.write(w, ref.status, rep)
}

// write sends a reply: one JSON body, or an event stream when notifications go in front of the response.
func (s *Server) write(w http.ResponseWriter, status int, rep reply) {
	if len(rep.notes) == 0 {
		w.Header().Set("Content-Type", mimeJSON)
		w.WriteHeader(status)
		_, _ = w.Write(rep.body) // a client that is gone is no error of ours
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(status)
	for _, b := range append(rep.notes, rep.body) {
		_, _ = w.Write([]byte("event: message\ndata: "))
		_, _ = w.Write(b)
		_, _ = w.Write([]byte("\n\n"))
	}
}
