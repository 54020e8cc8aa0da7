package elasticsearch_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
)

// fake answers _search and GET /{index} in the documented shapes of Elasticsearch 8, for one index. Text fields are searched by the words that the standard analyzer
// makes of them, keyword fields as a whole up to ignore_above, and what is beyond is listed in _ignored: a filter that promises too much loses documents here too.
type fake struct {
	*httptest.Server
	docs      []string // JSON
	mapping   string   // of the whole index
	settings  string
	timeField string
	window    int // index.max_result_window
	noMapping bool
	noFilter  bool // refuses filters, as with search.allow_expensive_queries=false
	patch     func(answer map[string]any)
	answer    func(w http.ResponseWriter) bool

	once    sync.Once
	indexed []*document

	mu      sync.Mutex
	bodies  []string
	targets []string
	heads   []http.Header
}

const plainMapping = `{"properties":{"@timestamp":{"type":"date"},"message":{"type":"text","fields":{"keyword":{"type":"keyword","ignore_above":256}}},
	"log":{"properties":{"level":{"type":"keyword","ignore_above":1024}}},"service":{"properties":{"name":{"type":"keyword","ignore_above":20}}},"kubernetes":{"properties":{"pod":{"type":"keyword"}}},
	"status":{"type":"long"},"took":{"type":"float"},"ok":{"type":"boolean"},"error":{"properties":{"stack_trace":{"type":"text"}}},"host":{"type":"ip"},"auth":{"properties":{"api_key":{"type":"keyword"}}}}}`

func newFake(t *testing.T, docs ...string) *fake {
	f := &fake{docs: docs, mapping: plainMapping, settings: `{"index.number_of_shards":"1"}`, timeField: "@timestamp", window: 10_000}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.targets, f.heads, f.bodies = append(f.targets, r.Method+" "+r.URL.RequestURI()), append(f.heads, r.Header), append(f.bodies, string(body))
	f.mu.Unlock()
	if f.answer != nil && f.answer(w) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/logs-shop-*":
		if f.noMapping {
			refuse(w, 403, "security_exception", "action [indices:admin/get] is unauthorized")
			return
		}
		fmt.Fprintf(w, `{"logs-shop-000001":{"aliases":{},"mappings":%s,"settings":%s}}`, f.mapping, f.settings)
	case "/logs-shop-*/_search":
		f.search(w, body)
	default:
		refuse(w, 404, "index_not_found_exception", "no such index ["+r.URL.Path+"]")
	}
}

func refuse(w http.ResponseWriter, status int, kind, reason string) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"root_cause": []any{map[string]any{"type": kind, "reason": reason}}, "type": kind, "reason": reason}, "status": status})
}

// index reads all documents, once.
func (f *fake) index() {
	var mapping map[string]any
	if err := json.Unmarshal([]byte(f.mapping), &mapping); err != nil {
		panic(err)
	}
	for _, raw := range f.docs {
		var source map[string]any
		if err := json.Unmarshal([]byte(raw), &source); err != nil {
			panic(err)
		}
		d := &document{values: map[string][]any{}, terms: map[string][]string{}}
		d.index("", source, mapping)
		stamp, err := time.Parse(time.RFC3339Nano, fmt.Sprint(d.values[f.timeField][0]))
		if err != nil {
			panic(err)
		}
		d.ms = stamp.UnixMilli()
		f.indexed = append(f.indexed, d)
	}
}

type hit struct {
	ms  int64
	raw string
}

