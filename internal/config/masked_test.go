package config

import (
	"errors"
	"strings"
	"testing"
)

// "masked: [emial]" beside "columns: [id, email]" showed every e-mail address, and check said ok.
func TestASlipInMaskedShowsNoColumn(t *testing.T) {
	for _, c := range []struct {
		table, says string // "" loads without a word; a leading ! is a warning
	}{
		{`{columns: [id, name, email], masked: [email]}`, ""},
		{`{columns: [id, name, email], masked: [EMAIL]}`, ""},
		{`{columns: [id, name, email], masked: [emial]}`, `masks "emial", which columns does not list; did you mean "email"?`},
		{`{columns: [id, home_phone], masked: [homephone]}`, `did you mean "home_phone"?`},
		{`{columns: [id, name], masked: [passport]}`, `!masks "passport", which columns does not list: it can be read, masked`},
		{`{columns: [id, email], masked: [email, emails]}`, `!masks "emails"`}, // what it is near to is masked
	} {
		cfg, err := load(t, "canonical: {store: memory}\nmysql: {datasources: {shop: {description: d, dsn: \"r:x@tcp(db)/shop\", schemas: {shop: {customers: "+c.table+"}}}}}\n")
		said := ""
		if ps, ok := errors.AsType[Problems](err); ok {
			said = ps[0].Text
		} else if err == nil && len(cfg.Warnings) > 0 {
			said = "!" + cfg.Warnings[0].Text
		}
		if (said == "") != (c.says == "") || !strings.Contains(said, strings.TrimPrefix(c.says, "!")) || strings.HasPrefix(said, "!") != strings.HasPrefix(c.says, "!") {
			t.Errorf("%s: %q, want %q", c.table, said, c.says)
		}
	}
}

func TestEveryFormOfAStoreIsKnown(t *testing.T) {
	for store, kind := range map[string]string{"memory": "memory", "file:": "file", "file:/x/y.db": "file", "redis://h:1/0": "redis", "rediss://h:1/0": "redis", "redis+sentinel://h:1/m/0": "redis",
		"rediss+sentinel://h:1/m/0": "redis", "redis+cluster://h:1": "redis", "rediss+cluster://h:1": "redis", "unix:///run/redis.sock?db=0": "redis", "memcached://h": "", "": "", "redis": ""} {
		if got := StoreKind(store); got != kind {
			t.Errorf("%q is %q, want %q", store, got, kind)
		}
		if kind == "redis" {
			if _, err := load(t, "canonical: {store: \""+store+"\"}\n"); err != nil {
				t.Errorf("%q does not load: %v", store, err)
			}
		}
	}
}
