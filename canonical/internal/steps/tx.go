// Package steps states the atomic steps of a store once for the drivers written in Go: what OPEN checks and in which order, what CLOSE charges, what counts as
// gain, when a run stops. A driver brings a Tx, one transaction over one principal's data; every step makes all its checks before its first write, so that a
// refusal leaves nothing behind. The Lua of redisstore says the same in another language; canonicaltest holds the two together.
package steps

import "github.com/seed-069badc9/mcp-gateway/canonical"

// Tx is one transaction over the data of one principal. Times are milliseconds since 1970 by the store's clock. A Tx whose storage fails returns zero values
// from then on and fails as a whole afterwards. What a getter returns belongs to the step until the transaction ends.
type Tx interface {
	// Now is the time of the transaction: one value throughout.
	Now() int64

	// Run is the newest generation of a run, while its data exists (until its deadline plus canonical.RunGrace).
	Run(run string) (*Run, bool)
	// RunOf is the generation that a record belongs to.
	RunOf(run string, gen int64) (*Run, bool)
	// AddRun stores a new generation; an older one stays reachable by RunOf only.
	AddRun(r *Run)
	SaveRun(r *Run)
	// Runs are the newest generations whose deadline has not passed, newest first, at most max.
	Runs(max int) []*Run
	// ActiveRuns counts the runs that are active now.
	ActiveRuns() int64

	// Slot is the run id that the slot points to, or "".
	Slot(slot string) string
	SetSlot(slot, run string, until int64)

	Call(r *Run, call string) (*Call, bool)
	AddCall(r *Run, c *Call)
	SaveCall(r *Run, c *Call)
	// Calls are the run's calls in order of opening.
	Calls(r *Run, offset, max int) []*Call
	Facts(r *Run) Facts

	// Record is a record that has not expired, with or without its content.
	Record(run, call string) (*Record, bool)
	AddRecord(rec *Record)
	// Finish stores the final state; content only when it is READY.
	Finish(rec *Record)
	// Minted is the run of a minted call id whose record has not expired, or "".
	Minted(call string) string
	SetMinted(call, run string, until int64)

	// Live sums the bytes of the expiry buckets that end after now.
	Live() int64
	AddLive(end, bytes int64)
	// Rate counts the calls granted in that minute.
	Rate(minute int64) int64
	AddRate(minute int64)
}

// Facts is what a run remembers of what it has seen: scopes and items, each with a short value.
type Facts interface {
	Get(member string) (string, bool)
	Put(member, value string)
	Len() int
}

// Record is a stored record with what its driver needs to close it.
type Record struct {
	canonical.Record
	Gen        int64
	Nonce      string
	RequestLen int64
	Target     string           // how it was closed, to recognise a repeated CLOSE
	Closed     canonical.Closed // the answer of the first CLOSE
}

// Call is what a run keeps of one of its calls.
type Call struct {
	Nonce string
	Grant canonical.Grant // the answer of OPEN
	Info  canonical.CallInfo
}
