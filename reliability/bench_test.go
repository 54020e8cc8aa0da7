package reliability

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/internal/servertest"
)

const (
	benchRound   = 400 // calls of a round: its 99th percentile has four calls above it
	benchClients = 4
)

// BenchmarkCallsWhileAuditIsFrozen compares the 99th percentile of calls while the audit database stands still with that while it works, round by round in turn. One
// operation is one round of each.
func BenchmarkCallsWhileAuditIsFrozen(b *testing.B) {
	s := newShop(b)
	audit := servertest.StartMariaDB(b, "CREATE DATABASE audit; CREATE USER aw@'%' IDENTIFIED BY '"+s.text["audit password"]+"'; GRANT CREATE, INSERT, SELECT, DELETE ON audit.* TO aw@'%';")
	w := newWorld(b, s, options{auditMySQL: true, auditDB: audit, long: true})
	g := w.start("one", binary(b, plainBinary))
	g.warm()
	n := 0
	round := func() []time.Duration {
		n++
		var mu sync.Mutex
		var took []time.Duration
		var wg sync.WaitGroup
		for c := range benchClients {
			run := fmt.Sprintf("bench-%d-%d", n, c)
			wg.Go(func() {
				for i := range benchRound / benchClients {
					at := g.ask(run, fmt.Sprint("c", i), "query_rag", runbook())
					if at.code != "EVIDENCE_FOUND" {
						b.Errorf("%s %s", at.code, at.text)
					}
					mu.Lock()
					took = append(took, at.took)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		return took
	}
	round() // the first calls of everything
	var awake, frozen []time.Duration
	for b.Loop() {
		awake = append(awake, round()...)
		audit.Freeze()
		frozen = append(frozen, round()...)
		audit.Thaw()
	}
	p99 := func(d []time.Duration) float64 {
		slices.Sort(d)
		return float64(d[len(d)*99/100].Microseconds())
	}
	a, f := p99(awake), p99(frozen)
	b.ReportMetric(a, "µs-p99-awake")
	b.ReportMetric(f, "µs-p99-frozen")
	b.ReportMetric(f/a, "frozen/awake")
}
