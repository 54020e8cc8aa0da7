package evidence_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/canonical"
	"github.com/seed-069badc9/mcp-gateway/canonical/memstore"
	"github.com/seed-069badc9/mcp-gateway/evidence"
	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

const (
	logsObs = `{"tool_call_id":"logs","run_id":"r1","evidence_status":"EVIDENCE_FOUND","truncated":true,"scope":{"topics":["checkout"],"query":"the query words nobody found"},
"patterns":[{"id":"p1","count":7,"level":"ERROR","template":"payment declined: code <*>","values":[{"slot":1,"top":[{"text":"card_expired","count":7}]}]}],
"events":[{"id":"e1","time":"2026-01-01T10:05:07Z","level":"ERROR","message":"payment declined: gateway  answered 502 password=<secret>","pattern":"p1"},
{"id":"e2","message":"caf` + "\u00e9" + ` closed early","pattern":"p1"}],"note":"the note words nobody found"}`
	sqlObs = `{"tool_call_id":"sql","run_id":"r1","evidence_status":"EVIDENCE_FOUND","truncated":false,"scope":{"datasource":"shop","tables":["shop.orders"],"limit":200},
"columns":[{"name":"id","type":"BIGINT"},{"name":"status","type":"VARCHAR"},{"name":"status","type":"VARCHAR"},{"name":"note","type":"TEXT"},{"name":"ok","type":"BOOL"}],
"rows":[[2,"FAILED","F2",null,true],["18446744073709551615","PAID","P2","a longer note about it",false]]}`
	searchedObs = `{"tool_call_id":"searched","run_id":"r1","evidence_status":"NO_EVIDENCE","truncated":false,"scope":{"topics":["checkout"],"query":"\"deadlock found\""},"patterns":[],"events":[]}`
	docObs      = `{"tool_call_id":"doc","run_id":"r1","evidence_status":"EVIDENCE_FOUND","truncated":false,"scope":{"datasource":"shop","tables":["shop.users"]},
"columns":[{"name":"id","type":"int"},{"name":"profile","type":"json"},{"name":"a","type":"int"},{"name":"a","type":"int"},{"name":"a~2","type":"int"}],
"rows":[[5,{"tier":"gold","age":21,"note":"paid <secret> \"twice\" at 10:00+08:00"},1,2,3],[6,"error 500 at five past five",1,2,3]]}`
	zhObs = `{"tool_call_id":"zh","run_id":"r1","evidence_status":"EVIDENCE_FOUND","truncated":false,"scope":{"topics":["pay"]},"patterns":[],
"events":[{"id":"e1","level":"ERROR","message":"支付失败：网关超时 order=7","pattern":"p1"},{"id":"e2","message":"決済に失敗しました","pattern":"p1"},{"id":"e3","message":"결제실패 ｶﾀｶﾅ ㅋㅋㅋㅋ","pattern":"p1"}]}`
	emptyObs = `{"tool_call_id":"none","run_id":"r1","evidence_status":"NO_EVIDENCE","truncated":false,"scope":{"topics":["checkout"]},"patterns":[],"events":[]}`
)

type fixture struct {
	ledger *canonical.Ledger
	guard  *evidence.Guard
	minted string
}

