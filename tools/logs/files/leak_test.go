package files_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-069badc9/mcp-gateway/tools/logs"
)

// plant is a log that holds a secret in every place where logs hold secrets.
func plant(s string) string {
	uni := ""
	for _, r := range s {
		uni += fmt.Sprintf(`\u%04x`, r)
	}
	return strings.Join([]string{
		`{"time":"2026-01-01T10:00:00Z","level":"INFO","service":"shop","msg":"started with 3 workers"}`,
		`{"time":"2026-01-01T10:01:00Z","level":"ERROR","service":"shop","msg":"login declined password=` + s + ` for cart 7"}`,
		`{"time":"2026-01-01T10:02:00Z","level":"ERROR","service":"shop","msg":"login declined","password":"` + s + `"}`,
		`{"time":"2026-01-01T10:03:00Z","level":"WARN","service":"shop","msg":"login declined","auth":{"api_key":"` + s + `","user":"7"}}`,
		`{"time":"2026-01-01T10:04:00Z","level":"WARN","service":"shop","msg":"login declined password=` + uni + `"}`,
		`{"time":"2026-01-01T10:05:00Z","level":"WARN","service":"shop","msg":"login declined","env":[{"name":"DB_PASSWORD","value":"` + s + `"}]}`,
		`{"time":"2026-01-01T10:06:00Z","level":"WARN","service":"shop","msg":"dial https://shop:` + s + `@db.example.com/x declined"}`,
		`{"time":"2026-01-01T10:07:00Z","level":"WARN","service":"shop","msg":"declined","headers":{"Authorization":"Bearer ` + s + `"}}`,
		`{"time":"2026-01-01T10:08:00Z","level":"WARN","service":"shop","msg":"declined ` + base64.StdEncoding.EncodeToString([]byte("password="+s)) + `"}`,
		`{"time":"2026-01-01T10:09:00Z","level":"ERROR","service":"shop","msg":"declined","stack":"E: token=` + s + `\n    at f (/app/x.js:1:2)\n    at g (/app/y.js:1:2)"}`,
		`{"time":"2026-01-01T10:10:00Z","level":"INFO","service":"shop","msg":"done"}`,
	}, "\n") + "\n"
}

// plantText is the same in text layouts, with a secret in a continuation line and one of several lines.
func plantText(s string) string {
	pem := "-----BEGIN RSA " + "PRIVATE KEY-----\n" + strings.Repeat(s, 4) + "\n" + strings.Repeat(s, 3) + "\n-----END RSA " + "PRIVATE KEY-----\n"
	return row(0, "INFO", "started with 3 workers") + row(1, "ERROR", "login declined password="+s+" for cart 7") + row(2, "WARN", "declined: curl -u shop:"+s+" https://example.com/x") +
		"2026-01-01 10:03:00,000 level=warn msg=\"declined\" password=" + s + " user=7\n" +
		row(4, "ERROR", "declined") + "java.lang.IllegalStateException: token=" + s + "\n\tat com.example.Cart.pay(Cart.java:12)\n" +
		row(5, "WARN", "declined key follows\n"+pem) + row(6, "INFO", "Set-Cookie: session="+s+"; Path=/ declined") + row(10, "INFO", "done")
}

func TestASecretCannotBeFoundOutBySearching(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(string) string{"json": plant, "text": plantText} {
		t.Run(name, func(t *testing.T) { bisect(t, plant) })
	}
}

