package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	sqle "github.com/dolthub/go-mysql-server"
	"github.com/dolthub/go-mysql-server/memory"
	"github.com/dolthub/go-mysql-server/server"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/vitess/go/mysql"
	"github.com/dolthub/vitess/go/sqltypes"
	"github.com/sirupsen/logrus"
)

// The account that the gateway logs in with may read the shop and nothing else: the gateway looks at SHOW GRANTS and refuses an account that can write.
const (
	readerName = "reader"
	readerPass = "demo-only"
	shopName   = "shop"
)

// shop is a MySQL-protocol server in this process with the tables of a small shop.
type shop struct {
	srv  *server.Server
	addr string
	done chan error
}

// startShop serves on a free loopback port. Its contents depend on nothing but this file.
func startShop() (*shop, error) {
	logrus.SetOutput(io.Discard) // the engine logs every statement that fails, with its text
	db := memory.NewDatabase(shopName)
	db.BaseDatabase.EnablePrimaryKeyIndexes()
	provider := memory.NewDBProvider(db)
	engine := sqle.NewDefault(provider)
	session := memory.NewSession(sql.NewBaseSessionWithClientServer("", sql.Client{User: "root", Address: "localhost"}, 1), provider)
	ctx := sql.NewContext(context.Background(), sql.WithSession(session))
	ctx.SetCurrentDatabase(shopName)
	for _, text := range shopSQL() {
		if err := execute(ctx, engine, text); err != nil {
			return nil, fmt.Errorf("filling the shop: %w", err)
		}
	}
	accounts := engine.Analyzer.Catalog.MySQLDb
	accounts.SetPersister(forget{})
	accounts.AddRootAccount()
	for _, text := range []string{
		fmt.Sprintf("CREATE USER '%s'@'localhost' IDENTIFIED BY '%s'", readerName, readerPass),
		fmt.Sprintf("GRANT SELECT ON %s.* TO '%s'@'localhost'", shopName, readerName),
		fmt.Sprintf("GRANT SELECT ON mysql.* TO '%s'@'localhost'", readerName), // MySQL shows everybody their own grants; this engine shows them only to who may read this schema
		"DROP USER 'root'@'localhost'",
	} {
		if err := execute(ctx, engine, text); err != nil {
			return nil, fmt.Errorf("making the shop's account: %w", err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening on loopback: %w", err)
	}
	srv, err := server.NewServerWithHandler(server.Config{Listener: l}, engine, sql.NewContext, memory.NewSessionBuilder(provider), nil, likeMySQL)
	if err != nil {
		l.Close()
		return nil, fmt.Errorf("starting the shop: %w", err)
	}
	s := &shop{srv: srv, addr: l.Addr().String(), done: make(chan error, 1)}
	go func() { s.done <- srv.Start() }()
	return s, nil
}

func (s *shop) dsn() string {
	return fmt.Sprintf("%s:%s@tcp(%s)/%s", readerName, readerPass, s.addr, shopName)
}

func (s *shop) close() error {
	err := s.srv.Close()
	<-s.done
	return err
}

// forget is where the engine saves its accounts: they last as long as the process.
type forget struct{}

func (forget) Persist(*sql.Context, []byte) error { return nil }

// onOff answers SHOW VARIABLES as MySQL does: the engine says 1 and 0 where MySQL says ON and OFF, and the gateway takes a session that does not say
// transaction_read_only=ON for one that can write.
type onOff struct{ mysql.Handler }

func likeMySQL(h mysql.Handler) (mysql.Handler, error) { return onOff{h}, nil }

func (o onOff) ComQuery(ctx context.Context, c *mysql.Conn, query string, callback mysql.ResultSpoolFn) error {
	if !strings.HasPrefix(query, "SHOW SESSION VARIABLES") {
		return o.Handler.ComQuery(ctx, c, query, callback)
	}
	return o.Handler.ComQuery(ctx, c, query, func(res *sqltypes.Result, more bool) error {
		for _, row := range res.Rows {
			if name := row[0].ToString(); name == "autocommit" || strings.HasSuffix(name, "_read_only") {
				row[1] = sqltypes.NewVarChar(map[string]string{"1": "ON", "0": "OFF"}[row[1].ToString()])
			}
		}
		return callback(res, more)
	})
}

func execute(ctx *sql.Context, engine *sqle.Engine, text string) error {
	_, rows, _, err := engine.Query(ctx, text)
	if err != nil {
		return err
	}
	_, err = sql.RowIterToRows(ctx, rows)
	return err
}

const shopTables = `CREATE TABLE customers (id BIGINT PRIMARY KEY, name VARCHAR(80) NOT NULL, email VARCHAR(120) NOT NULL, city VARCHAR(40) NOT NULL, api_token VARCHAR(64) NOT NULL);
CREATE TABLE orders (id BIGINT PRIMARY KEY, customer_id BIGINT NOT NULL, status VARCHAR(16) NOT NULL, failure VARCHAR(32), total DECIMAL(10,2) NOT NULL, created_at DATETIME NOT NULL);
CREATE TABLE releases (id BIGINT PRIMARY KEY, service VARCHAR(32) NOT NULL, version VARCHAR(16) NOT NULL, released_at DATETIME NOT NULL, note VARCHAR(200) NOT NULL)`

// shopSQL creates and fills the tables: one order every two seconds, and while the pool is exhausted most of them fail.
func shopSQL() []string {
	out := strings.Split(shopTables, ";\n")
	var rows []string
	flush := func(table string) {
		if len(rows) > 0 {
			out = append(out, "INSERT INTO "+table+" VALUES "+strings.Join(rows, ", "))
		}
		rows = rows[:0]
	}
	r := newDice(1)
	for id := range customerCount {
		name := customerName(id)
		rows = append(rows, fmt.Sprintf("(%d, '%s', '%s', '%s', '%s')", id+1, name, customerEmail(id), pick(r, cities), shopToken(id)))
	}
	flush("customers")
	for i := range int(logEnd.Sub(logStart) / orderEvery) {
		at := logStart.Add(time.Duration(i) * orderEvery)
		status, failure := "PAID", "NULL"
		switch {
		case broken(at) && r.upTo(100) < 71:
			status, failure = "FAILED", "'PAYMENT_TIMEOUT'"
		case r.upTo(100) < 2:
			status, failure = "FAILED", "'CARD_DECLINED'"
		}
		rows = append(rows, fmt.Sprintf("(%d, %d, '%s', %s, %d.%02d, '%s')", firstOrder+i, r.upTo(customerCount)+1, status, failure, 5+r.upTo(180), r.upTo(100), at.Format(time.DateTime)))
		if len(rows) == 900 {
			flush("orders")
		}
	}
	flush("orders")
	for i, rel := range releases {
		rows = append(rows, fmt.Sprintf("(%d, '%s', '%s', '%s', '%s')", i+1, rel.service, rel.version, rel.at.Format(time.DateTime), rel.note))
	}
	flush("releases")
	return out
}
