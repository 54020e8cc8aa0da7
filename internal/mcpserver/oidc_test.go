package mcpserver

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// issuer is a small OpenID provider.
type issuer struct {
	*httptest.Server
	key     *rsa.PrivateKey
	down    atomic.Bool
	fetches atomic.Int64
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{key: key}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, r *http.Request) {
		i.fetches.Add(1)
		if i.down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		json.NewEncoder(w).Encode(map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/a", "token_endpoint": i.URL + "/t",
			"id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"}})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, r *http.Request) {
		json.NewEncoder(w).Encode(map[string]any{"keys": []any{map[string]any{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "k1",
			"n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()), "e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes())}}})
	})
	i.Server = httptest.NewServer(mux)
	t.Cleanup(i.Close)
	return i
}

func part(v any) string {
	b, _ := json.Marshal(v)
	return base64.RawURLEncoding.EncodeToString(b)
}

// token signs claims; alg "none" and HS256 with the public key as secret are the classic forgeries.
func (i *issuer) token(t *testing.T, alg, kid string, claims map[string]any) string {
	t.Helper()
	head := part(map[string]any{"alg": alg, "typ": "JWT", "kid": kid}) + "." + part(claims)
	sum := sha256.Sum256([]byte(head))
	switch alg {
	case "none":
		return head + "."
	case "HS256":
		m := hmac.New(sha256.New, i.key.N.Bytes())
		m.Write([]byte(head))
		return head + "." + base64.RawURLEncoding.EncodeToString(m.Sum(nil))
	}
	sig, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return head + "." + base64.RawURLEncoding.EncodeToString(sig)
}

func TestOIDC(t *testing.T) {
	i := newIssuer(t)
	other := newIssuer(t)
	a, err := NewOIDC(OIDCOptions{Issuer: i.URL, Audience: "gateway", RunClaim: "run", RoleClaim: "roles"})
	if err != nil {
		t.Fatal(err)
	}
	good := func(change map[string]any) map[string]any {
		c := map[string]any{"iss": i.URL, "aud": "gateway", "sub": "agent-7", "exp": time.Now().Add(time.Hour).Unix(), "iat": time.Now().Unix(), "roles": []string{"reader", "agent"}}
		for k, v := range change {
			if c[k] = v; v == nil {
				delete(c, k)
			}
		}
		return c
	}
	ask := func(auth string) (Caller, error) {
		r := httptest.NewRequest("POST", "/mcp", nil)
		if auth != "" {
			r.Header.Set("Authorization", auth)
		}
		return a.Authenticate(t.Context(), r)
	}
	c, err := ask("Bearer " + i.token(t, "RS256", "k1", good(map[string]any{"run": "inc-1", "aud": []string{"x", "gateway"}})))
	if err != nil || c.Principal != i.URL+"#agent-7" || c.Binding != "inc-1" || c.Role != RoleAgent {
		t.Fatalf("%+v %v", c, err)
	}
	if c, err := ask("Bearer " + i.token(t, "RS256", "k1", good(map[string]any{"roles": "agent"}))); err != nil || c.Binding != "" {
		t.Errorf("without a run: %+v %v", c, err)
	}
	for name, tc := range map[string]struct {
		auth string
		want error
	}{
		"no token":            {"", ErrNoToken},
		"garbage":             {"Bearer a.b.c", ErrBadToken},
		"opaque":              {"Bearer abc", ErrBadToken},
		"expired":             {"Bearer " + i.token(t, "RS256", "k1", good(map[string]any{"exp": time.Now().Add(-time.Hour).Unix()})), ErrBadToken},
		"not yet valid":       {"Bearer " + i.token(t, "RS256", "k1", good(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()})), ErrBadToken},
		"no expiry":           {"Bearer " + i.token(t, "RS256", "k1", good(map[string]any{"exp": nil})), ErrBadToken},
		"other audience":      {"Bearer " + i.token(t, "RS256", "k1", good(map[string]any{"aud": "else"})), ErrBadToken},
		"other issuer":        {"Bearer " + other.token(t, "RS256", "k1", good(map[string]any{"iss": other.URL})), ErrBadToken},
		"signed by another":   {"Bearer " + other.token(t, "RS256", "k1", good(nil)), ErrBadToken},
		"unknown key id":      {"Bearer " + other.token(t, "RS256", "k9", good(nil)), ErrBadToken},
		"alg none":            {"Bearer " + i.token(t, "none", "k1", good(nil)), ErrBadToken},
		"HS256 of public key": {"Bearer " + i.token(t, "HS256", "k1", good(nil)), ErrBadToken},
		"no subject":          {"Bearer " + i.token(t, "RS256", "k1", good(map[string]any{"sub": nil})), ErrBadToken},
		"no role":             {"Bearer " + i.token(t, "RS256", "k1", good(map[string]any{"roles": nil})), ErrForbidden},
		"role of the harness": {"Bearer " + i.token(t, "RS256", "k1", good(map[string]any{"roles": "harness"})), ErrForbidden},
		"run that is no id":   {"Bearer " + i.token(t, "RS256", "k1", good(map[string]any{"run": "../x"})), ErrForbidden},
		"run of another type": {"Bearer " + i.token(t, "RS256", "k1", good(map[string]any{"run": 7})), ErrForbidden},
		"reserved run":        {"Bearer " + i.token(t, "RS256", "k1", good(map[string]any{"run": "current"})), ErrForbidden},
	} {
		if c, err := ask(tc.auth); !errors.Is(err, tc.want) || c.Principal != "" {
			t.Errorf("%s: %+v %v, want %v", name, c, err, tc.want)
		}
	}
}

