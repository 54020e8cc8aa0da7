package servertest

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Loki is a private Grafana Loki in one process. It takes events of any age, answers at most 50 at once and, for the tenant "narrow", looks back one hour only.
type Loki struct{ *process }

// StartLoki starts the program that the environment variable LOKI_BINARY names; scripts/loki builds it.
func StartLoki(tb testing.TB) *Loki {
	tb.Helper()
	path := os.Getenv("LOKI_BINARY")
	if path == "" {
		tb.Skip("LOKI_BINARY is not set: make test-loki builds a Loki")
	}
	dir := folder(tb)
	l := &Loki{launch(tb, path, func(port int) []string {
		config := fmt.Sprintf(`
auth_enabled: true
server: {http_listen_address: 127.0.0.1, http_listen_port: %d, grpc_listen_address: 127.0.0.1, grpc_listen_port: %d, log_level: error}
common: {path_prefix: %[3]s, replication_factor: 1, instance_addr: 127.0.0.1, ring: {instance_addr: 127.0.0.1, kvstore: {store: inmemory}}, storage: {filesystem: {chunks_directory: %[3]s/c, rules_directory: %[3]s/r}}}
schema_config: {configs: [{from: 2020-01-01, store: tsdb, object_store: filesystem, schema: v13, index: {prefix: index_, period: 24h}}]}
ingester: {query_store_max_look_back_period: -1ns, lifecycler: {min_ready_duration: 0s, final_sleep: 0s}}
querier: {query_ingesters_within: 0s}
limits_config: {reject_old_samples: false, allow_structured_metadata: true, max_entries_limit_per_query: 50, max_query_length: 30d, ingestion_rate_mb: 64, ingestion_burst_size_mb: 64}
runtime_config: {file: %[3]s/overrides.yaml}
analytics: {reporting_enabled: false}
`, port, freePort(tb), dir)
		for name, text := range map[string]string{"loki.yaml": config, "overrides.yaml": "overrides: {narrow: {max_query_lookback: 1h}}\n"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				tb.Fatal(err)
			}
		}
		return []string{"-config.file=" + filepath.Join(dir, "loki.yaml")}
	})}
	for end := time.Now().Add(startTimeout); ; time.Sleep(200 * time.Millisecond) {
		if status, _ := l.do(tb, http.MethodGet, "/ready", "", ""); status == http.StatusOK {
			return l
		}
		if time.Now().After(end) {
			tb.Fatal("loki does not become ready")
		}
	}
}

// URL is the address as logs.topics takes it.
func (l *Loki) URL() string { return "http://" + l.Addr() }

// Push stores events for a tenant. body is a push request in JSON.
func (l *Loki) Push(tb testing.TB, tenant, body string) {
	tb.Helper()
	if status, text := l.do(tb, http.MethodPost, "/loki/api/v1/push", tenant, body); status != http.StatusNoContent {
		tb.Fatalf("push: status %d\n%s", status, text)
	}
}

func (l *Loki) do(tb testing.TB, method, path, tenant, body string) (int, string) {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), method, l.URL()+path, strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Scope-OrgID", tenant)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err.Error()
	}
	return res.StatusCode, string(text)
}
