package logs

import "encoding/json"

// The schemas are written by hand: portable to clients that refuse references, unions and open objects.
var (
	inputSchema = json.RawMessage(`{"type":"object","additionalProperties":false,"required":["topics"],"properties":{
"topics":{"type":"array","minItems":1,"maxItems":8,"items":{"type":"string"},"description":"topics to search, see the tool's description"},
"query":{"type":"string","maxLength":2048,"description":"terms all required (case-insensitive substrings); \"quoted phrase\"; -excluded; /regex/ (RE2); field=value"},
"level":{"type":"string","description":"minimum severity: TRACE, DEBUG, INFO, NOTICE, WARN, ERROR or FATAL"},
"from":{"type":"string","description":"start, inclusive: RFC3339, or -15m, -2h; default one hour before to"},
"to":{"type":"string","description":"end, exclusive: RFC3339, -5m or now; default now"},
"around":{"type":"string","description":"a time, such as an event's: what happened beside it in all topics; instead of from and to"},
"window":{"type":"string","description":"how far around reaches in both directions, as in 2m; default 5m"},
"limit":{"type":"integer","minimum":1,"maximum":500,"description":"events shown at most; default as many as fit, of a flood a dozen of one pattern"}}}`)

	outputSchema = json.RawMessage(`{"type":"object","additionalProperties":false,"required":["tool_call_id","run_id","evidence_status","truncated","scope","patterns","events"],"properties":{
"tool_call_id":{"type":"string"},"run_id":{"type":"string"},"evidence_status":{"type":"string","enum":["EVIDENCE_FOUND","NO_EVIDENCE"]},
"truncated":{"type":"boolean","description":"true when something that matches is not shown"},
"scope":{"type":"object","additionalProperties":false,"required":["topics","from","to"],"properties":{
"topics":{"type":"array","items":{"type":"string"}},"from":{"type":"string"},"to":{"type":"string"},"query":{"type":"string"},"level":{"type":"string"},
"covered":{"type":"object","additionalProperties":false,"required":["from","to"],"description":"the part of the range that the logs cover, when not all","properties":{"from":{"type":"string"},"to":{"type":"string"}}}}},
"patterns":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["id","count","template","first","last"],"properties":{
"id":{"type":"string"},"count":{"type":"integer"},"level":{"type":"string"},"topic":{"type":"string"},"template":{"type":"string"},"first":{"type":"string"},"last":{"type":"string"},
"values":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["slot","top"],"properties":{"slot":{"type":"string"},"top":{"type":"array","items":{"type":"string"}}}}}}}},
"patterns_omitted":{"type":"integer"},
"events":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["id","time","message","pattern"],"properties":{
"id":{"type":"string"},"time":{"type":"string"},"topic":{"type":"string"},"level":{"type":"string"},"service":{"type":"string"},"message":{"type":"string"},"pattern":{"type":"string"},"stack":{"type":"string"}}}},
"note":{"type":"string"},
"control":{"type":"object","additionalProperties":false,"required":["code"],"properties":{"code":{"type":"string"},"checked_scopes":{"type":"array","items":{"type":"string"}}}}}}`)
)
