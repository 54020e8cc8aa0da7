package rag_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/boundary/boundarytest"
	"github.com/seed-069badc9/mcp-gateway/tools/rag"
	"github.com/seed-069badc9/mcp-gateway/tools/rag/folder"
)

// stuck is a backend that takes a question and never answers.
type stuck struct{ started chan struct{} }

func (s stuck) Search(ctx context.Context, _ rag.Query, _ func(int) error) (rag.Answer, error) {
	close(s.started)
	<-ctx.Done()
	return rag.Answer{}, ctx.Err()
}

// endless is a backend that never stops sending.
type endless struct{}

func (endless) Search(_ context.Context, _ rag.Query, take func(int) error) (rag.Answer, error) {
	for {
		if err := take(4096); err != nil {
			return rag.Answer{}, err
		}
	}
}

func bind(t *testing.T, cs ...rag.Collection) boundary.BoundTool {
	t.Helper()
	tool, err := rag.New(rag.Options{Collections: cs})
	if err != nil {
		t.Fatal(err)
	}
	return boundary.Bind(tool)
}

func TestTheToolKeepsThePromisesOfTheBoundary(t *testing.T) {
	dir := t.TempDir()
	secret := "Rt5" + "kXq8wZn3Lp"
	long := ""
	for _, w := range strings.Fields("amber birch cedar delta ember fjord grove haven inlet jetty knoll ledge mesa north orchard prairie quarry ridge shoal tundra") {
		long += "## Shard " + w + "\n\nThe ledger archive of " + w + " is compacted at night; the compaction log of " + strings.Repeat(w+" ", 30) + "tells how long it took.\n\n"
	}
	for name, text := range map[string]string{
		"payments.md": "# Payment gateway answers 502\n\nFail over with `payctl failover --region eu` and password=" + secret + ".\n",
		"disk.md":     "# Disk full on database host\n\nDelete old binary logs after checking replicas.\n",
		"archive.md":  "# Ledger archive\n\n" + long,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	index, err := folder.New(folder.Options{Path: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { index.Close() })
	boundarytest.Run(t, boundarytest.Subject{
		Tool:   bind(t, rag.Collection{Name: "opsbooks", Description: "operations runbooks", Searcher: index}),
		Found:  `{"collection":"opsbooks","query":"payment gateway 502 failover","top_k":7}`,
		Empty:  `{"query":"zebra umbrella quantum sandwich"}`,
		Cut:    `{"query":"ledger archive compaction log","top_k":1}`,
		Secret: secret,
		Endless: func(t *testing.T) (boundary.BoundTool, string) {
			return bind(t, rag.Collection{Name: "c", Searcher: endless{}}), `{"query":"disk"}`
		},
		Stuck: func(t *testing.T) (boundary.BoundTool, string, <-chan struct{}) {
			s := stuck{make(chan struct{})}
			return bind(t, rag.Collection{Name: "c", Searcher: s}), `{"query":"disk"}`, s.started
		},
		Restricted: boundary.Collections, Name: "opsbooks",
	})
}
