package client_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/harness/client"
)

// What answers may be anything: another service, a proxy, an attacker.
func TestStrangeAnswers(t *testing.T) {
	t.Parallel()
	var elsewhere []string
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		elsewhere = append(elsewhere, r.Header.Get("Authorization"))
	}))
	defer thief.Close()
	mux := http.NewServeMux()
	say := func(run string, status int, body string) {
		mux.HandleFunc("/v1/principals/alice/runs/"+run, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})
	}
	say("page", 200, "<html>sign in</html>")
	say("gate", 502, "<html>bad gateway</html>")
	say("huge", 200, `{"run_id":"`+strings.Repeat("x", 5000)+`"}`)
	say("huge-error", 500, strings.Repeat("x", 5000))
	say("newer", 200, `{"run_id":"newer","a_member_of_tomorrow":{}}`)
	say("busy", 429, `{"error":{"code":"OVERLOADED","message":"Later.","hint":"wait"}}`)
	mux.HandleFunc("/v1/principals/alice/runs/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/v1/principals/alice/runs/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"run_id":`)
	})
	mux.HandleFunc("POST /v1/principals/alice/runs/less/verify", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"verdicts":[]}`) })
	mux.HandleFunc("POST /v1/principals/alice/runs/other/verify", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{}`) })
	srv := httptest.NewServer(mux)
	defer srv.Close()
	c, err := client.New(client.Options{URL: srv.URL, Token: token, MaxResponse: 4096})
	if err != nil {
		t.Fatal(err)
	}
	get := func(run string) error { _, err := c.Run(t.Context(), "alice", run); return err }
	if err := get("page"); !errors.Is(err, client.ErrAnswer) {
		t.Errorf("a page: %v", err)
	}
	for _, run := range []string{"huge", "huge-error"} {
		if err := get(run); !errors.Is(err, client.ErrTooLarge) {
			t.Errorf("%s: %v", run, err)
		}
	}
	if err := get("newer"); err != nil {
		t.Errorf("a newer gateway: %v", err)
	}
	for run, want := range map[string]client.Error{"gate": {Status: 502, RetryAfter: 7 * time.Second}, "busy": {Status: 429, Code: client.Overloaded, Message: "Later.", Hint: "wait", RetryAfter: 7 * time.Second},
		"moved": {Status: 307}, "none": {Status: 404}} {
		e, ok := errors.AsType[*client.Error](get(run))
		if !ok || *e != want {
			t.Errorf("%s: %+v", run, e)
		}
	}
	if len(elsewhere) > 0 {
		t.Errorf("a redirect was followed with %q", elsewhere)
	}
	if err := get("cut"); err == nil || client.CodeOf(err) != "" {
		t.Errorf("an answer cut short: %v", err)
	}
	if _, err := c.VerifyCitations(t.Context(), "alice", "less", []string{"evidence://a/b"}, false); !errors.Is(err, client.ErrAnswer) {
		t.Errorf("a citation without a verdict: %v", err)
	}
	if d, err := c.VerifyDraft(t.Context(), "alice", "other", "x", false); err == nil && d.OK {
		t.Errorf("an empty answer passes for a good draft: %+v", d)
	}
}

func TestTheContextAndTheConnection(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { close(arrived); <-r.Context().Done() }))
	defer srv.Close()
	c, err := client.New(client.Options{URL: srv.URL, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	if _, err := c.Run(ctx, "alice-"+"canary", "r"); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "canary") {
		t.Errorf("cancelled: %v", err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if c, err = client.New(client.Options{URL: "http://" + address, Token: token}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Run(t.Context(), "alice-"+"canary", "r"); err == nil || !strings.Contains(err.Error(), "cannot be reached") || strings.Contains(err.Error(), "canary") {
		t.Errorf("nobody listens: %v", err)
	}
	slow, err := client.New(client.Options{URL: "http://" + address, Token: token, HTTP: &http.Client{Transport: stuck{}, Timeout: time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	if err := slow.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "reached") && !strings.Contains(err.Error(), "in time") {
		t.Errorf("too slow: %v", err)
	}
}

// stuck never answers.
type stuck struct{}

func (stuck) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}
