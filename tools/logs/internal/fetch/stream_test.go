package fetch

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

// without is a text that goes on without end.
type without struct {
	head string
	fill byte
	read int64
}

func (w *without) Read(b []byte) (int, error) {
	n := copy(b, w.head)
	w.head = w.head[n:]
	for ; n < len(b); n++ {
		b[n] = w.fill
	}
	w.read += int64(n)
	return n, nil
}

// 64 servers that each send one value without end held half a gigabyte.
func TestAValueWithoutEndIsNotHeld(t *testing.T) {
	t.Parallel()
	list := func(d *json.Decoder, _ string) error {
		return Array(d, func(d *json.Decoder) error { return Value(d, nil) })
	}
	for name, w := range map[string]*without{
		"a string":          {head: `{"a":["`, fill: 'x'},
		"a number":          {head: `{"a":[1`, fill: '1'},
		"lists within":      {head: `{"a":[`, fill: '['},
		"blanks":            {head: `{"a":[`, fill: ' '},
		"a name":            {head: `{"`, fill: 'x'},
		"before the object": {fill: ' '},
	} {
		if err := Document(w, list); !errors.Is(err, ErrLong) && !errors.Is(err, ErrShape) || w.read > 3*maxValue {
			t.Errorf("%s: %d bytes read, %v", name, w.read, err)
		}
	}
}

func TestAValueMayBeLargeAndAListLarger(t *testing.T) {
	t.Parallel()
	one := `"` + strings.Repeat("x", maxValue/2) + `"`
	n := 0
	err := Document(io.MultiReader(strings.NewReader(`{"a":[`+one), strings.NewReader(strings.Repeat(","+one, 7)+`]}`)), func(d *json.Decoder, _ string) error {
		return Array(d, func(d *json.Decoder) error {
			n++
			return Value(d, nil)
		})
	})
	if err != nil || n != 8 {
		t.Errorf("%d values, %v", n, err)
	}
}
