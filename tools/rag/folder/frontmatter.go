package folder

import "strings"

// frontMatter is what a document says about itself above its text.
type frontMatter struct {
	id    string
	title string
	tags  string // tags, keywords, aliases: searched like the title
}

// maxFrontMatter bounds the block in lines: a longer one is no front matter but a document that starts with a rule.
const maxFrontMatter = 200

// splitFrontMatter takes a leading YAML (---) or TOML (+++) block off s. Only flat keys are read, which is all that id, title and tags need; anything else in the
// block is left unread and unsearched.
func splitFrontMatter(s string) (frontMatter, string) {
	var fm frontMatter
	fence, _, ok := strings.Cut(s, "\n")
	fence = strings.TrimRight(fence, " \t")
	if !ok || fence != "---" && fence != "+++" {
		return fm, s
	}
	rest := s[strings.IndexByte(s, '\n')+1:]
	var lines []string
	body, closed := rest, false
	for len(lines) < maxFrontMatter && body != "" {
		line, after, _ := strings.Cut(body, "\n")
		body = after
		if t := strings.TrimRight(line, " \t"); t == fence || fence == "---" && t == "..." {
			closed = true
			break
		}
		lines = append(lines, line)
	}
	if !closed {
		return fm, s
	}
	list := ""
	for _, line := range lines {
		if item, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), "- "); ok && list != "" {
			fm.tags += " " + unquote(item)
			continue
		}
		key, val, ok := cutKey(line, fence)
		if !ok {
			if strings.TrimSpace(line) != "" {
				list = ""
			}
			continue
		}
		list = ""
		switch key {
		case "id", "uid":
			if v := unquote(val); fm.id == "" && plainID(v) {
				fm.id = v
			}
		case "title":
			fm.title = unquote(val)
		case "tags", "keywords", "aliases", "alias", "categories":
			if strings.TrimSpace(val) == "" {
				list = key
			}
			fm.tags += " " + strings.NewReplacer("[", " ", "]", " ", ",", " ", `"`, " ", "'", " ").Replace(val)
		}
	}
	fm.tags = strings.TrimSpace(fm.tags)
	return fm, body
}

// cutKey reads "key: value" (or "key = value") that starts in the first column.
func cutKey(line, fence string) (key, val string, ok bool) {
	sep := ":"
	if fence == "+++" {
		sep = "="
	}
	key, val, ok = strings.Cut(line, sep)
	if !ok || key == "" || key[0] == ' ' || key[0] == '\t' || key[0] == '#' {
		return "", "", false
	}
	return strings.ToLower(strings.TrimSpace(key)), val, true
}

func unquote(v string) string {
	v = strings.TrimSpace(v)
	if len(v) >= 2 && (v[0] == '"' || v[0] == '\'') {
		if end := strings.IndexByte(v[1:], v[0]); end >= 0 {
			return strings.TrimSpace(v[1 : 1+end])
		}
	}
	if i := strings.Index(v, " #"); i >= 0 {
		v = v[:i]
	}
	return strings.TrimSpace(v)
}

// plainID tells an id worth trusting: one short scalar, nothing that redaction masked.
func plainID(v string) bool {
	return v != "" && len(v) <= 128 && !strings.ContainsAny(v, "<>{}[]|&*\n")
}
