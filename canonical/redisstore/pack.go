package redisstore

import (
	"errors"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/seed-069badc9/mcp-gateway/canonical/internal/seal"
)

// The kinds of a stored value.
const (
	asIs   = 0
	zipped = 1
)

// minZip is where compression begins to pay: below it the saved bytes are less than one network packet or two.
const minZip = 4 << 10

// maxValue bounds what a stored value may unfold to: eight times the default of call.max_record.
const maxValue = 64 << 20

var errKind = errors.New("redisstore: a stored value has an unknown kind")

// packer compresses values that are worth it. Its coders are made on first use: they hold some MiB.
type packer struct {
	zip   func() (*zstd.Encoder, error)
	unzip func() (*zstd.Decoder, error)
}

func newPacker() packer {
	return packer{
		zip: sync.OnceValues(func() (*zstd.Encoder, error) {
			return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2), zstd.WithWindowSize(1<<20))
		}),
		unzip: sync.OnceValues(func() (*zstd.Decoder, error) {
			return zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxValue))
		}),
	}
}

// store appends the stored form of a value to dst: compressed when it shrinks, sealed when there is a key.
func (p packer) store(dst []byte, ring *seal.Ring, value []byte, place ...string) ([]byte, error) {
	kind := byte(asIs)
	if len(value) >= minZip {
		z, err := p.zip()
		if err != nil {
			return nil, err
		}
		// An eighth must be won, or reading it back is not worth the work.
		if small := z.EncodeAll(value, make([]byte, 0, len(value)/2)); len(small) < len(value)-len(value)/8 {
			kind, value = zipped, small
		}
	}
	return ring.Seal(dst, kind, value, place...), nil
}

// load gives back a value; an absent one is nil.
func (p packer) load(ring *seal.Ring, stored string, place ...string) ([]byte, error) {
	if stored == "" {
		return nil, nil
	}
	kind, value, err := ring.Open([]byte(stored), place...)
	if err != nil {
		return nil, err
	}
	switch kind {
	case asIs:
	case zipped:
		z, err := p.unzip()
		if err != nil {
			return nil, err
		}
		if value, err = z.DecodeAll(value, nil); err != nil {
			return nil, err
		}
	default:
		return nil, errKind
	}
	if len(value) == 0 {
		return nil, nil
	}
	return value, nil
}
