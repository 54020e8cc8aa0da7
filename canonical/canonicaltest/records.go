package canonicaltest

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

func everyField(s *suite) {
	a := s.args("inc-1", "c.1_A-b")
	a.Request, a.Projector, a.Tool = []byte("{\"sql\":\"SELECT '中文'\"}"), "mysql/7", "query_mysql"
	g := s.open(a)
	if g.Run != "inc-1" || g.Salt != a.Salt || g.Mode != canonical.Implicit || g.NoGain != a.Implicit.NoGain || g.Streak != 0 || g.StopAdvised || g.Scopes != nil {
		s.Errorf("Grant = %+v", g)
	}
	if d := g.ExpiresAt.Sub(g.StartedAt); d != a.TTL {
		s.Errorf("life = %v, want %v", d, a.TTL)
	}
	want := canonical.Record{Run: "inc-1", Call: "c.1_A-b", Tool: a.Tool, State: canonical.StateProjecting, Request: a.Request, Salt: a.Salt, Projector: a.Projector, StartedAt: g.StartedAt, ExpiresAt: g.ExpiresAt}
	if diff := cmp.Diff(want, s.load("inc-1", a.Call)); diff != "" {
		s.Errorf("PROJECTING record (-want +got):\n%s", diff)
	}
	c := s.ready(a, g)
	c.Raw, c.Observation, c.Truncated = []byte("raw\x00\xff\xfe中文"), []byte("{\"a\":\"\xc3\x28\"}"), true
	c.ScopeID, c.Scope, c.Control, c.Items = "scope-1", "topics=checkout 中文", []byte("{\"x\":\"\x00\xff\"}"), []canonical.Item{{Key: "k1", Detail: "d"}}
	out := s.close(c)
	wantClosed := canonical.Closed{State: canonical.StateReady, CompletedAt: out.CompletedAt, ExpiresAt: g.ExpiresAt, Gain: canonical.GainYes, NoGain: a.Implicit.NoGain, Left: limits()}
	wantClosed.Left.Calls--
	wantClosed.Left.RequestBytes -= 7
	wantClosed.Left.RawBytes -= int64(len(c.Raw))
	wantClosed.Left.ObservationBytes -= int64(len(c.Observation))
	if diff := cmp.Diff(wantClosed, out); diff != "" {
		s.Errorf("Closed (-want +got):\n%s", diff)
	}
	if out.CompletedAt.Before(g.StartedAt) {
		s.Errorf("completed %v before started %v", out.CompletedAt, g.StartedAt)
	}
	want.State, want.Evidence, want.Raw, want.Observation, want.Truncated, want.CompletedAt = canonical.StateReady, "EVIDENCE_FOUND", c.Raw, c.Observation, true, out.CompletedAt
	if diff := cmp.Diff(want, s.load("inc-1", a.Call)); diff != "" {
		s.Errorf("READY record (-want +got):\n%s", diff)
	}
	calls, err := s.d.Calls(s.ctx(), s.runKey("inc-1"), 0, 10)
	wantCalls := []canonical.CallInfo{{Call: a.Call, Tool: a.Tool, State: canonical.StateReady, Evidence: "EVIDENCE_FOUND", ScopeID: "scope-1", Scope: c.Scope, Gain: canonical.GainYes,
		Control: c.Control, StartedAt: g.StartedAt, CompletedAt: out.CompletedAt}}
	if diff := cmp.Diff(wantCalls, calls); diff != "" || err != nil {
		s.Errorf("Calls = %v (-want +got):\n%s", err, diff)
	}

	b := s.args("inc-1", "c2")
	gb := s.open(b)
	f := s.failed(b, gb)
	f.ScopeID, f.Scope, f.Control = "scope-2", "scope two", []byte("{}")
	closed := s.close(f)
	wantFailed := canonical.Record{Run: "inc-1", Call: "c2", Tool: b.Tool, State: canonical.StateError, Evidence: "ERROR", Code: "BACKEND_ERROR", Request: b.Request, Salt: a.Salt, Projector: b.Projector,
		StartedAt: gb.StartedAt, CompletedAt: closed.CompletedAt, ExpiresAt: gb.ExpiresAt}
	if diff := cmp.Diff(wantFailed, s.load("inc-1", "c2")); diff != "" {
		s.Errorf("ERROR record (-want +got):\n%s", diff)
	}
	if closed.State != canonical.StateError || closed.Code != "BACKEND_ERROR" || closed.Gain != canonical.Uncounted {
		s.Errorf("Closed = %+v, want ERROR BACKEND_ERROR NONE", closed)
	}
}

