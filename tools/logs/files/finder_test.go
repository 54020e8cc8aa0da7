package files

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/seed-069badc9/mcp-gateway/tools/logs"
)

// The fast search finds the places that a plain one finds, in any order of asking forward.
func TestFinderFindsWhatAPlainSearchFinds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringMatching(`[abAB \\z"\n]{0,200}`).Draw(rt, "text")
		var need []logs.Literal
		for range rapid.IntRange(1, 3).Draw(rt, "n") {
			l := logs.Literal{Text: rapid.StringMatching(`[abAB z]{1,4}`).Draw(rt, "literal"), Fold: rapid.Bool().Draw(rt, "fold")}
			if l.Fold {
				l.Text = strings.ToLower(l.Text)
			}
			need = append(need, l)
		}
		f := newFinder(need)
		f.load([]byte(text))
		pos := 0
		for pos <= len(text) {
			want := -1
			note := func(i int) {
				if i >= 0 && (want < 0 || pos+i < want) {
					want = pos + i
				}
			}
			note(strings.IndexByte(text[pos:], '\\'))
			for _, l := range need {
				if l.Fold {
					note(strings.Index(strings.ToLower(text[pos:]), l.Text))
				} else {
					note(strings.Index(text[pos:], l.Text))
				}
			}
			if got := f.find(pos); got != want {
				rt.Fatalf("%+v in %q from %d: %d, want %d", need, text, pos, got, want)
			}
			if want < 0 {
				return
			}
			pos = want + rapid.IntRange(1, 5).Draw(rt, "step")
		}
	})
}
