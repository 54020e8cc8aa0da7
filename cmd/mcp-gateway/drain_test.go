package main

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// A client that comes while a server drains is told so on the same address, with TLS and without; the call in flight is answered; in the end nobody listens.
func TestWhoComesDuringADrainIsAnswered(t *testing.T) {
	t.Parallel()
	certified := httptest.NewUnstartedServer(nil)
	certified.StartTLS()
	defer certified.Close()
	for name, tc := range map[string]*tls.Config{"plain": nil, "TLS": {Certificates: certified.TLS.Certificates}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lc net.ListenConfig
			socket, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			l := newTurnstile(socket.(*net.TCPListener))
			began, release := make(chan struct{}), make(chan struct{})
			first := &http.Server{ReadHeaderTimeout: time.Minute, TLSConfig: tc, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				close(began)
				<-release
				_, _ = io.WriteString(w, "served")
			})}
			end := l.refuse(&http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })}, tc)
			gone := make(chan error, 1)
			scheme := "http"
			if tc == nil {
				go func() { gone <- first.Serve(l) }()
			} else {
				scheme = "https"
				go func() { gone <- first.ServeTLS(l, "", "") }()
			}
			get := func() (int, string, error) {
				c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: certified.Client().Transport.(*http.Transport).TLSClientConfig}}
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+"://"+socket.Addr().String(), nil)
				if err != nil {
					return 0, "", err
				}
				res, err := c.Do(req)
				if err != nil {
					return 0, "", err
				}
				defer res.Body.Close()
				b, err := io.ReadAll(res.Body)
				return res.StatusCode, string(b), err
			}
			inFlight := make(chan string, 1)
			go func() {
				_, body, err := get()
				inFlight <- body
				if err != nil {
					t.Error(err)
				}
			}()
			<-began
			drained := make(chan error, 1)
			go func() { drained <- first.Shutdown(t.Context()) }()
			if err := <-gone; !errors.Is(err, http.ErrServerClosed) {
				t.Fatalf("the first server: %v", err)
			}
			for range 3 {
				if status, _, err := get(); err != nil || status != http.StatusServiceUnavailable {
					t.Errorf("during the drain: %d %v, want 503", status, err)
				}
			}
			close(release)
			if got := <-inFlight; got != "served" {
				t.Errorf("the call in flight got %q", got)
			}
			if err := errors.Join(<-drained, end()); err != nil {
				t.Error(err)
			}
			if status, _, err := get(); err == nil {
				t.Errorf("after the end: %d", status)
			}
		})
	}
}

// A server that could not begin leaves nothing behind.
func TestATurnstileEndsWithoutADrain(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	socket, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newTurnstile(socket.(*net.TCPListener))
	if err := l.refuse(&http.Server{ReadHeaderTimeout: time.Minute}, nil)(); err != nil {
		t.Error(err)
	}
	if _, err := socket.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the socket is still open: %v", err)
	}
}
