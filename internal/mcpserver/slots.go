package mcpserver

import "sync"

// slots are places for what runs at once, with a bound for each principal, so that no client can take every place. Nobody waits for one.
type slots struct {
	max, each int

	mu    sync.Mutex
	taken int
	by    map[string]int
}

func newSlots(max, each int) *slots {
	if each <= 0 || each > max {
		each = max
	}
	return &slots{max: max, each: each, by: make(map[string]int)}
}

// enter takes a place for the principal if there is one.
func (s *slots) enter(principal string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken >= s.max || s.by[principal] >= s.each {
		return false
	}
	s.taken++
	s.by[principal]++
	return true
}

// leave gives back what enter took. Who holds nothing is forgotten.
func (s *slots) leave(principal string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	if s.by[principal]--; s.by[principal] <= 0 {
		delete(s.by, principal)
	}
}
