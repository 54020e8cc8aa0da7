package line

import "bytes"

// maxHeader is how far into a line its header may reach: time, level, thread and logger of the longest common layouts fit.
const maxHeader = 200

// text reads a line of a text layout: a time, a level among the first tokens, and what of thread and logger stands before the message.
func (p *Parser) text(b []byte) {
	ev := &p.ev
	ev.Format = Text
	b = bytes.TrimSpace(b)
	pri := -1
	if len(b) > 3 && b[0] == '<' {
		if end := bytes.IndexByte(b[:min(len(b), 6)], '>'); end > 1 {
			if v := smallInt(b[1:end]); v <= 191 && isDigit(b[1]) {
				pri = int(v)
				ev.Level = syslogLevel(pri % 8)
				b = b[end+1:]
				if len(b) > 2 && b[0] == '1' && b[1] == ' ' && p.syslog5424(b[2:]) {
					return
				}
			}
		}
	}
	at, s, n, _ := findStamp(b, maxPlace)
	head, rest := b, []byte(nil)
	if n == 0 {
		head, rest = nil, b
	} else {
		end := at + n
		if isKlog(b, at) {
			p.klog(b[at], b[end:])
			return
		}
		head, rest = b[:at], b[end:]
		for len(rest) > 0 && (rest[0] == ']' || rest[0] == ')' || rest[0] == '"' || rest[0] == '|') {
			rest = rest[1:]
		}
		if p.access(head, rest) {
			return
		}
		if len(head) > 2 && head[len(head)-1] == ' ' && bytes.HasSuffix(bytes.TrimSpace(head), []byte(":M")) {
			rest = p.redisMark(rest)
		}
	}
	level, before, after := findLevel(rest, n > 0)
	if level == None && n > 0 {
		if l, _, _ := findLevel(head, false); l != None {
			level, before, after = l, nil, rest
		}
	}
	if level != None {
		ev.Level = level
		rest = after
		if logger := loggerIn(before); logger != nil {
			ev.Service = logger
		}
		if ev.Service == nil { // what follows a logger is the message
			if msg, logger := splitLogger(rest); logger != nil {
				rest, ev.Service = msg, logger
			}
		}
	} else if n > 0 && (s.noYear || pri >= 0 || s.zoned) {
		if p.syslogTag(rest, !s.noYear && pri < 0) {
			p.inferLevel()
			return
		}
	}
	ev.Message = trimLead(rest)
	if len(ev.Message) == 0 || bytes.HasPrefix(bytes.TrimLeft(rest, " "), []byte("--")) && len(ev.Message) < 2 {
		ev.Message = bytes.TrimSpace(rest)
	}
	if n == 0 && (level == None || isLetter(b[0]) && b[0] >= 'a' || b[0] >= 0x80) { // "panic: …" is the message itself
		ev.Message = b
	}
	p.inferLevel()
}

// trimLead takes off what separates a message from the columns in front of it.
func trimLead(b []byte) []byte {
	b = bytes.TrimLeft(b, " \t:-|,]")
	for len(b) > 0 && b[0] >= 0x80 {
		t := bytes.TrimPrefix(bytes.TrimPrefix(b, []byte("：")), []byte("，"))
		if len(t) == len(b) {
			break
		}
		b = bytes.TrimLeft(t, " \t")
	}
	return b
}

// inferLevel reads a level from the first word of a message that has none: "error: …", "panic: …", "Traceback …".
func (p *Parser) inferLevel() {
	if p.ev.Level != None {
		return
	}
	m := p.ev.Message
	if l, _ := hanLevel(m); l >= Notice {
		p.ev.Level = l
		return
	}
	i := 0
	for i < len(m) && i < 12 && isLetter(m[i]) {
		i++
	}
	if i > 0 && i < len(m) && m[i] == ':' {
		if l := ParseLevel(m[:i], false); l >= Notice {
			p.ev.Level = l
			return
		}
	}
	switch {
	case bytes.HasPrefix(m, []byte("Traceback (most recent")), bytes.HasPrefix(m, []byte("Exception in thread")), bytes.HasPrefix(m, []byte("Uncaught ")), bytes.HasPrefix(m, []byte("Unhandled ")):
		p.ev.Level = Error
	case bytes.HasPrefix(m, []byte("fatal error: ")), bytes.HasPrefix(m, []byte("thread '")) && bytes.Contains(m[:min(len(m), 200)], []byte("panicked at")):
		p.ev.Level = Fatal
	}
}

