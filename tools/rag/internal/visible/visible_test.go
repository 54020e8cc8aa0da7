package visible

import (
	"strings"
	"testing"
)

func TestOnlyWhatIsSeenStays(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain", "plain"},
		{"a <!-- b --> c", "a  c"},
		{"a <!-- b\n\nc --> d", "a  d"},
		{"`<!-- code -->`", "`<!-- code -->`"},
		{"```\n<!-- code -->\n```\n<!-- gone -->", "```\n<!-- code -->\n```\n"},
		{"<p hidden>x</p>y", "y"},
		{"<P HIDDEN>x</P>y", "y"},
		{"<div style='display : none'>a<div>b</div>c</div>d", "d"},
		{"<hidden>kept</hidden>", "<hidden>kept</hidden>"},
		{"a < b and c > d", "a < b and c > d"},
		{"<script>x", ""},
		{"[//]: # (note)\ntext", "text"},
		{"[link]: http://example.com/ok\n", "[link]: http://example.com/ok\n"},
		{"<!-- never closed\n\nnext", "\n\nnext"},
	} {
		if got := Strip(c.in); got != c.want {
			t.Errorf("Strip(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func FuzzStrip(f *testing.F) {
	for _, s := range []string{"<!--<!-- -->", "<div hidden><div hidden></div>", "```\n<!--\n", "`<!--`", "<b hidden", "[x]: #\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Strip(s)
		if len(got) > len(s) {
			t.Fatalf("Strip grew %q to %q", s, got)
		}
		if inner := strings.Map(func(r rune) rune {
			if strings.ContainsRune("<>`~", r) {
				return -1
			}
			return r
		}, s); Strip("x<!-- "+inner+" -->y") != "xy" {
			t.Fatalf("a comment of %q shows: %q", inner, Strip("x<!-- "+inner+" -->y"))
		}
	})
}

func TestHostileTextIsReadInLinearTime(t *testing.T) {
	for _, piece := range []string{"<", "<a ", "<b hidden\n\n", "<script>\n\n", "<!--\n\n", "<div hidden><div>", "`", "<p hidden></p>"} {
		Strip(strings.Repeat(piece, 1<<21/len(piece))) // quadratic work would take minutes here
	}
}
