package folder

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/seed-069badc9/mcp-gateway/tools/rag"
)

func TestZFail(t *testing.T) {
	if os.Getenv("RAGX") == "" {
		t.Skip()
	}
	x, _ := New(Options{Path: "/tmp/ragx/runbooks/docs", IndexFile: "/tmp/ragx/rb.db"})
	defer x.Close()
	if _, err := x.Build(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"summary", "description"} {
		fh, _ := os.Open("/tmp/ragx/runbooks/q_" + f + ".jsonl")
		sc := bufio.NewScanner(fh)
		for sc.Scan() {
			var q struct {
				Query    string
				Relevant []string
			}
			json.Unmarshal(sc.Bytes(), &q)
			a, _ := x.Search(t.Context(), rag.Query{Text: q.Query, Limit: 60}, func(int) error { return nil })
			want := map[string]bool{}
			for _, r := range q.Relevant {
				want[r] = true
			}
			seen := map[string]bool{}
			bad := false
			out := ""
			for _, h := range a.Hits {
				if seen[h.Source] {
					continue
				}
				seen[h.Source] = true
				m := " "
				if want[h.Source] {
					m = "*"
				} else if len(seen) <= len(want) {
					bad = true
				}
				if len(seen) <= 5 || m == "*" {
					out += fmt.Sprintf("   %s%d %.2f cov %.2f %s\n", m, len(seen), h.Score, h.Relevance, h.Title)
				}
			}
			if bad {
				fmt.Printf("%s: %s\n%s", f, q.Query, out)
			}
		}
	}
}
