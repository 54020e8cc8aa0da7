package pattern

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNothingVanishesOverTheBounds(t *testing.T) {
	t.Parallel()
	a := NewAccumulator(Options{MaxGroups: 3, MaxLine: 20})
	n := 0
	for _, l := range []Line{
		{Message: "alpha"}, {Message: "beta"}, {Message: "gamma"}, {Message: "delta"}, {Message: "alpha"},
		{Message: "epsilon", Level: "error"}, {Message: strings.Repeat("x", 21)},
	} {
		a.Add(l)
		n++
	}
	g := a.Finish()
	got := map[string]int{}
	for i := range g.Len() {
		gr := g.Group(i)
		got[fmt.Sprintf("%s/%s/%v", gr.Template, gr.Level, gr.Rest)] = gr.Count
		n -= gr.Count
	}
	want := map[string]int{"alpha//false": 2, "beta//false": 1, "gamma//false": 1, "<rest>//true": 2, "<rest>/error/true": 1}
	if d := cmp.Diff(want, got); d != "" || n != 0 {
		t.Errorf("%d lines uncounted; groups (-want +got):\n%s", n, d)
	}
}

func TestLongTemplatesCannotFillTheMemory(t *testing.T) {
	t.Parallel()
	a := NewAccumulator(Options{})
	for i := range 30000 {
		a.Add(Line{Message: strings.Repeat(word(i)+" ", 400)})
	}
	if a.keys > maxKeys || a.parts > maxParts {
		t.Errorf("%d key bytes, %d tokens are held, want at most %d, %d", a.keys, a.parts, maxKeys, maxParts)
	}
	rest := 0
	g := a.Finish()
	for i := range g.Len() {
		if g.Group(i).Rest {
			rest += g.Group(i).Count
		}
	}
	if rest == 0 {
		t.Error("no line went to the rest")
	}
}

func TestManySlotsAreMarkedNotCounted(t *testing.T) {
	t.Parallel()
	a := NewAccumulator(Options{})
	a.stats = maxStats
	a.Add(Line{Message: "x 1"})
	want := []Slot{{Over: true}}
	if d := cmp.Diff(want, a.Finish().Group(0).Slots); d != "" {
		t.Errorf("slots (-want +got):\n%s", d)
	}
}

func TestPlacesBecomeSlots(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{"masks of two kinds", []string{"call to <ip:k3f9qa> failed", "call to <host:aaaaaa> failed", "call to <host:bbbbbb> failed"}, []string{"call to <*> failed"}},
		{"masks of one kind", []string{"call to <host:aaaaaa> failed", "call to <host:bbbbbb> failed"}, []string{"call to <host> failed"}},
		{"truth values", []string{"ok=true x=false", "ok=false x=false"}, []string{"ok=<*> x=false"}},
		{"a few reasons stay", []string{"failed: timeout", "failed: refused", "failed: reset"}, []string{"failed: timeout", "failed: refused", "failed: reset"}},
		{"a missing value", []string{"pool size null for shard", "pool size 12 for shard"}, []string{"pool size <*> for shard"}},
		{"units of one kind", []string{"took 3 seconds to run", "took 1 second to run"}, []string{"took <*> <*> to run"}},
		{"first words stay", []string{"alpha started well", "beta started well", "gamma started well", "delta started well", "epsilon started well", "zeta started well"},
			[]string{"alpha started well", "beta started well", "gamma started well", "delta started well", "epsilon started well", "zeta started well"}},
	} {
		if d := cmp.Diff(c.want, templates(groupOf(t, c.lines...))); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

func TestSlotsOfMergedGroupsAddUp(t *testing.T) {
	t.Parallel()
	g := groupOf(t, "user bob has 3 orders", "user amy has 17 orders", "user bob has 5 orders", "user u7 has 5 orders")
	if g.Len() != 1 {
		t.Fatalf("groups = %q, want one", templates(g))
	}
	want := []Slot{
		{Distinct: 3, Top: []Value{{"bob", 2}, {"amy", 1}, {"u7", 1}}},
		{Distinct: 3, Top: []Value{{"5", 2}, {"17", 1}, {"3", 1}}},
	}
	if d := cmp.Diff(want, g.Group(0).Slots); d != "" {
		t.Errorf("slots (-want +got):\n%s", d)
	}
}

func TestNumbersOfOneUnitHaveARange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		format   string
		from     int
		min, max string
	}{
		{"took %dms", 1, "1ms", "40ms"},
		{"free %d.5 KB", 1, "1.5 KB", "40.5 KB"},
		{"delta %d", -20, "-20", "19"},
		{"load %d%%", 1, "1%", "40%"},
		{"peer 192.0.2.%d", 1, "", ""},
		{"id %d0000000000000000", 1, "", ""},
	} {
		var lines []string
		for i := range 40 {
			lines = append(lines, fmt.Sprintf(c.format, c.from+i))
		}
		g := groupOf(t, lines...)
		if s := g.Group(0).Slots; len(s) != 1 || s[0].Min != c.min || s[0].Max != c.max || !s[0].Over {
			t.Errorf("slots of %q = %+v, want %q to %q", c.format, s, c.min, c.max)
		}
	}
}

func TestKeyIsTheTemplateNotTheLines(t *testing.T) {
	t.Parallel()
	one := groupOf(t, "order 1 failed").Group(0)
	two := groupOf(t, "order 2 failed", "order 3 failed").Group(0)
	if Key(one) != Key(two) || len(Key(one)) != 16 {
		t.Errorf("Key = %q and %q, want one of 16 digits", Key(one), Key(two))
	}
	two.Level = "error"
	if Key(one) == Key(two) {
		t.Error("groups of different levels share a key")
	}
}

func TestAssignNamesEveryLine(t *testing.T) {
	t.Parallel()
	got := Assign([]string{"a 1", "", "a 2", strings.Repeat("! ", 5000), "b"})
	if d := cmp.Diff([]string{"p1", "p2", "p1", "p3", "p4"}, got); d != "" {
		t.Errorf("ids (-want +got):\n%s", d)
	}
}
