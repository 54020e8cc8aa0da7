package sqlguard_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// The printed SQL holds fixed words, names in back quotes, numbers and literals. This test holds the first: a word is made from a constant of the
// source, never from a variable that could carry a caller's text; and only the printer writes into the output.
func TestWordsAreConstants(t *testing.T) {
	t.Parallel()
	fset := token.NewFileSet()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "word" {
				n++
				if _, ok := call.Args[0].(*ast.BasicLit); !ok {
					t.Errorf("%s: a word is made from something else than a constant", fset.Position(call.Pos()))
				}
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && strings.HasPrefix(sel.Sel.Name, "Write") {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "p" && !strings.HasPrefix(fset.Position(call.Pos()).Filename, "print") {
					t.Errorf("%s: only the printer writes", fset.Position(call.Pos()))
				}
			}
			return true
		})
	}
	if n < 50 {
		t.Errorf("only %d words were found; the test looks at the wrong thing", n)
	}
}
