package window

import (
	"cmp"
	"context"
	"time"

	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/internal/fetch"
)

// Server is what the adapters share: how they ask one server, and the bounds of a search. It is safe for concurrent use.
type Server struct {
	Client   *fetch.Client
	Asked    Options
	Requests int   // of one search
	MaxBytes int64 // that one search may receive; 0: 512 MiB
	// Backend makes what asks on behalf of one search and may use up the budget.
	Backend func(logs.Query, *fetch.Budget) Backend
}

// checkBytes bounds the answer to Check: one event, and what a server says about it.
const checkBytes = 4 << 20

// Close lets idle connections go.
func (s *Server) Close() error { return s.Client.Close() }

// Search asks for the range piece by piece.
func (s *Server) Search(ctx context.Context, q logs.Query, sink logs.Sink) (logs.Report, error) {
	budget := fetch.NewBudget(min(cmp.Or(s.MaxBytes, 512<<20), q.MaxScan), s.Requests)
	rep, err := Search(ctx, q, sink, s.Backend(q, budget), s.Asked)
	rep.Scanned = budget.Read()
	return rep, err
}

// Check asks for one event of the last hour: address, names and rights are in order when the server answers.
func (s *Server) Check(ctx context.Context) error {
	to := floor(time.Now(), s.Asked.Unit)
	from := to.Add(-time.Hour)
	var p Page
	return s.Backend(logs.Query{}, fetch.NewBudget(checkBytes, 1)).Fetch(ctx, Ask{From: from, To: to, Limit: 1}, p.For(from, to))
}
