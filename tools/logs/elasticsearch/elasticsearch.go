// Package elasticsearch searches an Elasticsearch or OpenSearch index for package logs. The index that bounds a topic comes from the configuration. It promises: of a
// caller's words only letters and digits reach a query, as values of typed JSON, and only where the index's mapping proves that no event is lost by it (a word of over
// 255 characters excepted, which the standard analyzer cuts); package logs matches again on redacted text; an answer that timed out, lacks shards or holds less than
// it counts is incomplete.
package elasticsearch

import (
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
	window.Server
	index                string // escaped
	time, message        string
	level                string
	addMessage, addLevel bool // the configured field is given the usual name, which goes before others
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
	s := &Source{index: url.PathEscape(o.Index), time: o.TimeField, message: o.MessageField, level: o.LevelField}
	s.Server = window.Server{Client: c, Asked: window.Options{Limit: limit, Most: most, Unit: time.Millisecond}, Requests: requests, MaxBytes: o.MaxBytes, Backend: s.backend}
	if s.time == "" {
		s.time = "@timestamp"
	}
	if s.message == "" {
		s.message = "message"
	}
	s.addMessage = !isMessageKey(s.message)
	s.addLevel = s.level != "" && s.level != "level"
	return s, nil
}

// isMessageKey tells whether an event's message is found under the name without help.
func isMessageKey(name string) bool {
	var p line.Parser
	object := window.Object(nil, []logs.Label{{Key: name, Value: "x"}})
	return string(p.Parse(object).Message) == "x"
}

func (s *Source) backend(q logs.Query, b *fetch.Budget) window.Backend {
	return &run{s: s, q: q, budget: b}
}
