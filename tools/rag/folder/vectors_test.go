package folder

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/tools/rag"
	"github.com/seed-069badc9/mcp-gateway/tools/rag/internal/lex"
)

// meaning is a deterministic embedder that knows a few words in two languages: each concept is a direction, every other word a direction of its own.
type meaning struct {
	name string
	mu   sync.Mutex
	asks int // texts embedded
	left int // texts until it fails; below 0: never
}

var concepts = map[string]string{"磁盘": "disk", "盘空": "full", "空间": "full", "不足": "full", "支付": "payment", "网关": "gateway", "故障": "failure", "volum": "disk", "storag": "disk"}

const dims = 256

func (m *meaning) Name() string { return m.name }

func (m *meaning) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out [][]float32
	for _, text := range texts {
		if m.left == 0 {
			return nil, errors.New("down")
		}
		m.left--
		m.asks++
		v := make([]float32, dims)
		for _, t := range lex.Tokens(text) {
			w := t.Term
			if c, ok := concepts[w]; ok {
				w = c
			}
			h := fnv.New32a()
			h.Write([]byte(m.name[:1] + w))
			v[h.Sum32()%dims]++
		}
		sum := 1e-9
		for _, f := range v {
			sum += float64(f * f)
		}
		for i := range v {
			v[i] /= float32(math.Sqrt(sum))
		}
		out = append(out, v)
	}
	return out, ctx.Err()
}

func (m *meaning) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asks
}

func (m *meaning) fail(after int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = after
}

// unpause forgets the embedder's last failure, as time would.
func (x *Index) unpause() {
	x.provider.mu.Lock()
	defer x.provider.mu.Unlock()
	x.provider.until = time.Time{}
}

func books(t *testing.T, n int) string {
	dir := t.TempDir()
	files := map[string]string{"disk.md": "# Disk full\n\nDisk full.\n", "pay.md": "# Payment gateway failure\n\nPayment gateway failure.\n"}
	for i := range n {
		files[fmt.Sprintf("n%02d.md", i)] = fmt.Sprintf("# Note %c%c\n\nWord%c%c about topic%c%c and nothing else.\n", 'a'+i%26, 'a'+i/26, 'a'+i%26, 'k'+i/26, 'c'+i/26, 'a'+i%26)
	}
	write(t, dir, files)
	return dir
}

