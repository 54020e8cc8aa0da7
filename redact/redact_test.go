package redact

import (
	"strings"
	"testing"
)

func all(t testing.TB) *Redactor {
	t.Helper()
	r, err := New(Options{Classes: All})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTagsAreStableWithinARunAndSayNothingOutsideIt(t *testing.T) {
	r := all(t)
	const line = "dial tcp 10.96.12.7:5432: connection refused"
	one, two := NewTagger([32]byte{1}), NewTagger([32]byte{2})
	a, b := r.Text(line, one), r.Text("again "+line, one)
	if !strings.HasSuffix(b, a) {
		t.Errorf("same salt, same address: %q and %q", a, b)
	}
	if c := r.Text(line, two); c == a {
		t.Errorf("another salt gives the same tag: %q", c)
	}
	if c := r.Text(line, nil); c != "dial tcp <ip>:5432: connection refused" {
		t.Errorf("without a tagger: %q", c)
	}
}
