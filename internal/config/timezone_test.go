package config

import (
	"strings"
	"testing"
)

// An offset is a text, though YAML may take it for a number.
func TestATimezoneMayBeAnOffset(t *testing.T) {
	for written, want := range map[string]string{"Asia/Shanghai": "Asia/Shanghai", `"+08:00"`: "+08:00", "+08:00": "+08:00", "-05:00": "-05:00", "+8": "+8", "UTC+8": "UTC+8", "GMT+08:00": "GMT+08:00"} {
		c, err := load(t, "logs: {topics: {shop: {description: d, files: {paths: [/a.log], timezone: "+written+"}}}}")
		if err != nil {
			t.Errorf("%s: %v", written, err)
			continue
		}
		if got := c.Logs.Topics["shop"].Files.Timezone; got != want {
			t.Errorf("%s is read as %q", written, got)
		}
	}
	for _, written := range []string{"Moon", "+15:00", "8", "北京"} {
		if _, err := load(t, "logs: {topics: {shop: {description: d, files: {paths: [/a.log], timezone: "+written+"}}}}"); err == nil || !strings.Contains(err.Error(), "+08:00") {
			t.Errorf("%s: %v, want a hint", written, err)
		}
	}
}
