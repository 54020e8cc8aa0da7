package elasticsearch

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/internal/fetch"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/internal/window"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/line"
)

// run is one search.
type run struct {
	s      *Source
	q      logs.Query
	budget *fetch.Budget
	doc    window.Document
	made   bool
	filter filter
}

// Fetch asks for events. A filter that the server does not take, because it is older or allows no expensive queries, is left out.
func (r *run) Fetch(ctx context.Context, a window.Ask, p *window.Page) error {
	var f filter
	if a.Filtered {
		if !r.made {
			if err := r.prepare(ctx); err != nil {
				return err
			}
		}
		f = r.filter
	}
	err := r.ask(ctx, a, f, p)
	ref, ok := errors.AsType[*fetch.Refusal](err)
	if !ok || ref.Status != http.StatusBadRequest {
		return err
	}
	if m := resultWindow.FindStringSubmatch(ref.Says()); m != nil {
		n, _ := strconv.Atoi(m[1]) // 0 is unknown
		return &window.Narrow{Limit: n}
	}
	if f.should != nil || f.not != nil {
		r.filter = filter{}
		return r.ask(ctx, a, filter{}, p)
	}
	return err
}

var resultWindow = regexp.MustCompile(`Result window is too large, .{0,80}less than or equal to: \[(\d+)\]`)

// strict makes the server refuse rather than answer for a part of the index.
func strict() url.Values {
	return url.Values{"allow_no_indices": {"false"}, "ignore_unavailable": {"false"}}
}

const (
	// maxMapping bounds the mappings of a pattern's indices; over it nothing is known of them.
	maxMapping = 16 << 20
	// maxAnswer bounds one answer: 5000 documents of 9 KiB fit, or fewer are asked for.
	maxAnswer = 48 << 20
)

// prepare makes the filter, if the mapping allows one.
func (r *run) prepare(ctx context.Context) error {
	r.made = true
	w := words(r.q.Need)
	level := r.s.level != "" && r.q.Level > line.Trace
	if w == nil && !level {
		return nil
	}
	f, err := r.mapping(ctx)
	if err != nil || f == nil {
		return err
	}
	r.filter.should = f.candidates(w)
	if level && f.keyword[r.s.level] {
		r.filter.not = r.s.below(r.q.Level)
	}
	return nil
}

// mapping asks what the indices' fields are; nil when the server does not tell.
func (r *run) mapping(ctx context.Context) (*fields, error) {
	f := newFields()
	q := strict()
	q.Set("flat_settings", "true")
	err := r.s.Client.Do(ctx, r.budget, fetch.Request{Path: "/" + r.s.index, Query: q, Accept: "application/json", Most: maxMapping}, func(in io.Reader) error {
		return fetch.Document(in, func(d *json.Decoder, _ string) error {
			var i index
			if err := fetch.Value(d, &i); err != nil {
				return err
			}
			f.add(i)
			return nil
		})
	})
	ref, ok := errors.AsType[*fetch.Refusal](err)
	switch {
	case errors.Is(err, fetch.ErrLong), errors.Is(err, fetch.ErrShape), ok && ref.Status < 500 && fault.CodeOf(err) == fault.BackendError:
		return nil, nil
	case err != nil:
		return nil, err
	}
	return f, nil
}

// ask sends one query.
func (r *run) ask(ctx context.Context, a window.Ask, f filter, p *window.Page) error {
	body, err := strictjson.Encode(r.s.search(ctx, a, f))
	if err != nil {
		return fault.New(fault.Internal, "elasticsearch.Fetch", err)
	}
	q := strict()
	q.Set("allow_partial_search_results", "false")
	d := &decoder{r: r, p: p, ctx: ctx, asked: a.Limit}
	err = r.s.Client.Do(ctx, r.budget, fetch.Request{Path: "/" + r.s.index + "/_search", Query: q, Body: body, Type: "application/json", Accept: "application/json", Most: maxAnswer}, d.read)
	if errors.Is(err, fetch.ErrLong) {
		return window.ErrFull
	}
	return err
}

// decoder reads an answer and whether it is whole.
type decoder struct {
	r        *run
	p        *window.Page
	ctx      context.Context
	asked    int
	hits     int
	timedOut *bool
	shards   *shards
	total    total
	listed   bool
}

type shards struct {
	Total   int `json:"total"`
	Failed  int `json:"failed"`
	Partial int `json:"partial"` // of clusters
	Skipped int `json:"skipped"`
	Running int `json:"running"`
}

type total struct {
	Value    int    `json:"value"`
	Relation string `json:"relation"`
}

var errShape = fault.New(fault.BackendError, "elasticsearch.Fetch", fetch.ErrShape)

func (d *decoder) read(in io.Reader) error {
	var early bool
	var clusters shards
	err := fetch.Document(in, func(j *json.Decoder, key string) error {
		switch key {
		case "timed_out":
			return fetch.Value(j, &d.timedOut)
		case "terminated_early":
			return fetch.Value(j, &early)
		case "_shards":
			return fetch.Value(j, &d.shards)
		case "_clusters":
			return fetch.Value(j, &clusters)
		case "hits":
			return fetch.Object(j, d.list)
		}
		return fetch.Value(j, nil)
	})
	if err != nil {
		return err
	}
	if d.timedOut == nil || d.shards == nil || !d.listed {
		return errShape
	}
	if *d.timedOut || early || d.shards.Failed > 0 || d.shards.Total == 0 || clusters.Failed+clusters.Partial+clusters.Skipped+clusters.Running > 0 ||
		d.hits < d.asked && (d.total.Value > d.hits || d.total.Relation == "gte") {
		d.p.Partial = true
	}
	return nil
}

func (d *decoder) list(j *json.Decoder, key string) error {
	switch key {
	case "total":
		var raw json.RawMessage
		if err := fetch.Value(j, &raw); err != nil {
			return err
		}
		if json.Unmarshal(raw, &d.total) != nil && json.Unmarshal(raw, &d.total.Value) != nil { // a number before version 7
			return errShape
		}
		return nil
	case "hits":
		d.listed = true
		return fetch.Array(j, d.hit)
	}
	return fetch.Value(j, nil)
}

// hit reads one document.
func (d *decoder) hit(j *json.Decoder) error {
	if err := d.ctx.Err(); err != nil {
		return err
	}
	var h struct {
		Source json.RawMessage   `json:"_source"`
		Sort   []json.RawMessage `json:"sort"`
	}
	if err := fetch.Value(j, &h); err != nil {
		return err
	}
	d.hits++
	if len(h.Sort) == 0 || len(h.Source) == 0 || h.Source[0] != '{' {
		return errShape
	}
	ms, err := strconv.ParseInt(string(h.Sort[0]), 10, 64)
	if err != nil {
		return errShape
	}
	return d.r.add(time.UnixMilli(ms), h.Source, d.p)
}
