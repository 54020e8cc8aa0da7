package servertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// MariaDB is a private MariaDB server. root has no password and comes in over the socket.
type MariaDB struct {
	*process
	Socket string
	client string
}

// StartMariaDB starts a server and runs setup as root.
func StartMariaDB(tb testing.TB, setup string, args ...string) *MariaDB {
	tb.Helper()
	server := need(tb, "mariadb-server", "mariadbd")
	install := need(tb, "mariadb-server", "mariadb-install-db")
	client := need(tb, "mariadb-client", "mariadb")
	dir := folder(tb)
	data, sock := filepath.Join(dir, "d"), filepath.Join(dir, "s")
	base := []string{"--no-defaults", "--datadir=" + data}
	if os.Getuid() == 0 {
		base = append(base, "--user=root")
	}
	// A server that starts removes the temporary tables that it finds in its folder for them, also those of another server.
	setUp := exec.Command(install, append(base, "--auth-root-authentication-method=normal", "--skip-test-db")...)
	setUp.Env = append(os.Environ(), "TMPDIR="+dir)
	if out, err := setUp.CombinedOutput(); err != nil {
		tb.Fatalf("mariadb-install-db: %v\n%s", err, out)
	}
	m := &MariaDB{Socket: sock, client: client}
	m.process = launch(tb, server, func(port int) []string {
		return append(append(base, "--socket="+sock, "--port="+strconv.Itoa(port), "--bind-address=127.0.0.1", "--pid-file="+filepath.Join(dir, "pid"),
			"--tmpdir="+dir, "--innodb-buffer-pool-size=32M", "--innodb-log-file-size=8M", "--skip-log-bin"), args...)
	})
	if setup != "" {
		m.SQL(tb, setup)
	}
	return m
}

// SQL runs statements as root and returns what the client prints, without headers.
func (m *MariaDB) SQL(tb testing.TB, statements string) string {
	tb.Helper()
	cmd := exec.Command(m.client, "--no-defaults", "-uroot", "-N", "--socket="+m.Socket)
	cmd.Stdin = strings.NewReader(statements)
	out, err := cmd.CombinedOutput()
	if err != nil {
		tb.Fatalf("SQL: %v\n%s", err, out)
	}
	return string(out)
}

// DSN is the address of a database for an account.
func (m *MariaDB) DSN(user, password, database string) string {
	return fmt.Sprintf("%s:%s@tcp(%s)/%s", user, password, m.Addr(), database)
}