func open(t testing.TB, l *canonical.Ledger, principal, run, call string) *canonical.Pending {
	t.Helper()
	p, _, err := l.Open(t.Context(), canonical.OpenArgs{Principal: principal, Run: run, Call: call, Minted: canonical.Minted(call), Nonce: "n-" + call, Tool: "query_x",
		Request: []byte(`{}`), Projector: "1", TTL: time.Hour, RequestBytes: 2, Implicit: &canonical.RunSpec{TTL: time.Hour,
			Limits: canonical.Limits{Calls: 100, RequestBytes: 1e6, RawBytes: 1e6, ObservationBytes: 1e6}, NoGain: canonical.NoGain{Limit: 8, Window: 10}}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newFixture(t testing.TB) fixture {
	t.Helper()
	l := canonical.NewLedger(memstore.New(time.Now), nil)
	f := fixture{ledger: l, guard: evidence.New(l), minted: "tc_abcdefghijklmnop"}
	ready := func(call, obs string, ev canonical.Evidence) {
		if _, err := open(t, l, "alice", "r1", call).Ready(t.Context(), canonical.Result{Raw: []byte(`{"raw":"PRIVATE-RAW-WORDS"}`), Observation: []byte(obs), Evidence: ev,
			Truncated: strings.Contains(obs, `"truncated":true`)}); err != nil {
			t.Fatal(err)
		}
	}
	ready("logs", logsObs, canonical.Found)
	ready("sql", sqlObs, canonical.Found)
	ready("none", emptyObs, canonical.None)
	ready("searched", searchedObs, canonical.None)
	ready("doc", docObs, canonical.Found)
	ready("zh", zhObs, canonical.Found)
	ready(f.minted, logsObs, canonical.Found)
	open(t, l, "alice", "r1", "pending")
	if _, err := open(t, l, "alice", "r1", "failed").Fail(t.Context(), fault.BackendError, "", "", nil); err != nil {
		t.Fatal(err)
	}
	return f
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func q(kv ...string) string {
	v := url.Values{}
	for i := 0; i < len(kv); i += 2 {
		v.Set(kv[i], kv[i+1])
	}
	return "?" + v.Encode()
}

func TestVerdicts(t *testing.T) {
	f := newFixture(t)
	const S, N, R = evidence.Supported, evidence.ScopedNegative, evidence.Rejected
	alice := evidence.Caller{Principal: "alice", Run: "r1"}
	for _, c := range []struct {
		uri     string
		outcome evidence.Outcome
		reason  evidence.Reason
		checked evidence.Checked
	}{
		{"evidence://r1/logs", S, evidence.OK, evidence.Existence},
		{"evidence://current/logs", S, evidence.OK, evidence.Existence},
		{"evidence://r1/logs?stance=found", S, evidence.OK, evidence.Existence},
		{"evidence://r1/logs?item=e1", S, evidence.OK, evidence.Item},
		{"evidence://r1/logs?item=p1", S, evidence.OK, evidence.Item},
		{"evidence://r1/logs" + q("item", "e1", "quote", "gateway  answered 502"), S, evidence.OK, evidence.Content},
		{"evidence://r1/logs" + q("item", "e1", "quote", "gateway answered\n502"), S, evidence.OK, evidence.Content},
		{"evidence://r1/logs" + q("quote", "password=<secret>"), S, evidence.OK, evidence.Content},
		{"evidence://r1/logs" + q("quote", "cafe\u0301 closed early"), S, evidence.OK, evidence.Content},
		{"evidence://r1/logs" + q("item", "e2", "quote", "gateway  answered 502"), R, evidence.QuoteNotFound, evidence.Content},
		{"evidence://r1/logs" + q("quote", "gateway answered 503"), R, evidence.QuoteNotFound, evidence.Content},
		{"evidence://r1/logs" + q("quote", "PRIVATE-RAW-WORDS"), R, evidence.QuoteNotFound, evidence.Content},
		// The caller's own words are in scope and note: quoting them proves nothing.
		{"evidence://r1/logs" + q("quote", "the query words nobody found"), R, evidence.QuoteNotFound, evidence.Content},
		{"evidence://r1/logs" + q("quote", "the note words nobody found"), R, evidence.QuoteNotFound, evidence.Content},
		{"evidence://r1/logs" + q("quote", "502"), R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/logs?item=e9", R, evidence.ItemNotFound, evidence.Item},
		{"evidence://r1/logs?stance=absent", R, evidence.PolarityMismatch, evidence.Existence},
		{"evidence://r1/logs?item=e9&stance=absent", R, evidence.PolarityMismatch, evidence.Existence},
		{"evidence://r1/logs?sha256=" + digest(logsObs), S, evidence.OK, evidence.Content},
		{"evidence://r1/logs?sha256=" + strings.ToUpper(digest(logsObs)), S, evidence.OK, evidence.Content},
		{"evidence://r1/logs?item=e9&sha256=" + digest("x"), R, evidence.DigestMismatch, evidence.Content},
		{"evidence://r1/logs" + q("item", "e1", "field", "level", "value", "ERROR"), S, evidence.OK, evidence.Content},
		{"evidence://r1/logs" + q("item", "e1", "field", "level", "value", "WARN"), R, evidence.ValueMismatch, evidence.Content},
		{"evidence://r1/logs" + q("item", "e1", "field", "nope", "value", "x"), R, evidence.ItemNotFound, evidence.Item},
		{"evidence://r1/sql?item=r1", S, evidence.OK, evidence.Item},
		{"evidence://r1/sql?item=r3", R, evidence.ItemNotFound, evidence.Item},
		{"evidence://r1/sql" + q("item", "r1", "field", "status", "value", "FAILED"), S, evidence.OK, evidence.Content},
		{"evidence://r1/sql" + q("item", "r1", "field", "status~2", "value", "F2"), S, evidence.OK, evidence.Content},
		{"evidence://r1/sql" + q("item", "r1", "field", "note", "value", "NULL"), S, evidence.OK, evidence.Content},
		{"evidence://r1/sql" + q("item", "r1", "field", "ok", "value", "true"), S, evidence.OK, evidence.Content},
		{"evidence://r1/sql" + q("item", "r1", "field", "id", "value", "2"), S, evidence.OK, evidence.Content},
		{"evidence://r1/sql" + q("item", "r2", "field", "id", "value", "18446744073709551615"), S, evidence.OK, evidence.Content},
		{"evidence://r1/sql" + q("item", "r2", "field", "id", "value", "18446744073709551616"), R, evidence.ValueMismatch, evidence.Content},
		{"evidence://r1/sql" + q("item", "r1", "quote", "F2"), S, evidence.OK, evidence.Content}, // one whole cell
		{"evidence://r1/sql" + q("item", "r2", "quote", "F2"), R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/sql" + q("item", "r1", "quote", "AIL"), R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/none?stance=absent", N, evidence.OK, evidence.Existence},
		{"evidence://r1/none", R, evidence.PolarityMismatch, evidence.Existence},
		{"evidence://r1/none?stance=absent&item=e1", R, evidence.ItemNotFound, evidence.Item},
		{"evidence://r1/pending", R, evidence.NotReady, evidence.Existence},
		{"evidence://r1/failed", R, evidence.InvocationError, evidence.Existence},
		{"evidence://r1/failed?stance=absent", R, evidence.InvocationError, evidence.Existence},
		{"evidence://r1/absent", R, evidence.NotFound, evidence.Existence},
		{"evidence://r2/logs", R, evidence.NotFound, evidence.Existence},
		{"evidence://current/" + f.minted, S, evidence.OK, evidence.Existence},
		{"evidence://r1/" + f.minted, S, evidence.OK, evidence.Existence},
		{"evidence://r2/" + f.minted, R, evidence.NotFound, evidence.Existence},
		{"evidence://current/tc_zzzzzzzzzzzzzzzz", R, evidence.NotFound, evidence.Existence},
		// a document in a cell is quoted as it was shown, or by the words inside
		{"evidence://r1/doc" + q("item", "r1", "quote", `"tier":"gold","age":21`), S, evidence.OK, evidence.Content},
		{"evidence://r1/doc" + q("item", "r1", "quote", `"age":21,"tier":"gold"`), R, evidence.QuoteNotFound, evidence.Content},
		{"evidence://r1/doc" + q("item", "r1", "quote", `paid <secret> "twice"`), S, evidence.OK, evidence.Content},
		{"evidence://r1/doc" + q("item", "r1", "quote", "gold"), R, evidence.InvalidCitation, evidence.Existence},
		// a short quote is one whole cell of the field that is cited, not of another
		{"evidence://r1/doc" + q("item", "r1", "field", "id", "quote", "5"), S, evidence.OK, evidence.Content},
		{"evidence://r1/doc" + q("item", "r2", "field", "profile", "quote", "6"), R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/doc" + q("item", "r2", "field", "profile", "quote", "500"), R, evidence.InvalidCitation, evidence.Existence},
		// a column called a~2 beside two called a
		{"evidence://r1/doc" + q("item", "r1", "field", "a", "value", "1"), S, evidence.OK, evidence.Content},
		{"evidence://r1/doc" + q("item", "r1", "field", "a~2", "value", "3"), R, evidence.ItemNotFound, evidence.Item},
		// a plus sign is a blank or itself
		{"evidence://r1/doc?quote=at+10:00+08:00", R, evidence.QuoteNotFound, evidence.Content},
		{"evidence://r1/doc?quote=at%2010:00+08:00", S, evidence.OK, evidence.Content},
		{"evidence://r1/doc?quote=error+500+at+five", S, evidence.OK, evidence.Content},
		// An East Asian character counts as two: four are a phrase, three and a letter are not; half-width kana and single jamo are letters.
		{"evidence://r1/zh" + q("item", "e1", "quote", "支付失败"), S, evidence.OK, evidence.Content},
		{"evidence://r1/zh" + q("item", "e1", "quote", "支付成功"), R, evidence.QuoteNotFound, evidence.Content},
		{"evidence://r1/zh" + q("item", "e2", "quote", "決済に失"), S, evidence.OK, evidence.Content},
		{"evidence://r1/zh" + q("item", "e3", "quote", "결제실패"), S, evidence.OK, evidence.Content},
		{"evidence://r1/zh" + q("item", "e1", "quote", "网关超时 o"), S, evidence.OK, evidence.Content},
		{"evidence://r1/zh" + q("item", "e1", "quote", "支付"), R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/zh" + q("item", "e1", "quote", "付失败："), R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/zh" + q("item", "e1", "quote", "失败"), R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/zh" + q("item", "e3", "quote", "ｶﾀｶﾅ"), R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/zh" + q("item", "e3", "quote", "ㅋㅋㅋㅋ"), R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/absent" + q("quote", "支付失"), R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/absent" + q("quote", "支付失败"), R, evidence.NotFound, evidence.Existence},
		// malformed
		{"", R, evidence.InvalidCitation, evidence.Existence},
		{"http://r1/logs", R, evidence.InvalidCitation, evidence.Existence},
		{"evidence:r1/logs", R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1", R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/", R, evidence.InvalidCitation, evidence.Existence},
		{"evidence:///logs", R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/logs/more", R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1:80/logs", R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://u@r1/logs", R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/logs#e1", R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/logs#", R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/l%6Fgs", R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/logs?evil=1", R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/logs?Item=e1", R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/logs?item=e1&item=e2", R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/logs?item=", R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/logs?item=event1", R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/logs?value=x", R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/logs?field=level", R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/logs?stance=maybe", R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/logs?sha256=abc", R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/logs?quote=%20%20", R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/logs?quote=%ff%ff%ff%ff%ff%ff%ff%ff", R, evidence.InvalidCitation, evidence.Existence},
		{"evidence://r1/logs?quote=a;b", R, evidence.InvalidCitation, evidence.Existence},
	} {
		v := f.guard.VerifyURI(t.Context(), alice, c.uri)
		if v.Outcome != c.outcome || v.Reason != c.reason || v.Checked != c.checked {
			t.Errorf("%s: %s %s %s, want %s %s %s", c.uri, v.Outcome, v.Reason, v.Checked, c.outcome, c.reason, c.checked)
		}
		if v.Backed() != (c.outcome != R) {
			t.Errorf("%s: Backed() = %v", c.uri, v.Backed())
		}
		b, err := json.Marshal(v)
		if err != nil || strings.Contains(string(b), "gateway") || strings.Contains(string(b), "PRIVATE") || strings.Contains(string(b), "FAILED") {
			t.Errorf("%s: the verdict carries content: %s %v", c.uri, b, err)
		}
	}
}

func TestAVerdictDescribesItsRecord(t *testing.T) {
	f := newFixture(t)
	v := f.guard.VerifyURI(t.Context(), evidence.Caller{Principal: "alice"}, "evidence://r1/logs?item=e1")
	if v.Tool != "query_x" || v.InvocationStatus != canonical.StateReady || v.EvidenceStatus != "EVIDENCE_FOUND" || v.Truncated == nil || !*v.Truncated ||
		v.ObservationSHA != digest(logsObs) || v.CompletedAt == nil || v.ExpiresAt == nil || !strings.Contains(string(v.Scope), "checkout") || v.Item != "e1" {
		t.Errorf("%+v", v)
	}
}

// A foreign run, an unknown one and an unknown call of an own run cannot be told apart.
func TestForeignRunsAreIndistinguishableFromUnknownOnes(t *testing.T) {
	f := newFixture(t)
	mallory := evidence.Caller{Principal: "mallory", Run: "r1"}
	say := func(c evidence.Caller, uri string) string {
		b, err := json.Marshal(f.guard.VerifyURI(t.Context(), c, uri))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	foreign, unknown := say(mallory, "evidence://r1/logs"), say(mallory, "evidence://r9/logs")
	if strings.ReplaceAll(foreign, "r1", "R") != strings.ReplaceAll(unknown, "r9", "R") {
		t.Errorf("%s\n%s", foreign, unknown)
	}
	if a, b := say(mallory, "evidence://current/"+f.minted), say(mallory, "evidence://current/tc_zzzzzzzzzzzzzzzz"); strings.ReplaceAll(a, f.minted, "C") != strings.ReplaceAll(b, "tc_zzzzzzzzzzzzzzzz", "C") {
		t.Errorf("%s\n%s", a, b)
	}
}

func TestCurrentNeedsARun(t *testing.T) {
	f := newFixture(t)
	if v := f.guard.VerifyURI(t.Context(), evidence.Caller{Principal: "alice"}, "evidence://current/logs"); v.Reason != evidence.InvalidCitation {
		t.Errorf("%s", v.Reason)
	}
}

type downReader struct{}

func (downReader) Load(context.Context, canonical.Key) (canonical.Invocation, error) {
	return nil, fault.New(fault.StoreError, "test", errors.New("refused"))
}
func (downReader) FindCall(context.Context, string, string) (canonical.Invocation, error) {
	return nil, context.DeadlineExceeded
}

// pretender embeds the interface to look like an invocation.
type pretender struct{ canonical.Invocation }

type fakeReader struct{ inv canonical.Invocation }

func (f fakeReader) Load(context.Context, canonical.Key) (canonical.Invocation, error) {
	return f.inv, nil
}
func (f fakeReader) FindCall(context.Context, string, string) (canonical.Invocation, error) {
	return f.inv, nil
}

func TestWhatCannotBeReadIsRejected(t *testing.T) {
	alice := evidence.Caller{Principal: "alice", Run: "r1"}
	for _, uri := range []string{"evidence://r1/logs", "evidence://current/tc_abcdefghijklmnop", "evidence://r1/logs?quote=x"} {
		if v := evidence.New(downReader{}).VerifyURI(t.Context(), alice, uri); v.Reason != evidence.StoreUnavailable || v.Backed() {
			t.Errorf("%s: %s", uri, v.Reason)
		}
	}
	for name, inv := range map[string]canonical.Invocation{"pretender": pretender{}, "zero Ready": canonical.Ready{}, "nil": nil} {
		if v := evidence.New(fakeReader{inv}).VerifyURI(t.Context(), alice, "evidence://r1/logs"); v.Backed() {
			t.Errorf("%s was accepted", name)
		}
	}
	if (evidence.Verdict{}).Backed() {
		t.Error("the zero Verdict is backed")
	}
	if v := newFixture(t).guard.VerifyURI(t.Context(), evidence.Caller{}, "evidence://r1/logs"); v.Backed() {
		t.Error("a caller without a principal was answered")
	}
}

type replayer struct {
	obs string
	err error
}

func (r replayer) Replay(canonical.Record) ([]byte, error) { return []byte(r.obs), r.err }

func TestReplay(t *testing.T) {
	f := newFixture(t)
	for name, c := range map[string]struct {
		r       replayer
		reason  evidence.Reason
		checked evidence.Checked
	}{
		"same bytes":      {replayer{obs: logsObs}, evidence.OK, evidence.Replay},
		"other bytes":     {replayer{obs: sqlObs}, evidence.ReplayMismatch, evidence.Replay},
		"other projector": {replayer{err: canonical.ErrOtherProjector}, evidence.ReplayUnavailable, evidence.Replay},
		"broken record":   {replayer{err: errors.New("x")}, evidence.ReplayMismatch, evidence.Replay},
	} {
		v := f.guard.WithReplay(c.r).VerifyURI(t.Context(), evidence.Caller{Principal: "alice"}, "evidence://r1/logs?item=e1")
		if v.Reason != c.reason || v.Checked != c.checked {
			t.Errorf("%s: %s %s, want %s %s", name, v.Reason, v.Checked, c.reason, c.checked)
		}
	}
	// The order of the reasons: a quote that is not there is said before a replay that differs.
	if v := f.guard.WithReplay(replayer{obs: sqlObs}).VerifyURI(t.Context(), evidence.Caller{Principal: "alice"}, "evidence://r1/logs?quote=not+there+at+all"); v.Reason != evidence.QuoteNotFound {
		t.Errorf("%s", v.Reason)
	}
}

// countingReader counts reads of the store.
type countingReader struct {
	evidence.Reader
	n int
}

func (c *countingReader) Load(ctx context.Context, k canonical.Key) (canonical.Invocation, error) {
	c.n++
	return c.Reader.Load(ctx, k)
}
func (c *countingReader) FindCall(ctx context.Context, p, call string) (canonical.Invocation, error) {
	c.n++
	return c.Reader.FindCall(ctx, p, call)
}

func TestAVerificationReadsTheStoreOnceAndAnew(t *testing.T) {
	f := newFixture(t)
	r := &countingReader{Reader: f.ledger}
	g := evidence.New(r)
	for range 3 {
		g.VerifyURI(t.Context(), evidence.Caller{Principal: "alice"}, "evidence://r1/logs?item=e1&quote=gateway++answered+502")
		g.VerifyURI(t.Context(), evidence.Caller{Principal: "alice"}, "evidence://current/"+f.minted)
	}
	if r.n != 6 {
		t.Errorf("%d reads for 6 verifications", r.n)
	}
}

func FuzzParseURI(f *testing.F) {
	for _, s := range []string{"evidence://r1/c1?item=e1&quote=a%20b", "evidence://current/tc_abcdefghijklmnop?stance=absent", "evidence://[::1]/x", "evidence://r1/c?%zz"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, ok := evidence.ParseURI(s)
		if ok && (c.Run != canonical.CurrentRun && !canonical.ValidID(c.Run) || !canonical.ValidID(c.Call)) {
			t.Fatalf("%q accepted as %q %q", s, c.Run, c.Call)
		}
	})
}
