package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/charset"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/pattern"
)

// textLines calls f with every line of r as UTF-8, without its line end, whatever its length; the line is valid during the call. ended tells whether the line end was
// there. It counts the lines in all and those in no encoding that is known.
func textLines(r io.Reader, f func(line []byte, ended bool) error) (all, lost int, err error) {
	s := charset.NewStream(r)
	for {
		line, ended, err := s.Next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			} else {
				err = fmt.Errorf("reading the input: %w", err)
			}
			all, lost := s.Lines()
			return all, lost, err
		}
		if err := f(line, ended); err != nil {
			all, lost := s.Lines()
			return all, lost, err
		}
	}
}

// mostLost is the share of lines, one in so many, up to which lines in no known encoding are a few stray bytes and not a text that was not understood.
const mostLost = 50

// lostLines says that words of the input were not recognised.
func lostLines(all, lost int) string {
	return fmt.Sprintf("%d of %d lines are neither UTF-8, UTF-16 nor GB 18030, so words in them were not recognised; convert the text first, as in iconv -f big5 -t utf-8", lost, all)
}

const encodings = "The input may be UTF-8, UTF-16 with a byte order mark, or GB 18030 (GBK); the output is UTF-8."

func (e *env) redactCommand() *cobra.Command {
	var stats bool
	c := &cobra.Command{Use: "redact < TEXT", Short: "Mask secrets, infrastructure, persons and SQL literals in a text, line by line", Args: noArgs,
		Long: "redact masks secrets, infrastructure, persons and SQL literals in a text and keeps its lines. " + encodings + " Exit 1 if the text is in another encoding: what stands there cannot be recognised.",
		RunE: func(*cobra.Command, []string) error { return e.redact(stats) }}
	c.Flags().BoolVar(&stats, "stats", false, "print counts by class to standard error")
	return c
}

func (e *env) redact(stats bool) error {
	opts := redact.Options{Classes: redact.All}
	if _, found := e.configPath(); found {
		cfg, err := e.load()
		if err != nil {
			return err
		}
		opts.Keep, opts.Hide = cfg.Redaction.Keep, cfg.Redaction.Hide
	}
	r, err := redact.New(opts)
	if err != nil {
		return usageError{err}
	}
	w := bufio.NewWriterSize(e.out, 64<<10)
	s := redact.NewStream(r, nil)
	var counts redact.Stats
	s.Count(&counts)
	all, lost, err := textLines(e.in, func(line []byte, ended bool) error {
		if _, err := w.Write(s.Line(line)); err != nil {
			return err
		}
		if ended {
			return w.WriteByte('\n')
		}
		return nil
	})
	if err := errors.Join(err, w.Flush()); err != nil {
		return err
	}
	if stats {
		byName := counts.Counts()
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			fmt.Fprintf(e.err, "%-10s %d\n", name, byName[name])
		}
	}
	switch {
	case lost*mostLost > all:
		return errors.New(lostLines(all, lost))
	case lost > 0:
		fmt.Fprintln(e.err, lostLines(all, lost))
	}
	return nil
}

func (e *env) patternsCommand() *cobra.Command {
	var asJSON, assign bool
	c := &cobra.Command{Use: "patterns < LOG", Short: "Group the lines of a log into patterns", Args: noArgs,
		Long: "patterns groups the lines of a log and shows what varies in each group. Values are not masked: for a log that holds secrets, pipe it through \"mcp-gateway redact\" first. " + encodings,
		RunE: func(*cobra.Command, []string) error { return e.patterns(asJSON, assign) }}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON pattern a line")
	c.Flags().BoolVar(&assign, "assign", false, "print each line's pattern id, one a line")
	return c
}

// wirePattern is one pattern of `patterns --json`, in the shape of query_logs.
type wirePattern struct {
	ID       string     `json:"id"`
	Count    int        `json:"count"`
	Template string     `json:"template"`
	First    int        `json:"first_line"`
	Values   []wireSlot `json:"values,omitzero"`
}

type wireSlot struct {
	Slot string      `json:"slot"`
	Top  []wireValue `json:"top,omitzero"`
	Min  string      `json:"min,omitzero"`
	Max  string      `json:"max,omitzero"`
}

type wireValue struct {
	Text  string `json:"text"`
	Count int    `json:"count"`
}

func (e *env) patterns(asJSON, assign bool) error {
	var lines []string
	all, lost, err := textLines(e.in, func(line []byte, _ bool) error {
		lines = append(lines, string(line))
		return nil
	})
	if err != nil {
		return err
	}
	if lost > 0 {
		fmt.Fprintln(e.err, lostLines(all, lost))
	}
	w := bufio.NewWriterSize(e.out, 64<<10)
	if assign {
		for _, id := range pattern.Assign(lines) {
			fmt.Fprintln(w, id)
		}
		return w.Flush()
	}
	for _, p := range groups(lines) {
		if asJSON {
			b, err := strictjson.Encode(p)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "%s\n", b)
			continue
		}
		fmt.Fprintf(w, "%8d  %s  %s\n", p.Count, p.ID, p.Template)
		for _, s := range p.Values {
			fmt.Fprintf(w, "          %s: %s\n", s.Slot, s.words())
		}
	}
	return w.Flush()
}

func (s wireSlot) words() string {
	if len(s.Top) == 0 {
		return s.Min + " … " + s.Max
	}
	parts := make([]string, len(s.Top))
	for i, v := range s.Top {
		parts[i] = fmt.Sprintf("%s ×%d", v.Text, v.Count)
	}
	return strings.Join(parts, ", ")
}

// groups lists the patterns of the lines, largest first.
func groups(lines []string) []wirePattern {
	acc := pattern.NewAccumulator(pattern.Options{})
	ids := make([]int, len(lines))
	for i, l := range lines {
		ids[i] = acc.Add(pattern.Line{Message: l})
	}
	gs := acc.Finish()
	out := make([]wirePattern, gs.Len())
	for i, prov := range ids {
		p := &out[gs.Of(prov)]
		if p.First == 0 {
			p.First = i + 1
		}
	}
	for i := range out {
		g := gs.Group(i)
		out[i].Count, out[i].Template = g.Count, g.Template
		for j, s := range g.Slots {
			ws := wireSlot{Slot: s.Name, Min: s.Min, Max: s.Max}
			if ws.Slot == "" {
				ws.Slot = fmt.Sprintf("slot %d", j+1)
			}
			for _, v := range s.Top {
				ws.Top = append(ws.Top, wireValue{v.Text, v.Count})
			}
			if len(ws.Top) > 0 || ws.Min != "" {
				out[i].Values = append(out[i].Values, ws)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b wirePattern) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		return a.First - b.First
	})
	for i := range out {
		out[i].ID = fmt.Sprintf("p%d", i+1)
	}
	return out
}
