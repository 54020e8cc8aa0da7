package reliability

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// soakTime is how long the soak takes with all other tests; SOAK=10m, as in `make soak`, makes it longer.
	soakTime = 60 * time.Second
	// clients call at the same time, with a pause of up to think between two calls: a hundred calls a second, which leaves room for the tests beside it.
	clients = 6
	think   = 100 * time.Millisecond
	// callsPerRun: a client goes on to its next run after so many calls, before a hundred calls without gain bring the advice to stop into its answers.
	callsPerRun = 90
	// memory may grow by a third of what it was in the second quarter of the soak, and by what a garbage collector leaves lying about.
	memoryGrowth = 1.33
	memorySlack  = 32 << 20
)

// soak is three replicas under load while one thing after another goes wrong.
type soak struct {
	*world
	rnd      *rand.Rand // of the faults; the clients have their own
	slots    [3]*gateway
	slotsMu  sync.RWMutex
	started  int
	codes    map[string]int
	codesMu  sync.Mutex
	lastSeen [clients]string // a citation of each client's last observation; its own only
	faults   map[string]int
}

func (s *soak) slot(i int) *gateway {
	s.slotsMu.RLock()
	defer s.slotsMu.RUnlock()
	return s.slots[i]
}

func seed(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("SEED")
	if text == "" {
		return rand.Uint64()
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("SEED=%s is no number", text)
	}
	return n
}

// TestSoak lets clients call three replicas while faults come at random, then holds everything against the invariants: nothing lost, nothing left open, memory flat.
func TestSoak(t *testing.T) {
	t.Parallel()
	length := soakTime
	if text := os.Getenv("SOAK"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatalf("SOAK=%s is no duration", text)
		}
		length = d
	}
	n := seed(t)
	t.Logf("SEED=%d", n)
	s := &soak{rnd: rand.New(rand.NewPCG(n, 0)), codes: map[string]int{}, faults: map[string]int{}}
	s.world = newWorld(t, newShop(t), options{long: true, shortLived: true, pool: connections + clients, tune: func(cfg map[string]any) {
		cfg["canonical"].(map[string]any)["ttl"] = "90s" // what lives at once is then bounded, however long the soak
	}})
	copy(s.slots[:], s.three())
	ctx, stop := context.WithTimeout(t.Context(), length)
	defer stop()
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() { s.client(ctx, i, rand.New(rand.NewPCG(n, uint64(i)+1))) })
	}
	memory := s.trouble(ctx)
	wg.Wait()
	for i, g := range s.slots {
		if i > 0 {
			g.base = s.slots[0].base // they came while others were at work
		}
	}
	for name, n := range s.codes {
		t.Logf("%6d  %s", n, name)
	}
	for _, name := range slices.Sorted(maps.Keys(s.faults)) {
		t.Logf("%6d × %s", s.faults[name], name)
	}
	if s.codes["EVIDENCE_FOUND"] == 0 || len(s.faults) < 3 {
		t.Errorf("the soak has soaked nothing: %v, %v", s.codes, s.faults)
	}
	flat(t, memory)
	s.check()
}

// flat compares the memory of the replica that lived from the beginning to the end: its second quarter with its last.
func flat(t *testing.T, memory []float64) {
	t.Helper()
	if len(memory) < 8 {
		t.Fatalf("only %d measurements of memory", len(memory))
	}
	q := len(memory) / 4
	median := func(part []float64) float64 { return slices.Sorted(slices.Values(part))[len(part)/2] }
	early, late := median(memory[q:2*q]), median(memory[3*q:])
	t.Logf("memory: %.0f MiB in the second quarter, %.0f MiB in the last", early/(1<<20), late/(1<<20))
	if late > early*memoryGrowth+memorySlack {
		t.Errorf("memory grew from %.0f to %.0f bytes", early, late)
	}
}

