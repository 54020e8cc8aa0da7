package sqlguard

import sp "vitess.io/vitess/go/vt/sqlparser"

// The fixed tables: every function, unit, character set, collation and type name that can be printed. A name that is not here is refused.

// fn says how often an allowed function may be called with how many arguments; most < 0 is without end.
type fn struct {
	name        word
	least, most int
}

const many = -1

// functions are deterministic or tell the time; none waits, locks, reads files or server state, or puts data into an error text that leaves the gateway.
var functions = buildFunctions()

func buildFunctions() map[string]fn {
	m := map[string]fn{}
	for _, f := range []fn{
		// text
		{"ASCII", 1, 1}, {"BIN", 1, 1}, {"BIT_LENGTH", 1, 1}, {"CHAR_LENGTH", 1, 1}, {"CHARACTER_LENGTH", 1, 1}, {"CONCAT", 1, many}, {"CONCAT_WS", 2, many},
		{"ELT", 2, many}, {"EXPORT_SET", 3, 5}, {"FIELD", 2, many}, {"FIND_IN_SET", 2, 2}, {"FORMAT", 2, 3}, {"FROM_BASE64", 1, 1}, {"HEX", 1, 1}, {"INSTR", 2, 2},
		{"LCASE", 1, 1}, {"LEFT", 2, 2}, {"LENGTH", 1, 1}, {"LOWER", 1, 1}, {"LPAD", 2, 3}, {"MAKE_SET", 2, many}, {"OCT", 1, 1}, {"OCTET_LENGTH", 1, 1}, {"ORD", 1, 1},
		{"QUOTE", 1, 1}, {"REPEAT", 2, 2}, {"REPLACE", 3, 3}, {"REVERSE", 1, 1}, {"RIGHT", 2, 2}, {"RPAD", 2, 3}, {"SOUNDEX", 1, 1}, {"SPACE", 1, 1}, {"STRCMP", 2, 2},
		{"SUBSTRING_INDEX", 3, 3}, {"TO_BASE64", 1, 1}, {"UCASE", 1, 1}, {"UNHEX", 1, 1}, {"UPPER", 1, 1}, {"CHARSET", 1, 1}, {"COLLATION", 1, 1}, {"COERCIBILITY", 1, 1},
		{"WEIGHT_STRING", 1, 1}, {"MD5", 1, 1}, {"SHA", 1, 1}, {"SHA1", 1, 1}, {"SHA2", 2, 2}, {"CRC32", 1, 1},
		{"INET_ATON", 1, 1}, {"INET_NTOA", 1, 1}, {"INET6_ATON", 1, 1}, {"INET6_NTOA", 1, 1}, {"IS_IPV4", 1, 1}, {"IS_IPV6", 1, 1}, {"IS_IPV4_COMPAT", 1, 1},
		{"IS_IPV4_MAPPED", 1, 1}, {"UUID", 0, 0}, {"IS_UUID", 1, 1}, {"BIN_TO_UUID", 1, 2}, {"UUID_TO_BIN", 1, 2},
		// numbers
		{"ABS", 1, 1}, {"ACOS", 1, 1}, {"ASIN", 1, 1}, {"ATAN", 1, 2}, {"ATAN2", 2, 2}, {"BIT_COUNT", 1, 1}, {"CEIL", 1, 1}, {"CEILING", 1, 1}, {"CONV", 3, 3}, {"COS", 1, 1},
		{"COT", 1, 1}, {"DEGREES", 1, 1}, {"EXP", 1, 1}, {"FLOOR", 1, 1}, {"GREATEST", 2, many}, {"LEAST", 2, many}, {"LN", 1, 1}, {"LOG", 1, 2}, {"LOG10", 1, 1},
		{"LOG2", 1, 1}, {"MOD", 2, 2}, {"PI", 0, 0}, {"POW", 2, 2}, {"POWER", 2, 2}, {"RADIANS", 1, 1}, {"RAND", 0, 1}, {"ROUND", 1, 2}, {"SIGN", 1, 1}, {"SIN", 1, 1},
		{"SQRT", 1, 1}, {"TAN", 1, 1}, {"TRUNCATE", 2, 2},
		// choice
		{"COALESCE", 1, many}, {"IF", 3, 3}, {"IFNULL", 2, 2}, {"ISNULL", 1, 1}, {"NULLIF", 2, 2}, {"GROUPING", 1, many}, {"NVL", 2, 2}, {"NVL2", 3, 3},
		// dates
		{"ADDTIME", 2, 2}, {"CONVERT_TZ", 3, 3}, {"CURDATE", 0, 0}, {"CURRENT_DATE", 0, 0}, {"DATE", 1, 1}, {"DATEDIFF", 2, 2}, {"DATE_FORMAT", 2, 3}, {"DAY", 1, 1},
		{"DAYNAME", 1, 1}, {"DAYOFMONTH", 1, 1}, {"DAYOFWEEK", 1, 1}, {"DAYOFYEAR", 1, 1}, {"FROM_DAYS", 1, 1}, {"FROM_UNIXTIME", 1, 2}, {"HOUR", 1, 1}, {"LAST_DAY", 1, 1},
		{"MAKEDATE", 2, 2}, {"MAKETIME", 3, 3}, {"MICROSECOND", 1, 1}, {"MINUTE", 1, 1}, {"MONTH", 1, 1}, {"MONTHNAME", 1, 1}, {"PERIOD_ADD", 2, 2}, {"PERIOD_DIFF", 2, 2},
		{"QUARTER", 1, 1}, {"SECOND", 1, 1}, {"SEC_TO_TIME", 1, 1}, {"STR_TO_DATE", 2, 2}, {"SUBTIME", 2, 2}, {"TIME", 1, 1}, {"TIMEDIFF", 2, 2}, {"TIMESTAMP", 1, 2},
		{"TIME_FORMAT", 2, 2}, {"TIME_TO_SEC", 1, 1}, {"TO_DAYS", 1, 1}, {"TO_SECONDS", 1, 1}, {"UNIX_TIMESTAMP", 0, 1}, {"UTC_DATE", 0, 0}, {"WEEK", 1, 2}, {"WEEKDAY", 1, 1},
		{"WEEKOFYEAR", 1, 1}, {"YEAR", 1, 1}, {"YEARWEEK", 1, 2},
		// JSON that the parser leaves as plain calls
		{"JSON_EXISTS", 2, 2}, {"JSON_QUERY", 2, 2}, {"JSON_COMPACT", 1, 1}, {"JSON_DETAILED", 1, 2}, {"JSON_LOOSE", 1, 1}, {"JSON_NORMALIZE", 1, 1}, {"JSON_EQUALS", 2, 2},
		{"JSON_LENGTH", 1, 2}, {"JSON_TYPE", 1, 1}, {"JSON_VALID", 1, 1}, {"JSON_DEPTH", 1, 1}, {"JSON_EXTRACT", 2, many}, {"JSON_UNQUOTE", 1, 1}, {"JSON_QUOTE", 1, 1},
		{"JSON_KEYS", 1, 2}, {"JSON_CONTAINS", 2, 3}, {"JSON_CONTAINS_PATH", 3, many}, {"JSON_SEARCH", 3, many}, {"JSON_OVERLAPS", 2, 2}, {"JSON_ARRAY", 0, many},
		{"JSON_OBJECT", 0, many}, {"JSON_VALUE", 2, 2}, {"JSON_SET", 3, many}, {"JSON_INSERT", 3, many}, {"JSON_REPLACE", 3, many}, {"JSON_REMOVE", 2, many},
		{"JSON_MERGE_PATCH", 2, many}, {"JSON_MERGE_PRESERVE", 2, many}, {"JSON_ARRAY_APPEND", 3, many}, {"JSON_ARRAY_INSERT", 3, many}, {"JSON_PRETTY", 1, 1},
		{"JSON_STORAGE_SIZE", 1, 1}, {"JSON_SCHEMA_VALID", 2, 2},
		// regular expressions and text search, when the parser leaves them as calls
		{"REGEXP_LIKE", 2, 3}, {"REGEXP_REPLACE", 3, 6}, {"REGEXP_SUBSTR", 2, 5}, {"REGEXP_INSTR", 2, 6},
		{"SUBSTRING", 2, 3}, {"INSERT", 4, 4}, {"LOCATE", 2, 3}, {"LTRIM", 1, 1}, {"RTRIM", 1, 1}, {"TRIM", 1, 1}, {"INTERVAL", 2, many},
	} {
		m[string(f.name)] = f
	}
	return m
}

