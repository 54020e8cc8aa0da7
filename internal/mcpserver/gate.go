package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
)

// Bounds of the small parts of a message. Nothing legitimate comes near them.
const (
	maxID     = 256 // bytes of a JSON-RPC id as sent
	maxMethod = 128
)

// Members that a message and its params may have. A name that differs from one of these in letter case only is refused: a lenient decoder would take it for
// the real one.
var (
	envelopeNames = []string{"jsonrpc", "id", "method", "params", "result", "error"}
	paramNames    = []string{"_meta", "name", "arguments", "uri", "cursor", "protocolVersion", "capabilities", "clientInfo", "requestId", "notifications"}
)

type kind int

const (
	request kind = iota
	notification
	response // of the client to a request of ours; we send none
)

// message is one incoming message, decoded strictly. Raw parts are bytes as sent and known to be valid JSON.
type message struct {
	kind   kind
	id     json.RawMessage // as sent: a string or an integer of any size
	method string
	raw    object // params
	meta   object // params._meta

	name   string            // tools/call, prompts/get
	uri    string            // resources/read
	args   json.RawMessage   // tools/call
	texts  map[string]string // prompts/get arguments
	cursor string            // */list
	proto  string            // initialize: protocolVersion
	target string            // notifications/cancelled: key of the request it ends
}

// decode reads exactly one JSON-RPC message. With an error it still returns a message, whose id, if it could be read, the answer carries.
func decode(data []byte) (*message, *rpcError) {
	m := &message{}
	if err := strictjson.Check(data); err != nil {
		if errors.Is(err, strictjson.ErrSyntax) {
			return m, &rpcError{code: mcp.PARSE_ERROR, text: "The message is not JSON."}
		}
		return m, &rpcError{code: mcp.INVALID_REQUEST, text: "The message is refused: " + err.Error() + "."}
	}
	top, ok := split(data)
	if !ok {
		return m, &rpcError{code: mcp.INVALID_REQUEST, text: "A message is one JSON object; batches are not accepted."}
	}
	id := top.get("id")
	if id != nil {
		if idKey(id) == "" {
			return m, &rpcError{code: mcp.INVALID_REQUEST, text: "The id must be a string or an integer."}
		}
		m.id = id
	}
	for i := range top {
		if !slices.Contains(envelopeNames, top[i].name) {
			return m, &rpcError{code: mcp.INVALID_REQUEST, text: "The message has an unknown member."}
		}
	}
	if v, ok := text(top.get("jsonrpc")); !ok || v != mcp.JSONRPC_VERSION {
		return m, &rpcError{code: mcp.INVALID_REQUEST, text: `The member jsonrpc must be "2.0".`}
	}
	rawMethod := top.get("method")
	hasMethod, hasID, hasResult, hasError := rawMethod != nil, id != nil, top.get("result") != nil, top.get("error") != nil
	switch {
	case hasMethod && (hasResult || hasError), !hasMethod && hasResult == hasError, !hasMethod && !hasID:
		return m, &rpcError{code: mcp.INVALID_REQUEST, text: "The message is neither a request nor a notification nor a response."}
	case !hasMethod:
		m.kind = response
		return m, nil
	case !hasID:
		m.kind = notification
	}
	if m.method, ok = text(rawMethod); !ok || m.method == "" || len(m.method) > maxMethod {
		m.method = ""
		return m, &rpcError{code: mcp.INVALID_REQUEST, text: "The method must be a short string."}
	}
	return m, m.readParams(top.get("params"))
}

func invalidParams(text string) *rpcError { return &rpcError{code: mcp.INVALID_PARAMS, text: text} }

func (m *message) readParams(raw json.RawMessage) *rpcError {
	var ok bool
	if present(raw) {
		if m.raw, ok = split(raw); !ok {
			return invalidParams("The params must be an object.")
		}
	}
	for i := range m.raw {
		if near(paramNames, m.raw[i].name) {
			return &rpcError{code: mcp.INVALID_REQUEST, text: "A member of params differs from a known one in letter case."}
		}
	}
	if raw := m.raw.get("_meta"); present(raw) {
		if m.meta, ok = split(raw); !ok {
			return invalidParams("The member _meta must be an object.")
		}
		if !ownKeysKnown(m.meta) {
			return invalidParams("The _meta has an unknown key under " + metaPrefix + ".")
		}
	}
	switch mcp.MCPMethod(m.method) {
	case mcp.MethodToolsCall:
		if m.name, ok = text(m.raw.get("name")); !ok {
			return invalidParams("The name of the tool must be a string.")
		}
		if args := m.raw.get("arguments"); present(args) {
			m.args = args
		}
	case mcp.MethodPromptsGet:
		if m.name, ok = text(m.raw.get("name")); !ok {
			return invalidParams("The name of the prompt must be a string.")
		}
		if args := m.raw.get("arguments"); present(args) && (!isObject(args) || json.Unmarshal(args, &m.texts) != nil) {
			return invalidParams("The arguments of a prompt must be strings.")
		}
	case mcp.MethodResourcesRead:
		if m.uri, ok = text(m.raw.get("uri")); !ok {
			return invalidParams("The uri must be a string.")
		}
	case mcp.MethodInitialize:
		if v := m.raw.get("protocolVersion"); present(v) {
			if m.proto, ok = text(v); !ok || len(m.proto) > maxMethod {
				return invalidParams("The protocolVersion must be a short string.")
			}
		}
	case mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodResourcesList, mcp.MethodResourcesTemplatesList:
		if v := m.raw.get("cursor"); present(v) {
			if m.cursor, ok = text(v); !ok {
				return invalidParams("The cursor must be a string.")
			}
		}
	case methodCancelled:
		m.target = idKey(m.raw.get("requestId"))
	}
	return nil
}

