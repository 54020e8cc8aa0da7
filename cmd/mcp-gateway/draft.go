package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/evidence"
	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
)

// draftFormats are the forms of a draft's report: for people, for programs, for annotations of a pull request.
var draftFormats = []string{"markdown", "json", "github"}

// verifyDraft checks every citation of a report; exit 1 unless all hold and there is at least one.
func (e *env) verifyDraft(ctx context.Context, guard *evidence.Guard, caller evidence.Caller, file, format string) error {
	var data []byte
	var err error
	if file == "-" {
		data, err = io.ReadAll(io.LimitReader(e.in, evidence.MaxDraft+1))
	} else {
		data, err = os.ReadFile(file)
	}
	if err != nil {
		return usage("--draft: %s cannot be read; name a Markdown file, or - for standard input", file)
	}
	if p := evidence.DraftProblem(string(data)); p != "" {
		return usage("--draft: %s %s", file, p)
	}
	d, ok := guard.CheckDraft(ctx, caller, string(data))
	if !ok {
		return usage("--draft: %s cites more often than a report can; check it in parts", file)
	}
	switch format {
	case "json":
		b, err := strictjson.Encode(d)
		if err != nil {
			return err
		}
		for _, c := range d.Citations { // a verdict has no room for words
			if w := c.Why(caller); w != "" {
				fmt.Fprintf(e.err, "mcp-gateway: %s:%d: %s: %s\n", file, c.Line, cell(c.Citation), w)
			}
		}
		fmt.Fprintf(e.out, "%s\n", b)
	case "github":
		e.annotate(caller, file, d)
	default:
		e.report(caller, d)
	}
	if !d.OK {
		return errSaidNo
	}
	return nil
}

// why says what a person can do about a rejected citation of a draft.
func why(caller evidence.Caller, c evidence.DraftCitation) string {
	if w := c.Why(caller); w != "" {
		return w
	}
	return reasonWords[c.Verdict.Reason]
}

func (e *env) report(caller evidence.Caller, d evidence.Draft) {
	if len(d.Citations) > 0 {
		fmt.Fprint(e.out, "| line | citation | verdict | reason |\n|---|---|---|---|\n")
	}
	backed, seen := 0, 0
	for _, c := range d.Citations {
		if !c.Hidden {
			seen++
		}
		if c.Verdict.Backed() {
			backed++
		}
		words := string(c.Verdict.Reason)
		if w := why(caller, c); w != "" {
			words += ": " + w
		}
		cited := "`" + strings.ReplaceAll(cell(c.Citation), "`", "'") + "`"
		if c.Hidden {
			cited += " (where no reader sees it)"
		}
		if c.Quote != "" {
			cited += " “" + cell(c.Quote) + "”"
		}
		fmt.Fprintf(e.out, "| %d | %s | %s | %s |\n", c.Line, cited, c.Verdict.Outcome, words)
	}
	for _, p := range d.Uncited {
		fmt.Fprintf(e.out, "\nline %d: a quote without a citation: “%s”\n", p.Line, cell(p.Text))
	}
	fmt.Fprintf(e.out, "\n%d of %d citations backed, %d quotes uncited\n", backed, len(d.Citations), len(d.Uncited))
	if seen == 0 {
		fmt.Fprintln(e.out, "the draft cites nothing that a reader sees: write [ev:tool_call_id#item] beside each statement")
	}
}

// cell makes a quote fit into a table cell.
func cell(s string) string {
	s = strings.NewReplacer("\n", " ", "|", "\\|").Replace(s)
	if r := []rune(s); len(r) > 80 {
		s = string(r[:79]) + "…"
	}
	return s
}

// annotate prints workflow commands: an error for each rejected citation, a warning for each uncited quote.
func (e *env) annotate(caller evidence.Caller, file string, d evidence.Draft) {
	prop := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	text := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	seen := false
	for _, c := range d.Citations {
		seen = seen || !c.Hidden
		if !c.Verdict.Backed() {
			fmt.Fprintf(e.out, "::error file=%s,line=%d,title=%s::%s\n", prop.Replace(file), c.Line, prop.Replace(string(c.Verdict.Reason)), text.Replace(c.Citation+": "+why(caller, c)))
		}
	}
	for _, p := range d.Uncited {
		fmt.Fprintf(e.out, "::warning file=%s,line=%d,title=uncited quote::%s\n", prop.Replace(file), p.Line, text.Replace("“"+cell(p.Text)+"” has no citation beside it"))
	}
	if !seen {
		fmt.Fprintf(e.out, "::error file=%s,title=no citation::the draft cites nothing that a reader sees\n", prop.Replace(file))
	}
}

func knownFormat(f string) bool { return slices.Contains(draftFormats, f) }
