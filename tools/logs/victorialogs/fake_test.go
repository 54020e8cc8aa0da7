package victorialogs_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/internal/logtest"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/victorialogs"
)

// fake answers searches as a test wants and keeps what it was asked.
type fake struct {
	*httptest.Server
	mu    sync.Mutex
	asked []url.Values
	heads []http.Header
}

func newFake(t *testing.T, answer func(w http.ResponseWriter, path string, v url.Values)) *fake {
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		f.mu.Lock()
		f.asked, f.heads = append(f.asked, r.Form), append(f.heads, r.Header)
		f.mu.Unlock()
		answer(w, r.URL.Path, r.Form)
	}))
	t.Cleanup(f.Close)
	return f
}

func gatewayTo(t *testing.T, o victorialogs.Options) *logtest.Gateway {
	return logtest.New(t, map[string]logs.Source{"shop": source(t, o)})
}

const one = `{"_msg":"card declined","_time":"2026-01-01T10:00:00.5Z","service":"shop"}` + "\n"

func TestOnlyAWholeAnswerCounts(t *testing.T) {
	t.Parallel()
	broken := func(w http.ResponseWriter, body string) {
		c, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		fmt.Fprintf(buf, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(body), body)
		// the server reports a timeout by text in place of the next chunk
		buf.WriteString("cannot execute query: timeout\n")
		flush(buf)
	}
	for _, c := range []struct {
		name   string
		answer func(w http.ResponseWriter)
		want   fault.Code
	}{
		{"whole", func(w http.ResponseWriter) { io.WriteString(w, one) }, ""},
		{"empty", func(w http.ResponseWriter) {}, fault.BackendIncomplete}, // nothing shows that it keeps this time
		{"broken chunk after 200", func(w http.ResponseWriter) { broken(w, strings.Repeat(one, 3)) }, fault.BackendIncomplete},
		{"broken chunk in a line", func(w http.ResponseWriter) { broken(w, one[:20]) }, fault.BackendIncomplete},
		{"half a line", func(w http.ResponseWriter) { io.WriteString(w, one+one[:30]) }, fault.BackendIncomplete},
		{"no JSON", func(w http.ResponseWriter) { io.WriteString(w, "<html></html>\n") }, fault.BackendIncomplete},
		{"another shape", func(w http.ResponseWriter) { io.WriteString(w, `{"_msg":7,"_time":"2026-01-01T10:00:00Z"}`+"\n") }, fault.BackendError},
		{"no time", func(w http.ResponseWriter) { io.WriteString(w, `{"_msg":"x"}`+"\n") }, fault.BackendError},
		{"outside of the range", func(w http.ResponseWriter) { io.WriteString(w, strings.Replace(one, "T10:", "T03:", 1)) }, fault.BackendError},
		{"bad request", func(w http.ResponseWriter) { http.Error(w, "password of the server", 400) }, fault.BackendError},
		{"wrong key", func(w http.ResponseWriter) { http.Error(w, "password of the server", http.StatusUnauthorized) }, fault.BackendError},
		{"busy", func(w http.ResponseWriter) { http.Error(w, "too many", http.StatusTooManyRequests) }, fault.BackendBusy},
		{"timeout before the first byte", func(w http.ResponseWriter) { http.Error(w, "timeout", http.StatusServiceUnavailable) }, fault.BackendBusy},
		{"a node is down", func(w http.ResponseWriter) { http.Error(w, "vlstorage", http.StatusBadGateway) }, fault.BackendError},
		{"gateway timeout", func(w http.ResponseWriter) { http.Error(w, "x", http.StatusGatewayTimeout) }, fault.BackendTimeout},
		{"redirect", func(w http.ResponseWriter) { w.Header().Set("Location", "/"); w.WriteHeader(302) }, fault.BackendError},
		{"line of 5 MiB", func(w http.ResponseWriter) { io.WriteString(w, `{"_msg":"`+strings.Repeat("x", 5<<20)) }, fault.RawTooLarge},
	} {
		f := newFake(t, func(w http.ResponseWriter, _ string, v url.Values) {
			if strings.Contains(v.Get("query"), "_time:[2025-12-31T10:00:00Z") { // what lies around the range
				return
			}
			c.answer(w)
		})
		a := gatewayTo(t, victorialogs.Options{URL: f.URL}).Query(t, "shop", "", logtest.Morning)
		if a.Code != c.want || c.want == "" && a.Total() != 1 {
			t.Errorf("%s: %q %s, want %q", c.name, a.Code, a.Text, c.want)
		}
		if strings.Contains(a.Hint+a.Text, "password") {
			t.Errorf("%s: the server's words came out: %s %s", c.name, a.Hint, a.Text)
		}
	}
}

