package logs

import (
	"bytes"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/tools/logs/line"
)

// What a line says together must be judged together: taking it apart must not part a secret from what tells that it is one.

// probeValue stands for a value of which nothing is known: a key under which it is masked is the key of a secret.
const probeValue = "q7Xv2kLm9Zp4Rt"

// maxNames bounds how many names of writers are remembered as judged.
const maxNames = 1024

// keyed tells whether the name that a text layout gives as the writer is the key of a secret: "db.password: x" looks as "db.pool: ready" does.
func (r *reader) keyed() bool {
	if len(r.ev.Service) == 0 || r.ev.Format != line.Text && r.ev.Format != line.Syslog {
		return false
	}
	k, known := r.names[string(r.ev.Service)]
	if !known {
		name := string(r.ev.Service)
		k = r.red.Field(name, probeValue, r.tags) != probeValue
		if len(r.names) >= maxNames {
			clear(r.names)
		}
		r.names[name] = k
	}
	return k
}

// guarded is the message redacted with what stands around it, when that makes a difference.
func (r *reader) guarded() (string, bool) {
	m := r.ev.Message
	if len(m) == 0 {
		return "", false
	}
	if r.keyed() {
		name := string(r.ev.Service)
		if !bytes.ContainsAny(bytes.TrimSpace(m), " \t\n") {
			return r.red.Field(name, string(m), r.tags), true
		}
		whole := r.text(append([]byte(name+": "), m...))
		if rest, ok := strings.CutPrefix(whole, name+": "); ok {
			return rest, true
		}
		return whole, true
	}
	if !armorLines(m) {
		return "", false
	}
	var b strings.Builder
	for l := range bytes.Lines(m) {
		body := bytes.TrimSpace(l)
		at := bytes.Index(l, body)
		b.Write(l[:at])
		if armorLine(body) {
			b.WriteString(r.red.Field("password", string(body), r.tags))
		} else {
			b.Write(body)
		}
		b.Write(l[at+len(body):])
	}
	return r.text([]byte(b.String())), true
}

func armorLines(m []byte) bool {
	for len(m) > 0 {
		i := bytes.IndexByte(m, '\n')
		if i < 0 {
			i = len(m) - 1
		}
		if armorLine(bytes.TrimSpace(m[:i+1])) {
			return true
		}
		m = m[i+1:]
	}
	return false
}

// armorLine tells a line that is one run of base64 and nothing else. A key that was logged line by line, each with a header of its own, leaves such lines, without
// anything beside them that says so. Words, also those in camel case, change between letters and digits far more seldom than base64 does; hexadecimal digests have
// letters of one case.
func armorLine(b []byte) bool {
	if len(b) < 16 || len(b) > 4096 {
		return false
	}
	body := bytes.TrimRight(b, "=")
	padded := len(body) < len(b) && len(b)-len(body) <= 2 && len(b)%4 == 0
	var upper, lower, digit, changes int
	last := 0
	for _, c := range body {
		class := 0
		switch {
		case c >= 'A' && c <= 'Z':
			class, upper = 1, upper+1
		case c >= 'a' && c <= 'z':
			class, lower = 2, lower+1
		case c >= '0' && c <= '9':
			class, digit = 3, digit+1
		case c == '+' || c == '/':
			class = 4
		default:
			return false
		}
		if class != last {
			changes++
		}
		last = class
	}
	return upper >= 3 && lower >= 3 && (digit >= 2 || padded || len(body) >= 60) && changes*2 >= len(body)
}

// framed is the whole text of an event with its guarded message in place.
func (r *reader) framed(message string) string {
	i := bytes.LastIndex(r.ev.Text, r.ev.Message)
	if i < 0 {
		return message
	}
	return r.text(r.ev.Text[:i]) + message + r.text(r.ev.Text[i+len(r.ev.Message):])
}

// isMessage tells whether a field is what the message was read from.
func (r *reader) isMessage(f line.Field) bool {
	return f.Used && len(f.Value) > 0 && len(f.Value) == len(r.ev.Message) && &f.Value[0] == &r.ev.Message[0]
}

// beside judges a value by what stands in another field: {"name":"DB_PASSWORD","value":"x"}, {"msg":"password=%s","args":["x"]}.
func (r *reader) beside(f line.Field, value string) string {
	key := string(f.Key)
	prefix, last := "", key
	if i := strings.LastIndexByte(key, '.'); i >= 0 {
		prefix, last = key[:i+1], key[i+1:]
	}
	switch {
	case namesValue(last):
		for _, o := range r.ev.Fields {
			if isNaming(o.Key, prefix) && len(o.Value) <= 64 && r.red.Field(string(o.Value), probeValue, r.tags) != probeValue {
				return r.red.Field(string(o.Value), value, r.tags)
			}
		}
	case namesArguments(last):
		if len(value) >= 4 && !strings.Contains(r.rendered(), value) {
			return r.red.Field("password", value, r.tags)
		}
	case len(value) >= armorWidth && !namesDigest(last) && armorLine([]byte(value)):
		return r.red.Field("password", value, r.tags)
	}
	return value
}

// armorWidth is the least width of the lines of a key: PEM has 64, OpenSSH 70, MIME 76.
const armorWidth = 60

// namesValue: a key under which anything may stand; what, another field says.
func namesValue(key string) bool {
	switch strings.ToLower(key) {
	case "value", "val", "v", "new", "old", "newvalue", "oldvalue", "new_value", "old_value", "content", "data":
		return true
	}
	return false
}

// namesArguments: a key for what belongs into the places of a message.
func namesArguments(key string) bool {
	switch strings.ToLower(key) {
	case "args", "params", "parameters", "arguments", "positional_args", "splat":
		return true
	}
	return false
}

// namesDigest: identifiers and digests are base64 too.
func namesDigest(key string) bool {
	key = strings.ToLower(key)
	for _, s := range [...]string{"id", "id-2", "id2", "etag", "hash", "digest", "sha256", "sha512", "checksum", "integrity"} {
		if strings.HasSuffix(key, s) {
			return true
		}
	}
	return false
}

// isNaming: a key that says what the value beside it is.
func isNaming(key []byte, prefix string) bool {
	rest, ok := bytes.CutPrefix(key, []byte(prefix))
	if !ok {
		return false
	}
	switch strings.ToLower(string(rest)) {
	case "name", "key", "k", "field", "param", "parameter", "property", "setting", "variable", "header", "option":
		return true
	}
	return false
}

// placeholders are what logging libraries put arguments in.
var placeholders = [...]string{"%s", "%v", "%d", "%q", "%r", "{}", "%j", "%o"}

// rendered is the redacted message with its arguments in place, and all arguments when the message has no place for one.
func (r *reader) rendered() string {
	if r.hasRendered {
		return r.render
	}
	r.hasRendered = true
	m := string(r.ev.Message)
	for _, f := range r.ev.Fields {
		key := f.Key
		if i := bytes.IndexByte(key, '.'); i >= 0 {
			key = key[:i]
		}
		if !namesArguments(string(key)) {
			continue
		}
		at, size := -1, 0
		for _, p := range placeholders {
			if i := strings.Index(m, p); i >= 0 && (at < 0 || i < at) {
				at, size = i, len(p)
			}
		}
		if at < 0 {
			m += "\n" + string(f.Value)
		} else {
			m = m[:at] + string(f.Value) + m[at+size:]
		}
	}
	r.render = r.text([]byte(m))
	return r.render
}
