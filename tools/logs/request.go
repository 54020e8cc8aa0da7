package logs

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/line"
)

// Limits of a request.
const (
	maxTopics = 8
	maxLimit  = 500
)

// arguments are what a caller gives.
type arguments struct {
	Topics []string `json:"topics"`
	Query  string   `json:"query"`
	Level  string   `json:"level"`
	From   string   `json:"from"`
	To     string   `json:"to"`
	Around string   `json:"around"`
	Window string   `json:"window"`
	Limit  *int     `json:"limit"`
}

// Request is a parsed request: times resolved, and with each topic the parameters of its projection that were in force, so that a stored answer can be projected again.
type Request struct {
	Topics []TopicUse `json:"topics"` // sorted by name
	Query  string     `json:"query,omitempty"`
	Level  string     `json:"level,omitempty"`
	From   time.Time  `json:"from"`
	To     time.Time  `json:"to"`
	Now    time.Time  `json:"now"`
	Limit  int        `json:"limit,omitempty"` // events shown; 0: as many as fit, of a flood a dozen of one pattern
}

// TopicUse is a topic of a request and how its events are shown.
type TopicUse struct {
	Name  string         `json:"name"`
	Mask  redact.Classes `json:"mask"`
	Keep  []string       `json:"keep,omitempty"`
	Hide  []string       `json:"hide,omitempty"`
	Trace bool           `json:"mask_trace_ids,omitempty"`
	App   []string       `json:"app_packages,omitempty"`
}

var errArgs = errors.New("argument")

func bad(hint string) error {
	return fault.New(fault.InvalidRequest, "logs.Parse", errArgs).WithHint(hint)
}

// Parse reads the arguments strictly and resolves topics and times.
func (t *Tool) Parse(args json.RawMessage, c boundary.ParseContext) (Request, error) {
	var a arguments
	if err := boundary.StrictArgs("logs.Parse", args, &a); err != nil {
		return Request{}, err
	}
	allowed := c.Grants.Filter(boundary.Topics, t.names)
	if len(a.Topics) == 0 {
		return Request{}, bad("topics: name at least one; allowed: " + listed(allowed))
	}
	if len(a.Topics) > maxTopics {
		return Request{}, bad(fmt.Sprintf("topics: at most %d in one call", maxTopics))
	}
	var req Request
	names := slices.Clone(a.Topics)
	slices.Sort(names)
	for _, n := range slices.Compact(names) {
		if !slices.Contains(allowed, n) {
			return Request{}, bad("topics: unknown topic " + strconv.Quote(clip(n, 64)) + "; allowed: " + listed(allowed))
		}
		req.Topics = append(req.Topics, t.topics[n].use())
	}
	terms, err := ParseQuery(a.Query)
	if err != nil {
		return Request{}, err
	}
	if len(terms) > 0 {
		req.Query = strings.TrimSpace(a.Query)
	}
	if a.Level != "" {
		l := line.ParseLevel([]byte(strings.TrimSpace(a.Level)), true)
		if l == line.None {
			return Request{}, bad("level: want TRACE, DEBUG, INFO, NOTICE, WARN, ERROR or FATAL")
		}
		req.Level = l.String()
	}
	if a.Limit != nil {
		if *a.Limit < 1 || *a.Limit > maxLimit {
			return Request{}, bad(fmt.Sprintf("limit: want 1 to %d", maxLimit))
		}
		req.Limit = *a.Limit
	}
	if req.From, req.To, err = timeRange(a, c.Now); err != nil {
		return Request{}, err
	}
	req.Now = c.Now.UTC().Truncate(time.Millisecond)
	return req, nil
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Scope describes what is searched. Order of topics and terms and the spelling of levels and times make no difference, nor does a shift of the range that is small
// against it: "the last hour" asked again a minute later is the same scope.
func (t *Tool) Scope(req Request) boundary.Scope {
	names := make([]string, len(req.Topics))
	for i, u := range req.Topics {
		names[i] = u.Name
	}
	terms, err := ParseQuery(req.Query)
	if err != nil {
		terms = []Term{{Text: req.Query}}
	}
	from, to := exactTime(req.From.UnixNano()), exactTime(req.To.UnixNano())
	normal := strings.Join(names, ",") + " " + normalTerms(terms) + " level=" + req.Level + " " + gridRange(req.From, req.To)
	text := strings.Join(names, ",") + " " + from + ".." + to
	if req.Level != "" {
		text += " level>=" + req.Level
	}
	if req.Query != "" {
		text += " " + t.safeQuery(req, nil)
	}
	return boundary.Scope{Normal: normal, Text: clip(text, 256)}
}

// safeQuery is the query as it may be echoed: redacted by every topic's rules, at most 256 bytes.
func (t *Tool) safeQuery(req Request, tags *redact.Tagger) string {
	q := req.Query
	for _, u := range req.Topics {
		r, err := t.redactor(u)
		if err != nil {
			return ""
		}
		q = r.Text(q, tags)
	}
	q = redact.Clean(q)
	if len(q) > 256 {
		q = clip(q, 200) + "… sha256:" + digest(req.Query)[:16]
	}
	return q
}

// clip cuts s to n bytes on a rune border and never inside a mask.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	if i := strings.LastIndexByte(s[:n], '<'); i >= 0 && n-i < 16 && strings.IndexByte(s[i:n], '>') < 0 {
		if a, _ := redact.FindTag(s[i:]); a == 0 {
			n = i
		}
	}
	return s[:n]
}
