package reliability

import (
	"bytes"
	"context"
	"net/http"
	"syscall"
	"time"
)

// cells is the fault matrix.
func cells() []cell {
	var all []cell
	for _, part := range [][]cell{preflightCells(), openCells(), executeCells(), closeCells(), databaseCells(), remoteCells(), clientCells(), crashCells(), verifyCells(), panicCells()} {
		all = append(all, part...)
	}
	return all
}

var (
	found      = []string{"EVIDENCE_FOUND"}
	storeError = []string{"STORE_ERROR"}
	noAnswer   = []string{"no answer"}
	ready      = []string{"READY"}
	gone       = []string{none}
	projecting = []string{"PROJECTING"}
	accepted   = []string{"OK"}
	unknown    = []string{"NOT_FOUND"}
	notReady   = []string{"NOT_READY"}
	failed     = []string{"INVOCATION_ERROR"}
)

const undelivered = "the record may be READY and was not delivered: harmless"

func preflightCells() []cell {
	return []cell{
		{stage: "preflight", fault: "malformed request", quick: true, answer: []string{"INVALID_REQUEST"}, record: gone, verdict: unknown,
			play: func(p *play) {
				p.once("query_mysql", arguments{"datasource": "shop", "sql": "SELECT 1", "more": cellCall})
			}},
		{stage: "preflight", fault: "forbidden statement", quick: true, answer: []string{"SQL_TABLE_NOT_ALLOWED"}, record: gone, verdict: unknown,
			play: func(p *play) { p.once("query_mysql", from("vault", cellCall)) }},
		{stage: "preflight", fault: "dead store", quick: true, answer: []string{"SQL_TABLE_NOT_ALLOWED"}, record: gone, verdict: unknown, note: "a refusal needs no store",
			play: func(p *play) {
				p.redis.Kill()
				p.once("query_mysql", from("vault", cellCall))
				p.redis.Restart()
				p.emptied()
			}},
	}
}

func openCells() []cell {
	const stage = "OPEN"
	return []cell{
		{stage: stage, fault: "store killed", quick: true, answer: storeError, record: gone, verdict: unknown,
			play: func(p *play) { p.during(p.atOpen(), p.redis.Kill); p.redis.Restart(); p.emptied() }},
		{stage: stage, fault: "store frozen", quick: true, answer: storeError, record: projecting, verdict: notReady, note: "the thawed store carries out the OPEN that it had received; the backend was not asked",
			play: func(p *play) { p.during(p.atOpen(), p.redis.Freeze); p.redis.Thaw() }},
		{stage: stage, fault: "store restarted empty", quick: true, answer: found, record: ready, verdict: accepted, backend: 1, note: "an implicit run starts anew",
			play: func(p *play) {
				p.restart()
				p.once("query_mysql", orders(cellCall))
			}},
		{stage: stage, fault: "store restarted empty, registered run", quick: true, o: options{registered: []string{"warm", cellRun, "after"}}, answer: []string{"RUN_NOT_ACTIVE"}, record: gone, verdict: unknown,
			play: func(p *play) {
				p.restart()
				p.once("query_mysql", orders(cellCall))
				p.register("after")
			}},
		{stage: stage, fault: "store full", quick: true, answer: storeError, record: gone, verdict: unknown,
			play: func(p *play) {
				free := p.fill()
				p.once("query_mysql", orders(cellCall))
				free()
			}},
		{stage: stage, fault: "connection cut before execution", quick: true, answer: found, record: ready, verdict: accepted, backend: 1, note: "sent once more",
			play: func(p *play) {
				p.store.on(&rule{text: cellCall, cut: true})
				p.once("query_mysql", orders(cellCall))
			}},
		{stage: stage, fault: "reply lost once", quick: true, answer: found, record: ready, verdict: accepted, backend: 1, note: "the repetition knows itself by its nonce: charged once",
			play: func(p *play) {
				p.store.on(&rule{text: cellCall, lose: true})
				p.once("query_mysql", orders(cellCall))
			}},
		{stage: stage, fault: "reply lost twice", quick: true, answer: storeError, record: projecting, verdict: notReady,
			play: func(p *play) {
				p.store.on(&rule{text: cellCall, lose: true, times: 2})
				p.once("query_mysql", orders(cellCall))
			}},
		{stage: stage, fault: "reply 300 ms late", answer: found, record: ready, verdict: accepted, backend: 1,
			play: func(p *play) {
				p.store.on(&rule{text: cellCall, delay: 300 * time.Millisecond, times: 2})
				p.once("query_mysql", orders(cellCall))
			}},
		{stage: stage, fault: "reply drips", answer: storeError, record: projecting, verdict: notReady,
			play: func(p *play) {
				p.store.on(&rule{text: cellCall, drip: 50 * time.Millisecond, times: 2})
				p.once("query_mysql", orders(cellCall))
			}},
		{stage: stage, fault: "same id at three replicas at once", quick: true, answer: found, record: ready, verdict: accepted, backend: 1, note: "one wins; the others are DUPLICATE_TOOL_CALL_ID and cost nothing",
			play: func(p *play) { p.race(p.start("two", p.g.cmd.Path), p.start("three", p.g.cmd.Path)) }},
	}
}

