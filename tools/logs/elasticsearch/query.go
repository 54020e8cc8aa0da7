package elasticsearch

import (
	"context"
	"strings"
	"time"

	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/internal/window"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/line"
)

// search is the body of a request.
func (s *Source) search(ctx context.Context, a window.Ask, f filter) object {
	order := "desc"
	if a.Oldest {
		order = "asc"
	}
	must := []any{object{"range": object{s.time: object{"gte": a.From.UnixMilli(), "lt": a.To.UnixMilli(), "format": "epoch_millis"}}}}
	if f.should != nil {
		must = append(must, object{"bool": object{"should": f.should, "minimum_should_match": 1}})
	}
	query := object{"filter": must}
	if f.not != nil {
		query["must_not"] = f.not
	}
	body := object{
		"size":             a.Limit,
		"track_total_hits": a.Limit,
		"sort":             []any{object{s.time: object{"order": order, "numeric_type": "date"}}},
		"query":            object{"bool": query},
	}
	if d, ok := ctx.Deadline(); ok {
		body["timeout"] = max(time.Until(d), time.Millisecond).Round(time.Millisecond).String()
	}
	return body
}

// filter lets candidates through.
type filter struct {
	should []any // one of them
	not    []any // none of them
}

// words picks of each text a run of letters and digits, which the standard analyzer never cuts. nil when a text has none that can be told from a number, a time, an
// address or a boolean, whose fields are not searched, or from the names that events get here.
func words(need []logs.Literal) []string {
	var out []string
	for _, l := range need {
		best := ""
		for _, w := range strings.FieldsFunc(l.Text, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') }) {
			w = strings.ToLower(w)
			if len(w) > len(best) && strings.ContainsFunc(w, func(r rune) bool { return r >= 'g' && r <= 'y' && r != 't' }) {
				best = w
			}
		}
		if len(best) < 3 || strings.Contains("true false message level", best) {
			return nil
		}
		out = append(out, best)
	}
	return out
}

// below is the filter for documents whose level field names a level under min.
func (s *Source) below(min line.Level) []any {
	var spellings []string
	for _, w := range window.Below(min) {
		spellings = append(spellings, w, strings.ToUpper(w), strings.ToUpper(w[:1])+w[1:])
	}
	if spellings == nil {
		return nil
	}
	return []any{object{"terms": object{s.level: spellings}}}
}
