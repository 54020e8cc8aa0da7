// Package loki searches a Grafana Loki server for package logs. The stream selector that bounds a topic comes from the configuration. It promises: of a caller's words
// only quoted literals reach the query, as a filter over line, labels and structured metadata that lets too much through rather than too little, since package logs
// matches again on redacted text; a range that the server narrows without a word is not taken to be searched; a warning makes an answer incomplete.
package loki

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/internal/fetch"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/internal/window"
)

// Options configure a Source.
type Options struct {
	URL      string // of the server, without /loki/api/…
	Selector string // the streams of the topic, as in {app="checkout"}
	Tenant   string // X-Scope-OrgID; "": none
	Header   map[string]string
	// MaxBytes bounds what one search may receive; 0: 512 MiB.
	MaxBytes int64
	// Transport is for tests and unusual transports.
	Transport http.RoundTripper
}

// Source is one topic on a server. It is safe for concurrent use.
type Source struct {
	client   *fetch.Client
	selector string
	maxBytes int64
	asked    window.Options
}

var _ logs.Source = (*Source)(nil)

const (
	// limit is one event under the most that a Loki gives as it is installed (max_entries_limit_per_query 5000): one more is asked for.
	limit = 4999
	// requests bounds the requests of one search: five million events.
	requests = 1024
)

var errOptions = errors.New("loki: options")

// New checks the options and does no I/O.
func New(o Options) (*Source, error) {
	header := maps.Clone(o.Header)
	if header == nil {
		header = make(map[string]string)
	}
	if o.Tenant != "" {
		header["X-Scope-OrgID"] = o.Tenant
	}
	c, err := fetch.New(fetch.Options{URL: o.URL, Header: header, Transport: o.Transport})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errOptions, err)
	}
	s := &Source{client: c, selector: strings.TrimSpace(o.Selector), maxBytes: o.MaxBytes, asked: window.Options{Limit: limit, Unit: time.Nanosecond}}
	if len(s.selector) < 3 || s.selector[0] != '{' || s.selector[len(s.selector)-1] != '}' {
		return nil, fmt.Errorf(`%w: selector must be a stream selector such as {app="checkout"}`, errOptions)
	}
	if s.maxBytes <= 0 {
		s.maxBytes = 512 << 20
	}
	return s, nil
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

// Check asks for one event of the last hour: address, tenant, selector and rights are in order when the server answers.
func (s *Source) Check(ctx context.Context) error {
	now := time.Now().UTC()
	r := &run{s: s, budget: fetch.NewBudget(checkBytes, 1)}
	var p window.Page
	return r.Fetch(ctx, window.Ask{From: now.Add(-time.Hour), To: now, Limit: 1}, p.For(now.Add(-time.Hour), now))
}

// checkBytes bounds the answer to Check: one event and the server's statistics.
const checkBytes = 4 << 20
