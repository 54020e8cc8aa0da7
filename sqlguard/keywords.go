package sqlguard

// keyword numbers the words that the scan before the parsers has to know; all other words are 0.
type keyword uint8

const (
	kwNone keyword = iota
	kwSelect
	kwFrom
	kwWhere
	kwGroup
	kwHaving
	kwOrder
	kwLimit
	kwUnion
	kwIntersect
	kwExcept
	kwWindow
	kwInto
	kwFor
	kwLock
	kwProcedure
	kwWith
	kwCase
	kwEnd
	kwNot
	kwBinary
	kwDistinct
	kwAll
	kwModifier // SELECT modifiers without influence on rows
	kwShow
	kwDescribe
	kwExplain
	kwAnalyze
	kwTable
	kwValues
	kwWrite // a verb that changes something or manages the server
	kwAs
	kwIn
	kwUpdate
	kwShare
	kwTyped // DATE, TIME, TIMESTAMP
	kwJoin
	kwOn
	kwFetch
	kwOver
)

var keywords = map[string]keyword{
	"SELECT": kwSelect, "FROM": kwFrom, "WHERE": kwWhere, "GROUP": kwGroup, "HAVING": kwHaving, "ORDER": kwOrder, "LIMIT": kwLimit, "UNION": kwUnion,
	"INTERSECT": kwIntersect, "EXCEPT": kwExcept, "WINDOW": kwWindow, "INTO": kwInto, "FOR": kwFor, "LOCK": kwLock, "PROCEDURE": kwProcedure, "WITH": kwWith,
	"CASE": kwCase, "END": kwEnd, "NOT": kwNot, "BINARY": kwBinary, "DISTINCT": kwDistinct, "DISTINCTROW": kwDistinct, "ALL": kwAll,
	"HIGH_PRIORITY": kwModifier, "STRAIGHT_JOIN": kwModifier, "SQL_SMALL_RESULT": kwModifier, "SQL_BIG_RESULT": kwModifier, "SQL_BUFFER_RESULT": kwModifier,
	"SQL_CACHE": kwModifier, "SQL_NO_CACHE": kwModifier, "SQL_CALC_FOUND_ROWS": kwModifier,
	"SHOW": kwShow, "DESCRIBE": kwDescribe, "DESC": kwDescribe, "EXPLAIN": kwExplain, "ANALYZE": kwAnalyze, "TABLE": kwTable, "VALUES": kwValues,
	"AS": kwAs, "IN": kwIn, "UPDATE": kwUpdate, "SHARE": kwShare, "DATE": kwTyped, "TIME": kwTyped, "TIMESTAMP": kwTyped, "JOIN": kwJoin, "ON": kwOn, "FETCH": kwFetch,
	"OVER": kwOver,
}

// verbs begin statements that change data, settings, locks or the server.
var verbs = map[string]bool{
	"INSERT": true, "REPLACE": true, "UPDATE": true, "DELETE": true, "MERGE": true, "TRUNCATE": true, "CREATE": true, "ALTER": true, "DROP": true, "RENAME": true,
	"GRANT": true, "REVOKE": true, "SET": true, "RESET": true, "PURGE": true, "FLUSH": true, "KILL": true, "SHUTDOWN": true, "RESTART": true, "LOAD": true, "IMPORT": true,
	"CALL": true, "DO": true, "HANDLER": true, "PREPARE": true, "EXECUTE": true, "DEALLOCATE": true, "BEGIN": true, "START": true, "STOP": true, "COMMIT": true,
	"ROLLBACK": true, "SAVEPOINT": true, "RELEASE": true, "XA": true, "LOCK": true, "UNLOCK": true, "ANALYZE": true, "OPTIMIZE": true, "REPAIR": true, "CHECK": true,
	"CHECKSUM": true, "INSTALL": true, "UNINSTALL": true, "CACHE": true, "CHANGE": true, "BINLOG": true, "SIGNAL": true, "RESIGNAL": true, "GET": true, "USE": true,
	"DELIMITER": true, "SOURCE": true, "CLONE": true, "BACKUP": true, "FOR": true, "IF": true, "WHILE": true, "LOOP": true, "REPEAT": true, "DECLARE": true, "OPEN": true,
	"FETCH": true, "CLOSE": true, "RETURN": true, "EXEC": true, "VACUUM": true, "COPY": true, "ATTACH": true, "UPSERT": true, "HELP": true,
}

// keywordOf looks a word up without regard to case.
func keywordOf(w string) keyword {
	var buf [20]byte
	if len(w) > len(buf) {
		return kwNone
	}
	for i := range len(w) {
		c := w[i]
		if c >= 'a' && c <= 'z' {
			c -= 0x20
		}
		buf[i] = c
	}
	return keywords[string(buf[:len(w)])]
}
