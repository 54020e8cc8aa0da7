package files_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/files"
)

// row is a text line at a minute after ten.
func row(minute int, level, msg string) string {
	return fmt.Sprintf("2026-01-01 10:%02d:00,000 %s [main] shop.Cart - %s\n", minute, level, msg)
}

func gzipped(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zstded(t *testing.T, s string) string {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(w.EncodeAll([]byte(s), nil))
}

func messages(a answer) string {
	var out []string
	for _, e := range a.Events {
		out = append(out, e.Message)
	}
	return strings.Join(out, ",")
}

func TestRotatedAndPackedFilesAreOneLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "app.log", row(40, "INFO", "five")+row(50, "INFO", "six"))
	write(t, dir, "app.log.1", row(30, "INFO", "four"))
	write(t, dir, "app.log.2.gz", gzipped(t, row(20, "INFO", "three")))
	write(t, dir, "app.log-20260101.zst", zstded(t, row(10, "INFO", "two")))
	write(t, dir, "app.log.4.gz", gzipped(t, row(0, "INFO", "one")))
	write(t, dir, "app.log.1.gz", gzipped(t, row(30, "INFO", "four"))[:20]) // being written by the rotation; its original still stands
	write(t, dir, "app.log.5", "")
	write(t, dir, "other.log", row(5, "INFO", "other"))
	g := newGateway(t, logs.Options{}, map[string]string{"app": filepath.Join(dir, "app.log*")})
	if a := g.call(t, `{"topics":["app"],`+morning+`}`); messages(a) != "one,two,three,four,five,six" || a.Truncated {
		t.Errorf("got %s %s %s", messages(a), a.code, a.text)
	}
	if a := g.call(t, `{"topics":["app"],"from":"2026-01-01T10:15:00Z","to":"2026-01-01T10:35:00Z"}`); messages(a) != "three,four" {
		t.Errorf("part: %s %s", messages(a), a.code)
	}
}

func TestABrokenPackedFileIsIncompleteNotEmpty(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var long strings.Builder
	for i := range 20_000 {
		long.WriteString(row(i%60, "INFO", fmt.Sprintf("event %d of cart %x", i, i*7919)))
	}
	packed := gzipped(t, long.String())
	write(t, dir, "app.log.1.gz", packed[:len(packed)*2/3])
	write(t, dir, "app.log", row(0, "INFO", "fine")+row(59, "INFO", "fine too"))
	g := newGateway(t, logs.Options{}, map[string]string{"app": filepath.Join(dir, "app.log*")})
	if a := g.call(t, `{"topics":["app"],"query":"zebra",`+morning+`}`); a.code != fault.BackendIncomplete {
		t.Errorf("nothing found: %s %s, want BACKEND_INCOMPLETE", a.code, a.text)
	}
	if a := g.call(t, `{"topics":["app"],"query":"fine",`+morning+`}`); a.Evidence != "EVIDENCE_FOUND" || !a.Truncated || !strings.Contains(a.Note, "could not be read") {
		t.Errorf("found: %s %s", a.code, a.text)
	}
}

func TestPathsCannotLeaveTheirFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outside := write(t, dir, "private/secret.log", row(1, "INFO", "outside"))
	write(t, dir, "logs/app.log", row(1, "INFO", "inside")+row(50, "INFO", "inside"))
	if err := os.Symlink(outside, filepath.Join(dir, "logs/link.log")); err != nil {
		t.Fatal(err)
	}
	g := newGateway(t, logs.Options{}, map[string]string{"app": filepath.Join(dir, "logs/*.log")})
	if a := g.call(t, `{"topics":["app"],`+morning+`}`); strings.Contains(a.text, "outside") || messages(a) != "inside,inside" || !a.Truncated {
		t.Errorf("a link that leads out: %s %s", a.code, a.text)
	}
	if a := g.call(t, `{"topics":["app"],"query":"zebra",`+morning+`}`); a.code != fault.BackendIncomplete {
		t.Errorf("nothing found beside a file that may not be read: %s", a.code)
	}
	if err := os.Remove(filepath.Join(dir, "logs/link.log")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("app.log", filepath.Join(dir, "logs/current.log")); err != nil {
		t.Fatal(err)
	}
	if a := g.call(t, `{"topics":["app"],`+morning+`}`); messages(a) != "inside,inside" || a.Truncated {
		t.Errorf("a link within the folder is the same file once: %s %s", a.code, a.text)
	}
}

func TestPipesAndDevicesAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "app.log"), 0o600); err != nil {
		t.Skip("this file system has no pipes")
	}
	g := newGateway(t, logs.Options{}, map[string]string{"app": filepath.Join(dir, "*.log"), "null": "/dev/null"})
	for _, topic := range []string{"app", "null"} {
		if a := g.call(t, `{"topics":["`+topic+`"],`+morning+`}`); a.code != fault.BackendError {
			t.Errorf("%s: %s %s, want BACKEND_ERROR", topic, a.code, a.text)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for _, o := range []files.Options{{}, {Paths: []string{"logs/*.log"}}, {Paths: []string{"/a/[.log"}}, {Paths: []string{"/a/**/b.log"}}, {Paths: []string{"/a/b.log"}, Timezone: "Mars/Olympus"}} {
		if _, err := files.New(o); err == nil {
			t.Errorf("New(%+v) accepts", o)
		}
	}
	src, err := files.New(files.Options{Paths: []string{"/nowhere/at/all/*.log"}})
	if err != nil {
		t.Fatal(err)
	}
	if src.Check(t.Context()) == nil {
		t.Error("Check finds nothing wrong with no file")
	}
	dir := t.TempDir()
	write(t, dir, "a/x.log", row(1, "INFO", "x"))
	if src, err = files.New(files.Options{Paths: []string{dir + "/*/x.log"}}); err != nil {
		t.Fatal(err)
	}
	if err := src.Check(t.Context()); err != nil {
		t.Errorf("Check: %v", err)
	}
}

// A large ordered file with one forged line: what bisecting skips is read before nothing is said to be there.
func TestABisectedReadNeverSaysThereIsNothing(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 60_000 { // one second apart
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * time.Second)
		fmt.Fprintf(&b, "%s INFO [main] shop.Cart - order %d accepted, nothing else to say about it\n", at.Format("2006-01-02T15:04:05Z"), i)
		if i == 50_000 {
			b.WriteString("2026-01-01T02:00:00Z ERROR [main] shop.Cart - late but here\n")
		}
	}
	g := newGateway(t, logs.Options{}, map[string]string{"app": write(t, t.TempDir(), "app.log", b.String())})
	const hour = `"from":"2026-01-01T02:00:00Z","to":"2026-01-01T02:10:00Z"`
	if a := g.call(t, `{"topics":["app"],"query":"late",`+hour+`}`); messages(a) != "late but here" {
		t.Errorf("out of order: %s %s", a.code, a.text)
	}
	a := g.call(t, `{"topics":["app"],`+hour+`}`)
	var n int64
	for _, p := range a.Patterns {
		n += p.Count
	}
	if n < 600 {
		t.Errorf("ten minutes of seconds are %d events", n)
	}
	// One probe of the bisection reads a line of the year 2001.
	forged := strings.Replace(b.String(), "2026-01-01T08:2", "2001-01-01T08:2", 600)
	g = newGateway(t, logs.Options{}, map[string]string{"app": write(t, t.TempDir(), "app.log", forged)})
	if a := g.call(t, `{"topics":["app"],"query":"order 30300 accepted","from":"2026-01-01T08:00:00Z","to":"2026-01-01T09:00:00Z"}`); a.Evidence != "NO_EVIDENCE" && messages(a) == "" {
		t.Errorf("forged: %s", a.text)
	}
	if a := g.call(t, `{"topics":["app"],"query":"order 36010 accepted","from":"2026-01-01T10:00:00Z","to":"2026-01-01T10:10:00Z"}`); messages(a) != "order 36010 accepted, nothing else to say about it" {
		t.Errorf("behind the forged part: %s %s", a.code, a.text)
	}
}

// However a file is cut into segments and blocks, each event is found once.
func TestSegmentsLoseAndDoubleNothing(t *testing.T) {
	t.Parallel()
	for name, format := range needles {
		var b strings.Builder
		n := 20_000
		for i := range n {
			at := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC).Add(time.Duration(i) * 10 * time.Millisecond)
			b.WriteString(format(at, "INFO", fmt.Sprintf("order %d accepted by the night shift", i)) + "\n")
			if i%50 == 0 && name == "text" {
				b.WriteString("\tat com.example.Cart.add(Cart.java:12)\n\tat com.example.Cart.main(Cart.java:1)\n")
			}
		}
		path := write(t, t.TempDir(), "app.log", b.String())
		for _, segment := range []int64{1 << 20, 300_001, 65_537} {
			src, err := files.New(files.Options{Paths: []string{path}})
			if err != nil {
				t.Fatal(err)
			}
			src.SetSegment(segment)
			for _, need := range [][]logs.Literal{nil, {{Text: "order 1", Fold: true}}} {
				got := collect(t, src, logs.Query{From: time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC), To: time.Date(2026, 1, 1, 11, 0, 0, 0, time.UTC), Now: now, Need: need, MaxScan: 1 << 30})
				want := 0
				for i := range n {
					if need == nil || strings.HasPrefix(fmt.Sprint(i), "1") {
						want++
					}
				}
				seen := make(map[string]int)
				for _, e := range got {
					if need == nil || strings.Contains(e, "order 1") {
						seen[e]++
					}
				}
				for e, k := range seen {
					if k != 1 {
						t.Fatalf("%s, segments of %d: %q comes %d times", name, segment, e, k)
					}
				}
				if len(seen) != want {
					t.Errorf("%s, segments of %d, need %v: %d events, want %d", name, segment, need, len(seen), want)
				}
			}
		}
	}
}

