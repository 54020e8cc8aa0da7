package files_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/tools/logs"
)

// Lines without a time were shown with the time of their file as if it were their own, and an old line became one of the last minute when the file was touched.
func TestLinesThatNameNoTimeAreSaidToHaveNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plain := write(t, dir, "plain.log", "ERROR payment declined\nINFO order accepted\n")
	at := time.Date(2026, 1, 1, 10, 30, 0, 0, time.UTC)
	if err := os.Chtimes(plain, at, at); err != nil {
		t.Fatal(err)
	}
	g := newGateway(t, logs.Options{}, map[string]string{"plain": plain, "timed": write(t, dir, "timed.log", shopLog())})
	const says = "lines of topic plain that name no time carry the time at which their file was written"
	if a := g.call(t, `{"topics":["plain"],"query":"declined",`+morning+`}`); a.Evidence != "EVIDENCE_FOUND" || !strings.Contains(strings.ToLower(a.Note), says) {
		t.Errorf("%s %s", a.code, a.text)
	}
	if a := g.call(t, `{"topics":["timed"],"query":"declined",`+morning+`}`); strings.Contains(a.Note, "name no time") {
		t.Errorf("%s", a.text)
	}
}
