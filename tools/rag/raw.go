package rag

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/redact"
)

// Raw is what the collections answered, redacted.
type Raw struct {
	Answers []CollectionAnswer `json:"answers"`
}

// CollectionAnswer is the answer of one collection.
type CollectionAnswer struct {
	Collection string `json:"collection"`
	Answer     Answer `json:"answer"`
}

// Bounds of what a hit says of itself, in bytes. Longer values are cut: they serve recognition.
const (
	maxDocID  = 128
	maxTitle  = 200
	maxSource = 400
	maxLevel  = 32 // of a heading path
)

// sanitize makes an answer safe to keep: every text of it cleaned and redacted, whatever the Searcher did already.
func sanitize(a Answer, r *redact.Redactor, salt canonical.Salt) Answer {
	tags := redact.NewTagger(salt)
	text := func(s string) string { return r.Text(redact.Clean(strings.ToValidUTF8(s, "\uFFFD")), tags) }
	line := func(s string, n int) string { return cut(strings.Join(strings.Fields(text(s)), " "), n) }
	hits := make([]Hit, len(a.Hits))
	for i, h := range a.Hits {
		h.DocID, h.Title, h.Source = line(h.DocID, maxDocID), line(h.Title, maxTitle), line(h.Source, maxSource)
		heading := make([]string, 0, len(h.Heading))
		for _, s := range h.Heading[:min(len(h.Heading), maxLevel)] {
			if s = line(s, maxTitle); s != "" {
				heading = append(heading, s)
			}
		}
		h.Heading = heading
		h.Text = text(h.Text)
		h.Digest = Digest(h.Text)
		if h.Level != High && h.Level != Reference {
			h.Level = ""
		}
		hits[i] = h
	}
	a.Hits = hits
	return a
}

// Digest names a passage by its content: 16 hex characters. White space around it does not count.
func Digest(text string) string {
	sum := sha256.Sum256([]byte(strings.TrimSpace(text)))
	return hex.EncodeToString(sum[:8])
}

// bare refuses to call it "nothing found" that a collection holds nothing: an empty folder is a wrong path or a share that is not there more often than a fact.
func (r Raw) bare() error {
	for _, a := range r.Answers {
		if len(a.Answer.Hits) > 0 {
			return nil
		}
	}
	for _, a := range r.Answers {
		if a.Answer.Bare {
			return fault.New(fault.BackendIncomplete, "rag.Execute", errBare).WithHint("collection " + a.Collection + " holds no document: its folder is empty or not the one that was meant")
		}
	}
	return nil
}

var errBare = errors.New("the collection holds no document")
