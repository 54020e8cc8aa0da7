package pattern

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The files of testdata/styles hold made-up messages in the manner of different programs; blank lines part the true
// groups.
func TestMessagesOfManyStylesFallIntoTheirGroups(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/styles/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			var want []int
			for i, block := range strings.Split(strings.TrimSpace(string(b)), "\n\n") {
				for line := range strings.SplitSeq(block, "\n") {
					lines = append(lines, line)
					want = append(want, i)
				}
			}
			got := Assign(lines)
			first := map[int]string{}
			owner := map[string]int{}
			for i, id := range got {
				if p, ok := first[want[i]]; ok && p != id {
					t.Errorf("parted from its group: %s", lines[i])
				} else {
					first[want[i]] = id
				}
				if o, ok := owner[id]; ok && o != want[i] {
					t.Errorf("in a foreign group: %s", lines[i])
				} else {
					owner[id] = want[i]
				}
			}
		})
	}
}
