package mysql

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-069badc9/mcp-gateway/internal/spelling"
	"github.com/seed-069badc9/mcp-gateway/sqlguard"
)

// maxMissing is how many names one message lists.
const maxMissing = 8

// CheckAllowlist holds the tables and columns of a guard against the database and names those that it does not have, with the nearest that it has. A masked column
// that does not exist is more than a slip: the one that was meant is shown in clear.
func CheckAllowlist(ctx context.Context, g *sqlguard.Guard, e Executor) error {
	allowed := g.Tables()
	names := make([]TableName, len(allowed))
	for i, t := range allowed {
		names[i] = TableName{t.Schema, t.Name}
	}
	infos, err := e.Catalogue(ctx, names)
	if err != nil {
		return err
	}
	there := make(map[string][]string, len(infos))
	for _, i := range infos {
		columns := []string{}
		for _, c := range i.Columns {
			columns = append(columns, c.Name)
		}
		there[strings.ToLower(i.Schema+"."+i.Name)] = columns
	}
	var missing []string
	for _, t := range allowed {
		columns, ok := there[strings.ToLower(t.Schema+"."+t.Name)]
		if !ok || len(columns) == 0 {
			missing = append(missing, fmt.Sprintf("table %s.%s", t.Schema, t.Name))
			continue
		}
		has := make(map[string]bool, len(columns))
		for _, c := range columns {
			has[strings.ToLower(c)] = true
		}
		for _, c := range t.Columns {
			if has[strings.ToLower(c.Name)] {
				continue
			}
			text := fmt.Sprintf("column %s.%s.%s", t.Schema, t.Name, c.Name)
			if near := spelling.Nearest(c.Name, columns); near != "" {
				text += " (did you mean " + near + "?)"
			}
			missing = append(missing, text)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	more := ""
	if n := len(missing) - maxMissing; n > 0 {
		missing, more = missing[:maxMissing], fmt.Sprintf(" and %d more", n)
	}
	return errors.New("the database does not have, or the account may not read: " + strings.Join(missing, ", ") + more)
}
