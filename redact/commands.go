package redact

import "bytes"

// command says which short flags of a program hold a secret. A value may be attached (-pX) or the next word (-p X); pair: user:password, of which the part
// behind the mark is the secret.
type command struct {
	names    string
	flags    string
	attached bool
	separate bool
	pair     byte
	needs    string // a word that must be on the line
	slash    bool   // flags begin with a slash, and a colon may stand before the value
}

var commands = []command{
	{"mysql mysqldump mysqladmin mysqlimport mysqlcheck mysqlsh mysqlshow mysqlbinlog mysqlpump mysqlslap mysql_upgrade mariadb mariadb-dump mariadb-admin mariadb-check mariadb-import mariabackup mydumper myloader xtrabackup innobackupex mycli pt-query-digest pt-table-checksum pt-online-schema-change", "p", true, false, 0, "", false},
	{"curl wget http https xh aria2c etcdctl httpie ctr", "uUa", true, true, ':', "", false},
	{"lftp", "u", true, true, ',', "", false},
	{"sshpass", "p", true, true, 0, "", false},
	{"redis-cli valkey-cli keydb-cli", "a", false, true, 0, "", false},
	{"ldapsearch ldapmodify ldapadd ldapdelete ldapwhoami ldappasswd ldapcompare", "wy", true, true, 0, "", false},
	{"mongo mongosh mongodump mongorestore mongoexport mongoimport mongostat mongotop cqlsh", "p", false, true, 0, "", false},
	{"docker podman helm oras skopeo nerdctl buildah crane oc az", "p", false, true, 0, "login", false},
	{"sqlcmd bcp osql isql tsql mosquitto_pub mosquitto_sub ipmitool impala-shell", "P", true, true, 0, "", false},
	{"zip unzip", "P", false, true, 0, "", false},
	{"7z 7za rar unrar", "p", true, false, 0, "", false},
	{"smbclient rpcclient smbmap", "U", true, true, '%', "", false},
	{"snmpwalk snmpget snmpset snmpbulkwalk", "cAX", false, true, 0, "", false},
	{"rdesktop influx cypher-shell rabbitmqadmin psexec psexec64 ncftpput ncftpget ncftpls", "p", false, true, 0, "", false},
	{"useradd usermod", "p", true, true, 0, "", false},
	{"twine", "p", false, true, 0, "upload", false},
	{"certutil", "p", false, true, 0, "pfx", false},
	{"openssl", "kK", false, true, 0, "enc ", false},
	{"xfreerdp wfreerdp xfreerdp3 signtool", "p", true, true, 0, "", true},
}

// argument says which word of a command line is a secret: the one after nth-1 others behind sub, flags not counted. flag is a letter that must be among them.
type argument struct {
	name, sub string
	nth       int
	flag      byte
}

var arguments = []argument{
	{"rabbitmqctl", "add_user", 2, 0}, {"rabbitmqctl", "change_password", 2, 0}, {"rabbitmqctl", "authenticate_user", 2, 0}, {"vault", "login", 1, 0}, {"net", "user", 2, 0}, {"mc", "alias set", 4, 0},
	{"mc", "config host add", 4, 0}, {"htpasswd", "", 3, 'b'}, {"htpasswd", "", 2, 'n'}, {"isql", "", 3, 0}, {"net", "use", 1, 0}, {"mosquitto_passwd", "", 3, 'b'}, {"wpa_passphrase", "", 2, 0}, {"openssl", "passwd", 1, 0}, {"redis-cli", "auth", 1, 0}, {"pulumi", "config set", 2, 0},
}

// nearLine is the end of the line at i, at most 512 bytes away.
func (w *scanner) nearLine(i int) int {
	near := w.b[i:min(len(w.b), i+512)]
	if n := bytes.IndexByte(near, '\n'); n >= 0 {
		near = near[:n]
	}
	w.steps += len(near)
	return i + len(near)
}

// argument masks a word of the rest of the line behind a program's name.
func (w *scanner) argument(n, from, to int) {
	b, a := w.b, arguments[n]
	if !w.r.on[kindSecret] || from > 0 && (isWord(b[from-1]) || b[from-1] == '-' || b[from-1] == '.') || !isBlank(at(b, to)) {
		return
	}
	end := w.nearLine(to)
	if to > w.argEnd {
		w.argEnd, w.argCount = end, 0
	}
	if w.argCount++; w.argCount > maxCommands {
		return
	}
	p := to
	if a.sub != "" {
		for p < end && !(wordFold(b, p, a.sub) && isBlank(b[p-1])) {
			p++
		}
		p += len(a.sub)
	}
	flagged := a.flag == 0
	for count := 0; p < end; {
		p = skipBlank(b, p)
		if p >= end || b[p] == '|' || b[p] == ';' || b[p] == '&' {
			return
		}
		e := w.unquoted(b[:end], p, false)
		if o, f := opening(b, p); o.c != 0 {
			_, e, _ = w.closing(b[:end], f, o)
		}
		if b[p] == '-' {
			flagged = flagged || bytes.IndexByte(b[p:e], a.flag) > 0
		} else if a.skips(b[p:e]) {
		} else if count++; count == a.nth {
			if v := bytes.Trim(b[p:e], "\"'"); flagged && !plain(v) && (mixed(v) || a.name != "net") && b[p] != '/' {
				w.word(p)
			}
			return
		}
		p = max(e, p+1)
	}
}

