package redact

// Options are the options that New was given: what a stored request needs so that its projection can be repeated.
func (r *Redactor) Options() Options { return r.o }
