// Package seal encrypts what a store keeps of a call: AES-256-GCM with the principal, the run, the call and the field as associated data, so that a sealed value
// cannot be moved to another record. The first key seals, all keys open: a rotation puts the new key in front and drops the old one when its records have
// expired. A store with keys refuses what is not sealed: whoever can write into the store cannot plant evidence.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Ring holds the keys. The nil Ring keeps content plain.
type Ring struct{ keys []key }

type key struct {
	id   [idLen]byte
	aead cipher.AEAD
}

const (
	plain  = 0
	sealed = 1

	idLen  = 4
	header = 2 // the form and the caller's kind
)

// The causes of a value that cannot be opened.
var (
	ErrBroken = errors.New("seal: the stored value is damaged or belongs to another record")
	ErrPlain  = errors.New("seal: the stored value is not encrypted although a key is configured")
	ErrNoKey  = errors.New("seal: the stored value is encrypted with a key that is not configured")
)

// Parse reads keys: 32 bytes each as base64 or hex, separated by commas. "" gives the nil Ring.
func Parse(text string) (*Ring, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var r Ring
	for i, part := range strings.Split(text, ",") {
		raw, ok := decode(strings.TrimSpace(part))
		if !ok {
			return nil, fmt.Errorf("encryption key %d of %d is not 32 bytes as base64 or hex; make one with: openssl rand -base64 32", i+1, strings.Count(text, ",")+1)
		}
		block, err := aes.NewCipher(raw)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, err
		}
		// The key's own digest names it: nobody has to invent ids, and a rotation needs no second setting.
		sum := sha256.Sum256(append([]byte("mcp-gateway key id\x00"), raw...))
		r.keys = append(r.keys, key{[idLen]byte(sum[:idLen]), aead})
	}
	return &r, nil
}

func decode(s string) ([]byte, bool) {
	if b, err := hex.DecodeString(s); err == nil && len(b) == 32 {
		return b, true
	}
	s = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	b, err := base64.RawStdEncoding.DecodeString(s)
	return b, err == nil && len(b) == 32
}

// Seal appends the stored form of a value to dst, which shares no memory with it. kind is one byte of the caller's that comes back with it. place names the
// record and the field.
func (r *Ring) Seal(dst []byte, kind byte, value []byte, place ...string) []byte {
	if r == nil {
		dst = slices.Grow(dst, header+len(value))
		return append(append(dst, plain, kind), value...)
	}
	k := r.keys[0]
	dst = slices.Grow(dst, header+idLen+k.aead.NonceSize()+len(value)+k.aead.Overhead())
	dst = append(append(dst, sealed, kind), k.id[:]...)
	nonce := dst[len(dst) : len(dst)+k.aead.NonceSize()]
	rand.Read(nonce)
	return k.aead.Seal(dst[:len(dst)+len(nonce)], nonce, value, associated(kind, place))
}

// Open gives back the value of a stored form. The value may share memory with it.
func (r *Ring) Open(stored []byte, place ...string) (kind byte, value []byte, err error) {
	if len(stored) < header {
		return 0, nil, ErrBroken
	}
	kind = stored[1]
	switch {
	case stored[0] == plain && r == nil:
		return kind, stored[header:], nil
	case stored[0] == plain:
		return 0, nil, ErrPlain
	case stored[0] != sealed:
		return 0, nil, ErrBroken
	case r == nil:
		return 0, nil, ErrNoKey
	}
	rest := stored[header:]
	for _, k := range r.keys {
		n := k.aead.NonceSize()
		if len(rest) < idLen+n || [idLen]byte(rest[:idLen]) != k.id {
			continue
		}
		value, err := k.aead.Open(nil, rest[idLen:idLen+n], rest[idLen+n:], associated(kind, place))
		if err != nil {
			return 0, nil, ErrBroken
		}
		return kind, value, nil
	}
	return 0, nil, ErrNoKey
}

// associated joins the parts of the place without ambiguity.
func associated(kind byte, place []string) []byte {
	out := []byte{kind}
	for _, p := range place {
		out = binary.BigEndian.AppendUint32(out, uint32(len(p)))
		out = append(out, p...)
	}
	return out
}
