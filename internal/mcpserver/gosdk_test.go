package mcpserver

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// An independent client reads what this face serves, over both transports.

func connectHTTP(t *testing.T, r *rig) *sdk.ClientSession {
	t.Helper()
	srv := httptest.NewServer(r.Handler())
	t.Cleanup(srv.Close)
	return connect(t, &sdk.StreamableClientTransport{Endpoint: srv.URL + "/mcp", HTTPClient: &http.Client{}})
}

func connectStdio(t *testing.T, r *rig) *sdk.ClientSession {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- r.ServeStdio(context.Background(), inR, outW, Caller{Principal: "local:test", Process: "p1"})
		_ = outW.Close()
	}()
	t.Cleanup(func() {
		_ = inW.Close()
		if err := <-done; err != nil {
			t.Errorf("ServeStdio after the client left = %v, want nil", err)
		}
	})
	return connect(t, &sdk.IOTransport{Reader: outR, Writer: inW})
}

func connect(t *testing.T, tr sdk.Transport) *sdk.ClientSession {
	t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	s, err := c.Connect(t.Context(), tr, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestGoSDKClient(t *testing.T) {
	t.Parallel()
	for name, dial := range map[string]func(*testing.T, *rig) *sdk.ClientSession{"http": connectHTTP, "stdio": connectStdio} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, onBoundary(t, &echo{name: "query_logs"}, &echo{name: "query_rag"}))
			s := dial(t, r)
			ctx := t.Context()
			if got := s.InitializeResult(); got.ServerInfo.Name != "mcp-gateway" || got.ServerInfo.Version != "1.2.3" || got.Instructions != r.instructions(fakeSpecs("query_logs", "query_rag")) {
				t.Errorf("initialize = %+v", got)
			}
			tools, err := s.ListTools(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, tool := range tools.Tools {
				names = append(names, tool.Name)
				a := tool.Annotations
				if !a.ReadOnlyHint || *a.DestructiveHint || !a.IdempotentHint || *a.OpenWorldHint || tool.OutputSchema == nil || tool.Title == "" {
					t.Errorf("%s: annotations %+v, title %q, output schema %v", tool.Name, a, tool.Title, tool.OutputSchema)
				}
			}
			if !slices.Equal(names, []string{"query_logs", "query_rag"}) {
				t.Errorf("tools = %v", names)
			}

			const query = `a<b> & "中文" 9007199254740993`
			res, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "query_logs", Arguments: map[string]any{"query": query}})
			if err != nil {
				t.Fatal(err)
			}
			var fromText any
			if len(res.Content) != 1 || json.Unmarshal([]byte(res.Content[0].(*sdk.TextContent).Text), &fromText) != nil {
				t.Fatalf("content = %v", res.Content)
			}
			if d := cmp.Diff(fromText, res.StructuredContent); d != "" || res.IsError {
				t.Errorf("text and structuredContent differ: %s", d)
			}
			if got := fromText.(map[string]any)["text"]; got != query {
				t.Errorf("text = %q, want %q", got, query)
			}

			res, err = s.CallTool(ctx, &sdk.CallToolParams{Name: "drop_tables", Arguments: map[string]any{}})
			if err != nil {
				t.Fatal(err)
			}
			if !res.IsError || res.StructuredContent != nil || !strings.Contains(res.Content[0].(*sdk.TextContent).Text, "TOOL_NOT_AUTHORIZED") {
				t.Errorf("unknown tool = %+v", res)
			}

			list, err := s.ListResources(ctx, nil)
			if err != nil || len(list.Resources) != 1 || list.Resources[0].URI != helpURI {
				t.Errorf("resources = %v, %v", list, err)
			}
			templates, err := s.ListResourceTemplates(ctx, nil)
			if err != nil || len(templates.ResourceTemplates) != 2 {
				t.Errorf("templates = %v, %v", templates, err)
			}
			for uri, want := range map[string]string{helpURI: helpText, "schema://shop": `{"datasource":"shop"}`} {
				got, err := s.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
				if err != nil || len(got.Contents) != 1 || got.Contents[0].Text != want || got.Contents[0].URI != uri {
					t.Errorf("read %s = %+v, %v", uri, got, err)
				}
			}
			got, err := s.ReadResource(ctx, &sdk.ReadResourceParams{URI: "evidence://current/c1"})
			if err != nil || !strings.Contains(got.Contents[0].Text, `"verdict":"SUPPORTED"`) || got.Contents[0].MIMEType != mimeJSON {
				t.Errorf("verdict = %+v, %v", got, err)
			}
			if _, err := s.ReadResource(ctx, &sdk.ReadResourceParams{URI: "schema://secret"}); err == nil || strings.Contains(err.Error(), "dsn") {
				t.Errorf("unknown datasource = %v", err)
			}

			prompt, err := s.GetPrompt(ctx, &sdk.GetPromptParams{Name: "diagnose", Arguments: map[string]string{"incident": "checkout answers 502 {since}", "since": "-2h"}})
			if err != nil {
				t.Fatal(err)
			}
			if got := prompt.Messages[0].Content.(*sdk.TextContent).Text; !strings.Contains(got, "Incident: checkout answers 502 {since}\n") || !strings.Contains(got, "Began: -2h\n") {
				t.Errorf("prompt = %s", got)
			}
			if _, err := s.GetPrompt(ctx, &sdk.GetPromptParams{Name: "other"}); err == nil {
				t.Error("an unknown prompt was served")
			}
		})
	}
}