// bag is a sink that keeps everything.
type bag struct {
	mu    sync.Mutex
	lanes []*bagLane
}

type bagLane struct{ texts []string }

func (b *bag) Lane() logs.Lane {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := &bagLane{}
	b.lanes = append(b.lanes, l)
	return l
}

func (b *bag) Found() bool { return true }

func (l *bagLane) Emit(e logs.Event) error {
	l.texts = append(l.texts, string(e.Text))
	return nil
}

func (l *bagLane) Close() {}

func collect(t *testing.T, src *files.Source, q logs.Query) []string {
	t.Helper()
	b := &bag{}
	rep, err := src.Search(t.Context(), q, b)
	if err != nil || !rep.Complete {
		t.Fatalf("Search: %+v %v", rep, err)
	}
	var out []string
	for _, l := range b.lanes {
		out = append(out, l.texts...)
	}
	return out
}

// shrinking cuts a file while its first event is handed over.
type shrinking struct {
	bag
	once sync.Once
	do   func()
}

func (s *shrinking) Lane() logs.Lane { return &shrinkingLane{s.bag.Lane(), s} }

type shrinkingLane struct {
	logs.Lane
	s *shrinking
}

func (l *shrinkingLane) Emit(e logs.Event) error {
	l.s.once.Do(l.s.do)
	return l.Lane.Emit(e)
}

