package mcpserver

import (
	"bytes"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
)

// codeServer is JSON-RPC's implementation-defined server error, for what no MCP code names.
const codeServer = -32000

const textInternal = "The request failed inside the gateway."

// rpcError is a JSON-RPC error: our own words only.
type rpcError struct {
	code int
	text string
	data any
}

type errorDetails struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// overloaded tells that no slot is free, in the words of the gateway's error contract.
func overloaded() *rpcError {
	c := fault.Overloaded
	return &rpcError{code: codeServer, text: string(c) + ": " + fault.Sentence(c), data: map[string]any{"error": map[string]any{"code": c, "message": fault.Sentence(c)}}}
}

// overloadedReply is the same where no HTTP status can tell it: a call is refused as the boundary would refuse it.
func overloadedReply(m *message) reply {
	if m.method == string(mcp.MethodToolsCall) {
		return envelope(m.id, "result", refusal(&boundary.Refusal{Code: fault.Overloaded}), 0)
	}
	return errorReply(m.id, overloaded())
}

func errorReply(id json.RawMessage, e *rpcError) reply {
	return envelope(id, "error", errorDetails{e.code, e.text, e.data}, e.code)
}

func envelope(id json.RawMessage, member string, value any, code int) reply {
	var v []byte
	var err error
	if r, ok := value.(*mcp.CallToolResult); ok {
		v, err = encodeCall(r)
	} else {
		v, err = json.Marshal(value)
	}
	if err != nil { // a value of mcp-go or ours that cannot be encoded
		member, code = "error", mcp.INTERNAL_ERROR
		v, _ = strictjson.Encode(errorDetails{Code: code, Message: textInternal})
	}
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	b := make([]byte, 0, len(v)+len(id)+64)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = append(b, id...)
	b = append(b, `,"`...)
	b = append(b, member...)
	b = append(b, `":`...)
	b = append(b, v...)
	return reply{body: append(b, '}'), code: code}
}

// encodeCall encodes a result of ours, which is one text and perhaps the same value as structured content. mcp-go's own encoder goes over the observation six
// times and escapes it for HTML.
func encodeCall(r *mcp.CallToolResult) ([]byte, error) {
	body, structured := r.StructuredContent.(json.RawMessage)
	if len(r.Content) != 1 || r.StructuredContent != nil && !structured || bytes.ContainsAny(body, "\r\n") {
		return json.Marshal(r)
	}
	text, ok := r.Content[0].(mcp.TextContent)
	if !ok {
		return json.Marshal(r)
	}
	b := make([]byte, 0, 2*len(body)+len(text.Text)+256)
	b = append(b, '{')
	if r.Meta != nil {
		meta, err := json.Marshal(r.Meta)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, `"_meta":`...), meta...), ',')
	}
	if r.ResultType != "" {
		b = append(appendString(append(b, `"resultType":`...), string(r.ResultType)), ',')
	}
	b = append(appendString(append(b, `"content":[{"type":"text","text":`...), text.Text), `}]`...)
	if structured {
		b = append(append(b, `,"structuredContent":`...), body...)
	}
	if r.IsError {
		b = append(b, `,"isError":true`...)
	}
	return append(b, '}'), nil
}

// encodeResponse encodes mcp-go's response under the id that the client sent.
func encodeResponse(m *message, resp mcp.JSONRPCMessage) reply {
	switch r := resp.(type) {
	case mcp.JSONRPCResponse:
		if l, ok := r.Result.(mcp.SubscriptionsListenResult); ok {
			l.EnsureResultMeta().SetSubscriptionID(m.id)
			r.Result = l
		}
		return envelope(m.id, "result", r.Result, 0)
	case mcp.JSONRPCError:
		e := errorDetails{r.Error.Code, r.Error.Message, r.Error.Data}
		switch e.Code {
		case mcp.INTERNAL_ERROR, mcp.PARSE_ERROR, mcp.INVALID_REQUEST:
			// What mcp-go says here tells of its inside: forward sends it no message that deserves one of these.
			e = errorDetails{Code: mcp.INTERNAL_ERROR, Message: textInternal}
		}
		return envelope(m.id, "error", e, e.Code)
	}
	return errorReply(m.id, &rpcError{code: mcp.INTERNAL_ERROR, text: textInternal})
}