func flush(b *bufio.ReadWriter) { _ = b.Flush() }

func TestRequestsSayWhatTheConfigurationFixes(t *testing.T) {
	t.Parallel()
	f := newFake(t, func(w http.ResponseWriter, path string, _ url.Values) {
		if strings.HasSuffix(path, "/field_names") {
			io.WriteString(w, `{"values":[{"value":"_time","hits":3},{"value":"decline_code","hits":3},{"value":"weird \"decline","hits":1}]}`)
		}
	})
	g := gatewayTo(t, victorialogs.Options{URL: f.URL + "/vl", Filter: `{app="shop"} # only the shop`, Tenant: "12:3", Header: map[string]string{"Authorization": "Basic eA=="}})
	g.Query(t, "shop", `decline "a\"b\\c{d}" -minus /R[e]gex+long/ secret=`+logtest.Secret, `"level":"ERROR",`+logtest.Morning)
	for i, h := range f.heads {
		if h.Get("Accountid") != "12" || h.Get("Projectid") != "3" || h.Get("Authorization") != "Basic eA==" {
			t.Errorf("request %d: headers %v", i, h)
		}
	}
	var search url.Values
	for _, v := range f.asked {
		if v.Get("allow_partial_response") != "0" || v.Get("timeout") == "" || !strings.Contains(v.Get("query"), "({app=\"shop\"} # only the shop\n)") {
			t.Errorf("asked %v", v)
		}
		if v.Get("limit") == "10001" {
			search = v
		}
	}
	const want = `_time:[2026-01-01T10:00:00Z, 2026-01-01T11:00:00Z) ({app="shop"} # only the shop` + "\n" + `) (*:~"(?i:decline)" or (_msg:~"\\\\|\\x1b" _msg:~"\\\\[^ntrbf\"\\\\]|\\x1b") or "decline_code":* or "weird \"decline":*)` +
		` !(level:~"^(?i:trace|finest|finer|verbose|debug|dbg|fine|info|information|inf|notice|warn|warning|wrn|t|d|i|n|w)$" "@l":"" "@level":"") | delete _stream, _stream_id`
	if got := search.Get("query"); got != want {
		t.Errorf("query\n%s\nwant\n%s", got, want)
	}
	for _, v := range f.asked {
		for _, never := range []string{"minus", logtest.Secret} {
			if strings.Contains(v.Get("query"), never) {
				t.Errorf("%q reached the server: %s", never, v.Get("query"))
			}
		}
	}
}

// An older server that does not know a part of the filter is asked without it.
func TestAFilterThatIsNotUnderstoodIsLeftOut(t *testing.T) {
	t.Parallel()
	f := newFake(t, func(w http.ResponseWriter, path string, v url.Values) {
		switch {
		case strings.HasSuffix(path, "/field_names"):
			io.WriteString(w, `{"values":[]}`)
		case strings.Contains(v.Get("query"), "*:~"):
			http.Error(w, "cannot parse", 400)
		case strings.Contains(v.Get("query"), "2026-01-01T10:00:00Z, "):
			io.WriteString(w, one)
		}
	})
	a := gatewayTo(t, victorialogs.Options{URL: f.URL}).Query(t, "shop", "declined", logtest.Morning)
	if a.Code != "" || a.Total() != 1 {
		t.Errorf("%s %s", a.Code, a.Text)
	}
}

func TestBadOptionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, o := range []victorialogs.Options{{}, {URL: "ftp://example.com"}, {URL: "http://example.com", Tenant: "shop"}, {URL: "http://example.com", Tenant: "1:x"}, {URL: "http://example.com", Tenant: "-1"}} {
		if _, err := victorialogs.New(o); err == nil {
			t.Errorf("New(%+v) accepted", o)
		}
	}
}
