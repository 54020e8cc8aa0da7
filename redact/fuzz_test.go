package redact

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// canary is the planted secret: letters and digits only, so that no context gives a byte of it a meaning.
const canary = "Qz7Canary4Kx9Wv"

func FuzzText(f *testing.F) {
	r := all(f)
	documents, err := New(Options{Classes: All, KeepPlaceholders: true})
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range cases(f) {
		f.Add(c.in, "")
		f.Add(c.in+" ", " "+c.in)
	}
	for _, s := range []string{"\x1b[", "%", "\\", "\\u00", "<", "<secret", "\"", "'", "a=\"", "SELECT '", "/*", "-----BEGIN ", "://", "@", "&#", "\xff", "kind: Secret\ndata:\n "} {
		f.Add(s, s)
		f.Add("token="+s, s+canary)
	}
	f.Fuzz(func(t *testing.T, prefix, suffix string) {
		if len(prefix)+len(suffix) > 1<<14 || strings.Contains(prefix+suffix, canary) {
			t.Skip("too long, or holds the canary itself")
		}
		check(t, r, prefix+suffix)
		if in := prefix + suffix; strings.Count(documents.Text(in, nil), "\n") != strings.Count(in, "\n") {
			t.Errorf("as a document: line ends of %q changed", in)
		}
		in := prefix + "password=" + canary + suffix
		if out := check(t, r, in); strings.Contains(out, canary) {
			t.Errorf("the planted secret survives\n in  %q\n out %q", in, out)
		}
		if out := r.Field("password", canary+suffix, nil); strings.Contains(out, canary) {
			t.Errorf("the planted field survives\n in  %q\n out %q", canary+suffix, out)
		}
	})
}

// check holds what must be true of any text.
func check(t *testing.T, r *Redactor, in string) string {
	t.Helper()
	out := r.Text(in, nil)
	if a, b := strings.Count(in, "\n"), strings.Count(out, "\n"); a != b {
		t.Errorf("%d line ends became %d\n in  %q\n out %q", a, b, in, out)
	}
	if utf8.ValidString(in) && !utf8.ValidString(out) {
		t.Errorf("valid UTF-8 became invalid\n in  %q\n out %q", in, out)
	}
	if again := r.Text(out, nil); again != out {
		t.Errorf("redacting twice changes\n in    %q\n once  %q\n twice %q", in, out, again)
	}
	return out
}

func FuzzStream(f *testing.F) {
	r := all(f)
	for _, c := range cases(f) {
		f.Add(c.in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if len(in) > 1<<14 || strings.Contains(in, canary) {
			t.Skip("too long, or holds the canary itself")
		}
		s := NewStream(r, nil)
		for line := range strings.SplitSeq(in, "\n") {
			out := string(s.Line([]byte(line)))
			if strings.Contains(out, "\n") {
				t.Errorf("one line became two: %q", out)
			}
			if whole := r.Text(line, nil); s.left == 0 && len(out) == 0 && len(whole) > 0 {
				t.Errorf("a line vanished: %q", line)
			}
		}
		if out := string(s.Line([]byte("password=" + canary))); strings.Contains(out, canary) {
			t.Errorf("the planted secret survives after %q: %q", in, out)
		}
	})
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b[31mb\x1b[0m\u200b\u202e\U000e0041\xff\tx\n\x9b1mz\x00")
	f.Fuzz(func(t *testing.T, in string) {
		out := Clean(in)
		if !utf8.ValidString(out) {
			t.Errorf("Clean(%q) = %q is not UTF-8", in, out)
		}
		for _, r := range out {
			if invisible(r) {
				t.Errorf("Clean(%q) = %q holds %U", in, out, r)
			}
		}
		if Clean(out) != out {
			t.Errorf("cleaning %q twice changes", in)
		}
		if a, b := strings.Count(in, "\n"), strings.Count(out, "\n"); a != b {
			t.Errorf("Clean(%q): %d line ends became %d", in, a, b)
		}
	})
}
