package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// starter is the commented configuration that init writes. examples/config.yaml is the same file.
//
//go:embed starter.yaml
var starter []byte

func (e *env) initCommand() *cobra.Command {
	return &cobra.Command{Use: "init [DIR]", Short: "Write a commented starter configuration",
		Long: "init writes mcp-gateway.yaml into a folder, by default the one it is started in. It overwrites nothing. Edit the file, then \"mcp-gateway check\".",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("init takes at most one folder; see \"mcp-gateway init --help\"")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return e.init(dir)
		}}
}

// init never overwrites: the file is created exclusively.
func (e *env) init(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("%s cannot be made; choose a folder that this user may write to", dir)
	}
	path := filepath.Join(dir, "mcp-gateway.yaml")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return usage("%s exists already; nothing was written; name another folder, as in \"mcp-gateway init DIR\"", path)
	case err != nil:
		return fmt.Errorf("%s cannot be written; choose a folder that this user may write to", path)
	}
	_, err = f.Write(starter)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	_, err = fmt.Fprintf(e.out, "%s written; edit it, then \"mcp-gateway check --config %s\"\n", path, path)
	return err
}
