package victorialogs_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-069badc9/mcp-gateway/internal/servertest"
	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/victorialogs"
)

// plant is a log that holds a secret in every place where a log server keeps one.
func plant(s string) string {
	escaped := ""
	for _, r := range s {
		escaped += fmt.Sprintf(`\u%04x`, r)
	}
	var b strings.Builder
	b.WriteString(event(map[string]any{"time": at(0, 0), "service": "shop", "level": "INFO", "msg": "started with 3 workers"}))
	for i, m := range []map[string]any{
		{"msg": "login declined password=" + s + " for cart 7"},
		{"msg": "login declined", "password": s},
		{"msg": "login declined", "auth": map[string]any{"api_key": s, "user": "7"}},
		{"msg": `{"msg":"login declined password=` + escaped + `"}`},
		{"msg": "dial https://shop:" + s + "@db.example.com/x declined"},
		{"msg": "declined", "headers": map[string]any{"Authorization": "Bearer " + s}},
		{"msg": "declined " + base64.StdEncoding.EncodeToString([]byte("password="+s))},
		{"msg": "declined", "stack": "E: token=" + s + "\n    at f (/app/x.js:1:2)\n    at g (/app/y.js:1:2)"},
		{"msg": `level=warn msg="declined" password=` + s, "env.DB_PASSWORD": s},
		{"msg": "level=warn msg=declined took=5ms", "password=" + s: "x", "token": s},
		{"msg": "declined", "password=" + s: "x"},
	} {
		m["time"], m["service"] = at(i+1, 0), "shop"
		if i%2 == 0 {
			m["level"] = "ERROR"
		}
		b.WriteString(event(m))
	}
	b.WriteString(event(map[string]any{"time": at(40, 0), "service": "shop", "level": "INFO", "msg": "done"}))
	return b.String()
}

// Two servers, whose logs differ in the secret alone, are asked the same questions about one of the secrets: the answers must be the same.
func TestASecretCannotBeFoundOutBySearching(t *testing.T) {
	t.Parallel()
	const other = "Hm3Rb8" + "Ny6Sc1Lg"
	world := func(s string) *gateway {
		srv := servertest.StartVictoriaLogs(t)
		srv.Ingest(t, plant(s), "service")
		return newGateway(t, map[string]logs.Source{"shop": source(t, victorialogs.Options{URL: srv.URL()})})
	}
	a, b := world(secret), world(other)
	guesses := []string{secret, secret[:1], secret[:4], secret[len(secret)-5:], secret[3:9], strings.ToLower(secret)}
	for _, form := range []string{
		`%s`, `-%s`, `declined -%s`, `"%s"`, `/%s/`, `-/%s/`, `/(?i)%s/`, `/^%s/`, `/password=%s/`, `/password.{0,3}%s/`, `/declined.*%s/`, `/(%s|zebra)/`, `password=%s`, `-password=%s`,
		`auth.api_key=%s`, `api_key=%s`, `env.db_password=%s`, `token=%s`, `"password=%s"`, `"Bearer %s"`, `headers.authorization="Bearer %s"`, `shop:%s@db.example.com`, `"token=%s"`, `/[%[1]s]{14}/`, `msg=%s`,
	} {
		for _, guess := range guesses {
			q := fmt.Sprintf(form, guess)
			x, y := a.query(t, "shop", q, morning), b.query(t, "shop", q, morning)
			if x.text != y.text || x.code != y.code || x.hint != y.hint {
				t.Fatalf("%s tells the worlds apart:\n%s %s\n%s %s", q, x.code, x.text, y.code, y.text)
			}
			if _, shown, _ := strings.Cut(x.text, `"patterns"`); strings.Contains(shown, secret) { // the scope before it echoes the caller's own words
				t.Fatalf("%s shows the secret: %s", q, x.text)
			}
		}
	}
	if x := a.query(t, "shop", "declined", morning); x.total() != 11 || strings.Contains(x.text, secret[:6]) {
		t.Errorf("declined: %d events %s", x.total(), x.text)
	}
}

func TestNamesAreFoundWholeAndMasksAreOpaque(t *testing.T) {
	t.Parallel()
	srv := servertest.StartVictoriaLogs(t)
	srv.Ingest(t, event(map[string]any{"time": at(1, 0), "level": "ERROR", "msg": "peer 192.0.2.17 closed the line, password=" + secret})+
		event(map[string]any{"time": at(2, 0), "level": "ERROR", "msg": "peer 192.0.2.18 closed the line"})+
		event(map[string]any{"time": at(3, 0), "msg": "level=info msg=\"peer changed\"", "host": "shop-db-01"}))
	g := newGateway(t, map[string]logs.Source{"shop": source(t, victorialogs.Options{URL: srv.URL()})})
	whole := g.query(t, "shop", "", morning)
	if len(whole.Events) != 3 || strings.Contains(whole.text, "192.0.2.17") || strings.Contains(whole.text, "shop-db-01") {
		t.Fatalf("%s %s", whole.code, whole.text)
	}
	tag := whole.Events[0].Message[strings.Index(whole.Events[0].Message, "<ip:"):]
	tag = tag[:strings.IndexByte(tag, '>')+1]
	for query, want := range map[string]int64{"192.0.2.17": 1, "peer 192.0.2.18": 1, "192.0.2.1": 0, tag: 1, tag[:6]: 0, "secret": 0, "<secret>": 0, "host=shop-db-01": 1, "shop-db-01": 1, "shop-db": 0} {
		if a := g.query(t, "shop", query, morning); a.code != "" || a.total() != want {
			t.Errorf("%s: %d events, want %d (%s %s)", query, a.total(), want, a.code, a.hint)
		}
	}
}
