package config

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/seed-069badc9/mcp-gateway/internal/spelling"
)

// maxFile bounds a configuration: the largest real ones are a few hundred lines.
const maxFile = 4 << 20

// Load reads, expands and checks a file. getenv resolves ${VAR} (nil: the process's environment). The error is Problems when the file could be read.
func Load(path string, getenv func(string) (string, bool)) (*Config, error) {
	if getenv == nil {
		getenv = os.LookupEnv
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	data, err := readBounded(abs)
	if err != nil {
		return nil, err
	}
	return parse(abs, data, getenv)
}

func readBounded(path string) ([]byte, error) {
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("config: %s does not exist; \"mcp-gateway init\" writes a commented one, --config names another", path)
	case err != nil:
		return nil, fmt.Errorf("config: %s cannot be read: %w", path, errors.Unwrap(err))
	case st.IsDir():
		return nil, fmt.Errorf("config: %s is a folder; name the file in it", path)
	case st.Size() > maxFile:
		return nil, fmt.Errorf("config: %s is larger than %d MiB", path, maxFile>>20)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("config: %s cannot be read; check its permissions", path)
	}
	return data, nil
}

func parse(file string, data []byte, getenv func(string) (string, bool)) (*Config, error) {
	if p, ok := encodingProblem(file, data); !ok {
		return nil, Problems{p}
	}
	c := Default()
	c.File, c.lines, c.failed = file, map[string]int{}, map[string]bool{}
	b := &binder{file: file, dir: filepath.Dir(file), getenv: getenv, lines: c.lines, failed: c.failed, anchors: map[string]ast.Node{}}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // some editors begin a file with a mark that is no part of it
	f, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, Problems{syntaxProblem(file, data, err)}
	}
	docs := slices.DeleteFunc(f.Docs, func(d *ast.DocumentNode) bool { return d.Body == nil })
	if len(docs) > 1 {
		return nil, Problems{{File: file, Line: docs[1].Body.GetToken().Position.Line, Text: "a second document follows; the configuration is one document"}}
	}
	if len(docs) == 1 {
		b.bind(docs[0].Body, reflect.ValueOf(&c).Elem(), "")
	}
	c.setDefaults()
	b.problems = append(b.problems, c.validate()...)
	if len(b.problems) > 0 {
		return nil, Problems(b.problems).Sorted()
	}
	return &c, nil
}

var syntaxLine = regexp.MustCompile(`^\[(\d+):(\d+)\] ([^\n]*)`)

func syntaxProblem(file string, data []byte, err error) Problem {
	p := Problem{File: file, Text: "is not valid YAML"}
	if m := syntaxLine.FindStringSubmatch(err.Error()); m != nil {
		p.Line, _ = strconv.Atoi(m[1])
		p.Text = "is not valid YAML: " + m[3] + wideNear(strings.Split(string(data), "\n"), p.Line)
	}
	return p
}

// encodingProblem refuses what is not UTF-8: names and paths of it would be others than those that were written.
func encodingProblem(file string, data []byte) (Problem, bool) {
	p := Problem{File: file}
	switch i := bytes.IndexByte(data, 0); {
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")), i >= 0:
		p.Text = "is not UTF-8 but UTF-16, it seems; convert it: iconv -f utf-16 -t utf-8"
	case !utf8.Valid(data):
		n := 0
		for n < len(data) {
			r, w := utf8.DecodeRune(data[n:])
			if r == utf8.RuneError && w == 1 {
				break
			}
			n += w
		}
		p.Line = 1 + bytes.Count(data[:n], []byte("\n"))
		p.Text = "is not UTF-8; convert it from the encoding it was written in, as in: iconv -f gb18030 -t utf-8"
	default:
		return p, true
	}
	return p, false
}

// binder copies a YAML tree into Go values and notes every mistake.
type binder struct {
	file, dir string
	getenv    func(string) (string, bool)
	problems  []Problem
	lines     map[string]int
	failed    map[string]bool // paths whose value could not be read
	anchors   map[string]ast.Node
	depth     int
}

// fail is a problem that leaves the key without a value: what follows from that alone is no mistake of its own.
func (b *binder) fail(n ast.Node, path, format string, args ...any) {
	b.failed[path] = true
	b.problem(n, path, format, args...)
}

func (b *binder) problem(n ast.Node, path, format string, args ...any) {
	line := 0
	if n != nil && n.GetToken() != nil && n.GetToken().Position != nil {
		line = n.GetToken().Position.Line
	}
	b.problems = append(b.problems, Problem{File: b.file, Line: line, Path: path, Text: fmt.Sprintf(format, args...)})
}

