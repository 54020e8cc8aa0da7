package config

import (
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-069badc9/mcp-gateway/internal/spelling"
	"github.com/seed-069badc9/mcp-gateway/internal/zone"
)

// What can be wrong with the backends of the tools: topics, collections and datasources, and the DSN of audit.

// dsn checks the shape of a DSN. The driver that reads it checks more; this is what can be told in the same pass as the rest.
func (k *checker) dsn(path, dsn string) {
	const like = "it looks like user:password@tcp(host:3306)/database"
	before, _, _ := strings.Cut(dsn[strings.LastIndexByte(dsn, '@')+1:], "?")
	slash := strings.LastIndexByte(before, '/')
	switch user, _, _ := strings.Cut(dsn[:max(0, strings.LastIndexByte(dsn, '@'))], ":"); {
	case strings.HasPrefix(dsn, "mysql://"), strings.HasPrefix(dsn, "mariadb://"):
		k.add(path, "is a URL, no DSN; %s", like)
	case slash < 0:
		k.add(path, "is no DSN: nothing follows a slash; %s", like)
	case user == "":
		k.add(path, "is no DSN: it names no user; %s", like)
	case !dsnAddress.MatchString(before[:slash]):
		k.add(path, "is no DSN: the address is not written as tcp(host:3306); %s", like)
	}
}

// account is a DSN without its parameters: they do not make it another account.
func account(dsn string) string {
	at := strings.LastIndexByte(dsn, '@') // a password may hold a question mark
	before, _, _ := strings.Cut(dsn[at+1:], "?")
	return dsn[:at+1] + before
}

func (k *checker) masks(path string, mask []string) {
	for i, m := range mask {
		if !slices.Contains(classes, m) {
			k.add(fmt.Sprintf("%s[%d]", path, i), "must be one of %s, not %q", strings.Join(classes, ", "), m)
		}
	}
	if !slices.Contains(mask, "secrets") {
		k.add(path, "must contain secrets: they are masked always")
	}
}

func (k *checker) one(path string, present map[string]bool) {
	var names, set []string
	for _, n := range slices.Sorted(maps.Keys(present)) {
		names = append(names, n)
		if k.failed(path + "." + n) {
			return
		}
		if present[n] {
			set = append(set, n)
		}
	}
	if len(set) != 1 {
		k.add(path, "needs exactly one source of %s", strings.Join(names, ", "))
	}
}

func (k *checker) url(path, s string) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		k.add(path, "must be an http or https address")
	} else if u.User != nil {
		k.add(path, "must hold no user or password; use the key or header settings")
	}
}

func (k *checker) logs() {
	for _, n := range slices.Sorted(maps.Keys(k.c.Logs.Topics)) {
		t, at := k.c.Logs.Topics[n], "logs.topics."+n
		k.name(at, n)
		k.describe(at, t.Description)
		k.masks(at+".mask", t.Mask)
		k.one(at, map[string]bool{"files": t.Files != nil, "loki": t.Loki != nil, "victorialogs": t.VictoriaLogs != nil, "elasticsearch": t.Elasticsearch != nil})
		if f := t.Files; f != nil {
			if len(f.Paths) == 0 {
				k.add(at+".files.paths", "needs at least one path or pattern, as in ./logs/checkout*.log*")
			}
			for i, p := range f.Paths {
				if _, err := filepath.Match(string(p), "x"); err != nil || p == "" {
					k.add(fmt.Sprintf("%s.files.paths[%d]", at, i), "is no valid pattern")
				}
			}
			if _, err := zone.Load(f.Timezone); err != nil {
				k.add(at+".files.timezone", "is no time zone: want a name such as UTC or Asia/Shanghai, or an offset such as \"+08:00\"")
			}
		}
		if t.Loki != nil {
			k.url(at+".loki.url", t.Loki.URL)
			if !strings.HasPrefix(t.Loki.Selector, "{") || !strings.HasSuffix(t.Loki.Selector, "}") {
				k.add(at+".loki.selector", "must be a stream selector such as {app=\"checkout\"}")
			}
		}
		if t.VictoriaLogs != nil {
			k.url(at+".victorialogs.url", t.VictoriaLogs.URL)
		}
		if t.Elasticsearch != nil {
			k.url(at+".elasticsearch.url", t.Elasticsearch.URL)
			if t.Elasticsearch.Index == "" || strings.ContainsAny(t.Elasticsearch.Index, "/?#% ") {
				k.add(at+".elasticsearch.index", "must name an index or pattern such as logs-checkout-*")
			}
		}
	}
}