// skips tells a word that is not counted: what names the share and the drive of net use, and the fields of vault login.
func (a *argument) skips(word []byte) bool {
	switch a.name {
	case "net":
		return a.sub == "use" && (word[0] == '\\' || word[0] == '/' || word[len(word)-1] == ':' || word[0] == '*')
	case "vault":
		return bytes.IndexByte(word, '=') > 0
	}
	return false
}

// maxCommands bounds how often one line is walked for flags.
const maxCommands = 6

// command walks the rest of the line behind a program's name.
func (w *scanner) command(n, from, to int) {
	b, c := w.b, commands[n]
	if !w.r.on[kindSecret] || from > 0 && (isWord(b[from-1]) || b[from-1] == '-' || b[from-1] == '.') || !isBlank(at(b, to)) && !isQuote(at(b, to)) {
		return
	}
	if to > w.cmdEnd {
		w.cmdEnd, w.cmdCount = w.lineEnd(b, to), 0
	}
	end := w.cmdEnd
	if w.cmdCount++; w.cmdCount > maxCommands || c.needs != "" && !bytes.Contains(b[to:end], []byte(c.needs)) {
		return
	}
	w.steps += end - to
	k := key{kind: kindSecret}
	dash := byte('-')
	if c.slash {
		dash = '/'
	}
	for i := to; i+1 < end; i++ {
		if b[i] != dash || !isBlank(b[i-1]) && !isQuote(b[i-1]) && b[i-1] != ',' && b[i-1] != '[' {
			continue
		}
		if b[i+1] == '-' {
			for _, f := range [...]string{"--user", "--proxy-user", "--auth", "--login"} {
				if c.pair == ':' && hasFold(b, i, f) && (at(b, i+len(f)) == ' ' || at(b, i+len(f)) == '=') {
					w.pair(skipBlank(b, i+len(f)+1), end, c.pair)
				}
			}
			continue
		}
		if c.pair == ':' && b[i+1] == 'b' && isBlank(at(b, i+2)) { // curl -b "a=b"
			if v := skipBlank(b, i+2); v < end && bytes.IndexByte(b[v:w.unquoted(b[:end], v, false)], '=') > 0 {
				w.cookies(v, w.limit(&key{from: v, to: v}, v), false)
			}
			continue
		}
		if bytes.IndexByte([]byte(c.flags), b[i+1]) < 0 {
			continue
		}
		k.from, k.to = i, i+2
		v := i + 2
		if c.slash {
			if at(b, v) == ':' {
				v++
			} else if !isBlank(at(b, v)) {
				continue
			}
		}
		sep := isBlank(at(b, v)) || isQuote(at(b, v)) && at(b, v+1) == ',' || isQuote(at(b, v)) && isBlank(at(b, v+1))
		if sep && c.separate {
			for v < end && (isBlank(b[v]) || isQuote(b[v]) && (at(b, v+1) == ',' || isBlank(at(b, v+1))) || b[v] == ',') {
				v++
			}
			if v >= end || b[v] == '-' {
				continue
			}
		} else if sep || !c.attached || v >= end {
			continue
		}
		if c.pair != 0 {
			w.pair(v, end, c.pair)
			continue
		}
		i = max(i, w.secretValue(&k, v, equals)-1)
	}
}

// pair masks what stands behind the mark in user:password at v.
func (w *scanner) pair(v, end int, mark byte) {
	b := w.b
	if v >= end {
		return
	}
	to := 0
	if q, from := opening(b, v); q.c != 0 {
		v = from
		to, _, _ = w.closing(b[:end], from, q)
	} else {
		to = w.unquoted(b[:end], v, false)
		if c := bytes.IndexByte(b[v:to], mark); c > 0 {
			to = w.unquoted(b[:end], v+c+1, false)
		}
	}
	c := bytes.IndexByte(b[v:to], mark)
	if c < 0 || bytes.HasPrefix(b[v+c:to], []byte("://")) || c+1 == to-v {
		return
	}
	if w.r.o.KeepPlaceholders && placeholder(b[v+c+1:to]) {
		return
	}
	w.secret(v+c+1, to)
}
