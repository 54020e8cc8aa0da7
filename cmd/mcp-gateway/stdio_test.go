package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A client that dies leaves a pipe that nobody reads. Writing to it must not kill the process by SIGPIPE: the calls in flight have records to close.
func TestStdioOutlivesItsClient(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	binary, cfg := filepath.Join(dir, "mcp-gateway"), filepath.Join(dir, "c.yaml")
	if err := os.Symlink(exe, binary); err != nil { // the test binary is the command under that name
		t.Fatal(err)
	}
	yaml := "canonical: {store: memory}\nlogs: {topics: {shop: {description: shop, files: {paths: [" + filepath.Join(dir, "*.log") + "], timezone: UTC}}}}\n"
	if err := os.WriteFile(cfg, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := read.Close(); err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	cmd := exec.CommandContext(t.Context(), binary, "stdio", "--config", cfg)
	cmd.Stdin, cmd.Stdout = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"), write
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 {
		t.Errorf("%v, want the exit code 1 of a broken output", err)
	}
}
