package pattern

import (
	"slices"
	"strings"
	"testing"
)

// partition renumbers group ids by first appearance in the given order of lines.
func partition(ids []string) []int {
	seen := map[string]int{}
	out := make([]int, len(ids))
	for i, id := range ids {
		if _, ok := seen[id]; !ok {
			seen[id] = len(seen)
		}
		out[i] = seen[id]
	}
	return out
}

// FuzzGroups: for any lines, each is in one group, the counts add up, and the order of the lines does not matter.
func FuzzGroups(f *testing.F) {
	for _, s := range []string{
		"a 1\na 2\nb", "x=true y=1\nx=false y=2", "user a from 1\nuser b from 2\nuser c1 from 3", "peer () up\npeer (1) up",
		"at Fri Jun 17 07:07:00 2005\nMay be", "<ip:k3f9qa>:1 <secret> <a\n<1 sec", "订单1失败\n\xe3\n\xff1", "http://a/b, c:\\d 'x' can't ..9",
		"to a go on\nto b go on\nto c go on\nto d go on\nto e go on", "LOCAL(0) is in sync\n1 is in sync", "[1, 2] {3 4} ab:cd:1::2", "\x01 \x02a\x03 \x05",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		lines := strings.Split(s, "\n")
		a := NewAccumulator(Options{MaxLine: 100, MaxGroups: 50})
		ids := make([]int, len(lines))
		for i, l := range lines {
			ids[i] = a.Add(Line{Message: l})
		}
		g := a.Finish()
		total := 0
		for i := range g.Len() {
			gr := g.Group(i)
			total += gr.Count
			if n := strings.Count(gr.Template, "<*>"); !gr.Rest && n > len(gr.Slots)+strings.Count(s, "<*>") {
				t.Fatalf("%q: template %q has %d slots, %d are described", s, gr.Template, n, len(gr.Slots))
			}
			for _, sl := range gr.Slots {
				n := 0
				for _, v := range sl.Top {
					n += v.Count
				}
				if n > gr.Count || sl.Distinct > gr.Count {
					t.Fatalf("%q: slot %+v of %d lines", s, sl, gr.Count)
				}
			}
		}
		for _, id := range ids {
			if f := g.Of(id); f < 0 || f >= g.Len() {
				t.Fatalf("group %d of %d", f, g.Len())
			}
		}
		if total != len(lines) {
			t.Fatalf("%q: %d lines counted, want %d", s, total, len(lines))
		}
		forth := Assign(lines)
		back := slices.Clone(lines)
		slices.Reverse(back)
		again := Assign(back)
		slices.Reverse(again)
		if !slices.Equal(partition(forth), partition(again)) {
			t.Fatalf("%q: groups %v, backwards %v", s, forth, again)
		}
	})
}