func TestAFileThatShrinksIsNoticed(t *testing.T) {
	t.Parallel()
	path := write(t, t.TempDir(), "app.log", strings.Repeat(row(1, "INFO", "a rather long line that fills the file quickly"), 50_000))
	src, err := files.New(files.Options{Paths: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	s := &shrinking{do: func() {
		if err := os.Truncate(path, 100); err != nil {
			t.Error(err)
		}
	}}
	rep, err := src.Search(t.Context(), logs.Query{From: now.Add(-3 * time.Hour), To: now, Now: now, MaxScan: 1 << 30}, s)
	if err != nil || rep.Complete {
		t.Errorf("Search: %+v %v, want incomplete", rep, err)
	}
}

func TestARotationWhileReadingChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := write(t, dir, "app.log", strings.Repeat(row(1, "INFO", "a line"), 1000))
	src, err := files.New(files.Options{Paths: []string{path + "*"}})
	if err != nil {
		t.Fatal(err)
	}
	s := &shrinking{do: func() {
		if err := os.Rename(path, path+".1"); err != nil {
			t.Error(err)
		}
		write(t, dir, "app.log", row(2, "INFO", "new"))
	}}
	rep, err := src.Search(t.Context(), logs.Query{From: now.Add(-3 * time.Hour), To: now, Now: now, MaxScan: 1 << 30}, s)
	if err != nil || !rep.Complete || len(s.lanes[0].texts) != 1000 {
		t.Errorf("Search: %+v %v, %d events", rep, err, len(s.lanes[0].texts))
	}
}

func TestBoundsOfACall(t *testing.T) {
	t.Parallel()
	path := write(t, t.TempDir(), "app.log", strings.Repeat(row(1, "INFO", "a rather long line"), 20_000))
	g := newGateway(t, logs.Options{MaxScan: 1 << 20}, map[string]string{"app": path})
	if a := g.call(t, `{"topics":["app"],"query":"zebra",`+morning+`}`); a.code != fault.RawTooLarge || !strings.Contains(a.hint, "narrow from and to") {
		t.Errorf("over max_scan: %s %s", a.code, a.hint)
	}
	g = newGateway(t, logs.Options{MaxMatched: 1 << 20}, map[string]string{"app": path})
	if a := g.call(t, `{"topics":["app"],`+morning+`}`); a.code != fault.RawTooLarge || !strings.Contains(a.hint, "level") {
		t.Errorf("over max_matched: %s %s", a.code, a.hint)
	}
	src, err := files.New(files.Options{Paths: []string{path}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := &shrinking{do: cancel}
	if _, err := src.Search(ctx, logs.Query{From: now.Add(-3 * time.Hour), To: now, Now: now, MaxScan: 1 << 30}, s); err == nil {
		t.Error("a cancelled search ends without an error")
	}
}

func TestEventsOfSeveralLinesStayTogether(t *testing.T) {
	t.Parallel()
	trace := "java.lang.IllegalStateException: cart is gone\n\tat com.example.Cart.pay(Cart.java:12)\n\tat com.example.Main.main(Main.java:3)\nCaused by: java.io.IOException: shelf empty\n\tat com.example.Shelf.take(Shelf.java:9)\n\t... 2 more\n"
	text := row(1, "INFO", "before") + row(2, "ERROR", "payment failed") + trace + row(3, "INFO", "after") + "panic: out of carts\n\ngoroutine 1 [running]:\nmain.main()\n\t/app/main.go:5 +0x1\n" + row(4, "INFO", "end")
	var cri strings.Builder
	for i, l := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		fmt.Fprintf(&cri, "2026-01-01T10:00:%02d.000000000Z stderr F %s\n", i, l)
	}
	for name, content := range map[string]string{"text": text, "cri": cri.String()} {
		g := newGateway(t, logs.Options{}, map[string]string{"app": write(t, t.TempDir(), "app.log", content)})
		a := g.call(t, `{"topics":["app"],"level":"ERROR",`+morning+`}`)
		if len(a.Events) != 2 {
			t.Fatalf("%s: %d events: %s", name, len(a.Events), a.text)
		}
		if e := a.Events[0]; e.Message != "payment failed" || !strings.Contains(e.Stack, "Caused by: java.io.IOException: shelf empty") || e.Level != "ERROR" {
			t.Errorf("%s: %+v", name, e)
		}
		if e := a.Events[1]; !strings.Contains(e.Message, "out of carts") || !strings.Contains(e.Stack, "main.go:5") || e.Level != "FATAL" {
			t.Errorf("%s: %+v", name, e)
		}
		if a := g.call(t, `{"topics":["app"],"query":"shelf empty",`+morning+`}`); len(a.Events) != 1 || a.Events[0].Message != "payment failed" {
			t.Errorf("%s: a term of a continuation line: %s", name, a.text)
		}
	}
}

func TestSeveralTopicsAreMergedByTime(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := write(t, dir, "a.log", row(1, "INFO", "one")+row(3, "ERROR", "three")+row(30, "INFO", "late"))
	b := write(t, dir, "b.log", row(0, "INFO", "start")+row(2, "WARN", "two")+row(40, "INFO", "later"))
	g := newGateway(t, logs.Options{}, map[string]string{"a": a, "b": b})
	got := g.call(t, `{"topics":["b","a"],"around":"2026-01-01T10:02:00Z","window":"90s"}`)
	if messages(got) != "one,two,three" || got.Events[1].Topic != "b" || got.Scope.From != "2026-01-01T10:00:30Z" {
		t.Errorf("got %s %s", got.code, got.text)
	}
}

func TestShortLinesAndHugeOnes(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, "10:%02d:%02d I x%d\n", i/2000, i/40%60, i)
	}
	short := write(t, t.TempDir(), "short.log", b.String())
	if err := os.Chtimes(short, now, time.Date(2026, 1, 1, 11, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	huge := write(t, t.TempDir(), "huge.log", row(1, "INFO", "first")+row(2, "ERROR", "huge "+strings.Repeat("word ", 700_000))+row(3, "INFO", "next")+row(4, "ERROR", "wide "+strings.Repeat("word ", 100_000))+row(5, "INFO", "last"))
	g := newGateway(t, logs.Options{}, map[string]string{"short": short, "huge": huge})
	a := g.call(t, `{"topics":["short"],`+morning+`}`)
	var n int64
	for _, p := range a.Patterns {
		n += p.Count
	}
	if n != 100_000 {
		t.Errorf("short: %d events %s %s", n, a.code, a.text)
	}
	if a := g.call(t, `{"topics":["huge"],"query":"zebra",`+morning+`}`); a.code != fault.BackendIncomplete {
		t.Errorf("a term that the cut part might hold: %s %s", a.code, a.text)
	}
	a = g.call(t, `{"topics":["huge"],`+morning+`}`)
	if len(a.Events) != 5 || a.Events[2].Message != "next" || a.Events[4].Message != "last" || !a.Truncated || !strings.HasPrefix(a.Events[1].Message, "huge word") {
		t.Errorf("huge: %d events %s %.3000s", len(a.Events), a.code, a.text)
	}
}
