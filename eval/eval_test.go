// Package eval measures quality on a folder of corpora, CORPORA=DIR: group accuracy on logs with true templates, labelled lines for the redactor, attacks and legitimate
// statements for the SQL guard, questions with known answers for the index. Each prints a table. The corpora are no part of the project: some may not be copied.
// Formats: logs/loghub/<System>/<System>_2k.log_structured.csv (Content, EventId), redaction/*.jsonl (text, hide, keep, kind), sql/*.jsonl with policy.json,
// rag/<set>/{corpus,queries}.jsonl and qrels.tsv. testdata/runbook_questions.jsonl holds questions of our own about the runbooks of rag/runbooks, which are named by title:
// symptoms in words, identifiers in other spellings, error texts, slips of the pen, whole messages, English with Chinese, and questions about nothing in them.
package eval

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/sqlguard"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/pattern"
	"github.com/seed-069badc9/mcp-gateway/tools/rag"
	"github.com/seed-069badc9/mcp-gateway/tools/rag/folder"
)

// corpora is the folder, or skips.
func corpora(t *testing.T, sub string) string {
	t.Helper()
	dir := os.Getenv("CORPORA")
	if dir == "" {
		t.Skip("CORPORA names no folder: make eval CORPORA=DIR")
	}
	dir = filepath.Join(dir, sub)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no %s in the corpora", sub)
	}
	return dir
}

func eachJSON[T any](t *testing.T, path string, f func(T)) {
	t.Helper()
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	d := json.NewDecoder(bufio.NewReader(file))
	for {
		var v T
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		f(v)
	}
}

// grouping is the score of one system.
type grouping struct{ ga, fga, groups, hidden, templates float64 }

func score(ids, truth []string) grouping {
	got, want := map[string][]int{}, map[string][]int{}
	for i := range ids {
		got[ids[i]] = append(got[ids[i]], i)
		want[truth[i]] = append(want[truth[i]], i)
	}
	var right, lines float64
	owners := map[string]bool{}
	for _, g := range got {
		events := map[string]bool{}
		for _, i := range g {
			events[truth[i]] = true
		}
		if len(events) > 1 {
			continue
		}
		owners[truth[g[0]]] = true
		if len(want[truth[g[0]]]) == len(g) {
			right++
			lines += float64(len(g))
		}
	}
	s := grouping{ga: lines / float64(len(ids)), groups: float64(len(got)), templates: float64(len(want)), hidden: float64(len(want) - len(owners))}
	if p, r := right/float64(len(got)), right/float64(len(want)); right > 0 {
		s.fga = 2 * p * r / (p + r)
	}
	return s
}

func TestEvalPatterns(t *testing.T) {
	dirs, _ := filepath.Glob(filepath.Join(corpora(t, "logs/loghub"), "*", "*_structured.csv"))
	fmt.Printf("%-14s %6s %6s %7s %10s %7s\n", "system", "GA", "FGA", "groups", "templates", "hidden")
	var sum grouping
	for _, path := range dirs {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		r := csv.NewReader(f)
		r.FieldsPerRecord = -1
		rows, err := r.ReadAll()
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		content, event := slices.Index(rows[0], "Content"), slices.Index(rows[0], "EventId")
		var lines, truth []string
		for _, row := range rows[1:] {
			lines = append(lines, strings.ReplaceAll(row[content], "\n", " "))
			truth = append(truth, row[event])
		}
		s := score(pattern.Assign(lines), truth)
		fmt.Printf("%-14s %6.3f %6.3f %7.0f %10.0f %7.0f\n", filepath.Base(filepath.Dir(path)), s.ga, s.fga, s.groups, s.templates, s.hidden)
		sum.ga, sum.fga, sum.groups, sum.templates, sum.hidden = sum.ga+s.ga, sum.fga+s.fga, sum.groups+s.groups, sum.templates+s.templates, sum.hidden+s.hidden
	}
	n := float64(len(dirs))
	fmt.Printf("%-14s %6.3f %6.3f %7.0f %10.0f %7.0f (%.1f %% never own a group)\n\n", "all", sum.ga/n, sum.fga/n, sum.groups, sum.templates, sum.hidden, 100*sum.hidden/sum.templates)
	if sum.ga/n < 0.86 || sum.fga/n < 0.86 || sum.hidden > 0.05*sum.templates {
		t.Error("below the numbers of docs/design.md section 11")
	}
}

