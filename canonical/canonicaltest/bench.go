package canonicaltest

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/canonical"
)

// Bench measures OPEN, CLOSE and Load of small calls and of one with a large raw.
func Bench(b *testing.B, d canonical.Driver) {
	for _, size := range []int{2 << 10, 256 << 10} {
		raw := bytes.Repeat([]byte("a raw answer that compresses\n"), size/29)
		b.Run(fmt.Sprintf("raw=%dKiB", size>>10), func(b *testing.B) {
			b.ReportAllocs()
			run, i := "", 0
			for b.Loop() {
				if i%1000 == 0 {
					run = fmt.Sprintf("r%d", time.Now().UnixNano()) // new in each repetition of the benchmark
				}
				i++
				a := canonical.OpenArgs{Principal: "bench", Run: run, Call: fmt.Sprintf("c%d", i), Nonce: fmt.Sprintf("n%d", i), Tool: "t", Request: []byte(`{"topics":["checkout"],"query":"declined"}`), TTL: 2 * time.Second,
					RequestBytes: 40, Ceilings: canonical.Ceilings{OpenRuns: 1 << 40, CallsPerMinute: 1 << 40, LiveBytes: 1 << 40},
					Implicit: &canonical.RunSpec{Limits: limits(), NoGain: canonical.NoGain{Limit: 8, Window: 10}, TTL: time.Minute}}
				g, err := d.Open(b.Context(), a)
				if err != nil {
					b.Fatal(err, cause(err))
				}
				k, err := canonical.NewKey("bench", g.Run, a.Call)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := d.Close(b.Context(), canonical.CloseArgs{Key: k, Nonce: a.Nonce, Ready: true, Raw: raw, Observation: raw[:1<<10], ScopeID: a.Call, Scope: "s", Items: []canonical.Item{{Key: a.Call}},
					Control: []byte(`{}`), ExpiresAt: g.ExpiresAt}); err != nil {
					b.Fatal(err, cause(err))
				}
				if _, found, err := d.Load(b.Context(), k); !found || err != nil {
					b.Fatal(found, err)
				}
			}
		})
	}
}
