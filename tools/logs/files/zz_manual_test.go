package files_test

import (
	"os"
	"testing"
	"time"
	"fmt"

	"github.com/seed-069badc9/mcp-gateway/tools/logs"
)

func TestManual(t *testing.T) {
	f := os.Getenv("LQ_FILE")
	if f == "" {
		t.Skip()
	}
	g := newGateway(t, logs.Options{}, map[string]string{"app": f})
	for range 2 {
	st := time.Now()
	a := g.call(t, os.Getenv("LQ_ARGS"))
	fmt.Println(time.Since(st), a.code, a.hint, len(a.text))
	if os.Getenv("LQ_Q") == "" { fmt.Println(a.text) }
	}
}