// formatKinds are the words that GET_FORMAT takes.
var formatKinds = map[string]word{"date": "DATE", "time": "TIME", "datetime": "DATETIME", "timestamp": "DATETIME"}

// clocks are the functions that take only a precision.
var clocks = map[string]word{
	"now": "NOW", "current_timestamp": "CURRENT_TIMESTAMP", "localtime": "LOCALTIME", "localtimestamp": "LOCALTIMESTAMP", "utc_timestamp": "UTC_TIMESTAMP",
	"sysdate": "SYSDATE", "curtime": "CURTIME", "current_time": "CURRENT_TIME", "utc_time": "UTC_TIME", "curdate": "CURDATE", "current_date": "CURRENT_DATE", "utc_date": "UTC_DATE",
}

// aggregates by the parser's name for them.
var aggregates = map[string]word{
	"sum": "SUM", "avg": "AVG", "min": "MIN", "max": "MAX", "count": "COUNT", "bit_and": "BIT_AND", "bit_or": "BIT_OR", "bit_xor": "BIT_XOR", "std": "STD",
	"stddev": "STDDEV", "stddev_pop": "STDDEV_POP", "stddev_samp": "STDDEV_SAMP", "var_pop": "VAR_POP", "var_samp": "VAR_SAMP", "variance": "VARIANCE",
	"any_value": "ANY_VALUE", "json_arrayagg": "JSON_ARRAYAGG", "json_objectagg": "JSON_OBJECTAGG",
}

