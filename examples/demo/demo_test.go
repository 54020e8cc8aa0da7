package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

var update = flag.Bool("update", false, "write testdata/demo.txt anew")

// gatewayBinary is built once for all tests.
var gatewayBinary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "mcp-gateway-test-")
	if err != nil {
		return "", err
	}
	return build(context.Background(), dir)
})

func TestMain(m *testing.M) {
	code := m.Run()
	if bin, err := gatewayBinary(); err == nil {
		_ = os.RemoveAll(filepath.Dir(bin))
	}
	os.Exit(code)
}

// play runs the program with its temporary files in a folder of the test, and checks that nothing of them is left.
func play(t *testing.T, ctx context.Context, in io.Reader, out io.Writer, args ...string) (code int, said string) {
	t.Helper()
	bin, err := gatewayBinary()
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	var errs bytes.Buffer
	code = run(ctx, append([]string{"--gateway", bin}, args...), in, out, &errs)
	left, err := os.ReadDir(tmp)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) > 0 {
		t.Errorf("%s is left in the temporary folder", left[0].Name())
	}
	return code, errs.String()
}

func TestThePrintedStoryIsTheSameOnEveryRun(t *testing.T) {
	var out bytes.Buffer
	if code, said := play(t, t.Context(), nil, &out); code != 0 {
		t.Fatalf("exit %d: %s", code, said)
	}
	got, golden := out.String(), filepath.Join("testdata", "demo.txt")
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the output is not testdata/demo.txt (go test -update writes it anew); the first other line:\n%s", firstOther(got, string(want)))
	}
	for i, l := range strings.Split(got, "\n") {
		if n := columns(l); n > pageWidth {
			t.Errorf("line %d has %d columns", i+1, n)
		}
	}
	for _, w := range []string{"query_rag", "query_logs", "query_mysql", "verify_evidence", "SQL_NOT_READ_ONLY", "hint: ", "NO_EVIDENCE", "truncated", "<masked>", "<secret>",
		"SUPPORTED", "SCOPED_NEGATIVE", "REJECTED: VALUE_MISMATCH", "REJECTED: QUOTE_NOT_FOUND", "planted secrets that reached the model: 0 of 6"} {
		if !strings.Contains(got, w) {
			t.Errorf("%q is not in the output", w)
		}
	}
}

func firstOther(got, want string) string {
	w := strings.Split(want, "\n")
	for i, g := range strings.Split(got, "\n") {
		if i >= len(w) {
			return "got  " + g
		}
		if g != w[i] {
			return "got  " + g + "\nwant " + w[i]
		}
	}
	return "the output is shorter"
}

func TestNoPlantedSecretIsInAnyAnswer(t *testing.T) {
	var out bytes.Buffer
	if code, said := play(t, t.Context(), nil, &out, "--full", "--timing"); code != 0 {
		t.Fatalf("exit %d: %s", code, said)
	}
	got := out.String()
	for i, p := range allPlanted() {
		if strings.Contains(got, p) {
			t.Errorf("planted secret %d is in the full output", i)
		}
	}
	for _, w := range []string{`"tool_call_id":"pool"`, "time "} {
		if !strings.Contains(got, w) {
			t.Errorf("%q is not in the full output with times", w)
		}
	}
}

