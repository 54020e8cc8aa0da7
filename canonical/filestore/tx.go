package filestore

import (
	"context"
	"database/sql"
	"errors"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/internal/steps"
)

// The statements, prepared once.
const (
	getRun     = "SELECT id, gen, closed, opened, expires, state FROM runs WHERE owner = ? AND run = ? AND expires > ? ORDER BY gen DESC LIMIT 1"
	getRunGen  = "SELECT id, gen, closed, opened, expires, state FROM runs WHERE owner = ? AND run = ? AND expires > ? AND gen = ?"
	addRun     = "INSERT INTO runs(owner, run, gen, closed, opened, expires, state) VALUES(?, ?, ?, ?, ?, ?, ?)"
	setRun     = "UPDATE runs SET closed = ?, state = ? WHERE id = ?"
	listRuns   = "SELECT id, gen, closed, opened, expires, state, run FROM runs AS r WHERE owner = ? AND expires > ? AND NOT EXISTS (SELECT 1 FROM runs AS n WHERE n.owner = r.owner AND n.run = r.run AND n.gen > r.gen) ORDER BY opened DESC, run DESC LIMIT ?"
	countRuns  = "SELECT count(*) FROM runs WHERE owner = ? AND closed = 0 AND expires > ?"
	getSlot    = "SELECT run FROM slots WHERE owner = ? AND slot = ? AND expires > ?"
	setSlot    = "INSERT OR REPLACE INTO slots(owner, slot, run, expires) VALUES(?, ?, ?, ?)"
	getCall    = "SELECT state FROM calls WHERE run = ? AND call = ?"
	addCall    = "INSERT INTO calls(run, call, state) VALUES(?, ?, ?)"
	setCall    = "UPDATE calls SET state = ? WHERE run = ? AND call = ?"
	listCalls  = "SELECT state FROM calls WHERE run = ? ORDER BY id LIMIT ? OFFSET ?"
	getFact    = "SELECT value FROM facts WHERE run = ? AND member = ?"
	setFact    = "INSERT OR REPLACE INTO facts(run, member, value) VALUES(?, ?, ?)"
	countFacts = "SELECT count(*) FROM facts WHERE run = ?"
	getRecord  = "SELECT gen, nonce, request_len, target, answer, state, started, expires FROM records WHERE owner = ? AND run = ? AND call = ? AND expires > ?"
	addRecord  = "INSERT OR REPLACE INTO records(owner, run, call, gen, nonce, state, tool, request, request_len, salt, projector, started, expires) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	setRecord  = "UPDATE records SET target = ?, answer = ?, state = ?, evidence = ?, code = ?, raw = ?, observation = ?, truncated = ?, completed = ? WHERE owner = ? AND run = ? AND call = ?"
	getMinted  = "SELECT run FROM records WHERE owner = ? AND call = ? AND minted = 1 AND expires > ?"
	setMinted  = "UPDATE records SET minted = 1 WHERE owner = ? AND run = ? AND call = ?"
	readRecord = "SELECT tool, state, evidence, code, request, raw, observation, truncated, salt, projector, started, completed, expires FROM records WHERE owner = ? AND run = ? AND call = ? AND expires > ?"
	sumLive    = "SELECT coalesce(sum(bytes), 0) FROM live WHERE owner = ? AND bucket > ?"
	addLive    = "INSERT INTO live(owner, bucket, bytes) VALUES(?, ?, ?) ON CONFLICT(owner, bucket) DO UPDATE SET bytes = bytes + excluded.bytes"
	getRate    = "SELECT n FROM rate WHERE owner = ? AND minute = ?"
	setRate    = "INSERT OR REPLACE INTO rate(owner, minute, n) VALUES(?, ?, ?)"
)

var statements = []string{getRun, getRunGen, addRun, setRun, listRuns, countRuns, getSlot, setSlot, getCall, addCall, setCall, listCalls, getFact, setFact, countFacts, getRecord, addRecord, setRecord, getMinted, setMinted,
	readRecord, sumLive, addLive, getRate, setRate}

type gen struct {
	run string
	gen int64
}

// tx is one transaction. The first failure makes all that follows do nothing, and the whole step fails.
type tx struct {
	ctx   context.Context
	s     *Store
	sql   *sql.Tx
	owner string
	now   int64
	ids   map[gen]int64 // rows of the runs seen in this transaction
	err   error
}

var _ steps.Tx = (*tx)(nil)

func (t *tx) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

// row reads one row into dest; false when there is none.
func (t *tx) row(text string, args []any, dest ...any) bool {
	if t.err != nil {
		return false
	}
	err := t.sql.StmtContext(t.ctx, t.s.stmts[text]).QueryRowContext(t.ctx, args...).Scan(dest...)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		t.fail(err)
	}
	return err == nil
}

// rows calls f for every row.
func (t *tx) rows(text string, args []any, f func(scan func(...any) error) error) {
	if t.err != nil {
		return
	}
	rows, err := t.sql.StmtContext(t.ctx, t.s.stmts[text]).QueryContext(t.ctx, args...)
	if err != nil {
		t.fail(err)
		return
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			t.fail(err)
			return
		}
	}
	if err := rows.Err(); err != nil {
		t.fail(err)
	}
}

