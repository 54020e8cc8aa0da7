package zone_test

import (
	"errors"
	"testing"
	"time"

	"github.com/seed-069badc9/mcp-gateway/internal/zone"
)

func TestNamesAndOffsets(t *testing.T) {
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, want := range map[string]string{
		"": "12:00", "UTC": "12:00", "Asia/Shanghai": "20:00", "Europe/Berlin": "13:00", "Etc/GMT-8": "20:00",
		"+08:00": "20:00", "+8": "20:00", "+08": "20:00", "+0800": "20:00", "-03:30": "08:30", "UTC+8": "20:00", "UTC+08:00": "20:00", "GMT+08:00": "20:00", "gmt-5": "07:00", "+00:00": "12:00", "UTC+0": "12:00",
	} {
		loc, err := zone.Load(name)
		if err != nil {
			t.Errorf("Load(%q): %v", name, err)
			continue
		}
		if got := at.In(loc).Format("15:04"); got != want {
			t.Errorf("Load(%q): noon is %s there, want %s", name, got, want)
		}
	}
	for _, name := range []string{"Moon", "Mars/Olympus", "+", "8", "08:00", "+15", "+14:30", "+8:0", "+08:60", "+8h", "UTC8", "UTC+", "CST+8", "+080", "+-8", "北京", "../zone"} {
		if _, err := zone.Load(name); !errors.Is(err, zone.ErrZone) {
			t.Errorf("Load(%q): %v, want an error", name, err)
		}
	}
}
