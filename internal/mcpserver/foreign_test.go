package mcpserver

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A first request from a name that is not configured is refused with a fixed sentence. The operator reads which key decides and which name was used; a stranger
// can neither fill the log nor write into it.
func TestARefusedHostOrOriginTellsTheOperatorWhatToConfigure(t *testing.T) {
	long := strings.Repeat("a.", 120)
	for name, c := range map[string]struct {
		header, value, key, shown string
	}{
		"host":                     {"Host", "gw.example.com:8484", "http.allowed_hosts", "gw.example.com:8484"},
		"host in upper case":       {"Host", "GW.Example.COM.", "http.allowed_hosts", "gw.example.com"},
		"host of a container":      {"Host", "my_gateway", "http.allowed_hosts", "my_gateway"},
		"address":                  {"Host", "192.0.2.7:80", "http.allowed_hosts", "192.0.2.7:80"},
		"IPv6 address":             {"Host", "[2001:db8::7]:80", "http.allowed_hosts", "[2001:db8::7]:80"},
		"IPv6 address, no port":    {"Host", "[2001:db8::7]", "http.allowed_hosts", "[2001:db8::7]"},
		"longest host":             {"Host", long + "example", "http.allowed_hosts", long + "example"},
		"host over 255 bytes":      {"Host", long + "example.example.com", "http.allowed_hosts", ""},
		"long label":               {"Host", strings.Repeat("a", 64) + ".com", "http.allowed_hosts", ""},
		"empty label":              {"Host", "a..b", "http.allowed_hosts", ""},
		"user in the host":         {"Host", "user:pw@gw.example.com", "http.allowed_hosts", ""},
		"blank and line end":       {"Host", "gw.example.com\nlevel=ERROR", "http.allowed_hosts", ""},
		"escape":                   {"Host", "gw\x1b[2J.example", "http.allowed_hosts", ""},
		"not ASCII":                {"Host", "gw.例え.jp", "http.allowed_hosts", ""},
		"zone":                     {"Host", "[fe80::1%25password]", "http.allowed_hosts", ""},
		"port of letters":          {"Host", "gw.example.com:secret", "http.allowed_hosts", ""},
		"long port":                {"Host", "gw.example.com:1234567", "http.allowed_hosts", ""},
		"no host":                  {"Host", "", "http.allowed_hosts", ""},
		"origin":                   {"Origin", "https://console.example.com", "http.allowed_origins", "https://console.example.com"},
		"origin with port":         {"Origin", "http://localhost:5173", "http.allowed_origins", "http://localhost:5173"},
		"page without an origin":   {"Origin", "null", "http.allowed_origins", "null"},
		"origin with a path":       {"Origin", "https://console.example.com/?token=x", "http.allowed_origins", ""},
		"origin with a user":       {"Origin", "https://u:p@console.example.com", "http.allowed_origins", ""},
		"origin of another scheme": {"Origin", "chrome-extension://abcdef", "http.allowed_origins", ""},
		"origin that is none":      {"Origin", "password", "http.allowed_origins", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				r := newRig(t, func(o *Options) { o.Log = slog.New(slog.NewJSONHandler(&log, nil)) })
				ask := func() {
					t.Helper()
					w := post(t, r.Handler(), `{"jsonrpc":"2.0","id":1,"method":"ping"}`, c.header, c.value)
					if want := `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"The ` + c.header + ` is not allowed."}}`; w.Code != 403 || w.Body.String() != want {
						t.Fatalf("%d %s", w.Code, w.Body)
					}
				}
				lines := func() (out []map[string]any) {
					for l := range strings.Lines(log.String()) {
						var m map[string]any
						if err := json.Unmarshal([]byte(l), &m); err != nil {
							t.Fatal(err)
						}
						out = append(out, m)
					}
					return out
				}
				for range 50 {
					ask()
				}
				got := lines()
				if len(got) != 1 || got[0]["level"] != "WARN" || !strings.Contains(got[0]["msg"].(string), c.key) {
					t.Fatalf("50 requests left %s", log.String())
				}
				shown, _ := got[0][strings.ToLower(c.header)].(string)
				if shown != c.shown || c.shown == "" && c.value != "" && strings.Contains(log.String(), c.value) {
					t.Errorf("shown %q, want %q: %s", shown, c.shown, log.String())
				}
				time.Sleep(sparseEvery)
				ask()
				if got = lines(); len(got) != 2 || got[1]["count"] != 50.0 {
					t.Errorf("the next minute's line counts what was held back: %s", log.String())
				}
			})
		})
	}
}

// Whatever a stranger sends, what is logged of it is a short name, address or origin and says the same when it is read again.
func FuzzShown(f *testing.F) {
	for _, s := range []string{"gw.example.com:8484", "[2001:db8::7]:80", "::1", "[fe80::1%25x]", "a..b", "user@host", "https://a.example:1", "null", "http://[::1]", "a:b:c", ".", "", "\x00", "例え", "[[a]]", "0x7f.1:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, c := range []struct {
			shown func(string) string
			fixed string
		}{{shownHost, ""}, {shownOrigin, "https://"}} {
			got := c.shown(s)
			if got == "null" && s == "null" || got == "" {
				continue
			}
			if len(got) > len("https://[]:65535")+maxHostName || strings.Trim(got, "abcdefghijklmnopqrstuvwxyz0123456789-_.:[]/") != "" || strings.Count(got, "/") > len(c.fixed)/4 {
				t.Errorf("%q is shown as %q", s, got)
			}
			if again := c.shown(got); again != got {
				t.Errorf("%q is shown as %q, which is shown as %q", s, got, again)
			}
		}
	})
}