const methodCancelled = "notifications/cancelled"

// forward writes the message that mcp-go sees: an id of our own (mcp-go rounds those over 2^53 and keys requests of all clients by it), and of the params only
// what mcp-go has to know. Arguments, URIs and run ids stay with the exchange.
func (m *message) forward(id uint64) json.RawMessage {
	b := make([]byte, 0, 256)
	b = append(b, `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendUint(b, id, 10)
	b = append(b, `,"method":`...)
	b = appendString(b, m.method)
	b = append(b, `,"params":{`...)
	n := len(b)
	member := func(name string, value []byte) {
		if len(b) > n {
			b = append(b, ',')
		}
		b = append(appendString(b, name), ':')
		b = append(b, value...)
	}
	switch mcp.MCPMethod(m.method) {
	case mcp.MethodToolsCall:
		member("name", []byte(quotedTool))
	case mcp.MethodPromptsGet:
		member("name", []byte(`"`+promptDiagnose+`"`))
	case mcp.MethodResourcesRead:
		member("uri", []byte(quotedResource))
	case mcp.MethodInitialize:
		member("protocolVersion", appendString(nil, m.proto))
		member("capabilities", []byte(`{}`))
		member("clientInfo", []byte(`{"name":"","version":""}`))
	case mcp.MethodSubscriptionsListen:
		member("notifications", []byte(`{}`))
	}
	if proto := m.protocolMeta(); proto != nil {
		member("_meta", proto)
	}
	return append(b, `}}`...)
}

// protocolMeta is the part of _meta by which the protocol of 2026-07-28 describes a request, or nil.
func (m *message) protocolMeta() []byte {
	var b []byte
	for _, key := range [...]string{mcp.MetaKeyProtocolVersion, mcp.MetaKeyClientInfo, mcp.MetaKeyClientCapabilities} {
		v := m.meta.get(key)
		if v == nil {
			continue
		}
		b = append(b, ',')
		b = append(appendString(b, key), ':')
		b = append(b, v...)
	}
	if b == nil {
		return nil
	}
	b[0] = '{'
	return append(b, '}')
}

// version is the protocol version that _meta states, "" for none or one that is no string.
func (m *message) version() string {
	v, _ := text(m.meta.get(mcp.MetaKeyProtocolVersion))
	return v
}

// modern tells a request of protocol 2026-07-28 or later.
func (m *message) modern() bool { return mcp.IsModernProtocol(m.version()) }

// idKey is a comparable form of a JSON-RPC id: the same for ids that are equal as JSON, "" for what is no id.
func idKey(raw json.RawMessage) string {
	if len(raw) == 0 || len(raw) > maxID {
		return ""
	}
	if raw[0] == '"' {
		s, ok := text(raw)
		if !ok {
			return ""
		}
		return "s" + s
	}
	digits := bytes.TrimPrefix(raw, []byte("-"))
	if len(digits) == 0 || bytes.ContainsFunc(digits, func(r rune) bool { return r < '0' || r > '9' }) {
		return ""
	}
	if digits[0] == '0' {
		return "i0" // JSON has no other number of digits that begins with 0, and -0 is 0
	}
	return "i" + string(raw)
}

// text decodes a JSON string.
func text(raw json.RawMessage) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 { // valid JSON, checked for UTF-8: nothing to decode
		return string(raw[1 : len(raw)-1]), true
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func isObject(raw []byte) bool {
	t := bytes.TrimLeft(raw, " \t\r\n")
	return len(t) > 0 && t[0] == '{'
}

// near tells that name is not one of names but differs from one in letter case only, as encoding/json would compare them.
func near(names []string, name string) bool {
	if slices.Contains(names, name) {
		return false
	}
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

// appendString appends s as a JSON string without HTML escapes. Invalid UTF-8 becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	q, err := strictjson.Encode(s)
	if err != nil {
		return append(b, `""`...)
	}
	return append(b, q...)
}