// plain follows anchors, aliases and tags to the node that holds the value.
func (b *binder) plain(n ast.Node) ast.Node {
	for range 32 {
		switch x := n.(type) {
		case *ast.AnchorNode:
			b.anchors[x.Name.GetToken().Value] = x.Value
			n = x.Value
		case *ast.AliasNode:
			t, ok := b.anchors[x.Value.GetToken().Value]
			if !ok {
				return n
			}
			n = t
		case *ast.TagNode:
			n = x.Value
		default:
			return n
		}
	}
	return n
}

func (b *binder) bind(n ast.Node, v reflect.Value, path string) {
	if b.depth++; b.depth > 64 {
		b.problem(n, path, "is nested too deeply")
		b.depth--
		return
	}
	defer func() { b.depth-- }()
	n = b.plain(n)
	if n == nil {
		return
	}
	if tk := n.GetToken(); tk != nil && tk.Position != nil && path != "" {
		if _, known := b.lines[path]; !known {
			b.lines[path] = tk.Position.Line
		}
	}
	if _, null := n.(*ast.NullNode); null {
		return // an empty value leaves the default
	}
	switch p := v.Addr().Interface().(type) {
	case *Secret:
		if s, ok := b.scalar(n, path, "a string"); ok {
			*p = NewSecret(s)
		}
		return
	case *Size:
		b.scalarInto(n, path, "a size such as 16KiB", func(s string) bool { return parseSize(s, p) })
		return
	case *Duration:
		b.scalarInto(n, path, "a duration such as 30s or 2h", func(s string) bool {
			d, err := time.ParseDuration(s)
			*p = Duration(d)
			return err == nil && d >= 0
		})
		return
	case *Path:
		if s, ok := b.scalar(n, path, "a path"); ok {
			if s != "" && strings.ContainsAny(s[:min(len(s), 3)], "“＂‘") {
				b.fail(n, path, "begins with a quotation mark that YAML does not know%s", wideHint(s))
			}
			*p = b.resolve(s)
		}
		return
	case *Table:
		if seq, ok := n.(*ast.SequenceNode); ok {
			b.bind(seq, v.FieldByName("Columns"), path)
			return
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		e := reflect.New(v.Type().Elem())
		b.bind(n, e.Elem(), path)
		v.Set(e)
	case reflect.Struct:
		b.bindStruct(n, v, path)
	case reflect.Map:
		b.bindMap(n, v, path)
	case reflect.Slice:
		b.bindSlice(n, v, path)
	case reflect.String:
		if s, ok := b.scalar(n, path, "a string"); ok {
			v.SetString(s)
		}
	case reflect.Bool:
		b.scalarInto(n, path, "true or false", func(s string) bool {
			v.SetBool(s == "true")
			return s == "true" || s == "false"
		})
	case reflect.Int, reflect.Int64:
		b.scalarInto(n, path, "a whole number", func(s string) bool {
			i, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64)
			v.SetInt(i)
			return err == nil
		})
	case reflect.Float64:
		b.scalarInto(n, path, "a number", func(s string) bool {
			f, err := strconv.ParseFloat(s, 64)
			v.SetFloat(f)
			return err == nil
		})
	default:
		b.problem(n, path, "cannot be configured")
	}
}

func (b *binder) resolve(s string) Path {
	if s == "" || filepath.IsAbs(s) {
		return Path(s)
	}
	return Path(filepath.Join(b.dir, s))
}

// pairs lists the members of a mapping, merge keys included. ok is false when n is no mapping.
func (b *binder) pairs(n ast.Node) (out []*ast.MappingValueNode, ok bool) {
	switch x := n.(type) {
	case *ast.MappingNode:
		return x.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{x}, true
	}
	return nil, false
}

func (b *binder) bindStruct(n ast.Node, v reflect.Value, path string) {
	pairs, ok := b.pairs(n)
	if !ok {
		b.fail(n, path, "must be a mapping of keys to values, not %s%s", kindOf(n), wideHint(n.GetToken().Value))
		return
	}
	fields := map[string]int{}
	var known []string
	for i := range v.NumField() {
		tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		if tag != "" && tag != "-" {
			fields[tag] = i
			known = append(known, tag)
		}
	}
	seen := map[string]bool{}
	for _, p := range pairs {
		key := p.Key.GetToken().Value
		at := join(path, key)
		i, ok := fields[key]
		switch {
		case !ok:
			hint := "known keys: " + strings.Join(known, ", ")
			if wide := wideHint(key); wide != "" {
				hint = strings.TrimPrefix(wide, "; ") + " (" + hint + ")"
				for _, name := range strings.FieldsFunc(key, func(r rune) bool { return wideSigns[r] != "" || r == ' ' }) {
					b.failed[join(path, name)] = true
				}
			} else if near := spelling.Nearest(key, known); near != "" {
				hint = fmt.Sprintf("did you mean %q? (%s)", near, hint)
				b.failed[join(path, near)] = true
			} else if there := elsewhere(path, key); there != "" {
				hint = fmt.Sprintf("did you mean %q? (%s)", there, hint)
			}
			b.problem(p.Key, at, "unknown key; %s", hint)
		case seen[key]:
			b.problem(p.Key, at, "the key is given twice")
		default:
			seen[key] = true
			b.lines[at] = p.Key.GetToken().Position.Line
			b.bind(p.Value, v.Field(i), at)
		}
	}
}

