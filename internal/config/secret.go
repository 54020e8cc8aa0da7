package config

// Secret is a configuration value that must not be printed. It is boxed: a pointer to an unexported field leaks through none of fmt, json, slog, bare or nested.
type Secret struct{ p *string }

const hidden = "<secret>"

// NewSecret boxes s.
func NewSecret(s string) Secret { return Secret{&s} }

// Reveal gives the value. Only the wiring calls it.
func (s Secret) Reveal() string {
	if s.p == nil {
		return ""
	}
	return *s.p
}

// IsZero tells an absent or empty secret.
func (s Secret) IsZero() bool { return s.p == nil || *s.p == "" }

// String hides the value.
func (Secret) String() string { return hidden }

// GoString hides the value.
func (Secret) GoString() string { return hidden }

// MarshalText hides the value.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
