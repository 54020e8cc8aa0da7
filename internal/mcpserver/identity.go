package mcpserver

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/boundary"
)

// The gateway's own keys in a request's _meta. Any other key under the prefix is refused, so that a misspelt run id does not end up in another run.
const (
	metaPrefix = "dev.mcp-gateway/"
	metaRun    = metaPrefix + "run-id"
	metaCall   = metaPrefix + "tool-call-id"
	metaStep   = metaPrefix + "step-id"
)

// headerRun is the HTTP header that names the run.
const headerRun = "Mcp-Gateway-Run"

// malformed stands for an id that was sent as something else than a non-empty string: it fails the grammar of ids, so the boundary refuses and audits it.
const malformed = "?"

// maxConversation is the longest conversation key that is passed on as it is.
const maxConversation = 256

// conversationKeys are where hosts name the conversation, in order of preference: a Codex session holds several threads.
var conversationKeys = []string{"threadId", "sessionId", "vscode.conversationId", "ai.opencode/sessionID", "antigravity.google/conversation_id"}

// hostCallKeys are where hosts put their own id of a call. They recycle, so they identify nothing.
var hostCallKeys = []string{"claudecode/toolUseId", "callId", "pi-mcp-adapter/toolCallId"}

func ownKeysKnown(meta object) bool {
	for i := range meta {
		k := meta[i].name
		if len(k) < len(metaPrefix) || !strings.EqualFold(k[:len(metaPrefix)], metaPrefix) {
			continue
		}
		if k != metaRun && k != metaCall && k != metaStep {
			return false
		}
	}
	return true
}

// ownID reads one of the gateway's own ids: "" when absent, malformed when it is not a non-empty string.
func ownID(meta object, key string) string {
	raw := meta.get(key)
	if raw == nil {
		return ""
	}
	if s, ok := text(raw); ok && s != "" {
		return s
	}
	return malformed
}

// hostID is a host's own id of a call or a step: metadata, of which the boundary keeps what looks like an id.
func hostID(meta object, keys ...string) string {
	for _, k := range keys {
		if s, ok := text(meta.get(k)); ok && s != "" {
			return s
		}
	}
	return ""
}

// conversation is the host's conversation key with its name in front, or "". A long one is replaced by its digest: cutting it would merge conversations.
func conversation(meta object) string {
	for _, k := range conversationKeys {
		s, ok := text(meta.get(k))
		if !ok || s == "" {
			continue
		}
		if len(s) > maxConversation {
			sum := sha256.Sum256([]byte(s))
			s = "sha256:" + hex.EncodeToString(sum[:])
		}
		return k + "=" + s
	}
	return ""
}

// identity is what the transport knows of the request's origin.
func (x *exchange) identity() boundary.Identity {
	return boundary.Identity{
		Principal: x.caller.Principal, Grants: x.caller.Grants, Binding: x.caller.Binding, Process: x.caller.Process,
		Header: x.headerRun, Meta: ownID(x.msg.meta, metaRun), Conversation: conversation(x.msg.meta),
	}
}

// explicitRun is the run that the request names, "" when it names none, malformed when it names two.
func (x *exchange) explicitRun() string {
	run := ""
	for _, r := range [...]string{x.caller.Binding, x.headerRun, ownID(x.msg.meta, metaRun)} {
		if r == "" || r == run {
			continue
		}
		if run != "" {
			return malformed
		}
		run = r
	}
	return run
}

func (x *exchange) envelope() boundary.Envelope {
	return boundary.Envelope{
		CallID: ownID(x.msg.meta, metaCall), HostCallID: hostID(x.msg.meta, hostCallKeys...), StepID: hostID(x.msg.meta, metaStep),
		Tool: x.msg.name, Args: x.msg.args,
	}
}
