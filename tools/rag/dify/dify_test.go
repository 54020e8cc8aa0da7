package dify

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/tools/rag"
)

// serve answers every request with a status and a body, and keeps the last request.
func serve(t *testing.T, status int, body string) (*httptest.Server, *string, http.Header) {
	t.Helper()
	var got string
	head := http.Header{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.URL.Path + " " + string(b)
		for k, v := range r.Header {
			head[k] = v
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s, &got, head
}

func retriever(t *testing.T, o Options) *Retriever {
	t.Helper()
	if o.KnowledgeID == "" {
		o.KnowledgeID = "kb-1"
	}
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func all(int) error { return nil }

var question = rag.Query{Text: "disk full", Limit: 5, Floor: 0.3}

// The bodies below follow the shapes of the Dify external-knowledge documentation and of RAGFlow's endpoint of the same contract.

func TestTheContractIsSpoken(t *testing.T) {
	t.Parallel()
	s, got, head := serve(t, 200, `{"records":[
		{"content":"Free space with the cleaner. <!-- hidden -->","score":0.98,"title":"disk.md","metadata":{"path":"ops/disk.md","document_id":7,"description":"x"}},
		{"content":"Second","score":0.5,"title":"second.txt","metadata":null},
		{"content":"Third","title":"third","score":12.5,"metadata":{"doc_id":"abc","relevance_level":"high"}},
		{"content":"Fourth","title":"fourth","score":0.9,"relevanceLevel":"HIGH","metadata":{"relevance_level":"REFERENCE"}},
		{"content":"Fifth","title":"fifth","relevanceLevel":"SOMEWHAT"},
		{"content":"Sixth","title":"sixth"}]}`)
	key := "kb-" + "key-1"
	r := retriever(t, Options{URL: s.URL + "/api/v1/dify/", APIKey: key, Filters: map[string]string{"team": "ops", "kind": "runbook"}})
	ans, err := r.Search(t.Context(), question, all)
	if err != nil {
		t.Fatal(err)
	}
	want := `POST /api/v1/dify/retrieval {"knowledge_id":"kb-1","query":"disk full","retrieval_setting":{"top_k":5,"score_threshold":0.3},"metadata_condition":{"logical_operator":"and","conditions":[{"name":["kind"],"comparison_operator":"is","value":"runbook"},{"name":["team"],"comparison_operator":"is","value":"ops"}]}}`
	if *got != want {
		t.Errorf("request\n%s\nwant\n%s", *got, want)
	}
	if head.Get("Authorization") != "Bearer "+key {
		t.Error("no bearer token")
	}
	type brief struct {
		DocID, Title, Source, Text, Level string
		Relevance                         float64
	}
	var hits []brief
	for _, h := range ans.Hits {
		hits = append(hits, brief{h.DocID, h.Title, h.Source, h.Text, h.Level, h.Relevance})
	}
	if diff := cmp.Diff([]brief{
		{"7", "disk.md", "ops/disk.md", "Free space with the cleaner.", "", 0.98},
		{"second.txt", "second.txt", "second.txt", "Second", "", 0.5},
		{"abc", "third", "third", "Third", rag.High, -1},
		{"fourth", "fourth", "fourth", "Fourth", rag.Reference, 0.9},
		{"fifth", "fifth", "fifth", "Fifth", rag.Reference, -1},
	}, hits); diff != "" {
		t.Errorf("hits (-want +got):\n%s", diff)
	}
	if !ans.More {
		t.Error("a sixth record was left out without a word")
	}
}

func TestOnlyAnEmptyCompleteListIsEmpty(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   fault.Code
	}{
		{"empty list", 200, `{"records":[]}`, ""},
		{"empty list with a good code", 200, `{"code":0,"records":[]}`, ""},
		{"null list", 200, `{"records":null}`, fault.BackendIncomplete},
		{"no list", 200, `{}`, fault.BackendIncomplete},
		{"list elsewhere", 200, `{"data":{"chunks":[]}}`, fault.BackendIncomplete},
		{"error in a 200 (Dify)", 200, `{"error_code":1002,"error_msg":"Authorization failed"}`, fault.BackendError},
		{"error in a 200 beside records", 200, `{"code":"102","message":"missing","records":[]}`, fault.BackendError},
		{"error object in a 200", 200, `{"error":{"type":"x"},"records":[]}`, fault.BackendError},
		{"wrong knowledge base", 404, `{"code":404,"message":"Knowledge base not found!"}`, fault.BackendError},
		{"no chunk found", 404, `{"code":404,"message":"No chunk found! Check the chunk status please!"}`, fault.BackendError},
		{"wrong key", 403, `{"error_code":1001,"error_msg":"Invalid Authorization header format"}`, fault.BackendError},
		{"redirect", 302, ``, fault.BackendError},
		{"no content", 204, ``, fault.BackendError},
		{"busy", 429, `{}`, fault.BackendBusy},
		{"gateway timeout", 504, `<html>`, fault.BackendTimeout},
		{"HTML", 200, `<html>login</html>`, fault.BackendIncomplete},
		{"half a body", 200, `{"records":[{"content":"x"`, fault.BackendIncomplete},
		{"empty body", 200, ``, fault.BackendIncomplete},
		{"records of another shape", 200, `{"records":["x"]}`, fault.BackendError},
		{"record without content", 200, `{"records":[{"text":"x","score":1}]}`, fault.BackendError},
		{"member twice", 200, `{"records":[],"records":[{"content":"x"}]}`, fault.BackendIncomplete},
	} {
		s, _, _ := serve(t, c.status, c.body)
		ans, err := retriever(t, Options{URL: s.URL}).Search(t.Context(), question, all)
		if fault.CodeOf(err) != c.want || len(ans.Hits) != 0 {
			t.Errorf("%s: %v, %v, want %q", c.name, ans.Hits, err, c.want)
		}
		if err != nil && c.body != "" && strings.Contains(err.Error(), "found") {
			t.Errorf("%s: the error repeats the body: %v", c.name, err)
		}
	}
}

func TestConfiguredFieldNamesAreUsed(t *testing.T) {
	t.Parallel()
	s, _, _ := serve(t, 200, `{"records":[{"text":"body","meta":{"name":"N","no":12,"file":{"path":"a/b.md"}},"score":0.7}]}`)
	r := retriever(t, Options{URL: s.URL, Fields: Fields{Content: "text", Title: "meta.name", ID: "meta.no", Source: "meta.file.path"}})
	ans, err := r.Search(t.Context(), question, all)
	if err != nil || len(ans.Hits) != 1 || ans.Hits[0].DocID != "12" || ans.Hits[0].Title != "N" || ans.Hits[0].Source != "a/b.md" || ans.Hits[0].Text != "body" {
		t.Errorf("Search = %+v, %v", ans.Hits, err)
	}
}

func TestTheKeyIsNotCarriedAlongARedirect(t *testing.T) {
	t.Parallel()
	other, got, _ := serve(t, 200, `{"records":[]}`)
	s := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	t.Cleanup(s.Close)
	if _, err := retriever(t, Options{URL: s.URL, APIKey: "k"}).Search(t.Context(), question, all); fault.CodeOf(err) != fault.BackendError {
		t.Errorf("Search = %v, want BACKEND_ERROR", err)
	}
	if *got != "" {
		t.Error("the redirect was followed")
	}
}

func TestAnEndlessAnswerIsStopped(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat(" ", 1<<16)); err != nil {
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	left := 1 << 20
	_, err := retriever(t, Options{URL: s.URL}).Search(t.Context(), question, func(n int) error {
		if left -= n; left < 0 {
			return fault.New(fault.RawTooLarge, "test", nil)
		}
		return nil
	})
	if fault.CodeOf(err) != fault.RawTooLarge {
		t.Errorf("Search = %v, want RAW_TOO_LARGE", err)
	}
}

func TestASilentBackendEndsWithTheContext(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // a server notices that the client is gone only once the body was read
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := retriever(t, Options{URL: s.URL}).Search(ctx, question, all); fault.CodeOf(err) != fault.BackendTimeout {
		t.Errorf("Search = %v, want BACKEND_TIMEOUT", err)
	}
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	if err := retriever(t, Options{URL: dead.URL}).Check(t.Context()); fault.CodeOf(err) != fault.BackendError {
		t.Errorf("Check of a dead backend = %v, want BACKEND_ERROR", err)
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{}, {URL: "ftp://h/x", KnowledgeID: "k"}, {URL: "http://h"}, {URL: "http://u:p@h", KnowledgeID: "k"}, {URL: "http://h?x=1", KnowledgeID: "k"}} {
		if _, err := New(o); fault.CodeOf(err) != fault.InvalidRequest {
			t.Errorf("New(%+v) = %v, want INVALID_REQUEST", o, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{`{"records":[{"content":"x","score":0.5}]}`, `{"records":[{"content":"x","metadata":null}]}`, `{"records":{}}`, `[]`, `{"code":1}`} {
		f.Add([]byte(s))
	}
	r, err := New(Options{URL: "http://127.0.0.1", KnowledgeID: "k"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ans, err := r.read(b, question)
		if err != nil && len(ans.Hits) > 0 {
			t.Fatal("hits beside an error")
		}
		for _, h := range ans.Hits {
			if h.DocID == "" || h.Text == "" || h.Relevance > 1 {
				t.Fatalf("hit %+v", h)
			}
		}
	})
}
