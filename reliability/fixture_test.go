package reliability

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-069badc9/mcp-gateway/internal/servertest"
)

// shop is what the gateways read, with a canary in every place where content can come from: one service's logs, its runbooks and its database. The values that
// redaction hides must turn up nowhere; what stands beside them is ordinary text.
type shop struct {
	canaries []canary
	db       *servertest.MariaDB
	text     map[string]string // canary by class
}

// tokenText is random, so that eight bytes of it in a row are found by no accident, and looks like what generators of secrets make.
func tokenText() string {
	b := make([]byte, 18)
	rand.Read(b)
	s := base64.RawURLEncoding.EncodeToString(b)
	return "q7" + strings.NewReplacer("-", "x", "_", "Z").Replace(s)
}

func (s *shop) secret(class string) {
	s.text[class] = tokenText()
	s.canaries = append(s.canaries, canary{class: class, text: s.text[class]})
}

// secretClasses are the places where a secret is planted: a random value, of which eight bytes in a row count as a leak.
var secretClasses = []string{
	"log message", "log bearer", "log field", "log JSON value", "log stack trace", "log frame", "log cookie", "log url", "log PEM", "log SQL literal", "log provider key", "log key name",
	"doc body", "doc front matter", "doc code", "doc table", "doc file name", "doc url",
	"masked column", "unlisted column", "unlisted table", "secret in a cell", "secret in a JSON cell", "database error", "error page",
	"datasource password", "audit password", "store password", "encryption key", "remote key", "agent token", "harness token", "environment", "folder name",
	"request", "panic",
}

// otherCanaries are values of a fixed form. Documentation addresses stay in documents on purpose; those planted there are none.
var otherCanaries = [][2]string{
	{"log address", "198.51.100.73"}, {"log address, version 6", "2001:db8:73:a1::9f2c"}, {"log host", "db-q7x3k9.prod.internal"}, {"log pod", "checkout-6f7c9d8b54-xk2vq"}, {"log mac", "02:42:ac:9f:73:5e"},
	{"log phone", "+1-202-555-0173"}, {"log card", "4111 1111 1111 1111"}, {"log e-mail", "q7.zoe.k9x@example.com"},
	{"doc e-mail", "q8.max.w3v@shop.internal"}, {"doc address", "10.73.91.177"},
}

// newShop plants the canaries and starts the database.
func newShop(tb testing.TB, args ...string) *shop {
	tb.Helper()
	s := &shop{text: map[string]string{}}
	for _, class := range secretClasses {
		s.secret(class)
	}
	for _, c := range otherCanaries {
		s.canaries = append(s.canaries, canary{class: c[0], text: c[1], whole: true})
		s.text[c[0]] = c[1]
	}
	s.db = servertest.StartMariaDB(tb, s.schema(), args...)
	return s
}

func (s *shop) schema() string {
	c := s.text
	var b strings.Builder
	fmt.Fprintf(&b, `CREATE DATABASE shop; CREATE DATABASE audit; USE shop;
CREATE TABLE orders (id INT PRIMARY KEY, status VARCHAR(16), total DECIMAL(10,2), note VARCHAR(200));
INSERT INTO orders VALUES (1, 'PAID', 12.50, 'left at the door'), (2, 'FAILED', 99.00, 'payment gateway answered 502'), (3, 'PAID', 7.00, 'api_key=sk_%[1]s_%[2]s');
CREATE TABLE blocked (id INT PRIMARY KEY, note VARCHAR(200));
INSERT INTO blocked VALUES (1, 'a row that waits');
CREATE TABLE wide (id INT PRIMARY KEY, body VARCHAR(1100));
INSERT INTO wide SELECT seq, CONCAT('row ', seq, ' ', REPEAT('wide text ', 100)) FROM seq_1_to_150;
CREATE TABLE huge (id INT PRIMARY KEY, body LONGTEXT);
INSERT INTO huge VALUES (1, REPEAT('huge text ', 300000));
CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(64), email VARCHAR(128), password_hash VARCHAR(128), settings TEXT);
INSERT INTO customers VALUES (1, 'Ada', '%[3]s@example.com', '%[4]s', '{"theme":"dark","api_token":"%[5]s"}');
CREATE TABLE vault (id INT PRIMARY KEY, v VARCHAR(128));
INSERT INTO vault VALUES (1, '%[6]s');
DELIMITER //
CREATE FUNCTION fails(n INT) RETURNS INT BEGIN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'duplicate of %[7]s'; RETURN n; END//
DELIMITER ;
CREATE VIEW broken AS SELECT id, fails(id) AS v FROM orders;
CREATE USER aw@'%%' IDENTIFIED BY '%[8]s'; GRANT CREATE, INSERT, SELECT, DELETE ON audit.* TO aw@'%%';
`, "live", c["secret in a cell"], c["masked column"], c["unlisted column"], c["secret in a JSON cell"], c["unlisted table"], c["database error"], c["audit password"])
	return b.String()
}

// tables is the allowlist.
func tables() map[string]any {
	return map[string]any{"shop": map[string]any{"orders": []string{"id", "status", "total", "note"}, "blocked": []string{"id", "note"}, "wide": []string{"id", "body"}, "huge": []string{"id", "body"},
		"broken": []string{"id", "v"}, "customers": map[string]any{"columns": []string{"id", "name", "email", "settings"}, "masked": []string{"email"}}}}
}

