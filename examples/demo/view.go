package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// observation is what the demo prints of an answer; it reads the text that the model got.
type observation struct {
	Status    string `json:"evidence_status"`
	Truncated bool   `json:"truncated"`
	Note      string `json:"note"`
	Scope     json.RawMessage

	Patterns []struct {
		ID, Level, Topic, Template string
		Count                      int64
	} `json:"patterns"`
	Omitted int `json:"patterns_omitted"`
	Events  []struct {
		ID, Time, Level, Message string
	} `json:"events"`

	Evidence []struct {
		ID      string `json:"id"`
		Source  string `json:"source"`
		Heading string `json:"heading"`
		Excerpt string `json:"excerpt"`
		Level   string `json:"relevance_level"`
	} `json:"evidence"`

	Columns []struct{ Name string } `json:"columns"`
	Rows    [][]any                 `json:"rows"`

	Error *struct{ Code, Message, Hint string } `json:"error"`
}

// saw is an answer, shortened.
func (s *storyteller) saw(st step, a answer) []string {
	var o observation
	if err := json.Unmarshal([]byte(a.text), &o); err != nil {
		return []string{"(not JSON)"}
	}
	if e := o.Error; e != nil {
		out := []string{e.Code, e.Message}
		if e.Hint != "" {
			out = append(out, "hint: "+steady(e.Hint))
		}
		return out
	}
	head := o.Status
	if o.Truncated {
		head += ", truncated"
	}
	out := []string{head}
	if o.Status == "NO_EVIDENCE" {
		out = append(out, "scope: "+string(o.Scope))
	}
	more := 0
	for _, p := range o.Patterns {
		if !slices.Contains(st.show, p.ID) {
			if len(o.Events) == 0 || anyPattern(st.show) {
				more++
			}
			continue
		}
		out = append(out, clip(fmt.Sprintf("%-3s %6s× %-5s %s", p.ID, number(p.Count), p.Level, steady(strings.TrimSpace(p.Topic+" "+p.Template))), leftWidth-2))
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("    … and %d more patterns, %d sample events", more, len(o.Events)))
	}
	for _, e := range o.Events {
		if slices.Contains(st.show, e.ID) {
			out = append(out, fmt.Sprintf("%-3s %s %s", e.ID, clock(e.Time), steady(e.Message)))
		}
	}
	for _, e := range o.Evidence {
		if slices.Contains(st.show, e.ID) {
			out = append(out, clip(fmt.Sprintf("%-3s %s %s", e.ID, e.Level, strings.TrimSpace(e.Source+" "+e.Heading)), leftWidth-2))
			out = append(out, "    "+telling(steady(e.Excerpt)))
		}
	}
	if n := len(o.Evidence) - len(st.show); len(o.Evidence) > 0 && n > 0 {
		out = append(out, fmt.Sprintf("    … and %d more", n))
	}
	out = append(out, table(o)...)
	if o.Note != "" {
		out = append(out, "note: "+steady(strings.ReplaceAll(o.Note, "\n", " ")))
	}
	return out
}

// telling is the part of a passage that is printed: its line with a mask, else its first line that is no heading.
func telling(excerpt string) string {
	first := ""
	for l := range strings.Lines(excerpt) {
		l = strings.TrimSpace(l)
		if mask.MatchString(l) {
			return l
		}
		if first == "" && l != "" && !strings.HasPrefix(l, "#") {
			first = l
		}
	}
	return first
}

func anyPattern(show []string) bool {
	return slices.ContainsFunc(show, func(id string) bool { return strings.HasPrefix(id, "p") })
}

// clock is the time of day of an event.
func clock(t string) string {
	_, day, _ := strings.Cut(t, "T")
	return strings.TrimSuffix(day, "Z")
}

// table prints rows under their columns.
func table(o observation) []string {
	if len(o.Columns) == 0 {
		return nil
	}
	var lines [][]string
	head := []string{""}
	for _, c := range o.Columns {
		head = append(head, c.Name)
	}
	lines = append(lines, head)
	for i, r := range o.Rows {
		cells := []string{fmt.Sprintf("r%d", i+1)}
		for _, v := range r {
			switch v := v.(type) {
			case nil:
				cells = append(cells, "NULL")
			case float64:
				cells = append(cells, fmt.Sprintf("%.0f", v))
			default:
				cells = append(cells, fmt.Sprint(v))
			}
		}
		lines = append(lines, cells)
	}
	wide := make([]int, len(head))
	for _, l := range lines {
		for i, c := range l {
			wide[i] = max(wide[i], columns(c))
		}
	}
	out := make([]string, len(lines))
	for n, l := range lines {
		var b strings.Builder
		for i, c := range l {
			b.WriteString(c + strings.Repeat(" ", wide[i]-columns(c)+2))
		}
		out[n] = clip(strings.TrimRight(b.String(), " "), leftWidth-2)
	}
	return out
}

// maskClasses are the classes of redaction in the order they are told, and column, which is a masked column of the allowlist.
var maskClasses = []string{"secrets", "infrastructure", "persons", "columns"}

var (
	mask      = regexp.MustCompile(`<(secret|masked|ip|host|pod|pid|mac|trace|email|phone|card|id)(?::[a-z0-9]{6})?>`)
	maskClass = map[string]string{"secret": "secrets", "masked": "columns", "ip": "infrastructure", "host": "infrastructure", "pod": "infrastructure", "pid": "infrastructure",
		"mac": "infrastructure", "trace": "infrastructure", "email": "persons", "phone": "persons", "card": "persons", "id": "persons"}
)

// countMasks counts the masks in an answer by class. The note of an answer names a mask, which is none.
func countMasks(text string) map[string]int {
	var top map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &top); err != nil {
		return nil
	}
	out := map[string]int{}
	for key, raw := range top {
		var plain any
		if key == "note" || key == "scope" || json.Unmarshal(raw, &plain) != nil {
			continue
		}
		for _, m := range mask.FindAllStringSubmatch(fmt.Sprint(plain), -1) {
			out[maskClass[m[1]]]++
		}
	}
	return out
}
