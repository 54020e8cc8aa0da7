package pattern

// unit is the family of a unit of measure: "5.5 KB" and "93.0 B" are values of one slot.
type unit uint8

const (
	unitNone unit = iota
	unitSize
	unitTime
)

// unitOf tells the family of a unit word; scaleOf its size within the family.
func unitOf(s string) unit {
	u, _ := scaleOf(s)
	return u
}

func scaleOf(s string) (unit, float64) {
	if len(s) == 0 || len(s) > 12 {
		return unitNone, 0
	}
	switch s {
	case "B", "b", "byte", "bytes", "Bytes":
		return unitSize, 1
	case "KB", "kB", "K", "k", "Kb", "kb", "KiB", "kbytes", "Kbytes", "KBytes":
		return unitSize, 1 << 10
	case "MB", "M", "Mb", "mb", "MiB", "mbytes", "Mbytes", "MBytes":
		return unitSize, 1 << 20
	case "GB", "G", "Gb", "gb", "GiB", "gbytes", "Gbytes", "GBytes":
		return unitSize, 1 << 30
	case "TB", "T", "Tb", "tb", "TiB":
		return unitSize, 1 << 40
	case "ns", "nanos", "nanoseconds":
		return unitTime, 1e-9
	case "us", "µs", "μs", "micros", "microseconds":
		return unitTime, 1e-6
	case "ms", "msec", "msecs", "millis", "millisecond", "milliseconds":
		return unitTime, 1e-3
	case "s", "sec", "secs", "second", "seconds":
		return unitTime, 1
	case "m", "min", "mins", "minute", "minutes":
		return unitTime, 60
	case "h", "hr", "hrs", "hour", "hours":
		return unitTime, 3600
	case "d", "day", "days":
		return unitTime, 86400
	}
	return unitNone, 0
}

// isUnitMark: abbreviations that follow a number after a blank and are part of it. Written-out units (bytes, seconds) and
// single letters but B are words of the sentence and stay.
func isUnitMark(s string) bool {
	switch s {
	case "B", "KB", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "ns", "us", "ms":
		return true
	}
	return false
}
