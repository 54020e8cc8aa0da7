package server

import (
	"net"
	"os"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/boundary/boundarytest"
	"github.com/seed-069badc9/mcp-gateway/tools/mysql"
)

func bind(t *testing.T, o Options, maxRows int) boundary.BoundTool {
	t.Helper()
	tool, err := mysql.New(mysql.Options{Datasources: []mysql.Datasource{{Name: "shop", Description: "orders and customers", Guard: guard(t, maxRows), Executor: open(t, o)}}})
	if err != nil {
		t.Fatal(err)
	}
	return boundary.Bind(tool)
}

func TestBoundary(t *testing.T) {
	m := server(t)
	boundarytest.Run(t, boundarytest.Subject{
		Tool:   bind(t, Options{DSN: m.dsn("ro")}, 0),
		Found:  `{"datasource":"shop","sql":"SELECT id, name, email, settings FROM customers ORDER BY id"}`,
		Empty:  `{"datasource":"shop","sql":"SELECT id, name FROM customers WHERE id > 1000"}`,
		Cut:    `{"datasource":"shop","sql":"SELECT n, REPEAT('wide ', 60) AS w FROM numbers ORDER BY n"}`,
		Secret: "Zq8-canary-0451",
		Endless: func(t *testing.T) (boundary.BoundTool, string) {
			return bind(t, Options{DSN: m.dsn("ro"), Timeout: time.Minute}, 100000), `{"datasource":"shop","sql":"SELECT REPEAT('x', 9000) AS x FROM numbers a JOIN numbers b ON a.n <> b.n"}`
		},
		Stuck: func(t *testing.T) (boundary.BoundTool, string, <-chan struct{}) {
			dsn, started := silent(t)
			return bind(t, Options{DSN: dsn, Timeout: time.Minute}, 0), `{"datasource":"shop","sql":"SELECT id FROM customers"}`, started
		},
		Restricted: boundary.Datasources, Name: "shop",
	})
}

// silent is a listener that accepts and says nothing.
func silent(t *testing.T) (dsn string, started <-chan struct{}) {
	t.Helper()
	dir, err := os.MkdirTemp("", "mgw")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", dir+"/s")
	if err != nil {
		t.Fatal(err)
	}
	ch, done := make(chan struct{}, 16), make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			ch <- struct{}{}
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
		_ = os.RemoveAll(dir)
	})
	return "ro:x@unix(" + dir + "/s)/shop", ch
}