func executeCells() []cell {
	const stage = "execute"
	return []cell{
		{stage: stage, fault: "store killed", quick: true, answer: storeError, record: gone, verdict: unknown, backend: 1,
			play: func(p *play) { p.during(p.atBackend(), p.redis.Kill); p.redis.Restart(); p.emptied() }},
		{stage: stage, fault: "store frozen", answer: storeError, record: []string{"READY", "ERROR STORE_ERROR"}, verdict: []string{"OK", "INVOCATION_ERROR"}, backend: 1, note: undelivered,
			play: func(p *play) { p.during(p.atBackend(), p.redis.Freeze); p.redis.Thaw() }},
		{stage: stage, fault: "store restarted empty", quick: true, answer: storeError, record: gone, verdict: unknown, backend: 1, note: "CLOSE never makes a record again",
			play: func(p *play) { p.during(p.atBackend(), p.restart) }},
		{stage: stage, fault: "store full", quick: true, answer: storeError, record: []string{"ERROR STORE_ERROR"}, verdict: failed, backend: 1, note: "ERROR is recorded even then",
			play: func(p *play) {
				var free func()
				p.during(p.atBackend(), func() { free = p.fill() })
				free()
			}},
		{stage: stage, fault: "life ends in mid-call", quick: true, o: options{shortLived: true, tune: shortLives}, answer: storeError, record: gone, verdict: unknown, backend: 1, note: "and the record does not come back",
			play: func(p *play) {
				at, end := p.atBackend(), p.store.on(&rule{text: cellCall, skip: 1, times: 2, hold: true}) // a held CLOSE is sent once more
				p.begin(p.g, "query_mysql", orders(cellCall))
				within(p.t, "the call is at its backend", at.met)
				left := func() time.Duration {
					k := p.recordKey()
					d, err := p.admin.PTTL(context.Background(), k).Result()
					if err != nil {
						p.t.Fatal(err)
					}
					return d
				}
				eventually(p.t, "the record is near its end", func() bool { return left() < 1500*time.Millisecond })
				at.release()
				within(p.t, "the call is at its CLOSE", end.met)
				eventually(p.t, "the record ends", func() bool { return left() < 0 })
				end.release()
				p.end()
			}},
		{stage: stage, fault: "answer larger than a call may read", quick: true, answer: []string{"RAW_TOO_LARGE"}, record: []string{"ERROR RAW_TOO_LARGE"}, verdict: failed, backend: 1,
			play: func(p *play) { p.once("query_mysql", from("huge", cellCall)) }},
		{stage: stage, fault: "error that quotes a value", quick: true, answer: []string{"BACKEND_ERROR"}, record: []string{"ERROR BACKEND_ERROR"}, verdict: failed, backend: 1, note: "no word of it passes",
			play: func(p *play) { p.once("query_mysql", from("broken", cellCall)) }},
		{stage: stage, fault: "result cut in the middle", quick: true, answer: []string{"BACKEND_ERROR"}, record: []string{"ERROR BACKEND_ERROR"}, verdict: failed, backend: 1, note: "never a part of a result",
			play: func(p *play) {
				p.db.on(&rule{text: cellCall, snap: true, after: 40 << 10})
				p.once("query_mysql", from("wide", cellCall))
			}},
		{stage: stage, fault: "result drips", quick: true, answer: []string{"BACKEND_TIMEOUT"}, record: []string{"ERROR BACKEND_TIMEOUT"}, verdict: failed, backend: 1, note: "the time limit is that of the whole answer",
			play: func(p *play) {
				p.db.on(&rule{text: cellCall, drip: 20 * time.Millisecond})
				p.once("query_mysql", from("wide", cellCall))
			}},
		{stage: stage, fault: "statement waits for a lock", quick: true, answer: []string{"BACKEND_TIMEOUT"}, record: []string{"ERROR BACKEND_TIMEOUT"}, verdict: failed, backend: 1, note: "and does not run on",
			play: func(p *play) {
				unlock := p.block()
				p.once("query_mysql", from("blocked", cellCall))
				eventually(p.t, "the statement ends in the database while the lock is held", func() bool { return p.running() == 0 })
				unlock()
			}},
		{stage: stage, fault: "logs are gone", quick: true, answer: []string{"BACKEND_INCOMPLETE", "BACKEND_ERROR"}, record: []string{"ERROR BACKEND_INCOMPLETE", "ERROR BACKEND_ERROR"}, verdict: failed, note: "no files is not no evidence",
			play: func(p *play) {
				back := p.moveLogs()
				p.once("query_logs", declined())
				back()
			}},
	}
}

