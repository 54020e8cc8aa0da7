package victorialogs_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/internal/servertest"
	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/victorialogs"
)

// collect is a sink that keeps the texts.
type collect struct{ texts []string }

func (c *collect) Lane() logs.Lane { return c }
func (c *collect) Found() bool     { return len(c.texts) > 0 }
func (c *collect) Close()          {}
func (c *collect) Emit(e logs.Event) error {
	c.texts = append(c.texts, string(e.Text))
	return nil
}

// hostile are texts that mean something in the query language, in its strings or in its regular expressions.
var hostile = []string{
	`"`, `\`, `\\`, `\"`, `") or (*`, `") or * #`, "`", "'", "line\nend", "tab\tx", `{service="shop"}`, `*`, `.*`, `(`, `)`, `[a-z]+`, `| delete _msg`, `| stats count()`, `!(`, `~`, `:`, `$`, `^`, `\Q`, `\E`, `(?i:x)`,
	`or *`, `_time:5y`, `#`, "\x00", "%22", "&query=*", "é\u2028z", `\x22 or *`, `\u0022`,
}

func TestLiteralsAreQuotedIntoTheQuery(t *testing.T) {
	t.Parallel()
	srv := servertest.StartVictoriaLogs(t)
	var b strings.Builder
	for i, h := range hostile {
		b.WriteString(event(map[string]any{"time": at(1, i), "service": "forms", "msg": "<" + h + ">"}))
	}
	b.WriteString(event(map[string]any{"time": at(2, 0), "service": "forms", "msg": "plain words"}))
	srv.Ingest(t, b.String()+shop(), "service")
	src := source(t, victorialogs.Options{URL: srv.URL(), Filter: "service:=forms"})
	from := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	for i, h := range hostile {
		for _, fold := range []bool{false, true} {
			text := "<" + h + ">"
			if fold {
				text = strings.ToLower(text)
			}
			var c collect
			_, err := src.Search(t.Context(), logs.Query{From: from, To: from.Add(time.Hour), Now: now, Need: []logs.Literal{{Text: text, Fold: fold}}, MaxScan: 1 << 30}, &c)
			if err != nil {
				t.Errorf("%q: %v", text, err)
				continue
			}
			own := event(map[string]any{"_msg": "<" + h + ">"})
			own = own[len(`{"_msg":"`) : len(own)-len(`"}`+"\n")]
			found := slices.ContainsFunc(c.texts, func(s string) bool { return strings.Contains(unquoted(s), unquoted(own)) })
			if !found {
				t.Errorf("%q (%d): its own event is not among %d: %q", text, i, len(c.texts), c.texts)
			}
			for _, s := range c.texts {
				if strings.Contains(s, "accepted") || strings.Contains(s, "plain words") {
					t.Errorf("%q reaches %s", text, s)
				}
			}
		}
	}
}

// unquoted makes the two ways of writing a string in JSON comparable.
func unquoted(s string) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&", `\u0027`, "'", `\u2028`, "\u2028").Replace(s)
}
