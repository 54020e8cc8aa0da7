package config

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
)

// Key is one AES-256 key of the record store. ID names it in stored records, so that keys can be rotated.
type Key struct {
	ID    string
	Bytes []byte
}

// Keys reads canonical.encryption_key: 32 bytes in hex or base64, or several named ones, the first of which encrypts: "k2:HEX,k1:HEX". Empty: none.
func Keys(s string) ([]Key, error) {
	if s == "" {
		return nil, nil
	}
	var out []Key
	seen := map[string]bool{}
	for part := range strings.SplitSeq(s, ",") {
		id, enc, named := strings.Cut(strings.TrimSpace(part), ":")
		if !named {
			id, enc = "k1", strings.TrimSpace(part)
		}
		if !nameGrammar.MatchString(id) || seen[id] {
			return nil, fmt.Errorf("key names must differ and be plain, as in k2:KEY,k1:KEY")
		}
		seen[id] = true
		b, err := decodeKey(enc)
		if err != nil {
			return nil, err
		}
		out = append(out, Key{id, b})
	}
	return out, nil
}

func decodeKey(s string) ([]byte, error) {
	if b, err := hex.DecodeString(s); err == nil && len(b) == 32 {
		return b, nil
	}
	if b, err := base64.StdEncoding.DecodeString(s); err == nil && len(b) == 32 {
		return b, nil
	}
	return nil, fmt.Errorf("a key is 32 random bytes in hex or base64, as \"openssl rand -hex 32\" prints them")
}

func keyProblem(s string) string {
	if _, err := Keys(s); err != nil {
		return err.Error()
	}
	return ""
}
