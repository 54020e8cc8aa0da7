package logs

import (
	"strings"
	"unicode/utf8"

	"github.com/seed-069badc9/mcp-gateway/redact"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/line"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/stack"
)

// reader takes events of one topic apart and redacts them. It is the only way from raw text to text that is matched, grouped or shown: decode, then redact, then
// everything else. Not safe for concurrent use.
type reader struct {
	red    *redact.Redactor
	tags   *redact.Tagger
	parser line.Parser
	buf    []byte
	// of the event under way:
	labels []Label
	ev     *line.Event
	parts  []string // pieces made so far
	step   int
	msg    string
	hasMsg bool

	known       facts
	names       map[string]bool // writers' names judged so far
	render      string
	hasRendered bool
}

func newReader(r *redact.Redactor, t *redact.Tagger) *reader {
	return &reader{red: r, tags: t, names: make(map[string]bool)}
}

// load takes an event apart. Parts are redacted when they are asked for.
func (r *reader) load(text []byte, labels []Label) {
	r.labels, r.ev = labels, r.parser.Parse(text)
	r.parts, r.step, r.hasMsg, r.hasRendered = r.parts[:0], 0, false, false
}

// level is the event's severity, from its text or its labels.
func (r *reader) level() line.Level {
	if r.ev.Level != line.None {
		return r.ev.Level
	}
	for _, l := range r.labels {
		if line.IsLevelKey(l.Key) {
			if v := line.ParseLevel([]byte(l.Value), false); v != line.None {
				return v
			}
		}
	}
	return line.None
}

// text redacts a part of the event.
func (r *reader) text(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	r.buf = r.red.Append(r.buf[:0], b, r.tags)
	return string(r.buf)
}

// message is the redacted message with its continuation lines. A structured line without a message is its own fields.
func (r *reader) message() string {
	if !r.hasMsg {
		m, ok := r.guarded()
		if !ok {
			m = r.text(r.ev.Message)
		}
		r.msg, r.hasMsg = m, true
	}
	return r.msg
}

func (r *reader) stack() string { return r.text(r.ev.Stack) }

// service is the redacted name of who wrote the event.
func (r *reader) service() string {
	if len(r.ev.Service) > 0 {
		return r.text(r.ev.Service)
	}
	for _, l := range r.labels {
		if line.IsServiceKey(l.Key) {
			return r.red.Field(l.Key, l.Value, r.tags)
		}
	}
	return ""
}

// field redacts one field under its own key.
func (r *reader) field(f line.Field) (key, value string) {
	key = string(f.Key)
	if r.isMessage(f) {
		if m, ok := r.guarded(); ok {
			return key, m
		}
	}
	return key, r.beside(f, r.red.Field(key, string(f.Value), r.tags))
}

// pieces calls fn with every redacted part that a term may be found in, as opaque text, until fn returns false. Free text is one piece; a structured line is one
// piece a part, since its raw form is not what a reader sees. Logfmt is both. Pieces are made when they are first needed and kept for the other terms.
func (r *reader) pieces(fn func(string) bool) bool {
	for i := 0; i < len(r.parts) || r.grow(); i++ {
		if !fn(r.parts[i]) {
			return false
		}
	}
	return true
}

// grow makes the next piece.
func (r *reader) grow() bool {
	structured := r.ev.Format == line.JSON || r.ev.Format == line.Logfmt
	for {
		step := r.step
		r.step++
		switch fields := len(r.ev.Fields); {
		case step == 0:
			if r.ev.Format != line.JSON {
				whole := ""
				if m, ok := r.guarded(); ok {
					whole = r.framed(m)
				} else {
					whole = r.text(r.ev.Text)
				}
				r.parts = append(r.parts, opaque(whole))
				return true
			}
		case step == 1:
			if structured {
				r.parts = append(r.parts, opaque(r.message()))
				return true
			}
		case step < 2+fields:
			if structured {
				k, v := r.field(r.ev.Fields[step-2])
				r.parts = append(r.parts, opaque(r.red.Text(k, r.tags)+"="+v))
				return true
			}
		case step < 2+fields+len(r.labels):
			l := r.labels[step-2-fields]
			r.parts = append(r.parts, opaque(r.red.Text(l.Key, r.tags)+"="+r.red.Field(l.Key, l.Value, r.tags)))
			return true
		default:
			return false
		}
	}
}

// extra is what a structured line says beside its message, redacted, as key=value pairs in the order of the line; of an access line, who asked: its message begins
// behind that.
func (r *reader) extra() string {
	if r.ev.Format == line.Syslog {
		return ""
	}
	var b strings.Builder
	for _, f := range r.ev.Fields {
		if f.Used || len(f.Value) == 0 || r.ev.Format == line.Access && !isCaller(f.Key) {
			continue
		}
		k, v := r.field(f)
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(r.red.Text(k, r.tags))
		b.WriteByte('=')
		if strings.ContainsAny(v, " \t\n\"=") {
			b.WriteByte('"')
			b.WriteString(strings.ReplaceAll(v, `"`, `'`))
			b.WriteByte('"')
		} else {
			b.WriteString(v)
		}
		if b.Len() > maxShown {
			break
		}
	}
	return b.String()
}

// isCaller tells the fields of an access line that name who asked.
func isCaller(key []byte) bool { return string(key) == "client" || string(key) == "user" }

// maxShown bounds what is composed of one event; what an observation shows of it is far less.
const maxShown = 16 << 10

// split takes a trace off a message: head is the message itself, trace the text that Trim shortens, class the exception classes that keep groups apart.
func split(message, stackField string) (head, trace, class string) {
	head, trace = message, stackField
	if trace == "" {
		i := strings.IndexByte(message, '\n')
		if i < 0 {
			return head, "", ""
		}
		if _, ok := stack.Detect(message); !ok {
			return head, "", ""
		}
		if head = strings.TrimRight(message[:i], " \r"); head == "" {
			head = message
		}
		trace = message
	}
	return head, trace, strings.Join(stack.Classes(trace), " > ")
}

// oneLine folds line ends of a message into spaces for grouping.
func oneLine(s string) string {
	if strings.IndexByte(s, '\n') < 0 {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// grouped is the event as the grouping sees it.
func (r *reader) grouped() (message, class string) {
	m := r.message()
	if len(r.ev.Stack) > 0 || strings.IndexByte(m, '\n') >= 0 {
		var head string
		head, _, class = split(m, r.stack())
		m = oneLine(head)
	}
	if r.ev.Format == line.Access {
		if route := r.route(); route != "" {
			return redact.Clean(route), class
		}
	}
	if m == "" {
		m = r.extra()
	}
	if m = redact.Clean(m); garbled(m) {
		m = "(not text)"
	}
	return m, class
}

// garbled tells bytes that are no text: each of them would be a pattern of its own.
func garbled(s string) bool {
	n := strings.Count(s, "\uFFFD")
	return n > 0 && n*4 > utf8.RuneCountInString(s) || n >= 4 && n*8 > utf8.RuneCountInString(s)
}
