package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/seed-069badc9/mcp-gateway/internal/config"
)

// keys lists every key of the configuration, dots between them, names of maps and places of lists left out, with its type. Tables, which have two forms, are one key
// and have their own.
func keys() map[string]reflect.Type {
	out := map[string]reflect.Type{}
	var walk func(path string, t reflect.Type)
	walk = func(path string, t reflect.Type) {
		switch {
		case t == reflect.TypeFor[config.Secret]():
			out[path] = t
			return
		case t.Kind() == reflect.Pointer, t.Kind() == reflect.Map, t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct && t.Elem() != reflect.TypeFor[config.Secret]():
			walk(path, t.Elem())
			return
		case t.Kind() != reflect.Struct:
			out[path] = t
			return
		}
		for i := range t.NumField() {
			name := t.Field(i).Tag.Get("yaml")
			if name == "" || name == "-" {
				continue
			}
			if f := t.Field(i).Type; f.Kind() == reflect.Map && (f.Elem().Kind() == reflect.String || f.Elem() == reflect.TypeFor[config.Secret]()) {
				out[strings.TrimPrefix(path+"."+name, ".")] = f
				continue
			}
			walk(strings.TrimPrefix(path+"."+name, "."), t.Field(i).Type)
		}
	}
	walk("", reflect.TypeFor[config.Config]())
	return out
}

// alter changes the value of one key in a configuration, and makes what has to be there to hold it.
func alter(t *testing.T, v reflect.Value, path string) {
	t.Helper()
	for v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	name, rest, _ := strings.Cut(path, ".")
	switch {
	case v.Type() == reflect.TypeFor[config.Secret]():
		v.Set(reflect.ValueOf(config.NewSecret("another")))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("yaml") == name {
				alter(t, v.Field(i), rest)
				return
			}
		}
		t.Fatalf("no key %s in %s", path, v.Type())
	case v.Kind() == reflect.Map:
		e := reflect.New(v.Type().Elem()).Elem()
		alter(t, e, path)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("n"), e)
	case v.Kind() == reflect.Slice:
		e := reflect.New(v.Type().Elem()).Elem()
		alter(t, e, path)
		v.Set(reflect.Append(v, e))
	case v.Kind() == reflect.String:
		v.SetString("another")
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	case v.CanInt():
		v.SetInt(v.Int() + 1)
	case v.CanFloat():
		v.SetFloat(v.Float() + 1)
	default:
		t.Fatalf("%s: %s", path, v.Type())
	}
}

// A key either reloads or is named when it changes: none is silent. What stdio never reads is no news to it.
func TestEveryKeyReloadsOrIsNamed(t *testing.T) {
	t.Parallel()
	for path := range keys() {
		start, now := config.Default(), config.Default()
		start.Auth.Tokens = []config.Token{{Name: "a"}}
		now.Auth.Tokens = []config.Token{{Name: "a"}}
		alter(t, reflect.ValueOf(&now).Elem(), path)
		under := func(list []string) bool {
			return slices.ContainsFunc(list, func(p string) bool { return path == p || strings.HasPrefix(path, p+".") })
		}
		for _, http := range []bool{true, false} {
			got := startOnly(&start, &now, http)
			if under(reloaded) || !http && under(httpOnly) {
				if len(got) != 0 {
					t.Errorf("%s, http %v: needs a restart: %v", path, http, got)
				}
			} else if len(got) != 1 || path != got[0] && !strings.HasPrefix(path, got[0]+".") {
				t.Errorf("%s, http %v: %v needs a restart", path, http, got)
			}
		}
		if got := startOnly(&now, &now, true); len(got) != 0 {
			t.Errorf("%s: nothing changed and %v needs a restart", path, got)
		}
	}
}

func TestTokensOfAServerThatAskedForNoneNeedARestart(t *testing.T) {
	t.Parallel()
	start, now := config.Default(), config.Default()
	now.Auth.Tokens = []config.Token{{Name: "a", Token: config.NewSecret("not-" + "real")}}
	if got := startOnly(&start, &now, true); !slices.Equal(got, []string{"auth.tokens"}) {
		t.Errorf("the first token: %v, want auth.tokens: everybody is still let in", got)
	}
	if got := startOnly(&start, &now, false); len(got) != 0 {
		t.Errorf("stdio asks nobody for a token, and %v needs a restart", got)
	}
}

// Changing what only a start reads is said with file, line and key, every time until the restart; the rest is put in force all the same.
func TestReloadNamesWhatNeedsARestart(t *testing.T) {
	s := serve(t, "canonical: {store: memory}\n")
	if err := os.WriteFile(s.file, []byte("http: {listen: \"127.0.0.1:1\", max_concurrent: 7}\nlog: {format: json}\ncanonical: {store: \"redis://u:"+"not-real@127.0.0.1:1/0\"}\n"+topicConfig("payments")), 0o600); err != nil {
		t.Fatal(err)
	}
	if m := s.log.await(t, "configuration reloaded", 1); m["need_restart"] != 3.0 {
		t.Errorf("%v, want 3 keys that need a restart", m)
	}
	for _, want := range []string{"c.yaml:1: http.listen: has changed", "c.yaml:1: http.max_concurrent: has changed", "c.yaml:3: canonical.store: has changed"} {
		if !strings.Contains(s.log.text(), want) {
			t.Errorf("the log lacks %q:\n%s", want, s.log.text())
		}
	}
	args := declined()
	args["topics"] = []string{"payments"}
	if obs, isErr := call(t, s.dial(t, bearer{}), "query_logs", args, nil); isErr {
		t.Errorf("the new topic: %v", obs)
	}
	if strings.Contains(s.log.text(), "not-real") {
		t.Errorf("the log holds a password:\n%s", s.log.text())
	}
}

