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
// the common logging libraries and of ECS, OpenTelemetry, GELF, journald and the cloud vendors, and what Chinese programs call the same.
func role(key []byte) (kind, rank int) {
	var low [24]byte
	if len(key) == 0 || len(key) > len(low) {
		return roleNone, 0
	}
	for i, c := range key {
		low[i] = lower(c)
	}
	switch string(low[:len(key)]) {
	case "ts", "time", "timestamp", "@timestamp", "@t", "_time", "时间", "时间戳", "時間", "時間戳":
		return roleTime, 5
	case "datetime", "asctime", "eventtime", "event_time", "timemillis", "time_iso8601", "time_local", "instant", "__realtime_timestamp", "log_time", "logtime", "日志时间", "记录时间", "发生时间", "事件时间", "日期时间", "日誌時間":
		return roleTime, 4
	case "date", "t", "created", "created_at", "observedtimestamp", "time_unix_nano", "timeunixnano", "日期", "创建时间", "生成时间":
		return roleTime, 3
	case "level", "log.level", "levelname", "@l", "@level", "级别", "日志级别", "級別":
		return roleLevel, 5
	case "severity", "lvl", "loglevel", "log_level", "level_name", "severitytext", "severity_text", "l", "等级", "日志等级", "严重级别", "告警级别", "等級", "日誌級別":
		return roleLevel, 4
	case "priority", "s", "severitynumber", "severity_number", "syslog.severity.name", "严重程度", "严重性":
		return roleLevel, 3
	case "msg", "message", "@m", "@message", "short_message", "fields.message", "jsonpayload.message", "消息", "日志消息", "訊息":
		return roleMessage, 6
	case "log", "body", "body.stringvalue", "textpayload", "_msg", "@mt", "logmessage", "log_message", "内容", "日志内容", "信息", "日志信息", "內容":
		return roleMessage, 5
	case "event", "text", "m", "full_message", "正文", "文本", "日志", "事件":
		return roleMessage, 4
	case "error", "err", "error.message", "reason", "detail", "错误", "错误信息", "异常信息", "原因", "描述", "详情":
		return roleMessage, 1
	case "service", "service.name", "service_name", "servicename", "resource.service.name", "服务", "服务名", "服务名称", "服務":
		return roleService, 6
	case "app", "application", "app_name", "appname", "syslog_identifier", "应用", "应用名", "应用名称", "系统名称":
		return roleService, 5
	case "component", "module", "program", "c", "组件", "模块", "程序", "系统":
		return roleService, 3
	case "logger", "logger_name", "loggername", "log.logger", "name", "target", "sourcecontext", "记录器", "类名":
		return roleService, 2
	case "stack", "stack_trace", "stacktrace", "error.stack_trace", "exc_info", "exception", "error.stack", "err.stack", "traceback", "@x", "throwable", "exc_text", "exception.stacktrace", "堆栈", "堆栈信息", "异常堆栈", "错误堆栈", "调用栈", "异常":
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
