package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/internal/spelling"
)

// This file finds two mistakes that YAML has no words for: punctuation of an input method in the place of that of YAML, and a key under the wrong section.

// wideSigns are the full-width signs that are taken for those of YAML, and what is meant.
var wideSigns = map[rune]string{
	'：': ":", '，': ",", '｛': "{", '｝': "}", '［': "[", '］': "]", '【': "[", '】': "]", '“': `"`, '”': `"`, '＂': `"`, '‘': "'", '’': "'", '　': " ", '－': "-", '＃': "#", '｜': "|",
}

// wideHint names the first full-width sign of a text, "" when there is none.
func wideHint(text string) string {
	for _, r := range text {
		if meant, ok := wideSigns[r]; ok {
			if meant == " " {
				return "; it holds a full-width blank (U+3000), and YAML takes half-width ones only"
			}
			return fmt.Sprintf("; it holds a full-width %c, and YAML takes %s only", r, meant)
		}
	}
	return ""
}

// bare is a line without what YAML reads as text in quotation marks and without its comment.
func bare(line string) string {
	var b strings.Builder
	quote := rune(0)
	before := ' '
	for _, r := range line {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '#' && before == ' ':
			return b.String()
		case (r == '"' || r == '\'') && strings.ContainsRune(" [{,:", before):
			quote = r
		default:
			b.WriteRune(r)
		}
		before = r
	}
	return b.String()
}

// wideNear looks for a full-width sign in a line, 1-based, and in the last one before it that says something: a parser stumbles where it can go on no longer.
func wideNear(lines []string, line int) string {
	for i := min(line, len(lines)); i >= max(1, line-3); i-- {
		if h := wideHint(bare(lines[i-1])); h != "" {
			if i != line {
				return strings.Replace(h, "; it holds", fmt.Sprintf("; line %d holds", i), 1)
			}
			return strings.Replace(h, "; it holds", "; the line holds", 1)
		}
		if i < line && strings.TrimSpace(bare(lines[i-1])) != "" {
			break
		}
	}
	return ""
}

// places lists, for each key of a configuration, the sections that have it; NAME stands for a name that the user chooses.
var places = func() map[string][]string {
	out := map[string][]string{}
	var walk func(t reflect.Type, path string)
	walk = func(t reflect.Type, path string) {
		switch t.Kind() {
		case reflect.Pointer:
			walk(t.Elem(), path)
		case reflect.Slice:
			walk(t.Elem(), path+"[…]")
		case reflect.Map:
			walk(t.Elem(), path+".NAME")
		case reflect.Struct:
			for f := range t.Fields() {
				if tag, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); tag != "" && tag != "-" {
					out[tag] = append(out[tag], path)
					walk(f.Type, join(path, tag))
				}
			}
		}
	}
	walk(reflect.TypeFor[Config](), "")
	return out
}()

// elsewhere is where a key that is unknown in the section at path belongs: the one section that has it, or the one whose name is nearest. "" when that is not clear.
func elsewhere(path, key string) string {
	sections := slices.DeleteFunc(slices.Clone(places[key]), func(s string) bool { return s == "" })
	last := func(p string) string { return p[strings.LastIndexByte(p, '.')+1:] }
	if len(sections) > 1 {
		var names []string
		for _, s := range sections {
			names = append(names, last(s))
		}
		near := spelling.Nearest(last(path), names)
		sections = slices.DeleteFunc(sections, func(s string) bool { return near == "" || last(s) != near })
	}
	if len(sections) != 1 {
		if len(places[key]) == 1 && places[key][0] == "" {
			return key + " at the top, not indented"
		}
		return ""
	}
	return join(sections[0], key)
}
