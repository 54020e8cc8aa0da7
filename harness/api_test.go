package harness_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/memstore"
	"github.com/seed-069badc9/mcp-gateway/evidence"
	"github.com/seed-069badc9/mcp-gateway/harness"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

func TestWhatAnAPINeeds(t *testing.T) {
	t.Parallel()
	store := memstore.New(nil)
	guard := evidence.New(canonical.NewLedger(store, nil))
	for name, o := range map[string]harness.APIOptions{
		"no store":  {Guard: guard, Policy: harness.DefaultPolicy()},
		"no guard":  {Driver: store, Policy: harness.DefaultPolicy()},
		"no policy": {Driver: store, Guard: guard},
	} {
		if _, err := harness.NewAPI(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestOnlyAHarnessTokenOpens(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registered(), nil, nil)
	for name, c := range map[string]struct {
		headers []string
		want    int
	}{
		"no header":              {nil, 401},
		"right":                  {[]string{"Bearer " + opsToken}, 200},
		"scheme in any case":     {[]string{"bEaReR " + opsToken}, 200},
		"another token":          {[]string{"Bearer x"}, 401},
		"a prefix of the token":  {[]string{"Bearer " + opsToken[:8]}, 401},
		"the token and more":     {[]string{"Bearer " + opsToken + "x"}, 401},
		"empty":                  {[]string{"Bearer "}, 401},
		"no scheme":              {[]string{opsToken}, 401},
		"another scheme":         {[]string{"Basic " + opsToken}, 401},
		"two headers, one right": {[]string{"Bearer " + opsToken, "Bearer x"}, 401},
		"a list in one header":   {[]string{"Bearer " + opsToken + ", Bearer x"}, 401},
		"two spaces":             {[]string{"Bearer  " + opsToken}, 401},
		"the name of the token":  {[]string{"Bearer ops"}, 401},
		"another of the list":    {[]string{"Bearer " + allToken}, 200},
	} {
		req := request(t, "", "GET", "/v1/principals/alice/runs", "")
		req.Header["Authorization"] = c.headers
		a := w.send(req)
		if a.status != c.want || (c.want == 401) != (a.header.Get("WWW-Authenticate") == "Bearer") {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	if a := w.do(t, "", "GET", "/v1/principals/alice/runs?access_token="+opsToken, ""); a.status != 401 {
		t.Errorf("a token in the query: %d", a.status)
	}
}

// Who has no token learns nothing: not which paths there are, not which principals, runs and calls. And nobody learns of the runs of another principal.
func TestRefusalsTellNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registered(), nil, nil)
	for _, principal := range []string{"alice", "bob"} {
		if a := w.do(t, allToken, "POST", "/v1/principals/"+principal+"/runs", `{"run_id":"inc-`+principal+`"}`); a.status != 201 {
			t.Fatal(string(a.body))
		}
	}
	w.store.set(func(context.Context) error { t.Error("the store was asked"); return nil })
	first := w.do(t, "", "GET", "/v1/principals/alice/runs/inc-alice", "")
	for _, path := range []string{"/v1/principals/alice/runs/none", "/v1/principals/nobody/runs", "/v1/everything", "/", "/v1//principals", "/v1/principals/../x", "/debug/pprof/", "/v1/principals/alice/runs/a%20b"} {
		for _, method := range []string{"GET", "POST", "DELETE", "PUT", "OPTIONS", "TRACE"} {
			if a := w.do(t, "", method, path, ""); a.status != 401 || cmp.Diff(first, a, cmp.AllowUnexported(answer{})) != "" {
				t.Errorf("%s %s without a token: %d %s", method, path, a.status, a.body)
			}
		}
	}
	foreign := w.do(t, opsToken, "GET", "/v1/principals/bob/runs/inc-bob", "")
	for _, path := range []string{"/v1/principals/bob/runs/none", "/v1/principals/nobody/runs/none", "/v1/principals/bob/runs/a%20b"} {
		if a := w.do(t, opsToken, "GET", path, ""); a.status != 403 || cmp.Diff(foreign, a, cmp.AllowUnexported(answer{})) != "" {
			t.Errorf("%s with a token for others: %d %s", path, a.status, a.body)
		}
	}
	w.store.set(nil)
	unknown := w.do(t, allToken, "GET", "/v1/principals/alice/runs/inc-none", "")
	if theirs := w.do(t, allToken, "GET", "/v1/principals/alice/runs/inc-bob", ""); theirs.status != 404 || cmp.Diff(unknown, theirs, cmp.AllowUnexported(answer{})) != "" {
		t.Errorf("bob's run under alice: %d %s, an unknown one: %s", theirs.status, theirs.body, unknown.body)
	}
	if a := w.do(t, opsToken, "POST", "/v1/principals/alice/runs/inc-bob/verify", `{"citations":["evidence://inc-bob/c0"]}`); !strings.Contains(string(a.body), "NOT_FOUND") {
		t.Errorf("a foreign citation: %s", a.body)
	}
}

func TestHostsAndBrowsers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registered(), nil, func(o *harness.APIOptions) {
		o.Hosts = []string{"gw.example.com", "", "0.0.0.0", "odd.example.com:9000", ":8485"}
	})
	for host, want := range map[string]int{
		"127.0.0.1:8485": 200, "127.0.0.1": 200, "127.9.9.9:1": 200, "[::1]:8485": 200, "localhost:8485": 200, "LOCALHOST": 200, "localhost.": 200, "[::ffff:127.0.0.1]:80": 200,
		"gw.example.com": 200, "GW.example.com:443": 200, "gw.example.com.": 200, "odd.example.com:9000": 200, "192.0.2.7:8485": 200,
		"": 403, ":8485": 403, "evil.example": 403, "localhost.evil.example": 403, "127.0.0.1.nip.example": 403, "odd.example.com": 403, "odd.example.com:9001": 403, "192.0.2.8:8485": 403,
		"gw.example.com.evil.example": 403, "xgw.example.com": 403, "evil.example@127.0.0.1": 403,
	} {
		req := request(t, "", "GET", "/healthz", "")
		req.Host = host
		ctx := context.WithValue(req.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.ParseIP("192.0.2.7"), Port: 8485})
		if a := w.send(req.WithContext(ctx)); a.status != want {
			t.Errorf("Host %q: %d %s, want %d", host, a.status, a.body, want)
		} else if want == 403 && host != "" && strings.Contains(string(a.body), host) {
			t.Errorf("Host %q is echoed: %s", host, a.body)
		}
	}
	for name, c := range map[string]struct {
		header, value string
		want          int
	}{
		"a page":            {"Origin", "https://evil.example", 403},
		"a sandboxed page":  {"Origin", "null", 403},
		"our own page":      {"Origin", "http://127.0.0.1:8485", 403},
		"an image":          {"Sec-Fetch-Site", "cross-site", 403},
		"an own image":      {"Sec-Fetch-Site", "same-origin", 403},
		"a typed address":   {"Sec-Fetch-Site", "none", 200},
		"a script's client": {"Sec-Fetch-Mode", "cors", 200},
	} {
		for _, path := range []string{"/healthz", "/v1/principals/alice/runs"} {
			req := request(t, opsToken, "GET", path, "")
			req.Header.Set(c.header, c.value)
			if a := w.send(req); a.status != c.want {
				t.Errorf("%s, %s: %d %s", name, path, a.status, a.body)
			}
		}
	}
}

