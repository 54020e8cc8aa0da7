package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// stdioWorkers bounds calls at once over stdio: one client that runs its read-only tools in parallel.
	stdioWorkers = 16
	// stdioQueue is how many calls may wait for a worker; more are refused as OVERLOADED.
	stdioQueue = 256
	// termGrace is how long calls in flight may finish after SIGTERM: clients follow it with SIGKILL about 2 s later.
	termGrace = time.Second
	// flushGrace is how long the last answers may take to be written after SIGTERM: a client that has stopped reading must not keep the process.
	flushGrace = 500 * time.Millisecond
	// outQueue is how many answers may wait to be written: a client that does not read slows the calls down instead of filling memory.
	outQueue = 64
)

// ServeStdio serves one client over in and out, one JSON-RPC message a line, until in ends or ctx does. At the end of in the calls in flight are answered first,
// for at most the grace; at the end of ctx they get a second; what is left then is cancelled and answered as CANCELLED. Both are a clean end: nil. The error is
// that of a broken in or out. A read of in or a write to out that cannot be interrupted is left behind when ctx ends; nothing else outlives the call.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer, caller Caller) error {
	if caller.Principal == "" {
		return errors.New("mcpserver: a stdio client needs a principal")
	}
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	c := &stdioConn{s: s, caller: caller, ctx: calls, queue: make(chan *stdioCall, stdioQueue), running: map[string]*stdioCall{},
		lines: make(chan []byte, outQueue), slack: make(chan struct{}), end: make(chan struct{}), broken: make(chan struct{})}
	written := make(chan struct{})
	go func() {
		defer close(written)
		c.writeLines(out)
	}()
	for range stdioWorkers {
		c.workers.Go(c.work)
	}
	incoming, stop := make(chan incomingLine), make(chan struct{})
	go readLines(in, s.o.MaxMessage, incoming, stop)
	err := c.dispatch(ctx, incoming)
	close(stop)
	interrupt(in)
	c.finish(ctx, cancel)
	c.flush(ctx, written)
	if werr := c.werr.Load(); werr != nil {
		return *werr
	}
	return err
}

type incomingLine struct {
	line []byte
	err  error
}

// readLines feeds lines until in fails or stop is closed. Only a read that blocks forever keeps it.
func readLines(in io.Reader, max int, to chan<- incomingLine, stop <-chan struct{}) {
	r := newLineReader(in, max)
	for {
		line, err := r.next()
		select {
		case to <- incomingLine{line, err}:
		case <-stop:
			return
		}
		if err != nil && !errors.Is(err, errLineTooLong) {
			return
		}
	}
}

// interrupt ends a blocked read where the reader knows how.
func interrupt(in io.Reader) {
	if d, ok := in.(interface{ SetReadDeadline(time.Time) error }); ok {
		_ = d.SetReadDeadline(time.Now())
	}
}

// stdioConn is one client over stdio.
type stdioConn struct {
	s       *Server
	caller  Caller
	ctx     context.Context // of all calls; ends when the grace is over
	queue   chan *stdioCall
	workers sync.WaitGroup

	mu      sync.Mutex
	running map[string]*stdioCall // by idKey, queued ones included

	lines  chan []byte   // what is to be written
	slack  chan struct{} // closed when answers that find no room are no longer waited for
	end    chan struct{} // closed behind the last answer
	broken chan struct{} // closed when out fails: nobody is there to answer
	werr   atomic.Pointer[error]
}

// stdioCall is a request that a worker serves.
type stdioCall struct {
	msg     *message
	ctx     context.Context
	cancel  context.CancelFunc
	dropped bool // cancelled by the client, which then expects no answer; guarded by stdioConn.mu
}

func (c *stdioConn) dispatch(ctx context.Context, incoming <-chan incomingLine) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.broken:
			return nil
		case in := <-incoming:
			switch {
			case errors.Is(in.err, errLineTooLong):
				c.write(errorReply(nil, &rpcError{code: mcp.INVALID_REQUEST, text: "The message is too large."}), ctx.Done())
			case errors.Is(in.err, io.EOF):
				return nil
			case in.err != nil:
				return in.err
			case len(bytes.TrimSpace(in.line)) > 0:
				c.accept(in.line, ctx.Done())
			}
		}
	}
}

