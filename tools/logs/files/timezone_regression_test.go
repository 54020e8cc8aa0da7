package files_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/files"
)

// hoursOf is a log of the hours before now with an event a minute, whose times are written as layout has them in a zone that lies ahead of UTC; the last hour has failures.
func hoursOf(hours int, ahead time.Duration, layout string) string {
	var b strings.Builder
	for m := -hours * 60; m < 0; m++ {
		msg := "INFO 正常"
		if m >= -60 && m%5 == 0 {
			msg = "ERROR 支付失败"
		}
		fmt.Fprintf(&b, "%s %s %d\n", now.Add(time.Duration(m)*time.Minute).In(time.FixedZone("", int(ahead.Seconds()))).Format(layout), msg, m)
	}
	return b.String()
}

const (
	bare  = "2006-01-02 15:04:05,000"
	zoned = "2006-01-02T15:04:05.000Z07:00"
)

// written sets when a file was last written.
func written(t *testing.T, path string, at time.Time) string {
	t.Helper()
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
	return path
}

// What went wrong:
//  1. a program in Shanghai writes times without a zone, and the topic has the starter's timezone: UTC;
//  2. the log is 15 hours long, so the last hour seems to be covered: by lines that are eight hours old;
//  3. the failures of the last hour are searched for, and the answer is NO_EVIDENCE, without a word.
func TestAWrongTimezoneProvesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"text": hoursOf(15, 8*time.Hour, bare), "Nepal": hoursOf(15, 345*time.Minute, bare), "half an hour": hoursOf(15, 30*time.Minute, bare), "larger than what is read of its ends": hoursOf(200, 8*time.Hour, bare), "younger than the zone is wide": hoursOf(3, 8*time.Hour, bare),
		"JSON": strings.ReplaceAll(hoursOf(15, 8*time.Hour, `{"time":"2006-01-02 15:04:05","level":"ERROR","msg":"`), "\n", "\"}\n"), "packed": gzipped(t, hoursOf(15, 8*time.Hour, bare)), "an event or two": hoursOf(15, 8*time.Hour, bare)[len(hoursOf(15, 8*time.Hour, bare))-80:],
	} {
		p := written(t, write(t, dir, strings.ReplaceAll(name, " ", "-")+"/app.log", content), now)
		g := newGateway(t, logs.Options{}, map[string]string{"long": p})
		for _, args := range []string{`"query":"支付失败"`, `"level":"ERROR"`, `"from":"-8h"`, `"query":"zebra","from":"-14h"`} {
			if a := g.call(t, `{"topics":["long"],`+args+`}`); a.code != fault.BackendIncomplete || !strings.Contains(a.hint, "timezone") || !strings.Contains(a.hint, "in the future") {
				t.Errorf("%s, %s: %s %s (%s) %.300s", name, args, a.code, a.Evidence, a.hint, a.text)
			}
		}
	}
}

func TestTheRightTimezoneIsLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	late := func(at time.Time, layout string) string { return at.Format(layout) + " ERROR forged\n" }
	for name, content := range map[string]string{
		"UTC":                  hoursOf(15, 0, bare),
		"named zones":          hoursOf(15, 8*time.Hour, zoned),
		"a clock that is fast": hoursOf(15, 3*time.Minute, bare), "a clock that is very fast": hoursOf(15, 11*time.Minute, bare),
		// The attack: a line dated ahead, in the hope that nobody can search the log any more.
		"a line dated 2099":       hoursOf(15, 0, bare) + late(time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC), bare),
		"many lines dated 2099":   hoursOf(15, 0, bare) + strings.Repeat(late(time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC), bare), 50),
		"a line hours ahead":      hoursOf(15, 0, bare) + late(now.Add(8*time.Hour), bare),
		"two lines hours ahead":   hoursOf(15, 0, bare) + strings.Repeat(late(now.Add(8*time.Hour), bare), 2),
		"lines that are followed": hoursOf(14, 0, bare) + strings.Repeat(late(now.Add(8*time.Hour), bare), 9) + hoursOf(1, 0, bare),
		"lines with a zone ahead": hoursOf(15, 0, bare) + strings.Repeat(late(now.Add(8*time.Hour), zoned), 9),
	} {
		p := written(t, write(t, dir, strings.ReplaceAll(name, " ", "-")+"/app.log", content), now)
		g := newGateway(t, logs.Options{}, map[string]string{"app": p})
		if a := g.call(t, `{"topics":["app"],"query":"支付失败"}`); a.Evidence != "EVIDENCE_FOUND" || strings.Contains(a.Note, "timezone") {
			t.Errorf("%s: %s %s %s", name, a.code, a.hint, a.Note)
		}
		if a := g.call(t, `{"topics":["app"],"query":"zebra"}`); a.Evidence != "NO_EVIDENCE" {
			t.Errorf("%s: %s %s", name, a.code, a.hint)
		}
	}
}

// Where another file of the topic shows that the zone is right, what is found is shown with a word, and what is not found proves nothing.
func TestOneFileOfAnotherTimezoneIsNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	written(t, write(t, dir, "a.log", hoursOf(15, 0, bare)), now)
	written(t, write(t, dir, "b.log", hoursOf(15, 8*time.Hour, bare)), now)
	g := newGateway(t, logs.Options{}, map[string]string{"app": filepath.Join(dir, "*.log")})
	if a := g.call(t, `{"topics":["app"],"query":"支付失败"}`); a.Evidence != "EVIDENCE_FOUND" || !a.Truncated || !strings.Contains(a.Note, "7h59m in the future") || !strings.Contains(a.Note, "timezone") {
		t.Errorf("%s %s %s", a.code, a.hint, a.Note)
	}
	if a := g.call(t, `{"topics":["app"],"query":"zebra"}`); a.code != fault.BackendIncomplete || !strings.Contains(a.hint, "timezone") {
		t.Errorf("%s %s %s", a.code, a.hint, a.text)
	}
}

func TestCheckTellsAWrongTimezone(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for m := range 600 {
		fmt.Fprintf(&b, "%s INFO 正常 %d\n", time.Now().Add(time.Duration(m-600)*time.Minute).UTC().Add(8*time.Hour).Format(bare), m)
	}
	path := write(t, t.TempDir(), "app.log", b.String())
	for zone, want := range map[string]string{"": "is the timezone right (UTC)", "UTC": "is the timezone right (UTC)", "+08:00": "", "Asia/Shanghai": "", "UTC+8": ""} {
		src, err := files.New(files.Options{Paths: []string{path}, Timezone: zone})
		if err != nil {
			t.Fatal(err)
		}
		switch err := src.Check(t.Context()); {
		case want == "" && err != nil:
			t.Errorf("%s: %v", zone, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "app.log")):
			t.Errorf("%s: %v, want %q", zone, err, want)
		}
	}
}

// What went wrong: the path of a topic is mistyped, and the answer says that the topic has no events in the range.
func TestNoFileIsNotNoEvent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "empty.log", "")
	g := newGateway(t, logs.Options{}, map[string]string{"app": filepath.Join(dir, "none*.log"), "gone": filepath.Join(dir, "no/such/folder/*.log"), "empty": filepath.Join(dir, "empty.log")})
	for _, topic := range []string{"app", "gone", "empty"} {
		if a := g.call(t, `{"topics":["`+topic+`"],`+morning+`}`); a.code != fault.BackendIncomplete || !strings.Contains(a.hint, "topic "+topic+": no log file matches") || strings.Contains(a.hint, dir) {
			t.Errorf("%s: %s %s", topic, a.code, a.hint)
		}
	}
}
