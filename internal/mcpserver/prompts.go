package mcpserver

import (
	"context"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

const promptDiagnose = "diagnose"

// maxPromptArgument bounds an argument of the prompt; the rest of an alert belongs in the conversation.
const maxPromptArgument = 4096

func diagnosePrompt() mcp.Prompt {
	return mcp.NewPrompt(promptDiagnose,
		mcp.WithPromptTitle("Diagnose an incident"),
		mcp.WithPromptDescription("Find the cause of an incident step by step, with every statement cited and verified."),
		mcp.WithArgument("incident", mcp.ArgumentDescription("What is wrong: the alert or the complaint"), mcp.RequiredArgument()),
		mcp.WithArgument("service", mcp.ArgumentDescription("The service that shows it, if known")),
		mcp.WithArgument("since", mcp.ArgumentDescription("When it began: RFC 3339 or a duration such as -2h")))
}

// prompt is the only prompt handler; every prompts/get comes here, whatever name it asks for.
func (s *Server) prompt(ctx context.Context, _ mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	x, ok := server.ClientSessionFromContext(ctx).(*exchange)
	if !ok {
		return &mcp.GetPromptResult{}, nil
	}
	if x.msg.name != promptDiagnose {
		x.fail = invalidParams("There is no prompt of that name.")
		return nil, nil
	}
	return mcp.NewGetPromptResult("Diagnose an incident", []mcp.PromptMessage{
		mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(fillDiagnose(s.steps(x.caller), x.msg.texts)))}), nil
}

// steps is the prompt's text with the steps that the caller's tools allow.
func (s *Server) steps(c Caller) string {
	return strings.ReplaceAll(s.o.Diagnose, "{steps}", steps(s.o.Core.Specs(c.Grants)))
}

// fillDiagnose puts the arguments in their places. They are inserted once and not read again, so one cannot bring in another.
func fillDiagnose(tmpl string, args map[string]string) string {
	arg := func(name, otherwise string) string {
		v := strings.TrimSpace(args[name])
		if v == "" {
			return otherwise
		}
		if len(v) > maxPromptArgument {
			v = strings.ToValidUTF8(v[:maxPromptArgument], "") + "…"
		}
		return v
	}
	return strings.NewReplacer("{incident}", arg("incident", "not described; ask for the symptom first"), "{service}", arg("service", "unknown"),
		"{since}", arg("since", "unknown; begin with the last hour")).Replace(tmpl)
}
