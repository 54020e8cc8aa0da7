package strictjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

type args struct {
	Query string   `json:"query"`
	Limit int      `json:"limit"`
	Tags  []string `json:"tags"`
	Sub   struct {
		Name string `json:"name"`
	} `json:"sub"`
}

func TestDecodeRefusesWhatEncodingJSONForgives(t *testing.T) {
	for name, c := range map[string]struct{ in, says string }{
		"unknown member":          {`{"query":"a","evil":1}`, `unknown argument "evil"`},
		"other letter case":       {`{"Query":"a"}`, `unknown argument "Query"`},
		"both letter cases":       {`{"query":"a","QUERY":"b"}`, "twice"},
		"long s folds to s":       {`{"tags":[],"tag` + "\u017f" + `":[]}`, "twice"},
		"kelvin sign folds to k":  {`{"k":1,"` + "\u212a" + `":2}`, "twice"},
		"duplicate":               {`{"query":"a","query":"b"}`, `"query" is given twice`},
		"duplicate deep inside":   {`{"sub":{"name":"a","name":"b"}}`, "twice"},
		"escaped duplicate":       {`{"query":"a","\u0071uery":"b"}`, "twice"},
		"NUL in a name":           {`{"query\u0000":"a"}`, "NUL"},
		"string for a number":     {`{"limit":"5"}`, `"limit" has the wrong type, want a number`},
		"number for a string":     {`{"query":5}`, `"query" has the wrong type, want a string`},
		"object for a list":       {`{"tags":{}}`, `"tags" has the wrong type, want a list`},
		"fraction for an integer": {`{"limit":1.5}`, `"limit" has the wrong type`},
		"trailing data":           {`{} {}`, "follows"},
		"trailing comma":          {`{"limit":1,}`, "not a JSON value"},
		"nothing":                 {``, "not a JSON value"},
		"half":                    {`{"query":`, "not a JSON value"},
		"invalid UTF-8":           {"{\"query\":\"\xff\"}", "not a JSON value"},
		"lone surrogate":          {`{"query":"\ud800"}`, "not a JSON value"},
		"too deep":                {strings.Repeat("[", 100), "nested deeper"},
		"very deep":               {strings.Repeat("[", 1_000_000), "nested deeper"},
		"comment":                 {`{} // x`, "follows"},
		"single quotes":           {`{'query':'a'}`, "not a JSON value"},
	} {
		var a args
		err := Decode([]byte(c.in), &a)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want an error with %q", name, err, c.says)
		}
	}
}

// An unknown argument was refused without a word about the right ones: a model that guessed "topic" had to guess again.
func TestAnUnknownArgumentIsToldTheKnownOnes(t *testing.T) {
	for in, want := range map[string]string{
		`{"querys":"a"}`:             `unknown argument "querys"; did you mean "query"? known: query, limit, tags, sub`,
		`{"Query":"a"}`:              `unknown argument "Query"; did you mean "query"? known: query, limit, tags, sub`,
		`{"collections":["a"]}`:      `unknown argument "collections"; known: query, limit, tags, sub`,
		`{"sub":{"names":"S3CR3T"}}`: `unknown argument "sub/names"; did you mean "name"? known: name`,
	} {
		var a args
		if err := Decode([]byte(in), &a); err == nil || err.Error() != want {
			t.Errorf("Decode(%s) = %v, want %s", in, err, want)
		}
	}
}

func TestErrorsNeverCarryValues(t *testing.T) {
	for _, in := range []string{`{"query":["S3CR3T"]}`, `{"limit":"S3CR3T"}`, `{"query":"S3CR3T`, `"S3CR3T"`} {
		var a args
		if err := Decode([]byte(in), &a); err == nil || strings.Contains(err.Error(), "S3CR3T") {
			t.Errorf("Decode(%s) = %v", in, err)
		}
	}
}

func TestDecodeTakesWhatIsRight(t *testing.T) {
	var a args
	if err := Decode([]byte(` {"query":"数据\n","limit":9007199254740993,"tags":["a","a"],"sub":{"name":"x"}} `), &a); err != nil {
		t.Fatal(err)
	}
	if a.Query != "数据\n" || a.Limit != 9007199254740993 || len(a.Tags) != 2 || a.Sub.Name != "x" {
		t.Errorf("%+v", a)
	}
	if err := Check([]byte(`[{"a":1},{"a":2,"b":{"a":3}}]`)); err != nil {
		t.Errorf("the same name in different objects: %v", err)
	}
	if err := Check([]byte(`{"a":{"x":1},"b":{"x":1},"c":{"X":1}}`)); err != nil {
		t.Errorf("names of sibling objects were compared: %v", err)
	}
}

// Many names, many small objects beside a large one: the close look is as strict, and its cost does not follow the largest object.
func TestManyNamesAreChecked(t *testing.T) {
	var b strings.Builder
	b.WriteString(`[{"n0":0`)
	for i := 1; i < 5000; i++ {
		fmt.Fprintf(&b, `,"n%d":0`, i)
	}
	large := b.String()
	if err := Check([]byte(large + `}]`)); err != nil {
		t.Error(err)
	}
	if err := Check([]byte(large + `,"N4999":0}]`)); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("%v", err)
	}
	if err := Check([]byte(large + `}` + strings.Repeat(`,{"a":1}`, 5000) + `]`)); err != nil {
		t.Error(err)
	}
}

func TestEncodeIsDeterministicAndPlain(t *testing.T) {
	b, err := Encode(map[string]any{"b": "<a&b>", "a": []string(nil)})
	if err != nil || string(b) != `{"a":[],"b":"<a&b>"}` {
		t.Errorf("%s %v", b, err)
	}
}

func TestSyntaxIsToldFromShape(t *testing.T) {
	if err := Check([]byte(`{`)); !errors.Is(err, ErrSyntax) {
		t.Errorf("%v", err)
	}
	if err := Check([]byte(`{"a":1,"a":1}`)); errors.Is(err, ErrSyntax) {
		t.Errorf("%v", err)
	}
}

// Whatever Check accepts, encoding/json reads too, and no two names of one object fold together.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{`{"a":1,"b":{"A":1,"a":2}}`, `[{"a":1},{"a":1}]`, `{"a":"x:","x":":"}`, `{"a" :1,"b"	:"a\":","A" : 2}`, `{"k":1,"\u212a":2}`, `{"数":1,"数":2}`, `{}`, `{"a":[1,{"b":null}]}`, `{"a":1,"A":2}`, `[[]]`, `"\u0000"`, `1e999`, `{"a":{"a":{}}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if err := explain(in); (Check(in) == nil) != (err == nil) {
			t.Fatalf("the quick look and the close one differ on %q: %v", in, err)
		}
		if Check(in) != nil {
			return
		}
		if !json.Valid(in) {
			t.Fatalf("accepted what is no JSON: %q", in)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	in := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"query_logs","arguments":{"topics":["checkout"],"query":"declined","from":"-15m"}}}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := Check(in); err != nil {
			b.Fatal(err)
		}
	}
}
