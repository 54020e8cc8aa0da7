package boundarytest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/seed-069badc9/mcp-gateway/boundary"
)

// schemas checks that both schemas are portable (what clients reject was seen on real ones) and that an observation has no member its schema does not name.
func schemas(t *testing.T, s Subject, name string) {
	spec := s.Tool.Spec()
	for what, raw := range map[string]json.RawMessage{"input": spec.InputSchema, "output": spec.OutputSchema} {
		var v any
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatalf("%s schema: %v", what, err)
		}
		for _, p := range unportable("", v, "") {
			t.Errorf("%s schema: %s", what, p)
		}
	}
	var out map[string]any
	if err := json.Unmarshal(spec.OutputSchema, &out); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, s, s.Tool, boundary.Limits{})
	for i, args := range []string{s.Found, s.Empty} {
		o := r.call(t, t.Context(), name, "c"+fmt.Sprint(i), args)
		var v any
		if err := json.Unmarshal(o.obs, &v); err != nil {
			t.Fatal(err)
		}
		for _, p := range undeclared("", out, v) {
			t.Errorf("%s: %s", args, p)
		}
	}
}

// unportable lists what MCP clients are known to refuse: bare true, anyOf, $ref, lists of types, null lists, open objects.
func unportable(path string, v any, under string) (out []string) {
	switch x := v.(type) {
	case bool:
		if under == "properties" || under == "items" {
			out = append(out, path+" is a bare "+fmt.Sprint(x))
		}
	case map[string]any:
		if under != "properties-map" {
			for _, k := range []string{"anyOf", "oneOf", "allOf", "$ref", "$defs", "not", "if"} {
				if _, has := x[k]; has {
					out = append(out, path+" uses "+k)
				}
			}
			if _, list := x["type"].([]any); list {
				out = append(out, path+" has a list of types")
			}
			if x["type"] == "object" && x["additionalProperties"] != false {
				out = append(out, path+" is an open object")
			}
			if r, has := x["required"]; has && r == nil {
				out = append(out, path+" has required: null")
			}
		}
		for k, e := range x {
			switch {
			case k == "properties" && under != "properties-map":
				out = append(out, unportable(path+"."+k, e, "properties-map")...)
			case under == "properties-map":
				out = append(out, unportable(path+"."+k, e, "properties")...)
			case k == "items":
				out = append(out, unportable(path+"."+k, e, "items")...)
			}
		}
	}
	return out
}

// undeclared walks a value along its schema and lists members that the schema does not name or whose type is another, and required ones that are absent.
func undeclared(path string, schema map[string]any, v any) (out []string) {
	kind, _ := schema["type"].(string)
	switch x := v.(type) {
	case map[string]any:
		if kind != "object" && kind != "" {
			return []string{path + " is an object, declared " + kind}
		}
		props, _ := schema["properties"].(map[string]any)
		if schema["additionalProperties"] != false && props == nil {
			return nil
		}
		for k, e := range x {
			p, ok := props[k].(map[string]any)
			if !ok {
				out = append(out, path+"."+k+" is not declared")
				continue
			}
			out = append(out, undeclared(path+"."+k, p, e)...)
		}
		req, _ := schema["required"].([]any)
		for _, r := range req {
			if _, ok := x[fmt.Sprint(r)]; !ok {
				out = append(out, path+"."+fmt.Sprint(r)+" is required and absent")
			}
		}
	case []any:
		if kind != "array" && kind != "" {
			return []string{path + " is a list, declared " + kind}
		}
		items, _ := schema["items"].(map[string]any)
		for i, e := range x {
			out = append(out, undeclared(fmt.Sprintf("%s[%d]", path, i), items, e)...)
		}
	case string:
		if kind != "string" && kind != "" {
			out = append(out, path+" is a string, declared "+kind)
		}
	case bool:
		if kind != "boolean" && kind != "" {
			out = append(out, path+" is a boolean, declared "+kind)
		}
	case float64:
		if kind != "number" && kind != "integer" && kind != "" {
			out = append(out, path+" is a number, declared "+kind)
		}
	}
	return out
}
