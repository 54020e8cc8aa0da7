// Package elasticsearch searches an Elasticsearch or OpenSearch index for package logs. The index that bounds a topic comes from the configuration. It promises: of a
// caller's words only letters and digits reach a query, as values of typed JSON, and only where the index's mapping proves that no event is lost by it (a word of over
// 255 characters excepted, which the standard analyzer cuts); package logs matches again on redacted text; an answer that timed out, lacks shards or holds less than
// it counts is incomplete.
package elasticsearch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/internal/fetch"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/internal/window"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/line"
)

// Options configure a Source.
type Options struct {
	URL   string // of the server
	Index string // name, alias, data stream or pattern
	// TimeField, MessageField and LevelField are where a document keeps its parts; "" stands for @timestamp, message and the usual names. A level field holds one word.
	TimeField, MessageField, LevelField string
	Header                              map[string]string
	// MaxBytes bounds what one search may receive; 0: 512 MiB.
	MaxBytes int64
	// Transport is for tests and unusual transports.
	Transport http.RoundTripper
}

// Source is one topic on a server. It is safe for concurrent use.
type Source struct {
	client               *fetch.Client
	index                string // escaped
	time, message        string
	level                string
	addMessage, addLevel bool // the configured field is given the usual name, which goes before others
	maxBytes             int64
	asked                window.Options
}

var _ logs.Source = (*Source)(nil)

const (
	// limit and most stay under index.max_result_window, which is 10000 as installed: one more is asked for.
	limit = 4999
	most  = 9999
	// requests bounds the requests of one search: five million events.
	requests = 1024
)

var errOptions = errors.New("elasticsearch: options")

// New checks the options and does no I/O.
func New(o Options) (*Source, error) {
	c, err := fetch.New(fetch.Options{URL: o.URL, Header: o.Header, Transport: o.Transport})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errOptions, err)
	}
	if o.Index == "" || strings.ContainsAny(o.Index, "/?#% \t\r\n\\\"") || o.Index[0] == '_' && o.Index != "_all" || o.Index == "." || o.Index == ".." {
		return nil, fmt.Errorf("%w: index must name an index or pattern such as logs-checkout-*", errOptions)
	}
	s := &Source{client: c, index: url.PathEscape(o.Index), time: o.TimeField, message: o.MessageField, level: o.LevelField, maxBytes: o.MaxBytes,
		asked: window.Options{Limit: limit, Most: most, Unit: time.Millisecond}}
	if s.time == "" {
		s.time = "@timestamp"
	}
	if s.message == "" {
		s.message = "message"
	}
	s.addMessage = !isMessageKey(s.message)
	s.addLevel = s.level != "" && s.level != "level"
	if s.maxBytes <= 0 {
		s.maxBytes = 512 << 20
	}
	return s, nil
}

// isMessageKey tells whether an event's message is found under the name without help.
func isMessageKey(name string) bool {
	var p line.Parser
	object := window.Object(nil, []logs.Label{{Key: name, Value: "x"}})
	return string(p.Parse(object).Message) == "x"
}

// Close lets idle connections go.
func (s *Source) Close() error { return s.client.Close() }

// Search asks for the range piece by piece.
func (s *Source) Search(ctx context.Context, q logs.Query, sink logs.Sink) (logs.Report, error) {
	r := &run{s: s, q: q, budget: fetch.NewBudget(min(s.maxBytes, q.MaxScan), requests)}
	rep, err := window.Search(ctx, q, sink, r, s.asked)
	rep.Scanned = r.budget.Read()
	return rep, err
}

// Check asks for one event of the last hour: address, index and rights are in order when the server answers.
func (s *Source) Check(ctx context.Context) error {
	now := time.Now().UTC().Truncate(time.Millisecond)
	r := &run{s: s, budget: fetch.NewBudget(checkBytes, 1)}
	var p window.Page
	return r.Fetch(ctx, window.Ask{From: now.Add(-time.Hour), To: now, Limit: 1}, p.For(now.Add(-time.Hour), now))
}

// checkBytes bounds the answer to Check: one event.
const checkBytes = 4 << 20