var windowFunctions = map[string]word{
	"cume_dist": "CUME_DIST", "dense_rank": "DENSE_RANK", "percent_rank": "PERCENT_RANK", "rank": "RANK", "row_number": "ROW_NUMBER", "first_value": "FIRST_VALUE",
	"last_value": "LAST_VALUE", "ntile": "NTILE", "nth_value": "NTH_VALUE", "lag": "LAG", "lead": "LEAD",
}

var units = map[sp.IntervalType]word{
	sp.IntervalMicrosecond: "MICROSECOND", sp.IntervalSecond: "SECOND", sp.IntervalMinute: "MINUTE", sp.IntervalHour: "HOUR", sp.IntervalDay: "DAY", sp.IntervalWeek: "WEEK",
	sp.IntervalMonth: "MONTH", sp.IntervalQuarter: "QUARTER", sp.IntervalYear: "YEAR", sp.IntervalSecondMicrosecond: "SECOND_MICROSECOND",
	sp.IntervalMinuteMicrosecond: "MINUTE_MICROSECOND", sp.IntervalMinuteSecond: "MINUTE_SECOND", sp.IntervalHourMicrosecond: "HOUR_MICROSECOND",
	sp.IntervalHourSecond: "HOUR_SECOND", sp.IntervalHourMinute: "HOUR_MINUTE", sp.IntervalDayMicrosecond: "DAY_MICROSECOND", sp.IntervalDaySecond: "DAY_SECOND",
	sp.IntervalDayMinute: "DAY_MINUTE", sp.IntervalDayHour: "DAY_HOUR", sp.IntervalYearMonth: "YEAR_MONTH",
}

// charsets that hold no second byte which could be a quote or a backslash.
var charsets = map[string]word{
	"utf8mb4": "utf8mb4", "utf8mb3": "utf8mb3", "utf8": "utf8mb3", "latin1": "latin1", "ascii": "ascii", "binary": "binary", "ucs2": "ucs2", "utf16": "utf16", "utf32": "utf32",
	"latin2": "latin2", "latin5": "latin5", "latin7": "latin7", "cp1250": "cp1250", "cp1251": "cp1251", "cp1252": "latin1", "koi8r": "koi8r", "greek": "greek", "hebrew": "hebrew",
	"gbk": "gbk", "gb2312": "gb2312", "gb18030": "gb18030", "big5": "big5", "sjis": "sjis", "cp932": "cp932", "euckr": "euckr", "ujis": "ujis",
}

// introducers may stand before a literal, which is then printed as X'..': its bytes are what they were.
var introducers = map[string]word{
	"_utf8mb4": "_utf8mb4", "_utf8mb3": "_utf8mb3", "_utf8": "_utf8mb3", "_latin1": "_latin1", "_ascii": "_ascii", "_binary": "_binary",
}

var collations = buildCollations()

