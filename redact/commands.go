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
}

var commands = []command{
	{"mysql mysqldump mysqladmin mysqlimport mysqlcheck mysqlsh mysqlshow mysqlbinlog mysqlpump mysqlslap mysql_upgrade mariadb mariadb-dump mariadb-admin mariadb-check mariadb-import mariabackup mydumper myloader xtrabackup innobackupex mycli pt-query-digest pt-table-checksum pt-online-schema-change", "p", true, false, 0, ""},
	{"curl wget http https xh aria2c lftp", "uUa", true, true, ':', ""},
	{"sshpass", "p", true, true, 0, ""},
	{"redis-cli valkey-cli keydb-cli", "a", false, true, 0, ""},
	{"ldapsearch ldapmodify ldapadd ldapdelete ldapwhoami ldappasswd ldapcompare", "wy", true, true, 0, ""},
	{"mongo mongosh mongodump mongorestore mongoexport mongoimport mongostat mongotop cqlsh", "p", false, true, 0, ""},
	{"docker podman helm oras skopeo nerdctl buildah crane oc az", "p", false, true, 0, "login"},
	{"sqlcmd bcp osql isql tsql mosquitto_pub mosquitto_sub ipmitool impala-shell", "P", true, true, 0, ""},
	{"zip unzip", "P", false, true, 0, ""},
	{"7z 7za rar unrar", "p", true, false, 0, ""},
	{"smbclient rpcclient smbmap", "U", true, true, '%', ""},
	{"snmpwalk snmpget snmpset snmpbulkwalk", "cAX", false, true, 0, ""},
	{"rdesktop influx cypher-shell", "p", false, true, 0, ""},
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
	for i := to; i+1 < end; i++ {
		if b[i] != '-' || !isBlank(b[i-1]) && !isQuote(b[i-1]) && b[i-1] != ',' && b[i-1] != '[' {
			continue
		}
		if b[i+1] == '-' {
			for _, f := range [...]string{"--user", "--proxy-user", "--auth"} {
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
