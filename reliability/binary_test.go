// Package reliability holds no code, only tests that drive the built gateway on real servers: what is left of a call when a process, a connection or a server ends
// at any point of it (the fault matrix), three replicas over one store, a search for planted canaries in everything the gateway writes, and a soak under random
// faults. Servers are private to a test, nothing waits by sleeping for luck, and what a run proves stands in docs/reliability.md.
package reliability

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/reliability.md")

// full runs every cell; without it the quick half runs.
func full() bool { return os.Getenv("RELIABILITY") == "full" }

// cellsAtOnce is how many tests run side by side. They wait for time limits of the gateway nearly all the time, so there may be more than processors.
const cellsAtOnce = "8"

func TestMain(m *testing.M) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", cellsAtOnce); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	_ = os.RemoveAll(buildDir())
	os.Exit(code)
}

var (
	buildDir = sync.OnceValue(func() string {
		dir, err := os.MkdirTemp("", "mcp-gateway")
		if err != nil {
			panic(err)
		}
		return dir
	})
	// plainBinary is the gateway as it is shipped; crashBinary ends itself at the stage that its environment names.
	plainBinary = sync.OnceValues(func() (string, error) { return build("mcp-gateway") })
	crashBinary = sync.OnceValues(func() (string, error) { return build("mcp-gateway-crash", "-tags", "crashpoints") })
)

func build(name string, flags ...string) (string, error) {
	path := filepath.Join(buildDir(), name)
	args := append([]string{"build", "-buildvcs=false", "-o", path}, flags...)
	if out, err := exec.Command("go", append(args, "../cmd/mcp-gateway")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}

func binary(tb testing.TB, which func() (string, error)) string {
	tb.Helper()
	path, err := which()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}
