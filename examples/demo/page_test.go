package main

import (
	"slices"
	"testing"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want []string
	}{
		{"one two three", 7, []string{"one two", "three"}},
		{"one two three", 100, []string{"one two three"}},
		{"abcdefghij", 4, []string{"abcd", "efgh", "ij"}},
		{`{"a":1,"b":2}`, 8, []string{`{"a":1,`, `"b":2}`}},
		{"of 131,010 in all", 8, []string{"of", "131,010", "in all"}},
		{"连接池耗尽", 6, []string{"连接池", "耗尽"}},
		{"", 5, []string{""}},
	} {
		if got := wrap(c.in, c.n); !slices.Equal(got, c.want) {
			t.Errorf("wrap(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{{"short", 5, "short"}, {"longer", 5, "long…"}, {"连接池", 5, "连接…"}, {"连接池", 4, "连…"}} {
		if got := clip(c.in, c.n); got != c.want || columns(got) > c.n {
			t.Errorf("clip(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1234: "1,234 B", 51111: "51.1 kB", 57_700_000: "57.7 MB"} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %q, want %q", n, got, want)
		}
	}
	if got := number(1234567); got != "1,234,567" {
		t.Errorf("number(1234567) = %q", got)
	}
}

func TestMasksAreCountedByClassOutsideNoteAndScope(t *testing.T) {
	got := countMasks(`{"scope":{"query":"<secret>"},"note":"<masked>","rows":[["<masked>","<secret>"]],"events":[{"message":"<ip:abc123> <host:abc123> <email:abc123> <trace>"}]}`)
	want := map[string]int{"columns": 1, "secrets": 1, "infrastructure": 3, "persons": 1}
	for c, n := range want {
		if got[c] != n {
			t.Errorf("%s = %d, want %d", c, got[c], n)
		}
	}
}
