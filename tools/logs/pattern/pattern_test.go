package pattern

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func groupOf(t *testing.T, lines ...string) *Groups {
	t.Helper()
	a := NewAccumulator(Options{})
	for _, l := range lines {
		a.Add(Line{Message: l})
	}
	return a.Finish()
}

func templates(g *Groups) []string {
	var out []string
	for i := range g.Len() {
		out = append(out, g.Group(i).Template)
	}
	return out
}

func TestAMessageBecomesATemplate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"order 17 failed after 30ms.", "order <*> failed after <*>."},
		{"status=500 path=/v1/orders/7", "status=<*> path=<*>"},
		{"connect to 192.0.2.7:3306 refused", "connect to <*> refused"},
		{"block blk_-77 (rdd_2_3) stored", "block <*> (<*>) stored"},
		{"from <ip:k3f9qa>:443 with <secret>", "from <ip>:<*> with <secret>"},
		{"at Fri Jun 17 07:07:00 2005 by cron", "at <*> by cron"},
		{"Sun may set", "Sun may set"},
		{"订单123支付失败", "订单<*>支付失败"},
		{"fetch https://shop.example.com/a?b=c, retry", "fetch <*>, retry"},
		{"lifetime <1 sec", "lifetime <*>"},
		{"can't open db.example.com", "can't open <*>"},
		{"r24=0x00 arg1=ok", "r24=<*> arg1=ok"},
	} {
		if got := templates(groupOf(t, c.in)); len(got) != 1 || got[0] != c.want {
			t.Errorf("template of %q = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestStatusesAreListedAndNumbersHaveARange(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 40 {
		lines = append(lines, fmt.Sprintf("status=%d took %dms", 500+2*(i%2), i))
	}
	g := groupOf(t, lines...)
	if g.Len() != 1 {
		t.Fatalf("groups = %q, want one", templates(g))
	}
	want := []Slot{
		{Name: "status", Distinct: 2, Top: []Value{{"500", 20}, {"502", 20}}},
		{Distinct: 33, Over: true, Min: "0ms", Max: "39ms"},
	}
	if d := cmp.Diff(want, g.Group(0).Slots); d != "" {
		t.Errorf("slots differ (-want +got):\n%s", d)
	}
}

func TestScopesNeverShareAGroup(t *testing.T) {
	t.Parallel()
	a := NewAccumulator(Options{})
	ids := map[int]bool{}
	for _, l := range []Line{
		{Message: "x 1"}, {Message: "x 1", Level: "error"}, {Message: "x 1", Class: "E"}, {Message: "x 1", Topic: "t"},
	} {
		ids[a.Add(l)] = true
	}
	if g := a.Finish(); g.Len() != 4 || len(ids) != 4 {
		t.Errorf("groups = %q, want four", templates(g))
	}
}
