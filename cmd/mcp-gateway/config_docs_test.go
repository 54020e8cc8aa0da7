package main

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/internal/config"
	"github.com/seed-069badc9/mcp-gateway/tools/rag"
)

const reference = "docs/configuration.md"

var (
	row    = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]+) \\| ([^|]+) \\| ([^|]+) \\|$")
	quoted = regexp.MustCompile("`([a-z_]+(?:\\.[a-z_*\\[\\]]+)+)`")
)

// bare is a key as keys() has it.
func bare(key string) string {
	return strings.NewReplacer(".*", "", "[]", "").Replace(key)
}

// sections are the top-level keys.
func sections() (out []string) {
	for k := range keys() {
		s, _, _ := strings.Cut(k, ".")
		out = append(out, s)
	}
	return out
}

// The reference has every key of the configuration once, in its section, says in one line what it is, and names no key that does not exist.
func TestConfigurationReferenceHasEveryKey(t *testing.T) {
	t.Parallel()
	text, known := read(t, reference), keys()
	if len(known) < 70 {
		t.Fatalf("only %d keys were found in the types", len(known))
	}
	seen := map[string]bool{}
	for _, m := range row.FindAllStringSubmatch(text, -1) {
		key := bare(m[1])
		section, _, dotted := strings.Cut(key, ".")
		switch {
		case !dotted || !slices.Contains(sections(), section):
			continue // a row of another table
		case known[key] == nil:
			t.Errorf("%s has %s, which is no key", reference, m[1])
		case seen[key]:
			t.Errorf("%s has %s twice", reference, m[1])
		case !strings.HasSuffix(strings.TrimSpace(m[4]), ".") || len(m[4]) < 20:
			t.Errorf("%s: %s has no sentence: %q", reference, m[1], m[4])
		}
		seen[key] = true
		if from := strings.LastIndex(text[:strings.Index(text, m[0])], "\n## "); !strings.HasPrefix(text[from:], "\n## "+section+":") {
			t.Errorf("%s: %s stands in another section", reference, m[1])
		}
	}
	for key := range known {
		if !seen[key] {
			t.Errorf("%s lacks %s", reference, key)
		}
	}
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		key := bare(m[1])
		if section, _, _ := strings.Cut(key, "."); !slices.Contains(sections(), section) || known[key] != nil {
			continue
		}
		if !slices.ContainsFunc(slices.Collect(maps.Keys(known)), func(k string) bool { return strings.HasPrefix(k, key+".") }) {
			t.Errorf("%s speaks of %s, which is no key", reference, m[1])
		}
	}
}

// shown is a value as the reference writes it.
func shown(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case config.Secret:
		if x.IsZero() {
			return ""
		}
		return x.Reveal()
	case config.Size:
		for _, u := range []struct {
			name string
			size config.Size
		}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
			if x > 0 && x%u.size == 0 {
				return fmt.Sprintf("%d%s", x/u.size, u.name)
			}
		}
	case config.Duration:
		return strings.Replace(strings.Replace(time.Duration(x).String(), "m0s", "m", 1), "h0m", "h", 1)
	case bool, int, int64:
		if s := fmt.Sprint(x); s != "0" {
			return s
		}
		return ""
	}
	switch v.Kind() {
	case reflect.Slice:
		var list []string
		for i := range v.Len() {
			list = append(list, shown(v.Index(i)))
		}
		if list == nil {
			return ""
		}
		return "[" + strings.Join(list, ", ") + "]"
	case reflect.String:
		return v.String()
	}
	return ""
}

// lookUp finds the value of a key in a loaded configuration, by way of the only entry of each map and list. ok is false when there is none.
func lookUp(v reflect.Value, path string) (reflect.Value, bool) {
	for path != "" {
		switch v.Kind() {
		case reflect.Pointer:
			if v.IsNil() {
				return reflect.Value{}, false
			}
			v = v.Elem()
		case reflect.Map:
			if v.Len() == 0 {
				return reflect.Value{}, false
			}
			v = v.MapIndex(v.MapKeys()[0])
		case reflect.Slice:
			if v.Len() == 0 {
				return reflect.Value{}, false
			}
			v = v.Index(0)
		default:
			name, rest, _ := strings.Cut(path, ".")
			for i := range v.NumField() {
				if v.Type().Field(i).Tag.Get("yaml") == name {
					v, path = v.Field(i), rest
					break
				}
			}
		}
	}
	return v, true
}

