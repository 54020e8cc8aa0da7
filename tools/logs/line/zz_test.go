package line

import (
	"bufio"
	"fmt"
	"os"
	"testing"
	"time"
)

func TestShow(t *testing.T) {
	f, _ := os.Open("/tmp/lines.txt")
	c := NewClock(time.UTC, time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC))
	var p Parser
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		l := []byte(sc.Text())
		ns, ok := NewClock(time.UTC, time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)).Time(l)
		_ = c
		e := p.Parse(l)
		ts := "-"
		if ok {
			ts = time.Unix(0, ns).UTC().Format(time.RFC3339Nano)
		}
		fs := ""
		for _, x := range e.Fields {
			u := ""
			if x.Used { u = "*" }
			fs += fmt.Sprintf(" %s%s=%s", x.Key, u, x.Value)
		}
		fmt.Printf("%.60s\n   %s | %s | svc=%s | msg=%q |%s\n", l, ts, e.Level, e.Service, e.Message, fs)
	}
}
