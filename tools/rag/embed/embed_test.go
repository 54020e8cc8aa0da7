package embed

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

func serve(t *testing.T, status int, body string) (string, *string) {
	t.Helper()
	var got string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = r.URL.Path + " " + r.Header.Get("Authorization") + " " + string(b)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL, &got
}

func TestVectorsBelongToTheirTexts(t *testing.T) {
	t.Parallel()
	at, got := serve(t, 200, `{"object":"list","model":"m","data":[{"index":1,"embedding":[0,5]},{"index":0,"embedding":[3,4]}],"usage":{}}`)
	for _, suffix := range []string{"", "/", "/v1", "/v1/embeddings"} {
		c, err := New(Options{URL: at + suffix, Model: "m", APIKey: "k" + "ey", Dimensions: 2})
		if err != nil {
			t.Fatal(err)
		}
		vs, err := c.Embed(t.Context(), []string{"a", "b"})
		if diff := cmp.Diff([][]float32{{0.6, 0.8}, {0, 1}}, vs); err != nil || diff != "" {
			t.Errorf("Embed: %v\n%s", err, diff)
		}
		if *got != `/v1/embeddings Bearer key {"model":"m","input":["a","b"]}` {
			t.Errorf("request %s", *got)
		}
	}
}

func TestBadAnswersAreErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
	}{
		"status": {500, `{}`}, "redirect": {302, ``}, "no JSON": {200, `<html>`}, "too few": {200, `{"data":[{"embedding":[1,0]}]}`}, "wrong size": {200, `{"data":[{"embedding":[1]},{"embedding":[1]}]}`},
		"one place twice": {200, `{"data":[{"index":0,"embedding":[1,0]},{"index":0,"embedding":[1,0]}]}`}, "out of range": {200, `{"data":[{"index":7,"embedding":[1,0]},{"index":0,"embedding":[1,0]}]}`},
		"zero": {200, `{"data":[{"embedding":[0,0]},{"embedding":[1,0]}]}`}, "huge": {200, strings.Repeat(" ", 128<<10)},
	} {
		at, _ := serve(t, c.status, c.body)
		e, err := New(Options{URL: at, Model: "m", Dimensions: 2})
		if err != nil {
			t.Fatal(err)
		}
		if vs, err := e.Embed(t.Context(), []string{"a", "b"}); fault.CodeOf(err) != fault.BackendError || vs != nil {
			t.Errorf("%s: %v, %v, want BACKEND_ERROR", name, vs, err)
		}
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{}, {URL: "http://h", Dimensions: 3}, {URL: "http://h", Model: "m"}, {URL: "http://u:p@h", Model: "m", Dimensions: 3}, {URL: "h", Model: "m", Dimensions: 3}, {URL: "http://h", Model: "m", Dimensions: 9000}} {
		if _, err := New(o); fault.CodeOf(err) != fault.InvalidRequest {
			t.Errorf("New(%+v) = %v, want INVALID_REQUEST", o, err)
		}
	}
}