// A default in the reference is the one that is in force when the key is absent.
func TestConfigurationReferenceHasTheDefaults(t *testing.T) {
	t.Parallel()
	// One entry of each kind with what it must have and nothing else.
	cfg := loadText(t, `
auth: {tokens: [{name: a, token: long-enough-and-not-real}]}
logs: {topics: {t: {description: d, files: {paths: [a.log]}}}}
rag: {collections: {c: {description: d, folder: {path: docs}}}}
mysql: {datasources: {s: {description: d, dsn: "u:not-real@tcp(127.0.0.1:1)/x", schemas: {x: {y: [z]}}}}}
`)
	given := []string{"auth.tokens.name", "auth.tokens.token", "logs.topics.description", "logs.topics.files.paths", "rag.collections.description", "rag.collections.folder.path",
		"mysql.datasources.description", "mysql.datasources.dsn", "mysql.datasources.schemas.columns"}
	own := map[string]string{"rag.collections.floor": fmt.Sprint(rag.DefaultFloor), "rag.collections.floor_cjk": fmt.Sprint(rag.DefaultFloorCJK), "rag.collections.high": fmt.Sprint(rag.DefaultHigh)}
	for _, m := range row.FindAllStringSubmatch(read(t, reference), -1) {
		key := bare(m[1])
		if keys()[key] == nil {
			continue
		}
		want := own[key]
		if v, ok := lookUp(reflect.ValueOf(*cfg), key); ok && want == "" && !slices.Contains(given, key) {
			want = shown(v)
		}
		if want != "" {
			want = "`" + want + "`"
		} else {
			want = "–"
		}
		if m[3] != want {
			t.Errorf("%s: the default of %s is %s, not %s", reference, m[1], want, m[3])
		}
	}
}

func loadText(t *testing.T, text string) *config.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	values := map[string]string{"CANONICAL_KEY": strings.Repeat("ab", 32), "SHOP_DSN": "reader:not-real@tcp(db.example.com:3306)/shop?tls=true", "AUDIT_DSN": "writer:not-real@tcp(db.example.com:3306)/audit"}
	cfg, err := config.Load(file, func(name string) (string, bool) {
		if v, ok := values[name]; ok {
			return v, true
		}
		return "value-of-" + strings.ToLower(name), true
	})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return cfg
}

// Every example is a whole configuration: it loads without a warning, every part of it can be wired, and together they show each backend.
func TestConfigurationReferenceExamplesLoad(t *testing.T) {
	t.Parallel()
	blocks := fences(read(t, reference), "yaml")
	used := map[string]bool{}
	for _, text := range blocks {
		cfg := loadText(t, text)
		for _, w := range append(slices.Clone(cfg.Warnings), noTool(cfg)...) {
			t.Errorf("%s in\n%s", w, text)
		}
		g, err := newGateway(cfg, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Errorf("%v in\n%s", err, text)
			continue
		}
		if err := g.close(false); err != nil {
			t.Errorf("closing: %v in\n%s", err, text)
		}
		scheme, _, _ := strings.Cut(cfg.Canonical.Store.Reveal(), ":")
		used[scheme] = true
		for _, key := range []string{"logs.topics.files.paths", "logs.topics.loki.url", "logs.topics.victorialogs.url", "logs.topics.elasticsearch.url", "rag.collections.folder.path",
			"rag.collections.dify.url", "rag.collections.embeddings.url", "mysql.datasources.dsn", "auth.oidc.issuer", "auth.tokens.name", "audit.file", "audit.mysql", "harness.listen", "http.tls.cert_file",
			"redaction.hide"} {
			if v, ok := lookUp(reflect.ValueOf(*cfg), key); ok && shown(v) != "" {
				used[key] = true
			}
		}
	}
	if len(used) != 15+4 {
		t.Errorf("the examples show %v", slices.Sorted(maps.Keys(used)))
	}
}

// What reloads, what heads and what is linked is what there is.
func TestConfigurationReferenceIsTrueToTheRest(t *testing.T) {
	t.Parallel()
	text := read(t, reference)
	if want := "without a restart: `" + strings.Join(reloaded, "`, `") + "`."; !strings.Contains(text, want) {
		t.Errorf("%s does not say %q", reference, want)
	}
	for _, l := range link.FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join("..", "..", "docs", l[1])); err != nil && !strings.Contains(l[1], "://") {
			t.Errorf("%s links to %s, which does not exist", reference, l[1])
		}
	}
}
