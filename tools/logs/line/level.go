package line

import "strconv"

// Level is a severity. The names of the many logging libraries are folded into seven; None means that the event names none.
type Level uint8

// The levels in rising severity.
const (
	None Level = iota
	Trace
	Debug
	Info
	Notice
	Warn
	Error
	Fatal
)

var levelNames = [...]string{"", "TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "ERROR", "FATAL"}

// String is the name on the wire; "" for None.
func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return ""
}

// ParseLevel reads a level's name in any letter case, as logging libraries spell it, and its Chinese names, those of java.util.logging and of Windows among them. Single letters are accepted only when short is set.
func ParseLevel(s []byte, short bool) Level {
	var low [12]byte
	if len(s) == 0 || len(s) > len(low) {
		return None
	}
	for i, c := range s {
		low[i] = lower(c)
	}
	if len(s) == 1 {
		if !short {
			return None
		}
		switch low[0] {
		case 'v', 't':
			return Trace
		case 'd':
			return Debug
		case 'i':
			return Info
		case 'n':
			return Notice
		case 'w':
			return Warn
		case 'e':
			return Error
		case 'f', 'c', 'a', 'p':
			return Fatal
		}
		return None
	}
	switch string(low[:len(s)]) {
	case "trace", "finest", "finer", "verbose", "vrb", "trc", "silly", "跟踪", "追踪", "较详细", "非常详细":
		return Trace
	case "debug", "dbg", "fine", "debu", "dbug", "debug1", "debug2", "debug3", "调试", "详细", "調試":
		return Debug
	case "info", "information", "inf", "informational", "config", "log", "http", "信息", "配置", "資訊":
		return Info
	case "notice", "note", "通知", "注意", "提示":
		return Notice
	case "warn", "warning", "wrn", "警告", "告警", "预警":
		return Warn
	case "error", "err", "severe", "eror", "failure", "错误", "严重", "异常", "失败", "出错", "錯誤", "嚴重":
		return Error
	case "fatal", "critical", "crit", "alert", "emerg", "emergency", "panic", "dpanic", "ftl", "fata", "pani", "致命", "致命错误", "严重错误", "紧急", "崩溃", "致命錯誤":
		return Fatal
	}
	return None
}

// numericLevel reads the numbers of pino and bunyan (10 to 60), syslog (0 to 7), OpenTelemetry's are told apart by their own key, and Google's (100 to 800).
func numericLevel(s []byte) Level {
	n, err := strconv.Atoi(string(s))
	if err != nil || n < 0 {
		return None
	}
	switch {
	case n <= 7:
		return syslogLevel(n)
	case n >= 100:
		switch {
		case n >= 600:
			return Fatal
		case n >= 500:
			return Error
		case n >= 400:
			return Warn
		case n >= 300:
			return Notice
		case n >= 200:
			return Info
		}
		return Debug
	case n >= 60:
		return Fatal
	case n >= 50:
		return Error
	case n >= 40:
		return Warn
	case n >= 30:
		return Info
	case n >= 20:
		return Debug
	case n >= 10:
		return Trace
	}
	return None
}

// otelLevel reads an OpenTelemetry severity number: four steps a level, from 1.
func otelLevel(s []byte) Level {
	n, err := strconv.Atoi(string(s))
	if err != nil || n < 1 || n > 24 {
		return None
	}
	return [...]Level{Trace, Debug, Info, Warn, Error, Fatal}[(n-1)/4]
}

func syslogLevel(n int) Level {
	switch {
	case n <= 2:
		return Fatal
	case n == 3:
		return Error
	case n == 4:
		return Warn
	case n == 5:
		return Notice
	case n == 6:
		return Info
	}
	return Debug
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
