// Package servertest starts private servers for tests: a Redis, a MariaDB, a VictoriaLogs, each in a temporary folder, on a free loopback port and a unix socket, ended with the
// test. A server that is not installed fails the test in CI and skips it elsewhere, with one line that says what to install.
package servertest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// startTimeout is how long a server may take to listen: a cold MariaDB on a busy machine takes ten seconds.
const startTimeout = 60 * time.Second

// need finds a program by any of its names.
func need(tb testing.TB, install string, names ...string) string {
	tb.Helper()
	return needBy(tb, "apt-get install "+install, names...)
}

// needBy finds a program that is installed by a command of its own.
func needBy(tb testing.TB, command string, names ...string) string {
	tb.Helper()
	for _, n := range names {
		if p, err := exec.LookPath(n); err == nil {
			return p
		}
	}
	if os.Getenv("CI") != "" {
		tb.Fatalf("%s is not installed: %s", names[0], command)
	}
	tb.Skipf("%s is not installed: %s", names[0], command)
	return ""
}

// folder makes a folder whose path is short: a unix socket's path must stay under 108 bytes, and the test's own folder may be longer.
func folder(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "st")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// freePort finds a loopback port that nobody listens on. Another process may take it before the server does; start then tries another.
func freePort(tb testing.TB) int {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// process is a server that can be stopped, frozen, killed and started again on the same address.
type process struct {
	tb   testing.TB
	path string
	args func(port int) []string
	port int
	cmd  *exec.Cmd
	done chan struct{}
}

// launch starts the server, on another port when the first is taken.
func launch(tb testing.TB, path string, args func(port int) []string) *process {
	tb.Helper()
	p := &process{tb: tb, path: path, args: args}
	tb.Cleanup(p.Kill)
	for range 5 {
		p.port = freePort(tb)
		if p.try() {
			return p
		}
	}
	tb.Fatalf("%s does not start", filepath.Base(path))
	return nil
}

// try starts the process and waits until it listens or ends.
func (p *process) try() bool {
	p.cmd = exec.Command(p.path, p.args(p.port)...)
	if err := p.cmd.Start(); err != nil {
		p.tb.Fatal(err)
	}
	done := make(chan struct{})
	p.done = done
	cmd := p.cmd
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	for end := time.Now().Add(startTimeout); time.Now().Before(end); {
		if c, err := net.DialTimeout("tcp", p.Addr(), time.Second); err == nil {
			c.Close()
			return true
		}
		select {
		case <-done:
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
	return false
}

// Addr is the server's loopback address.
func (p *process) Addr() string { return fmt.Sprintf("127.0.0.1:%d", p.port) }

// Port is the server's loopback port.
func (p *process) Port() int { return p.port }

// Kill ends the server at once, as kill -9 does.
func (p *process) Kill() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	_ = p.cmd.Process.Kill()
	<-p.done
}

// Freeze stops the server without closing its connections; Thaw lets it go on. It returns when every thread stands still: one that was in the middle of a request
// may have answered it.
func (p *process) Freeze() {
	p.tb.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGSTOP)
	tasks := fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid)
	for end := time.Now().Add(startTimeout); running(tasks); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			p.tb.Fatalf("%s does not stop", filepath.Base(p.path))
		}
	}
}

// running tells whether any of the threads is not stopped. Where there is no /proc nothing can be told.
func running(tasks string) bool {
	list, err := filepath.Glob(tasks)
	if err != nil {
		return false
	}
	for _, path := range list {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// The state follows the name, which is in parentheses and may hold any character.
		if i := bytes.LastIndexByte(b, ')'); i >= 0 && i+2 < len(b) && b[i+2] != 'T' {
			return true
		}
	}
	return false
}

// Thaw lets a frozen server go on.
func (p *process) Thaw() { _ = p.cmd.Process.Signal(syscall.SIGCONT) }

// Restart starts the server again on the same port after Kill. Its data is what its own persistence kept.
func (p *process) Restart() {
	p.tb.Helper()
	for range 20 { // the port may take a moment to be free again
		if p.try() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	p.tb.Fatalf("%s does not start again on port %d", filepath.Base(p.path), p.port)
}
