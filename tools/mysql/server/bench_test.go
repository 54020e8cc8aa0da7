package server

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/seed-069badc9/mcp-gateway/boundary"
)

// BenchmarkRun compares a plan run by the executor with the plain driver scanning the same rows, in one run on one server.
func BenchmarkRun(b *testing.B) {
	m := server(b)
	s := open(b, Options{DSN: m.dsn("ro")})
	db, err := sql.Open("mysql", m.dsn("ro"))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	g := guard(b, 200)
	for _, c := range []struct {
		rows int
		sql  string
	}{{1, "SELECT id, customer_id, status, total FROM orders WHERE id = 7"}, {200, "SELECT id, customer_id, status, total FROM orders LIMIT 200"}} {
		plan := mustPlan(b, g, c.sql)
		b.Run(fmt.Sprintf("driver/rows=%d", c.rows), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				plainScan(b, db, plan.SQL(), c.rows)
			}
		})
		b.Run(fmt.Sprintf("executor/rows=%d", c.rows), func(b *testing.B) {
			p := permit(b, 1<<40)
			b.ReportAllocs()
			for b.Loop() {
				raw, err := s.Run(context.Background(), p, plan)
				if err != nil || len(raw.Rows) != c.rows {
					b.Fatal(len(raw.Rows), err)
				}
			}
		})
	}
}

func plainScan(b *testing.B, db *sql.DB, text string, want int) {
	rows, err := db.QueryContext(context.Background(), text)
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	var id, customer sql.NullInt64
	var status, total sql.NullString
	for rows.Next() {
		if err := rows.Scan(&id, &customer, &status, &total); err != nil {
			b.Fatal(err)
		}
		n++
	}
	if err := rows.Close(); err != nil || n != want {
		b.Fatal(n, err)
	}
}

// BenchmarkCall is a whole call through a boundary with a memory store.
func BenchmarkCall(b *testing.B) {
	g := newGateway(b, open(b, Options{DSN: server(b).dsn("ro")}), guard(b, 200), boundary.Limits{})
	for _, c := range []struct{ name, sql string }{{"rows=1", "SELECT id, customer_id, status, total FROM orders WHERE id = 7"}, {"rows=200", "SELECT id, customer_id, status, total FROM orders LIMIT 200"}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := g.ask(b, c.sql); err != nil {
					b.Fatal(explainErr(err))
				}
			}
		})
	}
}
