package line

// What a field of a structured line is for.
const (
	roleNone = iota
	roleTime
	roleLevel
	roleMessage
	roleService
	roleStack
)

// rankSure is the rank from which a time key needs no better one.
const rankSure = 5

// role tells what a field is for by its key, in any letter case, and how sure that is: of two fields for one role the higher rank wins. The names are those of
// the common logging libraries and of ECS, OpenTelemetry, GELF, journald and the cloud vendors.
func role(key []byte) (kind, rank int) {
	var low [24]byte
	if len(key) == 0 || len(key) > len(low) {
		return roleNone, 0
	}
	for i, c := range key {
		low[i] = lower(c)
	}
	switch string(low[:len(key)]) {
	case "ts", "time", "timestamp", "@timestamp", "@t", "_time":
		return roleTime, 5
	case "datetime", "asctime", "eventtime", "event_time", "timemillis", "time_iso8601", "time_local", "instant", "__realtime_timestamp", "log_time", "logtime":
		return roleTime, 4
	case "date", "t", "created", "created_at", "observedtimestamp", "time_unix_nano", "timeunixnano":
		return roleTime, 3
	case "level", "log.level", "levelname", "@l", "@level":
		return roleLevel, 5
	case "severity", "lvl", "loglevel", "log_level", "level_name", "severitytext", "severity_text", "l":
		return roleLevel, 4
	case "priority", "s", "severitynumber", "severity_number", "syslog.severity.name":
		return roleLevel, 3
	case "msg", "message", "@m", "@message", "short_message", "fields.message", "jsonpayload.message":
		return roleMessage, 6
	case "log", "body", "body.stringvalue", "textpayload", "_msg", "@mt", "logmessage", "log_message":
		return roleMessage, 5
	case "event", "text", "m", "full_message":
		return roleMessage, 4
	case "error", "err", "error.message", "reason", "detail":
		return roleMessage, 1
	case "service", "service.name", "service_name", "servicename", "resource.service.name":
		return roleService, 6
	case "app", "application", "app_name", "appname", "syslog_identifier":
		return roleService, 5
	case "component", "module", "program", "c":
		return roleService, 3
	case "logger", "logger_name", "loggername", "log.logger", "name", "target", "sourcecontext":
		return roleService, 2
	case "stack", "stack_trace", "stacktrace", "error.stack_trace", "exc_info", "exception", "error.stack", "err.stack", "traceback", "@x", "throwable", "exc_text", "exception.stacktrace":
		return roleStack, 1
	}
	return roleNone, 0
}

func timeRank(key []byte) int {
	if kind, rank := role(key); kind == roleTime {
		return rank
	}
	return 0
}
