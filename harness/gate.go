package harness

import (
	"context"
	"sync"
	"time"
)

const (
	// maxInFlight bounds the requests under way: each may hold a body of maxAPIBody and, while it replays, a record of 8 MiB.
	maxInFlight = 32
	// maxPerToken leaves a quarter of the places to the other tokens.
	maxPerToken = 24
)

// gate counts the requests under way, over all and by token.
type gate struct {
	mu  sync.Mutex
	all int
	by  map[string]int
}

// enter takes a place, or tells that there is none.
func (g *gate) enter(token string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all >= maxInFlight || g.by[token] >= maxPerToken {
		return false
	}
	if g.by == nil {
		g.by = map[string]int{}
	}
	g.all++
	g.by[token]++
	return true
}

func (g *gate) leave(token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all--
	if g.by[token]--; g.by[token] == 0 {
		delete(g.by, token)
	}
}

const (
	// readyFor is how long an answer of the store counts for readiness: anyone may ask, so the store must not be asked each time.
	readyFor = time.Second
	// readyTimeout bounds one question: a healthy store answers in under a millisecond.
	readyTimeout = 2 * time.Second
)

// readiness remembers the last answer. One question is under way at most; who comes meanwhile waits for its answer.
type readiness struct {
	check func(context.Context) error

	mu  sync.Mutex
	at  time.Time
	err error
}

func (r *readiness) ready(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.at.IsZero() && time.Since(r.at) < readyFor {
		return r.err
	}
	// Whoever asks may hang up: the answer is for the next one too.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	defer cancel()
	r.err = r.check(ctx)
	r.at = time.Now()
	return r.err
}
