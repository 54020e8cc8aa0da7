package files_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/files"
)

// The values that differ between two worlds.
const (
	worldA = "Qx7Kd2" + "Vw9Zp4Ft"
	worldB = "Hm3Rb8" + "Ny6Sc1Lg"
)

// quiet is the log of an hour in which nothing happened, from nine o'clock on.
func quiet(format func(ts time.Time, level, msg string) string) string {
	var b strings.Builder
	for i := range 240 {
		b.WriteString(format(time.Date(2026, 1, 1, 9, 0, 15*i, 0, time.UTC), "INFO", fmt.Sprintf("served %d", i)) + "\n")
	}
	return b.String()
}

// sameAnswers asks two gateways whose logs differ in a secret alone, with queries in which %s is what somebody guesses: neither answer may depend on it or hold it.
func sameAnswers(t *testing.T, plant func(secret string) string, more ...string) {
	t.Helper()
	a := newGateway(t, logs.Options{}, map[string]string{"shop": write(t, t.TempDir(), "shop.log", plant(worldA))})
	b := newGateway(t, logs.Options{}, map[string]string{"shop": write(t, t.TempDir(), "shop.log", plant(worldB))})
	const hours = `"from":"2026-01-01T09:30:00Z","to":"2026-01-01T10:30:00Z"`
	for _, q := range append([]string{"", "%s", "-%s", "/%s/", "/%.5s./", "/(%s|zebra)/", "/^%s/i"}, more...) {
		for _, level := range []string{"", `"level":"WARN",`} {
			if strings.Contains(q, "%") {
				q = fmt.Sprintf(q, worldA)
			}
			args := fmt.Sprintf(`{"topics":["shop"],"query":%q,%s%s}`, q, level, hours)
			x, y := a.call(t, args), b.call(t, args)
			if x.text != y.text || x.code != y.code || x.hint != y.hint {
				t.Errorf("%s tells the worlds apart:\n%s %.600s\n%s %.600s", args, x.code, x.text, y.code, y.text)
			}
			if _, shown, _ := strings.Cut(x.text, `"patterns"`); strings.Contains(shown, worldA[:6]) || strings.Contains(shown, worldA[8:]) {
				t.Errorf("%s shows the secret: %.600s", args, x.text)
			}
			if q == "" && level == "" && len(x.Events) == 0 {
				t.Errorf("nothing is shown: %s %s", x.code, x.text)
			}
		}
	}
}

// The attack:
//  1. a program writes "db.password: x", and a text layout takes the name in front of the colon for the logger;
//  2. the message that is left, "x", has nothing about it that says what it is, so it is shown;
//  3. where no colon joins them ("- api.key - ERROR - x"), it can be searched too.
func TestANameThatLooksLikeALoggerStillKeepsItsSecret(t *testing.T) {
	t.Parallel()
	for name, format := range map[string]string{
		"dotted": "2026-01-01T10:00:00.000Z ERROR db.password: %s", "camel case": "2026-01-01T10:00:00.000Z ERROR dbPassword: %s", "dash": "2026-01-01T10:00:00.000Z ERROR Password - %s",
		"padded": "2026-01-01T10:00:00.000Z ERROR apiKey : %s", "before the level": "2026-01-01T10:00:00.000Z - api.key - ERROR - %s", "behind a thread": "2026-01-01T10:00:00.000Z ERROR [main] db.password - %s",
		"python": "2026-01-01 10:00:00,000 ERROR:password:%s", "two loggers": "2026-01-01 10:00:00,000 - app.core - ERROR - spring.datasource.password: %s", "syslog": "Jan  1 10:00:00 web01 password: %s", "syslog with a pid": "Jan  1 10:00:00 web01 password[12]: %s",
		"RFC 5424": "<11>1 2026-01-01T10:00:00Z web01 password 12 ID1 - %s", "several words": "2026-01-01T10:00:00.000Z ERROR db.password: %s was refused",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sameAnswers(t, func(s string) string { return fmt.Sprintf(format, s) + "\n" + row(1, "ERROR", "zebra") })
		})
	}
}

func TestALoggerOfSecretsMayStillSpeak(t *testing.T) {
	t.Parallel()
	g := newGateway(t, logs.Options{}, map[string]string{"shop": write(t, t.TempDir(), "shop.log", strings.Join([]string{
		"2026-01-01T10:00:00.000Z ERROR com.example.TokenService - refresh refused by peer", "2026-01-01T10:00:01.000Z ERROR token-service: started", "2026-01-01T10:00:02.000Z WARN o.a.PasswordResetController : mail queued",
	}, "\n"))})
	a := g.call(t, `{"topics":["shop"],`+morning+`}`)
	if m := messages(a); !strings.Contains(m, "refresh refused by peer") || !strings.Contains(m, "started") || !strings.Contains(m, "mail queued") {
		t.Errorf("%s", a.text)
	}
}

