// Package dify asks a remote retriever that speaks the Dify external-knowledge contract (POST {url}/retrieval). RAGFlow serves it, and so can any in-house service. It
// promises: only a complete, empty list is an empty answer; an error code inside a 200, a missing list or a body that ends early is an error; the answer is metered
// while it streams; the key goes to the configured address only, never along a redirect; filters come from the configuration and never from a model.
package dify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
	"github.com/seed-069badc9/mcp-gateway/tools/rag"
)

// Options describe one knowledge base.
type Options struct {
	URL         string // endpoint without /retrieval, as Dify's settings want it: http or https, no credentials inside
	KnowledgeID string
	APIKey      string // sent as a bearer token; "" for none
	// Fields name what a record holds, dotted paths allowed ("metadata.path"). Empty ones stand for the usual names.
	Fields Fields
	// Filters are metadata names and the value each must have: a fixed metadata_condition. A model can neither see nor change them.
	Filters map[string]string
	// Client is for tests and unusual transports. Its CheckRedirect is replaced. Nil: a client of its own.
	Client *http.Client
}

// Fields are the names under which a record keeps its parts.
type Fields struct {
	Content, Title, ID, Source string
}

// Retriever is a remote collection. It is safe for concurrent use.
type Retriever struct {
	endpoint string
	o        Options
	client   *http.Client
}

var _ rag.Searcher = (*Retriever)(nil)

// New checks the options and does no I/O. Errors are INVALID_REQUEST with a hint that names the option.
func New(o Options) (*Retriever, error) {
	refuse := func(hint string) (*Retriever, error) {
		return nil, fault.New(fault.InvalidRequest, "dify.New", errors.New("option")).WithHint(hint)
	}
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return refuse("url must be an http or https address")
	case u.User != nil:
		return refuse("url must hold no credentials; use api_key")
	case u.RawQuery != "" || u.Fragment != "":
		return refuse("url must end with its path")
	case o.KnowledgeID == "":
		return refuse("knowledge_id is required")
	}
	c := &http.Client{}
	if o.Client != nil {
		*c = *o.Client
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok {
		own := t.Clone()
		own.MaxConnsPerHost = 16
		c.Transport = own
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Retriever{endpoint: strings.TrimSuffix(u.String(), "/") + "/retrieval", o: o, client: c}, nil
}

// request is the body of the contract.
type request struct {
	KnowledgeID string     `json:"knowledge_id"`
	Query       string     `json:"query"`
	Setting     setting    `json:"retrieval_setting"`
	Condition   *condition `json:"metadata_condition,omitempty"`
}

type condition struct {
	Operator   string       `json:"logical_operator"`
	Conditions []comparison `json:"conditions"`
}

type comparison struct {
	Name     []string `json:"name"`
	Operator string   `json:"comparison_operator"`
	Value    string   `json:"value"`
}

// conditionOf writes the filters as a condition, in a fixed order.
func conditionOf(filters map[string]string) *condition {
	if len(filters) == 0 {
		return nil
	}
	c := &condition{Operator: "and"}
	for _, name := range slices.Sorted(maps.Keys(filters)) {
		c.Conditions = append(c.Conditions, comparison{[]string{name}, "is", filters[name]})
	}
	return c
}

type setting struct {
	TopK           int     `json:"top_k"`
	ScoreThreshold float64 `json:"score_threshold"`
}

// Search asks the backend once. Errors: BACKEND_TIMEOUT, BACKEND_BUSY (429, 503), BACKEND_ERROR, BACKEND_INCOMPLETE (a body that ends early or holds no list) and what
// take refuses.
func (r *Retriever) Search(ctx context.Context, q rag.Query, take func(int) error) (rag.Answer, error) {
	const op = "dify.Search"
	body, err := strictjson.Encode(request{r.o.KnowledgeID, q.Text, setting{q.Limit, q.Floor}, conditionOf(r.o.Filters)})
	if err != nil {
		return rag.Answer{}, fault.New(fault.Internal, op, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.endpoint, bytes.NewReader(body))
	if err != nil {
		return rag.Answer{}, fault.New(fault.Internal, op, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if r.o.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+r.o.APIKey)
	}
	res, err := r.client.Do(req)
	if err != nil {
		return rag.Answer{}, transportError(ctx, op, fault.BackendError, err)
	}
	defer res.Body.Close()
	if code, bad := statusCode(res.StatusCode); bad {
		return rag.Answer{}, fault.New(code, op, fmt.Errorf("status %d", res.StatusCode))
	}
	data, err := io.ReadAll(&metered{res.Body, take})
	if err != nil {
		if f, ok := errors.AsType[*fault.Error](err); ok {
			return rag.Answer{}, f
		}
		return rag.Answer{}, transportError(ctx, op, fault.BackendIncomplete, err)
	}
	return r.read(data, q)
}

// Check asks a question of one word, to see whether address, key and knowledge base are right.
func (r *Retriever) Check(ctx context.Context) error {
	left := checkBytes
	_, err := r.Search(ctx, rag.Query{Text: "check", Limit: 1}, func(n int) error {
		if left -= n; left < 0 {
			return fault.New(fault.RawTooLarge, "dify.Check", errors.New("answer too large"))
		}
		return nil
	})
	return err
}

// checkBytes bounds the answer to Check.
const checkBytes = 1 << 20

// statusCode maps a status. A redirect counts as an error: following it could carry the key elsewhere. So does 404: RAGFlow answers it for a wrong knowledge base as
// well as for one without chunks, and only one of the two is an empty answer.
func statusCode(status int) (fault.Code, bool) {
	switch status {
	case http.StatusOK:
		return "", false
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return fault.BackendBusy, true
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return fault.BackendTimeout, true
	}
	return fault.BackendError, true
}

func transportError(ctx context.Context, op string, code fault.Code, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		code = fault.BackendTimeout
	}
	return fault.New(code, op, err)
}

// metered claims every byte before it is kept.
type metered struct {
	r    io.Reader
	take func(int) error
}

func (m *metered) Read(b []byte) (int, error) {
	n, err := m.r.Read(b)
	if n > 0 {
		if terr := m.take(n); terr != nil {
			return 0, terr
		}
	}
	return n, err
}
