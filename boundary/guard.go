package boundary

import (
	"errors"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

var errPanic = errors.New("panic")

// guarded runs one phase and turns a panic into INTERNAL. The panic's text may hold content, so it goes nowhere; the log gets the names of the functions on the
// stack, without arguments.
func guarded[T any](c *call, phase string, f func() (T, error)) (out T, err error) {
	defer func() {
		if r := recover(); r != nil {
			c.panicked(phase)
			var zero T
			out, err = zero, fault.New(fault.Internal, "boundary."+phase, errPanic)
		}
	}()
	return f()
}

func (c *call) panicked(phase string) {
	c.b.panics.Add(1)
	c.b.o.Logger.Error("panic in a call", slog.String("phase", phase), slog.String("tool", c.tool), slog.String("stack", functionNames()))
}

// unharmed ends a panic of what is only told about a call: it changes no outcome.
func (c *call) unharmed(phase string) {
	if recover() != nil {
		c.panicked(phase)
	}
}

func functionNames() string {
	pcs := make([]uintptr, 24)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(4, pcs)])
	var names []string
	for {
		f, more := frames.Next()
		names = append(names, f.Function)
		if !more {
			return strings.Join(names, " < ")
		}
	}
}

const (
	// refusalsPerMinute is how many refused calls a principal may make in a minute before the gateway stops reading its requests: ten a second is far beyond what a
	// model that corrects itself needs, and keeps a loop of malformed calls from costing parse time.
	refusalsPerMinute = 600
	// maxTracked bounds the table; when it is full the oldest minute is dropped first, then everybody starts anew.
	maxTracked = 4096
)

// refusalLimiter counts refused calls per principal and minute. A call refused in preflight reaches no store, so the store's ceilings cannot see it.
type refusalLimiter struct {
	mu     sync.Mutex
	minute int64
	n      map[string]int
}

func newRefusalLimiter() *refusalLimiter { return &refusalLimiter{n: make(map[string]int)} }

func (l *refusalLimiter) roll(now time.Time) {
	if m := now.Unix() / 60; m != l.minute || len(l.n) > maxTracked {
		l.minute = m
		clear(l.n)
	}
}

func (l *refusalLimiter) admit(principal string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.roll(now)
	return l.n[principal] < refusalsPerMinute
}

func (l *refusalLimiter) count(principal string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.roll(now)
	l.n[principal]++
}
