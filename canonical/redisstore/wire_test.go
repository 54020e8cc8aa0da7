package redisstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

func testKey(b byte) string {
	return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, 32))
}

func mustOpen(tb testing.TB, s canonical.Driver, a canonical.OpenArgs) canonical.Grant {
	tb.Helper()
	g, err := s.Open(tb.Context(), a)
	if err != nil {
		tb.Fatalf("Open(%s) = %v (%v)", a.Call, err, unwrap(err))
	}
	return g
}

func mustClose(tb testing.TB, s canonical.Driver, c canonical.CloseArgs) canonical.Closed {
	tb.Helper()
	out, err := s.Close(tb.Context(), c)
	if err != nil {
		tb.Fatalf("Close(%s) = %v (%v)", c.Key.Call(), err, unwrap(err))
	}
	return out
}

func mustLoad(tb testing.TB, s canonical.Driver, k canonical.Key) canonical.Record {
	tb.Helper()
	rec, found, err := s.Load(tb.Context(), k)
	if err != nil || !found {
		tb.Fatalf("Load(%s) = %v, %v (%v)", k.Call(), found, err, unwrap(err))
	}
	return rec
}

func unwrap(err error) error {
	if u, ok := err.(interface{ Unwrap() error }); ok {
		return u.Unwrap()
	}
	return nil
}

