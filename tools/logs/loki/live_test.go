package loki_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/internal/servertest"
	"github.com/seed-069badc9/mcp-gateway/tools/logs"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/internal/logtest"
	"github.com/seed-069badc9/mcp-gateway/tools/logs/loki"
)

// push is the push request for events, in order of time.
func push(entries []entry) string {
	slices.SortStableFunc(entries, func(a, b entry) int { return a.at.Compare(b.at) })
	streams := []any{}
	for _, e := range entries {
		value := []any{strconv.FormatInt(e.at.UnixNano(), 10), e.line}
		if len(e.meta) > 0 {
			value = append(value, e.meta)
		}
		streams = append(streams, map[string]any{"stream": e.labels, "values": []any{value}})
	}
	b, err := json.Marshal(map[string]any{"streams": streams})
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestLive asks a real server what the other tests ask the fake. It runs in make test-loki.
func TestLive(t *testing.T) {
	srv := servertest.StartLoki(t)
	entries := shop()
	for i, h := range logtest.Hostile {
		entries = append(entries,
			entry{at: at(600 + float64(i)), labels: pod, line: fmt.Sprintf("event-%d <%s>", i, h)},
			entry{at: at(700 + float64(i)), labels: pod, line: fmt.Sprintf("event-%d beside", i), meta: map[string]string{"note": "<" + h + ">"}})
	}
	for i := range 45 { // one instant
		entries = append(entries, entry{at: at(1000), labels: pod, line: fmt.Sprint("burst ", i)})
	}
	entries = append(entries, entry{at: at(1100), labels: pod, line: `{"level":"error","msg":"na\u0069ve"}`}, entry{at: at(1101), labels: pod, line: "\x1b[31mre\x1b[0md alert"})
	srv.Push(t, "shop", push(entries))
	srv.Push(t, "other", push([]entry{{at: at(60), labels: pod, line: "of another tenant"}}))
	src := source(t, loki.Options{URL: srv.URL(), Tenant: "shop"})
	g := logtest.New(t, map[string]logs.Source{
		"shop":   src,
		"other":  source(t, loki.Options{URL: srv.URL(), Tenant: "other"}),
		"narrow": source(t, loki.Options{URL: srv.URL(), Tenant: "narrow"}),
		"none":   source(t, loki.Options{URL: srv.URL(), Tenant: "shop", Selector: `{app="none"}`}),
		"bad":    source(t, loki.Options{URL: srv.URL(), Tenant: "shop", Selector: `{app=}`}),
	})
	if err := src.Check(t.Context()); err != nil {
		t.Errorf("Check = %v", err)
	}
	for query, want := range map[string]int64{
		"declined": 1, "DECLINED": 1, "/ord.r 40\\d\\d/": 20, "-beside -event -burst -declined -alert -order -naive": 1, "4007": 1, "status=502": 1, "trace_id=4bf92f3577b34da6a3ce929d0e0e4736": 1,
		"4bf92f3577b34da6a3ce929d0e0e4736": 1, "naive": 1, "red": 1, "zebra": 0, "burst": 45, "x2x4z": 0, `"event-3 beside"`: 1, "namespace=prod declined": 1, "another": 0,
	} {
		a := g.Query(t, "shop", query, logtest.Morning)
		if a.Code != "" || a.Total() != want || (want == 0) != (a.Evidence == "NO_EVIDENCE") {
			t.Errorf("%s: %d events %s, want %d (%s %s)", query, a.Total(), a.Evidence, want, a.Code, a.Hint)
		}
	}
	if a := g.Query(t, "shop", "", logtest.Morning); a.Code != "" || a.Total() != int64(len(entries)-1) {
		t.Errorf("all: %d events, want %d (%s %s)", a.Total(), len(entries)-1, a.Code, a.Hint)
	}
	for i, h := range logtest.Hostile {
		var s logtest.Sink
		if _, err := src.Search(t.Context(), logs.Query{From: ten, To: ten.Add(time.Hour), Now: logtest.Now, Need: []logs.Literal{{Text: "<" + h + ">"}}, MaxScan: 1 << 30}, &s); err != nil {
			t.Errorf("%q: %v", h, err)
		}
		for _, own := range []string{fmt.Sprintf("event-%d <%s>", i, h), fmt.Sprintf("event-%d beside", i)} {
			if !slices.Contains(s.Texts, own) {
				t.Errorf("%q: %q is not among %q", h, own, s.Texts)
			}
		}
		if slices.ContainsFunc(s.Texts, func(e string) bool { return strings.Contains(e, "accepted") }) {
			t.Errorf("%q filters nothing", h)
		}
	}
	// The same events, for a tenant whose look-back ends behind the range: an empty success.
	srv.Push(t, "narrow", push(shop()))
	for topic, want := range map[string]fault.Code{"narrow": fault.BackendIncomplete, "other": "", "none": fault.BackendIncomplete, "bad": fault.BackendError} {
		if a := g.Query(t, topic, "declined", logtest.Morning); a.Code != want {
			t.Errorf("%s: %q %s, want %q", topic, a.Code, a.Text, want)
		}
	}
}
