package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

func runsPath(principal string) string { return path("v1", "principals", principal, "runs") }

func runPath(principal, run string, more ...string) string {
	return runsPath(principal) + path(append([]string{run}, more...)...)
}

// OpenRun opens a run for a principal. An id that is in use is INVALID_REQUEST; so is an open that is sent again after its answer was lost: read the run then.
func (c *Client) OpenRun(ctx context.Context, principal string, o OpenRun) (Run, error) {
	return answer[Run](c.call(ctx, http.MethodPost, runsPath(principal), nil, o))
}

// Runs lists the runs of a principal that have not expired, newest first, at most limit of them; 0: 1,000, which is the most.
func (c *Client) Runs(ctx context.Context, principal string, limit int) (Runs, error) {
	return answer[Runs](c.call(ctx, http.MethodGet, runsPath(principal), numbers(0, limit), nil))
}

// Run reads a run.
func (c *Client) Run(ctx context.Context, principal, run string) (Run, error) {
	return answer[Run](c.call(ctx, http.MethodGet, runPath(principal, run), nil, nil))
}

// CloseRun closes a run. Its records stay until their own deadline. Closing twice is fine.
func (c *Client) CloseRun(ctx context.Context, principal, run string) error {
	_, err := c.call(ctx, http.MethodDelete, runPath(principal, run), nil, nil)
	return err
}

// Resume lets a stopped run go on.
func (c *Client) Resume(ctx context.Context, principal, run string) (Run, error) {
	return answer[Run](c.call(ctx, http.MethodPost, runPath(principal, run, "resume"), nil, nil))
}

// Progress reads where a run stands.
func (c *Client) Progress(ctx context.Context, principal, run string) (Progress, error) {
	return answer[Progress](c.call(ctx, http.MethodGet, runPath(principal, run, "progress"), nil, nil))
}

// Page reads a page of a run's control views, in order of opening; limit 0: 1,000, which is the most.
func (c *Client) Page(ctx context.Context, principal, run string, offset, limit int) (Page, error) {
	return answer[Page](c.call(ctx, http.MethodGet, runPath(principal, run, "calls"), numbers(offset, limit), nil))
}

// Calls walks all control views of a run, page after page. An error ends the walk.
func (c *Client) Calls(ctx context.Context, principal, run string) iter.Seq2[Call, error] {
	return func(yield func(Call, error) bool) {
		for offset := 0; ; {
			p, err := c.Page(ctx, principal, run, offset, 0)
			if err != nil {
				yield(Call{}, err)
				return
			}
			for _, v := range p.Calls {
				if !yield(v, nil) {
					return
				}
			}
			if p.Next <= offset {
				return
			}
			offset = p.Next
		}
	}
}

// Call reads the control view of one call.
func (c *Client) Call(ctx context.Context, principal, run, call string) (Call, error) {
	return answer[Call](c.call(ctx, http.MethodGet, runPath(principal, run, "calls", call), nil, nil))
}

// Assess overrules whether a call gained anything: GainYes or GainNo.
func (c *Client) Assess(ctx context.Context, principal, run, call string, g Gain) (Call, error) {
	in := struct {
		Gain Gain `json:"gain"`
	}{g}
	return answer[Call](c.call(ctx, http.MethodPost, runPath(principal, run, "calls", call, "assessment"), nil, in))
}

// VerifyCitations decides evidence:// URIs, in their order, at most 200; "current" in one is the run named. replay projects the stored answers again and compares.
func (c *Client) VerifyCitations(ctx context.Context, principal, run string, uris []string, replay bool) ([]Verdict, error) {
	in := struct {
		Citations []string `json:"citations"`
		Replay    bool     `json:"replay,omitzero"`
	}{append([]string{}, uris...), replay}
	type verdicts struct {
		Verdicts []Verdict `json:"verdicts"`
	}
	out, err := answer[verdicts](c.call(ctx, http.MethodPost, runPath(principal, run, "verify"), nil, in))
	if err == nil && len(out.Verdicts) != len(uris) {
		return nil, ErrAnswer // a citation without a verdict must not pass for one that was decided
	}
	return out.Verdicts, err
}

// VerifyDraft decides every citation of a report in Markdown, at most 1 MiB.
func (c *Client) VerifyDraft(ctx context.Context, principal, run, markdown string, replay bool) (Draft, error) {
	in := struct {
		Draft  string `json:"draft"`
		Replay bool   `json:"replay,omitzero"`
	}{markdown, replay}
	return answer[Draft](c.call(ctx, http.MethodPost, runPath(principal, run, "verify"), nil, in))
}

// Health tells whether the process serves.
func (c *Client) Health(ctx context.Context) error {
	_, err := c.page(ctx, "/healthz")
	return err
}

// Ready tells whether the gateway's store can be used: nil, an *Error of status 503, or what kept the question from being asked.
func (c *Client) Ready(ctx context.Context) error {
	_, err := c.page(ctx, "/readyz")
	return err
}

// Metrics reads the counters in the Prometheus text format.
func (c *Client) Metrics(ctx context.Context) ([]byte, error) { return c.page(ctx, "/metrics") }

// page reads a page that needs no token, and sends none.
func (c *Client) page(ctx context.Context, p string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+p, nil)
	if err != nil {
		return nil, err
	}
	return c.do(req)
}

// numbers are query parameters; what is 0 is left out.
func numbers(offset, limit int) url.Values {
	q := url.Values{}
	if offset != 0 {
		q.Set("offset", strconv.Itoa(offset))
	}
	if limit != 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	return q
}
