package sqlguard_test

import "testing"

// Statements of one group mean the same and have one normal form; no two groups share one.
func TestNormalForms(t *testing.T) {
	t.Parallel()
	g := newGuard(t)
	groups := map[string][]string{
		"order of conditions": {"SELECT id FROM items WHERE id = 1 AND name = 'a' AND id < 9", "SELECT id FROM items WHERE name = 'a' AND (id < 9) AND id = 1", "SELECT id FROM items WHERE id = 1 AND id = 1 AND name = 'a' AND id < 9",
			"SELECT ID FROM `items` AS i WHERE 9 > i.id AND 'a' = i.name AND 1 = I.Id", "SELECT x.id FROM store.items x WHERE x.id=1 AND x.id<9 AND x.name='a' LIMIT 9999"},
		"either of two":     {"SELECT id FROM items WHERE id = 1 OR name = 'a'", "SELECT id FROM items WHERE name = 'a' OR id = 1"},
		"both of two":       {"SELECT id FROM items WHERE id = 1 AND name = 'a'"},
		"grouped":           {"SELECT id FROM items WHERE (id = 1 OR name = 'a') AND id < 9", "SELECT id FROM items WHERE id < 9 AND (name = 'a' OR id = 1)"},
		"grouped otherwise": {"SELECT id FROM items WHERE id = 1 OR name = 'a' AND id < 9"},
		"a list":            {"SELECT id FROM items WHERE id IN (1, 2, 3)", "SELECT id FROM items WHERE id IN (3,1,2,1)"},
		"not a list":        {"SELECT id FROM items WHERE id NOT IN (3, 2, 1)", "SELECT id FROM items WHERE id NOT IN (1, 2, 3)"},
		"another list":      {"SELECT id FROM items WHERE id IN (1, 2)"},
		"rows":              {"SELECT id FROM items WHERE (id, name) IN ((1, 'a'), (2, 'b'))", "SELECT id FROM items WHERE (id, name) IN ((2, 'b'), (1, 'a'))"},
		"rows crossed":      {"SELECT id FROM items WHERE (id, name) IN ((1, 'b'), (2, 'a'))"},
		"less":              {"SELECT id FROM items WHERE id < 5", "SELECT id FROM items WHERE 5 > id"},
		"more":              {"SELECT id FROM items WHERE id > 5", "SELECT id FROM items WHERE 5 < id"},
		"at most":           {"SELECT id FROM items WHERE id <= 5", "SELECT id FROM items WHERE 5 >= id"},
		"case of a value":   {"SELECT id FROM items WHERE name = 'A'"},
		"a value":           {"SELECT id FROM items WHERE name = 'a'"},
		"difference":        {"SELECT id FROM items WHERE id - 5 > 1", "SELECT id FROM items WHERE 1 < id - 5"},
		"difference back":   {"SELECT id FROM items WHERE 5 - id > 1"},
		"order of columns":  {"SELECT id, name FROM items"},
		"other columns":     {"SELECT name, id FROM items"},
		"a pattern":         {"SELECT id FROM items WHERE name LIKE 'a'"},
		"itself":            {"SELECT a.id FROM items a JOIN items b ON a.id = b.id WHERE a.name = 'x'", "SELECT p.id FROM items p JOIN items q ON q.id = p.id WHERE 'x' = p.name"},
		"the other":         {"SELECT a.id FROM items a JOIN items b ON a.id = b.id WHERE b.name = 'x'"},
		"nested":            {"SELECT id FROM items WHERE id IN (SELECT id FROM items WHERE name = 'a' AND id > 1)", "SELECT o.id FROM items o WHERE o.id IN (SELECT i.id FROM items i WHERE 1 < i.id AND i.name = 'a')"},
		"correlated":        {"SELECT id FROM items o WHERE EXISTS (SELECT 1 FROM items i WHERE i.id = o.id)", "SELECT id FROM items x WHERE EXISTS (SELECT 1 FROM items y WHERE x.id = y.id)"},
		"not correlated":    {"SELECT id FROM items o WHERE EXISTS (SELECT 1 FROM items i WHERE i.id = i.id)"},
		"by name":           {"SELECT name AS n, COUNT(*) AS c FROM items GROUP BY name HAVING c > 1", "SELECT NAME AS N, COUNT(*) AS C FROM items GROUP BY name HAVING 1 < c"},
		"a page":            {"SELECT id FROM items ORDER BY id LIMIT 5"},
		"the next page":     {"SELECT id FROM items ORDER BY id LIMIT 5 OFFSET 5", "SELECT id FROM items ORDER BY id LIMIT 5, 5"},
		"far on":            {"SELECT id FROM items ORDER BY id LIMIT 99999 OFFSET 5"},
		"a WITH":            {"WITH w AS (SELECT id FROM items WHERE id > 1 AND name = 'a') SELECT w.id FROM w", "WITH v AS (SELECT i.id FROM items AS i WHERE i.name = 'a' AND i.id > 1) SELECT x.id FROM v AS x"},
	}
	seen := map[string]string{}
	for name, list := range groups {
		first := ""
		for _, s := range list {
			p, err := g.Plan(s)
			if err != nil {
				t.Errorf("%s: %s: %v %s", name, s, err, hint(err))
				continue
			}
			if first == "" {
				first = p.Normal()
			}
			if p.Normal() != first {
				t.Errorf("%s: %s\n got %s\nwant %s", name, s, p.Normal(), first)
			}
		}
		if other, taken := seen[first]; taken {
			t.Errorf("%s and %s have one normal form: %s", name, other, first)
		}
		seen[first] = name
	}
}