func wantCode(tb testing.TB, what string, err error, want fault.Code) {
	tb.Helper()
	if got := fault.CodeOf(err); got != want {
		tb.Errorf("%s = %v (%v), want %s", what, err, unwrap(err), want)
	}
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

// repeats counts the steps that the store sent twice because the machine was too slow for its time-outs.
type repeats struct {
	slog.Handler
	n atomic.Int64
}

func (r *repeats) Handle(context.Context, slog.Record) error { r.n.Add(1); return nil }
func (r *repeats) Enabled(context.Context, slog.Level) bool  { return true }

func TestRoundTrips(t *testing.T) {
	t.Parallel()
	srv := startServer(t)
	p := newProxy(t, srv)
	var again repeats
	s := srv.store(t, Options{URL: p.url(), EncryptionKey: testKey(1), Logger: slog.New(&again)})
	warm, warm2 := openArgs("r", "warm"), openArgs("r", "warm2")
	g := mustOpen(t, s, warm)
	mustClose(t, s, readyArgs(t, warm, g, random(64<<10)))
	mustLoad(t, s, key(t, "r", "warm"))
	mustOpen(t, s, warm2)
	mustClose(t, s, canonical.CloseArgs{Key: key(t, "r", "warm2"), Nonce: warm2.Nonce, Code: "CANCELLED"})
	s.Call(t.Context(), key(t, "r", "warm"))
	s.FindCall(t.Context(), "p", "tc_aaaaaaaaaaaaaaaa") // the server now knows every script

	once := func(what string, f func()) {
		t.Helper()
		before := again.n.Load()
		if n := p.count(f); n != 1 && again.n.Load() == before {
			t.Errorf("%s took %d round trips, want 1", what, n)
		}
	}
	for i, raw := range [][]byte{[]byte("small"), random(16 << 10), random(2 << 20), nil} {
		a := openArgs("r", fmt.Sprintf("tc_aaaaaaaaaaaaaaa%c", 'b'+i))
		a.Minted = true
		var g canonical.Grant
		once("OPEN", func() { g = mustOpen(t, s, a) })
		c := readyArgs(t, a, g, raw)
		if raw == nil {
			c = canonical.CloseArgs{Key: c.Key, Nonce: c.Nonce, Code: "BACKEND_ERROR"}
		}
		once(fmt.Sprintf("CLOSE of %d bytes", len(raw)), func() { mustClose(t, s, c) })
		once(fmt.Sprintf("Load of %d bytes", len(raw)), func() { mustLoad(t, s, c.Key) })
		once(fmt.Sprintf("FindCall of %d bytes", len(raw)), func() {
			if rec, found, err := s.FindCall(t.Context(), "p", a.Call); err != nil || !found || !bytes.Equal(rec.Raw, raw) {
				t.Errorf("FindCall = %v, %v", found, err)
			}
		})
		once("Call", func() {
			if info, call, found, err := s.Call(t.Context(), c.Key); err != nil || !found || info.Run != "r" || call.Call != a.Call {
				t.Errorf("Call = %+v, %v, %v", call, found, err)
			}
		})
		dup := a
		dup.Nonce = "other"
		once("a refused duplicate", func() {
			_, err := s.Open(t.Context(), dup)
			wantCode(t, "duplicate", err, fault.DuplicateToolCallID)
		})
	}
	if n := again.n.Load(); n > 4 {
		t.Errorf("%d steps were sent twice", n)
	}
}

func TestALostReplyIsRecognised(t *testing.T) {
	t.Parallel()
	srv := startServer(t)
	p := newProxy(t, srv)
	s := srv.store(t, Options{URL: p.url()})
	mustOpen(t, s, openArgs("warm", "warm"))
	spec := *openArgs("x", "x").Implicit
	if _, err := s.OpenRun(t.Context(), key(t, "other", "x").RunKey(), spec, canonical.Registered, canonical.Salt{3}, canonical.Ceilings{}); err != nil { // the server now knows the script
		t.Fatal(err)
	}
	p.lose(1)
	if info, err := s.OpenRun(t.Context(), key(t, "registered", "x").RunKey(), spec, canonical.Registered, canonical.Salt{4}, canonical.Ceilings{OpenRuns: 3}); err != nil || !info.Active {
		t.Errorf("OpenRun whose reply was lost = %+v, %v (%v)", info, err, unwrap(err))
	}
	for i, size := range []int{10, 64 << 10} {
		run := fmt.Sprintf("r%d", i)
		a := openArgs(run, "c")
		p.lose(1)
		g := mustOpen(t, s, a)
		c := readyArgs(t, a, g, random(size))
		p.lose(1)
		out := mustClose(t, s, c)
		p.lose(1)
		if rec := mustLoad(t, s, c.Key); rec.State != canonical.StateReady || !bytes.Equal(rec.Raw, c.Raw) {
			t.Errorf("record = %s with %d bytes", rec.State, len(rec.Raw))
		}
		if diff := cmp.Diff(out, mustClose(t, s, c)); diff != "" {
			t.Errorf("the same CLOSE again: %s", diff)
		}
		e := openArgs(run, "e")
		ge := mustOpen(t, s, e)
		failed := canonical.CloseArgs{Key: key(t, ge.Run, "e"), Nonce: e.Nonce, Code: "CANCELLED"}
		p.lose(1)
		mustClose(t, s, failed)

		// Both attempts lost: the store says so, and the same step later finds its own write.
		b := openArgs(run, "b")
		p.lose(2)
		_, err := s.Open(t.Context(), b)
		wantCode(t, "OPEN with two lost replies", err, fault.StoreError)
		p.lose(0)
		gb := mustOpen(t, s, b)
		cb := readyArgs(t, b, gb, random(size))
		p.lose(2)
		_, err = s.Close(t.Context(), cb)
		wantCode(t, "CLOSE with two lost replies", err, fault.StoreError)
		p.lose(0)
		mustClose(t, s, cb)
		info, found, err := s.Run(t.Context(), key(t, run, "x").RunKey())
		if want := (canonical.Limits{Calls: 3, RequestBytes: 27, RawBytes: int64(2 * size), ObservationBytes: 14}); err != nil || !found || info.Used != want {
			t.Errorf("used = %+v, %v, want %+v: something was charged twice", info.Used, err, want)
		}
	}
}

func TestForgottenScriptsAreSentAgain(t *testing.T) {
	t.Parallel()
	srv := startServer(t)
	s, c := srv.store(t, Options{}), srv.admin(t)
	for i, raw := range [][]byte{[]byte("small"), random(64 << 10)} {
		a := openArgs("r", fmt.Sprint("c", i))
		flush := func() {
			if err := c.ScriptFlush(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
		}
		flush()
		g := mustOpen(t, s, a)
		flush()
		mustClose(t, s, readyArgs(t, a, g, raw))
		flush()
		if rec := mustLoad(t, s, key(t, "r", a.Call)); !bytes.Equal(rec.Raw, raw) {
			t.Errorf("raw = %d bytes, want %d", len(rec.Raw), len(raw))
		}
	}
	if info, _, err := s.Run(t.Context(), key(t, "r", "x").RunKey()); err != nil || info.Used.Calls != 2 || info.Used.RawBytes != 5+64<<10 {
		t.Errorf("used = %+v, %v", info.Used, err)
	}
}

func rawKeys(t *testing.T, c *redis.Client) []string {
	t.Helper()
	keys, err := c.Keys(t.Context(), "mg:*:w:*").Result()
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestARawBesideLivesAndDiesWithItsRecord(t *testing.T) {
	t.Parallel()
	srv := startServer(t)
	s, c := srv.store(t, Options{}), srv.admin(t)
	big := random(64 << 10)
	a := openArgs("r", "c")
	a.Implicit.Limits.RawBytes = 100 << 10
	g := mustOpen(t, s, a)
	ready := readyArgs(t, a, g, big)
	mustClose(t, s, ready)
	keys := rawKeys(t, c)
	if len(keys) != 1 {
		t.Fatalf("raw keys = %v, want one", keys)
	}
	for _, k := range []string{keys[0], recordKey(ready.Key)} {
		if at, err := c.PExpireTime(t.Context(), k).Result(); err != nil || at.Milliseconds() != g.ExpiresAt.UnixMilli() {
			t.Errorf("%s ends at %v (%v), want %v", k, at, err, g.ExpiresAt.UnixMilli())
		}
	}
	// What does not end READY leaves no raw: unpaid, not mine, already ERROR, never opened.
	b, e := openArgs("r", "b"), openArgs("r", "e")
	gb, ge := mustOpen(t, s, b), mustOpen(t, s, e)
	if out := mustClose(t, s, readyArgs(t, b, gb, random(64<<10))); out.Code != "BUDGET_EXHAUSTED" {
		t.Errorf("Closed = %+v", out)
	}
	foreign := readyArgs(t, e, ge, random(64<<10))
	foreign.Nonce = "foreign"
	_, err := s.Close(t.Context(), foreign)
	wantCode(t, "foreign nonce", err, fault.StoreError)
	mustClose(t, s, canonical.CloseArgs{Key: foreign.Key, Nonce: e.Nonce, Code: "CANCELLED"})
	late := readyArgs(t, e, ge, random(64<<10))
	_, err = s.Close(t.Context(), late)
	wantCode(t, "READY after ERROR", err, fault.StoreError)
	never := foreign
	never.Key = key(t, "r", "never")
	_, err = s.Close(t.Context(), never)
	wantCode(t, "never opened", err, fault.StoreError)
	stolen := ready
	stolen.Nonce, stolen.Raw = "foreign", random(64<<10)
	_, err = s.Close(t.Context(), stolen)
	wantCode(t, "foreign nonce on READY", err, fault.StoreError)
	other := ready
	other.Raw = random(20 << 10)
	_, err = s.Close(t.Context(), other)
	wantCode(t, "another READY", err, fault.StoreError)
	inlined := openArgs("r", "inline")
	small := readyArgs(t, inlined, mustOpen(t, s, inlined), []byte("small"))
	mustClose(t, s, small)
	small.Raw = random(20 << 10)
	_, err = s.Close(t.Context(), small)
	wantCode(t, "another READY beside a small one", err, fault.StoreError)
	if diff := cmp.Diff(keys, rawKeys(t, c)); diff != "" {
		t.Errorf("raw keys: %s", diff)
	}
	if rec := mustLoad(t, s, ready.Key); !bytes.Equal(rec.Raw, big) {
		t.Error("the READY record lost its raw")
	}
	// A raw that is lost makes the record unreadable, not empty.
	if err := c.Del(t.Context(), keys[0]).Err(); err != nil {
		t.Fatal(err)
	}
	_, found, err := s.Load(t.Context(), ready.Key)
	if found {
		t.Error("a READY record without its raw was given out")
	}
	wantCode(t, "Load without raw", err, fault.StoreError)
}

// dump is all that the server holds, as text.
func dump(t *testing.T, c *redis.Client) string {
	t.Helper()
	var b strings.Builder
	keys, err := c.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keys {
		switch typ := c.Type(t.Context(), k).Val(); typ {
		case "hash":
			fmt.Fprintln(&b, k, c.HGetAll(t.Context(), k).Val())
		case "string":
			fmt.Fprintln(&b, k, c.Get(t.Context(), k).Val())
		case "list":
			fmt.Fprintln(&b, k, c.LRange(t.Context(), k, 0, -1).Val())
		case "zset":
			fmt.Fprintln(&b, k, c.ZRange(t.Context(), k, 0, -1).Val())
		default:
			t.Errorf("key %s has type %s", k, typ)
		}
	}
	return b.String()
}

func TestEncryptionAtRest(t *testing.T) {
	t.Parallel()
	srv := startServer(t)
	c := srv.admin(t)
	canary := "CANARY-" + "4711"
	store := func(key string) *Store { return srv.store(t, Options{EncryptionKey: key}) }
	write := func(s *Store, call string, size int) canonical.Key {
		a := openArgs("r", call)
		a.Request, a.Principal = []byte(canary), "p"
		g := mustOpen(t, s, a)
		k := readyArgs(t, a, g, []byte(strings.Repeat(canary+" ", size/12)))
		k.Observation, k.Scope, k.Control = []byte(canary+" observation"), "query="+canary, []byte(`{"scope":"`+canary+`"}`)
		mustClose(t, s, k)
		return k.Key
	}
	sealed := store(testKey(1))
	small, big := write(sealed, "small", 1200), write(sealed, "big", 64<<10)
	if strings.Contains(dump(t, c), "CANARY") {
		t.Error("content is readable in the server")
	}
	info, _, err := sealed.Run(t.Context(), small.RunKey())
	if err != nil || len(info.Scopes) != 2 || info.Scopes[0] != "query="+canary {
		t.Errorf("scopes = %q, %v", info.Scopes, err)
	}
	rotated := store(testKey(2) + "," + testKey(1))
	for _, s := range []*Store{sealed, rotated} {
		for _, k := range []canonical.Key{small, big} {
			if rec := mustLoad(t, s, k); string(rec.Request) != canary || !bytes.Contains(rec.Raw, []byte(canary)) {
				t.Errorf("record %s came back changed", k.Call())
			}
		}
	}
	fresh := write(rotated, "fresh", 100)
	// A run outlives its records: when their key is gone, the run's calls can still be listed, without the words.
	list, err := store(testKey(2)).Calls(t.Context(), small.RunKey(), 0, 10)
	if err != nil || len(list) != 3 || list[0].Call != "small" || list[0].State != canonical.StateReady || list[0].Scope != "" || list[0].Control != nil || list[2].Scope != "query="+canary {
		t.Errorf("calls after their key was dropped: %+v, %v (%v)", list, err, unwrap(err))
	}
	for _, s := range []*Store{sealed, store("")} {
		_, _, err := s.Load(t.Context(), fresh)
		wantCode(t, "Load without the key", err, fault.StoreError)
	}
	plain := write(store(""), "plain", 100)
	if !strings.Contains(dump(t, c), "CANARY") {
		t.Error("the test's own look at the server sees nothing")
	}
	_, _, err = sealed.Load(t.Context(), plain)
	wantCode(t, "Load of a record that is not sealed", err, fault.StoreError)
	// What an observation found is sealed with it: who may write into the server cannot make "found" a "nothing there", nor a part the whole.
	for field, lie := range map[string]string{"e": "NO_EVIDENCE", "u": "1"} {
		was := c.HGet(t.Context(), recordKey(small), field).Val()
		for _, value := range []string{lie, was} {
			if err := c.HSet(t.Context(), recordKey(small), field, value).Err(); err != nil {
				t.Fatal(err)
			}
			if _, found, err := sealed.Load(t.Context(), small); (value == was) != (found && err == nil) {
				t.Errorf("Load with %s %q in place of %q = %v, %v", field, value, was, found, err)
			}
		}
	}
	// A sealed value moved into another record does not open there.
	obs := c.HGet(t.Context(), recordKey(small), "o").Val()
	if err := c.HSet(t.Context(), recordKey(big), "o", obs).Err(); err != nil {
		t.Fatal(err)
	}
	_, _, err = sealed.Load(t.Context(), big)
	wantCode(t, "Load of a moved observation", err, fault.StoreError)
}

func TestLargeContentIsCompressed(t *testing.T) {
	t.Parallel()
	srv := startServer(t)
	s, c := srv.store(t, Options{}), srv.admin(t)
	a := openArgs("r", "c")
	k := readyArgs(t, a, mustOpen(t, s, a), bytes.Repeat([]byte("2026-01-01 10:00:00 INFO the same line again\n"), 20000))
	mustClose(t, s, k)
	stored := int64(0)
	for _, key := range append(rawKeys(t, c), recordKey(k.Key)) {
		stored += c.MemoryUsage(t.Context(), key).Val()
	}
	if stored > int64(len(k.Raw)/20) {
		t.Errorf("%d bytes are stored in %d", len(k.Raw), stored)
	}
	if rec := mustLoad(t, s, k.Key); !bytes.Equal(rec.Raw, k.Raw) {
		t.Error("raw came back changed")
	}
	info, _, err := s.Run(context.Background(), k.Key.RunKey())
	if err != nil || info.Used.RawBytes != int64(len(k.Raw)) {
		t.Errorf("raw bytes charged = %d, want %d", info.Used.RawBytes, len(k.Raw))
	}
}

func TestARawThatDidNotArriveWholeIsNoEvidence(t *testing.T) {
	t.Parallel()
	srv := startServer(t)
	s, c := srv.store(t, Options{}), srv.admin(t)
	a := openArgs("r", "c")
	k := readyArgs(t, a, mustOpen(t, s, a), random(64<<10))
	if err := c.Set(t.Context(), rawKey(k.Key), string(digest(a.Nonce))+"half of it", time.Minute).Err(); err != nil {
		t.Fatal(err)
	}
	_, err := s.Close(t.Context(), k)
	wantCode(t, "READY over another raw", err, fault.StoreError)
	if rec := mustLoad(t, s, k.Key); rec.State != canonical.StateProjecting || len(rec.Raw) != 0 {
		t.Errorf("record = %s with %d bytes, want PROJECTING", rec.State, len(rec.Raw))
	}
	mustClose(t, s, k) // the refused CLOSE has cleared the place
	if rec := mustLoad(t, s, k.Key); !bytes.Equal(rec.Raw, k.Raw) {
		t.Error("raw came back changed")
	}
}

// Where eviction was allowed, Redis may drop a run's lists and keep the run. What is written then must end like everything else.
func TestWhatWasEvictedDoesNotComeBackForever(t *testing.T) {
	t.Parallel()
	srv := startServer(t)
	s, c := srv.store(t, Options{AllowEviction: true}), srv.admin(t)
	a := openArgs("r", "c0")
	mustClose(t, s, readyArgs(t, a, mustOpen(t, s, a), random(64<<10)))
	keys, err := c.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) < 8 {
		t.Fatalf("%v %v", keys, err)
	}
	for i, k := range keys {
		if err := c.Unlink(t.Context(), k).Err(); err != nil {
			t.Fatal(err)
		}
		a := openArgs("r", fmt.Sprint("c", i+1))
		g, err := s.Open(t.Context(), a)
		if err == nil {
			_, err = s.Close(t.Context(), readyArgs(t, a, g, []byte("raw")))
		}
		if err != nil && fault.CodeOf(err) != fault.StoreError {
			t.Errorf("after %s: %v", k, err)
		}
		lives(t, c, 20*time.Minute)
	}
}
