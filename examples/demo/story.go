package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"
)

//go:embed draft.md
var draft string

// step is one call of the diagnosis.
type step struct {
	id, tool, title string
	args            string
	printed         string // args as printed, when they hold what must not be printed
	show            []string
	say             string // what the reader should notice
}

const hour = `"from":"2026-03-14T09:00:00Z","to":"2026-03-14T10:00:00Z"`

// steps are what a model did with this incident. show names the items printed of an answer; an answer is longer than its print.
func steps() []step {
	return []step{
		{id: "runbook", tool: "query_rag", title: "what do the runbooks say?", args: `{"query":"checkout answers 504, the payment call times out"}`, show: []string{"e1", "e2"},
			say: "The token that stands in the runbook was masked before the page was indexed."},
		{id: "runbook-zh", tool: "query_rag", title: "the same in Chinese", args: `{"query":"支付超时，连接池耗尽怎么处理？","top_k":2}`, show: []string{"e1"}},
		{id: "hour", tool: "query_logs", title: "one hour of three services: a flood", args: `{"topics":["edge","checkout","payments"],` + hour + `}`,
			show: []string{"p1", "p2", "p3", "p8", "p10"},
			say:  "Every event is counted in a pattern, so the one that explains the hour (p8) is shown among 131,010."},
		{id: "pool", tool: "query_logs", title: "narrowed: where the hint points", args: `{"topics":["payments"],"query":"PoolConfig",` + hour + `}`, show: []string{"e1", "e2", "e4"},
			say: "Nothing is cut any more. The password in the JDBC address never left the gateway."},
		{id: "secret", tool: "query_logs", title: "can a secret be found by searching for it?",
			args: `{"topics":["payments"],"query":"` + plantedKey + `",` + hour + `}`, printed: `{"topics":["payments"],"query":"(the merchant key, which is in this log twice)",` + hour + `}`,
			say: "Matching is decided on masked text: guessing a secret and asking whether it is there tells nothing."},
		{id: "stock", tool: "query_logs", title: "was it inventory? An empty answer", args: `{"topics":["inventory"],"level":"ERROR",` + hour + `}`,
			say: "It proves that inventory logged no error in that hour, and nothing beyond this scope: the range was read to its end."},
		{id: "repair", tool: "query_mysql", title: "the model tries to repair the orders", args: `{"datasource":"shop","sql":"UPDATE orders SET status = 'PAID' WHERE failure = 'PAYMENT_TIMEOUT'"}`,
			say: "Refused before a connection was touched. The hint tells the model what would pass."},
		{id: "orders", tool: "query_mysql", title: "how many orders are lost?",
			args: `{"datasource":"shop","sql":"SELECT failure, COUNT(*) AS n, MIN(created_at) AS first, MAX(created_at) AS last FROM orders WHERE status = 'FAILED' GROUP BY failure ORDER BY n DESC"}`},
		{id: "customers", tool: "query_mysql", title: "whose orders? A masked column",
			args: `{"datasource":"shop","sql":"SELECT o.id, c.name, c.email, o.total FROM orders o JOIN customers c ON c.id = o.customer_id WHERE o.failure = 'PAYMENT_TIMEOUT' ORDER BY o.total DESC, o.id LIMIT 3"}`,
			say:  "The operator lists email as masked: it can be selected, never seen, compared or sorted by."},
		{id: "releases", tool: "query_mysql", title: "what changed?", args: `{"datasource":"shop","sql":"SELECT service, version, released_at, note FROM releases WHERE released_at >= '2026-03-14 08:00:00' ORDER BY released_at"}`},
	}
}

// storyteller plays the diagnosis and prints it.
type storyteller struct {
	page
	d            *demo
	m            *model
	full, timing bool
	masks        map[string]int
}

