// Package arch_test holds the import rules of docs/design.md section 10: a package that is not listed, an import that is not allowed and an outside module used
// by another than its owner fail.
package arch_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/seed-069badc9/mcp-gateway"

// layers lists every package and the packages of this module that it may import. "…" at the end of an entry stands for everything below.
var layers = map[string][]string{
	"":                            {}, // this test
	"internal/fault":              {},
	"internal/spelling":           {},
	"internal/strictjson":         {"internal/spelling"},
	"internal/config":             {"internal/spelling", "internal/zone"},
	"redact":                      {"internal/fault"},
	"sqlguard":                    {"internal/fault"},
	"canonical":                   {"internal/fault"},
	"canonical/internal/steps":    {"canonical", "internal/fault"},
	"canonical/internal/seal":     {"internal/fault"},
	"canonical/memstore":          {"canonical", "canonical/internal/steps", "internal/fault"},
	"canonical/filestore":         {"canonical", "canonical/internal/…", "internal/fault"},
	"canonical/redisstore":        {"canonical", "canonical/internal/…", "internal/fault"},
	"canonical/canonicaltest":     {"canonical", "internal/fault"},
	"boundary":                    {"canonical", "internal/fault", "internal/strictjson"},
	"boundary/boundarytest":       {"boundary", "canonical", "canonical/memstore", "internal/fault"},
	"evidence":                    {"canonical", "internal/fault"},
	"harness":                     {"boundary", "canonical", "evidence", "internal/fault", "internal/strictjson"},
	"harness/client":              {},
	"audit":                       {"boundary"},
	"tools/logs":                  {"boundary", "canonical", "internal/fault", "internal/strictjson", "redact", "tools/logs/charset", "tools/logs/line", "tools/logs/pattern", "tools/logs/stack"},
	"tools/logs/charset":          {},
	"tools/logs/line":             {"tools/logs/stack", "redact", "internal/fault"},
	"tools/logs/pattern":          {"redact"},
	"tools/logs/stack":            {},
	"tools/logs/files":            {"tools/logs", "tools/logs/charset", "tools/logs/line", "tools/logs/stack", "boundary", "internal/fault", "internal/zone", "redact"},
	"tools/logs/internal/fetch":   {"internal/fault"},
	"tools/logs/internal/logtest": {"tools/logs", "boundary", "canonical", "canonical/memstore", "internal/fault", "redact"},
	"tools/logs/internal/window":  {"tools/logs", "tools/logs/internal/fetch", "tools/logs/line", "internal/fault", "internal/strictjson"},
	"tools/logs/loki":             {"tools/logs", "tools/logs/line", "tools/logs/internal/…", "boundary", "internal/fault", "internal/strictjson"},
	"tools/logs/victorialogs":     {"tools/logs", "tools/logs/line", "tools/logs/internal/…", "boundary", "internal/fault", "internal/strictjson"},
	"tools/logs/elasticsearch":    {"tools/logs", "tools/logs/line", "tools/logs/internal/…", "boundary", "internal/fault", "internal/strictjson"},
	"tools/rag":                   {"boundary", "canonical", "internal/fault", "internal/strictjson", "redact", "tools/rag/internal/…"},
	"tools/rag/internal/lex":      {"redact"},
	"tools/rag/internal/visible":  {},
	"tools/rag/folder":            {"tools/rag", "tools/rag/internal/…", "boundary", "internal/fault", "redact"},
	"tools/rag/dify":              {"tools/rag", "tools/rag/internal/…", "boundary", "internal/fault", "internal/strictjson"},
	"tools/rag/embed":             {"tools/rag", "internal/fault", "internal/strictjson"},
	"tools/mysql":                 {"boundary", "canonical", "internal/fault", "internal/spelling", "internal/strictjson", "redact", "sqlguard"},
	"tools/mysql/server":          {"tools/mysql", "boundary", "internal/fault", "sqlguard"},
	"internal/mcpserver":          {"boundary", "canonical", "evidence", "internal/fault", "internal/strictjson"},
	"internal/tracing":            {"boundary"},
	"eval":                        {},
	"internal/zone":               {},
	"internal/servertest":         {},
	"cmd/mcp-gateway":             {"…"},
	"examples":                    {}, // tests of the client files
	"reliability":                 {}, // tests only: the built gateway on real servers
	"clients":                     {}, // tests only: MCP clients and the conformance suite
}

// owners lists the outside modules and the packages that may import them. Test files of any package may import what tests names besides.
var owners = map[string][]string{
	"github.com/mark3labs/mcp-go":                                     {"internal/mcpserver"},
	"github.com/redis/go-redis/v9":                                    {"canonical/redisstore"},
	"github.com/go-sql-driver/mysql":                                  {"tools/mysql/server", "audit"},
	"vitess.io/vitess":                                                {"sqlguard"},
	"github.com/xwb1989/sqlparser":                                    {"sqlguard"},
	"github.com/lmittmann/tint":                                       {"cmd/mcp-gateway"},
	"github.com/spf13/cobra":                                          {"cmd/mcp-gateway"},
	"modernc.org/sqlite":                                              {"canonical/filestore", "tools/rag/folder"},
	"github.com/DataDog/go-sqllexer":                                  {"redact"},
	"github.com/goccy/go-yaml":                                        {"internal/config"},
	"github.com/klauspost/compress":                                   {"tools/logs/files", "canonical/redisstore", "canonical/internal/seal"},
	"github.com/prometheus/client_golang":                             {"harness"},
	"github.com/coreos/go-oidc/v3":                                    {"internal/mcpserver"},
	"go.opentelemetry.io/otel":                                        {"internal/tracing"},
	"go.opentelemetry.io/otel/sdk":                                    {"internal/tracing"},
	"go.opentelemetry.io/otel/trace":                                  {"internal/tracing"},
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp": {"internal/tracing"},
	"github.com/go-json-experiment/json":                              {"internal/strictjson"},
	"golang.org/x/text":                                               {"evidence", "redact", "tools/logs/charset", "tools/rag/internal/lex", "tools/rag/folder"},
	"golang.org/x/net":                                                {"tools/rag/folder"},
	"golang.org/x/sys":                                                {"tools/logs/files", "cmd/mcp-gateway"},
}

