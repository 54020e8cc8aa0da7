package server

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

func TestAMissingGrantIsNamedAsSuch(t *testing.T) {
	m := server(t)
	g := newGateway(t, open(t, Options{DSN: m.dsn("narrow")}), guard(t, 0), boundary.Limits{})
	if got := g.rows(t, "SELECT id, name FROM customers WHERE id = 1"); got != `[[1,"Ada"]]` {
		t.Errorf("granted columns: %s", got)
	}
	_, err := g.ask(t, "SELECT settings FROM customers")
	code, hint := codeOfRefusal(t, err)
	if code != fault.BackendError || !strings.Contains(hint, "lacks a grant") || strings.Contains(hint, "narrow") {
		t.Errorf("%s %q", code, hint)
	}
}

func TestCheckSaysWhatToDo(t *testing.T) {
	m := server(t)
	for _, c := range []struct {
		name string
		o    Options
		want string // "" for no error
	}{
		{"a reading account", Options{DSN: m.dsn("ro")}, ""},
		{"column grants", Options{DSN: m.dsn("narrow")}, ""},
		{"a writing account", Options{DSN: m.dsn("rw")}, "INSERT"},
		{"a writing account that is allowed", Options{DSN: m.dsn("rw"), AllowWritableAccount: true}, ""},
		{"a wrong password", Options{DSN: "ro:wrong-secret@unix(" + m.sock + ")/shop"}, "user or password"},
		{"a wrong database", Options{DSN: strings.Replace(m.dsn("ro"), "/shop", "/nope", 1)}, "database"},
		{"no socket", Options{DSN: "ro:wrong-secret@unix(/nonexistent/s)/shop"}, "does not exist"},
		{"nobody listens", Options{DSN: "ro:wrong-secret@tcp(" + closedPort(t) + ")/shop"}, "nothing listens"},
		{"a certificate of nobody", Options{DSN: "ro:pw-ro@tcp(" + relay(t, m.sock) + ")/shop?tls=true"}, "certificate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := open(t, c.o).Check(t.Context())
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if err != nil && (strings.Contains(err.Error(), "pw-") || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "@")) {
				t.Errorf("the error tells a secret: %v", err)
			}
		})
	}
}

// relay listens on a loopback port and passes one connection on to a socket.
func relay(t *testing.T, sock string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		in, err := l.Accept()
		if err != nil {
			return
		}
		defer in.Close()
		out, err := net.Dial("unix", sock)
		if err != nil {
			return
		}
		defer out.Close()
		wg.Go(func() { _, _ = io.Copy(out, in); _ = out.Close() })
		_, _ = io.Copy(in, out)
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}

func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestAWritableAccountServesNothing(t *testing.T) {
	g := newGateway(t, open(t, Options{DSN: server(t).dsn("rw")}), guard(t, 0), boundary.Limits{})
	_, err := g.ask(t, "SELECT n FROM numbers LIMIT 1")
	code, hint := codeOfRefusal(t, err)
	if code != fault.BackendError || !strings.Contains(hint, "check --connect") {
		t.Errorf("%s %q", code, hint)
	}
}

func TestASessionCannotWrite(t *testing.T) {
	m := server(t)
	s := open(t, Options{DSN: m.dsn("rw"), AllowWritableAccount: true})
	c := session0(t, s)
	for _, text := range []string{"INSERT INTO orders (status) VALUES ('x')", "SELECT 1; SELECT 2"} {
		if err := c.exec(t.Context(), text); err == nil {
			t.Errorf("%s went through", text)
		}
	}
	if _, err := c.Prepare("SELECT 1"); !errors.Is(err, errPlansOnly) {
		t.Errorf("Prepare: %v", err)
	}
}

func TestADSNCannotUndoThePins(t *testing.T) {
	s := open(t, Options{DSN: server(t).dsn("ro") + "?multiStatements=true&parseTime=true&sql_mode=%27ANSI_QUOTES%27&time_zone=%27%2B09%3A00%27&charset=gbk&compress=true&group_concat_max_len=4"})
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	g := newGateway(t, s, guard(t, 0), boundary.Limits{})
	if got := g.rows(t, "SELECT ts FROM types WHERE id = 1"); got != `[["2026-01-01T10:00:00.250Z"]]` {
		t.Errorf("got %s", got)
	}
}

func TestABadDSNDoesNotTellThePassword(t *testing.T) {
	for _, dsn := range []string{"ro:hunter2@tcp(db", "ro:hunter2@tcp(db)/x?tls=nope", "ro:hunter2@unix(/s)/x?tls=true", "ro:hunter2@nonet", "", "ro:hunter2@tcp(db:1)/x?timeout=hunter2"} {
		_, err := New(Options{DSN: dsn})
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", dsn, err)
		}
	}
}

func TestCheckWarnsOfRowsInClear(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]bool{
		"ro:x@tcp(192.0.2.1:1)/shop": true, "ro:x@tcp(db.example.com)/shop": true, "ro:x@tcp(192.0.2.1:1)/shop?tls=true": false, "ro:x@tcp(127.0.0.1:1)/shop": false,
		"ro:x@tcp(localhost:1)/shop": false, "ro:x@tcp([::1]:1)/shop": false, "ro:x@unix(/nonexistent/s)/shop": false,
	} {
		if got := open(t, Options{DSN: dsn}).plain; got != want {
			t.Errorf("%s: %v, want %v", dsn, got, want)
		}
	}
}
