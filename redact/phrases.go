package redact

import "bytes"

// A phrase stands right before a value. Most are the fixed sentences of databases and resolvers.
const (
	phQuoted     = iota // Duplicate entry 'x'
	phValue             // value: 'x'
	phParen             // Failing row contains (…)
	phKey               // Key (email)=(x)
	phSyntax            // invalid input syntax for type integer: "x"
	phBrace             // dup key: { … }
	phNear              // near 'x' at line 1
	phBinding           // binding parameter [1] as [VARCHAR] - [x]
	phParameters        // ==> Parameters: x(String), y(Long)
	phIdentified        // IDENTIFIED BY 'x'
	phBearer
	phBasic
	phHost      // lookup x on 10.0.0.1:53
	phSpring    // INFO 28341 --- [main]
	phOracle    // jdbc:oracle:thin:scott/tiger@
	phLogonName // sqlplus scott/tiger@db
	phWord      // requirepass x
	phACL       // user bob on >x
	phStdin     // echo x | docker login --password-stdin
	phArgs      // [Parameters=[@p0='x' (Size = 4000)]
	phUser      // user=bob:x
	phCLF       // 10.0.0.1 - bob:x [01/Mar/2026
)

type phraseText struct {
	text string
	do   int
}

var phrases = []phraseText{
	{"duplicate entry", phQuoted}, {"value:", phValue}, {"value '", phValue}, {"failing row contains", phParen}, {"duplicate key value is", phParen}, {"key (", phKey},
	{"invalid input syntax for", phSyntax}, {"invalid input value for enum", phSyntax}, {"dup key:", phBrace}, {"near '", phNear}, {"near \"", phNear}, {"binding parameter", phBinding}, {"parameters:", phParameters},
	{"identified by", phIdentified}, {"identified with", phIdentified}, {"bearer", phBearer}, {"basic", phBasic},
	{"lookup ", phHost}, {"enotfound ", phHost}, {"eai_again ", phHost}, {"unknownhostexception:", phHost}, {"resolve host:", phHost}, {"resolve host ", phHost}, {"connect to host ", phHost}, {"failed to connect to ", phHost}, {"connection to ", phHost}, {"connecting to ", phHost}, {"connected to ", phHost}, {"resolve hostname ", phHost},
	{" --- [", phSpring}, {"jdbc:oracle:thin:", phOracle}, {"sqlplus ", phLogonName}, {"exp ", phLogonName}, {"expdp ", phLogonName}, {"impdp ", phLogonName}, {"sqlldr ", phLogonName}, {"rman target ", phLogonName},
	{"requirepass ", phWord}, {"masterauth ", phWord}, {"snmp-server community ", phWord}, {"rocommunity ", phWord}, {"rwcommunity ", phWord}, {"radius secret ", phWord}, {"radius-server key ", phWord}, {"tacacs-server key ", phWord}, {"isakmp key ", phWord}, {"::add-mask::", phWord}, {" on >", phACL}, {"setuser ", phACL},
	{"--password-stdin", phStdin}, {"chpasswd", phStdin}, {"sudo -s", phStdin}, {"passwd --stdin", phStdin}, {"--passphrase-fd 0", phStdin}, {"--with-token", phStdin},
	{"user=", phUser}, {"user: ", phUser}, {"user \"", phUser}, {"user\":", phUser}, {"user\\\":", phUser}, {"username=", phUser}, {"username: ", phUser}, {"username\":", phUser}, {" [00/", phCLF},
	{"parameters=[", phArgs}, {"prepared statement: [", phArgs},
}

