package rag

import "context"

// Searcher finds passages in one collection. Both the embedded index and the remote retrievers are Searchers.
type Searcher interface {
	// Search returns at most q.Limit passages, the best first, ties in a fixed order. It calls take with the size of each passage before it keeps it and returns
	// take's error at once. An empty answer means that the whole collection was searched and holds nothing; anything less is an error (BACKEND_INCOMPLETE,
	// BACKEND_TIMEOUT, BACKEND_ERROR). Passages are redacted already.
	Search(ctx context.Context, q Query, take func(n int) error) (Answer, error)
}

// Query is a question to a Searcher.
type Query struct {
	Text  string // redacted, NFC, at most MaxQuery bytes
	Limit int    // passages wanted
	// Floor is the relevance under which a passage is of no use; a Searcher may leave such passages out and say so in Dropped. 0 keeps everything.
	Floor float64
}

// Answer is what one collection returned.
type Answer struct {
	Hits []Hit `json:"hits"`
	// More is set when passages over the floor were left out.
	More bool `json:"more,omitzero"`
	// Bare is set when the collection holds nothing at all: that nothing was found in it proves nothing.
	Bare bool `json:"bare,omitzero"`
	// Note is one short sentence about how the answer came about (an index that is being refreshed, embeddings that are down), or "".
	Note string `json:"note,omitzero"`
}

// Hit is a passage as a backend returned it, redacted.
type Hit struct {
	DocID   string   `json:"doc_id"`
	Title   string   `json:"title"`
	Source  string   `json:"source"`
	Heading []string `json:"heading,omitzero"`
	// Ordinal is the passage's place in its document.
	Ordinal int    `json:"ordinal"`
	Text    string `json:"text"`
	// Digest identifies the passage by its content: 16 hex characters of the SHA-256 of its text.
	Digest string `json:"digest"`
	// Relevance is an absolute measure from 0 to 1, comparable between queries and with the floor of the collection. Below 0: the backend gives none.
	Relevance float64 `json:"relevance"`
	// Level is the backend's own verdict, HIGH or REFERENCE, and wins over Relevance. Usually "".
	Level string `json:"level,omitzero"`
	// Score orders the hits of one answer and means nothing beyond it.
	Score float64 `json:"score"`
}

// The levels of relevance on the wire.
const (
	High      = "HIGH"
	Reference = "REFERENCE"
)
