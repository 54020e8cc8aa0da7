package harness

import "time"

// Endpoints lists "METHOD path" of everything the API serves.
func (a *API) Endpoints() (out []string) {
	for _, e := range a.endpoints() {
		out = append(out, e.method+" "+e.path)
	}
	for p := range a.pages() {
		out = append(out, "GET "+p)
	}
	return out
}

// SetBodyTimeout shortens the time that a body may take.
func (a *API) SetBodyTimeout(d time.Duration) { a.bodyTimeout = d }

// The bounds that tests fill.
const (
	MaxInFlight = maxInFlight
	MaxPerToken = maxPerToken
	MaxServed   = maxServed
)
