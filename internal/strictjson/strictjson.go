// Package strictjson decodes JSON without the leniency of encoding/json: member names match exactly (no case folding), duplicate or unknown members, invalid
// UTF-8, NUL in a name and trailing data are errors. What authorises a request and what executes it must have read the same thing, so the gateway decodes here
// and nowhere else. Error texts name members of the caller's own input, cut and quoted, and the
// members that would be right, never values.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/seed-069badc9/mcp-gateway/internal/spelling"
)

// MaxDepth is the deepest nesting accepted: no request of the contract needs more than 6.
const MaxDepth = 64

// ErrSyntax marks input that is no JSON value at all (as against JSON of the wrong shape).
var ErrSyntax = errors.New("not a JSON value")

// Decode reads exactly one JSON value into v. Unknown members are errors. The returned error is safe to show to the sender of data.
func Decode(data []byte, v any) error {
	if err := Check(data); err != nil {
		return err
	}
	err := jsonv2.Unmarshal(data, v, jsonv2.RejectUnknownMembers(true), jsonv2.MatchCaseInsensitiveNames(false))
	if err == nil {
		return nil
	}
	if se, ok := errors.AsType[*jsonv2.SemanticError](err); ok {
		where := pointer(string(se.JSONPointer))
		if errors.Is(err, jsonv2.ErrUnknownName) {
			return fmt.Errorf("unknown argument %s%s", where, known(string(se.JSONPointer), se.GoType))
		}
		want := ""
		if se.GoType != nil {
			want = ", want " + kindName(se.GoType.Kind().String())
		}
		return fmt.Errorf("argument %s has the wrong type%s", where, want)
	}
	return errors.New("arguments are not valid")
}

// Check verifies syntax alone: one value, no duplicate member names (at any depth, also not when they differ in letter case only), valid UTF-8, no NUL or
// non-ASCII look-alike folding to an ASCII name twice, depth within MaxDepth, no trailing data.
func Check(data []byte) error {
	if plain(data) && jsontext.Value(data).IsValid() {
		return nil
	}
	return explain(data)
}

// manyNames is how many names of open objects the quick look compares with one another; no request of the contract has as many.
const manyNames = 48

// plain tells that data, if it is valid JSON without exact duplicates, passes the other checks too: few names, of ASCII without escapes, none like another in the
// same object, nesting within bounds. It says no where it would have to look closer, and nothing about data that is no JSON.
func plain(data []byte) bool {
	var names [manyNames][]byte
	var objects [MaxDepth]int // where the names of each open object or array begin
	depth, count := 0, 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			if depth == MaxDepth {
				return false
			}
			objects[depth] = count
			depth++
		case '}', ']':
			if depth == 0 {
				return false
			}
			depth--
			count = objects[depth]
		case '"':
			end := i + 1
			ascii := true
			for end < len(data) && data[end] != '"' {
				if data[end] == '\\' {
					ascii = false
					end++
				} else if data[end] >= utf8.RuneSelf {
					ascii = false
				}
				end++
			}
			if end >= len(data) {
				return false
			}
			name := data[i+1 : end]
			i = end
			next := end + 1
			for next < len(data) && (data[next] == ' ' || data[next] == '\n' || data[next] == '\r' || data[next] == '\t') {
				next++
			}
			if next >= len(data) || data[next] != ':' {
				continue // a value
			}
			if !ascii || depth == 0 || count == manyNames {
				return false
			}
			for _, n := range names[objects[depth-1]:count] {
				if len(n) == len(name) && bytes.EqualFold(n, name) {
					return false
				}
			}
			names[count] = name
			count++
		}
	}
	return true
}

// explain checks token by token and says what is wrong.
func explain(data []byte) error {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	var frames []map[string]struct{}
	for {
		k := d.PeekKind()
		if k == '{' || k == '[' {
			if d.StackDepth() >= MaxDepth {
				return fmt.Errorf("nested deeper than %d levels", MaxDepth)
			}
		}
		depth := d.StackDepth()
		kind, n := d.StackIndex(depth)
		tok, err := d.ReadToken()
		if err == io.EOF {
			return ErrSyntax
		}
		if err != nil {
			if errors.Is(err, jsontext.ErrDuplicateName) {
				return fmt.Errorf("member %s is given twice", pointer(string(d.StackPointer())))
			}
			return ErrSyntax
		}
		if kind == '{' && n%2 == 0 && tok.Kind() == '"' { // a member name
			name := tok.String()
			if strings.ContainsRune(name, 0) {
				return errors.New("a member name holds NUL")
			}
			for len(frames) <= depth {
				frames = append(frames, nil)
			}
			if frames[depth] == nil {
				frames[depth] = make(map[string]struct{}, 8)
			}
			folded := fold(name)
			if _, dup := frames[depth][folded]; dup {
				return fmt.Errorf("member %s is given twice in different letter case", quote(name))
			}
			frames[depth][folded] = struct{}{}
		}
		if (tok.Kind() == '{') && len(frames) > depth+1 && len(frames[depth+1]) > 0 {
			frames[depth+1] = nil // clearing a map takes as long as it ever was large
		}
		if d.StackDepth() == 0 {
			break
		}
	}
	if _, err := d.ReadToken(); err != io.EOF {
		return errors.New("data follows the JSON value")
	}
	return nil
}

// fold maps a name to the form encoding/json would compare: simple case folding, which also maps U+017F to s and U+212A to k.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\u017F':
			return 's'
		case r == '\u212A':
			return 'k'
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// Encode writes v as compact JSON without HTML escapes, map keys sorted: equal values give equal bytes.
func Encode(v any) (json.RawMessage, error) {
	b, err := jsonv2.Marshal(v, jsonv2.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsonv2.FormatNilSliceAsNull(false))
	if err != nil {
		return nil, err
	}
	return b, nil
}

// maxKnown is how many names a hint lists; the objects of the contract have fewer.
const maxKnown = 16

// known lists the names that the object may have, with the one that was meant first if one is close.
func known(at string, t reflect.Type) string {
	if t == nil || t.Kind() != reflect.Struct {
		return ""
	}
	var names []string
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	if len(names) == 0 || len(names) > maxKnown {
		return ""
	}
	hint := "; known: " + strings.Join(names, ", ")
	if near := spelling.Nearest(at[strings.LastIndexByte(at, '/')+1:], names); near != "" {
		hint = "; did you mean " + strconv.Quote(near) + "?" + strings.Replace(hint, ";", "", 1)
	}
	return hint
}

func kindName(k string) string {
	switch k {
	case "string":
		return "a string"
	case "slice", "array":
		return "a list"
	case "map", "struct":
		return "an object"
	case "bool":
		return "true or false"
	case "int", "int64", "int32", "float64", "uint", "uint64":
		return "a number"
	}
	return "another type"
}

func pointer(p string) string {
	p = strings.TrimPrefix(p, "/")
	p = strings.NewReplacer("~1", "/", "~0", "~").Replace(p)
	return quote(p)
}

// quote prints a name of the caller's own input, at most 64 bytes of it.
func quote(s string) string {
	if len(s) > 64 {
		s = strings.ToValidUTF8(s[:64], "") + "…"
	}
	return strconv.Quote(s)
}
