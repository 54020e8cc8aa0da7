package folder

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/tools/rag"
	"github.com/seed-069badc9/mcp-gateway/tools/rag/internal/lex"
)

// Weights of ranking: BM25 over the fields of the document (BM25F), lifted by the share of the title that the query names, and the same over its passages. The
// values were chosen on one half of several sets of questions (alert texts and symptoms against runbooks, Chinese questions against paragraphs) and hold on the other;
// all of them stand on plateaus, a quarter more or less changes little.
const (
	k1       = 1.2
	wTitle   = 3.0
	wHeading = 0.5
	bTitle   = 0.3
	bHeading = 0.3
	bBody    = 0.7
	wNamed   = 1.25 // what a wholly named title adds, as a share of the score: "KubeletDown" for a query that says kubelet and down
	wPassage = 0.3  // share of the best passage in a document's score
	wBest    = 0.85 // what the best passage alone is worth to a document whose other pages are about other things
	wLead    = 0.6  // share of the first passage, which says what the document is about; half the best one stands in for it
	wWhole   = 0.5  // an identifier as a whole, beside its parts
	wNear    = 0.7  // a word that the documents spell another way
	wEarly   = 0.5  // what the first word of a query is worth more: alerts and people name the subject first, and details follow
	early    = 3    // terms over which that fades to a third
	wFurther = 0.7  // a further passage of the same document

	maxLength   = 6   // times the average: beyond it a document is punished no further for its other pages
	maxRanked   = 60  // documents whose passages are looked at
	perDocument = 3   // passages that one document may put into an answer
	scanChunks  = 512 // passages of one document that are scored; of a longer one those with the rarest words
)

// candidate is a document that holds a term of the query.
type candidate struct {
	doc      *docRow
	stats    stats
	score    float64
	coverage float64
	named    float64 // share of the title that the query names, when it names two words of it
	passages []passage
	left     float64 // the best coverage among its passages that do not fit perDocument
}

// passage is a scored chunk.
type passage struct {
	row      int64
	score    float64
	coverage float64
}

// pick is a passage on its way into an answer.
type pick struct {
	doc       *docRow
	p         passage
	relevance float64
	score     float64
}

// ranking is what the words of a query find.
type ranking struct {
	picks     []pick
	left      float64 // the relevance of the best passage that is not among them
	shortened bool    // the query holds more terms than are looked at
}

// words ranks documents by the words of the query and lists their passages: the best of each document first, then further ones of documents that have more to say.
func (g *generation) words(ctx context.Context, text string) (r ranking, err error) {
	var terms []term
	terms, r.shortened = queryTerms(text)
	if err := g.weigh(ctx, terms); err != nil {
		return r, err
	}
	found, err := g.rank(ctx, terms)
	if err != nil {
		return r, err
	}
	for i := range found {
		c := &found[i]
		r.left = max(r.left, c.left)
		for n, p := range c.passages {
			if p.score <= 0 {
				continue
			}
			// A document that holds the words far apart is half as sure as a passage that holds them together. A long question covers little of itself with any
			// passage, but it names what it is about: half the share of the title counts, which never makes a passage HIGH.
			k := pick{doc: c.doc, p: p, relevance: max(p.coverage, (p.coverage+c.coverage)/2, c.named/2), score: c.score}
			if n > 0 {
				// A further passage stands below its document's best by as much as it scores less, and a little more: another document tells something new.
				k.relevance, k.score = p.coverage, c.score*p.score/c.passages[0].score*wFurther
			}
			r.picks = append(r.picks, k)
		}
	}
	sort.SliceStable(r.picks, func(i, j int) bool { return r.picks[i].score > r.picks[j].score })
	return r, nil
}

// rank finds the documents that hold terms of the query, the best first.
func (g *generation) rank(ctx context.Context, terms []term) ([]candidate, error) {
	expr := match(terms)
	if expr == "" {
		return nil, nil
	}
	rows, err := g.candidates.QueryContext(ctx, expr)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found top
	last := int64(-1)
	for rows.Next() {
		var row int64
		if err := rows.Scan(&row); err != nil {
			return nil, err
		}
		id := row >> chunkBits
		if id == last { // postings come in the order of rowids: chunks of one document are neighbours
			continue
		}
		last = id
		d := g.byID[id]
		if d == nil {
			continue
		}
		c := candidate{doc: d}
		if c.stats, err = g.statsOf(ctx, d); err != nil {
			return nil, err
		}
		g.scoreDocument(terms, &c)
		found.add(c)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	for i := range found {
		if err := g.scorePassages(ctx, terms, &found[i]); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(found, byScore)
	originalsFirst(found)
	return found, nil
}

// byScore puts the better document first; of equal ones the path decides, so that answers are deterministic.
func byScore(a, b candidate) int {
	return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.doc.path, b.doc.path))
}

