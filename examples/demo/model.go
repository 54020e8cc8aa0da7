package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// transcript keeps what another goroutine writes.
type transcript struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *transcript) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *transcript) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

const runID = "checkout-504"

// model stands for the language model: an ordinary MCP client, and everything that reached it.
type model struct {
	d       *demo
	session *mcp.ClientSession
	wire    *transcript // every message in both directions
	log     *transcript // the gateway's standard error
	shown   int64
}

// connect starts the gateway as a desktop client would, over standard input and output.
func connect(ctx context.Context, d *demo) (*model, error) {
	m := &model{d: d, wire: &transcript{}, log: &transcript{}}
	cmd := d.gateway(ctx, "stdio", "--run", runID)
	cmd.Stderr = m.log
	client := mcp.NewClient(&mcp.Implementation{Name: "demo", Version: "1"}, nil)
	var err error
	if m.session, err = client.Connect(ctx, &mcp.LoggingTransport{Transport: &mcp.CommandTransport{Command: cmd}, Writer: m.wire}, nil); err != nil {
		return nil, fmt.Errorf("starting the gateway: %w\n%s", err, m.log)
	}
	return m, nil
}

func (m *model) close() error { return m.session.Close() }

// answer is what one call brought, on both sides.
type answer struct {
	text  string // the whole of what the model got
	err   bool
	audit auditRow
}

// auditRow is what the gateway's audit keeps of a call.
type auditRow struct {
	Call    string `json:"tool_call_id"`
	Code    string `json:"error_code"`
	Raw     int64  `json:"raw_bytes"`
	Shown   int64  `json:"observation_bytes"`
	Found   int64  `json:"returned_count"`
	Latency int64  `json:"latency_us"`
}

// call makes one tool call under an id of our own, as a harness does.
func (m *model) call(ctx context.Context, id, tool, args string) (answer, error) {
	res, err := m.session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args), Meta: mcp.Meta{"dev.mcp-gateway/tool-call-id": id}})
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w\n%s", tool, err, m.log)
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		return answer{}, fmt.Errorf("%s: the answer is no text", tool)
	}
	a := answer{text: text.Text, err: res.IsError}
	m.shown += int64(len(a.text))
	a.audit, err = m.d.audit(ctx, id)
	return a, err
}

// verdict is what reading an evidence:// resource says.
type verdict struct {
	Verdict string          `json:"verdict"`
	Reason  string          `json:"reason"`
	Checked string          `json:"checked"`
	Match   string          `json:"quote_match"`
	Scope   json.RawMessage `json:"scope"`
}

// verify asks for a citation as the model does: by reading a resource.
func (m *model) verify(ctx context.Context, call string, query url.Values) (verdict, error) {
	res, err := m.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "evidence://current/" + call + "?" + strings.ReplaceAll(query.Encode(), "+", "%20")})
	if err != nil {
		return verdict{}, fmt.Errorf("reading a verdict: %w\n%s", err, m.log)
	}
	var v verdict
	if err := json.Unmarshal([]byte(res.Contents[0].Text), &v); err != nil {
		return verdict{}, fmt.Errorf("reading a verdict: %w", err)
	}
	return v, nil
}

// received is every byte that came from the gateway.
func (m *model) received() string {
	var b strings.Builder
	for line := range strings.Lines(m.wire.String()) {
		if strings.HasPrefix(line, "read: ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

var errNoAudit = errors.New("the audit has no row of the call")

// audit waits for the row of a call: rows are written behind the answer.
func (d *demo) audit(ctx context.Context, call string) (auditRow, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if r, ok := d.auditRow(call); ok {
			return r, nil
		}
		select {
		case <-ctx.Done():
			return auditRow{}, fmt.Errorf("%w %s", errNoAudit, call)
		case <-tick.C:
		}
	}
}

func (d *demo) auditRow(call string) (auditRow, bool) {
	f, err := os.Open(d.path("audit.jsonl"))
	if err != nil {
		return auditRow{}, false
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var r auditRow
		if json.Unmarshal(sc.Bytes(), &r) == nil && r.Call == call {
			return r, true
		}
	}
	return auditRow{}, false
}
