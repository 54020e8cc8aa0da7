package files_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-069badc9/mcp-gateway/tools/logs/files"
)

// "no file matches" was said of a folder, of an empty file and of ~ alike, without the path that was looked for; a link out of the folder was told in the words of a
// library.
func TestCheckSaysWhyNoFileIsThere(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	write(t, dir, "empty.log", "")
	write(t, dir, "logs/a.log", "2026-01-01T10:00:00Z INFO started\n")
	write(t, dir, "links/x", "")
	if err := os.Symlink(write(t, outside, "b.log", "2026-01-01T10:00:00Z INFO started\n"), filepath.Join(dir, "links", "b.log")); err != nil {
		t.Fatal(err)
	}
	for p, says := range map[string]string{
		"logs/*.log":  "",
		"nope/*.log":  "no file with anything in it matches " + filepath.Join(dir, "nope/*.log"),
		"logs":        "is a folder: write " + filepath.Join(dir, "logs") + "/*.log",
		"empty.log":   "empty.log is empty",
		"~/x.log":     "~ is not expanded",
		"links/*.log": "links/b.log: leads out of the folder",
	} {
		s, err := files.New(files.Options{Paths: []string{filepath.Join(dir, p)}, Timezone: "UTC"})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check(t.Context()); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", p, err, says)
		}
	}
}
