package sqlguard

// The closed form: what a statement may consist of. It is built by the converter and printed by the printer; nothing else reaches a server.

// expr is a node of an expression. The set of its types is closed.
type expr interface{ write(*printer) }

// word is a fixed piece of SQL. Every word is a constant of this package or comes out of its tables; no word is made from a caller's text.
type word string

// seq is a construct with a syntax of its own, pieces in order.
type seq []expr

// call is a function call; name comes from the function table.
type call struct {
	name word
	args []expr
}

// nary joins operands with one operator and puts brackets around the whole.
type nary struct {
	op   word
	args []expr
}

type (
	strLit   string // text literal, value decoded
	bytesLit string // value printed as X'..'
	numLit   string // checked by isNumber
	ordinal  int    // position of an output, in ORDER BY and GROUP BY
	outName  string // an output by its name, in HAVING and over a set operation
)

// colRef is a column of a relation in scope.
type colRef struct {
	rel *relation
	col int
}

// subquery is a query in brackets.
type subquery struct{ q *query }

// windowName names a window of the same SELECT by its position in the WINDOW clause.
type windowName int

// limit is a LIMIT clause of numbers; count is always set.
type limit struct{ offset, count uint64 }

type orderItem struct {
	e    expr
	desc bool
}

// query is a SELECT, VALUES or set operation with what may follow it.
type query struct {
	with    []*cteDef
	recurse bool
	body    body
	order   []orderItem
	limit   *limit
	outputs []output
}

// output is one result column of a query.
type output struct {
	name   string
	src    *source   // the base column that it is, when it is just a reference
	masked []*source // masked base columns whose cells appear in it
}

// source is a column of a base table.
type source struct{ schema, table, column string }

func (s *source) String() string { return s.schema + "." + s.table + "." + s.column }

type body interface{ writeBody(*printer) }

type selectBody struct {
	distinct bool
	items    []selectItem
	from     []fromItem
	where    expr
	group    []expr
	rollup   bool
	having   expr
	windows  []windowDef
}

type selectItem struct {
	e    expr
	name string
	cost int // nodes of e, counted again where the name stands for the expression
}

type windowDef struct{ spec windowSpec }

type windowSpec struct {
	base      expr // windowName or nil
	partition []expr
	order     []orderItem
	frame     expr
}

type setBody struct {
	op          setOp
	all         bool
	left, right *query
	apart       bool // the caller put the left arm in brackets: its types are settled before the right arm joins
}

// fromItem is a relation, a join or a bracketed list.
type fromItem interface{ writeFrom(*printer) }

type joinItem struct {
	kind        word
	left, right fromItem
	on          expr
}

type parenItem []fromItem

// relation is one table reference under its alias.
type relation struct {
	alias         string     // as the caller wrote it
	printed       string     // as it is printed, unique among the relations around it; "" is alias
	schema, table string     // base table, names of the catalogue
	cte           *cteDef    // reference to a CTE
	derived       *query     // derived table
	jsonTable     *jsonTable // JSON_TABLE
	lateral       bool
	cols          []relColumn
	link          *relation // representative of the group of relations that conditions connect
}

type relColumn struct {
	name, key string
	src       *source
	masked    []*source
}

// cteDef is one WITH element. It is printed under a name of our own, so that a name of the caller's can never reach a table.
type cteDef struct {
	name    string
	columns []string // explicit column list, or nil
	q       *query
	cols    []relColumn
	known   bool // cols are known
	used    bool
}

type jsonTable struct {
	doc  expr
	path string
	cols []jsonColumn
}

type jsonColumn struct {
	name       string
	ordinality bool
	exists     bool
	typ        expr
	path       string
	onEmpty    expr
	onError    expr
	nested     []jsonColumn
}