func TestMethodsAndPaths(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registered(), nil, nil)
	if a := w.do(t, opsToken, "POST", "/v1/principals/alice/runs", `{"run_id":"inc-1"}`); a.status != 201 {
		t.Fatal(string(a.body))
	}
	for _, c := range []struct {
		method, path string
		want         int
		allow        string
	}{
		{"PUT", "/v1/principals/alice/runs", 405, "GET, HEAD, POST"},
		{"OPTIONS", "/v1/principals/alice/runs/inc-1", 405, "DELETE, GET, HEAD"},
		{"GET", "/v1/principals/alice/runs/inc-1/resume", 405, "POST"},
		{"HEAD", "/v1/principals/alice/runs/inc-1/verify", 405, "POST"},
		{"POST", "/healthz", 405, "GET, HEAD"},
		{"HEAD", "/healthz", 200, ""},
		{"HEAD", "/v1/principals/alice/runs/inc-1", 200, ""},
		{"get", "/v1/principals/alice/runs", 405, "GET, HEAD, POST"},
		{"GET", "/", 404, ""}, {"GET", "/v1", 404, ""}, {"GET", "/v1/principals/alice/runs/", 404, ""}, {"GET", "/v1/principals/alice//runs", 404, ""},
		{"GET", "/v1/principals//runs", 404, ""}, {"GET", "/v1/x/../principals/alice/runs", 404, ""}, {"POST", "/v1/principals/alice/runs/inc-1/resume/x", 404, ""},
		{"GET", "/metrics", 404, ""}, {"GET", "/V1/principals/alice/runs", 404, ""},
		{"DELETE", "/v1/principals/alice/runs/inc-1?force=true", 400, ""}, {"POST", "/v1/principals/alice/runs?limit=1", 400, ""},
		{"GET", "/v1/principals/alice/runs?limit=1&limit=2", 400, ""}, {"GET", "/v1/principals/alice/runs?limit=%zz", 400, ""}, {"GET", "/v1/principals/alice/runs?limit=1;x=2", 400, ""},
		{"GET", "/v1/principals/alice/runs?limit=-1", 400, ""}, {"GET", "/v1/principals/alice/runs?limit=99999999999999999999", 400, ""}, {"GET", "/v1/principals/alice/runs?limit=", 400, ""},
		{"GET", "/v1/principals/alice/runs/current", 400, ""},
	} {
		a := w.do(t, opsToken, c.method, c.path, "")
		if a.status != c.want || a.header.Get("Allow") != c.allow {
			t.Errorf("%s %s: %d, Allow %q: %s", c.method, c.path, a.status, a.header.Get("Allow"), a.body)
		}
		if a.header.Get("Location") != "" || a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s: %v", c.method, c.path, a.header)
		}
		if a.status >= 400 && (a.code() != fault.InvalidRequest || a.header.Get("Content-Type") != "application/json") {
			t.Errorf("%s %s: %s %s", c.method, c.path, a.header.Get("Content-Type"), a.body)
		}
	}
}

