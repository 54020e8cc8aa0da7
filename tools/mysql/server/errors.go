package server

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	driversql "github.com/go-sql-driver/mysql"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
)

// serverError is what is kept of an error of the server: its number. The text may hold values of rows, names, users and hosts.
type serverError struct{ number uint16 }

func (e serverError) Error() string { return fmt.Sprintf("server error %d", e.number) }

// runtimeKinds are errors that the statement itself causes when it is evaluated: number to kind. The advice per kind is below.
var runtimeKinds = map[uint16]string{
	1365: "DIVISION",
	1242: "SUBQUERY_ROWS", 1241: "SUBQUERY_COLUMNS", 1222: "UNION_COLUMNS",
	1264: "OUT_OF_RANGE", 1690: "OUT_OF_RANGE", 1441: "OUT_OF_RANGE", 1916: "OUT_OF_RANGE",
	1292: "TYPE", 1366: "TYPE", 1367: "TYPE", 1406: "TYPE", 1411: "TYPE", 1525: "TYPE", 1265: "TYPE", 3854: "TYPE", 3064: "TYPE", 4078: "TYPE",
	1267: "COLLATION", 1270: "COLLATION", 1271: "COLLATION", 1253: "COLLATION", 3995: "COLLATION", 3988: "COLLATION", 1977: "COLLATION",
	1139: "REGEX", 3685: "REGEX", 3686: "REGEX", 3687: "REGEX", 3688: "REGEX", 3689: "REGEX", 3690: "REGEX", 3691: "REGEX", 3692: "REGEX", 3693: "REGEX",
	3694: "REGEX", 3695: "REGEX", 3696: "REGEX", 3697: "REGEX", 3698: "REGEX", 3699: "REGEX", 3887: "REGEX",
	3140: "JSON", 3141: "JSON", 3143: "JSON", 3144: "JSON", 3146: "JSON", 3148: "JSON", 3149: "JSON", 3150: "JSON", 3151: "JSON", 3152: "JSON", 3153: "JSON",
	3154: "JSON", 3156: "JSON", 3157: "JSON", 3158: "JSON", 3165: "JSON", 3660: "JSON", 3661: "JSON", 3665: "JSON", 3666: "JSON", 3667: "JSON",
	4035: "JSON", 4036: "JSON", 4037: "JSON", 4038: "JSON", 4042: "JSON", 4043: "JSON", 4044: "JSON", 4172: "JSON", 4174: "JSON", 4175: "JSON", 4176: "JSON", 4177: "JSON",
	1055: "GROUP_BY", 1140: "GROUP_BY", 1056: "GROUP_BY", 1111: "AGGREGATE", 3029: "GROUP_BY",
	1052: "AMBIGUOUS_NAME", 1060: "DUPLICATE_NAME", 1066: "DUPLICATE_NAME", 1247: "REFERENCE",
	3636: "RECURSION", 1210: "ARGUMENTS", 1582: "ARGUMENTS", 1583: "ARGUMENTS", 3200: "ARGUMENTS",
	1301: "TOO_LONG", 1104: "TOO_MANY_ROWS", 1116: "TOO_MANY_TABLES",
	1436: "RESOURCES", 1038: "RESOURCES", 1037: "RESOURCES", 1041: "RESOURCES", 1114: "RESOURCES", 1119: "RESOURCES", 1135: "RESOURCES", 3170: "RESOURCES",
	3579: "WINDOW", 3580: "WINDOW", 3581: "WINDOW", 3582: "WINDOW", 3583: "WINDOW", 3584: "WINDOW", 3585: "WINDOW", 3586: "WINDOW", 3587: "WINDOW", 3588: "WINDOW",
	3589: "WINDOW", 3590: "WINDOW", 3591: "WINDOW", 3592: "WINDOW", 3593: "WINDOW", 3594: "WINDOW", 3595: "WINDOW", 3596: "WINDOW", 3597: "WINDOW", 3598: "WINDOW",
	4013: "WINDOW", 4014: "WINDOW", 4015: "WINDOW", 4016: "WINDOW", 4017: "WINDOW", 4018: "WINDOW", 4019: "WINDOW", 4020: "WINDOW", 4021: "WINDOW", 4022: "WINDOW", 4023: "WINDOW", 4024: "WINDOW",
}

// advice is the next step for each kind. It is fixed text: nothing of the statement or of the data is in it.
var advice = map[string]string{
	"DIVISION":         "a division by zero; guard the divisor with NULLIF(x, 0)",
	"SUBQUERY_ROWS":    "a subquery used as a value gave more than one row; use IN, an aggregate or LIMIT 1",
	"SUBQUERY_COLUMNS": "an operand has the wrong number of columns; let the subquery return one column",
	"UNION_COLUMNS":    "the members of a UNION have different numbers of columns",
	"OUT_OF_RANGE":     "a number left the range of its type; CAST to DECIMAL or SIGNED first",
	"TYPE":             "a value does not fit the type it is used as; CAST it or compare it with a value of its own type",
	"COLLATION":        "two strings with different collations are compared; add COLLATE to one side",
	"REGEX":            "the regular expression is not valid for this server",
	"JSON":             "a value or path is not valid JSON; test it with JSON_VALID or correct the path",
	"GROUP_BY":         "a column is neither aggregated nor in GROUP BY",
	"AGGREGATE":        "an aggregate stands where none may; use HAVING or a subquery",
	"AMBIGUOUS_NAME":   "a column name fits more than one table; qualify it",
	"DUPLICATE_NAME":   "two columns or tables of a subquery have the same name; give them aliases",
	"REFERENCE":        "a name is referred to where the server does not allow it; repeat the expression instead",
	"RECURSION":        "a recursive query went deeper than the server allows; add a condition that ends it",
	"ARGUMENTS":        "a function was called with wrong arguments",
	"TOO_LONG":         "a string function would have made a value longer than the server allows",
	"TOO_MANY_ROWS":    "the join would read too many rows; add conditions",
	"TOO_MANY_TABLES":  "the statement joins more tables than the server allows",
	"RESOURCES":        "the server lacks memory or temporary space for it; read fewer rows or columns",
	"WINDOW":           "a window definition is not valid for this server",
}