// findLevel looks for a level among the first tokens: bare in capitals, in brackets or before a colon in any case. It tells what stands before and behind it. timed
// tells that a time stands in front.
func findLevel(b []byte, timed bool) (Level, []byte, []byte) {
	limit := min(len(b), maxHeader)
	at := 0
	for tokens := 0; tokens < 8 && at < limit; tokens++ {
		for at < limit && (b[at] == ' ' || b[at] == '\t' || b[at] == '-' || b[at] == '|' || b[at] == ',') {
			at++
		}
		if at < limit && b[at] >= 0x80 {
			if inner, end := hanBracket(b[at:]); end > 0 {
				if l := ParseLevel(inner, false); l != None {
					return l, b[:at], b[at+end:]
				}
				at += end
				continue
			}
			if l, n := hanLevel(b[at:]); l != None && tokens == 0 {
				return l, b[:at], b[at+n:]
			}
			if l, n := hanColumn(b[at:]); l != None && timed && !hanIn(b[:at]) {
				return l, b[:at], b[at+n:]
			}
		}
		start, bracket := at, false
		for at < limit && (b[at] == '[' || b[at] == '<' || b[at] == '(') {
			bracket = true
			at++
		}
		word := at
		for at < limit && (isWord(b[at])) {
			at++
		}
		if at > word {
			next := byte(' ')
			if at < len(b) {
				next = b[at]
			}
			ends := next == ' ' || next == '\t' || next == ']' || next == '>' || next == ')' || next == ':' || next == '|' || next == ',' || next == '[' || next == '='
			caps := b[word] >= 'A' && b[word] <= 'Z' && (at-word == 1 || b[word+1] >= 'A' && b[word+1] <= 'Z')
			if l := ParseLevel(b[word:at], false); l != None && ends && next != '=' && (caps || bracket && next != ' ' || next == ':' && tokens == 0 || tokens == 0 && next == '\t') {
				return l, b[:start], pastLevel(b, at)
			}
			if at-word == 1 && caps && tokens > 0 && tokens < 4 && (next == ' ' || next == '/') { // android, and single letters between columns
				if l := ParseLevel(b[word:at], true); l != None && digitsOnly(b[:start]) {
					return l, b[:start], b[at:]
				}
			}
			if bracket && next == ' ' { // structlog pads: [info     ]
				end := at
				for end < limit && b[end] == ' ' {
					end++
				}
				if l := ParseLevel(b[word:at], false); l != None && end < limit && b[end] == ']' {
					return l, b[:start], b[end+1:]
				}
			}
			if next == '.' && tokens == 0 { // laravel: production.ERROR:
				end := at + 1
				for end < limit && isLetter(b[end]) {
					end++
				}
				if l := ParseLevel(b[at+1:end], false); l != None && end < len(b) && b[end] == ':' && b[at+1] <= 'Z' {
					return l, b[:start], b[end+1:]
				}
			}
			if bracket && next == ':' { // apache: [core:error]
				sub := at + 1
				end := sub
				for end < limit && isLetter(b[end]) {
					end++
				}
				if l := ParseLevel(b[sub:end], false); l != None && end < len(b) && b[end] == ']' {
					return l, b[:start], b[end+1:]
				}
			}
		}
		if bracket { // skip the rest of the bracket
			if end := bytes.IndexByte(b[at:limit], closing(b[start])); end >= 0 {
				at += end + 1
				continue
			}
		}
		for at < limit && b[at] != ' ' && b[at] != '\t' && b[at] != '|' && b[at] != '[' {
			if b[at] == ':' && at+1 < limit && b[at+1] == ' ' {
				return None, nil, nil // a message has begun
			}
			at++
		}
		if at == start {
			break
		}
	}
	return None, nil, nil
}

