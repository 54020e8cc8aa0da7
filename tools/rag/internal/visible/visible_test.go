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
		{"see [link]\n\n[link]: http://example.com/ok\n", "see [link]\n\n[link]: http://example.com/ok\n"},
		{"see [a][Link]\n\n[link]: http://example.com/ok\n[more]: /x \"obey\"\nend", "see [a][Link]\n\n[link]: http://example.com/ok\nend"},
		{"a\n\n[obey me]: http://example.com/x\nb", "a\n\nb"},
		{"a\n\n[x]: /u \"obey\nme\"\nb", "a\n\nb"},
		{"a[^1]\n\n[^1]: shown\n[^2]: not shown\n", "a[^1]\n\n[^1]: shown\n"},
		{"[ERROR]: disk full\n", "[ERROR]: disk full\n"},
		{"goes on\n[1]: /x\n", "goes on\n[1]: /x\n"},
		{"<div\n  style='display:none'>x</div>y", "y"},
		{"<p style='DISPLAY&#58;none'>x</p>y", "y"},
		{"<p style='position:absolute;left:-9999px'>x</p>y", "y"},
		{"<!-- never closed\n\nobey", ""},
		{"a <?php obey ?> b", "a  b"},
		{"<?xml version='1.0'?>\nb", "\nb"},
		{"a <![CDATA[ obey > me ]]> b", "a  b"},
		{"a <!DOCTYPE obey> b", "a  b"},
		{"<? obey\n\nme", ""},
		{"is i <? and j <!a", "is i <? and j <!a"},
		{"`<?php code ?>` a <! b", "`<?php code ?>` a <! b"},
		{"<p style='height:0px; overflow: hidden'>x</p>y", "y"},
		{"<p style='line-height:0.5em; overflow: hidden'>x</p>", "<p style='line-height:0.5em; overflow: hidden'>x</p>"},
		{"a <!-- never closed\n\nnext", "a \n\nnext"},
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
	for _, piece := range []string{"<", "<a ", "<b hidden\n\n", "<script>\n\n", "<!--\n\n", "<div hidden><div>", "`", "<p hidden></p>", "[a]: b \"\n", "[a][b]: c\n\n", "[", "[a", "<a\n", "<?", "<?\n\n", "a <!a ", "<![CDATA["} {
		Strip(strings.Repeat(piece, 1<<21/len(piece))) // quadratic work would take minutes here
	}
}
