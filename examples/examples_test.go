// Package examples_test holds the files of this folder to what each client reads, and starts what they name.
package examples_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// server is what a client file says about one server. Keys are those that the client's documentation names; another one is a mistake, since clients ignore it silently.
type server struct {
	Type         string            `json:"type"`
	Command      string            `json:"command"`
	Args         []string          `json:"args"`
	Env          map[string]string `json:"env"`
	Timeout      int               `json:"timeout"`
	IncludeTools []string          `json:"includeTools"`
	Approval     string            `json:"default_tools_approval_mode"`
}

var clients = []struct {
	file, top string
	keys      []string // of a server
}{
	{"claude-config.json", "mcpServers", []string{"command", "args", "env"}}, // the keys that Claude Desktop and Claude Code share
	{"vscode-mcp.json", "servers", []string{"type", "command", "args", "env", "envFile"}},
	{"cursor-mcp.json", "mcpServers", []string{"type", "command", "args", "env", "envFile"}},
	{"windsurf-mcp.json", "mcpServers", []string{"command", "args", "env"}},
	{"gemini-settings.json", "mcpServers", []string{"command", "args", "env", "cwd", "timeout", "trust", "includeTools"}},
	{"codex-config.toml", "mcp_servers", []string{"command", "args", "env", "default_tools_approval_mode"}},
}

// read gives a client file as JSON.
func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(file, ".toml") {
		return tomlAsJSON(t, string(b))
	}
	return b
}

// tomlAsJSON reads the little of TOML that the example uses: comments, [a.b] and key = value, where strings and arrays of strings are written as in JSON.
func tomlAsJSON(t *testing.T, text string) []byte {
	t.Helper()
	root := map[string]any{}
	table := root
	for i, l := range strings.Split(text, "\n") {
		l = strings.TrimSpace(l)
		switch key, value, ok := strings.Cut(l, " = "); {
		case l == "" || strings.HasPrefix(l, "#"):
		case strings.HasPrefix(l, "[") && strings.HasSuffix(l, "]"):
			table = root
			for name := range strings.SplitSeq(l[1:len(l)-1], ".") {
				next, _ := table[name].(map[string]any)
				if next == nil {
					next = map[string]any{}
					table[name] = next
				}
				table = next
			}
		case ok && json.Valid([]byte(value)):
			table[key] = json.RawMessage(value)
		default:
			t.Fatalf("line %d is neither a table nor key = value: %s", i+1, l)
		}
	}
	b, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func decode(t *testing.T, file string, b []byte, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func TestEveryClientFileSaysWhatItsClientReads(t *testing.T) {
	bin := build(t)
	for _, c := range clients {
		t.Run(c.file, func(t *testing.T) {
			var top map[string]map[string]json.RawMessage
			decode(t, c.file, read(t, c.file), &top)
			servers := top[c.top]
			if len(top) != 1 || len(servers) != 1 || servers["evidence"] == nil {
				t.Fatalf("want {%q: {\"evidence\": …}} and nothing else", c.top)
			}
			var keys map[string]json.RawMessage
			decode(t, c.file, servers["evidence"], &keys)
			for k := range keys {
				if !slices.Contains(c.keys, k) {
					t.Errorf("key %q is none of %v", k, c.keys)
				}
			}
			var s server
			decode(t, c.file, servers["evidence"], &s)
			if s.Command != "mcp-gateway" || len(s.Args) != 3 || s.Args[0] != "stdio" || s.Args[1] != "--config" || !strings.HasSuffix(s.Args[2], "/mcp-gateway.yaml") {
				t.Errorf("command %q, args %q; want mcp-gateway stdio --config …/mcp-gateway.yaml", s.Command, s.Args)
			}
			if s.Type != "" && s.Type != "stdio" {
				t.Errorf("type %q, want stdio", s.Type)
			}
			names := tools(t, filepath.Join(bin, s.Command), s.Args)
			for _, n := range s.IncludeTools {
				if n != "query_mysql" && !slices.Contains(names, n) { // the starter configuration has no database
					t.Errorf("includeTools names %s; the gateway has %v", n, names)
				}
			}
		})
	}
}

// build makes the command and gives its folder.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "mcp-gateway"), "../cmd/mcp-gateway").CombinedOutput(); err != nil {
		t.Fatalf("building the gateway: %v\n%s", err, out)
	}
	return dir
}

// tools starts the command of a client file on a configuration that "init" wrote, and lists its tools.
func tools(t *testing.T, command string, args []string) []string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command(command, "init", dir).CombinedOutput(); err != nil {
		t.Fatalf("init: %v\n%s", err, out)
	}
	args = slices.Clone(args)
	args[2] = filepath.Join(dir, "mcp-gateway.yaml")
	cmd := exec.CommandContext(t.Context(), command, args...)
	cmd.Env = append(os.Environ(), "HOME="+dir)
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	if len(names) == 0 {
		t.Error("the gateway that the file starts has no tool")
	}
	return names
}

func TestTheConfigurationIsTheStarter(t *testing.T) {
	got, err := os.ReadFile("config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../cmd/mcp-gateway/starter.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("config.yaml is not what \"mcp-gateway init\" writes: copy cmd/mcp-gateway/starter.yaml over it")
	}
}

func TestTheReadmeNamesEveryFile(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f == "README.md" || strings.HasSuffix(f, ".go") {
			continue
		}
		if !bytes.Contains(readme, []byte(f)) {
			t.Errorf("README.md does not tell what %s is", f)
		}
	}
}