// accept takes one line. What needs no I/O is answered in the order it came, so that a listing follows the initialize before it; calls and reads go to workers.
func (c *stdioConn) accept(line []byte, stop <-chan struct{}) {
	m, bad := decode(line)
	switch {
	case bad != nil && m.kind == notification && m.method != "":
		return // a notification is never answered
	case bad != nil:
		c.write(errorReply(m.id, bad), stop)
		return
	case m.kind == notification:
		if m.method == methodCancelled {
			c.cancelled(m.target)
		}
		return
	case m.kind == response:
		return
	}
	switch mcp.MCPMethod(m.method) {
	case mcp.MethodToolsCall, mcp.MethodResourcesRead, mcp.MethodSubscriptionsListen:
	default:
		c.write(c.s.serve(c.ctx, c.caller, "", m), stop)
		return
	}
	call := &stdioCall{msg: m}
	call.ctx, call.cancel = context.WithCancel(c.ctx)
	key := idKey(m.id)
	c.mu.Lock()
	_, taken := c.running[key]
	if !taken {
		c.running[key] = call
	}
	c.mu.Unlock()
	if taken { // an answer could not be told from the other one's
		call.cancel()
		c.write(errorReply(m.id, &rpcError{code: mcp.INVALID_REQUEST, text: "A request of this id is still being served."}), stop)
		return
	}
	select {
	case c.queue <- call:
	default:
		c.done(call)
		c.write(overloadedReply(m), stop)
	}
}

func (c *stdioConn) cancelled(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if call := c.running[key]; call != nil {
		call.dropped = true
		call.cancel()
	}
}

// done forgets a call and tells whether its client still wants the answer.
func (c *stdioConn) done(call *stdioCall) (wanted bool) {
	call.cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.running, idKey(call.msg.id))
	return !call.dropped
}

func (c *stdioConn) work() {
	for call := range c.queue {
		rep := c.s.serve(call.ctx, c.caller, "", call.msg)
		if c.done(call) {
			c.write(rep, nil)
		}
	}
}

// finish waits for the calls in flight within the grace, cancels what is left and waits for that.
func (c *stdioConn) finish(ctx context.Context, cancel context.CancelFunc) {
	close(c.queue)
	idle := make(chan struct{})
	go func() {
		c.workers.Wait()
		close(idle)
	}()
	grace := time.NewTimer(c.s.o.Grace)
	defer grace.Stop()
	term := ctx.Done()
	for {
		select {
		case <-idle:
			return
		case <-term:
			term = nil
			grace.Reset(min(termGrace, c.s.o.Grace))
		case <-c.broken:
			close(c.slack)
			cancel()
			c.await(ctx, idle)
			return
		case <-grace.C:
			c.mu.Lock()
			n := len(c.running)
			c.mu.Unlock()
			c.s.log.LogAttrs(ctx, slog.LevelWarn, "grace is over, cancelling calls in flight", slog.Int(keyCount, n))
			close(c.slack)
			cancel()
			c.await(ctx, idle)
			return
		}
	}
}

// await gives cancelled calls their time to close their records. A call that does not heed its context must not keep the process from ending.
func (c *stdioConn) await(ctx context.Context, idle <-chan struct{}) {
	late := time.NewTimer(cancelGrace)
	defer late.Stop()
	select {
	case <-idle:
	case <-late.C:
		c.s.log.LogAttrs(ctx, slog.LevelError, "a cancelled call did not end")
	}
}

// write queues a reply: one line for each message. A client that does not read is waited for until stop or slack is closed.
func (c *stdioConn) write(r reply, stop <-chan struct{}) {
	var buf []byte
	for _, n := range r.notes {
		buf = append(append(buf, n...), '\n')
	}
	buf = append(append(buf, r.body...), '\n')
	select {
	case c.lines <- buf: // rather than any of the reasons below
		return
	default:
	}
	select {
	case c.lines <- buf:
	case <-stop:
	case <-c.slack:
	case <-c.broken:
	}
}

// writeLines writes what is queued until the end.
func (c *stdioConn) writeLines(out io.Writer) {
	put := func(b []byte) {
		if c.werr.Load() != nil {
			return
		}
		if _, err := out.Write(b); err != nil {
			c.werr.Store(&err)
			close(c.broken)
		}
	}
	for {
		select {
		case b := <-c.lines:
			put(b)
		case <-c.end:
			for {
				select {
				case b := <-c.lines:
					put(b)
				default:
					return
				}
			}
		}
	}
}

// flush waits until the last answers are written: for the grace, and a moment after SIGTERM.
func (c *stdioConn) flush(ctx context.Context, written <-chan struct{}) {
	close(c.end)
	grace := time.NewTimer(c.s.o.Grace)
	defer grace.Stop()
	for term := ctx.Done(); ; {
		select {
		case <-written:
			return
		case <-term:
			term = nil
			grace.Reset(min(flushGrace, c.s.o.Grace))
		case <-grace.C:
			c.s.log.LogAttrs(ctx, slog.LevelWarn, "the client does not read its answers")
			return
		}
	}
}
