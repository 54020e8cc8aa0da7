package redact

// meaning is what a term of an identifier says about the value under it.
type meaning uint8

const (
	mNone    meaning = iota // says nothing
	mNeutral                // changes nothing: new_password, password_value
	mBenign                 // as the last term: the value describes the secret and is none: password_policy, token_count
	mSecret                 // always a secret
	mWeak                   // a secret when the value looks like one: auth=, session=
	mDigits                 // a secret when the value is a code: pin=, otp=
	mKey                    // a secret beside a word of keyOf: api_key, access-key
	mPass                   // password as a short word: pass=, db_pass
	mAuthorization
	mCookie
	mHost
	mHostish // a host when the value looks like one: server=, peer=
	mPod
	mPID
	mMAC
	mPhone
	mCard
	mIDNumber
	mTrace
	mHeadName // name, after host or pod: host.name, pod_name
)

// terms maps a lower-case term to its meaning. Secrets that are found inside longer words (PGPASSWORD, dbpasswd) are in strong.
var terms = func() map[string]meaning {
	m := map[string]meaning{}
	for k, list := range map[meaning][]string{
		mNeutral: {"old", "new", "value", "val", "str", "string", "text", "raw", "plain", "plaintext", "current", "previous", "prev", "confirm", "confirmation", "again",
			"repeat", "encrypted", "enc", "encoded", "base64", "b", "b64", "hex", "input", "data", "param", "field", "header", "env", "var", "x", "id", "hash", "digest", "list", "array", "map", "no", "num", "number", "in", "on", "at", "after", "until", "left"},
		mBenign: {"policy", "policies", "length", "len", "size", "count", "counts", "counter", "total", "limit", "limits", "max", "min", "type", "types", "kind", "names",
			"file", "filename", "files", "path", "paths", "dir", "directory", "folder", "url", "uri", "endpoint", "expiry", "expires", "expired", "expiration", "expire", "exp", "ttl", "age", "lifetime", "duration",
			"timeout", "interval", "enabled", "disabled", "enable", "disable", "required", "require", "allowed", "valid", "invalid", "validity", "validation", "status", "state", "strength", "score", "rule", "rules",
			"regex", "pattern", "format", "encoding", "algorithm", "alg", "algo", "method", "methods", "mode", "scheme", "version", "usage", "used", "remaining", "rate", "budget", "cost", "index", "idx", "position",
			"pos", "offset", "line", "column", "attempts", "attempt", "retries", "failures", "failed", "errors", "error", "err", "exception", "reset", "change", "changed", "updated", "created", "time", "timestamp",
			"date", "issuer", "audience", "scope", "scopes", "service", "filter", "manager", "provider", "handler", "controller", "impl", "factory", "util", "utils", "helper", "encoder", "decoder", "validator", "parser",
			"lexer", "config", "configuration", "configmap", "repository", "store", "client", "test", "tests", "spec", "bucket", "queue", "cache", "pool", "job", "task", "event", "ref", "refs",
			"reference", "namespace", "set", "exists", "present", "missing", "found", "mismatch", "verified", "prompt", "label", "placeholder", "class", "java", "go", "py", "js", "ts", "tsx", "rb",
			"php", "cs", "rs", "kt", "cpp", "json", "yaml", "yml", "xml", "conf", "cfg", "log", "logs", "txt", "sql", "crt", "cert", "md", "html", "jar", "properties", "resolver", "generator", "reader", "writer",
			"plugin", "module", "variable", "response", "domain", "secure", "httponly", "samesite", "flag", "flags", "authentication", "user", "username", "per", "second", "seconds", "ms", "bytes", "quota", "window", "stdin",
			"context", "completion", "rotation", "rotated", "interceptor", "mapper", "builder", "strategy", "middleware", "guard", "listener", "adapter", "loader", "binding", "mount", "volume", "ops", "loop", "hits", "supported"},
		mSecret: {"pwd", "psw", "pswd", "pw", "passcode", "passkey", "pass" + "phrase", "cred", "creds", "jwt", "mnemonic", "kennwort", "senha", "contrasena", "motdepasse", "passe", "wachtwoord", "heslo", "parola", "salasana", "lozinka",
			"csrf", "xsrf", "psk", "jsessionid", "phpsessid", "sessid", "sessionid", "webhookurl", "keystorepass", "storepass", "keypass", "sas", "hmac", "userpwd", "dbpwd", "dbpasswd"},
		mWeak:          {"auth", "session", "sess", "sid", "sig", "sign", "signature", "seed", "bearer", "nonce", "ticket", "verifier"},
		mDigits:        {"pin", "otp", "totp", "cvv", "cvv2", "cvc", "cvc2", "vcode", "smscode", "verifycode", "authcode", "passwordcode"},
		mKey:           {"key", "keys"},
		mPass:          {"pass"},
		mAuthorization: {"authorization"},
		mCookie:        {"cookie", "cookies"},
		mHost:          {"host", "hostname", "hosts", "node", "nodename", "fqdn", "machine", "computer", "rhost", "dbhost", "hostip", "nodeid"},
		mHostish:       {"server", "servers", "instance", "peer", "broker", "brokers", "upstream", "addr", "address", "target", "worker", "master", "replica", "bootstrap"},
		mPod:           {"pod", "podname", "pods"},
		mPID:           {"pid", "ppid", "process"},
		mMAC:           {"mac", "hwaddr", "macaddr"},
		mPhone:         {"phone", "mobile", "tel", "telephone", "cellphone", "msisdn", "fax", "phonenumber", "phoneno"},
		mCard:          {"card", "cardno", "cardnumber", "pan", "ccn", "bankcard", "creditcard"},
		mIDNumber:      {"ssn", "iban", "passport", "idno", "idcard", "idnumber", "citizenid", "certno", "idcardno"},
		mTrace:         {"trace", "traceid", "span", "spanid", "requestid", "correlation", "correlationid", "reqid", "traceparent"},
		mHeadName:      {"name"},
	} {
		for _, t := range list {
			m[t] = k
		}
	}
	return m
}()

