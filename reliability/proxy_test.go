package reliability

import (
	"bytes"
	"net"
	"sync"
	"testing"
	"time"
)

// proxy stands between the gateways and a server. It passes bytes on until a rule meets a request that holds the rule's text; then it does to that request, or to
// its reply, what the rule says. Both protocols that it carries answer one request of a connection at a time.
type proxy struct {
	to string
	ln net.Listener
	wg sync.WaitGroup

	mu    sync.Mutex
	rules []*rule
	conns map[net.Conn]bool
	seen  map[string]int // requests that held a watched text
	taken int            // connections so far
	trips int            // requests, each with its reply
	ended bool
}

// rule says what happens to the requests that hold text, after the first skip of them.
type rule struct {
	text  string
	skip  int
	times int           // how often it acts; 0: once
	hold  bool          // keep the request until the rule is released
	cut   bool          // break the connection before the server has the request
	lose  bool          // break the connection when the server has answered: the reply is gone, the work is done
	after int           // let so many bytes of the reply pass before holdReply or cutReply; the reply may come in parts
	stop  bool          // keep the rest of the reply until the rule is released
	snap  bool          // break the connection after those bytes
	delay time.Duration // send the reply later
	drip  time.Duration // send the reply byte by byte, so far apart

	met      chan struct{} // closed when the rule has met its request (hold) or stopped its reply
	released chan struct{}
	once     sync.Once
	relOnce  sync.Once
}

func (r *rule) release() { r.relOnce.Do(func() { close(r.released) }) }

func (r *rule) meet() { r.once.Do(func() { close(r.met) }) }

func newProxy(tb testing.TB, to string) *proxy {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &proxy{to: to, ln: ln, conns: map[net.Conn]bool{}, seen: map[string]int{}}
	p.wg.Go(p.accept)
	tb.Cleanup(func() {
		p.ln.Close()
		p.mu.Lock()
		p.ended = true
		rules := p.rules
		p.mu.Unlock()
		for _, r := range rules {
			r.release()
		}
		p.sever()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) addr() string { return p.ln.Addr().String() }

// on adds a rule.
func (p *proxy) on(n *rule) *rule {
	n.met, n.released = make(chan struct{}), make(chan struct{})
	if n.times == 0 {
		n.times = 1
	}
	p.mu.Lock()
	p.rules = append(p.rules, n)
	p.mu.Unlock()
	return n
}

// forget drops the rules that have not been met.
func (p *proxy) forget() {
	p.mu.Lock()
	p.rules = nil
	p.mu.Unlock()
}

// watch counts requests with a text from now on.
func (p *proxy) watch(text string) {
	p.mu.Lock()
	p.seen[text] += 0
	p.mu.Unlock()
}

func (p *proxy) count(text string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[text]
}

// roundTrips counts those of f.
func (p *proxy) roundTrips(f func()) int {
	at := func() int { p.mu.Lock(); defer p.mu.Unlock(); return p.trips }
	before := at()
	f()
	return at() - before
}

// sever breaks every connection.
func (p *proxy) sever() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

func (p *proxy) accept() {
	for {
		c, err := p.ln.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(c) })
	}
}

// link is one connection through the proxy.
type link struct {
	p          *proxy
	in, out    net.Conn
	mu         sync.Mutex
	tail       []byte           // of the request under way: a text may lie across two reads
	done       map[any]struct{} // rules and watched texts that have had this request
	reply      *rule
	replySent  int
	answering  bool
	closedOnce sync.Once
}

func (p *proxy) serve(c net.Conn) {
	u, err := net.DialTimeout("tcp", p.to, 5*time.Second)
	if err != nil {
		c.Close()
		return
	}
	l := &link{p: p, in: c, out: u, done: map[any]struct{}{}}
	p.mu.Lock()
	p.conns[c], p.conns[u] = true, true
	p.taken++
	ended := p.ended
	p.mu.Unlock()
	defer l.close()
	if ended {
		return
	}
	p.wg.Go(func() { l.pump(u, c, l.answer) })
	l.pump(c, u, l.ask)
}

func (l *link) close() {
	l.closedOnce.Do(func() {
		l.in.Close()
		l.out.Close()
		l.p.mu.Lock()
		delete(l.p.conns, l.in)
		delete(l.p.conns, l.out)
		l.p.mu.Unlock()
	})
}

// pump passes on what pass lets through.
func (l *link) pump(from, to net.Conn, pass func(to net.Conn, b []byte) bool) {
	defer l.close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !pass(to, buf[:n]) || err != nil {
			return
		}
	}
}

// ask looks at a piece of a request.
func (l *link) ask(to net.Conn, b []byte) bool {
	l.mu.Lock()
	if l.answering || l.tail == nil {
		l.p.mu.Lock()
		l.p.trips++
		l.p.mu.Unlock()
		l.answering, l.tail, l.reply, l.replySent = false, nil, nil, 0
		clear(l.done)
	}
	window := append(bytes.Clone(l.tail), b...)
	var hit *rule
	l.p.mu.Lock()
	for text := range l.p.seen {
		if _, had := l.done[text]; !had && bytes.Contains(window, []byte(text)) {
			l.done[text] = struct{}{}
			l.p.seen[text]++
		}
	}
	for _, r := range l.p.rules {
		if _, had := l.done[r]; had || r.times == 0 || !bytes.Contains(window, []byte(r.text)) {
			continue
		}
		l.done[r] = struct{}{}
		if r.skip > 0 {
			r.skip--
			continue
		}
		r.times--
		hit = r
		break
	}
	l.p.mu.Unlock()
	l.tail = window[max(0, len(window)-256):]
	if hit != nil && !hit.hold && !hit.cut {
		l.reply = hit
	}
	l.mu.Unlock()
	switch {
	case hit == nil:
	case hit.cut:
		hit.meet()
		return false
	case hit.hold:
		hit.meet()
		<-hit.released
	}
	_, err := to.Write(b)
	return err == nil
}

// answer looks at a piece of a reply.
func (l *link) answer(to net.Conn, b []byte) bool {
	l.mu.Lock()
	l.answering = true
	r, sent := l.reply, l.replySent
	l.replySent += len(b)
	l.mu.Unlock()
	if r == nil {
		_, err := to.Write(b)
		return err == nil
	}
	switch {
	case r.lose:
		r.meet()
		return false
	case r.stop || r.snap:
		head := min(max(r.after-sent, 0), len(b))
		if _, err := to.Write(b[:head]); err != nil {
			return false
		}
		if head == len(b) {
			return true
		}
		r.meet()
		if r.snap {
			return false
		}
		<-r.released
		b = b[head:]
	case r.drip > 0:
		r.meet()
		for i := range b {
			if _, err := to.Write(b[i : i+1]); err != nil {
				return false
			}
			if !l.pause(r.drip) {
				return false
			}
		}
		return true
	case r.delay > 0:
		r.meet()
		if !l.pause(r.delay) {
			return false
		}
	}
	_, err := to.Write(b)
	return err == nil
}

// pause waits, unless the proxy ends.
func (l *link) pause(d time.Duration) bool {
	time.Sleep(d) // the fault itself, not a wait for something
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	return !l.p.ended
}
