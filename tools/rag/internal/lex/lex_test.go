package lex

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func terms(s string) string {
	var out []string
	for _, t := range Tokens(s) {
		out = append(out, t.Term)
	}
	return strings.Join(out, " ")
}

func TestTermsOfWordsIdentifiersAndScripts(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"the pods are restarting", "pod restart"},
		{"KubePodCrashLooping", "kubernet pod crash loop kubepodcrashlooping"},
		{"HTTPServerDown", "http server down httpserverdown"},
		{"VMs and APIs", "vm api"},
		{"node_cpu_seconds_total", "node cpu second total nodecpusecondstotal"},
		{"kube-proxy", "kubernet proxi kubeproxy"},
		{"db.pool.size", "databas pool size"},
		{"k8s p99 5xx 502", "kubernet p99 5xx 502"},
		{"CapacityWarning85", "capac warn 85 capacitywarning85"},
		{"payctl failover --region eu", "payctl failov region eu"},
		{"数据库", "数据 据库"},
		{"重跑gen-itgc后", "重跑 gen itgc genitgc 后"},
		{"ＣＰＵ 使用率", "cpu 使用 用率"},
		{"password=<secret> at <ip:k3f9qa> and <host>", "password"},
		{"<password> stays", "password stai"},
		{"café CAFÉ", "café café"},
		{"CAFE\u0301", "cafe"},
		{"\xff\xfebroken\xc3 text", "broken text"},
		{strings.Repeat("x", 300), ""},
		{"status of this class", "status class"},
		{"サーバー障害", "サー ーバ バー ー障 障害"},
	} {
		if got := terms(c.in); got != c.want {
			t.Errorf("terms(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestWordsOfOneStemMeet(t *testing.T) {
	for _, group := range [][]string{
		{"restart", "restarts", "restarted", "restarting"},
		{"configuration", "configurations"},
		{"failing", "failed", "fails", "fail"},
		{"connection", "connections", "connected", "connecting"},
		{"query", "queries"},
		{"latency", "latencies"},
		{"scheduled", "scheduling", "schedule"},
		{"configuration", "config", "configs"},
		{"database", "db", "databases"},
	} {
		for _, w := range group[1:] {
			if normal(w) != normal(group[0]) {
				t.Errorf("normal(%q) = %q, normal(%q) = %q: want one stem", w, normal(w), group[0], normal(group[0]))
			}
		}
	}
	for _, pair := range [][2]string{{"status", "state"}, {"ready", "read"}, {"nodes", "note"}} {
		if stem(pair[0]) == stem(pair[1]) {
			t.Errorf("stem(%q) = stem(%q)", pair[0], pair[1])
		}
	}
}

func TestOffsetsPointAtTheWords(t *testing.T) {
	in := "磁盘 diskPressure is high"
	var got []string
	for _, tok := range Tokens(in) {
		got = append(got, in[tok.Start:tok.End])
	}
	if diff := cmp.Diff([]string{"磁盘", "disk", "Pressure", "diskPressure", "high"}, got); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
}

func TestHasCJK(t *testing.T) {
	for in, want := range map[string]bool{"": false, "disk full": false, "磁盘满了怎么办": true, "etcd 磁盘": true, "the word 磁 in a long English sentence": false} {
		if got := HasCJK(in); got != want {
			t.Errorf("HasCJK(%q) = %v, want %v", in, got, want)
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range []string{"", "KubePod 数据库 k8s_2", "<ip:abc> <secret", "a-_.b", "\xff\x80数", "Ω9aB", "HTTPs3S"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		last := 0
		for _, tok := range Tokens(s) {
			if tok.Start < 0 || tok.End > len(s) || tok.Start >= tok.End {
				t.Fatalf("token %+v outside of %d bytes", tok, len(s))
			}
			if tok.Term == "" || len(tok.Term) > 2*maxTerm || !utf8.ValidString(tok.Term) {
				t.Fatalf("term %q", tok.Term)
			}
			if !utf8.RuneStart(s[tok.Start]) {
				t.Fatalf("token %+v starts inside a rune", tok)
			}
			if tok.Kind != Whole && tok.Start < last {
				t.Fatalf("token %+v goes back", tok)
			}
			last = tok.Start
		}
	})
}

func BenchmarkScan(b *testing.B) {
	text := strings.Repeat("KubePodCrashLooping means that a pod of the deployment restarts again and again. 数据库连接池耗尽时先看慢查询。\n", 200)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Scan(text, func(Token) {})
	}
}
