//go:build crashpoints

package boundary

import (
	"os"
	"syscall"
)

// crashPoint ends the process, as kill -9 does, when the environment names this stage.
func crashPoint(stage string) {
	if os.Getenv("MCP_GATEWAY_CRASH_POINT") == stage {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal ends this goroutine too
	}
}