// longLevel is the length of the longest Chinese name of a level, and of what may stand around it.
const longLevel = 12

// hanBracket reads 【…】 or ［…］ at the start of b: what stands in it and its length; 0 when there is none.
func hanBracket(b []byte) (inner []byte, n int) {
	for _, p := range [...][2]string{{"【", "】"}, {"［", "］"}} {
		if bytes.HasPrefix(b, []byte(p[0])) {
			if end := bytes.Index(b[:min(len(b), 120)], []byte(p[1])); end > 0 {
				return bytes.TrimSpace(b[len(p[0]):end]), end + len(p[1])
			}
		}
	}
	return nil, 0
}

// hanLevel reads a Chinese level in front of a colon of either width, and tells the length of both.
func hanLevel(b []byte) (Level, int) {
	if len(b) == 0 || b[0] < 0x80 {
		return None, 0
	}
	head := b[:min(len(b), longLevel+len("："))]
	for _, colon := range [...]string{"：", ":"} {
		if i := bytes.Index(head, []byte(colon)); i > 0 {
			if l := ParseLevel(head[:i], false); l != None {
				return l, i + len(colon)
			}
		}
	}
	return None, 0
}

// hanColumn reads a Chinese level that stands bare in a column of its own, as Tomcat writes it. The script has no capitals to tell a level from a word by: only those
// names count that seldom begin a message, others when a bracket follows.
func hanColumn(b []byte) (Level, int) {
	i := 0
	for i < len(b) && i <= longLevel && b[i] >= 0x80 {
		i++
	}
	if i == len(b) || b[i] != ' ' && b[i] != '\t' && b[i] != '|' && b[i] != '[' {
		return None, 0
	}
	l := ParseLevel(b[:i], false)
	switch string(b[:i]) {
	case "错误", "警告", "信息", "调试", "致命", "严重", "跟踪", "錯誤", "嚴重", "資訊", "調試":
		return l, i
	}
	if rest := bytes.TrimLeft(b[i:], " \t"); len(rest) > 0 && (rest[0] == '[' || rest[0] == '|') {
		return l, i
	}
	return None, 0
}

func hanIn(b []byte) bool { return bytes.ContainsFunc(b, func(r rune) bool { return r >= 0x80 }) }

func closing(c byte) byte {
	switch c {
	case '[':
		return ']'
	case '<':
		return '>'
	}
	return ')'
}

func digitsOnly(b []byte) bool {
	for _, c := range b {
		if !isDigit(c) && c != ' ' && c != '\t' && c != '-' {
			return false
		}
	}
	return true
}

// pastLevel skips what closes a level's token.
func pastLevel(b []byte, at int) []byte {
	if at < len(b) && b[at] == '[' { // logrus: INFO[0012]
		if end := bytes.IndexByte(b[at:min(len(b), at+16)], ']'); end > 0 && digitsOnly(b[at+1:at+end]) {
			return b[at+end+1:]
		}
	}
	for at < len(b) && (b[at] == ']' || b[at] == '>' || b[at] == ')' || b[at] == '|') {
		at++
	}
	return b[at:]
}

