package redisstore

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// freePort is a port that was free a moment ago.
func freePort(tb testing.TB) int {
	tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}

// certificate writes a self-signed pair for 127.0.0.1.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	priv, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redis.example.com"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"redis.example.com"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &priv.PublicKey, priv)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(priv)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestTLS(t *testing.T) {
	t.Parallel()
	cert, keyFile := certificate(t, t.TempDir())
	port := freePort(t)
	srv := startServer(t, "--tls-port", fmt.Sprint(port), "--tls-cert-file", cert, "--tls-key-file", keyFile, "--tls-ca-cert-file", cert, "--requirepass", "right")
	srv.await(t, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	url := fmt.Sprintf("rediss://:right@127.0.0.1:%d/2?ca_file=%s", port, cert)
	s := srv.store(t, Options{URL: url + "&cert_file=" + cert + "&key_file=" + keyFile})
	if err := s.Ping(t.Context()); err != nil {
		t.Fatalf("Ping = %v (%v)", err, unwrap(unwrap(err)))
	}
	everyStep(t, s)
	for name, u := range map[string]string{
		"no client certificate":       url,
		"unknown authority":           fmt.Sprintf("rediss://:right@127.0.0.1:%d/2?cert_file=%s&key_file=%s", port, cert, keyFile),
		"another name":                url + "&cert_file=" + cert + "&key_file=" + keyFile + "&server_name=other.example.com",
		"plain text to a TLS port":    fmt.Sprintf("redis://:right@127.0.0.1:%d/2", port),
		"certificate that is missing": fmt.Sprintf("rediss://:right@127.0.0.1:%d/2?ca_file=/nonexistent", port),
	} {
		if err := srv.store(t, Options{URL: u}).Ping(t.Context()); err == nil {
			t.Errorf("%s: Ping accepted it", name)
		}
	}
	if err := srv.store(t, Options{URL: url + "&cert_file=" + cert + "&key_file=" + keyFile + "&server_name=redis.example.com"}).Ping(t.Context()); err != nil {
		t.Errorf("Ping by the certificate's name = %v", err)
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	srv := startServer(t)
	srv.kill()
	srv.port, srv.args = port, []string{"--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(freePort(t)), "--cluster-config-file", "nodes.conf"}
	srv.start(t)
	s := srv.store(t, Options{URL: fmt.Sprintf("redis+cluster://127.0.0.1:%d,127.0.0.1:%d", port, freePort(t))})
	advises(t, s, "canonical store")
	c := srv.admin(t)
	if err := c.Do(t.Context(), "CLUSTER", "ADDSLOTSRANGE", 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	poll(t, "the cluster to be up", func() bool {
		return strings.Contains(c.ClusterInfo(t.Context()).Val(), "cluster_state:ok")
	})
	if err := s.Ping(t.Context()); err != nil {
		t.Fatalf("Ping = %v (%v)", err, unwrap(unwrap(err)))
	}
	everyStep(t, s)
	if err := c.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
		t.Fatal(err)
	}
	advises(t, s, "allkeys-lru")
}

// poll waits for a condition outside this process.
func poll(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("waited in vain for %s", what)
}

func TestSentinelFollowsTheMaster(t *testing.T) {
	t.Parallel()
	first, second := freePort(t), freePort(t)
	a := startServer(t)
	a.kill()
	a.port = first
	a.start(t)
	b := startServer(t)
	b.kill()
	b.port, b.args = second, []string{"--replicaof", "127.0.0.1 " + fmt.Sprint(first)}
	b.start(t)
	poll(t, "the replica", func() bool {
		return strings.Contains(b.admin(t).Info(t.Context(), "replication").Val(), "master_link_status:up")
	})
	port, dir := freePort(t), t.TempDir()
	conf := filepath.Join(dir, "sentinel.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, "port %d\nbind 127.0.0.1\ndir %s\nsentinel monitor shop 127.0.0.1 %d 1\nsentinel down-after-milliseconds shop 300\nsentinel failover-timeout shop 3000\n", port, dir, first), 0o600); err != nil {
		t.Fatal(err)
	}
	sentinel := &server{cmd: exec.Command("redis-server", conf, "--sentinel")}
	if err := sentinel.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sentinel.kill)
	sentinel.await(t, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	s := a.store(t, Options{URL: fmt.Sprintf("redis+sentinel://127.0.0.1:%d/shop/0", port)})
	poll(t, "the first master", func() bool { return s.Ping(t.Context()) == nil })
	everyStep(t, s)
	// The sentinel must know the replica before it can promote it.
	poll(t, "the sentinel to see the replica", func() bool {
		out, err := exec.Command("redis-cli", "-p", fmt.Sprint(port), "sentinel", "replicas", "shop").Output()
		return err == nil && strings.Contains(string(out), fmt.Sprint(second))
	})
	done, inFlight, open := openArgs("r", "done"), openArgs("r", "in-flight"), openArgs("r", "open")
	g := mustOpen(t, s, done)
	ready := readyArgs(t, done, g, random(64<<10))
	mustClose(t, s, ready)
	late := readyArgs(t, inFlight, mustOpen(t, s, inFlight), random(64<<10))
	mustOpen(t, s, open)
	before, _, err := s.Run(t.Context(), key(t, "r", "x").RunKey())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := s.client.Do(t.Context(), "WAIT", 1, 10_000).Int(); n != 1 || err != nil {
		t.Fatalf("WAIT = %d, %v", n, err)
	}
	poll(t, "the replica to have it all", func() bool {
		info := b.admin(t).Info(t.Context(), "replication").Val()
		return field(info, "slave_repl_offset") == field(a.admin(t).Info(t.Context(), "replication").Val(), "master_repl_offset")
	})
	a.kill()
	poll(t, "the second master", func() bool { return s.Ping(t.Context()) == nil })
	// A failover may lose records; what was replicated is there with its budgets, its used ids and its deadlines, and the store serves.
	if rec := mustLoad(t, s, ready.Key); rec.State != canonical.StateReady || !bytes.Equal(rec.Raw, ready.Raw) || !rec.ExpiresAt.Equal(g.ExpiresAt) {
		t.Errorf("after the failover the record is %s with %d bytes until %v", rec.State, len(rec.Raw), rec.ExpiresAt)
	}
	if after, _, err := s.Run(t.Context(), key(t, "r", "x").RunKey()); err != nil || !cmp.Equal(before, after) {
		t.Errorf("after the failover the run is %+v (%v), was %+v", after, err, before)
	}
	for _, used := range []canonical.OpenArgs{done, inFlight, open} {
		used.Nonce = "another"
		_, err := s.Open(t.Context(), used)
		wantCode(t, "OPEN of "+used.Call+" after the failover", err, fault.DuplicateToolCallID)
	}
	if out := mustClose(t, s, late); out.State != canonical.StateReady || !bytes.Equal(mustLoad(t, s, late.Key).Raw, late.Raw) {
		t.Errorf("a call in flight over the failover: %+v", out)
	}
	mustOpen(t, s, openArgs("after", "failover"))
	lives(t, b.admin(t), 20*time.Minute)
}

// The attack: while a cluster moves a slot from one node to another, key by key, a step that asks the new node finds nothing there. A run would begin anew with a fresh
// budget, an id that was used would be granted again, and the tool would run twice.
func TestNothingBeginsAnewWhileASlotMoves(t *testing.T) {
	t.Parallel()
	node := func() (*server, *redis.Client, string) {
		srv := startServer(t)
		srv.kill()
		srv.port = freePort(t)
		srv.args = []string{"--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(freePort(t)), "--cluster-config-file", "nodes.conf"}
		srv.start(t)
		c := srv.admin(t)
		return srv, c, c.Do(t.Context(), "CLUSTER", "MYID").Val().(string)
	}
	a, ca, idA := node()
	b, cb, idB := node()
	do := func(c *redis.Client, args ...any) {
		t.Helper()
		if err := c.Do(t.Context(), args...).Err(); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	do(ca, "CLUSTER", "ADDSLOTSRANGE", 0, 16383)
	do(ca, "CLUSTER", "MEET", "127.0.0.1", b.port, b.args[3])
	poll(t, "the cluster to be up", func() bool {
		for _, c := range []*redis.Client{ca, cb} {
			if info := c.ClusterInfo(t.Context()).Val(); !strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, "cluster_known_nodes:2") {
				return false
			}
		}
		return true
	})
	s := a.store(t, Options{URL: fmt.Sprintf("redis+cluster://127.0.0.1:%d", a.port)})
	args := func(call string) canonical.OpenArgs {
		o := openArgs("r", call)
		o.Implicit.Limits.Calls = 5
		return o
	}
	first := args("c1")
	mustClose(t, s, readyArgs(t, first, mustOpen(t, s, first), random(64<<10)))
	inFlight := args("c2")
	grant := mustOpen(t, s, inFlight)

	again := 0
	steps := func(when string) {
		t.Helper()
		dup := args("c1")
		dup.Nonce = "another"
		if _, err := s.Open(t.Context(), dup); fault.CodeOf(err) != fault.DuplicateToolCallID && fault.CodeOf(err) != fault.StoreError {
			t.Errorf("%s: an id that was used: %v", when, err)
		}
		again++
		next := args(fmt.Sprint("n", again))
		g, err := s.Open(t.Context(), next)
		switch info, found, rerr := s.Run(t.Context(), key(t, "r", "x").RunKey()); {
		case err == nil && g.Salt != grant.Salt, err == nil && g.Left.Calls >= 3:
			t.Errorf("%s: the run began anew: %+v", when, g)
		case err != nil && fault.CodeOf(err) != fault.StoreError:
			t.Errorf("%s: OPEN = %v (%v)", when, err, unwrap(err))
		case rerr == nil && (!found || info.Used.Calls < 2):
			t.Errorf("%s: the run is %+v, %v", when, info, found)
		}
		if rec, found, err := s.Load(t.Context(), key(t, "r", "c1")); err == nil && (!found || rec.State != canonical.StateReady || len(rec.Raw) != 64<<10) {
			t.Errorf("%s: Load = %v, %s", when, found, rec.State)
		}
	}
	steps("before")
	slot := ca.ClusterKeySlot(t.Context(), prefix("p")).Val()
	do(cb, "CLUSTER", "SETSLOT", slot, "IMPORTING", idA)
	do(ca, "CLUSTER", "SETSLOT", slot, "MIGRATING", idB)
	steps("before the first key")
	keys := ca.ClusterGetKeysInSlot(t.Context(), int(slot), 100).Val()
	if len(keys) < 8 {
		t.Fatalf("only %d keys: %v", len(keys), keys)
	}
	for _, k := range keys {
		do(ca, "MIGRATE", "127.0.0.1", b.port, k, 0, 5000)
		steps("after " + k[strings.Index(k, "}")+1:])
	}
	do(cb, "CLUSTER", "SETSLOT", slot, "NODE", idB)
	do(ca, "CLUSTER", "SETSLOT", slot, "NODE", idB)
	if c := mustClose(t, s, readyArgs(t, inFlight, grant, []byte("raw"))); c.State != canonical.StateReady {
		t.Errorf("a call in flight over the move: %+v", c)
	}
	if g := mustOpen(t, s, args("after")); g.Salt != grant.Salt || g.Left.Calls != 1 {
		t.Errorf("after the move: %+v", g)
	}
	lives(t, cb, 20*time.Minute)
}
