// Package clients holds no code, only tests that drive the built gateway with MCP clients of other hands: the Inspector's command line (both majors), the TypeScript
// SDK (v1, and v2 in both protocol eras), over stdio and HTTP, and the official conformance suite. package-lock.json pins them; scripts/deps installs them. Without
// Node they are skipped with one line, in CI that is a failure.
package clients

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience bounds one run of a client program. They take a second; a loaded machine may need fifty times that.
const patience = 2 * time.Minute

// minNode is the oldest Node that the suite and the second Inspector run on.
const minNode = 22

// node finds the Node that runs the client programs, the one that package-lock.json pins before the system's. The test is skipped when the programs are not
// installed, in CI it fails.
func node(tb testing.TB) string {
	tb.Helper()
	path, missing := findNode()
	switch {
	case missing == "":
	case os.Getenv("CI") != "":
		tb.Fatal(missing)
	default:
		tb.Skip(missing)
	}
	return path
}

func findNode() (path, missing string) {
	lock, err := os.ReadFile("package-lock.json")
	if err != nil {
		return "", err.Error()
	}
	// scripts/deps leaves a copy of the lock file that it has installed.
	if installed, err := os.ReadFile(filepath.Join("node_modules", ".installed-lock.json")); err != nil || !bytes.Equal(lock, installed) {
		return "", "the client programs are not installed, or not those of package-lock.json: scripts/deps installs them"
	}
	if arch, ok := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]; ok && runtime.GOOS == "linux" {
		if path, err := filepath.Abs(filepath.Join("node_modules", "node-linux-"+arch, "bin", "node")); err == nil && exec.Command(path, "--version").Run() == nil {
			return path, ""
		}
	}
	missing = "no Node " + strconv.Itoa(minNode) + " or newer: install one"
	path, err = exec.LookPath("node")
	if err != nil {
		return "", missing
	}
	out, err := exec.Command(path, "--version").Output()
	major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
	if n, aerr := strconv.Atoi(major); err != nil || aerr != nil || n < minNode {
		return "", missing
	}
	return path, ""
}

// ran is how a client program ended.
type ran struct {
	code           int
	stdout, stderr string
}

// runNode runs a client program in a home folder of its own. stderr holds also what gateways print that the program started.
func runNode(tb testing.TB, node, stdin string, args ...string) ran {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, args...)
	cmd.Env = append(os.Environ(), "HOME="+tb.TempDir(), "MCP_INSPECTOR_SECRET_STORE=memory", "NO_COLOR=1")
	cmd.Stdin = strings.NewReader(stdin)
	cmd.WaitDelay = 10 * time.Second // a gateway that outlives its client keeps the pipes open
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		tb.Fatalf("%s: %v\n%s%s", args[0], err, out.String(), errs.String())
	}
	return ran{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}
