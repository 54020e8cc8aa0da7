package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/redis/go-redis/v9"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/evidence"
	"github.com/seed-069badc9/mcp-gateway/harness"
	"github.com/seed-069badc9/mcp-gateway/internal/config"
	"github.com/seed-069badc9/mcp-gateway/internal/mcpserver"
	"github.com/seed-069badc9/mcp-gateway/internal/servertest"
)

// The floor is what a call costs with nothing of ours: bare mcp-go over HTTP, two Redis scripts, one SELECT. It is this test binary under another role, as are the
// servers that are held against it, so that the CPU of each can be read from the system.
const roleEnv = "MCP_GATEWAY_TEST_ROLE"

func init() {
	switch os.Getenv(roleEnv) {
	case "floor":
		serveFloor()
	case "noop":
		serveNoop()
	case "gateway":
		ctx, cancel := context.WithCancel(context.Background())
		go func() { io.Copy(io.Discard, os.Stdin); cancel() }()
		os.Exit(run(ctx, os.Args[1:], strings.NewReader(""), io.Discard, os.Stderr))
	}
}

// The floor's scripts do the least that a budgeted call with a record needs.
const (
	floorOpen  = `if redis.call('EXISTS',KEYS[2])==1 then return 0 end redis.call('HINCRBY',KEYS[1],'calls',1) redis.call('PEXPIRE',KEYS[1],60000) redis.call('HSET',KEYS[2],'state','P','request',ARGV[1]) redis.call('PEXPIRE',KEYS[2],60000) return 1`
	floorClose = `if redis.call('HGET',KEYS[2],'state')~='P' then return 0 end redis.call('HINCRBY',KEYS[1],'bytes',#ARGV[1]+#ARGV[2]) redis.call('HSET',KEYS[2],'state','R','raw',ARGV[1],'obs',ARGV[2]) return 1`
)

func untilStdinEnds() { io.Copy(io.Discard, os.Stdin); os.Exit(0) }

func announce(l net.Listener) { fmt.Fprintf(os.Stderr, "{\"address\":%q}\n", l.Addr()) }

func serveFloor() {
	r := redis.NewClient(&redis.Options{Addr: os.Getenv("FLOOR_REDIS"), ContextTimeoutEnabled: true})
	db, err := sql.Open("mysql", os.Getenv("FLOOR_DSN"))
	if err != nil {
		panic(err)
	}
	open, end := redis.NewScript(floorOpen), redis.NewScript(floorClose)
	var mu sync.Mutex
	n := 0
	s := server.NewMCPServer("floor", "1")
	handler := func(query bool) server.ToolHandlerFunc {
		return func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			mu.Lock()
			n++
			id := strconv.Itoa(n)
			mu.Unlock()
			keys := []string{"{f}:r", "{f}:c:" + id}
			if err := open.Run(ctx, r, keys, `{"sql":"x"}`).Err(); err != nil {
				return nil, err
			}
			answer := map[string]any{"rows": [][]any{{id}}}
			if query {
				var status string
				if err := db.QueryRowContext(ctx, "SELECT status FROM orders WHERE id = 2").Scan(&status); err != nil {
					return nil, err
				}
				answer["rows"] = [][]any{{status}}
			}
			text, err := json.Marshal(answer)
			if err != nil {
				return nil, err
			}
			if err := end.Run(ctx, r, keys, text, text).Err(); err != nil {
				return nil, err
			}
			return mcp.NewToolResultStructured(answer, string(text)), nil
		}
	}
	schema := json.RawMessage(`{"type":"object"}`)
	s.AddTool(mcp.NewToolWithRawSchema("query_words", "", schema), handler(false))
	s.AddTool(mcp.NewToolWithRawSchema("query_mysql", "", schema), handler(true))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	announce(l)
	go untilStdinEnds()
	panic(http.Serve(l, server.NewStreamableHTTPServer(s, server.WithStateLess(true))))
}

// noSchemas is a face without datasources.
type noSchemas struct{}

func (noSchemas) Datasources(boundary.Grants) []string { return nil }
func (noSchemas) Schema(context.Context, string, boundary.Grants) (json.RawMessage, error) {
	return nil, errNoDatasource
}

