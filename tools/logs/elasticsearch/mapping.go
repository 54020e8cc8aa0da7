package elasticsearch

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// fields is what a mapping tells of an index, or of all indices of a pattern together.
type fields struct {
	// whole: every text of a document can be found in the fields below, or the document is listed in _ignored.
	whole   bool
	text    map[string]bool // fields that are searched word by word or whole
	all     map[string]bool // every field that has a value
	keyword map[string]bool // fields that are keywords wherever they are mapped; false: not everywhere
}

func newFields() *fields {
	return &fields{whole: true, text: map[string]bool{}, all: map[string]bool{}, keyword: map[string]bool{}}
}

// index is an element of the answer to GET /{index}, with flat settings.
type index struct {
	Mappings json.RawMessage            `json:"mappings"`
	Settings map[string]json.RawMessage `json:"settings"`
}

// property is a field of a mapping, as far as it decides what can be searched.
type property struct {
	Type       string              `json:"type"`
	Properties map[string]property `json:"properties"`
	Enabled    *bool               `json:"enabled"`
	Dynamic    any                 `json:"dynamic"`
	Index      *bool               `json:"index"`
	DocValues  *bool               `json:"doc_values"`
	Analyzer   string              `json:"analyzer"`
	Normalizer string              `json:"normalizer"`
	Format     string              `json:"format"`
}

// add takes in one index.
func (f *fields) add(i index) {
	for k := range i.Settings {
		if strings.HasPrefix(k, "index.analysis.analyzer.default") || strings.HasPrefix(k, "index.analysis.analyzer.standard") {
			f.whole = false
		}
	}
	var root property
	if len(i.Mappings) == 0 || json.Unmarshal(i.Mappings, &root) != nil || root.Properties == nil {
		f.whole = false
		return
	}
	f.object("", root)
}

// object takes in the members of an object. Members that a mapping leaves out are in no field.
func (f *fields) object(prefix string, o property) {
	if o.Enabled != nil && !*o.Enabled || !mapsNew(o.Dynamic) {
		f.whole = false
	}
	for name, p := range o.Properties {
		f.field(prefix+name, p)
	}
}

// mapsNew tells whether unknown members become fields, or are refused.
func mapsNew(dynamic any) bool {
	switch dynamic {
	case nil, true, "true", "strict":
		return true
	}
	return false
}

// numericDates are the formats of times without words.
var numericDates = [...]string{"", "strict_date_optional_time", "strict_date_optional_time_nanos", "epoch_millis", "epoch_second"}

func (f *fields) field(path string, p property) {
	if p.Type == "" || p.Type == "object" {
		f.object(path+".", p)
		return
	}
	f.all[path] = true
	k, seen := f.keyword[path]
	f.keyword[path] = (p.Type == "keyword" || p.Type == "constant_keyword") && (k || !seen)
	if p.Index != nil && !*p.Index || p.DocValues != nil && !*p.DocValues && p.Type != "text" && p.Type != "match_only_text" {
		f.whole = false
	}
	switch p.Type {
	case "text", "match_only_text":
		f.whole = f.whole && (p.Analyzer == "" || p.Analyzer == "standard")
		f.text[path] = true
	case "keyword", "wildcard", "constant_keyword":
		f.whole = f.whole && p.Normalizer == ""
		f.text[path] = true
	case "long", "integer", "short", "byte", "double", "float", "half_float", "scaled_float", "unsigned_long", "boolean", "ip":
	case "date", "date_nanos":
		for format := range strings.SplitSeq(p.Format, "||") {
			f.whole = f.whole && slices.Contains(numericDates[:], format)
		}
	case "alias":
		delete(f.all, path)
	default: // nested, flattened, binary, geo…: not searched with the rest, or not as written
		f.whole = false
	}
}

// maxClauses bounds the fields that one query names: the server allows 1024 clauses.
const maxClauses = 200

// candidates is the filter for documents that hold one of the words in a text field or in a field's name, or that have a value which was not indexed. nil when the
// mapping does not prove it right.
func (f *fields) candidates(words []string) []any {
	if !f.whole || len(words) == 0 || (len(f.text)+len(f.all))*len(words) > maxClauses*4 {
		return nil
	}
	should := []any{object{"exists": object{"field": "_ignored"}}}
	for _, w := range words {
		for _, name := range slices.Sorted(maps.Keys(f.text)) {
			should = append(should, object{"wildcard": object{name: object{"value": "*" + w + "*", "case_insensitive": true}}})
		}
		for _, name := range slices.Sorted(maps.Keys(f.all)) {
			if strings.Contains(strings.ToLower(name), w) {
				should = append(should, object{"exists": object{"field": name}})
			}
		}
	}
	if len(should) > maxClauses {
		return nil
	}
	return should
}

type object = map[string]any
