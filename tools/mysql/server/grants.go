package server

import (
	"slices"
	"strings"
)

// readPrivileges cannot change anything: reading rows, and looking at definitions, threads and replication. FILE reads and writes files of the server's host and
// EXECUTE runs routines that may write with their definer's rights; neither is here.
var readPrivileges = map[string]bool{
	"USAGE": true, "SELECT": true, "SHOW VIEW": true, "SHOW DATABASES": true, "PROCESS": true,
	"REPLICATION CLIENT": true, "BINLOG MONITOR": true, "SLAVE MONITOR": true, "REPLICA MONITOR": true, "SHOW CREATE ROUTINE": true, "SHOW_ROUTINE": true,
}

// writing lists, in the words of the server and sorted, the privileges in the lines of SHOW GRANTS that go beyond reading. A line it cannot read counts as
// writing. Lines of roles that are granted need no look: the privileges of active roles are listed as lines of their own.
func writing(lines []string) []string {
	var out []string
	for _, line := range lines {
		rest, ok := cutFold(line, "GRANT ")
		if !ok {
			if _, def := cutFold(line, "SET DEFAULT ROLE "); !def {
				out = append(out, "a grant of unknown form")
			}
			continue
		}
		privs, object, ok := splitGrant(rest)
		if !ok {
			continue // GRANT `role` TO `user`
		}
		for _, p := range privs {
			if !readPrivileges[p] {
				out = append(out, p)
			}
		}
		if strings.HasSuffix(strings.ToUpper(object), " WITH GRANT OPTION") {
			out = append(out, "GRANT OPTION")
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// writtenTo lists the objects of the lines in which writing finds something, as the server writes them. What everybody may do is marked: no grant of the account's
// own explains it, and taking rights from the account does not end it.
func writtenTo(lines []string) []string {
	var out []string
	for _, line := range lines {
		rest, _ := cutFold(line, "GRANT ")
		_, object, ok := splitGrant(rest)
		if !ok || len(writing([]string{line})) == 0 {
			continue
		}
		object, to, _ := strings.Cut(object, " TO ")
		if strings.EqualFold(strings.Trim(to, "`'\" "), "PUBLIC") {
			object += " through PUBLIC, which every account has: revoke it there"
		}
		out = append(out, object)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func cutFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// splitGrant reads "PRIV, PRIV (cols) ON object TO …" up to ON, quotes and brackets respected; ok is false when there is no ON.
func splitGrant(s string) (privs []string, object string, ok bool) {
	var quote byte
	depth, start := 0, 0
	add := func(end int) {
		p := s[start:end]
		if i := strings.IndexByte(p, '('); i >= 0 {
			p = p[:i]
		}
		privs = append(privs, strings.ToUpper(strings.TrimSpace(p)))
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '`' || c == '\'' || c == '"':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth > 0:
		case c == ',':
			add(i)
			start = i + 1
		case c == ' ' && len(s) >= i+4 && strings.EqualFold(s[i:i+4], " ON "):
			add(i)
			return privs, s[i+4:], true
		}
	}
	return nil, "", false
}
