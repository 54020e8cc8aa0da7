package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"
)

// turnstile is a listener whose socket outlives its server. A server that drains closes its listener before anything else: whoever comes while calls in flight are
// answered would find nobody and not know why. Here the socket goes on to a second server, which says that the gateway is on its way down.
type turnstile struct {
	*net.TCPListener
	once   sync.Once
	closed chan struct{} // the first server wants no more
	left   chan struct{} // and waits for no more
	leave  sync.Once
}

func newTurnstile(l *net.TCPListener) *turnstile {
	return &turnstile{TCPListener: l, closed: make(chan struct{}), left: make(chan struct{})}
}

// Accept is the first server's.
func (t *turnstile) Accept() (net.Conn, error) {
	c, err := t.TCPListener.Accept()
	select {
	case <-t.closed:
		if err != nil {
			t.leave.Do(func() { close(t.left) })
			return nil, net.ErrClosed
		}
	default:
	}
	return c, err
}

// Close is the first server's too: it lets go of the socket.
func (t *turnstile) Close() error {
	var err error
	t.once.Do(func() {
		close(t.closed)
		err = t.SetDeadline(time.Unix(1, 0)) // wakes Accept, and keeps it awake
	})
	return err
}

// refuse serves those who come after the first server has let go, until the returned function ends it and closes the socket.
func (t *turnstile) refuse(srv *http.Server, tc *tls.Config) (end func() error) {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-t.left:
		case <-over:
			return
		}
		if t.SetDeadline(time.Time{}) != nil {
			return
		}
		if tc != nil {
			srv.TLSConfig = tc.Clone()              // a server completes its configuration
			_ = srv.ServeTLS(t.TCPListener, "", "") // it ends when it is told to
			return
		}
		_ = srv.Serve(t.TCPListener)
	}()
	return func() error {
		close(over)
		ctx, cancel := context.WithTimeout(context.Background(), lastWords)
		defer cancel()
		if srv.Shutdown(ctx) != nil {
			_ = srv.Close()
		}
		<-done
		if err := t.TCPListener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	}
}

// lastWords bounds how long a refusal may take to be read once all else is done.
const lastWords = time.Second