// originalsFirst gives a document that has copies the place of the best of them: their paths may suit a query better, but the text is the same, and it is to be found
// under the same doc_id whoever copied it.
func originalsFirst(found []candidate) {
	place := make(map[string]int, len(found))
	for i := range found {
		c := &found[i]
		first, again := place[c.doc.hash]
		if !again {
			place[c.doc.hash] = i
			continue
		}
		c.score = found[first].score
	}
	if len(place) == len(found) {
		return
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		if c := cmp.Compare(place[a.doc.hash], place[b.doc.hash]); c != 0 || a.doc.copy == b.doc.copy {
			return c
		}
		if a.doc.copy {
			return 1
		}
		return -1
	})
}

// top keeps the maxRanked best candidates in order. Most of thousands are worse than all of them, which costs one comparison.
type top []candidate

func (t *top) add(c candidate) {
	if len(*t) == maxRanked {
		if byScore(c, (*t)[maxRanked-1]) >= 0 {
			return
		}
		*t = (*t)[:maxRanked-1]
	}
	i, _ := slices.BinarySearchFunc(*t, c, byScore)
	*t = slices.Insert(*t, i, c)
}

func saturate(tf float64) float64 { return tf / (k1 + tf) }

// scoreDocument is BM25F over the whole document, the share of the query that it covers and the share of its title that the query names.
func (g *generation) scoreDocument(terms []term, c *candidate) {
	var titled, words, have, all float64
	nTitle := lengthNorm(bTitle, c.stats.length(inTitle), g.stats.avg[inTitle])
	nHeading := lengthNorm(bHeading, c.stats.length(inHeading), g.stats.avg[inHeading])
	nBody := lengthNorm(bBody, c.stats.length(inBody), g.stats.avg[inBody])
	named := 0
	for i := range terms {
		t := &terms[i]
		all += t.mass
		if t.df == 0 {
			continue
		}
		n, ok := c.stats.count(t.hash)
		if !ok {
			continue
		}
		have += t.mass * t.sure
		if n[inTitle] > 0 {
			v := g.titleIDF(t.hash) * t.sure
			if t.kind == lex.Whole {
				titled += v * wWhole
			} else {
				titled += v
				words += v
				named++
			}
		}
		tf := wTitle*float64(n[inTitle])/nTitle + wHeading*float64(n[inHeading])/nHeading + float64(n[inBody])/nBody
		c.score += t.weight * saturate(tf)
	}
	c.score *= 1 + wNamed*min(titled/max(c.doc.titleMass, 1e-9), 1)
	c.coverage = share(have, all)
	if named > 1 {
		c.named = min(share(words, c.doc.titleWords), 1)
	}
}

func lengthNorm(b, length, avg float64) float64 { return 1 - b + b*min(length/avg, maxLength) }

func share(have, all float64) float64 {
	if all <= 0 {
		return 0
	}
	return math.Round(have/all*1e6) / 1e6
}

// scorePassages scores the chunks of a document, keeps the best and lifts the document by the best and the first of them.
func (g *generation) scorePassages(ctx context.Context, terms []term, c *candidate) error {
	best, lead := 0.0, 0.0
	score := func(row int64, s stats) {
		if len(s) == 0 { // the only chunk of its document
			s = c.stats
		}
		p := passage{row: row}
		p.score, p.coverage = g.scorePassage(terms, s, c.stats)
		if row&(1<<chunkBits-1) == 0 {
			lead = p.score
		}
		best = max(best, p.score)
		c.passages = append(c.passages, p)
	}
	first, end := c.doc.id<<chunkBits, (c.doc.id+1)<<chunkBits
	if c.doc.chunks <= scanChunks {
		if err := g.chunksBetween(ctx, first, end, score); err != nil {
			return err
		}
	} else {
		rows, err := g.telling(ctx, terms, first, end)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := g.chunksBetween(ctx, row, row+1, score); err != nil {
				return err
			}
		}
	}
	sort.SliceStable(c.passages, func(i, j int) bool { return c.passages[i].score > c.passages[j].score })
	if len(c.passages) > perDocument {
		// The passage that covers most stays, so that what is left out is never surer than all that is listed.
		last, covers := perDocument-1, 0
		for i, p := range c.passages {
			if p.coverage > c.passages[covers].coverage {
				covers = i
			}
		}
		if covers > last {
			c.passages[last], c.passages[covers] = c.passages[covers], c.passages[last]
		}
		for _, p := range c.passages[perDocument:] {
			c.left = max(c.left, p.coverage)
		}
		c.passages = c.passages[:perDocument]
	}
	c.score = (1-wPassage)*max(c.score, wBest*best) + wPassage*best + wLead*max(lead, best/2)
	return nil
}

