package folder

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/tools/rag"
)

// shopBooks unpacks the bilingual test collection.
func shopBooks(t testing.TB) (dir, queries string, offtopic []string) {
	t.Helper()
	ar, err := txtar.ParseFile(filepath.Join("testdata", "shop.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for _, f := range ar.Files {
		name, isDoc := strings.CutPrefix(f.Name, "docs/")
		switch {
		case isDoc:
			p := filepath.Join(dir, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(p, f.Data, 0o644); err != nil {
				t.Fatal(err)
			}
		case f.Name == "queries.jsonl":
			queries = string(f.Data)
		case f.Name == "offtopic.txt":
			offtopic = strings.Split(strings.TrimSpace(string(f.Data)), "\n")
		}
	}
	return dir, queries, offtopic
}

func TestTheRightRunbookComesFirstInBothLanguages(t *testing.T) {
	t.Parallel()
	dir, queries, offtopic := shopBooks(t)
	x := open(t, Options{Path: dir})
	e, err := rag.Evaluate(t.Context(), rag.Collection{Searcher: x}, strings.NewReader(queries))
	if err != nil {
		t.Fatal(err)
	}
	if e.Queries != 18 || e.NDCG < 0.95 || e.Recall < 1 || e.NoEvidence > 0 {
		t.Errorf("evaluation = %+v, want nDCG@10 of 0.95, recall of 1 and no question lost", e)
	}
	var lines strings.Builder
	for _, q := range offtopic {
		fmt.Fprintf(&lines, `{"query":%q,"relevant":["none.md"]}`+"\n", q)
	}
	if e, err = rag.Evaluate(t.Context(), rag.Collection{Searcher: x}, strings.NewReader(lines.String())); err != nil || e.NoEvidence < 0.9 || e.NDCG != 0 {
		t.Errorf("off topic: %+v, %v, want NO_EVIDENCE for nine of ten", e, err)
	}
}

func TestBadQuestionsAreNamedByTheirLine(t *testing.T) {
	t.Parallel()
	x := open(t, Options{Path: t.TempDir()})
	for in, want := range map[string]string{"": "no queries", "{\"query\":\"a\",\"relevant\":[\"x\"]}\n{": "line 2", "{\"query\":\"a\"}": "line 1", "{\"query\":\"a\",\"relevant\":[\"x\"],\"k\":1}": "line 1"} {
		_, err := rag.Evaluate(t.Context(), rag.Collection{Searcher: x}, strings.NewReader(in))
		if code, _, hint := fault.Public(err); code != fault.InvalidRequest || !strings.Contains(hint, want) {
			t.Errorf("Evaluate(%q) = %v %q, want INVALID_REQUEST naming %q", in, code, hint, want)
		}
	}
}

// synthetic writes n short runbooks with words of their own and words they share.
func synthetic(b testing.TB, n int) string {
	b.Helper()
	dir := b.TempDir()
	shared := strings.Fields("pod node cluster restart memory disk latency queue replica gateway timeout certificate deploy rollback alert metric volume quota network request")
	for i := range n {
		var s strings.Builder
		fmt.Fprintf(&s, "# Service%cAlert%d\n\n", 'A'+i%26, i)
		for k := range 90 {
			if k%3 == 0 {
				fmt.Fprintf(&s, "w%dx%d ", i%977, k%11)
			}
			s.WriteString(shared[(i*7+k*k)%len(shared)] + " ")
		}
		s.WriteString("\n\n数据库连接池耗尽时先看慢查询，再扩容。\n")
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("s%05d.md", i)), []byte(s.String()), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// BenchmarkBuild builds an index of ten thousand sections from nothing.
func BenchmarkBuild(b *testing.B) {
	dir := synthetic(b, 10_000)
	for b.Loop() {
		x, err := New(Options{Path: dir})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := x.Build(b.Context(), nil); err != nil {
			b.Fatal(err)
		}
		if err := x.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSearch asks an index of ten thousand sections questions of rare and common words.
func BenchmarkSearch(b *testing.B) {
	x, err := New(Options{Path: synthetic(b, 10_000)})
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	if _, err := x.Build(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	for name, query := range map[string]string{"a word of few": "w17x3 gateway timeout after rollback", "identifier": "ServiceKAlert10 memory of the pod", "Chinese": "数据库连接池耗尽怎么办",
		"nothing found": "certificate of the replica w900x9 expires"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := x.Search(b.Context(), rag.Query{Text: query, Limit: 15, Floor: 0.3}, func(int) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