// A principal may hold any character: it travels as one escaped path segment.
func TestPrincipalsOfAnyShape(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registered(), nil, nil)
	for segment, principal := range map[string]string{"https:%2F%2Fissuer.example.com%7Cu%201": "https://issuer.example.com|u 1", "..%2F..": "../..", "%2e%2e": "..", "a%00b": "a\x00b", "%E7%8E%8B": "王"} {
		if a := w.do(t, allToken, "POST", "/v1/principals/"+segment+"/runs", `{"run_id":"inc-1"}`); a.status != 201 {
			t.Errorf("%q: %d %s", principal, a.status, a.body)
			continue
		}
		k, err := canonical.NewRunKey(principal, "inc-1")
		if err != nil {
			t.Fatal(err)
		}
		if _, found, err := w.store.Driver.Run(t.Context(), k); err != nil || !found {
			t.Errorf("%q owns no run: %v", principal, err)
		}
	}
}

// Every code of the closed list that a store or a check could carry gets a status, and no cause ever gets out.
func TestCodesBecomeStatuses(t *testing.T) {
	t.Parallel()
	want := map[fault.Code]int{fault.RunNotActive: 404, fault.InvalidRequest: 400, fault.InvalidToolCallID: 400, fault.RunMismatch: 400, fault.ToolNotAuthorized: 403, fault.BudgetExhausted: 429,
		fault.Overloaded: 429, fault.RequestTooLarge: 413, fault.StoreError: 503, fault.Cancelled: 503, fault.BackendTimeout: 503}
	const cause = "dsn-password-" + "in-a-cause"
	w := newWorld(t, registered(), nil, nil)
	for _, code := range fault.Codes() {
		w.store.set(func(context.Context) error { return fault.New(code, "test", errors.New(cause)) })
		a := w.do(t, opsToken, "GET", "/v1/principals/alice/runs", "")
		status := want[code]
		if status == 0 {
			status = 500
		}
		if a.status != status || a.code() != code || bytes.Contains(a.body, []byte(cause)) {
			t.Errorf("%s: %d %s, want %d", code, a.status, a.body, status)
		}
		if retry := a.header.Get("Retry-After"); (retry == "1") != (code == fault.Overloaded || status == 503) {
			t.Errorf("%s: Retry-After %q", code, retry)
		}
	}
	w.store.set(func(context.Context) error { return errors.New(cause) })
	if a := w.do(t, opsToken, "GET", "/v1/principals/alice/runs", ""); a.status != 500 || a.code() != fault.Internal || bytes.Contains(a.body, []byte(cause)) {
		t.Errorf("an error without a code: %d %s", a.status, a.body)
	}
}