func (s *storyteller) tell(ctx context.Context) error {
	s.opening()
	for i, st := range steps() {
		a, err := s.m.call(ctx, st.id, st.tool, st.args)
		if err != nil {
			return err
		}
		s.step(i+1, st, a)
	}
	if err := s.selfCheck(ctx); err != nil {
		return err
	}
	if err := s.checkDraft(ctx); err != nil {
		return err
	}
	s.closing()
	return s.err
}

func (s *storyteller) opening() {
	lines, total := s.d.logs()
	s.line("mcp-gateway demo: one diagnosis, three tools, nothing beyond this machine")
	s.line("")
	s.text("  ", "  ", fmt.Sprintf("A small shop: %s log lines of %d services in %d formats (%s), %d runbooks in English and Chinese, a MySQL server with 3 tables. "+
		"On 2026-03-14 at 09:10 its checkout breaks. A model looks for the cause through the gateway.", number(lines), len(s.d.streams), len(s.d.streams), size(total), s.d.docs))
	s.text("  ", "  ", "Left: what the model saw, shortened here (--full prints all of it). Right: what stayed behind. Tags such as <host:…> end in six characters that change with every run; the demo prints … for them.")
}

// logs is how many lines and bytes all topics have.
func (d *demo) logs() (lines, total int64) {
	for _, t := range d.streams {
		l, n := t.between(logStart, logEnd)
		lines, total = lines+l, total+n
	}
	return lines, total
}

func (s *storyteller) step(n int, st step, a answer) {
	s.rule(fmt.Sprintf("%d · %s · %s", n, st.tool, st.title))
	printed := st.args
	if st.printed != "" {
		printed = st.printed
	}
	s.text("   ", "   ", printed)
	s.line("")
	left := append([]string{"THE MODEL SAW"}, s.saw(st, a)...)
	s.sides(left, append([]string{"STAYED BEHIND"}, s.behind(st, a)...))
	if st.say != "" {
		s.text(" → ", "   ", st.say)
	}
	if s.full {
		s.text("   ", "   ", steady(a.text))
	}
}

// behind tells what the call cost on the other side of the gateway.
func (s *storyteller) behind(st step, a answer) []string {
	var out []string
	if a.err {
		out = append(out, "no backend was asked")
	}
	switch {
	case a.err:
	case st.tool == "query_logs":
		lines, total := s.searched(st.args)
		out = append(out, number(lines)+" lines, "+size(total), number(a.audit.Found)+" events matched")
	case st.tool == "query_rag":
		out = append(out, fmt.Sprintf("%d runbooks, %s", s.d.docs, size(s.d.docSize)))
	case st.tool == "query_mysql":
		out = append(out, number(a.audit.Found)+" rows came back")
	}
	if !a.err {
		out = append(out, "raw fact in store  "+size(a.audit.Raw))
	}
	out = append(out, "shown to the model "+size(int64(len(a.text))))
	if m := countMasks(a.text); len(m) > 0 {
		out = append(out, "masks in it:")
		for _, c := range maskClasses {
			if m[c] > 0 {
				out = append(out, fmt.Sprintf("  %d of %s", m[c], c))
				s.masks[c] += m[c]
			}
		}
	}
	if s.timing {
		out = append(out, "time "+(time.Duration(a.audit.Latency)*time.Microsecond).Round(10*time.Microsecond).String())
	}
	return out
}

// searched is how many lines and bytes lie in the topics and the range of a call.
func (s *storyteller) searched(args string) (lines, total int64) {
	var q struct {
		Topics   []string
		From, To time.Time
	}
	if err := json.Unmarshal([]byte(args), &q); err != nil {
		return 0, 0
	}
	for _, t := range s.d.streams {
		for _, name := range q.Topics {
			if name == t.name {
				l, n := t.between(q.From, q.To)
				lines, total = lines+l, total+n
			}
		}
	}
	return lines, total
}

