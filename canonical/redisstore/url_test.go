package redisstore

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		url  string
		want target
	}{
		{"redis://redis.example.com", target{network: "tcp", addrs: []string{"redis.example.com:6379"}}},
		{"redis://127.0.0.1:7000/3", target{network: "tcp", addrs: []string{"127.0.0.1:7000"}, db: 3}},
		{"rediss://user:p%40ss%2Fw@[2001:db8::1]:7000", target{network: "tcp", addrs: []string{"[2001:db8::1]:7000"}, user: "user", password: "p@ss/w", tls: true}},
		{"redis://[2001:db8::1]", target{network: "tcp", addrs: []string{"[2001:db8::1]:6379"}}},
		{"redis://:p@@h", target{network: "tcp", addrs: []string{"h:6379"}, password: "p@"}},
		{"rediss://h/0?ca_file=/ca.pem&server_name=redis.example.com", target{network: "tcp", addrs: []string{"h:6379"}, tls: true, caFile: "/ca.pem", server: "redis.example.com"}},
		{"unix:///run/redis.sock?db=2", target{network: "unix", addrs: []string{"/run/redis.sock"}, db: 2}},
		{"redis+sentinel://:p@a:1,b/shop/2", target{kind: "sentinel", network: "tcp", addrs: []string{"a:1", "b:26379"}, password: "p", master: "shop", db: 2}},
		{"rediss+sentinel://a/shop?sentinel_username=u&sentinel_password=w", target{kind: "sentinel", network: "tcp", addrs: []string{"a:26379"}, master: "shop", tls: true, sentinel: struct{ user, password string }{"u", "w"}}},
		{"redis+cluster://u:p@a,b:7001", target{kind: "cluster", network: "tcp", addrs: []string{"a:6379", "b:7001"}, user: "u", password: "p"}},
	} {
		got, err := parse(c.url)
		if err != nil {
			t.Errorf("parse(%s) = %v", c.url, err)
			continue
		}
		if diff := cmp.Diff(&c.want, got, cmp.AllowUnexported(target{}, struct{ user, password string }{})); diff != "" {
			t.Errorf("parse(%s) (-want +got):\n%s", c.url, diff)
		}
	}
}

func TestParseRefusesWithoutShowingThePassword(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"", "redis", "redis://", "http://:hunter2@h", "redis+proxy://:hunter2@h", "unix+cluster:///s", "redis://:hunter2@a,b", "redis://:hunter2@h/x", "redis://:hunter2@h/1/2", "redis://:hunter2@h/-1",
		"redis+cluster://:hunter2@h/1", "redis+sentinel://:hunter2@h", "redis://:hunter2@h?nonsense=1", "redis://:hunter2@h?ca_file=/x", "rediss://:hunter2@h?cert_file=/x", "redis://:hunter2%@h",
		"redis://:hunter2@h#f", "unix://", "unix:///s?db=x", "rediss://:hunter2@h?ca_file=a&ca_file=b", "redis://:hunter2@h,", "redis+://h",
	} {
		if _, err := New(Options{URL: url}); err == nil {
			t.Errorf("New(%q) accepted", url)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("New(%q) shows the password: %v", url, err)
		}
	}
	if _, err := New(Options{URL: "redis://h", EncryptionKey: "hunter2"}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("New with a bad key = %v", err)
	}
}
