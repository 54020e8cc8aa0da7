package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/seed-069badc9/mcp-gateway/boundary"
)

const benchCall = `{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"query_logs","arguments":{"query":"payment declined","topics":["checkout"],"from":"-1h"},"_meta":{"progressToken":12,"dev.mcp-gateway/run-id":"inc-42"}}}`

// benchRig answers every call with one observation that a boundary made before: what is measured is the face alone.
func benchRig(b *testing.B) *rig {
	r := newRig(b)
	core := newBoundary(b, &echo{name: "query_logs"})
	run := (&realRuns{}).Resolve(boundary.Identity{Principal: "p", Meta: "inc-42"})
	obs, err := core.Invoke(b.Context(), run, boundary.Envelope{Tool: "query_logs", Args: json.RawMessage(`{"query":"payment declined: gateway <ip:k3f9qa> answered 502"}`)})
	if err != nil {
		b.Fatal(err)
	}
	r.core.hook = func(context.Context, boundary.Envelope) (boundary.Observation, error) { return obs, nil }
	return r
}

// bare is what mcp-go serves without anything of ours: the floor.
func bare(b *testing.B) http.Handler {
	r := benchRig(b)
	obs, _ := r.core.hook(b.Context(), boundary.Envelope{})
	s := server.NewMCPServer("bare", "1")
	s.AddTool(mcp.NewToolWithRawSchema("query_logs", "", json.RawMessage(`{"type":"object"}`)), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{mcp.TextContent{Type: "text", Text: string(obs.JSON())}}, StructuredContent: obs.JSON()}, nil
	})
	return server.NewStreamableHTTPServer(s, server.WithStateLess(true), server.WithDisableStreaming(true))
}

func benchHandler(b *testing.B, h http.Handler) {
	b.ReportAllocs()
	for b.Loop() {
		req := httptest.NewRequest(http.MethodPost, "/mcp", bytes.NewReader([]byte(benchCall)))
		req.Host = "localhost"
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if w.Code != 200 || w.Body.Len() < 100 {
			b.Fatalf("%d %s", w.Code, w.Body)
		}
	}
}

func benchServer(b *testing.B, h http.Handler) {
	srv := httptest.NewUnstartedServer(h)
	srv.Config = NewHTTPServer(h, 0)
	srv.Start()
	defer srv.Close()
	c := srv.Client()
	b.ReportAllocs()
	for b.Loop() {
		req, _ := http.NewRequest(http.MethodPost, srv.URL+"/mcp", bytes.NewReader([]byte(benchCall)))
		req.Header.Set("Content-Type", "application/json")
		res, err := c.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		if res.StatusCode != 200 {
			b.Fatal(res.Status)
		}
	}
}

// The pairs are read as ratios: the same client, the same answer, with the face and with mcp-go alone.
func BenchmarkHandler(b *testing.B) {
	b.Run("gateway", func(b *testing.B) { benchHandler(b, benchRig(b).Handler()) })
	b.Run("bare", func(b *testing.B) { benchHandler(b, bare(b)) })
}

func BenchmarkHTTP(b *testing.B) {
	b.Run("gateway", func(b *testing.B) { benchServer(b, benchRig(b).Handler()) })
	b.Run("bare", func(b *testing.B) { benchServer(b, bare(b)) })
}

func BenchmarkServe(b *testing.B) {
	r := benchRig(b)
	b.ReportAllocs()
	for b.Loop() {
		m, bad := decode([]byte(benchCall))
		if bad != nil {
			b.Fatal(bad.text)
		}
		if rep := r.serve(b.Context(), Caller{Principal: "p"}, "", m); rep.code != 0 {
			b.Fatal(rep.code)
		}
	}
}

func BenchmarkGate(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(benchCall)))
	for b.Loop() {
		m, bad := decode([]byte(benchCall))
		if bad != nil {
			b.Fatal(bad.text)
		}
		_ = m.forward(1)
	}
}