func (b *binder) bindMap(n ast.Node, v reflect.Value, path string) {
	pairs, ok := b.pairs(n)
	if !ok {
		b.fail(n, path, "must be a mapping of names to values, not %s%s", kindOf(n), wideHint(n.GetToken().Value))
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, p := range pairs {
		key := p.Key.GetToken().Value
		at := join(path, key)
		if v.MapIndex(reflect.ValueOf(key)).IsValid() {
			b.problem(p.Key, at, "the name is given twice")
			continue
		}
		b.lines[at] = p.Key.GetToken().Position.Line
		e := reflect.New(v.Type().Elem()).Elem()
		b.bind(p.Value, e, at)
		v.SetMapIndex(reflect.ValueOf(key), e)
	}
}

func (b *binder) bindSlice(n ast.Node, v reflect.Value, path string) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		b.fail(n, path, "must be a list, as in [a, b], not %s%s", kindOf(n), wideHint(n.GetToken().Value))
		return
	}
	out := reflect.MakeSlice(v.Type(), len(seq.Values), len(seq.Values))
	for i, e := range seq.Values {
		b.bind(e, out.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
	v.Set(out)
}

func (b *binder) scalarInto(n ast.Node, path, want string, set func(string) bool) {
	if s, ok := b.scalar(n, path, want); ok && !set(s) {
		// The text as written: an expanded variable may be a secret in the wrong place.
		b.fail(n, path, "must be %s, not %s%s", want, strconv.Quote(shorten(n.GetToken().Value)), wideHint(n.GetToken().Value))
	}
}

func shorten(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}

// scalar is the text of a scalar with ${VAR} expanded.
func (b *binder) scalar(n ast.Node, path, want string) (string, bool) {
	var s string
	switch x := n.(type) {
	case *ast.StringNode:
		s = x.Value
	case *ast.LiteralNode:
		s = x.Value.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		s = n.GetToken().Value
	case *ast.AliasNode:
		b.fail(n, path, "the alias names no anchor above it")
		return "", false
	default:
		b.fail(n, path, "must be %s, not %s", want, kindOf(n))
		return "", false
	}
	return b.expand(n, path, s)
}

var (
	variable = regexp.MustCompile(`\$\{([^}]*)\}`)
	varName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

func (b *binder) expand(n ast.Node, path, s string) (string, bool) {
	good := true
	out := variable.ReplaceAllStringFunc(s, func(m string) string {
		name, def, hasDef := strings.Cut(m[2:len(m)-1], ":-")
		if !varName.MatchString(name) {
			b.fail(n, path, "${%s} is no variable; write ${NAME} or ${NAME:-default}", shorten(name))
			good = false
			return ""
		}
		v, ok := b.getenv(name)
		switch {
		case hasDef && strings.Contains(def, "${"):
			b.fail(n, path, "the default of ${%s:-…} holds another variable, which is not expanded", name)
			good = false
		case hasDef && v == "":
			return def
		case !ok:
			b.fail(n, path, "the environment variable %s is not set; set it, or give a default as in ${%s:-value}", name, name)
			good = false
		}
		return v
	})
	if good && strings.Contains(variable.ReplaceAllLiteralString(s, ""), "${") {
		b.fail(n, path, "a variable that begins with ${ is not closed by }")
		good = false
	}
	return out, good
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func kindOf(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.BoolNode:
		return "true or false"
	case *ast.IntegerNode, *ast.FloatNode:
		return "a number"
	}
	return "text"
}

func parseSize(s string, out *Size) bool {
	units := []struct {
		suffix string
		factor int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}, {"", 1}}
	for _, u := range units {
		num, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		f, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
		if err != nil || !(f >= 0) || f*float64(u.factor) > 1<<52 {
			return false
		}
		*out = Size(f * float64(u.factor))
		return true
	}
	return false
}
