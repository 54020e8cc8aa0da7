package mcpserver

import (
	"context"
	"log/slog"
	"runtime"
	"strings"

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
