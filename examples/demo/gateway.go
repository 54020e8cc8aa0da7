package main

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

//go:embed runbooks
var runbooks embed.FS

// configText is the gateway's configuration. The account's password comes from the environment, as it should anywhere.
const configText = `# Written by examples/demo.
logs:
  topics:
    edge:      {description: "access log of the web server, 2026-03-14 08:00 to 10:00 UTC", files: {paths: ["logs/edge.log*"]}}
    checkout:  {description: "checkout service, JSON lines, 2026-03-14 08:00 to 10:00 UTC", files: {paths: ["logs/checkout.log*"]}}
    payments:  {description: "payments service, Java text and stack traces, 2026-03-14 08:00 to 10:00 UTC", files: {paths: ["logs/payments.log*"]}, app_packages: [com.example.payments]}
    inventory: {description: "inventory service, key=value, 2026-03-14 08:00 to 10:00 UTC", files: {paths: ["logs/inventory.log*"]}}
rag:
  index_dir: index
  collections:
    runbooks: {description: "operations runbooks in English and Chinese", folder: {path: runbooks}}
mysql:
  datasources:
    shop:
      description: orders, customers and releases of the shop
      dsn: "${SHOP_DSN}"
      schemas:
        shop:
          orders: [id, customer_id, status, failure, total, created_at]
          customers: {columns: [id, name, email, city], masked: [email]}
          releases: [id, service, version, released_at, note]
canonical: {store: "file:canonical.db"}
audit: {file: audit.jsonl}
log: {level: warn}
http: {listen: "%s"}
`

// demo is the world of one run of this program: a temporary folder, the shop, and how to start the gateway on them.
type demo struct {
	dir     string
	binary  string
	shop    *shop
	streams []*stream
	docs    int
	docSize int64
}

// newDemo makes everything that the gateway reads. Progress goes to progress, which is never standard output of a served client.
func newDemo(ctx context.Context, binary, listen string, progress io.Writer) (_ *demo, err error) {
	d := &demo{binary: binary}
	if d.dir, err = os.MkdirTemp("", "mcp-gateway-demo-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.close())
		}
	}()
	if d.binary == "" {
		fmt.Fprintln(progress, "building the gateway …")
		if d.binary, err = build(ctx, d.dir); err != nil {
			return nil, err
		}
	}
	fmt.Fprintln(progress, "writing two hours of logs, the runbooks and the shop …")
	if err = os.Mkdir(d.path("logs"), 0o700); err != nil {
		return nil, err
	}
	if d.streams, err = writeLogs(d.path("logs")); err != nil {
		return nil, err
	}
	if err = d.writeRunbooks(); err != nil {
		return nil, err
	}
	if d.shop, err = startShop(); err != nil {
		return nil, err
	}
	if err = os.WriteFile(d.path("mcp-gateway.yaml"), fmt.Appendf(nil, configText, listen), 0o600); err != nil {
		return nil, err
	}
	return d, ctx.Err()
}

func (d *demo) path(name string) string { return filepath.Join(d.dir, name) }

// writeRunbooks copies the runbooks; one of them holds a token, as runbooks do.
func (d *demo) writeRunbooks() error {
	return fs.WalkDir(runbooks, "runbooks", func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := d.path(filepath.FromSlash(path))
		if e.IsDir() {
			return os.MkdirAll(to, 0o700)
		}
		b, err := runbooks.ReadFile(path)
		if err != nil {
			return err
		}
		text := strings.ReplaceAll(string(b), "{{TOKEN}}", plantedRunbook)
		d.docs++
		d.docSize += int64(len(text))
		return os.WriteFile(to, []byte(text), 0o600)
	})
}

// close stops the shop and removes the folder.
func (d *demo) close() error {
	var errs []error
	if d.shop != nil {
		errs = append(errs, d.shop.close())
	}
	return errors.Join(append(errs, os.RemoveAll(d.dir))...)
}

// gateway is the command that runs the real gateway on this world. It is asked to end before it is killed.
func (d *demo) gateway(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, d.binary, append(args, "--config", d.path("mcp-gateway.yaml"))...)
	cmd.Dir = d.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + d.dir, "TMPDIR=" + d.dir, "SHOP_DSN=" + d.shop.dsn()}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// sourceDir is the folder that this program was built from.
func sourceDir() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(file)
}

var errNoCheckout = errors.New("the gateway's source is not where this program was built; run it from a checkout with \"go run -C examples/demo .\", or name a gateway with --gateway PATH")

// build compiles the gateway of this checkout into dir.
func build(ctx context.Context, dir string) (string, error) {
	root := filepath.Join(sourceDir(), "..", "..")
	if _, err := os.Stat(filepath.Join(root, "cmd", "mcp-gateway", "main.go")); err != nil {
		return "", errNoCheckout
	}
	out := filepath.Join(dir, "mcp-gateway")
	if runtime.GOOS == "windows" {
		out += ".exe"
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", out, "./cmd/mcp-gateway")
	cmd.Dir = root
	if msg, err := cmd.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("building the gateway: %w\n%s", err, msg)
	}
	return out, nil
}
