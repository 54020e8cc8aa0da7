package redact

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// hole is ⟦kind:text⟧ in a case: text is hidden and the mask of kind stands in its place.
var hole = regexp.MustCompile(`⟦(\w+):(.*?)⟧`)

// labelled is one line of testdata/cases: everything outside of the holes must survive.
type labelled struct {
	at       string
	in, want string
	hidden   []string
}

// cases reads the labelled lines. ⏎ is a line end, ¦ cuts a provider's format so that scanners of this repository stay quiet, {ZW}, {ESC} and {FF} are a
// zero-width space, an escape and a byte that is no character. "in => want" spells out a result that the holes cannot describe.
func cases(t testing.TB) []labelled {
	t.Helper()
	files, err := filepath.Glob("testdata/cases/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	var out []labelled
	replace := strings.NewReplacer("⏎", "\n", "¦", "", "{ZW}", "\u200b", "{ESC}", "\x1b", "{FF}", "\xff")
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(data), "\n") {
			if line == "" || strings.HasPrefix(line, "# ") {
				continue
			}
			c := labelled{at: filepath.Base(f) + ":" + itoa(n+1)}
			line = replace.Replace(line)
			in, want, spelled := line, line, false
			if i := strings.Index(line, " => "); i > 0 && strings.Contains(line[i:], "⟦secret:*⟧") {
				in, want, spelled = line[:i], line[i+4:], true
			}
			for _, m := range hole.FindAllStringSubmatch(in, -1) {
				c.hidden = append(c.hidden, m[2])
			}
			c.in = in
			if !spelled {
				c.in = hole.ReplaceAllString(in, "$2")
			}
			c.want = hole.ReplaceAllString(want, "<$1>")
			out = append(out, c)
		}
	}
	return out
}

func itoa(n int) string {
	s := ""
	for ; n > 0; n /= 10 {
		s = string(rune('0'+n%10)) + s
	}
	return s
}

func TestLabelledLines(t *testing.T) {
	t.Parallel()
	r := all(t)
	n := 0
	for _, c := range cases(t) {
		got := r.Text(c.in, nil)
		if got != c.want {
			t.Errorf("%s\n  in   %q\n  got  %q\n  want %q", c.at, c.in, got, c.want)
		}
		n += len(c.hidden)
		if again := r.Text(got, nil); again != got {
			t.Errorf("%s: redacting twice changes\n  %q\n  %q", c.at, got, again)
		}
	}
	if n < 1400 {
		t.Errorf("%d values to hide, want more than a thousand: a file of cases is missing", n)
	}
}
