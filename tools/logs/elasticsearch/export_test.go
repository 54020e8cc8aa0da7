package elasticsearch

// SetLimits makes answers small, so that a few documents fill them.
func (s *Source) SetLimits(limit, most int) { s.Asked.Limit, s.Asked.Most = limit, most }
