package files_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/boundary/boundarytest"
	"github.com/seed-069badc9/mcp-gateway/tools/logs"
)

func TestContract(t *testing.T) {
	dir := t.TempDir()
	var many strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&many, `{"time":"2026-01-01T10:%02d:%02dZ","level":"INFO","service":"shop","msg":"order %d accepted in %dms"}`+"\n", i/60, i%60, i, i%90)
	}
	topics := map[string]string{"checkout": write(t, dir, "checkout.log", shopLog()), "shop": write(t, dir, "shop.log", many.String())}
	boundarytest.Run(t, boundarytest.Subject{
		Tool:       boundary.Bind(newTool(t, logs.Options{}, topics)),
		Found:      `{"topics":["checkout"],"query":"declined","from":"2026-01-01T10:00:00Z","to":"2026-01-01T10:06:00Z"}`,
		Empty:      `{"topics":["checkout"],"query":"zebra","from":"2026-01-01T10:00:00Z","to":"2026-01-01T10:06:00Z"}`,
		Cut:        `{"topics":["shop"],"from":"2026-01-01T10:00:00Z","to":"2026-01-01T10:49:00Z"}`,
		Secret:     secret,
		Restricted: boundary.Topics,
		Name:       "checkout",
		Now:        now,
	})
}

// A file that grows while it is read is read up to the size it had.
func TestAnEndlessFileEnds(t *testing.T) {
	t.Parallel()
	path := write(t, t.TempDir(), "app.log", row(1, "INFO", "start"))
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		f, err := os.OpenFile(filepath.Clean(path), os.O_APPEND|os.O_WRONLY, 0)
		for n := 0; err == nil; n++ {
			select {
			case <-stop:
				done <- f.Close()
				return
			default:
				if n == 60_000 { // the slower the reader, the more there would be to read
					<-stop
					done <- f.Close()
					return
				}
				_, err = f.WriteString(row(2, "INFO", "more and more"))
			}
		}
		done <- err
	}()
	g := newGateway(t, logs.Options{}, map[string]string{"app": path})
	for range 5 {
		if a := g.call(t, `{"topics":["app"],`+morning+`}`); a.Evidence != "EVIDENCE_FOUND" {
			t.Errorf("got %s %s", a.code, a.text)
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
