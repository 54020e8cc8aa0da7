package pattern

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
)

// Key is a stable identity of a group across calls: 16 hexadecimal digits over its template and scope, not its counts
// or values.
func Key(g Group) string {
	h := sha256.New()
	for _, s := range []string{g.Level, g.Class, g.Topic, g.Template} {
		_, _ = io.WriteString(h, s) // a hash never fails to write
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
