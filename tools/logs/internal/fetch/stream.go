package fetch

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// ErrShape is an answer that is no JSON or not of the shape that the API has.
var ErrShape = errors.New("the answer has another shape than the API's")

// Document reads one JSON value that is an object and nothing behind it, member by member, so that an answer is never in memory as a whole.
func Document(r io.Reader, member func(d *json.Decoder, key string) error) error {
	d := json.NewDecoder(r)
	if err := Object(d, member); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return malformed(err)
	}
	return nil
}

// Object calls member for each member of the object that comes next. member reads exactly its value.
func Object(d *json.Decoder, member func(d *json.Decoder, key string) error) error {
	return each(d, '{', func() error {
		t, err := d.Token()
		if err != nil {
			return malformed(err)
		}
		key, _ := t.(string)
		return member(d, key)
	})
}

// Array calls element for each element of the list that comes next. element reads exactly one value. null is an empty list.
func Array(d *json.Decoder, element func(d *json.Decoder) error) error {
	return each(d, '[', func() error { return element(d) })
}

func each(d *json.Decoder, open json.Delim, fn func() error) error {
	t, err := d.Token()
	if err != nil {
		return malformed(err)
	}
	if t == nil && open == '[' {
		return nil
	}
	if t != open {
		return fault.New(fault.BackendError, "fetch.Document", ErrShape)
	}
	for d.More() {
		if err := fn(); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return malformed(err)
	}
	return nil
}

// Value reads the value that comes next. An empty v skips it.
func Value(d *json.Decoder, v any) error {
	if v == nil {
		v = new(json.RawMessage)
	}
	if err := d.Decode(v); err != nil {
		return malformed(err)
	}
	return nil
}

// malformed gives the error of a decoder its code; an answer that ended too early is told apart, and Do gives it its code.
func malformed(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return io.ErrUnexpectedEOF
	}
	return fault.New(fault.BackendError, "fetch.Document", ErrShape)
}
