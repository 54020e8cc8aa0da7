package config

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func env(kv ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i+1 < len(kv); i += 2 {
			if kv[i] == name {
				return kv[i+1], true
			}
		}
		return "", false
	}
}

func load(t testing.TB, text string, kv ...string) (*Config, error) {
	t.Helper()
	f := filepath.Join(t.TempDir(), "mcp-gateway.yaml")
	if err := os.WriteFile(f, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(f, env(kv...))
}

func TestAnEmptyFileIsTheDefault(t *testing.T) {
	for _, text := range []string{"", "\n", "# only a comment ${NOT_SET}\n", "{}", "http:\nlogs:\n"} {
		c, err := load(t, text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		want := Default()
		if c.HTTP.Listen != want.HTTP.Listen || c.Runs != want.Runs || c.Call != want.Call || c.Canonical.Store.Reveal() != "file:" {
			t.Errorf("%q: %+v", text, c)
		}
	}
}

const full = `
http: {listen: 127.0.0.1:9000, allowed_origins: ["https://app.example.com"], max_body: 512KiB}
auth:
  tokens:
    - {name: agent-a, token: "${AGENT_TOKEN}", run: inc-42, tools: [query_logs], topics: []}
    - {name: ops, token: "${OPS:-fallback-value}", role: harness, principals: [agent-a]}
harness: {listen: 127.0.0.1:9001}
runs: {mode: registered, ttl: 30m, limits: {calls: 7}}
call: {timeout: 3s, max_observation: 8KiB}
canonical: {store: "redis://127.0.0.1:6379/0", ttl: 45m}
audit: {file: audit.jsonl}
rag: {collections: {runbooks: {description: operations, folder: {path: ./runbooks}, floor: 0.25}}}
logs:
  topics:
    checkout: {description: checkout service, files: {paths: ["./logs/*.log"], timezone: Asia/Shanghai}, mask: [secrets]}
mysql:
  datasources:
    shop:
      description: orders
      dsn: "ro:${DB_PW}@tcp(127.0.0.1:3306)/shop"
      schemas: {shop: {orders: [id, status], customers: {columns: [id, email], masked: [email]}}}
`

func TestLoadReadsEverything(t *testing.T) {
	c, err := load(t, full, "AGENT_TOKEN", "tok", "DB_PW", "p#w: x")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(c.File)
	got := map[string]any{
		"body": c.HTTP.MaxBody, "token": c.Auth.Tokens[0].Token.Reveal(), "fallback": c.Auth.Tokens[1].Token.Reveal(), "tools": c.Auth.Tokens[0].Tools,
		"no topics": c.Auth.Tokens[0].Topics, "all datasources": c.Auth.Tokens[0].Datasources == nil, "role": c.Auth.Tokens[0].Role,
		"ttl": time.Duration(c.Runs.TTL), "calls": c.Runs.Limits.Calls, "raw default": c.Runs.Limits.RawBytes, "audit": c.Audit.File,
		"folder": c.RAG.Collections["runbooks"].Folder.Path, "rag mask": c.RAG.Collections["runbooks"].Mask, "floor": *c.RAG.Collections["runbooks"].Floor,
		"paths": c.Logs.Topics["checkout"].Files.Paths, "dsn": c.MySQL.Datasources["shop"].DSN.Reveal(), "rows": c.MySQL.Datasources["shop"].MaxRows,
		"tables": c.MySQL.Datasources["shop"].Schemas["shop"],
	}
	want := map[string]any{
		"body": Size(512 << 10), "token": "tok", "fallback": "fallback-value", "tools": []string{"query_logs"}, "no topics": []string{}, "all datasources": true, "role": "agent",
		"ttl": 30 * time.Minute, "calls": int64(7), "raw default": Size(256 << 20), "audit": Path(filepath.Join(dir, "audit.jsonl")),
		"folder": Path(filepath.Join(dir, "runbooks")), "rag mask": []string{"secrets"}, "floor": 0.25,
		"paths": []Path{Path(filepath.Join(dir, "logs/*.log"))}, "dsn": "ro:p#w: x@tcp(127.0.0.1:3306)/shop", "rows": 200,
		"tables": map[string]Table{"orders": {Columns: []string{"id", "status"}}, "customers": {Columns: []string{"id", "email"}, Masked: []string{"email"}}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// One file with many mistakes: each is reported with its line, its key and what would be right, in one pass.
func TestAllMistakesAtOnce(t *testing.T) {
	_, err := load(t, `http:
  listen: ":8484"
  maxbody: 1MiB
  max_concurrent: many
auth:
  tokens:
    - {name: agent-a, token: "${NOT_SET}"}
    - {name: agent-a, token: x, role: admin, topics: [checkot]}
runs: {mode: sometimes, ttl: soon}
call:
  timeout: 30s
  max_observation: 64KiB
canonical: {store: memcached://x, ttl: 10s, replicas: 0}
logs:
  topics:
    checkout: {description: d, files: {paths: [], timezone: Mars/Base}, mask: [secret]}
rag: [runbooks]
mysql:
  datasources:
    shop: {description: d, dsn: "", schemas: {shop: {orders: []}}}
redaction: {hide: ["("]}
log: {level: loud}
`)
	ps, ok := errors.AsType[Problems](err)
	if !ok {
		t.Fatalf("%T %v", err, err)
	}
	want := []struct {
		line       int
		path, says string
	}{
		{2, "http.listen", "every interface"},
		{3, "http.maxbody", `did you mean "max_body"`},
		{4, "http.max_concurrent", "must be a whole number"},
		{7, "auth.tokens[0].token", "NOT_SET is not set"},
		{8, "auth.tokens[1].name", "used twice"},
		{8, "auth.tokens[1].role", "must be agent or harness"},
		{8, "auth.tokens[1].topics[0]", "there are checkout"},
		{9, "runs.mode", "implicit or registered"},
		{9, "runs.ttl", "must be a duration"},
		{12, "call.max_observation", "32KiB"},
		{13, "canonical.store", "redis://"},
		{13, "canonical.ttl", "longer than call.timeout"},
		{13, "canonical.replicas", "at least 1"},
		{16, "logs.topics.checkout.files.paths", "at least one path"},
		{16, "logs.topics.checkout.files.timezone", "time zone"},
		{16, "logs.topics.checkout.mask[0]", "must be one of secrets"},
		{17, "rag", "must be a mapping"},
		{20, "mysql.datasources.shop.dsn", "is empty"},
		{20, "mysql.datasources.shop.schemas.shop.orders", "lists no columns"},
		{21, "redaction.hide[0]", "regular expression"},
		{22, "log.level", "must be debug"},
	}
	for _, w := range want {
		found := false
		for _, p := range ps {
			found = found || p.Line == w.line && p.Path == w.path && strings.Contains(p.Text, w.says)
		}
		if !found {
			t.Errorf("missing: line %d %s %q", w.line, w.path, w.says)
		}
	}
	if t.Failed() {
		t.Log(err)
	}
	for i := 1; i < len(ps); i++ {
		if ps[i-1].Line > ps[i].Line {
			t.Errorf("problems are not in order of line: %v", ps)
		}
	}
}

func TestWhatMustNotStart(t *testing.T) {
	const token = "auth: {tokens: [{name: a, token: t}]}\n"
	for name, c := range map[string]struct{ text, path string }{
		"open listener without auth":      {"http: {listen: 0.0.0.0:8484, behind_tls_proxy: true}", "http.listen"},
		"open listener without TLS":       {token + "http: {listen: 0.0.0.0:8484}", "http.listen"},
		"open IPv6 listener":              {"http: {listen: \"[::]:8484\"}", "http.listen"},
		"harness without a harness token": {token + "harness: {listen: 127.0.0.1:8485}", "harness.listen"},
		"registered without a harness":    {"runs: {mode: registered}", "runs.mode"},
		"memory for two replicas":         {"canonical: {store: memory, replicas: 2}", "canonical.store"},
		"file for two replicas":           {"canonical: {replicas: 2}", "canonical.store"},
		"audit into the datasource":       {"audit: {mysql: \"u:p@tcp(h)/d\"}\nmysql: {datasources: {s: {description: d, dsn: \"u:p@tcp(h)/d\", schemas: {d: {t: [id]}}}}}", "audit.mysql"},
		"audit into it by other words":    {"audit: {mysql: \"u:p?q@tcp(h)/d?tls=true\"}\nmysql: {datasources: {s: {description: d, dsn: \"u:p?q@tcp(h)/d\", schemas: {d: {t: [id]}}}}}", "audit.mysql"},
		"a token no header carries":       {"auth: {tokens: [{name: a, token: \"0123456789abcdef \"}]}", "auth.tokens[0].token"},
		"a port that is none":             {"http: {listen: 127.0.0.1:99999}", "http.listen"},
		"a variable that is not closed":   {"log: {level: \"${L\"}", "log.level"},
		"a variable in a default":         {"log: {level: \"${L:-${M:-warn}}\"}", "log.level"},
		"record dies before the call":     {"canonical: {ttl: 30s}", "canonical.ttl"},
		"mask without secrets":            {"logs: {topics: {a: {description: d, files: {paths: [x]}, mask: [sql]}}}", "logs.topics.a.mask"},
		"two sources":                     {"logs: {topics: {a: {description: d, files: {paths: [x]}, loki: {url: \"http://h\", selector: \"{a=\\\"b\\\"}\"}}}}", "logs.topics.a"},
		"short key":                       {"canonical: {encryption_key: abc}", "canonical.encryption_key"},
		"password in a backend address":   {"logs: {topics: {a: {description: d, victorialogs: {url: \"http://u:p@h\"}}}}", "logs.topics.a.victorialogs.url"},
	} {
		_, err := load(t, c.text)
		ps, _ := errors.AsType[Problems](err)
		hit := false
		for _, p := range ps {
			hit = hit || p.Path == c.path
		}
		if !hit {
			t.Errorf("%s: %v, want a problem at %s", name, err, c.path)
		}
	}
	if _, err := load(t, token+"http: {listen: 0.0.0.0:8484, behind_tls_proxy: true}"); err != nil {
		t.Errorf("open listener with auth behind a TLS proxy: %v", err)
	}
}

func TestUnusableFiles(t *testing.T) {
	dir := t.TempDir()
	two := filepath.Join(dir, "two.yaml")
	os.WriteFile(two, []byte("http: {}\n---\nhttp: {}\n"), 0o600)
	broken := filepath.Join(dir, "broken.yaml")
	os.WriteFile(broken, []byte("http: {listen: [\n"), 0o600)
	list := filepath.Join(dir, "list.yaml")
	os.WriteFile(list, []byte("- a\n"), 0o600)
	dup := filepath.Join(dir, "dup.yaml")
	os.WriteFile(dup, []byte("log: {level: info}\nlog: {level: warn}\n"), 0o600)
	for path, says := range map[string]string{
		filepath.Join(dir, "absent.yaml"): "mcp-gateway init",
		dir:                               "is a folder",
		two:                               "second document",
		broken:                            "not valid YAML",
		list:                              "must be a mapping",
		dup:                               "dup.yaml",
	} {
		if _, err := Load(path, env()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", filepath.Base(path), err, says)
		}
	}
}

func TestSecretsAreInNoMessageAndNoPrint(t *testing.T) {
	_, err := load(t, "canonical: {ttl: \"${PW}\", store: \"${PW}\"}\ncall: {max_raw: \"${PW}\"}\nauth: {tokens: [{name: \"${PW} x\", token: \"${PW}\"}]}", "PW", "S3CR3T-VALUE")
	if err == nil || strings.Contains(err.Error(), "S3CR3T") {
		t.Errorf("%v", err)
	}
	c, err := load(t, "auth: {tokens: [{name: a, token: \"${PW}\"}]}", "PW", "S3CR3T-VALUE")
	if err != nil {
		t.Fatal(err)
	}
	var sb strings.Builder
	fmt.Fprintf(&sb, "%v %+v %#v %s", c, c, c, c.Auth.Tokens[0].Token)
	json.NewEncoder(&sb).Encode(c)
	slog.New(slog.NewTextHandler(&sb, nil)).Info("x", "c", *c, "t", c.Auth.Tokens[0])
	slog.New(slog.NewJSONHandler(&sb, nil)).Info("x", "c", *c, "t", c.Auth.Tokens[0])
	if strings.Contains(sb.String(), "S3CR3T") {
		t.Error("a secret was printed")
	}
}

func TestVariablesExpandInValuesOnly(t *testing.T) {
	c, err := load(t, "# ${NOPE}\nlog: {level: \"${L:-warn}\"} # ${NOPE}\nruns: {limits: {calls: \"${N}\"}}\nredaction: {keep: [\"a$b\", \"${E:-}\"]}", "N", "12")
	if err != nil {
		t.Fatal(err)
	}
	if c.Log.Level != "warn" || c.Runs.Limits.Calls != 12 || c.Redaction.Keep[0] != "a$b" {
		t.Errorf("%+v %+v %+v", c.Log, c.Runs.Limits, c.Redaction)
	}
}

// A byte order mark in front is no part of the file, and a token that can be guessed is said to be one.
func TestMarksAndShortTokens(t *testing.T) {
	c, err := load(t, "\ufeffauth: {tokens: [{name: a, token: abc}, {name: b, token: 0123456789abcdef}]}")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Warnings) != 1 || c.Warnings[0].Path != "auth.tokens[0].token" || strings.Contains(fmt.Sprint(c.Warnings[0]), "abc") {
		t.Errorf("%v", c.Warnings)
	}
}

func TestSizes(t *testing.T) {
	for in, want := range map[string]Size{"0": 0, "10": 10, "10B": 10, "16KiB": 16 << 10, "1.5MiB": 3 << 19, "4 GiB": 4 << 30} {
		var s Size
		if !parseSize(in, &s) || s != want {
			t.Errorf("parseSize(%q) = %d, want %d", in, s, want)
		}
	}
	for _, in := range []string{"", "KiB", "-1", "1KB", "1k", "1e300", "NaN", "99999999GiB"} {
		var s Size
		if parseSize(in, &s) {
			t.Errorf("parseSize(%q) = %d, want a refusal", in, s)
		}
	}
}

func TestKeys(t *testing.T) {
	hexKey, b64 := strings.Repeat("ab", 32), base64.StdEncoding.EncodeToString(make([]byte, 32))
	for _, in := range []string{hexKey, b64, hexKey + ", " + b64} {
		if p := keyProblem(in); p != "" {
			t.Errorf("keyProblem(%q) = %q", in, p)
		}
	}
	for _, in := range []string{"short", hexKey + "00", hexKey + ",", hexKey[:62]} {
		if p := keyProblem(in); p == "" || strings.Contains(p, in) {
			t.Errorf("keyProblem(%q) = %q", in, p)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte("a: &x [*x]\n"))
	f.Add([]byte("<<: *a\n? [1]: 2\n"))
	f.Add([]byte("http: !!binary x\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = parse("/etc/mcp-gateway.yaml", data, env())
	})
}

// Mistakes of people who write Chinese: each was told as something else, or passed with a name that was not the one in the file.
func TestChineseInputIsToldForWhatItIs(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		line int
		says []string
	}{
		"a full-width colon behind a section":     {"logs：\n  topics: {}\n", 1, []string{"not valid YAML", "full-width ：, and YAML takes : only"}},
		"one line further up":                     {"log: {level: info}\nlogs：\n\n  topics:\n    a: 1\n  b\n", 2, []string{"full-width ："}},
		"a full-width comma between members":      {"log: {level: [info]，format: text}\n", 1, []string{"not valid YAML", "full-width ，, and YAML takes , only"}},
		"a full-width comma at the end of a line": {"log: {level: info，\n format: text}\n", 2, []string{"not valid YAML", "line 1 holds a full-width ，"}},
		"a full-width colon in a member":          {"log: {level：info}\n", 1, []string{"full-width ：", "known keys: level, format"}},
		"a section on one line":                   {"logs：{topics: {}}\n", 1, []string{"full-width ："}},
		"a full-width comma in a value":           {"log: {level: info，format: text}\n", 1, []string{"must be debug", "full-width ，"}},
		"a full-width blank before a key":         {"log:\n　level: info\n", 2, []string{"U+3000"}},
		"quotation marks around a duration":       {"call: {timeout: “30s”}\n", 1, []string{"must be a duration", "full-width “"}},
		"quotation marks around a path":           {"logs: {topics: {a: {description: d, files: {paths: [“x.log”]}}}}\n", 1, []string{"quotation mark", "full-width “"}},
		"a full-width comma in a list":            {"auth: {tokens: [{name: a, token: 0123456789abcdef, tools: [query_logs，query_rag]}]}\n", 1, []string{"not configured", "full-width ，"}},
		"a topic called by a Chinese name":        {"logs: {topics: {结算: {description: d, files: {paths: [x]}}}}\n", 1, []string{"ASCII letters", "description"}},
		"a file in GBK":                           {"log: {level: info}\nlogs: {topics: {a: {description: d, files: {paths: [\"./\xc8\xd5\xd6\xbe/*.log\"]}}}}\n", 2, []string{"not UTF-8", "iconv -f gb18030 -t utf-8"}},
		"a file in UTF-16":                        {"\xff\xfel\x00o\x00g\x00:\x00", 0, []string{"UTF-16", "iconv -f utf-16 -t utf-8"}},
		"a file in UTF-16 without its mark":       {"l\x00o\x00g\x00:\x00 \x00{\x00}\x00", 0, []string{"UTF-16"}},
		"the section has another name":            {"log: {topics: {a: {description: d, files: {paths: [x]}}}}\n", 1, []string{`did you mean "logs.topics"?`, "known keys: level, format"}},
		"a key one level too high":                {"timezone: UTC\n", 1, []string{`did you mean "logs.topics.NAME.files.timezone"?`}},
		"a section under another one":             {"http: {mysql: {datasources: {}}}\n", 1, []string{"unknown key"}},
	} {
		_, err := load(t, c.text)
		ps, _ := errors.AsType[Problems](err)
		if len(ps) != 1 || ps[0].Line != c.line {
			t.Errorf("%s: %v, want one problem in line %d", name, err, c.line)
			continue
		}
		for _, s := range c.says {
			if !strings.Contains(ps[0].Text, s) {
				t.Errorf("%s: %q, want %q", name, ps[0].Text, s)
			}
		}
	}
	if _, err := load(t, "log: {level: \"info，x\"] # 注：见上\n"); err == nil || strings.Contains(err.Error(), "full-width") {
		t.Errorf("a full-width sign in quotation marks or a comment is blamed: %v", err)
	}
	c, err := load(t, "# 配置：生产环境，请勿修改\nlogs:\n  topics:\n    pay:\n      description: 支付服务：下单，退款 # 注释：见“手册”\n      files: {paths: [\"./日志，备份/“a”.log\"]}\n")
	if err != nil || c.Logs.Topics["pay"].Description != "支付服务：下单，退款" {
		t.Errorf("Chinese in comments, descriptions and quoted paths: %v", err)
	}
}

// One variable that was not set made two messages, or three: what follows from a value that could not be read is no mistake of its own.
func TestOneMistakeIsOneMessage(t *testing.T) {
	for name, c := range map[string]struct {
		text  string
		paths []string
	}{
		"variables that are not set": {"canonical: {store: \"${A}\", replicas: 2}\naudit: {mysql: \"${B}\"}\nmysql: {datasources: {shop: {description: \"${D}\", dsn: \"${C}\", schemas: {d: {t: [id]}}}}}\n" +
			"auth: {tokens: [{name: \"${E}\", token: \"${F}\", role: \"${G}\"}]}\nruns: {ttl: \"${H}\"}\n",
			[]string{"canonical.store", "audit.mysql", "mysql.datasources.shop.description", "mysql.datasources.shop.dsn", "auth.tokens[0].name", "auth.tokens[0].token", "auth.tokens[0].role", "runs.ttl"}},
		"keys that are misspelt": {"logs: {topics: {a: {descripton: d, fils: {paths: [x]}}}}\nmysql: {datasources: {s: {description: d, dns: x, schemas: {d: {t: [id]}}}}}\n",
			[]string{"logs.topics.a.descripton", "logs.topics.a.fils", "mysql.datasources.s.dns"}},
		"a listener that is not set": {"runs: {mode: registered}\nharness: {listen: \"${A}\"}\n", []string{"harness.listen"}},
		"a value of the wrong type":  {"call: {timeout: soon, max_raw: much}\n", []string{"call.timeout", "call.max_raw"}},
		"mistakes beside it":         {"call: {timeout: soon}\nlog: {level: loud}\n", []string{"call.timeout", "log.level"}},
	} {
		_, err := load(t, c.text)
		ps, _ := errors.AsType[Problems](err)
		var got []string
		for _, p := range ps {
			got = append(got, p.Path)
		}
		if d := cmp.Diff(c.paths, got, cmp.Transformer("sort", func(s []string) []string { s = slices.Clone(s); slices.Sort(s); return s })); d != "" {
			t.Errorf("%s:\n%v\n%s", name, err, d)
		}
	}
}

// A plain check took AUDIT_DSN=x for a DSN, or told only the first of two mistakes; a slash in a password was told as a wrong database number.
func TestAddressesWithCredentialsAreCheckedInTheSamePass(t *testing.T) {
	const with = "audit: {mysql: \"${A}\"}\nmysql: {datasources: {s: {description: d, dsn: \"${D}\", schemas: {d: {t: [id]}}}}}\ncanonical: {store: \"${S}\"}\n"
	good := []string{"A", "a:pw@tcp(h:3306)/audit", "D", "u:p/w?x@tcp([::1]:3306)/shop?tls=true", "S", "redis://u:p%40ss%2Fw@h:6379/0"}
	if _, err := load(t, with, good...); err != nil {
		t.Error(err)
	}
	for _, dsn := range []string{"u@unix(/run/mysqld/mysqld.sock)/d", "u:p@/d", "u:p@tcp/d", "u:p@tcp(h)/"} {
		if _, err := load(t, with, append([]string{"D", dsn}, good...)...); err != nil {
			t.Errorf("%s: %v", dsn, err)
		}
	}
	_, err := load(t, with, "A", "S3CR3T-A", "D", "S3CR3T-D", "S", "redis://u:S3CR3T@ss/w@h:6379/0")
	ps, _ := errors.AsType[Problems](err)
	if len(ps) != 3 || strings.Contains(err.Error(), "S3CR3T") || !strings.Contains(err.Error(), "percent-encode") {
		t.Errorf("%v", err)
	}
	for dsn, says := range map[string]string{"x": "slash", "mysql://u:S3CR3T@h/d": "URL", "u:S3CR3T@h:3306/d": "tcp(host:3306)", "tcp(h)/d": "no user", ":S3CR3T@tcp(h)/d": "no user", "u:S3CR3T@tcp(h)": "slash",
		"u:S3CR3T@tcp(h/d": "tcp(host:3306)"} {
		_, err := load(t, with, append([]string{"D", dsn}, good...)...)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "S3CR3T") {
			t.Errorf("%s: %v, want %q", dsn, err, says)
		}
	}
	for _, store := range []string{"redis://u:S3CR3T#a?s@h:6379/0", "redis://:S3CR3T?@h:6379/0", "redis+cluster://u:S3CR3T/@h:6379"} {
		_, err := load(t, with, append([]string{"S", store}, good...)...)
		if err == nil || !strings.Contains(err.Error(), "percent-encode") || strings.Contains(err.Error(), "S3CR3T") {
			t.Errorf("%s: %v", store, err)
		}
	}
}
