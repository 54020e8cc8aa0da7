package fetch

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

const megabyte = 1 << 20

func client(t *testing.T, s *httptest.Server, header map[string]string) *Client {
	t.Helper()
	t.Cleanup(s.Close)
	c, err := New(Options{URL: s.URL + "/base/", Header: header, Transport: s.Client().Transport})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func discard(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}

func TestRequestsGoWhereTheConfigurationSays(t *testing.T) {
	t.Parallel()
	var got, auth, tenant, kind string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = r.Method + " " + r.URL.RequestURI() + " " + string(body)
		auth, tenant, kind = r.Header.Get("Authorization"), r.Header.Get("X-Scope-OrgID"), r.Header.Get("Content-Type")
	}))
	c := client(t, s, map[string]string{"authorization": "Basic eA==", "X-Scope-OrgID": "shop"})
	err := c.Do(t.Context(), NewBudget(megabyte, 1), Request{Path: "/logs-%2A/_search", Query: url.Values{"q": {`{a="b&c"}`}}, Body: []byte("x"), Type: "text/plain"}, discard)
	if want := "POST /base/logs-%2A/_search?q=%7Ba%3D%22b%26c%22%7D x"; err != nil || got != want || auth != "Basic eA==" || tenant != "shop" || kind != "text/plain" {
		t.Errorf("Do = %v, server saw %q %q %q %q, want %q", err, got, auth, tenant, kind, want)
	}
	if err := c.Do(t.Context(), NewBudget(megabyte, 1), Request{Path: "/x"}, discard); err != nil || got != "GET /base/x " {
		t.Errorf("Do = %v, server saw %q", err, got)
	}
}

func TestStatusesBecomeCodesWithoutTheServersWords(t *testing.T) {
	t.Parallel()
	const words = "secret words of the server"
	for status, want := range map[int]fault.Code{
		201: fault.BackendError, 204: fault.BackendError, 301: fault.BackendError, 307: fault.BackendError, 400: fault.BackendError, 401: fault.BackendError, 403: fault.BackendError,
		404: fault.BackendError, 408: fault.BackendTimeout, 429: fault.BackendBusy, 500: fault.BackendError, 502: fault.BackendError, 503: fault.BackendBusy, 504: fault.BackendTimeout,
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
			if status != http.StatusNoContent {
				io.WriteString(w, words)
			}
		}))
		err := client(t, s, nil).Do(t.Context(), NewBudget(megabyte, 1), Request{Path: "/x"}, discard)
		ref, ok := errors.AsType[*Refusal](err)
		if fault.CodeOf(err) != want || !ok || ref.Status != status {
			t.Errorf("status %d: %v (%s), want %s", status, err, fault.CodeOf(err), want)
			continue
		}
		if strings.Contains(err.Error()+ref.Error(), "words") || status != http.StatusNoContent && ref.Says() != words {
			t.Errorf("status %d: error %q %q, says %q", status, err, ref, ref.Says())
		}
	}
}

func TestARedirectCarriesNothingElsewhere(t *testing.T) {
	t.Parallel()
	seen := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { seen = true }))
	t.Cleanup(other.Close)
	s := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	err := client(t, s, map[string]string{"Authorization": "Bearer k"}).Do(t.Context(), NewBudget(megabyte, 1), Request{Path: "/x"}, discard)
	if fault.CodeOf(err) != fault.BackendError || seen {
		t.Errorf("Do = %v, followed: %v", err, seen)
	}
}

// hijack answers with raw bytes and closes the connection.
func hijack(t *testing.T, raw string) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		buf.WriteString(raw)
		buf.Flush()
		c.Close()
	}))
}

func TestAnAnswerThatBreaksOffIsIncomplete(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"broken chunk":        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nerror text\n",
		"no last chunk":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
		"fewer than promised": "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello",
	} {
		for how, read := range map[string]func(io.Reader) error{
			"read to the end":      discard,
			"reader hides it":      func(r io.Reader) error { _, _ = io.ReadAll(r); return nil },
			"reader stops earlier": func(r io.Reader) error { _, err := r.Read(make([]byte, 2)); return err },
		} {
			if err := client(t, hijack(t, raw), nil).Do(t.Context(), NewBudget(megabyte, 1), Request{Path: "/x"}, read); fault.CodeOf(err) != fault.BackendIncomplete {
				t.Errorf("%s, %s: %v, want BACKEND_INCOMPLETE", name, how, err)
			}
		}
	}
	own := errors.New("own")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") }))
	if err := client(t, s, nil).Do(t.Context(), NewBudget(megabyte, 1), Request{Path: "/x"}, func(io.Reader) error { return own }); !errors.Is(err, own) {
		t.Errorf("the reader's own error became %v", err)
	}
}

