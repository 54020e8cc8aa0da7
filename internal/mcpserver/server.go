// Package mcpserver is the MCP face of the gateway and the only importer of mcp-go. It promises: a message is decoded strictly once, and what mcp-go sees is
// written anew from what was decoded; every tools/call, also of an unknown tool, becomes one Core.Invoke; a client receives observations, refusals with a fixed
// sentence and verdicts, never a Go error, a panic text or anything of another caller. Over HTTP no request shares state with another, and nobody can cancel
// what they did not start; stdout of the stdio server carries JSON-RPC lines only.
package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/evidence"
)

// Core is the boundary. An implementation may forward to another one after a reload; each method is then one consistent view.
type Core interface {
	// Invoke serves one call; its error is a *boundary.Refusal.
	Invoke(ctx context.Context, run boundary.Run, e boundary.Envelope) (boundary.Observation, error)
	// Specs lists the tools that a caller with these grants may use.
	Specs(g boundary.Grants) []boundary.Spec
}

// Resolver turns what a transport knows of a request into the run it belongs to.
type Resolver interface {
	Resolve(id boundary.Identity) boundary.Run
	// Current is the run that "current" stands for in an evidence URI, or "". explicit is the run that the request names, or "".
	Current(principal, explicit string) string
}

// Verifier answers citations; *evidence.Guard is one.
type Verifier interface {
	VerifyURI(ctx context.Context, c evidence.Caller, uri string) evidence.Verdict
}

// Schemas describes datasources. An unknown datasource and a forbidden one give the same error, whose text goes nowhere.
type Schemas interface {
	Datasources(g boundary.Grants) []string
	Schema(ctx context.Context, datasource string, g boundary.Grants) (json.RawMessage, error)
}

var (
	_ Core     = (*boundary.Boundary)(nil)
	_ Verifier = (*evidence.Guard)(nil)
)

// Caller is an authenticated client.
type Caller struct {
	Principal string
	Grants    boundary.Grants
	Binding   string // run that the token or the process is bound to, or ""
	Role      string // "agent", or "" where roles mean nothing
	Process   string // nonce of a stdio process, "" over HTTP
}

// Authenticator establishes who sends an HTTP request. Its errors are ErrNoToken, ErrBadToken, ErrForbidden, or anything else for "cannot tell now".
type Authenticator interface {
	Authenticate(ctx context.Context, r *http.Request) (Caller, error)
}

// Defaults of Options.
const (
	DefaultMaxMessage    = 1 << 20 // a tools/call is at most 16 KiB of arguments; the rest is room for a client's _meta
	DefaultMaxConcurrent = 256
	DefaultCallTimeout   = 30 * time.Second
	DefaultGrace         = 30 * time.Second
)

// Options configure New. Core, Resolver, Verifier and Schemas are required.
type Options struct {
	Name    string // "" is mcp-gateway
	Version string
	// Instructions tell the model how to work with the tools; "" is the built-in text, made for the tools that the caller gets. Clients cut it at 2 KiB.
	Instructions string
	// Diagnose is the text of the prompt of that name, with the places {incident}, {service}, {since} and {steps}; "" is the built-in text.
	Diagnose string

	Core     Core
	Resolver Resolver
	Verifier Verifier
	Schemas  Schemas
	Log      *slog.Logger // nil discards
	// Join makes a context continue the trace of a W3C traceparent, which a client sends as a header or in _meta; nil ignores it.
	Join func(ctx context.Context, traceparent string) context.Context

	MaxMessage    int           // bytes of a body or a line; 0 is DefaultMaxMessage
	MaxConcurrent int           // HTTP requests served at once; 0 is DefaultMaxConcurrent
	CallTimeout   time.Duration // how long a call may take, for the server's write timeout; 0 is DefaultCallTimeout
	Grace         time.Duration // how long calls in flight may finish at the end; 0 is DefaultGrace

	HTTP HTTPOptions
}

// HTTPOptions configure the HTTP transport.
type HTTPOptions struct {
	Path           string        // "" is /mcp
	Listen         string        // listen address; its host is an allowed Host
	AllowedOrigins []string      // "https://console.example.com"; empty refuses every Origin header
	AllowedHosts   []string      // names beside the listen address and the loopback names, with or without a port
	Auth           Authenticator // nil refuses every request
	// MaxPerPrincipal is how many of the MaxConcurrent requests may be those of one principal; 0 is all. Below it, no client can take every place.
	MaxPerPrincipal int
	// ResourceMetadata is the URL that a 401 names as resource_metadata (RFC 9728), or "".
	ResourceMetadata string
	// AuthServers are the issuers whose tokens Auth accepts. When there are any, the RFC 9728 metadata of this resource is served and named by a 401.
	AuthServers []string
	// Secure tells that clients reach this server over TLS, here or at a proxy in front.
	Secure bool
}

