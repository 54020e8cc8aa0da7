// Package victorialogs searches a VictoriaLogs server for package logs. The filter that bounds a topic comes from the configuration. It promises: of a caller's words
// only quoted literals reach the query, as a filter that lets too much through rather than too little, since package logs matches again on redacted text; an answer
// that breaks off after its status was sent is an error, never a shorter answer.
package victorialogs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/internal/fetch"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/internal/window"
)

// Options configure a Source.
type Options struct {
	URL    string // of the server, without /select/…
	Filter string // LogsQL that every event of the topic matches; "": all events
	Tenant string // AccountID or AccountID:ProjectID; "": the server's default
	Header map[string]string
	// MaxBytes bounds what one search may receive; 0: 512 MiB.
	MaxBytes int64
	// Transport is for tests and unusual transports.
	Transport http.RoundTripper
}

// Source is one topic on a server. It is safe for concurrent use.
type Source struct {
	window.Server
	filter string
}

var _ logs.Source = (*Source)(nil)

const (
	// limit is how many events one request is for: at 300 bytes an event 3 MiB.
	limit = 10_000
	// most is for log shippers that write times in whole seconds.
	most = 200_000
	// requests bounds the requests of one search: five million small events.
	requests = 512
)

var errOptions = errors.New("victorialogs: options")

// New checks the options and does no I/O.
func New(o Options) (*Source, error) {
	header := maps.Clone(o.Header)
	if header == nil {
		header = make(map[string]string)
	}
	if o.Tenant != "" {
		account, project, both := strings.Cut(o.Tenant, ":")
		if !both {
			project = "0"
		}
		for name, v := range map[string]string{"AccountID": account, "ProjectID": project} {
			if _, err := strconv.ParseUint(v, 10, 32); err != nil {
				return nil, fmt.Errorf("%w: tenant must be AccountID or AccountID:ProjectID, as in 12:0", errOptions)
			}
			header[name] = v
		}
	}
	c, err := fetch.New(fetch.Options{URL: o.URL, Header: header, Transport: o.Transport})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errOptions, err)
	}
	s := &Source{filter: strings.TrimSpace(o.Filter)}
	s.Server = window.Server{Client: c, Asked: window.Options{Limit: limit, Most: most, Unit: time.Nanosecond}, Requests: requests, MaxBytes: o.MaxBytes, Backend: s.backend}
	return s, nil
}

// form is a request's arguments. A cluster must not leave out nodes that do not answer.
func form(ctx context.Context, query string) url.Values {
	v := url.Values{"query": {query}, "allow_partial_response": {"0"}}
	if d, ok := ctx.Deadline(); ok {
		v.Set("timeout", max(time.Until(d), time.Millisecond).Round(time.Millisecond).String())
	}
	return v
}

func (s *Source) backend(q logs.Query, b *fetch.Budget) window.Backend {
	return &run{s: s, q: q, budget: b}
}
