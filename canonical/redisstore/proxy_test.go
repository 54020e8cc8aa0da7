package redisstore

import (
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// proxy stands between the store and its server. It counts round trips (a request that begins after a reply) and can swallow the next replies after the server
// has executed the step: the connection then breaks as if the network had.
type proxy struct {
	sock string
	to   string
	ln   net.Listener
	wg   sync.WaitGroup

	mu      sync.Mutex
	trips   int
	swallow int
	conns   map[net.Conn]bool
}

func newProxy(t *testing.T, srv *server) *proxy {
	t.Helper()
	dir, err := os.MkdirTemp("", "proxy")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{sock: filepath.Join(dir, "p"), to: srv.sock, conns: map[net.Conn]bool{}}
	if p.ln, err = net.Listen("unix", p.sock); err != nil {
		t.Fatal(err)
	}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		p.ln.Close()
		p.mu.Lock()
		for c := range p.conns {
			c.Close()
		}
		p.mu.Unlock()
		p.wg.Wait()
		os.RemoveAll(dir)
	})
	return p
}

func (p *proxy) url() string { return "unix://" + p.sock }

func (p *proxy) accept() {
	for {
		c, err := p.ln.Accept()
		if err != nil {
			return
		}
		u, err := net.Dial("unix", p.to)
		if err != nil {
			c.Close()
			continue
		}
		p.mu.Lock()
		p.conns[c], p.conns[u] = true, true
		p.mu.Unlock()
		asked := new(bool)
		p.wg.Go(func() { p.pump(c, u, asked, true) })
		p.wg.Go(func() { p.pump(u, c, asked, false) })
	}
}

func (p *proxy) pump(from, to net.Conn, asked *bool, request bool) {
	defer func() {
		p.mu.Lock()
		delete(p.conns, from)
		p.mu.Unlock()
		from.Close()
		to.Close()
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		p.mu.Lock()
		if request && !*asked {
			p.trips++
		}
		*asked = request
		lost := !request && p.swallow > 0
		if lost {
			p.swallow--
		}
		p.mu.Unlock()
		if lost {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// count gives the round trips of f.
func (p *proxy) count(f func()) int {
	p.mu.Lock()
	before := p.trips
	p.mu.Unlock()
	f()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trips - before
}

// lose lets the next n replies disappear.
func (p *proxy) lose(n int) {
	p.mu.Lock()
	p.swallow = n
	p.mu.Unlock()
}