// pem is a key whose lines hold s.
func pem(s string) string {
	l := strings.Repeat("M1iEv"+s[:3]+"9"+s+"Aq2", 3)
	return "-----BEGIN RSA " + "PRIVATE KEY-----\n" + l[:64] + "\n" + l[3:67] + "\n" + l[5:29] + "\n-----END RSA " + "PRIVATE KEY-----"
}

// The attack: a container, a syslog daemon or a JSON logger writes each line of a private key as a line of its own; the lines in the middle say nothing of what they are.
func TestAKeyThatIsLoggedLineByLineStaysHidden(t *testing.T) {
	t.Parallel()
	each := func(format func(ts time.Time, level, msg string) string) func(s string) string {
		return func(s string) string {
			out := quiet(format)
			for i, l := range strings.Split(pem(s), "\n") {
				out += format(time.Date(2026, 1, 1, 10, 0, 0, i*1e6, time.UTC), "ERROR", l) + "\n"
			}
			return out + format(time.Date(2026, 1, 1, 10, 5, 0, 0, time.UTC), "INFO", "done") + "\n"
		}
	}
	for name, format := range needles {
		t.Run("each with a header, "+name, func(t *testing.T) { t.Parallel(); sameAnswers(t, each(format)) })
	}
	t.Run("between JSON lines", func(t *testing.T) {
		t.Parallel()
		sameAnswers(t, func(s string) string {
			return quiet(needles["json"]) + `{"ts":"2026-01-01T10:00:00Z","level":"ERROR","msg":"key:"}` + "\n" + pem(s) + "\n" + `{"ts":"2026-01-01T10:00:05Z","level":"INFO","msg":"done"}` + "\n"
		})
	})
	t.Run("no header at all", func(t *testing.T) {
		t.Parallel()
		sameAnswers(t, func(s string) string {
			return "2026-01-01T10:00:00Z start\n" + strings.Repeat("word\n", 9) + pem(s) + "\nend\n"
		})
	})
	t.Run("its end alone", func(t *testing.T) {
		t.Parallel()
		sameAnswers(t, func(s string) string {
			_, rest, _ := strings.Cut(pem(s), "\n")
			return "2026-01-01T10:00:00Z start\n" + strings.Repeat("word\n", 9) + rest + "\nend\n"
		})
	})
	raw := func(wrap func(l string, i int) string) func(s string) string {
		return func(s string) string {
			out := ""
			for i := range 90 {
				out += wrap(fmt.Sprintf("served %d", i), i*1e6)
			}
			for i, l := range strings.Split("key:\n"+pem(s)+"\ndone", "\n") {
				out += wrap(l, 5e8+i*1e6)
			}
			return out
		}
	}
	t.Run("CRI", func(t *testing.T) {
		t.Parallel()
		sameAnswers(t, raw(func(l string, ns int) string { return fmt.Sprintf("2026-01-01T10:00:00.%09dZ stdout F %s\n", ns, l) }))
	})
	t.Run("docker", func(t *testing.T) {
		t.Parallel()
		sameAnswers(t, raw(func(l string, ns int) string {
			return fmt.Sprintf(`{"log":"%s\n","stream":"stdout","time":"2026-01-01T10:00:00.%09dZ"}`+"\n", l, ns)
		}))
	})
}

