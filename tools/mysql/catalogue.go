package mysql

import (
	"context"
	"strings"
	"sync/atomic"
	"time"
)

// catalogue keeps what the database declares about the allowed tables. It is read once, when first needed, and again when it is old; an old one is better than
// an error.
type catalogue struct {
	lock chan struct{} // one reader of the database at a time; a channel, so that waiting ends with the context
	last atomic.Pointer[snapshot]
	now  func() time.Time
}

// snapshot is one reading. It never changes.
type snapshot struct {
	at      time.Time
	tables  map[string]*TableInfo
	columns map[string]ColumnInfo // "schema.table.column"; folded in case under a leading NUL
}

func (c *catalogue) init() { c.lock, c.now = make(chan struct{}, 1), time.Now }

func (c *catalogue) get(ctx context.Context, s *source) (*snapshot, error) {
	if snap := c.last.Load(); snap != nil && c.now().Sub(snap.at) < freshFor {
		return snap, nil
	}
	select {
	case c.lock <- struct{}{}:
		defer func() { <-c.lock }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	old := c.last.Load()
	if old != nil && c.now().Sub(old.at) < freshFor { // somebody else read it meanwhile
		return old, nil
	}
	names := make([]TableName, len(s.tables))
	for i, t := range s.tables {
		names[i] = TableName{t.Schema, t.Name}
	}
	got, err := s.Executor.Catalogue(ctx, names)
	if err != nil {
		if old != nil && ctx.Err() == nil {
			return old, nil
		}
		return nil, err
	}
	snap := newSnapshot(got, c.now())
	c.last.Store(snap)
	return snap, nil
}

func newSnapshot(infos []TableInfo, at time.Time) *snapshot {
	s := &snapshot{at: at, tables: map[string]*TableInfo{}, columns: map[string]ColumnInfo{}}
	for i := range infos {
		t := &infos[i]
		key := t.Schema + "." + t.Name
		s.tables[key] = t
		if _, twice := s.tables[folded(key)]; !twice {
			s.tables[folded(key)] = t
		}
		for _, col := range t.Columns {
			s.columns[key+"."+col.Name] = col
			if _, twice := s.columns[folded(key+"."+col.Name)]; !twice {
				s.columns[folded(key+"."+col.Name)] = col
			}
		}
	}
	return s
}

// folded is the key under which a name is found whatever its letter case: servers on some systems fold the names of tables, all fold those of columns.
func folded(key string) string { return "\x00" + strings.ToLower(key) }

func (s *snapshot) column(source string) (ColumnInfo, bool) {
	c, ok := s.columns[source]
	if !ok {
		c, ok = s.columns[folded(source)]
	}
	return c, ok
}

func (s *snapshot) table(schema, name string) *TableInfo {
	key := schema + "." + name
	if t := s.tables[key]; t != nil {
		return t
	}
	return s.tables[folded(key)]
}
