package loki

// SetLimit makes answers small, so that a few events fill them.
func (s *Source) SetLimit(n int) { s.Asked.Limit, s.Asked.Most = n, n }