// account makes a reader of the shop with a name of its own, so that its connections can be told from others'.
func (s *shop) account(tb testing.TB) (user string) {
	tb.Helper()
	b := make([]byte, 5)
	rand.Read(b)
	user = fmt.Sprintf("ro%x", b)
	s.db.SQL(tb, fmt.Sprintf("CREATE USER %s@'%%' IDENTIFIED BY '%s'; GRANT SELECT, SHOW VIEW ON shop.* TO %s@'%%';", user, s.text["datasource password"], user))
	return user
}

// writeFiles puts logs and runbooks into dir and returns their folders.
func (s *shop) writeFiles(tb testing.TB, dir string) (logs, docs string) {
	tb.Helper()
	c := s.text
	logs, docs = filepath.Join(dir, "logs-"+c["folder name"]), filepath.Join(dir, "docs-"+c["folder name"])
	lines := []string{
		`{"time":"2026-01-01T10:00:01Z","level":"INFO","service":"checkout","msg":"order 7 accepted"}`,
		`{"time":"2026-01-01T10:00:02Z","level":"ERROR","service":"checkout","msg":"payment declined: gateway answered 502 password=` + c["log message"] + `"}`,
		`{"time":"2026-01-01T10:00:03Z","level":"ERROR","msg":"payment declined: upstream said no","authorization":"Bearer ` + c["log bearer"] + `","client":"198.51.100.73"}`,
		`{"time":"2026-01-01T10:00:04Z","level":"WARN","msg":"payment declined by rule 4","secret_key":"` + c["log field"] + `","peer":"2001:db8:73:a1::9f2c","mac":"02:42:ac:9f:73:5e"}`,
		`{"time":"2026-01-01T10:00:05Z","level":"ERROR","msg":"payment declined, request was {\"card\":\"4111 1111 1111 1111\",\"token\":\"` + c["log JSON value"] + `\"}","user":"q7.zoe.k9x@example.com"}`,
		`{"time":"2026-01-01T10:00:06Z","level":"ERROR","msg":"payment declined","exception":"java.lang.IllegalStateException: token=` + c["log stack trace"] + `\n\tat com.example.pay.Client.call(Client.java:42)\n\tat com.example.pay.Client.retry(Client.java:17)\nCaused by: java.io.IOException: password='` + c["log frame"] + `' rejected\n\t... 2 more"}`,
		`{"time":"2026-01-01T10:00:07Z","level":"ERROR","msg":"payment declined","host":"db-q7x3k9.prod.internal","pod":"checkout-6f7c9d8b54-xk2vq","phone":"+1-202-555-0173","cookie":"session=` + c["log cookie"] + `"}`,
		`{"time":"2026-01-01T10:00:08Z","level":"ERROR","msg":"payment declined while calling https://svc:` + c["log url"] + `@pay.example.com/v1/charge"}`,
		`{"time":"2026-01-01T10:00:09Z","level":"ERROR","msg":"payment declined: -----BEGIN PRIVATE KEY-----\n` + c["log PEM"] + `\n-----END PRIVATE KEY-----"}`,
		`{"time":"2026-01-01T10:00:10Z","level":"ERROR","msg":"payment declined: INSERT INTO cards (pan, owner) VALUES ('` + c["log SQL literal"] + `', 7)"}`,
		`{"time":"2026-01-01T10:00:11Z","level":"ERROR","msg":"payment declined, key sk_` + `live_` + c["log provider key"] + ` was revoked"}`,
		`{"time":"2026-01-01T10:00:12Z","level":"ERROR","msg":"payment declined","sk_` + `live_` + c["log key name"] + `":"revoked"}`,
	}
	plain := "2026-01-01 10:00:13,001 ERROR [pool-1] com.example.Pay - payment declined password: " + c["log message"] + "\n" +
		"java.lang.RuntimeException: api_key=" + c["log stack trace"] + "\n\tat com.example.Pay.run(Pay.java:7)\n"
	for name, text := range map[string]string{
		filepath.Join(logs, "checkout.log"): strings.Join(lines, "\n") + "\n",
		filepath.Join(logs, "legacy.log"):   plain,
		filepath.Join(docs, "payments.md"): "---\ntitle: Payment gateway answers 502\napi_token: " + c["doc front matter"] + "\n---\n# Payment gateway answers 502\n\nThe payment gateway answers 502 when its pool is exhausted. Fail over with the second gateway. The password: " +
			c["doc body"] + " opens the console.\n\n```\ncurl -H 'Authorization: Bearer " + c["doc code"] + "' https://ops:" + c["doc url"] + "@pay.example.com/failover\n```\n\n| gateway | api_key |\n|---|---|\n| second | api_key=" + c["doc table"] +
			" |\n\nAsk q8.max.w3v@shop.internal or look at 10.73.91.177 when the payment gateway still answers 502.\n",
		filepath.Join(docs, "token="+c["doc file name"]+".md"): "# Restart of the payment gateway\n\nRestart the payment gateway when it answers 502 for longer than five minutes.\n",
		filepath.Join(docs, "disk.md"):                         "# Disk full\n\nDelete rotated logs.\n",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return logs, docs
}
