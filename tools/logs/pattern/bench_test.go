package pattern

import (
	"fmt"
	"testing"
)

// shopLog is n lines of twelve templates with values that differ from line to line.
func shopLog(n int) ([]string, int64) {
	var out []string
	var size int64
	for i := range n {
		var s string
		switch i % 12 {
		case 0:
			s = fmt.Sprintf("order %d accepted for customer c-%d total=%d.%02d EUR", i, i%997, i%300, i%100)
		case 1:
			s = fmt.Sprintf("GET /v1/orders/%d status=%d bytes=%d took %dms", i, 200+i%5, i%9000, i%97)
		case 2:
			s = fmt.Sprintf("connection from 192.0.2.%d:%d (host%d.example.com) at Fri Jun %d 07:07:%02d 2026", i%250, 1024+i%60000, i%50, 1+i%28, i%60)
		case 3:
			s = fmt.Sprintf("Failed password for invalid user u%d from 198.51.100.%d port %d ssh2", i%777, i%250, i%60000)
		case 4:
			s = fmt.Sprintf("block blk_-%d%d is added to /data/part-%05d on <ip:k3f9qa>", i, i*7919, i%1000)
		case 5:
			s = "worker is waiting for messages on the payment queue; nothing to do"
		case 6:
			s = fmt.Sprintf("cache miss for key session:%x:%d, loading from the database", i*2654435761, i%10)
		case 7:
			s = fmt.Sprintf("Block broadcast_%d stored as values in memory (estimated size %d.5 KB, free %d.6 MB)", i%99, i%999, i%400)
		case 8:
			s = fmt.Sprintf("[instance: %08x-fe1a-409b-b8cc-%012x] VM Started (Lifecycle Event)", i*2654435761&0xffffffff, i)
		case 9:
			s = fmt.Sprintf("retry %d of job %d failed with code %d: connection reset by peer", i%7, i, 500+i%3)
		case 10:
			s = fmt.Sprintf("heartbeat seq=%d lag=%dms leader=true epoch=%d", i, i%20, i/10000)
		case 11:
			s = fmt.Sprintf("订单 %d 支付失败：余额不足, customer c-%d", i, i%997)
		}
		out = append(out, s)
		size += int64(len(s)) + 1
	}
	return out, size
}

// BenchmarkAdd is the cost of a line of a known group.
func BenchmarkAdd(b *testing.B) {
	lines, size := shopLog(12000)
	a := NewAccumulator(Options{})
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		for _, l := range lines {
			a.Add(Line{Message: l, Level: "info", Topic: "shop"})
		}
	}
}

// BenchmarkGroup is the whole way, with the batch merge.
func BenchmarkGroup(b *testing.B) {
	lines, size := shopLog(120000)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		a := NewAccumulator(Options{})
		for _, l := range lines {
			a.Add(Line{Message: l, Level: "info", Topic: "shop"})
		}
		a.Finish()
	}
}

// BenchmarkFinish merges as many provisional groups as an Accumulator holds.
func BenchmarkFinish(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		a := NewAccumulator(Options{})
		for i := range defaultMaxGroups {
			a.Add(Line{Message: fmt.Sprintf("user %s moved the %s to %s after %d tries", word(i), word(i/7), word(i/49), i)})
		}
		b.StartTimer()
		a.Finish()
	}
}

func word(i int) string {
	var w []byte
	for i = i%4096 + 1; i > 0; i /= 16 {
		w = append(w, byte('a'+i%16))
	}
	return string(w)
}
