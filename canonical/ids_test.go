package canonical

import (
	"strings"
	"testing"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

func TestValidID(t *testing.T) {
	for id, want := range map[string]bool{
		"a": true, "A.b_c-1": true, "0": true, strings.Repeat("x", 128): true, "Current": true, "currents": true,
		"": false, "current": false, "-a": false, ".a": false, "_a": false, "a b": false, "a/b": false, "a:b": false, "a|b": false, "é": false, "a\n": false, "a\x00": false, strings.Repeat("x", 129): false,
	} {
		if got := ValidID(id); got != want {
			t.Errorf("ValidID(%q) = %v, want %v", id, got, want)
		}
	}
}

func TestMinted(t *testing.T) {
	for id, want := range map[string]bool{
		"tc_abcdefghijklmnop": true, "tc_234567234567abcd": true,
		"tc_abcdefghijklmno": false, "tc_abcdefghijklmnopq": false, "tc_ABCDEFGHIJKLMNOP": false, "tc_0bcdefghijklmnop": false, "run_abcdefghijklmnop": false, "": false, "tc_": false,
	} {
		if got := Minted(id); got != want {
			t.Errorf("Minted(%q) = %v, want %v", id, got, want)
		}
	}
	if !MintedRun("run_abcdefghijklmnop") || MintedRun("tc_abcdefghijklmnop") || MintedRun("run_abc") {
		t.Error("MintedRun confuses its prefix or length")
	}
}

func TestNewKeyNamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		principal, run, call string
		want                 fault.Code
	}{{"p", "r", "c", ""}, {"中 文/:{}", "r", "c", ""}, {"", "r", "c", fault.InvalidRequest}, {"p", "current", "c", fault.InvalidRequest}, {"p", "a b", "c d", fault.InvalidRequest}, {"p", "r", "c d", fault.InvalidToolCallID}, {"p", "r", "", fault.InvalidToolCallID}} {
		k, err := NewKey(c.principal, c.run, c.call)
		if fault.CodeOf(err) != c.want || k.IsZero() != (c.want != "") {
			t.Errorf("NewKey(%q, %q, %q) = %+v, %v, want code %q", c.principal, c.run, c.call, k, err, c.want)
		}
	}
	if !(Key{}).IsZero() || !(RunKey{}).IsZero() {
		t.Error("a zero key does not say so")
	}
}

func FuzzNewKey(f *testing.F) {
	for _, s := range [][3]string{{"p", "r", "c"}, {"", "current", ""}, {"p\x00", "a:b", "c|d"}, {"p", "r\n", "tc_abcdefghijklmnop"}} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, principal, run, call string) {
		k, err := NewKey(principal, run, call)
		if err != nil {
			if !k.IsZero() || !k.RunKey().IsZero() {
				t.Errorf("a refused key is %+v", k)
			}
			return
		}
		if k.Principal() != principal || k.Run() != run || k.Call() != call || k.IsZero() {
			t.Errorf("NewKey(%q, %q, %q) = %+v", principal, run, call, k)
		}
		for _, id := range []string{run, call} {
			if len(id) == 0 || len(id) > 128 || id == CurrentRun || strings.ContainsAny(id, " :/|{}\x00\n\"\\#?%") {
				t.Errorf("id %q got through", id)
			}
		}
		again, err := k.RunKey().Call(call)
		if err != nil || again != k {
			t.Errorf("RunKey().Call = %+v, %v, want %+v", again, err, k)
		}
	})
}
