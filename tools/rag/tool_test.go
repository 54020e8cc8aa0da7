package rag

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
)

// fixed is a Searcher with one answer.
type fixed struct {
	ans Answer
	err error
}

func (f fixed) Search(_ context.Context, q Query, take func(int) error) (Answer, error) {
	for _, h := range f.ans.Hits {
		if err := take(len(h.Text)); err != nil {
			return Answer{}, err
		}
	}
	return f.ans, f.err
}

func tool(t testing.TB, cs ...Collection) *Tool {
	t.Helper()
	tl, err := New(Options{Collections: cs})
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

func hit(source string, relevance float64, text string) Hit {
	return Hit{DocID: "id-" + source, Title: "Title of " + source, Source: source, Text: text, Digest: Digest(text), Relevance: relevance}
}

// answer runs the phases of a call without a boundary.
func answer(t testing.TB, tl *Tool, args string, max int) (boundary.Projection[Observation], error) {
	t.Helper()
	req, err := tl.Parse(json.RawMessage(args), boundary.ParseContext{})
	if err != nil {
		return boundary.Projection[Observation]{}, err
	}
	raw := Raw{}
	for _, c := range req.Collections {
		col, _ := tl.byName(c.Name)
		ans, err := col.Searcher.Search(t.Context(), Query{Text: req.Query, Limit: wanted(req.TopK), Floor: c.Floor}, func(int) error { return nil })
		if err != nil {
			return boundary.Projection[Observation]{}, err
		}
		raw.Answers = append(raw.Answers, CollectionAnswer{c.Name, sanitize(ans, col.Redactor, canonical.Salt{})})
	}
	return tl.Project(req, raw, boundary.View{MaxBytes: max})
}

func TestArgumentsAreReadStrictly(t *testing.T) {
	t.Parallel()
	tl := tool(t, Collection{Name: "books", Searcher: fixed{}}, Collection{Name: "wiki", Searcher: fixed{}})
	secret := "hunter" + "2verylong"
	for _, c := range []struct{ in, hint string }{
		{`{}`, "query"}, {`{"query":" "}`, "query"}, {`{"query":"x y","top_k":0}`, "top_k"}, {`{"query":"disk","top_k":21}`, "top_k"}, {`{"query":"disk","topk":3}`, "topk"},
		{`{"query":"disk","collection":"nope"}`, "one of: books, wiki"}, {`{"query":"disk","collection":""}`, "one of"}, {`{"query":7}`, "query"}, {`null`, "object"}, {`{"query":"?!"}`, "no word"}, {`{"query":"🔥"}`, "no word"}, {`{"query":"\" * ( ^ -- :"}`, "no word"},
		{`{"query":"the of and"}`, "no word"}, {`{"query":"<secret>"}`, "no word"}, {`{"query":"` + strings.Repeat("a ", 1001) + `"}`, "longer"}, {`{"query":"disk","top_k":2.5}`, "top_k"},
	} {
		_, err := tl.Parse(json.RawMessage(c.in), boundary.ParseContext{})
		if code, _, hint := fault.Public(err); code != fault.InvalidRequest || !strings.Contains(hint, c.hint) {
			t.Errorf("Parse(%.60s) = %v %q, want INVALID_REQUEST naming %q", c.in, code, hint, c.hint)
		}
	}
	req, err := tl.Parse(json.RawMessage(`{"query":"login with password=`+secret+`"}`), boundary.ParseContext{})
	if err != nil || strings.Contains(req.Query, secret) || req.TopK != 5 || len(req.Collections) != 2 {
		t.Errorf("Parse = %+v, %v, want the secret masked and the defaults filled in", req, err)
	}
	g := boundary.NewGrants(map[boundary.Kind][]string{boundary.Collections: {"wiki"}})
	req, err = tl.Parse(json.RawMessage(`{"query":"磁盘满"}`), boundary.ParseContext{Grants: g})
	if diff := cmp.Diff([]Target{{"wiki", DefaultFloorCJK, DefaultHigh}}, req.Collections); err != nil || diff != "" {
		t.Errorf("with grants (-want +got): %v\n%s", err, diff)
	}
	for _, name := range []string{"books", "nope"} {
		_, err := tl.Parse(json.RawMessage(`{"query":"disk","collection":"`+name+`"}`), boundary.ParseContext{Grants: g})
		if _, _, hint := fault.Public(err); hint != `argument "collection" must be one of: wiki` {
			t.Errorf("collection %s: hint %q", name, hint)
		}
	}
}

func TestEqualQuestionsHaveOneScope(t *testing.T) {
	t.Parallel()
	tl := tool(t, Collection{Name: "books", Searcher: fixed{}})
	scope := func(args string) boundary.Scope {
		req, err := tl.Parse(json.RawMessage(args), boundary.ParseContext{})
		if err != nil {
			t.Fatal(err)
		}
		return tl.Scope(req)
	}
	a := scope(`{"query":"disk is full"}`)
	for _, same := range []string{`{"query":"  Disk   full "}`, `{"query":"disk full?","top_k":5}`, `{"collection":"books","query":"disks full"}`} {
		if b := scope(same); a.Normal != b.Normal {
			t.Errorf("%s has another scope: %s, %s", same, a.Normal, b.Normal)
		}
	}
	for _, other := range []string{`{"query":"disk empty"}`, `{"query":"disk full","top_k":6}`} {
		if b := scope(other); a.Normal == b.Normal {
			t.Errorf("%s has the same scope", other)
		}
	}
	if s := scope(`{"query":"` + strings.Repeat("磁盘满了", 200) + `"}`); len(s.Text) > 256 {
		t.Errorf("scope text of %d bytes", len(s.Text))
	}
}

func TestLevelsAndFloor(t *testing.T) {
	t.Parallel()
	hits := []Hit{hit("a", 0.9, "alpha"), hit("b", 0.5, "beta"), hit("c", 0.1, "gamma"), hit("d", -1, "delta"), hit("e", 0.05, "epsilon"), hit("f", 0.95, "zeta")}
	hits[4].Level, hits[5].Level = High, Reference
	p, err := answer(t, tool(t, Collection{Name: "c", Searcher: fixed{ans: Answer{Hits: hits}}}), `{"query":"disk","top_k":20}`, 16<<10)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range p.Observation.Evidence {
		got[e.Source] = e.Level
	}
	if diff := cmp.Diff(map[string]string{"a": High, "b": Reference, "d": Reference, "e": High, "f": Reference}, got); diff != "" {
		t.Errorf("levels (-want +got):\n%s", diff)
	}
	if p.Relevance != High || !bool(p.Evidence) || p.Truncated || p.Count != 5 || len(p.Items) != 5 {
		t.Errorf("projection = %+v", p)
	}
}

func TestHitsBelowTheFloorAreNoEvidence(t *testing.T) {
	t.Parallel()
	p, err := answer(t, tool(t, Collection{Name: "c", Searcher: fixed{ans: Answer{Hits: []Hit{hit("a", 0.29, "alpha")}}}}), `{"query":"disk"}`, 16<<10)
	if err != nil || bool(p.Evidence) || p.Truncated || len(p.Observation.Evidence) != 0 {
		t.Errorf("projection = %+v, %v, want NO_EVIDENCE with nothing missing", p, err)
	}
	b, err := strictjson.Encode(p.Observation)
	if err != nil || string(b) != `{"scope":{"collection":"c","query":"disk"},"evidence":[]}` {
		t.Errorf("observation = %s, %v", b, err)
	}
}

func TestDuplicatesCollapse(t *testing.T) {
	t.Parallel()
	para := "Check the replication lag of the standby with the admin tool, then promote it when the lag is below ten seconds and the primary does not answer any more."
	hits := []Hit{hit("a.md", 0.9, para), hit("b.md", 0.9, strings.ToUpper(para)+"\n"), hit("c.md", 0.9, strings.Replace(para, "ten seconds", "20 seconds", 1)), hit("a.md", 0.8, para+" "),
		hit("d.md", 0.8, "Something else entirely, about the payment queue and its consumers.")}
	p, err := answer(t, tool(t, Collection{Name: "c", Searcher: fixed{ans: Answer{Hits: hits}}}), `{"query":"standby"}`, 16<<10)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(p.Observation.Evidence); got < 2 || got > 3 {
		t.Fatalf("%d pieces of evidence", got)
	}
	if e := p.Observation.Evidence[0]; e.Source != "a.md" || len(e.AlsoIn) == 0 || e.AlsoIn[0] != "b.md" {
		t.Errorf("first = %+v, want a.md, also in b.md", e)
	}
	if p.Truncated {
		t.Error("a collapsed duplicate counts as missing")
	}
	for _, n := range []string{"e", "f", "g", "h"} {
		hits = append(hits, hit(n, 0.7, para))
	}
	p, err = answer(t, tool(t, Collection{Name: "c", Searcher: fixed{ans: Answer{Hits: hits}}}), `{"query":"standby"}`, 16<<10)
	if err != nil || len(p.Observation.Evidence[0].AlsoIn) != 3 || !p.Truncated {
		t.Errorf("also_in = %v, truncated %v, %v, want three places and truncated", p.Observation.Evidence[0].AlsoIn, p.Truncated, err)
	}
}

func TestCollectionsAreFusedInOneOrder(t *testing.T) {
	t.Parallel()
	a := Collection{Name: "a", Searcher: fixed{ans: Answer{Hits: []Hit{hit("x", 0.5, "one"), hit("y", 0.9, "two")}}}}
	b := Collection{Name: "b", Searcher: fixed{ans: Answer{Hits: []Hit{hit("x", 0.95, "three"), hit("z", 0.4, "four")}, Note: "Embeddings are down."}}}
	p, err := answer(t, tool(t, a, b), `{"query":"disk"}`, 16<<10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range p.Observation.Evidence {
		got = append(got, e.ID+" "+e.Source)
	}
	// The backend's order within a holds: y is not lifted over x.
	if diff := cmp.Diff([]string{"e1 b:x", "e2 a:x", "e3 a:y", "e4 b:z"}, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if p.Observation.Note != "Embeddings are down." || p.Observation.Scope.Collection != "a, b" {
		t.Errorf("note %q, scope %q", p.Observation.Note, p.Observation.Scope.Collection)
	}
}

func TestOneFailingCollectionFailsTheCall(t *testing.T) {
	t.Parallel()
	down := fault.New(fault.BackendTimeout, "test", nil)
	tl := tool(t, Collection{Name: "a", Searcher: fixed{ans: Answer{Hits: []Hit{hit("x", 0.5, "one")}}}}, Collection{Name: "b", Searcher: fixed{err: down}})
	req, err := tl.Parse(json.RawMessage(`{"query":"disk"}`), boundary.ParseContext{})
	if err != nil {
		t.Fatal(err)
	}
	if err := firstError([]error{nil, context.Canceled, down}); !errors.Is(err, down) {
		t.Errorf("firstError = %v, want the cause of the cancellation", err)
	}
	if _, err := tl.Execute(t.Context(), nil, req, canonical.Salt{}); err == nil {
		t.Error("an answer without one collection")
	}
}

func TestTheBoundCutsExcerptsAndNeverTheFirst(t *testing.T) {
	t.Parallel()
	var hits []Hit
	for i := range 8 {
		hits = append(hits, hit(fmt.Sprintf("d%d.md", i), 0.9, strings.Repeat(fmt.Sprintf("line %d of \"runbook\" %d about 磁盘 disk\n", i, i*i+7), 60)))
	}
	tl := tool(t, Collection{Name: "c", Searcher: fixed{ans: Answer{Hits: hits}}})
	for _, max := range []int{16 << 10, 4 << 10, 1500, 600, 420} {
		p, err := answer(t, tl, `{"query":"disk","top_k":8}`, max)
		if err != nil {
			t.Errorf("bound %d: %v", max, err)
			continue
		}
		b, err := strictjson.Encode(p.Observation)
		if err != nil || len(b) > max || len(p.Observation.Evidence) == 0 || !p.Truncated || p.Observation.Note == "" {
			t.Errorf("bound %d: %d bytes, %d pieces, truncated %v, note %q, %v", max, len(b), len(p.Observation.Evidence), p.Truncated, p.Observation.Note, err)
		}
		for _, e := range p.Observation.Evidence {
			if n := len([]rune(e.Excerpt)); n > maxExcerpt {
				t.Errorf("bound %d: excerpt of %d characters", max, n)
			}
		}
	}
	if _, err := answer(t, tl, `{"query":"disk"}`, 50); fault.CodeOf(err) != fault.ProjectionError {
		t.Errorf("a bound of 50 bytes: %v, want PROJECTION_ERROR", err)
	}
}

func TestWhatABackendReturnsIsMaskedAndCleaned(t *testing.T) {
	t.Parallel()
	secret := "Qx7" + "vLp92mZk4"
	h := hit("a\x1b[31m.md", 0.9, "use password="+secret+" \u202eevil\u200b here")
	h.Title, h.Heading, h.DocID = "T password="+secret, []string{"H token=" + secret, ""}, strings.Repeat("é", 100)
	p, err := answer(t, tool(t, Collection{Name: "c", Searcher: fixed{ans: Answer{Hits: []Hit{h}}}}), `{"query":"evil"}`, 16<<10)
	if err != nil {
		t.Fatal(err)
	}
	b, err := strictjson.Encode(p.Observation)
	if err != nil || strings.Contains(string(b), secret) || strings.ContainsAny(string(b), "\u202e\u200b\x1b") || strings.Contains(string(b), `\u001b`) {
		t.Errorf("observation = %s, %v", b, err)
	}
	if p.Observation.Note != noteMasked {
		t.Errorf("note = %q", p.Observation.Note)
	}
	if len(p.Observation.Evidence[0].DocID) > maxDocID {
		t.Errorf("doc_id of %d bytes", len(p.Observation.Evidence[0].DocID))
	}
}

func TestALongQueryIsEchoedAsADigest(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("数据库 disk ", 60)
	e := echo(long)
	if !strings.HasPrefix(long, e[:100]) || !strings.Contains(e, "… sha256:") || len(e) > maxEcho+40 {
		t.Errorf("echo = %q", e)
	}
	if e := echo("short"); e != "short" {
		t.Errorf("echo = %q", e)
	}
}

func TestTheDescriptionFitsAndNamesOnlyWhatIsGranted(t *testing.T) {
	t.Parallel()
	var cs []Collection
	for i := range 60 {
		cs = append(cs, Collection{Name: fmt.Sprintf("collection-%02d", i), Description: strings.Repeat("words ", 10), Searcher: fixed{}})
	}
	tl := tool(t, cs...)
	if d := tl.describe(boundary.Grants{}); len(d) > maxDescription || !strings.Contains(d, "collection-00") || !strings.Contains(d, "more") {
		t.Errorf("description of %d bytes: %s", len(d), d)
	}
	g := boundary.NewGrants(map[boundary.Kind][]string{boundary.Collections: {"collection-07"}})
	if d := tl.describe(g); strings.Contains(d, "collection-00") || !strings.Contains(d, "collection-07") {
		t.Errorf("description = %s", d)
	}
}

func TestBadCollectionsAreRefused(t *testing.T) {
	t.Parallel()
	for what, cs := range map[string][]Collection{"name": {{Name: "a b", Searcher: fixed{}}}, "twice": {{Name: "a", Searcher: fixed{}}, {Name: "a", Searcher: fixed{}}}, "no searcher": {{Name: "a"}},
		"range": {{Name: "a", Searcher: fixed{}, Floor: 1.5}}, "order": {{Name: "a", Searcher: fixed{}, Floor: 0.7, High: 0.5}}} {
		if _, err := New(Options{Collections: cs}); fault.CodeOf(err) != fault.InvalidRequest {
			t.Errorf("%s: %v, want INVALID_REQUEST", what, err)
		}
	}
}