// The secrets have to lie where the gateway reads, else their absence shows nothing.
func TestEveryPlantedSecretIsInTheData(t *testing.T) {
	bin, err := gatewayBinary()
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDemo(t.Context(), bin, "127.0.0.1:0", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	var all strings.Builder
	for _, name := range []string{"logs/payments.log", "logs/checkout.log", "runbooks/en/payments-pool.md"} {
		b, err := os.ReadFile(d.path(name))
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	all.WriteString(strings.Join(shopSQL(), "\n"))
	for i, p := range allPlanted() {
		if !strings.Contains(all.String(), p) {
			t.Errorf("planted secret %d is nowhere", i)
		}
	}
	for _, s := range d.streams {
		paths, err := filepath.Glob(d.path("logs/" + s.name + ".log*"))
		if err != nil || len(paths) == 0 {
			t.Errorf("topic %s has no file: %v", s.name, err)
		}
	}
	if !strings.HasPrefix(d.shop.addr, "127.0.0.1:") {
		t.Errorf("the shop listens on %s", d.shop.addr)
	}
	// The gateway itself refuses an account that can write, so that this check passes says that the account cannot.
	if out, err := d.gateway(t.Context(), "check", "--connect").CombinedOutput(); err != nil {
		t.Errorf("check --connect: %v\n%s", err, out)
	}
}

func TestTheExampleReports(t *testing.T) {
	bin, err := gatewayBinary()
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDemo(t.Context(), bin, "127.0.0.1:0", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	m, err := connect(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	for _, st := range steps() {
		if _, err := m.call(t.Context(), st.id, st.tool, st.args); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.close(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"report-good.md": {"OK"},
		"report-bad.md":  {"OK", "ITEM_NOT_FOUND", "NOT_FOUND", "POLARITY_MISMATCH", "QUOTE_NOT_FOUND", "VALUE_MISMATCH"},
	} {
		got, err := d.verifyDraft(t.Context(), filepath.Join(sourceDir(), "..", name))
		if err != nil {
			t.Fatal(err)
		}
		reasons := map[string]bool{}
		for _, c := range got.Citations {
			reasons[c.Result.Reason] = true
			if name == "report-good.md" && c.Result.Reason != "OK" {
				t.Errorf("%s: line %d, %s is %s", name, c.Line, c.Citation, c.Result.Reason)
			}
		}
		for _, r := range want {
			if !reasons[r] {
				t.Errorf("%s: no citation is %s", name, r)
			}
		}
		if got.OK != (name == "report-good.md") {
			t.Errorf("%s: citations_ok is %t", name, got.OK)
		}
	}
}

// cancelOn ends the program at its first output that holds a word.
type cancelOn struct {
	word   string
	cancel context.CancelFunc
}

func (c cancelOn) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(c.word)) {
		c.cancel()
	}
	return len(b), nil
}

func TestCtrlCLeavesNothingBehind(t *testing.T) {
	for _, word := range []string{"mcp-gateway demo", "query_mysql"} {
		ctx, cancel := context.WithCancel(t.Context())
		if code, _ := play(t, ctx, nil, cancelOn{word, cancel}); code != 130 {
			t.Errorf("interrupted at %q: exit %d, want 130", word, code)
		}
		cancel()
	}
}

func list(t *testing.T, tr mcp.Transport) []string {
	t.Helper()
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), tr, nil)
	if err != nil {
		t.Error(err)
		return nil
	}
	defer s.Close()
	tools, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Error(err)
		return nil
	}
	var names []string
	for _, tool := range tools.Tools {
		names = append(names, tool.Name)
	}
	return names
}

var toolNames = []string{"query_logs", "query_mysql", "query_rag"}

// addressFrom passes on the first address that is printed.
type addressFrom chan string

func (a addressFrom) Write(b []byte) (int, error) {
	if _, rest, ok := strings.Cut(string(b), "http://"); ok {
		at, _, _ := strings.Cut(rest, "/mcp")
		a <- at
	}
	return len(b), nil
}

func TestServeKeepsTheGatewayRunning(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	printed := make(addressFrom, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer cancel()
		select {
		case at := <-printed:
			if got := list(t, &mcp.StreamableClientTransport{Endpoint: "http://" + at + "/mcp"}); !slices.Equal(got, toolNames) {
				t.Errorf("tools over HTTP = %v", got)
			}
		case <-ctx.Done():
		}
	})
	code, said := play(t, ctx, nil, printed, "--serve", "--listen", "127.0.0.1:0")
	cancel()
	wg.Wait()
	if code != 0 {
		t.Errorf("exit %d: %s", code, said)
	}
}

func TestStdioServesOneClient(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() {
		if got := list(t, &mcp.IOTransport{Reader: outR, Writer: inW}); !slices.Equal(got, toolNames) {
			t.Errorf("tools over stdio = %v", got)
		}
		_ = inW.Close()
	})
	code, said := play(t, t.Context(), inR, outW, "--stdio")
	_ = outW.Close()
	wg.Wait()
	if code != 0 {
		t.Errorf("exit %d: %s", code, said)
	}
}

func TestWhatIsNoUse(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--serve", "--listen", "0.0.0.0:8484"}, 1, "loopback only"},
		{[]string{"--serve", "--listen", "here"}, 1, "loopback only"},
		{[]string{"--serve", "--stdio"}, 2, "not both"},
		{[]string{"now"}, 2, "flags only"},
	} {
		code, said := play(t, t.Context(), nil, io.Discard, c.args...)
		if code != c.code || !strings.Contains(said, c.want) {
			t.Errorf("%v: exit %d, %q; want %d and %q", c.args, code, said, c.code, c.want)
		}
	}
}
