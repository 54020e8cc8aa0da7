package sqlguard_test

import (
	"fmt"

	"github.com/seed-069badc9/mcp-gateway/internal/fault"
	"github.com/seed-069badc9/mcp-gateway/sqlguard"
)

func ExampleGuard_Plan() {
	g, err := sqlguard.New(sqlguard.PolicySpec{
		DefaultSchema: "shop",
		Schemas: map[string]map[string]sqlguard.TableSpec{"shop": {
			"orders":    {Columns: []string{"id", "customer_id", "status"}},
			"customers": {Columns: []string{"id", "name"}, Masked: []string{"email"}},
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := g.Plan("select * from customers where id = 7 -- who is it?")
	fmt.Println(p.SQL(), p.Masked(), err)

	_, err = g.Plan("select state from orders")
	code, _, hint := fault.Public(err)
	fmt.Println(code, hint)
	// Output:
	// SELECT `customers`.`id` AS `id`, `customers`.`name` AS `name`, `customers`.`email` AS `email` FROM `shop`.`customers` AS `customers` WHERE (`customers`.`id` = 7) LIMIT 201 [shop.customers.email] <nil>
	// SQL_COLUMN_NOT_ALLOWED column state is not an allowed column of the tables in this query; allowed: status, id, customer_id
}
