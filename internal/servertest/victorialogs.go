package servertest

import (
	"fmt"
	"go/build"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// VictoriaLogs is a private VictoriaLogs server that keeps events of any age.
type VictoriaLogs struct{ *process }

// victoriaLogs is the version that the tests are written against.
const victoriaLogs = "github.com/VictoriaMetrics/VictoriaLogs/app/victoria-logs@v1.52.2"

// StartVictoriaLogs starts a server with more arguments, such as "-search.maxQueryTimeRange=1h". The program is looked for on PATH and where go install puts it.
func StartVictoriaLogs(tb testing.TB, args ...string) *VictoriaLogs {
	tb.Helper()
	path := ""
	for _, dir := range append([]string{os.Getenv("GOBIN")}, filepath.SplitList(build.Default.GOPATH)...) {
		for _, p := range []string{filepath.Join(dir, "victoria-logs"), filepath.Join(dir, "bin", "victoria-logs")} {
			if st, err := os.Stat(p); path == "" && dir != "" && err == nil && st.Mode().IsRegular() {
				path = p
			}
		}
	}
	if path == "" {
		path = needBy(tb, "go install "+victoriaLogs, "victoria-logs", "victoria-logs-prod")
	}
	dir := folder(tb)
	return &VictoriaLogs{launch(tb, path, func(port int) []string {
		base := []string{fmt.Sprintf("-httpListenAddr=127.0.0.1:%d", port), "-storageDataPath=" + filepath.Join(dir, "d"), "-retentionPeriod=100y", "-futureRetention=100y",
			"-memory.allowedBytes=64MiB", "-loggerLevel=ERROR"}
		return append(base, args...)
	})}
}

// URL is the address as logs.topics takes it.
func (v *VictoriaLogs) URL() string { return "http://" + v.Addr() }

// Ingest stores JSON lines with the members time and msg and makes them searchable. streams are the members that name a stream.
func (v *VictoriaLogs) Ingest(tb testing.TB, lines string, streams ...string) {
	tb.Helper()
	v.post(tb, "/insert/jsonline?_time_field=time&_msg_field=msg&_stream_fields="+strings.Join(streams, ","), lines)
	v.post(tb, "/internal/force_flush", "")
}

func (v *VictoriaLogs) post(tb testing.TB, path, body string) {
	tb.Helper()
	res, err := http.Post(v.URL()+path, "application/stream+json", strings.NewReader(body))
	if err != nil {
		tb.Fatal(err)
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
		tb.Fatalf("%s: status %d, %v\n%s", path, res.StatusCode, err, text)
	}
}
