package logs

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-069badc9/mcp-gateway/redact"
)

// note explains masks and cuts in one sentence, only when there are any, and gives at most two lines on how to narrow what was cut.
func (p *projector) note() string {
	var parts []string
	if n := len(p.obs.Events); int64(n) < p.raw.Total {
		parts = append(parts, fmt.Sprintf("%d of %d events are shown", n, p.raw.Total))
	} else if p.cut {
		parts = append(parts, "texts that end in … or name omitted frames were cut")
	}
	if p.masked() {
		parts = append(parts, "<…> marks hide values, the same tag is the same value in this run")
	}
	if p.once {
		parts = append(parts, "equal stacks of a pattern are shown once")
	}
	if p.raw.Partial {
		parts = append(parts, "part of the logs could not be read")
	}
	for _, i := range p.raw.Uncovered {
		parts = append(parts, "topic "+p.req.Topics[i].Name+" holds nothing of the range")
	}
	for _, s := range p.raw.Shifted {
		parts = append(parts, "some events of topic "+p.req.Topics[s.Topic].Name+" lie up to "+showSpan(time.Duration(s.Ahead))+" in the future: their times are probably of another timezone than the configured one")
	}
	for _, i := range p.raw.Untimed {
		parts = append(parts, "lines of topic "+p.req.Topics[i].Name+" that name no time carry the time at which their file was written")
	}
	if p.raw.NoLevel > 0 {
		parts = append(parts, strconv.FormatInt(p.raw.NoLevel, 10)+" events without a level were left out by level")
	}
	if len(parts) == 0 {
		return ""
	}
	note := strings.ToUpper(parts[0][:1]) + strings.Join(parts, "; ")[1:] + "."
	if p.cut && p.raw.Total > 0 {
		for _, h := range p.hints() {
			note += "\n" + h
		}
	}
	return note
}

// masked tells whether anything shown was masked.
func (p *projector) masked() bool {
	has := func(s string) bool { a, _ := redact.FindTag(s); return a >= 0 }
	for i := range p.obs.Patterns {
		if has(p.obs.Patterns[i].Template) {
			return true
		}
	}
	for i := range p.obs.Events {
		if e := &p.obs.Events[i]; has(e.Message) || has(e.Stack) || has(e.Service) {
			return true
		}
	}
	return false
}

// hints says where to look: the busiest part of the range, the rarest patterns and the fields that tell events apart.
func (p *projector) hints() []string {
	var counts [buckets]int64
	for i := range p.groups {
		for b, n := range p.groups[i].Buckets {
			counts[b] += n
		}
	}
	top := 0
	for b := range counts {
		if counts[b] > counts[top] {
			top = b
		}
	}
	var out []string
	from, width := p.req.From.UnixNano(), p.req.To.Sub(p.req.From).Nanoseconds()/buckets
	if share := counts[top] * 100 / max(p.raw.Total, 1); width > 0 && share >= 2*100/buckets {
		out = append(out, fmt.Sprintf("Busiest: %s to %s (%d%% of events).", showTime(from+int64(top)*width), showTime(from+int64(top+1)*width), share))
	}
	var rare, fields []string
	for g := len(p.groups) - 1; g >= 0 && len(rare) < 3; g-- {
		if id, ok := p.ids[g]; ok && p.groups[g].Count <= 2 {
			rare = append(rare, id)
		}
	}
	for i := range p.obs.Patterns {
		for _, v := range p.obs.Patterns[i].Values {
			if isName(v.Slot) && len(v.Top) > 1 && !slices.Contains(fields, v.Slot) && len(fields) < 3 {
				fields = append(fields, v.Slot)
			}
		}
	}
	var second []string
	if len(rare) > 0 {
		slices.Reverse(rare)
		second = append(second, "Rarest: "+strings.Join(rare, ", "))
	}
	if len(fields) > 0 {
		second = append(second, "fields to filter by: "+strings.Join(fields, ", "))
	}
	if len(second) > 0 {
		out = append(out, strings.Join(second, "; ")+".")
	}
	return out
}

func isName(s string) bool {
	for i := range len(s) {
		if c := s[i]; !(c == '_' || c == '.' || c == '-' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || i > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return s != "" && len(s) <= 32
}
