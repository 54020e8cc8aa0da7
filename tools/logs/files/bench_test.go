package files_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/tools/logs"
)

// benchBytes is the size of the generated file; LOGS_BENCH_MIB makes it larger: the numbers of docs/performance.md are of 1024.
func benchBytes(b *testing.B) int64 {
	if n, err := strconv.Atoi(os.Getenv("LOGS_BENCH_MIB")); err == nil {
		return int64(n) << 20
	}
	return 64 << 20
}

// benchFile writes JSON lines of about 290 bytes, one a millisecond from ten o'clock; every 128th says what the selective benchmarks look for.
func benchFile(b *testing.B, packed bool) (path string, size int64) {
	b.Helper()
	path = filepath.Join(b.TempDir(), "shop.log")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	var z *gzip.Writer
	if packed {
		z = gzip.NewWriter(w)
	}
	at := time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	var line []byte
	for i := 0; size < benchBytes(b); i++ {
		at = at.Add(time.Millisecond)
		level, msg := "info", "order accepted"
		switch {
		case i%128 == 0:
			level, msg = "error", "upstream Quorum lost, gave up"
		case i%7 == 0:
			level, msg = "warn", "slow answer"
		}
		line = fmt.Appendf(line[:0], `{"ts":"%s","level":"%s","service":"checkout","msg":"%s after %dms for cart %d","trace_id":"%032x","path":"/api/v2/carts/%d/items","status":%d,"bytes":%d,"user_agent":"shop-app/5.%d (mobile; build 20260101)"}`+"\n",
			at.Format("2006-01-02T15:04:05.000Z"), level, msg, i%977, i, i*7919, i%5000, 200+i%3, i%65536, i%40)
		size += int64(len(line))
		if packed {
			_, err = z.Write(line)
		} else {
			_, err = w.Write(line)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if packed {
		if err := z.Close(); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		b.Fatal(err)
	}
	return path, size
}

const wide = `"from":"2026-01-01T09:00:00Z","to":"2026-01-02T09:00:00Z"`

// BenchmarkSearch measures whole calls of query_logs; run with -cpu 1 for figures a core.
func BenchmarkSearch(b *testing.B) {
	for _, c := range []struct {
		name, args string
		packed     bool
	}{
		{"selective: time, level, substring", `"query":"quorum","level":"error",` + wide, false},
		{"case-insensitive regex", `"query":"/(?i)quorum\\s+lost/",` + wide, false},
		{"alternatives", `"query":"/quorum|deadlock|segfault/i",` + wide, false},
		{"level alone", `"level":"error",` + wide, false},
		{"every line matches", wide, false},
		{"nothing matches", `"query":"zebra",` + wide, false},
		{"ten seconds of a sorted file", `"from":"2026-01-01T10:01:00Z","to":"2026-01-01T10:01:10Z"`, false},
		{"gz selective", `"query":"quorum","level":"error",` + wide, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			path, size := benchFile(b, c.packed)
			g := newGateway(b, logs.Options{MaxMatched: 4 << 30}, map[string]string{"shop": path})
			b.SetBytes(size)
			b.ResetTimer()
			before := cpu(b)
			n := 0
			for b.Loop() {
				n++
				if a := g.call(b, `{"topics":["shop"],`+c.args+`}`); a.code != "" {
					b.Fatal(a.code, a.hint)
				}
			}
			b.ReportMetric(float64(size)*float64(n)/1e6/(cpu(b)-before), "MB/cpu-s")
		})
	}
}

// cpu is the processor time of this process in seconds: on a busy machine it says more than the clock.
func cpu(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}