func TestEvalRedaction(t *testing.T) {
	r, err := redact.New(redact.Options{Classes: redact.All})
	if err != nil {
		t.Fatal(err)
	}
	type tally struct{ hidden, hide, kept, keep int }
	kinds := map[string]*tally{}
	files, _ := filepath.Glob(filepath.Join(corpora(t, "redaction"), "*.jsonl"))
	for _, path := range files {
		eachJSON(t, path, func(c struct {
			Text, Kind string
			Hide, Keep []string
		}) {
			k := kinds[c.Kind]
			if k == nil {
				k = &tally{}
				kinds[c.Kind] = k
			}
			out := r.Text(c.Text, nil)
			for _, h := range c.Hide {
				if k.hide++; !strings.Contains(out, h) {
					k.hidden++
				}
			}
			for _, s := range c.Keep {
				if k.keep++; strings.Contains(out, s) {
					k.kept++
				}
			}
		})
	}
	fmt.Printf("%-14s %9s %9s\n", "kind", "hidden", "kept")
	var all tally
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		k := kinds[name]
		fmt.Printf("%-14s %4d/%-4d %4d/%-4d\n", name, k.hidden, k.hide, k.kept, k.keep)
		all.hidden, all.hide, all.kept, all.keep = all.hidden+k.hidden, all.hide+k.hide, all.kept+k.kept, all.keep+k.keep
	}
	fmt.Printf("%-14s %4d/%-4d %4d/%-4d\n\n", "all", all.hidden, all.hide, all.kept, all.keep)
	if all.hidden < all.hide || all.kept < all.keep {
		t.Error("not every labelled value is treated as labelled")
	}
}

