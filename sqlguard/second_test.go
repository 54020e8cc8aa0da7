package sqlguard

import "testing"

// The second reader panics on some texts and takes others for something else than a query: both count as a disagreement. What it cannot read does not.
func TestSecondReaderIsContained(t *testing.T) {
	t.Parallel()
	f := newFacts()
	f.table("", "items")
	f.column("", "id")
	for _, c := range []struct {
		text string
		want bool
	}{
		{"select id from items", true},
		{"select id from items, vault", false},
		{"select id, phone from items", false},
		{"select sleep(id) from items", false},
		{"select id from items /*! union select 1 */", true},
		{"select id from items /*!*/", false},
		{"select id from items /*!50000*/", false},
		{"delete from items", false},
		{"create table x (id int", true},
		{"select id from items where (", true},
		{"show tables", false},
	} {
		if got := readSecond(c.text).agrees(f); got != c.want {
			t.Errorf("%q agrees = %v", c.text, got)
		}
	}
}