func TestBytesAreCountedAfterDecompression(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		for range 8 {
			z.Write(make([]byte, megabyte))
		}
		z.Close()
	}))
	c := client(t, s, nil)
	b := NewBudget(2*megabyte, 2)
	if err := c.Do(t.Context(), b, Request{Path: "/x"}, discard); fault.CodeOf(err) != fault.RawTooLarge || b.Read() > 2*megabyte+1 {
		t.Errorf("Do = %v after %d bytes, want RAW_TOO_LARGE", err, b.Read())
	}
	if err := c.Do(t.Context(), NewBudget(8*megabyte, 2), Request{Path: "/x"}, discard); err != nil {
		t.Errorf("exactly the bound: %v", err)
	}
	odd := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		io.WriteString(w, "x")
	}))
	if err := client(t, odd, nil).Do(t.Context(), b, Request{Path: "/x"}, discard); fault.CodeOf(err) != fault.BackendError {
		t.Errorf("unknown encoding: %v", err)
	}
}

func TestRequestsAreBounded(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	c, b := client(t, s, nil), NewBudget(megabyte, 2)
	for i, want := range []fault.Code{"", "", fault.RawTooLarge} {
		if err := c.Do(t.Context(), b, Request{Path: "/x"}, discard); fault.CodeOf(err) != want {
			t.Errorf("request %d: %v, want %q", i, err, want)
		}
	}
}

func TestASilentServerEndsWithTheContext(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	c := client(t, s, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if err := c.Do(ctx, NewBudget(megabyte, 1), Request{Path: "/x", Query: url.Values{"q": {"words"}}}, discard); fault.CodeOf(err) != fault.BackendTimeout {
		t.Errorf("Do = %v, want BACKEND_TIMEOUT", err)
	}
	dead := httptest.NewServer(http.NotFoundHandler())
	c = client(t, dead, nil)
	dead.Close()
	err := c.Do(t.Context(), NewBudget(megabyte, 1), Request{Path: "/x", Query: url.Values{"q": {"words"}}}, discard)
	if fault.CodeOf(err) != fault.BackendError || strings.Contains(errors.Unwrap(err).Error(), "words") {
		t.Errorf("Do = %v (%v), want BACKEND_ERROR without the query", err, errors.Unwrap(err))
	}
}

func TestAnUnknownCertificateIsRefused(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(s.Close)
	c, err := New(Options{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Do(t.Context(), NewBudget(megabyte, 1), Request{Path: "/x"}, discard); fault.CodeOf(err) != fault.BackendError {
		t.Errorf("self-signed: %v, want BACKEND_ERROR", err)
	}
	if err := client(t, s, nil).Do(t.Context(), NewBudget(megabyte, 1), Request{Path: "/x"}, discard); err != nil {
		t.Errorf("trusted: %v", err)
	}
}

func TestBadOptionsAreNamed(t *testing.T) {
	t.Parallel()
	const value = "s3cr\net"
	for name, o := range map[string]Options{
		"scheme":      {URL: "file:///etc"},
		"no host":     {URL: "http://"},
		"credentials": {URL: "http://u:p@example.com"},
		"query":       {URL: "http://example.com/?a=b"},
		"fragment":    {URL: "http://example.com/#a"},
		"no url":      {},
		"header name": {URL: "http://example.com", Header: map[string]string{"a b": "x"}},
		"empty name":  {URL: "http://example.com", Header: map[string]string{"": "x"}},
		"two lines":   {URL: "http://example.com", Header: map[string]string{"Authorization": value}},
		"host":        {URL: "http://example.com", Header: map[string]string{"host": "x"}},
		"encoding":    {URL: "http://example.com", Header: map[string]string{"accept-encoding": "br"}},
		"twice":       {URL: "http://example.com", Header: map[string]string{"a": "x", "A": "y"}},
	} {
		_, err := New(o)
		if err == nil || strings.Contains(err.Error(), "s3cr") || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%s: New = %v", name, err)
		}
	}
}
