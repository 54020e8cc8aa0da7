package redisstore

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// target is what a store URL says.
type target struct {
	kind     string // "", "sentinel" or "cluster"
	network  string // "tcp" or "unix"
	addrs    []string
	user     string
	password string
	db       int
	master   string
	sentinel struct{ user, password string }
	tls      bool
	caFile   string
	certFile string
	keyFile  string
	server   string // name in the server's certificate
}

const forms = "redis://[user:password@]host:port/db, rediss://…, unix:///path?db=0, redis+sentinel://host,host/master/db, redis+cluster://host,host (rediss+… with TLS)"

var errURL = errors.New("the store URL is none of " + forms)

// parse reads a store URL. Its errors never repeat the URL: it holds the password.
func parse(text string) (*target, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return nil, errURL
	}
	t := &target{network: "tcp"}
	base, kind, _ := strings.Cut(scheme, "+")
	t.kind, t.tls = kind, base == "rediss"
	switch {
	case scheme == "unix":
		t.network = "unix"
	case base != "redis" && base != "rediss", kind != "" && kind != "sentinel" && kind != "cluster", kind == "" && strings.Contains(scheme, "+"):
		return nil, errURL
	}
	// Several hosts are no URL for net/url: they are cut out first.
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, tail := rest[:end], rest[end:]
	userinfo := ""
	if at := strings.LastIndex(authority, "@"); at >= 0 {
		userinfo, authority = authority[:at+1], authority[at+1:]
	}
	u, err := url.Parse("redis://" + userinfo + "host" + tail)
	if err != nil || u.Fragment != "" {
		return nil, errors.New("the store URL cannot be read; percent-encode / ? # @ and % in user and password")
	}
	if u.User != nil {
		t.user = u.User.Username()
		t.password, _ = u.User.Password()
	}
	if err := t.query(u.Query()); err != nil {
		return nil, err
	}
	if t.network == "unix" {
		if u.Path == "" {
			return nil, errURL
		}
		t.addrs = []string{u.Path}
		return t, nil
	}
	port := "6379"
	if t.kind == "sentinel" {
		port = "26379"
	}
	for host := range strings.SplitSeq(authority, ",") {
		if host == "" {
			return nil, errURL
		}
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), port)
		}
		t.addrs = append(t.addrs, host)
	}
	if t.kind == "" && len(t.addrs) > 1 {
		return nil, errors.New("the store URL names several hosts: use redis+sentinel:// or redis+cluster://")
	}
	return t, t.path(strings.Split(strings.Trim(u.Path, "/"), "/"))
}

// path reads what stands behind the hosts: the master's name for Sentinel, then the database.
func (t *target) path(parts []string) error {
	if t.kind == "sentinel" {
		if parts[0] == "" {
			return errors.New("the store URL names no master: redis+sentinel://host:26379/MASTER/0")
		}
		t.master, parts = parts[0], parts[1:]
	}
	if len(parts) == 0 || len(parts) == 1 && parts[0] == "" {
		return nil
	}
	db, err := strconv.Atoi(parts[0])
	if err != nil || len(parts) > 1 || db < 0 || t.kind == "cluster" && db != 0 {
		return errors.New("the store URL ends in something else than a database number (a cluster has only 0)")
	}
	t.db = db
	return nil
}

func (t *target) query(q url.Values) error {
	for name, values := range q {
		to := map[string]*string{"sentinel_username": &t.sentinel.user, "sentinel_password": &t.sentinel.password,
			"ca_file": &t.caFile, "cert_file": &t.certFile, "key_file": &t.keyFile, "server_name": &t.server}[name]
		switch {
		case len(values) != 1:
			return fmt.Errorf("the store URL repeats the parameter %q", name)
		case name == "db" && t.network == "unix":
			db, err := strconv.Atoi(values[0])
			if err != nil || db < 0 {
				return errors.New("the store URL's db is not a number")
			}
			t.db = db
		case to == nil:
			return fmt.Errorf("the store URL has an unknown parameter %q; known: ca_file, cert_file, key_file, server_name, sentinel_username, sentinel_password, db (unix only)", name)
		default:
			*to = values[0]
		}
	}
	if !t.tls && t.caFile+t.certFile+t.keyFile+t.server != "" {
		return errors.New("the store URL has certificate parameters without TLS: use rediss://")
	}
	if (t.certFile == "") != (t.keyFile == "") {
		return errors.New("the store URL needs cert_file and key_file together")
	}
	return nil
}

// tlsConfig reads the certificates.
func (t *target) tlsConfig() (*tls.Config, error) {
	if !t.tls {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.server}
	if c.ServerName == "" && t.kind == "" {
		c.ServerName, _, _ = net.SplitHostPort(t.addrs[0])
	}
	if t.caFile != "" {
		pem, err := os.ReadFile(t.caFile)
		if err != nil {
			return nil, fmt.Errorf("ca_file: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("ca_file holds no certificate in PEM form")
		}
	}
	if t.certFile != "" {
		pair, err := tls.LoadX509KeyPair(t.certFile, t.keyFile)
		if err != nil {
			return nil, fmt.Errorf("cert_file and key_file: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// client makes the connection pool; it connects when it is used.
func (t *target) client() (redis.UniversalClient, error) {
	tc, err := t.tlsConfig()
	if err != nil {
		return nil, err
	}
	o := &redis.UniversalOptions{
		Addrs: t.addrs, Username: t.user, Password: t.password, DB: t.db, MasterName: t.master, SentinelUsername: t.sentinel.user, SentinelPassword: t.sentinel.password, TLSConfig: tc,
		IsClusterMode:         t.kind == "cluster",
		ContextTimeoutEnabled: true, DialTimeout: dialTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, PoolTimeout: readTimeout,
		// The store repeats a step itself, once and with the same nonce: a blind retry would not know that it succeeded the first time.
		MaxRetries: -1, DialerRetries: 1, MaxRedirects: 2,
		// One pool: a raw beside its script must not cost connections of its own.
		PoolSize: poolSize, PipelinePoolSize: -1, ConnMaxIdleTime: connMaxIdle, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if t.kind != "" {
		return redis.NewUniversalClient(o), nil
	}
	s := o.Simple()
	s.Network = t.network
	return redis.NewClient(s), nil
}
