package files

// SetSegment makes the segments of large files small, so that a test needs no large file.
func (s *Source) SetSegment(n int64) { s.segment = n }
