// Package embed asks an OpenAI-compatible endpoint (POST …/v1/embeddings) for vectors: Ollama, vLLM, LM Studio, Xinference and hosted services speak it. It promises:
// every vector has the configured number of dimensions, is finite and of length one, and belongs to the text at its place, or there is an error and no vector at all;
// the key goes to the configured address only.
package embed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
)

// Options describe an endpoint.
type Options struct {
	URL        string // http://host:11434, …/v1 or the whole …/v1/embeddings
	Model      string
	APIKey     string // sent as a bearer token; "" for none
	Dimensions int    // of the model's vectors
	Client     *http.Client
}

// Client asks for vectors. It is safe for concurrent use.
type Client struct {
	endpoint string
	o        Options
	http     *http.Client
}

// maxDimensions is more than any model gives.
const maxDimensions = 8192

// New checks the options and does no I/O. Errors are INVALID_REQUEST with a hint that names the option.
func New(o Options) (*Client, error) {
	refuse := func(hint string) (*Client, error) {
		return nil, fault.New(fault.InvalidRequest, "embed.New", errors.New("option")).WithHint(hint)
	}
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return refuse("embeddings.url must be an http or https address")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return refuse("embeddings.url must be an address and a path, no more; credentials belong in api_key")
	case o.Model == "":
		return refuse("embeddings.model is required")
	case o.Dimensions < 1 || o.Dimensions > maxDimensions:
		return refuse(fmt.Sprintf("embeddings.dimensions must be from 1 to %d, as the model gives", maxDimensions))
	}
	at := strings.TrimSuffix(u.String(), "/")
	switch {
	case strings.HasSuffix(at, "/embeddings"):
	case strings.HasSuffix(at, "/v1"):
		at += "/embeddings"
	default:
		at += "/v1/embeddings"
	}
	c := &http.Client{}
	if o.Client != nil {
		*c = *o.Client
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok {
		c.Transport = t.Clone()
	}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{at, o, c}, nil
}

// Name tells vectors of different models apart: what one gives cannot be compared with what another gives.
func (c *Client) Name() string { return fmt.Sprintf("%s/%d", c.o.Model, c.o.Dimensions) }

// Embed gives one vector a text, in their order. Errors are BACKEND_ERROR, or the context's.
func (c *Client) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	const op = "embed.Embed"
	fail := func(err error) ([][]float32, error) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fault.New(fault.BackendError, op, err)
	}
	body, err := strictjson.Encode(struct {
		Model string   `json:"model"`
		Input []string `json:"input"`
	}{c.o.Model, texts})
	if err != nil {
		return fail(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return fail(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if c.o.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.o.APIKey)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return fail(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fail(fmt.Errorf("status %d", res.StatusCode))
	}
	// 32 bytes hold the longest float with its comma.
	limit := int64(len(texts))*int64(c.o.Dimensions)*32 + 64<<10
	data, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil {
		return fail(err)
	}
	if int64(len(data)) > limit {
		return fail(errors.New("answer larger than its vectors can be"))
	}
	return c.read(data, len(texts), fail)
}

func (c *Client) read(data []byte, n int, fail func(error) ([][]float32, error)) ([][]float32, error) {
	var in struct {
		Data []struct {
			Index     *int      `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return fail(err)
	}
	if len(in.Data) != n {
		return fail(fmt.Errorf("%d vectors for %d texts", len(in.Data), n))
	}
	out := make([][]float32, n)
	for i, d := range in.Data {
		at := i
		if d.Index != nil {
			at = *d.Index
		}
		if at < 0 || at >= n || out[at] != nil {
			return fail(errors.New("vectors are numbered wrongly"))
		}
		if len(d.Embedding) != c.o.Dimensions {
			return fail(fmt.Errorf("vector of %d dimensions, configured are %d", len(d.Embedding), c.o.Dimensions))
		}
		if !normalize(d.Embedding) {
			return fail(errors.New("vector without a direction"))
		}
		out[at] = d.Embedding
	}
	return out, nil
}

// normalize gives v the length one, so that a dot product is a cosine.
func normalize(v []float32) bool {
	sum := 0.0
	for _, f := range v {
		sum += float64(f) * float64(f)
	}
	if !(sum > 0) || math.IsInf(sum, 0) {
		return false
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(sum))
	}
	return true
}