func buildCollations() map[string]word {
	m := map[string]word{}
	for _, c := range []word{
		"binary", "ascii_bin", "ascii_general_ci", "latin1_bin", "latin1_general_ci", "latin1_general_cs", "latin1_swedish_ci", "latin1_german1_ci", "latin1_german2_ci",
		"latin1_spanish_ci", "utf8mb3_bin", "utf8mb3_general_ci", "utf8mb3_unicode_ci", "utf8mb3_unicode_520_ci", "utf8mb4_bin", "utf8mb4_general_ci",
		"utf8mb4_unicode_ci", "utf8mb4_unicode_520_ci", "utf8mb4_0900_ai_ci", "utf8mb4_0900_as_ci", "utf8mb4_0900_as_cs", "utf8mb4_0900_bin",
		"utf8mb4_zh_0900_as_cs", "utf8mb4_ja_0900_as_cs", "utf8mb4_ja_0900_as_cs_ks", "utf8mb4_de_pb_0900_ai_ci", "utf8mb4_german2_ci", "utf8mb4_spanish_ci",
		"utf8mb4_swedish_ci", "utf8mb4_turkish_ci", "utf8mb4_polish_ci", "utf8mb4_czech_ci", "utf8mb4_danish_ci", "utf8mb4_hungarian_ci", "utf8mb4_vietnamese_ci",
		"utf8mb4_croatian_ci", "utf8mb4_nopad_bin", "utf8mb4_general_nopad_ci", "utf8mb4_unicode_nopad_ci", "utf8mb4_uca1400_ai_ci", "utf8mb4_uca1400_as_ci",
		"utf8mb4_uca1400_as_cs", "gbk_chinese_ci", "gbk_bin", "gb2312_chinese_ci", "gb18030_chinese_ci", "gb18030_bin", "big5_chinese_ci", "big5_bin", "sjis_bin", "euckr_korean_ci", "ujis_japanese_ci", "cp1250_general_ci", "koi8r_general_ci",
		"latin1_danish_ci", "latin2_general_ci", "latin2_bin", "latin5_turkish_ci", "greek_general_ci", "hebrew_general_ci", "ucs2_general_ci", "ucs2_bin", "utf16_general_ci",
		"utf16_bin", "utf32_general_ci", "utf32_bin", "utf8mb4_persian_ci", "utf8mb4_icelandic_ci", "utf8mb4_latvian_ci", "utf8mb4_romanian_ci", "utf8mb4_slovenian_ci",
		"utf8mb4_estonian_ci", "utf8mb4_lithuanian_ci", "utf8mb4_slovak_ci", "utf8mb4_spanish2_ci", "utf8mb4_roman_ci", "utf8mb4_esperanto_ci", "utf8mb4_sinhala_ci",
		"utf8mb4_thai_520_w2", "utf8mb4_myanmar_ci", "utf8mb4_es_0900_ai_ci", "utf8mb4_ru_0900_ai_ci", "utf8mb4_tr_0900_ai_ci", "utf8mb4_pl_0900_ai_ci", "utf8mb4_sv_0900_ai_ci",
		"utf8mb4_da_0900_ai_ci", "utf8mb4_vi_0900_ai_ci", "utf8mb4_unicode_520_nopad_ci", "sjis_japanese_ci", "cp1251_general_ci", "cp1251_bin",
	} {
		m[string(c)] = c
	}
	m["utf8_bin"], m["utf8_general_ci"], m["utf8_unicode_ci"], m["utf8_unicode_520_ci"] = "utf8mb3_bin", "utf8mb3_general_ci", "utf8mb3_unicode_ci", "utf8mb3_unicode_520_ci"
	return m
}

// castType is a type of CAST and CONVERT: most is the number of sizes it takes.
type castType struct {
	name word
	most int
	text bool
}

var castTypes = map[string]castType{
	"char": {"CHAR", 1, true}, "character": {"CHAR", 1, true}, "varchar": {"CHAR", 1, true}, "nchar": {"NCHAR", 1, false}, "binary": {"BINARY", 1, false}, "varbinary": {"BINARY", 1, false},
	"signed": {"SIGNED", 0, false}, "signed integer": {"SIGNED", 0, false}, "signed int": {"SIGNED", 0, false}, "integer": {"SIGNED", 0, false}, "int": {"SIGNED", 0, false},
	"bigint": {"SIGNED", 0, false}, "unsigned": {"UNSIGNED", 0, false}, "unsigned integer": {"UNSIGNED", 0, false}, "unsigned int": {"UNSIGNED", 0, false},
	"decimal": {"DECIMAL", 2, false}, "dec": {"DECIMAL", 2, false}, "numeric": {"DECIMAL", 2, false}, "float": {"FLOAT", 1, false}, "double": {"DOUBLE", 0, false}, "real": {"DOUBLE", 0, false},
	"date": {"DATE", 0, false}, "datetime": {"DATETIME", 1, false}, "time": {"TIME", 1, false}, "json": {"JSON", 0, false}, "year": {"YEAR", 0, false}, "timestamp": {"DATETIME", 1, false},
}

