package clients

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/internal/servertest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(buildDir())
	os.Exit(code)
}

var (
	buildDir = sync.OnceValue(func() string {
		dir, err := os.MkdirTemp("", "mcp-gateway")
		if err != nil {
			panic(err)
		}
		return dir
	})
	// gatewayBinary is the gateway that is tested, with the race detector when the test has it: that build shares its packages with those of the other tests.
	gatewayBinary = sync.OnceValues(func() (string, error) {
		path := filepath.Join(buildDir(), "mcp-gateway")
		args := []string{"build", "-buildvcs=false", "-o", path}
		if bi, ok := debug.ReadBuildInfo(); ok && slices.Contains(bi.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
			args = append(args, "-race")
		}
		if out, err := exec.Command("go", append(args, "../cmd/mcp-gateway")...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("go build: %w\n%s", err, out)
		}
		return path, nil
	})
)

// Secrets in the data. They are put together here so that no scanner takes them for real ones.
const (
	logSecret  = "canary-" + "log-4711"
	docSecret  = "canary-" + "doc-4712"
	rowSecret  = "canary-" + "row-4713"
	agentToken = "token-" + "of-clients-not-real"
)

// shop is the data that the clients ask about, and the gateway's program.
type shop struct {
	program string
	dir     string
	dsn     string
}

// newShop writes logs and runbooks.
func newShop(tb testing.TB) *shop {
	tb.Helper()
	program, err := gatewayBinary()
	if err != nil {
		tb.Fatal(err)
	}
	s := &shop{program: program, dir: tb.TempDir(), dsn: "reader:none@tcp(127.0.0.1:1)/shop"}
	for name, text := range map[string]string{
		"logs/checkout.log": `{"time":"2026-01-01T10:05:07Z","level":"ERROR","service":"checkout","msg":"payment declined: gateway answered 502 password=` + logSecret + `"}` + "\n" +
			`{"time":"2026-01-01T10:05:08Z","level":"INFO","service":"checkout","msg":"order 7 accepted"}` + "\n",
		"runbooks/zh.md":   "# 支付网关返回 502\n\n支付网关返回 502 时，切换到备用网关：`payctl failover --region eu`。密码 password: " + docSecret + "\n",
		"runbooks/disk.md": "# Disk full on the database host\n\nDelete old binary logs after checking the replicas.\n",
	} {
		path := filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return s
}

// startDatabase starts the shop's database.
func (s *shop) startDatabase(tb testing.TB) {
	tb.Helper()
	db := servertest.StartMariaDB(tb, `CREATE DATABASE shop CHARACTER SET utf8mb4; USE shop;
CREATE TABLE orders (id INT PRIMARY KEY, customer_id BIGINT, status VARCHAR(16), total DECIMAL(10,2));
INSERT INTO orders VALUES (7, 1, 'PAID', 12.50), (8, 9007199254740993, 'FAILED', 99.00);
CREATE TABLE customers (id BIGINT PRIMARY KEY, name VARCHAR(64), email VARCHAR(128));
INSERT INTO customers VALUES (9007199254740993, '阿达', '`+rowSecret+`@example.com');
CREATE USER reader@'%' IDENTIFIED BY 'reader-fake'; GRANT SELECT ON shop.* TO reader@'%';`)
	s.dsn = db.DSN("reader", "reader-fake", "shop")
}

// config writes a configuration with more in front and returns its path.
func (s *shop) config(tb testing.TB, name, more string) string {
	tb.Helper()
	path := filepath.Join(s.dir, name)
	text := more + `log: {format: json}
rag: {index_dir: index, collections: {runbooks: {description: operations runbooks, folder: {path: runbooks}}}}
logs: {topics: {checkout: {description: checkout service, files: {paths: ["logs/*.log"], timezone: UTC}}}}
mysql: {datasources: {shop: {description: orders and customers, dsn: "` + s.dsn + `", schemas: {shop: {orders: [id, customer_id, status, total], customers: {columns: [id, name, email], masked: [email]}}}}}}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// serve runs `mcp-gateway http` until the test ends and returns its URL.
func (s *shop) serve(tb testing.TB, config string) string {
	tb.Helper()
	url, log := s.tryServe(tb, config)
	if url == "" {
		tb.Fatalf("mcp-gateway http does not start:\n%s", log)
	}
	return url
}

// serveAtOrigin is serve at an address that the configuration has to name, as allowed_origins does. Another process may take the address first; then it tries another.
func (s *shop) serveAtOrigin(tb testing.TB, name string, more func(address string) string) string {
	tb.Helper()
	for range 5 {
		url, log := s.tryServe(tb, s.config(tb, name, more(freeAddress(tb))))
		if url != "" {
			return url
		}
		if !strings.Contains(log, "in use by another process") {
			tb.Fatalf("mcp-gateway http does not start:\n%s", log)
		}
	}
	tb.Fatal("mcp-gateway http finds no free port")
	return ""
}

// tryServe starts the gateway and returns its URL, or "" and its log when it ends instead. One that serves is ended with the test: with 0 on SIGTERM, and having
// printed no secret.
func (s *shop) tryServe(tb testing.TB, config string) (url, log string) {
	tb.Helper()
	cmd := exec.Command(s.program, "http", "--config", config)
	cmd.Dir = s.dir
	stderr, err := cmd.StderrPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	address, all := make(chan string, 1), bytes.Buffer{}
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(address)
		sc := bufio.NewScanner(stderr)
		for sc.Scan() {
			all.WriteString(sc.Text() + "\n")
			var line struct{ Msg, Address string }
			if json.Unmarshal(sc.Bytes(), &line) == nil && line.Msg == "serving over HTTP" {
				address <- line.Address
			}
		}
	})
	end := func() error {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		overdue := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
		defer overdue.Stop()
		reading.Wait()
		return cmd.Wait()
	}
	select {
	case a := <-address:
		if a == "" {
			_ = end()
			return "", all.String()
		}
		url = "http://" + a + "/mcp"
	case <-time.After(patience):
		_ = end()
		return "", all.String()
	}
	tb.Cleanup(func() {
		if err := end(); err != nil {
			tb.Errorf("mcp-gateway http: %v\n%s", err, all.String())
		}
		noSecret(tb, "the log of the gateway", all.String())
	})
	return url, ""
}

// freeAddress is a loopback address that nobody listens on.
func freeAddress(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// noSecret holds text against the secrets of the data, and against what the race detector prints.
func noSecret(tb testing.TB, what, text string) {
	tb.Helper()
	for _, s := range []string{logSecret, docSecret, rowSecret, agentToken, "reader-fake", "DATA RACE"} {
		if strings.Contains(text, s) {
			tb.Errorf("%s holds %q", what, s)
		}
	}
}
