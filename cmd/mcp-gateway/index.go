package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-069badc9/mcp-gateway/internal/config"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/tools/rag"
	"github.com/seed-069badc9/mcp-gateway/tools/rag/folder"
)

func (e *env) indexCommand() *cobra.Command {
	var collection, eval string
	c := &cobra.Command{Use: "index", Short: "Build or refresh the indexes of folder collections", Args: noArgs,
		Long: "index reads each folder collection and brings its index up to date. With --eval it then asks the collection the questions of a file, lines of {\"query\",\"relevant\":[\"path.md\"]}, and prints how well they are answered.",
		RunE: func(c *cobra.Command, _ []string) error { return e.index(c.Context(), collection, eval) }}
	c.Flags().StringVar(&collection, "collection", "", "only this collection")
	c.Flags().StringVar(&eval, "eval", "", "questions with known answers, one JSON object a line")
	return c
}

func (e *env) index(ctx context.Context, only, eval string) error {
	cfg, err := e.load()
	if err != nil {
		return err
	}
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(cfg.RAG.Collections)), func(n string) bool { return cfg.RAG.Collections[n].Folder == nil })
	switch _, known := cfg.RAG.Collections[only]; {
	case len(names) == 0:
		return usage("%s has no folder collection; add one under rag.collections, as in runbooks: {description: operations runbooks, folder: {path: ./runbooks}}", cfg.File)
	case known && !slices.Contains(names, only):
		return usage("--collection %q is searched by its own server and has no index here; folder collections: %s", only, strings.Join(names, ", "))
	case only != "" && !known:
		return usage("--collection %q is not configured; folder collections: %s", only, strings.Join(names, ", "))
	case only != "":
		names = []string{only}
	case eval != "" && len(names) > 1:
		return usage("--eval asks one collection; name it with --collection: %s", strings.Join(names, ", "))
	}
	bad := false
	for _, n := range names {
		ok, err := e.indexOne(ctx, cfg, n, eval)
		if err != nil {
			return err
		}
		bad = bad || !ok
	}
	if bad {
		return errSaidNo
	}
	return nil
}

func (e *env) indexOne(ctx context.Context, cfg *config.Config, name, eval string) (ok bool, err error) {
	w := &wiring{cfg: cfg, log: newLogger(e.err, cfg.Log), t: &toolset{}}
	r := w.redactor("rag.collections."+name+".mask", cfg.RAG.Collections[name].Mask, true)
	if len(w.problems) > 0 {
		return false, config.Problems(w.problems)
	}
	idx, err := openIndex(cfg, name, r)
	if err != nil {
		return false, err
	}
	defer idx.Close()
	sum, err := idx.Build(ctx, e.progress(name))
	if err != nil {
		return false, fmt.Errorf("collection %s: %w", name, plain(err))
	}
	fmt.Fprintf(e.out, "%s: %d files, %d sections, %d unchanged, %d skipped, %s\n", name, sum.Files, sum.Chunks, sum.Unchanged, len(sum.Skipped), sum.Took.Round(time.Millisecond))
	if sum.EmbedError != nil {
		fmt.Fprintf(e.err, "mcp-gateway: %s: the embeddings endpoint did not answer; searches by words work, the next \"index\" goes on with the rest\n", name)
	}
	for _, s := range sum.Skipped {
		fmt.Fprintf(e.out, "  skipped %s: %s\n", s.Path, s.Reason)
	}
	if eval == "" {
		return true, nil
	}
	return true, e.evaluate(ctx, cfg, name, idx, r, eval)
}

func (e *env) evaluate(ctx context.Context, cfg *config.Config, name string, idx *folder.Index, r *redact.Redactor, file string) error {
	var in io.Reader = e.in
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return usage("--eval: %s cannot be read; it holds lines of {\"query\",\"relevant\":[\"path.md\"]}", file)
		}
		defer f.Close()
		in = f
	}
	k := collection(cfg, name, r)
	k.Searcher = idx
	ev, err := rag.Evaluate(ctx, k, in)
	if err != nil {
		if _, _, hint := fault.Public(err); hint != "" {
			return usage("--eval: %s", hint)
		}
		return fmt.Errorf("--eval: %w", plain(err))
	}
	fmt.Fprintf(e.out, "queries %d\nnDCG@10 %.3f\nrecall@10 %.3f\nNO_EVIDENCE %.1f %%\n", ev.Queries, ev.NDCG, ev.Recall, 100*ev.NoEvidence)
	return nil
}

// progress draws a bar on a terminal and writes a plain line every tenth elsewhere.
func (e *env) progress(name string) folder.Progress {
	if isTerminal(e.err) {
		const width = 30
		return func(done, total int) {
			full := width * done / max(total, 1)
			fmt.Fprintf(e.err, "\r%s [%s%s] %d/%d", name, strings.Repeat("#", full), strings.Repeat(" ", width-full), done, total)
			if done == total {
				fmt.Fprintln(e.err)
			}
		}
	}
	last := -1
	return func(done, total int) {
		if tenth := 10 * done / max(total, 1); tenth != last {
			last = tenth
			fmt.Fprintf(e.err, "%s: %d of %d files read\n", name, done, total)
		}
	}
}
