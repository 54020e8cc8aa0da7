package redact

// typed moves past the type that some languages print before a value: (string) (len=6) "x", string(6) "x", []string{"x"}, s:6:"x", Some("x").
func typed(b []byte, v int) int {
	for range 3 {
		p := v
		switch c := at(b, v); {
		case c == '(': // spew
			if p = closeType(b, v+1); p == 0 || at(b, p) != ' ' {
				return v
			}
			p = skipBlank(b, p)
			if c := at(b, p); c != '(' && c != '{' && !isQuote(c) {
				return v
			}
		case has(b, v, "[]string{") && v > 0 && b[v-1] == ':': // Go prints no blank before it, its source has one
			if p = v + len("[]string{"); !isQuote(at(b, p)) && at(b, p) != '\\' {
				return v
			}
			return p
		case hasFold(b, v, "string(") && isDigit(at(b, v+7)): // PHP
			if p = closeType(b, v+7); p == 0 || at(b, p) != ' ' || !isQuote(at(b, p+1)) {
				return v
			}
			return p + 1
		case c == 's' && at(b, v+1) == ':' && isDigit(at(b, v+2)): // PHP, serialized
			for p = v + 2; isDigit(at(b, p)) && p-v < 10; p++ {
			}
			if q, _ := opening(b, p+1); at(b, p) != ':' || q.c == 0 {
				return v
			}
			return p + 1
		case hasFold(b, v, "some(") && isQuote(at(b, v+5)):
			return v + 5
		}
		if p == v {
			return v
		}
		v = p
	}
	return v
}

// closeType is the index behind the bracket that ends a type or a size at b[i], or 0.
func closeType(b []byte, i int) int {
	for j := i; j < len(b) && j-i < 32; j++ {
		switch c := b[j]; {
		case c == ')' && j > i:
			return j + 1
		case !isIdent(c) && c != '=' && c != '*' && c != ' ':
			return 0
		}
	}
	return 0
}

// valueArgument is the value in "(value=x" or "(value:x" at b[i], or 0.
func valueArgument(b []byte, i int) int {
	p := i + 1
	for _, name := range [...]string{"value", "val", "token", "key", "secret"} {
		if !wordFold(b, p, name) {
			continue
		}
		if q := skipBlank(b, p+len(name)); at(b, q) == '=' || at(b, q) == ':' && at(b, q+1) != ':' {
			return skipBlank(b, q+1)
		}
	}
	return 0
}