// shortLives makes a record end before a slow call does.
func shortLives(cfg map[string]any) {
	cfg["call"].(map[string]any)["timeout"] = "3500ms"
	cfg["canonical"].(map[string]any)["ttl"] = "4s"
	cfg["mysql"].(map[string]any)["datasources"].(map[string]any)["shop"].(map[string]any)["timeout"] = "10s"
}

func closeCells() []cell {
	const stage = "CLOSE"
	return []cell{
		{stage: stage, fault: "store killed", quick: true, answer: storeError, record: gone, verdict: unknown, backend: 1,
			play: func(p *play) { p.during(p.atClose(), p.redis.Kill); p.redis.Restart(); p.emptied() }},
		{stage: stage, fault: "store frozen", quick: true, answer: storeError, record: []string{"READY", "ERROR STORE_ERROR"}, verdict: []string{"OK", "INVOCATION_ERROR"}, backend: 1, note: undelivered,
			play: func(p *play) { p.during(p.atClose(), p.redis.Freeze); p.redis.Thaw() }},
		{stage: stage, fault: "store restarted empty", answer: storeError, record: gone, verdict: unknown, backend: 1,
			play: func(p *play) { p.during(p.atClose(), p.restart) }},
		{stage: stage, fault: "store full, raw beside the record", quick: true, answer: storeError, record: []string{"ERROR STORE_ERROR"}, verdict: failed, backend: 1,
			play: func(p *play) {
				var free func()
				r := p.atClose()
				p.begin(p.g, "query_mysql", from("wide", cellCall))
				within(p.t, "the call reaches its CLOSE", r.met)
				free = p.fill()
				r.release()
				p.end()
				free()
			}},
		{stage: stage, fault: "connection cut before execution", quick: true, answer: found, record: ready, verdict: accepted, backend: 1,
			play: func(p *play) {
				p.store.on(&rule{text: cellCall, skip: 1, cut: true})
				p.once("query_mysql", orders(cellCall))
			}},
		{stage: stage, fault: "reply lost once", quick: true, answer: found, record: ready, verdict: accepted, backend: 1,
			play: func(p *play) {
				p.store.on(&rule{text: cellCall, skip: 1, lose: true})
				p.once("query_mysql", orders(cellCall))
			}},
		{stage: stage, fault: "reply lost once, raw beside the record", answer: found, record: ready, verdict: accepted, backend: 1,
			play: func(p *play) {
				p.store.on(&rule{text: cellCall, skip: 1, lose: true})
				p.once("query_mysql", from("wide", cellCall))
			}},
		{stage: stage, fault: "reply lost every time", quick: true, answer: storeError, record: ready, verdict: accepted, backend: 1, note: undelivered,
			play: func(p *play) {
				p.store.on(&rule{text: cellCall, skip: 1, lose: true, times: 4}) // READY twice, then ERROR twice
				p.once("query_mysql", orders(cellCall))
			}},
		{stage: stage, fault: "reply drips", answer: storeError, record: ready, verdict: accepted, backend: 1, note: undelivered,
			play: func(p *play) {
				p.store.on(&rule{text: cellCall, skip: 1, drip: 50 * time.Millisecond, times: 4})
				p.once("query_mysql", orders(cellCall))
			}},
		{stage: stage, fault: "run cannot pay", quick: true, o: options{registered: []string{"warm", "after"}}, answer: []string{"BUDGET_EXHAUSTED"}, record: []string{"ERROR BUDGET_EXHAUSTED"}, verdict: failed, backend: 1,
			play: func(p *play) {
				p.registerWith(map[string]any{"run_id": cellRun, "limits": map[string]any{"observation_bytes": 100}})
				p.once("query_mysql", orders(cellCall))
			}},
	}
}

