// Package fetch sends the requests of the log backends that are reached over HTTP. It promises: a request goes to the configured address and nowhere else, since
// redirects are refused; what a server sends is counted after decompression and bounded for the whole search; an answer counts only when its last byte was read; a
// status and every broken answer become a code of the closed list, and no byte of a server's error text is in an error.
package fetch

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// Options describe one server.
type Options struct {
	URL string // http or https, no credentials, no query; a path in front of the API is kept
	// Header is sent with every request: Authorization, tenants, what a proxy wants.
	Header map[string]string
	// Transport is for tests and unusual transports. Nil: one of its own.
	Transport http.RoundTripper
}

// Client talks to one server. It is safe for concurrent use.
type Client struct {
	base   *url.URL
	header http.Header
	http   *http.Client
}

// managed are headers that the client sets by itself: set twice they would break the framing or the bounds.
var managed = []string{"Host", "Content-Length", "Transfer-Encoding", "Content-Encoding", "Connection", "Te", "Trailer", "Upgrade", "Accept-Encoding", "Expect"}

// New checks the options and does no I/O. The errors name the option and never its value.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New("url must be an http or https address")
	case u.User != nil:
		return nil, errors.New("url must hold no credentials; use headers")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("url must end with its path")
	}
	c := &Client{base: u, header: make(http.Header)}
	for k, v := range o.Header {
		name := http.CanonicalHeaderKey(k)
		switch {
		case !isToken(k):
			return nil, fmt.Errorf("headers: %q is no header name", k)
		case slices.Contains(managed, name):
			return nil, fmt.Errorf("headers: %s is set by the client", name)
		case strings.ContainsFunc(v, func(r rune) bool { return r < 0x20 && r != '\t' || r == 0x7f }):
			return nil, fmt.Errorf("headers: the value of %s holds a control character", name)
		case c.header.Get(name) != "":
			return nil, fmt.Errorf("headers: %s is given twice", name)
		}
		c.header.Set(name, v)
	}
	t := o.Transport
	if t == nil {
		t = transport()
	}
	c.http = &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c, nil
}

// transport bounds what a dead or hostile server can cost: the deadline of a whole call comes with its context.
func transport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    10 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxConnsPerHost:        16, // a log server answers a few queries at a time; more would only wait there
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
	})
}

// Close lets idle connections go.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// Request is one request. Path is below the configured address and already escaped.
type Request struct {
	Path   string
	Query  url.Values
	Body   []byte // nil: GET, else POST
	Type   string // of the body
	Accept string
	Header map[string]string // besides the configured ones
	Most   int64             // bytes of the answer, over it ErrLong; 0: what the budget leaves
}

// ErrLong is an answer over the bound of its request.
var ErrLong = errors.New("the answer is longer than one request may bring")

// Refusal is an answer with another status than 200. Its text names the status alone.
type Refusal struct {
	Status int
	text   []byte
}

// Error names the status.
func (r *Refusal) Error() string { return fmt.Sprintf("status %d", r.Status) }

// Says tells what the server gave as the reason, at most 4 KiB of it, for an adapter to recognise a bound of the server. It must go into no error and no log.
func (r *Refusal) Says() string { return string(r.text) }

const refusalBytes = 4 << 10