func anyContent(s *suite) {
	big := make([]byte, 3<<20)
	rand.Read(big)
	for i, c := range []struct{ raw, obs []byte }{
		{[]byte{0}, []byte{0}},
		{[]byte("\xff\xfe\x00\x80"), []byte("中文 \u202e 🜁")},
		{bytes.Repeat([]byte("a line that repeats itself\n"), 2000), bytes.Repeat([]byte("observation "), 2000)},
		{bytes.Repeat([]byte{0}, 16<<10), []byte("x")},
		{bytes.Repeat([]byte{'r'}, 16<<10+1), []byte("x")},
		{big, big[:32<<10]},
	} {
		id := fmt.Sprintf("c%d", i)
		a := s.args("r", id)
		a.Request = c.obs
		k := s.ready(a, s.open(a))
		k.Raw, k.Observation, k.Evidence = c.raw, c.obs, canonical.None
		s.close(k)
		rec := s.load("r", id)
		if !bytes.Equal(rec.Raw, c.raw) || !bytes.Equal(rec.Observation, c.obs) || !bytes.Equal(rec.Request, c.obs) || rec.Evidence != "NO_EVIDENCE" {
			s.Errorf("content %d of %d and %d bytes came back changed: %d, %d, request %d, %s", i, len(c.raw), len(c.obs), len(rec.Raw), len(rec.Observation), len(rec.Request), rec.Evidence)
		}
	}
	// Bytes are charged as the caller counts them, whatever the driver stores.
	if got, want := s.info("r").Used.RawBytes, int64(1+4+27*2000+16384+16385+(3<<20)); got != want {
		s.Errorf("raw bytes charged = %d, want %d", got, want)
	}
	empty := s.args("r", "empty")
	empty.Request = nil
	s.open(empty)
	if rec := s.load("r", "empty"); len(rec.Request) != 0 {
		s.Errorf("an empty request came back as %q", rec.Request)
	}
}

func ownCopy(s *suite) {
	a := s.args("r", "c")
	a.Request = []byte("request")
	g := s.open(a)
	copy(a.Request, "XXXXXXX")
	c := s.ready(a, g)
	c.Raw, c.Observation, c.Control = []byte("content"), []byte("observe"), []byte("control")
	s.close(c)
	for _, b := range [][]byte{c.Raw, c.Observation, c.Control} {
		copy(b, "XXXXXXX")
	}
	for range 2 {
		rec := s.load("r", "c")
		calls, err := s.d.Calls(s.ctx(), s.runKey("r"), 0, 1)
		if err != nil || len(calls) != 1 {
			s.Fatalf("Calls = %d, %v", len(calls), err)
		}
		if string(rec.Request)+string(rec.Raw)+string(rec.Observation)+string(calls[0].Control) != "requestcontentobservecontrol" {
			s.Fatalf("the record follows the caller's buffers: %q %q %q %q", rec.Request, rec.Raw, rec.Observation, calls[0].Control)
		}
		for _, b := range [][]byte{rec.Request, rec.Raw, rec.Observation, calls[0].Control} {
			copy(b, "YYYYYYY")
		}
	}
}

func deadline(s *suite) {
	a := s.args("r", "tc_"+strings.Repeat("a", 16))
	a.Minted, a.TTL = true, s.units(20)
	g := s.open(a)
	read := func() {
		s.Helper()
		rec, found, err := s.d.FindCall(s.ctx(), owner, a.Call)
		if err != nil || !found {
			s.Fatalf("FindCall = %v, %v, want the record", found, err)
		}
		if l := s.load("r", a.Call); !l.ExpiresAt.Equal(g.ExpiresAt) || !rec.ExpiresAt.Equal(g.ExpiresAt) {
			s.Fatalf("deadline = %v and %v, want %v", l.ExpiresAt, rec.ExpiresAt, g.ExpiresAt)
		}
	}
	read()
	s.wait(2)
	s.open(a) // the same OPEN again
	read()
	c := s.ready(a, g)
	if out := s.close(c); !out.ExpiresAt.Equal(g.ExpiresAt) {
		s.Errorf("Closed.ExpiresAt = %v, want %v", out.ExpiresAt, g.ExpiresAt)
	}
	s.wait(2)
	s.close(c) // the same CLOSE again
	read()
	if err := s.d.Assess(s.ctx(), c.Key, false); err != nil {
		s.Fatal(err)
	}
	read()
	s.wait(2)
	read()
	s.wait(15)
	s.gone("r", a.Call)
	if _, found, err := s.d.FindCall(s.ctx(), owner, a.Call); found || err != nil {
		s.Errorf("FindCall after the deadline = %v, %v", found, err)
	}
}

