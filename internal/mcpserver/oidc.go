package mcpserver

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/seed-069badc9/mcp-gateway/canonical"
)

// OIDCOptions say whose tokens are accepted.
type OIDCOptions struct {
	Issuer   string // exactly as tokens and the discovery document spell it
	Audience string // must be among the token's aud
	// RunClaim names the claim that binds the token to a run; "" binds none. A token without it is not bound.
	RunClaim string
	// RoleClaim names the claim that must be "agent"; "" accepts every token of the issuer for this audience.
	RoleClaim string
	Client    *http.Client // nil: one with a timeout
}

const (
	// discoveryWait spaces attempts to reach the issuer, so that a flood of requests does not become one of its own.
	discoveryWait = 5 * time.Second
	issuerTimeout = 5 * time.Second
)

// OIDC authenticates JWTs of one issuer. Signatures are checked against the issuer's keys, which are fetched when a token first needs them and kept; issuer, audience
// and life are checked always. The principal is the issuer and the subject. A token that cannot be checked because the issuer cannot be reached is refused.
type OIDC struct {
	o      OIDCOptions
	client *http.Client

	mu       sync.Mutex
	verifier *oidc.IDTokenVerifier
	tried    time.Time
}

var _ Authenticator = (*OIDC)(nil)

// NewOIDC does no I/O.
func NewOIDC(o OIDCOptions) (*OIDC, error) {
	if o.Issuer == "" || o.Audience == "" {
		return nil, errors.New("mcpserver: OIDC needs an issuer and an audience")
	}
	c := o.Client
	if c == nil {
		c = &http.Client{Timeout: issuerTimeout}
	}
	return &OIDC{o: o, client: c}, nil
}

var errIssuer = errors.New("mcpserver: the issuer cannot be reached")

func (a *OIDC) ready(ctx context.Context) (*oidc.IDTokenVerifier, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.verifier != nil {
		return a.verifier, nil
	}
	if time.Since(a.tried) < discoveryWait {
		return nil, errIssuer
	}
	a.tried = time.Now()
	// The provider keeps this context for later fetches of keys: it must not end with the request.
	p, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), a.client), a.o.Issuer)
	if err != nil {
		return nil, errIssuer
	}
	a.verifier = p.VerifierContext(oidc.ClientContext(context.WithoutCancel(ctx), a.client), &oidc.Config{ClientID: a.o.Audience,
		SupportedSigningAlgs: []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}})
	return a.verifier, nil
}

// Authenticate checks the bearer token of a request.
func (a *OIDC) Authenticate(ctx context.Context, r *http.Request) (Caller, error) {
	raw, err := BearerToken(r)
	if err != nil {
		return Caller{}, err
	}
	if strings.Count(raw, ".") != 2 {
		return Caller{}, ErrBadToken
	}
	v, err := a.ready(ctx)
	if err != nil {
		return Caller{}, err
	}
	t, err := v.Verify(ctx, raw)
	if err != nil {
		return Caller{}, ErrBadToken
	}
	if t.Subject == "" || strings.ContainsRune(t.Subject, 0) {
		return Caller{}, ErrBadToken
	}
	var claims map[string]any
	if err := t.Claims(&claims); err != nil {
		return Caller{}, ErrBadToken
	}
	c := Caller{Principal: t.Issuer + "#" + t.Subject, Role: RoleAgent}
	if a.o.RoleClaim != "" && !holds(claims[a.o.RoleClaim], RoleAgent) {
		return Caller{}, ErrForbidden
	}
	if a.o.RunClaim != "" {
		if run, present := claims[a.o.RunClaim]; present {
			s, ok := run.(string)
			if !ok || !canonical.ValidID(s) {
				return Caller{}, ErrForbidden
			}
			c.Binding = s
		}
	}
	return c, nil
}

// holds tells whether a claim is the value or a list that has it.
func holds(claim any, want string) bool {
	switch x := claim.(type) {
	case string:
		return x == want
	case []any:
		for _, e := range x {
			if e == want {
				return true
			}
		}
	}
	return false
}

// Any asks each authenticator in turn: the first that accepts decides. A token that none accepts is refused as the last one says.
type Any []Authenticator

var _ Authenticator = Any(nil)

// Authenticate returns the first caller that is accepted.
func (a Any) Authenticate(ctx context.Context, r *http.Request) (c Caller, err error) {
	err = ErrBadToken
	for _, one := range a {
		if c, err = one.Authenticate(ctx, r); err == nil || errors.Is(err, ErrForbidden) || errors.Is(err, ErrNoToken) {
			return c, err
		}
	}
	return Caller{}, err
}
