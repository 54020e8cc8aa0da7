package mcpserver

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/seed-069badc9/mcp-gateway/boundary"
)

// What an Authenticator says of a request that it does not let in.
var (
	ErrNoToken   = errors.New("mcpserver: no bearer token")
	ErrBadToken  = errors.New("mcpserver: bearer token not accepted")
	ErrForbidden = errors.New("mcpserver: token may not use this endpoint")
)

// RoleAgent is the role that may use the MCP endpoint. A token of another role, such as the harness's own, is refused there.
const RoleAgent = "agent"

// Token is a static bearer token. Its text is not kept.
type Token struct {
	Name   string // the principal
	Sum    [sha256.Size]byte
	Role   string
	Run    string // run that the token is bound to, or ""
	Grants boundary.Grants
}

// NewToken takes the digest of secret, which must not be empty.
func NewToken(name, secret string) (Token, error) {
	if name == "" || secret == "" {
		return Token{}, errors.New("mcpserver: a token needs a name and a text")
	}
	return Token{Name: name, Sum: sha256.Sum256([]byte(secret)), Role: RoleAgent}, nil
}

// Tokens authenticates static bearer tokens. Set replaces them while requests are served.
type Tokens struct{ list atomic.Pointer[[]Token] }

var _ Authenticator = (*Tokens)(nil)

// NewTokens accepts the tokens given and no others.
func NewTokens(tokens ...Token) *Tokens {
	t := &Tokens{}
	t.Set(tokens)
	return t
}

// Set replaces the tokens: a token that is not among them is refused from the next request on.
func (t *Tokens) Set(tokens []Token) {
	list := append([]Token(nil), tokens...)
	t.list.Store(&list)
}

// Authenticate compares digests in constant time and looks at every token, so that the time tells neither how much of a token fits nor which one did.
func (t *Tokens) Authenticate(_ context.Context, r *http.Request) (Caller, error) {
	secret, err := BearerToken(r)
	if err != nil {
		return Caller{}, err
	}
	sum := sha256.Sum256([]byte(secret))
	list := *t.list.Load()
	found := -1
	for i := range list {
		if subtle.ConstantTimeCompare(sum[:], list[i].Sum[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return Caller{}, ErrBadToken
	}
	k := list[found]
	return Caller{Principal: k.Name, Grants: k.Grants, Binding: k.Run, Role: k.Role}, nil
}

// BearerToken takes the token out of the one Authorization header; a token in the query is never looked at.
func BearerToken(r *http.Request) (string, error) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 {
		return "", ErrNoToken
	}
	scheme, secret, ok := strings.Cut(values[0], " ")
	if len(values) > 1 || !ok || !strings.EqualFold(scheme, "bearer") {
		return "", ErrBadToken
	}
	if secret = strings.TrimLeft(secret, " "); secret == "" {
		return "", ErrBadToken
	}
	return secret, nil
}

// Everyone lets every request in as one caller. It is for a loopback listener without tokens and for nothing else.
type Everyone struct{ Caller Caller }

var _ Authenticator = Everyone{}

// Authenticate returns the one caller.
func (e Everyone) Authenticate(context.Context, *http.Request) (Caller, error) { return e.Caller, nil }
