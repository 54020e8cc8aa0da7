package logs

import (
	"testing"
	"time"
)

// "The last hour" asked again a little later is the same range; another part of the log, and a range twice or half as long, is another.
func TestRangesOnAGrid(t *testing.T) {
	t.Parallel()
	base := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, length := range []time.Duration{time.Millisecond, time.Second, 5 * time.Minute, time.Hour, 24 * time.Hour, 400 * 24 * time.Hour} {
		at := func(shift time.Duration) string { return gridRange(base.Add(shift), base.Add(shift+length)) }
		same := 0
		for i := range 100 { // ten shifts of a 240th part, from a hundred places
			place := time.Duration(i) * length / 7
			for k := range 10 {
				if at(place) == at(place+time.Duration(k)*length/2400) {
					same++
				}
			}
		}
		if length > time.Second && same < 850 {
			t.Errorf("%s: %d of 1000 small shifts are the same range", length, same)
		}
		for name, other := range map[string]string{"side by side": at(length), "an eighth later": at(length/8 + 1), "twice as long": gridRange(base, base.Add(2*length)), "half as long": gridRange(base, base.Add(length/2))} {
			if length > time.Millisecond && other == at(0) {
				t.Errorf("%s: %s is the same range", length, name)
			}
		}
	}
}