func (w *scanner) phrase(n, from, to int) {
	b := w.b
	p := skipBlank(b, to)
	switch do := phrases[n].do; {
	case (do <= phParameters || do == phArgs) && (!w.r.on[kindSQL] || from < w.litEnd), (do == phWord || do == phACL || do == phStdin || do == phUser || do == phCLF) && !w.r.on[kindSecret]:
		return
	}
	switch phrases[n].do {
	case phQuoted:
		w.quotedLiteral(p)
	case phValue:
		if b[to-1] == '\'' {
			p = to - 1
		}
		if c := at(b, p); (c == '\'' || c == '\\') && from > 0 && isSpace(b[from-1]) {
			w.quotedLiteral(p)
		}
	case phParen:
		if at(b, p) == '(' {
			end, _ := w.balanced(b, p)
			w.literal(p+1, end)
		}
	case phKey:
		end, ok := w.balanced(b[:min(len(b), to+512)], to-1)
		if ok && at(b, end+1) == '=' && at(b, end+2) == '(' {
			e, _ := w.balanced(b, end+2)
			for e < len(b) && b[e] == ')' && !isSpace(at(b, e+1)) && e+1 < len(b) && b[e+1] != '.' && b[e+1] != ',' && b[e+1] != '"' && b[e+1] != '\'' && b[e+1] != '\\' && b[e+1] != ')' && b[e+1] != ';' && b[e+1] != ':' { // a value with a bracket in it
				f := bytes.IndexByte(b[e+1:], ')')
				if f < 0 {
					break
				}
				e += 1 + f
			}
			w.literal(end+3, e)
		}
	case phSyntax:
		for n := 0; n < 64 && p < len(b) && b[p] != ':' && b[p] != '\n'; n++ {
			p++
		}
		if at(b, p) == ':' {
			w.quotedLiteral(skipBlank(b, p+1))
		}
	case phBrace:
		if at(b, p) == '{' {
			end, _ := w.balanced(b, p)
			w.literal(p+1, end)
		}
	case phNear:
		if to < w.nearEnd {
			return
		}
		q := b[to-1]
		rest := b[to:min(len(b), to+4096)]
		end := bytes.Index(rest, []byte{q, ' ', 'a', 't', ' ', 'l', 'i', 'n', 'e'})
		if end < 0 && q == '"' && len(rest) > 0 { // SQLite: near "x": syntax error
			end = bytes.Index(rest, []byte("\": syntax error"))
		}
		if end > 0 {
			w.literal(to, to+end)
		} else {
			w.nearEnd = to + len(rest)
		}
	case phBinding:
		w.binding(p)
	case phParameters:
		w.parameters(p)
	case phIdentified:
		w.identified(p, to)
	case phBearer:
		if w.r.on[kindSecret] && (from == 0 || !isWord(b[from-1])) {
			w.bearer(to)
		}
	case phBasic:
		if w.r.on[kindSecret] && (from == 0 || !isWord(b[from-1])) {
			w.basic(to)
		}
	case phHost:
		w.saidHost(p, phrases[n].text)
	case phSpring:
		r := from
		for r > 0 && b[r-1] == ' ' && from-r < 4 {
			r--
		}
		l := r
		for l > 0 && r-l < 9 && isDigit(b[l-1]) {
			l--
		}
		if r > l+1 && l > 0 && b[l-1] == ' ' && w.r.on[kindPID] {
			w.add(kindPID, l, r)
		}
	case phWord:
		if from == 0 || !isWord(b[from-1]) && b[from-1] != '-' {
			w.word(p)
		}
	case phACL:
		w.accessRules(to - 1)
	case phStdin:
		w.stdin(from, to)
	case phUser:
		w.userField(from, p)
	case phCLF:
		w.accessLog(from)
	case phArgs:
		end, _ := w.balanced(b[:min(len(b), to+4096)], to-1)
		w.literal(to, end)
	case phOracle, phLogonName:
		for n := 0; n < 4 && phrases[n].do != phOracle && at(b, p) == '-'; n++ { // sqlplus -s
			for p < len(b) && !isSpace(b[p]) {
				p++
			}
			p = skipBlank(b, p)
		}
		e := p
		for e < len(b) && !isSpace(b[e]) && b[e] != '"' && b[e] != '\'' && b[e] != '@' {
			e++
		}
		if (phrases[n].do == phOracle || from == 0 || !isWord(b[from-1])) && bytes.IndexByte(b[p:e], '/') > 0 && w.r.on[kindSecret] && (at(b, e) == '@' || phrases[n].text == "sqlplus ") && b[p] != '/' {
			w.secret(p, e)
			w.atEnd = max(w.atEnd, e+1)
			if w.r.on[kindHost] && phrases[n].do == phOracle {
				w.hostList(e+1, true)
			}
		}
	}
}