func built(t *testing.T, x *Index) Summary {
	t.Helper()
	x.unpause()
	sum, err := x.Build(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func search(t *testing.T, x *Index, q string) (rag.Answer, error) {
	t.Helper()
	return x.Search(t.Context(), rag.Query{Text: q, Limit: 5, Floor: 0.2}, func(int) error { return nil })
}

func TestAQuestionInAnotherLanguageIsAnsweredByMeaning(t *testing.T) {
	t.Parallel()
	dir := books(t, 30)
	x := open(t, Options{Path: dir, Embedder: &meaning{name: "a", left: -1}})
	if sum := built(t, x); sum.EmbedError != nil {
		t.Fatal(sum.EmbedError)
	}
	ans, err := search(t, x, "磁盘空间不足")
	if err != nil || len(ans.Hits) == 0 || ans.Hits[0].Source != "disk.md" || ans.Note != "" {
		t.Errorf("Search = %+v, %v, want disk.md", ans, err)
	}
	words := open(t, Options{Path: dir})
	if ans, err := search(t, words, "磁盘空间不足"); err != nil || len(ans.Hits) != 0 {
		t.Errorf("by words alone: %v, %v, want nothing", sources(ans.Hits), err)
	}
	if ans, err := search(t, x, "zebra umbrella quantum sandwich"); err != nil || len(ans.Hits) != 0 {
		t.Errorf("nonsense: %v, %v, want nothing", sources(ans.Hits), err)
	}
	if ans, err := search(t, x, "payment gateway"); err != nil || len(ans.Hits) == 0 || ans.Hits[0].Source != "pay.md" {
		t.Errorf("words and meaning: %v, %v", sources(ans.Hits), err)
	}
}

func TestAnEmbedderThatIsDownLeavesTheAnswerByWords(t *testing.T) {
	t.Parallel()
	m := &meaning{name: "a", left: -1}
	x := open(t, Options{Path: books(t, 10), Embedder: m})
	built(t, x)
	m.fail(0)
	ans, err := search(t, x, "disk full")
	if err != nil || len(ans.Hits) == 0 || ans.Note != noteNoVectors {
		t.Errorf("Search = %+v, %v, want an answer by words with a note", ans, err)
	}
	if _, err := search(t, x, "磁盘空间不足"); fault.CodeOf(err) != fault.BackendIncomplete {
		t.Errorf("Search = %v, want BACKEND_INCOMPLETE: half a search proves no absence", err)
	}
	asked := m.count()
	m.fail(-1)
	if ans, err := search(t, x, "disk full"); err != nil || ans.Note != noteNoVectors || m.count() != asked {
		t.Errorf("Search = %+v, %v, want no question to an embedder that failed a moment ago", ans.Note, err)
	}
	x.unpause()
	if ans, err := search(t, x, "disk full"); err != nil || ans.Note != "" {
		t.Errorf("Search = %q, %v, want a whole answer once the embedder is back", ans.Note, err)
	}
}

func TestEmbeddingGoesOnWhereItStopped(t *testing.T) {
	t.Parallel()
	dir, file := books(t, 100), filepath.Join(t.TempDir(), "i.db")
	m := &meaning{name: "a", left: 40}
	x, err := New(Options{Path: dir, IndexFile: file, Embedder: m})
	if err != nil {
		t.Fatal(err)
	}
	if sum := built(t, x); sum.EmbedError == nil || sum.Files != 102 {
		t.Errorf("Build = %+v, want all files and an error of the embedder", sum)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	first := m.count()
	m.fail(-1)
	y := open(t, Options{Path: dir, IndexFile: file, Embedder: m})
	if sum := built(t, y); sum.EmbedError != nil {
		t.Fatal(sum.EmbedError)
	}
	// What was asked for in the batch that failed is asked for again.
	if again := m.count() - first; again > 102-first+batchTexts {
		t.Errorf("%d passages were embedded in the second build, %d in the first, of 102", again, first)
	}
	total := m.count()
	write(t, dir, map[string]string{"disk.md": "# Disk full\n\nDisk full, and more.\n"})
	built(t, y)
	if n := m.count() - total; n != 1 {
		t.Errorf("an edit embedded %d passages, want 1", n)
	}
	total = m.count()
	z := open(t, Options{Path: dir, IndexFile: file, Embedder: m, Redaction: "other"})
	built(t, z)
	if n := m.count() - total; n != 0 {
		t.Errorf("a new index over the same texts embedded %d passages, want 0", n)
	}
}

func TestAnotherModelEmbedsAnew(t *testing.T) {
	t.Parallel()
	dir, file := books(t, 10), filepath.Join(t.TempDir(), "i.db")
	a, b := &meaning{name: "a", left: -1}, &meaning{name: "b", left: 0}
	x, err := New(Options{Path: dir, IndexFile: file, Embedder: a})
	if err != nil {
		t.Fatal(err)
	}
	built(t, x)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	y := open(t, Options{Path: dir, IndexFile: file, Embedder: b})
	built(t, y)
	if ans, err := search(t, y, "disk full"); err != nil || len(ans.Hits) == 0 || ans.Note != noteNoVectors {
		t.Errorf("Search = %q, %v, want words only: vectors of two models cannot be compared", ans.Note, err)
	}
	b.fail(-1)
	built(t, y)
	if ans, err := search(t, y, "磁盘空间不足"); err != nil || len(ans.Hits) == 0 || ans.Note != "" || b.count() < 12 {
		t.Errorf("Search = %+v, %v after embedding anew", ans, err)
	}
}

func TestVectorsAreMadeWhileSearchesGoOn(t *testing.T) {
	t.Parallel()
	x := open(t, Options{Path: books(t, 20), Embedder: &meaning{name: "a", left: -1}})
	deadline := time.Now().Add(20 * time.Second)
	for {
		ans, err := search(t, x, "disk full")
		if err != nil || len(ans.Hits) == 0 {
			t.Fatalf("Search = %v, %v", ans.Hits, err)
		}
		if ans.Note == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still %q", ans.Note)
		}
	}
}

func TestTheEmbedderSeesRedactedTextOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := "Pw8" + "nXq4zLm7Kt"
	write(t, dir, map[string]string{"a.md": "# Access\n\nUse password=" + secret + " here.\n"})
	spy := &spy{}
	x := open(t, Options{Path: dir, Embedder: spy})
	built(t, x)
	if _, err := search(t, x, "access password="+secret); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(spy.all, "Access") || strings.Contains(spy.all, secret) {
		t.Errorf("the embedder was sent %q", spy.all)
	}
}

type spy struct{ all string }

func (s *spy) Name() string { return "spy" }
func (s *spy) Embed(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, t := range texts {
		s.all += t + "\n"
		out[i] = []float32{1, 0}
	}
	return out, nil
}