// keyOf are the words that make a secret of a key: api_key, "access key".
var keyOf = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range []string{"api", "access", "private", "priv", "secret", "encryption", "encrypt", "signing", "sign", "shared", "account", "master", "auth", "service", "license", "licence", "client", "app", "storage", "subscription", "ssh", "rsa", "aes", "hmac", "token", "password", "jwt", "csrf", "consumer", "webhook", "deploy", "ingest", "write", "admin", "crypto", "cipher", "sso", "recovery", "root", "google", "stripe", "openai", "aws", "azure", "datadog", "sendgrid", "device", "merchant", "partner", "product", "instrumentation", "installation", "integration"} {
		m[w] = true
	}
	return m
}()

// fileTypes end the name of a file: Token.java:12 names no token.
var fileTypes = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range []string{"java", "go", "py", "js", "ts", "tsx", "jsx", "rb", "php", "cs", "rs", "kt", "scala", "cpp", "json", "yaml", "yml", "xml", "conf", "cfg", "ini", "toml", "log", "txt", "sql", "crt", "cert", "md", "html", "css", "jar", "war", "properties", "class", "so", "dll", "sh", "env",
		"png", "jpg", "jpeg", "gif", "svg", "webp", "map", "mjs", "tgz", "gz", "zip", "service", "timer", "socket", "sock", "lock", "tmp", "bak", "csv"} {
		m[w] = true
	}
	return m
}()

// strong are words that make a secret of any word they stand in, with the endings that do not (passwordless, tokenizer, secretary).
var strong = []string{"password", "passwd", "passphrase", "passwort", "passwrd", "passcode", "secret", "token", "credential", "apikey", "privatekey", "accesskey", "secretkey", "sessionid", "sessid", "authkey", "accountkey", "sharedkey", "licensekey", "encryptionkey", "signingkey", "masterkey", "masterauth", "presharedkey", "authcode", "appkey", "dockerconfigjson", "dockercfg"}

var weakEndings = []string{"less", "iz", "is", "ary", "ing", "ly"}

// plainWords never are a secret's value: what a message says about a secret instead of naming it.
var plainWords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range []string{"null", "nil", "none", "undefined", "true", "false", "empty", "yes", "no", "n/a", "na", "not", "is", "was", "are", "be", "been", "being", "has", "have", "had", "the", "a", "an", "for", "from", "to", "of", "in", "on", "at",
		"by", "with", "and", "or", "but", "if", "as", "it", "its", "this", "that", "than", "then", "too", "also", "will", "would", "can", "cannot", "could", "should", "must", "may", "does", "did", "do", "doesn't", "isn't", "won't", "can't", "wasn't", "didn't",
		"required", "missing", "invalid", "incorrect", "wrong", "expired", "expires", "expire", "expiring", "weak", "strong", "short", "long", "correct", "valid", "set", "unset", "blank", "ok", "okay", "failed", "fail", "fails", "failure", "failing", "error", "errors",
		"denied", "rejected", "refused", "accepted", "changed", "change", "updated", "update", "reset", "created", "deleted", "revoked", "rotated", "rotation", "found", "unknown", "unsupported", "supported", "mismatch", "matches", "match", "provided", "given",
		"received", "present", "absent", "available", "unavailable", "used", "using", "use", "uses", "needed", "needs", "need", "about", "already", "never", "only", "still", "now", "just", "again", "same", "different", "new", "old", "other", "another", "any",
		"some", "all", "more", "less", "between", "before", "after", "during", "while", "when", "because", "since", "until", "unless", "via", "over", "under", "up", "out", "off", "into", "through", "without", "within", "against", "per", "where", "which", "who",
		"authentication", "authorization", "auth", "login", "logon", "policy", "based", "bucket", "manager", "store", "name", "names", "type", "file", "files", "field", "fields", "value", "values", "key", "keys", "id", "ids", "length", "size", "count", "limit",
		"config", "configuration", "service", "server", "client", "user", "users", "username", "email", "account", "header", "headers", "cookie", "param", "parameter", "parameters", "argument", "endpoint", "request", "response", "grant", "refresh", "access",
		"verification", "validation", "generation", "expiration", "expiry", "exchange", "issuer", "audience", "scope", "cache", "provider", "handler", "protected", "encrypted", "hashed", "masked", "hidden", "redacted", "string", "str", "int", "bool", "object", "json",
		"int64", "number", "text", "optional", "bearer", "basic", "digest", "mounted", "loaded", "read", "sent", "checked", "verified", "stored", "saved", "enabled", "disabled", "locked", "prompt", "rules", "rule", "requirements", "strength", "hash", "salt",
		"so", "every", "each", "one", "here", "there", "how", "why", "what", "very", "plain", "insecure", "secure", "default", "defined", "specified", "supplied", "entered", "input", "required.", "version", "database", "vault", "env", "environment", "source",
		"reuse", "reused", "recovery", "manually", "successfully", "success", "successful", "unauthorized", "forbidden", "expected", "unexpected", "malformed", "bad", "good", "ready", "pending", "due", "soon", "old-style", "yaml", "memory", "disk", "stdin",
		"stdout", "flag", "flags", "hint", "form", "page", "dialog", "screen", "and/or", "was:", "ring", "ring:", "ends", "starts", "contains", "contain", "holds", "lacks", "exceeds", "below", "above", "bytes", "characters", "chars", "digits", "letters"} {
		m[w] = true
	}
	return m
}()