// splitLogger takes thread and logger from the front of a text when a separator follows: "[main] a.b.C - message", "a.b.C: message", "1 --- [x] a.b.C : message",
// ":root:message".
func splitLogger(b []byte) (message, logger []byte) {
	rest := bytes.TrimLeft(b, " \t")
	if len(rest) > 1 && rest[0] == ':' && isWord(rest[1]) { // python's LEVEL:logger:message
		if end := bytes.IndexByte(rest[1:min(len(rest), 80)], ':'); end > 0 && isLogger(rest[1:1+end], true) {
			return rest[end+2:], rest[1 : 1+end]
		}
	}
	rest = bytes.TrimLeft(rest, " \t:-|")
	if i := bytes.Index(rest[:min(len(rest), 24)], []byte(" --- ")); i >= 0 && digitsOnly(rest[:i]) {
		rest = rest[i+5:]
	}
	for range 4 {
		rest = bytes.TrimLeft(rest, " \t")
		if len(rest) == 0 || rest[0] != '[' {
			break
		}
		end := closeBracket(rest)
		if end < 0 || end > 120 {
			return b, nil
		}
		rest = rest[end+1:]
	}
	i := 0
	for i < len(rest) && i < 120 && rest[i] > ' ' && rest[i] != ':' {
		if rest[i] == '[' {
			if end := closeBracket(rest[i:]); end > 0 {
				i += end
			}
		}
		i++
	}
	name := rest[:i]
	tail := rest[i:]
	if len(tail) > 1 && tail[0] == ':' && isDigit(tail[1]) { // file.go:12
		j := 1
		for j < len(tail) && isDigit(tail[j]) {
			j++
		}
		name, tail = rest[:i+j], tail[j:]
	}
	trimmed := bytes.TrimLeft(tail, " \t")
	switch {
	case len(tail) > 1 && tail[0] == ':' && tail[1] == ' ' && isLogger(name, false) && !bytes.HasSuffix(name, []byte("Exception")) && !bytes.HasSuffix(name, []byte("Error")):
		return tail[2:], name
	case len(trimmed) > 1 && len(trimmed) < len(tail) && (trimmed[0] == '-' || trimmed[0] == ':' || trimmed[0] == '|') && trimmed[1] == ' ' && isLogger(name, true):
		return trimmed[2:], name
	case len(tail) > 0 && tail[0] == ']' && len(tail) > 1 && isLogger(name, true):
		return b, nil
	}
	return b, nil
}

func closeBracket(b []byte) int {
	depth := 0
	for i, c := range b[:min(len(b), 160)] {
		switch c {
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// isLogger tells a logger's name from a word of the message: dotted or in camel case, or any name when a separator with spaces follows.
func isLogger(b []byte, any bool) bool {
	if len(b) < 2 || len(b) > 120 || !isLetter(b[0]) && b[0] != '_' {
		return false
	}
	dot, camel := false, false
	for i, c := range b {
		switch {
		case c == '.' || c == '$' || c == '/':
			dot = dot || i+1 < len(b)
		case i > 0 && c >= 'A' && c <= 'Z' && b[i-1] >= 'a' && b[i-1] <= 'z':
			camel = true
		case isWord(c) || c == '-' || c == '[' || c == ']' || c == '@' || c == ':' || c == '#' || c == '=':
		default:
			return false
		}
	}
	return any || dot || camel
}

// loggerIn finds a logger among what stands between time and level: "- name -".
func loggerIn(b []byte) []byte {
	b = bytes.Trim(b, " \t-|,:")
	if len(b) == 0 || bytes.ContainsAny(b, " \t[") || !isLogger(b, false) {
		return nil
	}
	return b
}

func isKlog(b []byte, at int) bool {
	return at+6 < len(b) && isDigit(b[at+1]) && isDigit(b[at+4]) && b[at+5] == ' ' && b[at] >= 'A' && b[at] <= 'Z'
}

// klog reads what follows the time of "E0102 15:04:05.000000   12345 file.go:12] message".
func (p *Parser) klog(letter byte, rest []byte) {
	p.ev.Level = ParseLevel([]byte{letter}, true)
	if end := bytes.Index(rest[:min(len(rest), maxHeader)], []byte("] ")); end > 0 {
		head := bytes.Fields(rest[:end])
		if len(head) > 0 {
			p.ev.Service = head[len(head)-1]
		}
		rest = rest[end+2:]
	}
	p.ev.Message = bytes.TrimSpace(rest)
}

// redisMark reads redis' one-letter level.
func (p *Parser) redisMark(rest []byte) []byte {
	t := bytes.TrimLeft(rest, " ")
	if len(t) > 1 && t[1] == ' ' {
		switch t[0] {
		case '#':
			p.ev.Level = Warn
		case '*':
			p.ev.Level = Notice
		case '-', '.':
			p.ev.Level = Debug
		default:
			return rest
		}
		return t[2:]
	}
	return rest
}
