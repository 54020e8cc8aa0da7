package sqlguard

import sp "vitess.io/vitess/go/vt/sqlparser"

// jsonFunction converts the JSON functions for which the parser has nodes of their own; nil when e is none. The arrows -> and ->> arrive here as
// JSON_EXTRACT and JSON_UNQUOTE, which MariaDB has too.
func (c *conv) jsonFunction(x ctx, e sp.Expr) expr {
	switch n := e.(type) {
	case *sp.JSONExtractExpr:
		return c.call(x, "JSON_EXTRACT", append([]sp.Expr{n.JSONDoc}, n.PathList...)...)
	case *sp.JSONUnquoteExpr:
		return c.call(x, "JSON_UNQUOTE", n.JSONValue)
	case *sp.JSONQuoteExpr:
		return c.call(x, "JSON_QUOTE", n.StringArg)
	case *sp.JSONPrettyExpr:
		return c.call(x, "JSON_PRETTY", n.JSONVal)
	case *sp.JSONStorageSizeExpr:
		return c.call(x, "JSON_STORAGE_SIZE", n.JSONVal)
	case *sp.JSONSchemaValidFuncExpr:
		return c.call(x, "JSON_SCHEMA_VALID", n.Schema, n.Document)
	case *sp.JSONArrayExpr:
		return c.call(x, "JSON_ARRAY", n.Params...)
	case *sp.JSONObjectExpr:
		return c.call(x, "JSON_OBJECT", pairs(n.Params)...)
	case *sp.JSONContainsExpr:
		return c.call(x, "JSON_CONTAINS", append([]sp.Expr{n.Target, n.Candidate}, n.PathList...)...)
	case *sp.JSONContainsPathExpr:
		return c.call(x, "JSON_CONTAINS_PATH", append([]sp.Expr{n.JSONDoc, n.OneOrAll}, n.PathList...)...)
	case *sp.JSONKeysExpr:
		return c.call(x, "JSON_KEYS", present(n.JSONDoc, n.Path)...)
	case *sp.JSONOverlapsExpr:
		return c.call(x, "JSON_OVERLAPS", n.JSONDoc1, n.JSONDoc2)
	case *sp.JSONSearchExpr:
		return c.call(x, "JSON_SEARCH", present(append([]sp.Expr{n.JSONDoc, n.OneOrAll, n.SearchStr, n.EscapeChar}, n.PathList...)...)...)
	case *sp.JSONValueExpr:
		return c.jsonValue(x, n)
	case *sp.JSONAttributesExpr:
		w, ok := jsonAttributes[n.Type]
		if !ok {
			return nil
		}
		return c.call(x, string(w), present(n.JSONDoc, n.Path)...)
	case *sp.JSONValueModifierExpr:
		w, ok := jsonModifiers[n.Type]
		if !ok {
			return nil
		}
		return c.call(x, string(w), append([]sp.Expr{n.JSONDoc}, pairs(n.Params)...)...)
	case *sp.JSONValueMergeExpr:
		w, ok := jsonMerges[n.Type]
		if !ok {
			return nil
		}
		return c.call(x, string(w), append([]sp.Expr{n.JSONDoc}, n.JSONDocList...)...)
	case *sp.JSONRemoveExpr:
		return c.call(x, "JSON_REMOVE", append([]sp.Expr{n.JSONDoc}, n.PathList...)...)
	case *sp.MemberOfExpr:
		return c.memberOf(x, n)
	}
	return nil
}

func pairs(ps []*sp.JSONObjectParam) []sp.Expr {
	out := make([]sp.Expr, 0, 2*len(ps))
	for _, p := range ps {
		out = append(out, p.Key, p.Value)
	}
	return out
}

// jsonValue prints JSON_VALUE; RETURNING as a CAST around it, which MariaDB reads as well.
func (c *conv) jsonValue(x ctx, n *sp.JSONValueExpr) expr {
	if n.EmptyOnResponse != nil || n.ErrorOnResponse != nil {
		failUnsupported("ON EMPTY and ON ERROR in JSON_VALUE")
	}
	c.facts.function("json_value")
	v := call{"JSON_VALUE", []expr{c.expr(x, n.JSONDoc), c.expr(x, n.Path)}}
	if n.ReturningType == nil {
		return v
	}
	if n.ReturningType.Charset.Name != "" {
		failUnsupported("a character set in JSON_VALUE")
	}
	return seq{word("CAST("), v, word(" AS "), c.sizedType(castTypes, n.ReturningType.Type, n.ReturningType.Length, n.ReturningType.Scale), word(")")}
}

// memberOf prints v MEMBER OF (a) as JSON_CONTAINS, which MariaDB has too. Only a literal's JSON form is known without its type.
func (c *conv) memberOf(x ctx, n *sp.MemberOfExpr) expr {
	c.facts.function("json_contains")
	doc := c.expr(x, n.JSONArr)
	switch v := n.Value.(type) {
	case *sp.Literal:
		switch v.Type {
		case sp.StrVal:
			return call{"JSON_CONTAINS", []expr{doc, call{"JSON_QUOTE", []expr{literal(v)}}}}
		case sp.IntVal, sp.DecimalVal:
			return call{"JSON_CONTAINS", []expr{doc, strLit(v.Val)}}
		}
	}
	return seq{word("("), c.expr(x, n.Value), word(" MEMBER OF ("), doc, word("))")}
}
