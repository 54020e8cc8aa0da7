package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// maria is a private MariaDB on a socket in a temporary folder.
type maria struct {
	dir, sock string
	cmd       *exec.Cmd
	done      chan struct{}
}

var (
	shared     *maria
	sharedErr  error
	sharedOnce sync.Once
)

func TestMain(m *testing.M) {
	code := m.Run()
	if shared != nil {
		shared.kill()
		_ = os.RemoveAll(shared.dir)
	}
	os.Exit(code)
}

// server gives the instance that the tests of this package share, with the schema loaded.
func server(t testing.TB) *maria {
	t.Helper()
	need(t)
	sharedOnce.Do(func() {
		dir, err := os.MkdirTemp("", "mgw")
		if err != nil {
			sharedErr = err
			return
		}
		shared, sharedErr = install(dir)
		if sharedErr == nil {
			sharedErr = shared.start()
		}
		if sharedErr == nil {
			_, sharedErr = shared.sql(schema)
		}
	})
	if sharedErr != nil {
		t.Fatal(sharedErr)
	}
	return shared
}

func need(t testing.TB) {
	t.Helper()
	for _, b := range []string{"mariadbd", "mariadb-install-db", "mariadb"} {
		if _, err := exec.LookPath(b); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatalf("%s is missing: install mariadb-server", b)
			}
			t.Skipf("%s is missing: install mariadb-server to run this test", b)
		}
	}
}

func install(dir string) (*maria, error) {
	out, err := exec.Command("mariadb-install-db", append([]string{"--no-defaults", "--datadir=" + filepath.Join(dir, "data"),
		"--auth-root-authentication-method=normal", "--skip-test-db"}, asUser()...)...).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("mariadb-install-db: %w: %s", err, tail(out))
	}
	return &maria{dir: dir, sock: filepath.Join(dir, "s")}, certificate(dir)
}

// certificate writes the key pair under which the server offers TLS.
func certificate(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "db.example.com"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	if err != nil {
		return err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	for name, b := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: cert}, "key.pem": {Type: "PRIVATE KEY", Bytes: pkcs8}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(b), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func asUser() []string {
	if os.Getuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}

func tail(b []byte) string {
	if len(b) > 300 {
		b = b[len(b)-300:]
	}
	return strings.TrimSpace(string(b))
}

func (m *maria) start() error {
	m.cmd = exec.Command("mariadbd", append([]string{"--no-defaults", "--datadir=" + filepath.Join(m.dir, "data"), "--socket=" + m.sock, "--skip-networking",
		"--pid-file=" + filepath.Join(m.dir, "pid"), "--innodb-buffer-pool-size=32M", "--skip-log-bin", "--max-allowed-packet=32M", "--performance-schema=OFF",
		"--ssl-cert=" + filepath.Join(m.dir, "cert.pem"), "--ssl-key=" + filepath.Join(m.dir, "key.pem")}, asUser()...)...)
	var log strings.Builder
	m.cmd.Stderr = &log
	if err := m.cmd.Start(); err != nil {
		return err
	}
	m.done = make(chan struct{})
	go func() {
		_ = m.cmd.Wait()
		close(m.done)
	}()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		if c, err := net.Dial("unix", m.sock); err == nil {
			return c.Close()
		}
		select {
		case <-m.done:
			return fmt.Errorf("mariadbd ended: %s", tail([]byte(log.String())))
		case <-time.After(20 * time.Millisecond):
		}
	}
	return errors.New("mariadbd does not listen")
}

func (m *maria) kill() {
	if m.cmd != nil && m.cmd.Process != nil {
		_ = m.cmd.Process.Kill()
		<-m.done
	}
}

// sql runs statements as root.
func (m *maria) sql(text string) (string, error) {
	c := exec.Command("mariadb", "--no-defaults", "-uroot", "-N", "--default-character-set=utf8mb4", "--socket="+m.sock)
	c.Stdin = strings.NewReader(text)
	out, err := c.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("mariadb: %w: %s", err, tail(out))
	}
	return strings.TrimSpace(string(out)), nil
}

func (m *maria) must(t testing.TB, text string) string {
	t.Helper()
	out, err := m.sql(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (m *maria) dsn(user string) string { return user + ":pw-" + user + "@unix(" + m.sock + ")/shop" }

const schema = `
CREATE DATABASE shop CHARACTER SET utf8mb4; USE shop;
CREATE TABLE types (
  id BIGINT UNSIGNED PRIMARY KEY, small TINYINT, flag TINYINT(1), bit1 BIT(1), bit9 BIT(9), bit64 BIT(64), yr YEAR, big BIGINT, dec_ DECIMAL(20,4), f FLOAT, d DOUBLE,
  ts TIMESTAMP(3) NULL, dt DATETIME(2), da DATE, ti TIME, e ENUM('new','old'), s SET('a','b','c'), j JSON, c CHAR(4), v VARCHAR(200), t TEXT, vb VARBINARY(16), bl BLOB, g GEOMETRY);
INSERT INTO types VALUES
 (1, -7, 1, b'1', b'100000001', 18446744073709551615, 2026, 9007199254740993, 12345678901234.5000, 0.1, 1e300, '2026-01-01 10:00:00.250', '2026-01-01 10:00:00.5', '2026-01-01', '-838:59:59', 'new', 'a,c',
  '{"n": 9007199254740993, "list": [1, 2.50, null, true], "text": "x\\ny"}', 'ab', '数据 "quoted"', 'line\none', x'00ff', x'0102', ST_GeomFromText('POINT(1 2)')),
 (18446744073709551615, 5, 2, b'0', 0, 1, NULL, -9007199254740991, -0.5000, -1.5, 0, NULL, NULL, NULL, '00:00:01', NULL, '', NULL, '', '', '', '', '', NULL),
 (3, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
SET sql_mode='';
INSERT INTO types (id, dt, da, ts) VALUES (4, '0000-00-00 00:00:00', '2026-02-00', '0000-00-00 00:00:00');
SET sql_mode=DEFAULT;
CREATE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT, customer_id INT, status VARCHAR(16), total DECIMAL(12,2), note TEXT, KEY by_status (status), KEY by_hidden (status, note(20)));
INSERT INTO orders (customer_id, status, total, note) SELECT seq % 7, IF(seq % 3, 'PAID', 'FAILED'), seq * 1.5, CONCAT('note ', seq) FROM seq_1_to_500;
CREATE TABLE customers (id INT PRIMARY KEY, name VARCHAR(64), email VARCHAR(128), phone VARCHAR(20), settings VARCHAR(500));
INSERT INTO customers VALUES (1, 'Ada', 'ada@example.com', '555-0100', CONCAT('endpoint=https://example.com pass', 'word=Zq8-canary-0451 retries=3')), (2, 'Bo', NULL, '555-0101', 'none');
CREATE TABLE big (id INT PRIMARY KEY, body LONGTEXT);
INSERT INTO big VALUES (1, REPEAT('x', 12 * 1024 * 1024)), (2, REPEAT('y', 1000)), (3, REPEAT('z', 3 * 1024 * 1024));
CREATE TABLE numbers (n INT PRIMARY KEY);
INSERT INTO numbers SELECT seq FROM seq_1_to_3000;
CREATE USER ro IDENTIFIED BY 'pw-ro'; GRANT SELECT ON shop.* TO ro;
CREATE USER rw IDENTIFIED BY 'pw-rw'; GRANT SELECT, INSERT ON shop.* TO rw;
CREATE USER narrow IDENTIFIED BY 'pw-narrow'; GRANT SELECT (id, name) ON shop.customers TO narrow;
`
