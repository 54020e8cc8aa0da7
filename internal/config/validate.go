package config

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// maxObservation is the hard bound of an observation: above it common clients cut or refuse a tool result.
const maxObservation = 32 << 10

// Classes are the mask classes of redaction.
var classes = []string{"secrets", "infrastructure", "persons", "sql"}

var (
	nameGrammar = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	idGrammar   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	tools       = []string{"query_logs", "query_mysql", "query_rag"}
)

// checker collects the contradictions of a configuration.
type checker struct {
	c   *Config
	out Problems
}

// add notes a problem unless the value could not be read in the first place: one mistake is one message.
func (k *checker) add(path, format string, args ...any) {
	if k.failed(path) {
		return
	}
	wide := ""
	for _, a := range args { // what was written
		if s, ok := a.(string); ok && wide == "" {
			wide = wideHint(s)
		}
	}
	k.out = append(k.out, k.c.Problem(path, fmt.Sprintf(format, args...)+wide))
}

func (k *checker) warn(path, format string, args ...any) {
	k.c.Warnings = append(k.c.Warnings, k.c.Problem(path, fmt.Sprintf(format, args...)))
}

// failed tells whether the key or a section around it could not be read.
func (k *checker) failed(path string) bool {
	for path != "" {
		if k.c.failed[path] {
			return true
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return k.c.failed[""]
}

func (c *Config) validate() Problems {
	k := &checker{c: c}
	k.http()
	k.harness()
	k.auth()
	k.runs()
	k.call()
	k.canonical()
	k.audit()
	k.logs()
	k.rag()
	k.mysql()
	k.misc()
	return k.out
}

// loopback tells whether a listen address is reachable from this machine only.
func loopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func (k *checker) listen(path, listen string) bool {
	host, port, err := net.SplitHostPort(listen)
	switch {
	case err != nil:
		k.add(path, "must be host:port, as in 127.0.0.1:8484")
		return false
	case host == "":
		k.add(path, "%q would listen on every interface; name the host, as in 127.0.0.1:%s", listen, port)
		return false
	}
	if n, err := net.LookupPort("tcp", port); err != nil || n < 0 {
		k.add(path, "%q is no port", port)
		return false
	}
	return true
}

func (k *checker) http() {
	h := k.c.HTTP
	if k.listen("http.listen", h.Listen) && !loopback(h.Listen) {
		if len(k.c.Auth.Tokens) == 0 && k.c.Auth.OIDC == nil {
			k.add("http.listen", "%s is reachable from other machines: configure auth.tokens or auth.oidc, or listen on 127.0.0.1", h.Listen)
		}
		if h.TLS.CertFile == "" && !h.BehindTLSProxy {
			k.add("http.listen", "%s is reachable from other machines: configure http.tls, or set http.behind_tls_proxy: true if a proxy in front ends TLS", h.Listen)
		}
	}
	if (h.TLS.CertFile == "") != (h.TLS.KeyFile == "") {
		k.add("http.tls", "cert_file and key_file belong together")
	}
	if !strings.HasPrefix(h.Path, "/") || strings.ContainsAny(h.Path, "?#{} ") {
		k.add("http.path", "must be a path such as /mcp")
	}
	if h.MaxBody < 1<<10 || h.MaxBody > 16<<20 {
		k.add("http.max_body", "must be between 1KiB and 16MiB")
	}
	if h.MaxConcurrent < 1 {
		k.add("http.max_concurrent", "must be at least 1")
	}
	for i, o := range h.AllowedOrigins {
		u, err := url.Parse(o)
		if err != nil || u.Scheme == "" || u.Host == "" || u.Path != "" || o == "*" {
			k.add(fmt.Sprintf("http.allowed_origins[%d]", i), "must be one whole origin, as in https://app.example.com")
		}
	}
	for i, o := range h.AllowedHosts {
		if o == "" || strings.ContainsAny(o, "/*@ ") {
			k.add(fmt.Sprintf("http.allowed_hosts[%d]", i), "must be a host or host:port, as in gateway.example.com")
		}
	}
}

func (k *checker) harness() {
	h := k.c.Harness
	if k.failed("harness.listen") {
		return
	}
	if h.Listen == "" {
		if k.c.Runs.Mode == "registered" {
			k.add("runs.mode", "registered runs are opened through the harness listener: set harness.listen, or use implicit")
		}
		return
	}
	if !k.listen("harness.listen", h.Listen) {
		return
	}
	if !slices.ContainsFunc(k.c.Auth.Tokens, func(t Token) bool { return t.Role == "harness" }) {
		k.add("harness.listen", "the harness listener needs a token with role: harness under auth.tokens")
	}
	if !loopback(h.Listen) && k.c.HTTP.TLS.CertFile == "" && !k.c.HTTP.BehindTLSProxy {
		k.add("harness.listen", "%s is reachable from other machines: configure http.tls or http.behind_tls_proxy, or listen on 127.0.0.1", h.Listen)
	}
	if h.Listen == k.c.HTTP.Listen && !strings.HasSuffix(h.Listen, ":0") {
		k.add("harness.listen", "is the address of http.listen; choose another port")
	}
}

// minToken is how long a token should be: 16 characters of base64 hold 96 random bits.
const minToken = 16

func (k *checker) auth() {
	names, values := map[string]bool{}, map[string]bool{}
	for i, t := range k.c.Auth.Tokens {
		at := fmt.Sprintf("auth.tokens[%d]", i)
		switch {
		case !nameGrammar.MatchString(t.Name):
			k.add(at+".name", "must be a name such as agent-a: ASCII letters, digits, dot, dash, underscore, at most 64")
		case names[t.Name]:
			k.add(at+".name", "the name %q is used twice; each token is its own principal", t.Name)
		}
		names[t.Name] = true
		switch {
		case t.Token.IsZero():
			k.add(at+".token", "is empty; give a long random value, as in ${AGENT_TOKEN}")
		case values[t.Token.Reveal()]:
			k.add(at+".token", "is the same as another token's")
		case strings.ContainsFunc(t.Token.Reveal(), func(r rune) bool { return r <= ' ' || r > '~' }):
			k.add(at+".token", "holds a blank or another character that no Authorization header carries")
		case len(t.Token.Reveal()) < minToken:
			k.warn(at+".token", "is shorter than %d characters: it can be guessed", minToken)
		}
		values[t.Token.Reveal()] = true
		if t.Role != "agent" && t.Role != "harness" {
			k.add(at+".role", "must be agent or harness, not %q", t.Role)
		}
		if t.Run != "" && (!idGrammar.MatchString(t.Run) || t.Run == "current") {
			k.add(at+".run", "must match [A-Za-z0-9][A-Za-z0-9._-]{0,127} and not be \"current\"")
		}
		if t.Principals != nil && t.Role != "harness" {
			k.add(at+".principals", "is for role: harness only")
		}
		k.known(at+".tools", t.Tools, tools)
		k.known(at+".topics", t.Topics, slices.Sorted(maps.Keys(k.c.Logs.Topics)))
		k.known(at+".datasources", t.Datasources, slices.Sorted(maps.Keys(k.c.MySQL.Datasources)))
		k.known(at+".collections", t.Collections, slices.Sorted(maps.Keys(k.c.RAG.Collections)))
	}
	if o := k.c.Auth.OIDC; o != nil {
		k.url("auth.oidc.issuer", o.Issuer)
		if u, err := url.Parse(o.Issuer); err == nil && u.Scheme == "http" && !loopback(u.Host+":0") && !loopback(u.Host) {
			k.add("auth.oidc.issuer", "must be an https address: keys fetched in the clear prove nothing")
		}
		if o.Audience == "" {
			k.add("auth.oidc.audience", "is empty; tokens for other services would be accepted")
		}
	}
}

// known checks that every name of a list exists.
func (k *checker) known(path string, names, all []string) {
	for i, n := range names {
		if slices.Contains(all, n) {
			continue
		}
		hint := "none is configured"
		if len(all) > 0 {
			hint = "there are " + strings.Join(all, ", ")
		}
		k.add(fmt.Sprintf("%s[%d]", path, i), "names %q, which is not configured; %s", n, hint)
	}
}

func (k *checker) runs() {
	r := k.c.Runs
	if r.Mode != "implicit" && r.Mode != "registered" {
		k.add("runs.mode", "must be implicit or registered, not %q", r.Mode)
	}
	if r.TTL < Duration(time.Second) {
		k.add("runs.ttl", "must be at least 1s")
	}
	for path, v := range map[string]int64{"runs.limits.calls": r.Limits.Calls, "runs.limits.request_bytes": int64(r.Limits.RequestBytes), "runs.limits.raw_bytes": int64(r.Limits.RawBytes),
		"runs.limits.observation_bytes": int64(r.Limits.ObservationBytes), "runs.no_gain.limit": int64(r.NoGain.Limit), "runs.principal.open_runs": r.Principal.OpenRuns,
		"runs.principal.calls_per_minute": r.Principal.CallsPerMinute, "runs.principal.live_bytes": int64(r.Principal.LiveBytes)} {
		if v < 1 {
			k.add(path, "must be at least 1")
		}
	}
	if r.NoGain.Window < r.NoGain.Limit {
		k.add("runs.no_gain.window", "must be at least runs.no_gain.limit (%d)", r.NoGain.Limit)
	}
	if r.NoGain.Window > 100 {
		k.add("runs.no_gain.window", "must be at most 100")
	}
}

func (k *checker) call() {
	c := k.c.Call
	if c.Timeout < Duration(100*time.Millisecond) || c.Timeout > Duration(10*time.Minute) {
		k.add("call.timeout", "must be between 100ms and 10m")
	}
	if c.Timeout > Duration(45*time.Second) {
		k.warn("call.timeout", "some clients give up after 60 s; 45s or less is safe")
	}
	for path, v := range map[string]Size{"call.max_request": c.MaxRequest, "call.max_raw": c.MaxRaw, "call.max_record": c.MaxRecord, "call.max_scan": c.MaxScan, "call.max_matched": c.MaxMatched} {
		if v < 256 {
			k.add(path, "must be at least 256 bytes")
		}
	}
	if c.MaxObservation < 2<<10 || c.MaxObservation > maxObservation {
		k.add("call.max_observation", "must be between 2KiB and 32KiB: clients cut what is larger")
	}
	if c.MaxRecord < c.MaxRaw {
		k.add("call.max_record", "must be at least call.max_raw")
	}
	if c.MaxRequest > k.c.HTTP.MaxBody {
		k.add("call.max_request", "must be at most http.max_body")
	}
}

// StoreKind tells which driver a store address names: file, memory, redis, or "" for none.
func StoreKind(store string) string {
	scheme, _, ok := strings.Cut(store, ":")
	switch {
	case store == "memory":
		return "memory"
	case ok && scheme == "file":
		return "file"
	case ok && slices.Contains([]string{"redis", "rediss", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster", "unix"}, scheme):
		return "redis"
	}
	return ""
}

func (k *checker) canonical() {
	c := k.c.Canonical
	kind := StoreKind(c.Store.Reveal())
	switch kind {
	case "":
		k.add("canonical.store", "must be file:, file:PATH, memory, redis://…, rediss://…, redis+sentinel://…, redis+cluster://… (rediss+… with TLS) or unix:///PATH")
	case "redis":
		u, err := url.Parse(c.Store.Reveal())
		if err != nil || u.Host == "" && u.Scheme != "unix" || strings.Contains(u.Path+u.RawQuery+u.Fragment, "@") { // a password with a slash in it ends the host
			k.add("canonical.store", "is no address; it looks like redis://user:password@host:6379/0 (percent-encode / ? # @ : and %% in user and password: p@ss/w is p%%40ss%%2Fw)")
		}
	case "file":
		if p := strings.TrimPrefix(c.Store.Reveal(), "file:"); p != "" && !filepath.IsAbs(p) {
			k.c.Canonical.Store = NewSecret("file:" + filepath.Join(filepath.Dir(k.c.File), p))
		}
	}
	if c.Replicas < 1 {
		k.add("canonical.replicas", "must be at least 1")
	}
	if c.Replicas > 1 && !k.failed("canonical.store") && (kind == "memory" || kind == "file") {
		k.add("canonical.store", "%d replicas cannot share %s; use Redis", c.Replicas, kind)
	}
	if c.TTL <= k.c.Call.Timeout {
		k.add("canonical.ttl", "must be longer than call.timeout (%s): a record would die before its call ends", time.Duration(k.c.Call.Timeout))
	}
	if c.TTL < k.c.Runs.TTL {
		k.warn("canonical.ttl", "is shorter than runs.ttl (%s): early citations of a run cannot be verified at its end", time.Duration(k.c.Runs.TTL))
	}
	if key := c.EncryptionKey.Reveal(); key != "" {
		if kind == "memory" {
			k.warn("canonical.encryption_key", "has no effect on the memory store")
		}
		if problem := keyProblem(key); problem != "" {
			k.add("canonical.encryption_key", "%s", problem)
		}
	}
}

func (k *checker) audit() {
	a := k.c.Audit
	if !a.MySQL.IsZero() && a.File != "" {
		k.add("audit", "choose one of mysql and file")
	}
	if !a.MySQL.IsZero() {
		k.dsn("audit.mysql", a.MySQL.Reveal())
	}
	for _, n := range slices.Sorted(maps.Keys(k.c.MySQL.Datasources)) {
		if dsn := k.c.MySQL.Datasources[n].DSN; !a.MySQL.IsZero() && account(dsn.Reveal()) == account(a.MySQL.Reveal()) {
			k.add("audit.mysql", "is the DSN of datasource %q; audit needs an account of its own that may write", n)
		}
	}
}

var dsnAddress = regexp.MustCompile(`^(?:[^()/:@]+(?:\(.*\))?)?$`)

func (k *checker) name(path, name string) {
	if !nameGrammar.MatchString(name) {
		k.add(path, "a name has ASCII letters, digits, dot, dash, underscore, at most 64; say in the description what else there is to say")
	}
}

func (k *checker) describe(path, text string) {
	if k.failed(path + ".description") {
		return
	}
	if strings.TrimSpace(text) == "" {
		k.add(path, "needs a description: one line that tells a model what it will find there")
	} else if len(text) > 300 || strings.ContainsAny(text, "\n\r") {
		k.add(path+".description", "must be one line of at most 300 bytes")
	}
}

func (k *checker) misc() {
	for name, list := range map[string][]string{"redaction.keep": k.c.Redaction.Keep, "redaction.hide": k.c.Redaction.Hide} {
		for i, e := range list {
			if _, err := regexp.Compile(e); err != nil {
				k.add(fmt.Sprintf("%s[%d]", name, i), "is no valid regular expression (RE2 syntax)")
			}
		}
	}
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, k.c.Log.Level) {
		k.add("log.level", "must be debug, info, warn or error, not %q", k.c.Log.Level)
	}
	if !slices.Contains([]string{"text", "json"}, k.c.Log.Format) {
		k.add("log.format", "must be text or json, not %q", k.c.Log.Format)
	}
}
