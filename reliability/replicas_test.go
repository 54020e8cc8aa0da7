package reliability

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// three starts three replicas over the world's store.
func (w *world) three() []*gateway {
	w.t.Helper()
	var all []*gateway
	for _, name := range []string{"one", "two", "three"} {
		g := w.start(name, binary(w.t, plainBinary))
		g.warm()
		all = append(all, g)
	}
	return all
}

// parallel asks n times at once, replica by replica in turn, and counts how the calls ended.
func parallel(all []*gateway, n int, ask func(g *gateway, i int) *attempt) map[string]int {
	codes := map[string]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			at := ask(all[i%len(all)], i)
			mu.Lock()
			codes[at.code]++
			mu.Unlock()
		})
	}
	close(start)
	wg.Wait()
	return codes
}

// parallelCalls is how many calls at once race for a budget.
const parallelCalls = 64

// connections is what calls in parallel may leave behind in the pools of a gateway: to the store, and to the database with a goroutine each.
const connections = 32 + 16

func TestReplicas(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	t.Run("budgets are exact", func(t *testing.T) { t.Parallel(); budgetsAreExact(t, s) })
	t.Run("one id wins once", func(t *testing.T) { t.Parallel(); idsWinOnce(t, s) })
	t.Run("round trips", func(t *testing.T) { t.Parallel(); roundTrips(t, s) })
	t.Run("records end on time", func(t *testing.T) { t.Parallel(); recordsEndOnTime(t, s) })
}

// 64 calls at once at three gateways, against each kind of budget: not one too many, and what is left is what was not used.
func budgetsAreExact(t *testing.T, s *shop) {
	w := newWorld(t, s, options{registered: []string{"warm", "after"}, pool: connections})
	all := w.three()
	const n = parallelCalls
	one := all[0].must("after", "measure", "query_mysql", orders("mark-00"))
	size := int64(len(one.text)) + int64(len("bytes")-len("after")) + int64(len("call-00")-len("measure"))
	rec, found, err := w.direct.Load(t.Context(), w.key("after", "measure"))
	if err != nil || !found {
		t.Fatal(found, err)
	}
	raw := len(rec.Raw)
	for _, c := range []struct {
		run    string
		limits map[string]any
		want   int
	}{
		{"raws-", map[string]any{"raw_bytes": 6*raw + raw/2}, 6},
		{"calls", map[string]any{"calls": 7}, 7},
		{"bytes", map[string]any{"observation_bytes": 5*size + size/2}, 5},
		{"query", map[string]any{"request_bytes": 9*one.args + one.args/2}, 9},
	} {
		w.registerWith(map[string]any{"run_id": c.run, "limits": c.limits})
		codes := parallel(all, n, func(g *gateway, i int) *attempt {
			return g.ask(c.run, fmt.Sprintf("call-%02d", i), "query_mysql", orders(fmt.Sprintf("mark-%02d", i)))
		})
		if codes["EVIDENCE_FOUND"] != c.want || codes["EVIDENCE_FOUND"]+codes["BUDGET_EXHAUSTED"] != n {
			t.Errorf("%s: %v, want %d of %d served and the others refused", c.run, codes, c.want, n)
		}
	}
	w.check()
}

// Every id is sent to all three replicas at once: one of them serves it, and the backend is asked once.
func idsWinOnce(t *testing.T, s *shop) {
	w := newWorld(t, s, options{pool: connections})
	all := w.three()
	const ids = 24
	id := func(i int) string { return fmt.Sprintf("race-%02d.", i/len(all)) }
	for i := range ids {
		w.db.watch(id(i * len(all)))
	}
	codes := parallel(all, ids*len(all), func(g *gateway, i int) *attempt { return g.ask("race", id(i), "query_mysql", orders(id(i))) })
	if codes["EVIDENCE_FOUND"] != ids || codes["DUPLICATE_TOOL_CALL_ID"] != ids*(len(all)-1) {
		t.Errorf("%v, want %d served and the others duplicates", codes, ids)
	}
	for i := range ids {
		if n := w.db.count(id(i * len(all))); n != 1 {
			t.Errorf("%s reached the backend %d times", id(i*len(all)), n)
		}
	}
	w.check()
}

// A call costs two round trips to the store and a verification one, on every replica.
func roundTrips(t *testing.T, s *shop) {
	w := newWorld(t, s, options{})
	all := w.three()
	const n = 30
	for _, tool := range []struct {
		name string
		args arguments
	}{{"query_logs", declined()}, {"query_mysql", orders("x")}, {"query_mysql", from("wide", "y")}, {"query_rag", runbook()}} {
		run := fmt.Sprintf("trips-%s-%d", tool.name, len(fmt.Sprint(tool.args)))
		got := w.store.roundTrips(func() {
			for i := range n {
				body := all[i%len(all)].ask(run, fmt.Sprint("c", i), tool.name, tool.args)
				if body.code != "EVIDENCE_FOUND" {
					t.Errorf("%s: %s", tool.name, body.code)
				}
			}
		})
		if got != 2*n {
			t.Errorf("%s: %d round trips for %d calls, want two each", tool.name, got, n)
		}
		got = w.store.roundTrips(func() {
			for i := range n {
				if _, reason := all[(i+1)%len(all)].verdict(run, fmt.Sprint("c", i)); reason != "OK" {
					t.Errorf("verify: %s", reason)
				}
			}
		})
		if got != n {
			t.Errorf("%s: %d round trips for %d verifications, want one each", tool.name, got, n)
		}
	}
	w.check()
}

// A record that all replicas read all the time ends when it was to end, and does not come back.
func recordsEndOnTime(t *testing.T, s *shop) {
	w := newWorld(t, s, options{shortLived: true, tune: shortLives})
	all := w.three()
	all[0].must("ttl", "c", "query_mysql", orders("c"))
	key := ""
	it := w.admin.Scan(context.Background(), 0, "*}:i:ttl:c", 1000).Iterator()
	for it.Next(context.Background()) {
		key = it.Val()
	}
	at, err := w.admin.PExpireTime(context.Background(), key).Result()
	if err != nil {
		t.Fatal(err)
	}
	end := time.UnixMilli(at.Milliseconds())
	var last time.Time // when it was supported last
	for i := 0; ; i++ {
		asked := time.Now()
		_, reason := all[i%len(all)].verdict("ttl", "c")
		if reason == "NOT_FOUND" {
			if time.Now().Before(end) {
				t.Errorf("gone %v before its time", time.Until(end))
			}
			break
		}
		if last = asked; reason != "OK" || asked.After(end.Add(time.Second)) {
			t.Fatalf("%s %v after its end", reason, time.Since(end))
		}
		if now, err := w.admin.PExpireTime(context.Background(), key).Result(); err == nil && now > 0 && now != at {
			t.Fatalf("reading moved the end by %v", now-at)
		}
	}
	if last.IsZero() {
		t.Error("it was never supported")
	}
	for _, g := range all {
		if _, reason := g.verdict("ttl", "c"); reason != "NOT_FOUND" {
			t.Errorf("%s: %s after the end", g.name, reason)
		}
	}
	if again := all[2].ask("ttl", "c", "query_mysql", orders("c")); again.code != "DUPLICATE_TOOL_CALL_ID" {
		t.Errorf("the id of a record that has ended, in its living run: %s", again.code)
	}
	w.check()
}
