package folder

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/seed-069badc9/mcp-gateway/tools/rag/internal/lex"
)

// term is a distinct term of a query.
type term struct {
	text   string
	hash   uint32
	kind   lex.Kind
	glue   int // sentence-making ideographs in it
	place  int // among the terms of the query
	df     float64
	idf    float64
	weight float64 // in ranking
	mass   float64 // its share in coverage; 0 for identifiers as a whole, whose parts count already
	sure   float64 // 1, less for a word that the documents spell another way
}

// maxTerms bounds the distinct terms of a query: a pasted alert has some thirty, a Chinese question about one a character.
const maxTerms = 192

// queryTerms are the distinct terms of a query in their order. shortened tells that there are more.
func queryTerms(q string) (out []term, shortened bool) {
	seen := map[string]bool{}
	for _, t := range lex.Tokens(q) {
		if seen[t.Term] {
			continue
		}
		if len(out) == maxTerms {
			return out, true
		}
		seen[t.Term] = true
		out = append(out, term{text: t.Term, hash: termHash(t.Term), kind: t.Kind, glue: lex.Glue(t.Term), place: len(out), sure: 1})
	}
	return out, false
}

// prior is how many passages of nothing in particular are imagined beside the collection. In a folder of two documents a word that one of them holds would otherwise
// seem common, and every unknown word would outweigh all known ones.
const prior = 50

// weigh looks up how rare the terms are. A word that no document holds is taken for the one that it misspells, if there is one.
func (g *generation) weigh(ctx context.Context, terms []term) error {
	n := g.stats.chunks + prior
	unknown := 0
	for i := range terms {
		t := &terms[i]
		w, err := g.terms.lookup(ctx, t.text, g.frequency)
		if err != nil {
			return err
		}
		if w.df == 0 && misspelt(t) && unknown < maxUnknown {
			unknown++
			if w, err = g.terms.lookup(ctx, "~"+t.text, g.nearest); err != nil {
				return err
			}
			if slices.ContainsFunc(terms, func(o term) bool { return o.text == w.text }) { // the query spells it both ways
				t.df, t.idf, t.mass, t.weight = 0, 0, 0, 0
				continue
			}
			if w.df > 0 {
				t.text, t.hash, t.sure = w.text, termHash(w.text), wNear
			}
		}
		t.df = w.df
		t.idf = idf(n, w.df)
		t.mass = mass(t, n)
		t.weight = t.idf * t.sure * (1 + wEarly*math.Exp(-float64(t.place)/early))
		if t.kind == lex.Whole {
			t.weight *= wWhole
		}
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

// word is a term of the collection and the number of passages that hold it.
type word struct {
	text string
	df   float64
}

// termCache keeps what terms asked for lately turned out to be. A generation never changes, so neither do they.
type termCache struct {
	mu sync.Mutex
	m  map[string]word
}

// maxCached bounds the cache; when it is full it starts anew.
const maxCached = 4096

func (c *termCache) lookup(ctx context.Context, key string, find func(context.Context, string) (word, error)) (word, error) {
	c.mu.Lock()
	w, ok := c.m[key]
	c.mu.Unlock()
	if ok {
		return w, nil
	}
	w, err := find(ctx, key)
	if err != nil {
		return w, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil || len(c.m) >= maxCached {
		c.m = make(map[string]word)
	}
	c.m[key] = w
	return w, nil
}

// frequency looks a term up.
func (g *generation) frequency(ctx context.Context, text string) (word, error) {
	w := word{text: text}
	if err := g.df.QueryRowContext(ctx, text).Scan(&w.df); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return w, err
	}
	return w, nil
}

// postings is how many postings a query may read. Below it every document that holds any term is ranked; above it the commonest terms find no candidates of their
// own, but still count for the candidates that rarer terms found.
const postings = 3000

// rarest are the terms that occur, the rarest first.
func rarest(terms []term) []*term {
	order := make([]*term, 0, len(terms))
	for i := range terms {
		if terms[i].df > 0 {
			order = append(order, &terms[i])
		}
	}
	sort.SliceStable(order, func(i, j int) bool { return order[i].df < order[j].df })
	return order
}

// match is the full-text expression for the rarest terms, every one of them quoted, or "" when no term occurs at all.
func match(terms []term) string {
	var b strings.Builder
	sum := 0.0
	for i, t := range rarest(terms) {
		if sum += t.df; i > 0 && sum > postings {
			break
		}
		if i > 0 {
			b.WriteString(" OR ")
		}
		b.WriteString(quoted(t.text))
	}
	return b.String()
}

func quoted(term string) string { return `"` + strings.ReplaceAll(term, `"`, `""`) + `"` }
