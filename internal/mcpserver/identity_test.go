package mcpserver

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-069badc9/mcp-gateway/boundary"
)

func TestWhereTheRunAndTheCallComeFrom(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 300)
	for name, c := range map[string]struct {
		meta    string
		headers []string
		binding string
		want    boundary.Identity
		env     boundary.Envelope
	}{
		"nothing":              {``, nil, "", boundary.Identity{}, boundary.Envelope{}},
		"our own ids":          {`"dev.mcp-gateway/run-id":"r1","dev.mcp-gateway/tool-call-id":"c1","dev.mcp-gateway/step-id":"s1"`, nil, "", boundary.Identity{Meta: "r1"}, boundary.Envelope{CallID: "c1", StepID: "s1"}},
		"header":               {``, []string{"Mcp-Gateway-Run", "r2"}, "", boundary.Identity{Header: "r2"}, boundary.Envelope{}},
		"two headers":          {``, []string{"Mcp-Gateway-Run", "r2", "+Mcp-Gateway-Run", "r3"}, "", boundary.Identity{Header: "r2,r3"}, boundary.Envelope{}},
		"all sources":          {`"dev.mcp-gateway/run-id":"r1","threadId":"t"`, []string{"Mcp-Gateway-Run", "r2"}, "r3", boundary.Identity{Binding: "r3", Header: "r2", Meta: "r1", Conversation: "threadId=t"}, boundary.Envelope{}},
		"run id no string":     {`"dev.mcp-gateway/run-id":7`, nil, "", boundary.Identity{Meta: malformed}, boundary.Envelope{}},
		"run id null":          {`"dev.mcp-gateway/run-id":null`, nil, "", boundary.Identity{Meta: malformed}, boundary.Envelope{}},
		"call id no string":    {`"dev.mcp-gateway/tool-call-id":{"a":1}`, nil, "", boundary.Identity{}, boundary.Envelope{CallID: malformed}},
		"call id empty":        {`"dev.mcp-gateway/tool-call-id":""`, nil, "", boundary.Identity{}, boundary.Envelope{CallID: malformed}},
		"Codex":                {`"callId":"call_0","sessionId":"s","threadId":"t"`, nil, "", boundary.Identity{Conversation: "threadId=t"}, boundary.Envelope{HostCallID: "call_0"}},
		"Codex without thread": {`"sessionId":"s"`, nil, "", boundary.Identity{Conversation: "sessionId=s"}, boundary.Envelope{}},
		"VS Code":              {`"vscode.conversationId":"v","vscode.requestId":"x"`, nil, "", boundary.Identity{Conversation: "vscode.conversationId=v"}, boundary.Envelope{}},
		"opencode":             {`"ai.opencode/sessionID":"o"`, nil, "", boundary.Identity{Conversation: "ai.opencode/sessionID=o"}, boundary.Envelope{}},
		"Antigravity":          {`"antigravity.google/conversation_id":"a"`, nil, "", boundary.Identity{Conversation: "antigravity.google/conversation_id=a"}, boundary.Envelope{}},
		"Claude Code":          {`"claudecode/toolUseId":"toolu_1"`, nil, "", boundary.Identity{}, boundary.Envelope{HostCallID: "toolu_1"}},
		"pi":                   {`"pi-mcp-adapter/toolCallId":"p1"`, nil, "", boundary.Identity{}, boundary.Envelope{HostCallID: "p1"}},
		"keys no strings":      {`"threadId":1,"sessionId":["x"],"vscode.conversationId":"","callId":{}`, nil, "", boundary.Identity{}, boundary.Envelope{}},
		"a long key":           {`"threadId":"` + long + `"`, nil, "", boundary.Identity{}, boundary.Envelope{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(o *Options) { o.HTTP.Auth = Everyone{Caller{Principal: "p", Binding: c.binding}} })
			w := post(t, r.Handler(), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"anything","arguments":{"a" : 1.50},"_meta":{`+c.meta+`}}}`, c.headers...)
			if w.Code != 200 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			got := r.runs.last(t)
			want := c.want
			want.Principal = "p"
			if name == "a long key" {
				if !strings.HasPrefix(got.Conversation, "threadId=sha256:") || len(got.Conversation) != len("threadId=sha256:")+64 {
					t.Errorf("conversation = %q", got.Conversation)
				}
				want.Conversation = got.Conversation
			}
			if d := cmp.Diff(want, got, cmp.AllowUnexported(boundary.Grants{})); d != "" {
				t.Errorf("identity: %s", d)
			}
			c.env.Tool, c.env.Args = "anything", []byte(`{"a" : 1.50}`)
			if d := cmp.Diff(c.env, r.core.seen()[0].env); d != "" {
				t.Errorf("envelope: %s", d)
			}
		})
	}
}

func TestLongConversationKeysStayApart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	keys := map[string]bool{}
	for _, end := range []string{"a", "b"} {
		post(t, r.Handler(), `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"q","_meta":{"threadId":"`+strings.Repeat("k", 1000)+end+`"}}}`)
		keys[r.runs.last(t).Conversation] = true
	}
	if len(keys) != 2 {
		t.Errorf("two conversations share the key %v", keys)
	}
}

func TestWhatCurrentStandsFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		binding, header, meta, want string
	}{
		"nothing named":   {"", "", "", "only-run"},
		"bound":           {"r1", "", "", "r1"},
		"header":          {"", "r2", "", "r2"},
		"_meta":           {"", "", "r3", "r3"},
		"sources agree":   {"r1", "r1", "r1", "r1"},
		"sources differ":  {"r1", "r2", "", malformed},
		"malformed _meta": {"", "", "a b", "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(o *Options) { o.HTTP.Auth = Everyone{Caller{Principal: "p", Binding: c.binding}} })
			meta := ""
			if c.meta != "" {
				meta = `,"_meta":{"dev.mcp-gateway/run-id":"` + c.meta + `"}`
			}
			post(t, r.Handler(), `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"evidence://current/c1"`+meta+`}}`, "Mcp-Gateway-Run", c.header)
			caller, uri := r.verifier.last(t)
			if caller.Principal != "p" || caller.Run != c.want || uri != "evidence://current/c1" {
				t.Errorf("verifier was asked %+v %s, want run %q", caller, uri, c.want)
			}
		})
	}
}
