package harness_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-069badc9/mcp-gateway/harness"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// Full: at once refused, and no token can take all places.
func TestPlacesAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registered(), nil, nil)
	leave := fill(t, w)
	for _, token := range []string{opsToken, allToken} {
		if a := w.do(t, token, "GET", "/v1/principals/alice/runs", ""); a.status != 429 || a.code() != fault.Overloaded {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if a := w.do(t, "", "GET", "/healthz", ""); a.status != 200 {
		t.Errorf("healthz: %d", a.status)
	}
	leave()
	in, out := make(chan struct{}), make(chan struct{})
	w.store.set(func(context.Context) error { in <- struct{}{}; <-out; return nil })
	var wg sync.WaitGroup
	for range harness.MaxPerToken {
		req := request(t, opsToken, "GET", "/v1/principals/alice/runs", "")
		wg.Go(func() { w.send(req) })
	}
	awaited(t, in, harness.MaxPerToken)
	w.store.set(nil)
	if a := w.do(t, opsToken, "GET", "/v1/principals/alice/runs", ""); a.status != 429 {
		t.Errorf("one token took more than its share: %d", a.status)
	}
	if a := w.do(t, allToken, "GET", "/v1/principals/alice/runs", ""); a.status != 200 {
		t.Errorf("the other token found no place: %d %s", a.status, a.body)
	}
	close(out)
	wg.Wait()
	for range harness.MaxInFlight + 1 { // places come back, after refusals and panics too
		w.store.set(func(context.Context) error { panic("x") })
		w.do(t, opsToken, "GET", "/v1/principals/alice/runs", "")
	}
	w.store.set(nil)
	if a := w.do(t, opsToken, "GET", "/v1/principals/alice/runs", ""); a.status != 200 {
		t.Errorf("a place was lost: %d", a.status)
	}
}

// A client that drips its body is cut off, and the server goes on.
func TestABodyHasToArriveInTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registered(), nil, nil)
	w.api.SetBodyTimeout(50 * time.Millisecond)
	srv := httptest.NewServer(w.api)
	defer srv.Close()
	body, feed := io.Pipe()
	defer feed.Close()
	req, err := http.NewRequestWithContext(t.Context(), "POST", srv.URL+"/v1/principals/alice/runs", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+opsToken)
	go func() { _, _ = io.WriteString(feed, `{"run_`) }() // ends with the pipe
	res, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	said, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 400 || !strings.Contains(string(said), "did not arrive in time") {
		t.Errorf("%d %s %v", res.StatusCode, said, err)
	}
	if a := w.do(t, opsToken, "GET", "/v1/principals/alice/runs", ""); a.status != 200 {
		t.Errorf("afterwards: %d", a.status)
	}
}

// Work ends with its time; a verdict that could not be reached any more is not passed off as one.
func TestWorkIsBoundedInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, registered(), nil, nil)
		w.store.set(func(ctx context.Context) error { <-ctx.Done(); return fault.New(fault.StoreError, "slow", ctx.Err()) })
		began := time.Now()
		if a := w.do(t, opsToken, "GET", "/v1/principals/alice/runs", ""); a.status != 503 {
			t.Errorf("%d %s", a.status, a.body)
		}
		if a := w.do(t, opsToken, "POST", "/v1/principals/alice/runs/inc-1/verify", `{"citations":["evidence://inc-1/c0"]}`); a.status != 429 || a.code() != fault.Overloaded {
			t.Errorf("%d %s", a.status, a.body)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("two requests took %s", took)
		}
	})
}

func TestReadinessAsksTheStoreOnceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		var fails atomic.Bool
		w := newWorld(t, registered(), nil, func(o *harness.APIOptions) {
			o.Ready = func(ctx context.Context) error {
				asked.Add(1)
				if fails.Load() {
					return errDown
				}
				return ctx.Err()
			}
		})
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if a := w.send(request(t, "", "GET", "/readyz", "").WithContext(gone)); a.status != 200 {
			t.Errorf("asked by one who hung up: %d %s", a.status, a.body)
		}
		for range 500 {
			if a := w.do(t, "", "GET", "/readyz", ""); a.status != 200 || string(a.body) != "ready\n" {
				t.Fatalf("%d %s", a.status, a.body)
			}
		}
		fails.Store(true)
		time.Sleep(time.Second)
		for range 500 {
			if a := w.do(t, "", "GET", "/readyz", ""); a.status != 503 || string(a.body) != "not ready\n" {
				t.Fatalf("%d %s", a.status, a.body)
			}
		}
		if n := asked.Load(); n != 2 {
			t.Errorf("the store was asked %d times", n)
		}
	})
}

// A gateway on its way down says so at once, although the store was found ready a moment ago; it lives, and its harness is still served.
func TestADrainingGatewayIsNotReadyAndLives(t *testing.T) {
	t.Parallel()
	w := newWorld(t, registered(), nil, nil)
	open(t, w, `{"run_id":"inc-1"}`)
	for _, c := range []struct {
		readiness string
		status    int
	}{{"ready\n", 200}, {"draining\n", 503}} {
		if a := w.do(t, "", "GET", "/readyz", ""); a.status != c.status || string(a.body) != c.readiness {
			t.Errorf("readyz: %d %q, want %d %q", a.status, a.body, c.status, c.readiness)
		}
		for _, path := range []string{"/healthz", "/v1/principals/alice/runs/inc-1"} {
			if a := w.do(t, opsToken, "GET", path, ""); a.status != 200 {
				t.Errorf("%s beside %q: %d %s", path, c.readiness, a.status, a.body)
			}
		}
		w.api.Drain()
	}
}
