package sqlguard

import (
	"errors"
	"fmt"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// Bounds of one statement. They are well above what people and models write and below what makes a parser, the printer or a server slow.
const (
	// MaxBytes is the longest statement that is read: under the 100 KB at which every parser measured still answers in about a second.
	MaxBytes = 64 << 10

	maxTokens  = 16384   // an IN list of some 8,000 values
	maxDepth   = 64      // brackets and CASE in each other; generated SQL stays below 30
	maxRun     = 24      // unary operators in a row
	maxSelects = 96      // SELECT words in one statement
	maxTables  = 40      // tables in one FROM; MySQL itself stops at 61
	maxSpine   = 600     // operands in one left-leaning chain of + or OR
	maxOutputs = 1000    // result columns
	maxNodes   = 40000   // nodes of the closed form: bounds the star expansion too
	maxPrinted = 1 << 20 // bytes of the printed plan: names with their tables and stars make it longer than the statement
	maxRepeat  = 10000   // characters that REPEAT, SPACE, LPAD, RPAD may be asked for
	maxLoose   = 2       // groups of tables without any condition between them: three multiply to billions
)

const (
	codeSyntax      = fault.SQLSyntax
	codeUnsupported = fault.SQLUnsupported
	codeNotReadOnly = fault.SQLNotReadOnly
	codeTable       = fault.SQLTableNotAllowed
	codeColumn      = fault.SQLColumnNotAllowed
	codeMasked      = fault.SQLMaskedColumn
	codeFunction    = fault.SQLFunctionNotAllowed
	codeAmbiguous   = fault.SQLAmbiguous
	codeComplex     = fault.SQLTooComplex
)

var errRefused = errors.New("refused")

// refuse makes a refusal. The hint names only words of the caller's statement and of the allowlist.
func refuse(code fault.Code, format string, args ...any) *fault.Error {
	hint := format
	if len(args) > 0 {
		hint = fmt.Sprintf(format, args...)
	}
	return fault.New(code, "sqlguard.Plan", errRefused).WithHint(hint)
}

func unsupported(what string) error {
	return refuse(codeUnsupported, "%s is not supported; write the query without it", what)
}

// show makes a name of the caller's statement fit for a hint: short, one line, no control characters.
func show(name string) string {
	s := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2060 && r <= 0x206f || r == 0xfeff {
			return -1
		}
		return r
	}, name)
	if r := []rune(s); len(r) > 64 {
		s = string(r[:64]) + "…"
	}
	return s
}

func list(names []string, most int) string {
	if len(names) > most {
		return strings.Join(names[:most], ", ") + " …"
	}
	return strings.Join(names, ", ")
}
