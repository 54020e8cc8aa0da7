package rag

import (
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/tools/rag/internal/lex"
)

// projectorVersion changes whenever the same request and raw could give another observation.
const projectorVersion = "rag/1"

// Observation is what the model reads. Excerpts carry no decoration for delivery, so that quotes of them verify.
type Observation struct {
	Scope    ObservedScope `json:"scope"`
	Evidence []Evidence    `json:"evidence"`
	Note     string        `json:"note,omitempty"`
}

// ObservedScope tells what was searched.
type ObservedScope struct {
	Collection string `json:"collection"` // several are joined by ", "
	Query      string `json:"query"`      // at most 256 bytes of it, then a digest
}

// Evidence is one passage.
type Evidence struct {
	ID    string `json:"id"` // e1, e2, …
	DocID string `json:"doc_id"`
	Title string `json:"title"`
	// Source is the document's path in its folder, behind "collection:" when the call searched several.
	Source  string `json:"source"`
	Heading string `json:"heading,omitempty"` // the headings above the passage, joined by " > "
	Excerpt string `json:"excerpt"`
	Level   string `json:"relevance_level"`
	// AlsoIn are other places of the same text, at most three.
	AlsoIn []string `json:"also_in,omitempty"`
}

var outputSchema = json.RawMessage(`{"type":"object","additionalProperties":false,"required":["tool_call_id","run_id","evidence_status","truncated","scope","evidence"],"properties":{` +
	`"tool_call_id":{"type":"string"},"run_id":{"type":"string"},"evidence_status":{"type":"string","enum":["EVIDENCE_FOUND","NO_EVIDENCE"]},"truncated":{"type":"boolean"},` +
	`"scope":{"type":"object","additionalProperties":false,"required":["collection","query"],"properties":{"collection":{"type":"string"},"query":{"type":"string"}}},` +
	`"evidence":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["id","doc_id","title","source","excerpt","relevance_level"],"properties":{` +
	`"id":{"type":"string"},"doc_id":{"type":"string"},"title":{"type":"string"},"source":{"type":"string"},"heading":{"type":"string"},"excerpt":{"type":"string"},` +
	`"relevance_level":{"type":"string","enum":["HIGH","REFERENCE"]},"also_in":{"type":"array","items":{"type":"string"}}}}},` +
	`"note":{"type":"string"},` +
	`"control":{"type":"object","additionalProperties":false,"required":["code"],"properties":{"code":{"type":"string"},"checked_scopes":{"type":"array","items":{"type":"string"}}}}}}`)

// maxAlsoIn bounds the places named beside a passage.
const maxAlsoIn = 3

// ranked is a hit on its way into the observation.
type ranked struct {
	hit    Hit
	source string
	level  string
	key    float64
	print  fingerprint
	also   []string
	docs   map[string]bool
}

// Project makes the observation. It is pure.
func (t *Tool) Project(req Request, raw Raw, v boundary.View) (boundary.Projection[Observation], error) {
	p := boundary.Projection[Observation]{Observation: Observation{Scope: ObservedScope{scopeNames(req), echo(req.Query)}, Evidence: []Evidence{}}}
	all, err := fuse(req, raw)
	if err != nil {
		return p, fault.New(fault.ProjectionError, "rag.Project", err)
	}
	kept, lost := collapse(all)
	p.Truncated = lost
	for _, a := range raw.Answers {
		p.Truncated = p.Truncated || a.Answer.More
	}
	if len(kept) > req.TopK {
		kept, p.Truncated = kept[:req.TopK], true
	}
	notes := newNotes(raw)
	words := map[string]bool{}
	for _, tok := range lex.Tokens(req.Query) {
		words[tok.Term] = true
	}
	size, err := encodedSize(withNote(p.Observation, notes.longest()))
	if err != nil {
		return p, fault.New(fault.ProjectionError, "rag.Project", err)
	}
	for i, r := range kept {
		e, shortened, n := fit(r, i, words, v.MaxBytes-size)
		if n == 0 {
			if i == 0 {
				return p, fault.New(fault.ProjectionError, "rag.Project", errNoRoom)
			}
			p.Truncated = true
			break
		}
		size += n
		p.Observation.Evidence = append(p.Observation.Evidence, e)
		item := canonical.Item{Key: r.hit.Digest}
		if shortened {
			notes.cut, p.Truncated = true, true
			item.Detail = Digest(e.Excerpt)
		}
		p.Items = append(p.Items, item)
		if _, end := redact.FindTag(e.Excerpt); end > 0 {
			notes.masked = true
		}
		if p.Relevance != High {
			p.Relevance = e.Level
		}
	}
	p.Count = len(p.Observation.Evidence)
	p.Evidence = canonical.Evidence(p.Count > 0)
	p.Observation.Note = notes.String()
	return p, nil
}

