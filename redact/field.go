package redact

import "bytes"

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
	w.scan(s, nil)
	w.disguises(s)
	w.byRegex(s)
	return w.settle(s)
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
