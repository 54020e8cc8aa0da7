package loki

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/internal/fetch"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/internal/window"
)

// run is one search.
type run struct {
	s      *Source
	q      logs.Query
	budget *fetch.Budget
	plain  bool // the server does not understand the filter, or not as it is meant
}

// Fetch asks for events.
func (r *run) Fetch(ctx context.Context, a window.Ask, p *window.Page) error {
	filter := ""
	if a.Filtered && !r.plain {
		filter = candidates(r.q.Need)
	}
	err := r.ask(ctx, a, filter, p)
	if errors.Is(err, errUnknown) {
		r.plain = true
		return r.ask(ctx, a, "", p.For(a.From, a.To))
	}
	ref, ok := errors.AsType[*fetch.Refusal](err)
	if !ok || ref.Status != http.StatusBadRequest {
		return err
	}
	if n := refused(ref.Says()); n != nil {
		return n
	}
	if filter != "" {
		r.plain = true
		return r.ask(ctx, a, "", p)
	}
	return err
}

var entriesLimit = regexp.MustCompile(`max entries limit per query exceeded.*\(\d+ > (\d+)\)`)

// refused reads a bound of the server out of what it says about a request over it.
func refused(says string) *window.Narrow {
	if m := entriesLimit.FindStringSubmatch(says); m != nil {
		n, _ := strconv.Atoi(m[1]) // 0 is unknown
		return &window.Narrow{Limit: n}
	}
	if strings.Contains(says, "query time range exceeds the limit") {
		return &window.Narrow{Range: true}
	}
	return nil
}

const (
	// longQuery is the query from which on a request is a POST: proxies refuse addresses over 8 KiB.
	longQuery = 4 << 10
	// maxAnswer bounds one answer: 5000 events and their labels fit, or fewer are asked for.
	maxAnswer = 48 << 20
)

// ask sends one query.
func (r *run) ask(ctx context.Context, a window.Ask, filter string, p *window.Page) error {
	v := url.Values{
		"query":     {r.s.selector + filter},
		"start":     {strconv.FormatInt(a.From.UnixNano(), 10)},
		"end":       {strconv.FormatInt(a.To.UnixNano(), 10)}, // exclusive
		"limit":     {strconv.Itoa(a.Limit)},
		"direction": {"backward"},
	}
	if a.Oldest {
		v.Set("direction", "forward")
	}
	req := fetch.Request{Path: "/loki/api/v1/query_range", Query: v, Accept: "application/json", Most: maxAnswer, Header: map[string]string{"X-Loki-Response-Encoding-Flags": "categorize-labels"}}
	if body := v.Encode(); len(body) > longQuery {
		req.Query, req.Body, req.Type = nil, []byte(body), "application/x-www-form-urlencoded"
	}
	d := &decoder{ctx: ctx, p: p, wrapped: filter != ""}
	err := r.s.Client.Do(ctx, r.budget, req, func(in io.Reader) error { return d.read(in) })
	if errors.Is(err, fetch.ErrLong) {
		return window.ErrFull
	}
	return err
}

// decoder reads an answer.
type decoder struct {
	ctx     context.Context
	p       *window.Page
	wrapped bool // lines are what template makes of them
	status  string
	kind    string
	result  bool
}

var errStatus = errors.New("the answer's status is not success")

func (d *decoder) read(in io.Reader) error {
	err := fetch.Document(in, func(j *json.Decoder, key string) error {
		switch key {
		case "status":
			return fetch.Value(j, &d.status)
		case "warnings":
			var w []json.RawMessage
			err := fetch.Value(j, &w)
			d.p.Partial = d.p.Partial || len(w) > 0
			return err
		case "data":
			return fetch.Object(j, d.data)
		}
		return fetch.Value(j, nil)
	})
	switch {
	case err != nil:
		return err
	case d.status != "success":
		return fault.New(fault.BackendError, "loki.Fetch", errStatus)
	case d.kind != "streams" || !d.result:
		return errShape
	}
	return nil
}

var errShape = fault.New(fault.BackendError, "loki.Fetch", fetch.ErrShape)

func (d *decoder) data(j *json.Decoder, key string) error {
	switch key {
	case "resultType":
		return fetch.Value(j, &d.kind)
	case "result":
		d.result = true
		return fetch.Array(j, d.stream)
	}
	return fetch.Value(j, nil)
}

// stream reads one stream. Its labels come before its values; an answer in which they do not is read all the same.
func (d *decoder) stream(j *json.Decoder) error {
	var st *stream
	var early []entry
	err := fetch.Object(j, func(j *json.Decoder, key string) error {
		switch key {
		case "stream":
			var m map[string]string
			if err := fetch.Value(j, &m); err != nil {
				return err
			}
			st = &stream{pairs: m, labels: toLabels(m)}
			for _, e := range early {
				if err := d.add(e, st); err != nil {
					return err
				}
			}
			early = nil
			return nil
		case "values":
			return fetch.Array(j, func(j *json.Decoder) error {
				var e entry
				if err := fetch.Value(j, &e); err != nil {
					return err
				}
				if st == nil {
					early = append(early, e)
					return nil
				}
				return d.add(e, st)
			})
		}
		return fetch.Value(j, nil)
	})
	if err == nil && st == nil {
		return errShape
	}
	return err
}

// stream is what its events have in common.
type stream struct {
	pairs  map[string]string
	labels []logs.Label
}

// entry is [time, line] or [time, line, metadata].
type entry []json.RawMessage

// add reads one event.
func (d *decoder) add(e entry, st *stream) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	var at, line string
	if len(e) < 2 || json.Unmarshal(e[0], &at) != nil || json.Unmarshal(e[1], &line) != nil {
		return errShape
	}
	ns, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return errShape
	}
	pairs, labels := st.pairs, st.labels
	if len(e) > 2 {
		more, err := metadata(e[2])
		if err != nil {
			return err
		}
		if len(more) > 0 {
			maps.Copy(more, st.pairs)
			pairs, labels = more, toLabels(more)
		}
	}
	if d.wrapped {
		inner, ok := unwrap(line, pairs)
		if !ok {
			return errUnknown
		}
		line = inner
	}
	return d.p.Add(ns, []byte(line), labels)
}

// errUnknown is a line that is not what template makes of one.
var errUnknown = errors.New("the server has another idea of an event's labels")

// metadata is what an event has besides its stream's labels: {"structuredMetadata":{…},"parsed":{…}}, or in older servers the pairs themselves.
func metadata(raw json.RawMessage) (map[string]string, error) {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, errShape
	}
	all := map[string]string{}
	for k, v := range parts {
		var s string
		var m map[string]string
		switch {
		case json.Unmarshal(v, &s) == nil:
			all[k] = s
		case json.Unmarshal(v, &m) == nil:
			maps.Copy(all, m)
		default:
			return nil, errShape
		}
	}
	return all, nil
}

// toLabels lists pairs, sorted. Names that begin with __ are the server's own.
func toLabels(pairs map[string]string) []logs.Label {
	out := make([]logs.Label, 0, len(pairs))
	for k, v := range pairs {
		if !strings.HasPrefix(k, "__") {
			out = append(out, logs.Label{Key: k, Value: v})
		}
	}
	window.SortLabels(out)
	return out
}
