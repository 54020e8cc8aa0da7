package main

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/internal/config"
)

// configPath is --config, else $MCP_GATEWAY_CONFIG, else ./mcp-gateway.yaml. found is false when only the last is left and it does not exist.
func (e *env) configPath() (path string, found bool) {
	if e.config != "" {
		return e.config, true
	}
	if p := os.Getenv("MCP_GATEWAY_CONFIG"); p != "" {
		return p, true
	}
	const here = "mcp-gateway.yaml"
	_, err := os.Stat(here)
	return here, err == nil
}

// load reads the configuration; a command that cannot work without one gets an error that says how to make it.
func (e *env) load() (*config.Config, error) {
	p, found := e.configPath()
	if !found {
		return nil, usage("no configuration: --config, $MCP_GATEWAY_CONFIG and ./mcp-gateway.yaml are all absent; \"mcp-gateway init\" writes a commented one")
	}
	c, err := config.Load(p, nil)
	if err != nil {
		if _, ok := errors.AsType[config.Problems](err); ok {
			return nil, err
		}
		return nil, usageError{err}
	}
	return c, nil
}

// loadOrDefault is load, or the default configuration where none was named and none lies here.
func (e *env) loadOrDefault() (*config.Config, error) {
	if _, found := e.configPath(); found {
		return e.load()
	}
	c := config.Default()
	return &c, nil
}

// stateDir is .local/state/mcp-gateway under the user's home as the system knows it: an environment variable may be another user's or a client's.
func stateDir() (string, error) {
	u, err := user.Current()
	if err != nil || u.HomeDir == "" {
		return "", errors.New("the system knows no home folder for this user; name a path in canonical.store, as in file:/var/lib/mcp-gateway/canonical.db")
	}
	return filepath.Join(u.HomeDir, ".local", "state", "mcp-gateway"), nil
}

// storePath is the path of a file: store.
func storePath(store string) (string, error) {
	if p := strings.TrimPrefix(store, "file:"); p != "" {
		return p, nil
	}
	dir, err := stateDir()
	return filepath.Join(dir, "canonical.db"), err
}

// localPrincipal is the caller over stdio, on the command line and over loopback HTTP without tokens.
func localPrincipal() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return "local:" + u.Username
	}
	return "local:unknown"
}

// asProblems finds the list of mistakes in an error.
func asProblems(err error) (config.Problems, bool) { return errors.AsType[config.Problems](err) }
