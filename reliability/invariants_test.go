package reliability

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
)

// The invariants that hold after every cell of the fault matrix and after a soak, whatever was done. docs/reliability.md lists them.
const (
	i1 = "I1 READY means complete"
	i2 = "I2 shown means READY before"
	i3 = "I3 charges add up"
	i4 = "I4 every key ends in time"
	i5 = "I5 nothing is left open"
	i6 = "I6 no canary anywhere"
	i7 = "I7 one audit row or one counted drop"
	i8 = "I8 the next call works"
)

// longest is how far in the future a key of the store may end: a run's life and the grace after it.
const longest = 10*time.Minute + canonical.RunGrace

func (w *world) broken(invariant, format string, args ...any) {
	w.t.Helper()
	w.t.Errorf("%s: %s", invariant, fmt.Sprintf(format, args...))
}

// check holds the world against all invariants and ends its gateways. Faults have to be over.
func (w *world) check() {
	w.t.Helper()
	w.mu.Lock()
	gateways := slices.Clone(w.gateways)
	w.mu.Unlock()
	var live []*gateway
	for _, g := range gateways {
		if !g.killed && !g.over {
			live = append(live, g)
		}
	}
	for i, g := range live {
		at := g.ask("after", fmt.Sprintf("after-%d", i), "query_mysql", orders("after"))
		if at.code != "EVIDENCE_FOUND" {
			w.broken(i8, "%s answers %s", g.name, at.code)
		}
	}
	if len(live) > 0 {
		w.collectViews(live[0])
	}
	w.checkRecords(live)
	w.checkKeys()
	w.checkIdle(live)
	for _, g := range gateways {
		g.stop()
	}
	w.checkAudit(gateways)
	w.collectStore()
	w.checkCanaries(gateways)
}

// runs are the runs that were called in, in the present epoch of the store.
func (w *world) runs() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := map[string]bool{}
	var out []string
	for _, a := range w.attempts {
		if !seen[a.run] {
			seen[a.run] = true
			out = append(out, a.run)
		}
	}
	return out
}

// sizes are how many bytes the arguments of the calls had, those sent first.
func (w *world) sizes() map[string]int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]int64{}
	for _, a := range w.attempts {
		if _, ok := out[a.run+"/"+a.id]; !ok {
			out[a.run+"/"+a.id] = int64(a.args)
		}
	}
	return out
}

// replays bounds how many records a check projects again: all of a cell, a part of a soak.
const replays = 3000

