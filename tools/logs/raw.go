package logs

import "time"

// Raw is what a search found, unredacted where it quotes events. Either it holds every matching event, or, when those are over rawKeep, an exact summary with
// examples.
type Raw struct {
	Events   []RawEvent `json:"events"`
	Summary  *Summary   `json:"summary,omitempty"`
	Total    int64      `json:"total"` // matching events
	Coverage *Span      `json:"coverage,omitempty"`
	// Partial: a source could not read all of it. What is here is true, what is not here proves nothing.
	Partial bool `json:"partial,omitempty"`
	// Uncovered lists the topics (indexes into the request's) that hold nothing of the range.
	Uncovered []int `json:"uncovered,omitempty"`
	// Shifted lists topics some of whose times were probably written in another zone than the configured one.
	Shifted []Shift `json:"shifted,omitempty"`
	// Untimed lists topics with a file whose lines name no time.
	Untimed []int `json:"untimed,omitempty"`
	// NoLevel counts events that the level filter left out because they name no level.
	NoLevel int64 `json:"no_level,omitempty"`
}

// Span is a part of time, in nanoseconds since 1970: from inclusive, to exclusive.
type Span struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Shift tells of a topic how far its newest events lie in the future, in nanoseconds.
type Shift struct {
	Topic int   `json:"topic"` // index into the request's topics
	Ahead int64 `json:"ahead"`
}

// RawEvent is one event as the source has it.
type RawEvent struct {
	Topic  int     `json:"topic"` // index into the request's topics
	Time   int64   `json:"time"`
	Text   string  `json:"text"`
	Labels []Label `json:"labels,omitempty"`
	Cut    bool    `json:"cut,omitempty"`
	Group  int     `json:"group,omitempty"` // of the summary
}

// Summary counts every matching event. Its texts are redacted: they were grouped.
type Summary struct {
	Groups  []Group `json:"groups"`
	Omitted int     `json:"omitted,omitempty"` // groups beyond maxGroups
}

// Group is a pattern and its events.
type Group struct {
	Template string   `json:"template"`
	Level    string   `json:"level,omitempty"`
	Class    string   `json:"class,omitempty"`
	Topic    int      `json:"topic"`
	Count    int64    `json:"count"`
	First    int64    `json:"first"`
	Last     int64    `json:"last"`
	Buckets  []int64  `json:"buckets"`
	Values   []Values `json:"values,omitempty"`
	Rest     bool     `json:"rest,omitempty"`
}

// Values is what stood in a slot of a template.
type Values struct {
	Slot string   `json:"slot"`
	Top  []string `json:"top"`
}

const (
	// rawKeep is how many bytes of events are kept whole: at 200 bytes an event 5000 of them, fifty times what an observation shows.
	rawKeep = 1 << 20
	// exampleKeep bounds the examples beside a summary in the record.
	exampleKeep = 512 << 10
	// maxGroups bounds the groups in a record; an observation shows at most about 200.
	maxGroups = 1000
	// buckets is how many equal parts the range has for counts and sampling.
	buckets = 12
)

// bucketOf tells in which of the equal parts of the range t lies.
func bucketOf(t int64, from, to time.Time) int {
	f, n := from.UnixNano(), to.UnixNano()
	if n <= f {
		return 0
	}
	return min(max(int(float64(t-f)/float64(n-f)*buckets), 0), buckets-1)
}
