package harness

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"

	"github.com/seed-069badc9/mcp-gateway/boundary"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/internal/strictjson"
)

// statusOf maps a code of the closed list to a status. Codes that only a call can end with do not occur here: they would be INTERNAL.
func statusOf(code fault.Code) int {
	switch code {
	case fault.RunNotActive:
		return http.StatusNotFound
	case fault.InvalidRequest, fault.InvalidToolCallID, fault.RunMismatch:
		return http.StatusBadRequest
	case fault.ToolNotAuthorized:
		return http.StatusForbidden
	case fault.BudgetExhausted, fault.Overloaded:
		return http.StatusTooManyRequests
	case fault.RequestTooLarge:
		return http.StatusRequestEntityTooLarge
	case fault.StoreError, fault.Cancelled, fault.BackendTimeout: // the last two: a bare error of the request's context
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

func writeError(w http.ResponseWriter, status int, code fault.Code, hint string) {
	if code == fault.Overloaded || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	ref := &boundary.Refusal{Code: code, Hint: hint}
	writeBody(w, status, ref.JSON())
}

func wrongMethod(w http.ResponseWriter, allow string) {
	w.Header().Set("Allow", allow)
	writeError(w, http.StatusMethodNotAllowed, fault.InvalidRequest, "the path takes "+allow)
}

func writeBody(w http.ResponseWriter, status int, body []byte) {
	if body != nil {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone needs no answer
}

func encode(v any) ([]byte, error) {
	b, err := strictjson.Encode(v)
	if err != nil {
		return nil, fault.New(fault.Internal, "harness.encode", err)
	}
	return b, nil
}

func invalid(op, hint string) error { return fault.New(fault.InvalidRequest, op, nil).WithHint(hint) }

// readBody reads a JSON object strictly; no body at all leaves v as it is.
func readBody(r *http.Request, v any) error {
	const op = "harness.readBody"
	data, err := io.ReadAll(r.Body)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return fault.New(fault.RequestTooLarge, op, err).WithHint("a body holds at most 4 MiB")
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fault.New(fault.InvalidRequest, op, err).WithHint("the body did not arrive in time")
	}
	if err != nil {
		return fault.New(fault.InvalidRequest, op, err)
	}
	if len(data) == 0 {
		return nil
	}
	if err := strictjson.Decode(data, v); err != nil {
		return fault.New(fault.InvalidRequest, op, err).WithHint(err.Error())
	}
	return noNull(data)
}

// noNull refuses null, which decoding takes for "left out": whoever sends "tools": null for "none" would open a run for every tool.
func noNull(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil || tok == nil {
			return fault.New(fault.InvalidRequest, "harness.readBody", err).WithHint("null is no value here: leave the member out")
		}
	}
}

// readQuery reads whole numbers from the query: name → where it goes. Another or a repeated parameter, or one outside its range, is INVALID_REQUEST.
func readQuery(r *http.Request, params map[string]*number) error {
	const op = "harness.readQuery"
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return invalid(op, "the query cannot be read")
	}
	for name, values := range q {
		p := params[name]
		if p == nil || len(values) != 1 {
			return invalid(op, "the query holds a parameter that is unknown here or given twice")
		}
		n, err := strconv.ParseInt(values[0], 10, 64)
		if err != nil || n < p.min || n > p.max {
			return invalid(op, name+" must be a whole number from "+strconv.FormatInt(p.min, 10)+" to "+strconv.FormatInt(p.max, 10))
		}
		p.value = n
	}
	return nil
}

// number is a parameter with its range and, before it is read, its default.
type number struct{ value, min, max int64 }
