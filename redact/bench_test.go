package redact

import (
	"fmt"
	"testing"
)

// ordinary generates log lines as services write them. With infra, about every second line names an address, a host or a process.
func ordinary(n int, infra bool) (lines [][]byte, size int64) {
	for i := range n {
		var s string
		switch i % 8 {
		case 0:
			s = fmt.Sprintf(`{"level":"info","time":"2026-03-01T10:%02d:%02d.%03dZ","logger":"orders.http","msg":"request completed","method":"GET","path":"/api/v1/orders/%d","status":200,"duration_ms":%d}`, i/60%60, i%60, i%1000, 8800000+i, i%300)
		case 1:
			s = fmt.Sprintf(`ts=2026-03-01T10:%02d:%02dZ level=warn caller=worker/pool.go:%d msg="queue is filling up" depth=%d capacity=1024 took=%dms`, i/60%60, i%60, i%400, i%1024, i%90)
		case 2:
			s = fmt.Sprintf(`2026-03-01 10:%02d:%02d,%03d INFO  [http-exec-%d] com.shop.orders.OrderService - order %d confirmed in %d ms`, i/60%60, i%60, i%1000, i%32, 8800000+i, i%300)
		case 3:
			s = fmt.Sprintf("\tat com.shop.orders.OrderRepository.find(OrderRepository.java:%d)", i%900)
		case 4:
			s = fmt.Sprintf(`2026-03-01T10:%02d:%02dZ ERROR checkout failed: upstream connect error or disconnect/reset before headers. reset reason: connection timeout trace_id=4bf92f3577b34da6a3ce92%010d`, i/60%60, i%60, i)
		case 5:
			s = fmt.Sprintf(`Mar  1 10:%02d:%02d kernel: [%d.%06d] TCP: request_sock_TCP: Possible SYN flooding on port 443. Sending cookies.`, i/60%60, i%60, i, i)
		case 6:
			s = fmt.Sprintf(`[2026-03-01 10:%02d:%02d] production.WARNING: cache miss ratio %d%% over the last %d minutes, %d keys evicted`, i/60%60, i%60, i%100, i%60, i)
		case 7:
			s = fmt.Sprintf(`I0301 10:%02d:%02d.%06d scheduler.go:%d] "Attempting to schedule" priority=%d nodes=%d feasible=%d`, i/60%60, i%60, i, i%700, i%5, i%50, i%20)
		}
		if infra && i%2 == 0 {
			switch i % 6 {
			case 0:
				s += fmt.Sprintf(" client=10.4.%d.%d:%d", i/256%256, i%256, 30000+i%9000)
			case 2:
				s = fmt.Sprintf("Mar  1 10:%02d:%02d web-%02d sshd[%d]: Connection closed by 10.4.%d.%d port %d", i/60%60, i%60, i%20, 2000+i%30000, i/256%256, i%256, 30000+i%9000)
			case 4:
				s += fmt.Sprintf(" pod=orders-%d node=worker-%d", i%8, i%16)
			}
		}
		lines = append(lines, []byte(s))
		size += int64(len(s)) + 1
	}
	return lines, size
}

func benchmark(b *testing.B, lines [][]byte, size int64) {
	r, t := all(b), NewTagger([32]byte{1})
	var dst []byte
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for _, l := range lines {
			dst = r.Append(dst[:0], l, t)
		}
	}
	b.ReportMetric(float64(len(lines)), "lines/op")
}

func BenchmarkText(b *testing.B) {
	b.Run("ordinary", func(b *testing.B) { l, n := ordinary(4000, false); benchmark(b, l, n) })
	b.Run("infrastructure", func(b *testing.B) { l, n := ordinary(4000, true); benchmark(b, l, n) })
	b.Run("cases", func(b *testing.B) {
		var l [][]byte
		var n int64
		for _, c := range cases(b) {
			l, n = append(l, []byte(c.in)), n+int64(len(c.in))+1
		}
		benchmark(b, l, n)
	})
}