func databaseCells() []cell {
	const stage = "backend"
	return []cell{
		{stage: stage, fault: "killed before the statement", hurts: true, answer: []string{"BACKEND_ERROR"}, record: []string{"ERROR BACKEND_ERROR"}, verdict: failed, backend: 1,
			play: func(p *play) { p.during(p.atBackend(), p.shop.db.Kill); p.shop.db.Restart() }},
		{stage: stage, fault: "killed in mid-result", hurts: true, quick: true, answer: []string{"BACKEND_ERROR"}, record: []string{"ERROR BACKEND_ERROR"}, verdict: failed, backend: 1,
			play: func(p *play) {
				r := p.db.on(&rule{text: cellCall, stop: true, after: 40 << 10})
				p.begin(p.g, "query_mysql", from("wide", cellCall))
				within(p.t, "the result is on its way", r.met)
				p.shop.db.Kill()
				p.db.sever() // what lay in buffers is lost with the server
				r.release()
				p.end()
				p.shop.db.Restart()
			}},
		{stage: stage, fault: "frozen", hurts: true, quick: true, answer: []string{"BACKEND_TIMEOUT"}, record: []string{"ERROR BACKEND_TIMEOUT"}, verdict: failed, backend: 1,
			play: func(p *play) { p.during(p.atBackend(), p.shop.db.Freeze); p.shop.db.Thaw() }},
		{stage: "audit", fault: "database killed", hurts: true, o: options{auditMySQL: true}, answer: found, record: ready, verdict: accepted, note: "rows wait, or are dropped and counted",
			play: func(p *play) {
				p.shop.db.Kill()
				p.once("query_logs", declined())
				p.shop.db.Restart()
			}},
		{stage: "audit", fault: "database frozen", hurts: true, quick: true, o: options{auditMySQL: true}, answer: found, record: ready, verdict: accepted, note: "a row is never written twice",
			play: func(p *play) {
				p.shop.db.Freeze()
				p.once("query_logs", declined())
				p.awaitAuditRetry()
				p.shop.db.Thaw()
			}},
	}
}

