package memstore

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/canonicaltest"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

func harness() canonicaltest.Harness {
	return canonicaltest.Harness{New: func(*testing.T) canonical.Driver { return New(nil) }, Wait: time.Sleep, Unit: time.Minute, In: synctest.Test}
}

func TestConformance(t *testing.T) { canonicaltest.Run(t, harness()) }

func TestKeepsThePromisesOfTheModel(t *testing.T) {
	canonicaltest.Model(t, func(clock func() time.Time) (canonical.Driver, func()) { return New(clock), func() {} })
}

func BenchmarkCall(b *testing.B) { canonicaltest.Bench(b, New(nil)) }

func open(run, call string, ttl time.Duration) canonical.OpenArgs {
	return canonical.OpenArgs{Principal: "p", Run: run, Call: call, Nonce: "n" + call, Tool: "t", TTL: ttl, Request: []byte("request"), Implicit: &canonical.RunSpec{
		Limits: canonical.Limits{Calls: 1000, RequestBytes: 1 << 30, RawBytes: 1 << 30, ObservationBytes: 1 << 30}, NoGain: canonical.NoGain{Limit: 8, Window: 10}, TTL: time.Hour}}
}

func TestWhatHasExpiredIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(nil)
		for i := range 50 {
			a := open(fmt.Sprintf("r%d", i%5), fmt.Sprintf("tc_abcdefghijklmn%c%c", 'a'+i/20, 'a'+i%20), time.Hour)
			a.Minted = true
			if i%2 == 0 {
				a.Slot, a.Run, a.MintRun = fmt.Sprintf("s%d", i), "", fmt.Sprintf("run_abcdefghijklmn%c%c", 'a'+i/20, 'a'+i%20)
			}
			g, err := s.Open(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			k, _ := canonical.NewKey("p", g.Run, a.Call)
			if _, err := s.Close(t.Context(), canonical.CloseArgs{Key: k, Nonce: a.Nonce, Ready: true, Raw: []byte("raw"), Observation: []byte("obs"), Items: []canonical.Item{{Key: a.Call}}, Control: []byte("{}")}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		s.Runs(t.Context(), "p", 10)
		if n := len(s.all["p"].records); n != 0 {
			t.Errorf("%d records after their deadline, want 0", n)
		}
		time.Sleep(canonical.RunGrace)
		s.Runs(t.Context(), "somebody else", 10)
		if len(s.all) != 0 || len(s.queue) != 0 || s.weight != 0 {
			t.Errorf("%d principals, %d expiries, %d bytes left, want nothing", len(s.all), len(s.queue), s.weight)
		}
	})
}

func TestAFullStoreFailsClosedYetRecordsErrors(t *testing.T) {
	s := New(nil)
	s.bound = 16 << 10
	a, b := open("r", "a", time.Hour), open("r", "b", time.Hour)
	for _, x := range []canonical.OpenArgs{a, b} {
		if _, err := s.Open(t.Context(), x); err != nil {
			t.Fatal(err)
		}
	}
	ka, _ := canonical.NewKey("p", "r", "a")
	_, err := s.Close(t.Context(), canonical.CloseArgs{Key: ka, Nonce: a.Nonce, Ready: true, Raw: bytes.Repeat([]byte("x"), 16<<10), Observation: []byte("o")})
	if fault.CodeOf(err) != fault.StoreError {
		t.Errorf("READY over the bound = %v, want STORE_ERROR", err)
	}
	s.bound = 0
	if _, err := s.Open(t.Context(), open("r", "c", time.Hour)); fault.CodeOf(err) != fault.StoreError {
		t.Errorf("OPEN of a full store = %v, want STORE_ERROR", err)
	}
	if c, err := s.Close(t.Context(), canonical.CloseArgs{Key: ka, Nonce: a.Nonce, Code: "STORE_ERROR"}); err != nil || c.State != canonical.StateError {
		t.Errorf("ERROR of a full store = %+v, %v", c, err)
	}
}
