package dify

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
	"github.com/seed-069badc9/mcp-gateway/tools/rag"
	"github.com/seed-069badc9/mcp-gateway/tools/rag/internal/visible"
)

// usual are the names that servers of the contract use, the contract's own first.
var usual = struct{ content, title, id, source []string }{
	content: []string{"content"},
	title:   []string{"title", "metadata.title", "metadata.document_name", "metadata.file_name", "metadata.fileName"},
	id:      []string{"metadata.document_id", "metadata.doc_id", "metadata.documentId", "document_id", "doc_id", "metadata.id", "id"},
	source:  []string{"metadata.path", "metadata.source", "metadata.sourcePath", "metadata.url", "metadata.document_name", "metadata.file_name", "metadata.fileName", "title"},
}

func names(configured string, fallback []string) []string {
	if configured != "" {
		return []string{configured}
	}
	return fallback
}

// read turns a body into an answer.
func (r *Retriever) read(data []byte, q rag.Query) (rag.Answer, error) {
	const op = "dify.Search"
	if err := strictjson.Check(data); err != nil {
		return rag.Answer{}, fault.New(fault.BackendIncomplete, op, err)
	}
	var body map[string]any
	if err := json.Unmarshal(data, &body); err != nil {
		return rag.Answer{}, fault.New(fault.BackendError, op, err)
	}
	if err := innerError(body); err != nil {
		return rag.Answer{}, fault.New(fault.BackendError, op, err)
	}
	records, ok := body["records"].([]any)
	if !ok {
		return rag.Answer{}, fault.New(fault.BackendIncomplete, op, errors.New("no list of records"))
	}
	var ans rag.Answer
	for i, v := range records {
		if len(ans.Hits) == q.Limit {
			ans.More = true
			break
		}
		rec, ok := v.(map[string]any)
		if !ok {
			return rag.Answer{}, fault.New(fault.BackendError, op, fmt.Errorf("record %d is no object", i))
		}
		h, err := r.hit(rec, i)
		if err != nil {
			return rag.Answer{}, fault.New(fault.BackendError, op, err)
		}
		if h.Text == "" { // an image, or nothing but hidden text: the reader is told that something is missing
			ans.More = true
			continue
		}
		ans.Hits = append(ans.Hits, h)
	}
	return ans, nil
}

// innerError finds an error inside a successful status: error_code (Dify), code (RAGFlow) other than 0, error.
func innerError(body map[string]any) error {
	for _, k := range []string{"error_code", "code"} {
		switch v := body[k].(type) {
		case float64:
			if v != 0 && v != 200 {
				return fmt.Errorf("%s %v", k, v)
			}
		case string:
			if v != "" && v != "0" && v != "200" {
				return fmt.Errorf("%s is set", k)
			}
		}
	}
	switch v := body["error"].(type) {
	case nil:
	case bool:
		if v {
			return errors.New("error is set")
		}
	case string:
		if v != "" {
			return errors.New("error is set")
		}
	default:
		return errors.New("error is set")
	}
	return nil
}

// hit reads one record. A record without the content field means that the configuration names another field, and an answer without it would be wrong.
func (r *Retriever) hit(rec map[string]any, i int) (rag.Hit, error) {
	content, ok := lookup(rec, names(r.o.Fields.Content, usual.content))
	if !ok {
		return rag.Hit{}, fmt.Errorf("record %d has no content", i)
	}
	h := rag.Hit{Ordinal: i, Text: strings.TrimSpace(visible.Strip(content)), Relevance: scoreOf(rec), Level: levelOf(rec), Score: 1 / float64(1+i)}
	h.Title, _ = lookup(rec, names(r.o.Fields.Title, usual.title))
	h.DocID, _ = lookup(rec, names(r.o.Fields.ID, usual.id))
	h.Source, _ = lookup(rec, names(r.o.Fields.Source, usual.source))
	h.Digest = rag.Digest(h.Text)
	for _, fill := range []struct {
		to   *string
		from string
	}{{&h.Title, h.Source}, {&h.Source, h.Title}, {&h.DocID, h.Source}, {&h.DocID, h.Digest}, {&h.Title, h.DocID}, {&h.Source, h.DocID}} {
		if *fill.to == "" {
			*fill.to = fill.from
		}
	}
	return h, nil
}

// lookup finds the first of the dotted paths that holds a string or a number.
func lookup(rec map[string]any, paths []string) (string, bool) {
	for _, p := range paths {
		var v any = rec
		for part := range strings.SplitSeq(p, ".") {
			m, ok := v.(map[string]any) // metadata may be null
			if !ok {
				v = nil
				break
			}
			v = m[part]
		}
		switch v := v.(type) {
		case string:
			return v, true
		case float64:
			return strconv.FormatFloat(v, 'f', -1, 64), true
		}
	}
	return "", false
}

// scoreOf is a score from 0 to 1, or -1 for none: a score on another scale cannot be held against a floor.
func scoreOf(rec map[string]any) float64 {
	v, ok := rec["score"].(float64)
	if !ok || math.IsNaN(v) || v < 0 || v > 1 {
		return -1
	}
	return v
}

// levelOf is the backend's own verdict. An unknown word is REFERENCE, and of two that differ the lower counts.
func levelOf(rec map[string]any) string {
	level := ""
	meta, _ := rec["metadata"].(map[string]any)
	for _, m := range []map[string]any{rec, meta} {
		for _, k := range []string{"relevanceLevel", "relevance_level"} {
			v, ok := m[k]
			if !ok || v == nil {
				continue
			}
			if s, isText := v.(string); !isText || !strings.EqualFold(strings.TrimSpace(s), rag.High) {
				return rag.Reference
			}
			level = rag.High
		}
	}
	return level
}