// The attack: container runtimes cut lines at 16 KiB, so that a key ends one line and its secret begins the next, with a line of the other stream between them.
func TestAPartedLineIsReadAsOne(t *testing.T) {
	t.Parallel()
	fill := strings.Repeat("x y ", 4100)
	for name, plant := range map[string]func(s string) string{
		"docker": func(s string) string {
			l := func(stream, log, at string) string {
				b, err := json.Marshal(map[string]string{"log": log, "stream": stream, "time": "2026-01-01T10:00:00." + at + "Z"})
				if err != nil {
					panic(err)
				}
				return string(b) + "\n"
			}
			return l("stdout", "start\n", "1") + l("stdout", fill[:16384-11]+" password="+s[:1], "2") + l("stderr", "other\n", "3") + l("stdout", s[1:]+" was zebra\n", "4") + l("stdout", "end\n", "5")
		},
		"CRI": func(s string) string {
			const at = "2026-01-01T10:00:00.000000000Z "
			return at + "stdout F start\n" + at + "stdout P " + fill + "password=\n" + at + "stderr F other\n" + at + "stdout F " + s + " was zebra\n" + at + "stdout F end\n"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sameAnswers(t, plant, "zebra -%s")
			g := newGateway(t, logs.Options{}, map[string]string{"shop": write(t, t.TempDir(), "shop.log", plant(worldA))})
			if a := g.call(t, `{"topics":["shop"],"query":"\"was zebra\"",`+morning+`}`); len(a.Events) != 1 || !strings.HasPrefix(a.Events[0].Message, "x y x y") {
				t.Errorf("%d events %.300s", len(a.Events), a.text)
			}
			if a := g.call(t, `{"topics":["shop"],`+morning+`}`); len(a.Events) != 4 {
				t.Errorf("%d events, want start, the parted line, other, end: %.300s", len(a.Events), a.text)
			}
		})
	}
}

// The attack: the level filter counts the events that it left out because they name none; only those came so far that a raw search for the guess had let pass.
// An event too long to be matched whole, the same: it was "incomplete" only when the raw search had hit it.
func TestWhatWasLeftOutTellsNothing(t *testing.T) {
	t.Parallel()
	wordy := strings.Repeat("word ", 80_000)
	for name, line := range map[string]string{
		"no level": "2026-01-01T10:00:00.000Z login password=%s x", "long, secret first": "2026-01-01T10:00:00.000Z ERROR login password=%s " + wordy, "long, secret last": "2026-01-01T10:00:00.000Z ERROR login " + wordy + " password=%s",
		"too long": "2026-01-01T10:00:00.000Z ERROR login " + strings.Repeat(wordy, 4) + " password=%s", "many fields": `{"ts":"2026-01-01T10:00:00Z","level":"ERROR","msg":"x",` + strings.Repeat(`"k":1,`, 300) + `"password":"%s"}`,
		"deep": `{"ts":"2026-01-01T10:00:00Z","level":"ERROR","msg":"x","a":` + strings.Repeat(`{"a":`, 9) + `{"password":"%s"}` + strings.Repeat("}", 9) + "}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sameAnswers(t, func(s string) string {
				return quiet(needles["text"]) + fmt.Sprintf(line, s) + "\n" + row(1, "ERROR", "zebra")
			})
		})
	}
}

func TestAHugeJSONLineKeepsItsLevelAndIsNoProofOfAbsence(t *testing.T) {
	t.Parallel()
	g := newGateway(t, logs.Options{}, map[string]string{"shop": write(t, t.TempDir(), "shop.log", quiet(needles["json"])+
		`{"ts":"2026-01-01T10:00:00Z","level":"ERROR","msg":"`+strings.Repeat("A", 2<<20)+` zebra"}`+"\n"+`{"ts":"2026-01-01T10:00:01Z","level":"INFO","msg":"after"}`+"\n")})
	if a := g.call(t, `{"topics":["shop"],"level":"ERROR",`+morning+`}`); len(a.Patterns) != 1 || a.Patterns[0].Count != 1 || !a.Truncated {
		t.Errorf("by level: %s %.300s", a.code, a.text)
	}
	for _, q := range []string{"zebra", "nothing"} {
		if a := g.call(t, `{"topics":["shop"],"level":"ERROR","query":"`+q+`",`+morning+`}`); a.code != "BACKEND_INCOMPLETE" {
			t.Errorf("%s: %s %.300s", q, a.code, a.text)
		}
	}
}