// Do sends a request and hands the answer to read, which may stop early only by returning an error. Errors: what read returns, when the answer itself was sound;
// BACKEND_BUSY (429, 503), BACKEND_TIMEOUT (408, 504, a timeout of the network), BACKEND_ERROR (other statuses, redirects included, and a server that cannot be
// reached), each with a Refusal as its cause when there was a status; BACKEND_INCOMPLETE (an answer that breaks off), RAW_TOO_LARGE (over the budget), ErrLong and the error of
// ctx.
func (c *Client) Do(ctx context.Context, b *Budget, r Request, read func(io.Reader) error) error {
	const op = "fetch.Do"
	if err := b.request(); err != nil {
		return err
	}
	u := *c.base
	u.RawPath = strings.TrimSuffix(c.base.EscapedPath(), "/") + r.Path
	path, err := url.PathUnescape(u.RawPath)
	if err != nil {
		return fault.New(fault.Internal, op, errors.New("path"))
	}
	u.Path, u.RawQuery = path, r.Query.Encode()
	method, body := http.MethodGet, io.Reader(nil)
	if r.Body != nil {
		method, body = http.MethodPost, bytes.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), body)
	if err != nil {
		return fault.New(fault.Internal, op, errors.New("request"))
	}
	req.Header = c.header.Clone()
	for k, v := range r.Header {
		req.Header.Set(k, v)
	}
	if r.Type != "" {
		req.Header.Set("Content-Type", r.Type)
	}
	if r.Accept != "" {
		req.Header.Set("Accept", r.Accept)
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "mcp-gateway")
	}
	res, err := c.http.Do(req)
	if err != nil {
		return broken(ctx, fault.BackendError, err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, refusalBytes)) // what arrives of the reason is enough
		return fault.New(statusCode(res.StatusCode), op, &Refusal{Status: res.StatusCode, text: text})
	}
	if e := res.Header.Get("Content-Encoding"); e != "" { // gzip was undone by the transport, which has taken the header away
		return fault.New(fault.BackendError, op, errEncoding)
	}
	in := &counted{r: res.Body, b: b, most: b.read + r.Most}
	if r.Most <= 0 {
		in.most = b.bytes + 1
	}
	rerr := read(in)
	if rerr == nil {
		_, rerr = io.Copy(io.Discard, in)
	}
	switch {
	case errors.Is(in.err, ErrLong):
		return in.err
	case errors.Is(in.err, errBudget):
		return fault.New(fault.RawTooLarge, op, in.err)
	case in.err != nil:
		return broken(ctx, fault.BackendIncomplete, in.err)
	case errors.Is(rerr, io.ErrUnexpectedEOF): // the answer ended in the middle of a value
		return fault.New(fault.BackendIncomplete, op, rerr)
	}
	return rerr
}

var errEncoding = errors.New("the answer has a content encoding that was not asked for")

// statusCode maps a status. A redirect is an error: following it could carry a key elsewhere.
func statusCode(status int) fault.Code {
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return fault.BackendBusy
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return fault.BackendTimeout
	}
	return fault.BackendError
}

// broken gives an error of the network its code. The address stays out of it: it may hold the query.
func broken(ctx context.Context, code fault.Code, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if ne, ok := errors.AsType[net.Error](err); ok && ne.Timeout() {
		code = fault.BackendTimeout
	}
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	return fault.New(code, "fetch.Do", err)
}

// Budget bounds what one search may read, over all of its requests. Not safe for concurrent use.
type Budget struct {
	bytes, read int64
	requests    int
}

// NewBudget allows a number of bytes, counted after decompression, and of requests.
func NewBudget(bytes int64, requests int) *Budget { return &Budget{bytes: bytes, requests: requests} }

// Read is how many bytes were read.
func (b *Budget) Read() int64 { return b.read }

var errBudget = errors.New("bytes or requests over the bound of a search")

func (b *Budget) request() error {
	if b.requests--; b.requests < 0 {
		return fault.New(fault.RawTooLarge, "fetch.Do", errBudget)
	}
	return nil
}

// counted counts an answer and remembers how it ended, so that a decoder in between cannot hide it.
type counted struct {
	r    io.Reader
	b    *Budget
	most int64 // where the count may be at the end
	err  error // other than io.EOF
}

func (c *counted) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	if left := c.b.bytes - c.b.read + 1; int64(len(p)) > left {
		p = p[:left]
	}
	n, err := c.r.Read(p)
	if c.b.read += int64(n); c.b.read > c.b.bytes {
		c.err = errBudget
		return 0, c.err
	}
	if c.b.read > c.most {
		c.err = ErrLong
		return 0, c.err
	}
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}