// client makes calls until the end.
func (s *soak) client(ctx context.Context, me int, rnd *rand.Rand) {
	run := ""
	for i := 0; ctx.Err() == nil; i++ {
		if i%callsPerRun == 0 {
			run = fmt.Sprintf("soak-%d-%d", me, i/callsPerRun)
		}
		id := fmt.Sprintf("c%06d", i)
		g := s.slot(rnd.IntN(len(s.slots)))
		mark := fmt.Sprintf("soak-%d-%d", me, i)
		callCtx, cancel := context.WithCancel(context.Background())
		if rnd.IntN(30) == 0 { // an impatient client
			timer := time.AfterFunc(time.Duration(rnd.IntN(30))*time.Millisecond, cancel)
			defer timer.Stop()
		}
		var at *attempt
		switch n := rnd.IntN(100); {
		case n < 35:
			at = g.askContext(callCtx, run, id, "query_mysql", orders(mark))
		case n < 50:
			at = g.askContext(callCtx, run, id, "query_mysql", from("wide", mark))
		case n < 55:
			at = g.askContext(callCtx, run, id, "query_mysql", from("blocked", mark))
		case n < 58:
			at = g.askContext(callCtx, run, id, "query_mysql", from("broken", mark))
		case n < 61:
			at = g.askContext(callCtx, run, id, "query_mysql", from("vault", mark))
		case n < 80:
			at = g.askContext(callCtx, run, id, "query_logs", declined())
		case n < 92:
			at = g.askContext(callCtx, run, id, "query_rag", runbook())
		default: // the same id at two replicas at once
			var wg sync.WaitGroup
			other := s.slot(rnd.IntN(len(s.slots)))
			var second *attempt
			wg.Go(func() { second = other.askContext(callCtx, run, id, "query_mysql", orders(mark)) })
			at = g.askContext(callCtx, run, id, "query_mysql", orders(mark))
			wg.Wait()
			if at.code == "EVIDENCE_FOUND" && second.code == "EVIDENCE_FOUND" && at.epoch == s.now() {
				s.t.Errorf("%s/%s was served twice", run, id)
			}
			s.note(second)
		}
		cancel()
		s.note(at)
		if at.code == "EVIDENCE_FOUND" {
			s.lastSeen[me] = run + "/" + id
		}
		if last := s.lastSeen[me]; last != "" && rnd.IntN(10) == 0 {
			_, _ = g.rpc("resources/read", map[string]any{"uri": "evidence://" + last}) // under load; the end checks what verdicts say
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(rnd.Int64N(int64(think)))): // the client thinks
		}
	}
}

func (s *soak) note(at *attempt) {
	s.mu.Lock()
	at.uncertain = !at.answered
	s.mu.Unlock()
	s.codesMu.Lock()
	s.codes[at.code]++
	s.codesMu.Unlock()
}

// trouble makes one fault after another until the end, and measures the memory of the first replica between them. Each fault is over when its function returns.
func (s *soak) trouble(ctx context.Context) (memory []float64) {
	type fault struct {
		name string
		do   func()
	}
	moment := func(most time.Duration) { // how long a fault lasts
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(s.rnd.Int64N(int64(most)))):
		}
	}
	faults := []fault{
		{"connections to the store cut", s.store.sever},
		{"connections to the database cut", s.db.sever},
		{"store frozen", func() { s.redis.Freeze(); moment(3 * time.Second); s.redis.Thaw() }},
		{"store killed and empty", func() {
			s.emptied() // a record may be gone from now on
			s.redis.Kill()
			moment(time.Second)
			s.redis.Restart()
			s.emptied()
		}},
		{"database frozen", func() { s.shop.db.Freeze(); moment(3 * time.Second); s.shop.db.Thaw() }},
		{"database killed", func() { s.shop.db.Kill(); moment(time.Second); s.shop.db.Restart() }},
		{"table locked", func() { release := s.block(); moment(3 * time.Second); release() }},
		{"replies of the store lost", func() { s.store.on(&rule{text: "soak", times: 1 + s.rnd.IntN(5), lose: true}); moment(time.Second) }},
		{"replies of the store late", func() { s.store.on(&rule{text: "soak", times: 5, delay: 200 * time.Millisecond}); moment(time.Second) }},
		{"results cut", func() {
			s.db.on(&rule{text: "soak", times: 1 + s.rnd.IntN(3), snap: true, after: s.rnd.IntN(30 << 10)})
			moment(time.Second)
		}},
		{"results dripping", func() { s.db.on(&rule{text: "soak", drip: time.Millisecond}); moment(time.Second) }},
		{"scripts forgotten", func() { _ = s.admin.ScriptFlush(ctx).Err() }},
		{"logs away", func() { back := s.moveLogs(); moment(time.Second); back() }},
		{"gateway killed", func() { s.replace(func(g *gateway) { g.kill() }) }},
		{"gateway ended", func() { s.replace(func(g *gateway) { _ = g.cmd.Process.Signal(syscall.SIGTERM); g.ended() }) }},
	}
	// Every fault comes once before one comes twice, so that a short soak has met most of them.
	var order []fault
	for ctx.Err() == nil {
		if len(order) == 0 {
			order = slices.Clone(faults)
			s.rnd.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		order[0].do()
		s.faults[order[0].name]++
		order = order[1:]
		if g, err := s.slot(0).gauges(); err == nil {
			memory = append(memory, g.memory)
		}
		moment(time.Second)
	}
	s.store.forget()
	s.db.forget()
	return memory
}

// replace ends the second or the third replica and puts a new one into its place; the clients go on meanwhile.
func (s *soak) replace(end func(g *gateway)) {
	i := 1 + s.rnd.IntN(2)
	old := s.slot(i)
	end(old)
	s.started++
	fresh := s.start(fmt.Sprintf("%s-%d", strings.SplitN(old.name, "-", 2)[0], s.started), old.cmd.Path)
	s.slotsMu.Lock()
	s.slots[i] = fresh
	s.slotsMu.Unlock()
}
