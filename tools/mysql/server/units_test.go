package server

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"

	driversql "github.com/go-sql-driver/mysql"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// script is a connection that delivers fixed bytes in pieces of random size.
type script struct {
	net.Conn
	data *bytes.Reader
	r    *rand.Rand
}

func (s *script) Read(b []byte) (int, error) {
	return s.data.Read(b[:min(len(b), 1+s.r.IntN(7))])
}

func (s *script) Close() error { return nil }

func packet(body ...byte) []byte {
	n := len(body)
	return append([]byte{byte(n), byte(n >> 8), byte(n >> 16), 0}, body...)
}

func TestTheWireReadsTheWarningCountOfTheLastPacket(t *testing.T) {
	t.Parallel()
	row := packet([]byte("\x03abc\xfb\x02zz")...)
	for _, c := range []struct {
		name string
		last []byte
		want int
		ok   bool
	}{
		{"EOF packet", packet(0xfe, 3, 1, 2, 0), 0x103, true},
		{"OK packet", packet(0xfe, 0, 0, 2, 0, 7, 0), 7, true},
		{"OK packet with long counts", packet(0xfe, 0xfc, 1, 1, 0xfd, 1, 2, 3, 2, 0, 9, 0), 9, true},
		{"OK packet with a message", packet(append([]byte{0xfe, 0, 0, 2, 0, 1, 0}, strings.Repeat("m", 40)...)...), 1, true},
		{"a row", row, 0, false},
		{"an error", packet([]byte("\xff\x28\x04#42000no")...), 0, false},
		{"cut short", packet(0xfe, 0xfc), 0, false},
	} {
		w := &wire{Conn: &script{data: bytes.NewReader(slices.Concat(row, row, c.last)), r: rand.New(rand.NewPCG(1, 2))}}
		if _, err := io.ReadAll(w); err != nil {
			t.Fatal(err)
		}
		if n, ok := w.warnings(); n != c.want || ok != c.ok {
			t.Errorf("%s: %d, %v, want %d, %v", c.name, n, ok, c.want, c.ok)
		}
	}
}

func TestTheWireRefusesAPacketAtItsHeader(t *testing.T) {
	t.Parallel()
	p := permit(t, 100)
	at := packet(make([]byte, 100+rowSlack)...)
	w := &wire{Conn: &script{data: bytes.NewReader(at), r: rand.New(rand.NewPCG(1, 2))}}
	w.arm(p)
	if _, err := io.ReadAll(w); err != nil {
		t.Errorf("at the allowance: %v", err)
	}
	n := 101 + rowSlack
	over := append([]byte{byte(n), byte(n >> 8), byte(n >> 16), 0}, make([]byte, 64)...)
	w = &wire{Conn: &script{data: bytes.NewReader(over), r: rand.New(rand.NewPCG(1, 2))}}
	w.arm(p)
	b, err := io.ReadAll(w)
	if err == nil || len(b) > 4 {
		t.Errorf("over the allowance: %d bytes, %v", len(b), err)
	}
	if fault.CodeOf(p.Take(0)) != fault.RawTooLarge {
		t.Error("the permit does not know")
	}
	if _, err := w.Read(make([]byte, 1)); err == nil {
		t.Error("the wire reads on")
	}
}

func FuzzWire(f *testing.F) {
	f.Add(slices.Concat(packet(1, 2, 3), packet(0xfe, 0, 0, 2, 0)), uint64(1))
	f.Add([]byte{0xff, 0xff, 0xff, 0}, uint64(2))
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		whole := &wire{Conn: &script{data: bytes.NewReader(data), r: rand.New(rand.NewPCG(seed, 0))}}
		got, _ := io.ReadAll(whole)
		other := &wire{Conn: &script{data: bytes.NewReader(data), r: rand.New(rand.NewPCG(seed, 1))}}
		_, _ = io.ReadAll(other)
		n1, ok1 := whole.warnings()
		n2, ok2 := other.warnings()
		if whole.over != other.over || !whole.over && (n1 != n2 || ok1 != ok2) {
			t.Errorf("the size of reads changes what is seen: %v %d %v, %v %d %v", whole.over, n1, ok1, other.over, n2, ok2)
		}
		if !bytes.HasPrefix(data, got) {
			t.Error("the wire changes bytes")
		}
	})
}

func TestGrantsBeyondReadingAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line string
		want []string
	}{
		{"GRANT USAGE ON *.* TO `ro`@`%` IDENTIFIED BY PASSWORD '*0123'", nil},
		{"GRANT SELECT ON `shop`.* TO `ro`@`%`", nil},
		{"GRANT SELECT, SHOW VIEW, PROCESS ON *.* TO `ro`@`%`", nil},
		{"GRANT SELECT (`id`, `odd, INSERT ON name`) ON `shop`.`t` TO `ro`@`%`", nil},
		{"GRANT SELECT (id), INSERT (id) ON shop.t TO ro", []string{"INSERT"}},
		{"GRANT SELECT, INSERT, UPDATE ON `shop`.* TO `rw`@`%`", []string{"INSERT", "UPDATE"}},
		{"GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION", []string{"ALL PRIVILEGES", "GRANT OPTION"}},
		{"GRANT SELECT ON `shop`.* TO `ro`@`%` WITH GRANT OPTION", []string{"GRANT OPTION"}},
		{"GRANT FILE ON *.* TO `ro`@`%`", []string{"FILE"}},
		{"GRANT EXECUTE ON PROCEDURE `shop`.`p` TO `ro`@`%`", []string{"EXECUTE"}},
		{"GRANT PROXY ON ''@'%' TO 'root'@'localhost' WITH GRANT OPTION", []string{"GRANT OPTION", "PROXY"}},
		{"GRANT SYSTEM_VARIABLES_ADMIN,XA_RECOVER_ADMIN ON *.* TO `a`@`%`", []string{"SYSTEM_VARIABLES_ADMIN", "XA_RECOVER_ADMIN"}},
		{"GRANT `reader`@`%` TO `ro`@`%`", nil},
		{"SET DEFAULT ROLE `r` FOR `ro`@`%`", nil},
		{"REVOKE INSERT ON `shop`.* FROM `ro`@`%`", []string{"a grant of unknown form"}},
	} {
		if got := writing([]string{c.line}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.line, got, c.want)
		}
	}
}

// MariaDB as installed lets everybody write in the schema test; "ALTER, CREATE …" without a place sent people to look for it in the account's own grants.
func TestAMessageAboutGrantsNamesThePlace(t *testing.T) {
	t.Parallel()
	got := writtenTo([]string{"GRANT USAGE ON *.* TO `ro`@`%`", "GRANT SELECT ON `shop`.* TO `ro`@`%`", "GRANT INSERT, UPDATE ON `ops`.`notes` TO `ro`@`%` WITH GRANT OPTION",
		"GRANT SELECT, INSERT, ALTER ON `test`.* TO PUBLIC", "GRANT SELECT, INSERT, ALTER ON `test\\_%`.* TO PUBLIC"})
	want := []string{"`ops`.`notes`", "`test\\_%`.* through PUBLIC, which every account has: revoke it there", "`test`.* through PUBLIC, which every account has: revoke it there"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestNoServerTextSurvivesClassification(t *testing.T) {
	t.Parallel()
	for n := range 5000 {
		err := classify("server.Run", &driversql.MySQLError{Number: uint16(n), Message: "Duplicate entry 'Zq-canary' for key 'PRIMARY'"})
		code, _, hint := fault.Public(err)
		if !fault.Known(code) || hint == "" || code == fault.Internal {
			t.Fatalf("%d: %s %q", n, code, hint)
		}
		for e := err; e != nil; {
			if strings.Contains(e.Error(), "canary") {
				t.Fatalf("%d: %v holds the server's text", n, e)
			}
			u, ok := e.(interface{ Unwrap() error })
			if !ok {
				break
			}
			e = u.Unwrap()
		}
	}
	for kind := range advice {
		if !slices.Contains(slices.Collect(values(runtimeKinds)), kind) {
			t.Errorf("no number leads to %s", kind)
		}
	}
	for n, kind := range runtimeKinds {
		if advice[kind] == "" {
			t.Errorf("%d: no advice for %s", n, kind)
		}
	}
}

func values(m map[uint16]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

func TestTimestamps(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"2026-01-01 10:00:00":        "2026-01-01T10:00:00Z",
		"2026-01-01 10:00:00.123456": "2026-01-01T10:00:00.123456Z",
		"0000-00-00 00:00:00":        "0000-00-00 00:00:00",
		"2026-00-01 00:00:00":        "2026-00-01 00:00:00",
		"odd":                        "odd",
	} {
		if got := string(appendTimestamp(nil, []byte(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestTextThatIsNoUTF8IsShownAsBinary(t *testing.T) {
	t.Parallel()
	b, kind, n := appendCell(nil, []byte("ok\xff"), asText)
	if kind == 1 || n != 3 || len(b) != 64 {
		t.Errorf("got %s, kind %d, %d bytes", b, kind, n)
	}
}
