package config

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// keyProblem checks canonical.encryption_key: one or more keys of 32 bytes in hex or base64, comma separated. The first encrypts; all of them decrypt, so that a key
// can be rotated.
func keyProblem(s string) string {
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if b, err := hex.DecodeString(part); err == nil && len(b) == 32 {
			continue
		}
		if b, err := base64.StdEncoding.DecodeString(part); err == nil && len(b) == 32 {
			continue
		}
		return "must be 32 random bytes in hex or base64, as \"openssl rand -hex 32\" prints them; to rotate, write the new key first: NEW,OLD"
	}
	return ""
}
