// Package fault is the one error vocabulary of the gateway. An error is wrapped once, where its code is decided; everything above passes it on. Only the code,
// its fixed sentence and a hint built from the caller's own request or the published allowlist may reach a client: the cause never does.
package fault

import (
	"context"
	"errors"
	"strings"
)

// Code is a stable error code of the wire contract. The list is closed: see Codes.
type Code string

// The codes of docs/design.md section 8.
const (
	RunNotActive        Code = "RUN_NOT_ACTIVE"
	RunMismatch         Code = "RUN_MISMATCH"
	InvalidToolCallID   Code = "INVALID_TOOL_CALL_ID"
	DuplicateToolCallID Code = "DUPLICATE_TOOL_CALL_ID"
	ToolNotAuthorized   Code = "TOOL_NOT_AUTHORIZED"
	ToolNotReadOnly     Code = "TOOL_NOT_READ_ONLY"
	InvalidRequest      Code = "INVALID_REQUEST"
	RequestTooLarge     Code = "REQUEST_TOO_LARGE"
	BudgetExhausted     Code = "BUDGET_EXHAUSTED"
	Overloaded          Code = "OVERLOADED"
	StopRequired        Code = "STOP_REQUIRED"
	RawTooLarge         Code = "RAW_TOO_LARGE"
	RecordTooLarge      Code = "RECORD_TOO_LARGE"
	ProjectionError     Code = "PROJECTION_ERROR"
	BackendError        Code = "BACKEND_ERROR"
	BackendTimeout      Code = "BACKEND_TIMEOUT"
	BackendIncomplete   Code = "BACKEND_INCOMPLETE"
	BackendBusy         Code = "BACKEND_BUSY"
	StoreError          Code = "STORE_ERROR"
	Cancelled           Code = "CANCELLED"
	Internal            Code = "INTERNAL"

	SQLSyntax             Code = "SQL_SYNTAX"
	SQLUnsupported        Code = "SQL_UNSUPPORTED"
	SQLNotReadOnly        Code = "SQL_NOT_READ_ONLY"
	SQLTableNotAllowed    Code = "SQL_TABLE_NOT_ALLOWED"
	SQLColumnNotAllowed   Code = "SQL_COLUMN_NOT_ALLOWED"
	SQLMaskedColumn       Code = "SQL_MASKED_COLUMN"
	SQLFunctionNotAllowed Code = "SQL_FUNCTION_NOT_ALLOWED"
	SQLAmbiguous          Code = "SQL_AMBIGUOUS"
	SQLTooComplex         Code = "SQL_TOO_COMPLEX"
	SQLRuntime            Code = "SQL_RUNTIME"
)

// sentences holds the one fixed sentence a client reads for each code.
var sentences = map[Code]string{
	RunNotActive:        "The run is not active.",
	RunMismatch:         "The request names a run that differs from the one it is bound to.",
	InvalidToolCallID:   "The tool call id is malformed.",
	DuplicateToolCallID: "This tool call id was already used in the run; nothing was executed again.",
	ToolNotAuthorized:   "The tool is unknown or the caller may not use it.",
	ToolNotReadOnly:     "The tool is not declared read-only.",
	InvalidRequest:      "The request is not valid.",
	RequestTooLarge:     "The request is too large.",
	BudgetExhausted:     "The budget of the run does not allow this call.",
	Overloaded:          "The gateway is serving as many calls as it may; try again shortly.",
	StopRequired:        "The run brought nothing new lately and was stopped; report what is known.",
	RawTooLarge:         "The backend's answer is larger than a call may read; narrow the request.",
	RecordTooLarge:      "The record of the call is larger than the store may hold; narrow the request.",
	ProjectionError:     "The backend's answer could not be turned into an observation.",
	BackendError:        "The backend reported an error.",
	BackendTimeout:      "The backend did not answer in time.",
	BackendIncomplete:   "The backend's answer is incomplete, so an empty result would prove nothing.",
	BackendBusy:         "The backend has no free connection at the moment; try again shortly.",
	StoreError:          "The record of the call could not be kept, so its answer is withheld.",
	Cancelled:           "The call was cancelled.",
	Internal:            "The call failed inside the gateway.",

	SQLSyntax:             "The statement could not be read as SQL.",
	SQLUnsupported:        "The statement uses a construct that is not supported here.",
	SQLNotReadOnly:        "Only a single SELECT statement is allowed.",
	SQLTableNotAllowed:    "The statement names a table that is not on the allowlist.",
	SQLColumnNotAllowed:   "The statement names a column that is not on the allowlist.",
	SQLMaskedColumn:       "A masked column may only be listed, counted or tested for NULL.",
	SQLFunctionNotAllowed: "The statement calls a function that is not on the allowlist.",
	SQLAmbiguous:          "The statement can be read in more than one way.",
	SQLTooComplex:         "The statement is larger or more complex than allowed.",
	SQLRuntime:            "The database could not evaluate the statement.",
}

// Codes lists every code, in no particular order.
func Codes() []Code {
	out := make([]Code, 0, len(sentences))
	for c := range sentences {
		out = append(out, c)
	}
	return out
}

// Sentence is the fixed public sentence of c; that of INTERNAL when c is unknown.
func Sentence(c Code) string {
	if s, ok := sentences[c]; ok {
		return s
	}
	return sentences[Internal]
}

// Known tells whether c is on the closed list.
func Known(c Code) bool { _, ok := sentences[c]; return ok }

// Error carries a code, the operation that decided it, an optional public hint and the private cause.
type Error struct {
	code  Code
	op    string
	hint  string
	cause error
}

// New decides the code of a failure. op names the place ("mysql.Run"); cause may be nil and never leaves the process.
func New(code Code, op string, cause error) *Error {
	if !Known(code) {
		code = Internal
	}
	return &Error{code: code, op: op, cause: cause}
}

// WithHint returns a copy of e with a public hint: the next step for the caller. It may name identifiers of the caller's own request or of the published
// allowlist and nothing else. Hints over 512 bytes are cut at a rune border.
func (e *Error) WithHint(hint string) *Error {
	c := *e
	c.hint = cut(strings.ToValidUTF8(hint, "\uFFFD"), 512)
	return &c
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

// Code is the stable code.
func (e *Error) Code() Code { return e.code }

// Hint is the public hint, or "".
func (e *Error) Hint() string { return e.hint }

// Error names the code and the place, not the cause: the text is safe to log.
func (e *Error) Error() string { return e.op + ": " + string(e.code) }

// Unwrap gives the private cause, for errors.Is inside the process.
func (e *Error) Unwrap() error { return e.cause }

// CodeOf is the code that err carries; a bare context error maps to CANCELLED or BACKEND_TIMEOUT; anything else is INTERNAL. CodeOf(nil) is "".
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.code
	}
	switch {
	case errors.Is(err, context.Canceled):
		return Cancelled
	case errors.Is(err, context.DeadlineExceeded):
		return BackendTimeout
	}
	return Internal
}

// Public is all that a client may learn of err.
func Public(err error) (code Code, message, hint string) {
	code = CodeOf(err)
	if e, ok := errors.AsType[*Error](err); ok {
		hint = e.hint
	}
	return code, Sentence(code), hint
}