// quotedLiteral masks the quoted text at p.
func (w *scanner) quotedLiteral(p int) {
	if q, from := opening(w.b, p); q.c != 0 {
		end, _, _ := w.closing(w.b, from, q)
		w.literal(from, end)
	}
}

// literal records a literal, inside of which no other phrase is looked for.
func (w *scanner) literal(from, to int) {
	w.litEnd = max(w.litEnd, to)
	w.add(kindSQL, from, to)
}

// binding handles Hibernate's "[1] as [VARCHAR] - [x]" and "(1:VARCHAR) <- [x]": the last bracket of the line is the value.
func (w *scanner) binding(p int) {
	b := w.b
	if p < w.paramEnd {
		return
	}
	end := w.lineEnd(b, p)
	w.paramEnd = end
	if i := bytes.Index(b[p:end], []byte("- [")); i >= 0 {
		from, to := p+i+len("- ["), end
		if j := bytes.LastIndexByte(b[from:end], ']'); j >= 0 {
			to = from + j
		}
		w.literal(from, to)
	}
}

// parameters handles MyBatis (x(String), …), PostgreSQL ($1 = 'x', …) and SQLAlchemy ([parameters: ('x', 1)]).
func (w *scanner) parameters(p int) {
	b := w.b
	if p >= len(b) || p < w.paramEnd {
		return
	}
	end := w.lineEnd(b, p)
	line := b[p:end]
	w.paramEnd = end
	switch {
	case b[p] == '(' || b[p] == '[':
		end, _ := w.balanced(b, p)
		w.add(kindSQL, p+1, end)
	case b[p] == '$':
		w.add(kindSQL, p, trimRight(b, p, end))
	case bytes.Contains(line, []byte("(String)")) || bytes.Contains(line, []byte("(Integer)")) || bytes.Contains(line, []byte("(Long)")) || bytes.Contains(line, []byte("(Timestamp)")) || bytes.Contains(line, []byte("(BigDecimal)")):
		w.add(kindSQL, p, trimRight(b, p, end))
	}
}

// identified handles IDENTIFIED BY 'x', IDENTIFIED BY x and IDENTIFIED WITH plugin AS|BY 'x'.
func (w *scanner) identified(p, to int) {
	b := w.b
	if !w.r.on[kindSecret] {
		return
	}
	if b[to-1] == 'h' || b[to-1] == 'H' {
		for n := 0; n < 64 && p < len(b) && !isSpace(b[p]); n++ {
			p++
		}
		p = w.skipWords(p+1, "as", "by")
	}
	p = w.skipWords(p, "password", "values")
	if p < len(b) && !w.masked(p) {
		w.secretValue(&key{from: to, to: to, kind: kindSecret, password: true}, p, equals)
	}
}

// saidHost handles the sentences of resolvers and dialers.
func (w *scanner) saidHost(p int, phrase string) {
	b := w.b
	if !w.r.on[kindHost] || p >= len(b) {
		return
	}
	if q, from := opening(b, p); q.c != 0 {
		p = from
	}
	e := endHost(b[:min(len(b), p+253)], p)
	for e > p && (b[e-1] == '.' || b[e-1] == '-') {
		e--
	}
	v := b[p:e]
	if !hostName(v) || fourNumbers(v) || javaName(v) {
		return
	}
	ok := hostLike(v) || portAfter(b, e)
	if plain(v) && !ok && !wordFold(b, skipBlank(b, e), "port") {
		return
	}
	switch phrase {
	case "lookup ":
		ok = has(b, e, " on ") && (isDigit(at(b, e+4)) || at(b, e+4) == '[' || at(b, e+4) == '<') || has(b, e, ": no such host") || has(b, e, ": i/o timeout")
	case "enotfound ", "eai_again ", "unknownhostexception:", "resolve host:", "resolve host ", "resolve hostname ", "connect to host ":
		ok = true
	case "failed to connect to ":
		ok = ok || wordFold(b, skipBlank(b, e), "port")
	}
	if ok {
		w.add(kindHost, p, e)
		w.hostEnd = max(w.hostEnd, e)
	}
}
