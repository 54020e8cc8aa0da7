package line

import "bytes"

// syslog5424 reads what follows "<34>1 ": time host app procid msgid structured-data message.
func (p *Parser) syslog5424(b []byte) bool {
	var head [5][]byte
	rest := b
	for i := range head {
		sp := bytes.IndexByte(rest, ' ')
		if sp < 0 {
			return false
		}
		head[i], rest = rest[:sp], rest[sp+1:]
	}
	if _, n := readStamp(head[0]); n == 0 && string(head[0]) != "-" {
		return false
	}
	p.ev.Format = Syslog
	p.named("host", head[1])
	p.named("pid", head[3])
	p.named("msgid", head[4])
	if string(head[2]) != "-" {
		p.ev.Service = head[2]
	}
	if len(rest) > 0 && rest[0] == '-' {
		rest = bytes.TrimPrefix(rest[1:], []byte(" "))
	}
	for len(rest) > 0 && rest[0] == '[' {
		end := sdEnd(rest)
		if end < 0 {
			break
		}
		walkPairs(rest[1:end], func(k, v []byte, _ bool) bool {
			p.named(string(k), v)
			return len(p.ev.Fields) < maxFields
		})
		rest = bytes.TrimLeft(rest[end+1:], " ")
	}
	p.ev.Message = bytes.TrimPrefix(rest, []byte("\xef\xbb\xbf"))
	return true
}

// sdEnd is the offset of the bracket that ends a structured-data element.
func sdEnd(b []byte) int {
	quoted := false
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			quoted = !quoted
		case ']':
			if !quoted {
				return i
			}
		}
	}
	return -1
}

func (p *Parser) named(key string, value []byte) {
	if len(value) > 0 && string(value) != "-" {
		p.ev.Fields = append(p.ev.Fields, Field{Key: []byte(key), Value: value})
	}
}

// syslogTag reads "host app[123]: message" after a syslog time. After an ISO time only the number tells it from a message.
func (p *Parser) syslogTag(rest []byte, needPID bool) bool {
	rest = bytes.TrimLeft(rest, " ")
	sp := bytes.IndexByte(rest, ' ')
	if sp <= 0 || sp > 120 || bytes.IndexByte(rest[:sp], ':') >= 0 && !bytes.Contains(rest[:sp], []byte("::")) {
		return false
	}
	host, tail := rest[:sp], rest[sp+1:]
	colon := bytes.IndexByte(tail[:min(len(tail), 100)], ':')
	if colon <= 0 {
		return false
	}
	tag := tail[:colon]
	app, pid := tag, []byte(nil)
	if open := bytes.IndexByte(tag, '['); open > 0 && tag[len(tag)-1] == ']' {
		app, pid = tag[:open], tag[open+1:len(tag)-1]
	} else if needPID {
		return false
	}
	for _, c := range app {
		if c == ' ' || c == '"' || c == '=' {
			return false
		}
	}
	p.ev.Format = Syslog
	p.named("host", host)
	p.named("pid", pid)
	p.ev.Service = app
	p.ev.Message = bytes.TrimLeft(tail[colon+1:], " ")
	return true
}

// access reads a web server's access line: the client before the time, the quoted request and the status behind it.
func (p *Parser) access(head, rest []byte) bool {
	rest = bytes.TrimLeft(rest, " ")
	if len(head) < 5 || len(rest) < 10 || rest[0] != '"' {
		return false
	}
	end := stringEnd(rest, 1)
	if end < 0 || len(rest) < end+5 {
		return false
	}
	status := rest[end+2 : end+5]
	code := smallInt(status)
	if code < 100 || code > 599 {
		return false
	}
	p.ev.Format = Access
	switch {
	case code >= 500:
		p.ev.Level = Error
	case code >= 400:
		p.ev.Level = Warn
	default:
		p.ev.Level = Info
	}
	if who := bytes.Fields(head); len(who) > 0 { // client, the name that nobody asks for, user
		p.named("client", who[0])
		if len(who) > 2 && who[2][0] != '[' {
			p.named("user", who[2])
		}
	}
	if req := bytes.Fields(rest[1:end]); len(req) >= 2 {
		p.named("method", req[0])
		p.named("path", req[1])
	}
	p.named("status", status)
	p.ev.Message = rest
	return true
}
