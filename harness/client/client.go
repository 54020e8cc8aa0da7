// Package client speaks to the harness API of a gateway: it opens and closes runs, reads control views and progress, assesses calls and has reports verified.
//
// It promises: the token goes to the address it was made for and nowhere else (no redirect is followed, no plain connection to another machine unless asked for) and
// is printed by no format verb; an answer is read up to a bound; what the gateway refuses is an *Error with its stable code; nothing is sent twice. It needs the
// standard library only.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Options say where the API is and who asks.
type Options struct {
	// URL is the base of the API: https://gateway.example.com:8485, or http:// on this machine. A path in it is put in front of every path.
	URL string
	// Token is one of the gateway's tokens with role harness.
	Token string
	// HTTP makes the requests: its transport decides TLS, proxies and connection limits. nil: a client of its own with a timeout of a minute. The client given is not
	// changed; redirects are not followed in any case.
	HTTP *http.Client
	// MaxResponse bounds the bytes of one answer; 0: 16 MiB, several times what the largest draft and the longest page take.
	MaxResponse int64
	// AllowPlaintext lets http:// reach another machine, where something else encrypts the way.
	AllowPlaintext bool
}

// Client is safe for concurrent use. Only New makes one that works.
type Client struct {
	base      string
	authorize func(*http.Request) // keeps the token out of every formatted Client
	http      *http.Client
	limit     int64
}

// defaultTimeout is past every bound of the gateway's: 30 s of work and 10 s for a body.
const defaultTimeout = time.Minute

// New checks the options. It does no I/O.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("client: the URL of the API is http://HOST:PORT or https://HOST:PORT")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("client: the URL of the API holds more than scheme, host and path")
	case u.Scheme == "http" && !o.AllowPlaintext && !loopback(u.Hostname()):
		return nil, fmt.Errorf("client: http:// would send the token in the clear to %s; use https://, or set AllowPlaintext", u.Hostname())
	case o.Token == "" || strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, errors.New("client: the token is empty or holds what no header may hold")
	case o.MaxResponse < 0:
		return nil, errors.New("client: MaxResponse is negative")
	}
	c := &Client{base: strings.TrimRight(o.URL, "/"), limit: o.MaxResponse, http: &http.Client{Timeout: defaultTimeout}}
	if c.limit == 0 {
		c.limit = 16 << 20
	}
	if o.HTTP != nil {
		own := *o.HTTP
		c.http = &own
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	header := "Bearer " + o.Token
	c.authorize = func(r *http.Request) { r.Header.Set("Authorization", header) }
	return c, nil
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// ErrTooLarge: the answer is over the client's bound.
var ErrTooLarge = errors.New("client: the answer is larger than allowed")

// ErrAnswer: what answered is not the API of a gateway.
var ErrAnswer = errors.New("client: the answer is not one of the harness API")

// path joins segments, each escaped as a whole: a principal may hold any character.
func path(segments ...string) string {
	var b strings.Builder
	for _, s := range segments {
		b.WriteByte('/')
		switch s {
		case ".", "..": // anything on the way would take these for a direction
			b.WriteString(strings.ReplaceAll(s, ".", "%2E"))
		default:
			b.WriteString(url.PathEscape(s))
		}
	}
	return b.String()
}

// call makes one request under /v1. in, when not nil, is the body.
func (c *Client) call(ctx context.Context, method, path string, query url.Values, in any) ([]byte, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("client: %w", err)
		}
		body = bytes.NewReader(b)
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	c.authorize(req)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	return c.do(req)
}

// answer decodes what call brought. Members that this client does not know are those of a newer gateway.
func answer[T any](data []byte, err error) (T, error) {
	var v, none T
	if err != nil {
		return none, err
	}
	if json.Unmarshal(data, &v) != nil {
		return none, ErrAnswer
	}
	return v, nil
}

// do sends a request and reads the answer; anything but a status of 2xx is an *Error.
func (c *Client) do(req *http.Request) ([]byte, error) {
	res, err := c.http.Do(req)
	if err != nil {
		return nil, unreachable(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, c.limit+1))
	if err != nil {
		return nil, unreachable(err)
	}
	if int64(len(data)) > c.limit {
		return nil, ErrTooLarge
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, readError(res, data)
	}
	return data, nil
}

// unreachable keeps the cause and drops the URL, which names principals.
func unreachable(err error) error {
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("client: the gateway did not answer in time: %w", err)
	}
	return fmt.Errorf("client: the gateway cannot be reached: %w", err)
}

// Code is a stable error code of the gateway.
type Code string

// The codes that the API answers with.
const (
	RunNotActive      Code = "RUN_NOT_ACTIVE" // no such run, or it has expired, or it has no such call
	InvalidRequest    Code = "INVALID_REQUEST"
	InvalidToolCallID Code = "INVALID_TOOL_CALL_ID"
	ToolNotAuthorized Code = "TOOL_NOT_AUTHORIZED" // no token, or one that may not administer the principal
	RequestTooLarge   Code = "REQUEST_TOO_LARGE"
	BudgetExhausted   Code = "BUDGET_EXHAUSTED" // the principal has as many open runs as it may
	Overloaded        Code = "OVERLOADED"
	StoreError        Code = "STORE_ERROR"
	Internal          Code = "INTERNAL"
)

// Error is what the gateway refused.
type Error struct {
	Status     int           // HTTP status
	Code       Code          // "" when something else than the API answered
	Message    string        // one fixed sentence a code
	Hint       string        // what to do next, perhaps ""
	RetryAfter time.Duration // when the same request may be sent again; 0: not said
}

// Error names code, sentence and hint.
func (e *Error) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("client: status %d from something that is not the harness API", e.Status)
	}
	s := string(e.Code) + ": " + e.Message
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	return s
}

// CodeOf is the code that the gateway refused with, or "" when err is nothing that the gateway said.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return ""
}

func readError(res *http.Response, data []byte) error {
	e := &Error{Status: res.StatusCode}
	var body struct {
		Error struct {
			Code    Code   `json:"code"`
			Message string `json:"message"`
			Hint    string `json:"hint"`
		} `json:"error"`
	}
	if json.Unmarshal(data, &body) == nil {
		e.Code, e.Message, e.Hint = body.Error.Code, body.Error.Message, body.Error.Hint
	}
	if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && s > 0 && s <= 3600 {
		e.RetryAfter = time.Duration(s) * time.Second
	}
	return e
}
