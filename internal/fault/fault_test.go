package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestEveryCodeHasASentence(t *testing.T) {
	for _, c := range Codes() {
		if s := Sentence(c); !strings.HasSuffix(s, ".") || strings.Contains(s, "%") {
			t.Errorf("Sentence(%s) = %q, want one fixed sentence", c, s)
		}
	}
}

func TestPublicNeverShowsTheCause(t *testing.T) {
	err := fmt.Errorf("outer: %w", New(BackendError, "x.Run", errors.New("dsn root:pw@tcp(db)")).WithHint("narrow the range"))
	code, msg, hint := Public(err)
	if code != BackendError || msg != Sentence(BackendError) || hint != "narrow the range" {
		t.Errorf("Public = %s %q %q", code, msg, hint)
	}
	if strings.Contains(msg+hint+New(Internal, "op", errors.New("pw")).Error(), "pw") {
		t.Error("the cause leaks")
	}
}

func TestCodeOf(t *testing.T) {
	for _, c := range []struct {
		err  error
		want Code
	}{
		{nil, ""},
		{errors.New("anything"), Internal},
		{context.Canceled, Cancelled},
		{fmt.Errorf("w: %w", context.DeadlineExceeded), BackendTimeout},
		{New("MADE_UP", "op", nil), Internal},
		{New(SQLSyntax, "op", context.Canceled), SQLSyntax},
	} {
		if got := CodeOf(c.err); got != c.want {
			t.Errorf("CodeOf(%v) = %s, want %s", c.err, got, c.want)
		}
	}
}

func TestLongHintIsCutOnARuneBorder(t *testing.T) {
	h := New(Internal, "op", nil).WithHint(strings.Repeat("数", 400)).Hint()
	if len(h) > 512 || strings.ContainsRune(h, '\uFFFD') || len(h) < 500 {
		t.Errorf("hint of %d bytes", len(h))
	}
}
