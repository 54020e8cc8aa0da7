package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/evidence"
	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
)

type verifyFlags struct {
	run, principal string
	draft, format  string
	replay, json   bool
}

func (e *env) verifyCommand() *cobra.Command {
	var f verifyFlags
	c := &cobra.Command{Use: "verify EVIDENCE-URI… | --draft FILE", Short: "Check citations, or a whole report, against the records of the store",
		Long: "verify reads each cited record from the store and says whether it backs the citation. Without a configuration it works on the default store, where \"stdio\" and \"call\" leave their records. Exit 1 unless all citations are supported.\n\n" +
			"In a report a citation is [ev:TOOL_CALL_ID#e1]; --run names the run of ids that the gateway did not mint (tc_…). A quote beside it has at least 8 characters, 4 if they are Chinese, Japanese or Korean, or is one whole cell.",
		Example: "  mcp-gateway verify 'evidence://RUN/CALL?item=e1&quote=gateway%20answered%20502'\n  mcp-gateway verify --draft report.md --run RUN",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case (len(args) == 0) == (f.draft == ""):
				return usage("verify takes at least one citation, as in evidence://RUN/CALL?item=e1, or --draft FILE")
			case !knownFormat(f.format):
				return usage("--format is one of %s", strings.Join(draftFormats, ", "))
			}
			for _, a := range args { // a report in the place of a citation
				if _, err := os.Stat(a); err == nil {
					return usage("%s is a file, no citation; did you mean \"mcp-gateway verify --draft %s\"?", a, a)
				}
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return e.verify(c.Context(), args, f) }}
	c.Flags().StringVar(&f.run, "run", "", "the run that \"current\" stands for")
	c.Flags().StringVar(&f.principal, "principal", "", "whose records (default: this user's)")
	c.Flags().BoolVar(&f.replay, "replay", false, "also project the stored raw answer again and compare")
	c.Flags().BoolVar(&f.json, "json", false, "print JSON: a verdict a line, or the whole check of a draft")
	c.Flags().StringVar(&f.draft, "draft", "", "check every citation of this Markdown report (- reads standard input)")
	c.Flags().StringVar(&f.format, "format", "markdown", "how to report on a draft: "+strings.Join(draftFormats, ", "))
	return c
}

func (e *env) verify(ctx context.Context, uris []string, f verifyFlags) error {
	if err := checkRunFlag(f.run); err != nil {
		return err
	}
	cfg, err := e.loadOrDefault()
	if err != nil {
		return err
	}
	log := newLogger(e.err, cfg.Log)
	var guard *evidence.Guard
	var closeAll func() error
	if f.replay {
		g, err := newGateway(cfg, log)
		if err != nil {
			return err
		}
		guard, closeAll = g.guard.WithReplay(g.core), func() error { return g.close(false) }
	} else {
		store, err := openStore(cfg, log)
		if err != nil {
			return err
		}
		guard, closeAll = evidence.New(canonical.NewLedger(store, nil)), store.Shutdown
	}
	caller := evidence.Caller{Principal: f.principal, Run: f.run}
	if caller.Principal == "" {
		caller.Principal = localPrincipal()
	}
	if f.json {
		f.format = "json"
	}
	if f.draft != "" {
		return errors.Join(e.verifyDraft(ctx, guard, caller, f.draft, f.format), closeAll())
	}
	backed := 0
	for _, uri := range uris {
		v := guard.VerifyURI(ctx, caller, uri)
		if v.Backed() {
			backed++
		}
		if err := e.printVerdict(caller, uri, v, f.json); err != nil {
			return err
		}
	}
	if err := closeAll(); err != nil {
		log.Warn("closing the store")
	}
	if backed < len(uris) {
		return errSaidNo
	}
	return nil
}

// reasonWords say what a person can do about a rejection. What is wrong with a citation that is invalid, the guard tells.
var reasonWords = map[evidence.Reason]string{
	evidence.StoreUnavailable:  "the store cannot be reached, so nothing is accepted; start it and verify again",
	evidence.NotFound:          "no such record for this principal: never made, expired, somebody else's, or of another run or store (--run, --config)",
	evidence.NotReady:          "the call has not finished",
	evidence.InvocationError:   "the call ended in an error and has no content",
	evidence.DigestMismatch:    "the stored observation has another digest",
	evidence.PolarityMismatch:  "the record says the opposite: something was found, or nothing was",
	evidence.ItemNotFound:      "the observation has no such item or field",
	evidence.ValueMismatch:     "the field holds another value",
	evidence.QuoteNotFound:     "the quoted words are not in what the model was shown",
	evidence.ReplayMismatch:    "the stored raw answer gives another observation",
	evidence.ReplayUnavailable: "the record was made by another version of the tool, or the tool is not configured here",
}

func (e *env) printVerdict(caller evidence.Caller, uri string, v evidence.Verdict, asJSON bool) error {
	if asJSON {
		b, err := strictjson.Encode(v)
		if err != nil {
			return err
		}
		if v.Reason == evidence.InvalidCitation { // a verdict has no room for words
			fmt.Fprintf(e.err, "mcp-gateway: %s: %s\n", cell(uri), evidence.WhyInvalid(caller, uri))
		}
		_, err = fmt.Fprintf(e.out, "%s\n", b)
		return err
	}
	w := tabwriter.NewWriter(e.out, 0, 4, 2, ' ', 0)
	fmt.Fprintf(w, "%s\t%s\n", v.Outcome, uri)
	detail := []string{string(v.Reason)}
	words := reasonWords[v.Reason]
	if v.Reason == evidence.InvalidCitation {
		words = evidence.WhyInvalid(caller, uri)
	}
	if words != "" {
		detail = append(detail, words)
	}
	if v.Backed() {
		detail = append(detail, "checked "+strings.ToLower(string(v.Checked)))
		if v.QuoteMatch != "" {
			detail = append(detail, "quote matches "+strings.ToLower(v.QuoteMatch))
		}
		if v.Truncated != nil && *v.Truncated {
			detail = append(detail, "the observation was truncated")
		}
	}
	if v.Tool != "" {
		detail = append(detail, v.Tool)
	}
	if v.ExpiresAt != nil {
		detail = append(detail, "kept until "+v.ExpiresAt.Format("2006-01-02 15:04:05Z"))
	}
	fmt.Fprintf(w, "\t%s\n", strings.Join(detail, " · "))
	return w.Flush()
}