// checkRecords is I1, I2 and I3.
func (w *world) checkRecords(live []*gateway) {
	w.t.Helper()
	ctx := context.Background()
	ready := map[string][sha256.Size]byte{}
	sizes, replayed := w.sizes(), 0
	for _, run := range w.runs() {
		k, err := canonical.NewRunKey(w.owner(run), run)
		if err != nil {
			w.t.Fatal(err)
		}
		info, found, err := w.direct.Run(ctx, k)
		if err != nil {
			w.t.Fatal(err)
		}
		if !found {
			continue // no call of this run was let through
		}
		var calls []canonical.CallInfo
		for {
			page, err := w.direct.Calls(ctx, k, len(calls), 1000)
			if err != nil {
				w.t.Fatal(err)
			}
			if calls = append(calls, page...); len(page) < 1000 {
				break
			}
		}
		var sum canonical.Limits
		var cite []string
		for _, c := range calls {
			sum.Calls++
			size, sent := sizes[run+"/"+c.Call]
			if !sent {
				w.broken(i3, "%s/%s is in the store and was never sent", run, c.Call)
			}
			sum.RequestBytes += size
			rec, found, err := w.direct.Load(ctx, w.key(run, c.Call))
			if err != nil {
				w.broken(i1, "%s/%s cannot be read: %v", run, c.Call, err)
				continue
			}
			var facts boundary.CallFacts
			if c.State == canonical.StateReady {
				if err := json.Unmarshal(c.Control, &facts); err != nil {
					w.broken(i1, "%s/%s has no facts: %v", run, c.Call, err)
				}
				sum.RawBytes += facts.RawBytes
				sum.ObservationBytes += facts.ObservationBytes
			}
			if !found {
				continue // it has expired: what it was charged stays charged
			}
			if rec.State != c.State || rec.Code != c.Code {
				w.broken(i1, "%s/%s is %s %s in its record and %s %s in its run", run, c.Call, rec.State, rec.Code, c.State, c.Code)
			}
			if rec.State != canonical.StateReady {
				if len(rec.Raw)+len(rec.Observation) > 0 {
					w.broken(i1, "%s/%s is %s and has content", run, c.Call, rec.State)
				}
				continue
			}
			if facts.RawBytes != int64(len(rec.Raw)) || facts.ObservationBytes != int64(len(rec.Observation)) || facts.RequestBytes != size {
				w.broken(i1, "%s/%s: its facts %+v do not describe %d raw and %d observation bytes", run, c.Call, facts, len(rec.Raw), len(rec.Observation))
			}
			digest := sha256.Sum256(rec.Observation)
			ready[run+"/"+c.Call] = digest
			uri := "evidence://" + run + "/" + c.Call + "?sha256=" + hex.EncodeToString(digest[:])
			if rec.Evidence == canonical.None.String() {
				uri += "&stance=absent"
			}
			cite = append(cite, uri)
		}
		if sum != info.Used {
			w.broken(i3, "run %s has used %+v, and its %d calls add up to %+v", run, info.Used, len(calls), sum)
		}
		if len(live) > 0 && replayed < replays {
			w.replay(live[0], run, cite)
			replayed += len(cite)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.attempts {
		if a.epoch != w.epoch || a.code != "EVIDENCE_FOUND" && a.code != "NO_EVIDENCE" {
			continue
		}
		if sum, ok := ready[a.run+"/"+a.id]; !ok && !w.o.shortLived {
			w.broken(i2, "%s/%s was delivered and has no READY record", a.run, a.id)
		} else if ok && sum != a.sum {
			w.broken(i2, "%s/%s was delivered with other bytes than its record holds", a.run, a.id)
		}
	}
}

// replay has every READY record projected again from its raw answer and compared.
func (w *world) replay(g *gateway, run string, cite []string) {
	w.t.Helper()
	for page := range slices.Chunk(cite, 100) {
		status, body := g.apiOf(w.owner(run), "POST", "/runs/"+run+"/verify", map[string]any{"citations": page, "replay": true})
		var out struct {
			Verdicts []struct {
				Verdict string `json:"verdict"`
				Reason  string `json:"reason"`
				Checked string `json:"checked"`
				Call    string `json:"tool_call_id"`
			} `json:"verdicts"`
		}
		if err := json.Unmarshal(body, &out); err != nil || status != 200 || len(out.Verdicts) != len(page) {
			w.broken(i1, "replay of run %s: HTTP %d, %v, %d verdicts for %d records", run, status, err, len(out.Verdicts), len(page))
			continue
		}
		for _, v := range out.Verdicts {
			if v.Verdict == "REJECTED" || v.Checked != "REPLAY" {
				w.broken(i1, "%s/%s does not stand the replay: %+v", run, v.Call, v)
			}
		}
	}
}

// checkKeys is I4: no key without an end, none past a run's longest life, and a record's end is the one that was fixed when it was opened.
func (w *world) checkKeys() {
	w.t.Helper()
	ctx := context.Background()
	it := w.admin.Scan(ctx, 0, "*", 1000).Iterator()
	for it.Next(ctx) {
		key := it.Val()
		at, err := w.admin.PExpireTime(ctx, key).Result()
		if err != nil {
			w.t.Fatal(err)
		}
		left := time.Until(time.UnixMilli(at.Milliseconds()))
		switch {
		case at == -2: // it has just ended
		case at == -1:
			w.broken(i4, "key %s has no end", key)
		case left > longest:
			w.broken(i4, "key %s lives for %v more", key, left)
		}
		if _, record, ok := strings.Cut(key, "}:i:"); ok && at > 0 {
			fixed, err := w.admin.HGet(ctx, key, "x").Int64()
			if err == nil && fixed != at.Milliseconds() {
				w.broken(i4, "record %s ends at %d, and %d was fixed", record, at.Milliseconds(), fixed)
			}
			beside := strings.Replace(key, "}:i:", "}:w:", 1)
			if b, err := w.admin.PExpireTime(ctx, beside).Result(); err == nil && b > 0 && b != at {
				w.broken(i4, "the raw beside record %s ends at %d, the record at %d", record, b.Milliseconds(), at.Milliseconds())
			}
		}
	}
	if err := it.Err(); err != nil {
		w.t.Fatal(err)
	}
}

// Slack of I5: a pool may hold a few connections more than after the first calls, each with a goroutine of its driver and two ends of a proxy.
const (
	moreGoroutines = 6
	moreFiles      = 6
)

// checkIdle is I5, on the live gateways, the store and the database.
func (w *world) checkIdle(live []*gateway) {
	w.t.Helper()
	for _, g := range live {
		extra := float64(w.o.pool)
		var now gauges
		end := time.Now().Add(patience)
		for ok := false; !ok; time.Sleep(20 * time.Millisecond) {
			var err error
			if now, err = g.gauges(); err != nil {
				w.t.Fatal(err)
			}
			ok = now.goroutines <= g.base.goroutines+moreGoroutines+extra && now.files <= g.base.files+moreFiles+extra
			if !ok && time.Now().After(end) {
				w.broken(i5, "%s came to rest with %v goroutines and %v files; it began with %v and %v", g.name, now.goroutines, now.files, g.base.goroutines, g.base.files)
				break
			}
		}
	}
	end := time.Now().Add(patience)
	for w.running() > 0 {
		if time.Now().After(end) {
			w.broken(i5, "the database still works on %d statements of the gateways", w.running())
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	list, err := w.admin.ClientList(context.Background()).Result()
	if err != nil {
		w.t.Fatal(err)
	}
	// Each gateway's pool holds up to 32; the test's own clients are among the rest.
	if n, most := strings.Count(list, "\n"), 32*len(live)+16; n > most {
		w.broken(i5, "the store has %d clients, want at most %d", n, most)
	}
}

// checkAudit is I7, after the gateways have ended: what was queued is written then.
func (w *world) checkAudit(gateways []*gateway) {
	w.t.Helper()
	if w.o.auditMySQL {
		w.checkAuditTable(gateways)
		return
	}
	for _, g := range gateways {
		rows := map[string]int{}
		total := 0
		for _, r := range auditRows(w, g.audit) {
			rows[r.Run+"/"+r.Call]++
			total++
		}
		sent := map[string]int{}
		certain := 0
		w.mu.Lock()
		for _, a := range w.attempts {
			if a.g != g || a.refused {
				continue
			}
			sent[a.run+"/"+a.id]++
			if !a.uncertain {
				certain++
			}
		}
		w.mu.Unlock()
		for id, n := range rows {
			if n > sent[id] {
				w.broken(i7, "%s wrote %d rows of %s, which was sent %d times", g.name, n, id, sent[id])
			}
		}
		if !g.killed && total+g.drops() < certain {
			w.broken(i7, "%s wrote %d rows and dropped %d for %d calls", g.name, total, g.drops(), certain)
		}
	}
}

// checkAuditTable counts over all gateways: the table is shared by the worlds of a test, so only this world's calls count.
func (w *world) checkAuditTable(gateways []*gateway) {
	w.t.Helper()
	out := w.auditDB.SQL(w.t, "SELECT * FROM audit.mcp_gateway_audit")
	w.sink("audit table", []byte(out))
	drops := 0
	for _, g := range gateways {
		drops += g.drops()
	}
	lines := strings.Count(out, "\n")
	if want := len(w.attempts); lines+drops != want {
		w.broken(i7, "%d rows and %d drops for %d calls\n%s", lines, drops, want, out)
	}
}

func auditRows(w *world, path string) []boundary.AuditRecord {
	w.t.Helper()
	f, err := os.Open(path)
	if err != nil {
		return nil // no call, no file
	}
	defer f.Close()
	var out []boundary.AuditRecord
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		var r boundary.AuditRecord
		d := json.NewDecoder(bytes.NewReader(sc.Bytes()))
		d.DisallowUnknownFields()
		if err := d.Decode(&r); err != nil {
			w.broken(i7, "%s holds %q: %v", filepath.Base(path), sc.Text(), err)
			continue
		}
		out = append(out, r)
	}
	return out
}

// collectViews reads what the harness's door says about the runs, for I6.
func (w *world) collectViews(g *gateway) {
	w.t.Helper()
	paths := []string{"/runs"}
	for i, run := range w.runs() {
		if i == 10 {
			break
		}
		paths = append(paths, "/runs/"+run, "/runs/"+run+"/calls", "/runs/"+run+"/progress")
	}
	for _, p := range paths {
		_, body := g.api("GET", p, nil)
		w.sink("harness API", body)
	}
	for _, p := range []string{"/metrics", "/healthz", "/readyz"} {
		_, body, err := w.http("GET", g.harness+p, "", nil)
		if err != nil {
			w.t.Error(err)
		}
		w.sink(strings.TrimPrefix(p, "/"), body)
	}
}

// collectStore reads everything in the store that is not the raw answer or the request of a record, for I6.
func (w *world) collectStore() {
	w.t.Helper()
	ctx := context.Background()
	it := w.admin.Scan(ctx, 0, "*", 1000).Iterator()
	for it.Next(ctx) {
		key := it.Val()
		w.sink("keys of the store", []byte(key))
		if strings.Contains(key, "}:w:") {
			continue
		}
		switch kind := w.admin.Type(ctx, key).Val(); kind {
		case "hash":
			for field, value := range w.admin.HGetAll(ctx, key).Val() {
				w.sink("fields of the store", []byte(field))
				if strings.Contains(key, "}:i:") && (field == "r" || field == "q") {
					continue // the canonical record's own raw answer and request
				}
				w.sink("store, outside raw and request", []byte(value))
			}
		case "string":
			w.sink("store, outside raw and request", []byte(w.admin.Get(ctx, key).Val()))
		case "list":
			w.sink("store, outside raw and request", []byte(strings.Join(w.admin.LRange(ctx, key, 0, -1).Val(), "\n")))
		case "zset":
			w.sink("store, outside raw and request", []byte(strings.Join(w.admin.ZRange(ctx, key, 0, -1).Val(), "\n")))
		case "none": // it has just ended
		default:
			w.broken(i6, "key %s is a %s, which nothing here reads", key, kind)
		}
	}
	if err := it.Err(); err != nil {
		w.t.Fatal(err)
	}
}

// checkCanaries is I6: every sink, raw and decoded.
func (w *world) checkCanaries(gateways []*gateway) {
	w.t.Helper()
	for _, g := range gateways {
		w.sink("log", g.log.bytes())
		if g.audit != "" {
			old, _ := filepath.Glob(g.audit + "*")
			for _, path := range old {
				if b, err := os.ReadFile(path); err == nil {
					w.sink("audit file", b)
				}
			}
		}
	}
	err := filepath.WalkDir(filepath.Join(w.dir, "index"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			b, rerr := os.ReadFile(path)
			if rerr != nil {
				return rerr
			}
			w.sink("index", b)
		}
		return nil
	})
	if err != nil {
		w.t.Error(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, data := range w.sinks {
		w.search(name, data)
	}
}
