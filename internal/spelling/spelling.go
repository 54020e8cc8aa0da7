// Package spelling finds the name that somebody meant among those that exist. It is for hints: a name is never taken for another.
package spelling

import "strings"

// Nearest is the known name closest to got, or "" when none is close: not more than a third of it, and one letter besides, is different. Letter case, dashes and
// underscores do not count.
func Nearest(got string, known []string) string {
	if len(got) > maxName {
		return ""
	}
	best, bestD := "", 1+len(got)/3
	for _, k := range known {
		if d := distance(plain(got), plain(k)); d <= bestD && (best == "" || d < bestD) {
			best, bestD = k, d
		}
	}
	return best
}

func plain(s string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(s))
}

// maxName is the longest name that is compared: what is longer is no slip of the hand.
const maxName = 64

// distance is the Levenshtein distance of two short names.
func distance(a, b string) int {
	if len(a) > maxName || len(b) > maxName {
		return maxName
	}
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range len(a) {
		cur := make([]int, len(b)+1)
		cur[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			cur[j+1] = min(prev[j+1]+1, cur[j]+1, prev[j]+cost)
		}
		prev = cur
	}
	return prev[len(b)]
}