// jsonTypes are the column types of JSON_TABLE.
var jsonTypes = map[string]castType{
	"int": {"INT", 0, false}, "integer": {"INT", 0, false}, "bigint": {"BIGINT", 0, false}, "smallint": {"SMALLINT", 0, false}, "tinyint": {"TINYINT", 0, false}, "mediumint": {"MEDIUMINT", 0, false},
	"decimal": {"DECIMAL", 2, false}, "numeric": {"DECIMAL", 2, false}, "float": {"FLOAT", 0, false}, "double": {"DOUBLE", 0, false}, "real": {"DOUBLE", 0, false}, "char": {"CHAR", 1, false},
	"varchar": {"VARCHAR", 1, false}, "text": {"TEXT", 0, false}, "date": {"DATE", 0, false}, "datetime": {"DATETIME", 1, false}, "time": {"TIME", 1, false},
	"timestamp": {"TIMESTAMP", 1, false}, "json": {"JSON", 0, false}, "bool": {"TINYINT", 0, false}, "boolean": {"TINYINT", 0, false}, "longtext": {"LONGTEXT", 0, false},
}

var comparisons = map[sp.ComparisonExprOperator]word{
	sp.EqualOp: " = ", sp.LessThanOp: " < ", sp.GreaterThanOp: " > ", sp.LessEqualOp: " <= ", sp.GreaterEqualOp: " >= ", sp.NotEqualOp: " <> ", sp.NullSafeEqualOp: " <=> ",
	sp.InOp: " IN ", sp.NotInOp: " NOT IN ", sp.LikeOp: " LIKE ", sp.NotLikeOp: " NOT LIKE ", sp.RegexpOp: " REGEXP ", sp.NotRegexpOp: " NOT REGEXP ",
}

var binaries = map[sp.BinaryExprOperator]word{
	sp.BitAndOp: " & ", sp.BitOrOp: " | ", sp.BitXorOp: " ^ ", sp.PlusOp: " + ", sp.MinusOp: " - ", sp.MultOp: " * ", sp.DivOp: " / ", sp.IntDivOp: " DIV ", sp.ModOp: " % ",
	sp.ShiftLeftOp: " << ", sp.ShiftRightOp: " >> ",
}

var tests = map[sp.IsExprOperator]word{
	sp.IsNullOp: " IS NULL", sp.IsNotNullOp: " IS NOT NULL", sp.IsTrueOp: " IS TRUE", sp.IsNotTrueOp: " IS NOT TRUE", sp.IsFalseOp: " IS FALSE", sp.IsNotFalseOp: " IS NOT FALSE",
}

var matchOptions = map[sp.MatchExprOption]word{
	sp.NoOption: "", sp.BooleanModeOpt: " IN BOOLEAN MODE", sp.NaturalLanguageModeOpt: " IN NATURAL LANGUAGE MODE",
	sp.NaturalLanguageModeWithQueryExpansionOpt: " IN NATURAL LANGUAGE MODE WITH QUERY EXPANSION", sp.QueryExpansionOpt: " WITH QUERY EXPANSION",
}

var joins = map[sp.JoinType]word{
	sp.NormalJoinType: " JOIN ", sp.StraightJoinType: " STRAIGHT_JOIN ", sp.LeftJoinType: " LEFT JOIN ", sp.RightJoinType: " RIGHT JOIN ",
}

var intervalForms = map[sp.IntervalExprSyntax]word{
	sp.IntervalDateExprDateAdd: "DATE_ADD", sp.IntervalDateExprDateSub: "DATE_SUB", sp.IntervalDateExprAdddate: "ADDDATE", sp.IntervalDateExprSubdate: "SUBDATE",
}

var jsonAttributes = map[sp.JSONAttributeType]word{
	sp.DepthAttributeType: "JSON_DEPTH", sp.ValidAttributeType: "JSON_VALID", sp.TypeAttributeType: "JSON_TYPE", sp.LengthAttributeType: "JSON_LENGTH",
}

var jsonModifiers = map[sp.JSONValueModifierType]word{
	sp.JSONArrayAppendType: "JSON_ARRAY_APPEND", sp.JSONArrayInsertType: "JSON_ARRAY_INSERT", sp.JSONInsertType: "JSON_INSERT", sp.JSONReplaceType: "JSON_REPLACE", sp.JSONSetType: "JSON_SET",
}

var jsonMerges = map[sp.JSONValueMergeType]word{
	sp.JSONMergeType: "JSON_MERGE_PRESERVE", sp.JSONMergePatchType: "JSON_MERGE_PATCH", sp.JSONMergePreserveType: "JSON_MERGE_PRESERVE",
}

var jsonResponses = map[sp.JtOnResponseType]word{sp.ErrorJSONType: "ERROR", sp.NullJSONType: "NULL", sp.DefaultJSONType: "DEFAULT "}
