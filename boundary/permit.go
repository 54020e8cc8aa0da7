package boundary

import (
	"errors"
	"io"
	"sync/atomic"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// Permit lets a tool read a bounded number of raw bytes of a backend's answer. It is meter and capability in one: the zero Permit lets no byte through. Once it
// has refused it refuses for good, and the call ends as an error whatever the tool makes of it. Safe for concurrent use.
type Permit struct {
	limit int64
	used  atomic.Int64
	over  atomic.Bool
	code  fault.Code
}

var errOver = errors.New("raw bytes over the allowance")

// newPermit allows min(maxRaw, left) bytes; which of the two is smaller decides the code of a refusal.
func newPermit(maxRaw, left int64) *Permit {
	if left < maxRaw {
		return &Permit{limit: max(left, 0), code: fault.BudgetExhausted}
	}
	return &Permit{limit: maxRaw, code: fault.RawTooLarge}
}

// Take claims n bytes of the answer before they are kept. The error is RAW_TOO_LARGE or BUDGET_EXHAUSTED: stop reading and return it.
func (p *Permit) Take(n int) error {
	if p == nil || n < 0 {
		return fault.New(fault.Internal, "boundary.Permit", errOver)
	}
	if p.over.Load() || p.used.Add(int64(n)) > p.limit {
		p.over.Store(true)
		return p.refusal()
	}
	return nil
}

func (p *Permit) refusal() error {
	if p.code == "" {
		return fault.New(fault.Internal, "boundary.Permit", errOver)
	}
	return fault.New(p.code, "boundary.Permit", errOver)
}

// Left is how many bytes may still be taken.
func (p *Permit) Left() int64 {
	if p == nil || p.over.Load() {
		return 0
	}
	return max(p.limit-p.used.Load(), 0)
}

// Reader meters r. It asks the source for at most one byte more than is left, so an endless backend is stopped at the limit, not after it was buffered.
func (p *Permit) Reader(r io.Reader) io.Reader { return &meteredReader{p, r} }

type meteredReader struct {
	p *Permit
	r io.Reader
}

func (m *meteredReader) Read(b []byte) (int, error) {
	if m.p == nil || m.p.over.Load() {
		return 0, m.p.refusalOrInternal()
	}
	if left := m.p.Left() + 1; int64(len(b)) > left {
		b = b[:left]
	}
	n, err := m.r.Read(b)
	if n > 0 {
		if terr := m.p.Take(n); terr != nil {
			return 0, terr
		}
	}
	return n, err
}

func (p *Permit) refusalOrInternal() error {
	if p == nil {
		return fault.New(fault.Internal, "boundary.Permit", errOver)
	}
	return p.refusal()
}

// err is the refusal that the permit has made, if any.
func (p *Permit) err() error {
	if p.over.Load() {
		return p.refusal()
	}
	return nil
}