// selfCheck is the model looking at its own citations while it writes.
func (s *storyteller) selfCheck(ctx context.Context) error {
	s.rule(fmt.Sprintf("%d · verify_evidence · the model checks two quotes before it writes", len(steps())+1))
	for _, c := range []struct{ call, item, quote string }{
		{"pool", "e2", "the shared default applies: 4"},
		{"hour", "p1", "Communications link failure"},
	} {
		v, err := s.m.verify(ctx, c.call, url.Values{"item": {c.item}, "quote": {c.quote}})
		if err != nil {
			return err
		}
		s.line(fmt.Sprintf("   evidence://current/%s?item=%s&quote=%s", c.call, c.item, c.quote))
		s.line("   " + v.words())
	}
	return nil
}

// words is a verdict in a line.
func (v verdict) words() string {
	w := v.Verdict
	switch {
	case v.Verdict == "REJECTED":
		w += ": " + v.Reason
	case v.Match != "":
		w += ": the quote stands there (" + strings.ToLower(v.Match) + ")"
	case v.Verdict == "SUPPORTED":
		w += ": the " + strings.ToLower(v.Checked) + " was compared"
	case v.Verdict == "SCOPED_NEGATIVE":
		w += ": holds for this scope only"
	}
	return w
}

// checkDraft has the whole draft checked by another process, as a harness or a person would.
func (s *storyteller) checkDraft(ctx context.Context) error {
	path := s.d.path("draft.md")
	if err := os.WriteFile(path, []byte(draft), 0o600); err != nil {
		return err
	}
	got, err := s.d.verifyDraft(ctx, path)
	if err != nil {
		return err
	}
	s.rule("mcp-gateway verify --draft draft.md · every citation, by another process")
	next := 0
	for i, l := range strings.Split(strings.TrimSpace(draft), "\n") {
		if l == "" {
			continue
		}
		s.text("   ", "   ", l)
		for ; next < len(got.Citations) && got.Citations[next].Line == i+1; next++ {
			c := got.Citations[next]
			s.text("     → ", "       ", c.Citation+" "+c.Result.words())
		}
	}
	held := 0
	for _, c := range got.Citations {
		if c.Result.Verdict != "REJECTED" {
			held++
		}
	}
	s.line("")
	s.line(fmt.Sprintf("   %d of %d citations hold. A harness sends this draft back.", held, len(got.Citations)))
	return nil
}

// checked is what verify --draft --json prints.
type checked struct {
	Citations []struct {
		Line     int
		Citation string
		Result   verdict
	} `json:"citations"`
	OK bool `json:"citations_ok"`
}

func (d *demo) verifyDraft(ctx context.Context, path string) (checked, error) {
	var got checked
	var errs bytes.Buffer
	cmd := d.gateway(ctx, "verify", "--draft", path, "--run", runID, "--json")
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if _, said := errors.AsType[*exec.ExitError](err); err != nil && (!said || cmd.ProcessState.ExitCode() != 1) {
		return got, fmt.Errorf("verifying the draft: %w\n%s", err, &errs)
	}
	if err := json.Unmarshal(out, &got); err != nil {
		return got, fmt.Errorf("verifying the draft: %w\n%s", err, &errs)
	}
	return got, nil
}

func (s *storyteller) closing() {
	s.rule("in all")
	words := make([]string, 0, len(maskClasses))
	for _, c := range maskClasses {
		words = append(words, fmt.Sprintf("%d of %s", s.masks[c], c))
	}
	leaked := 0
	got := s.m.received()
	for _, p := range allPlanted() {
		if strings.Contains(got, p) {
			leaked++
		}
	}
	lines, total := s.d.logs()
	s.line(fmt.Sprintf("   %s of logs in %s lines, %s of answers to the model", size(total), number(lines), size(s.m.shown)))
	s.line("   masks in them: " + strings.Join(words, ", "))
	s.line(fmt.Sprintf("   planted secrets that reached the model: %d of %d", leaked, len(allPlanted())))
}

func allPlanted() []string {
	return []string{plantedKey, plantedPassword, plantedBearer, plantedRunbook, plantedCard, shopToken(0)}
}
