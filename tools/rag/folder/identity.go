package folder

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"sort"
	"strings"
)

// known is what an index remembers of a document's identity, also some time after the file has gone.
type known struct {
	path  string
	docID string
	hash  string
	title string
	gone  int64 // 0 while the file is there, else the generation that missed it first
}

// assignIDs gives every document its doc_id. Rules, first match wins, each id once:
//
//  1. a front-matter id, as long as no other document of the folder carries the same one;
//  2. the id that this path had, if the text is unchanged;
//  3. the id that this text had at a path that no longer holds it: the file was moved;
//  4. the id that this path had: the file was edited, perhaps while it was away;
//  5. the id of a vanished file of the same name and title: moved and edited at once;
//  6. a new one, made of the text.
//
// A new id depends on the text and not on the place, so that an index built anew after a move, on another machine or in another folder, gives the same ids for
// unedited documents. A copied front-matter id takes nothing from the document that had it first: neither counts, and rule 2 or 4 keeps the older one.
func assignIDs(space string, docs []*document, before []known) map[string]string {
	ids := make(map[string]string, len(docs)) // path → doc_id
	taken := make(map[string]bool, len(docs))
	claim := func(d *document, id string) bool {
		if id == "" || taken[id] || ids[d.path] != "" {
			return false
		}
		ids[d.path], taken[id] = id, true
		return true
	}
	byPath := make(map[string]known, len(before))
	for _, k := range before {
		if k.gone == 0 {
			byPath[k.path] = k
		}
	}
	count := make(map[string]int)
	for _, d := range docs {
		if d.id != "" {
			count[d.id]++
		}
	}
	for _, d := range docs {
		if d.id != "" && count[d.id] == 1 {
			claim(d, makeID("id", space, d.id))
		}
	}
	now := make(map[string]*document, len(docs))
	for _, d := range docs {
		now[d.path] = d
		if k, ok := byPath[d.path]; ok && k.hash == d.hash {
			claim(d, k.docID)
		}
	}
	movedText := make(map[string][]known)
	movedName := make(map[string][]known)
	for _, k := range sortedKnown(before) {
		d := now[k.path]
		if d == nil || k.gone != 0 || d.hash != k.hash {
			movedText[k.hash] = append(movedText[k.hash], k)
		}
		if d == nil {
			name := path.Base(k.path) + "\x00" + k.title
			movedName[name] = append(movedName[name], k)
		}
	}
	for _, d := range docs {
		for _, k := range movedText[d.hash] {
			if claim(d, k.docID) {
				break
			}
		}
	}
	for _, d := range docs {
		if k, ok := byPath[d.path]; ok {
			claim(d, k.docID)
		}
	}
	for _, k := range sortedKnown(before) {
		if d := now[k.path]; d != nil && k.gone != 0 {
			claim(d, k.docID)
		}
	}
	for _, d := range docs {
		for _, k := range movedName[path.Base(d.path)+"\x00"+d.title] {
			if claim(d, k.docID) {
				break
			}
		}
	}
	for _, d := range docs {
		for n := 0; ids[d.path] == ""; n++ {
			claim(d, makeID("text", space, d.hash+strings.Repeat("+", n)))
		}
	}
	return ids
}

// copies are the paths of documents whose text another one had first: it carries its front-matter id, or the id that belongs to the text, or was known longer.
// An excerpt is shown under the first, so that a copy in another folder does not change what a citation names.
func copies(space string, docs []*document, ids map[string]string, before []known) map[string]bool {
	older := make(map[string]bool, len(before))
	for _, k := range before {
		older[k.docID] = true
	}
	rank := func(d *document) int {
		switch id := ids[d.path]; {
		case d.id != "" && id == makeID("id", space, d.id):
			return 0
		case id == makeID("text", space, d.hash):
			return 1
		case older[id]:
			return 2
		}
		return 3
	}
	first := make(map[string]*document, len(docs))
	out := map[string]bool{}
	for _, d := range docs { // in the order of paths
		f := first[d.hash]
		switch {
		case f == nil:
			first[d.hash] = d
		case rank(d) < rank(f):
			first[d.hash] = d
			out[f.path] = true
		default:
			out[d.path] = true
		}
	}
	return out
}

// sortedKnown puts present entries before vanished ones, the latest first.
func sortedKnown(in []known) []known {
	out := append([]known(nil), in...)
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i], out[j]
		if (a.gone == 0) != (b.gone == 0) {
			return a.gone == 0
		}
		if a.gone != b.gone {
			return a.gone > b.gone
		}
		return a.path < b.path
	})
	return out
}

func makeID(kind, space, of string) string {
	sum := sha256.Sum256([]byte(kind + "\x00" + space + "\x00" + of))
	return hex.EncodeToString(sum[:8])
}
