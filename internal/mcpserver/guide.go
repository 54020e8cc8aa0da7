package mcpserver

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/seed-069badc9/mcp-gateway/boundary"
)

//go:embed instructions.md
var instructionsText string

//go:embed diagnose.md
var diagnoseText string

// guide is what the instructions and the prompt say of one tool. A model is told of the tools that it has and of no others: it would try to call them.
type guide struct {
	name string
	use  string // its line of the instructions
	data string // what of its answers is data
	item string // an item of its answers, as citations name it
	cell string // how one of its cells is cited, if it has cells
	step string // its step of a diagnosis
}

// guides are in the order in which a diagnosis uses the tools.
var guides = [...]guide{
	{name: "query_rag", data: "documents", item: "e3",
		use:  "runbooks and other documents. Ask with the words of the alert.",
		step: "Look for a runbook (query_rag) with the words of the incident. It may name the symptom, the usual cause and what to check."},
	{name: "query_logs", data: "log lines", item: "e3",
		use:  "search or group log events of a topic in a time range. Start wide with few terms, read `patterns` before `events`, then narrow.",
		step: "Look at the logs (query_logs) around the time it began, first without a query: patterns, their counts and their first occurrence show what changed. Then narrow by level, term or time, and follow the error to where it comes from."},
	{name: "query_mysql", data: "rows", item: "r2", cell: ", a cell [ev:tool_call_id#r2.status=FAILED]",
		use:  "one SELECT over allowed tables and columns. Read schema://{datasource} first; masked columns may be listed, counted or tested for NULL only.",
		step: "Check what is suspected against the data (query_mysql). Read schema://{datasource} before the first statement."},
}

const (
	noTools  = "There is no tool for you here: none is configured, or your token grants none. Say so; state nothing as if sources had been searched."
	conclude = "State a cause only when one observation shows it and another one fits; otherwise say which of the remaining causes each observation rules out. " +
		"Searching for what should be absent is evidence too: an empty answer holds within its scope."
)

// addedRoom is how many bytes the lines of tools without a guide may take, so that the whole stays under maxModelText.
const addedRoom = 320

// guided are the guides of the tools, and the lines of tools that have none: their own titles, as long as there is room.
func guided(specs []boundary.Spec) (known []guide, added []string) {
	for _, g := range guides {
		for _, s := range specs {
			if s.Name == g.name {
				known = append(known, g)
			}
		}
	}
	room := addedRoom
next:
	for _, s := range specs {
		for _, g := range known {
			if s.Name == g.name {
				continue next
			}
		}
		if line := s.Name + ": " + s.Title + "."; s.Title != "" && len(line) < room {
			added, room = append(added, line), room-len(line)-1
		}
	}
	return known, added
}

// instructions are those for a caller with these tools. A text of the options is given as it is.
func (s *Server) instructions(specs []boundary.Spec) string {
	if s.o.Instructions != "" {
		return s.o.Instructions
	}
	known, added := guided(specs)
	var uses, data []string
	item, cell := "", ""
	for _, g := range known {
		uses, data, cell = append(uses, g.name+": "+g.use), append(data, g.data), cell+g.cell
		if item == "" {
			item = g.item
		}
	}
	uses = append(uses, added...)
	if len(specs) == 0 {
		uses = []string{noTools}
	}
	if len(known) == 0 {
		data, item = []string{"whatever a source holds"}, "e3"
	}
	return strings.NewReplacer("{tools}", strings.Join(uses, "\n"), "{data}", strings.Join(data, ", "), "{item}", item, "{cell}", cell).Replace(instructionsText)
}

// steps are those of a diagnosis with these tools, numbered.
func steps(specs []boundary.Spec) string {
	known, _ := guided(specs)
	var list []string
	for _, g := range known {
		list = append(list, g.step)
	}
	if len(specs) == 0 {
		list = append(list, noTools)
	}
	list = append(list, conclude)
	for i := range list {
		list[i] = fmt.Sprintf("%d. %s", i+1, list[i])
	}
	return strings.Join(list, "\n")
}

// introduce puts the caller's instructions into the answer to a handshake: mcp-go knows one text for all callers.
func (x *exchange) introduce(resp mcp.JSONRPCMessage) mcp.JSONRPCMessage {
	r, ok := resp.(mcp.JSONRPCResponse)
	if !ok {
		return resp
	}
	switch v := r.Result.(type) {
	case mcp.InitializeResult:
		v.Instructions = x.s.instructions(x.s.o.Core.Specs(x.caller.Grants))
		r.Result = v
	case mcp.DiscoverResult:
		v.Instructions = x.s.instructions(x.s.o.Core.Specs(x.caller.Grants))
		r.Result = v
	}
	return r
}
