package evidence

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/seed-069badc9/mcp-gateway/canonical"
)

// This file says in words what a person can change about a citation that is INVALID_CITATION. A verdict has no room for it: its shape is fixed, and whoever shows
// verdicts to people asks here. The words depend on the citation as written alone, never on the record.

const (
	whyShort    = "the quote is too short: at least 8 characters (4 Chinese, Japanese or Korean ones) or one whole cell"
	whyBrackets = "write half-width brackets and a half-width colon: [ev:ID#e1]"
	whyRound    = "write square brackets: [ev:ID#e1]"
	whyLetters  = "it only looks like a citation: write the letters [ev: without anything in between"
	whyMark     = "the citation is malformed: [ev:ID], [ev:ID#e1], [ev:ID#r1.status=FAILED] or [ev:ID#absent]"
	whyURI      = "the citation is malformed: evidence://RUN/CALL?item=e1&quote=…"
)

// Why says what is wrong with a citation of a draft, "" unless it is INVALID_CITATION or its words tell that the draft was
// read in the wrong encoding.
func (d DraftCitation) Why(caller Caller) string {
	if !d.Verdict.Backed() && strings.ContainsRune(d.Quote, utf8.RuneError) {
		return "the words hold U+FFFD: the draft was read in another encoding than it was written in; convert it to UTF-8"
	}
	if d.Verdict.Reason != InvalidCitation {
		return ""
	}
	c, ok := parseMark(d.Citation)
	first, _ := utf8.DecodeRuneInString(d.Citation)
	switch {
	case strings.ContainsRune("({（｛", first):
		return whyRound
	case !strings.HasPrefix(d.Citation, "[ev:"):
		return lookalike(d.Citation)
	case !ok || !strings.HasSuffix(d.Citation, "]"):
		return whyMark
	}
	if d.Quote != "" {
		c.Quote = &d.Quote
	}
	return c.why(caller, whyMark)
}

// WhyInvalid says what is wrong with an evidence:// URI that is INVALID_CITATION.
func WhyInvalid(caller Caller, uri string) string {
	if c, ok := ParseURI(uri); ok {
		return c.why(caller, whyURI)
	}
	trimmed := strings.TrimSpace(uri)
	before, query, _ := strings.Cut(uri, "?")
	switch {
	case !utf8.ValidString(uri):
		return "the citation is not UTF-8"
	case strings.HasPrefix(trimmed, "[ev:"), len(alikes(trimmed, []int{0})) > 0:
		return "that is a citation within a report; by itself it is a URI: evidence://RUN/CALL?item=e1 (\"--draft FILE\" checks a whole report)"
	case !strings.HasPrefix(uri, "evidence://"):
		if strings.ContainsAny(uri, "：／") {
			return "write half-width signs: evidence://RUN/CALL?item=e1&quote=…"
		}
		return "a citation begins with evidence://, as in evidence://RUN/CALL?item=e1&quote=…"
	case strings.ContainsAny(before, "？＃／：") || query != "" && strings.ContainsAny(query, "＆＝") && !strings.ContainsRune(query, '='):
		return "write half-width signs: evidence://RUN/CALL?item=e1&quote=…"
	case strings.Contains(uri, "#"):
		return "an item is named in the query, evidence://RUN/CALL?item=e1; a # in a quote is written %23"
	case query != "":
		return "a part of the query is unknown, repeated or malformed; it may hold item=e1, field=…&value=… of that item, quote=…, sha256=…, stance=found|absent, each percent-encoded"
	}
	return whyURI
}

// why says what is wrong with a citation that can be read.
func (c Citation) why(caller Caller, malformed string) string {
	switch {
	case c.Run == canonical.CurrentRun && !canonical.Minted(c.Call) && !canonical.ValidID(caller.Run):
		return fmt.Sprintf("%q was not minted by the gateway, so its run has to be named (\"verify --run RUN\", or evidence://RUN/…)", c.Call)
	case c.short():
		return whyShort
	}
	return malformed
}

// lookalike tells signs of another width, which an input method writes, from letters of another script.
func lookalike(citation string) string {
	latin := strings.Map(func(r rune) rune {
		switch r {
		case '【', '〔', '〖', '［':
			return '['
		case '：', '︓', '﹕':
			return ':'
		case 'ｅ':
			return 'e'
		case 'ｖ':
			return 'v'
		}
		return r
	}, citation)
	if strings.HasPrefix(strings.ReplaceAll(latin, " ", ""), "[ev:") {
		return whyBrackets
	}
	return whyLetters
}