func expiredStaysGone(s *suite) {
	a, b := s.args("r", "c"), s.args("r", "d")
	a.TTL, b.TTL = s.units(2), s.units(2)
	ga, gb := s.open(a), s.open(b)
	big := s.ready(b, gb)
	big.Raw = bytes.Repeat([]byte("x"), 64<<10)
	s.close(big)
	s.wait(3)
	for _, c := range []canonical.CloseArgs{s.ready(a, ga), s.failed(a, ga), big, s.failed(b, gb)} {
		_, err := s.d.Close(s.ctx(), c)
		s.code(err, fault.StoreError)
		s.gone("r", c.Key.Call())
	}
	late := s.ready(a, ga)
	late.Raw = big.Raw
	_, err := s.d.Close(s.ctx(), late)
	s.code(err, fault.StoreError)
	s.gone("r", "c")
	if used := s.info("r").Used; used.RawBytes != int64(len(big.Raw)) || used.Calls != 2 {
		s.Errorf("used = %+v, want one raw of %d and two calls", used, len(big.Raw))
	}
	_, err = s.d.Close(s.ctx(), canonical.CloseArgs{Key: s.key("never", "was"), Nonce: "n", Code: "INTERNAL"})
	s.code(err, fault.StoreError)
	s.gone("never", "was")
}

func finalIsFinal(s *suite) {
	a, b := s.args("r", "ready"), s.args("r", "error")
	ga, gb := s.open(a), s.open(b)
	ra, fb := s.ready(a, ga), s.failed(b, gb)
	s.close(ra)
	s.close(fb)
	none, other := s.ready(a, ga), s.failed(b, gb)
	none.Evidence, other.Code = canonical.None, string(fault.Internal)
	longer := s.ready(a, ga)
	longer.Raw = append(bytes.Repeat([]byte("z"), 40<<10), longer.Raw...)
	for _, c := range []canonical.CloseArgs{s.failed(a, ga), none, longer, s.ready(b, gb), other} {
		_, err := s.d.Close(s.ctx(), c)
		s.code(err, fault.StoreError)
	}
	if r := s.load("r", "ready"); r.State != canonical.StateReady || r.Evidence != "EVIDENCE_FOUND" || string(r.Raw) != "raw" {
		s.Errorf("READY record became %s %s %q", r.State, r.Evidence, r.Raw)
	}
	if r := s.load("r", "error"); r.State != canonical.StateError || r.Evidence != "ERROR" || r.Code != "BACKEND_ERROR" || len(r.Raw)+len(r.Observation) != 0 {
		s.Errorf("ERROR record became %s %s %s", r.State, r.Evidence, r.Code)
	}
}

func idempotent(s *suite) {
	a := s.args("r", "c")
	g := s.open(a)
	for range 3 {
		if diff := cmp.Diff(g, s.open(a)); diff != "" {
			s.Fatalf("OPEN again (-first +again):\n%s", diff)
		}
	}
	c := s.ready(a, g)
	c.Raw = bytes.Repeat([]byte("raw "), 10<<10)
	c.ScopeID, c.Items = "s", []canonical.Item{{Key: "i"}}
	first := s.close(c)
	s.call("r", "between", nil)
	for range 3 {
		if diff := cmp.Diff(first, s.close(c)); diff != "" {
			s.Fatalf("CLOSE again (-first +again):\n%s", diff)
		}
	}
	if diff := cmp.Diff(g, s.open(a)); diff != "" {
		s.Errorf("OPEN again after CLOSE (-first +again):\n%s", diff)
	}
	if r := s.load("r", "c"); !bytes.Equal(r.Raw, c.Raw) {
		s.Errorf("raw = %d bytes, want %d", len(r.Raw), len(c.Raw))
	}
	if u := s.info("r").Used; u.Calls != 2 || u.RequestBytes != 14 || u.RawBytes != int64(len(c.Raw)+3) || u.ObservationBytes != 6 {
		s.Errorf("used = %+v, charged more than once", u)
	}
	e := s.args("r", "e")
	fe := s.failed(e, s.open(e))
	if diff := cmp.Diff(s.close(fe), s.close(fe)); diff != "" {
		s.Errorf("ERROR again (-first +again):\n%s", diff)
	}
}

