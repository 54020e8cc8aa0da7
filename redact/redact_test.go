package redact

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

func all(t testing.TB) *Redactor {
	t.Helper()
	r, err := New(Options{Classes: All})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTagsAreStableWithinARunAndSayNothingOutsideIt(t *testing.T) {
	r := all(t)
	const line = "dial tcp 10.96.12.7:5432: connection refused"
	one, two := NewTagger([32]byte{1}), NewTagger([32]byte{2})
	a, b := r.Text(line, one), r.Text("again "+line, one)
	if !strings.HasSuffix(b, a) {
		t.Errorf("same salt, same address: %q and %q", a, b)
	}
	if c := r.Text(line, two); c == a {
		t.Errorf("another salt gives the same tag: %q", c)
	}
	if c := r.Text(line, nil); c != "dial tcp <ip>:5432: connection refused" {
		t.Errorf("without a tagger: %q", c)
	}
}

func TestClassesAreIndependent(t *testing.T) {
	t.Parallel()
	const line = "password=hunter2 from 10.0.0.1 mail eve@shop.example: SELECT a FROM t WHERE b = 'x'"
	for _, c := range []struct {
		on   Classes
		want string
	}{
		{Classes{}, line},
		{Classes{Secrets: true}, "password=<secret> from 10.0.0.1 mail eve@shop.example: SELECT a FROM t WHERE b = 'x'"},
		{Classes{Infrastructure: true}, "password=hunter2 from <ip> mail eve@shop.example: SELECT a FROM t WHERE b = 'x'"},
		{Classes{Persons: true}, "password=hunter2 from 10.0.0.1 mail <email>: SELECT a FROM t WHERE b = 'x'"},
		{Classes{SQL: true}, "password=hunter2 from 10.0.0.1 mail eve@shop.example: SELECT a FROM t WHERE b = '<sql>'"},
		{All, "password=<secret> from <ip> mail <email>: SELECT a FROM t WHERE b = '<sql>'"},
	} {
		r, err := New(Options{Classes: c.on})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Text(line, nil); got != c.want {
			t.Errorf("%+v\n got  %q\n want %q", c.on, got, c.want)
		}
	}
}

func TestKeepAndHide(t *testing.T) {
	t.Parallel()
	r, err := New(Options{Classes: All, Keep: []string{`10\.0\.0\.\d+`, `token=demo-\w+`}, Hide: []string{`ACME-\d+`, `s.*t`}})
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"from 10.0.0.1 to 10.1.0.1":     "from 10.0.0.1 to <ip>",
		"token=demo-abc token=real-abc": "token=demo-abc token=<secret>",
		"order ACME-42 done":            "order <secret> done",
		"a secret b":                    "a <secret> b",
		"<secret> and <ip:abcdef>":      "<secret> and <ip:abcdef>",
	} {
		got := r.Text(in, nil)
		if got != want {
			t.Errorf("Text(%q) = %q, want %q", in, got, want)
		}
		if again := r.Text(got, nil); again != got {
			t.Errorf("Text(%q) = %q: not a fixed point", got, again)
		}
	}
	for _, o := range []Options{{Keep: []string{"a", "("}}, {Hide: []string{"a", "("}}} {
		_, err := New(o)
		if code, _, hint := fault.Public(err); code != fault.InvalidRequest || !strings.Contains(hint, "[1]") {
			t.Errorf("New(%+v): %v, hint %q, want INVALID_REQUEST that names the second expression", o, err, hint)
		}
	}
}

