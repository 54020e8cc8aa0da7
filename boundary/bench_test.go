package boundary_test

import (
	"fmt"
	"testing"

	"github.com/seed-069badc9/mcp-gateway/boundary"
)

// The boundary around a tool that does nothing, with the memory store: what a call costs before any backend.
func BenchmarkInvokeNoop(b *testing.B) {
	w := newWorld(b, boundary.Limits{}, nil, boundary.Bind(newLines("a")))
	run := inRun("r1")
	run.Spec.Limits.Calls, run.Spec.Limits.RequestBytes, run.Spec.Limits.ObservationBytes, run.Spec.Limits.RawBytes = 1<<40, 1<<50, 1<<50, 1<<50
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if i%1000 == 0 { // ids are remembered by the run: a fresh one keeps the store's tables small
			run.ID = fmt.Sprint("r", i)
		}
		e := envelope("", "a")
		i++
		if _, err := w.Invoke(b.Context(), run, e); err != nil {
			b.Fatal(err)
		}
	}
}
