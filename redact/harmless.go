package redact

import "bytes"

// harmless tells whether a value under a secret's key says nothing: null, a count, a mask, a word of the message.
func (w *scanner) harmless(k *key, v []byte, quoted bool) bool {
	v = bytes.TrimRight(bytes.TrimSpace(v), ".,;:!)")
	switch {
	case len(v) == 0:
		return true
	case len(v) <= 12 && noValue[string(bytes.ToLower(v))]:
		return true
	case keyName(v):
		return true
	case k.wide && saysNothing(v):
		return true
	case k.plural && numeric(v), k.short && len(v) <= 3 && numeric(v):
		return true
	case k.cwd && (v[0] == '/' || v[0] == '~'), k.form == dirForm && directory(v):
		return true
	case k.weak && !random(v) && !basicAuth(k, v) && !(k.form == envForm && madeUp(v)), k.code && !codeLike(v):
		return true
	case w.r.o.KeepPlaceholders && placeholder(v):
		return true
	case (k.weak && !hasDigit(v) || k.names) && dnsName(v) && !hashed(v):
		return true
	case !quoted && (has(v, 0, "[REDACTED") || has(v, 0, "[FILTERED")):
		return true
	}
	return false
}

// keyName tells a value that only names where the secret is: DB_PASSWORD.
func keyName(v []byte) bool {
	under := false
	for _, c := range v {
		if class[c]&cUpper == 0 && c != '_' {
			return false
		}
		under = under || c == '_'
	}
	for _, w := range [...]string{"_PASSWORD", "_SECRET", "_TOKEN", "_KEY", "_PASS"} {
		if under && v[0] != '_' && bytes.HasSuffix(v, []byte(w)) {
			return true
		}
	}
	return false
}

// saysNothing tells whether v is a message in Chinese and no value: 密码：不能为空.
func saysNothing(v []byte) bool {
	if v[0] < 0x80 {
		return false
	}
	for _, s := range [...]string{"不", "错", "空", "无", "未", "已", "失败", "成功", "请", "過期", "过期", "缺少", "正确", "有效", "長度", "长度", "必", "沒", "没"} {
		if bytes.Contains(v, []byte(s)) {
			return true
		}
	}
	return false
}

// directory tells whether v is a path of two plain names or more.
func directory(v []byte) bool {
	if v[0] != '/' {
		return false
	}
	names := 0
	for name := range bytes.SplitSeq(v[1:], []byte{'/'}) {
		for _, c := range name {
			if class[c]&(cLower|cDigit) == 0 && c != '-' && c != '_' && c != '.' {
				return false
			}
		}
		if len(name) > 0 {
			names++
		}
	}
	return names > 1 && !hashed(v)
}

// basicAuth tells the credentials of a registry in Docker's configuration: "auth": base64 of user:password.
func basicAuth(k *key, v []byte) bool {
	if k.to-k.from != len("auth") || len(v) < 4 || !allB64(v) {
		return false
	}
	d := decode64(v)
	return len(d) > 2 && bytes.IndexByte(d[1:], ':') >= 0
}

// noValue are words in the place of a value that say there is none or judge it.
var noValue = map[string]bool{"null": true, "nil": true, "none": true, "undefined": true, "true": true, "false": true, "empty": true, "yes": true, "no": true, "n/a": true, "(null": true, "<masked>": true, "<redacted>": true, "<hidden>": true, "[masked]": true, "[redacted]": true, "<nil>": true, "<null>": true,
	"expired": true, "invalid": true, "missing": true, "required": true, "incorrect": true, "wrong": true, "valid": true, "ok": true, "failed": true, "unknown": true, "not": true, "must": true, "is": true, "has": true, "was": true, "cannot": true, "too": true, "the": true, "unset": true, "absent": true, "present": true, "authentication": true, "should": true}

// placeholder tells whether a document's value stands for one: <password>, ${X}, $X, {{x}}, ***, xxx, your-password.
func placeholder(v []byte) bool {
	v = bytes.Trim(v, "\"'`")
	if len(v) == 0 {
		return true
	}
	switch last := v[len(v)-1]; {
	case v[0] == '<' && last == '>', v[0] == '{' && last == '}', v[0] == '[' && last == ']':
		for _, c := range v[1 : len(v)-1] {
			if !isIdent(c) && c != ' ' && c != '{' && c != '}' && (v[0] != '<' || c != ':') || isDigit(c) && v[0] != '<' {
				return false
			}
		}
		return true
	case has(v, 0, "${") && last == '}', has(v, 0, "$("), string(v) == "...", string(v) == "…", v[0] == '%' && len(v) <= 3, string(v) == "changeme":
		return true
	case v[0] == '$' && len(v) > 1 && isLetter(v[1]):
		upper, lower := true, true // $TOKEN2, $token, but not $hunter2
		for _, c := range v[1:] {
			upper = upper && (class[c]&cUpper != 0 || isDigit(c) || c == '_')
			lower = lower && (class[c]&cLower != 0 || c == '_')
		}
		return upper || lower
	case hasFold(v, 0, "your") && len(v) > 4 && !isAlnum(v[4]):
		for _, c := range v {
			if isDigit(c) {
				return false
			}
		}
		return true
	}
	for _, c := range v {
		if c != '*' && c != 'x' && c != 'X' && c != '.' && c != '#' && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
