package folder

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/tools/rag"
)

func TestZZ(t *testing.T) {
	if os.Getenv("RAGX") == "" {
		t.Skip()
	}
	ev := func(dir, q string) rag.Evaluation {
		x, err := New(Options{Path: "/tmp/ragx/" + dir + "/docs"})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		t0 := time.Now()
		s, err := x.Build(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = s
		tb := time.Since(t0)
		f, _ := os.Open(q)
		defer f.Close()
		t0 = time.Now()
		e, err := rag.Evaluate(t.Context(), rag.Collection{Searcher: x}, f)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%-12s %-32s n=%d nDCG %.4f R %.4f none %.3f  (%d files %d chunks build %v, %v/q)\n", dir, q[10:], e.Queries, e.NDCG, e.Recall, e.NoEvidence, s.Files, s.Chunks, tb.Round(time.Millisecond), (time.Since(t0) / time.Duration(e.Queries)).Round(time.Microsecond))
		return e
	}
	ev("runbooks", "/tmp/ragx/runbooks/q_summary.jsonl")
	ev("runbooks", "/tmp/ragx/runbooks/q_description.jsonl")
	ev("cmrc_sample", "/tmp/ragx/cmrc_sample/q_None.jsonl")
	ev("runbooks", "/tmp/ragx/cmrc_sample/q_None.jsonl")
	ev("cmrc_sample", "/tmp/ragx/runbooks/q_summary.jsonl")
}
