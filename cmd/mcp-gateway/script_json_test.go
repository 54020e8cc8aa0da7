package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// answersCommand splits the JSON-RPC lines of a file into one file an id: `answers stdout answer` writes answer-1, answer-2 … Answers come in any order, so scripts
// look at them by id.
func answersCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: answers FILE PREFIX")
	}
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var m struct {
			ID json.RawMessage `json:"id"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			ts.Fatalf("standard output holds more than JSON-RPC: %s", line)
		}
		ts.Check(os.WriteFile(ts.MkAbs(args[1]+"-"+strings.Trim(string(m.ID), `"`)), []byte(line), 0o644))
	}
}

// fieldCommand compares a part of a JSON file: `field FILE PATH WANT`, `! field FILE PATH WANT`, or `field FILE PATH` to set the variable VALUE. PATH has dots; a text
// that holds JSON is entered with the member json, as in result.content.0.text.json.events.0.id.
func fieldCommand(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: field FILE PATH [WANT]")
	}
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &v))
	for part := range strings.SplitSeq(args[1], ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(x) {
				ts.Fatalf("%s: no element %s", args[1], part)
			}
			v = x[i]
		case string:
			if part != "json" {
				ts.Fatalf("%s: a text at %s", args[1], part)
			}
			var inner any
			ts.Check(json.Unmarshal([]byte(x), &inner))
			v = inner
		default:
			v = nil
		}
	}
	got := fmt.Sprint(v)
	if len(args) == 2 {
		ts.Setenv("VALUE", got)
		return
	}
	if (got == args[2]) == neg {
		ts.Fatalf("%s is %q, want %q (negated: %v)\n%s", args[1], got, args[2], neg, ts.ReadFile(args[0]))
	}
}
