package mcpserver

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// Keys of the attributes that this package logs.
const (
	keyPrincipal = "principal"
	keyCode      = "code"
	keyPlace     = "place"
	keyStack     = "stack"
	keyReason    = "reason"
	keyStatus    = "status"
	keyCount     = "count"
	keyHost      = "host"
	keyOrigin    = "origin"
)

func (s *Server) logRefused(ctx context.Context, principal string, code fault.Code) {
	s.log.LogAttrs(ctx, slog.LevelInfo, "call refused", slog.String(keyPrincipal, principal), slog.String(keyCode, string(code)))
}

// logPanic logs where a panic happened: function names, nothing of its value, which may hold content.
func (s *Server) logPanic(ctx context.Context, place string) {
	pcs := make([]uintptr, 24)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	var names []string
	for {
		f, more := frames.Next()
		if f.Function != "" && !strings.HasPrefix(f.Function, "runtime.") {
			names = append(names, f.Function)
		}
		if !more {
			break
		}
	}
	s.log.LogAttrs(ctx, slog.LevelError, "panic recovered", slog.String(keyPlace, place), slog.String(keyStack, strings.Join(names, " < ")))
}

// sparseEvery spaces log lines that a stranger can cause: a flood of requests does not become one of lines.
const sparseEvery = time.Minute

// sparse lets one line through in sparseEvery and counts the others. The zero value is ready.
type sparse struct{ last, held atomic.Int64 }

// pass tells whether a line may be written now, and how many were held back before it.
func (p *sparse) pass(now time.Time) (held int64, ok bool) {
	last := p.last.Load()
	if last != 0 && now.UnixNano()-last < int64(sparseEvery) || !p.last.CompareAndSwap(last, now.UnixNano()) {
		p.held.Add(1)
		return 0, false
	}
	return p.held.Swap(0), true
}

// logForeign tells the operator what to configure when a Host or an Origin is refused; the client reads a fixed sentence. value is "" for what is not fit to be shown.
func (s *Server) logForeign(ctx context.Context, p *sparse, msg, key, value string) {
	held, ok := p.pass(time.Now())
	if !ok {
		return
	}
	attrs := []slog.Attr{slog.Int64(keyCount, held+1)}
	if value != "" {
		attrs = append(attrs, slog.String(key, value))
	}
	s.log.LogAttrs(ctx, slog.LevelWarn, msg, attrs...)
}