func clientCells() []cell {
	const stage = "client"
	cancelled := []string{"ERROR CANCELLED"}
	return []cell{
		{stage: stage, fault: "disconnects at OPEN", quick: true, answer: noAnswer, record: cancelled, verdict: failed, backend: uncounted,
			play: func(p *play) {
				backend := p.atBackend()
				p.disconnect(p.atOpen(), orders(cellCall))
				eventually(p.t, "the call ends", func() bool { return p.state() == cancelled[0] })
				backend.release()
			}},
		{stage: stage, fault: "disconnects while the statement runs", quick: true, answer: noAnswer, record: cancelled, verdict: failed, backend: 1, note: "the statement is killed in the database",
			play: func(p *play) {
				unlock := p.block()
				p.begin(p.g, "query_mysql", from("blocked", cellCall))
				eventually(p.t, "the statement runs", func() bool { return p.running() == 1 })
				p.cancel()
				p.end()
				eventually(p.t, "the statement ends while the lock is held", func() bool { return p.running() == 0 })
				unlock()
			}},
		{stage: stage, fault: "disconnects at CLOSE", quick: true, answer: noAnswer, record: ready, verdict: accepted, backend: 1, note: undelivered,
			play: func(p *play) { p.disconnect(p.atClose(), orders(cellCall)) }},
		{stage: stage, fault: "SIGTERM while the statement runs", quick: true, answer: found, record: ready, verdict: accepted, backend: 1, note: "not ready but alive; calls in flight are answered, new ones told 503, exit 0",
			play: func(p *play) {
				two := p.start("two", p.g.cmd.Path)
				two.warm()
				r := p.atBackend()
				p.begin(two, "query_mysql", orders(cellCall))
				within(p.t, "the statement is sent", r.met)
				page := func(name string) int {
					status, _, err := p.http("GET", two.harness+name, "", nil)
					if err != nil {
						p.t.Errorf("%s while a call is in flight: %v", name, err)
					}
					return status
				}
				if status := page("/readyz"); status != http.StatusOK {
					p.t.Errorf("readyz before SIGTERM: %d", status)
				}
				_ = two.cmd.Process.Signal(syscall.SIGTERM)
				eventually(p.t, "the gateway is not ready any more", func() bool { return page("/readyz") == http.StatusServiceUnavailable })
				eventually(p.t, "new calls are refused", func() bool {
					status, body, err := p.http("POST", two.mcp, p.shop.text["agent token"], []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
					if err != nil || status != http.StatusOK && (status != http.StatusServiceUnavailable || !bytes.Contains(body, []byte(`"error"`))) {
						p.t.Fatalf("a new call during the drain: %d %s %v", status, body, err)
					}
					return status == http.StatusServiceUnavailable
				})
				if ready, alive := page("/readyz"), page("/healthz"); ready != http.StatusServiceUnavailable || alive != http.StatusOK {
					p.t.Errorf("during the drain: readyz %d, healthz %d", ready, alive)
				}
				r.release()
				p.end()
				within(p.t, "the gateway ends", two.done)
				two.ended()
			}},
		{stage: stage, fault: "end of standard input while the statement runs", quick: true, answer: found, record: ready, verdict: unknown, backend: 1, note: "answered first, exit 0; the record belongs to the local user",
			play: func(p *play) { p.standardInput(p.atBackend(), false) }},
		{stage: stage, fault: "end of standard input, statement stuck", answer: []string{"BACKEND_TIMEOUT"}, record: []string{"ERROR BACKEND_TIMEOUT"}, verdict: unknown, backend: 1,
			play: func(p *play) { p.standardInput(p.atBackend(), true) }},
	}
}

// disconnect ends the client's connection while the call is held, and lets the call go on once the client is gone.
func (p *play) disconnect(r *rule, a arguments) {
	p.t.Helper()
	p.begin(p.g, "query_mysql", a)
	within(p.t, "the call reaches the place of the fault", r.met)
	p.cancel()
	p.end()
	r.release()
}

func crashCells() []cell {
	const stage = "gateway"
	crash := func(point string, a arguments) func(p *play) {
		return func(p *play) {
			two := p.start("two", binary(p.t, crashBinary), "MCP_GATEWAY_CRASH_POINT="+point)
			p.begin(two, "query_mysql", a)
			two.diedBySignal()
			p.end()
		}
	}
	return []cell{
		{stage: stage, fault: "killed after preflight", quick: true, answer: noAnswer, record: gone, verdict: unknown, play: crash("admitted", orders(cellCall))},
		{stage: stage, fault: "killed after OPEN", quick: true, answer: noAnswer, record: projecting, verdict: notReady, note: "charged, not citable, never run again", play: crash("opened", orders(cellCall))},
		{stage: stage, fault: "killed while the statement runs", answer: noAnswer, record: projecting, verdict: notReady, backend: 1, note: "the database's own time limit ends the statement",
			play: func(p *play) {
				two := p.start("two", p.g.cmd.Path)
				unlock := p.block()
				p.begin(two, "query_mysql", from("blocked", cellCall))
				eventually(p.t, "the statement runs", func() bool { return p.running() == 1 })
				two.kill()
				p.end()
				eventually(p.t, "the statement ends while the lock is held", func() bool { return p.running() == 0 })
				unlock()
			}},
		{stage: stage, fault: "killed after the backend's answer", quick: true, answer: noAnswer, record: projecting, verdict: notReady, backend: 1, play: crash("executed", orders(cellCall))},
		{stage: stage, fault: "killed after projection", quick: true, answer: noAnswer, record: projecting, verdict: notReady, backend: 1, play: crash("projected", orders(cellCall))},
		{stage: stage, fault: "killed after CLOSE", quick: true, answer: noAnswer, record: ready, verdict: accepted, backend: 1, note: undelivered, play: crash("closed", orders(cellCall))},
		{stage: stage, fault: "killed before CLOSE to ERROR", quick: true, answer: noAnswer, record: projecting, verdict: notReady, backend: 1, play: crash("failing", from("broken", cellCall))},
		{stage: stage, fault: "killed after CLOSE to ERROR", answer: noAnswer, record: []string{"ERROR BACKEND_ERROR"}, verdict: failed, backend: 1, play: crash("failed", from("broken", cellCall))},
	}
}

func verifyCells() []cell {
	const stage = "verify"
	// verify makes the call and then asks for its verdict under the fault.
	verify := func(reason string, hurt func(p *play) (heal func())) func(p *play) {
		return func(p *play) {
			p.once("query_mysql", orders(cellCall))
			heal := hurt(p)
			if outcome, got := p.g.verdict(cellRun, cellCall); got != reason || (outcome == "SUPPORTED") != (reason == "OK") {
				p.t.Errorf("under the fault: %s %s, want %s", outcome, got, reason)
			}
			heal()
		}
	}
	nothing := func() {}
	return []cell{
		{stage: stage, fault: "store killed", quick: true, answer: found, record: gone, verdict: unknown, backend: 1, note: "STORE_UNAVAILABLE meanwhile: never a yes without a record",
			play: verify("STORE_UNAVAILABLE", func(p *play) func() { p.redis.Kill(); return func() { p.redis.Restart(); p.emptied() } })},
		{stage: stage, fault: "store frozen", quick: true, answer: found, record: ready, verdict: accepted, backend: 1, note: "STORE_UNAVAILABLE meanwhile",
			play: verify("STORE_UNAVAILABLE", func(p *play) func() { p.redis.Freeze(); return p.redis.Thaw })},
		{stage: stage, fault: "store full", quick: true, answer: found, record: ready, verdict: accepted, backend: 1, note: "accepted meanwhile",
			play: verify("OK", func(p *play) func() { return p.fill() })},
		{stage: stage, fault: "reply lost once", quick: true, answer: found, record: ready, verdict: accepted, backend: 1,
			play: verify("OK", func(p *play) func() { p.store.on(&rule{text: cellCall, lose: true}); return nothing })},
		{stage: stage, fault: "reply lost every time", answer: found, record: ready, verdict: accepted, backend: 1, note: "STORE_UNAVAILABLE meanwhile",
			play: verify("STORE_UNAVAILABLE", func(p *play) func() { p.store.on(&rule{text: cellCall, lose: true, times: 2}); return nothing })},
	}
}

// race sends the same id to three replicas at once. Which of them wins is open.
func (p *play) race(others ...*gateway) {
	p.t.Helper()
	all := append(others, p.g)
	got := make(chan *attempt, len(all))
	for _, g := range all {
		go func() { got <- g.ask(cellRun, cellCall, "query_mysql", orders(cellCall)) }()
	}
	var lost int
	for range all {
		at := <-got
		switch at.code {
		case "EVIDENCE_FOUND":
			p.at = at
		case "DUPLICATE_TOOL_CALL_ID":
			lost++
		default:
			p.at = at
		}
	}
	if p.at == nil || lost != len(all)-1 {
		p.t.Errorf("%d of %d replicas said duplicate", lost, len(all))
	}
	for _, g := range others {
		g.warm()
	}
}

func (p *play) recordKey() string {
	p.t.Helper()
	it := p.admin.Scan(context.Background(), 0, "*}:i:"+cellRun+":"+cellCall, 1000).Iterator()
	for it.Next(context.Background()) {
		return it.Val()
	}
	return "gone"
}
