package client_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/seed-069badc9/mcp-gateway/harness/client"
)

// A harness opens a run for an incident, lets an agent work in it, and publishes the report only if every citation is backed.
func Example() {
	ctx := context.Background()
	c, err := client.New(client.Options{URL: "https://gateway.example.com:8485", Token: os.Getenv("HARNESS_TOKEN")})
	if err != nil {
		fmt.Println(err)
		return
	}
	run, err := c.OpenRun(ctx, "agent-a", client.OpenRun{RunID: "inc-42", Limits: client.Budget{Calls: 60}})
	if err != nil {
		fmt.Println(err)
		return
	}
	report := diagnose(run.RunID)
	if p, err := c.Progress(ctx, "agent-a", run.RunID); err == nil && p.StopRequired {
		fmt.Println("searched without result:", p.CheckedScopes)
	}
	draft, err := c.VerifyDraft(ctx, "agent-a", run.RunID, report, true)
	if e, ok := errors.AsType[*client.Error](err); ok {
		fmt.Println(e.Code, e.Hint)
		return
	}
	fmt.Println("may be published:", err == nil && draft.OK)
}

func diagnose(run string) string {
	return "The payment gateway answered 502 [ev:tc_aaaaaaaaaaaaaaaa#e1]."
}
