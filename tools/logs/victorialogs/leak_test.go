package victorialogs_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-069badc9/mcp-gateway/internal/servertest"
	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/internal/logtest"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/victorialogs"
)

// plant is a log that holds a logtest.Secret in every place where a log server keeps one.
func plant(s string) string {
	escaped := ""
	for _, r := range s {
		escaped += fmt.Sprintf(`\u%04x`, r)
	}
	var b strings.Builder
	b.WriteString(event(map[string]any{"time": logtest.At(0, 0), "service": "shop", "level": "INFO", "msg": "started with 3 workers"}))
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
		m["time"], m["service"] = logtest.At(i+1, 0), "shop"
		if i%2 == 0 {
			m["level"] = "ERROR"
		}
		b.WriteString(event(m))
	}
	b.WriteString(event(map[string]any{"time": logtest.At(40, 0), "service": "shop", "level": "INFO", "msg": "done"}))
	return b.String()
}

// Two servers, whose logs differ in the secret alone, are asked the same questions about one of the secrets: the answers must be the same.
func TestASecretCannotBeFoundOutBySearching(t *testing.T) {
	t.Parallel()
	const other = "Hm3Rb8" + "Ny6Sc1Lg"
	world := func(s string) *logtest.Gateway {
		srv := servertest.StartVictoriaLogs(t)
		srv.Ingest(t, plant(s), "service")
		return logtest.New(t, map[string]logs.Source{"shop": source(t, victorialogs.Options{URL: srv.URL()})})
	}
	a, b := world(logtest.Secret), world(other)
	guesses := []string{logtest.Secret, logtest.Secret[:1], logtest.Secret[:4], logtest.Secret[len(logtest.Secret)-5:], logtest.Secret[3:9], strings.ToLower(logtest.Secret)}
	for _, form := range []string{
		`%s`, `-%s`, `declined -%s`, `"%s"`, `/%s/`, `-/%s/`, `/(?i)%s/`, `/^%s/`, `/password=%s/`, `/password.{0,3}%s/`, `/declined.*%s/`, `/(%s|zebra)/`, `password=%s`, `-password=%s`,
		`auth.api_key=%s`, `api_key=%s`, `env.db_password=%s`, `token=%s`, `"password=%s"`, `"Bearer %s"`, `headers.authorization="Bearer %s"`, `shop:%s@db.example.com`, `"token=%s"`, `/[%[1]s]{14}/`, `msg=%s`,
	} {
		for _, guess := range guesses {
			q := fmt.Sprintf(form, guess)
			x, y := a.Query(t, "shop", q, logtest.Morning), b.Query(t, "shop", q, logtest.Morning)
			if x.Text != y.Text || x.Code != y.Code || x.Hint != y.Hint {
				t.Fatalf("%s tells the worlds apart:\n%s %s\n%s %s", q, x.Code, x.Text, y.Code, y.Text)
			}
			if strings.Contains(x.Shown(), logtest.Secret) {
				t.Fatalf("%s shows the logtest.Secret: %s", q, x.Text)
			}
		}
	}
	if x := a.Query(t, "shop", "declined", logtest.Morning); x.Total() != 11 || strings.Contains(x.Text, logtest.Secret[:6]) {
		t.Errorf("declined: %d events %s", x.Total(), x.Text)
	}
}

func TestNamesAreFoundWholeAndMasksAreOpaque(t *testing.T) {
	t.Parallel()
	srv := servertest.StartVictoriaLogs(t)
	srv.Ingest(t, event(map[string]any{"time": logtest.At(1, 0), "level": "ERROR", "msg": "peer 192.0.2.17 closed the line, password=" + logtest.Secret})+
		event(map[string]any{"time": logtest.At(2, 0), "level": "ERROR", "msg": "peer 192.0.2.18 closed the line"})+
		event(map[string]any{"time": logtest.At(3, 0), "msg": "level=info msg=\"peer changed\"", "host": "shop-db-01"}))
	g := logtest.New(t, map[string]logs.Source{"shop": source(t, victorialogs.Options{URL: srv.URL()})})
	whole := g.Query(t, "shop", "", logtest.Morning)
	if len(whole.Events) != 3 || strings.Contains(whole.Text, "192.0.2.17") || strings.Contains(whole.Text, "shop-db-01") {
		t.Fatalf("%s %s", whole.Code, whole.Text)
	}
	tag := whole.Events[0].Message[strings.Index(whole.Events[0].Message, "<ip:"):]
	tag = tag[:strings.IndexByte(tag, '>')+1]
	for query, want := range map[string]int64{"192.0.2.17": 1, "peer 192.0.2.18": 1, "192.0.2.1": 0, tag: 1, tag[:6]: 0, "secret": 0, "<secret>": 0, "host=shop-db-01": 1, "shop-db-01": 1, "shop-db": 0} {
		if a := g.Query(t, "shop", query, logtest.Morning); a.Code != "" || a.Total() != want {
			t.Errorf("%s: %d events, want %d (%s %s)", query, a.Total(), want, a.Code, a.Hint)
		}
	}
}
