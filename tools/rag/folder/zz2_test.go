package folder

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/seed-069badc9/mcp-gateway/tools/rag"
)

func TestZTune(t *testing.T) {
	if os.Getenv("RAGX") == "" {
		t.Skip()
	}
	x, _ := New(Options{Path: "/tmp/ragx/runbooks/docs", IndexFile: "/tmp/ragx/rb.db"})
	defer x.Close()
	if _, err := x.Build(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	a, _ := os.ReadFile("/tmp/ragx/runbooks/q_summary.jsonl")
	b, _ := os.ReadFile("/tmp/ragx/runbooks/q_description.jsonl")
	run := func() string {
		s, _ := rag.Evaluate(t.Context(), rag.Collection{Searcher: x}, bytes.NewReader(a))
		d, _ := rag.Evaluate(t.Context(), rag.Collection{Searcher: x}, bytes.NewReader(b))
		return fmt.Sprintf("sum %.4f/%.3f desc %.4f/%.3f", s.NDCG, s.Recall, d.NDCG, d.Recall)
	}
	fmt.Println("base", run())
	try := func(name string, p *float64, vs ...float64) {
		old := *p
		for _, v := range vs {
			*p = v
			fmt.Printf("%s=%v %s\n", name, v, run())
		}
		*p = old
	}
	_ = strings.Join
	try("wNamed", &wNamed, 0.25, 0.5, 1, 2)
	try("wLead", &wLead, 0.25, 0.5, 1)
	wNamed, wCoverage = 0.5, 0
	fmt.Println("base", run())
	try("k1", &k1, 0.8, 2)
	try("wTitle", &wTitle, 1, 4, 8)
	try("wLead", &wLead, 0.25, 0.5, 1)
	try("bBody", &bBody, 0.4, 0.8, 1)
	try("wPassage", &wPassage, 0, 0.25, 0.75, 1)
	try("wCoverage", &wCoverage, 0.2)
}