// The log names who changed what and what failed, without the words of anyone.
func TestTheLogHoldsNoContent(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := newWorld(t, registered(), nil, func(o *harness.APIOptions) { o.Logger = slog.New(slog.NewTextHandler(&out, nil)) })
	w.do(t, opsToken, "POST", "/v1/principals/alice/runs", `{"run_id":"inc-1"}`)
	w.do(t, opsToken, "GET", "/v1/principals/alice/runs/inc-1", "")
	w.do(t, opsToken, "DELETE", "/v1/principals/alice/runs/not%20a%20run", "")
	w.do(t, opsToken, "POST", "/v1/principals/alice/runs/inc-1/resume", "")
	w.store.set(func(context.Context) error { panic("panic-" + "words") })
	w.do(t, opsToken, "GET", "/v1/principals/alice/runs/inc-1/calls", "")
	w.store.set(down)
	w.do(t, opsToken, "POST", "/v1/principals/alice/runs/inc-1/verify", `{"draft":"draft-`+`words"}`)
	w.do(t, opsToken, "GET", "/v1/principals/alice/runs", "")
	got := out.String()
	for _, want := range []string{"resume token=ops status=200 run=inc-1", "status=400", "status=503", "code=STORE_ERROR", "panic in a harness request", "(*API).serve"} {
		if !strings.Contains(got, want) {
			t.Errorf("the log lacks %q:\n%s", want, got)
		}
	}
	for _, never := range []string{"words", "password", "not a run", opsToken, "alice"} {
		if strings.Contains(got, never) {
			t.Errorf("the log holds %q:\n%s", never, got)
		}
	}
	if n := strings.Count(got, "\n"); n != 6 {
		t.Errorf("%d lines:\n%s", n, got)
	}
}