func TestEvalSQLGuard(t *testing.T) {
	dir := corpora(t, "sql")
	var policy struct {
		Tables map[string]struct{ Allow []string } `json:"tables"`
	}
	data, err := os.ReadFile(filepath.Join(dir, "policy.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &policy); err != nil {
		t.Fatal(err)
	}
	spec := sqlguard.PolicySpec{DefaultSchema: "shop", Schemas: map[string]map[string]sqlguard.TableSpec{}}
	for name, p := range policy.Tables {
		s, tab, _ := strings.Cut(name, ".")
		if spec.Schemas[s] == nil {
			spec.Schemas[s] = map[string]sqlguard.TableSpec{}
		}
		spec.Schemas[s][tab] = sqlguard.TableSpec{Columns: p.Allow}
	}
	g, err := sqlguard.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	type statement struct {
		ID, SQL, Class, Category, Expect string
		Parts                            [][]any
	}
	type tally struct{ through, all int }
	attacks, legit := map[string]*tally{}, map[string]*tally{}
	count := func(m map[string]*tally, class string, accepted bool) {
		if m[class] == nil {
			m[class] = &tally{}
		}
		if m[class].all++; accepted {
			m[class].through++
		}
	}
	for _, f := range []string{"attack.jsonl", "attack_deep.jsonl"} {
		eachJSON(t, filepath.Join(dir, f), func(s statement) {
			if s.Expect != "refuse" {
				return
			}
			for _, p := range s.Parts {
				s.SQL += strings.Repeat(p[0].(string), int(p[1].(float64)))
			}
			_, err := g.Plan(s.SQL)
			if count(attacks, s.Class, err == nil); err == nil {
				t.Errorf("%s got through", s.ID)
			}
		})
	}
	codes := map[fault.Code]int{}
	accepted, all := 0, 0
	eachJSON(t, filepath.Join(dir, "legit_own.jsonl"), func(s statement) {
		if s.Expect != "accept" {
			return
		}
		_, err := g.Plan(s.SQL)
		count(legit, s.Category, err == nil)
		if all++; err == nil {
			accepted++
		} else {
			codes[fault.CodeOf(err)]++
		}
	})
	for title, m := range map[string]map[string]*tally{"attacks through": attacks, "legitimate accepted": legit} {
		fmt.Println(title)
		for _, name := range slices.Sorted(maps.Keys(m)) {
			fmt.Printf("  %-22s %3d/%-3d\n", name, m[name].through, m[name].all)
		}
	}
	fmt.Printf("legitimate accepted %d/%d %v\n\n", accepted, all, codes)
	if float64(accepted) < 0.95*float64(all) {
		t.Error("below the numbers of docs/design.md section 11")
	}
}

func TestEvalRAG(t *testing.T) {
	root := corpora(t, "rag")
	sets, _ := filepath.Glob(filepath.Join(root, "*", "corpus.jsonl"))
	fmt.Printf("%-24s %8s %8s %10s %12s\n", "set", "queries", "nDCG@10", "recall@10", "NO_EVIDENCE")
	for _, path := range sets {
		evalSet(t, path)
	}
	fmt.Println()
}

func evalSet(t *testing.T, path string) {
	docs, names, titles := t.TempDir(), map[string]string{}, map[string][]string{}
	eachJSON(t, path, func(d struct {
		ID    string `json:"_id"`
		Title string
		Text  string
	}) {
		name := fmt.Sprintf("d%05d.md", len(names))
		names[d.ID] = name
		titles[d.Title] = append(titles[d.Title], name)
		text := d.Text
		if d.Title != "" {
			text = "# " + d.Title + "\n\n" + text
		}
		if err := os.WriteFile(filepath.Join(docs, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	})
	relevant := map[string][]string{}
	qrels, err := os.ReadFile(filepath.Join(filepath.Dir(path), "qrels.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSpace(string(qrels)), "\n") {
		if f := strings.Split(line, "\t"); i > 0 && len(f) == 3 && f[2] != "0" {
			relevant[f[0]] = append(relevant[f[0]], names[f[1]])
		}
	}
	kinds := map[string]*strings.Builder{}
	ask := func(kind, query string, relevant []string) {
		if kinds[kind] == nil {
			kinds[kind] = &strings.Builder{}
		}
		b, _ := json.Marshal(map[string]any{"query": query, "relevant": relevant})
		kinds[kind].Write(append(b, '\n'))
	}
	eachJSON(t, filepath.Join(filepath.Dir(path), "queries.jsonl"), func(q struct {
		ID         string `json:"_id"`
		Text, Kind string
	}) {
		if len(relevant[q.ID]) > 0 {
			ask(q.Kind, q.Text, relevant[q.ID])
		}
	})
	if filepath.Base(filepath.Dir(path)) == "runbooks" {
		eachJSON(t, filepath.Join("testdata", "runbook_questions.jsonl"), func(q struct {
			Kind, Query string
			Titles      []string
		}) {
			var want []string
			for _, title := range q.Titles {
				want = append(want, titles[title]...)
			}
			switch {
			case len(q.Titles) == 0:
				ask(q.Kind, q.Query, []string{"none"})
			case len(want) > 0:
				ask("own, "+q.Kind, q.Query, want)
				ask("own, all", q.Query, want)
			}
		})
	}
	idx, err := folder.New(folder.Options{Path: docs, IndexFile: filepath.Join(t.TempDir(), "i.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer idx.Close()
	if _, err := idx.Build(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		ev, err := rag.Evaluate(t.Context(), rag.Collection{Name: "c", Searcher: idx}, strings.NewReader(kinds[kind].String()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%-24s %8d %8.3f %10.3f %10.1f %%\n", filepath.Base(filepath.Dir(path))+" "+cmp.Or(kind, "all"), ev.Queries, ev.NDCG, ev.Recall, 100*ev.NoEvidence)
	}
}
