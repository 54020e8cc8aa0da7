package pattern

import (
	"math"
	"strconv"
)

// Assign groups lines, each an event of its own, and returns a group id for each ("p1", "p2" … by first appearance).
func Assign(lines []string) []string {
	a := NewAccumulator(Options{MaxLine: math.MaxInt32})
	ids := make([]int, len(lines))
	for i, l := range lines {
		ids[i] = a.Add(Line{Message: l})
	}
	g := a.Finish()
	out := make([]string, len(lines))
	names := make([]string, g.Len())
	n := 0
	for i, id := range ids {
		f := g.Of(id)
		if names[f] == "" {
			n++
			names[f] = "p" + strconv.Itoa(n)
		}
		out[i] = names[f]
	}
	return out
}
