package reliability

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// invariants say what is checked, in the words of the document.
var invariants = [][2]string{
	{i1, "Every READY record has its request, raw answer and observation, agrees with the list of its run, has the size that was charged, and gives the same observation when its raw answer is projected again; a record that is not READY has no content."},
	{i2, "Whatever a client got as an observation had its READY record, with the same bytes, at the moment of delivery and has it at the end."},
	{i3, "What a run has used is the sum of what its calls cost: calls, request, raw and observation bytes."},
	{i4, "Every key of the store has an end, none later than a run's longest life, and a record ends when OPEN said that it would."},
	{i5, "Gateways come to rest with the goroutines and files that they began with, the database works on nothing for them, the store has no client too many, and SIGTERM ends them with 0."},
	{i6, "No planted value is in any sink: answers and their headers, standard output, log at level debug, audit, the store outside of raw answers and requests, the search index, metrics, the harness's views."},
	{i7, "Audit has one row for each attempt that reached a living gateway, or counts it as dropped; never two. A process that is killed loses at most the rows that it had not written."},
	{i8, "The next call works on every living gateway, without a restart."},
}

// TestTheDocumentIsCurrent holds docs/reliability.md to the tests: the cells, what they promise, what is planted. `go test ./reliability -run Document -update` writes it.
func TestTheDocumentIsCurrent(t *testing.T) {
	path := filepath.Join("..", "docs", "reliability.md")
	want := document()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("docs/reliability.md is not what the tests prove (%v): go test ./reliability -run Document -update", err)
	}
}

func TestCellsHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range cells() {
		if seen[c.name()] || c.play == nil || len(c.answer) == 0 || len(c.record) == 0 || len(c.verdict) == 0 {
			t.Errorf("cell %q is there twice or promises nothing", c.name())
		}
		seen[c.name()] = true
	}
}

func document() string {
	var b strings.Builder
	b.WriteString(`# Reliability

Written by the tests in ` + "`reliability/`" + `: ` + "`go test ./reliability -run Document -update`" + `. They drive the built gateway over HTTP and standard input, on a real Redis and a real MariaDB, through proxies that
hold, cut, lose, delay and drip what passes. ` + "`make test`" + ` plays the quick cells and a soak of a minute, ` + "`make test-full`" + ` every cell, ` + "`make soak`" + ` a soak of ten minutes (` + "`DURATION=1h`, `SEED=7`" + `).

## What holds after every cell

| invariant | what is checked |
|---|---|
`)
	for _, i := range invariants {
		fmt.Fprintf(&b, "| %s | %s |\n", i[0], i[1])
	}
	b.WriteString(`
## Fault matrix

One call, one fault. *Answer* is what the client gets, *record* what is left in the store, *backend* how often the backend was asked, *citation* what a verification says once the fault is over. A call id that
has a record is refused when it comes again, and the backend is not asked again: every cell with a record checks it. Cells marked · are among the quick ones.

| stage | fault | answer | record | backend | citation | |
|---|---|---|---|---|---|---|
`)
	for _, c := range cells() {
		mark, backend := "", fmt.Sprint(c.backend)
		if c.quick {
			mark = " ·"
		}
		if c.backend == uncounted {
			backend = "0 or 1"
		}
		fmt.Fprintf(&b, "| %s | %s%s | %s | %s | %s | %s | %s |\n", c.stage, c.fault, mark, oneOf(c.answer), oneOf(c.record), backend, oneOf(c.verdict), c.note)
	}
	fmt.Fprintf(&b, `
In every cell "store" is Redis and "backend" the shop's database unless the fault names another. "Frozen" is SIGSTOP, "killed" SIGKILL. A gateway is killed after a stage by a build with the tag
`+"`crashpoints`"+`, which ends itself there; the shipped build holds none of it.

## Three replicas over one store

- %d calls at once against a budget of calls, of request, raw and observation bytes: exactly as many are served as the budget pays for, the others are BUDGET_EXHAUSTED.
- The same call id at all three at once wins once, and the backend is asked once.
- A call costs two round trips to the store, a verification one, on each of them.
- A record that all of them read all the time ends on time and does not come back.

## Planted values

Secrets are random, and eight bytes of one in a row are a leak, forwards and backwards, plain or behind JSON escapes, percent-encoding, base64 at any alignment, hex, gzip, zlib or zstd, two of them around
each other. The other values are searched for whole. With encryption at rest the whole store is searched, raw answers and requests included.

| planted | as |
|---|---|
`, parallelCalls)
	for _, c := range secretClasses {
		fmt.Fprintf(&b, "| %s | secret |\n", c)
	}
	for _, c := range otherCanaries {
		fmt.Fprintf(&b, "| %s | value that is masked |\n", c[0])
	}
	b.WriteString(`
What is not promised: the index of a folder knows the names of its files as they are; a function of SQL that takes a cell apart or turns it over (SUBSTRING, REVERSE, HEX) shows a secret in a column that is not
listed as masked; a citation's URI comes back to the one who sent it. A Redis that comes back with an older state (a snapshot, an append-only file without its last second, a replica that lagged
behind when it was promoted) knows nothing of what came after it: ids that were used since are free again, budgets that were spent are not. A Redis without persistence comes back empty instead: a
registered run is RUN_NOT_ACTIVE then. min-replicas-to-write shortens what a master that was cut off can still take.

## Soak

Three replicas, six clients with all tools, impatient ones among them and ids that come twice, and one fault after another, shuffled by a printed seed: store and database frozen, killed, cut off, slow, dripping, losing
replies; scripts forgotten; a table locked; logs away; replicas killed and replaced. Then the invariants, and the memory of the replica that lived from the beginning: its last quarter against its second.
`)
	return b.String()
}
