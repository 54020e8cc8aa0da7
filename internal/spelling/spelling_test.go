package spelling

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"topics", "query", "level", "from", "to", "around", "window", "limit", "top_k"}
	for got, want := range map[string]string{"topic": "topics", "Topics": "topics", "querry": "query", "top-k": "top_k", "topK": "top_k", "form": "from", "collections": "", "": "", "evil": "level",
		"x": "", strings.Repeat("topics", 1000): ""} {
		if n := Nearest(got, known); n != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", got, n, want)
		}
	}
	if n := Nearest("anything", nil); n != "" {
		t.Errorf("of no names, %q", n)
	}
}