// A configuration that offers nothing is no mistake, and nobody should have to find out by an empty list of tools.
func TestAConfigurationWithoutToolsIsSaidAtStart(t *testing.T) {
	for name, text := range map[string]string{"empty": "log: {format: text}\n", "sections only": "logs: {topics: {}}\nrag: {}\nmysql: {datasources: }\n"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "c.yaml")
			if err := os.WriteFile(file, []byte("canonical: {store: memory}\n"+text), 0o600); err != nil {
				t.Fatal(err)
			}
			var errs strings.Builder
			if code := run(t.Context(), []string{"stdio", "--config", file}, strings.NewReader(""), io.Discard, &errs); code != 0 || !strings.Contains(errs.String(), "configures no tool") {
				t.Errorf("exit %d: %s", code, errs.String())
			}
		})
	}
	_, file := baseConfig(t, "canonical: {store: memory}\n")
	var errs strings.Builder
	if code := run(t.Context(), []string{"stdio", "--config", file}, strings.NewReader(""), io.Discard, &errs); code != 0 || strings.Contains(errs.String(), "no tool") {
		t.Errorf("with tools: exit %d: %s", code, errs.String())
	}
}

// A client shows of a server that does not start one line of standard error at best: it has to name the path and the way out.
func TestStdioNamesTheMissingConfigurationInOneLine(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, c := range map[string]struct {
		args []string
		env  string
		path string
	}{
		"nothing given":            {nil, "", filepath.Join(dir, "mcp-gateway.yaml")},
		"flag":                     {[]string{"--config", "nope.yaml"}, "", filepath.Join(dir, "nope.yaml")},
		"variable":                 {nil, filepath.Join(dir, "var.yaml"), filepath.Join(dir, "var.yaml")},
		"folder":                   {[]string{"--config", dir}, "", dir},
		"below a file":             {[]string{"--config", "/dev/null/c.yaml"}, "", "/dev/null/c.yaml"},
		"line end in the path":     {[]string{"--config", "a\nb.yaml"}, "", filepath.Join(dir, "a?b.yaml")},
		"escape in the path":       {[]string{"--config", "a\x1b[2Jb.yaml"}, "", filepath.Join(dir, "a?[2Jb.yaml")},
		"folder that is not there": {[]string{"--config", "x/y/z.yaml"}, "", filepath.Join(dir, "x/y/z.yaml")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("MCP_GATEWAY_CONFIG", c.env)
			var out, errs strings.Builder
			code := run(t.Context(), append([]string{"stdio"}, c.args...), strings.NewReader(""), &out, &errs)
			got := errs.String()
			if code != exitUsage || out.String() != "" || strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, "\n") || !strings.Contains(got, c.path) || strings.Count(got, "mcp-gateway init") != 1 {
				t.Errorf("exit %d, %q and on standard output %q", code, got, out.String())
			}
		})
	}
}

func TestVersionFlagIsTheVersionCommand(t *testing.T) {
	t.Parallel()
	var flag, command, errs strings.Builder
	if a, b := run(t.Context(), []string{"--version"}, nil, &flag, &errs), run(t.Context(), []string{"version"}, nil, &command, &errs); a != 0 || b != 0 || flag.String() != command.String() || !strings.HasPrefix(flag.String(), "mcp-gateway ") || errs.Len() > 0 {
		t.Errorf("exit %d %q, exit %d %q, %q", a, flag.String(), b, command.String(), errs.String())
	}
}

// index names the collections that it can work on, whatever is wrong with the one that was asked for.
func TestIndexListsTheCollections(t *testing.T) {
	t.Parallel()
	const remote = "wiki: {description: d, dify: {url: \"http://127.0.0.1:1\", knowledge_id: k}}"
	folders := map[string]string{"two": "b: {description: d, folder: {path: docs}}, a: {description: d, folder: {path: docs}}, " + remote, "none": remote, "absent": ""}
	for name, c := range map[string]struct{ folders, collection, want string }{
		"unknown":            {"two", "nope", `"nope" is not configured; folder collections: a, b`},
		"remote":             {"two", "wiki", `"wiki" is searched by its own server and has no index here; folder collections: a, b`},
		"no folder":          {"none", "nope", "has no folder collection; add one"},
		"remote, no folder":  {"none", "wiki", "has no folder collection; add one"},
		"nothing configured": {"absent", "", "has no folder collection; add one"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "c.yaml")
			if err := os.WriteFile(file, fmt.Appendf(nil, "rag: {index_dir: idx, collections: {%s}}\n", folders[c.folders]), 0o600); err != nil {
				t.Fatal(err)
			}
			var errs strings.Builder
			if code := run(t.Context(), []string{"index", "--config", file, "--collection", c.collection}, nil, io.Discard, &errs); code != exitUsage || !strings.Contains(errs.String(), c.want) {
				t.Errorf("exit %d, %q, want %q", code, errs.String(), c.want)
			}
			if left, err := filepath.Glob(filepath.Join(dir, "idx", "*")); err != nil || len(left) > 0 {
				t.Errorf("an index was made: %v, %v", left, err)
			}
		})
	}
}