func foreignNonce(s *suite) {
	a := s.args("r", "c")
	g := s.open(a)
	for _, c := range []canonical.CloseArgs{s.ready(a, g), s.failed(a, g)} {
		c.Nonce = "somebody else"
		if c.Ready {
			c.Raw = bytes.Repeat([]byte("E"), 20<<10)
		}
		_, err := s.d.Close(s.ctx(), c)
		s.code(err, fault.StoreError)
	}
	mine := s.ready(a, g)
	mine.Raw = bytes.Repeat([]byte("m"), 20<<10)
	s.close(mine)
	evil := mine
	evil.Nonce, evil.Raw = "somebody else", bytes.Repeat([]byte("E"), 20<<10)
	_, err := s.d.Close(s.ctx(), evil)
	s.code(err, fault.StoreError)
	if r := s.load("r", "c"); !bytes.Equal(r.Raw, mine.Raw) {
		s.Errorf("raw = %.8q…, want the owner's", r.Raw)
	}
}

func racingOpens(s *suite) {
	const n = 64
	args := make([]canonical.OpenArgs, n)
	for i := range args {
		args[i] = s.args("r", "same")
	}
	var won, dup atomic.Int64
	parallel(n, func(i int) {
		switch _, err := s.d.Open(s.ctx(), args[i]); fault.CodeOf(err) {
		case "":
			won.Add(1)
		case fault.DuplicateToolCallID:
			dup.Add(1)
		default:
			s.Errorf("Open = %v (%v)", err, cause(err))
		}
	})
	if won.Load() != 1 || dup.Load() != n-1 {
		s.Errorf("%d won, %d duplicates, want 1 and %d", won.Load(), dup.Load(), n-1)
	}
	if u := s.info("r").Used; u.Calls != 1 || u.RequestBytes != 7 {
		s.Errorf("used = %+v, want one charge", u)
	}
}

func racingCloses(s *suite) {
	a := s.args("r", "c")
	g := s.open(a)
	var won atomic.Int64
	parallel(32, func(i int) {
		c := s.ready(a, g)
		c.Raw = bytes.Repeat([]byte{byte(i)}, 16<<10+i*512) // every racer wants another content
		if i%2 == 1 {
			c = s.failed(a, g)
			c.Code = fmt.Sprintf("CODE_%d", i)
		}
		switch _, err := s.d.Close(s.ctx(), c); fault.CodeOf(err) {
		case "":
			won.Add(1)
		case fault.StoreError:
		default:
			s.Errorf("Close = %v", err)
		}
	})
	if won.Load() != 1 {
		s.Errorf("%d closes won, want 1", won.Load())
	}
	switch r := s.load("r", "c"); r.State {
	case canonical.StateReady:
		if len(r.Raw) == 0 || len(bytes.Trim(r.Raw, string(r.Raw[:1]))) != 0 || s.info("r").Used.RawBytes != int64(len(r.Raw)) {
			s.Errorf("READY with a mixed or uncharged raw of %d bytes", len(r.Raw))
		}
	case canonical.StateError:
		if len(r.Raw) != 0 || s.info("r").Used.RawBytes != 0 {
			s.Error("ERROR with content or charge")
		}
	default:
		s.Errorf("state = %s", r.State)
	}
}

func idsRemembered(s *suite) {
	a := s.args("r", "c")
	a.TTL = s.units(2)
	s.open(a)
	s.wait(3)
	s.gone("r", "c")
	s.refused(s.args("r", "c"), fault.DuplicateToolCallID)
	if u := s.info("r").Used; u.Calls != 1 {
		s.Errorf("used = %+v, the refused duplicate was charged", u)
	}
	s.open(s.args("other", "c")) // ids are new per run
}

func idOfLivingRecord(s *suite) {
	a := s.args("r", "c")
	a.Implicit.TTL = s.units(2)
	g := s.open(a)
	s.close(s.ready(a, g))
	s.wait(3)
	again := s.args("r", "c")
	s.refused(again, fault.DuplicateToolCallID)
	if _, found, err := s.d.Run(s.ctx(), s.runKey("r")); found || err != nil {
		s.Errorf("a refused call opened the run: %v, %v", found, err)
	}
	if g2 := s.open(s.args("r", "d")); g2.Salt == g.Salt {
		s.Error("a run that starts anew kept its salt")
	}
	s.refused(s.args("r", "c"), fault.DuplicateToolCallID)
	if r := s.load("r", "c"); r.State != canonical.StateReady || r.Salt != g.Salt {
		s.Errorf("the first run's record = %s", r.State)
	}
}

