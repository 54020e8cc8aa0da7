package victorialogs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

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
	doc    window.Document
	made   bool
	filter string // of events that can match; "": none
}

const formType = "application/x-www-form-urlencoded"

// Fetch asks for events. A filter that the server does not understand is left out: older ones lack a part of the language.
func (r *run) Fetch(ctx context.Context, a window.Ask, p *window.Page) error {
	filter := ""
	if a.Filtered {
		if !r.made {
			if err := r.prepare(ctx); err != nil {
				return err
			}
		}
		filter = r.filter
	}
	err := r.ask(ctx, a, filter, p)
	if ref, ok := errors.AsType[*fetch.Refusal](err); ok && ref.Status == http.StatusBadRequest {
		if strings.Contains(ref.Says(), "too big time range") {
			return &window.Narrow{Range: true}
		}
		if filter != "" {
			r.filter = ""
			err = r.ask(ctx, a, "", p)
		}
	}
	return err
}

// prepare makes the filter.
func (r *run) prepare(ctx context.Context) error {
	r.made = true
	var parts []string
	if len(r.q.Need) > 0 {
		names, err := r.names(ctx)
		if err != nil {
			return err
		}
		if f := candidates(r.q.Need, names); f != "" && names != nil {
			parts = append(parts, f)
		}
	}
	if f := severe(r.q.Level); f != "" {
		parts = append(parts, f)
	}
	r.filter = strings.Join(parts, " ")
	return nil
}

// names lists the fields of the range; nil when the server does not tell.
func (r *run) names(ctx context.Context) ([]string, error) {
	names := []string{}
	body := form(ctx, r.s.selection(r.q.From, r.q.To)).Encode()
	err := r.s.Client.Do(ctx, r.budget, fetch.Request{Path: "/select/logsql/field_names", Body: []byte(body), Type: formType, Most: maxLine}, func(in io.Reader) error {
		return fetch.Document(in, func(d *json.Decoder, key string) error {
			if key != "values" {
				return fetch.Value(d, nil)
			}
			return fetch.Array(d, func(d *json.Decoder) error {
				var v struct {
					Value string `json:"value"`
				}
				err := fetch.Value(d, &v)
				names = append(names, v.Value)
				return err
			})
		})
	})
	if errors.Is(err, fetch.ErrLong) {
		return nil, nil
	}
	if ref, ok := errors.AsType[*fetch.Refusal](err); ok && ref.Status >= 400 && ref.Status < 500 && fault.CodeOf(err) == fault.BackendError {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return names, nil
}

var errLine = errors.New("one event is larger than an answer may be")

// maxLine bounds one event on the wire: the server itself keeps none over 2 MiB.
const maxLine = 4 << 20

// ask sends one query. The members that only repeat others are not wanted.
func (r *run) ask(ctx context.Context, a window.Ask, filter string, p *window.Page) error {
	query := r.s.selection(a.From, a.To)
	if filter != "" {
		query += " " + filter
	}
	query += " | delete _stream, _stream_id"
	n := strconv.Itoa(a.Limit)
	if a.Oldest {
		query += " | sort by (_time) limit " + n
	}
	v := form(ctx, query)
	if !a.Oldest {
		v.Set("limit", n)
	}
	return r.s.Client.Do(ctx, r.budget, fetch.Request{Path: "/select/logsql/query", Body: []byte(v.Encode()), Type: formType}, func(in io.Reader) error {
		sc := bufio.NewScanner(in)
		sc.Buffer(make([]byte, 0, 64<<10), maxLine)
		for sc.Scan() {
			if err := ctx.Err(); err != nil {
				return err
			}
			if b := bytes.TrimSpace(sc.Bytes()); len(b) > 0 {
				if err := r.add(b, p); err != nil {
					return err
				}
			}
		}
		if errors.Is(sc.Err(), bufio.ErrTooLong) {
			return fault.New(fault.RawTooLarge, "victorialogs.Fetch", errLine)
		}
		return sc.Err()
	})
}

// add reads one event. All values are strings.
func (r *run) add(b []byte, p *window.Page) error {
	var fields map[string]string
	if err := json.Unmarshal(b, &fields); err != nil {
		if b[len(b)-1] != '}' { // the end of it is missing
			return io.ErrUnexpectedEOF
		}
		return fault.New(fault.BackendError, "victorialogs.Fetch", fetch.ErrShape)
	}
	t, err := time.Parse(time.RFC3339Nano, fields["_time"])
	if err != nil {
		return fault.New(fault.BackendError, "victorialogs.Fetch", fetch.ErrShape)
	}
	text, labels := r.doc.Event(withoutTime(b), fields["_msg"], func() []logs.Label {
		out := make([]logs.Label, 0, len(fields))
		for k, v := range fields {
			if k != "_msg" && k != "_time" {
				out = append(out, logs.Label{Key: k, Value: v})
			}
		}
		return out
	})
	return p.Add(t.UnixNano(), text, labels)
}

// withoutTime takes the member _time out of an object: the event has it anyway. Within a string the quotes of what is looked for would be escaped.
func withoutTime(b []byte) []byte {
	const member = `"_time":"`
	i := bytes.Index(b, []byte(member))
	if i < 1 || b[i-1] != ',' && b[i-1] != '{' {
		return b
	}
	n := bytes.IndexByte(b[i+len(member):], '"')
	if n < 0 {
		return b
	}
	end := i + len(member) + n + 1
	if end < len(b) && b[end] == ',' {
		end++
	} else if b[i-1] == ',' {
		i--
	}
	return append(b[:i:i], b[end:]...)
}
