package rag

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/tools/rag/internal/lex"
)

// Bounds of a request.
const (
	MaxQuery    = 8000 // bytes
	maxRunes    = 2000 // characters: a pasted alert with its annotations has some 600
	defaultTopK = 5
	maxTopK     = 20
)

// Request is a parsed call. It holds everything that the projection depends on.
type Request struct {
	Collections []Target `json:"collections"`
	Query       string   `json:"query"` // redacted
	TopK        int      `json:"top_k"`
}

// Target is a collection with the thresholds that hold for the query.
type Target struct {
	Name  string  `json:"name"`
	Floor float64 `json:"floor"`
	High  float64 `json:"high"`
}

var inputSchema = json.RawMessage(`{"type":"object","additionalProperties":false,"required":["query"],"properties":{` +
	`"collection":{"type":"string","description":"One collection; without it all that you may read are searched."},` +
	`"query":{"type":"string","minLength":1,"maxLength":2000,"description":"What to find, in plain words: symptom, error text, alert, component."},` +
	`"top_k":{"type":"integer","minimum":1,"maximum":20,"description":"How many excerpts at most; 5 when left out."}}}`)

// Parse reads the arguments. An unknown collection and one that the caller may not read get the same answer.
func (t *Tool) Parse(args json.RawMessage, c boundary.ParseContext) (Request, error) {
	const op = "rag.Parse"
	var in struct {
		Collection *string `json:"collection"`
		Query      *string `json:"query"`
		TopK       *int    `json:"top_k"`
	}
	if err := boundary.StrictArgs(op, args, &in); err != nil {
		return Request{}, err
	}
	refuse := func(format string, a ...any) (Request, error) {
		return Request{}, fault.New(fault.InvalidRequest, op, errors.New("argument")).WithHint(fmt.Sprintf(format, a...))
	}
	if in.Query == nil || strings.TrimSpace(*in.Query) == "" {
		return refuse(`argument "query" is required: say in words what to find`)
	}
	if !utf8.ValidString(*in.Query) || utf8.RuneCountInString(*in.Query) > maxRunes {
		return refuse(`argument "query" is longer than %d characters`, maxRunes)
	}
	req := Request{TopK: defaultTopK}
	if in.TopK != nil {
		if *in.TopK < 1 || *in.TopK > maxTopK {
			return refuse(`argument "top_k" must be from 1 to %d`, maxTopK)
		}
		req.TopK = *in.TopK
	}
	req.Query = strings.TrimSpace(t.secrets.Text(redact.Clean(lex.Normalize(*in.Query)), nil))
	if len(lex.Tokens(req.Query)) == 0 {
		return refuse(`argument "query" holds no word that can be searched; secrets and masks never match`)
	}
	allowed := t.allowed(c.Grants)
	for _, col := range allowed {
		if in.Collection == nil || *in.Collection == col.Name {
			req.Collections = append(req.Collections, Target{col.Name, col.floorFor(req.Query), cmp.Or(col.High, DefaultHigh)})
		}
	}
	if len(req.Collections) == 0 {
		if len(allowed) == 0 {
			return refuse("no collection is available")
		}
		names := make([]string, len(allowed))
		for i, col := range allowed {
			names[i] = col.Name
		}
		return refuse(`argument "collection" must be one of: %s`, strings.Join(names, ", "))
	}
	return req, nil
}

// Scope describes a request. Two questions of the same words in the same order are the same search.
func (t *Tool) Scope(req Request) boundary.Scope {
	var words []string
	for _, tok := range lex.Tokens(req.Query) {
		words = append(words, tok.Term)
	}
	targets := append([]Target(nil), req.Collections...)
	sort.Slice(targets, func(i, j int) bool { return targets[i].Name < targets[j].Name })
	normal, err := strictjson.Encode(struct {
		Collections []Target `json:"collections"`
		Words       []string `json:"words"`
		TopK        int      `json:"top_k"`
	}{targets, words, req.TopK})
	if err != nil {
		normal = []byte(req.Query) // strings and numbers always encode
	}
	return boundary.Scope{Normal: string(normal), Text: cut(scopeNames(req)+": "+req.Query, maxEcho)}
}

// scopeNames are the collections of a request as they are shown.
func scopeNames(req Request) string {
	names := make([]string, len(req.Collections))
	for i, c := range req.Collections {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}

// maxEcho is how much of a query an answer repeats, in bytes; a digest stands for the rest.
const maxEcho = 256

func echo(q string) string {
	if len(q) <= maxEcho {
		return q
	}
	sum := sha256.Sum256([]byte(q))
	return cut(q, maxEcho) + "… sha256:" + hex.EncodeToString(sum[:8])
}

// cut shortens s to at most n bytes on a rune border, never inside a mask.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	for start, end := range redact.Tags(s) {
		if start >= n {
			break
		}
		if end > n {
			n = start
		}
	}
	return s[:n]
}
