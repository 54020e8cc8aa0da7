package redisstore

import (
	"context"
	_ "embed" // the scripts
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	//go:embed lua/common.lua
	common string
	//go:embed lua/open.lua
	openLua string
	//go:embed lua/close.lua
	closeLua string
	//go:embed lua/find.lua
	findLua string
	//go:embed lua/read.lua
	readLua string
	//go:embed lua/admin.lua
	adminLua string
	//go:embed lua/ping.lua
	pingLua string
)

// The shebang decides what a full server does: scripts without flags are refused before they begin. Only a CLOSE to ERROR and
// the ends of runs may still run then.
var (
	openScript  = redis.NewScript("#!lua\n" + common + openLua)
	readyScript = redis.NewScript("#!lua\n" + common + closeLua)
	errorScript = redis.NewScript("#!lua flags=allow-oom\n" + common + closeLua)
	findScript  = redis.NewScript("#!lua flags=no-writes\n" + findLua)
	readScript  = redis.NewScript("#!lua flags=no-writes\n" + common + readLua)
	beginScript = redis.NewScript("#!lua\n" + common + adminLua)
	adminScript = redis.NewScript("#!lua flags=allow-oom\n" + common + adminLua)
	pingScript  = redis.NewScript("#!lua\n" + pingLua)
)

// names are the keys that a script is sent to a cluster with. They decide the slot, and no such keys exist: a cluster that is moving the slot answers TRYAGAIN to
// several keys of which one is missing. With one, or with those that the script really uses, it would let the script run on the node where that is not the case yet:
// a run would begin anew there, and an id that was used be granted again.
func names(prefix string) []string { return []string{prefix, prefix + "~"} }

// run executes a script by its digest; a server that does not know it yet gets the text.
func run(ctx context.Context, c redis.UniversalClient, s *redis.Script, prefix string, args ...any) ([]any, error) {
	return rows(s.Run(ctx, c, names(prefix), args...))
}

// rows is a script's reply; a nil reply has no rows.
func rows(cmd *redis.Cmd) ([]any, error) {
	out, err := cmd.Slice()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	return out, err
}

// runBeside stores a value under its own key and executes a script in the same round trip. The value is written only if the key is free.
func runBeside(ctx context.Context, c redis.UniversalClient, s *redis.Script, prefix, key string, value []byte, until time.Time, args ...any) ([]any, error) {
	p := c.Pipeline()
	set := p.Do(ctx, "SET", key, value, "NX", "PXAT", until.UnixMilli())
	eval := p.EvalSha(ctx, s.Hash(), names(prefix), args...)
	_, err := p.Exec(ctx)
	if redis.HasErrorPrefix(eval.Err(), "NOSCRIPT") {
		return rows(s.Eval(ctx, c, names(prefix), args...))
	}
	if e := set.Err(); e != nil && !errors.Is(e, redis.Nil) {
		return nil, e
	}
	if e := eval.Err(); e != nil {
		return nil, e
	}
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	return rows(eval)
}

var errReply = errors.New("redisstore: a reply does not have the expected form")

// reply reads the fields of a row in order. The first one that does not fit fails the whole row.
type reply struct {
	row []any
	at  int
	bad bool
}

func (r *reply) more() bool { return r.at < len(r.row) }

func (r *reply) str() string {
	if r.at >= len(r.row) {
		r.bad = true
		return ""
	}
	s, ok := r.row[r.at].(string)
	r.bad = r.bad || !ok
	r.at++
	return s
}

// opt is a field that may be absent.
func (r *reply) opt() string {
	if r.at < len(r.row) && r.row[r.at] == nil {
		r.at++
		return ""
	}
	return r.str()
}

func (r *reply) num() int64 {
	n, err := strconv.ParseInt(r.str(), 10, 64)
	r.bad = r.bad || err != nil
	return n
}

func (r *reply) flag() bool { return r.str() == "1" }

func (r *reply) stamp() time.Time { return time.UnixMilli(r.num()).UTC() }

func (r *reply) err() error {
	if r.bad {
		return errReply
	}
	return nil
}
