package redact

import (
	"bytes"
	"strings"
)

// findField judges the value by its key, then scans it as text.
func (w *scanner) findField(name string, s []byte) bool {
	w.reset()
	k := w.fieldKey(name)
	if k.kind != kindNone && w.r.on[k.kind] && len(bytes.TrimSpace(s)) > 0 {
		w.begin(s)
		switch {
		case k.kind != kindSecret:
			w.entityValue(&k, skipSpace(s, 0), equals)
		case k.auth:
			w.authorization(skipSpace(s, 0), trimRight(s, 0, len(s)))
		case k.cookie:
			w.cookies(skipSpace(s, 0), trimRight(s, 0, len(s)), k.set)
		case !w.harmless(&k, s, true):
			w.secret(0, len(s))
		}
		w.collect(nil)
	}
	if w.r.on[kindSecret] && namesUser(name) { // user: bob:x
		w.begin(s)
		w.userField(0, skipSpace(s, 0))
		w.collect(nil)
	}
	w.scan(s, nil)
	w.disguises(s)
	w.byRegex(s)
	return w.settle(s)
}

// namesUser tells whether a field names somebody who logs in: a client that takes part in basic authentication may have put user:password there.
func namesUser(name string) bool {
	for _, s := range [...]string{"user", "username", "user_name", "login"} {
		if n := len(name) - len(s); n >= 0 && strings.EqualFold(name[n:], s) {
			return true
		}
	}
	return false
}

// fieldKey classifies the name of a field, after decoding its disguises.
func (w *scanner) fieldKey(name string) key {
	b := []byte(name)
	if needsFold(b) && w.v1.fold(b, nil) {
		b = bytes.Clone(w.v1.b)
	}
	if needsUnescape(b) && w.v2.unescape(b, nil) {
		b = bytes.Clone(w.v2.b)
		if needsFold(b) && w.v1.fold(b, nil) {
			b = bytes.Clone(w.v1.b)
		}
	}
	if !ascii(b) {
		for _, wk := range wideKeys {
			i := bytes.Index(b, []byte(wk.text))
			if i < 0 {
				continue
			}
			rest := b[i+len(wk.text):]
			for _, s := range wideBenign {
				if bytes.Contains(rest, []byte(s)) {
					return key{}
				}
			}
			return key{kind: wk.kind, code: wk.code, weak: wk.weak && wk.kind == kindSecret, hostish: wk.weak, wide: true}
		}
	}
	return classify(b, max(0, len(b)-2*maxIdent), len(b))
}