func (f *fake) search(w http.ResponseWriter, body []byte) {
	var q struct {
		Size  int              `json:"size"`
		Track int              `json:"track_total_hits"`
		Sort  []map[string]any `json:"sort"`
		Query map[string]any   `json:"query"`
	}
	if err := json.Unmarshal(body, &q); err != nil {
		refuse(w, 400, "parsing_exception", err.Error())
		return
	}
	if q.Size > f.window {
		refuse(w, 400, "illegal_argument_exception", fmt.Sprintf("Result window is too large, from + size must be less than or equal to: [%d] but was [%d]. See the scroll api for a more efficient way.", f.window, q.Size))
		return
	}
	text := string(body)
	if f.noFilter && (strings.Contains(text, "wildcard") || strings.Contains(text, "must_not")) {
		refuse(w, 400, "query_shard_exception", "[wildcard] queries cannot be executed when 'search.allow_expensive_queries' is set to false.")
		return
	}
	f.once.Do(f.index)
	var hits []hit
	for i, d := range f.indexed {
		if d.matches(q.Query) {
			hits = append(hits, hit{d.ms, f.docs[i]})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		if strings.Contains(fmt.Sprint(q.Sort), "asc") {
			return int(a.ms - b.ms)
		}
		return int(b.ms - a.ms)
	})
	count, relation := len(hits), "eq"
	if count > q.Track {
		count, relation = q.Track, "gte"
	}
	list := []any{}
	for _, h := range hits[:min(len(hits), q.Size)] {
		list = append(list, map[string]any{"_index": "logs-shop-000001", "_id": "x", "_score": nil, "_source": json.RawMessage(h.raw), "sort": []any{h.ms}})
	}
	answer := map[string]any{"took": 3, "timed_out": false, "_shards": map[string]any{"total": 1, "successful": 1, "skipped": 0, "failed": 0},
		"hits": map[string]any{"total": map[string]any{"value": count, "relation": relation}, "max_score": nil, "hits": list}}
	if f.patch != nil {
		f.patch(answer)
	}
	_ = json.NewEncoder(w).Encode(answer) // a client that has gone is no failure of the fake
}

// document is what the index knows of a source.
type document struct {
	ms      int64
	values  map[string][]any
	terms   map[string][]string
	ignored bool
}

func (d *document) index(prefix string, source, mapping map[string]any) {
	props, _ := mapping["properties"].(map[string]any)
	for k, v := range source {
		name, rest, dotted := strings.Cut(k, ".")
		p, _ := props[k].(map[string]any)
		if outer, ok := props[name].(map[string]any); dotted && ok { // {"log.level":…} is {"log":{"level":…}}
			d.index(prefix+name+".", map[string]any{rest: v}, outer)
			continue
		}
		list, many := v.([]any)
		if !many {
			list = []any{v}
		}
		for _, v := range list {
			if inner, ok := v.(map[string]any); ok {
				d.index(prefix+k+".", inner, p)
				continue
			}
			d.values[prefix+k] = append(d.values[prefix+k], v)
			s := fmt.Sprint(v)
			switch p["type"] {
			case "text":
				for w := range strings.FieldsFuncSeq(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }) {
					d.terms[prefix+k] = append(d.terms[prefix+k], strings.ToLower(w))
				}
			case "keyword":
				if above, ok := p["ignore_above"].(float64); ok && len(s) > int(above) {
					d.ignored = true
				} else {
					d.terms[prefix+k] = append(d.terms[prefix+k], s)
				}
			}
		}
	}
}

// matches evaluates the queries that may be sent; any other is a mistake.
func (d *document) matches(q map[string]any) bool {
	if len(q) != 1 {
		panic(fmt.Sprint("query ", q))
	}
	for kind, v := range q {
		arg, _ := v.(map[string]any)
		switch kind {
		case "bool":
			some := arg["should"] == nil
			for clause, list := range arg {
				switch clause {
				case "filter", "must_not", "should":
					for _, c := range list.([]any) {
						yes := d.matches(c.(map[string]any))
						if clause == "should" {
							some = some || yes
						} else if yes == (clause == "must_not") {
							return false
						}
					}
				case "minimum_should_match":
				default:
					panic(clause)
				}
			}
			return some
		case "range":
			for _, r := range arg {
				r := r.(map[string]any)
				return float64(d.ms) >= r["gte"].(float64) && float64(d.ms) < r["lt"].(float64) && r["format"] == "epoch_millis"
			}
		case "exists":
			if arg["field"] == "_ignored" {
				return d.ignored
			}
			return len(d.values[arg["field"].(string)]) > 0
		case "terms":
			for field, list := range arg {
				return slices.ContainsFunc(list.([]any), func(t any) bool { return slices.Contains(d.terms[field], t.(string)) })
			}
		case "wildcard":
			for field, w := range arg {
				w := w.(map[string]any)
				inner := strings.Trim(w["value"].(string), "*")
				if strings.ContainsAny(inner, `*?\`) || w["case_insensitive"] != true {
					panic(inner)
				}
				return slices.ContainsFunc(d.terms[field], func(t string) bool { return strings.Contains(strings.ToLower(t), inner) })
			}
		}
		panic(kind)
	}
	return false
}

// sent is the last search that named words.
func (f *fake) sent() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.bodies) - 1; i >= 0; i-- {
		if strings.Contains(f.bodies[i], "should") {
			return f.bodies[i]
		}
	}
	return ""
}
