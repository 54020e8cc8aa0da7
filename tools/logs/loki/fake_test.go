package loki_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/template"
	"time"
)

// entry is one event of the fake.
type entry struct {
	at     time.Time
	labels map[string]string
	line   string
	meta   map[string]string
}

// fake answers query_range in the shapes of Loki 3.7, for the selector {app="shop"} alone. It reads the filter that it is sent as Loki does, strings and template
// included, so that a text which broke out of its string would be seen.
type fake struct {
	*httptest.Server
	entries    []entry
	most       int           // max_entries_limit_per_query
	length     time.Duration // max_query_length
	since      time.Time     // max_query_lookback
	warnings   []string
	status     string
	noTemplate bool   // an older server
	flat       bool   // one without categorized labels
	wraps      string // a server that writes lines otherwise
	answer     func(w http.ResponseWriter) bool

	mu    sync.Mutex
	asked []url.Values
	heads []http.Header
	posts int
}

func newFake(t *testing.T, entries ...entry) *fake {
	f := &fake{entries: entries, most: 5000, status: "success"}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

// query is the only form that a query may have.
var query = regexp.MustCompile(`^\{app="shop"\}(?: \| line_format ("(?:[^"\\]|\\.)*") \|~ ("(?:[^"\\]|\\.)*") \|~ ("(?:[^"\\]|\\.)*"))?$`)

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil || r.URL.Path != "/loki/api/v1/query_range" {
		http.NotFound(w, r)
		return
	}
	f.mu.Lock()
	f.asked, f.heads = append(f.asked, r.Form), append(f.heads, r.Header)
	if r.Method == http.MethodPost {
		f.posts++
	}
	f.mu.Unlock()
	if f.answer != nil && f.answer(w) {
		return
	}
	start, end, limit := number(r.Form, "start"), number(r.Form, "end"), int(number(r.Form, "limit"))
	keep, err := f.compile(r.Form.Get("query"))
	switch {
	case err != nil:
		http.Error(w, "parse error at line 1, col 14: syntax error: unexpected "+err.Error(), http.StatusBadRequest)
		return
	case limit > f.most:
		http.Error(w, fmt.Sprintf("max entries limit per query exceeded, limit > max_entries_limit_per_query (%d > %d)", limit, f.most), http.StatusBadRequest)
		return
	case f.length > 0 && time.Duration(end-start) > f.length:
		http.Error(w, fmt.Sprintf("the query time range exceeds the limit (query length: %s, limit: %s)", time.Duration(end-start), f.length), http.StatusBadRequest)
		return
	}
	type found struct {
		entry
		shown string
	}
	var hits []found
	for _, e := range f.entries {
		if ns := e.at.UnixNano(); ns < start || ns >= end || e.at.Before(f.since) {
			continue
		}
		if shown, ok := keep(e); ok {
			hits = append(hits, found{e, shown})
		}
	}
	slices.SortStableFunc(hits, func(a, b found) int {
		if r.Form.Get("direction") == "forward" {
			return a.at.Compare(b.at)
		}
		return b.at.Compare(a.at)
	})
	hits = hits[:min(len(hits), limit)]
	streams := map[string][][]any{}
	labels := map[string]map[string]string{}
	for _, h := range hits {
		set := maps.Clone(h.labels)
		value := []any{strconv.FormatInt(h.at.UnixNano(), 10), h.shown}
		if f.flat {
			maps.Copy(set, h.meta)
		} else if len(h.meta) > 0 {
			value = append(value, map[string]any{"structuredMetadata": h.meta})
		} else {
			value = append(value, map[string]any{})
		}
		key := fmt.Sprint(set)
		labels[key] = set
		streams[key] = append(streams[key], value)
	}
	result := []any{}
	for _, k := range slices.Sorted(maps.Keys(streams)) {
		result = append(result, map[string]any{"stream": labels[k], "values": streams[k]})
	}
	body := map[string]any{"status": f.status, "data": map[string]any{"resultType": "streams", "result": result, "encodingFlags": []string{"categorize-labels"},
		"stats": map[string]any{"summary": map[string]any{"bytesProcessedPerSecond": 123456, "totalLinesProcessed": 17}}}}
	if f.warnings != nil {
		body["warnings"] = f.warnings
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // a client that has gone is no failure of the fake
}

func number(v url.Values, key string) int64 {
	n, err := strconv.ParseInt(v.Get(key), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// compile reads a query as Loki does.
func (f *fake) compile(q string) (func(entry) (string, bool), error) {
	m := query.FindStringSubmatch(q)
	if m == nil || f.noTemplate && m[1] != "" {
		return nil, fmt.Errorf("%q", q)
	}
	if m[1] == "" {
		return func(e entry) (string, bool) { return e.line, true }, nil
	}
	format, err := strconv.Unquote(m[1])
	if err != nil {
		return nil, err
	}
	var filters [2]*regexp.Regexp
	for i := range filters {
		expr, err := strconv.Unquote(m[2+i])
		if err != nil {
			return nil, err
		}
		if filters[i], err = regexp.Compile(expr); err != nil {
			return nil, err
		}
	}
	var line string
	t, err := template.New("line").Funcs(template.FuncMap{"__line__": func() string { return line }}).Parse(format)
	if err != nil {
		return nil, err
	}
	return func(e entry) (string, bool) {
		line = e.line
		all := maps.Clone(e.labels)
		maps.Copy(all, e.meta)
		var b bytes.Buffer
		if t.Execute(&b, all) != nil {
			return e.line, true
		}
		return f.wraps + b.String(), filters[0].MatchString(b.String()) && filters[1].MatchString(b.String())
	}, nil
}

// last is the newest query that was asked with a filter.
func (f *fake) last() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.asked) - 1; i >= 0; i-- {
		if q := f.asked[i].Get("query"); strings.Contains(q, "|~") {
			return q
		}
	}
	return ""
}
