package sqlguard

import (
	"strings"
	"unicode"
)

// secretWords name a secret when they stand as whole words in a column name; pairs are written without a separator.
var secretWords = map[string]bool{
	"password": true, "passwords": true, "passwd": true, "pwd": true, "passphrase": true, "passcode": true, "secret": true, "secrets": true, "token": true, "tokens": true,
	"credential": true, "credentials": true, "creds": true, "apikey": true, "apikeys": true, "apitoken": true, "privatekey": true, "privkey": true, "secretkey": true, "accesskey": true,
	"accesstoken": true, "refreshtoken": true, "authtoken": true, "sessiontoken": true, "encryptionkey": true, "signingkey": true, "clientsecret": true, "otp": true, "totp": true,
	"passkey": true, "userpassword": true, "passwordhash": true,
}

// pairs of words that mean a secret together.
var secretPairs = map[[2]string]bool{
	{"api", "key"}: true, {"api", "keys"}: true, {"private", "key"}: true, {"private", "keys"}: true, {"access", "key"}: true, {"access", "keys"}: true, {"encryption", "key"}: true,
	{"signing", "key"}: true, {"auth", "key"}: true, {"session", "key"}: true, {"ssh", "key"}: true, {"pass", "word"}: true, {"pass", "phrase"}: true, {"master", "key"}: true,
}

// about follow or precede the secret's name when the column is about the secret and does not hold it: token_count, password_changed_at.
var about = map[string]bool{
	"count": true, "counts": true, "cnt": true, "num": true, "number": true, "total": true, "sum": true, "avg": true, "type": true, "types": true, "kind": true, "status": true,
	"state": true, "expires": true, "expired": true, "expiry": true, "expiration": true, "expire": true, "at": true, "on": true, "date": true, "time": true, "ts": true,
	"changed": true, "updated": true, "created": true, "issued": true, "used": true, "usage": true, "limit": true, "limits": true, "length": true, "len": true, "size": true,
	"version": true, "policy": true, "required": true, "enabled": true, "disabled": true, "attempts": true, "failures": true, "errors": true, "budget": true, "price": true,
	"cost": true, "age": true, "ttl": true, "id": true, "name": true, "quota": true, "rate": true, "set": true, "rotated": true, "days": true, "seconds": true, "minutes": true,
}

var aboutBefore = map[string]bool{"is": true, "has": true, "num": true, "n": true, "count": true, "requires": true, "must": true, "needs": true, "total": true}

// amountOf precede the plural in a column that counts what a language model reads.
var amountOf = map[string]bool{"total": true, "max": true, "min": true, "avg": true, "prompt": true, "completion": true, "input": true, "output": true, "used": true, "cached": true, "reasoning": true}

// secretName tells whether a column's name says that it holds a secret.
func secretName(name string) bool {
	ws := words(name)
	hit := -1
	for i, w := range ws {
		if secretWords[w] || i > 0 && secretPairs[[2]string{ws[i-1], w}] {
			hit = i
		}
	}
	if hit < 0 {
		return false
	}
	if last := ws[len(ws)-1]; hit < len(ws)-1 && about[last] {
		return false
	}
	if hit > 0 && (aboutBefore[ws[0]] || ws[hit] == "tokens" && amountOf[ws[hit-1]]) {
		return false
	}
	return true
}

// words splits a name at everything that is no letter, at digits and at camel case, and folds the words.
func words(name string) []string {
	var out []string
	var cur strings.Builder
	flush := func() {
		if cur.Len() > 0 {
			out = append(out, cur.String())
			cur.Reset()
		}
	}
	rs := []rune(name)
	for i, r := range rs {
		if !unicode.IsLetter(r) {
			flush()
			continue
		}
		if unicode.IsUpper(r) && i > 0 && (unicode.IsLower(rs[i-1]) || i+1 < len(rs) && unicode.IsLower(rs[i+1]) && unicode.IsUpper(rs[i-1])) {
			flush()
		}
		cur.WriteRune(unicode.ToLower(r))
	}
	flush()
	return out
}
