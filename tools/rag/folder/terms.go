package folder

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"sort"
	"strings"
	"sync"

	"github.com/seed-069badc9/mcp-gateway/tools/rag/internal/lex"
)

// term is a distinct term of a query.
type term struct {
	text  string
	hash  uint32
	kind  lex.Kind
	glue  int // sentence-making ideographs in it
	first int // place in the query
	df    float64
	idf   float64
	mass  float64 // its share in coverage; 0 for identifiers as a whole, whose parts count already
}

// maxTerms bounds the distinct terms of a query: a pasted alert has some thirty.
const maxTerms = 64

// queryTerms are the distinct terms of a query in their order.
func queryTerms(q string) []term {
	seen := map[string]bool{}
	var out []term
	for _, t := range lex.Tokens(q) {
		if seen[t.Term] || len(out) == maxTerms {
			continue
		}
		seen[t.Term] = true
		out = append(out, term{text: t.Term, hash: termHash(t.Term), kind: t.Kind, glue: lex.Glue(t.Term), first: t.Start})
	}
	return out
}

// prior is how many passages of nothing in particular are imagined beside the collection. In a folder of two documents a word that one of them holds would otherwise
// seem common, and every unknown word would outweigh all known ones.
const prior = 50

// weigh looks up how rare the terms are.
func (g *generation) weigh(ctx context.Context, terms []term) error {
	n := g.stats.chunks + prior
	for i := range terms {
		t := &terms[i]
		df, err := g.terms.lookup(ctx, g.df, t.text)
		if err != nil {
			return err
		}
		t.df = df
		t.idf = idf(n, df)
		t.mass = mass(t, n)
	}
	return nil
}

func idf(n, df float64) float64 { return math.Log(1 + (n-df+0.5)/(df+0.5)) }

// mass is a term's weight in coverage. An unknown term weighs as much as one that a single passage holds, not more: that nobody wrote a word here says less than
// that somebody did. The power sharpens the difference between rare and common words: on-topic questions share rare words with their answer, others share common ones.
func mass(t *term, n float64) float64 {
	if t.kind == lex.Whole {
		return 0
	}
	m := math.Pow(idf(n, max(t.df, 1)), 1.5)
	switch t.glue {
	case 1:
		m *= glueOne
	case 2:
		m *= glueTwo
	}
	return m
}

// Weights of bigrams that hold one or two sentence-making ideographs: "怎么" and "的数" are rare in a runbook and mean nothing in a question.
const (
	glueOne = 0.5
	glueTwo = 0.15
)

// termCache keeps the document frequencies of terms asked for lately. A generation never changes, so neither do they.
type termCache struct {
	mu sync.Mutex
	m  map[string]float64
}

// maxCached bounds the cache; when it is full it starts anew.
const maxCached = 4096

func (c *termCache) lookup(ctx context.Context, stmt *sql.Stmt, text string) (float64, error) {
	c.mu.Lock()
	df, ok := c.m[text]
	c.mu.Unlock()
	if ok {
		return df, nil
	}
	var n int64
	if err := stmt.QueryRowContext(ctx, text).Scan(&n); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil || len(c.m) >= maxCached {
		c.m = make(map[string]float64)
	}
	c.m[text] = float64(n)
	return float64(n), nil
}

// postings is how many postings a query may read. Below it every document that holds any term is ranked; above it the commonest terms find no candidates of their
// own, but still count for the candidates that rarer terms found.
const postings = 3000

// match is the full-text expression for the rarest terms, every one of them quoted, or "" when no term occurs at all.
func match(terms []term) string {
	order := make([]*term, 0, len(terms))
	for i := range terms {
		if terms[i].df > 0 {
			order = append(order, &terms[i])
		}
	}
	sort.SliceStable(order, func(i, j int) bool { return order[i].df < order[j].df })
	var b strings.Builder
	sum := 0.0
	for i, t := range order {
		if sum += t.df; i > 0 && sum > postings {
			break
		}
		if i > 0 {
			b.WriteString(" OR ")
		}
		b.WriteByte('"')
		b.WriteString(strings.ReplaceAll(t.text, `"`, `""`))
		b.WriteByte('"')
	}
	return b.String()
}
