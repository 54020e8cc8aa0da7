// Package loki searches a Grafana Loki server for package logs. The stream selector that bounds a topic comes from the configuration. It promises: of a caller's words
// only quoted literals reach the query, as a filter over line, labels and structured metadata that lets too much through rather than too little, since package logs
// matches again on redacted text; a range that the server narrows without a word is not taken to be searched; a warning makes an answer incomplete.
package loki

import (
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
	window.Server
	selector string
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
	s := &Source{selector: strings.TrimSpace(o.Selector)}
	s.Server = window.Server{Client: c, Asked: window.Options{Limit: limit, Unit: time.Nanosecond}, Requests: requests, MaxBytes: o.MaxBytes, Backend: s.backend}
	if len(s.selector) < 3 || s.selector[0] != '{' || s.selector[len(s.selector)-1] != '}' {
		return nil, fmt.Errorf(`%w: selector must be a stream selector such as {app="checkout"}`, errOptions)
	}
	return s, nil
}

func (s *Source) backend(q logs.Query, b *fetch.Budget) window.Backend {
	return &run{s: s, q: q, budget: b}
}