// Tokens change while requests are served: the old ones end at once, the new ones open at once.
func TestTokensAreReplacedUnderLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registered(), nil, nil)
	generation := func(i int) string { return fmt.Sprintf("generation-%d-%s", i, "not-real") }
	list := []harness.APIToken{harness.NewAPIToken("ops", generation(0), nil)}
	w.api.SetTokens(list)
	list[0] = harness.APIToken{} // the caller's own list is the caller's
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if a := w.do(t, "never-"+"valid", "GET", "/v1/principals/alice/runs", ""); a.status != 401 {
					t.Errorf("a token that never was: %d", a.status)
				}
			}
		})
	}
	for i := range 50 {
		if a := w.do(t, generation(i), "GET", "/v1/principals/alice/runs", ""); a.status != 200 {
			t.Errorf("generation %d: %d", i, a.status)
		}
		w.api.SetTokens([]harness.APIToken{harness.NewAPIToken("ops", generation(i+1), nil)})
		if a := w.do(t, generation(i), "GET", "/v1/principals/alice/runs", ""); a.status != 401 {
			t.Errorf("generation %d is still good: %d", i, a.status)
		}
	}
	close(stop)
	wg.Wait()
	w.api.SetTokens(nil)
	if a := w.do(t, generation(50), "GET", "/v1/principals/alice/runs", ""); a.status != 401 {
		t.Errorf("no tokens at all: %d", a.status)
	}
	w.api.SetTokens([]harness.APIToken{harness.NewAPIToken("none", "x-"+"not-real", []string{})})
	if a := w.do(t, "x-"+"not-real", "GET", "/v1/principals/alice/runs", ""); a.status != 403 {
		t.Errorf("a token for no principal: %d", a.status)
	}
}

// Two threads of one harness that do the same thing twice find it done.
func TestAdministrationCanBeRepeated(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registered(), nil, nil)
	const runs = "/v1/principals/alice/runs"
	var opened atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		req := request(t, allToken, "POST", runs, `{"run_id":"inc-1"}`)
		wg.Go(func() {
			switch a := w.send(req); a.status {
			case 201:
				opened.Add(1)
			case 400:
			default:
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
	wg.Wait()
	if n := opened.Load(); n != 1 {
		t.Errorf("the run was opened %d times", n)
	}
	for range 2 {
		if a := w.do(t, opsToken, "POST", runs+"/inc-1/resume", "ignored"); a.status != 200 {
			t.Errorf("resume: %d %s", a.status, a.body)
		}
	}
	w.lines(t, "inc-1", "c0", "gateway")
	var views []harness.CallView
	for range 2 {
		var v harness.CallView
		w.do(t, opsToken, "POST", runs+"/inc-1/calls/c0/assessment", `{"gain":"NO_GAIN"}`).read(t, &v)
		views = append(views, v)
	}
	if d := cmp.Diff(views[0], views[1]); d != "" || views[0].Gain != canonical.GainNo || !views[0].Assessed {
		t.Errorf("assessed twice:\n%s", d)
	}
	for range 2 {
		if a := w.do(t, opsToken, "DELETE", runs+"/inc-1", ""); a.status != 204 {
			t.Errorf("close: %d %s", a.status, a.body)
		}
	}
	var list struct{ Runs []harness.RunView }
	w.do(t, opsToken, "GET", runs, "").read(t, &list)
	if len(list.Runs) != 1 || list.Runs[0].Active {
		t.Errorf("%+v", list)
	}
	if a := w.do(t, opsToken, "POST", runs, `{"run_id":"inc-1"}`); a.status != 201 {
		t.Errorf("a closed id opens anew: %d %s", a.status, a.body)
	}
}

func TestMintedRunsAreOpenedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registered(), nil, nil)
	const runs = "/v1/principals/alice/runs"
	var ids []string
	for range 2 {
		var v harness.RunView
		w.do(t, opsToken, "POST", runs, "").read(t, &v)
		if !canonical.MintedRun(v.RunID) || slices.Contains(ids, v.RunID) {
			t.Fatalf("minted %q after %v", v.RunID, ids)
		}
		ids = append(ids, v.RunID)
	}
	if code := w.lines(t, ids[0], "c0", "gateway"); code != "" {
		t.Errorf("a call in a minted run: %s", code)
	}
	w.do(t, opsToken, "DELETE", runs+"/"+ids[0], "")
	if a := w.do(t, opsToken, "POST", runs, `{"run_id":"`+ids[0]+`"}`); a.status != 400 {
		t.Errorf("a minted id opened twice: %d %s", a.status, a.body)
	}
}