func TestPlaceholdersStayInDocuments(t *testing.T) {
	t.Parallel()
	r, err := New(Options{Classes: All, KeepPlaceholders: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, stays := range []string{
		"password=<password>", "mysql -u root -p<password> shop", "DB_PASSWORD=${DB_PASSWORD}", "password: {{ .Values.password }}", "password: ***", "token=xxxxxxxx", "token: $TOKEN", "password=your-password", `"password": "<your password>"`,
		"Authorization: Bearer <token>", "Authorization: Bearer ${TOKEN}", "curl -u admin:<password> http://192.0.2.10/", "mysql://app:<password>@192.0.2.1/shop", "ping 198.51.100.7", "mail ops@example.com", "password: ...", "password=%s",
	} {
		if got := r.Text(stays, nil); got != stays && !strings.Contains(got, "<host") {
			t.Errorf("Text(%q) = %q", stays, got)
		}
	}
	for _, stays := range []string{
		"create secret x \\\n --docker-password=<password>\n```\n\n- Drain <node-name>\n", "Authorization: Bearer $(oc create token x -n y)", "data:\n  config.yaml: |-\n    pool:\n      limit: 20MB\n  mode: fast\nkind: ConfigMap",
		"{key: machineconfiguration.shop.example/role, operator: In}", "Image pull secrets:  prometheus-dockercfg-6wl6b", "Pulling manifest: unverified-registry:quay.example/shop/custom-image@blah", "to unverified-registry:quay.example/shop/image@sha256:368d9b871a", "curl -H \"Authorization: Bearer $token\" -k https://h/",
	} {
		if got := r.Text(stays, nil); strings.Contains(got, "<secret>") {
			t.Errorf("Text(%q) = %q", stays, got)
		}
	}
	for _, goes := range []string{"<entry key=\"db.password\">hunter2</entry>", "<wsse:Password Type=\"x\">hunter2</wsse:Password>", "<password>hunter2</password>", "<password>\nhunter2\n</password>", "password=hunter2", "DB_PASSWORD=${DB:-hunter2}x", "password=<hunter2", "Authorization: Bearer hunter2", "mysql://app:hunter2@192.0.2.1/shop", "password: your-hunter2", "password=$hunter2", "mysql -phunter2"} {
		if got := r.Text(goes, nil); strings.Contains(got, "hunter2") {
			t.Errorf("Text(%q) = %q", goes, got)
		}
	}
}

// Attack: a document whose quoted header ends with "=", right before its quote: the redactor took that quote for the beginning of the value and read past the end.
func TestAQuoteBehindAHeaderIsNotItsValue(t *testing.T) {
	t.Parallel()
	r, err := New(Options{Classes: All, KeepPlaceholders: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{`"Set-Cookie: session="+s+"; Path=/"`, `'Cookie: a='x'`, `"Cookie: a=\""`, `"Authorization: Bearer "x"`} {
		if got := r.Text(in, nil); got != in {
			t.Errorf("Text(%q) = %q", in, got)
		}
	}
}

func TestTraceIDsAreMaskedOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	const line = "trace_id=4bf92f3577b34da6a3ce929d0e0e4736 spanId=00f067aa0ba902b7 request_id=550e8400-e29b-41d4-a716-446655440000 status=500"
	if got := all(t).Text(line, nil); got != line {
		t.Errorf("by default: %q", got)
	}
	r, err := New(Options{Classes: All, MaskTraceIDs: true})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.Text(line, nil), "trace_id=<trace> spanId=<trace> request_id=<trace> status=500"; got != want {
		t.Errorf("when asked: %q, want %q", got, want)
	}
}

func TestFieldIsJudgedByItsKey(t *testing.T) {
	t.Parallel()
	r := all(t)
	for _, c := range []struct{ key, value, want string }{
		{"password", "hunter2", "<secret>"},
		{"password", "two words, and more", "<secret>"},
		{"spring.datasource.password", "hunter2", "<secret>"},
		{"dbPassword", "hunter2", "<secret>"},
		{"ｐassword", "hunter2", "<secret>"},
		{"p\u200bassword", "hunter2", "<secret>"},
		{"密码", "hunter2", "<secret>"},
		{"数据库密码", "hunter2", "<secret>"},
		{"密码策略", "strict", "strict"},
		{"headers.Authorization", "Bearer abcdef", "Bearer <secret>"},
		{"http.request.headers.cookie", "a=1; b=2", "a=<secret>; b=<secret>"},
		{"kubernetes.pod_name", "payment-worker-0", "<pod>"},
		{"kubernetes.host", "worker-3", "<host>"},
		{"host", "db", "<host>"},
		{"host.name", "web", "<host>"},
		{"process.pid", "28341", "<pid>"},
		{"pid", "1", "<pid>"},
		{"phone", "555-2671", "<phone>"},
		{"user", "bob:Tulip7x", "bob:<secret>"},
		{"http.remote_user", "bob:Tulip7x", "bob:<secret>"},
		{"Username", "bob", "bob"},
		{"user", "system:admin", "system:admin"},
		{"user", "oidc:alice7", "oidc:alice7"},
		{"user.email", "eve@shop.example", "<email>"},
		{"手机号", "13800138000", "<phone>"},
		{"client.ip", "10.0.0.1", "<ip>"},
		{"msg", "login with password=hunter2 from 10.0.0.1", "login with password=<secret> from <ip>"},
		{"usage.prompt_tokens", "1200", "1200"},
		{"password_policy", "strict", "strict"},
		{"token_type", "bearer", "bearer"},
		{"status", "500", "500"},
		{"token", "null", "null"},
		{"password", "", ""},
		{"trace_id", "4bf92f3577b34da6a3ce929d0e0e4736", "4bf92f3577b34da6a3ce929d0e0e4736"},
		{"sql", "SELECT a FROM t WHERE b = 'x'", "SELECT a FROM t WHERE b = '<sql>'"},
	} {
		got := r.Field(c.key, c.value, nil)
		if got != c.want {
			t.Errorf("Field(%q, %q) = %q, want %q", c.key, c.value, got, c.want)
		}
		if again := r.Field(c.key, got, nil); again != got {
			t.Errorf("Field(%q, %q) = %q: not a fixed point", c.key, got, again)
		}
	}
}

func TestMasksAreFoundAndOpaque(t *testing.T) {
	t.Parallel()
	const s = "a <secret> b <ip:k3f9qa> c <host> <nohost> <ip:K3F9QA> <ip:k3f9q> <secret:k3f9qa> <pid:123456>"
	var got []string
	for a, e := range Tags(s) {
		got = append(got, s[a:e])
	}
	want := []string{"<secret>", "<ip:k3f9qa>", "<host>", "<pid:123456>"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if o := Opaque(s); strings.Contains(o, "<secret> ") || strings.Contains(o, "k3f9qa> c") || !strings.Contains(o, "<nohost>") {
		t.Errorf("Opaque = %q", o)
	}
	if a, e := FindTag("no mask <here>"); a != -1 || e != -1 {
		t.Errorf("FindTag = %d, %d", a, e)
	}
}

func TestStatsCountByKind(t *testing.T) {
	t.Parallel()
	var st Stats
	out := all(t).AppendStats(nil, []byte("password=a1 from 10.0.0.1 to 10.0.0.2"), nil, &st)
	if diff := cmp.Diff(map[string]int64{"secret": 1, "ip": 2}, st.Counts()); diff != "" {
		t.Errorf("%s\n%s", out, diff)
	}
	if st.Count("ip") != 2 || st.Count("nothing") != 0 {
		t.Errorf("Count: %d, %d", st.Count("ip"), st.Count("nothing"))
	}
}

func TestNoTermHasTwoMeanings(t *testing.T) {
	t.Parallel()
	for w := range plainWords {
		if m := terms[w]; m == mSecret || m == mPass {
			t.Errorf("%q is a word of messages and a key", w)
		}
	}
	for _, p := range providers {
		if len(p.text) < 2 || p.keep > len(p.text) {
			t.Errorf("provider %q", p.text)
		}
	}
	if len(providers) > maxProviders {
		t.Errorf("%d providers, room for %d", len(providers), maxProviders)
	}
}

// TestWorkIsLinear counts looked-at bytes instead of time: eight times the text may cost eight times the work and a bit.
func TestWorkIsLinear(t *testing.T) {
	t.Parallel()
	r := all(t)
	units := []string{"password=", "password ", "password password=x ", "\"password\":\"", "'", "\"", "\\\"password\\\":\\\"", "token='auth=\"", "authorization: ", "\"authorization: ", "cookie: a=b; ", "://", "://a:b@", "@", "a@b.", "a:b@", "-----BEGIN ", "-----END ", "-----BEGIN X-----",
		"select '", "\"select \"", "select ", "SELECT a FROM b WHERE c='", "insert into ", "update a set b=", "/*", "values (", "<password>", "\"password\">", "<secret>", "<host>", "<", "password is ", "password from a to b ", "key (", "failing row contains (", "near '", "parameters: ",
		"1", "1 ", "1-", "1.1.", "1:1:", "a:", "::", "+1 ", "4111 ", "-aaaaaaa-", "ip-1-1-1-1", "DE11", "sk-", "sk-a", "eyJ", "eyJ.", "eyJ-", "cGFzc3dvcmQ", "cGFzc3dvcmQ/", "mysql -p", "curl -u a:b ", "%70", "\\u0070", "&#112;", "\x1b[", "\u200b", "密码", "密码为", "密码从", "{", "password={", "password=[", "kind:Secret data:{", "\"kind\":\"Secret\"\"data\":{", "data:\n  a: b\n",
		"key=", "auth=\"", "lookup ", "host=a,", "name=password ", " --- [", "|password|", "| password |\n|---|\n", "| password | x ", "a,password\n", "a  password\n", "user,password\nbob,x1y2z3\n", "\tpassword\t", "login bob/x1y2z3 ", "login(", "auth(\"", "auth(a,", "requirepass ", " on >", "setuser >a ", "--password-stdin ", "echo a | sudo -s ", "parameters=[",
		"70617373776f7264", "7061737377 6f7264", "htpasswd ", "rabbitmqctl ", "rabbitmqctl add_user ", "password...", "password→", "password='''", "password:: ", "【", "login a password ", "?code=", "AUTH ", "bearer ", "\\", "\\\\\\", "$", ".com", "a.internal", "pwd;pwd,pwd&",
		"session ", "session id: ", "user=a:", "user \"a:b\" ", " - a:b [01/Mar/", "<th>password</th>", "<tr><th>password</th><td>x</td>", "name=\"password\" ", "{\"name\":\"password\",", "form-data; name=\"password\"\n", "«", "password“", "password=“", "&amp;", "&amp;quot;", "password:[]string{", "a1 LOGIN b ", "PASS x1Y2z ", "-e 'password=a ",
		"密码“", "<密码>", "(\"密码\",\"", "[\"password\",\"x1y2z\",", "password;", "a;password\n", "a|password\n", "token(value=", "s:8:\"password\";s:6:", "-us1", "patA.", "1Q~", "password\xff", "%ff", "a\x00b=", "PDO(", "password hash ", "is generated "}
	const small, factor = 1 << 14, 8
	for _, u := range units {
		count := func(n int) int {
			w := r.pool.Get().(*scanner)
			w.find([]byte(strings.Repeat(u, n/len(u))))
			return w.steps
		}
		a, b := count(small), count(small*factor)
		if b > 2*factor*a+4096 {
			t.Errorf("%q repeated: %d steps for %d bytes, %d for %d", u, a, small, b, small*factor)
		}
	}
}