func TestAnIssuerThatIsDownLetsNobodyInAndIsNotFlooded(t *testing.T) {
	i := newIssuer(t)
	i.down.Store(true)
	a, err := NewOIDC(OIDCOptions{Issuer: i.URL, Audience: "gateway"})
	if err != nil {
		t.Fatal(err)
	}
	token := i.token(t, "RS256", "k1", map[string]any{"iss": i.URL, "aud": "gateway", "sub": "s", "exp": time.Now().Add(time.Hour).Unix()})
	for range 20 {
		r := httptest.NewRequest("POST", "/mcp", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		if _, err := a.Authenticate(t.Context(), r); err == nil || errors.Is(err, ErrBadToken) {
			t.Fatalf("%v", err)
		}
	}
	if n := i.fetches.Load(); n != 1 {
		t.Errorf("the issuer was asked %d times", n)
	}
}

func TestStaticTokensAndAnIssuerTogether(t *testing.T) {
	i := newIssuer(t)
	tok, err := NewToken("static", "tok-not-real")
	if err != nil {
		t.Fatal(err)
	}
	o, err := NewOIDC(OIDCOptions{Issuer: i.URL, Audience: "gateway"})
	if err != nil {
		t.Fatal(err)
	}
	both := Any{NewTokens(tok), o}
	for secret, want := range map[string]string{"tok-not-real": "static",
		i.token(t, "RS256", "k1", map[string]any{"iss": i.URL, "aud": "gateway", "sub": "s", "exp": time.Now().Add(time.Hour).Unix()}): i.URL + "#s", "tok-wrong": ""} {
		r := httptest.NewRequest("POST", "/mcp", nil)
		r.Header.Set("Authorization", "Bearer "+secret)
		if c, err := both.Authenticate(t.Context(), r); c.Principal != want || (err == nil) != (want != "") {
			t.Errorf("%.20s: %+v %v", secret, c, err)
		}
	}
}

func TestResourceMetadata(t *testing.T) {
	s := newRig(t, func(o *Options) {
		o.HTTP.AuthServers, o.HTTP.Secure, o.HTTP.Auth = []string{"https://issuer.example.com"}, true, NewTokens()
	})
	for _, path := range []string{wellKnown, wellKnown + "/mcp"} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", path, nil)
		r.Host = "localhost"
		s.Handler().ServeHTTP(w, r)
		if w.Code != 200 || strings.TrimSpace(w.Body.String()) != `{"resource":"https://localhost/mcp","authorization_servers":["https://issuer.example.com"],"bearer_methods_supported":["header"]}` {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest("POST", "/mcp", strings.NewReader(`{}`))
	r.Host = "localhost"
	r.Header.Set("Content-Type", "application/json")
	s.Handler().ServeHTTP(w, r)
	if got := w.Header().Get("WWW-Authenticate"); w.Code != 401 || got != `Bearer resource_metadata="https://localhost/.well-known/oauth-protected-resource/mcp"` {
		t.Errorf("%d %q", w.Code, got)
	}
}