var (
	errNoRoom  = errors.New("the bound leaves no room for one excerpt")
	errForeign = errors.New("raw and request name different collections")
)

// fuse puts the hits of all collections into one order and drops those below their floor. Within a collection the backend's order holds. Between collections
// relevance decides, which is absolute, and then the place in the own answer; scores mean nothing across backends.
func fuse(req Request, raw Raw) ([]ranked, error) {
	if len(raw.Answers) != len(req.Collections) {
		return nil, errForeign
	}
	var out []ranked
	for i, a := range raw.Answers {
		target := req.Collections[i]
		if a.Collection != target.Name {
			return nil, errForeign
		}
		before := 2.0 // keeps the backend's order: no hit ranks above the one before it
		for n, h := range a.Answer.Hits {
			level := levelOf(h, target)
			if level == "" {
				continue
			}
			r := ranked{hit: h, source: h.Source, level: level}
			if len(req.Collections) > 1 {
				r.source = target.Name + ":" + h.Source
			}
			r.key = min(before, keyOf(h, level, n))
			before = r.key
			out = append(out, r)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].key > out[j].key })
	return out, nil
}

// levelOf is the level of a hit, or "" for one below the floor. The backend's own verdict wins.
func levelOf(h Hit, t Target) string {
	switch {
	case h.Level == High || h.Level == Reference:
		return h.Level
	case h.Relevance < 0:
		return Reference // the backend returned it and says no more
	case h.Relevance < t.Floor:
		return ""
	case h.Relevance >= t.High:
		return High
	}
	return Reference
}

func keyOf(h Hit, level string, place int) float64 {
	v := h.Relevance
	if v < 0 {
		if v = 0.4; level == High {
			v = 0.8
		}
	}
	return 0.7*min(v, 1) + 0.3/float64(1+place)
}

// collapse joins exact and near duplicates to the first of them. lost tells whether a place of a duplicate could not be named.
func collapse(all []ranked) (kept []*ranked, lost bool) {
next:
	for i := range all {
		r := &all[i]
		r.print = fingerprintOf(r.hit.Text)
		r.docs = map[string]bool{r.source: true}
		for _, k := range kept {
			if !k.print.same(r.print) {
				continue
			}
			switch {
			case k.docs[r.source]:
			case len(k.also) == maxAlsoIn:
				lost = true
			default:
				k.docs[r.source] = true
				k.also = append(k.also, r.source)
			}
			continue next
		}
		kept = append(kept, r)
	}
	return kept, lost
}

// minExcerpt is the shortest excerpt worth showing, in characters; the first one may be shorter, as something must be shown.
const minExcerpt = 200

// fit makes the i-th piece of evidence within room bytes of JSON and tells its size with the comma before it; 0 means that it does not fit.
func fit(r *ranked, i int, words map[string]bool, room int) (Evidence, bool, int) {
	e := Evidence{ID: fmt.Sprintf("e%d", i+1), DocID: r.hit.DocID, Title: r.hit.Title, Source: r.source, Heading: cut(strings.Join(r.hit.Heading, " > "), maxSource), Level: r.level, AlsoIn: r.also}
	least := minExcerpt
	if i == 0 {
		least = 16
	}
	for limit := maxExcerpt; limit >= least; {
		text, shortened := window(r.hit.Text, words, limit)
		e.Excerpt = text
		n, err := encodedSize(e)
		if err != nil {
			return e, false, 0
		}
		if n++; n <= room {
			return e, shortened, n
		}
		// Shrink by the share that is over, at least a tenth: a few rounds at most.
		over := float64(room) / float64(n)
		limit = min(int(float64(limit)*max(over, 0.2)), limit*9/10)
		if limit < least && i == 0 && limit > 0 {
			e.AlsoIn, e.Heading = nil, ""
		}
	}
	return e, false, 0
}

func encodedSize(v any) (int, error) {
	b, err := strictjson.Encode(v)
	return len(b), err
}

func withNote(o Observation, note string) Observation {
	o.Note = note
	return o
}

// notes are the sentences that explain an answer.
type notes struct {
	masked, cut bool
	backend     []string
}

const (
	noteMasked = "Values were masked."
	noteCut    = "… marks omitted text."
)

func newNotes(raw Raw) *notes {
	n := &notes{}
	seen := map[string]bool{}
	for _, a := range raw.Answers {
		if s := a.Answer.Note; s != "" && !seen[s] {
			seen[s] = true
			n.backend = append(n.backend, cut(s, 200))
		}
	}
	n.backend = n.backend[:min(len(n.backend), 3)]
	return n
}

func (n *notes) longest() string {
	return (&notes{true, true, n.backend}).String()
}

func (n *notes) String() string {
	var s []string
	if n.masked {
		s = append(s, noteMasked)
	}
	if n.cut {
		s = append(s, noteCut)
	}
	return strings.Join(append(s, n.backend...), " ")
}