// Server serves MCP over stdio and HTTP.
type Server struct {
	o     Options
	log   *slog.Logger
	mcp   *server.MCPServer
	hosts hostList
	orig  map[string]struct{}

	calls    *slots // HTTP requests being served
	bodies   *slots // HTTP bodies being read: apart from the calls, so that slow senders do not hold calls up
	draining atomic.Bool
	ids      atomic.Uint64

	foreignHost, foreignOrigin sparse // lines about who was turned away at the door
}

// New checks the options and builds the server.
func New(o Options) (*Server, error) {
	if o.Core == nil || o.Resolver == nil || o.Verifier == nil || o.Schemas == nil {
		return nil, errors.New("mcpserver: Core, Resolver, Verifier and Schemas are required")
	}
	setDefault(&o.Name, "mcp-gateway")
	setDefault(&o.Version, "dev")
	setDefault(&o.Diagnose, diagnoseText)
	setDefault(&o.HTTP.Path, "/mcp")
	setDefault(&o.MaxMessage, DefaultMaxMessage)
	setDefault(&o.MaxConcurrent, DefaultMaxConcurrent)
	setDefault(&o.CallTimeout, DefaultCallTimeout)
	setDefault(&o.Grace, DefaultGrace)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.MaxMessage < 0 || o.MaxConcurrent < 0 || o.HTTP.MaxPerPrincipal < 0 {
		return nil, errors.New("mcpserver: MaxMessage, MaxConcurrent and MaxPerPrincipal must be positive")
	}
	if !strings.HasPrefix(o.HTTP.Path, "/") {
		return nil, fmt.Errorf("mcpserver: path %q does not begin with /", o.HTTP.Path)
	}
	if len(o.Instructions) > maxModelText {
		return nil, fmt.Errorf("mcpserver: instructions of %d bytes are over the %d that clients show", len(o.Instructions), maxModelText)
	}
	s := &Server{o: o, log: o.Log, calls: newSlots(o.MaxConcurrent, o.HTTP.MaxPerPrincipal), bodies: newSlots(2*o.MaxConcurrent+64, 2*o.HTTP.MaxPerPrincipal)}
	var err error
	if s.hosts, err = newHostList(o.HTTP.Listen, o.HTTP.AllowedHosts); err != nil {
		return nil, err
	}
	if s.orig, err = originSet(o.HTTP.AllowedOrigins); err != nil {
		return nil, err
	}
	// No list ever changes under a client's eyes and nothing can be subscribed, so no capability promises notifications; SDK validation and recovery stay off because
	// both would tell the model what mcp-go thinks.
	s.mcp = server.NewMCPServer(o.Name, o.Version, server.WithToolCapabilities(false), server.WithResourceCapabilities(false, false), server.WithPromptCapabilities(false))
	s.mcp.AddPrompt(diagnosePrompt(), s.prompt)
	return s, nil
}

// maxModelText is where Claude Code cuts instructions and tool descriptions.
const maxModelText = 2048

func setDefault[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

// reply is the answer to one message.
type reply struct {
	body  []byte   // the JSON-RPC response; nil for none
	code  int      // its JSON-RPC error code, 0 for a result
	notes [][]byte // notifications that belong in front of it
}

// serve hands one decoded request to mcp-go and returns its encoded response. It never panics and never returns mcp-go's words for a failure inside.
func (s *Server) serve(ctx context.Context, caller Caller, headerRun string, m *message) (r reply) {
	defer func() {
		if p := recover(); p != nil {
			s.logPanic(ctx, "serve")
			r = errorReply(m.id, &rpcError{code: mcp.INTERNAL_ERROR, text: textInternal})
		}
	}()
	if m.cursor != "" {
		return errorReply(m.id, invalidParams("There is no page of this cursor: every list has one page."))
	}
	if s.o.Join != nil {
		if parent, ok := text(m.meta.get("traceparent")); ok {
			ctx = s.o.Join(ctx, parent)
		}
	}
	x := &exchange{s: s, caller: caller, headerRun: headerRun, msg: m}
	resp := s.mcp.HandleMessage(s.mcp.WithContext(ctx, x), m.forward(s.ids.Add(1)))
	if x.fail != nil {
		return errorReply(m.id, x.fail)
	}
	r = encodeResponse(m, x.introduce(resp))
	r.notes = x.drain()
	return r
}
