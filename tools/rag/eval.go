package rag

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
	"github.com/seed-069badc9/mcp-gateway/tools/rag/internal/lex"
)

// Evaluation is how well a collection answers questions with known answers.
type Evaluation struct {
	Queries int
	// NDCG and Recall are the means of nDCG@10 (binary gains, log2 discount) and recall@10 over the queries, ranked before the floor, one rank a document.
	NDCG, Recall float64
	// NoEvidence is the share of queries for which the floor leaves nothing.
	NoEvidence float64
}

// cutoff is the 10 of nDCG@10 and recall@10.
const cutoff = 10

// maxEvalLine bounds a line of the queries file.
const maxEvalLine = 1 << 20

// Evaluate asks a collection the questions of r, lines of {"query": "…", "relevant": ["path.md", …]} with paths as in Source. An error in a line is
// INVALID_REQUEST with a hint that names the line.
func Evaluate(ctx context.Context, c Collection, r io.Reader) (Evaluation, error) {
	const op = "rag.Evaluate"
	var e Evaluation
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 64<<10), maxEvalLine)
	for n := 1; sc.Scan(); n++ {
		line := bytes.TrimSpace(sc.Bytes())
		if len(line) == 0 {
			continue
		}
		var in struct {
			Query    string   `json:"query"`
			Relevant []string `json:"relevant"`
		}
		if err := strictjson.Decode(line, &in); err != nil {
			return e, fault.New(fault.InvalidRequest, op, err).WithHint(fmt.Sprintf("line %d: %s", n, err.Error()))
		}
		if in.Query == "" || len(in.Relevant) == 0 {
			return e, fault.New(fault.InvalidRequest, op, errors.New("empty")).WithHint(fmt.Sprintf("line %d: needs a query and at least one relevant path", n))
		}
		text := cut(lex.Normalize(in.Query), MaxQuery)
		ans, err := c.Searcher.Search(ctx, Query{Text: text, Limit: 5 * cutoff}, func(int) error { return nil })
		if err != nil {
			return e, err
		}
		e.Queries++
		e.add(in.Relevant, ans.Hits, c.floorFor(text))
	}
	if err := sc.Err(); err != nil {
		return e, fault.New(fault.InvalidRequest, op, err).WithHint("the queries cannot be read, or a line is longer than 1 MiB")
	}
	if e.Queries == 0 {
		return e, fault.New(fault.InvalidRequest, op, errors.New("empty")).WithHint("no queries")
	}
	n := float64(e.Queries)
	e.NDCG, e.Recall, e.NoEvidence = e.NDCG/n, e.Recall/n, e.NoEvidence/n
	return e, nil
}

func (e *Evaluation) add(relevant []string, hits []Hit, floor float64) {
	want := make(map[string]bool, len(relevant))
	for _, p := range relevant {
		want[p] = true
	}
	ideal := 0.0
	for i := range min(len(want), cutoff) {
		ideal += 1 / math.Log2(float64(i)+2)
	}
	seen := map[string]bool{}
	dcg, got, above := 0.0, 0, false
	for _, h := range hits {
		above = above || h.Level != "" || h.Relevance < 0 || h.Relevance >= floor
		if seen[h.Source] || len(seen) == cutoff {
			continue
		}
		if want[h.Source] {
			dcg += 1 / math.Log2(float64(len(seen))+2)
			got++
		}
		seen[h.Source] = true
	}
	e.NDCG += dcg / ideal
	e.Recall += float64(got) / float64(len(want))
	if !above {
		e.NoEvidence++
	}
}