// serveNoop is the gateway's whole path around a tool that does nothing.
func serveNoop() {
	store, err := openStore(&config.Config{Canonical: config.Canonical{Store: config.NewSecret("redis://" + os.Getenv("FLOOR_REDIS") + "/1")}}, slog.New(slog.DiscardHandler))
	if err != nil {
		panic(err)
	}
	ledger := canonical.NewLedger(store, nil)
	p := harness.DefaultPolicy()
	p.Ceilings = canonical.Ceilings{}
	p.Defaults.Limits = canonical.Limits{Calls: 1 << 40, RequestBytes: 1 << 50, RawBytes: 1 << 50, ObservationBytes: 1 << 50}
	p.Defaults.NoGain = canonical.NoGain{Limit: 100, Window: 100}
	runs := harness.New(store, p)
	b, err := boundary.New(boundary.Options{Ledger: ledger, Controller: runs}, boundary.Bind(&pausing{}))
	if err != nil {
		panic(err)
	}
	srv, err := mcpserver.New(mcpserver.Options{Core: b, Resolver: runs, Verifier: evidence.New(ledger), Schemas: noSchemas{},
		HTTP: mcpserver.HTTPOptions{Listen: "127.0.0.1:0", Auth: mcpserver.Everyone{Caller: mcpserver.Caller{Principal: "p", Role: mcpserver.RoleAgent}}}})
	if err != nil {
		panic(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	announce(l)
	go untilStdinEnds()
	panic(srv.Serve(context.Background(), l, nil))
}

// child is a server in its own process.
type child struct {
	url string
	pid int
}

func startChild(b *testing.B, role string, env []string, args ...string) *child {
	b.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), append(env, roleEnv+"="+role)...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { stdin.Close(); cmd.Wait() })
	sc := bufio.NewScanner(stderr)
	for sc.Scan() {
		var m struct {
			Address string `json:"address"`
		}
		if json.Unmarshal(sc.Bytes(), &m) == nil && m.Address != "" {
			go io.Copy(io.Discard, stderr)
			path := "/mcp"
			return &child{url: "http://" + m.Address + path, pid: cmd.Process.Pid}
		}
		b.Log(sc.Text())
	}
	b.Fatalf("%s did not start", role)
	return nil
}

// cpu is the processor time that the process has used, in clock ticks of 10 ms.
func (c *child) cpu(b *testing.B) float64 {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.pid))
	if err != nil {
		b.Skip("the system does not tell a process's CPU time")
	}
	f := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	u, _ := strconv.ParseFloat(f[11], 64)
	s, _ := strconv.ParseFloat(f[12], 64)
	return u + s
}

func (c *child) post(b *testing.B, tool, args string) {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args + `}}`
	req, err := http.NewRequest("POST", c.url, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("MCP-Protocol-Version", "2025-11-25")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 || bytes.Contains(data, []byte(`"isError":true`)) || bytes.Contains(data, []byte(`"error"`)) {
		b.Fatalf("%s: %d %s %v", c.url, res.StatusCode, data, err)
	}
}

// compare drives two servers in turn, in blocks, and reports the ratio of their CPU time a call and of their throughput with 16 clients.
func compare(b *testing.B, ours, floor *child, tool, args string) {
	const block, rounds, clients = 100, 20, 16
	for _, c := range []*child{ours, floor} {
		for range 50 {
			c.post(b, tool, args)
		}
	}
	var cpu, wall [2]float64
	for b.Loop() {
		for range rounds {
			for i, c := range []*child{ours, floor} {
				before, began := c.cpu(b), time.Now()
				var wg sync.WaitGroup
				for range clients {
					wg.Go(func() {
						for range block / clients {
							c.post(b, tool, args)
						}
					})
				}
				wg.Wait()
				cpu[i] += c.cpu(b) - before
				wall[i] += time.Since(began).Seconds()
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(cpu[0]/cpu[1], "cpu-ratio")
	b.ReportMetric(wall[1]/wall[0], "throughput-ratio")
}

// The ratios of docs/performance.md: the whole HTTP call of a no-op tool with Redis, and one row by key, each over the floor that runs beside it.
func BenchmarkOverTheFloor(b *testing.B) {
	r := servertest.StartRedis(b)
	db := servertest.StartMariaDB(b, "CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY, status VARCHAR(16)); INSERT INTO shop.orders VALUES (2,'FAILED'); CREATE USER ro@'%' IDENTIFIED BY 'ro-fake'; GRANT SELECT ON shop.* TO ro@'%';")
	dsn := db.DSN("ro", "ro-fake", "shop")
	env := []string{"FLOOR_REDIS=" + r.Addr(), "FLOOR_DSN=" + dsn}
	floor := startChild(b, "floor", env)
	b.Run("noop", func(b *testing.B) {
		compare(b, startChild(b, "noop", env), floor, "query_words", `{"word":"x"}`)
	})
	b.Run("one row", func(b *testing.B) {
		file := filepath.Join(b.TempDir(), "c.yaml")
		text := "http: {listen: \"127.0.0.1:0\"}\nlog: {format: json}\nruns: {limits: {calls: 1000000, request_bytes: 1GiB, raw_bytes: 1GiB, observation_bytes: 1GiB}, principal: {calls_per_minute: 1000000}}\n" +
			"canonical: {store: \"" + r.URL() + "\"}\nmysql: {datasources: {shop: {description: d, dsn: \"" + dsn + "\", schemas: {shop: {orders: [id, status]}}}}}\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
		compare(b, startChild(b, "gateway", nil, "http", "--config", file), floor, "query_mysql", `{"datasource":"shop","sql":"SELECT status FROM orders WHERE id = 2"}`)
	})
}
