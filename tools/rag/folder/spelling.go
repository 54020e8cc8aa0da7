package folder

import (
	"context"

	"github.com/seed-069badc9/mcp-gateway/tools/rag/internal/lex"
)

const (
	// minSpelled is the length from which a stem is compared: one letter more or less makes another word of a shorter one (pod, port, node, mode).
	minSpelled = 5
	// headSpelled is how many letters at the beginning must be right. People rarely mistype them, and it keeps the search short.
	headSpelled = 2
	// maxUnknown bounds the unknown words of a query that are looked into.
	maxUnknown = 16
)

// misspelt tells a term that may be a slip of the pen: letters only, as one digit more is another version, host or error code.
func misspelt(t *term) bool {
	if t.kind != lex.Word && t.kind != lex.Whole || len(t.text) < minSpelled {
		return false
	}
	for i := range len(t.text) {
		if c := t.text[i]; c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

// nearest is the term of the collection that a slip away from key, "~" and a term: one letter left out, added, changed, or two swapped. Of several the commonest wins,
// then the first in the alphabet.
func (g *generation) nearest(ctx context.Context, key string) (best word, err error) {
	text := key[1:]
	from := text[:headSpelled]
	to := text[:headSpelled-1] + string(rune(text[headSpelled-1]+1))
	rows, err := g.spelled.QueryContext(ctx, from, to)
	if err != nil {
		return best, err
	}
	defer rows.Close()
	for rows.Next() {
		var w word
		if err := rows.Scan(&w.text, &w.df); err != nil {
			return best, err
		}
		if w.df > best.df && slip(text, w.text) {
			best = w
		}
	}
	return best, rows.Err()
}

// slip tells whether two different words differ by one letter or by two neighbours in the wrong order.
func slip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 || a == b {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	return a[i+1:] == b[i+1:] || i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