func (k *checker) rag() {
	for _, n := range slices.Sorted(maps.Keys(k.c.RAG.Collections)) {
		c, at := k.c.RAG.Collections[n], "rag.collections."+n
		k.name(at, n)
		k.describe(at, c.Description)
		k.masks(at+".mask", c.Mask)
		k.one(at, map[string]bool{"folder": c.Folder != nil, "dify": c.Dify != nil})
		if c.Folder != nil && c.Folder.Path == "" {
			k.add(at+".folder.path", "is empty; name the folder that holds the documents")
		}
		for name, v := range map[string]*float64{"floor": c.Floor, "floor_cjk": c.FloorCJK, "high": c.High} {
			if v != nil && (*v < 0 || *v > 1) {
				k.add(at+"."+name, "must be between 0 and 1")
			}
		}
		if c.Floor != nil && c.High != nil && *c.Floor > *c.High {
			k.add(at+".floor", "must not be above high")
		}
		if d := c.Dify; d != nil {
			k.url(at+".dify.url", d.URL)
			if d.KnowledgeID == "" {
				k.add(at+".dify.knowledge_id", "is empty")
			}
		}
		if e := c.Embeddings; e != nil {
			k.url(at+".embeddings.url", e.URL)
			if e.Model == "" {
				k.add(at+".embeddings.model", "is empty")
			}
			if e.Dimensions < 1 || e.Dimensions > 8192 {
				k.add(at+".embeddings.dimensions", "must be between 1 and 8192, as the model gives")
			}
			if c.Folder == nil {
				k.add(at+".embeddings", "belongs to a folder collection")
			}
		}
	}
}

func (k *checker) mysql() {
	for _, n := range slices.Sorted(maps.Keys(k.c.MySQL.Datasources)) {
		d, at := k.c.MySQL.Datasources[n], "mysql.datasources."+n
		k.name(at, n)
		k.describe(at, d.Description)
		if d.DSN.IsZero() {
			k.add(at+".dsn", "is empty; it looks like user:password@tcp(host:3306)/database")
		} else {
			k.dsn(at+".dsn", d.DSN.Reveal())
		}
		if d.MaxRows < 1 || d.MaxRows > 10_000 {
			k.add(at+".max_rows", "must be between 1 and 10000")
		}
		if d.Timeout < Duration(10*time.Millisecond) {
			k.add(at+".timeout", "must be at least 10ms")
		}
		if d.Timeout > k.c.Call.Timeout {
			k.warn(at+".timeout", "is longer than call.timeout (%s), which ends the call first", time.Duration(k.c.Call.Timeout))
		}
		tables := 0
		for _, s := range slices.Sorted(maps.Keys(d.Schemas)) {
			for _, t := range slices.Sorted(maps.Keys(d.Schemas[s])) {
				tables++
				if len(d.Schemas[s][t].Columns) == 0 {
					k.add(fmt.Sprintf("%s.schemas.%s.%s", at, s, t), "lists no columns; list the ones that may be read, as in [id, status]")
				}
				k.masked(fmt.Sprintf("%s.schemas.%s.%s.masked", at, s, t), d.Schemas[s][t])
			}
		}
		if tables == 0 {
			k.add(at+".schemas", "allows no table; list schema, table and columns that may be read")
		}
	}
}

// masked looks for a slip of the hand, which would show a column in clear that was to be masked.
func (k *checker) masked(at string, t Table) {
	known := func(list []string, name string) bool {
		return slices.ContainsFunc(list, func(c string) bool { return strings.EqualFold(c, name) })
	}
	var open []string
	for _, c := range t.Columns {
		if !known(t.Masked, c) {
			open = append(open, c)
		}
	}
	for _, m := range t.Masked {
		if known(t.Columns, m) {
			continue
		}
		if n := spelling.Nearest(m, open); n != "" {
			k.add(at, "masks %s, which columns does not list; did you mean %q?", strconv.Quote(m), n)
		} else {
			k.warn(at, "masks %s, which columns does not list: it can be read, masked; leave it out of both to hide it", strconv.Quote(m))
		}
	}
}
