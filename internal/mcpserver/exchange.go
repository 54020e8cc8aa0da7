package mcpserver

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// What mcp-go calls the tool and the resource of a request: it never sees the names that the client sent.
const (
	innerTool      = "tool"
	quotedTool     = `"` + innerTool + `"`
	innerResource  = "gateway://resource"
	quotedResource = `"` + innerResource + `"`
)

// exchange is one request being served. mcp-go takes it for the client's session, which is how each request gets its own tools and resources and why no two
// requests share anything there.
type exchange struct {
	s         *Server
	caller    Caller
	headerRun string
	msg       *message
	notes     chan mcp.JSONRPCNotification
	fail      *rpcError // replaces mcp-go's response
}

var (
	_ server.ClientSession                = (*exchange)(nil)
	_ server.SessionWithTools             = (*exchange)(nil)
	_ server.SessionWithResources         = (*exchange)(nil)
	_ server.SessionWithResourceTemplates = (*exchange)(nil)
)

// Initialize does nothing: there is no session to initialise.
func (x *exchange) Initialize() {}

// Initialized is always true.
func (x *exchange) Initialized() bool { return true }

// SessionID is empty; requests are told apart by the ids that forward makes.
func (x *exchange) SessionID() string { return "" }

// NotificationChannel takes what belongs to this request alone. It is made on first use, by the goroutine that serves the request.
func (x *exchange) NotificationChannel() chan<- mcp.JSONRPCNotification {
	if x.notes == nil {
		x.notes = make(chan mcp.JSONRPCNotification, 4) // an acknowledgement is the only one there is
	}
	return x.notes
}

func (x *exchange) drain() [][]byte {
	var out [][]byte
	for x.notes != nil {
		select {
		case n := <-x.notes:
			if _, ok := n.Params.Meta[mcp.MetaKeySubscriptionID]; ok {
				n.Params.Meta[mcp.MetaKeySubscriptionID] = x.msg.id
			}
			if b, err := json.Marshal(n); err == nil {
				out = append(out, b)
			}
		default:
			return out
		}
	}
	return out
}

// SetSessionTools, SetSessionResources and SetSessionResourceTemplates are unused.
func (x *exchange) SetSessionTools(map[string]server.ServerTool) {}

// SetSessionResources is unused.
func (x *exchange) SetSessionResources(map[string]server.ServerResource) {}

// SetSessionResourceTemplates is unused.
func (x *exchange) SetSessionResourceTemplates(map[string]server.ServerResourceTemplate) {}

// GetSessionTools gives the tools to list, or the one that is called: whatever its name, the boundary decides.
func (x *exchange) GetSessionTools() map[string]server.ServerTool {
	if x.msg.method == string(mcp.MethodToolsCall) {
		return map[string]server.ServerTool{innerTool: {Tool: mcp.Tool{Name: innerTool}, Handler: x.call}}
	}
	if x.msg.method != string(mcp.MethodToolsList) {
		return nil
	}
	specs := x.s.o.Core.Specs(x.caller.Grants)
	out := make(map[string]server.ServerTool, len(specs))
	for _, spec := range specs {
		out[spec.Name] = server.ServerTool{Tool: toolOf(spec, x.caller.Grants)}
	}
	return out
}

func toolOf(spec boundary.Spec, g boundary.Grants) mcp.Tool {
	description := ""
	if spec.Describe != nil {
		description = spec.Describe(g)
	}
	t := mcp.NewToolWithRawSchema(spec.Name, description, spec.InputSchema)
	t.RawOutputSchema = spec.OutputSchema
	t.Title = spec.Title
	no, yes := false, true
	t.Annotations = mcp.ToolAnnotation{Title: spec.Title, ReadOnlyHint: &spec.ReadOnly, DestructiveHint: &no, IdempotentHint: &yes, OpenWorldHint: &no}
	return t
}

// call is the only tool handler. It never returns an error to mcp-go.
func (x *exchange) call(ctx context.Context, _ mcp.CallToolRequest) (res *mcp.CallToolResult, _ error) {
	defer func() {
		if p := recover(); p != nil {
			x.s.logPanic(ctx, "call")
			res = refusal(&boundary.Refusal{Code: fault.Internal})
		}
	}()
	obs, err := x.s.o.Core.Invoke(ctx, x.s.o.Resolver.Resolve(x.identity()), x.envelope())
	if err != nil {
		r, ok := errors.AsType[*boundary.Refusal](err)
		if !ok {
			r = &boundary.Refusal{Code: fault.CodeOf(err)}
		}
		x.s.logRefused(ctx, x.caller.Principal, r.Code)
		return refusal(r), nil
	}
	body := obs.JSON()
	if len(body) == 0 {
		return refusal(&boundary.Refusal{Code: fault.Internal}), nil
	}
	return &mcp.CallToolResult{Content: []mcp.Content{mcp.TextContent{Type: mcp.ContentTypeText, Text: string(body)}}, StructuredContent: body}, nil
}

// refusal is an isError result. It carries text only: some clients validate structuredContent against the output schema even then.
func refusal(r *boundary.Refusal) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{mcp.TextContent{Type: mcp.ContentTypeText, Text: string(r.JSON())}}}
}
