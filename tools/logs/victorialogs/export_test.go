package victorialogs

import "github.com/seed-069badc9/mcp-gateway/tools/logs/internal/window"

// SetLimits makes answers small, so that a few events fill them.
func (s *Source) SetLimits(limit, most int) {
	s.Asked.Limit, s.Asked.Most = limit, most
}

// Ask is what one request asks for.
type Ask = window.Ask