func runtimeFault(op, kind string, cause error) *fault.Error {
	return fault.New(fault.SQLRuntime, op, cause).WithHint(kind + ": " + advice[kind])
}

const (
	hintSchema   = "the allowlist names a table or column that the database does not have; the operator must correct the configuration"
	hintGrant    = "the gateway's database account lacks a grant for something on the allowlist; the operator must add it"
	hintLogin    = "the gateway cannot log in to this datasource; the operator must look at its configuration"
	hintSlow     = "narrow the statement: a more selective condition on an indexed column, fewer rows, fewer joins"
	hintVersion  = "this server version does not know a function or construct of the statement; write it another way"
	hintTogether = "this server does not take two clauses of the statement together, as WITH ROLLUP and ORDER BY; put one into a derived table and order outside"
	hintBroken   = "the connection to the database broke; try again"
	hintDown     = "the database cannot be reached at the moment"
	hintBusy     = "every connection of this datasource is in use; try again shortly"
	hintLarge    = "select fewer or shorter columns, aggregate, or use LEFT(column, 200)"
	hintLost     = "the server gave up a part of the result without an error; narrow the statement"
)

// classify turns any error of the driver into a code. Nothing of the server's text is kept.
func classify(op string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	if me, ok := errors.AsType[*driversql.MySQLError](err); ok {
		return classifyNumber(op, me.Number)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return fault.New(fault.Cancelled, op, context.Canceled)
	case errors.Is(err, context.DeadlineExceeded):
		return fault.New(fault.BackendTimeout, op, context.DeadlineExceeded).WithHint(hintSlow)
	case errors.Is(err, driversql.ErrPktTooLarge):
		return fault.New(fault.SQLTooComplex, op, driversql.ErrPktTooLarge).WithHint("the statement is too long once its stars are written out; name fewer columns")
	case errors.Is(err, driversql.ErrInvalidConn), errors.Is(err, driver.ErrBadConn), errors.Is(err, driversql.ErrMalformPkt), errors.Is(err, driversql.ErrPktSync), errors.Is(err, driversql.ErrPktSyncMul):
		return fault.New(fault.BackendError, op, driversql.ErrInvalidConn).WithHint(hintBroken)
	}
	return fault.New(fault.BackendError, op, errConnect).WithHint(hintDown)
}

var errConnect = errors.New("no connection to the database")

func classifyNumber(op string, n uint16) error {
	cause := serverError{n}
	if kind := runtimeKinds[n]; kind != "" {
		return runtimeFault(op, kind, cause)
	}
	switch n {
	case 1317, 1969, 3024, 1927, 1205, 1028, 1968, 1907:
		return fault.New(fault.BackendTimeout, op, cause).WithHint(hintSlow)
	case 1040, 1203, 1226, 1461, 1213, 1129:
		return fault.New(fault.BackendBusy, op, cause).WithHint(hintBusy)
	case 1054, 1146, 1049, 1051, 1109, 1356, 1449:
		return fault.New(fault.BackendError, op, cause).WithHint(hintSchema)
	case 1142, 1143, 1044, 1227, 1345:
		return fault.New(fault.BackendError, op, cause).WithHint(hintGrant)
	case 1045, 1130, 1251, 1275, 1524, 1698, 1862, 1820, 3118, 3159, 4151:
		return fault.New(fault.BackendError, op, cause).WithHint(hintLogin)
	case 1221:
		return fault.New(fault.SQLUnsupported, op, cause).WithHint(hintTogether)
	case 1064, 1149, 1235, 1305, 1370, 1630, 1128, 1273, 1115, 1193: // 1305, 1370: not built in, so the server looks for a stored function
		return fault.New(fault.SQLUnsupported, op, cause).WithHint(hintVersion)
	case 1931:
		return fault.New(fault.BackendIncomplete, op, cause).WithHint(hintLost)
	case 1053, 1077, 1080, 1152, 1153, 1158, 1159, 1160, 1161, 2006, 2013:
		return fault.New(fault.BackendError, op, cause).WithHint(hintBroken)
	}
	return fault.New(fault.BackendError, op, cause).WithHint(fmt.Sprintf("the database answered with error %d", n))
}

// isNumber tells whether err is that error of the server.
func isNumber(err error, n uint16) bool {
	me, ok := errors.AsType[*driversql.MySQLError](err)
	return ok && me.Number == n
}

func codeOf(err error) fault.Code { return fault.CodeOf(classify("server.kill", err)) }