// chunksBetween gives the term counts of chunks in their order.
func (g *generation) chunksBetween(ctx context.Context, from, to int64, use func(row int64, s stats)) error {
	rows, err := g.chunkStats.QueryContext(ctx, from, to)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var row int64
		var blob []byte
		if err := rows.Scan(&row, &blob); err != nil {
			return err
		}
		use(row, stats(blob))
	}
	return rows.Err()
}

// telling are the chunks between from and to that hold the rarest terms, at most scanChunks of them, with the first one.
func (g *generation) telling(ctx context.Context, terms []term, from, to int64) ([]int64, error) {
	chosen := map[int64]bool{from: true}
	for _, t := range rarest(terms) {
		rows, err := g.holding.QueryContext(ctx, quoted(t.text), from, to, scanChunks)
		if err != nil {
			return nil, err
		}
		for rows.Next() && len(chosen) < scanChunks {
			var row int64
			if err := rows.Scan(&row); err != nil {
				rows.Close()
				return nil, err
			}
			chosen[row] = true
		}
		if err := cmp.Or(rows.Err(), rows.Close()); err != nil {
			return nil, err
		}
		if len(chosen) == scanChunks {
			break
		}
	}
	return slices.Sorted(maps.Keys(chosen)), nil
}

// scorePassage scores a chunk under its document's title.
func (g *generation) scorePassage(terms []term, s, doc stats) (score, coverage float64) {
	nTitle := lengthNorm(bTitle, doc.length(inTitle), g.stats.avg[inTitle])
	nBody := lengthNorm(bBody, s.length(inBody), g.stats.avgChunk)
	var have, all float64
	for i := range terms {
		t := &terms[i]
		all += t.mass
		if t.df == 0 {
			continue
		}
		c, here := s.count(t.hash)
		d, _ := doc.count(t.hash)
		if !here && d[inTitle] == 0 {
			continue
		}
		have += t.mass * t.sure
		tf := wTitle*float64(d[inTitle])/nTitle + wHeading*float64(c[inHeading]) + float64(c[inBody])/nBody
		score += t.weight * saturate(tf)
	}
	return score, share(have, all)
}

// collect reads the texts of the best passages over the floor; left is the relevance of the best one that is not among the picks.
func (g *generation) collect(ctx context.Context, picks []pick, left float64, q rag.Query, take func(int) error) (rag.Answer, error) {
	ans := rag.Answer{More: left > 0 && left >= q.Floor}
	for _, k := range picks {
		if k.relevance < q.Floor {
			continue
		}
		if len(ans.Hits) == q.Limit {
			ans.More = true
			break
		}
		h := rag.Hit{DocID: k.doc.docID, Title: k.doc.title, Source: k.doc.path, Ordinal: int(k.p.row & (1<<chunkBits - 1)), Relevance: k.relevance, Score: k.score}
		var heading string
		if err := g.chunk.QueryRowContext(ctx, k.p.row).Scan(&heading, &h.Text, &h.Digest); err != nil {
			return rag.Answer{}, err
		}
		var err error
		if h.Heading, err = readHeading(heading); err != nil {
			return rag.Answer{}, err
		}
		if err := take(len(h.Text) + len(h.Title) + len(h.Source) + len(heading)); err != nil {
			return rag.Answer{}, err
		}
		ans.Hits = append(ans.Hits, h)
	}
	return ans, nil
}

func readHeading(s string) (out []string, err error) { return out, json.Unmarshal([]byte(s), &out) }