// The attack: a name and its secret stand in two fields, in two elements of a list, in a format and its arguments.
func TestASecretBesideItsNameStaysHidden(t *testing.T) {
	t.Parallel()
	for name, fields := range map[string]string{
		"name and value": `"msg":"set","name":"DB_PASSWORD","value":"%s"`, "nested": `"msg":"set","env":{"x":1,"y":2,"z":3,"key":"API_TOKEN","value":"%s"}`, "pairs": `"msg":"x","headers":[["Accept","a"],["X-Api-Key","%s"]]`,
		"argv": `"msg":"x","argv":["mysql","-u","root","--password","%s"]`, "joined flag": `"msg":"x","argv":["mysql","-p%s"]`, "format": `"msg":"password=%%s for %%d","args":["%s",7]`, "deep": `"msg":"x","a":[[["X-Api-Key","%s"]]]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sameAnswers(t, func(s string) string {
				return quiet(needles["json"]) + `{"ts":"2026-01-01T10:00:00Z","level":"ERROR",` + fmt.Sprintf(fields, s) + "}\n"
			})
		})
	}
}

func TestTwoLogsInOneFileAreBothSearched(t *testing.T) {
	t.Parallel()
	var one strings.Builder
	for i := range 21_600 {
		fmt.Fprintf(&one, `{"ts":"2026-01-01T%02d:%02d:%02dZ","level":"INFO","msg":"a message of some length that was served %d"}`+"\n", i/3600+6, i/60%60, i%60, i)
	}
	g := newGateway(t, logs.Options{}, map[string]string{"shop": write(t, t.TempDir(), "shop.log", one.String()+one.String())})
	if a := g.call(t, `{"topics":["shop"],"from":"2026-01-01T10:00:00Z","to":"2026-01-01T10:00:10Z"}`); len(a.Patterns) != 1 || a.Patterns[0].Count != 20 {
		t.Errorf("%.400s", a.text)
	}
}

func TestAPackedFileBesideAPlainOneIsReadUnlessItIsItsCopy(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	today := `{"ts":"2026-01-01T10:30:00Z","level":"INFO","msg":"today"}` + "\n"
	write(t, dir, "app.log", today)
	write(t, dir, "app.log.gz", gzipped(t, `{"ts":"2026-01-01T10:00:00Z","level":"INFO","msg":"yesterday"}`+"\n"))
	write(t, dir, "app.log.1", `{"ts":"2026-01-01T10:10:00Z","level":"INFO","msg":"rotated"}`+"\n")
	write(t, dir, "app.log.1.gz", gzipped(t, `{"ts":"2026-01-01T10:10:00Z","level":"INFO","msg":"rotated"}`+"\n"))
	half := `{"ts":"2026-01-01T10:05:00Z","level":"INFO","msg":"being packed"}` + "\n"
	write(t, dir, "app.log.2", half)
	write(t, dir, "app.log.2.gz", gzipped(t, half)[:12])
	write(t, dir, "app.log.3", strings.Replace(half, ":05", ":06", 1))
	write(t, dir, "app.log.3.gz", gzipped(t, "")[:5])
	g := newGateway(t, logs.Options{}, map[string]string{"shop": dir + "/*"})
	if a := g.call(t, `{"topics":["shop"],`+morning+`}`); messages(a) != "yesterday,being packed,being packed,rotated,today" || a.Truncated {
		t.Errorf("%s %s", messages(a), a.text)
	}
}

func TestUTF16IsRead(t *testing.T) {
	t.Parallel()
	text := "2026-01-01T10:00:00.000Z ERROR login 😀 declined password=" + worldA + "\n" + strings.Repeat(row(1, "INFO", "served"), 9)
	for name, order := range map[string]func(b []byte, u uint16) []byte{
		"\xff\xfe": func(b []byte, u uint16) []byte { return append(b, byte(u), byte(u>>8)) },
		"\xfe\xff": func(b []byte, u uint16) []byte { return append(b, byte(u>>8), byte(u)) },
	} {
		out := []byte(name)
		for _, u := range utf16.Encode([]rune(text)) {
			out = order(out, u)
		}
		g := newGateway(t, logs.Options{}, map[string]string{"shop": write(t, t.TempDir(), "shop.log", string(append(out, 'x')))})
		if a := g.call(t, `{"topics":["shop"],"query":"login",`+morning+`}`); len(a.Events) != 1 || !strings.Contains(a.Events[0].Message, "login 😀 declined password=<secret>") {
			t.Errorf("%x: %s", name, a.text)
		}
	}
}

// What is found does not depend on how the line is written: keys that are joined, colours within a phrase, lists that are joined.
func TestAPrefilterKnowsWhatReadingChanges(t *testing.T) {
	t.Parallel()
	g := newGateway(t, logs.Options{}, map[string]string{"shop": write(t, t.TempDir(), "shop.log", quiet(needles["json"])+
		`{"ts":"2026-01-01T10:00:00Z","level":"ERROR","err":{"code":5},"argv":["kubectl","-n","shop","delete","cart"]}`+"\n"),
		"colour": write(t, t.TempDir(), "colour.log", quiet(needles["text"])+"2026-01-01T10:00:00.000Z \x1b[31mERROR\x1b[0m cart \x1b[1mwas\x1b[0m lost\n")})
	for topic, queries := range map[string][]string{"shop": {`"err.code=5"`, `/err\.code=5/`, `"-n shop delete"`, `/shop delete/`, `err.code=5`}, "colour": {`"cart was lost"`, `/cart was lost/`, `/ERROR cart/`}} {
		for _, q := range queries {
			b, err := json.Marshal(q)
			if err != nil {
				t.Fatal(err)
			}
			if a := g.call(t, fmt.Sprintf(`{"topics":[%q],"query":%s,%s}`, topic, b, morning)); len(a.Events) != 1 {
				t.Errorf("%s: %d events %s", q, len(a.Events), a.text)
			}
		}
	}
}

// Blocks of a container's log that hold nothing looked for are skipped, but for their ends: what reaches over them is found whole.
func TestEventsOverTheEndsOfBlocksAreWhole(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	at := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	line := func(s string) {
		at = at.Add(time.Millisecond)
		fmt.Fprintf(&b, "%s stdout F %s\n", at.Format("2006-01-02T15:04:05.000000000Z"), s)
	}
	want := 0
	for i := 0; b.Len() < 5<<20; i++ {
		if i%23 == 0 {
			line(fmt.Sprintf("ERROR order %d failed", i))
			line("java.lang.IllegalStateException: zebra")
			for range 6 {
				line("\tat com.example.Cart.pay(Cart.java:12)")
			}
			want++
			continue
		}
		line(fmt.Sprintf("INFO served %d %s", i, strings.Repeat("x", i%40)))
	}
	p := write(t, t.TempDir(), "shop.log", b.String())
	if err := os.Chtimes(p, at, at); err != nil {
		t.Fatal(err)
	}
	g := newGateway(t, logs.Options{}, map[string]string{"shop": p})
	for _, q := range []string{"zebra", "zebra order", "level=error"} {
		a := g.call(t, `{"topics":["shop"],"query":"`+q+`",`+morning+`}`)
		if len(a.Patterns) != 1 || a.Patterns[0].Count != int64(want) || !strings.HasPrefix(a.Patterns[0].Template, "order <*> failed [") {
			t.Errorf("%s: want one pattern of %d: %.500s", q, want, a.text)
		}
	}
}

// Clocks are set back once a year: the times of an hour are written twice, and neither hour may be said to be empty.
func TestTheHourThatComesTwiceIsSearchedTwice(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	from := time.Date(2025, 10, 25, 22, 0, 0, 0, time.UTC)
	for i := range 6 * 360 {
		at := from.Add(time.Duration(i) * 10 * time.Second)
		level := "INFO"
		if i%360 == 180 {
			level = "ERROR"
		}
		fmt.Fprintf(&b, "%s %s app: served %d\n", at.In(berlin).Format("2006-01-02 15:04:05,000"), level, i)
	}
	src, err := files.New(files.Options{Paths: []string{write(t, t.TempDir(), "shop.log", b.String())}, Timezone: "Europe/Berlin"})
	if err != nil {
		t.Fatal(err)
	}
	for hour := range 6 {
		q := logs.Query{From: from.Add(time.Duration(hour) * time.Hour), To: from.Add(time.Duration(hour+1) * time.Hour), Now: now, MaxScan: 1 << 30}
		if got := collect(t, src, q); len(got) != 360 {
			t.Errorf("hour %d: %d events, want 360", hour, len(got))
		}
		q.Need = []logs.Literal{{Text: "ERROR"}} // led from hit to hit, the reader cannot tell the two hours apart
		if got := collect(t, src, q); len(got) == 0 {
			t.Errorf("hour %d: its error is not found", hour)
		}
	}
}

// A query may skip what holds nothing looked for: of what it does look for, nothing may be missing or torn, however lines are cut and streams are mixed.
func TestAPrefilterLosesNothingOfAContainersLog(t *testing.T) {
	t.Parallel()
	for seed := range int64(6) {
		rnd := rand.New(rand.NewSource(seed))
		docker := seed%2 == 0
		var b bytes.Buffer
		at := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
		line := func(stream, text string, part bool) {
			at = at.Add(time.Millisecond)
			if docker {
				if !part {
					text += "\n"
				}
				enc, err := json.Marshal(text)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&b, `{"log":%s,"stream":%q,"time":%q}`+"\n", enc, stream, at.Format(time.RFC3339Nano))
				return
			}
			fmt.Fprintf(&b, "%s %s %s %s\n", at.Format("2006-01-02T15:04:05.000000000Z"), stream, map[bool]string{true: "P", false: "F"}[part], text)
		}
		for i := 0; b.Len() < 4<<20; i++ {
			switch n := rnd.Intn(1000); {
			case n < 2: // a line of several parts, with a line of the other stream within; the word lies across a border at times
				text := strings.Repeat("x y ", 4096*(1+rnd.Intn(3)))
				cut := 16384
				text = text[:cut-rnd.Intn(8)] + " zebra " + text
				for len(text) > cut {
					line("stdout", text[:cut], true)
					text = text[cut:]
					if rnd.Intn(2) == 0 {
						line("stderr", fmt.Sprintf("other %d", i), false)
					}
				}
				line("stdout", text, false)
			case n < 6:
				line("stderr", fmt.Sprintf("ERROR order %d failed", i), false)
				line("stderr", "java.lang.IllegalStateException: cart", false)
				for k := range 1 + rnd.Intn(40) {
					line("stderr", fmt.Sprintf("\tat com.example.Cart.pay(Cart.java:%d)", k), false)
					if rnd.Intn(9) == 0 {
						line("stdout", fmt.Sprintf("INFO served %d", i), false)
					}
				}
				line("stderr", "Caused by: zebra", false)
			default:
				line("stdout", fmt.Sprintf("INFO served %d %s", i, strings.Repeat("z", rnd.Intn(200))), false)
			}
		}
		p := write(t, t.TempDir(), "shop.log", b.String())
		src, err := files.New(files.Options{Paths: []string{p}})
		if err != nil {
			t.Fatal(err)
		}
		q := logs.Query{From: time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC), To: now, Now: now, MaxScan: 1 << 30}
		wants := func(all []string) map[string]int {
			out := make(map[string]int)
			for _, s := range all {
				if strings.Contains(s, "zebra") {
					out[s]++
				}
			}
			return out
		}
		want := wants(collect(t, src, q))
		q.Need = []logs.Literal{{Text: "zebra", Fold: true}}
		if got := wants(collect(t, src, q)); !maps.Equal(got, want) || len(want) < 50 {
			t.Errorf("seed %d: %d events with a query, %d without", seed, len(got), len(want))
		}
	}
}

// The attack: an exception's message tells of a time ("lease ended at 2026-03-01T…"). Taken for the time of an event of its own, it tore the trace from its line and
// put it where no search in the right range looked.
func TestATimeInAMessageBeginsNoEvent(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "2026-01-01 10:%02d:00.000 ERROR [main] com.example.Lease - order %d failed\njava.lang.IllegalStateException: lease ended at 2026-03-01T10:00:00Z\n\tat com.example.Lease.end(Lease.java:1)\n"+
			"Caused by: java.io.IOException: 2025-03-01T10:00:00Z was the last beat\n\t... 3 more\nnote: time=2025-03-01T10:00:00Z\n", i, i)
	}
	g := newGateway(t, logs.Options{}, map[string]string{"shop": write(t, t.TempDir(), "shop.log", b.String())})
	a := g.call(t, `{"topics":["shop"],`+morning+`}`)
	if len(a.Patterns) != 1 || a.Patterns[0].Count != 60 || !strings.Contains(a.Events[0].Stack, "lease ended at") || !strings.Contains(a.Events[0].Stack, "was the last beat") {
		t.Errorf("%.900s", a.text)
	}
	if a := g.call(t, `{"topics":["shop"],"query":"\"last beat\"",`+morning+`}`); len(a.Patterns) != 1 || a.Patterns[0].Count != 60 {
		t.Errorf("%.900s", a.text)
	}
}

// Access lines have words in front of their time; so may what another program writes into the same file later.
func TestLayoutsOfOneFileMayDiffer(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&b, "2026-01-01 10:00:%02d.000 INFO started part %d of the service\n", i*60/1500, i)
	}
	for i := range 1500 {
		fmt.Fprintf(&b, "192.0.2.%d - - [01/Jan/2026:10:01:%02d +0000] \"GET /cart/%d HTTP/1.1\" 200 5 \"-\" \"curl\"\n", i%200, i*60/1500, i)
	}
	g := newGateway(t, logs.Options{}, map[string]string{"shop": write(t, t.TempDir(), "shop.log", b.String())})
	a := g.call(t, `{"topics":["shop"],`+morning+`}`)
	n := int64(0)
	for _, p := range a.Patterns {
		n += p.Count
	}
	if n != 3000 {
		t.Errorf("%d events, want 3000: %.500s", n, a.text)
	}
}