// bisect asks two gateways, whose logs differ in the secret alone, the same questions about one of the secrets: their answers must be the same.
func bisect(t *testing.T, plant func(string) string) {
	t.Parallel()
	const real, other = "Qx7Kd2" + "Vw9Zp4Ft", "Hm3Rb8" + "Ny6Sc1Lg"
	a := newGateway(t, logs.Options{}, map[string]string{"shop": write(t, t.TempDir(), "shop.log", plant(real))})
	b := newGateway(t, logs.Options{}, map[string]string{"shop": write(t, t.TempDir(), "shop.log", plant(other))})
	var guesses []string
	for _, n := range []int{1, 2, 4, 9, len(real)} {
		guesses = append(guesses, real[:n], real[len(real)-n:])
	}
	guesses = append(guesses, strings.ToLower(real), strings.ToUpper(real), real[3:9])
	forms := []string{
		`%s`, `-%s`, `declined %s`, `declined -%s`, `\"%s\"`, `-\"%s\"`, `/%s/`, `-/%s/`, `/(?i)%s/`, `/%s/i`, `/^%s/`, `/password=%s/`, `/password.{0,3}%s/`, `/declined.*%s/`, `/(%s|zebra)/`,
		`password=%s`, `-password=%s`, `password!=%s`, `auth.api_key=%s`, `api_key=%s`, `db_password=%s`, `-db_password=%s`, `\"password=%s\"`, `declined -\"password=%s\"`, `Bearer %s`,
		`\"Bearer %s\"`, `headers.authorization=\"Bearer %s\"`, `shop:%s@db.example.com`, `https://shop:%s@db.example.com/x`, `token=%s`, `\"token=%s\"`, `/[%[1]s]{14}/`, `msg=%s`, `level=error %s`,
		`password:%s`, `-password:%s`, `auth.api_key:%s`, `api_key:\"%s\"`, `%s*`, `value:%s`,
	}
	for _, form := range forms {
		for _, guess := range guesses {
			for _, more := range []string{`"from":"2026-01-01T10:00:00Z","to":"2026-01-01T10:30:00Z"`, `"level":"WARN","from":"2026-01-01T10:03:30Z","to":"2026-01-01T10:04:30Z"`} {
				args := fmt.Sprintf(`{"topics":["shop"],"query":"`+form+`",%s}`, guess, more)
				x, y := a.call(t, args), b.call(t, args)
				if x.text != y.text || x.code != y.code || x.hint != y.hint {
					t.Fatalf("%s tells the worlds apart:\n%s %s\n%s %s", args, x.code, x.text, y.code, y.text)
				}
				if _, shown, _ := strings.Cut(x.text, `"patterns"`); strings.Contains(shown, real) { // the scope before it echoes the caller's own words
					t.Fatalf("%s shows the secret: %s", args, x.text)
				}
			}
		}
	}
	if x := a.call(t, `{"topics":["shop"],"query":"declined",`+morning+`}`); len(x.Events) < 5 || x.Truncated || strings.Contains(x.text, real[:6]) {
		t.Errorf("declined: %d events %s", len(x.Events), x.text)
	}
}

func TestMasksAreOpaqueAndNamesAreFoundWhole(t *testing.T) {
	t.Parallel()
	g := newGateway(t, logs.Options{}, map[string]string{"shop": write(t, t.TempDir(), "shop.log", strings.Join([]string{
		`{"time":"2026-01-01T10:01:00Z","level":"ERROR","msg":"peer 192.0.2.17 closed the line, password=` + secret + `"}`,
		`{"time":"2026-01-01T10:02:00Z","level":"ERROR","msg":"peer 192.0.2.18 closed the line"}`,
		`{"time":"2026-01-01T10:03:00Z","level":"INFO","msg":"peer changed","host":"shop-db-01"}`,
		`{"time":"2026-01-01T10:04:00Z","level":"INFO","msg":"caf\u00e9 \u0065rr\u006fr in menu"}`,
	}, "\n"))})
	whole := g.call(t, `{"topics":["shop"],`+morning+`}`)
	tag := whole.Events[0].Message[strings.Index(whole.Events[0].Message, "<ip:"):]
	tag = tag[:strings.IndexByte(tag, '>')+1]
	for query, want := range map[string]int{
		"192.0.2.17":              1,
		"peer 192.0.2.18":         1,
		"192.0.2.1":               0,
		"/192\\\\.0/":             0,
		tag:                       1,
		tag[:6]:                   0,
		"secret":                  0,
		"/secret/":                0,
		"<secret>":                0,
		"ip:":                     0,
		"host=shop-db-01":         1,
		"shop-db-01":              1,
		"shop-db":                 0,
		"-192.0.2.17 closed":      1,
		"café":                    1,
		"CAFÉ error":              1,
		"/caf. error/":            1,
		"msg=nothing":             0,
		"level=info":              2,
		"-level=info":             2,
		"\\\"closed the line\\\"": 2,
	} {
		a := g.call(t, `{"topics":["shop"],"query":"`+query+`",`+morning+`}`)
		if len(a.Events) != want || a.code != "" {
			t.Errorf("%s: %d events, want %d (%s %s)", query, len(a.Events), want, a.code, a.hint)
		}
	}
}