func findCall(s *suite) {
	call := "tc_abcdefghijklmnop"
	a := s.args("r", call)
	a.Minted = true
	g := s.open(a)
	c := s.ready(a, g)
	c.Raw = bytes.Repeat([]byte("raw"), 10<<10)
	s.close(c)
	rec, found, err := s.d.FindCall(s.ctx(), owner, call)
	if err != nil || !found {
		s.Fatalf("FindCall = %v, %v", found, err)
	}
	if diff := cmp.Diff(s.load("r", call), rec); diff != "" {
		s.Errorf("FindCall differs from Load (-load +find):\n%s", diff)
	}
	b := s.args("other", call)
	b.Minted = true
	s.refused(b, fault.DuplicateToolCallID)
	own := s.args("r", "tc_aaaaaaaaaaaaaaaa") // looks minted, but the client chose it
	s.open(own)
	for _, id := range []string{own.Call, "tc_bbbbbbbbbbbbbbbb", "c"} {
		if _, found, err := s.d.FindCall(s.ctx(), owner, id); found || err != nil {
			s.Errorf("FindCall(%s) = %v, %v, want nothing", id, found, err)
		}
	}
}

func foreignPrincipal(s *suite) {
	call := "tc_abcdefghijklmnop"
	a := s.args("r", call)
	a.Minted, a.Slot, a.Run, a.MintRun = true, "slot", "", "run_abcdefghijklmnop"
	g := s.open(a)
	s.close(s.ready(a, g))
	const eve = "eve"
	k, _ := canonical.NewKey(eve, g.Run, call)
	if _, found, err := s.d.Load(s.ctx(), k); found || err != nil {
		s.Errorf("Load = %v, %v", found, err)
	}
	if _, found, err := s.d.FindCall(s.ctx(), eve, call); found || err != nil {
		s.Errorf("FindCall = %v, %v", found, err)
	}
	if _, found, err := s.d.Run(s.ctx(), k.RunKey()); found || err != nil {
		s.Errorf("Run = %v, %v", found, err)
	}
	if l, err := s.d.Runs(s.ctx(), eve, 10); len(l) != 0 || err != nil {
		s.Errorf("Runs = %v, %v", l, err)
	}
	if l, err := s.d.Calls(s.ctx(), k.RunKey(), 0, 10); len(l) != 0 || err != nil {
		s.Errorf("Calls = %v, %v", l, err)
	}
	_, err := s.d.Close(s.ctx(), canonical.CloseArgs{Key: k, Nonce: a.Nonce, Code: "INTERNAL"})
	s.code(err, fault.StoreError)
	s.code(s.d.CloseRun(s.ctx(), k.RunKey()), fault.RunNotActive)
	s.code(s.d.Resume(s.ctx(), k.RunKey()), fault.RunNotActive)
	s.code(s.d.Assess(s.ctx(), k, true), fault.InvalidRequest)
	b := s.args("", call)
	b.Principal, b.Slot, b.MintRun, b.Minted = eve, "slot", "run_bbbbbbbbbbbbbbbb", true
	if g := s.open(b); g.Run != b.MintRun {
		s.Errorf("eve's slot points to %s", g.Run)
	}
	if u := s.info(g.Run).Used; u.Calls != 1 {
		s.Errorf("eve's calls were charged to the owner: %+v", u)
	}
}

func cancelled(s *suite) {
	ctx, cancel := context.WithCancel(s.ctx())
	cancel()
	a := s.args("r", "c")
	_, err := s.d.Open(ctx, a)
	s.code(err, fault.StoreError)
	g := s.open(s.args("r", "d"))
	_, err = s.d.Close(ctx, s.failed(a, g))
	s.code(err, fault.StoreError)
	_, _, err = s.d.Load(ctx, s.key("r", "c"))
	s.code(err, fault.StoreError)
	past, cancel := context.WithDeadline(s.ctx(), time.Now().Add(-time.Second))
	defer cancel()
	_, _, err = s.d.FindCall(past, owner, "tc_abcdefghijklmnop")
	s.code(err, fault.StoreError)
}
