package fetch

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// ErrShape is an answer that is no JSON or not of the shape that the API has.
var ErrShape = errors.New("the answer has another shape than the API's")

// maxValue bounds one value of a document: 64 calls at once that each wait for the end of one stay under what their answers may take. It is four times the longest
// line that a Loki keeps.
const maxValue = 1 << 20

// pending reads for a decoder and stops where the decoder holds more than a value may be.
type pending struct {
	r    io.Reader
	d    *json.Decoder
	read int64
}

func (p *pending) Read(b []byte) (int, error) {
	if p.read-p.d.InputOffset() > maxValue {
		return 0, ErrLong
	}
	n, err := p.r.Read(b)
	p.read += int64(n)
	return n, err
}

// Document reads one JSON value that is an object and nothing behind it, member by member, so that an answer is never in memory as a whole. A member or element that
// Value reads and that is over 1 MiB is ErrLong.
func Document(r io.Reader, member func(d *json.Decoder, key string) error) error {
	p := &pending{r: r}
	p.d = json.NewDecoder(p)
	d := p.d
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
	if errors.Is(err, ErrLong) {
		return ErrLong
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return io.ErrUnexpectedEOF
	}
	return fault.New(fault.BackendError, "fetch.Document", ErrShape)
}
