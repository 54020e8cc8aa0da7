package sqlguard_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// startServer runs a MariaDB of its own on a unix socket, loads the test schema and returns the pools of
// root and of an account that may read the columns of the test policy and nothing else.
func startServer(t *testing.T) (root, reader *sql.DB) {
	t.Helper()
	need := func(names ...string) string {
		for _, n := range names {
			if p, err := exec.LookPath(n); err == nil {
				return p
			}
		}
		if os.Getenv("CI") != "" {
			t.Fatalf("none of %v is installed", names)
		}
		t.Skipf("none of %v is installed", names)
		return ""
	}
	server, install := need("mariadbd"), need("mariadb-install-db", "mysql_install_db")
	// A unix socket's path has to be short, which t.TempDir does not promise.
	dir, err := os.MkdirTemp("", "sg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	data, sock := filepath.Join(dir, "d"), filepath.Join(dir, "s")
	args := []string{"--no-defaults", "--datadir=" + data}
	if os.Getuid() == 0 {
		args = append(args, "--user=root")
	}
	if out, err := exec.Command(install, append(args, "--auth-root-authentication-method=normal", "--skip-test-db")...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(server, append(args, "--socket="+sock, "--skip-networking", "--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M")...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	open := func(user, schema string) *sql.DB {
		c, err := mysql.ParseDSN(user + "@unix(" + sock + ")/" + schema + "?charset=utf8mb4&sql_mode='STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'&time_zone='%2B00:00'")
		if err != nil {
			t.Fatal(err)
		}
		c.MultiStatements = schema == ""
		conn, err := mysql.NewConnector(c)
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(conn)
		t.Cleanup(func() { db.Close() })
		return db
	}
	admin := open("root", "")
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := admin.PingContext(t.Context())
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the server does not answer: ", err)
		}
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
	schema, err := os.ReadFile("testdata/schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.ExecContext(t.Context(), string(schema)); err != nil {
		t.Fatal(err)
	}
	grants := []string{"CREATE USER reader@localhost"}
	for schema, tables := range shop().Schemas {
		for name, spec := range tables {
			grants = append(grants, "GRANT SELECT (`"+strings.Join(spec.Columns, "`, `")+"`) ON `"+schema+"`.`"+name+"` TO reader@localhost")
		}
	}
	for _, g := range grants {
		if _, err := admin.ExecContext(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	return open("root", "store"), open("reader", "store")
}

// table is what a query gave: names, and rows in order with NULL as \N.
type table struct {
	Columns []string
	Rows    []string
}

// asker is a pool or one connection of it.
type asker interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func ask(t *testing.T, db asker, query string) (table, error) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		return table{}, err
	}
	defer rows.Close()
	var out table
	if out.Columns, err = rows.Columns(); err != nil {
		return table{}, err
	}
	for rows.Next() {
		cells := make([]sql.RawBytes, len(out.Columns))
		into := make([]any, len(cells))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			return table{}, err
		}
		var b []string
		for _, c := range cells {
			if c == nil {
				b = append(b, `\N`)
			} else {
				b = append(b, string(c))
			}
		}
		out.Rows = append(out.Rows, strings.Join(b, "\t"))
	}
	return out, rows.Err()
}

// syntaxOrUnknown tells whether the server lacks the syntax or the function.
func syntaxOrUnknown(err error) bool {
	var e *mysql.MySQLError
	return errors.As(err, &e) && (e.Number == 1064 || e.Number == 1305)
}
