package logs

import (
	"context"
	"time"

	"github.com/seed-069badc9/mcp-gateway/tools/logs/line"
)

// Source is where a topic's events come from: local files, or a log server behind an adapter.
type Source interface {
	// Search streams into sink every event of [q.From, q.To) that could match q, whole and unredacted, more if that is cheaper: package logs decides on redacted text
	// and drops what does not match. It must not be silent about what it could not read: Report says what was covered and whether everything in there was read.
	// An error means that nothing can be said (BACKEND_ERROR, BACKEND_TIMEOUT, BACKEND_BUSY); an error of sink is returned as it is. A source that has bounds of its
	// own asks for one event more than it wants and reports Complete false rather than end quietly.
	Search(ctx context.Context, q Query, sink Sink) (Report, error)
}

// Query is what a source may use to send less. Every part of it is typed; a source escapes the terms into its own language.
type Query struct {
	From, To time.Time // inclusive, exclusive
	Now      time.Time // when the request was made
	Level    line.Level
	Terms    []Term // never decisive: masked values are matched by package logs only
	// Need is a set of which every matching event holds at least one text, unless it has a backslash or an escape character (0x1b) somewhere: an escape may hide the
	// text, a colour may divide it. Empty: no such set is known.
	Need []Literal
	// MaxScan bounds the bytes that a source that reads raw data may read; over it Search returns RAW_TOO_LARGE.
	MaxScan int64
}

// Literal is a text that is looked for in raw data.
type Literal struct {
	Text string // in lower case when Fold is set
	Fold bool   // ASCII letters match in either case
}

// Sink takes a source's events. Lanes are read out in the order in which they were opened, whichever is fed first, so that an answer does not depend on timing: a
// source opens one lane a file, or one in all. A lane that is not yet due blocks when it is full, so the lanes that are due must be fed first.
type Sink interface {
	Lane() Lane
	// Found tells whether any event has matched so far, on redacted text: what a source needs to know before it calls a search that skipped data finished.
	Found() bool
}

// Lane is one ordered stream. Each lane is used by one goroutine and must be closed.
type Lane interface {
	// Emit hands an event over; it is copied if it is kept. The error ends the search and is to be returned.
	Emit(Event) error
	Close()
}

// Event is one event of a source.
type Event struct {
	Time   int64  // nanoseconds since 1970, within [From, To)
	Text   []byte // the raw text, continuation lines included, as line.Parser reads it
	Labels []Label
	Cut    bool // the source did not keep the whole text
}

// Label is what a source knows of an event beside its text.
type Label struct {
	Key   string `json:"k"`
	Value string `json:"v"`
}

// Report is what a source says of a search.
type Report struct {
	// Complete: every event of the covered range that could match was handed over.
	Complete bool
	// CoveredFrom and CoveredTo bound the part of the range that the source holds events for, its quiet parts included. Both zero: none of it.
	CoveredFrom, CoveredTo time.Time
	// HeldFrom and HeldTo bound all that the source holds, for a hint when none of the range is covered. Zero: unknown.
	HeldFrom, HeldTo time.Time

	// Ahead is how far the newest events lie beyond Now when their times name no zone and the source takes them to be written in another than the configured one; 0
	// otherwise. What was found may be of another time then, and what was not found may be there. Doubtful: nothing in the source speaks for the configured zone.
	Ahead    time.Duration
	Doubtful bool

	Untimed bool // a file was read whose lines name no time: its events carry the time at which it was last written

	NoFile bool // there is nothing to read: no file has the configured name, or all of them are empty

	Scanned int64 // bytes read
}
