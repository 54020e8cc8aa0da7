package harness_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// The document and the API agree on which bodies are requests: every value of some good bodies is replaced by every kind of another.
func TestTheDocumentAndTheAPIAgreeOnBodies(t *testing.T) {
	t.Parallel()
	d := openDocument(t)
	w := newWorld(t, registered(), nil, nil)
	if a := w.do(t, allToken, "POST", "/v1/principals/alice/runs", `{"run_id":"inc-1"}`); a.status != 201 {
		t.Fatal(string(a.body))
	}
	w.lines(t, "inc-1", "c0", "gateway")
	long := func(n int) string { return `[` + strings.TrimSuffix(strings.Repeat(`"x",`, n), ",") + `]` }
	values := []string{`null`, `true`, `0`, `1`, `-1`, `1.5`, `101`, `2592001`, `1099511627777`, `9007199254740993`, `1e400`, `""`, `"x"`, `"GAIN"`, `"gain"`, `"current"`, `"a b"`,
		`"` + strings.Repeat("x", 129) + `"`, `[]`, `["x"]`, `["X"]`, `[1]`, `[null]`, long(65), long(201), `{}`, `{"x":1}`, `{"limit":1}`, `{"limit":0}`}
	n := 0
	for template, bodies := range map[string][]string{
		"/v1/principals/{principal}/runs":                               {`{}`, `{"run_id":"r","tools":["query_lines"],"ttl_seconds":5,"limits":{"calls":1,"request_bytes":1,"raw_bytes":1,"observation_bytes":1},"no_gain":{"limit":1,"window":100}}`},
		"/v1/principals/{principal}/runs/{run}/calls/{call}/assessment": {`{"gain":"GAIN"}`, `{"gain":"NO_GAIN"}`},
		"/v1/principals/{principal}/runs/{run}/verify":                  {`{"citations":["x"]}`, `{"draft":"x","replay":false}`, `{"citations":["x"],"draft":"x"}`},
	} {
		s := d.schema(t, d.operation("POST", template)+"/requestBody/content/application~1json/schema")
		path := strings.NewReplacer("{principal}", "bob", "{run}", "inc-1", "{call}", "c0").Replace(template)
		if !strings.HasSuffix(path, "/runs") {
			path = strings.Replace(path, "bob", "alice", 1)
		}
		for _, body := range bodies {
			for _, m := range mutants(t, body, values) {
				if template == "/v1/principals/{principal}/runs" { // a run of its own each time
					path = fmt.Sprintf("/v1/principals/bob-%d/runs", n)
				}
				n++
				a := w.do(t, allToken, "POST", path, m)
				good := a.status < 300
				if documented := validate(s, []byte(m)) == nil; documented != good {
					t.Errorf("%s %.200s: documented as good %v, answered %d %s", template, m, documented, a.status, a.body)
				}
			}
		}
	}
	if n < 500 {
		t.Errorf("%d bodies tried", n)
	}
	for _, m := range []string{`{"run_id":"a","run_id":"b"}`, `{"Run_id":"a"}`, `{"run_id":"a"} {}`, `{"run_id":"\ud800"}`, "{\"run_id\":\"\xff\"}", `[`, ` `, `null`, `[]`, `"x"`, `{"no_gain":{"limit":4}}`,
		strings.Repeat(`{"limits":`, 100) + `1` + strings.Repeat(`}`, 100)} {
		if a := w.do(t, allToken, "POST", "/v1/principals/bob/runs", m); a.status != 400 || a.code() != fault.InvalidRequest {
			t.Errorf("%q: %d %s", m, a.status, a.body)
		}
	}
}

// mutants replaces every value of body, and body itself, by each of values, and adds a member to every object.
func mutants(t *testing.T, body string, values []string) (out []string) {
	t.Helper()
	out = append(out, body)
	var walk func(v any, rebuild func(string) string)
	walk = func(v any, rebuild func(string) string) {
		for _, x := range values {
			out = append(out, rebuild(x))
		}
		m, ok := v.(map[string]any)
		if !ok {
			return
		}
		write := func(key, value string) string {
			var b strings.Builder
			for _, k := range slices.Sorted(maps.Keys(m)) {
				if k == key {
					continue
				}
				enc, err := json.Marshal(m[k])
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&b, "%q:%s,", k, enc)
			}
			if value != "" {
				fmt.Fprintf(&b, "%q:%s,", key, value)
			}
			return rebuild("{" + strings.TrimSuffix(b.String(), ",") + "}")
		}
		out = append(out, write("surplus", "1"))
		for k, e := range m {
			out = append(out, write(k, ""))
			walk(e, func(s string) string { return write(k, s) })
		}
	}
	var v any
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatal(err)
	}
	walk(v, func(s string) string { return s })
	return out
}
