package mcpserver

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Timeouts of the HTTP server. A head that takes longer than 5 s or a body of at most 1 MiB that takes longer than 30 s is not sent in earnest.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 30 * time.Second
	idleTimeout       = 60 * time.Second
	maxHeaderBytes    = 16 << 10
	// writeMargin is what a response may take beyond reading the request and the call: closing the record and sending 32 KiB.
	writeMargin = 15 * time.Second
	// cancelGrace is how long cancelled calls may take to close their records.
	cancelGrace = 5 * time.Second
)

// NewHTTPServer is an http.Server around h with every timeout set, for a call of at most callTimeout. It logs nothing: what net/http has to say there are the
// words of strangers.
func NewHTTPServer(h http.Handler, callTimeout time.Duration) *http.Server {
	if callTimeout <= 0 {
		callTimeout = DefaultCallTimeout
	}
	return &http.Server{
		Handler: h, ReadHeaderTimeout: readHeaderTimeout, ReadTimeout: readTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		WriteTimeout: readTimeout + callTimeout + writeMargin, ErrorLog: log.New(io.Discard, "", 0),
	}
}

// Serve serves HTTP on l, with TLS when t is given, until ctx ends: then new requests get 503, those in flight may finish within the grace, what is left is
// cancelled and ends as CANCELLED. It returns nil after a drain, or why it could not serve.
func (s *Server) Serve(ctx context.Context, l net.Listener, t *tls.Config) error {
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	srv := NewHTTPServer(s.Handler(), s.o.CallTimeout)
	srv.BaseContext = func(net.Listener) context.Context { return calls }
	served := make(chan error, 1)
	go func() {
		if t != nil {
			srv.TLSConfig = t
			served <- srv.ServeTLS(l, "", "")
			return
		}
		served <- srv.Serve(l)
	}()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	s.draining.Store(true)
	bound := context.WithoutCancel(ctx)
	err := shutdown(bound, srv, s.o.Grace)
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "grace is over, cancelling calls in flight")
		cancel()
		if err = shutdown(bound, srv, cancelGrace); err != nil {
			err = srv.Close()
		}
	}
	if serr := <-served; !errors.Is(serr, http.ErrServerClosed) {
		return serr
	}
	return err
}

func shutdown(ctx context.Context, srv *http.Server, d time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return srv.Shutdown(ctx)
}
