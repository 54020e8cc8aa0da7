package seal

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"testing"
)

func keyText(b byte) string {
	return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, 32))
}

func ring(t *testing.T, text string) *Ring {
	t.Helper()
	r, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRoundTrip(t *testing.T) {
	for _, r := range []*Ring{nil, ring(t, keyText(1)), ring(t, hex.EncodeToString(bytes.Repeat([]byte{2}, 32)))} {
		for _, v := range [][]byte{nil, {}, {0}, []byte("evidence 中文 \xff\x00"), bytes.Repeat([]byte("x"), 1<<20)} {
			stored := r.Seal(nil, 7, v, "p", "r", "c", "raw")
			if after := r.Seal([]byte("before"), 7, v, "p"); string(after[:6]) != "before" {
				t.Errorf("Seal lost what was before it: %q", after[:6])
			}
			kind, got, err := r.Open(stored, "p", "r", "c", "raw")
			if err != nil || kind != 7 || !bytes.Equal(got, v) {
				t.Errorf("Open(Seal(%d bytes)) = %d, %d bytes, %v", len(v), kind, len(got), err)
			}
			if r != nil && len(v) > 8 && bytes.Contains(stored, v[:8]) {
				t.Error("the sealed form shows the value")
			}
		}
	}
}

func TestASealedValueOpensOnlyInItsPlace(t *testing.T) {
	r := ring(t, keyText(1))
	stored := r.Seal(nil, 0, []byte("value"), "p", "r", "c", "raw")
	for _, place := range [][]string{{"q", "r", "c", "raw"}, {"p", "r", "d", "raw"}, {"p", "r", "c", "obs"}, {"pr", "", "c", "raw"}, {"p", "r", "craw"}, {}} {
		if _, _, err := r.Open(stored, place...); !errors.Is(err, ErrBroken) {
			t.Errorf("Open at %q = %v, want ErrBroken", place, err)
		}
	}
	for i := range stored {
		bad := bytes.Clone(stored)
		bad[i] ^= 1
		if _, _, err := r.Open(bad, "p", "r", "c", "raw"); err == nil {
			t.Errorf("byte %d changed, and it opens", i)
		}
	}
	for n := range stored {
		if _, _, err := r.Open(stored[:n], "p", "r", "c", "raw"); err == nil {
			t.Errorf("cut to %d bytes, and it opens", n)
		}
	}
}

func TestRotation(t *testing.T) {
	old, both, fresh := ring(t, keyText(1)), ring(t, keyText(2)+" , "+keyText(1)), ring(t, keyText(2))
	if _, v, err := both.Open(old.Seal(nil, 0, []byte("v"), "p"), "p"); err != nil || string(v) != "v" {
		t.Errorf("the second key does not open: %v", err)
	}
	if _, v, err := fresh.Open(both.Seal(nil, 0, []byte("v"), "p"), "p"); err != nil || string(v) != "v" {
		t.Errorf("the first key does not seal: %v", err)
	}
	for _, c := range []struct {
		r      *Ring
		stored []byte
		want   error
	}{
		{fresh, old.Seal(nil, 0, []byte("v"), "p"), ErrNoKey},
		{nil, old.Seal(nil, 0, []byte("v"), "p"), ErrNoKey},
		{fresh, (*Ring)(nil).Seal(nil, 0, []byte("v"), "p"), ErrPlain},
		{nil, []byte{9, 0, 1}, ErrBroken},
		{nil, nil, ErrBroken},
	} {
		if _, _, err := c.r.Open(c.stored, "p"); !errors.Is(err, c.want) {
			t.Errorf("Open(%x) = %v, want %v", c.stored, err, c.want)
		}
	}
}

func TestKeysThatAreNone(t *testing.T) {
	for _, text := range []string{"secret", keyText(1)[:20], keyText(1) + ",", "0123", keyText(1) + "," + keyText(2)[:43] + "!"} {
		if r, err := Parse(text); err == nil || r != nil {
			t.Errorf("Parse(%q) accepted", text)
		} else if bytes.Contains([]byte(err.Error()), []byte(text)) {
			t.Errorf("the error shows the key: %v", err)
		}
	}
	if r, err := Parse("  "); r != nil || err != nil {
		t.Errorf("Parse of nothing = %v, %v", r, err)
	}
}
