package sqlguard_test

import "testing"

func bench(b *testing.B, sql string) {
	g := newGuard(b)
	if _, err := g.Plan(sql); err != nil {
		b.Fatal(err, hint(err))
	}
	b.ReportAllocs()
	for b.Loop() {
		g.Plan(sql)
	}
}

func BenchmarkPlanSimple(b *testing.B) {
	bench(b, "SELECT id, state, amount FROM purchases WHERE id = 42")
}

func BenchmarkPlanJoin(b *testing.B) {
	bench(b, "SELECT m.name, p.state, COUNT(*) AS n, SUM(l.qty * l.price) AS worth FROM members m JOIN purchases p ON p.member_id = m.id JOIN `lines` l ON l.purchase_id = p.id"+
		" WHERE p.bought_at >= '2025-02-01' AND p.state IN ('paid', 'sent') GROUP BY m.name, p.state HAVING n > 1 ORDER BY worth DESC, m.name LIMIT 20")
}

func BenchmarkPlanSubquery(b *testing.B) {
	bench(b, "SELECT id, (SELECT COUNT(*) FROM `lines` l WHERE l.purchase_id = p.id) AS n FROM purchases p WHERE p.amount > (SELECT AVG(amount) FROM purchases)"+
		" AND p.member_id IN (SELECT id FROM members WHERE city = 'Oslo') ORDER BY n DESC, id LIMIT 10")
}

func BenchmarkRefusal(b *testing.B) {
	g := newGuard(b)
	b.ReportAllocs()
	for b.Loop() {
		g.Plan("SELECT titel FROM outages WHERE id = 3")
	}
}