// exec changes something and gives the id of an inserted row.
func (t *tx) exec(text string, args ...any) (id int64) {
	if t.err != nil {
		return 0
	}
	r, err := t.sql.StmtContext(t.ctx, t.s.stmts[text]).ExecContext(t.ctx, args...)
	if err == nil {
		id, err = r.LastInsertId()
	}
	if err != nil {
		t.fail(err)
	}
	return id
}

func (t *tx) Now() int64 { return t.now }

// kept is the time after which a run's data must end to be there still.
func (t *tx) kept() int64 { return t.now - canonical.RunGrace.Milliseconds() }

func (t *tx) run(id, text string, args ...any) (*steps.Run, bool) {
	r, rowID, state := &steps.Run{ID: id}, int64(0), []byte(nil)
	if !t.row(text, args, &rowID, &r.Gen, &r.Closed, &r.Opened, &r.Expires, &state) {
		return nil, false
	}
	return t.seen(r, rowID, state)
}

// seen finishes a run that was read.
func (t *tx) seen(r *steps.Run, rowID int64, state []byte) (*steps.Run, bool) {
	if err := t.unpackRun(r, state); err != nil {
		t.fail(err)
		return nil, false
	}
	t.ids[gen{r.ID, r.Gen}] = rowID
	return r, true
}

func (t *tx) id(r *steps.Run) int64 { return t.ids[gen{r.ID, r.Gen}] }

func (t *tx) Run(id string) (*steps.Run, bool) { return t.run(id, getRun, t.owner, id, t.kept()) }

func (t *tx) RunOf(id string, g int64) (*steps.Run, bool) {
	return t.run(id, getRunGen, t.owner, id, t.kept(), g)
}

func (t *tx) AddRun(r *steps.Run) {
	t.ids[gen{r.ID, r.Gen}] = t.exec(addRun, t.owner, r.ID, r.Gen, r.Closed, r.Opened, r.Expires, t.packRun(r))
}

func (t *tx) SaveRun(r *steps.Run) { t.exec(setRun, r.Closed, t.packRun(r), t.id(r)) }

func (t *tx) Runs(max int) (out []*steps.Run) {
	t.rows(listRuns, []any{t.owner, t.now, max}, func(scan func(...any) error) error {
		r, rowID, state := &steps.Run{}, int64(0), []byte(nil)
		if err := scan(&rowID, &r.Gen, &r.Closed, &r.Opened, &r.Expires, &state, &r.ID); err != nil {
			return err
		}
		if r, ok := t.seen(r, rowID, state); ok {
			out = append(out, r)
		}
		return nil
	})
	return out
}

func (t *tx) ActiveRuns() (n int64) {
	t.row(countRuns, []any{t.owner, t.now}, &n)
	return n
}

func (t *tx) Slot(slot string) (run string) {
	t.row(getSlot, []any{t.owner, owner(slot), t.now}, &run)
	return run
}

func (t *tx) SetSlot(slot, run string, until int64) {
	t.exec(setSlot, t.owner, owner(slot), run, until)
}

func (t *tx) Call(r *steps.Run, call string) (*steps.Call, bool) {
	var state []byte
	if !t.row(getCall, []any{t.id(r), call}, &state) {
		return nil, false
	}
	c, err := t.unpackCall(r.ID, state)
	if err != nil {
		t.fail(err)
		return nil, false
	}
	return c, true
}

func (t *tx) AddCall(r *steps.Run, c *steps.Call) {
	t.exec(addCall, t.id(r), c.Info.Call, t.packCall(r.ID, c))
}

func (t *tx) SaveCall(r *steps.Run, c *steps.Call) {
	t.exec(setCall, t.packCall(r.ID, c), t.id(r), c.Info.Call)
}

func (t *tx) Calls(r *steps.Run, offset, max int) (out []*steps.Call) {
	t.rows(listCalls, []any{t.id(r), max, offset}, func(scan func(...any) error) error {
		var state []byte
		if err := scan(&state); err != nil {
			return err
		}
		c, err := t.unpackCall(r.ID, state)
		if err == nil {
			out = append(out, c)
		}
		return err
	})
	return out
}

// facts is what one run has seen; it counts once.
type facts struct {
	t   *tx
	run int64
	n   int
}

func (t *tx) Facts(r *steps.Run) steps.Facts {
	f := &facts{t: t, run: t.id(r)}
	t.row(countFacts, []any{f.run}, &f.n)
	return f
}

func (f *facts) Len() int { return f.n }

func (f *facts) Get(member string) (value string, ok bool) {
	ok = f.t.row(getFact, []any{f.run, []byte(member)}, &value)
	return value, ok
}

func (f *facts) Put(member, value string) {
	if _, known := f.Get(member); !known {
		f.n++
	}
	f.t.exec(setFact, f.run, []byte(member), value)
}

func (t *tx) Minted(call string) (run string) {
	t.row(getMinted, []any{t.owner, call, t.now}, &run)
	return run
}

// SetMinted marks the record: its own life is that of the index.
func (t *tx) SetMinted(call, run string, _ int64) { t.exec(setMinted, t.owner, run, call) }

func (t *tx) Live() (sum int64) {
	t.row(sumLive, []any{t.owner, t.now}, &sum)
	return sum
}

func (t *tx) AddLive(end, bytes int64) { t.exec(addLive, t.owner, end, bytes) }

func (t *tx) Rate(minute int64) (n int64) {
	t.row(getRate, []any{t.owner, minute}, &n)
	return n
}

func (t *tx) AddRate(minute int64) { t.exec(setRate, t.owner, minute, t.Rate(minute)+1) }
