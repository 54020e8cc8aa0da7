package redact

import (
	"crypto/sha256"
	"iter"
	"strings"
)

// kind is what a mask says about the value behind it. The order is the priority when findings overlap: the later kind names the union.
type kind uint8

const (
	kindNone kind = iota
	kindTrace
	kindPID
	kindPod
	kindHost
	kindMAC
	kindIP
	kindPhone
	kindEmail
	kindID
	kindCard
	kindSQL
	kindSecret
	kindCount
)

var kindNames = [kindCount]string{
	kindTrace: "trace", kindPID: "pid", kindPod: "pod", kindHost: "host", kindMAC: "mac", kindIP: "ip",
	kindPhone: "phone", kindEmail: "email", kindID: "id", kindCard: "card", kindSQL: "sql", kindSecret: "secret",
}

// tagged tells whether masks of k carry a run-stable suffix. Secrets and literals never do: equal secrets must not be seen to be equal.
func (k kind) tagged() bool { return k != kindSecret && k != kindSQL }

// suffixLen is six base32 characters, 30 bits: enough to tell the hosts of one incident apart, too few to say anything outside the run.
const suffixLen = 6

const tagAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// Tagger makes masks of infrastructure and persons stable within one run: the same host reads <host:k3f9qa> in every call that shares the salt, and nothing
// can be learned from the suffix without it. A nil *Tagger gives plain masks (<host>). It is safe for concurrent use.
type Tagger struct {
	inner, outer [64]byte
}

// NewTagger keys the masks of one run by its random salt.
func NewTagger(salt [32]byte) *Tagger {
	t := &Tagger{}
	for i := range t.inner {
		var k byte
		if i < len(salt) {
			k = salt[i]
		}
		t.inner[i], t.outer[i] = k^0x36, k^0x5c
	}
	return t
}

// suffix is HMAC-SHA256(salt, kind "|" canonical value), cut to six base32 characters. It is written out by hand because crypto/hmac allocates two hashes a call.
func (t *Tagger) suffix(k kind, value []byte) [suffixLen]byte {
	var stack [256]byte
	buf := append(stack[:0], t.inner[:]...)
	buf = append(buf, kindNames[k]...)
	buf = append(buf, '|')
	buf = appendCanonical(buf, k, value)
	in := sha256.Sum256(buf)
	buf = append(append(stack[:0], t.outer[:]...), in[:]...)
	sum := sha256.Sum256(buf)
	var out [suffixLen]byte
	v := uint32(sum[0])<<24 | uint32(sum[1])<<16 | uint32(sum[2])<<8 | uint32(sum[3])
	for i := range out {
		out[i] = tagAlphabet[v>>27]
		v <<= 5
	}
	return out
}

// appendCanonical writes the form of a value under which two spellings of one thing are equal: hosts and addresses without case, numbers without separators.
func appendCanonical(dst []byte, k kind, v []byte) []byte {
	switch k {
	case kindPhone, kindCard:
		for _, c := range v {
			if isDigit(c) || c == '+' {
				dst = append(dst, c)
			}
		}
		return dst
	case kindMAC:
		for _, c := range v {
			if isHex(c) {
				dst = append(dst, lower(c))
			}
		}
		return dst
	}
	for _, c := range v {
		dst = append(dst, lower(c))
	}
	return dst
}

// tagAt gives the kind and the length of the mask that begins at b[i], or kindNone.
func tagAt[T string | []byte](b T, i int) (kind, int) {
	if i >= len(b) || b[i] != '<' || i+4 > len(b) {
		return kindNone, 0
	}
	var k kind
	switch b[i+1] {
	case 's':
		k = kindSecret
		if b[i+2] == 'q' {
			k = kindSQL
		}
	case 'i':
		k = kindID
		if b[i+2] == 'p' {
			k = kindIP
		}
	case 'h':
		k = kindHost
	case 'm':
		k = kindMAC
	case 'e':
		k = kindEmail
	case 'c':
		k = kindCard
	case 't':
		k = kindTrace
	case 'p':
		switch b[i+2] {
		case 'o':
			k = kindPod
		case 'i':
			k = kindPID
		default:
			k = kindPhone
		}
	default:
		return kindNone, 0
	}
	name := kindNames[k]
	j := i + 1
	if len(b)-j <= len(name) {
		return kindNone, 0
	}
	for n := range len(name) {
		if b[j+n] != name[n] {
			return kindNone, 0
		}
	}
	j += len(name)
	if b[j] == '>' {
		return k, j + 1 - i
	}
	if b[j] != ':' || !k.tagged() || len(b)-j < suffixLen+2 || b[j+1+suffixLen] != '>' {
		return kindNone, 0
	}
	for n := 1; n <= suffixLen; n++ {
		if c := b[j+n]; !isDigit(c) && (c < 'a' || c > 'z') {
			return kindNone, 0
		}
	}
	return k, j + suffixLen + 2 - i
}

// FindTag gives the byte range of the first mask in s, or -1, -1.
func FindTag(s string) (start, end int) {
	for i := 0; i < len(s); i++ {
		j := strings.IndexByte(s[i:], '<')
		if j < 0 {
			break
		}
		i += j
		if _, n := tagAt(s, i); n > 0 {
			return i, i + n
		}
	}
	return -1, -1
}

// Tags yields the byte ranges of all masks in s, in order.
func Tags(s string) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for off := 0; ; {
			a, e := FindTag(s[off:])
			if a < 0 || !yield(off+a, off+e) {
				return
			}
			off += e
		}
	}
}

// Opaque is redacted text with every mask replaced by one NUL, which no query can hold: a search for "secret" or "host" must not match a mask.
func Opaque(redacted string) string {
	a, e := FindTag(redacted)
	if a < 0 {
		return redacted
	}
	var sb strings.Builder
	sb.Grow(len(redacted))
	for a >= 0 {
		sb.WriteString(redacted[:a])
		sb.WriteByte(0)
		redacted = redacted[e:]
		a, e = FindTag(redacted)
	}
	sb.WriteString(redacted)
	return sb.String()
}