// tests may be imported by test files only.
var tests = []string{"golang.org/x/text", "github.com/google/go-cmp", "github.com/rogpeppe/go-internal", "pgregory.net/rapid", "github.com/modelcontextprotocol/go-sdk", "github.com/redis/go-redis/v9",
	"github.com/go-sql-driver/mysql", "modernc.org/sqlite", "github.com/klauspost/compress", "github.com/mark3labs/mcp-go", "github.com/goccy/go-yaml", "github.com/santhosh-tekuri/jsonschema",
	"go.opentelemetry.io/proto/otlp", "google.golang.org/protobuf"}

// sqlOwners may import database/sql: that nobody else can reach a database is what makes a Plan a proof.
var sqlOwners = []string{"tools/mysql/server", "tools/rag/folder", "canonical/filestore", "audit"}

// testingOwners are suites for other packages' tests.
var testingOwners = []string{"boundary/boundarytest", "canonical/canonicaltest", "internal/servertest", "tools/logs/internal/logtest"}

type pkg struct {
	ImportPath, Doc                    string
	Imports, TestImports, XTestImports []string
	Name                               string
	GoFiles                            []string
}

func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Doc,Name,GoFiles,Imports,TestImports,XTestImports", "./...")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pkgs []pkg
	d := json.NewDecoder(out)
	for {
		var p pkg
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return pkgs
}

func allowed(rules []string, imp string) bool {
	return slices.ContainsFunc(rules, func(r string) bool {
		if below, ok := strings.CutSuffix(r, "…"); ok {
			return strings.HasPrefix(imp, below)
		}
		return r == imp
	})
}

// owner finds the module of an outside import among known ones.
func outside(imp string, mods []string) string {
	for _, m := range mods {
		if imp == m || strings.HasPrefix(imp, m+"/") {
			return m
		}
	}
	return ""
}

func keys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	return out
}

func TestImportsFollowTheTable(t *testing.T) {
	for _, p := range list(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		rules, ok := layers[name]
		if !ok {
			t.Errorf("package %s is not listed in the table", name)
			continue
		}
		for _, imp := range p.Imports {
			first, _, _ := strings.Cut(imp, "/")
			in, inside := strings.CutPrefix(imp, module+"/")
			switch {
			case inside && !allowed(rules, in):
				t.Errorf("%s imports %s, which its layer may not", name, in)
			case inside:
			case imp == "database/sql" || imp == "database/sql/driver":
				if !slices.Contains(sqlOwners, name) {
					t.Errorf("%s imports %s: only %s may", name, imp, strings.Join(sqlOwners, ", "))
				}
			case imp == "testing":
				if !slices.Contains(testingOwners, name) {
					t.Errorf("%s imports testing outside of tests", name)
				}
			case strings.Contains(first, ".") && slices.Contains(testingOwners, name) && outside(imp, tests) != "":
			case strings.Contains(first, "."):
				m := outside(imp, keys(owners))
				if m == "" {
					t.Errorf("%s imports %s, a module without an owner in the table", name, imp)
				} else if !slices.Contains(owners[m], name) {
					t.Errorf("%s imports %s, which belongs to %s", name, imp, strings.Join(owners[m], ", "))
				}
			}
		}
		for _, imp := range slices.Concat(p.TestImports, p.XTestImports) {
			first, _, _ := strings.Cut(imp, "/")
			if !strings.Contains(first, ".") || strings.HasPrefix(imp, module) || outside(imp, tests) != "" {
				continue
			}
			if m := outside(imp, keys(owners)); m == "" || !slices.Contains(owners[m], name) {
				t.Errorf("tests of %s import %s, which is listed neither for tests nor for the package", name, imp)
			}
		}
	}
}

func TestEveryPackageSaysWhatItPromises(t *testing.T) {
	for _, p := range list(t) {
		if len(p.GoFiles) == 0 || p.ImportPath == module {
			continue
		}
		want := "Package " + p.Name
		if p.Name == "main" {
			want = "Command " + path.Base(p.ImportPath)
		}
		if !strings.HasPrefix(p.Doc, want) {
			t.Errorf("%s: package comment %q, want it to begin with %q", p.ImportPath, p.Doc, want)
		}
	}
}

func TestNoCatchAllPackages(t *testing.T) {
	for _, p := range list(t) {
		for part := range strings.SplitSeq(p.ImportPath, "/") {
			if slices.Contains([]string{"pkg", "util", "utils", "common", "helpers", "models", "types", "interfaces", "misc"}, part) {
				t.Errorf("%s: a package is named for what it gives", p.ImportPath)
			}
		}
	}
}
